/*
 * table.h - opening small tables in tests; the text goes through a temporary file.
 */
#ifndef KVSIM_TESTS_UNIT_CONF_TABLE_H
#define KVSIM_TESTS_UNIT_CONF_TABLE_H

#include "base/text.h"
#include "conf/rows.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline enum kvsim_status table_open_bytes(const char *bytes, size_t length,
                                                 struct conf_rows **rows, struct kvsim_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "conf_table_test_%ld.tmp", (long)getpid());
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    enum kvsim_status status = conf_rows_open(path, rows, err);
    remove(path);
    return status;
}

static inline struct conf_rows *table_open(const char *text)
{
    struct kvsim_error err = {0};
    struct conf_rows *rows = NULL;
    enum kvsim_status status = table_open_bytes(text, strlen(text), &rows, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %d:%d: %s", text, err.line, err.column, err.message);
    return rows;
}

/* All of a table as "name|name;field|field;...", an absent field as "-". */
static inline void table_is(const char *text, const char *expected)
{
    struct conf_rows *rows = table_open(text);
    struct base_text got = {0};
    struct kvsim_error err = {0};
    int count = (int)conf_rows_column_count(rows);
    for (int i = 0; i < count; i++)
        base_text_printf(&got, "%s%s", i > 0 ? "|" : "", conf_rows_column_name(rows, (size_t)i));
    for (bool more = true;;) {
        ck_assert_msg(conf_rows_next(rows, &more, &err) == KVSIM_OK, "%s", err.message);
        if (!more)
            break;
        for (int i = 0; i < count; i++) {
            const char *field = conf_rows_text(rows, i);
            base_text_printf(&got, "%s%s", i > 0 ? "|" : ";", field == NULL ? "-" : field);
        }
    }
    ck_assert_str_eq(got.at, expected);
    base_text_free(&got);
    conf_rows_close(rows);
}

/* Opening, or one of the rows, fails there. */
static inline void table_bytes_fail(const char *bytes, size_t length, int line, int column,
                                    const char *code)
{
    struct kvsim_error err = {0};
    struct conf_rows *rows = NULL;
    bool more = true;
    enum kvsim_status status = table_open_bytes(bytes, length, &rows, &err);
    while (status == KVSIM_OK && more)
        status = conf_rows_next(rows, &more, &err);
    ck_assert_msg(status == KVSIM_ERR_SCENARIO, "status %d for %.60s", (int)status, bytes);
    ck_assert_msg(strcmp(err.code, code) == 0, "%.60s: %s [%s]", bytes, err.message, err.code);
    ck_assert_msg(err.line == line && err.column == column, "%.60s: at %d:%d: %s", bytes, err.line,
                  err.column, err.message);
    ck_assert(strncmp(err.file, "conf_table_test_", 16) == 0);
    conf_rows_close(rows);
}

static inline void table_fails(const char *text, int line, int column, const char *code)
{
    table_bytes_fail(text, strlen(text), line, column, code);
}

#endif
