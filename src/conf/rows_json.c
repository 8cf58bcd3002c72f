#include "conf/json.h"
#include "conf/rows_int.h"

#include <string.h>

enum { VALUE_DEPTH_MAX = 31 };

/* One line of JSON being split. */
struct split {
    struct conf_rows *rows;
    struct conf_json_cursor cursor;
    struct base_text key; /* scratch */
    size_t expected; /* the column that comes next when the order is that of the first object */
    bool first;      /* the object that stands for a header */
    struct kvsim_error *err;
};

static size_t offset_of(const struct split *split)
{
    return (size_t)(split->cursor.at - split->rows->record.at);
}

static enum kvsim_status fail_syntax(struct split *split)
{
    return conf_rows_fail_at(split->rows, offset_of(split), split->err, "bad-json", "%s",
                             split->cursor.problem);
}

static enum kvsim_status fail_here(struct split *split, const char *problem)
{
    split->cursor.problem = problem;
    return fail_syntax(split);
}

static char peek(const struct split *split)
{
    return split->cursor.at < split->cursor.end ? *split->cursor.at : '\0';
}

static void learn_name(struct conf_rows *rows, const char *name)
{
    size_t bytes = strlen(name) + 1;
    char *copy = base_alloc(bytes);
    memcpy(copy, name, bytes);
    base_vec_push(&rows->names, copy);
    base_vec_push(&rows->fields, (struct conf_rows_field){0});
}

static size_t find_name(const struct conf_rows *rows, const char *name)
{
    size_t i = 0;
    while (i < rows->names.count && strcmp(rows->names.at[i], name) != 0)
        i++;
    return i;
}

/* The column named by split->key: new ones are appended, since rows of JSON lines state what they have. */
static enum kvsim_status find_column(struct split *split, size_t key_offset, size_t *column)
{
    struct conf_rows *rows = split->rows;
    const char *name = split->key.at;
    size_t i = split->expected;
    if (i >= rows->names.count || strcmp(rows->names.at[i], name) != 0)
        i = find_name(rows, name);
    if (i == rows->names.count && !split->first && conf_rows_column(rows, name) >= 0)
        i = (size_t)conf_rows_column(rows, name);
    if (i == CONF_ROWS_COLUMNS_MAX)
        return conf_rows_fail_at(rows, key_offset, split->err, "too-many-keys",
                                 "more than %d different keys", CONF_ROWS_COLUMNS_MAX);
    if (i == rows->names.count)
        learn_name(rows, name);
    split->expected = i + 1;
    *column = i;
    if (rows->fields.at[i].present)
        return conf_rows_fail_at(rows, key_offset, split->err, "duplicate-key",
                                 "duplicate key '%s'", name);
    return KVSIM_OK;
}

static enum kvsim_status take_key(struct split *split, size_t *column)
{
    conf_json_skip_blanks(&split->cursor);
    size_t offset = offset_of(split);
    if (peek(split) != '"')
        return fail_here(split, "expected a key in double quotes");
    base_text_clear(&split->key);
    base_text_add(&split->key, "");
    if (!conf_json_string(&split->cursor, &split->key))
        return fail_syntax(split);
    if (!conf_json_take(&split->cursor, ':'))
        return fail_here(split, "expected ':' after a key");
    return find_column(split, offset, column);
}

/* A string's value, or the JSON text of anything else; null leaves the value empty. */
static enum kvsim_status take_value(struct split *split, size_t column)
{
    struct conf_rows *rows = split->rows;
    conf_json_skip_blanks(&split->cursor);
    rows->fields.at[column] = (struct conf_rows_field){
        .value = rows->values.count, .record = offset_of(split), .present = true};
    const char *start = split->cursor.at;
    bool string = peek(split) == '"';
    bool good = string ? conf_json_string(&split->cursor, &rows->values)
                       : conf_json_value(&split->cursor, VALUE_DEPTH_MAX);
    if (!good)
        return fail_syntax(split);
    size_t length = (size_t)(split->cursor.at - start);
    bool null = length == 4 && memcmp(start, "null", 4) == 0;
    if (!string && !null)
        base_text_add_n(&rows->values, start, length);
    base_text_add_n(&rows->values, "", 1);
    return KVSIM_OK;
}

static enum kvsim_status take_members(struct split *split)
{
    if (!conf_json_take(&split->cursor, '{'))
        return fail_here(split, "expected an object, '{...}', on each line");
    if (conf_json_take(&split->cursor, '}'))
        return KVSIM_OK;
    do {
        size_t column = 0;
        enum kvsim_status status = take_key(split, &column);
        if (status == KVSIM_OK)
            status = take_value(split, column);
        if (status != KVSIM_OK)
            return status;
    } while (conf_json_take(&split->cursor, ','));
    return conf_json_take(&split->cursor, '}') ? KVSIM_OK : fail_here(split, "expected ',' or '}'");
}

enum kvsim_status conf_rows_split_json(struct conf_rows *rows, bool first, struct kvsim_error *err)
{
    struct split split = {
        .rows = rows,
        .cursor = {.at = rows->record.at, .end = rows->record.at + rows->record.count},
        .first = first,
        .err = err};
    base_text_clear(&rows->values);
    for (size_t i = 0; i < rows->fields.count; i++)
        rows->fields.at[i] = (struct conf_rows_field){0};
    enum kvsim_status status = take_members(&split);
    conf_json_skip_blanks(&split.cursor);
    if (status == KVSIM_OK && split.cursor.at < split.cursor.end)
        status = fail_here(&split, "text follows the object");
    base_text_free(&split.key);
    return status;
}
