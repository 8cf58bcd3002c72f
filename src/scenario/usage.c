/*
 * usage.c - a stated key that the chosen level, shape or process would not read is an error; a default of such a key
 * leaves the tree, so that the resolved scenario can be read again.
 */
#include "scenario/parts.h"

bool scenario_check_used(struct scenario_reader *reader, struct conf_node *map, const char *path,
                         const struct base_field *fields, const char *word, const char *what)
{
    bool ok = true;
    for (size_t i = 0; i < map->count;) {
        const struct conf_node *key = map->keys[i];
        const struct base_field *field = base_field_find(fields, key->text);
        bool is_used =
            field == NULL || field->used_by == NULL || base_key_is_listed(field->used_by, word);
        if (!is_used && map->items[i]->origin == CONF_ORIGIN_DEFAULT) {
            scenario_drop(map, key->text);
            continue;
        }
        i++;
        if (is_used || !scenario_is_stated(conf_get(map, key->text)))
            continue;
        ok = scenario_fail_hint(reader, key, scenario_join(reader->arena, path, key->text),
                                "unused-key",
                                base_arena_printf(reader->arena, "used by: %s", field->used_by),
                                "'%s' is not used by %s '%s'", key->text, what, word);
    }
    return ok;
}
