/*
 * params.c - the rows of run_param: what each value was, where it came from, and how well it is known.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const char *origin_name(enum conf_origin origin)
{
    static const char *const names[] = {
        [CONF_ORIGIN_SCENARIO] = "scenario",
        [CONF_ORIGIN_PROFILE] = "profile",
        [CONF_ORIGIN_DEFAULT] = "default",
        [CONF_ORIGIN_SET] = "set",
    };
    base_require((size_t)origin < sizeof names / sizeof names[0]);
    return names[origin];
}

static bool claim_parse(const char *text, enum spec_claim *out)
{
    static const enum spec_claim claims[] = {SPEC_CALCULATED, SPEC_SIMULATED, SPEC_MEASURED,
                                             SPEC_VENDOR, SPEC_ASSUMED};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        if (strcmp(text, spec_claim_name(claims[i])) == 0) {
            *out = claims[i];
            return true;
        }
    }
    return false;
}

static void take_entry(const struct conf_node *entry, enum spec_claim *claim, const char **source)
{
    const struct conf_node *word = conf_get(entry, "claim"), *from = conf_get(entry, "source");
    if (word != NULL && word->kind == CONF_SCALAR)
        claim_parse(word->text, claim);
    if (from != NULL && from->kind == CONF_SCALAR)
        *source = from->text;
}

void scenario_provenance_find(const struct conf_node *provenance, const char *key,
                              enum spec_claim *claim, const char **source)
{
    if (provenance == NULL || provenance->kind != CONF_MAP)
        return;
    const struct conf_node *best = conf_get(provenance, "default");
    size_t best_length = 0;
    for (size_t i = 0; i < provenance->count; i++) {
        const char *name = provenance->keys[i]->text;
        size_t length = strlen(name);
        bool fits = strncmp(name, key, length) == 0 && (key[length] == '\0' || key[length] == '.');
        if (fits && length > best_length) {
            best = provenance->items[i];
            best_length = length;
        }
    }
    take_entry(best, claim, source);
}

/* The profile's own key of an engine key: "engine.switch.free_order" is "switches.free_order" there. */
static const char *profile_key(struct base_arena *arena, const char *key)
{
    if (base_starts_with(key, "engine.switch."))
        return base_arena_printf(arena, "switches.%s", key + strlen("engine.switch."));
    if (base_starts_with(key, "engine.memory."))
        return base_arena_printf(arena, "memory.%s", key + strlen("engine.memory."));
    if (base_starts_with(key, "engine."))
        return base_arena_printf(arena, "defaults.%s", key + strlen("engine."));
    return key;
}

/* Defaults that depend on memory have a section of their own, unless the profile tells of the key itself. */
static void find_claim(const struct scenario_reader *reader, const char *key,
                       enum spec_claim *claim, const char **source)
{
    const char *name = profile_key(reader->arena, key);
    bool by_memory = strcmp(key, "engine.max_num_seqs") == 0 ||
                     strcmp(key, "engine.max_num_batched_tokens") == 0;
    if (by_memory && conf_get(reader->provenance, name) == NULL)
        name = "defaults_by_memory";
    scenario_provenance_find(reader->provenance, name, claim, source);
}

bool scenario_key_is_path(const char *key)
{
    const char *dot = strrchr(key, '.');
    const char *name = dot == NULL ? key : dot + 1;
    return strcmp(name, "file") == 0 || strcmp(name, "profile") == 0;
}

void scenario_param_text(struct scenario_reader *reader, const char *key, const char *value,
                         const char *unit, const struct conf_node *node)
{
    if (reader->params == NULL)
        return;
    enum spec_claim claim = SPEC_ASSUMED;
    const char *source = "";
    if (node->origin == CONF_ORIGIN_PROFILE)
        find_claim(reader, key, &claim, &source);
    struct serve_param param = {
        .key = base_arena_copy(reader->arena, key),
        // No stored text holds a folder of this machine.
        .value = base_arena_copy(reader->arena,
                                 scenario_key_is_path(key) ? scenario_base_name(value) : value),
        .unit = unit,
        .origin = origin_name(node->origin),
        .claim = spec_claim_name(claim),
        .source = source,
    };
    base_vec_push(reader->params, param);
}

void scenario_param_derived(struct scenario_reader *reader, const char *key, const char *value,
                            const char *unit, enum spec_claim claim, const char *source)
{
    if (reader->params == NULL)
        return;
    struct serve_param param = {
        .key = base_arena_copy(reader->arena, key),
        .value = base_arena_copy(reader->arena, value),
        .unit = unit,
        .origin = origin_name(CONF_ORIGIN_DEFAULT),
        .claim = spec_claim_name(claim),
        .source = source,
    };
    base_vec_push(reader->params, param);
}

struct walk {
    struct scenario_reader *reader;
    const struct conf_node *provenance;
};

static void add_leaf(const struct walk *walk, const char *key, const char *inner,
                     const struct conf_node *node)
{
    enum spec_claim claim = SPEC_ASSUMED;
    const char *source = "";
    if (node->origin == CONF_ORIGIN_PROFILE)
        scenario_provenance_find(walk->provenance, inner, &claim, &source);
    struct base_text text = {0};
    conf_print(node, &text);
    while (text.count > 0 && text.at[text.count - 1] == '\n')
        text.at[--text.count] = '\0';
    struct serve_param param = {
        .key = base_arena_copy(walk->reader->arena, key),
        .value =
            base_arena_copy(walk->reader->arena, node->kind == CONF_SCALAR ? node->text : text.at),
        .unit = "",
        .origin = origin_name(node->origin),
        .claim = spec_claim_name(claim),
        .source = source,
    };
    base_text_free(&text);
    base_vec_push(walk->reader->params, param);
}

static bool is_about(const char *key)
{
    static const char *const words[] = {"provenance", "notes", "aliases", "collectives",
                                        "all_reduce"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(key, words[i]) == 0)
            return true;
    }
    return false;
}

/* `key` from the scenario's root, `inner` from the data file's. */
static void walk_tree(const struct walk *walk, const char *key, const char *inner,
                      const struct conf_node *node)
{
    if (node->kind != CONF_MAP) {
        if (!conf_is_null(node))
            add_leaf(walk, key, inner, node);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const char *name = node->keys[i]->text;
        if (!is_about(name))
            walk_tree(walk, scenario_join(walk->reader->arena, key, name),
                      scenario_join(walk->reader->arena, inner, name), node->items[i]);
    }
}

void scenario_param_tree(struct scenario_reader *reader, const char *key,
                         const struct conf_node *node)
{
    struct walk walk = {.reader = reader, .provenance = conf_get(node, "provenance")};
    if (reader->params != NULL)
        walk_tree(&walk, key, "", node);
}

bool scenario_provenance_check(struct scenario_reader *reader, const struct conf_node *provenance,
                               const char *path)
{
    bool ok = true;
    if (provenance == NULL)
        return true;
    if (provenance->kind != CONF_MAP)
        return scenario_fail(reader, provenance, path, "wrong-type",
                             "'provenance' must be a mapping");
    for (size_t i = 0; i < provenance->count; i++) {
        const struct conf_node *claim = conf_get(provenance->items[i], "claim");
        bool measured =
            claim != NULL && claim->kind == CONF_SCALAR && strcmp(claim->text, "measured") == 0;
        if (measured && conf_is_null(conf_get(provenance->items[i], "conditions")))
            ok = scenario_fail(reader, provenance->keys[i], path, "missing-conditions",
                               "the measured figure '%.80s' needs its 'conditions'",
                               provenance->keys[i]->text);
    }
    return ok;
}
