#include "conf/rows_int.h"

#include <string.h>

/*
 * RFC 4180: fields between commas; a field that begins with a quote ends with one, holds anything, and writes a quote
 * as two. A quote elsewhere is an error rather than a guess.
 */

static enum kvsim_status add_field(struct conf_rows *rows, size_t record, struct kvsim_error *err)
{
    if (rows->fields.count >= CONF_ROWS_COLUMNS_MAX)
        return conf_rows_fail_at(rows, record, err, "too-many-columns",
                                 "more than %d fields in a row", (int)CONF_ROWS_COLUMNS_MAX);
    struct conf_rows_field field = {.value = rows->values.count, .record = record, .present = true};
    base_vec_push(&rows->fields, field);
    return KVSIM_OK;
}

static void end_value(struct conf_rows *rows)
{
    base_text_add_n(&rows->values, "", 1);
}

/* From `start` to the next comma or the end. */
static enum kvsim_status take_bare(struct conf_rows *rows, size_t start, size_t *end,
                                   struct kvsim_error *err)
{
    const char *from = rows->record.at + start;
    size_t length = strcspn(from, ",\"");
    if (from[length] == '"')
        return conf_rows_fail_at(rows, start + length, err, "bad-quote",
                                 "a quote inside a field that does not begin with one");
    base_text_add_n(&rows->values, from, length);
    *end = start + length;
    return KVSIM_OK;
}

/* The next line goes into the record after a line break, since the field is still open. */
static enum kvsim_status take_line(struct conf_rows *rows, size_t start, struct kvsim_error *err)
{
    bool more = true;
    base_text_add(&rows->record, "\n");
    enum kvsim_status status = conf_rows_read_line(rows, &more, err);
    if (status == KVSIM_OK && !more)
        return conf_rows_fail_at(rows, start, err, "unclosed-quote", "the quote is never closed");
    return status;
}

/* From the opening quote at `start` to behind the closing one. */
static enum kvsim_status take_quoted(struct conf_rows *rows, size_t start, size_t *end,
                                     struct kvsim_error *err)
{
    size_t at = start + 1;
    for (;;) {
        const char *from = rows->record.at + at;
        size_t length = strcspn(from, "\"");
        base_text_add_n(&rows->values, from, length);
        at += length;
        if (from[length] == '\0') {
            enum kvsim_status status = take_line(rows, start, err);
            if (status != KVSIM_OK)
                return status;
            continue;
        }
        at++;
        if (rows->record.at[at] != '"')
            break;
        base_text_add(&rows->values, "\"");
        at++;
    }
    *end = at;
    if (rows->record.at[at] != ',' && rows->record.at[at] != '\0')
        return conf_rows_fail_at(rows, at, err, "bad-quote", "text follows a closing quote");
    return KVSIM_OK;
}

enum kvsim_status conf_rows_split_csv(struct conf_rows *rows, struct kvsim_error *err)
{
    rows->fields.count = 0;
    base_text_clear(&rows->values);
    for (size_t at = 0;; at++) {
        enum kvsim_status status = add_field(rows, at, err);
        if (status == KVSIM_OK)
            status = rows->record.at[at] == '"' ? take_quoted(rows, at, &at, err)
                                                : take_bare(rows, at, &at, err);
        if (status != KVSIM_OK)
            return status;
        end_value(rows);
        if (rows->record.at[at] == '\0')
            return KVSIM_OK;
    }
}
