/*
 * tree.h - reading small documents in tests: a text to its canonical print, or to its error.
 */
#ifndef KVSIM_TESTS_UNIT_CONF_TREE_H
#define KVSIM_TESTS_UNIT_CONF_TREE_H

#include "base/text.h"
#include "conf/node.h"

#include <check.h>
#include <string.h>

static inline struct conf_node *tree_of(struct base_arena *arena, const char *text)
{
    struct kvsim_error err = {0};
    struct conf_node *root = NULL;
    enum kvsim_status status = conf_read_text(arena, "t.yaml", text, strlen(text), &root, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %d:%d: %s", text, err.line, err.column, err.message);
    return root;
}

static inline void tree_prints(const struct conf_node *root, const char *expected)
{
    struct base_text print = {0};
    conf_print(root, &print);
    ck_assert_str_eq(print.at, expected);
    base_text_free(&print);
}

/* `text` is read and prints as `expected`. */
static inline void tree_is(const char *text, const char *expected)
{
    struct base_arena arena;
    base_arena_init(&arena);
    tree_prints(tree_of(&arena, text), expected);
    base_arena_release(&arena);
}

/* Reading fails at line:column with the code; the error goes to *out where that is not NULL. */
static inline void bytes_fail(const char *name, const char *bytes, size_t length, int line,
                              int column, const char *code, struct kvsim_error *out)
{
    struct base_arena arena;
    struct kvsim_error err = {0};
    struct conf_node *root = NULL;
    base_arena_init(&arena);
    enum kvsim_status status = conf_read_text(&arena, name, bytes, length, &root, &err);
    ck_assert_msg(status == KVSIM_ERR_SCENARIO, "status %d for %.60s", (int)status, bytes);
    ck_assert_msg(strcmp(err.code, code) == 0, "%.60s: %s [%s]", bytes, err.message, err.code);
    ck_assert_msg(err.line == line && err.column == column, "%.60s: at %d:%d: %s", bytes, err.line,
                  err.column, err.message);
    ck_assert_str_eq(err.file, name);
    base_arena_release(&arena);
    if (out != NULL)
        *out = err;
}

static inline void tree_fails(const char *text, int line, int column, const char *code)
{
    bytes_fail("t.yaml", text, strlen(text), line, column, code, NULL);
}

#endif
