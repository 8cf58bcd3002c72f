/*
 * scratch.h - an empty folder for one test, in $TMPDIR or /tmp, made the working directory and removed afterwards.
 */
#ifndef KVSIM_TESTS_SUPPORT_SCRATCH_H
#define KVSIM_TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

void scratch_enter(void);
void scratch_leave(void);

/* How many entries a folder has; -1 when it isn't there. */
int scratch_count(const char *folder);

/* Writes a file; reads one whole into a text that the caller gives to free(), NULL when it isn't there. */
void scratch_write(const char *path, const char *text, size_t bytes);
char *scratch_read(const char *path, size_t *bytes);

/* Runs a shell command and returns what it printed (free()); *code is its exit status. */
char *scratch_run(const char *command, int *code);

#endif
