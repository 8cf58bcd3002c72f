/*
 * tables.c - block tables of the running simulation, from the pages of the pool; what a prefix cache makes of them.
 */
#include "scenario/parts.h"

#include "base/error.h"

#include <inttypes.h>

enum { RETAIN_SPARSE = 1 }; /* of engine.switch.window_retention */

static bool gives_blocks_back(const struct kv_tables *tables)
{
    for (size_t i = 0; i < tables->window_count; i++) {
        if (tables->windows[i].table_count > 0)
            return true;
    }
    return false;
}

/* ---- recurrent states ---- */

bool scenario_state_caching_matters(const struct scenario_load *load)
{
    return load->scenario->config.tables.holds_states && load->opts.enable_prefix_caching;
}

static bool check_idle_state_caching(struct scenario_load *load)
{
    const struct conf_node *stated =
        scenario_stated(conf_get(load->engine, "switch"), "state_caching");
    if (stated == NULL || scenario_state_caching_matters(load))
        return true;
    return scenario_fail_hint(load->reader, stated, "engine.switch.state_caching",
                              "unsupported-key",
                              "it concerns models with recurrent states in the pool and a prefix "
                              "cache",
                              "'engine.switch.state_caching' has no effect");
}

/* The release has no such cache, or none unless asked. */
static bool leave_states_out(struct scenario_load *load, const struct conf_node *stated)
{
    if (stated != NULL)
        return scenario_fail_hint(
            load->reader, stated, "engine.enable_prefix_caching", "unsupported-key",
            "a later profile, or engine.switch.state_caching: default",
            "%s has no prefix cache of recurrent states that is simulated", load->profile.name);
    load->scenario->config.sched.enable_prefix_caching = false;
    scenario_param_derived(load->reader, "engine.enable_prefix_caching.used", "false", "",
                           SPEC_ASSUMED, "engine.switch.state_caching");
    scenario_caveat(load->reader, "prefix_caching_off",
                    "%s keeps no prefix cache of a model with recurrent states%s; no hit is "
                    "counted",
                    load->profile.name,
                    load->opts.switch_opts.state_caching == SCENARIO_STATES_NONE
                        ? ""
                        : " unless enable_prefix_caching is stated");
    return true;
}

/* Chunks of a prompt end where its states lie. */
static bool cache_states(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    struct kvsim_error err = {.status = KVSIM_OK};
    if (!load->opts.enable_chunked_prefill)
        return scenario_fail_hint(load->reader, conf_get(load->engine, "enable_chunked_prefill"),
                                  "engine.enable_chunked_prefill", "conflict",
                                  "leave it out, or set engine.enable_prefix_caching to false",
                                  "a prefix cache of recurrent states needs chunked prefill: "
                                  "states lie at block borders");
    if (kv_tables_cache_states(&config->tables, &err) != KVSIM_OK)
        return scenario_fail_error(load->reader, conf_get(load->root, "model"), "model", &err);
    return true;
}

bool scenario_states_are_cached(const struct scenario_load *load)
{
    const struct conf_node *stated = scenario_stated(load->engine, "enable_prefix_caching");
    int mode = load->opts.switch_opts.state_caching;
    return load->opts.enable_prefix_caching &&
           (mode == SCENARIO_STATES_DEFAULT || (mode == SCENARIO_STATES_ASKED && stated != NULL));
}

static bool resolve_states(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    const struct conf_node *stated = scenario_stated(load->engine, "enable_prefix_caching");
    if (!check_idle_state_caching(load))
        return false;
    if (!config->tables.holds_states || !config->sched.enable_prefix_caching)
        return true;
    return scenario_states_are_cached(load) ? cache_states(load) : leave_states_out(load, stated);
}

/* ---- windows ---- */

/* Orders of eviction compare whole extents: with several tables they would not be the engine's, block by block. */
static bool check_eviction(struct scenario_load *load)
{
    if (load->scenario->config.kv_eviction == KV_EVICT_LRU)
        return true;
    const struct conf_node *node = conf_get(load->engine, "kv_eviction");
    return scenario_fail_hint(load->reader, node != NULL ? node : load->engine,
                              "engine.kv_eviction", "conflict", "lru, the engine's own",
                              "orders of eviction are simulated for models whose layers all see "
                              "their whole context");
}

bool scenario_retention_matters(const struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    return config->sched.enable_prefix_caching && gives_blocks_back(&config->tables);
}

/* Stated where nothing is retained. */
static bool check_idle_retention(struct scenario_load *load)
{
    const struct conf_node *stated =
        scenario_stated(conf_get(load->engine, "switch"), "window_retention");
    if (stated == NULL)
        return true;
    return scenario_fail_hint(load->reader, stated, "engine.switch.window_retention",
                              "unsupported-key",
                              "it concerns windowed layers with tables of their own, or recurrent "
                              "states, and a prefix cache",
                              "'engine.switch.window_retention' has no effect");
}

static size_t kind_count(const struct kv_tables *tables)
{
    size_t kinds = tables->full_tables > 0 ? 1 : 0;
    for (size_t i = 0; i < tables->window_count; i++)
        kinds += tables->windows[i].table_count > 0 ? 1 : 0;
    return kinds;
}

/* The release's default is of models with several kinds of tables: its recorded schedules keep all blocks of a model that has
 * one kind. */
static void resolve_retention(struct scenario_load *load)
{
    struct kv_tables *tables = &load->scenario->config.tables;
    const struct conf_node *stated =
        scenario_stated(conf_get(load->engine, "switch"), "window_retention");
    bool is_sparse = load->opts.switch_opts.window_retention == RETAIN_SPARSE;
    tables->is_sparse = is_sparse && (stated != NULL || kind_count(tables) > 1);
    if (is_sparse && !tables->is_sparse)
        scenario_param_derived(load->reader, "engine.switch.window_retention.used", "all", "",
                               SPEC_ASSUMED, "as recorded of models whose layers are all alike");
}

/* Chunks are found where they begin, which may be inside a stretch in which blocks of all tables begin; states lie at the ends of
 * the shortest blocks. */
static const char *why_long_blocks_are_not_found(const struct kv_tables *tables)
{
    for (size_t i = 0; i < tables->window_count; i++) {
        if (tables->windows[i].kind == SPEC_KV_CHUNKED && tables->windows[i].table_count > 0)
            return "layers that attend within chunks";
    }
    return tables->caches_states ? "recurrent states" : NULL;
}

static bool check_long_blocks(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    const char *why = why_long_blocks_are_not_found(&config->tables);
    if (config->tables.long_tables == 0 || !config->sched.enable_prefix_caching || why == NULL)
        return true;
    const struct conf_node *stated = scenario_stated(load->engine, "enable_prefix_caching");
    if (stated == NULL)
        stated = scenario_stated(load->engine, "kv_cache_dtype");
    return scenario_fail_hint(
        load->reader, stated != NULL ? stated : conf_get(load->root, "model"),
        "engine.enable_prefix_caching", "unequal-pages", "engine.enable_prefix_caching: false",
        "with %s a prefix cache is not simulated where blocks of one pool are of %" PRId64
        " tokens and of more",
        why, config->tables.block_tokens);
}

static bool resolve_reuse(struct scenario_load *load)
{
    if (!resolve_states(load) || !check_long_blocks(load))
        return false;
    if (!scenario_retention_matters(load))
        return check_idle_retention(load);
    resolve_retention(load);
    return check_eviction(load);
}

/* A block grows until a state fits in its page. */
static void use_block(struct scenario_load *load, const struct kv_tables *tables)
{
    struct sched_options *sched = &load->scenario->config.sched;
    if (tables->block_tokens == sched->block_size)
        return;
    sched->block_size = tables->block_tokens;
    scenario_param_derived(load->reader, "engine.block_size.used",
                           base_arena_printf(load->reader->arena, "%" PRId64, tables->block_tokens),
                           "tokens", SPEC_CALCULATED, "blocks as large as a recurrent state");
}

/* What follows a state can be computed only behind that state, of which a tree of tokens knows nothing. */
static bool check_tree(struct scenario_load *load)
{
    const struct spec_kv_layout *layout = &load->scenario->config.layout;
    bool has_states = false;
    for (size_t i = 0; i < layout->group_count; i++)
        has_states = has_states || layout->groups[i].kind == SPEC_KV_STATE;
    if (load->scenario->config.kv_policy != KV_RADIX || !has_states)
        return true;
    return scenario_fail_hint(load->reader, conf_get(load->engine, "kv_policy"), "engine.kv_policy",
                              "conflict", "paged",
                              "kv_policy 'radix' is not simulated for models with recurrent states "
                              "by this version");
}

bool scenario_tables_make(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    struct kvsim_error err = {.status = KVSIM_OK};
    bool runs = scenario_is_run(load);
    if (runs && !check_tree(load))
        return false;
    if (!runs || config->waterfall.pages.kind_count == 0)
        return true;
    if (kv_tables_make(&config->layout, &config->waterfall.pages, &config->tables, &err) !=
        KVSIM_OK)
        return scenario_fail_error(load->reader, conf_get(load->root, "model"), "model", &err);
    use_block(load, &config->tables);
    return resolve_reuse(load);
}
