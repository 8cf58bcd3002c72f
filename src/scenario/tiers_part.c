/*
 * tiers_part.c - `engine.kv_tiers` and `engine.kv_offload`: memory behind the pool, its links, what is stored and loaded.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "sched/sched.h"
#include "scenario/tiers_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- reading ---- */

struct tiers {
    struct tier_opts at[SCHED_TIERS_MAX];
    size_t count;
};

static bool fail_tiers(struct scenario_load *load, const char *hint, const char *what)
{
    return scenario_fail_hint(load->reader, conf_get(load->engine, "kv_tiers"), "engine.kv_tiers",
                              "conflict", hint, "'engine.kv_tiers' %s", what);
}

static const char *tier_path(struct scenario_load *load, size_t tier, const char *key)
{
    return base_arena_printf(load->reader->arena, "engine.kv_tiers.%zu%s", tier, key);
}

static bool is_tree(const struct scenario_load *load)
{
    return load->opts.kv_policy == KV_RADIX;
}

// What a tier may be called, and which keys belong to a lower one.
static bool check_tier(struct scenario_load *load, const struct conf_node *node, size_t tier,
                       const struct tiers *tiers)
{
    const struct tier_opts *opts = &tiers->at[tier];
    if (opts->name[0] == '\0' || strcmp(opts->name, "gpu") == 0)
        return scenario_fail_hint(load->reader, conf_get(node, "name"),
                                  tier_path(load, tier, ".name"), "out-of-range", "host",
                                  "a tier needs a name other than the pool's, 'gpu'");
    if (!opts->has_capacity && (tier > 0 || !is_tree(load)))
        return scenario_fail(load->reader, node, tier_path(load, tier, ".capacity"), "missing-key",
                             "'%s' is missing", tier_path(load, tier, ".capacity"));
    if (tier == 0 && opts->has_store)
        return scenario_fail_hint(load->reader, conf_key(node, "store"),
                                  tier_path(load, tier, ".store"), "unused-key",
                                  "engine.kv_offload.store", "'store' is of tiers below the first");
    if (tier > 0 && strcmp(opts->name, tiers->at[0].name) == 0)
        return scenario_fail_hint(load->reader, node, tier_path(load, tier, ".name"),
                                  "out-of-range", "disk", "two tiers are called '%s'", opts->name);
    if (tier > 0 && !opts->has_read)
        return scenario_fail_hint(load->reader, node, tier_path(load, tier, ".read_bandwidth"),
                                  "missing-key", "read_bandwidth: 6GB/s",
                                  "'read_bandwidth' is missing for the tier '%s'", opts->name);
    return true;
}

static bool read_tiers(struct scenario_load *load, struct tiers *out)
{
    const struct conf_node *list = conf_get(load->engine, "kv_tiers");
    if (list->kind != CONF_LIST || list->count == 0)
        return scenario_fail(load->reader, list, "engine.kv_tiers", "wrong-type",
                             "'kv_tiers' must be a list: [{name: host, capacity: 64GiB}]");
    if (list->count > SCHED_TIERS_MAX)
        return scenario_fail_hint(load->reader, list->items[SCHED_TIERS_MAX],
                                  tier_path(load, SCHED_TIERS_MAX, ""), "unsupported-key",
                                  "two tiers: host and disk",
                                  "a third tier is not simulated by this version");
    for (size_t i = 0; i < list->count; i++) {
        struct conf_node *node = list->items[i];
        if (node->kind != CONF_MAP)
            return scenario_fail(load->reader, node, tier_path(load, i, ""), "wrong-type",
                                 "a tier must be a mapping: {name: host, capacity: 64GiB}");
        if (!scenario_read_map(load->reader, node, &scenario_tier_section, tier_path(load, i, ""),
                               &out->at[i]) ||
            !check_tier(load, node, i, out))
            return false;
    }
    out->count = list->count;
    return true;
}

// A key that has no effect as the others are.
struct idle_key {
    const char *key;
    bool is_stated, is_used;
    const char *hint;
};

static bool check_idle(struct scenario_load *load, const struct conf_node *node,
                       const struct idle_key *key)
{
    if (!key->is_stated || key->is_used)
        return true;
    return scenario_fail_hint(
        load->reader, conf_key(node, key->key),
        base_arena_printf(load->reader->arena, "engine.kv_offload.%s", key->key), "unused-key",
        key->hint, "'%s' has no effect here", key->key);
}

/* What HiCache does where nobody has said otherwise. */
static void default_of_tree(struct scenario_load *load, struct conf_node *node, const char *key,
                            const char *value)
{
    if (scenario_stated(node, key) != NULL)
        return;
    struct conf_node *scalar = conf_new_scalar(load->reader->arena, value);
    scalar->origin = CONF_ORIGIN_DEFAULT;
    conf_put(load->reader->arena, node, key, scalar);
}

static bool read_offload(struct scenario_load *load, const struct tiers *tiers,
                         struct offload_opts *out)
{
    struct conf_node *node = scenario_child(load->reader, load->engine, "engine", "kv_offload");
    if (node != NULL && is_tree(load)) {
        default_of_tree(load, node, "load", "layerwise");
        if (tiers->count > 1)
            default_of_tree(load, node, "prefetch", "timeout");
    }
    if (node == NULL ||
        !scenario_read_map(load->reader, node, &scenario_offload_section, "engine.kv_offload", out))
        return false;
    bool selects = out->store == SCHED_STORE_LOOKUPS || out->store == SCHED_STORE_USES;
    bool prefetches = out->prefetch != SCHED_PREFETCH_NONE;
    bool times = out->prefetch == SCHED_PREFETCH_TIMEOUT;
    const struct idle_key keys[] = {
        {"store_threshold", out->has_threshold, selects, "store: selective"},
        {"store_decode", out->has_decode && !out->store_decode, out->store != SCHED_STORE_BACK,
         "store: write_through"},
        {"prefetch", prefetches, tiers->count > 1, "a second tier in engine.kv_tiers"},
        {"prefetch_threshold", out->has_prefetch_threshold, prefetches, "prefetch: timeout"},
        {"prefetch_timeout", out->has_prefetch_base, times, "prefetch: timeout"},
        {"prefetch_timeout_per_1k", out->has_prefetch_per_tokens, times, "prefetch: timeout"},
        {"prefetch_timeout_max", out->has_prefetch_most, times, "prefetch: timeout"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!check_idle(load, node, &keys[i]))
            return false;
    }
    return true;
}

bool scenario_tiers_exist(const struct scenario_load *load)
{
    return !conf_is_null(conf_get(load->engine, "kv_tiers"));
}

static bool check_alone(struct scenario_load *load)
{
    const struct conf_node *node = scenario_stated(load->engine, "kv_offload");
    if (node == NULL)
        return true;
    return scenario_fail_hint(load->reader, node, "engine.kv_offload", "unused-key",
                              "engine.kv_tiers: [{name: host, capacity: 64GiB}]",
                              "'engine.kv_offload' has no effect without 'engine.kv_tiers'");
}

/* ---- what goes together ---- */

/* The least of engine.switch.offload_tables that these tables need. */
static int needed_tables(const struct kv_tables *tables)
{
    int needed = SCENARIO_OFFLOAD_FULL;
    for (size_t i = 0; i < tables->window_count; i++) {
        const struct kv_window *window = &tables->windows[i];
        int own = window->kind == SPEC_KV_CHUNKED ? SCENARIO_OFFLOAD_ALL
                  : window->kind == SPEC_KV_STATE ? SCENARIO_OFFLOAD_STATES
                                                  : SCENARIO_OFFLOAD_WINDOWS;
        needed = window->table_count > 0 && own > needed ? own : needed;
    }
    return needed;
}

bool scenario_offload_tables_matter(const struct scenario_load *load)
{
    return scenario_tiers_exist(load) &&
           needed_tables(&load->scenario->config.tables) > SCENARIO_OFFLOAD_FULL;
}

/* What the release's connector does with block tables other than those of full attention. */
static bool check_tables(struct scenario_load *load)
{
    const struct kv_tables *tables = &load->scenario->config.tables;
    int known = load->opts.switch_opts.offload_tables, needed = needed_tables(tables);
    bool has_states = needed == SCENARIO_OFFLOAD_STATES;
    if (tables->long_tables > 0)
        return fail_tiers(load, "a model whose layers' tokens take equally many bytes",
                          "is not simulated for blocks of several lengths by this version");
    if (needed == SCENARIO_OFFLOAD_FULL)
        return true;
    if (known == SCENARIO_OFFLOAD_FULL)
        return fail_tiers(
            load,
            has_states ? "engine.profile: vllm-0.23 or newer"
                       : "engine.profile: vllm-0.21 or newer, or "
                         "engine.disable_hybrid_kv_cache_manager: true, as the release does",
            "cannot follow the model's windows or states: with a connector this release turns its "
            "hybrid KV cache manager off");
    if (known < needed)
        return fail_tiers(load,
                          has_states ? "engine.profile: vllm-0.23 or newer"
                                     : "engine.profile: vllm-2026-08, or "
                                       "engine.disable_hybrid_kv_cache_manager: true",
                          has_states ? "cannot keep recurrent states: this release's connector "
                                       "does not align what it finds to them"
                                     : "cannot keep chunked layers: this release's connector "
                                       "stops at them as it starts");
    if (tables->is_sparse && load->scenario->config.sched.free_order == SCHED_FREE_OLD)
        return fail_tiers(load,
                          "engine.switch.free_order: new, or engine.switch.window_retention: all",
                          "is simulated for window_retention 'sparse' where blocks without "
                          "content go to the head of the queue, as in all releases that have it");
    return true;
}

static bool check_engine(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    if (config->scheduler != NULL && (config->scheduler->uses & SCHED_USES_TIERS) == 0)
        return fail_tiers(load, "a profile of vLLM V1",
                          "is simulated for the scheduler 'vllm_v1' only");
    bool can_cache = config->kv_policy == KV_PAGED || config->kv_policy == KV_UNLIMITED;
    if (!config->sched.enable_prefix_caching)
        return fail_tiers(load,
                          can_cache ? "enable_prefix_caching: true" : "engine.kv_policy: paged",
                          "holds what the prefix cache has found, and that is off");
    if (!check_tables(load))
        return false;
    if (config->sched.unchunked_misfit == SCHED_MISFIT_SKIP)
        return fail_tiers(load, "engine.profile: vllm-0.13 or newer",
                          "belongs to releases that do not pass over unchunked prompts");
    if (config->sched.block_size == 1 && !is_tree(load))
        return fail_tiers(load, "a larger block_size", "needs blocks of more than one token");
    return true;
}

static bool fail_offload(struct scenario_load *load, const char *key, const char *hint,
                         const char *what)
{
    const struct conf_node *node = conf_get(conf_get(load->engine, "kv_offload"), key);
    return scenario_fail_hint(load->reader,
                              node != NULL ? node : conf_get(load->engine, "kv_tiers"),
                              base_arena_printf(load->reader->arena, "engine.kv_offload.%s", key),
                              "conflict", hint, "'engine.kv_offload.%s' %s", key, what);
}

/* A tree keeps nodes, not chunks, and moves them as HiCache does. */
static bool check_tree(struct scenario_load *load, const struct tiers *tiers,
                       const struct offload_opts *offload)
{
    if (offload->load == LOAD_SYNC && scenario_offload_tables_matter(load))
        return fail_offload(
            load, "load", "load: async, or engine.disable_hybrid_kv_cache_manager: true",
            "'sync' is LMCache's, whose connector knows no tables of windows and states");
    if (!is_tree(load) && offload->load == LOAD_LAYERWISE)
        return fail_offload(load, "load", "load: sync, or kv_policy: radix",
                            "'layerwise' is a radix tree's");
    if (!is_tree(load))
        return true;
    if (tiers->count > 1 && tiers->at[1].store == COPY_BACK)
        return fail_tiers(
            load, "store: write_through",
            "behind a radix tree writes to a second tier what the first one has stored");
    if (tiers->count > 1 && offload->prefetch == SCHED_PREFETCH_NONE)
        return fail_offload(load, "prefetch", "prefetch: timeout",
                            "cannot be 'none' with a second tier behind a radix tree, which reads "
                            "it at arrival alone");
    if (tiers->at[0].eviction != KV_TIER_LRU)
        return fail_tiers(load, "engine.kv_eviction",
                          "behind a radix tree has the tree's own order of eviction");
    if (offload->load != LOAD_LAYERWISE)
        return fail_offload(load, "load", "load: layerwise", "is 'layerwise' behind a radix tree");
    if (offload->store == SCHED_STORE_LOOKUPS)
        return fail_offload(load, "store", "store: write_through_selective",
                            "'selective' counts what a tier is asked for, which a tree is not");
    if (!offload->store_decode)
        return fail_offload(load, "store_decode", "leave it out, or kv_policy: paged",
                            "cannot be false: answers enter a radix tree as prompts do");
    if (offload->has_chunk && offload->chunk_tokens != load->scenario->config.sched.block_size)
        return fail_offload(load, "chunk_tokens", "leave it out, or set engine.block_size",
                            "has no meaning behind a radix tree, which keeps pages of block_size");
    return true;
}

/* ---- into the config ---- */

// HiCache's default.
static void derive_capacity(struct scenario_load *load, struct tiers *tiers)
{
    const struct serve_config *config = &load->scenario->config;
    struct tier_opts *host = &tiers->at[0];
    if (host->has_capacity)
        return;
    host->capacity_bytes =
        2 * (config->pool_blocks - config->reserved_blocks) * serve_config_block_bytes(config);
    scenario_param_derived(load->reader, tier_path(load, 0, ".capacity.used"),
                           base_arena_printf(load->reader->arena, "%" PRId64, host->capacity_bytes),
                           "bytes", SPEC_CALCULATED, "twice the pool");
}

static int64_t ticks_per_block(double bytes, double bytes_per_s)
{
    return llround(bytes / bytes_per_s * 1e9 * (double)BASE_TICKS_PER_NS);
}

static bool find_bandwidths(struct scenario_load *load, struct tiers *tiers)
{
    const struct scenario *scenario = load->scenario;
    struct tier_opts *first = &tiers->at[0];
    if (!first->has_read) {
        const char *key = tier_path(load, 0, ".read_bandwidth");
        if (!scenario->has_hardware || scenario->hardware.pcie_bytes_per_s <= 0)
            return scenario_fail(load->reader, conf_get(load->engine, "kv_tiers"), key,
                                 "missing-key",
                                 "'read_bandwidth' is missing, and the hardware does not say how "
                                 "fast its host link is");
        first->read_bytes_per_s = scenario->hardware.pcie_bytes_per_s;
        scenario_param_derived(
            load->reader, tier_path(load, 0, ".read_bandwidth.used"),
            base_arena_printf(load->reader->arena, "%.6g", first->read_bytes_per_s), "bytes/s",
            SPEC_VENDOR, "the hardware's host link");
    }
    for (size_t i = 0; i < tiers->count; i++) {
        struct tier_opts *opts = &tiers->at[i];
        if (!opts->has_write)
            opts->write_bytes_per_s = opts->read_bytes_per_s;
    }
    return true;
}

static bool fill_tier(struct scenario_load *load, const struct tier_opts *opts, size_t tier)
{
    struct serve_config *config = &load->scenario->config;
    int64_t block_bytes = serve_config_block_bytes(config);
    int64_t chunk_bytes = config->sched.tier.chunk_blocks * block_bytes;
    bool is_per_gpu = opts->has_shared ? opts->shared == LINK_PER_GPU : tier == 0;
    double bytes = (double)block_bytes / (is_per_gpu ? (double)config->layout.gpu_count : 1);
    config->sched.tier.at[tier] = (struct sched_tier_option){
        .capacity_chunks = opts->capacity_bytes / chunk_bytes,
        .order = (enum kv_tier_order)opts->eviction,
        .latency_ticks = opts->latency_ns * (int64_t)BASE_TICKS_PER_NS,
        .read_ticks_per_block = ticks_per_block(bytes, opts->read_bytes_per_s),
        .write_ticks_per_block = ticks_per_block(bytes, opts->write_bytes_per_s),
        .on_eviction = opts->has_store && opts->store == COPY_BACK};
    config->tiers[tier] =
        (struct serve_tier){.name = opts->name, .capacity_bytes = opts->capacity_bytes};
    if (opts->capacity_bytes >= chunk_bytes)
        return true;
    return scenario_fail(load->reader, conf_get(load->engine, "kv_tiers"),
                         tier_path(load, tier, ".capacity"), "out-of-range",
                         "'capacity' %" PRId64 " bytes holds no chunk of %" PRId64 " bytes",
                         opts->capacity_bytes, chunk_bytes);
}

static bool fill_options(struct scenario_load *load, const struct tiers *tiers,
                         const struct offload_opts *offload)
{
    struct serve_config *config = &load->scenario->config;
    int64_t block = config->sched.block_size;
    int64_t tokens = offload->has_chunk ? offload->chunk_tokens : block;
    if (tokens % block != 0)
        return scenario_fail_hint(
            load->reader, conf_get(conf_get(load->engine, "kv_offload"), "chunk_tokens"),
            "engine.kv_offload.chunk_tokens", "out-of-range",
            base_arena_printf(load->reader->arena, "%" PRId64,
                              (tokens / block > 0 ? tokens / block : 1) * block),
            "'chunk_tokens' %" PRId64 " is no multiple of the block size %" PRId64, tokens, block);
    if (offload->store == SCHED_STORE_BACK && tokens != block)
        return scenario_fail_hint(
            load->reader, conf_get(conf_get(load->engine, "kv_offload"), "chunk_tokens"),
            "engine.kv_offload.chunk_tokens", "conflict",
            base_arena_printf(load->reader->arena, "%" PRId64, block),
            "store 'write_back' writes block by block, and 'chunk_tokens' is %" PRId64, tokens);
    const int64_t ticks_per_ns = (int64_t)BASE_TICKS_PER_NS;
    config->sched.tier = (struct sched_tier_options){
        .chunk_blocks = tokens / block,
        .count = tiers->count,
        .store = (enum sched_store)offload->store,
        .store_threshold = offload->store_threshold,
        .prompt_only = !offload->store_decode,
        .is_sync = offload->load == LOAD_SYNC,
        .reserves_for_prefills = load->opts.switch_opts.reserve_for_loads && !is_tree(load),
        .load_layers = is_tree(load) ? (int64_t)spec_kv_layers(&load->scenario->model) : 1,
        .load_threshold_tokens = 10, // SGLang, mem_cache/hiradix_cache.py, load_back_threshold
        .read_batch_blocks = 128,    // SGLang, managers/cache_controller.py, storage_batch_size
        .by_cost = offload->fetch == FETCH_BY_COST,
        .prefetch = (enum sched_prefetch)offload->prefetch,
        .prefetch_threshold_tokens = offload->prefetch_threshold,
        .prefetch_base_ticks = offload->prefetch_base_ns * ticks_per_ns,
        .prefetch_ticks_per_1024_tokens = offload->prefetch_ns_per_1024_tokens * ticks_per_ns,
        .prefetch_most_ticks = offload->prefetch_most_ns * ticks_per_ns};
    for (size_t i = 0; i < tiers->count; i++) {
        if (!fill_tier(load, &tiers->at[i], i))
            return false;
    }
    return true;
}

// Written through, the least recently used first, a small tier holds what was computed last: the memory above has that.
static void warn_of_size(struct scenario_load *load, const struct tiers *tiers)
{
    const struct serve_config *config = &load->scenario->config;
    int64_t above = config->pool_blocks * serve_config_block_bytes(config);
    const char *name = "the pool";
    for (size_t i = 0; i < tiers->count; i++) {
        const struct tier_opts *tier = &tiers->at[i];
        if (tier->capacity_bytes <= above && tier->store != COPY_BACK)
            scenario_caveat(load->reader, "tier_smaller_than_pool",
                            "the tier '%s' of %" PRId64 " bytes is no larger than %s of %" PRId64
                            ": most of what it holds that holds as well",
                            tier->name, tier->capacity_bytes, name, above);
        above = tier->capacity_bytes;
        name = base_arena_printf(load->reader->arena, "'%s'", tier->name);
    }
}

/* Stated where no tier has other tables than those of full attention to know. */
static bool check_idle_tables(struct scenario_load *load)
{
    const struct conf_node *stated =
        scenario_stated(conf_get(load->engine, "switch"), "offload_tables");
    if (stated == NULL || scenario_offload_tables_matter(load) ||
        (scenario_tiers_exist(load) && !scenario_is_run(load)))
        return true; // only a run has tables
    return scenario_fail_hint(load->reader, stated, "engine.switch.offload_tables",
                              "unsupported-key",
                              "it concerns 'engine.kv_tiers' behind windowed layers with tables of "
                              "their own, or recurrent states",
                              "'engine.switch.offload_tables' has no effect");
}

bool scenario_tiers_resolve(struct scenario_load *load)
{
    struct tiers tiers = {.count = 0};
    struct offload_opts offload = {0};
    if (!check_idle_tables(load))
        return false;
    if (!scenario_tiers_exist(load))
        return check_alone(load);
    if (!read_tiers(load, &tiers) || !read_offload(load, &tiers, &offload))
        return false;
    if (!scenario_is_run(load))
        return true;
    if (!check_engine(load) || !check_tree(load, &tiers, &offload) ||
        !find_bandwidths(load, &tiers))
        return false;
    derive_capacity(load, &tiers);
    if (!fill_options(load, &tiers, &offload))
        return false;
    warn_of_size(load, &tiers);
    return true;
}
