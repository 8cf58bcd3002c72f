#include "conf/node.h"

#include "base/field.h"
#include "base/text.h"
#include "conf/conf_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_DEPTH_MAX = CONF_DEPTH_MAX };

/* How a message is filled and placed; shared by everything that fails here. */
KVSIM_PRINTF(6, 0)
static enum kvsim_status fail_v(struct kvsim_error *err, const char *file, int line, int column,
                                const char *code, const char *fmt, va_list args)
{
    char message[sizeof err->message];
    vsnprintf(message, sizeof message, fmt, args);
    enum kvsim_status status = base_fail(err, KVSIM_ERR_SCENARIO, "%s", message);
    base_error_at(err, file, line, column);
    base_error_code(err, code);
    return status;
}

enum kvsim_status conf_reader_fail(const struct conf_reader *reader, int line, int column,
                                   const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    enum kvsim_status status = fail_v(reader->err, reader->name, line, column, code, fmt, args);
    va_end(args);
    return status;
}

enum kvsim_status conf_fail(struct kvsim_error *err, const struct conf_node *node, const char *code,
                            const char *fmt, ...)
{
    static const struct conf_node nowhere = {.file = ""};
    if (node == NULL)
        node = &nowhere;
    va_list args;
    va_start(args, fmt);
    enum kvsim_status status = fail_v(err, node->file, node->line, node->column, code, fmt, args);
    va_end(args);
    return status;
}

enum kvsim_status conf_reader_node(struct conf_reader *reader, enum conf_kind kind, int line,
                                   int column, struct conf_node **out)
{
    if (reader->node_count >= CONF_NODES_MAX)
        return conf_reader_fail(reader, line, column, "too-many-nodes", "more than %d values",
                                (int)CONF_NODES_MAX);
    reader->node_count++;
    *out = base_arena_take(reader->arena, sizeof **out);
    **out = (struct conf_node){
        .kind = kind, .text = "", .file = reader->name, .line = line, .column = column};
    return KVSIM_OK;
}

/* Arrays of children have room for the next power of two, so that appending is cheap without a capacity member. */
static size_t room_for(size_t count)
{
    size_t room = 1;
    while (room < count)
        room *= 2;
    return room;
}

static struct conf_node **copy_children(struct base_arena *arena, struct conf_node *const *from,
                                        size_t count, size_t room)
{
    struct conf_node **at = base_arena_array(arena, room, sizeof *at);
    if (count > 0)
        memcpy(at, from, base_mul_size(count, sizeof *at));
    return at;
}

static int compare_keys(const void *a, const void *b)
{
    const struct conf_node *x = *(struct conf_node *const *)a, *y = *(struct conf_node *const *)b;
    const char *s = x->text, *t = y->text;
    for (; *s != '\0' || *t != '\0'; s++, t++) {
        int c = *s == '-' ? '_' : *s, d = *t == '-' ? '_' : *t;
        if (c != d)
            return c < d ? -1 : 1;
    }
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static enum kvsim_status fail_duplicate(const struct conf_reader *reader,
                                        const struct conf_node *first,
                                        const struct conf_node *again)
{
    return conf_reader_fail(reader, again->line, again->column, "duplicate-key",
                            "duplicate key '%s', already at line %d as '%s'", again->text,
                            first->line, first->text);
}

/* No key twice, in either spelling, and none so long that YAML could not hold it. */
static enum kvsim_status check_keys(const struct conf_reader *reader, const struct conf_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct conf_node *key = map->keys[i];
        if (strlen(key->text) > CONF_KEY_MAX)
            return conf_reader_fail(reader, key->line, key->column, "bad-key",
                                    "the key is longer than %d bytes", (int)CONF_KEY_MAX);
    }
    if (map->count < 2)
        return KVSIM_OK;
    struct conf_node **sorted = base_alloc(base_mul_size(map->count, sizeof *sorted));
    memcpy(sorted, map->keys, base_mul_size(map->count, sizeof *sorted));
    qsort(sorted, map->count, sizeof *sorted, compare_keys);
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 1; i < map->count && status == KVSIM_OK; i++) {
        if (base_key_equal(sorted[i - 1]->text, sorted[i]->text))
            status = fail_duplicate(reader, sorted[i - 1], sorted[i]);
    }
    base_free(sorted);
    return status;
}

enum kvsim_status conf_reader_fill(struct conf_reader *reader, struct conf_node *node,
                                   const struct conf_children *keys,
                                   const struct conf_children *items)
{
    size_t room = room_for(items->count);
    node->count = items->count;
    node->items = copy_children(reader->arena, items->at, items->count, room);
    if (keys == NULL)
        return KVSIM_OK;
    base_require(keys->count == items->count);
    node->keys = copy_children(reader->arena, keys->at, keys->count, room);
    return check_keys(reader, node);
}

static bool looks_like_json(const struct conf_reader *reader)
{
    const char *at = reader->text;
    while (at < reader->end && *at != '\0' && strchr(" \t\r\n", *at) != NULL)
        at++;
    return at < reader->end && (*at == '{' || *at == '[');
}

/* JSON first, where it may be; a text that is not JSON after all ("{a: 1}") is YAML, unless its name says JSON. */
static enum kvsim_status read_either(struct conf_reader *reader, struct conf_node **out)
{
    if (!looks_like_json(reader))
        return conf_yaml_read(reader, out);
    bool is_json = true;
    enum kvsim_status status = conf_json_read(reader, &is_json, out);
    if (status == KVSIM_OK || is_json || base_ends_with(reader->name, ".json"))
        return status;
    reader->node_count = 0;
    return conf_yaml_read(reader, out);
}

static enum kvsim_status check_text(const struct conf_reader *reader)
{
    size_t length = (size_t)(reader->end - reader->text);
    if (length > CONF_TEXT_MAX)
        return conf_reader_fail(reader, 0, 0, "too-large", "the text is larger than %d MiB",
                                CONF_TEXT_MAX / (1024 * 1024));
    const char *fault = conf_text_fault(reader->text, length);
    if (fault == NULL)
        return KVSIM_OK;
    struct conf_place place = {.at = reader->text, .line = 1, .column = 1};
    conf_place_move(&place, fault);
    return conf_reader_fail(reader, place.line, place.column, "bad-text", "the file %s",
                            conf_text_fault_name(fault));
}

enum kvsim_status conf_read_text(struct base_arena *arena, const char *name, const char *text,
                                 size_t length, struct conf_node **out, struct kvsim_error *err)
{
    size_t bom = conf_text_bom(text, length);
    struct conf_reader reader = {.arena = arena,
                                 .name = base_arena_copy(arena, name),
                                 .text = text + bom,
                                 .end = text + length,
                                 .err = err};
    enum kvsim_status status = check_text(&reader);
    return status == KVSIM_OK ? read_either(&reader, out) : status;
}

static enum kvsim_status fail_size(const char *path, long long bytes, struct kvsim_error *err)
{
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_SCENARIO, "the file is larger than %d MiB (%lld bytes)",
                  CONF_TEXT_MAX / (1024 * 1024), bytes);
    base_error_at(err, path, 0, 0);
    base_error_code(err, "too-large");
    return status;
}

/* Reads to the end, but never more than one byte beyond the limit. */
static void read_all(FILE *file, struct base_text *text)
{
    char piece[16384];
    size_t got;
    while (text->count <= CONF_TEXT_MAX && (got = fread(piece, 1, sizeof piece, file)) > 0)
        base_text_add_n(text, piece, got);
}

enum kvsim_status conf_read_bytes(const char *path, struct base_text *out, struct kvsim_error *err)
{
    FILE *file;
    long long bytes;
    enum kvsim_status status = conf_file_open(path, &file, &bytes, err);
    if (status != KVSIM_OK)
        return status;
    if (bytes > CONF_TEXT_MAX) {
        fclose(file);
        return fail_size(path, bytes, err);
    }
    base_text_add(out, "");
    errno = 0;
    read_all(file, out);
    if (ferror(file)) {
        status = base_fail(err, KVSIM_ERR_IO, "cannot read: %s", strerror(errno));
        base_error_at(err, path, 0, 0);
        base_error_code(err, "cannot-read");
    }
    fclose(file);
    return status;
}

enum kvsim_status conf_read_file(struct base_arena *arena, const char *path, struct conf_node **out,
                                 struct kvsim_error *err)
{
    struct base_text text = {0};
    enum kvsim_status status = conf_read_bytes(path, &text, err);
    if (status == KVSIM_OK)
        status = conf_read_text(arena, path, text.at, text.count, out, err);
    base_text_free(&text);
    return status;
}

bool conf_is_null_word(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

bool conf_is_null(const struct conf_node *node)
{
    return node == NULL || node->kind == CONF_NULL;
}

/* Index of a key, or count. */
static size_t find_key(const struct conf_node *map, const char *key)
{
    size_t i = 0;
    while (i < map->count && !base_key_equal(map->keys[i]->text, key))
        i++;
    return i;
}

struct conf_node *conf_get(const struct conf_node *map, const char *key)
{
    if (map == NULL || map->kind != CONF_MAP)
        return NULL;
    size_t i = find_key(map, key);
    return i < map->count ? map->items[i] : NULL;
}

const char *conf_get_text(const struct conf_node *map, const char *key)
{
    const struct conf_node *node = conf_get(map, key);
    return node != NULL && node->kind == CONF_SCALAR ? node->text : NULL;
}

const struct conf_node *conf_key(const struct conf_node *map, const char *key)
{
    if (map == NULL || map->kind != CONF_MAP)
        return NULL;
    size_t i = find_key(map, key);
    return i < map->count ? map->keys[i] : NULL;
}

static struct conf_node *new_node(struct base_arena *arena, enum conf_kind kind)
{
    struct conf_node *node = base_arena_take(arena, sizeof *node);
    *node = (struct conf_node){.kind = kind, .text = "", .file = ""};
    return node;
}

struct conf_node *conf_new_map(struct base_arena *arena)
{
    return new_node(arena, CONF_MAP);
}

struct conf_node *conf_new_scalar(struct base_arena *arena, const char *text)
{
    struct conf_node *node = new_node(arena, CONF_SCALAR);
    node->text = base_arena_copy(arena, text);
    return node;
}

// Appends to a list (key NULL) or a map without looking for the key.
static void append(struct base_arena *arena, struct conf_node *node, struct conf_node *key,
                   struct conf_node *item)
{
    bool full = node->count == 0 || node->count == room_for(node->count);
    if (full) {
        size_t room = room_for(node->count + 1);
        node->items = copy_children(arena, node->items, node->count, room);
        if (key != NULL)
            node->keys = copy_children(arena, node->keys, node->count, room);
    }
    node->items[node->count] = item;
    if (key != NULL)
        node->keys[node->count] = key;
    node->count++;
}

void conf_put(struct base_arena *arena, struct conf_node *map, const char *key,
              struct conf_node *value)
{
    base_require(map->kind == CONF_MAP);
    size_t i = find_key(map, key);
    if (i < map->count) {
        map->items[i] = value;
        return;
    }
    append(arena, map, conf_new_scalar(arena, key), value);
}

struct conf_node *conf_copy(struct base_arena *arena, const struct conf_node *node)
{
    struct conf_node *copy = base_arena_take(arena, sizeof *copy);
    *copy = *node;
    size_t room = room_for(node->count);
    copy->items = node->items == NULL ? NULL : base_arena_array(arena, room, sizeof *copy->items);
    copy->keys = node->keys == NULL ? NULL : base_arena_array(arena, room, sizeof *copy->keys);
    for (size_t i = 0; i < node->count; i++) {
        copy->items[i] = conf_copy(arena, node->items[i]);
        if (node->keys != NULL)
            copy->keys[i] = conf_copy(arena, node->keys[i]);
    }
    return copy;
}

/* Lays one pair of `over` on the copied `map`. */
static void overlay_pair(struct base_arena *arena, struct conf_node *map,
                         const struct conf_node *key, const struct conf_node *value)
{
    size_t i = find_key(map, key->text);
    if (i == map->count) {
        append(arena, map, conf_copy(arena, key), conf_copy(arena, value));
        return;
    }
    map->keys[i] = conf_copy(arena, key);
    map->items[i] = conf_overlay(arena, map->items[i], value);
}

struct conf_node *conf_overlay(struct base_arena *arena, const struct conf_node *base,
                               const struct conf_node *over)
{
    if (base == NULL || base->kind != CONF_MAP || over->kind != CONF_MAP)
        return conf_copy(arena, over);
    struct conf_node *merged = conf_copy(arena, base);
    merged->file = over->file;
    merged->line = over->line;
    merged->column = over->column;
    merged->origin = over->origin;
    for (size_t i = 0; i < over->count; i++)
        overlay_pair(arena, merged, over->keys[i], over->items[i]);
    return merged;
}

void conf_set_origin(struct conf_node *node, enum conf_origin origin)
{
    node->origin = origin;
    for (size_t i = 0; i < node->count; i++) {
        conf_set_origin(node->items[i], origin);
        if (node->keys != NULL)
            conf_set_origin(node->keys[i], origin);
    }
}

/* The node and all below become the option's, without a line. */
static void mark_set(struct conf_node *node, const char *file)
{
    node->origin = CONF_ORIGIN_SET;
    node->file = file;
    node->line = node->column = 0;
    for (size_t i = 0; i < node->count; i++) {
        mark_set(node->items[i], file);
        if (node->keys != NULL)
            mark_set(node->keys[i], file);
    }
}

static enum kvsim_status read_set_value(struct base_arena *arena, const char *file,
                                        const char *value, struct conf_node **out,
                                        struct kvsim_error *err)
{
    if (value[strspn(value, " \t\r\n")] == '\0') {
        *out = new_node(arena, CONF_NULL);
    } else {
        enum kvsim_status status = conf_read_text(arena, file, value, strlen(value), out, err);
        if (status != KVSIM_OK) {
            base_error_at(err, file, 0, 0);
            return status;
        }
    }
    mark_set(*out, file);
    return KVSIM_OK;
}

/* One step on the way of conf_set(). */
struct set_path {
    struct base_arena *arena;
    const char *file; /* "OPTION PATH" */
    struct kvsim_error *err;
};

static enum kvsim_status fail_path(const struct set_path *path, const char *code, const char *name,
                                   const char *what)
{
    struct conf_node place = {.file = path->file};
    return conf_fail(path->err, &place, code, "'%s' %s", name, what);
}

/* The item of a list that `name` numbers; one past the end appends an empty item. */
static enum kvsim_status list_slot(const struct set_path *path, struct conf_node *list,
                                   const char *name, struct conf_node ***out)
{
    size_t index = 0, digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 6 || name[digits] != '\0')
        return fail_path(path, "bad-path", name, "is not the number of a list's item (from 0)");
    for (size_t i = 0; i < digits; i++)
        index = index * 10 + (size_t)(name[i] - '0');
    if (index > list->count)
        return fail_path(path, "bad-path", name, "is beyond the end of the list");
    if (index == list->count) {
        struct conf_node *item = new_node(path->arena, CONF_NULL);
        mark_set(item, path->file);
        append(path->arena, list, NULL, item);
    }
    *out = &list->items[index];
    return KVSIM_OK;
}

static void map_slot(const struct set_path *path, struct conf_node *map, const char *name,
                     struct conf_node ***out)
{
    size_t i = find_key(map, name);
    if (i == map->count) {
        struct conf_node *key = conf_new_scalar(path->arena, name);
        struct conf_node *item = new_node(path->arena, CONF_NULL);
        mark_set(key, path->file);
        mark_set(item, path->file);
        append(path->arena, map, key, item);
    }
    *out = &map->items[i];
}

/* The place named `name` inside *at; a null there becomes a map first. */
static enum kvsim_status descend(const struct set_path *path, struct conf_node **at,
                                 const char *name, struct conf_node ***out)
{
    if (*name == '\0')
        return fail_path(path, "bad-path", path->file, "has an empty part");
    if ((*at)->kind == CONF_NULL) {
        *at = conf_new_map(path->arena);
        mark_set(*at, path->file);
    }
    if ((*at)->kind == CONF_LIST)
        return list_slot(path, *at, name, out);
    if ((*at)->kind == CONF_SCALAR)
        return fail_path(path, "not-a-map", (*at)->text, "is a single value, which has no keys");
    map_slot(path, *at, name, out);
    return KVSIM_OK;
}

/* Walks the dotted path to the slot that takes the value. */
static enum kvsim_status walk(const struct set_path *path, struct conf_node **slot, char *dotted,
                              struct conf_node ***out)
{
    for (int depth = 0; dotted != NULL; depth++) {
        if (depth >= PATH_DEPTH_MAX)
            return fail_path(path, "too-deep", path->file, "has too many parts");
        char *dot = strchr(dotted, '.');
        if (dot != NULL)
            *dot = '\0';
        enum kvsim_status status = descend(path, slot, dotted, &slot);
        if (status != KVSIM_OK)
            return status;
        dotted = dot == NULL ? NULL : dot + 1;
    }
    *out = slot;
    return KVSIM_OK;
}

enum kvsim_status conf_set(struct base_arena *arena, struct conf_node *root, const char *path,
                           const char *value, struct kvsim_error *err)
{
    return conf_set_as(arena, root, "--set", path, value, err);
}

enum kvsim_status conf_set_as(struct base_arena *arena, struct conf_node *root, const char *option,
                              const char *path, const char *value, struct kvsim_error *err)
{
    const struct set_path set = {
        .arena = arena, .file = base_arena_printf(arena, "%s %s", option, path), .err = err};
    struct conf_node *node = NULL, *nowhere = NULL, **slot = &nowhere;
    enum kvsim_status status = read_set_value(arena, set.file, value, &node, err);
    if (status == KVSIM_OK)
        status = walk(&set, &root, base_arena_copy(arena, path), &slot);
    if (status == KVSIM_OK)
        *slot = node;
    return status;
}
