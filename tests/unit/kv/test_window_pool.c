#include "unit/kv/waterfall_inputs.h"

static struct kv_waterfall sized(int64_t num, int64_t den, int64_t length)
{
    struct kv_waterfall_inputs inputs = inputs_of(&model_gemma3_27b);
    inputs.kv.block_tokens = 1;
    inputs.max_model_len = length;
    inputs.reserved_blocks = 0;
    inputs.sizing.has_spare_page = true;
    if (den != 0)
        inputs.sizing.window_share = (struct base_rational){num, den};
    return waterfall_of(&inputs);
}

// 10 full and 52 windowed layers of 8,192 bytes a token each.
START_TEST(memory_is_dealt_to_two_pools)
{
    const int64_t layer = 8192, full = 10 * layer, windowed = 52 * layer;
    struct kv_waterfall one = sized(0, 0, 2048), two = sized(4, 5, 2048);
    ck_assert_int_eq(one.kv_window_tokens, 0);
    ck_assert_int_eq(two.kv_pool_tokens, one.kv_pool_tokens * 62 * 5 / (10 * 5 + 52 * 4));
    ck_assert_int_eq(two.kv_window_tokens, two.kv_pool_tokens * 4 / 5);
    ck_assert_int_eq(two.kv_pool_bytes_per_gpu,
                     (two.kv_pool_tokens + 1) * full + (two.kv_window_tokens + 1) * windowed);
    // No more than all layers alike would have taken, and less than one token of all layers short of it.
    ck_assert_int_le(two.kv_pool_bytes_per_gpu, one.kv_pool_bytes_per_gpu);
    ck_assert_int_gt(two.kv_pool_bytes_per_gpu + 2 * (full + windowed), one.kv_pool_bytes_per_gpu);
    ck_assert_int_eq(sized(1, 1, 2048).kv_pool_tokens, one.kv_pool_tokens);
}
END_TEST

// Short sequences fill the windowed pool, long ones the other.
START_TEST(the_scarcer_pool_counts)
{
    struct kv_waterfall brief = sized(1, 2, 512), lengthy = sized(1, 2, 8192);
    ck_assert_int_eq(brief.concurrency_guaranteed, brief.kv_window_tokens / 512);
    ck_assert_int_lt(brief.concurrency_guaranteed, brief.kv_usable_blocks / 512);
    ck_assert_int_eq(lengthy.concurrency_guaranteed, lengthy.kv_usable_blocks / 8192);
}
END_TEST

START_TEST(models_of_one_kind_keep_one_pool)
{
    struct kv_waterfall_inputs inputs = inputs_of(&model_llama_8b);
    int64_t blocks = waterfall_of(&inputs).kv_pool_blocks;
    inputs.sizing.window_share = (struct base_rational){4, 5};
    struct kv_waterfall out = waterfall_of(&inputs);
    ck_assert_int_eq(out.kv_pool_blocks, blocks);
    ck_assert_int_eq(out.kv_window_tokens, 0);
}
END_TEST

CHECK_MAIN("kv.window_pool", memory_is_dealt_to_two_pools, the_scarcer_pool_counts,
           models_of_one_kind_keep_one_pool)
