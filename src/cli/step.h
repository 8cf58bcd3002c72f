/*
 * step.h - what `kvsim step` and its tables share.
 */
#ifndef KVSIM_CLI_STEP_H
#define KVSIM_CLI_STEP_H

#include "cli/cli_int.h"

/* The request that the options make, for one step or for every row of a table; of hardware and cost alone for kernels. */
struct scenario_request;
void cli_step_request(const struct cli_args *args, bool is_kernel, struct scenario_request *out);

/* `--axis`: the same step under each value of a key; the exit status. */
struct study_step_batch;
int cli_step_axis(const struct cli_args *args, const struct study_step_batch *batch);

/* `--from`: the exit status. */
int cli_step_table(const struct cli_args *args);

#endif
