/*
 * print_yaml FILE KEY...: the text at a path of keys and numbers of list items in a YAML file, read as kvsim reads YAML.
 * Exit status 1 when the file is no YAML or there is no text.
 */
#include "base/error.h"
#include "conf/node.h"

#include <stdio.h>
#include <stdlib.h>

static const struct conf_node *step(const struct conf_node *node, const char *key)
{
    if (node->kind == CONF_MAP)
        return conf_get(node, key);
    size_t item = strtoul(key, NULL, 10);
    return node->kind == CONF_LIST && item < node->count ? node->items[item] : NULL;
}

int main(int count, char **words)
{
    struct base_arena arena;
    struct conf_node *root;
    struct kvsim_error err;
    base_require(count > 1);
    base_arena_init(&arena);
    if (conf_read_file(&arena, words[1], &root, &err) != KVSIM_OK) {
        base_error_print(stderr, &err, "error");
        return 1;
    }
    const struct conf_node *node = root;
    for (int i = 2; i < count && node != NULL; i++)
        node = step(node, words[i]);
    bool is_text = node != NULL && node->kind == CONF_SCALAR;
    if (is_text)
        fputs(node->text, stdout);
    base_arena_release(&arena);
    return is_text ? 0 : 1;
}
