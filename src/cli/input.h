/*
 * input.h - standard input as a scenario: the operand "-".
 *
 * A pipe can be read once, and a command may need its scenario many times: it is read before the command begins, and kept.
 */
#ifndef KVSIM_CLI_INPUT_H
#define KVSIM_CLI_INPUT_H

#include "cli/cli_int.h"

/* Reads it where an operand of the command asks for it. KVSIM_ERR_USAGE where two words do. */
enum kvsim_status cli_input_read(const struct cli_command *command, struct cli_args *args,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;
/* The path of an operand as diagnostics have it; NULL stays NULL. */
const char *cli_input_path(const char *word);
/* What was read, for the operand "-"; NULL for every other one. */
const struct scenario_text *cli_input_text(const struct cli_args *args, const char *word);

#endif
