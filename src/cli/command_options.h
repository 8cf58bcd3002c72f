/*
 * command_options.h - the options of each command, ended by a row without a name. commands.c names them in its rows.
 */
#ifndef KVSIM_CLI_COMMAND_OPTIONS_H
#define KVSIM_CLI_COMMAND_OPTIONS_H

#include "cli/cli_int.h"

extern const struct cli_option cli_run_options[], cli_sweep_options[], cli_plan_options[],
    cli_compare_options[], cli_merge_options[], cli_step_options[], cli_size_options[],
    cli_calibrate_options[], cli_validate_options[], cli_check_options[], cli_list_options[],
    cli_report_options[];
/* Of commands that have nothing to choose. */
extern const struct cli_option cli_help_options[];

#endif
