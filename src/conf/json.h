/*
 * json.h - scanning JSON (RFC 8259) in memory, for documents and for lines of a table.
 *
 * Besides the standard's numbers NaN, Infinity and -Infinity are taken, since Python writes them into config.json.
 */
#ifndef KVSIM_CONF_JSON_H
#define KVSIM_CONF_JSON_H

#include "base/text.h"

#include <stdbool.h>

struct conf_json_cursor {
    const char *at, *end;
    const char *problem; /* after a failure: what is wrong at `at` */
};

void conf_json_skip_blanks(struct conf_json_cursor *cursor);
bool conf_json_take(struct conf_json_cursor *cursor,
                    char c); /* after blanks; moves on when `c` is there */

/* Appends a string's value to `out` (may be NULL); the cursor stands on its opening quote. */
bool conf_json_string(struct conf_json_cursor *cursor, struct base_text *out);

/* Moves over a number or a word (true, false, null); false when none is there. */
bool conf_json_scalar(struct conf_json_cursor *cursor);

/* Moves over any value, lists and maps no deeper than `depth`. */
bool conf_json_value(struct conf_json_cursor *cursor, int depth);

#endif
