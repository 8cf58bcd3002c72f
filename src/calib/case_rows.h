/*
 * case_rows.h - tables of validation cases, row by row: the columns that a table must have, each row's texts, one function that makes
 * its cases.
 *
 * Texts and arrays lie in the group's arena and outlive the file.
 */
#ifndef KVSIM_CALIB_CASE_ROWS_H
#define KVSIM_CALIB_CASE_ROWS_H

#include "base/error.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "record/validation.h"

struct calib_case_table {
    const char *what; /* in messages: "exchanges" */
    const char *const *columns;
    size_t column_count;
};

struct calib_case_row {
    struct conf_rows *rows; /* at the row, for its numbers and places */
    const int *found;       /* the file's column of each of the table's */
    const char **texts;     /* "" where a field is empty */
    struct base_arena *arena;
    struct record_validation_cases *out;
};

typedef enum kvsim_status calib_case_reader(const struct calib_case_row *row, void *context,
                                            struct kvsim_error *err);

/* KVSIM_ERR_IO, KVSIM_ERR_SCENARIO with the place, or what the reader says, which ends it. */
enum kvsim_status calib_case_rows_each(const char *path, const struct calib_case_table *table,
                                       calib_case_reader *read, void *context,
                                       struct base_arena *arena,
                                       struct record_validation_cases *out,
                                       struct kvsim_error *err) KVSIM_MUST_CHECK;

/* A whole number of the row from 1 to `most`. */
enum kvsim_status calib_case_count(const struct calib_case_row *row, size_t column, long long most,
                                   long long *out, struct kvsim_error *err) KVSIM_MUST_CHECK;
/* A number above 0. */
enum kvsim_status calib_case_positive(const struct calib_case_row *row, size_t column, double *out,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
