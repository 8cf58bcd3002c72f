/*
 * rows_int.h - the guts of an open table, shared by its two formats.
 *
 * A record is one row's bytes as they stand in the file (several lines when a quoted field holds line breaks). Fields
 * keep their offset in it, so that a place is worked out only when something is wrong.
 */
#ifndef KVSIM_CONF_ROWS_INT_H
#define KVSIM_CONF_ROWS_INT_H

#include "base/mem.h"
#include "base/text.h"
#include "conf/rows.h"

#include <stdio.h>

enum {
    CONF_ROWS_RECORD_MAX = 1024 * 1024,
    CONF_ROWS_COLUMNS_MAX = 4096,
    CONF_ROWS_BUFFER_BYTES = 64 * 1024
};

struct conf_rows_field {
    size_t value;  /* offset in values */
    size_t record; /* offset in record */
    bool present;
};

struct conf_rows {
    FILE *file;
    char *path;
    bool json, pending; /* pending: the first object is read and not given yet */
    struct base_text record, values;
    int line, lines_read; /* of the record's first line; so far */
    struct {
        char **at;
        size_t count, capacity;
    } names;
    struct {
        struct conf_rows_field *at;
        size_t count, capacity;
    } fields;
    size_t at, filled;
    char buffer[CONF_ROWS_BUFFER_BYTES];
};

/* Appends the next line, without its end, to the record; *more = false at the end of the file. */
enum kvsim_status conf_rows_read_line(struct conf_rows *rows, bool *more,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Marks err with the place of an offset in the record. */
enum kvsim_status conf_rows_fail_at(const struct conf_rows *rows, size_t offset,
                                    struct kvsim_error *err, const char *code, const char *fmt, ...)
    KVSIM_PRINTF(5, 6);

/* The record's fields, appended in order; may read further lines. */
enum kvsim_status conf_rows_split_csv(struct conf_rows *rows,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The record's members, put in the places of the names; new names are appended. `first`: the object that is the header. */
enum kvsim_status conf_rows_split_json(struct conf_rows *rows, bool first,
                                       struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
