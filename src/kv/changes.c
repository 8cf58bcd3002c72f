/*
 * changes.c - the smallest single changes with which a refused configuration starts.
 *
 * Every candidate is computed as a waterfall of its own and kept only when that one starts; nothing is inferred from
 * the bytes that were missing, since one knob moves several lines (tensor parallelism the weights, the KV heads and the
 * activation, for one).
 */
#include "kv/waterfall_int.h"

#include "base/field.h"

#include <stdio.h>
#include <string.h>

static bool starts(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *result)
{
    struct kvsim_error ignored;
    return kv_waterfall_compute(inputs, result, &ignored) == KVSIM_OK && result->starts &&
           !result->startup_check_skipped;
}

static void keep(struct kv_waterfall_refusal *refusal, const char *key, const char *value,
                 const struct kv_waterfall *result)
{
    base_require(refusal->change_count < KV_WF_CHANGES_MAX);
    struct kv_waterfall_change *change = &refusal->changes[refusal->change_count++];
    change->key = key;
    snprintf(change->value, sizeof change->value, "%s", value);
    change->kv_usable_tokens = result->kv_usable_tokens;
    change->max_concurrency = result->max_concurrency;
    change->fits_demand = result->fits_demand;
}

// The next hundredth that starts, up to 0.99.
static void try_utilization(const struct kv_waterfall_inputs *inputs,
                            struct kv_waterfall_refusal *refusal)
{
    enum { HUNDREDTHS_MAX = 99 };
    const struct base_rational *now = &inputs->gpu_memory_utilization;
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    for (int64_t hundredths = 1; hundredths <= HUNDREDTHS_MAX; hundredths++) {
        changed.gpu_memory_utilization = (struct base_rational){hundredths, 100};
        // Above what is set now; a search downwards is for graphs and for memory that others use.
        bool up = (double)hundredths * (double)now->den > 100.0 * (double)now->num;
        if (up && starts(&changed, &result)) {
            char value[16];
            snprintf(value, sizeof value, "0.%02d", (int)hundredths);
            keep(refusal, "gpu_memory_utilization", value, &result);
            return;
        }
    }
}

// The largest hundredth below today's, for what does not fit beside the budget.
static void try_less_utilization(const struct kv_waterfall_inputs *inputs,
                                 struct kv_waterfall_refusal *refusal)
{
    const struct base_rational *now = &inputs->gpu_memory_utilization;
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    for (int64_t hundredths = (100 * now->num - 1) / now->den; hundredths > 0; hundredths--) {
        changed.gpu_memory_utilization = (struct base_rational){hundredths, 100};
        if (starts(&changed, &result)) {
            char value[16];
            snprintf(value, sizeof value, "0.%02d", (int)hundredths);
            keep(refusal, "gpu_memory_utilization", value, &result);
            return;
        }
    }
}

static void try_max_model_len(const struct kv_waterfall_inputs *inputs, int64_t tokens,
                              struct kv_waterfall_refusal *refusal)
{
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    changed.max_model_len = tokens;
    if (tokens > 0 && tokens < inputs->max_model_len && starts(&changed, &result)) {
        char value[24];
        snprintf(value, sizeof value, "%lld", (long long)tokens);
        keep(refusal, "max_model_len", value, &result);
    }
}

// The fewest ranks that start and, where those hold less than what is asked for, the fewest that hold it.
static void try_tensor_parallel(const struct kv_waterfall_inputs *inputs,
                                struct kv_waterfall_refusal *refusal)
{
    enum { USUAL_RANKS_MAX = 8 };
    uint32_t most =
        inputs->max_tensor_parallel != 0 ? inputs->max_tensor_parallel : USUAL_RANKS_MAX;
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    // What was said of one GPU's weights holds for the number of ranks it was said of.
    if (inputs->weights_bytes.is_set)
        return;
    bool has_one = false;
    for (uint32_t ranks = inputs->kv.tensor_parallel + 1; ranks <= most; ranks++) {
        changed.kv.tensor_parallel = ranks;
        if (!starts(&changed, &result) || (has_one && !result.fits_demand))
            continue;
        char value[16];
        snprintf(value, sizeof value, "%u", ranks);
        keep(refusal, "tensor_parallel_size", value, &result);
        has_one = true;
        if (result.fits_demand)
            return;
    }
}

static void try_kv_dtype(const struct kv_waterfall_inputs *inputs,
                         const struct kv_waterfall *refused, struct kv_waterfall_refusal *refusal)
{
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    if (refused->layout.k_format.bits_per_element < 16 ||
        refused->layout.v_format.bits_per_element < 16)
        return;
    changed.kv.k_dtype = changed.kv.v_dtype = "fp8";
    if (starts(&changed, &result))
        keep(refusal, "kv_cache_dtype", "fp8", &result);
}

static bool device_computes(const struct spec_hardware *hardware, const char *quantization)
{
    struct spec_weight_format format;
    if (!spec_weight_format_find(quantization, &format))
        return false;
    return format.is_weight_only || hardware->flop_per_s[format.compute] > 0;
}

// The mildest quantization that fits and that the device can compute with.
static void try_quantization(const struct kv_waterfall_inputs *inputs,
                             struct kv_waterfall_refusal *refusal)
{
    static const char *const formats[] = {"fp8", "int8", "awq"};
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    struct spec_weight_format now;
    const char *name = inputs->weights.quantization;
    if (name == NULL || base_key_equal(name, "auto"))
        name = inputs->model->weight_dtype != NULL ? inputs->model->weight_dtype : "none";
    if (inputs->weights_bytes.is_set || spec_weight_format_find(name, &now))
        return;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        changed.weights.quantization = formats[i];
        if (device_computes(inputs->hardware, formats[i]) && starts(&changed, &result)) {
            keep(refusal, "quantization", formats[i], &result);
            return;
        }
    }
}

// A pool that was stated grows to what one longest sequence takes.
static void try_stated_pool(const struct kv_waterfall_inputs *inputs,
                            const struct kv_waterfall *refused,
                            struct kv_waterfall_refusal *refusal)
{
    struct kv_waterfall_inputs changed = *inputs;
    struct kv_waterfall result;
    int64_t blocks = refused->sequence_blocks + inputs->reserved_blocks;
    const struct kv_pages *pages = &refused->pages;
    const char *key = "num_gpu_blocks_override";
    int64_t amount = blocks;
    if (inputs->kv_cache_memory_bytes != 0) {
        key = "kv_cache_memory_bytes";
        amount = changed.kv_cache_memory_bytes = blocks * (int64_t)pages->block_bytes_per_gpu;
    } else if (inputs->kv_cache_tokens != 0) {
        int64_t rows = (blocks + pages->table_count - 1) / pages->table_count;
        key = "kv_cache_tokens";
        amount = changed.kv_cache_tokens = rows * pages->block_tokens;
    } else {
        changed.num_gpu_blocks_override = blocks;
    }
    if (starts(&changed, &result)) {
        char value[24];
        snprintf(value, sizeof value, "%lld", (long long)amount);
        keep(refusal, key, value, &result);
    }
}

void kv_waterfall_find_changes(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out)
{
    struct kv_waterfall_refusal *refusal = &out->refusal;
    if (out->pool_is_stated) {
        try_stated_pool(inputs, out, refusal);
        try_max_model_len(inputs, refusal->estimated_max_model_len, refusal);
        return;
    }
    bool beside_budget =
        refusal->stage == KV_STAGE_FREE_MEMORY || refusal->stage == KV_STAGE_GRAPHS;
    if (beside_budget)
        try_less_utilization(inputs, refusal);
    else
        try_utilization(inputs, refusal);
    try_max_model_len(inputs, refusal->estimated_max_model_len, refusal);
    if (refusal->stage == KV_STAGE_FREE_MEMORY)
        return;
    try_tensor_parallel(inputs, refusal);
    try_kv_dtype(inputs, out, refusal);
    try_quantization(inputs, refusal);
}
