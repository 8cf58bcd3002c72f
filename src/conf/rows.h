/*
 * rows.h - tables read row by row: CSV with a header (RFC 4180, CRLF, byte order mark, no last newline all legal) and
 * JSON lines (the first character is '{'). Streamed: memory does not grow with the file; a row is at most 1 MiB long and
 * has at most 4096 fields. UTF-8 only; blank lines are skipped. Every field knows its line and column.
 * Errors: a quote that is misplaced or never closed, a column or key twice, a header of numbers only. A later object may
 * lack keys of the first one and have others: their columns are appended when they come.
 */
#ifndef KVSIM_CONF_ROWS_H
#define KVSIM_CONF_ROWS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct conf_rows; /* an open table */

/* KVSIM_ERR_IO when it cannot be opened or is a directory; KVSIM_ERR_SCENARIO when it is empty, binary or has no header. */
enum kvsim_status conf_rows_open(const char *path, struct conf_rows **out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;
void conf_rows_close(struct conf_rows *rows);

/* The columns of a CSV, or the keys of the objects of JSON lines up to this row; index or -1. */
size_t conf_rows_column_count(const struct conf_rows *rows);
const char *conf_rows_column_name(const struct conf_rows *rows, size_t column);
int conf_rows_column(const struct conf_rows *rows, const char *name);
/* The columns of these names, in their order; KVSIM_ERR_SCENARIO "WHAT have a column NAME" for the first that is missing. */
enum kvsim_status conf_rows_find(const struct conf_rows *rows, const char *const *names,
                                 size_t count, const char *what, int *out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Next row: *more = false at the end. A row with a wrong number of fields, an unclosed quote or a cut line is an error. */
enum kvsim_status conf_rows_next(struct conf_rows *rows, bool *more,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Fields of the current row, by column; texts are valid until the next row. NULL or "" when empty or absent. For JSON
 * lines a nested value is its JSON text ("[1,2,3]"). */
const char *conf_rows_text(const struct conf_rows *rows, int column);
int conf_rows_line(const struct conf_rows *rows);
/* Marks `err` with file, line and the column's place. */
enum kvsim_status conf_rows_fail(const struct conf_rows *rows, int column, struct kvsim_error *err,
                                 const char *code, const char *fmt, ...) KVSIM_PRINTF(5, 6);

/* Typed: an integer (tokens), a decimal number of seconds read exactly to ns, a real. */
enum kvsim_status conf_rows_int(const struct conf_rows *rows, int column, long long *out,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;
enum kvsim_status conf_rows_seconds(const struct conf_rows *rows, int column, long long *out_ns,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;
enum kvsim_status conf_rows_real(const struct conf_rows *rows, int column, double *out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
