/*
 * entry.c - `model:` and `hardware:` of a scenario: a name, a path, {base: NAME, changes}, or the whole mapping.
 */
#include "scenario/scenario_int.h"

#include <string.h>

enum { BASE_DEPTH_MAX = 8 };

/* Lays the changes of a mapping on what its `base` names, and that on what its own base names. */
static bool resolve_base(struct scenario_reader *reader, enum scenario_data kind, const char *key,
                         struct conf_node *map, int depth, struct conf_node **tree)
{
    const struct conf_node *base = conf_get(map, "base");
    if (conf_is_null(base)) {
        *tree = conf_copy(reader->arena, map);
        return true;
    }
    if (base->kind != CONF_SCALAR)
        return scenario_fail(reader, base, scenario_join(reader->arena, key, "base"), "wrong-type",
                             "'base' must be a name");
    if (depth == BASE_DEPTH_MAX)
        return scenario_fail(reader, base, scenario_join(reader->arena, key, "base"), "too-deep",
                             "more than %d files build on each other", (int)BASE_DEPTH_MAX);
    struct scenario_file file;
    struct conf_node *under;
    if (!scenario_find_data(reader, kind, base, scenario_join(reader->arena, key, "base"),
                            base->text, &file) ||
        !resolve_base(reader, kind, key, file.tree, depth + 1, &under))
        return false;
    *tree = conf_overlay(reader->arena, under, map);
    scenario_drop(*tree, "base");
    return true;
}

void scenario_drop(struct conf_node *map, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (base_key_equal(map->keys[i]->text, key))
            continue;
        map->keys[kept] = map->keys[i];
        map->items[kept++] = map->items[i];
    }
    map->count = kept;
}

/* A name is put into the tree where it is missing, so that every model and device has one to be reported by. */
static void put_name(struct scenario_reader *reader, struct conf_node *tree, const char *name)
{
    if (!conf_is_null(conf_get(tree, "name")))
        return;
    struct conf_node *node = conf_new_scalar(reader->arena, name);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(reader->arena, tree, "name", node);
}

bool scenario_entry_load(struct scenario_reader *reader, enum scenario_data kind,
                         struct conf_node *entry, const char *key, struct conf_node **tree)
{
    struct scenario_file file;
    if (entry->kind == CONF_MAP) {
        if (!resolve_base(reader, kind, key, entry, 0, tree))
            return false;
        put_name(reader, *tree, key);
        return true;
    }
    if (entry->kind != CONF_SCALAR)
        return scenario_fail(reader, entry, key, "wrong-type",
                             "'%s' must be a name, a path or a mapping", key);
    if (!scenario_find_data(reader, kind, entry, key, entry->text, &file))
        return false;
    if (file.tree->kind != CONF_MAP)
        return scenario_fail(reader, file.tree, key, "wrong-type", "the file must hold a mapping");
    if (!resolve_base(reader, kind, key, file.tree, 1, tree))
        return false;
    put_name(reader, *tree, file.name);
    return true;
}
