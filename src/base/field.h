/*
 * field.h - one table from which parsing, defaults, ranges, hints, `explain`, manual and run_param come.
 *
 * A table is an array of base_field ended by a row with key NULL; it describes how a mapping of a YAML file fills a
 * struct. Tables are static const. A key is accepted with hyphens for underscores.
 */
#ifndef KVSIM_BASE_FIELD_H
#define KVSIM_BASE_FIELD_H

#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>

enum base_type {
    BASE_BOOL,     /* bool */
    BASE_INT,      /* int64_t, by base_parse_int with the unit */
    BASE_REAL,     /* double */
    BASE_RATIONAL, /* struct base_rational, exact */
    BASE_TEXT,     /* const char *, in the document's arena */
    BASE_CHOICE,   /* int, from `choices` */
    BASE_SUB,      /* an embedded struct described by `sub` */
    BASE_LIST,     /* struct base_list of structs described by `sub`, each `sub_bytes` long */
    BASE_INTS,     /* struct base_list of int64_t (a list, or one number) */
    BASE_TEXTS,    /* struct base_list of const char * (a list, or one text) */
    BASE_NODE, /* const struct conf_node *: read by a function of its own; `sub` may still document it */
};

struct base_rational {
    int64_t num, den;
};

struct base_list {
    void *at;
    size_t count;
};

struct base_choice {
    const char *name; /* NULL ends the list */
    int value;
    const char *help;
};

struct base_field {
    const char *key;
    enum base_type type;
    enum base_unit unit;
    size_t offset;
    size_t has_offset; /* offset of a bool set when the key was stated; 0 = none */
    double min, max;   /* both 0 = no range; BASE_INT, BASE_REAL, BASE_RATIONAL */
    bool min_open;     /* the minimum itself is not allowed */
    bool required;
    const char *def; /* as text in the user's spelling; NULL = left as it is */
    const struct base_choice *choices;
    const struct base_field *sub;
    size_t sub_bytes;
    const char *also;    /* further accepted spellings, blank-separated */
    const char *used_by; /* for `explain`: which engines, levels or processes use it; NULL = all */
    const char *help;
};

/* The row for a key (underscores and hyphens alike, `also` included), or NULL. */
const struct base_field *base_field_find(const struct base_field *table, const char *key);

/* The key of `table` (or of `names`, NULL-ended) nearest to `key` by edit distance, or NULL when none is near. */
const char *base_field_nearest(const struct base_field *table, const char *key);
const char *base_name_nearest(const char *const *names, const char *key);

/* True when two spellings are the same word with '-' read as '_'. */
bool base_key_equal(const char *a, const char *b);
/* `key` equals one of the blank-separated words. */
bool base_key_is_listed(const char *list, const char *key);

#endif
