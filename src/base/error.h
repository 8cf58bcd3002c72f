/*
 * error.h - filling and printing struct kvsim_error; checks that stay in the release build.
 *
 * base_require() guards against wrong calls by our own code and aborts with a message (a defect, exit 70 through
 * SIGABRT); base_assert() does the same in builds with KVSIM_ASSERTS only. Neither is for bad input.
 */
#ifndef KVSIM_BASE_ERROR_H
#define KVSIM_BASE_ERROR_H

#include <kvsim/error.h>

#include <stdio.h>

/* Fills `err` (may be NULL) and returns `status`, so that a caller can write `return base_fail(err, ...)`. */
enum kvsim_status base_fail(struct kvsim_error *err, enum kvsim_status status, const char *fmt, ...)
    KVSIM_PRINTF(3, 4);
void base_error_at(struct kvsim_error *err, const char *file, int line, int column);
void base_error_key(struct kvsim_error *err, const char *key);
void base_error_code(struct kvsim_error *err, const char *code);
void base_error_hint(struct kvsim_error *err, const char *fmt, ...) KVSIM_PRINTF(2, 3);

/* Adds a copy of `err` to `diags` (KVSIM_DIAGS_MAX kept, all counted). */
void base_diags_add(struct kvsim_diags *diags, const struct kvsim_error *err);
void base_diags_warn(struct kvsim_diags *diags, const struct kvsim_error *err);

/* Writes "file:line:column: error: message [code]\n  hint: ...\n"; `severity` is "error" or "warning". */
void base_error_print(FILE *out, const struct kvsim_error *err, const char *severity);

/* The process exit status that belongs to a status (0, 2, 3, 4, 5, 70). */
int base_status_exit(enum kvsim_status status);

_Noreturn void base_abort(const char *file, int line, const char *what);

#define base_require(condition) ((condition) ? (void)0 : base_abort(__FILE__, __LINE__, #condition))
#ifdef KVSIM_ASSERTS
#define base_assert(condition) base_require(condition)
#else
#define base_assert(condition) ((void)0)
#endif

#endif
