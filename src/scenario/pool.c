/*
 * pool.c - layout of the KV cache and the memory waterfall, from the model, the device and the engine.
 */
#include "scenario/model_opts.h"
#include "scenario/parts.h"
#include "sched/sched.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- dtypes of the cache ---- */

#define KV_DTYPE "engine.kv_cache_dtype"

static const char *resolve_name(const struct scenario_load *load, const char *word)
{
    return base_key_equal(word, "auto") ? load->model_dtype : word;
}

static bool check_kv_name(struct scenario_load *load, const struct conf_node *node,
                          const char *name)
{
    struct spec_kv_format format;
    if (spec_kv_format_find(name, &format))
        return true;
    return scenario_fail_hint(
        load->reader, node, KV_DTYPE, "bad-choice",
        "auto, bf16, fp16, fp8, fp8_e4m3, fp8_per_token_head, int8, int4, nvfp4, fp8_ds_mla, ...",
        "unknown KV cache dtype '%.60s'", name);
}

/* NAME, or {k: NAME, v: NAME}; false where it is neither, or a name is unknown. */
static bool read_pair(struct scenario_load *load, const char *key, const struct conf_node *node,
                      const char **k, const char **v)
{
    struct scenario_reader *reader = load->reader;
    if (node->kind == CONF_SCALAR) {
        *k = *v = resolve_name(load, node->text);
        scenario_param_text(reader, key, node->text, "", node);
        return check_kv_name(load, node, *k);
    }
    const struct conf_node *of_k = conf_get(node, "k"), *of_v = conf_get(node, "v");
    bool is_pair = node->kind == CONF_MAP && node->count == 2 && of_k != NULL && of_v != NULL &&
                   of_k->kind == CONF_SCALAR && of_v->kind == CONF_SCALAR;
    if (!is_pair)
        return scenario_fail(reader, node, key, "unsupported-key",
                             "'kv_cache_dtype' must be a name, {k: NAME, v: NAME}, or either by "
                             "kind of layer: {full: NAME, sliding: NAME, chunked: NAME}");
    *k = resolve_name(load, of_k->text);
    *v = resolve_name(load, of_v->text);
    scenario_param_text(reader, scenario_join(reader->arena, key, "k"), of_k->text, "", of_k);
    scenario_param_text(reader, scenario_join(reader->arena, key, "v"), of_v->text, "", of_v);
    return check_kv_name(load, of_k, *k) && check_kv_name(load, of_v, *v);
}

/* A dtype for layers that the model has not would have no effect; `full` is also what all others fall back on. */
static bool check_kind(const struct scenario_load *load, const struct conf_node *key, int kind)
{
    const struct spec_model *model = &load->scenario->model;
    bool is_there = kind == SPEC_KV_FULL;
    for (size_t i = 0; i < model->group_count && !is_there; i++)
        is_there = (int)model->groups[i].kind == kind;
    return is_there || scenario_fail_hint(load->reader, key, KV_DTYPE, "unused-key",
                                          "leave it out: 'full' is the dtype of all its layers",
                                          "the model has no %s layers", key->text);
}

/* {full: NAME, sliding: NAME, ...}: a kind that isn't named is stored as the full layers are. */
static bool find_kind_dtypes(struct scenario_load *load, const struct conf_node *node,
                             struct spec_kv_options *kv)
{
    for (size_t i = 0; i < node->count; i++) {
        const char *word = node->keys[i]->text;
        int kind = SPEC_KV_FULL;
        while (kind < SPEC_KV_STATE &&
               !base_key_equal(spec_kv_kind_name((enum spec_kv_kind)kind), word))
            kind++;
        if (kind == SPEC_KV_STATE)
            return scenario_fail(
                load->reader, node->keys[i], KV_DTYPE, "unknown-key",
                "'%.40s' is no kind of layer with a KV dtype: full, sliding, chunked", word);
        if (!check_kind(load, node->keys[i], kind))
            return false;
        if (!read_pair(load, scenario_join(load->reader->arena, KV_DTYPE, word), node->items[i],
                       &kv->kind_k_dtype[kind], &kv->kind_v_dtype[kind]))
            return false;
    }
    kv->k_dtype = kv->kind_k_dtype[SPEC_KV_FULL];
    kv->v_dtype = kv->kind_v_dtype[SPEC_KV_FULL];
    return true;
}

static bool find_kv_dtypes(struct scenario_load *load, struct spec_kv_options *kv)
{
    const struct conf_node *node = load->opts.kv_cache_dtype;
    if (node == NULL) {
        kv->k_dtype = kv->v_dtype = resolve_name(load, "auto");
        return check_kv_name(load, node, kv->k_dtype);
    }
    if (node->kind == CONF_MAP && conf_get(node, "full") != NULL && conf_get(node, "k") == NULL &&
        conf_get(node, "v") == NULL)
        return find_kind_dtypes(load, node, kv);
    return read_pair(load, KV_DTYPE, node, &kv->k_dtype, &kv->v_dtype);
}

/* ---- run-time memory ---- */

static const char *origin_source(const struct scenario_load *load, const struct conf_node *node,
                                 const char *key, enum spec_claim *claim)
{
    const char *source = "the scenario";
    *claim = SPEC_ASSUMED;
    if (node != NULL && node->origin == CONF_ORIGIN_PROFILE) {
        source = "";
        scenario_provenance_find(load->reader->provenance,
                                 base_arena_printf(load->reader->arena, "memory.%s", key), claim,
                                 &source);
    }
    return source;
}

static struct kv_waterfall_bytes stated_bytes(const struct scenario_load *load, const char *key,
                                              bool has, double bytes)
{
    struct kv_waterfall_bytes out = {.is_set = has, .bytes = (int64_t)llround(bytes)};
    if (has)
        out.source =
            origin_source(load, conf_get(conf_get(load->engine, "memory"), key), key, &out.claim);
    return out;
}

struct activation_point {
    double tokens, bytes;
};

static bool read_point(struct scenario_load *load, const struct conf_node *key,
                       const struct conf_node *value, struct activation_point *out)
{
    static const struct base_field tokens = {
        .key = "activation", .type = BASE_REAL, .unit = BASE_TOKENS, .min_open = true, .max = 1e12};
    static const struct base_field bytes = {
        .key = "activation", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, .max = 1e16};
    return scenario_read_value(load->reader, key, &tokens, "engine.memory.activation",
                               &out->tokens) &&
           scenario_read_value(load->reader, value, &bytes, "engine.memory.activation",
                               &out->bytes);
}

/* Sizes by max_num_batched_tokens, linear between two rows; beyond them nothing is known. */
static bool read_activation_table(struct scenario_load *load, const struct conf_node *map,
                                  struct kv_waterfall_activation *out)
{
    double wanted = (double)load->opts.max_num_batched_tokens;
    struct activation_point below = {0, 0}, above = {0, 0};
    for (size_t i = 0; i < map->count; i++) {
        struct activation_point point;
        if (!read_point(load, map->keys[i], map->items[i], &point))
            return false;
        if (point.tokens <= wanted && point.tokens > below.tokens)
            below = point;
        if (point.tokens >= wanted && (above.tokens == 0 || point.tokens < above.tokens))
            above = point;
    }
    if (below.tokens == 0 || above.tokens == 0)
        return scenario_fail(
            load->reader, map, "engine.memory.activation", "out-of-range",
            "the table of activations does not reach max_num_batched_tokens %" PRId64,
            load->opts.max_num_batched_tokens);
    double span = above.tokens - below.tokens;
    double bytes = span > 0
                       ? below.bytes + (above.bytes - below.bytes) * (wanted - below.tokens) / span
                       : below.bytes;
    out->base_bytes = (int64_t)llround(bytes);
    return true;
}

static bool is_function(const struct conf_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        if (map->keys[i]->text[0] < '0' || map->keys[i]->text[0] > '9')
            return true;
    }
    return false;
}

static bool read_activation(struct scenario_load *load, struct kv_waterfall_activation *out)
{
    static const struct base_field size = {
        .key = "activation", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, .max = 1e16};
    struct scenario_reader *reader = load->reader;
    struct conf_node *node = conf_get(conf_get(load->engine, "memory"), "activation");
    struct scenario_activation_opts opts = {0};
    if (conf_is_null(node))
        return true;
    out->is_set = true;
    out->source = origin_source(load, node, "activation", &out->claim);
    if (node->kind == CONF_MAP && !is_function(node))
        return read_activation_table(load, node, out);
    if (node->kind == CONF_SCALAR) {
        char text[32];
        if (!scenario_read_value(reader, node, &size, "engine.memory.activation", &opts.base_bytes))
            return false;
        scenario_param_text(reader, "engine.memory.activation",
                            base_print_real(opts.base_bytes, text, sizeof text), "bytes", node);
    } else if (node->kind != CONF_MAP) {
        return scenario_fail(
            reader, node, "engine.memory.activation", "wrong-type",
            "'activation' must be a size, {base, per_batched_token} or sizes by tokens");
    } else if (!scenario_read_map(reader, node, &scenario_activation_section,
                                  "engine.memory.activation", &opts)) {
        return false;
    }
    out->base_bytes = (int64_t)llround(opts.base_bytes);
    out->bytes_per_batched_token = opts.per_batched_token_bytes;
    return true;
}

/* ---- the inputs ---- */

/* A closed loop says how many sequences are to be held at once, and how long they get. */
static void fill_demand(const struct scenario_load *load, struct kv_waterfall_inputs *inputs)
{
    const struct serve_config *config = &load->scenario->config;
    inputs->demand_sequences = load->demand_sequences;
    inputs->demand_tokens = load->demand_tokens;
    if (load->demand_sequences != 0)
        return;
    if (!load->scenario->has_workload || config->workload.process != WORKLOAD_CLOSED_LOOP)
        return;
    double tokens = 0;
    for (size_t i = 0; i < config->workload.class_count; i++) {
        const struct workload_class *class = &config->workload.classes[i];
        tokens = fmax(tokens, rng_dist_mean(&class->prompt) + rng_dist_mean(&class->output));
    }
    inputs->demand_sequences = config->workload.concurrency;
    inputs->demand_tokens = (int64_t)ceil(fmin(tokens, (double)config->sched.max_model_len) - 1e-9);
}

/* Of recurrent matrices: as the model states it, else as the engine has it; NULL is fp32. */
static const char *find_state_dtype(const struct scenario_load *load)
{
    const struct conf_node *state = conf_get(load->model_tree, "mamba_ssm_cache_dtype");
    if (conf_is_null(state))
        state = conf_get(load->model_tree, "mamba_ssm_dtype");
    if (!conf_is_null(state) && state->kind == CONF_SCALAR)
        return state->text;
    const struct conf_node *type = conf_get(load->model_tree, "model_type");
    const struct scenario_family *family = NULL;
    if (!conf_is_null(type) && type->kind == CONF_SCALAR)
        family = scenario_family_find(type->text);
    bool is_wide = family != NULL && family->wide_states;
    return load->sizing.states_in_dtype && !is_wide ? load->model_dtype : NULL;
}

static bool fill_inputs(struct scenario_load *load, struct kv_waterfall_inputs *inputs)
{
    const struct scenario_engine_opts *opts = &load->opts;
    const struct scenario_memory_opts *memory = &opts->memory_opts;
    const struct scenario *scenario = load->scenario;
    *inputs = (struct kv_waterfall_inputs){
        .model = &scenario->model,
        .hardware = scenario->has_hardware ? &scenario->hardware : NULL,
        .kv = {.tensor_parallel = (uint32_t)opts->tensor_parallel,
               .pipeline_parallel = (uint32_t)opts->pipeline_parallel,
               .block_tokens = (uint32_t)opts->block_size},
        .weights = {.expert_parallel = opts->enable_expert_parallel,
                    .data_parallel = (uint32_t)opts->data_parallel,
                    .quantization = opts->quantization,
                    .dtype = load->model_dtype,
                    .group_size = (uint32_t)opts->quantization_group_size},
        .pages = {.hybrid = !opts->disable_hybrid_kv_cache_manager,
                  .window_extra_tokens =
                      (opts->async_scheduling ? 2 : 1) * opts->max_num_batched_tokens},
        .gpu_memory_utilization = opts->gpu_memory_utilization,
        .max_model_len = opts->max_model_len,
        .max_num_batched_tokens = opts->max_num_batched_tokens,
        .max_num_seqs = opts->max_num_seqs,
        .reserved_blocks = opts->reserved_blocks,
        .charge_graphs = memory->charge_graphs,
        .startup_check = opts->startup_check,
        .enforce_eager = opts->enforce_eager,
        .weights_bytes = stated_bytes(load, "weights", memory->has_weights, memory->weights_bytes),
        .non_torch =
            stated_bytes(load, "non_torch", memory->has_non_torch, memory->non_torch_bytes),
        .graphs = stated_bytes(load, "graphs", memory->has_graphs && !opts->enforce_eager,
                               memory->graphs_bytes),
        .draft = stated_bytes(load, "draft", memory->has_draft, memory->draft_bytes),
        .in_use_before = stated_bytes(load, "in_use_before", memory->has_in_use_before,
                                      memory->in_use_before_bytes),
        .kv_cache_memory_bytes = opts->kv_cache_memory_bytes,
        .num_gpu_blocks_override = opts->num_gpu_blocks_override,
        .kv_cache_tokens = opts->kv_cache_tokens,
    };
    inputs->kv.state_dtype = find_state_dtype(load);
    scenario_sizing_fill(load, inputs);
    // Whatever else takes memory takes it for all layers alike.
    inputs->pages.hybrid = inputs->pages.hybrid && (scenario->config.kv_policy == KV_PAGED ||
                                                    scenario->config.kv_policy == KV_UNLIMITED);
    fill_demand(load, inputs);
    return find_kv_dtypes(load, &inputs->kv) && read_activation(load, &inputs->activation) &&
           scenario_drafter_resolve(load, inputs);
}

static const char *print_pair(const struct scenario_load *load, const char *k, const char *v)
{
    return strcmp(k, v) == 0 ? k : base_arena_printf(load->reader->arena, "%s/%s", k, v);
}

/* "bf16", "fp8/int4" of K and V, "bf16, sliding fp8". */
static const char *print_kv_dtypes(const struct scenario_load *load,
                                   const struct spec_kv_options *kv)
{
    const char *text = print_pair(load, kv->k_dtype, kv->v_dtype);
    for (int kind = SPEC_KV_FULL + 1; kind < SPEC_KV_STATE; kind++) {
        if (kv->kind_k_dtype[kind] != NULL)
            text = base_arena_printf(
                load->reader->arena, "%s, %s %s", text, spec_kv_kind_name((enum spec_kv_kind)kind),
                print_pair(load, kv->kind_k_dtype[kind], kv->kind_v_dtype[kind]));
    }
    return text;
}

static bool check_pool_keys(struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    static const char *const keys[] = {"kv_cache_memory_bytes", "num_gpu_blocks_override",
                                       "kv_cache_tokens"};
    const int64_t values[] = {opts->kv_cache_memory_bytes, opts->num_gpu_blocks_override,
                              opts->kv_cache_tokens};
    const char *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (values[i] == 0)
            continue;
        if (first != NULL)
            return scenario_fail(load->reader, conf_get(load->engine, keys[i]),
                                 scenario_join(load->reader->arena, "engine", keys[i]), "conflict",
                                 "'%s' and '%s' both state the pool", first, keys[i]);
        first = keys[i];
    }
    load->pool_is_stated = first != NULL;
    return true;
}

static void warn_unused_memory(struct scenario_load *load)
{
    static const char *const keys[] = {"weights", "activation", "non_torch", "graphs",
                                       "in_use_before"};
    const struct conf_node *memory = conf_get(load->engine, "memory");
    const struct conf_node *share = scenario_stated(load->engine, "gpu_memory_utilization");
    if (!load->pool_is_stated)
        return;
    if (share != NULL)
        scenario_fail(load->reader, share, "engine.gpu_memory_utilization", "unused-key",
                      "'gpu_memory_utilization' is not used, as the pool is stated");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct conf_node *node = scenario_stated(memory, keys[i]);
        if (node != NULL)
            scenario_fail(
                load->reader, node, scenario_join(load->reader->arena, "engine.memory", keys[i]),
                "unused-key", "'engine.memory.%s' is not used, as the pool is stated", keys[i]);
    }
}

static void tell_memory(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    if (config->waterfall.startup_check_skipped)
        scenario_warn(load->reader, conf_get(load->engine, "startup_check"), "engine.startup_check",
                      "startup-check-off",
                      "one sequence of max_model_len %" PRId64
                      " does not fit the pool; the engine would not start",
                      config->sched.max_model_len);
    if (config->waterfall.startup_check_skipped)
        scenario_caveat(load->reader, "request_above_pool",
                        "a request of max_model_len %" PRId64
                        " does not fit the pool, and startup_check is off: an engine would not "
                        "start, and who grows so long waits for memory that never comes",
                        config->sched.max_model_len);
    if (config->waterfall.memory_is_derived && !load->pool_is_stated)
        scenario_caveat(
            load->reader, "memory_derived",
            "the memory that the driver of %s shows is derived from its marketed size: %" PRId64
            " to %" PRId64 " KV blocks",
            load->scenario->hardware.name, config->waterfall.kv_pool_blocks_low,
            config->waterfall.kv_pool_blocks_high);
}

/* Where what an error is about was stated: its key, or else the nearest mapping around it. */
static const struct conf_node *place_of(const struct scenario_load *load, const char *key)
{
    const struct conf_node *place = load->root;
    while (*key != '\0') {
        size_t length = strcspn(key, ".");
        const char *name = base_arena_copy_n(load->reader->arena, key, length);
        const struct conf_node *at = conf_get(place, name);
        if (place == load->root && strcmp(name, "engine") == 0)
            at = load->engine; // with what its profile says, and its spellings resolved
        if (at == NULL || (at->kind != CONF_MAP && !scenario_is_stated(at)))
            break;
        place = at;
        key += length + (key[length] == '.' ? 1 : 0);
    }
    return place == load->root ? load->engine : place;
}

static bool fail_at_key(struct scenario_load *load, const struct kvsim_error *err)
{
    return scenario_fail_error(load->reader, place_of(load, err->key), "engine", err);
}

bool scenario_pool_make(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    struct kv_waterfall_inputs inputs;
    struct kvsim_error err = {.status = KVSIM_OK};
    if (!check_pool_keys(load) || !fill_inputs(load, &inputs))
        return false;
    config->kv_cache_dtype = print_kv_dtypes(load, &inputs.kv);
    scenario_param_derived(load->reader, "engine.kv_cache_dtype.used", config->kv_cache_dtype, "",
                           SPEC_CALCULATED, "auto is the model's dtype");
    if (load->purpose == SCENARIO_FOR_STEP) {
        if (spec_kv_layout_make(&load->scenario->model, &inputs.kv, &config->layout, &err) ==
            KVSIM_OK)
            return true;
        return fail_at_key(load, &err);
    }
    warn_unused_memory(load);
    if (kv_waterfall_make(&inputs, &config->waterfall, &err) != KVSIM_OK)
        return fail_at_key(load, &err);
    config->layout = config->waterfall.layout;
    config->pool_blocks = config->waterfall.kv_pool_blocks;
    tell_memory(load);
    return scenario_kv_policy_pool(load) && scenario_tables_make(load) &&
           scenario_tiers_resolve(load);
}
