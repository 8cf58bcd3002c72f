#include "spec/kv.h"

#include "support/check_main.h"
#include "support/models.h"

#include <string.h>

static struct spec_kv_options options(uint32_t ranks, uint32_t block_tokens, const char *dtype)
{
    return (struct spec_kv_options){.tensor_parallel = ranks,
                                    .pipeline_parallel = 1,
                                    .block_tokens = block_tokens,
                                    .k_dtype = dtype,
                                    .v_dtype = dtype};
}

static struct spec_kv_layout layout_of(const struct spec_model *model,
                                       const struct spec_kv_options *opts)
{
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, opts, &layout, &err) == KVSIM_OK, "%s", err.message);
    for (size_t i = 0; i < layout.group_count; i++) {
        const struct spec_kv_slot *slot = &layout.groups[i];
        ck_assert_uint_eq(slot->slot_bytes, slot->lower_bound_bytes + slot->replicated_bytes +
                                                slot->scale_bytes + slot->padded_bytes);
    }
    return layout;
}

static struct spec_kv_layout layout_with(const struct spec_model *model, uint32_t ranks,
                                         uint32_t block_tokens, const char *dtype)
{
    struct spec_kv_options opts = options(ranks, block_tokens, dtype);
    return layout_of(model, &opts);
}

// One layer with one head of 128 elements: what conformance vector D is about.
static uint64_t head_bytes(const char *dtype)
{
    static const struct spec_model one = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 1, .kv_head_count = 1, .k_dim = 128, .v_dim = 128}},
    };
    return layout_with(&one, 1, 16, dtype).slot_bytes;
}

START_TEST(bytes_per_token_of_well_known_models)
{
    ck_assert_uint_eq(layout_with(&model_llama_8b, 1, 16, "bf16").slot_bytes, 131072);
    ck_assert_uint_eq(layout_with(&model_llama_70b, 1, 16, "bf16").slot_bytes, 327680);
    ck_assert_uint_eq(layout_with(&model_opt_13b, 1, 16, "fp16").slot_bytes, 819200);
    struct spec_kv_layout v3 = layout_with(&model_deepseek_v3, 1, 64, "bf16");
    ck_assert_uint_eq(v3.slot_bytes, 70272);
    ck_assert_uint_eq(v3.lower_bound_bytes_per_token, 70272);
}
END_TEST

START_TEST(formats_of_one_head_have_vector_ds_bytes)
{
    ck_assert_uint_eq(head_bytes("bf16"), 512);
    ck_assert_uint_eq(head_bytes("fp32"), 1024);
    ck_assert_uint_eq(head_bytes("fp8"), 256);
    ck_assert_uint_eq(head_bytes("int8"), 256);
    ck_assert_uint_eq(head_bytes("int8_per_token_head"), 264);
    ck_assert_uint_eq(head_bytes("fp8_per_token_head"), 264);
    ck_assert_uint_eq(head_bytes("int4"), 136);
    ck_assert_uint_eq(head_bytes("nvfp4"), 144);
    ck_assert_uint_eq(head_bytes("q8_0"), 272);
    ck_assert_uint_eq(head_bytes("q5_1"), 192);
    ck_assert_uint_eq(head_bytes("q4_0"), 144);
}
END_TEST

START_TEST(latent_blocks_have_vector_ds_bytes)
{
    ck_assert_uint_eq(layout_with(&model_deepseek_v3, 1, 64, "bf16").block_bytes, 4497408);
    struct spec_kv_layout packed = layout_with(&model_deepseek_v3, 1, 64, "fp8_ds_mla");
    ck_assert_uint_eq(packed.block_bytes, 2561024);
    ck_assert_uint_eq(packed.groups[0].scale_bytes, 61 * 16);
    ck_assert_uint_eq(packed.lower_bound_bytes_per_token, 61 * 640);
}
END_TEST

START_TEST(scales_stand_apart_from_the_lower_bound)
{
    struct spec_kv_layout layout = layout_with(&model_llama_8b, 1, 16, "fp8_per_token_head");
    ck_assert_uint_eq(layout.lower_bound_bytes_per_token, 65536);
    ck_assert_uint_eq(layout.groups[0].scale_bytes, 32 * 8 * 8);
    ck_assert_uint_eq(layout.slot_bytes, 65536 + 2048);
}
END_TEST

START_TEST(keys_and_values_may_differ)
{
    struct spec_kv_options opts = options(1, 16, "bf16");
    opts.v_dtype = "fp8";
    ck_assert_uint_eq(layout_of(&model_llama_8b, &opts).slot_bytes, 65536 + 32768);
}
END_TEST

START_TEST(heads_are_cut_over_ranks_and_then_repeated)
{
    struct spec_kv_layout eight = layout_with(&model_llama_8b, 8, 16, "bf16");
    ck_assert_uint_eq(eight.slot_bytes, 131072);
    ck_assert_uint_eq(eight.kv_replication, 1);
    ck_assert_uint_eq(eight.block_bytes_per_gpu, 131072 / 8 * 16);

    struct spec_kv_layout sixteen = layout_with(&model_llama_8b, 16, 16, "bf16");
    ck_assert_uint_eq(sixteen.lower_bound_bytes_per_token, 131072);
    ck_assert_uint_eq(sixteen.groups[0].replicated_bytes, 131072);
    ck_assert_uint_eq(sixteen.slot_bytes, 262144);
    ck_assert_uint_eq(sixteen.kv_replication, 2);
    ck_assert_uint_eq(sixteen.block_bytes_per_gpu, eight.block_bytes_per_gpu);
}
END_TEST

START_TEST(a_latent_is_whole_on_every_rank)
{
    struct spec_kv_layout layout = layout_with(&model_deepseek_v3, 8, 64, "bf16");
    ck_assert_uint_eq(layout.lower_bound_bytes_per_token, 70272);
    ck_assert_uint_eq(layout.groups[0].replicated_bytes, 7 * 70272);
    ck_assert_uint_eq(layout.kv_replication, 8);
    ck_assert_uint_eq(layout.block_bytes_per_gpu, 4497408);
    ck_assert_uint_eq(layout.block_bytes, 8 * 4497408);
}
END_TEST

START_TEST(a_latent_may_be_padded)
{
    // vLLM V0 on eight H200: 78,080 B per token instead of 70,272.
    struct spec_kv_options opts = options(1, 16, "bf16");
    opts.latent_align_bytes = 256;
    struct spec_kv_layout layout = layout_of(&model_deepseek_v3, &opts);
    ck_assert_uint_eq(layout.slot_bytes, 78080);
    ck_assert_uint_eq(layout.groups[0].padded_bytes, 78080 - 70272);
}
END_TEST

START_TEST(stages_share_the_layers)
{
    struct spec_kv_options opts = options(2, 16, "bf16");
    opts.pipeline_parallel = 3;
    struct spec_kv_layout layout = layout_of(&model_llama_8b, &opts);
    ck_assert_uint_eq(layout.gpu_count, 6);
    ck_assert_uint_eq(layout.slot_bytes, 131072);
    // 32 layers over three stages: the fullest has 11; four of eight heads on each rank.
    ck_assert_uint_eq(layout.block_bytes_per_gpu, 11 * 4 * 2 * 128 * 2 * 16);
}
END_TEST

START_TEST(what_cannot_be_cut_is_refused)
{
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    struct spec_kv_options opts = options(3, 16, "bf16");
    ck_assert_int_eq(spec_kv_layout_make(&model_llama_8b, &opts, &layout, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "tensor-parallel-heads");

    // phi-4: 40 query heads divide by 4, 10 KV heads do not.
    struct spec_model phi = model_llama_8b;
    phi.q_head_count = 40;
    phi.groups[0].kv_head_count = 10;
    opts = options(4, 16, "bf16");
    err = (struct kvsim_error){0};
    ck_assert_int_eq(spec_kv_layout_make(&phi, &opts, &layout, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "10 KV heads"));

    opts = options(1, 16, "bf16");
    opts.pipeline_parallel = 33;
    ck_assert_int_eq(spec_kv_layout_make(&model_llama_8b, &opts, &layout, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "pipeline-stages");
}
END_TEST

START_TEST(formats_that_do_not_exist_or_fit_are_refused)
{
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    struct spec_kv_options opts = options(1, 16, "fp7");
    ck_assert_int_eq(spec_kv_layout_make(&model_llama_8b, &opts, &layout, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "kv-dtype");
    opts = options(1, 16, "fp8_ds_mla");
    ck_assert_int_eq(spec_kv_layout_make(&model_llama_8b, &opts, &layout, &err),
                     KVSIM_ERR_SCENARIO);
}
END_TEST

START_TEST(lower_bound_of_mission_row_12)
{
    struct spec_kv_layout layout = layout_with(&model_llama_70b, 1, 16, "fp16");
    ck_assert_uint_eq(32 * spec_kv_lower_bound_bytes(&layout, 8192), UINT64_C(85899345920));
    // Linear in T.
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 16384),
                      2 * spec_kv_lower_bound_bytes(&layout, 8192));
}
END_TEST

START_TEST(windows_bound_what_is_needed)
{
    struct spec_kv_layout layout = layout_with(&model_gemma3_27b, 1, 16, "bf16");
    ck_assert_uint_eq(layout.lower_bound_bytes_per_token, 81920);
    ck_assert_uint_eq(layout.slot_bytes, 507904);
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 0), 0);
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 1024), UINT64_C(1024) * 507904);
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 100000),
                      UINT64_C(100000) * 81920 + 436207616);
}
END_TEST

START_TEST(chunks_begin_anew)
{
    struct spec_model model = model_gemma3_27b;
    model.groups[1].kind = SPEC_KV_CHUNKED;
    struct spec_kv_layout layout = layout_with(&model, 1, 16, "bf16");
    uint64_t chunked = layout.groups[1].lower_bound_bytes;
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 1024), 1024 * (81920 + chunked));
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 1025), 1025 * 81920 + chunked);
}
END_TEST

START_TEST(states_are_per_sequence)
{
    struct spec_kv_options opts = options(1, 16, "bf16");
    struct spec_kv_layout layout = layout_of(&model_qwen35_27b, &opts);
    ck_assert_uint_eq(layout.slot_bytes, 65536);
    ck_assert_uint_eq(layout.sequence_bytes, 153944064);
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 1), 65536 + 153944064);
    ck_assert_uint_eq(spec_kv_lower_bound_bytes(&layout, 0), 0);
    opts.state_dtype = "bf16";
    ck_assert_uint_eq(layout_of(&model_qwen35_27b, &opts).sequence_bytes,
                      UINT64_C(48) * 2 * (30720 + 786432));
    opts.state_dtype = "fp8";
    struct kvsim_error err = {0};
    ck_assert_int_eq(spec_kv_layout_make(&model_qwen35_27b, &opts, &layout, &err),
                     KVSIM_ERR_SCENARIO);
}
END_TEST

START_TEST(index_keys_keep_their_own_format)
{
    // DeepSeek-V3.2: 656 B of latent and 132 B of index key per layer.
    struct spec_model model = model_deepseek_v3;
    model.groups[model.group_count++] =
        (struct spec_kv_group){.kind = SPEC_KV_INDEX, .layer_count = 61, .k_dim = 128};
    ck_assert_uint_eq(layout_with(&model, 1, 64, "fp8_ds_mla").slot_bytes, 48068);
    ck_assert_uint_eq(layout_with(&model, 1, 64, "bf16").slot_bytes, 70272 + 8052);
}
END_TEST

START_TEST(stated_bytes_are_taken_as_they_are)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 1, .stated_bytes_per_token = 1}},
    };
    struct spec_kv_layout layout = layout_with(&model, 1, 4, "bf16");
    ck_assert_uint_eq(layout.slot_bytes, 1);
    ck_assert_uint_eq(layout.block_bytes, 4);
    // Its own block size, and a part of a byte.
    model.groups[0].block_tokens = 64;
    ck_assert_uint_eq(layout_with(&model, 1, 4, "bf16").block_bytes, 64);
    model.groups[0].stated_bytes_per_token = 0.5;
    struct spec_kv_options opts = options(1, 4, "bf16");
    struct kvsim_error err = {0};
    ck_assert_int_eq(spec_kv_layout_make(&model, &opts, &layout, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "kv-bytes");
}
END_TEST

// Layers with a window in one byte, the others as they are: each kind by its own format.
START_TEST(kinds_may_be_stored_otherwise)
{
    struct spec_kv_options opts = options(1, 16, "bf16");
    struct spec_kv_layout same = layout_of(&model_gemma3_27b, &opts);
    opts.kind_k_dtype[SPEC_KV_SLIDING] = opts.kind_v_dtype[SPEC_KV_SLIDING] = "fp8";
    struct spec_kv_layout mixed = layout_of(&model_gemma3_27b, &opts);
    for (size_t i = 0; i < same.group_count; i++) {
        uint64_t share = same.groups[i].kind == SPEC_KV_SLIDING ? 2 : 1;
        ck_assert_uint_eq(mixed.groups[i].slot_bytes * share, same.groups[i].slot_bytes);
    }
    struct spec_kv_layout refused;
    struct kvsim_error err = {0};
    opts.kind_k_dtype[SPEC_KV_SLIDING] = opts.kind_v_dtype[SPEC_KV_SLIDING] = "fp9";
    ck_assert_int_eq(spec_kv_layout_make(&model_gemma3_27b, &opts, &refused, &err),
                     KVSIM_ERR_SCENARIO);
}
END_TEST

CHECK_MAIN("spec.kv", kinds_may_be_stored_otherwise, bytes_per_token_of_well_known_models,
           formats_of_one_head_have_vector_ds_bytes, latent_blocks_have_vector_ds_bytes,
           scales_stand_apart_from_the_lower_bound, keys_and_values_may_differ,
           heads_are_cut_over_ranks_and_then_repeated, a_latent_is_whole_on_every_rank,
           a_latent_may_be_padded, stages_share_the_layers, what_cannot_be_cut_is_refused,
           formats_that_do_not_exist_or_fit_are_refused, lower_bound_of_mission_row_12,
           windows_bound_what_is_needed, chunks_begin_anew, states_are_per_sequence,
           index_keys_keep_their_own_format, stated_bytes_are_taken_as_they_are)
