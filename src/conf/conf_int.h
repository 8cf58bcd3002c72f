/*
 * conf_int.h - what the readers of conf share: limits, places in a text, the text check, and node making.
 */
#ifndef KVSIM_CONF_INT_H
#define KVSIM_CONF_INT_H

#include "conf/node.h"

#include <stdio.h>

enum {
    CONF_TEXT_MAX = 8 * 1024 * 1024,
    CONF_DEPTH_MAX = 32,
    CONF_NODES_MAX = 100000,
    CONF_ANCHORS_MAX = 1000,
    CONF_KEY_MAX = 200, /* bytes; libyaml ends a key at 1024 characters, escapes included */
};

/* A position in a text with its line and column, counted in characters from 1. It only moves forward. */
struct conf_place {
    const char *at;
    int line, column;
};

void conf_place_move(struct conf_place *place, const char *to);

/* The first byte that is not UTF-8 text: a broken sequence, or a control character other than tab, line feed and
 * carriage return. NULL when there is none. */
const char *conf_text_fault(const char *text, size_t length);

/* "is not UTF-8 text" or "holds binary data", for the byte found. */
const char *conf_text_fault_name(const char *fault);

/* 3 when the text begins with a UTF-8 byte order mark, else 0. */
size_t conf_text_bom(const char *text, size_t length);

/* Opens a file for reading; a directory is an error. `*bytes` is a regular file's size, else 0. KVSIM_ERR_IO. */
enum kvsim_status conf_file_open(const char *path, FILE **out, long long *bytes,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* One document being read. */
struct conf_reader {
    struct base_arena *arena;
    const char *name; /* in the arena */
    const char *text, *end;
    size_t node_count, text_bytes; /* so far, aliases expanded */
    struct kvsim_error *err;
};

/* Fills reader->err and returns KVSIM_ERR_SCENARIO. */
enum kvsim_status conf_reader_fail(const struct conf_reader *reader, int line, int column,
                                   const char *code, const char *fmt, ...) KVSIM_PRINTF(5, 6);

/* A node at a place; counted against the limit. */
enum kvsim_status conf_reader_node(struct conf_reader *reader, enum conf_kind kind, int line,
                                   int column, struct conf_node **out) KVSIM_MUST_CHECK;

/* Children while they are collected, and their move into a node; a map's keys are checked for duplicates. */
struct conf_children {
    struct conf_node **at;
    size_t count, capacity;
};
enum kvsim_status conf_reader_fill(struct conf_reader *reader, struct conf_node *node,
                                   const struct conf_children *keys,
                                   const struct conf_children *items) KVSIM_MUST_CHECK;

enum kvsim_status conf_yaml_read(struct conf_reader *reader,
                                 struct conf_node **out) KVSIM_MUST_CHECK;

/* *is_json = false when the text is not JSON at all (err says where); true with an error when it is JSON beyond a
 * limit or with a duplicate key. */
enum kvsim_status conf_json_read(struct conf_reader *reader, bool *is_json,
                                 struct conf_node **out) KVSIM_MUST_CHECK;

bool conf_is_null_word(const char *text);

#endif
