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

static const enum kv_waterfall_line part_lines[KV_PART_COUNT] = {
    [KV_PART_WEIGHTS] = KV_WF_WEIGHTS,
    [KV_PART_ACTIVATION] = KV_WF_ACTIVATION,
    [KV_PART_NON_TORCH] = KV_WF_NON_TORCH,
    [KV_PART_GRAPHS] = KV_WF_GRAPHS,
    [KV_PART_BLOCK_TABLES] = KV_WF_BLOCK_TABLES,
    [KV_PART_REQUEST_TABLES] = KV_WF_REQUEST_TABLES,
    [KV_PART_STATE_POOL] = KV_WF_STATE_POOL,
    [KV_PART_DRAFT] = KV_WF_DRAFT,
    [KV_PART_LORA] = KV_WF_LORA,
};

// TensorRT-LLM counts whole tokens first, and gives the last of them a whole block.
static int64_t blocks_of(const struct kv_waterfall_inputs *inputs, const struct kv_pages *pages,
                         int64_t available_bytes)
{
    int64_t block_bytes = (int64_t)pages->block_bytes_per_gpu;
    int64_t token_bytes = block_bytes / pages->block_tokens;
    if (available_bytes <= 0)
        return 0;
    if (inputs->sizing.rounds_blocks_up && available_bytes % block_bytes >= token_bytes)
        return available_bytes / block_bytes + 1;
    return available_bytes / block_bytes;
}

static void set_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out,
                     int64_t blocks_of_all_layers)
{
    const struct kv_pages *pages = &out->pages;
    int64_t blocks = kv_window_pool_split(inputs, out, blocks_of_all_layers);
    int64_t usable = blocks > inputs->reserved_blocks ? blocks - inputs->reserved_blocks : 0;
    out->kv_pool_blocks = blocks;
    out->kv_pool_tokens = blocks / pages->table_count * pages->block_tokens;
    out->kv_usable_blocks = usable;
    out->kv_usable_tokens = usable / pages->table_count * pages->block_tokens;
    int64_t held = blocks + (inputs->sizing.has_spare_page && blocks > 0 ? 1 : 0);
    out->kv_pool_bytes = held * (int64_t)pages->block_bytes;
    out->kv_pool_bytes_per_gpu = held * (int64_t)pages->block_bytes_per_gpu;
    out->kv_pool_blocks_low = out->kv_pool_blocks_high = blocks;
    kv_window_pool_set(inputs, out, blocks);
}

static void set_tokens_by_concurrency(const struct kv_waterfall_inputs *inputs,
                                      struct kv_waterfall *out)
{
    base_i128 length = inputs->max_model_len;
    out->kv_pool_tokens = (int64_t)(out->kv_pool_blocks * length / out->sequence_blocks);
    out->kv_usable_tokens = (int64_t)(out->kv_usable_blocks * length / out->sequence_blocks);
}

// Whole numbers that stop at the largest one.
static int64_t product_or_most(int64_t a, int64_t b)
{
    base_i128 product = (base_i128)a * b;
    return product < INT64_MAX ? (int64_t)product : INT64_MAX;
}

static int64_t lower_bound_or_most(const struct spec_kv_layout *layout, int64_t tokens)
{
    double most = (double)layout->sequence_bytes + (double)layout->slot_bytes * (double)tokens;
    return most <= SPEC_KV_BYTES_MAX ? (int64_t)spec_kv_lower_bound_bytes(layout, (uint64_t)tokens)
                                     : INT64_MAX;
}

static void set_demand(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    out->demand_lower_bound_bytes = (uint64_t)product_or_most(
        inputs->demand_sequences, lower_bound_or_most(&out->layout, inputs->demand_tokens));
    out->demand_blocks = product_or_most(
        inputs->demand_sequences, kv_pages_sequence_blocks(&out->pages, inputs->demand_tokens));
    out->fits_demand = out->demand_blocks <= out->kv_usable_blocks;
}

// Every sequence needs its state, whatever the blocks hold.
static void limit_by_states(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    if (!out->has_state_slots)
        return;
    if (out->state_sequences < out->concurrency_guaranteed)
        out->concurrency_guaranteed = out->state_sequences;
    out->fits_demand = out->fits_demand && inputs->demand_sequences <= out->state_sequences;
}

static void set_concurrency(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    int64_t blocks = kv_pages_sequence_blocks(&out->pages, inputs->max_model_len);
    if (out->cells.group_count != 0 && blocks > out->cells.slot_tokens)
        blocks = out->cells.slot_tokens; // one slot ends there
    out->sequence_blocks = blocks;
    if (blocks > 0) {
        out->max_concurrency = (double)out->kv_pool_blocks / (double)blocks;
        out->concurrency_guaranteed = out->kv_usable_blocks / blocks;
    }
    if (out->kv_window_tokens != 0) {
        int64_t windows = kv_window_pool_sequences(out, inputs->max_model_len);
        if (windows < out->concurrency_guaranteed)
            out->concurrency_guaranteed = windows;
    }
    if (inputs->sizing.concurrency_by_tokens)
        out->max_concurrency = (double)out->kv_pool_tokens / (double)inputs->max_model_len;
    if (inputs->sizing.tokens_by_concurrency && blocks > 0)
        set_tokens_by_concurrency(inputs, out);
    set_demand(inputs, out);
    limit_by_states(inputs, out);
}

// In bytes, blocks or tokens.
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
        blocks = blocks_of(inputs, pages, inputs->kv_cache_memory_bytes);
        rest_bytes = inputs->kv_cache_memory_bytes - blocks * (int64_t)pages->block_bytes_per_gpu;
        blocks -= inputs->sizing.has_spare_page && blocks > 0 ? 1 : 0;
    } else if (inputs->kv_cache_tokens != 0) {
        blocks = inputs->kv_cache_tokens / pages->block_tokens * pages->table_count;
    }
    out->pool_is_stated = true;
    set_pool(inputs, out, blocks);
    if (inputs->hardware != NULL && inputs->hardware->memory_bytes != 0)
        add_card_rows(inputs->hardware, out);
    if (rest_bytes != 0)
        add_row(out, KV_WF_REMAINDER, rest_bytes, SPEC_CALCULATED,
                rest_bytes < 0 ? "rounded up to a block" : "below one block");
    add_row(out, KV_WF_KV_POOL, out->kv_pool_bytes_per_gpu, SPEC_ASSUMED, "stated pool");
    out->kv_available_bytes_per_gpu = out->kv_pool_bytes_per_gpu + rest_bytes;
}

static void add_rows_beside_pool(const struct kv_waterfall_inputs *inputs,
                                 const struct kv_parts *parts, struct kv_waterfall *out)
{
    for (int part = 0; part < KV_PART_COUNT; part++) {
        const struct kv_waterfall_bytes *bytes = &parts->of[part];
        // The four usual parts always have a row, the others where they exist.
        if (part <= KV_PART_GRAPHS || bytes->is_set)
            add_part(out, part_lines[part], bytes);
    }
    int64_t remainder = out->kv_available_bytes_per_gpu - out->kv_pool_bytes_per_gpu;
    const char *below = inputs->sizing.rounds_blocks_up && out->kv_available_bytes_per_gpu > 0
                            ? "rounded up to a block"
                            : "more than there is";
    add_row(out, KV_WF_REMAINDER, remainder, SPEC_CALCULATED,
            remainder < 0 ? below : "below one block");
    add_row(out, KV_WF_KV_POOL, out->kv_pool_bytes_per_gpu, SPEC_CALCULATED, "whole blocks");
}

// What stands beside the budget has rows of its own, and the share outside shrinks by it.
static void add_part_rows(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                          struct kv_waterfall *out)
{
    int64_t outside_bytes = (int64_t)inputs->hardware->memory_bytes - out->budget_bytes_per_gpu -
                            kv_parts_placed_bytes(inputs, parts, KV_PLACE_BEFORE) -
                            kv_parts_placed_bytes(inputs, parts, KV_PLACE_BESIDE);
    add_row(out, KV_WF_OUTSIDE_UTILIZATION, outside_bytes, inputs->hardware->memory_claim,
            "1 - gpu_memory_utilization");
    add_rows_beside_pool(inputs, parts, out);
}

static int64_t available_bytes(const struct kv_waterfall_inputs *inputs,
                               const struct kv_parts *parts, uint64_t memory_bytes)
{
    return kv_parts_share_bytes(inputs, parts, memory_bytes) -
           kv_parts_placed_bytes(inputs, parts, KV_PLACE_AFTER);
}

static void make_sized_pool(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                            struct kv_waterfall *out)
{
    const struct spec_hardware *hardware = inputs->hardware;
    out->budget_bytes_per_gpu = kv_parts_share_bytes(inputs, parts, hardware->memory_bytes);
    out->kv_available_bytes_per_gpu = available_bytes(inputs, parts, hardware->memory_bytes);
    set_pool(inputs, out, blocks_of(inputs, &out->pages, out->kv_available_bytes_per_gpu));
    out->memory_is_derived = hardware->memory_is_derived;
    if (hardware->memory_is_derived) {
        int64_t low = available_bytes(inputs, parts, hardware->memory_low_bytes);
        int64_t high = available_bytes(inputs, parts, hardware->memory_high_bytes);
        out->kv_pool_blocks_low =
            kv_window_pool_split(inputs, out, blocks_of(inputs, &out->pages, low));
        out->kv_pool_blocks_high =
            kv_window_pool_split(inputs, out, blocks_of(inputs, &out->pages, high));
    }
    out->weights_bytes = parts->of[KV_PART_WEIGHTS].bytes * (int64_t)out->layout.gpu_count;
    add_card_rows(hardware, out);
    add_part_rows(inputs, parts, out);
}

// A cell is one token of every kind of layer; windowed kinds have fewer cells than the pool's bytes would suggest.
static void set_cells_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    struct kv_cells_options options = inputs->sizing.cells;
    if (options.ctx_tokens == 0)
        options.ctx_tokens = inputs->max_model_len * (options.unified ? 1 : options.parallel);
    kv_cells_make(&out->layout, &options, &out->cells);
    const struct kv_cells *cells = &out->cells;
    out->kv_pool_blocks = out->kv_usable_blocks = cells->stream_cells * cells->streams;
    out->kv_pool_tokens = out->kv_usable_tokens = out->kv_pool_blocks;
    out->kv_pool_blocks_low = out->kv_pool_blocks_high = out->kv_pool_blocks;
    out->kv_pool_bytes = cells->bytes;
    out->kv_pool_bytes_per_gpu =
        (cells->bytes + out->layout.gpu_count - 1) / (int64_t)out->layout.gpu_count;
}

static void make_cells_pool(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                            struct kv_waterfall *out)
{
    const struct spec_hardware *hardware = inputs->hardware;
    set_cells_pool(inputs, out);
    out->budget_bytes_per_gpu = (int64_t)hardware->memory_bytes;
    out->kv_available_bytes_per_gpu = out->budget_bytes_per_gpu -
                                      kv_parts_placed_bytes(inputs, parts, KV_PLACE_BEFORE) -
                                      kv_parts_placed_bytes(inputs, parts, KV_PLACE_AFTER) -
                                      kv_parts_placed_bytes(inputs, parts, KV_PLACE_BESIDE);
    out->memory_is_derived = hardware->memory_is_derived;
    out->weights_bytes = parts->of[KV_PART_WEIGHTS].bytes * (int64_t)out->layout.gpu_count;
    add_card_rows(hardware, out);
    add_rows_beside_pool(inputs, parts, out);
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
static bool rest_fits(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                      const struct kv_waterfall *out, int64_t *room_bytes)
{
    *room_bytes = (int64_t)inputs->hardware->memory_bytes - out->budget_bytes_per_gpu -
                  kv_parts_placed_bytes(inputs, parts, KV_PLACE_BEFORE) -
                  inputs->in_use_before.bytes;
    if (kv_parts_place(inputs, KV_PART_ACTIVATION) == KV_PLACE_AFTER)
        *room_bytes += parts->of[KV_PART_ACTIVATION].bytes;
    return kv_parts_placed_bytes(inputs, parts, KV_PLACE_BESIDE) <= *room_bytes;
}

// The weights' limit is the memory that the rule gives them: the budget, or all that is free where they come first.
static int64_t weights_limit(const struct kv_waterfall_inputs *inputs,
                             const struct kv_waterfall *out)
{
    if (kv_parts_place(inputs, KV_PART_WEIGHTS) == KV_PLACE_AFTER)
        return out->budget_bytes_per_gpu;
    return (int64_t)inputs->hardware->memory_bytes - inputs->in_use_before.bytes;
}

// The cache is allocated as it was asked for, or the start fails.
static void check_cells(struct kv_waterfall *out)
{
    if (out->kv_pool_bytes_per_gpu > out->kv_available_bytes_per_gpu)
        refuse(out, KV_STAGE_KV_CACHE, "gpu_memory", out->kv_pool_bytes_per_gpu,
               out->kv_available_bytes_per_gpu);
}

static void check_card(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                       struct kv_waterfall *out)
{
    int64_t free_bytes = (int64_t)inputs->hardware->memory_bytes - inputs->in_use_before.bytes;
    int64_t budget = out->budget_bytes_per_gpu, room_bytes;
    int64_t weights = parts->of[KV_PART_WEIGHTS].bytes, limit = weights_limit(inputs, out);
    if (free_bytes < budget)
        refuse(out, KV_STAGE_FREE_MEMORY, "gpu_memory", budget, free_bytes);
    else if (weights > limit)
        refuse(out, KV_STAGE_WEIGHTS, "gpu_memory_utilization", weights, limit);
    else if (inputs->sizing.pool == KV_POOL_CELLS)
        check_cells(out);
    else if (out->kv_available_bytes_per_gpu <= 0)
        refuse(out, KV_STAGE_PROFILE, "gpu_memory_utilization",
               kv_parts_placed_bytes(inputs, parts, KV_PLACE_BEFORE) +
                   kv_parts_placed_bytes(inputs, parts, KV_PLACE_AFTER),
               limit);
    else if (!rest_fits(inputs, parts, out, &room_bytes))
        refuse(out, KV_STAGE_GRAPHS, "gpu_memory",
               kv_parts_placed_bytes(inputs, parts, KV_PLACE_BESIDE), room_bytes);
}

// One longest sequence must fit the blocks that can be used.
static void check_pool(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    bool clamped = inputs->sizing.clamps_length && out->kv_usable_blocks > 0;
    if (!out->starts || clamped || out->kv_usable_blocks >= out->sequence_blocks)
        return;
    int64_t block_bytes = (int64_t)out->pages.block_bytes_per_gpu;
    refuse(out, KV_STAGE_KV_CACHE, "kv_pool", out->sequence_blocks * block_bytes,
           out->kv_usable_blocks * block_bytes);
    if (!inputs->startup_check && out->kv_usable_blocks > 0) {
        out->starts = true;
        out->startup_check_skipped = true;
    }
}

// `state_bytes`: of one state on one GPU of the stage that the slots are of.
static void check_states(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out,
                         uint64_t state_bytes)
{
    if (out->starts && out->has_state_slots && out->state_sequences == 0)
        refuse(out, KV_STAGE_KV_CACHE, "state_pool",
               kv_parts_slots_per_sequence(inputs) * (int64_t)state_bytes, out->state_share_bytes);
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
    struct kv_pages_options pages = inputs->pages;
    pages.longest_tokens = inputs->max_model_len;
    enum kvsim_status status = spec_kv_layout_make(inputs->model, &inputs->kv, &out->layout, err);
    if (status == KVSIM_OK)
        status = kv_pages_make(&out->layout, &pages, &out->pages, err);
    if (status == KVSIM_OK && out->pages.block_bytes_per_gpu == 0)
        status = fail_key(err, "model", "no-kv", "the model keeps no KV per token");
    return status;
}

static enum kvsim_status compute_stage(const struct kv_waterfall_inputs *inputs,
                                       struct kv_waterfall *out, struct kvsim_error *err)
{
    *out = (struct kv_waterfall){.starts = true, .log = inputs->sizing.log};
    struct kv_parts parts = {0};
    bool stated = pool_is_stated(inputs);
    enum kvsim_status status = check_inputs(inputs, err);
    if (status == KVSIM_OK)
        status = make_layout(inputs, out, err);
    if (status == KVSIM_OK)
        status = kv_countable_check_inputs(inputs, out, err);
    if (status == KVSIM_OK && !stated)
        status = kv_parts_find(inputs, &out->pages, &parts, err);
    if (status == KVSIM_OK && !stated)
        status = kv_countable_check_parts(&parts, out, err);
    if (status == KVSIM_OK && !stated)
        kv_parts_share_with_states(inputs, &parts, out);
    if (status != KVSIM_OK)
        return status;

    out->runtime = parts.runtime;
    if (stated)
        make_stated_pool(inputs, out);
    else if (inputs->sizing.pool == KV_POOL_CELLS)
        make_cells_pool(inputs, &parts, out);
    else
        make_sized_pool(inputs, &parts, out);
    if (out->pages.block_bytes_per_gpu != 0)
        out->swap_blocks = inputs->swap_bytes_per_gpu / (int64_t)out->pages.block_bytes_per_gpu;
    out->kv_available_bytes = out->kv_available_bytes_per_gpu * (int64_t)out->layout.gpu_count;
    set_concurrency(inputs, out);
    if (!stated)
        check_card(inputs, &parts, out);
    check_pool(inputs, out);
    check_states(inputs, out, out->pages.state_bytes_per_gpu);
    return KVSIM_OK;
}

// Pipeline stages have states of their own: a sequence runs when all have room for its part.
static void limit_by_stage(const struct kv_waterfall_inputs *inputs, const struct kv_waterfall *at,
                           struct kv_waterfall *out)
{
    out->has_state_slots = true;
    out->state_slots = at->state_slots;
    out->state_sequences = at->state_sequences;
    out->state_share_bytes = at->state_share_bytes;
    limit_by_states(inputs, out);
    check_states(inputs, out, at->pages.state_bytes_per_gpu);
}

// Every stage sizes its own pool, and the least number of blocks counts for all; so does that of states.
static enum kvsim_status compute_stages(const struct kv_waterfall_inputs *inputs,
                                        struct kv_waterfall *out, struct kvsim_error *err)
{
    struct kv_waterfall_inputs of_stage = *inputs;
    struct kv_waterfall fewest_states = {0};
    int64_t available_bytes_all = 0, weights_bytes = 0, ranks = inputs->kv.tensor_parallel;
    for (uint32_t stage = 1; stage <= inputs->kv.pipeline_parallel; stage++) {
        struct kv_waterfall at;
        of_stage.kv.stage = stage;
        enum kvsim_status status = compute_stage(&of_stage, &at, err);
        if (status != KVSIM_OK)
            return status;
        available_bytes_all += at.kv_available_bytes_per_gpu * ranks;
        weights_bytes += at.weights_bytes / (int64_t)at.layout.gpu_count * ranks;
        bool tighter = at.kv_pool_blocks < out->kv_pool_blocks ||
                       (at.kv_pool_blocks == out->kv_pool_blocks &&
                        at.kv_available_bytes_per_gpu < out->kv_available_bytes_per_gpu);
        if (at.has_state_slots &&
            (!fewest_states.has_state_slots || at.state_slots < fewest_states.state_slots))
            fewest_states = at;
        if (stage == 1 || tighter)
            *out = at;
    }
    if (fewest_states.has_state_slots)
        limit_by_stage(inputs, &fewest_states, out);
    out->kv_available_bytes = available_bytes_all;
    out->weights_bytes = weights_bytes;
    out->stage_remainder_bytes = available_bytes_all - out->kv_pool_bytes;
    return KVSIM_OK;
}

enum kvsim_status kv_waterfall_compute(const struct kv_waterfall_inputs *inputs,
                                       struct kv_waterfall *out, struct kvsim_error *err)
{
    if (inputs->kv.pipeline_parallel <= 1 || pool_is_stated(inputs) ||
        inputs->sizing.pool == KV_POOL_CELLS)
        return compute_stage(inputs, out, err);
    *out = (struct kv_waterfall){.starts = true};
    return compute_stages(inputs, out, err);
}

enum kvsim_status kv_waterfall_make(const struct kv_waterfall_inputs *inputs,
                                    struct kv_waterfall *out, struct kvsim_error *err)
{
    enum kvsim_status status = kv_waterfall_compute(inputs, out, err);
    if (status == KVSIM_OK && out->refusal.stage != KV_STAGE_NONE) {
        bool has_states =
            !out->has_state_slots || out->state_sequences > 0; // no length does without
        int64_t blocks = has_states ? out->kv_usable_blocks : 0;
        out->refusal.estimated_max_model_len =
            kv_pages_longest_sequence(&out->pages, blocks, inputs->max_model_len);
        kv_waterfall_find_changes(inputs, out);
    }
    return status;
}
