/*
 * kv_policy.c - engine.kv_policy, engine.kv_placement and the scheduler: which go together, and what they make of block
 * size, prefix caching, pool and the cost of a step.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "catalog/catalog.h"
#include "cost/rates.h"
#include "kv/reserve.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static enum kv_policy policy_of(const struct scenario_load *load)
{
    return (enum kv_policy)load->opts.kv_policy;
}

static const char *policy_name(const struct scenario_load *load)
{
    return kv_policy_choices[load->opts.kv_policy].name;
}

static bool fail_key(struct scenario_load *load, const char *key, const char *code,
                     const char *hint, const char *what)
{
    const struct conf_node *node = conf_get(load->engine, key);
    return scenario_fail_hint(load->reader, node != NULL ? node : load->engine,
                              scenario_join(load->reader->arena, "engine", key), code, hint,
                              "'%s' %s with kv_policy '%s' under %s", key, what, policy_name(load),
                              load->profile.name);
}

// What the policy makes of a key that nobody stated, in the tree too, so that the resolved scenario can be read again.
static void put_derived(struct scenario_load *load, const char *key, const char *value)
{
    struct conf_node *node = conf_new_scalar(load->reader->arena, value);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(load->reader->arena, load->engine, key, node);
    scenario_param_derived(load->reader,
                           base_arena_printf(load->reader->arena, "engine.%s.used", key), value, "",
                           SPEC_CALCULATED, "follows from engine.kv_policy");
}

/* ---- the scheduler ---- */

static const struct sched_ops *scheduler_of(const struct scenario_load *load)
{
    const struct sched_ops *ops = catalog_scheduler(load->profile.scheduler);
    if (kv_policy_has_slots(policy_of(load)))
        return &sched_llama_cpp;
    // Iterations with blocks taken as they are needed have to throw somebody out when they run short: that is vLLM's way.
    if (ops != NULL && !ops->has_budget &&
        (policy_of(load) == KV_PAGED || policy_of(load) == KV_RADIX))
        return &sched_vllm_v1;
    // A context that is computed again at every step can't be cut into chunks.
    if (ops == &sched_vllm_v1 && policy_of(load) == KV_NO_CACHE)
        return &sched_orca;
    return ops;
}

/* Keys that only some schedulers look at. */
static const struct use {
    const char *key;
    enum sched_use use;
} engine_uses[] = {{"long_prefill_token_threshold", SCHED_USES_LONG_PROMPT_CAP},
                   {"enable_chunked_prefill", SCHED_USES_CHUNKS},
                   {"watermark", SCHED_USES_WATERMARK},
                   {"scheduling_policy", SCHED_USES_ORDER},
                   {NULL, 0}},
  switch_uses[] = {{"static_batch", SCHED_USES_STATIC_BATCHES},
                   {"scheduler_reserve_full_isl", SCHED_USES_RELEASES},
                   {"free_order", SCHED_USES_RELEASES},
                   {"unchunked_misfit", SCHED_USES_RELEASES},
                   {"preempted_budget_returned", SCHED_USES_RELEASES},
                   {"priority_tie", SCHED_USES_RELEASES},
                   {NULL, 0}};

/* Errors where such a key is stated and not looked at; the profile's leave the tree. */
static bool drop_unused(struct scenario_load *load, struct conf_node *map, const char *path,
                        const struct use *keys, unsigned uses)
{
    bool ok = true;
    const char *scheduler = load->scenario->config.scheduler->policy.name;
    for (const struct use *row = keys; map != NULL && row->key != NULL; row++) {
        const struct conf_node *node = conf_get(map, row->key);
        if (node == NULL || (uses & row->use) != 0)
            continue;
        if (!scenario_is_stated(node)) {
            scenario_drop(map, row->key);
            continue;
        }
        ok = scenario_fail(load->reader, node, scenario_join(load->reader->arena, path, row->key),
                           "unused-key", "'%s' is not used by the scheduler '%s'", row->key,
                           scheduler);
    }
    return ok;
}

/* vLLM's way of throwing out under an engine that has none of its own, see scheduler_of(). */
static bool stands_in(const struct scenario_load *load)
{
    const struct sched_ops *own = catalog_scheduler(load->profile.scheduler);
    return own != NULL && !own->has_budget && load->scenario->config.scheduler->throws_out;
}

static bool check_scheduler_keys(struct scenario_load *load)
{
    unsigned uses = load->scenario->config.scheduler->uses;
    struct conf_node *switches = conf_get(load->engine, "switch");
    if (stands_in(load)) {
        if (load->opts.switch_opts.static_batch)
            return scenario_fail_hint(
                load->reader, conf_get(load->engine, "kv_policy"), "engine.kv_policy", "conflict",
                "set engine.switch.static_batch to false, or choose another kv_policy",
                "a static batch cannot throw anyone out, which paged allocation needs");
        uses |= SCHED_USES_STATIC_BATCHES;
    }
    bool ok = drop_unused(load, load->engine, "engine", engine_uses, uses);
    return drop_unused(load, switches, "engine.switch", switch_uses, uses) && ok;
}

/* ---- before the pool ---- */

static bool check_placement(struct scenario_load *load)
{
    bool reserves = kv_policy_reserves(policy_of(load));
    if (reserves || load->opts.kv_placement == KV_ANY_BLOCKS)
        return true;
    if (!scenario_is_stated(conf_get(load->engine, "kv_placement"))) {
        put_derived(load, "kv_placement", "blocks"); // the profile's, for its own policy
        load->opts.kv_placement = KV_ANY_BLOCKS;
        return true;
    }
    return fail_key(
        load, "kv_placement", "unused-key",
        "it places reservations: kv_policy reserved_max, reserved_pow2 or reserved_exact",
        "has nothing to place");
}

/* The tree is the prefix cache: it comes with the policy. */
static bool resolve_tree(struct scenario_load *load)
{
    if (load->opts.enable_prefix_caching)
        return true;
    if (scenario_is_stated(conf_get(load->engine, "enable_prefix_caching")))
        return fail_key(load, "enable_prefix_caching", "conflict",
                        "leave it out, or set engine.kv_policy to paged", "cannot be off");
    load->opts.enable_prefix_caching = true;
    put_derived(load, "enable_prefix_caching", "true");
    return true;
}

static bool resolve_reuse(struct scenario_load *load)
{
    if (policy_of(load) == KV_RADIX)
        return resolve_tree(load);
    if (policy_of(load) == KV_PAGED || policy_of(load) == KV_UNLIMITED ||
        kv_policy_has_slots(policy_of(load)) || !load->opts.enable_prefix_caching)
        return true;
    if (scenario_is_stated(conf_get(load->engine, "enable_prefix_caching")))
        return fail_key(load, "enable_prefix_caching", "conflict",
                        "blocks are shared under paged allocation only", "cannot be");
    load->opts.enable_prefix_caching = false;
    put_derived(load, "enable_prefix_caching", "false");
    return true;
}

/* Something must lie somewhere, and where buddies lie is what makes them buddies. */
static bool resolve_compaction(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    bool can = kv_policy_reserves(config->kv_policy) &&
               (config->kv_placement == KV_FIRST_FIT || config->kv_placement == KV_BEST_FIT);
    if (!can && scenario_stated(load->engine, "kv_compaction") == NULL) {
        scenario_drop(load->engine, "kv_compaction");
        return true;
    }
    if (!can)
        return fail_key(
            load, "kv_compaction", "unused-key",
            "it moves reservations that lie contiguous: kv_placement first_fit or best_fit",
            "has nothing to move");
    config->kv_compaction = load->opts.kv_compaction;
    return true;
}

/* The queue's own order of empty blocks belongs to lru; the others, and a tree, take empty blocks first. */
static bool resolve_eviction(struct scenario_load *load)
{
    const struct conf_node *node = scenario_stated(load->engine, "kv_eviction");
    if (!load->opts.enable_prefix_caching && node == NULL) {
        scenario_drop(load->engine, "kv_eviction");
        return true;
    }
    if (!load->opts.enable_prefix_caching)
        return scenario_fail_hint(
            load->reader, node, "engine.kv_eviction", "unused-key",
            "set engine.enable_prefix_caching to true, or leave it out",
            "'kv_eviction' orders what a prefix cache keeps, and there is none");
    if (kv_policy_has_slots(policy_of(load))) {
        scenario_drop(load->engine, "kv_eviction");
        return node == NULL || fail_key(load, "kv_eviction", "unused-key", "leave it out",
                                        "has nothing to order: a slot keeps one prompt");
    }
    load->scenario->config.kv_eviction = (enum kv_eviction)load->opts.kv_eviction;
    bool is_tree = policy_of(load) == KV_RADIX;
    if (load->opts.kv_eviction == KV_EVICT_LRU && !is_tree)
        return true;
    struct conf_node *switches = conf_get(load->engine, "switch");
    node = switches != NULL ? scenario_stated(switches, "free_order") : NULL;
    if (node != NULL && is_tree)
        return scenario_fail_hint(load->reader, node, "engine.switch.free_order", "unused-key",
                                  "leave it out, or set engine.kv_policy to paged",
                                  "'free_order' is an order of the free queue, which kv_policy "
                                  "'radix' does not have");
    if (node != NULL)
        return scenario_fail_hint(
            load->reader, node, "engine.switch.free_order", "unused-key",
            "leave it out, or set engine.kv_eviction to lru",
            "'free_order' is an order of the queue, which kv_eviction '%s' is not",
            kv_eviction_choices[load->opts.kv_eviction].name);
    if (switches != NULL)
        scenario_drop(switches, "free_order");
    load->opts.switch_opts.free_order = SCHED_FREE_NEW;
    return true;
}

/* A tensor is as long as its sequence, a cell is a token: there are no blocks. */
static bool resolve_block(struct scenario_load *load)
{
    bool has_blocks =
        !kv_policy_concatenates(policy_of(load)) && !kv_policy_has_slots(policy_of(load));
    if (has_blocks || load->opts.block_size == 1)
        return true;
    if (scenario_is_stated(conf_get(load->engine, "block_size")))
        return fail_key(load, "block_size", "conflict",
                        kv_policy_has_slots(policy_of(load))
                            ? "leave it out: a cell is one token"
                            : "leave it out: a tensor grows token by token",
                        "has no meaning");
    load->opts.block_size = 1;
    put_derived(load, "block_size", "1");
    return true;
}

static bool resolve_async(struct scenario_load *load)
{
    bool can = policy_of(load) != KV_NO_CACHE && !kv_policy_has_slots(policy_of(load));
    if (can || !load->opts.async_scheduling)
        return true;
    if (scenario_is_stated(conf_get(load->engine, "async_scheduling")))
        return fail_key(load, "async_scheduling", "conflict", "leave it out or set it to false",
                        "is not simulated");
    load->opts.async_scheduling = false;
    put_derived(load, "async_scheduling", "false");
    return true;
}

static bool check_unlimited(struct scenario_load *load)
{
    if (policy_of(load) != KV_UNLIMITED || !load->pool_is_stated)
        return true;
    return fail_key(load, "kv_policy", "conflict", "leave the size of the pool out",
                    "contradicts a stated pool");
}

/* A cache that is cells from the start is divided among slots, or shared: kv_unified says which, or kv_policy does. */
bool scenario_kv_policy_streams(struct scenario_load *load)
{
    if (load->sizing_rule.pool != KV_POOL_CELLS)
        return true;
    const struct conf_node *unified = scenario_stated(load->engine, "kv_unified"),
                           *policy = scenario_stated(load->engine, "kv_policy");
    if (policy == NULL) {
        load->opts.kv_policy = load->opts.kv_unified ? KV_CELLS : KV_SLOTS;
        put_derived(load, "kv_policy", policy_name(load));
        return true;
    }
    if (!kv_policy_has_slots(policy_of(load)))
        return scenario_fail_hint(load->reader, policy, "engine.kv_policy", "conflict",
                                  "slots or cells, or the profile of another engine",
                                  "%s keeps its cache in cells, not as kv_policy '%s' does",
                                  load->profile.name, policy_name(load));
    bool is_shared = policy_of(load) == KV_CELLS;
    if (unified != NULL && load->opts.kv_unified != is_shared)
        return fail_key(load, "kv_unified", "conflict", "leave one of the two out",
                        "contradicts it");
    load->opts.kv_unified = is_shared; // the policy is the parameter that tells
    return true;
}

/* The least recently used slot alone would hardly ever be the one that keeps a conversation. */
static void resolve_similarity(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    bool is_known = !conf_is_null(conf_get(load->engine, "slot_prompt_similarity"));
    config->slot_prompt_similarity =
        is_known ? load->opts.slot_prompt_similarity : (struct base_rational){1, 10};
}

bool scenario_kv_policy_resolve(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    config->scheduler = scheduler_of(load);
    config->kv_policy = policy_of(load);
    bool ok = check_placement(load);
    config->kv_placement = (enum kv_placement)load->opts.kv_placement;
    ok = resolve_compaction(load) && ok;
    ok = resolve_reuse(load) && ok;
    ok = resolve_eviction(load) && ok;
    ok = resolve_block(load) && ok;
    ok = resolve_async(load) && ok;
    ok = check_unlimited(load) && ok;
    resolve_similarity(load);
    bool asks = scenario_is_whole(load) && config->scheduler != NULL;
    return (!asks || check_scheduler_keys(load)) && ok;
}

void scenario_kv_policy_options(const struct scenario_load *load, struct sched_options *options)
{
    options->static_batch = load->opts.switch_opts.static_batch;
    const struct sched_ops *ops = load->scenario->config.scheduler;
    if (ops == NULL)
        return; // sized only
    if (!ops->has_budget)
        options->max_num_batched_tokens = INT64_MAX / 2;
    if (ops->passes_batches && load->opts.batch_size > 0) {
        options->pass_tokens = load->opts.max_num_batched_tokens < load->opts.batch_size
                                   ? load->opts.max_num_batched_tokens
                                   : load->opts.batch_size;
        options->max_num_batched_tokens = load->opts.batch_size;
    }
    if (stands_in(load)) {
        // Iteration-level scheduling with paged memory: whole prompts, no budget.
        options->enable_chunked_prefill = false;
        options->max_num_batched_tokens = INT64_MAX / 2;
        options->reserve_full_isl = true;
        options->preempted_budget_returned = true;
    }
}

/* ---- the pool ---- */

/* Every seat at its longest: no request ever waits for memory. */
static void make_unlimited(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    int64_t blocks = kv_pages_sequence_blocks(&config->waterfall.pages, load->opts.max_model_len);
    config->pool_blocks = config->reserved_blocks + blocks * load->opts.max_num_seqs;
    config->waterfall.starts = true;
    scenario_caveat(load->reader, "kv_unlimited",
                    "kv_policy 'unlimited': the pool of %" PRId64
                    " blocks holds every seat at its longest; the card has %" PRId64,
                    config->pool_blocks, config->waterfall.kv_pool_blocks);
}

/* What kvsim size is asked, it answers in full: with a refusal. */
static void refuse_buddies(struct scenario_load *load, int64_t needed, int64_t largest)
{
    struct kv_waterfall *waterfall = &load->scenario->config.waterfall;
    int64_t block_bytes = (int64_t)waterfall->pages.block_bytes_per_gpu;
    waterfall->starts = false;
    waterfall->refusal = (struct kv_waterfall_refusal){
        .stage = KV_STAGE_KV_CACHE,
        .limit = "largest buddy of the pool",
        .needed_bytes = needed * block_bytes,
        .available_bytes = largest * block_bytes,
        .estimated_max_model_len = largest * load->opts.block_size,
        .change_count = largest > 0 ? 1 : 0,
    };
    struct kv_waterfall_change *change = &waterfall->refusal.changes[0];
    *change = (struct kv_waterfall_change){.key = "max_model_len",
                                           .kv_usable_tokens = waterfall->kv_usable_tokens};
    snprintf(change->value, sizeof change->value, "%" PRId64, largest * load->opts.block_size);
    if (largest > 0)
        change->max_concurrency = (double)waterfall->kv_pool_blocks / (double)largest;
    change->fits_demand = waterfall->fits_demand;
}

/* The longest sequence must have a place among buddies too. */
static bool check_buddies(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    bool places = kv_policy_reserves(config->kv_policy) && config->kv_placement == KV_BUDDY;
    if (!places || !config->waterfall.starts || !load->opts.startup_check)
        return true;
    struct kv_space space;
    int64_t blocks = (load->opts.max_model_len + load->opts.block_size - 1) / load->opts.block_size;
    kv_space_init(&space, KV_BUDDY, config->pool_blocks - config->reserved_blocks);
    bool fits = kv_space_fits(&space, blocks);
    int64_t needed = kv_space_units_for(&space, blocks), largest = kv_space_largest(&space);
    kv_space_release(&space);
    if (!fits && load->purpose == SCENARIO_FOR_SIZE)
        refuse_buddies(load, needed, largest);
    if (fits || load->purpose == SCENARIO_FOR_SIZE)
        return true;
    const struct conf_node *stated = scenario_stated(load->engine, "kv_placement");
    return scenario_fail_hint(
        load->reader, stated != NULL ? stated : load->engine, "engine.kv_placement", "cannot-start",
        "a shorter max_model_len, or first_fit",
        "one sequence of max_model_len %" PRId64 " needs %" PRId64
        " blocks as a power of two; the largest buddy of the pool has %" PRId64,
        load->opts.max_model_len, needed, largest);
}

/*
 * A cache that grows by concatenation is copied, at every step or when it doubles: torch.cat reads the old tensor and writes
 * the new one. Where query heads share KV heads, K and V are written once for each query head and read there instead. What
 * compaction moves is read and written too.
 */
static void price_copies(struct scenario_load *load)
{
    const struct scenario *scenario = load->scenario;
    struct serve_config *config = &load->scenario->config;
    if (!scenario->has_hardware || scenario->hardware.memory_bytes_per_s <= 0) {
        scenario_caveat(load->reader, "copies_free",
                        "kv_policy '%s': without hardware copies are counted, and take no time",
                        policy_name(load));
        return;
    }
    double bytes = (double)config->layout.slot_bytes / (double)config->layout.gpu_count;
    double bytes_per_s = scenario->hardware.memory_bytes_per_s * cost_defaults.stream_fraction;
    double ticks_per_byte = 1e9 * (double)BASE_TICKS_PER_NS / bytes_per_s;
    const struct spec_model *model = &scenario->model;
    double repeats =
        model->kv_head_count > 0 ? (double)model->q_head_count / (double)model->kv_head_count : 1;
    config->copy.per_cached_token = llround(2 * bytes * ticks_per_byte);
    config->copy.per_context_token = repeats > 1 && kv_policy_concatenates(config->kv_policy)
                                         ? llround(2 * repeats * bytes * ticks_per_byte)
                                         : 0;
}

/* What a step holds beside the cache belongs to whoever grows: the ledger's line `replicated`, as in `kvsim size`. */
static void add_transients(struct spec_kv_layout *layout, const struct kv_pages *pages)
{
    uint64_t bytes = pages->transient_bytes_per_token * layout->gpu_count;
    layout->slot_bytes += bytes;
    layout->block_bytes += bytes * layout->block_tokens;
    layout->groups[0].replicated_bytes += bytes;
    layout->groups[0].slot_bytes += bytes;
    layout->groups[0].block_bytes += bytes * layout->groups[0].block_tokens;
}

/* ---- slots ---- */

/* In a pool that is not made of cells: slots of the longest sequence, as many as fit, or all seats sharing what is there. */
static void cut_into_slots(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    const struct scenario_engine_opts *opts = &load->opts;
    int64_t usable = config->pool_blocks - config->reserved_blocks;
    int64_t fitting = usable / opts->max_model_len;
    bool is_shared = config->kv_policy == KV_CELLS;
    int64_t slots = is_shared || fitting > opts->max_num_seqs ? opts->max_num_seqs : fitting;
    struct kv_cells_options options = {.ctx_tokens =
                                           is_shared ? usable : slots * opts->max_model_len,
                                       .parallel = (uint32_t)slots,
                                       .unified = is_shared,
                                       .swa_full = true,
                                       .ubatch_tokens = 1,
                                       .pad_tokens = 1};
    if (slots > 0)
        kv_cells_make(&config->layout, &options, &config->cells);
    config->cells.pool_bytes = config->pool_blocks * (int64_t)config->layout.block_bytes;
}

static bool check_slots(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    const struct sched_options *sched = &config->sched;
    const struct conf_node *node = conf_get(load->engine, "max_num_seqs");
    if (config->cells.group_count == 0)
        return scenario_fail(load->reader, conf_get(load->engine, "max_model_len"),
                             "engine.max_model_len", "cannot-start",
                             "no slot of max_model_len %" PRId64 " fits the pool",
                             load->opts.max_model_len);
    if (sched->pass_tokens > 0 && config->cells.slots > sched->pass_tokens)
        return scenario_fail_hint(load->reader, node, "engine.max_num_seqs", "out-of-range",
                                  "a larger ubatch_size, or fewer slots",
                                  "%u slots answer at once, but a pass has %" PRId64
                                  " tokens: batches of several passes for answers alone are not "
                                  "simulated by this version",
                                  config->cells.slots, sched->pass_tokens);
    return true;
}

static bool has_states(const struct spec_kv_layout *layout)
{
    for (size_t i = 0; i < layout->group_count; i++) {
        if (layout->groups[i].kind == SPEC_KV_STATE)
            return true;
    }
    return false;
}

static bool make_slots(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    const struct kv_cells *cells = &config->waterfall.cells;
    if (!config->waterfall.starts)
        return true;
    if (cells->group_count == 0 && has_states(&config->layout))
        return fail_key(load, "kv_policy", "conflict", "the profile llama.cpp",
                        "of recurrent states is not simulated");
    if (cells->group_count == 0 && scenario_stated(load->engine, "ctx_size") != NULL)
        return fail_key(load, "ctx_size", "conflict", "leave one of the two out",
                        "contradicts a stated pool");
    if (cells->group_count > 0)
        config->cells = *cells;
    else
        cut_into_slots(load);
    if (!check_slots(load))
        return false;
    config->sched.max_num_seqs = config->cells.slots;
    if (cells->group_count > 0 && config->sched.enable_prefix_caching)
        scenario_caveat(load->reader, "host_prompts_off",
                        "%s may save prompts, and checkpoints of windows and states, to host "
                        "memory; that is off here, so what is found again is a lower bound",
                        load->profile.name);
    scenario_param_derived(load->reader, "engine.kv_slots",
                           base_arena_printf(load->reader->arena, "%u", config->cells.slots), "",
                           SPEC_CALCULATED, "sequences that have cells of their own or share them");
    return true;
}

/* For kvsim size: what a run would cut, where it could. */
static void size_slots(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    bool is_cut = config->waterfall.cells.group_count == 0 && !has_states(&config->layout) &&
                  config->pool_blocks > config->reserved_blocks;
    if (is_cut)
        cut_into_slots(load);
}

bool scenario_kv_policy_pool(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    if (config->kv_policy == KV_UNLIMITED)
        make_unlimited(load);
    if (config->kv_policy == KV_NO_CACHE)
        scenario_caveat(load->reader, "no_cache_activations",
                        "kv_policy 'no_cache': a step computes all contexts at once; that its "
                        "activations fit is not checked");
    if (kv_policy_concatenates(config->kv_policy)) {
        price_copies(load);
        add_transients(&config->layout, &config->waterfall.pages);
    }
    if (config->kv_compaction)
        price_copies(load);
    if (kv_policy_has_slots(config->kv_policy) && scenario_is_run(load) && !make_slots(load))
        return false;
    if (kv_policy_has_slots(config->kv_policy) && load->purpose == SCENARIO_FOR_SIZE)
        size_slots(load);
    return check_buddies(load);
}
