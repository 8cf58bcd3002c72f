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

/* ---- sizing ---- */

#define RESERVE(member) .offset = offsetof(struct scenario_reserve_opts, member)

static const struct base_field reserve_fields[] = {
    {.key = "base",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(base),
     .max = 1e15,
     .def = "0",
     .help = "whatever the engine does"},
    {.key = "per_batched_token",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(per_token),
     .max = 1e12,
     .def = "0",
     .help = "for each token of a chunk"},
    {.key = "least_batched_tokens",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     RESERVE(least_tokens),
     .max = 1e9,
     .def = "0",
     .help = "chunks below count as this"},
    {.key = "per_gpu",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(per_gpu),
     .max = 1e12,
     .def = "0",
     .help = "for each rank"},
    {.key = "per_captured_sequence",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(per_captured),
     .max = 1e12,
     .def = "0",
     .help = "for each sequence of the largest graph"},
    {.key = "least",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(least),
     .max = 1e15,
     .def = "0",
     .help = "at least this ..."},
    {.key = "least_from",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RESERVE(least_from),
     .max = 1e15,
     .def = "0",
     .help = "... on cards larger than this"},
    {.key = "shares_by_gpus",
     .type = BASE_NODE,
     RESERVE(by_gpus),
     .help = "fractions by the number of ranks, in place of all this"},
    {0},
};

#define SIZING(member) .offset = offsetof(struct scenario_sizing_opts, member)

static const struct base_choice pool_choices[] = {
    {"blocks", KV_POOL_BLOCKS, "what is available, in whole blocks"},
    {"cells", KV_POOL_CELLS, "what the contexts were said to be"},
    {0},
};
static const struct base_choice printed_choices[] = {
    {"blocks", 0, "blocks over tables x block size"},
    {"concurrency", 1, "max_concurrency x max_model_len"},
    {0},
};

static const struct base_choice log_choices[] = {
    {"vllm_v1", KV_LOG_VLLM_V1, "vLLM's V1 engine"},
    {"vllm_v0", KV_LOG_VLLM_V0, "vLLM's V0 engine"},
    {"sglang", KV_LOG_SGLANG, "SGLang"},
    {"trtllm", KV_LOG_TRTLLM, "TensorRT-LLM"},
    {"llama_cpp", KV_LOG_LLAMA_CPP, "llama.cpp"},
    {"none", KV_LOG_NONE, "none is known"},
    {0},
};

static const struct base_choice unequal_choices[] = {
    {"refused", KV_UNEQUAL_REFUSED, "they cannot share a pool"},
    {"longer", KV_UNEQUAL_LONGER,
     "layers with fewer bytes get longer blocks, where the bytes divide"},
    {"padded", KV_UNEQUAL_PADDED, "and padded ones where they do not"},
    {0},
};

static const struct base_choice count_choices[] = {
    {"bytes", SPEC_WEIGHTS_BYTES, "elements of the tensors"},
    {"blocks", SPEC_WEIGHTS_BLOCKS,
     "PyTorch's allocated bytes: rounded, what can be split off free"},
    {"segments", SPEC_WEIGHTS_SEGMENTS, "what the device has less: whole 2 MiB a large tensor"},
    {0},
};

static const struct base_choice latent_choices[] = {
    {"none", SPEC_LATENT_NONE, "nothing"},
    {"dequantized", SPEC_LATENT_DEQUANTIZED,
     "up-projections in the dtype, where they are quantized"},
    {"absorbed", SPEC_LATENT_ABSORBED, "the products with query and output projection"},
    {0},
};

static const struct base_choice encoder_choices[] = {
    {"none", KV_ENCODER_NONE, "nothing runs before the pool is made"},
    {"budget", KV_ENCODER_BUDGET, "items of the largest size up to the encoder's budget"},
    {"prompt", KV_ENCODER_PROMPT, "items of the largest size up to one prompt"},
    {0},
};

static const struct base_field sizing_fields[] = {
    {.key = "pool",
     .type = BASE_CHOICE,
     SIZING(pool),
     .choices = pool_choices,
     .def = "blocks",
     .help = "what the pool is"},
    {.key = "log",
     .type = BASE_CHOICE,
     SIZING(log),
     .choices = log_choices,
     .def = "none",
     .help = "wording of the start-up log"},
    {.key = "weights_counted",
     .type = BASE_CHOICE,
     SIZING(weights_counted),
     .choices = count_choices,
     .def = "bytes",
     .help = "how the memory of a weight tensor is counted"},
    {.key = "loads_vision",
     .type = BASE_BOOL,
     SIZING(loads_vision),
     .def = "true",
     .help = "the tower of a multimodal model is part of the weights"},
    {.key = "latent_copies",
     .type = BASE_CHOICE,
     SIZING(latent_copies),
     .choices = latent_choices,
     .def = "none",
     .help = "kept beside the checkpoint's matrices of MLA"},
    {.key = "before",
     .type = BASE_TEXTS,
     SIZING(before),
     .help = "parts taken from the memory before the fraction"},
    {.key = "beside",
     .type = BASE_TEXTS,
     SIZING(beside),
     .help = "parts that must fit what the fraction leaves"},
    {.key = "printed_tokens",
     .type = BASE_CHOICE,
     SIZING(printed),
     .choices = printed_choices,
     .def = "blocks",
     .help = "how the start-up log counts tokens"},
    {.key = "concurrency_by_tokens",
     .type = BASE_BOOL,
     SIZING(by_tokens),
     .def = "false",
     .help =
         "max_concurrency is printed as tokens / max_model_len, not by whole blocks of a sequence"},
    {.key = "clamps_length",
     .type = BASE_BOOL,
     SIZING(clamps),
     .def = "false",
     .help = "a max_model_len above the pool is shortened, not refused"},
    {.key = "windows",
     .type = BASE_BOOL,
     SIZING(windows),
     .def = "true",
     .help = "windowed layers and states have tables of their own"},
    {.key = "unequal_pages",
     .type = BASE_CHOICE,
     SIZING(unequal),
     .choices = unequal_choices,
     .def = "refused",
     .help = "kinds of layers whose tokens take different bytes"},
    {.key = "state_blocks",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     SIZING(state_blocks),
     .min = 1,
     .max = 16,
     .def = "1",
     .help = "blocks of one state while prefix caching is off"},
    {.key = "state_blocks_cached",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     SIZING(state_blocks_cached),
     .min = 1,
     .max = 16,
     .def = "1",
     .help = "blocks of one state while it is on"},
    {.key = "spare_page",
     .type = BASE_BOOL,
     SIZING(spare_page),
     .def = "false",
     .help = "one page more than the pool is allocated"},
    {.key = "request_table_bytes",
     .type = BASE_INT,
     .unit = BASE_PLAIN_BYTES,
     SIZING(request_table_bytes),
     .max = 64,
     .def = "0",
     .help = "per position of max_model_len and sequence"},
    {.key = "block_table_bytes",
     .type = BASE_INT,
     .unit = BASE_PLAIN_BYTES,
     SIZING(block_table_bytes),
     .max = 64,
     .def = "0",
     .help = "per block of max_model_len and sequence"},
    {.key = "latent_block_size",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     SIZING(latent_block),
     .max = 1e6,
     .def = "0",
     .help = "block size of MLA models, where it is not stated"},
    {.key = "index_block_size",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     SIZING(index_block),
     .max = 1e6,
     .def = "0",
     .help = "block size of models with index keys, where it is not stated"},
    {.key = "latent_align",
     .type = BASE_INT,
     .unit = BASE_PLAIN_BYTES,
     SIZING(latent_align),
     .max = 4096,
     .def = "0",
     .help = "an MLA entry is padded to a multiple"},
    {.key = "latent_with_value",
     .type = BASE_BOOL,
     SIZING(latent_with_value),
     .def = "false",
     .help = "the latent is stored again as V"},
    {.key = "cell_padding",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     SIZING(cell_padding),
     .min = 1,
     .max = 65536,
     .def = "256",
     .help = "cells come in multiples"},
    {.key = "chunked_above",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     SIZING(chunked_above),
     .max = 1e12,
     .def = "0",
     .help = "prompts are chunked from this max_model_len, where it is not said"},
    {.key = "wiggle",
     .type = BASE_RATIONAL,
     .unit = BASE_RATIO,
     SIZING(wiggle),
     .max = 1,
     .min_open = true,
     .def = "1",
     .help = "share of what is free that becomes the pool, whatever the fraction"},
    {.key = "window_share",
     .type = BASE_RATIONAL,
     .unit = BASE_RATIO,
     SIZING(window_share),
     .max = 1,
     .min_open = true,
     .help = "windowed layers have a pool of their own with so many tokens for one of the others"},
    {.key = "state_share",
     .type = BASE_RATIONAL,
     .unit = BASE_RATIO,
     SIZING(state_share),
     .max = 100,
     .min_open = true,
     .help = "bytes of states for one of tokens, where max_num_seqs is not stated"},
    {.key = "reserve",
     .type = BASE_SUB,
     SIZING(reserve),
     .sub = reserve_fields,
     .help = "a fraction that is not stated: (memory - reserve) / memory"},
    {0},
};

/* ---- runtime ---- */

#define RUNTIME(member) .offset = offsetof(struct scenario_runtime_opts, member)

static const struct base_field runtime_fields[] = {
    {.key = "logit",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RUNTIME(logit),
     .max = 1e6,
     .def = "0",
     .help = "sampler: per row and entry of the vocabulary"},
    {.key = "hidden_copies",
     .type = BASE_REAL,
     RUNTIME(copies),
     .max = 1e3,
     .def = "0",
     .help = "hidden-wide tensors beside the widest layer"},
    {.key = "moe_chunk",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     RUNTIME(moe_chunk),
     .max = 1e9,
     .def = "0",
     .help = "tokens that experts take at once"},
    {.key = "context",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RUNTIME(context),
     .max = 1e12,
     .def = "0",
     .help = "non-torch memory of one rank"},
    {.key = "collective",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RUNTIME(collective),
     .max = 1e12,
     .def = "0",
     .help = "for each further tensor-parallel rank"},
    {.key = "collective_pcie",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RUNTIME(collective_pcie),
     .max = 1e12,
     .def = "0",
     .help = "the same where GPUs have no link but PCIe"},
    {.key = "graph",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     RUNTIME(graph),
     .max = 1e12,
     .def = "0",
     .help = "of a layer at a capture size"},
    {.key = "graph_max_batch",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     RUNTIME(graph_batch),
     .max = 1e6,
     .def = "0",
     .help = "largest capture size"},
    {.key = "graph_seats",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     RUNTIME(graph_seats),
     .min = 1,
     .max = 16,
     .def = "1",
     .help = "capture sizes reach so many times max_num_seqs"},
    {.key = "graph_charged_share",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     RUNTIME(graph_share),
     .max = 1,
     .def = "1",
     .help = "estimate that is charged, of what capture takes"},
    {.key = "encoder",
     .type = BASE_CHOICE,
     RUNTIME(encoder),
     .choices = encoder_choices,
     .def = "none",
     .help = "the tower of a multimodal model in the profile run"},
    {0},
};

const struct scenario_section scenario_sizing_section = {"sizing", sizing_fields, NULL,
                                                         "how memory becomes a pool"};
const struct scenario_section scenario_reserve_section = {"sizing.reserve", reserve_fields, NULL,
                                                          "the default fraction"};
const struct scenario_section scenario_runtime_section = {"runtime", runtime_fields, NULL,
                                                          "memory beside weights and KV"};

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

/* `page_size` under a profile that spells block_size so: the node moves under the common key and keeps its place. */
void scenario_sizing_respell(struct scenario_load *load, struct conf_node *engine)
{
    const struct conf_node *spelling = conf_get(load->profile.tree, "spelling");
    for (size_t i = 0; spelling != NULL && spelling->kind == CONF_MAP && i < spelling->count; i++) {
        const char *own = spelling->keys[i]->text, *common = spelling->items[i]->text;
        struct conf_node *node = conf_get(engine, own);
        if (node == NULL || spelling->items[i]->kind != CONF_SCALAR)
            continue;
        const char *dot = strchr(common, '.');
        struct conf_node *map = engine;
        if (dot != NULL) { // "kv_cache_dtype.k": one half of a pair
            const char *outer =
                base_arena_copy_n(load->reader->arena, common, (size_t)(dot - common));
            map = conf_get(engine, outer);
            if (map == NULL || map->kind != CONF_MAP) {
                map = conf_new_map(load->reader->arena);
                map->origin = node->origin;
                map->file = node->file;
                map->line = node->line;
                map->column = node->column;
                conf_put(load->reader->arena, engine, outer, map);
            }
            common = dot + 1;
        }
        conf_put(load->reader->arena, map, common, node);
        scenario_drop(engine, own);
    }
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
        .hidden_copies = opts->copies,
        .moe_chunk_tokens = opts->moe_chunk,
        .context_bytes = llround(opts->context),
        .collective_bytes = llround(opts->collective),
        .collective_pcie_bytes = llround(opts->collective_pcie),
        .graph_bytes = llround(opts->graph),
        .graph_max_batch = opts->graph_batch,
        .graph_seats = opts->graph_seats,
        .graph_charged_share = opts->graph_share,
        .encoder = (enum kv_encoder_profile)opts->encoder,
    };
    return rule;
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
    if (kv_policy_concatenates((enum kv_policy)opts->kv_policy))
        inputs->pages.transient_bytes_per_token = transient_bytes(load);
    inputs->sizing = load->sizing_rule;
    if (!opts->disable_hybrid_kv_cache_manager)
        inputs->sizing.window_share = opts->swa_full_tokens_ratio.den != 0
                                          ? opts->swa_full_tokens_ratio
                                          : sizing->window_share;
    if (scenario_stated(load->engine, "max_num_seqs") == NULL)
        inputs->sizing.state_share = sizing->state_share;
    inputs->weights.without_vision = !sizing->loads_vision;
    inputs->weights.count = (enum spec_weights_count)sizing->weights_counted;
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
