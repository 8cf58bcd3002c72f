/*
 * json.h - JSON written piece by piece: commas, indentation and escaping are the writer's.
 *
 * The outer levels take a line per member, the rows of lists one line each: good for eyes and for grep. Numbers are
 * numbers; a double is written as the shortest decimal that reads back the same, NaN and infinity are null. Texts are
 * UTF-8; a byte that isn't part of it is written as U+FFFD. `key` is NULL inside a list and at the top.
 */
#ifndef KVSIM_REPORT_JSON_H
#define KVSIM_REPORT_JSON_H

#include "record/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REPORT_JSON_DEPTH = 32 };

struct report_json {
    FILE *out;
    size_t depth;        /* containers that are open */
    size_t spread_depth; /* containers less deep than this take several lines */
    bool is_list[REPORT_JSON_DEPTH], has_items[REPORT_JSON_DEPTH];
};

void report_json_init(struct report_json *json, FILE *out);
void report_json_begin_object(struct report_json *json, const char *key);
void report_json_end_object(struct report_json *json);
void report_json_begin_list(struct report_json *json, const char *key);
void report_json_end_list(struct report_json *json);
/* After the last value: the newline that ends the file. */
void report_json_finish(struct report_json *json);

void report_json_text(struct report_json *json, const char *key,
                      const char *value); /* NULL: null */
void report_json_integer(struct report_json *json, const char *key, int64_t value);
void report_json_real(struct report_json *json, const char *key, double value);
void report_json_bool(struct report_json *json, const char *key, bool value);
void report_json_null(struct report_json *json, const char *key);
void report_json_value(struct report_json *json, const char *key, const struct record_value *value);

#endif
