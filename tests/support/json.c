#include "support/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *name, *begin, *at;
};

static void fail(const struct reader *reader, const char *what)
{
    int line = 1;
    for (const char *c = reader->begin; c < reader->at; c++) {
        line += *c == '\n';
    }
    fprintf(stderr, "%s:%d: %s\n", reader->name, line, what);
    abort();
}

static void *grow(void *old, size_t count, size_t bytes)
{
    void *memory = realloc(old, count * bytes);
    if (memory == NULL) {
        fprintf(stderr, "json: out of memory\n");
        abort();
    }
    return memory;
}

static void skip_blanks(struct reader *reader)
{
    while (*reader->at != '\0' && strchr(" \t\r\n", *reader->at) != NULL) {
        reader->at++;
    }
}

static bool take(struct reader *reader, char c)
{
    skip_blanks(reader);
    if (*reader->at != c) {
        return false;
    }
    reader->at++;
    return true;
}

static void expect(struct reader *reader, char c)
{
    if (!take(reader, c)) {
        char what[32];
        snprintf(what, sizeof(what), "'%c' expected", c);
        fail(reader, what);
    }
}

static bool take_word(struct reader *reader, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0) {
        return false;
    }
    reader->at += length;
    return true;
}

static char unescape(struct reader *reader)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char c = *reader->at++;
    if (c == 'u') {
        unsigned int code = 0;
        if (sscanf(reader->at, "%4x", &code) != 1 || code == 0 || code > 127) {
            fail(reader, "only ASCII after \\u");
        }
        reader->at += 4;
        return (char)code;
    }
    const char *place = c == '\0' ? NULL : strchr(from, c);
    if (place == NULL) {
        fail(reader, "unknown escape");
    }
    return place == NULL ? '\0' : to[place - from];
}

static char *read_string(struct reader *reader)
{
    expect(reader, '"');
    const char *end = reader->at;
    while (*end != '\0' && *end != '"') {
        end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
    }
    if (*end == '\0') {
        fail(reader, "string without end");
    }
    char *text = grow(NULL, (size_t)(end - reader->at) + 1, 1);
    size_t length = 0;
    while (reader->at < end) {
        if (*reader->at == '\\') {
            reader->at++;
            text[length++] = unescape(reader);
        } else {
            text[length++] = *reader->at++;
        }
    }
    text[length] = '\0';
    reader->at = end + 1;
    return text;
}

static void read_value(struct reader *reader, struct json_value *value, int depth);

static struct json_value *add_item(struct json_value *value)
{
    value->items = grow(value->items, value->count + 1, sizeof(*value->items));
    value->items[value->count] = (struct json_value){.kind = JSON_NULL};
    return &value->items[value->count++];
}

static void read_array(struct reader *reader, struct json_value *value, int depth)
{
    value->kind = JSON_ARRAY;
    expect(reader, '[');
    if (take(reader, ']')) {
        return;
    }
    do {
        read_value(reader, add_item(value), depth);
    } while (take(reader, ','));
    expect(reader, ']');
}

static void read_object(struct reader *reader, struct json_value *value, int depth)
{
    value->kind = JSON_OBJECT;
    expect(reader, '{');
    if (take(reader, '}')) {
        return;
    }
    do {
        skip_blanks(reader);
        char *key = read_string(reader);
        value->keys = grow(value->keys, value->count + 1, sizeof(*value->keys));
        value->keys[value->count] = key;
        expect(reader, ':');
        read_value(reader, add_item(value), depth);
    } while (take(reader, ','));
    expect(reader, '}');
}

static void read_number(struct reader *reader, struct json_value *value)
{
    const size_t length = strspn(reader->at, "+-.0123456789eE");
    if (length == 0) {
        fail(reader, "value expected");
    }
    value->kind = JSON_NUMBER;
    value->text = grow(NULL, length + 1, 1);
    memcpy(value->text, reader->at, length);
    value->text[length] = '\0';
    reader->at += length;
}

static void read_value(struct reader *reader, struct json_value *value, int depth)
{
    if (depth > 64) {
        fail(reader, "nested too deeply");
    }
    skip_blanks(reader);
    if (*reader->at == '{') {
        read_object(reader, value, depth + 1);
    } else if (*reader->at == '[') {
        read_array(reader, value, depth + 1);
    } else if (*reader->at == '"') {
        value->kind = JSON_STRING;
        value->text = read_string(reader);
    } else if (take_word(reader, "null")) {
        value->kind = JSON_NULL;
    } else if (take_word(reader, "true")) {
        value->kind = JSON_BOOL;
        value->truth = true;
    } else if (take_word(reader, "false")) {
        value->kind = JSON_BOOL;
    } else {
        read_number(reader, value);
    }
}

struct json_value *json_parse(const char *name, const char *text)
{
    struct reader reader = {.name = name, .begin = text, .at = text};
    struct json_value *value = grow(NULL, 1, sizeof(*value));
    *value = (struct json_value){.kind = JSON_NULL};
    read_value(&reader, value, 0);
    skip_blanks(&reader);
    if (*reader.at != '\0') {
        fail(&reader, "text behind the value");
    }
    return value;
}

struct json_value *json_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *text = NULL;
    size_t length = 0;
    size_t got;
    do {
        text = grow(text, length + 65536 + 1, 1);
        got = fread(text + length, 1, 65536, file);
        length += got;
    } while (got > 0);
    fclose(file);
    text[length] = '\0';
    struct json_value *value = json_parse(path, text);
    free(text);
    return value;
}

static void release(struct json_value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        release(&value->items[i]);
        if (value->keys != NULL) {
            free(value->keys[i]);
        }
    }
    free(value->items);
    free(value->keys);
    free(value->text);
}

void json_free(struct json_value *value)
{
    if (value != NULL) {
        release(value);
        free(value);
    }
}

const struct json_value *json_get(const struct json_value *object, const char *key)
{
    if (object == NULL || object->kind != JSON_OBJECT) {
        return NULL;
    }
    for (size_t i = 0; i < object->count; i++) {
        if (strcmp(object->keys[i], key) == 0) {
            return &object->items[i];
        }
    }
    return NULL;
}

int64_t json_to_int(const struct json_value *value)
{
    char *end = NULL;
    errno = 0;
    const long long number = value->kind == JSON_NUMBER ? strtoll(value->text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0) {
        fprintf(stderr, "json: '%s' is no integer\n", value->text == NULL ? "?" : value->text);
        abort();
    }
    return number;
}

int64_t json_int(const struct json_value *object, const char *key, int64_t otherwise)
{
    const struct json_value *value = json_get(object, key);
    return value == NULL || value->kind == JSON_NULL ? otherwise : json_to_int(value);
}

bool json_bool(const struct json_value *object, const char *key, bool otherwise)
{
    const struct json_value *value = json_get(object, key);
    return value == NULL || value->kind != JSON_BOOL ? otherwise : value->truth;
}

const char *json_text(const struct json_value *object, const char *key, const char *otherwise)
{
    const struct json_value *value = json_get(object, key);
    return value == NULL || value->text == NULL ? otherwise : value->text;
}

/* ---- comparison ---- */

struct path {
    const struct path *up;
    const char *key;
    size_t index;
};

static size_t write_path(const struct path *path, char *where, size_t bytes)
{
    if (path == NULL || bytes == 0) {
        return 0;
    }
    const size_t used = write_path(path->up, where, bytes);
    if (used >= bytes) {
        return used;
    }
    const int more = path->key != NULL ? snprintf(where + used, bytes - used, ".%s", path->key)
                                       : snprintf(where + used, bytes - used, "[%zu]", path->index);
    return used + (more > 0 ? (size_t)more : 0);
}

static const char *shown(const struct json_value *value)
{
    if (value == NULL) {
        return "(absent)";
    }
    switch (value->kind) {
    case JSON_NULL:
        return "null";
    case JSON_BOOL:
        return value->truth ? "true" : "false";
    case JSON_ARRAY:
        return "[...]";
    case JSON_OBJECT:
        return "{...}";
    case JSON_NUMBER:
    case JSON_STRING:
        break;
    }
    return value->text;
}

static bool same(const struct json_value *expected, const struct json_value *actual,
                 const struct path *path, char *where, size_t bytes);

static bool report(const struct json_value *expected, const struct json_value *actual,
                   const struct path *path, char *where, size_t bytes)
{
    const size_t used = write_path(path, where, bytes);
    if (used < bytes) {
        snprintf(where + used, bytes - used, ": expected %s, found %s", shown(expected),
                 shown(actual));
    }
    return false;
}

static bool same_items(const struct json_value *expected, const struct json_value *actual,
                       const struct path *path, char *where, size_t bytes)
{
    for (size_t i = 0; i < expected->count && i < actual->count; i++) {
        const struct path below = {.up = path, .index = i};
        if (!same(&expected->items[i], &actual->items[i], &below, where, bytes)) {
            return false;
        }
    }
    if (expected->count != actual->count) {
        const size_t used = write_path(path, where, bytes);
        if (used < bytes) {
            snprintf(where + used, bytes - used, ": expected %zu items, found %zu", expected->count,
                     actual->count);
        }
        return false;
    }
    return true;
}

static bool same_members(const struct json_value *expected, const struct json_value *actual,
                         const struct path *path, char *where, size_t bytes)
{
    for (size_t i = 0; i < expected->count; i++) {
        const struct path below = {.up = path, .key = expected->keys[i]};
        const struct json_value *member = json_get(actual, expected->keys[i]);
        if (member == NULL) {
            return report(&expected->items[i], NULL, &below, where, bytes);
        }
        if (!same(&expected->items[i], member, &below, where, bytes)) {
            return false;
        }
    }
    return true;
}

static bool same(const struct json_value *expected, const struct json_value *actual,
                 const struct path *path, char *where, size_t bytes)
{
    if (expected->kind != actual->kind) {
        return report(expected, actual, path, where, bytes);
    }
    if (expected->kind == JSON_ARRAY) {
        return same_items(expected, actual, path, where, bytes);
    }
    if (expected->kind == JSON_OBJECT) {
        return same_members(expected, actual, path, where, bytes);
    }
    if (strcmp(shown(expected), shown(actual)) != 0) {
        return report(expected, actual, path, where, bytes);
    }
    return true;
}

bool json_equal(const struct json_value *expected, const struct json_value *actual, char *where,
                size_t where_bytes)
{
    return same(expected, actual, NULL, where, where_bytes);
}
