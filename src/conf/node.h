/*
 * node.h - YAML and JSON documents as a tree in which every node knows its file, line and column.
 *
 * Limits guard against hostile input: 8 MiB of text (a larger file is refused by its size), depth 32, 100,000 nodes and
 * 8 MiB of text once aliases are expanded, 1,000 anchors, keys of 200 bytes; over a limit is an error, not a crash.
 * UTF-8 only; CRLF and a byte order mark are legal. Errors: duplicate keys ('-' reads as '_'), keys that are not plain
 * text, several documents, merge keys ("<<"), tags outside YAML's core schema, the character NUL in a text. An alias
 * becomes a copy of its node, so that editing changes one place; the copy keeps the place where the value is written.
 *
 * JSON is read by the same door: a text that begins with '{' or '[' and is JSON is read as JSON, tabs and escapes
 * included (NaN and Infinity, too, which Python writes), else as YAML; a file named .json as JSON only. A config.json is
 * read as it is.
 *
 * Trees are edited by overlaying: the node that wins keeps its own origin and mark, so a later diagnostic points at the
 * line (or the option) that is to blame.
 * Ownership: everything lives in the arena given; nodes are valid until it is released.
 */
#ifndef KVSIM_CONF_NODE_H
#define KVSIM_CONF_NODE_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

enum conf_kind { CONF_NULL, CONF_SCALAR, CONF_LIST, CONF_MAP };

enum conf_origin {
    CONF_ORIGIN_SCENARIO,
    CONF_ORIGIN_PROFILE,
    CONF_ORIGIN_DEFAULT,
    CONF_ORIGIN_SET
};

struct conf_node {
    enum conf_kind kind;
    enum conf_origin origin;
    const char *text;         /* CONF_SCALAR */
    bool quoted;              /* a quoted scalar is never null, bool or number */
    size_t count;             /* items of a list, pairs of a map */
    struct conf_node **items; /* values */
    struct conf_node **keys;  /* CONF_MAP: scalars, in file order */
    const char *file;         /* the file's path, or "--set KEY", "--axis KEY" */
    int line, column;         /* from 1; 0 for a node made by an option */
    const char *written_as; /* the key that it was given under, where that is not the present one */
};

/* Reads a file. A missing file, an unreadable one or a directory is KVSIM_ERR_IO; bad contents KVSIM_ERR_SCENARIO.
 * An empty document is an error. `*out` is the document's root. */
enum kvsim_status conf_read_file(struct base_arena *arena, const char *path, struct conf_node **out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;
/* A file's bytes as they are, never more than one beyond what conf_read_text() takes; behind them a '\0'. */
struct base_text;
enum kvsim_status conf_read_bytes(const char *path, struct base_text *out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;
/* The same for text in memory; `name` stands for the file in diagnostics. */
enum kvsim_status conf_read_text(struct base_arena *arena, const char *name, const char *text,
                                 size_t length, struct conf_node **out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

struct conf_node *conf_get(const struct conf_node *map,
                           const char *key); /* NULL when absent; '-' reads as '_' */
/* The text of a scalar; NULL where the key is absent or holds anything else. */
const char *conf_get_text(const struct conf_node *map, const char *key);
const struct conf_node *conf_key(const struct conf_node *map,
                                 const char *key); /* the key's own node (its mark) */
bool conf_is_null(const struct conf_node *node);

/* Sets the value at a dotted path ("engine.kv_cache_dtype", "workload.classes.0.weight"), making maps on the way.
 * Every new node gets origin `SET` and file "OPTION PATH", as the command line has it ("--set", "--axis"). The value's text is read as YAML flow ("{a: 1}", "[1, 2]");
 * an empty one is null. A list's item is named by its number; one past the end adds an item. A scalar on the way is an
 * error with the code not-a-map: a caller that takes a name for a map ("model: NAME") puts the map there first. */
enum kvsim_status conf_set_as(struct base_arena *arena, struct conf_node *root, const char *option,
                              const char *path, const char *value,
                              struct kvsim_error *err) KVSIM_MUST_CHECK;
/* The same of "--set". */
enum kvsim_status conf_set(struct base_arena *arena, struct conf_node *root, const char *path,
                           const char *value, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* A new tree: `base` with `over` laid on it; maps merge key by key, all else is replaced. Neither input is changed. */
struct conf_node *conf_overlay(struct base_arena *arena, const struct conf_node *base,
                               const struct conf_node *over);
struct conf_node *conf_copy(struct base_arena *arena, const struct conf_node *node);
void conf_set_origin(struct conf_node *node, enum conf_origin origin); /* the node and all below */

struct conf_node *conf_new_map(struct base_arena *arena);
struct conf_node *conf_new_scalar(struct base_arena *arena, const char *text);
void conf_put(struct base_arena *arena, struct conf_node *map, const char *key,
              struct conf_node *value);

/* Canonical text of a tree (sorted keys with '_' for '-', one form, scalars as written), for fingerprints and for the
 * stored scenario. Reading it back gives the same tree but for marks. */
struct base_text;
void conf_print(const struct conf_node *node, struct base_text *out);

/* Marks `err` with the node's place and returns err->status. */
enum kvsim_status conf_fail(struct kvsim_error *err, const struct conf_node *node, const char *code,
                            const char *fmt, ...) KVSIM_PRINTF(4, 5);

#endif
