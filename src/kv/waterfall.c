#include "kv/waterfall.h"
#include "kv/waterfall_int.h"

#include "base/i128.h"

#include <math.h>
#include <stddef.h>

static const char *const line_names[KV_WF_LINE_COUNT] = {
    [KV_WF_NOMINAL] = "nominal",
    [KV_WF_DRIVER] = "driver",
    [KV_WF_OUTSIDE_UTILIZATION] = "outside_utilization",
    [KV_WF_WEIGHTS] = "weights",
    [KV_WF_ACTIVATION] = "activation",
    [KV_WF_NON_TORCH] = "non_torch",
    [KV_WF_GRAPHS] = "graphs",
    [KV_WF_BLOCK_TABLES] = "block_tables",
    [KV_WF_REQUEST_TABLES] = "request_tables",
    [KV_WF_STATE_POOL] = "state_pool",
    [KV_WF_DRAFT] = "draft",
    [KV_WF_LORA] = "lora",
    [KV_WF_STAGE_REMAINDER] = "stage_remainder",
    [KV_WF_REMAINDER] = "remainder",
    [KV_WF_KV_POOL] = "kv_pool",
};

static const char *const stage_names[] = {
    [KV_STAGE_NONE] = "none",         [KV_STAGE_FREE_MEMORY] = "free_memory",
    [KV_STAGE_WEIGHTS] = "weights",   [KV_STAGE_PROFILE] = "profile",
    [KV_STAGE_KV_CACHE] = "kv_cache", [KV_STAGE_GRAPHS] = "graphs",
};

const char *kv_waterfall_line_name(enum kv_waterfall_line line)
{
    base_require((size_t)line < KV_WF_LINE_COUNT);
    return line_names[line];
}

const char *kv_waterfall_stage_name(enum kv_waterfall_stage stage)
{
    base_require((size_t)stage < sizeof stage_names / sizeof stage_names[0]);
    return stage_names[stage];
}

const struct kv_waterfall_row *kv_waterfall_find(const struct kv_waterfall *waterfall,
                                                 enum kv_waterfall_line line)
{
    for (size_t i = 0; i < waterfall->row_count; i++) {
        if (waterfall->rows[i].line == line)
            return &waterfall->rows[i];
    }
    return NULL;
}

double kv_waterfall_expected_concurrency(const struct kv_waterfall *waterfall,
                                         double mean_held_blocks)
{
    base_require(mean_held_blocks > 0);
    return (double)waterfall->kv_usable_blocks / mean_held_blocks;
}

static void add_row(struct kv_waterfall *out, enum kv_waterfall_line line, int64_t bytes,
                    enum spec_claim claim, const char *source)
{
    base_require(out->row_count < KV_WF_LINE_COUNT);
    out->rows[out->row_count++] = (struct kv_waterfall_row){line, bytes, claim, source};
}

static void add_part(struct kv_waterfall *out, enum kv_waterfall_line line,
                     const struct kv_waterfall_bytes *part)
{
    add_row(out, line, part->bytes, part->claim, part->source);
}

// A part that nobody has said anything about counts as nothing, and says so.
static struct kv_waterfall_bytes known_or_zero(const struct kv_waterfall_bytes *part)
{
    if (part->is_set)
        return *part;
    return (struct kv_waterfall_bytes){.claim = SPEC_ASSUMED, .source = "not known, taken as 0"};
}

/* The parts of a budget, with overrides and derived figures resolved. */
struct parts {
    struct kv_waterfall_bytes weights, activation, non_torch, graphs;
    int64_t state_pool_bytes;
};

static struct kv_waterfall_bytes activation_part(const struct kv_waterfall_inputs *inputs)
{
    const struct kv_waterfall_activation *activation = &inputs->activation;
    struct kv_waterfall_bytes part = {
        .is_set = activation->is_set, .claim = activation->claim, .source = activation->source};
    part.bytes = activation->base_bytes + llround(activation->bytes_per_batched_token *
                                                  (double)inputs->max_num_batched_tokens);
    return known_or_zero(&part);
}

static enum kvsim_status weights_part(const struct kv_waterfall_inputs *inputs,
                                      struct kv_waterfall_bytes *out, struct kvsim_error *err)
{
    if (inputs->weights_bytes.is_set) {
        *out = inputs->weights_bytes;
        return KVSIM_OK;
    }
    struct spec_weights_options options = inputs->weights;
    options.tensor_parallel = inputs->kv.tensor_parallel;
    options.pipeline_parallel = inputs->kv.pipeline_parallel;
    uint64_t bytes;
    enum kvsim_status status = spec_weights_bytes_per_gpu(inputs->model, &options, &bytes, err);
    *out = (struct kv_waterfall_bytes){true, (int64_t)bytes, SPEC_CALCULATED,
                                       "geometry and format of the weights"};
    return status;
}

static enum kvsim_status find_parts(const struct kv_waterfall_inputs *inputs,
                                    const struct kv_pages *pages, struct parts *parts,
                                    struct kvsim_error *err)
{
    parts->activation = activation_part(inputs);
    parts->non_torch = known_or_zero(&inputs->non_torch);
    parts->graphs = known_or_zero(&inputs->graphs);
    parts->state_pool_bytes = (int64_t)pages->state_bytes_per_gpu * inputs->max_num_seqs;
    return weights_part(inputs, &parts->weights, err);
}

// ceil(memory * utilization), exactly.
static int64_t budget_bytes(int64_t memory_bytes, const struct base_rational *utilization)
{
    base_i128 product = (base_i128)memory_bytes * utilization->num;
    return (int64_t)((product + utilization->den - 1) / utilization->den);
}

static int64_t charged_bytes(const struct kv_waterfall_inputs *inputs, const struct parts *parts)
{
    return parts->weights.bytes + parts->activation.bytes + parts->non_torch.bytes +
           (inputs->charge_graphs ? parts->graphs.bytes : 0) + parts->state_pool_bytes +
           inputs->draft.bytes + inputs->lora.bytes;
}

static int64_t blocks_of(const struct kv_pages *pages, int64_t available_bytes)
{
    if (available_bytes <= 0)
        return 0;
    return available_bytes / (int64_t)pages->block_bytes_per_gpu;
}

static void set_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out,
                     int64_t blocks)
{
    const struct kv_pages *pages = &out->pages;
    int64_t usable = blocks > inputs->reserved_blocks ? blocks - inputs->reserved_blocks : 0;
    out->kv_pool_blocks = blocks;
    out->kv_pool_tokens = blocks / pages->table_count * pages->block_tokens;
    out->kv_usable_blocks = usable;
    out->kv_usable_tokens = usable / pages->table_count * pages->block_tokens;
    out->kv_pool_bytes = blocks * (int64_t)pages->block_bytes;
    out->kv_pool_bytes_per_gpu = blocks * (int64_t)pages->block_bytes_per_gpu;
    out->kv_pool_blocks_low = out->kv_pool_blocks_high = blocks;
}

static void set_concurrency(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    int64_t blocks = kv_pages_sequence_blocks(&out->pages, inputs->max_model_len);
    out->sequence_blocks = blocks;
    if (blocks > 0) {
        out->max_concurrency = (double)out->kv_pool_blocks / (double)blocks;
        out->concurrency_guaranteed = out->kv_usable_blocks / blocks;
    }
    out->demand_lower_bound_bytes =
        (uint64_t)inputs->demand_sequences *
        spec_kv_lower_bound_bytes(&out->layout, (uint64_t)inputs->demand_tokens);
    out->demand_blocks =
        inputs->demand_sequences * kv_pages_sequence_blocks(&out->pages, inputs->demand_tokens);
    out->fits_demand = out->demand_blocks <= out->kv_usable_blocks;
}

static bool pool_is_stated(const struct kv_waterfall_inputs *inputs)
{
    return inputs->kv_cache_memory_bytes != 0 || inputs->num_gpu_blocks_override != 0 ||
           inputs->kv_cache_tokens != 0;
}

static void add_card_rows(const struct spec_hardware *hardware, struct kv_waterfall *out)
{
    if (hardware->memory_nominal_bytes != 0)
        add_row(out, KV_WF_NOMINAL, (int64_t)hardware->memory_nominal_bytes, SPEC_VENDOR,
                "marketed size read as GiB");
    add_row(out, KV_WF_DRIVER, (int64_t)hardware->memory_bytes, hardware->memory_claim,
            hardware->memory_source);
}

static void make_stated_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    const struct kv_pages *pages = &out->pages;
    int64_t blocks = inputs->num_gpu_blocks_override;
    int64_t rest_bytes = 0;
    if (inputs->kv_cache_memory_bytes != 0) {
        blocks = blocks_of(pages, inputs->kv_cache_memory_bytes);
        rest_bytes = inputs->kv_cache_memory_bytes % (int64_t)pages->block_bytes_per_gpu;
    } else if (inputs->kv_cache_tokens != 0) {
        blocks = inputs->kv_cache_tokens / pages->block_tokens * pages->table_count;
    }
    out->pool_is_stated = true;
    set_pool(inputs, out, blocks);
    if (inputs->hardware != NULL && inputs->hardware->memory_bytes != 0)
        add_card_rows(inputs->hardware, out);
    if (rest_bytes != 0)
        add_row(out, KV_WF_REMAINDER, rest_bytes, SPEC_CALCULATED, "below one block");
    add_row(out, KV_WF_KV_POOL, out->kv_pool_bytes_per_gpu, SPEC_ASSUMED, "stated pool");
    out->kv_available_bytes_per_gpu = out->kv_pool_bytes_per_gpu + rest_bytes;
}

// Graphs that are not charged are captured beside the budget: the row stands, and the share outside shrinks by it.
static void add_part_rows(const struct kv_waterfall_inputs *inputs, const struct parts *parts,
                          struct kv_waterfall *out)
{
    int64_t outside_bytes = (int64_t)inputs->hardware->memory_bytes - out->budget_bytes_per_gpu;
    if (!inputs->charge_graphs)
        outside_bytes -= parts->graphs.bytes;
    add_row(out, KV_WF_OUTSIDE_UTILIZATION, outside_bytes, inputs->hardware->memory_claim,
            "1 - gpu_memory_utilization");
    add_part(out, KV_WF_WEIGHTS, &parts->weights);
    add_part(out, KV_WF_ACTIVATION, &parts->activation);
    add_part(out, KV_WF_NON_TORCH, &parts->non_torch);
    add_part(out, KV_WF_GRAPHS, &parts->graphs);
    if (parts->state_pool_bytes != 0)
        add_row(out, KV_WF_STATE_POOL, parts->state_pool_bytes, SPEC_CALCULATED,
                "recurrent states of max_num_seqs sequences");
    if (inputs->draft.is_set)
        add_part(out, KV_WF_DRAFT, &inputs->draft);
    if (inputs->lora.is_set)
        add_part(out, KV_WF_LORA, &inputs->lora);
    add_row(out, KV_WF_REMAINDER, out->kv_available_bytes_per_gpu - out->kv_pool_bytes_per_gpu,
            SPEC_CALCULATED, "below one block");
    add_row(out, KV_WF_KV_POOL, out->kv_pool_bytes_per_gpu, SPEC_CALCULATED, "whole blocks");
}

static int64_t available_bytes(const struct kv_waterfall_inputs *inputs, const struct parts *parts,
                               uint64_t memory_bytes)
{
    return budget_bytes((int64_t)memory_bytes, &inputs->gpu_memory_utilization) -
           charged_bytes(inputs, parts);
}

static void make_sized_pool(const struct kv_waterfall_inputs *inputs, const struct parts *parts,
                            struct kv_waterfall *out)
{
    const struct spec_hardware *hardware = inputs->hardware;
    out->budget_bytes_per_gpu =
        budget_bytes((int64_t)hardware->memory_bytes, &inputs->gpu_memory_utilization);
    out->kv_available_bytes_per_gpu = available_bytes(inputs, parts, hardware->memory_bytes);
    set_pool(inputs, out, blocks_of(&out->pages, out->kv_available_bytes_per_gpu));
    out->memory_is_derived = hardware->memory_is_derived;
    if (hardware->memory_is_derived) {
        int64_t low = available_bytes(inputs, parts, hardware->memory_low_bytes);
        int64_t high = available_bytes(inputs, parts, hardware->memory_high_bytes);
        out->kv_pool_blocks_low = blocks_of(&out->pages, low);
        out->kv_pool_blocks_high = blocks_of(&out->pages, high);
    }
    out->weights_bytes = parts->weights.bytes * (int64_t)out->layout.gpu_count;
    add_card_rows(hardware, out);
    add_part_rows(inputs, parts, out);
}

static void refuse(struct kv_waterfall *out, enum kv_waterfall_stage stage, const char *limit,
                   int64_t needed_bytes, int64_t available_at_limit_bytes)
{
    out->starts = false;
    out->refusal.stage = stage;
    out->refusal.limit = limit;
    out->refusal.needed_bytes = needed_bytes;
    out->refusal.available_bytes = available_at_limit_bytes;
}

// Graph capture happens when the profile run's activations are free again.
static bool graphs_fit(const struct kv_waterfall_inputs *inputs, const struct parts *parts,
                       const struct kv_waterfall *out, int64_t *room_bytes)
{
    *room_bytes = (int64_t)inputs->hardware->memory_bytes - out->budget_bytes_per_gpu -
                  inputs->in_use_before.bytes + parts->activation.bytes;
    return inputs->charge_graphs || parts->graphs.bytes <= *room_bytes;
}

static void check_card(const struct kv_waterfall_inputs *inputs, const struct parts *parts,
                       struct kv_waterfall *out)
{
    int64_t free_bytes = (int64_t)inputs->hardware->memory_bytes - inputs->in_use_before.bytes;
    int64_t budget = out->budget_bytes_per_gpu, room_bytes;
    if (free_bytes < budget)
        refuse(out, KV_STAGE_FREE_MEMORY, "gpu_memory", budget, free_bytes);
    else if (parts->weights.bytes > budget)
        refuse(out, KV_STAGE_WEIGHTS, "gpu_memory_utilization", parts->weights.bytes, budget);
    else if (out->kv_available_bytes_per_gpu <= 0)
        refuse(out, KV_STAGE_PROFILE, "gpu_memory_utilization", charged_bytes(inputs, parts),
               budget);
    else if (!graphs_fit(inputs, parts, out, &room_bytes))
        refuse(out, KV_STAGE_GRAPHS, "gpu_memory", parts->graphs.bytes, room_bytes);
}

// One longest sequence must fit the blocks that can be used.
static void check_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    if (!out->starts || out->kv_usable_blocks >= out->sequence_blocks)
        return;
    int64_t block_bytes = (int64_t)out->pages.block_bytes_per_gpu;
    refuse(out, KV_STAGE_KV_CACHE, "kv_pool", out->sequence_blocks * block_bytes,
           out->kv_usable_blocks * block_bytes);
    if (!inputs->startup_check && out->kv_usable_blocks > 0) {
        out->starts = true;
        out->startup_check_skipped = true;
    }
}

static enum kvsim_status fail_key(struct kvsim_error *err, const char *key, const char *code,
                                  const char *message)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_SCENARIO, "%s", message);
    base_error_key(err, key);
    base_error_code(err, code);
    return status;
}

static enum kvsim_status check_inputs(const struct kv_waterfall_inputs *inputs,
                                      struct kvsim_error *err)
{
    base_require(inputs->max_model_len > 0 && inputs->reserved_blocks >= 0);
    base_require(inputs->max_num_seqs > 0 && inputs->max_num_batched_tokens > 0);
    if (pool_is_stated(inputs))
        return KVSIM_OK;
    base_require(inputs->gpu_memory_utilization.num > 0 && inputs->gpu_memory_utilization.den > 0);
    if (inputs->hardware == NULL)
        return fail_key(err, "hardware", "no-hardware",
                        "the pool is neither stated nor to be derived from a hardware");
    if (inputs->hardware->memory_bytes == 0)
        return fail_key(err, "hardware.memory", "no-memory",
                        "the memory that the driver shows is not known for this hardware");
    return KVSIM_OK;
}

// Without blocks there's nothing to size: a model of states alone, or one without layers.
static enum kvsim_status make_layout(const struct kv_waterfall_inputs *inputs,
                                     struct kv_waterfall *out, struct kvsim_error *err)
{
    enum kvsim_status status = spec_kv_layout_make(inputs->model, &inputs->kv, &out->layout, err);
    if (status == KVSIM_OK)
        status = kv_pages_make(&out->layout, &inputs->pages, &out->pages, err);
    if (status == KVSIM_OK && out->pages.block_bytes_per_gpu == 0)
        status = fail_key(err, "model", "no-kv", "the model keeps no KV per token");
    return status;
}

enum kvsim_status kv_waterfall_compute(const struct kv_waterfall_inputs *inputs,
                                       struct kv_waterfall *out, struct kvsim_error *err)
{
    *out = (struct kv_waterfall){.starts = true};
    struct parts parts = {0};
    bool stated = pool_is_stated(inputs);
    enum kvsim_status status = check_inputs(inputs, err);
    if (status == KVSIM_OK)
        status = make_layout(inputs, out, err);
    if (status == KVSIM_OK && !stated)
        status = find_parts(inputs, &out->pages, &parts, err);
    if (status != KVSIM_OK)
        return status;

    if (stated)
        make_stated_pool(inputs, out);
    else
        make_sized_pool(inputs, &parts, out);
    out->kv_available_bytes = out->kv_available_bytes_per_gpu * (int64_t)out->layout.gpu_count;
    set_concurrency(inputs, out);
    if (!stated)
        check_card(inputs, &parts, out);
    check_pool(inputs, out);
    return KVSIM_OK;
}

enum kvsim_status kv_waterfall_make(const struct kv_waterfall_inputs *inputs,
                                    struct kv_waterfall *out, struct kvsim_error *err)
{
    enum kvsim_status status = kv_waterfall_compute(inputs, out, err);
    if (status == KVSIM_OK && out->refusal.stage != KV_STAGE_NONE) {
        out->refusal.estimated_max_model_len =
            kv_pages_longest_sequence(&out->pages, out->kv_usable_blocks, inputs->max_model_len);
        kv_waterfall_find_changes(inputs, out);
    }
    return status;
}
