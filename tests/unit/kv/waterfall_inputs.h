/*
 * waterfall_inputs.h - a card and an engine for the tests of the waterfall.
 */
#ifndef KVSIM_TESTS_WATERFALL_INPUTS_H
#define KVSIM_TESTS_WATERFALL_INPUTS_H

#include "kv/waterfall.h"

#include "support/check_main.h"
#include "support/models.h"

#include <math.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

// An 80 GB card whose driver shows 79.18 GiB.
static const struct spec_hardware card_80gb = {
    .name = "h100-sxm5-80gb",
    .memory_bytes = UINT64_C(85018877952) - 5242, // 79.18 GiB, floor
    .memory_nominal_bytes = UINT64_C(80) << 30,
    .flop_per_s = {[SPEC_BF16] = 989e12, [SPEC_FP8] = 1979e12},
    .memory_claim = SPEC_MEASURED,
    .memory_source = "test",
};

static inline struct kv_waterfall_bytes assumed_bytes(int64_t bytes)
{
    return (struct kv_waterfall_bytes){true, bytes, SPEC_ASSUMED, "test"};
}

static inline struct kv_waterfall_inputs inputs_of(const struct spec_model *model)
{
    return (struct kv_waterfall_inputs){
        .model = model,
        .hardware = &card_80gb,
        .kv = {.tensor_parallel = 1,
               .pipeline_parallel = 1,
               .block_tokens = 16,
               .k_dtype = "bf16",
               .v_dtype = "bf16"},
        .weights = {.quantization = "none", .dtype = "bf16"},
        .gpu_memory_utilization = {9, 10},
        .max_model_len = 8192,
        .max_num_batched_tokens = 8192,
        .max_num_seqs = 256,
        .reserved_blocks = 1,
        .startup_check = true,
        .activation = {true, GIB, 1024, SPEC_ASSUMED, "test"},
        .non_torch = assumed_bytes(256 * MIB),
        .graphs = assumed_bytes(512 * MIB),
    };
}

static inline struct kv_waterfall waterfall_of(const struct kv_waterfall_inputs *inputs)
{
    struct kv_waterfall out;
    struct kvsim_error err = {0};
    ck_assert_msg(kv_waterfall_make(inputs, &out, &err) == KVSIM_OK, "%s", err.message);
    return out;
}

static inline int64_t row_bytes(const struct kv_waterfall *waterfall, enum kv_waterfall_line line)
{
    const struct kv_waterfall_row *row = kv_waterfall_find(waterfall, line);
    ck_assert_msg(row != NULL, "%s", kv_waterfall_line_name(line));
    return row->bytes_per_gpu;
}

// Every row below `driver` is a part of it.
static inline void check_sum(const struct kv_waterfall *waterfall)
{
    int64_t sum_bytes = 0;
    for (size_t i = 0; i < waterfall->row_count; i++) {
        if (waterfall->rows[i].line > KV_WF_DRIVER)
            sum_bytes += waterfall->rows[i].bytes_per_gpu;
    }
    ck_assert_int_eq(sum_bytes, row_bytes(waterfall, KV_WF_DRIVER));
}

#endif
