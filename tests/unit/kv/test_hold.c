#include "kv/hold.h"

#include "support/check_main.h"
#include "support/models.h"

static struct spec_kv_layout layout_of(const struct spec_model *model, uint32_t ranks,
                                       const char *dtype)
{
    struct spec_kv_options options = {.tensor_parallel = ranks,
                                      .pipeline_parallel = 1,
                                      .block_tokens = 16,
                                      .k_dtype = dtype,
                                      .v_dtype = dtype};
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, &options, &layout, &err) == KVSIM_OK, "%s",
                  err.message);
    return layout;
}

static struct kv_pages pages_of(const struct spec_kv_layout *layout, bool hybrid)
{
    struct kv_pages_options options = {.hybrid = hybrid, .window_extra_tokens = 2048};
    struct kv_pages pages;
    struct kvsim_error err = {0};
    ck_assert_msg(kv_pages_make(layout, &options, &pages, &err) == KVSIM_OK, "%s", err.message);
    return pages;
}

START_TEST(a_full_block_has_no_rounding)
{
    struct spec_kv_layout layout = layout_of(&model_llama_8b, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, true);
    struct kv_ledger ledger;
    kv_hold_ledger(&layout, &pages, 8192, 32, &ledger);
    ck_assert_int_eq(ledger.lower_bound_bytes, INT64_C(32) * 8192 * 131072);
    ck_assert_int_eq(kv_ledger_allocated_bytes(&ledger), ledger.lower_bound_bytes);
    kv_hold_ledger(&layout, &pages, 8193, 1, &ledger);
    ck_assert_int_eq(ledger.block_rounding_bytes, 15 * 131072);
    kv_hold_ledger(&layout, &pages, 0, 1, &ledger);
    ck_assert_int_eq(kv_ledger_allocated_bytes(&ledger), 0);
}
END_TEST

// What a window has moved past comes back in whole blocks; the rest of the block is out of the window.
START_TEST(windows_give_blocks_back)
{
    struct spec_kv_layout layout = layout_of(&model_gemma3_27b, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, true);
    struct kv_ledger ledger;
    kv_hold_ledger(&layout, &pages, 1024 + 24, 1, &ledger);
    // 24 tokens are passed: one block is back, eight tokens of the next one wait.
    int64_t windowed_bytes = (int64_t)layout.groups[1].slot_bytes;
    if (layout.groups[1].window_tokens == 0)
        windowed_bytes = (int64_t)layout.groups[0].slot_bytes;
    ck_assert_int_eq(ledger.out_of_window_bytes, 8 * windowed_bytes);
    ck_assert_int_gt(ledger.padded_bytes, 0); // 52 windowed layers in tables of ten
    ck_assert_int_eq(kv_ledger_allocated_bytes(&ledger),
                     kv_hold_blocks(&pages, 1048) * (int64_t)pages.block_bytes);
    ck_assert_int_le(kv_hold_blocks(&pages, 1048), kv_pages_sequence_blocks(&pages, 1048));
}
END_TEST

// An engine that ignores windows holds everything, and the ledger says what for.
START_TEST(ignored_windows_are_out_of_window)
{
    struct spec_kv_layout layout = layout_of(&model_gemma3_27b, 1, "bf16");
    struct kv_pages pages = pages_of(&layout, false);
    struct kv_ledger ledger;
    kv_hold_ledger(&layout, &pages, 4096, 1, &ledger);
    ck_assert_int_eq(ledger.padded_bytes, 0);
    ck_assert_int_eq(ledger.lower_bound_bytes, (int64_t)spec_kv_lower_bound_bytes(&layout, 4096));
    ck_assert_int_eq(ledger.lower_bound_bytes + ledger.out_of_window_bytes,
                     4096 * (int64_t)layout.slot_bytes);
}
END_TEST

START_TEST(latents_are_replicated_on_every_rank)
{
    struct spec_kv_layout layout = layout_of(&model_deepseek_v3, 8, "bf16");
    struct kv_pages pages = pages_of(&layout, true);
    struct kv_ledger ledger;
    kv_hold_ledger(&layout, &pages, 1600, 1, &ledger);
    ck_assert_int_eq(ledger.lower_bound_bytes, 1600 * 70272);
    ck_assert_int_eq(ledger.replicated_bytes, 7 * 1600 * 70272);
}
END_TEST

CHECK_MAIN("kv.hold", a_full_block_has_no_rounding, windows_give_blocks_back,
           ignored_windows_are_out_of_window, latents_are_replicated_on_every_rank)
