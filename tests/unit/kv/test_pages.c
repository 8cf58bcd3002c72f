#include "kv/pages.h"

#include "spec/kv.h"

#include "support/check_main.h"
#include "support/models.h"

static struct spec_kv_layout layout_of(const struct spec_model *model, uint32_t ranks,
                                       const char *dtype)
{
    struct spec_kv_options opts = {.tensor_parallel = ranks,
                                   .pipeline_parallel = 1,
                                   .block_tokens = 16,
                                   .k_dtype = dtype,
                                   .v_dtype = dtype};
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, &opts, &layout, &err) == KVSIM_OK, "%s", err.message);
    return layout;
}

static struct kv_pages pages_of(const struct spec_kv_layout *layout, struct kv_pages_options opts)
{
    struct kv_pages pages;
    struct kvsim_error err = {0};
    ck_assert_msg(kv_pages_make(layout, &opts, &pages, &err) == KVSIM_OK, "%s", err.message);
    return pages;
}

START_TEST(one_kind_of_layer_needs_one_table)
{
    struct spec_kv_layout layout = layout_of(&model_llama_8b, 2, "bf16");
    struct kv_pages pages = pages_of(&layout, (struct kv_pages_options){.hybrid = true});
    ck_assert_uint_eq(pages.table_count, 1);
    ck_assert_uint_eq(pages.block_bytes, layout.block_bytes);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 131072 / 2 * 16);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 0), 0);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 1), 1);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 16), 1);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 17), 2);
}
END_TEST

START_TEST(windows_have_tables_of_their_own)
{
    // gemma-3-27b, logged: 7 tables of 10 layers, 1,310,720 B a block, 256 + 6 * 257 blocks for 4,096 tokens.
    struct spec_kv_layout layout = layout_of(&model_gemma3_27b, 1, "bf16");
    struct kv_pages pages =
        pages_of(&layout, (struct kv_pages_options){.hybrid = true, .window_extra_tokens = 8192});
    ck_assert(pages.is_hybrid);
    ck_assert_uint_eq(pages.page_layer_count, 10);
    ck_assert_uint_eq(pages.table_count, 7);
    ck_assert_uint_eq(pages.padded_layer_count, 8);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 1310720);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 4096), 256 + 6 * 257);
    // A window never takes more than itself and one step.
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 131072),
                     8192 + 6 * ((1023 + 8192 + 15) / 16 + 1));
}
END_TEST

START_TEST(without_hybrid_tables_windows_keep_everything)
{
    struct spec_kv_layout layout = layout_of(&model_gemma3_27b, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, (struct kv_pages_options){.hybrid = false});
    ck_assert(!pages.is_hybrid);
    ck_assert_uint_eq(pages.table_count, 1);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 507904 * 16);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 131072), 8192);
}
END_TEST

START_TEST(nearly_equal_kinds_share_the_larger_page)
{
    // 12 and 16 layers: 16 is below 1.5 x 12, so two tables of 16.
    struct spec_model model = model_gemma3_27b;
    model.groups[0].layer_count = 12;
    model.groups[1].layer_count = 16;
    struct spec_kv_layout layout = layout_of(&model, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, (struct kv_pages_options){.hybrid = true});
    ck_assert_uint_eq(pages.page_layer_count, 16);
    ck_assert_uint_eq(pages.table_count, 2);
    ck_assert_uint_eq(pages.padded_layer_count, 4);
    // 12 and 18 are not: pages of 12, the 18 in two tables.
    model.groups[1].layer_count = 18;
    layout = layout_of(&model, 1, "bf16");
    pages = pages_of(&layout, (struct kv_pages_options){.hybrid = true});
    ck_assert_uint_eq(pages.page_layer_count, 12);
    ck_assert_uint_eq(pages.table_count, 3);
    ck_assert_uint_eq(pages.padded_layer_count, 6);
}
END_TEST

START_TEST(attention_pages_grow_to_hold_a_state)
{
    // Qwen3.8-27B in fp8 over two GPUs, logged: 1,568 tokens and 25,690,112 B a block, 84 + 3 * 2 blocks.
    struct spec_kv_layout layout = layout_of(&model_qwen35_27b, 2, "fp8");
    struct kv_pages pages = pages_of(
        &layout, (struct kv_pages_options){.hybrid = true, .state_blocks_per_sequence = 2});
    ck_assert_uint_eq(pages.block_tokens, 1568);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 25690112);
    ck_assert_uint_eq(pages.table_count, 4);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 131072), 84 + 3 * 2);
}
END_TEST

START_TEST(without_hybrid_tables_states_lie_beside_the_pool)
{
    struct spec_kv_layout layout = layout_of(&model_qwen35_27b, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, (struct kv_pages_options){0});
    ck_assert_uint_eq(pages.state_bytes_per_gpu, 153944064);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 65536 * 16);
}
END_TEST

START_TEST(pages_of_unequal_layers_are_refused)
{
    struct spec_model model = model_gemma3_27b;
    model.groups[1].kv_head_count = 4;
    struct spec_kv_layout layout = layout_of(&model, 1, "bf16");
    struct kv_pages pages;
    struct kvsim_error err = {0};
    struct kv_pages_options opts = {.hybrid = true};
    ck_assert_int_eq(kv_pages_make(&layout, &opts, &pages, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "unequal-pages");
}
END_TEST

// Windows in one byte beside full layers in two: blocks of twice the tokens, and equal bytes.
START_TEST(layers_with_fewer_bytes_get_longer_blocks)
{
    struct spec_kv_options opts = {.tensor_parallel = 1,
                                   .pipeline_parallel = 1,
                                   .block_tokens = 16,
                                   .k_dtype = "bf16",
                                   .v_dtype = "bf16"};
    opts.kind_k_dtype[SPEC_KV_SLIDING] = opts.kind_v_dtype[SPEC_KV_SLIDING] = "fp8";
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert(spec_kv_layout_make(&model_gemma3_27b, &opts, &layout, &err) == KVSIM_OK);
    struct kv_pages_options cut = {
        .hybrid = true, .window_extra_tokens = 2048, .unequal = KV_UNEQUAL_LONGER};
    struct kv_pages pages = pages_of(&layout, cut);
    ck_assert_uint_eq(pages.block_tokens, 16);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 1310720);
    for (size_t i = 0; i < pages.kind_count; i++)
        ck_assert_uint_eq(pages.kinds[i].block_tokens,
                          pages.kinds[i].kind == SPEC_KV_SLIDING ? 32 : 16);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 131072),
                     8192 + 6 * ((1023 + 2048 + 31) / 32 + 1));
    // 264 bytes do not divide 512: padded, or refused.
    opts.kind_k_dtype[SPEC_KV_SLIDING] = opts.kind_v_dtype[SPEC_KV_SLIDING] = "fp8_per_token_head";
    ck_assert(spec_kv_layout_make(&model_gemma3_27b, &opts, &layout, &err) == KVSIM_OK);
    ck_assert_int_eq(kv_pages_make(&layout, &cut, &pages, &err), KVSIM_ERR_SCENARIO);
    cut.unequal = KV_UNEQUAL_PADDED;
    pages = pages_of(&layout, cut);
    ck_assert_uint_eq(pages.block_bytes_per_gpu, 1310720);
    ck_assert_uint_eq(pages.kinds[0].block_tokens, 16);
    ck_assert_uint_eq(pages.kinds[1].block_tokens, 16);
}
END_TEST

static void check_block_tokens_refused(const struct spec_model *model)
{
    struct spec_kv_layout layout = layout_of(model, 1, "bf16");
    struct kv_pages pages;
    struct kvsim_error err = {0};
    struct kv_pages_options cut = {.hybrid = true, .unequal = KV_UNEQUAL_LONGER};
    ck_assert_int_eq(kv_pages_make(&layout, &cut, &pages, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "block-tokens");
}

// 16 tokens of 2^28 + 1 bytes are 2^32 + 16 of one byte: 16 when cut off at 32 bits, and 0 with 2^32 bytes.
START_TEST(blocks_have_a_longest_length)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 2,
        .groups = {{.layer_count = 1, .stated_bytes_per_token = 1 << 20},
                   {.kind = SPEC_KV_SLIDING,
                    .window_tokens = 1024,
                    .layer_count = 1,
                    .stated_bytes_per_token = 1}},
    };
    struct spec_kv_layout layout = layout_of(&model, 1, "bf16");
    struct kv_pages pages =
        pages_of(&layout, (struct kv_pages_options){.hybrid = true, .unequal = KV_UNEQUAL_LONGER});
    ck_assert_uint_eq(pages.kinds[1].block_tokens, 1 << 24);
    const double wide[] = {(1 << 20) + 1, 268435457, 4294967296.0};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        model.groups[0].stated_bytes_per_token = wide[i];
        check_block_tokens_refused(&model);
    }
    // A state of 2^32 bytes beside one byte a token: as many tokens.
    model.groups[0].stated_bytes_per_token = 1;
    model.groups[1] = (struct spec_kv_group){
        .kind = SPEC_KV_STATE, .layer_count = 1, .stated_bytes_per_sequence = UINT64_C(1) << 32};
    check_block_tokens_refused(&model);
}
END_TEST

// gpt-oss-20b with a head of one layer: 12 and 13 layers, so two tables of 13 (vllm/v1/core/kv_cache_utils.py names the case).
START_TEST(a_drafter_joins_the_layers_that_are_like_its_own)
{
    struct spec_model model = model_gemma3_27b;
    model.groups[0].layer_count = model.groups[1].layer_count = 12;
    size_t full = model.groups[0].kind == SPEC_KV_FULL ? 0 : 1;
    model.groups[2] = model.groups[full];
    model.groups[2].layer_count = 1;
    model.groups[2].is_draft = true;
    model.group_count = 3;
    struct spec_kv_layout layout = layout_of(&model, 1, "bf16");
    struct kv_pages_options cut = {
        .hybrid = true, .window_extra_tokens = 2048, .lookahead_tokens = 3, .longest_tokens = 4096};
    struct kv_pages pages = pages_of(&layout, cut);
    ck_assert_uint_eq(pages.kind_count, 2);
    ck_assert_uint_eq(pages.table_count, 2);
    ck_assert_uint_eq(pages.page_layer_count, 13);
    ck_assert_uint_eq(pages.padded_layer_count, 1);
    // Slots for three more tokens, but none beyond the longest sequence.
    ck_assert_int_eq(kv_pages_lookahead(&pages, 16), 3);
    ck_assert_int_eq(kv_pages_lookahead(&pages, 4094), 2);
    ck_assert_int_eq(kv_pages_lookahead(&pages, 5000), 0);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 16), 2 + 3);
    ck_assert_int_eq(kv_pages_sequence_blocks(&pages, 4096), 256 + (1023 + 2048 + 15) / 16 + 1);
}
END_TEST

START_TEST(the_longest_sequence_is_the_last_that_fits)
{
    struct spec_kv_layout layout = layout_of(&model_gemma3_27b, 1, "bf16");
    struct kv_pages pages =
        pages_of(&layout, (struct kv_pages_options){.hybrid = true, .window_extra_tokens = 2048});
    for (int64_t blocks = 0; blocks < 3000; blocks += 7) {
        int64_t longest = kv_pages_longest_sequence(&pages, blocks, 100000);
        ck_assert_int_le(kv_pages_sequence_blocks(&pages, longest), blocks);
        if (longest < 100000)
            ck_assert_int_gt(kv_pages_sequence_blocks(&pages, longest + 1), blocks);
    }
    ck_assert_int_eq(kv_pages_longest_sequence(&pages, INT64_C(1) << 40, 100000), 100000);
}
END_TEST

START_TEST(tables_keep_a_place_for_blocks_that_windows_gave_back)
{
    struct spec_kv_layout plain = layout_of(&model_llama_8b, 1, "bf16"),
                          windows = layout_of(&model_gemma3_27b, 1, "bf16"),
                          states = layout_of(&model_qwen35_27b, 1, "bf16");
    struct kv_pages_options opts = {.hybrid = true, .window_extra_tokens = 2048};
    struct kv_pages one = pages_of(&plain, opts), seven = pages_of(&windows, opts),
                    hybrid = pages_of(&states, opts);
    ck_assert_int_eq(kv_pages_table_entries(&one, 131072), 8192);
    ck_assert_int_eq(kv_pages_table_entries(&one, 131073), 8193);
    ck_assert_int_eq(kv_pages_table_entries(&seven, 131072), 7 * 8192);
    // One growing table of 16 layers, three of states with a block each.
    int64_t growing = (131072 + hybrid.block_tokens - 1) / hybrid.block_tokens;
    ck_assert_int_eq(kv_pages_table_entries(&hybrid, 131072), growing + 3);
}
END_TEST

CHECK_MAIN("kv.pages", blocks_have_a_longest_length, one_kind_of_layer_needs_one_table,
           windows_have_tables_of_their_own, without_hybrid_tables_windows_keep_everything,
           nearly_equal_kinds_share_the_larger_page, attention_pages_grow_to_hold_a_state,
           without_hybrid_tables_states_lie_beside_the_pool,
           tables_keep_a_place_for_blocks_that_windows_gave_back,
           pages_of_unequal_layers_are_refused, layers_with_fewer_bytes_get_longer_blocks,
           a_drafter_joins_the_layers_that_are_like_its_own,
           the_longest_sequence_is_the_last_that_fits)
