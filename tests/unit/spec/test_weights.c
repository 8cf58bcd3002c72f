#include "spec/kv.h"

#include "support/check_main.h"
#include "support/models.h"

#include <math.h>

static const double GIB = 1024.0 * 1024 * 1024;

static uint64_t weights(const struct spec_model *model, uint32_t ranks, uint32_t stages,
                        const char *quantization)
{
    struct spec_weights_options opts = {.tensor_parallel = ranks,
                                        .pipeline_parallel = stages,
                                        .quantization = quantization,
                                        .dtype = "bf16"};
    struct kvsim_error err = {0};
    uint64_t bytes;
    ck_assert_msg(spec_weights_bytes_per_gpu(model, &opts, &bytes, &err) == KVSIM_OK, "%s",
                  err.message);
    return bytes;
}

// Printed by engines after loading, to their last digit; public start-up logs.
START_TEST(weights_equal_what_engines_print)
{
    ck_assert_double_eq_tol((double)weights(&model_llama_8b, 1, 1, "none") / GIB, 14.9888, 0.0001);
    ck_assert_double_eq_tol((double)weights(&model_llama_70b, 1, 1, "int8") / GIB, 67.7229, 0.003);

    // The first public 405B checkpoint carried its KV heads twice.
    struct spec_model big = model_llama_70b;
    big.layer_count = big.attention_layer_count = 126;
    big.hidden = 16384;
    big.q_head_count = 128;
    big.kv_head_count = 16;
    big.intermediate = 53248;
    ck_assert_double_eq_tol((double)weights(&big, 8, 1, "none") / GIB, 95.5194, 0.003);
}
END_TEST

static uint64_t counted(const struct spec_model *model, uint32_t ranks,
                        enum spec_weights_count count, enum spec_latent_copies copies)
{
    struct spec_weights_options opts = {.tensor_parallel = ranks,
                                        .pipeline_parallel = 1,
                                        .quantization = "auto",
                                        .dtype = "bf16",
                                        .count = count,
                                        .latent_copies = copies};
    struct kvsim_error err = {0};
    uint64_t bytes;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(model, &opts, &bytes, &err), KVSIM_OK);
    return bytes;
}

// Printed for Qwen2.5-7B and Qwen3-4B: their matrices are no whole number of 2 MiB.
START_TEST(the_allocator_rounds_large_tensors)
{
    struct spec_model qwen = {.layer_count = 28,
                              .hidden = 3584,
                              .vocabulary = 152064,
                              .q_head_count = 28,
                              .head_dim = 128,
                              .kv_head_count = 4,
                              .max_position_tokens = 131072,
                              .intermediate = 18944,
                              .attention_layer_count = 28,
                              .rotary_dim = 128,
                              .weight_dtype = "bf16"};
    const double mib = 1 << 20;
    double exact = (double)counted(&qwen, 1, SPEC_WEIGHTS_BYTES, SPEC_LATENT_NONE);
    double blocks = (double)counted(&qwen, 1, SPEC_WEIGHTS_BLOCKS, SPEC_LATENT_NONE);
    double segments = (double)counted(&qwen, 1, SPEC_WEIGHTS_SEGMENTS, SPEC_LATENT_NONE);
    ck_assert_double_eq_tol(blocks / GIB, 14.2717, 0.0006);
    // Of 0.5 + 1.5 + 1 + 0.5 MiB a layer the output projection's 1.5 can be split off.
    ck_assert_double_eq_tol((blocks - exact) / mib, 28 * 2 + 2 * 0.5, 0.01);
    ck_assert_double_eq_tol((segments - exact) / mib, 28 * 3.5 + 2 * 0.5, 0.01);

    struct spec_model small = qwen;
    small.layer_count = small.attention_layer_count = 36;
    small.hidden = 2560;
    small.vocabulary = 151936;
    small.q_head_count = 32;
    small.kv_head_count = 8;
    small.intermediate = 9728;
    small.tied_embeddings = true;
    small.max_position_tokens = 40960;
    ck_assert_double_eq_tol((double)counted(&small, 1, SPEC_WEIGHTS_BLOCKS, SPEC_LATENT_NONE) / GIB,
                            7.5553, 0.0006);
}
END_TEST

// DeepSeek-R1 over eight ranks, with the absorbed matrices of vLLM 0.7: 83.88 GiB printed.
START_TEST(latent_copies_stand_beside_the_checkpoint)
{
    double none = (double)counted(&model_deepseek_v3, 8, SPEC_WEIGHTS_BLOCKS, SPEC_LATENT_NONE);
    double absorbed =
        (double)counted(&model_deepseek_v3, 8, SPEC_WEIGHTS_BLOCKS, SPEC_LATENT_ABSORBED);
    double plain =
        (double)counted(&model_deepseek_v3, 8, SPEC_WEIGHTS_BLOCKS, SPEC_LATENT_DEQUANTIZED);
    ck_assert_double_eq_tol(absorbed / GIB, 83.88, 0.05);
    ck_assert_double_eq_tol(plain - none, 61 * 2 * 16.0 * (128 + 128) * 512, 61 * 4096);
    // Nothing to dequantize, nothing to copy.
    struct spec_model unquantized = model_deepseek_v3;
    unquantized.weight_dtype = "bf16";
    ck_assert_uint_eq(counted(&unquantized, 8, SPEC_WEIGHTS_BYTES, SPEC_LATENT_DEQUANTIZED),
                      counted(&unquantized, 8, SPEC_WEIGHTS_BYTES, SPEC_LATENT_NONE));
}
END_TEST

// vLLM's table of M-RoPE reaches four times as far as the context.
START_TEST(positions_of_video_have_a_longer_table)
{
    struct spec_model model = model_qwen35_27b;
    struct spec_weights_options options = {.tensor_parallel = 2,
                                           .pipeline_parallel = 1,
                                           .stage = 1,
                                           .quantization = "fp8",
                                           .dtype = "bf16"};
    model.rotary_dim = 64;
    uint64_t once, text, video;
    struct kvsim_error err;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model, &options, &once, &err), KVSIM_OK);
    options.video_positions = 4;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model, &options, &text, &err), KVSIM_OK);
    ck_assert_uint_eq(text, once);
    model.has_video_positions = true;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model, &options, &video, &err), KVSIM_OK);
    ck_assert_uint_eq(video - once, UINT64_C(3) * 262144 * 64 * 2);
}
END_TEST

// Gemma 3: the full-attention layers' table is beside that of the windowed ones.
START_TEST(stretched_positions_have_a_table_of_their_own)
{
    struct spec_model model = model_llama_8b;
    model.rotary_dim = 128;
    uint64_t one = weights(&model, 1, 1, "none");
    model.rotary_stretch = 8;
    ck_assert_uint_eq(weights(&model, 1, 1, "none") - one,
                      UINT64_C(8) * model.max_position_tokens * 128 * 2);
}
END_TEST

START_TEST(towers_and_recurrent_layers_stay_in_the_dtype)
{
    struct spec_model seeing = model_qwen35_27b;
    seeing.vision.parameters = 0.46e9;
    uint64_t blind = weights(&model_qwen35_27b, 2, 1, "nvfp4");
    ck_assert_uint_eq(weights(&seeing, 2, 1, "nvfp4") - blind, 460000000);
    double recurrent = 48 * spec_model_linear_weights(&model_qwen35_27b);
    struct spec_model none = model_qwen35_27b;
    none.linear_layer_count = 0;
    ck_assert_double_eq_tol(
        (double)(weights(&model_qwen35_27b, 1, 1, "nvfp4") - weights(&none, 1, 1, "nvfp4")),
        2 * recurrent, 1e5);
}
END_TEST

START_TEST(a_checkpoint_brings_its_own_format)
{
    ck_assert_uint_eq(weights(&model_llama_8b, 1, 1, "auto"),
                      weights(&model_llama_8b, 1, 1, "none"));
    ck_assert_uint_eq(weights(&model_deepseek_v3, 8, 1, "auto"),
                      weights(&model_deepseek_v3, 8, 1, "fp8"));
    ck_assert_uint_lt(weights(&model_deepseek_v3, 8, 1, "fp8"),
                      weights(&model_deepseek_v3, 8, 1, "none"));
}
END_TEST

// Bytes of the layers' matrices alone: without embedding, head, norms and the rotary table.
static double matrix_bits(const char *quantization)
{
    const double outside = 2.0 * 128256 * 4096 + 65.0 * 4096 + 131072.0 * 128;
    const double elements = 32 * (41943040.0 + 176160768.0);
    double bytes = (double)weights(&model_llama_8b, 1, 1, quantization) - 2 * outside;
    return bytes * 8 / elements;
}

START_TEST(formats_have_their_bits_per_weight)
{
    ck_assert_double_eq_tol(matrix_bits("none"), 16, 1e-9);
    ck_assert_double_eq_tol(matrix_bits("nvfp4"), 4.5, 1e-6);
    ck_assert_double_eq_tol(matrix_bits("awq"), 4 + 20 / 128.0, 1e-6);
    ck_assert_double_eq_tol(matrix_bits("gptq_marlin"), 4 + 20 / 128.0, 1e-6);
    ck_assert_double_eq_tol(matrix_bits("bnb"), 4.5, 1e-6);
    // One fp32 scale per output channel: 51,200 channels... of 6.98e9 elements.
    double channels = 32 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096);
    ck_assert_double_eq_tol(matrix_bits("fp8"), 8 + channels * 32 / (32 * 218103808.0), 1e-6);
}
END_TEST

START_TEST(gguf_quantizes_the_embedding_too)
{
    uint64_t small = weights(&model_llama_8b, 1, 1, "gguf:q4_0");
    double left_alone = 2 * (65.0 * 4096 + 131072.0 * 128);
    double matrices = 32 * 218103808.0 + 2 * 128256 * 4096.0;
    ck_assert_double_eq_tol((double)small - left_alone, matrices * 4.5 / 8, 1);
}
END_TEST

START_TEST(mxfp4_quantizes_experts_only)
{
    struct spec_model oss = {
        .layer_count = 24,
        .hidden = 2880,
        .vocabulary = 201088,
        .q_head_count = 64,
        .head_dim = 64,
        .kv_head_count = 8,
        .expert_count = 32,
        .experts_per_token = 4,
        .expert_intermediate = 2880,
        .moe_layer_count = 24,
        .attention_layer_count = 24,
        .weight_dtype = "mxfp4",
    };
    double experts = 24 * spec_model_expert_weights(&oss) * 32;
    double difference = (double)weights(&oss, 1, 1, "none") - (double)weights(&oss, 1, 1, "mxfp4");
    ck_assert_double_eq_tol(difference, experts * (16 - 4.25) / 8, 16);

    // A kernel's tiles: 2,880 is 22.5 times 128 and 11.25 times 256. Others are as they were.
    struct spec_weights_options options = {.tensor_parallel = 1,
                                           .pipeline_parallel = 1,
                                           .quantization = "mxfp4",
                                           .dtype = "bf16",
                                           .mxfp4_width_multiple = 128,
                                           .mxfp4_hidden_multiple = 256};
    uint64_t padded, same;
    struct kvsim_error err;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&oss, &options, &padded, &err), KVSIM_OK);
    double grown = 24 * 32 * 3.0 * (2944.0 * 3072 - 2880.0 * 2880) * 4.25 / 8;
    ck_assert_double_eq_tol((double)padded - (double)weights(&oss, 1, 1, "mxfp4"), grown, 16);
    options.quantization = "none";
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&oss, &options, &same, &err), KVSIM_OK);
    ck_assert_uint_eq(same, weights(&oss, 1, 1, "none"));
}
END_TEST

// Meta's FP8: feed-forward layers but the first and the last. 57.7520 GiB on each of eight ranks of the first public 405B
// checkpoint, in a start-up log.
START_TEST(fbgemm_leaves_attention_and_outer_layers)
{
    struct spec_model big = model_llama_70b;
    big.layer_count = big.attention_layer_count = 126;
    big.hidden = 16384;
    big.q_head_count = 128;
    big.kv_head_count = 16;
    big.intermediate = 53248;
    ck_assert_double_eq_tol((double)weights(&big, 8, 1, "fbgemm_fp8") / GIB, 57.7520, 0.05);
    double mlp = 3.0 * 16384 * 53248;
    double saved = (double)weights(&big, 1, 1, "none") - (double)weights(&big, 1, 1, "fbgemm_fp8");
    double scales = 4.0 * (2 * 53248 + 16384);
    ck_assert_double_eq_tol(saved, 124 * (mlp - scales), 124 * 1e4);
    // A stage has one outer layer, or none.
    struct spec_weights_options middle = {.tensor_parallel = 1,
                                          .pipeline_parallel = 3,
                                          .stage = 2,
                                          .quantization = "fbgemm_fp8",
                                          .dtype = "bf16"};
    uint64_t fbgemm, none;
    struct kvsim_error err;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&big, &middle, &fbgemm, &err), KVSIM_OK);
    middle.quantization = "none";
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&big, &middle, &none, &err), KVSIM_OK);
    ck_assert_double_eq_tol((double)(none - fbgemm), 42 * (mlp - scales), 42 * 1e4);
    struct spec_weight_format format;
    ck_assert(spec_weight_format_find("fbgemm_fp8", &format));
    ck_assert(format.leaves_attention && !format.is_experts_only);
}
END_TEST

START_TEST(int4_experts_leave_the_rest)
{
    double experts = 58 * 256 * 3.0 * 7168 * 2048;
    double saved = (double)weights(&model_deepseek_v3, 1, 1, "none") -
                   (double)weights(&model_deepseek_v3, 1, 1, "int4_experts");
    ck_assert_double_eq_tol(saved / (experts * (16 - 4.5) / 8), 1, 1e-6);
    struct spec_weight_format format;
    ck_assert(spec_weight_format_find("int4_experts", &format) && format.is_experts_only);
}
END_TEST

START_TEST(ranks_share_all_but_what_each_holds_whole)
{
    double whole = (double)weights(&model_llama_8b, 1, 1, "none");
    double replicated = 2 * (65.0 * 4096 + 131072.0 * 128);
    double on_rank = (double)weights(&model_llama_8b, 8, 1, "none");
    ck_assert_double_eq_tol(on_rank, (whole - replicated) / 8 + replicated, 1);

    // Sixteen ranks hold eight KV heads twice.
    double kv_per_rank = 32 * 2.0 * 4096 * 128 * 2;
    double rest = whole - replicated - 8 * kv_per_rank;
    ck_assert_double_eq_tol((double)weights(&model_llama_8b, 16, 1, "none"),
                            rest / 16 + kv_per_rank + replicated, 1);
}
END_TEST

START_TEST(experts_cut_or_dealt_out_are_as_large)
{
    struct spec_weights_options opts = {
        .tensor_parallel = 8, .pipeline_parallel = 1, .quantization = "none", .dtype = "bf16"};
    struct kvsim_error err = {0};
    uint64_t cut, dealt;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_deepseek_v3, &opts, &cut, &err), KVSIM_OK);
    opts.expert_parallel = true;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_deepseek_v3, &opts, &dealt, &err), KVSIM_OK);
    ck_assert_uint_eq(cut, dealt);
}
END_TEST

// Over data-parallel ranks the experts are dealt out further, and nothing else is.
START_TEST(data_parallel_ranks_share_the_experts)
{
    struct spec_weights_options opts = {.tensor_parallel = 1,
                                        .pipeline_parallel = 1,
                                        .expert_parallel = true,
                                        .quantization = "none",
                                        .dtype = "bf16"};
    struct kvsim_error err = {0};
    const struct spec_model *model = &model_deepseek_v3;
    uint64_t alone, eight;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(model, &opts, &alone, &err), KVSIM_OK);
    opts.data_parallel = 8;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(model, &opts, &eight, &err), KVSIM_OK);
    double experts =
        2.0 * spec_model_expert_weights(model) * model->expert_count * model->moe_layer_count;
    ck_assert_double_eq_tol((double)(alone - eight), experts * 7 / 8, 1);
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_llama_8b, &opts, &eight, &err), KVSIM_OK);
    ck_assert_uint_eq(eight, weights(&model_llama_8b, 1, 1, "none"));
}
END_TEST

START_TEST(the_fullest_stage_counts)
{
    uint64_t whole = weights(&model_llama_8b, 1, 1, "none");
    uint64_t fullest = weights(&model_llama_8b, 1, 3, "none");
    ck_assert_uint_gt(fullest * 3, whole);
    // vLLM's rule gives the stages 11, 11 and 10 layers: the first holds 11 and the embedding.
    double layer = 2 * (218103808.0 + 2 * 4096);
    double first = 11 * layer + 2 * (128256.0 * 4096 + 131072.0 * 128);
    ck_assert_double_eq_tol((double)fullest, first, 1);
}
END_TEST

START_TEST(a_tied_head_is_held_once_unless_stages_part_it)
{
    struct spec_model tied = model_llama_8b;
    tied.tied_embeddings = true;
    uint64_t embedding = UINT64_C(128256) * 4096 * 2;
    ck_assert_uint_eq(weights(&model_llama_8b, 1, 1, "none") - weights(&tied, 1, 1, "none"),
                      embedding);
    ck_assert_uint_eq(weights(&model_llama_8b, 1, 2, "none"), weights(&tied, 1, 2, "none"));
}
END_TEST

START_TEST(stated_parameters_are_weighed_whole)
{
    struct spec_model model = model_llama_8b;
    model.parameters_are_stated = true;
    model.published_parameters = 5.4e9;
    ck_assert_double_eq_tol((double)weights(&model, 2, 1, "none"), 5.4e9, 1e5);
}
END_TEST

START_TEST(unknown_formats_and_bare_groups_are_refused)
{
    struct spec_weights_options opts = {
        .tensor_parallel = 1, .pipeline_parallel = 1, .quantization = "fp7", .dtype = "bf16"};
    struct kvsim_error err = {0};
    uint64_t bytes;
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_llama_8b, &opts, &bytes, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "quantization");
    opts.quantization = "none";
    opts.dtype = "fp8";
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_llama_8b, &opts, &bytes, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "dtype");
    struct spec_model bare = {.only_groups = true};
    opts.dtype = "bf16";
    ck_assert_int_eq(spec_weights_bytes_per_gpu(&bare, &opts, &bytes, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "no-weights");
}
END_TEST

START_TEST(other_rooms_see_formats_by_name)
{
    struct spec_weight_format format;
    ck_assert(spec_weight_format_find("w8a8", &format));
    ck_assert_str_eq(format.name, "int8");
    ck_assert_int_eq(format.compute, SPEC_INT8);
    ck_assert(!format.is_weight_only);
    ck_assert(spec_weight_format_find("nvfp4", &format));
    ck_assert_double_eq(format.bytes_per_element, 4.5 / 8);
    ck_assert(spec_weight_format_find("fp8_block", &format));
    ck_assert_double_eq(format.bytes_per_element, (8 + 32.0 / (128 * 128)) / 8);
    ck_assert(spec_weight_format_find("awq", &format));
    ck_assert(format.is_weight_only);
    ck_assert(!spec_weight_format_find("none", &format));
    ck_assert(!spec_weight_format_find("bf16", &format));
}
END_TEST

CHECK_MAIN("spec.weights", weights_equal_what_engines_print, the_allocator_rounds_large_tensors,
           positions_of_video_have_a_longer_table, latent_copies_stand_beside_the_checkpoint,
           towers_and_recurrent_layers_stay_in_the_dtype,
           stretched_positions_have_a_table_of_their_own, a_checkpoint_brings_its_own_format,
           formats_have_their_bits_per_weight, gguf_quantizes_the_embedding_too,
           mxfp4_quantizes_experts_only, ranks_share_all_but_what_each_holds_whole,
           experts_cut_or_dealt_out_are_as_large, data_parallel_ranks_share_the_experts,
           the_fullest_stage_counts, a_tied_head_is_held_once_unless_stages_part_it,
           stated_parameters_are_weighed_whole, unknown_formats_and_bare_groups_are_refused,
           other_rooms_see_formats_by_name, fbgemm_leaves_attention_and_outer_layers,
           int4_experts_leave_the_rest)
