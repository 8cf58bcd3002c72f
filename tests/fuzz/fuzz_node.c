/*
 * Documents: whatever is read can be printed, and its print is read back to the same print.
 */
#include "base/error.h"
#include "base/text.h"
#include "conf/node.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_print(struct base_arena *arena, const struct conf_node *root)
{
    struct base_text first = {0}, second = {0};
    struct conf_node *again = NULL;
    struct kvsim_error err;
    conf_print(root, &first);
    base_require(conf_read_text(arena, "print", first.at, first.count, &again, &err) == KVSIM_OK);
    conf_print(again, &second);
    base_require(strcmp(first.at, second.at) == 0);

    base_text_clear(&second);
    conf_print(conf_overlay(arena, root, root), &second);
    base_require(strcmp(first.at, second.at) == 0);
    base_text_free(&first);
    base_text_free(&second);
}

static void check_error(const struct kvsim_error *err)
{
    base_require(err->status == KVSIM_ERR_SCENARIO);
    base_require(err->message[0] != '\0' && err->code[0] != '\0');
    base_require(strcmp(err->file, "fuzz.yaml") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct base_arena arena;
    struct conf_node *root = NULL;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    if (conf_read_text(&arena, "fuzz.yaml", (const char *)data, size, &root, &err) == KVSIM_OK)
        check_print(&arena, root);
    else
        check_error(&err);
    base_arena_release(&arena);
    return 0;
}
