/*
 * file.h - a file that is written whole or not at all.
 *
 * What is written goes to a temporary file beside the target, which takes its name only in report_file_finish(): a command
 * that fails leaves what was there before. A target that is no regular file (a pipe, /dev/stdout) is written directly. A
 * database is never written over.
 */
#ifndef KVSIM_REPORT_FILE_H
#define KVSIM_REPORT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct report_file {
    FILE *out;
    char *path, *temporary_path; /* the latter NULL when the target is written directly */
    const char *doing;           /* for messages: "write the steps" */
    int failure;                 /* errno of the first write that failed, as far as it is known */
};

/* On failure (KVSIM_ERR_IO) nothing has been made. `doing` must live as long. */
enum kvsim_status report_file_open(struct report_file *file, const char *path, const char *doing,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;
/* Gives the file its name. After either of these two the struct holds nothing. */
enum kvsim_status report_file_finish(struct report_file *file,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;
void report_file_abandon(struct report_file *file);
/* For a process that ends at once while another thread may still be writing: only the name goes. */
void report_file_unlink(const struct report_file *file);

/* Whether both name the same regular file, or would make it. */
bool report_file_is(const char *path, const char *other);
/* KVSIM_ERR_IO: "cannot DOING: the file is WHAT". */
enum kvsim_status report_file_fail_kept(const char *path, const char *doing, const char *what,
                                        struct kvsim_error *err);

#endif
