#include "conf/conf_int.h"

#include "base/text.h"

#include <limits.h>
#include <string.h>
#include <yaml.h>

/*
 * Documents through libyaml's event parser: it keeps marks, and nothing is built that the limits have not seen.
 *
 * Not taken: several documents in a file, merge keys ("<<"), keys that are not plain text, tags other than the core
 * schema's. An alias becomes a copy of its node, so that editing a tree changes one place only; the copies count
 * against the limit of nodes, and a node cannot hold itself, since an anchor is known only once its node is complete.
 */

struct anchor {
    const char *name;
    const struct conf_node *node;
    size_t node_count, text_bytes;
    int height; /* levels of lists and maps below and with the node */
};

struct yaml {
    struct conf_reader *reader;
    yaml_parser_t parser;
    struct {
        struct anchor *at;
        size_t count, capacity;
    } anchors;
    int deepest; /* of the nodes finished since it was last reset */
};

static int mark_int(size_t counted)
{
    return counted >= INT_MAX ? INT_MAX : (int)counted + 1;
}

/* The character at a mark, or '\0'. */
static char char_at(const struct conf_reader *reader, int line, int column)
{
    struct conf_place place = {.at = reader->text, .line = 1, .column = 1};
    while (place.at < reader->end && (place.line < line || place.column < column))
        conf_place_move(&place, place.at + 1);
    return place.at < reader->end ? *place.at : '\0';
}

static void hint_problem(const struct yaml *yaml, int line, int column)
{
    const yaml_parser_t *parser = &yaml->parser;
    struct kvsim_error *err = yaml->reader->err;
    char c = char_at(yaml->reader, line, column);
    if (c == '\t')
        base_error_hint(err, "a tab cannot indent YAML: use spaces");
    else if (c == '@' || c == '`')
        base_error_hint(err, "a text that begins with '%c' needs quotes", c);
    else if (parser->context != NULL)
        base_error_hint(err, "%s at line %d, column %d", parser->context,
                        mark_int(parser->context_mark.line), mark_int(parser->context_mark.column));
}

static enum kvsim_status fail_parser(const struct yaml *yaml)
{
    const yaml_parser_t *parser = &yaml->parser;
    const struct conf_reader *reader = yaml->reader;
    const char *problem = parser->problem == NULL ? "cannot be parsed" : parser->problem;
    if (parser->error == YAML_MEMORY_ERROR)
        return base_fail(reader->err, KVSIM_ERR_MEMORY, "out of memory");
    if (parser->error == YAML_READER_ERROR) {
        struct conf_place place = {.at = reader->text, .line = 1, .column = 1};
        size_t length = (size_t)(reader->end - reader->text);
        size_t offset = parser->problem_offset < length ? parser->problem_offset : length;
        conf_place_move(&place, reader->text + offset);
        return conf_reader_fail(reader, place.line, place.column, "bad-yaml", "%s", problem);
    }
    int line = mark_int(parser->problem_mark.line), column = mark_int(parser->problem_mark.column);
    enum kvsim_status status = conf_reader_fail(reader, line, column, "bad-yaml", "%s", problem);
    hint_problem(yaml, line, column);
    return status;
}

static enum kvsim_status next_event(struct yaml *yaml, yaml_event_t *event)
{
    return yaml_parser_parse(&yaml->parser, event) ? KVSIM_OK : fail_parser(yaml);
}

static enum kvsim_status fail_at(const struct yaml *yaml, const yaml_event_t *event,
                                 const char *code, const char *what)
{
    return conf_reader_fail(yaml->reader, mark_int(event->start_mark.line),
                            mark_int(event->start_mark.column), code, "%s", what);
}

/* What a tag says of a node: one of the core schema's, the plain "!", or none (""). */
static bool read_tag(const yaml_char_t *tag, const char **out)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const names[] = {"str", "int", "float", "bool", "null", "seq", "map"};
    *out = "";
    if (tag == NULL)
        return true;
    const char *text = (const char *)tag;
    if (strcmp(text, "!") == 0) {
        *out = "str";
        return true;
    }
    if (!base_starts_with(text, prefix))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text + sizeof prefix - 1, names[i]) == 0) {
            *out = names[i];
            return true;
        }
    }
    return false;
}

static enum kvsim_status check_tag(const struct yaml *yaml, const yaml_event_t *event,
                                   const yaml_char_t *tag, const char *collection, const char **out)
{
    if (!read_tag(tag, out))
        return conf_reader_fail(yaml->reader, mark_int(event->start_mark.line),
                                mark_int(event->start_mark.column), "unknown-tag",
                                "unknown tag '%s'", (const char *)tag);
    bool of_collection = strcmp(*out, "seq") == 0 || strcmp(*out, "map") == 0;
    bool fits =
        **out == '\0' || (collection == NULL ? !of_collection : strcmp(*out, collection) == 0);
    return fits ? KVSIM_OK : fail_at(yaml, event, "unknown-tag", "the tag does not fit its value");
}

static enum kvsim_status new_node(struct yaml *yaml, const yaml_event_t *event, enum conf_kind kind,
                                  struct conf_node **out)
{
    return conf_reader_node(yaml->reader, kind, mark_int(event->start_mark.line),
                            mark_int(event->start_mark.column), out);
}

static enum kvsim_status read_scalar(struct yaml *yaml, const yaml_event_t *event,
                                     struct conf_node **out)
{
    const char *tag, *text = (const char *)event->data.scalar.value;
    enum kvsim_status status = check_tag(yaml, event, event->data.scalar.tag, NULL, &tag);
    if (status == KVSIM_OK && strlen(text) != event->data.scalar.length)
        status = fail_at(yaml, event, "bad-text", "a text must not hold the character NUL");
    if (status == KVSIM_OK)
        status = new_node(yaml, event, CONF_SCALAR, out);
    if (status != KVSIM_OK)
        return status;
    struct conf_node *node = *out;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = base_arena_copy(yaml->reader->arena, text);
    yaml->reader->text_bytes += event->data.scalar.length;
    node->quoted = *tag == '\0' ? !plain : strcmp(tag, "str") == 0;
    if (!node->quoted && conf_is_null_word(text))
        node->kind = CONF_NULL;
    return KVSIM_OK;
}

static const struct anchor *find_anchor(const struct yaml *yaml, const char *name)
{
    for (size_t i = yaml->anchors.count; i-- > 0;) {
        if (strcmp(yaml->anchors.at[i].name, name) == 0)
            return &yaml->anchors.at[i];
    }
    return NULL;
}

static enum kvsim_status read_alias(struct yaml *yaml, const yaml_event_t *event, int depth,
                                    struct conf_node **out)
{
    const char *name = (const char *)event->data.alias.anchor;
    int line = mark_int(event->start_mark.line), column = mark_int(event->start_mark.column);
    struct conf_reader *reader = yaml->reader;
    const struct anchor *anchor = find_anchor(yaml, name);
    if (anchor == NULL)
        return conf_reader_fail(reader, line, column, "unknown-alias",
                                "alias '*%s' has no complete anchor before it", name);
    if (anchor->height > CONF_DEPTH_MAX - depth)
        return conf_reader_fail(reader, line, column, "too-deep", "nested deeper than %d levels",
                                (int)CONF_DEPTH_MAX);
    if (anchor->node_count > CONF_NODES_MAX - reader->node_count)
        return conf_reader_fail(reader, line, column, "too-many-nodes",
                                "more than %d values once aliases are expanded",
                                (int)CONF_NODES_MAX);
    if (anchor->text_bytes > CONF_TEXT_MAX - reader->text_bytes)
        return conf_reader_fail(reader, line, column, "too-large",
                                "more than %d MiB of text once aliases are expanded",
                                CONF_TEXT_MAX / (1024 * 1024));
    reader->node_count += anchor->node_count;
    reader->text_bytes += anchor->text_bytes;
    if (depth + anchor->height > yaml->deepest)
        yaml->deepest = depth + anchor->height;
    *out = conf_copy(reader->arena, anchor->node);
    return KVSIM_OK;
}

static enum kvsim_status read_node(struct yaml *yaml, yaml_event_t *event, int depth,
                                   struct conf_node **out);

/* The next event as a node of the collection `children` belongs to; *done at the collection's end. */
static enum kvsim_status read_child(struct yaml *yaml, int depth, struct conf_children *children,
                                    bool *done)
{
    yaml_event_t event;
    struct conf_node *child = NULL;
    enum kvsim_status status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    *done = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    if (!*done)
        status = read_node(yaml, &event, depth, &child);
    yaml_event_delete(&event);
    if (status == KVSIM_OK && !*done)
        base_vec_push(children, child);
    return status;
}

static enum kvsim_status check_key(const struct yaml *yaml, struct conf_node *key)
{
    const struct conf_reader *reader = yaml->reader;
    if (key->kind == CONF_LIST || key->kind == CONF_MAP)
        return conf_reader_fail(reader, key->line, key->column, "bad-key",
                                "a key must be plain text");
    if (key->text[0] == '\0')
        return conf_reader_fail(reader, key->line, key->column, "bad-key",
                                "a key must not be empty");
    if (!key->quoted && strcmp(key->text, "<<") == 0) {
        enum kvsim_status status = conf_reader_fail(reader, key->line, key->column, "merge-key",
                                                    "merge keys ('<<') are not supported");
        base_error_hint(reader->err, "write the keys out, or use {base: NAME, ...changes}");
        return status;
    }
    key->kind = CONF_SCALAR; /* a key spelled "null" is a text */
    return KVSIM_OK;
}

static enum kvsim_status read_pairs(struct yaml *yaml, int depth, struct conf_children *keys,
                                    struct conf_children *items)
{
    for (;;) {
        bool done = false;
        enum kvsim_status status = read_child(yaml, depth, keys, &done);
        if (status != KVSIM_OK || done)
            return status;
        status = check_key(yaml, keys->at[keys->count - 1]);
        if (status == KVSIM_OK)
            status = read_child(yaml, depth, items, &done);
        if (status != KVSIM_OK)
            return status;
    }
}

static enum kvsim_status read_items(struct yaml *yaml, int depth, struct conf_children *items)
{
    bool done = false;
    enum kvsim_status status = KVSIM_OK;
    while (status == KVSIM_OK && !done)
        status = read_child(yaml, depth, items, &done);
    return status;
}

static enum kvsim_status read_collection(struct yaml *yaml, const yaml_event_t *event, int depth,
                                         struct conf_node **out)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    const char *name;
    enum kvsim_status status = check_tag(yaml, event, tag, map ? "map" : "seq", &name);
    if (status == KVSIM_OK && depth >= CONF_DEPTH_MAX)
        return conf_reader_fail(yaml->reader, mark_int(event->start_mark.line),
                                mark_int(event->start_mark.column), "too-deep",
                                "nested deeper than %d levels", (int)CONF_DEPTH_MAX);
    if (status == KVSIM_OK)
        status = new_node(yaml, event, map ? CONF_MAP : CONF_LIST, out);
    if (status != KVSIM_OK)
        return status;
    if (depth + 1 > yaml->deepest)
        yaml->deepest = depth + 1;
    struct conf_children keys = {0}, items = {0};
    status = map ? read_pairs(yaml, depth + 1, &keys, &items) : read_items(yaml, depth + 1, &items);
    if (status == KVSIM_OK)
        status = conf_reader_fill(yaml->reader, *out, map ? &keys : NULL, &items);
    base_vec_free(&keys);
    base_vec_free(&items);
    return status;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static enum kvsim_status read_content(struct yaml *yaml, const yaml_event_t *event, int depth,
                                      struct conf_node **out)
{
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(yaml, event, depth, out);
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(yaml, event, out);
    return read_collection(yaml, event, depth, out);
}

/* Reads the node that `event` begins; `depth` collections are around it. */
static enum kvsim_status read_node(struct yaml *yaml, yaml_event_t *event, int depth,
                                   struct conf_node **out)
{
    const char *name = (const char *)anchor_of(event);
    if (name == NULL)
        return read_content(yaml, event, depth, out);
    if (yaml->anchors.count >= CONF_ANCHORS_MAX)
        return fail_at(yaml, event, "too-many-anchors", "more than 1000 anchors");
    size_t nodes_before = yaml->reader->node_count, bytes_before = yaml->reader->text_bytes;
    int deepest_before = yaml->deepest;
    yaml->deepest = depth;
    enum kvsim_status status = read_content(yaml, event, depth, out);
    if (status != KVSIM_OK)
        return status;
    struct anchor anchor = {.name = base_arena_copy(yaml->reader->arena, name),
                            .node = *out,
                            .node_count = yaml->reader->node_count - nodes_before,
                            .text_bytes = yaml->reader->text_bytes - bytes_before,
                            .height = yaml->deepest - depth};
    base_vec_push(&yaml->anchors, anchor);
    if (deepest_before > yaml->deepest)
        yaml->deepest = deepest_before;
    return KVSIM_OK;
}

static enum kvsim_status fail_empty(const struct conf_reader *reader)
{
    return conf_reader_fail(reader, 1, 1, "empty-document", "the document is empty");
}

static enum kvsim_status read_root(struct yaml *yaml, const yaml_event_t *start,
                                   struct conf_node **out)
{
    if (start->type == YAML_STREAM_END_EVENT)
        return fail_empty(yaml->reader);
    yaml_event_t event;
    enum kvsim_status status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    status = read_node(yaml, &event, 0, out);
    yaml_event_delete(&event);
    if (status == KVSIM_OK && (*out)->kind == CONF_NULL && (*out)->text[0] == '\0')
        return fail_empty(yaml->reader);
    return status;
}

/* After the root: the end of its document, then the end of the text. */
static enum kvsim_status read_end(struct yaml *yaml)
{
    yaml_event_t event;
    enum kvsim_status status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    yaml_event_delete(&event);
    status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    if (event.type != YAML_STREAM_END_EVENT)
        status = fail_at(yaml, &event, "several-documents", "the file holds several documents");
    yaml_event_delete(&event);
    return status;
}

static enum kvsim_status read_stream(struct yaml *yaml, struct conf_node **out)
{
    yaml_event_t event;
    enum kvsim_status status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    yaml_event_delete(&event); /* the stream's start */
    status = next_event(yaml, &event);
    if (status != KVSIM_OK)
        return status;
    status = read_root(yaml, &event, out);
    yaml_event_delete(&event);
    return status == KVSIM_OK ? read_end(yaml) : status;
}

enum kvsim_status conf_yaml_read(struct conf_reader *reader, struct conf_node **out)
{
    struct yaml yaml = {.reader = reader};
    if (!yaml_parser_initialize(&yaml.parser))
        return base_fail(reader->err, KVSIM_ERR_MEMORY, "out of memory");
    yaml_parser_set_encoding(&yaml.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&yaml.parser, (const unsigned char *)reader->text,
                                 (size_t)(reader->end - reader->text));
    enum kvsim_status status = read_stream(&yaml, out);
    yaml_parser_delete(&yaml.parser);
    base_vec_free(&yaml.anchors);
    return status;
}
