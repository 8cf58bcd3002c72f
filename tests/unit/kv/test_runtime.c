#include "kv/runtime.h"

#include "support/check_main.h"
#include "support/models.h"

#include <math.h>

#define MIB (INT64_C(1) << 20)

static const struct kv_runtime_rule rule = {.logit_bytes = 40,
                                            .hidden_copies = 3,
                                            .moe_chunk_tokens = 32768,
                                            .context_bytes = 256 * MIB,
                                            .collective_bytes = 512 * MIB,
                                            .graph_bytes = MIB / 4,
                                            .graph_max_batch = 512,
                                            .graph_charged_share = 0.5};

static struct kv_runtime predict(const struct spec_model *model, struct kv_runtime_shape shape)
{
    struct kv_runtime out;
    shape.pipeline_parallel = 1;
    kv_runtime_predict(&rule, model, &shape, &out);
    return out;
}

START_TEST(takes_the_larger_of_layer_and_sampler)
{
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = 8192, .max_num_seqs = 256, .tensor_parallel = 1};
    struct kv_runtime few = predict(&model_llama_8b, shape);
    ck_assert_int_eq(few.layer_bytes, INT64_C(8192) * 2 * (3 * 14336 + 3 * 4096));
    ck_assert_int_eq(few.sampler_bytes, INT64_C(256) * 128256 * 40);
    ck_assert_int_eq(few.activation_bytes, few.sampler_bytes);
    shape.max_num_seqs = 8;
    ck_assert_int_eq(predict(&model_llama_8b, shape).activation_bytes, few.layer_bytes);
    // No more rows are sampled than tokens are computed.
    shape.max_num_seqs = 100000;
    ck_assert_int_eq(predict(&model_llama_8b, shape).sampler_bytes, INT64_C(8192) * 128256 * 40);
}
END_TEST

START_TEST(cuts_layers_over_ranks_but_no_logits)
{
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = 8192, .max_num_seqs = 256, .tensor_parallel = 2};
    struct kv_runtime out = predict(&model_llama_8b, shape);
    ck_assert_int_eq(out.layer_bytes, INT64_C(8192) * 2 * (3 * 14336 / 2 + 3 * 4096));
    ck_assert_int_eq(out.sampler_bytes, INT64_C(256) * 128256 * 40);
    ck_assert_int_eq(out.non_torch_bytes, 768 * MIB);
    shape.tensor_parallel = 1;
    ck_assert_int_eq(predict(&model_llama_8b, shape).non_torch_bytes, 256 * MIB);
}
END_TEST

// Experts chunk their tokens: beyond the chunk only the hidden states grow.
START_TEST(chunks_the_tokens_of_experts)
{
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = 65536, .max_num_seqs = 1, .tensor_parallel = 8};
    struct kv_runtime one = predict(&model_deepseek_v3, shape);
    shape.max_num_batched_tokens *= 2;
    struct kv_runtime two = predict(&model_deepseek_v3, shape);
    int64_t hidden = INT64_C(65536) * 3 * 7168 * 2;
    ck_assert_int_ge(two.layer_bytes - one.layer_bytes, hidden);
    ck_assert_int_lt(two.layer_bytes, 2 * one.layer_bytes);
}
END_TEST

START_TEST(counts_capture_sizes)
{
    ck_assert_int_eq(kv_runtime_capture_sizes(1), 1);
    ck_assert_int_eq(kv_runtime_capture_sizes(3), 2);
    ck_assert_int_eq(kv_runtime_capture_sizes(4), 3);
    ck_assert_int_eq(kv_runtime_capture_sizes(8), 4);
    ck_assert_int_eq(kv_runtime_capture_sizes(256), 35);
    ck_assert_int_eq(kv_runtime_capture_sizes(512), 51);
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = 8192, .max_num_seqs = 256, .tensor_parallel = 1};
    ck_assert_int_eq(predict(&model_llama_8b, shape).graphs_bytes, 32 * 35 * MIB / 4);
    shape.graphs_are_charged = true;
    ck_assert_int_eq(predict(&model_llama_8b, shape).graphs_bytes, 32 * 35 * MIB / 8);
    shape.enforce_eager = true;
    ck_assert_int_eq(predict(&model_llama_8b, shape).graphs_bytes, 0);
}
END_TEST

CHECK_MAIN("kv.runtime", takes_the_larger_of_layer_and_sampler,
           cuts_layers_over_ranks_but_no_logits, chunks_the_tokens_of_experts, counts_capture_sizes)
