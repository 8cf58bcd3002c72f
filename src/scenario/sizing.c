/*
 * sizing.c - how an engine's release cuts memory into a pool: the parts `sizing`, `runtime` and `spelling` of its profile.
 *
 * These are facts about a release, not keys of a scenario: nothing here can be overridden but through the engine's keys.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "kv/reserve.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- reading ---- */

static bool read_part(const struct scenario_load *load, const char *key,
                      const struct scenario_section *section, void *out)
{
    struct conf_node *map = conf_get(load->profile.tree, key);
    // Of a copy: reading puts the defaults into the tree, and the profile's tree is shared.
    map =
        conf_is_null(map) ? conf_new_map(load->reader->arena) : conf_copy(load->reader->arena, map);
    struct scenario_reader quiet = *load->reader;
    quiet.params = NULL;
    return scenario_read_map(&quiet, map, section, key, out);
}

static bool place_parts(struct scenario_load *load, const struct base_list *names,
                        enum kv_place place, struct kv_sizing *sizing)
{
    static const char *const parts[KV_PART_COUNT + 1] = {
        [KV_PART_WEIGHTS] = "weights",
        [KV_PART_ACTIVATION] = "activation",
        [KV_PART_NON_TORCH] = "non_torch",
        [KV_PART_GRAPHS] = "graphs",
        [KV_PART_STATE_POOL] = "state_pool",
        [KV_PART_REQUEST_TABLES] = "request_tables",
        [KV_PART_DRAFT] = "draft",
        [KV_PART_LORA] = "lora",
        [KV_PART_BLOCK_TABLES] = "block_tables",
    };
    const char *const *at = names->at;
    for (size_t i = 0; i < names->count; i++) {
        int part = 0;
        while (part < KV_PART_COUNT && !base_key_equal(parts[part], at[i]))
            part++;
        if (part == KV_PART_COUNT)
            return scenario_fail(load->reader, conf_get(load->profile.tree, "sizing"), "sizing",
                                 "bad-choice", "'%.40s' is no part of the memory", at[i]);
        sizing->place[part] = place;
    }
    return true;
}

bool scenario_sizing_read(struct scenario_load *load)
{
    struct scenario_sizing_opts *sizing = &load->sizing;
    struct kv_sizing *rule = &load->sizing_rule;
    bool ok = read_part(load, "sizing", &scenario_sizing_section, sizing);
    ok = read_part(load, "runtime", &scenario_runtime_section, &load->runtime) && ok;
    load->has_runtime = !conf_is_null(conf_get(load->profile.tree, "runtime"));
    ok = ok && place_parts(load, &sizing->before, KV_PLACE_BEFORE, rule);
    ok = ok && place_parts(load, &sizing->beside, KV_PLACE_BESIDE, rule);
    rule->tokens_by_concurrency = sizing->printed == 1;
    rule->log = (enum kv_log)sizing->log;
    rule->concurrency_by_tokens = sizing->by_tokens;
    rule->clamps_length = sizing->clamps;
    rule->has_spare_page = sizing->spare_page;
    rule->rounds_blocks_up = sizing->rounds_up;
    rule->pool = sizing->pool == KV_POOL_CELLS ? KV_POOL_CELLS : KV_POOL_BLOCKS;
    return ok;
}

/* vLLM V0 chunks long prompts by itself. */
void scenario_sizing_chunking(struct scenario_load *load)
{
    const struct conf_node *said = conf_get(load->engine, "enable_chunked_prefill");
    if (load->sizing.chunked_above == 0 || scenario_is_stated(said) ||
        load->opts.max_model_len <= load->sizing.chunked_above)
        return;
    load->opts.enable_chunked_prefill = true;
    scenario_param_derived(load->reader, "engine.enable_chunked_prefill.used", "true", "",
                           SPEC_CALCULATED,
                           "the release chunks prompts of long contexts by itself");
}

/* ---- the fraction ---- */

static double share_by_gpus(const struct conf_node *map, double gpus)
{
    double best_gpus = 0, share = 0;
    for (size_t i = 0; i < map->count && map->kind == CONF_MAP; i++) {
        double from = 0, value = 0;
        struct kvsim_error err;
        if (base_parse_real(map->keys[i]->text, BASE_COUNT, &from, &err) == KVSIM_OK &&
            base_parse_real(map->items[i]->text, BASE_RATIO, &value, &err) == KVSIM_OK &&
            from <= gpus && from >= best_gpus) {
            best_gpus = from;
            share = value;
        }
    }
    return share;
}

/* SGLang, python/sglang/srt/server_args.py: what is kept for everything but weights and cache; three decimals. */
static double default_share(const struct scenario_load *load)
{
    const struct scenario_reserve_opts *reserve = &load->sizing.reserve;
    const struct scenario_engine_opts *opts = &load->opts;
    double memory = (double)load->scenario->hardware.memory_bytes;
    double gpus = (double)(opts->tensor_parallel * opts->pipeline_parallel);
    if (!conf_is_null(reserve->by_gpus))
        return share_by_gpus(reserve->by_gpus, gpus);
    double tokens = fmax((double)opts->max_num_batched_tokens, (double)reserve->least_tokens);
    double captured = fmin((double)load->runtime.graph_batch, (double)opts->max_num_seqs);
    double bytes = reserve->base + reserve->per_token * tokens + reserve->per_gpu * gpus +
                   reserve->per_captured * captured;
    if (memory > reserve->least_from)
        bytes = fmax(bytes, reserve->least);
    return bytes < memory ? round((memory - bytes) / memory * 1000) / 1000 : 0;
}

/* Whatever is not said of the fraction: the release's own rule, or 1. */
void scenario_sizing_share(struct scenario_load *load)
{
    struct base_rational *share = &load->opts.gpu_memory_utilization;
    const struct base_rational *wiggle = &load->sizing.wiggle;
    enum { THOUSANDTHS = 1000 };
    if (share->den == 0 || share->num == 0) {
        double value = load->scenario->has_hardware ? default_share(load) : 0;
        bool stated = !conf_is_null(conf_get(conf_get(load->profile.tree, "sizing"), "reserve"));
        *share = (struct base_rational){1, 1};
        if (stated && value > 0)
            *share = (struct base_rational){llround(value * THOUSANDTHS), THOUSANDTHS};
        char text[32];
        scenario_param_derived(
            load->reader, "engine.gpu_memory_utilization.used",
            base_print_real((double)share->num / (double)share->den, text, sizeof text), "",
            SPEC_CALCULATED, "the release's rule for a fraction that is not stated");
    }
    if (wiggle->den != 0 && wiggle->num != wiggle->den) {
        share->num *= wiggle->num;
        share->den *= wiggle->den;
    }
}

/* ---- own spellings ---- */

static bool is_override(const struct conf_node *node)
{
    return node->origin == CONF_ORIGIN_SET;
}

/* A key under both of its names: an override counts, whichever name it has; else only one of them may be stated. */
static bool own_counts(struct scenario_load *load, const char *own, const struct conf_node *node,
                       const char *common, const struct conf_node *other, bool *counts)
{
    *counts = true;
    if (other == NULL)
        return true;
    if (is_override(node) != is_override(other)) {
        *counts = is_override(node);
        return true;
    }
    *counts = !conf_is_null(node);
    if (conf_is_null(node) || conf_is_null(other))
        return true;
    const char *where = other->line == 0
                            ? ""
                            : base_arena_printf(load->reader->arena, " (line %d, column %d)",
                                                other->line, other->column);
    return scenario_fail_hint(load->reader, node, scenario_join(load->reader->arena, "engine", own),
                              "conflict", "leave one of the two out",
                              "'%s' is the name that %s has for '%s', which is stated too%s", own,
                              load->profile.name, common, where);
}

/* The pair of which a key says one half; what was one name for both halves is each half's. */
static struct conf_node *pair_of(struct scenario_load *load, struct conf_node *engine,
                                 const char *outer, const struct conf_node *half)
{
    static const char *const halves[] = {"k", "v"};
    struct base_arena *arena = load->reader->arena;
    struct conf_node *both = conf_get(engine, outer);
    if (both != NULL && both->kind == CONF_MAP)
        return both;
    struct conf_node *map = conf_new_map(arena);
    map->origin = half->origin;
    map->file = half->file;
    map->line = half->line;
    map->column = half->column;
    for (size_t i = 0; !conf_is_null(both) && i < sizeof halves / sizeof halves[0]; i++)
        conf_put(arena, map, halves[i], conf_copy(arena, both));
    conf_put(arena, engine, outer, map);
    return map;
}

/* One name for both halves ("kv_cache_dtype: fp8"), or what is said of this half. */
static const struct conf_node *stated_half(const struct conf_node *engine, const char *outer,
                                           const char *key)
{
    const struct conf_node *both = conf_get(engine, outer);
    return both != NULL && both->kind == CONF_MAP ? conf_get(both, key) : both;
}

static bool respell_key(struct scenario_load *load, struct conf_node *engine, const char *own,
                        const char *common)
{
    struct base_arena *arena = load->reader->arena;
    struct conf_node *node = conf_get(engine, own), *map = engine;
    const char *dot = strchr(common, '.'), *key = dot == NULL ? common : dot + 1;
    const char *outer =
        dot == NULL ? NULL : base_arena_copy_n(arena, common, (size_t)(dot - common));
    const struct conf_node *other =
        dot == NULL ? conf_get(engine, common) : stated_half(engine, outer, key);
    bool counts;
    if (!own_counts(load, own, node, common, other, &counts))
        return false;
    if (counts && dot != NULL)
        map = pair_of(load, engine, outer, node);
    if (counts) {
        node->written_as = own;
        conf_put(arena, map, key, node);
    }
    scenario_drop(engine, own);
    return true;
}

/* `page_size` under a profile that spells block_size so: the node moves under the common key and keeps its place. */
bool scenario_sizing_respell(struct scenario_load *load, struct conf_node *engine)
{
    const struct conf_node *spelling = conf_get(load->profile.tree, "spelling");
    bool ok = true;
    for (size_t i = 0; spelling != NULL && spelling->kind == CONF_MAP && i < spelling->count; i++) {
        const char *own = spelling->keys[i]->text;
        if (conf_get(engine, own) != NULL && spelling->items[i]->kind == CONF_SCALAR)
            ok = respell_key(load, engine, own, spelling->items[i]->text) && ok;
    }
    return ok;
}

/* ---- into the inputs of the waterfall ---- */

static int64_t block_tokens(const struct scenario_load *load)
{
    const struct spec_model *model = &load->scenario->model;
    if (scenario_is_stated(conf_get(load->engine, "block_size")))
        return load->opts.block_size;
    for (size_t i = 0; i < model->group_count && load->sizing.index_block != 0; i++) {
        if (model->groups[i].kind == SPEC_KV_INDEX)
            return load->sizing.index_block;
    }
    return model->is_mla && load->sizing.latent_block != 0 ? load->sizing.latent_block
                                                           : load->opts.block_size;
}

/* A cache of cells ends a sequence where its slot ends. */
static void clamp_to_slot(struct scenario_load *load)
{
    int64_t streams = load->opts.kv_unified ? 1 : load->opts.max_num_seqs,
            pad = load->sizing.cell_padding;
    int64_t slot = (load->opts.ctx_size + streams - 1) / streams;
    slot = (slot + pad - 1) / pad * pad;
    if (load->sizing_rule.pool == KV_POOL_CELLS && load->opts.ctx_size != 0 &&
        slot < load->opts.max_model_len)
        load->opts.max_model_len = slot;
}

/* The block size that the release's backend for this model needs, where it is not said. */
void scenario_sizing_block(struct scenario_load *load)
{
    clamp_to_slot(load);
    int64_t tokens = block_tokens(load);
    if (tokens == load->opts.block_size || !load->scenario->has_model)
        return;
    load->opts.block_size = tokens;
    char *text = base_arena_printf(load->reader->arena, "%" PRId64, tokens);
    struct conf_node *node = conf_new_scalar(load->reader->arena, text);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(load->reader->arena, load->engine, "block_size", node);
    scenario_param_derived(load->reader, "engine.block_size.used", text, "tokens", SPEC_CALCULATED,
                           "the kernels for this kind of attention");
}

/* Beside the cache of all layers, per token: one layer twice, and its K and V once for each query head. */
static uint64_t transient_bytes(const struct scenario_load *load)
{
    enum { ELEMENT_BYTES = 2 };
    const struct spec_model *model = &load->scenario->model;
    uint64_t heads = (uint64_t)model->q_head_count, layer = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct spec_kv_group *group = &model->groups[i];
        uint64_t bytes =
            (uint64_t)group->kv_head_count * (group->k_dim + group->v_dim) * ELEMENT_BYTES;
        layer = bytes > layer ? bytes : layer;
    }
    return layer + heads * 2 * model->head_dim * ELEMENT_BYTES;
}

static const struct kv_runtime_rule *runtime_rule(struct scenario_load *load)
{
    const struct scenario_runtime_opts *opts = &load->runtime;
    struct kv_runtime_rule *rule = base_arena_take(load->reader->arena, sizeof *rule);
    *rule = (struct kv_runtime_rule){
        .logit_bytes = opts->logit,
        .logit_rows = (enum kv_logit_rows)opts->logit_rows,
        .hidden_copies = opts->copies,
        .mlp_copies = opts->mlp_copies,
        .moe_chunk_tokens = opts->moe_chunk,
        .context_bytes = llround(opts->context),
        .context_rocm_bytes = llround(opts->context_rocm),
        .collective_bytes = {[KV_LINKS_DIRECT] = llround(opts->collective),
                             [KV_LINKS_PCIE] = llround(opts->collective_pcie),
                             [KV_LINKS_SWITCH] = llround(opts->collective_switch),
                             [KV_LINKS_MULTICAST] = llround(opts->collective_multicast)},
        .once_bytes = {[KV_LINKS_SWITCH] = llround(opts->switch_once),
                       [KV_LINKS_MULTICAST] = llround(opts->multicast_once)},
        .multicast_more_bytes = llround(opts->multicast_more),
        .kept_reductions = opts->kept_reductions,
        .multicast_rank_bytes = llround(opts->multicast_rank),
        .graph_bytes = llround(opts->graph),
        .graph_max_batch = opts->graph_batch,
        .graph_seats = opts->graph_seats,
        .graph_charged_share = opts->graph_share,
        .encoder = (enum kv_encoder_profile)opts->encoder,
    };
    return rule;
}

/* Beside those that its tree keeps a request has a buffer for states at the ends of chunks, two of them with two steps in
 * flight (SGLang, kv_cache_configurator.py, _calculate_mamba_ratio). */
static int64_t slots_per_sequence(const struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    if (!opts->enable_prefix_caching)
        return 1;
    int64_t buffers = opts->mamba_scheduler_strategy != SCENARIO_STATES_EXTRA_BUFFER ? 0
                      : opts->async_scheduling                                       ? 2
                                                                                     : 1;
    return load->sizing.state_slots_per_sequence + buffers;
}

/* Cached prefixes keep states of their own, so that the share is taken whatever number of sequences is stated. */
static void fill_state_share(const struct scenario_load *load, struct kv_sizing *sizing)
{
    bool caches = load->opts.enable_prefix_caching;
    if (caches || scenario_stated(load->engine, "max_num_seqs") == NULL)
        sizing->state_share = load->sizing.state_share;
    sizing->state_slots = load->opts.max_mamba_cache_size;
    sizing->state_slots_per_sequence = slots_per_sequence(load);
}

void scenario_sizing_fill(struct scenario_load *load, struct kv_waterfall_inputs *inputs)
{
    const struct scenario_sizing_opts *sizing = &load->sizing;
    const struct scenario_engine_opts *opts = &load->opts;
    inputs->kv.block_tokens = (uint32_t)opts->block_size;
    inputs->kv.latent_align_bytes = (uint32_t)sizing->latent_align;
    inputs->kv.latent_with_value = sizing->latent_with_value;
    inputs->gpu_memory_utilization = opts->gpu_memory_utilization;
    inputs->pages.unequal = (enum kv_unequal_pages)sizing->unequal;
    inputs->pages.hybrid = sizing->windows && !opts->disable_hybrid_kv_cache_manager;
    inputs->pages.state_blocks_per_sequence =
        (uint32_t)(opts->enable_prefix_caching ? sizing->state_blocks_cached
                                               : sizing->state_blocks);
    inputs->pages.caches_states = scenario_states_are_cached(load);
    if (kv_policy_concatenates((enum kv_policy)opts->kv_policy))
        inputs->pages.transient_bytes_per_token = transient_bytes(load);
    inputs->sizing = load->sizing_rule;
    if (!opts->disable_hybrid_kv_cache_manager)
        inputs->sizing.window_share = opts->swa_full_tokens_ratio.den != 0
                                          ? opts->swa_full_tokens_ratio
                                          : sizing->window_share;
    fill_state_share(load, &inputs->sizing);
    inputs->weights.without_vision = !sizing->loads_vision;
    inputs->weights.count = (enum spec_weights_count)sizing->weights_counted;
    inputs->weights.video_positions = (uint32_t)sizing->video_positions;
    inputs->weights.mxfp4_width_multiple = (uint32_t)sizing->mxfp4_width;
    inputs->weights.mxfp4_hidden_multiple = (uint32_t)sizing->mxfp4_hidden;
    inputs->weights.latent_copies = (enum spec_latent_copies)sizing->latent_copies;
    inputs->sizing.cells = (struct kv_cells_options){
        .ctx_tokens = opts->ctx_size,
        .parallel = (uint32_t)opts->max_num_seqs,
        .unified = opts->kv_unified,
        .swa_full = opts->swa_full,
        .ubatch_tokens = (uint32_t)opts->max_num_batched_tokens,
        .pad_tokens = (uint32_t)sizing->cell_padding,
    };
    inputs->enforce_eager = opts->enforce_eager;
    inputs->swap_bytes_per_gpu = opts->swap_space_bytes;
    if (load->has_runtime) {
        inputs->runtime = runtime_rule(load);
        enum spec_claim claim = SPEC_ASSUMED;
        inputs->runtime_source = "predicted from model, step and ranks";
        scenario_provenance_find(load->reader->provenance, "runtime", &claim,
                                 &inputs->runtime_source);
    }
    inputs->block_table_entry_bytes = sizing->block_table_bytes;
    if (sizing->request_table_bytes != 0) {
        enum { SPARE_POSITIONS = 4 };
        inputs->request_tables = (struct kv_waterfall_bytes){
            .is_set = true,
            .bytes = sizing->request_table_bytes * (opts->max_num_seqs + 1) *
                     (opts->max_model_len + SPARE_POSITIONS),
            .claim = SPEC_CALCULATED,
            .source = "one position of max_model_len for each sequence",
        };
    }
}
