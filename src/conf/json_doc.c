#include "conf/conf_int.h"
#include "conf/json.h"

#include <string.h>

/*
 * JSON documents as they are: libyaml stumbles over tabs and over some escapes that JSON allows. Marks are kept by
 * walking the text once, since a document may be one long line.
 */
struct json_doc {
    struct conf_reader *reader;
    struct conf_json_cursor cursor;
    struct conf_place place;
    struct base_text string; /* scratch */
    bool is_json;            /* cleared by the first error of syntax */
};

static enum kvsim_status fail_syntax(struct json_doc *doc)
{
    doc->is_json = false;
    conf_place_move(&doc->place, doc->cursor.at);
    return conf_reader_fail(doc->reader, doc->place.line, doc->place.column, "bad-json", "%s",
                            doc->cursor.problem);
}

static enum kvsim_status fail_here(struct json_doc *doc, const char *problem)
{
    doc->cursor.problem = problem;
    return fail_syntax(doc);
}

static char peek(const struct json_doc *doc)
{
    return doc->cursor.at < doc->cursor.end ? *doc->cursor.at : '\0';
}

static enum kvsim_status new_node(struct json_doc *doc, enum conf_kind kind, struct conf_node **out)
{
    conf_place_move(&doc->place, doc->cursor.at);
    return conf_reader_node(doc->reader, kind, doc->place.line, doc->place.column, out);
}

static enum kvsim_status read_string(struct json_doc *doc, struct conf_node **out)
{
    enum kvsim_status status = new_node(doc, CONF_SCALAR, out);
    if (status != KVSIM_OK)
        return status;
    base_text_clear(&doc->string);
    if (!conf_json_string(&doc->cursor, &doc->string))
        return fail_syntax(doc);
    (*out)->quoted = true;
    (*out)->text = base_arena_copy_n(doc->reader->arena, doc->string.at, doc->string.count);
    return KVSIM_OK;
}

static enum kvsim_status read_scalar(struct json_doc *doc, struct conf_node **out)
{
    enum kvsim_status status = new_node(doc, CONF_SCALAR, out);
    if (status != KVSIM_OK)
        return status;
    const char *start = doc->cursor.at;
    if (!conf_json_scalar(&doc->cursor))
        return fail_syntax(doc);
    size_t length = (size_t)(doc->cursor.at - start);
    (*out)->text = base_arena_copy_n(doc->reader->arena, start, length);
    if (strcmp((*out)->text, "null") == 0)
        (*out)->kind = CONF_NULL;
    return KVSIM_OK;
}

static enum kvsim_status read_value(struct json_doc *doc, int depth, struct conf_node **out);

static enum kvsim_status read_key(struct json_doc *doc, struct conf_children *keys)
{
    conf_json_skip_blanks(&doc->cursor);
    if (peek(doc) != '"')
        return fail_here(doc, "expected a key in double quotes");
    struct conf_node *key = NULL;
    enum kvsim_status status = read_string(doc, &key);
    if (status != KVSIM_OK)
        return status;
    base_vec_push(keys, key);
    return conf_json_take(&doc->cursor, ':') ? KVSIM_OK
                                             : fail_here(doc, "expected ':' after a key");
}

static enum kvsim_status read_members(struct json_doc *doc, char close, int depth,
                                      struct conf_children *keys, struct conf_children *items)
{
    if (conf_json_take(&doc->cursor, close))
        return KVSIM_OK;
    do {
        struct conf_node *item = NULL;
        enum kvsim_status status = close == '}' ? read_key(doc, keys) : KVSIM_OK;
        if (status == KVSIM_OK)
            status = read_value(doc, depth, &item);
        if (status != KVSIM_OK)
            return status;
        base_vec_push(items, item);
    } while (conf_json_take(&doc->cursor, ','));
    if (!conf_json_take(&doc->cursor, close))
        return fail_here(doc, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return KVSIM_OK;
}

static enum kvsim_status read_collection(struct json_doc *doc, int depth, struct conf_node **out)
{
    bool map = peek(doc) == '{';
    conf_place_move(&doc->place, doc->cursor.at);
    if (depth >= CONF_DEPTH_MAX)
        return conf_reader_fail(doc->reader, doc->place.line, doc->place.column, "too-deep",
                                "nested deeper than %d levels", (int)CONF_DEPTH_MAX);
    enum kvsim_status status = new_node(doc, map ? CONF_MAP : CONF_LIST, out);
    if (status != KVSIM_OK)
        return status;
    doc->cursor.at++;
    struct conf_children keys = {0}, items = {0};
    status = read_members(doc, map ? '}' : ']', depth + 1, &keys, &items);
    if (status == KVSIM_OK)
        status = conf_reader_fill(doc->reader, *out, map ? &keys : NULL, &items);
    base_vec_free(&keys);
    base_vec_free(&items);
    return status;
}

static enum kvsim_status read_value(struct json_doc *doc, int depth, struct conf_node **out)
{
    conf_json_skip_blanks(&doc->cursor);
    char c = peek(doc);
    if (c == '{' || c == '[')
        return read_collection(doc, depth, out);
    return c == '"' ? read_string(doc, out) : read_scalar(doc, out);
}

enum kvsim_status conf_json_read(struct conf_reader *reader, bool *is_json, struct conf_node **out)
{
    struct json_doc doc = {
        .reader = reader,
        .cursor = {.at = reader->text, .end = reader->end},
        .place = {.at = reader->text, .line = 1, .column = 1},
        .is_json = true,
    };
    enum kvsim_status status = read_value(&doc, 0, out);
    conf_json_skip_blanks(&doc.cursor);
    if (status == KVSIM_OK && doc.cursor.at < doc.cursor.end)
        status = fail_here(&doc, "text follows the document");
    *is_json = doc.is_json;
    base_text_free(&doc.string);
    return status;
}
