/*
 * command.h - commands that give a result again, to be pasted into a shell.
 */
#ifndef KVSIM_REPORT_COMMAND_H
#define KVSIM_REPORT_COMMAND_H

#include "base/text.h"
#include "record/run.h"

/* A blank and the word, quoted where a POSIX shell would read it otherwise. */
void report_command_word(struct base_text *command, const char *word);
/* " --set KEY=VALUE" for a parameter, its unit behind the value. */
void report_command_set(struct base_text *command, const struct record_param_row *row);

#endif
