/*
 * profile.c - which release's data file a profile name means, and what it says for a device.
 *
 * "vllm-0.19" and "vllm-0.19.1" are the newest shipped release that is not newer; "vllm" is the newest of all. A release
 * between two files is warned of where their switches differ.
 */
#include "scenario/lookup.h"

#include "base/error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- the name ---- */

/* "vllm-0.19.1" into "vllm" and "0.19.1"; no release: "". */
static void split_name(struct base_arena *arena, const char *name, const char **family,
                       const char **release)
{
    for (const char *at = strchr(name, '-'); at != NULL; at = strchr(at + 1, '-')) {
        const char *rest = at + 1;
        rest += (*rest == 'v' || *rest == 'V') && isdigit((unsigned char)rest[1]);
        if (isdigit((unsigned char)*rest)) {
            *family = base_arena_copy_n(arena, name, (size_t)(at - name));
            *release = rest;
            return;
        }
    }
    *family = name;
    *release = "";
}

/* All profiles of all places, the first place winning for a name. */
static void list_profiles(struct scenario_reader *reader, struct scenario_known_list *out)
{
    const char *places[SCENARIO_PLACES_MAX];
    size_t count = scenario_places(reader->arena, SCENARIO_ENGINE, reader->beside, places);
    for (size_t i = 0; i < count; i++) {
        struct scenario_known_list list = {0};
        scenario_list_place(reader->arena, SCENARIO_ENGINE, places[i], &list);
        for (size_t j = 0; j < list.count; j++) {
            bool seen = list.at[j].family[0] == '\0';
            for (size_t k = 0; k < out->count && !seen; k++)
                seen = scenario_name_equal(out->at[k].name, list.at[j].name);
            if (!seen)
                base_vec_push(out, list.at[j]);
        }
        base_vec_free(&list);
    }
}

struct choice {
    const struct scenario_known *used, *next; /* the newest not newer, and the oldest newer one */
    const struct scenario_known *oldest;
};

static struct choice choose(const struct scenario_known_list *list, const char *family,
                            const char *release)
{
    struct choice choice = {NULL, NULL, NULL};
    for (size_t i = 0; i < list->count; i++) {
        const struct scenario_known *at = &list->at[i];
        if (!scenario_name_equal(at->family, family))
            continue;
        bool newer = release[0] != '\0' && scenario_release_compare(at->release, release) > 0;
        if (!newer && (choice.used == NULL ||
                       scenario_release_compare(at->release, choice.used->release) > 0))
            choice.used = at;
        if (newer && (choice.next == NULL ||
                      scenario_release_compare(at->release, choice.next->release) < 0))
            choice.next = at;
        if (choice.oldest == NULL ||
            scenario_release_compare(at->release, choice.oldest->release) < 0)
            choice.oldest = at;
    }
    return choice;
}

static bool fail_unknown(struct scenario_reader *reader, const struct conf_node *node,
                         const char *name, const struct scenario_known_list *list,
                         const struct choice *choice)
{
    struct base_text names = {0};
    for (size_t i = 0; i < list->count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", list->at[i].name);
    const char *hint =
        base_arena_printf(reader->arena, "known: %s", names.at == NULL ? "none" : names.at);
    base_text_free(&names);
    if (choice->oldest != NULL)
        return scenario_fail_hint(reader, node, "engine.profile", "unknown-name", hint,
                                  "'%.80s' is older than every known release (the oldest is %.60s)",
                                  name, choice->oldest->name);
    return scenario_fail_hint(reader, node, "engine.profile", "unknown-name", hint,
                              "unknown engine profile '%.80s'", name);
}

/* Names of the switches in which two releases differ. */
static const char *differing_switches(struct base_arena *arena, const struct conf_node *a,
                                      const struct conf_node *b)
{
    const struct conf_node *x = conf_get(a, "switches"), *y = conf_get(b, "switches");
    struct base_text text = {0};
    for (size_t i = 0; x != NULL && x->kind == CONF_MAP && i < x->count; i++) {
        const struct conf_node *other = conf_get(y, x->keys[i]->text);
        bool same = other != NULL && x->items[i]->kind == CONF_SCALAR &&
                    strcmp(other->text, x->items[i]->text) == 0;
        if (!same)
            base_text_printf(&text, "%s%s", text.count == 0 ? "" : ", ", x->keys[i]->text);
    }
    const char *copy = base_arena_copy(arena, text.at == NULL ? "" : text.at);
    base_text_free(&text);
    return copy;
}

static void warn_between(struct scenario_reader *reader, const struct conf_node *node,
                         const char *name, const struct scenario_file *used,
                         const struct choice *choice, const char *release)
{
    struct scenario_file next;
    if (choice->next == NULL || scenario_release_compare(choice->used->release, release) == 0)
        return;
    if (!scenario_find_data(reader, SCENARIO_ENGINE, node, "engine.profile", choice->next->name,
                            &next))
        return;
    const char *differ = differing_switches(reader->arena, used->tree, next.tree);
    if (differ[0] != '\0')
        scenario_warn(
            reader, node, "engine.profile", "release-between",
            "'%.60s' is taken as %.60s; switches that may have changed before %.60s: %.200s", name,
            used->name, choice->next->name, differ);
}

static const char *text_of(const struct conf_node *tree, const char *key)
{
    const char *text = conf_get_text(tree, key);
    return text == NULL ? "" : text;
}

static bool take_file(struct scenario_reader *reader, const struct scenario_file *file,
                      struct scenario_profile *out)
{
    out->tree = file->tree;
    out->name = file->name;
    out->family = text_of(file->tree, "family");
    out->release = text_of(file->tree, "release");
    out->scheduler = text_of(file->tree, "scheduler");
    return scenario_profile_check(reader, file->tree);
}

bool scenario_profile_load(struct scenario_reader *reader, struct conf_node *engine,
                           struct scenario_profile *out)
{
    const struct conf_node *node = conf_get(engine, "profile");
    static const struct conf_node fallback = {
        .kind = CONF_SCALAR, .origin = CONF_ORIGIN_DEFAULT, .text = "vllm", .file = ""};
    if (conf_is_null(node))
        node = &fallback;
    if (node->kind != CONF_SCALAR)
        return scenario_fail(reader, node, "engine.profile", "wrong-type",
                             "'engine.profile' must be a name");
    struct scenario_known_list list = {0};
    struct scenario_file file;
    list_profiles(reader, &list);
    const char *family, *release;
    split_name(reader->arena, node->text, &family, &release);
    struct choice choice = choose(&list, family, release);
    bool is_path = base_ends_with(node->text, ".yaml");
    bool ok =
        is_path || choice.used != NULL || fail_unknown(reader, node, node->text, &list, &choice);
    ok = ok && scenario_find_data(reader, SCENARIO_ENGINE, node, "engine.profile",
                                  is_path ? node->text : choice.used->name, &file);
    if (ok && !is_path && release[0] != '\0')
        warn_between(reader, node, node->text, &file, &choice, release);
    base_vec_free(&list);
    return ok && take_file(reader, &file, out);
}

/* ---- the file ---- */

static bool is_one_of(const char *key, const char *const *keys)
{
    while (*keys != NULL && !base_key_equal(*keys, key))
        keys++;
    return *keys != NULL;
}

/* Keys of a part of the file must be known to the section that it becomes. */
static bool check_part(struct scenario_reader *reader, const struct conf_node *tree,
                       const char *part, const struct scenario_section *section)
{
    const struct conf_node *map = conf_get(tree, part);
    bool ok = true;
    if (conf_is_null(map))
        return true;
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, part, "wrong-type", "'%s' must be a mapping", part);
    for (size_t i = 0; i < map->count; i++) {
        const char *key = map->keys[i]->text;
        if (base_field_find(section->fields, key) != NULL ||
            base_field_find(section->later, key) != NULL)
            continue;
        const char *near = base_field_nearest(section->fields, key);
        ok = scenario_fail_hint(
            reader, map->keys[i], scenario_join(reader->arena, part, key), "unknown-key",
            near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
            "unknown key '%.60s' in '%s'", key, part);
    }
    return ok;
}

bool scenario_profile_check(struct scenario_reader *reader, const struct conf_node *tree)
{
    static const char *const keys[] = {"name",     "aliases",   "family",     "release",
                                       "released", "scheduler", "defaults",   "defaults_by_memory",
                                       "switches", "memory",    "provenance", "notes",
                                       "sizing",   "runtime",   "spelling",   NULL};
    static const char *const needed[] = {"name", "family", "release", "scheduler"};
    bool ok = true;
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, "engine.profile", "wrong-type",
                             "an engine profile must be a mapping");
    for (size_t i = 0; i < tree->count; i++) {
        const char *key = tree->keys[i]->text;
        if (is_one_of(key, keys))
            continue;
        const char *near = base_name_nearest(keys, key);
        ok = scenario_fail_hint(
            reader, tree->keys[i], key, "unknown-key",
            near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
            "unknown key '%.60s' in an engine profile", key);
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (text_of(tree, needed[i])[0] == '\0')
            ok = scenario_fail(reader, tree, needed[i], "missing-key",
                               "'%s' of the engine profile is missing", needed[i]);
    }
    ok = check_part(reader, tree, "defaults", &scenario_engine_section) && ok;
    ok = check_part(reader, tree, "switches", &scenario_switch_section) && ok;
    ok = check_part(reader, tree, "sizing", &scenario_sizing_section) && ok;
    ok = check_part(reader, tree, "runtime", &scenario_runtime_section) && ok;
    return check_part(reader, tree, "memory", &scenario_memory_section) && ok;
}

/* ---- defaults on a device ---- */

static bool contains_folded(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static bool row_fits(struct scenario_reader *reader, const struct conf_node *row,
                     const struct spec_hardware *hardware)
{
    static const struct base_field field = {
        .key = "min_memory", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES};
    const struct conf_node *least = conf_get(row, "min_memory"),
                           *except = conf_get(row, "except_name");
    double bytes = 0;
    if (!conf_is_null(least) &&
        (!scenario_read_value(reader, least, &field, "defaults_by_memory.min_memory", &bytes) ||
         hardware == NULL || (double)hardware->memory_bytes < bytes))
        return false;
    return conf_is_null(except) || hardware == NULL ||
           !contains_folded(hardware->name, except->text);
}

/* The first row that fits, but for the columns that choose it. */
static void put_by_memory(struct scenario_reader *reader, const struct scenario_profile *profile,
                          const struct spec_hardware *hardware, struct conf_node *out)
{
    const struct conf_node *rows = conf_get(profile->tree, "defaults_by_memory");
    for (size_t i = 0; rows != NULL && rows->kind == CONF_LIST && i < rows->count; i++) {
        const struct conf_node *row = rows->items[i];
        if (!row_fits(reader, row, hardware))
            continue;
        for (size_t j = 0; row->kind == CONF_MAP && j < row->count; j++) {
            const char *key = row->keys[j]->text;
            if (!base_key_equal(key, "min_memory") && !base_key_equal(key, "except_name"))
                conf_put(reader->arena, out, key, conf_copy(reader->arena, row->items[j]));
        }
        return;
    }
}

struct conf_node *scenario_profile_defaults(struct scenario_reader *reader,
                                            const struct scenario_profile *profile,
                                            const struct spec_hardware *hardware)
{
    static const char *const parts[][2] = {{"switches", "switch"}, {"memory", "memory"}};
    const struct conf_node *defaults = conf_get(profile->tree, "defaults");
    struct conf_node *out =
        conf_is_null(defaults) ? conf_new_map(reader->arena) : conf_copy(reader->arena, defaults);
    put_by_memory(reader, profile, hardware, out);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct conf_node *part = conf_get(profile->tree, parts[i][0]);
        if (!conf_is_null(part))
            conf_put(reader->arena, out, parts[i][1], conf_copy(reader->arena, part));
    }
    conf_set_origin(out, CONF_ORIGIN_PROFILE);
    return out;
}
