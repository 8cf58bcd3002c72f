/*
 * result.h - where a command's result goes and in what form: --format, --output.
 *
 * A command that takes long looks first whether the file can be made, and opens it when there is something to write, so
 * that one that is interrupted leaves nothing.
 */
#ifndef KVSIM_CLI_RESULT_H
#define KVSIM_CLI_RESULT_H

#include "cli/cli_int.h"

#include <stdio.h>

/* As --format says, else as the file is called, else text. */
enum cli_format cli_result_format(const struct cli_args *args);
/* The same for a command that writes no page: KVSIM_ERR_USAGE where the file's name asks for one. */
enum kvsim_status cli_result_plain(const struct cli_args *args, const char *command,
                                   enum cli_format *out, struct kvsim_error *err) KVSIM_MUST_CHECK;
/* KVSIM_ERR_USAGE where the file's name asks for a form that there is not, and --format for none. */
enum kvsim_status cli_result_check_ending(const struct cli_args *args,
                                          struct kvsim_error *err) KVSIM_MUST_CHECK;
/* The same; and whether the file can be made, and is neither the database that is written to nor the scenario. */
enum kvsim_status cli_result_check(const struct cli_args *args, const char *doing,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;
/* Has `write` write to the file, whole or not at all, or to stdout, which is looked at by cli_main(). */
enum kvsim_status cli_result_put(const struct cli_args *args, const char *doing,
                                 void (*write)(const void *context, FILE *out), const void *context,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
