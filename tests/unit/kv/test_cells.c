#include "kv/cells.h"

#include "kv/cells_ledger.h"

#include "support/check_main.h"
#include "support/models.h"

#define MIB 1048576.0

static struct spec_model two_kinds(uint32_t full, uint32_t windowed, uint32_t heads, uint32_t dim,
                                   uint32_t windowed_heads, uint32_t windowed_dim, uint32_t window)
{
    struct spec_model model = {.only_groups = true, .group_count = windowed != 0 ? 2 : 1};
    model.groups[0] = (struct spec_kv_group){.kind = SPEC_KV_FULL,
                                             .layer_count = full,
                                             .kv_head_count = heads,
                                             .k_dim = dim,
                                             .v_dim = dim};
    model.groups[1] = (struct spec_kv_group){.kind = SPEC_KV_SLIDING,
                                             .layer_count = windowed,
                                             .kv_head_count = windowed_heads,
                                             .k_dim = windowed_dim,
                                             .v_dim = windowed_dim,
                                             .window_tokens = window};
    return model;
}

static struct kv_cells cells_of(const struct spec_model *model, const char *dtype,
                                const struct kv_cells_options *options)
{
    struct spec_kv_options kv = {.tensor_parallel = 1,
                                 .pipeline_parallel = 1,
                                 .block_tokens = 1,
                                 .k_dtype = dtype,
                                 .v_dtype = dtype};
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, &kv, &layout, &err) == KVSIM_OK, "%s", err.message);
    struct kv_cells cells;
    kv_cells_make(&layout, options, &cells);
    return cells;
}

// gemma-4-31B, global layers: 96,856 tokens are padded to 97,024 cells of q8_0 (public log kv009).
START_TEST(pads_the_context)
{
    struct spec_model model = two_kinds(10, 0, 4, 512, 0, 0, 0);
    struct kv_cells cells =
        cells_of(&model, "q8_0", &(struct kv_cells_options){.ctx_tokens = 96856});
    ck_assert_int_eq(cells.stream_cells, 97024);
    ck_assert_double_eq_tol((double)cells.bytes / MIB, 4026.88, 0.00501);
}
END_TEST

// gpt-oss-120b, two streams: 18 full layers 9216 MiB, 18 windowed ones 90 MiB (public logs kv019, kv154).
START_TEST(keeps_streams_apart)
{
    struct spec_model model = two_kinds(18, 18, 8, 64, 8, 64, 128);
    struct kv_cells_options options = {.ctx_tokens = 262144, .parallel = 2, .ubatch_tokens = 1024};
    struct kv_cells cells = cells_of(&model, "f16", &options);
    ck_assert_int_eq(cells.groups[0].cells, 131072);
    ck_assert_double_eq((double)cells.groups[0].bytes / MIB, 9216);
    ck_assert_int_eq(cells.groups[1].cells, 1280);
    ck_assert_double_eq((double)cells.groups[1].bytes / MIB, 90);
    options.swa_full = true;
    cells = cells_of(&model, "f16", &options);
    ck_assert_int_eq(cells.groups[1].cells, 131072);
}
END_TEST

// gpt-oss-20b, four sequences in one stream: pad(4 * 128 + 512) cells (public log kv153).
START_TEST(shares_windows_when_unified)
{
    struct spec_model model = two_kinds(12, 12, 8, 64, 8, 64, 128);
    struct kv_cells_options options = {.ctx_tokens = 131072, .parallel = 4, .unified = true};
    struct kv_cells cells = cells_of(&model, "f16", &options);
    ck_assert_int_eq(cells.streams, 1);
    ck_assert_int_eq(cells.groups[1].cells, 1024);
    ck_assert_double_eq((double)cells.groups[1].bytes / MIB, 24);
    ck_assert_int_eq(cells.slot_tokens, 131072);
}
END_TEST

// Kimi-K2 before llama.cpp's MLA cache: K of 576 and V of 512 elements in q4_0, 4666.50 MiB (public log kv140).
START_TEST(stores_latents_twice_where_asked)
{
    struct spec_model model = {
        .group_count = 1, .kv_lora_rank = 512, .qk_rope_dim = 64, .layer_count = 61};
    model.groups[0] = (struct spec_kv_group){.kind = SPEC_KV_FULL,
                                             .layer_count = 61,
                                             .kv_head_count = 1,
                                             .k_dim = 576,
                                             .is_latent = true};
    struct spec_kv_options kv = {.tensor_parallel = 1,
                                 .pipeline_parallel = 1,
                                 .block_tokens = 1,
                                 .k_dtype = "q4_0",
                                 .v_dtype = "q4_0",
                                 .latent_with_value = true};
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(&model, &kv, &layout, &err) == KVSIM_OK, "%s", err.message);
    struct kv_cells cells;
    kv_cells_make(&layout, &(struct kv_cells_options){.ctx_tokens = 131072}, &cells);
    ck_assert_double_eq((double)cells.bytes / MIB, 4666.5);
    ck_assert_uint_eq(layout.lower_bound_bytes_per_token, 61 * 288);
}
END_TEST

// Two full layers of 8 B a token, three windowed ones of 6 B in rings; a sequence of 50 tokens and a slot that keeps 20.
static void ledger_of(bool swa_full, struct kv_cells *cells, long double *lines)
{
    struct spec_kv_layout layout = {.group_count = 2};
    layout.groups[0] = (struct spec_kv_slot){
        .kind = SPEC_KV_FULL, .lower_bound_bytes = 14, .scale_bytes = 2, .slot_bytes = 16};
    layout.groups[1] = (struct spec_kv_slot){
        .kind = SPEC_KV_SLIDING, .window_tokens = 10, .lower_bound_bytes = 18, .slot_bytes = 18};
    kv_cells_make(&layout,
                  &(struct kv_cells_options){.ctx_tokens = 200,
                                             .parallel = 2,
                                             .swa_full = swa_full,
                                             .ubatch_tokens = 6,
                                             .pad_tokens = 4},
                  cells);
    struct kv_cells_content content = {.live_tokens = 50,
                                       .sequences = 1,
                                       .kept_tokens = 20,
                                       .kept_sequences = 1,
                                       .seen_tokens = {50, 10},
                                       .kept_seen_tokens = {20, 10}};
    kv_cells_lines(cells, &layout, &content, lines);
}

START_TEST(every_cell_is_somebodys_or_reserved)
{
    struct kv_cells cells;
    long double lines[KV_LEDGER_LINE_COUNT];
    ledger_of(false, &cells, lines);
    ck_assert_int_eq(cells.groups[1].cells, 16);
    ck_assert_int_eq(cells.bytes, 2 * (100 * 16 + 16 * 18));
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_LOWER_BOUND], 50 * 14 + 10 * 18);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_SCALES], 50 * 2);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_OUT_OF_WINDOW], 0);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_CACHED], 20 * 16 + 10 * 18);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_RESERVED], 2 * 100 * 16 - 70 * 16 + (32 - 20) * 18);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_FREE], 0);
}
END_TEST

START_TEST(layers_with_all_cells_hold_what_is_not_seen)
{
    struct kv_cells cells;
    long double lines[KV_LEDGER_LINE_COUNT];
    ledger_of(true, &cells, lines);
    ck_assert_int_eq(cells.bytes, 2 * 100 * (16 + 18));
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_LOWER_BOUND], 50 * 14 + 10 * 18);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_OUT_OF_WINDOW], 40 * 18);
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_CACHED], 20 * (16 + 18));
    ck_assert_int_eq((int64_t)lines[KV_LEDGER_RESERVED], (200 - 70) * (16 + 18));
}
END_TEST

CHECK_MAIN("kv.cells", pads_the_context, keeps_streams_apart, shares_windows_when_unified,
           stores_latents_twice_where_asked, every_cell_is_somebodys_or_reserved,
           layers_with_all_cells_hold_what_is_not_seen)
