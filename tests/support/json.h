/*
 * json.h - a small JSON reader for tests.
 *
 * Reads a whole document into a tree of values. A number keeps its text, so that a decimal
 * fraction can be read exactly; strings know the escapes but \u beyond ASCII. Objects keep the
 * order of their members. A document that is not well formed, or memory that is not there, ends
 * the process with a message.
 */
#ifndef KVSIM_TESTS_SUPPORT_JSON_H
#define KVSIM_TESTS_SUPPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    bool truth;
    char *text;               /* of a number or string */
    struct json_value *items; /* of an array or object */
    char **keys;              /* of an object, as many as items */
    size_t count;
};

/* Parses `text`; `name` stands in the message. Free with json_free. */
struct json_value *json_parse(const char *name, const char *text);

/* The same of a file. NULL if the file cannot be opened. */
struct json_value *json_read_file(const char *path);

void json_free(struct json_value *value);

/* The member of an object, or NULL where it is absent or `object` is no object. */
const struct json_value *json_get(const struct json_value *object, const char *key);

/* The member as an integer, truth or text; `otherwise` where it is absent or null. */
int64_t json_int(const struct json_value *object, const char *key, int64_t otherwise);
bool json_bool(const struct json_value *object, const char *key, bool otherwise);
const char *json_text(const struct json_value *object, const char *key, const char *otherwise);

int64_t json_to_int(const struct json_value *value); /* of a number without fraction */

/*
 * Compares two values; numbers by their text. Members of an object of `expected` must be in
 * `actual`; more members there are ignored. Returns true if equal, else writes where they differ
 * into `where`.
 */
bool json_equal(const struct json_value *expected, const struct json_value *actual, char *where,
                size_t where_bytes);

#endif
