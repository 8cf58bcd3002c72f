/*
 * Windows in block tables: which blocks pass, what is visible, and the tables that pages give to a model.
 */
#include "kv/tables.h"

#include "support/check_main.h"
#include "support/models.h"

static struct kv_tables tables_of(const struct spec_model *model, bool hybrid)
{
    struct spec_kv_options options = {.tensor_parallel = 1,
                                      .pipeline_parallel = 1,
                                      .block_tokens = 16,
                                      .k_dtype = "bf16",
                                      .v_dtype = "bf16"};
    struct kv_pages_options cut = {.hybrid = hybrid, .window_extra_tokens = 512};
    struct spec_kv_layout layout;
    struct kv_pages pages;
    struct kv_tables tables;
    struct kvsim_error err = {0};
    ck_assert(spec_kv_layout_make(model, &options, &layout, &err) == KVSIM_OK);
    ck_assert(kv_pages_make(&layout, &cut, &pages, &err) == KVSIM_OK);
    ck_assert(kv_tables_make(&layout, &pages, &tables, &err) == KVSIM_OK);
    return tables;
}

START_TEST(a_sliding_window_passes_whole_blocks)
{
    struct kv_window window = {
        .kind = SPEC_KV_SLIDING, .tokens = 10, .table_count = 1, .block_tokens = 4};
    // The query at position p sees p - 9 ... p, so block 0 of four tokens passes with p = 13.
    ck_assert_int_eq(kv_window_passed_blocks(&window, 12), 0);
    ck_assert_int_eq(kv_window_passed_blocks(&window, 13), 1);
    ck_assert_int_eq(kv_window_passed_blocks(&window, 16), 1);
    ck_assert_int_eq(kv_window_passed_blocks(&window, 17), 2);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 7, 1), 7);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 30, 1), 10);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 30, 2), 11);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 30, 0), 9);
    ck_assert_int_eq(kv_window_admission_cap(&window, 8, 1000), 6); // ceil(17 / 4) + 1
    ck_assert_int_eq(kv_window_admission_cap(&window, 8, 12), 4);
    ck_assert_int_eq(kv_window_admission_cap(&window, INT64_MAX - 1, 12), 4); // no budget
}
END_TEST

START_TEST(a_chunk_passes_at_its_end)
{
    struct kv_window window = {
        .kind = SPEC_KV_CHUNKED, .tokens = 10, .table_count = 1, .block_tokens = 4};
    ck_assert_int_eq(kv_window_passed_blocks(&window, 9), 0);
    ck_assert_int_eq(kv_window_passed_blocks(&window, 10),
                     2); // tokens 8 and 9 share a block with the next chunk
    ck_assert_int_eq(kv_window_passed_blocks(&window, 20), 5);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 10, 1), 10);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 11, 1), 1);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 11, 2), 11);
    ck_assert_int_eq(kv_window_visible_tokens(&window, 13, 2), 3);
    ck_assert_int_eq(kv_window_admission_cap(&window, 8, 1000), 5);
}
END_TEST

START_TEST(windows_have_tables_in_hybrid_pages_only)
{
    struct kv_tables hybrid = tables_of(&model_gemma3_27b, true);
    ck_assert_uint_eq(hybrid.window_count, 1);
    ck_assert_int_eq(hybrid.full_tables, 1);
    ck_assert_int_eq(hybrid.windows[0].table_count, 6); // 52 layers in tables of ten
    ck_assert_int_eq(hybrid.growing_tables, 7);
    struct kv_tables plain = tables_of(&model_gemma3_27b, false);
    ck_assert_uint_eq(plain.window_count, 1);
    ck_assert_int_eq(plain.windows[0].table_count, 0);
    ck_assert_int_eq(plain.growing_tables, 1);
}
END_TEST

START_TEST(states_take_blocks_in_hybrid_pages_only)
{
    struct kv_tables hybrid = tables_of(&model_qwen35_27b, true);
    ck_assert(hybrid.holds_states);
    ck_assert_int_gt(hybrid.state_blocks, 0);
    struct kv_tables cached = hybrid;
    struct kvsim_error err = {.status = KVSIM_OK};
    ck_assert(kv_tables_cache_states(&cached, &err) == KVSIM_OK);
    ck_assert_int_eq(cached.state_blocks, 0);
    ck_assert_int_eq(kv_tables_cached_states(&cached), hybrid.state_blocks);
    ck_assert_int_eq(cached.growing_tables, hybrid.growing_tables + hybrid.state_blocks);
    const struct kv_window *states = &cached.windows[cached.window_count - 1];
    ck_assert_int_eq(kv_window_passed_blocks(states, 0), 0);
    int64_t block = states->block_tokens;
    ck_assert_int_eq(kv_window_passed_blocks(states, block), 0); // the state behind the first block
    ck_assert_int_eq(kv_window_passed_blocks(states, block + 1), 1);
    ck_assert_int_gt(hybrid.block_tokens, 16);
    struct kv_tables plain = tables_of(&model_qwen35_27b, false);
    ck_assert(!plain.holds_states);
    ck_assert_int_eq(plain.state_blocks, 0);
}
END_TEST

CHECK_MAIN("kv.tables", a_sliding_window_passes_whole_blocks, a_chunk_passes_at_its_end,
           windows_have_tables_in_hybrid_pages_only, states_take_blocks_in_hybrid_pages_only)
