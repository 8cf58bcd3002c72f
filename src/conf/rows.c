#include "conf/rows.h"

#include "base/field.h"
#include "base/units.h"
#include "conf/conf_int.h"
#include "conf/rows_int.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

KVSIM_PRINTF(5, 0)
static enum kvsim_status fail_v(const struct conf_rows *rows, size_t offset,
                                struct kvsim_error *err, const char *code, const char *fmt,
                                va_list args)
{
    char message[sizeof err->message];
    vsnprintf(message, sizeof message, fmt, args);
    struct conf_place place = {.at = rows->record.at, .line = rows->line, .column = 1};
    if (rows->record.at != NULL)
        conf_place_move(&place, rows->record.at + offset);
    enum kvsim_status status = base_fail(err, KVSIM_ERR_SCENARIO, "%s", message);
    base_error_at(err, rows->path, place.line, place.column);
    base_error_code(err, code);
    return status;
}

enum kvsim_status conf_rows_fail_at(const struct conf_rows *rows, size_t offset,
                                    struct kvsim_error *err, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    enum kvsim_status status = fail_v(rows, offset, err, code, fmt, args);
    va_end(args);
    return status;
}

enum kvsim_status conf_rows_fail(const struct conf_rows *rows, int column, struct kvsim_error *err,
                                 const char *code, const char *fmt, ...)
{
    bool known = column >= 0 && (size_t)column < rows->fields.count;
    size_t offset = known ? rows->fields.at[column].record : 0;
    va_list args;
    va_start(args, fmt);
    enum kvsim_status status = fail_v(rows, offset, err, code, fmt, args);
    va_end(args);
    return status;
}

/* Fills the buffer; false at the end of the file or on an error (errno). */
static bool refill(struct conf_rows *rows)
{
    errno = 0;
    rows->at = 0;
    rows->filled = fread(rows->buffer, 1, sizeof rows->buffer, rows->file);
    return rows->filled > 0;
}

/* Bytes up to the next line feed, or to the end of the file; *found tells which. */
static enum kvsim_status take_bytes(struct conf_rows *rows, bool *found, bool *any,
                                    struct kvsim_error *err)
{
    *found = *any = false;
    while (!*found && (rows->at < rows->filled || refill(rows))) {
        const char *from = rows->buffer + rows->at;
        size_t left = rows->filled - rows->at;
        const char *line_end = memchr(from, '\n', left);
        size_t length = line_end == NULL ? left : (size_t)(line_end - from);
        *found = line_end != NULL;
        *any = true;
        if (rows->record.count + length > CONF_ROWS_RECORD_MAX)
            return conf_rows_fail_at(rows, 0, err, "too-long", "the row is longer than %d KiB",
                                     CONF_ROWS_RECORD_MAX / 1024);
        base_text_add_n(&rows->record, from, length);
        rows->at += length + (*found ? 1 : 0);
    }
    return KVSIM_OK;
}

/* What is legal in a line: UTF-8 text, and a carriage return at its end only. */
static enum kvsim_status check_line(struct conf_rows *rows, size_t start, struct kvsim_error *err)
{
    struct base_text *record = &rows->record;
    if (record->count > start && record->at[record->count - 1] == '\r')
        record->at[--record->count] = '\0';
    const char *line = record->at + start;
    size_t length = record->count - start;
    const char *fault = conf_text_fault(line, length);
    if (fault != NULL)
        return conf_rows_fail_at(rows, (size_t)(fault - record->at), err, "bad-text", "the file %s",
                                 conf_text_fault_name(fault));
    const char *stray = memchr(line, '\r', length);
    if (stray != NULL)
        return conf_rows_fail_at(rows, (size_t)(stray - record->at), err, "bad-text",
                                 "a carriage return inside a line");
    return KVSIM_OK;
}

enum kvsim_status conf_rows_read_line(struct conf_rows *rows, bool *more, struct kvsim_error *err)
{
    bool found = false, any = false;
    size_t start = rows->record.count;
    base_text_add(&rows->record, ""); /* an empty line has a record too */
    enum kvsim_status status = take_bytes(rows, &found, &any, err);
    if (status != KVSIM_OK)
        return status;
    if (ferror(rows->file)) {
        status = base_fail(err, KVSIM_ERR_IO, "cannot read: %s", strerror(errno));
        base_error_at(err, rows->path, rows->lines_read + 1, 0);
        base_error_code(err, "cannot-read");
        return status;
    }
    *more = any;
    rows->lines_read += any ? 1 : 0;
    return any ? check_line(rows, start, err) : KVSIM_OK;
}

static bool is_blank(const struct base_text *record)
{
    return record->at[strspn(record->at, " \t")] == '\0';
}

// Reads the next line that is not blank as a fresh record.
static enum kvsim_status next_record(struct conf_rows *rows, bool *more, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    do {
        base_text_clear(&rows->record);
        rows->line = rows->lines_read + 1;
        status = conf_rows_read_line(rows, more, err);
    } while (status == KVSIM_OK && *more && is_blank(&rows->record));
    return status;
}

static enum kvsim_status fail_name(const struct conf_rows *rows, size_t column,
                                   struct kvsim_error *err)
{
    return conf_rows_fail(rows, (int)column, err, "duplicate-column", "duplicate column '%s'",
                          rows->names.at[column]);
}

/* Names twice are errors, but for empty ones, which some tools write over an index. */
static enum kvsim_status check_names(const struct conf_rows *rows, struct kvsim_error *err)
{
    for (size_t i = 0; i < rows->names.count; i++) {
        for (size_t k = 0; k < i && rows->names.at[i][0] != '\0'; k++) {
            if (base_key_equal(rows->names.at[i], rows->names.at[k]))
                return fail_name(rows, i, err);
        }
    }
    return KVSIM_OK;
}

static bool is_number(const char *text)
{
    double value;
    return base_parse_real(text, BASE_NONE, &value, NULL) == KVSIM_OK;
}

static char *copy_trimmed(const char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    char *copy = base_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static enum kvsim_status read_header(struct conf_rows *rows, struct kvsim_error *err)
{
    enum kvsim_status status = conf_rows_split_csv(rows, err);
    if (status != KVSIM_OK)
        return status;
    size_t numbers = 0;
    for (size_t i = 0; i < rows->fields.count; i++) {
        const char *name = rows->values.at + rows->fields.at[i].value;
        base_vec_push(&rows->names, copy_trimmed(name));
        numbers += is_number(name) ? 1 : 0;
    }
    if (numbers == rows->names.count)
        return conf_rows_fail_at(rows, 0, err, "no-header",
                                 "the file has no header: its first row is %s", "numbers");
    return check_names(rows, err);
}

static enum kvsim_status read_start(struct conf_rows *rows, struct kvsim_error *err)
{
    bool more = false;
    enum kvsim_status status = next_record(rows, &more, err);
    if (status != KVSIM_OK)
        return status;
    if (!more) {
        rows->line = 1;
        return conf_rows_fail_at(rows, 0, err, "empty-file", "the file is empty");
    }
    size_t first = strspn(rows->record.at, " \t");
    if (rows->record.at[first] == '[')
        return conf_rows_fail_at(rows, first, err, "no-header",
                                 "a JSON list: write one object per line");
    rows->json = rows->record.at[first] == '{';
    if (!rows->json)
        return read_header(rows, err);
    rows->pending = true;
    status = conf_rows_split_json(rows, true, err);
    if (status == KVSIM_OK && rows->names.count == 0)
        return conf_rows_fail_at(rows, first, err, "no-header", "the first row names no column");
    return status == KVSIM_OK ? check_names(rows, err) : status;
}

static void skip_bom(struct conf_rows *rows)
{
    if (refill(rows))
        rows->at = conf_text_bom(rows->buffer, rows->filled);
}

enum kvsim_status conf_rows_open(const char *path, struct conf_rows **out, struct kvsim_error *err)
{
    FILE *file;
    long long bytes;
    enum kvsim_status status = conf_file_open(path, &file, &bytes, err);
    if (status != KVSIM_OK)
        return status;
    struct conf_rows *rows = base_alloc(sizeof *rows);
    rows->file = file;
    rows->path = copy_trimmed(path);
    skip_bom(rows);
    status = read_start(rows, err);
    if (status == KVSIM_OK)
        *out = rows;
    else
        conf_rows_close(rows);
    return status;
}

void conf_rows_close(struct conf_rows *rows)
{
    if (rows == NULL)
        return;
    fclose(rows->file);
    for (size_t i = 0; i < rows->names.count; i++)
        base_free(rows->names.at[i]);
    base_vec_free(&rows->names);
    base_vec_free(&rows->fields);
    base_text_free(&rows->record);
    base_text_free(&rows->values);
    base_free(rows->path);
    base_free(rows);
}

size_t conf_rows_column_count(const struct conf_rows *rows)
{
    return rows->names.count;
}

const char *conf_rows_column_name(const struct conf_rows *rows, size_t column)
{
    base_require(column < rows->names.count);
    return rows->names.at[column];
}

int conf_rows_column(const struct conf_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->names.count; i++) {
        if (base_key_equal(rows->names.at[i], name))
            return (int)i;
    }
    return -1;
}

enum kvsim_status conf_rows_find(const struct conf_rows *rows, const char *const *names,
                                 size_t count, const char *what, int *out, struct kvsim_error *err)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = conf_rows_column(rows, names[i]);
        if (out[i] < 0)
            return conf_rows_fail(rows, -1, err, "missing-column", "%s have a column %s", what,
                                  names[i]);
    }
    return KVSIM_OK;
}

static enum kvsim_status fail_count(const struct conf_rows *rows, struct kvsim_error *err)
{
    size_t fields = rows->fields.count, names = rows->names.count;
    size_t offset = fields > names ? rows->fields.at[names].record : rows->record.count;
    return conf_rows_fail_at(rows, offset, err, "field-count",
                             "the row has %zu field%s, the header %zu", fields,
                             fields == 1 ? "" : "s", names);
}

enum kvsim_status conf_rows_next(struct conf_rows *rows, bool *more, struct kvsim_error *err)
{
    *more = true;
    if (rows->pending) {
        rows->pending = false;
        return KVSIM_OK;
    }
    enum kvsim_status status = next_record(rows, more, err);
    if (status != KVSIM_OK || !*more)
        return status;
    if (rows->json)
        return conf_rows_split_json(rows, false, err);
    status = conf_rows_split_csv(rows, err);
    if (status == KVSIM_OK && rows->fields.count != rows->names.count)
        status = fail_count(rows, err);
    return status;
}

const char *conf_rows_text(const struct conf_rows *rows, int column)
{
    if (column < 0 || (size_t)column >= rows->fields.count)
        return NULL;
    const struct conf_rows_field *field = &rows->fields.at[column];
    return field->present ? rows->values.at + field->value : NULL;
}

int conf_rows_line(const struct conf_rows *rows)
{
    return rows->line;
}

/* The text of a field that must have one. */
static enum kvsim_status need_text(const struct conf_rows *rows, int column, const char **out,
                                   struct kvsim_error *err)
{
    *out = conf_rows_text(rows, column);
    if (*out != NULL && **out != '\0')
        return KVSIM_OK;
    bool known = column >= 0 && (size_t)column < rows->names.count;
    return conf_rows_fail(rows, column, err, "missing-value", "column '%s' has no value",
                          known ? rows->names.at[column] : "?");
}

/* Names the column and the place in an error of base's number parsers. */
static enum kvsim_status place_error(const struct conf_rows *rows, int column,
                                     struct kvsim_error *err)
{
    struct kvsim_error inner = {0};
    if (err != NULL)
        inner = *err;
    return conf_rows_fail(rows, column, err, inner.code, "column '%s': %s", rows->names.at[column],
                          inner.message);
}

enum kvsim_status conf_rows_int(const struct conf_rows *rows, int column, long long *out,
                                struct kvsim_error *err)
{
    const char *text;
    int64_t value = 0;
    enum kvsim_status status = need_text(rows, column, &text, err);
    if (status != KVSIM_OK)
        return status;
    if (base_parse_int(text, BASE_NONE, &value, err) != KVSIM_OK)
        return place_error(rows, column, err);
    *out = value;
    return KVSIM_OK;
}

enum kvsim_status conf_rows_seconds(const struct conf_rows *rows, int column, long long *out_ns,
                                    struct kvsim_error *err)
{
    const char *text;
    int64_t value = 0;
    enum kvsim_status status = need_text(rows, column, &text, err);
    if (status != KVSIM_OK)
        return status;
    if (base_parse_seconds(text, &value, err) != KVSIM_OK)
        return place_error(rows, column, err);
    *out_ns = value;
    return KVSIM_OK;
}

enum kvsim_status conf_rows_real(const struct conf_rows *rows, int column, double *out,
                                 struct kvsim_error *err)
{
    const char *text;
    enum kvsim_status status = need_text(rows, column, &text, err);
    if (status != KVSIM_OK)
        return status;
    if (base_parse_real(text, BASE_NONE, out, err) != KVSIM_OK)
        return place_error(rows, column, err);
    return KVSIM_OK;
}
