#include "kv/runtime.h"

#include "support/check_main.h"
#include "support/models.h"

#include <math.h>

#define MIB (INT64_C(1) << 20)

static const struct kv_runtime_rule rule = {.logit_bytes = 40,
                                            .hidden_copies = 3,
                                            .moe_chunk_tokens = 32768,
                                            .context_bytes = 256 * MIB,
                                            .collective_bytes = {[KV_LINKS_DIRECT] = 512 * MIB},
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
    // The hidden states of all tokens are still there.
    int64_t hidden = INT64_C(8192) * 2 * 4096;
    ck_assert_int_eq(few.sampler_bytes, INT64_C(256) * 128256 * 40 + hidden);
    ck_assert_int_eq(few.activation_bytes, few.sampler_bytes);
    shape.max_num_seqs = 8;
    ck_assert_int_eq(predict(&model_llama_8b, shape).activation_bytes, few.layer_bytes);
    // No more rows are sampled than tokens are computed.
    shape.max_num_seqs = 100000;
    ck_assert_int_eq(predict(&model_llama_8b, shape).sampler_bytes,
                     INT64_C(8192) * 128256 * 40 + hidden);
}
END_TEST

// A warm-up that asks for the log-probability of every prompt token (TGI).
START_TEST(may_take_logits_of_all_tokens)
{
    struct kv_runtime_rule of_tokens = rule;
    of_tokens.logit_rows = KV_LOGITS_OF_TOKENS;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 4145,
                                     .max_num_seqs = 128,
                                     .tensor_parallel = 1,
                                     .pipeline_parallel = 1};
    struct kv_runtime out;
    kv_runtime_predict(&of_tokens, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.sampler_bytes, INT64_C(4145) * (128256 * 40 + 2 * 4096));
}
END_TEST

START_TEST(cuts_layers_over_ranks_but_no_logits)
{
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = 8192, .max_num_seqs = 256, .tensor_parallel = 2};
    struct kv_runtime out = predict(&model_llama_8b, shape);
    ck_assert_int_eq(out.layer_bytes, INT64_C(8192) * 2 * (3 * 14336 / 2 + 3 * 4096));
    ck_assert_int_eq(out.sampler_bytes, INT64_C(256) * 128256 * 40 + INT64_C(8192) * 2 * 4096);
    ck_assert_int_eq(out.non_torch_bytes, 768 * MIB);
    shape.tensor_parallel = 8;
    ck_assert_int_eq(predict(&model_llama_8b, shape).non_torch_bytes, (256 + 7 * 512) * MIB);
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

START_TEST(capture_sizes_may_reach_beyond_the_seats)
{
    struct kv_runtime_rule twice = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 8192,
                                     .max_num_seqs = 128,
                                     .tensor_parallel = 1,
                                     .pipeline_parallel = 1};
    struct kv_runtime out;
    twice.graph_seats = 2;
    kv_runtime_predict(&twice, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.graphs_bytes, 32 * 35 * MIB / 4);
}
END_TEST

// vLLM V0: 110,592 B a token for Llama 3.1 8B where gate and up are free before the down projection, 118,784 where not.
START_TEST(an_eager_mlp_keeps_further_hidden_states)
{
    struct kv_runtime_rule eager = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 20000,
                                     .max_num_seqs = 1,
                                     .tensor_parallel = 1,
                                     .pipeline_parallel = 1};
    struct kv_runtime out;
    eager.hidden_copies = 2;
    eager.mlp_copies = 1;
    kv_runtime_predict(&eager, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.layer_bytes, INT64_C(20000) * 110592);
    eager.mlp_copies = 2;
    kv_runtime_predict(&eager, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.layer_bytes, INT64_C(20000) * 118784);
    // Ranks share the widths of the MLP, each holds hidden states whole.
    shape.tensor_parallel = 2;
    kv_runtime_predict(&eager, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.layer_bytes, INT64_C(20000) * 2 * (3 * 14336 / 2 + 4 * 4096));
}
END_TEST

static int64_t non_torch_on_nodes(enum kv_links links, uint32_t ranks, uint32_t linked)
{
    struct kv_runtime_rule ruled = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 8192,
                                     .max_num_seqs = 1,
                                     .tensor_parallel = ranks,
                                     .pipeline_parallel = 1,
                                     .links = links,
                                     .linked_ranks = linked};
    struct kv_runtime out;
    ruled.collective_bytes[KV_LINKS_PCIE] = 64 * MIB;
    ruled.collective_bytes[KV_LINKS_MULTICAST] = 128 * MIB;
    ruled.once_bytes[KV_LINKS_SWITCH] = 2048 * MIB;
    ruled.once_bytes[KV_LINKS_MULTICAST] = 1024 * MIB;
    ruled.multicast_more_bytes = 100 * MIB;
    ruled.multicast_rank_bytes = 576 * MIB;
    kv_runtime_predict(&ruled, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.non_torch_bytes, out.context_bytes + out.once_bytes +
                                              out.further_ranks * out.collective_bytes +
                                              out.multicast_bytes);
    return out.non_torch_bytes / MIB;
}

static int64_t non_torch_of(enum kv_links links, uint32_t ranks)
{
    return non_torch_on_nodes(links, ranks, 0);
}

// NCCL takes to NVLink SHARP with three ranks (nvls.cc, ncclNvlsInit).
START_TEST(links_tell_what_ranks_cost)
{
    ck_assert_int_eq(non_torch_of(KV_LINKS_DIRECT, 4), 256 + 3 * 512);
    ck_assert_int_eq(non_torch_of(KV_LINKS_PCIE, 4), 256 + 3 * 64);
    ck_assert_int_eq(non_torch_of(KV_LINKS_MULTICAST, 1), 256);
    ck_assert_int_eq(non_torch_of(KV_LINKS_MULTICAST, 2), 256 + 128 + 1024);
    ck_assert_int_eq(non_torch_of(KV_LINKS_MULTICAST, 4), 256 + 3 * 128 + 1024 + 100 + 4 * 576);
}
END_TEST

// A ring has two connections however many ranks there are; a switch multicasts to the ranks that it joins.
START_TEST(ranks_behind_switches_pay_once)
{
    ck_assert_int_eq(non_torch_of(KV_LINKS_SWITCH, 1), 256);
    ck_assert_int_eq(non_torch_of(KV_LINKS_SWITCH, 2), 256 + 2048);
    ck_assert_int_eq(non_torch_of(KV_LINKS_SWITCH, 8), 256 + 2048);
    ck_assert_int_eq(non_torch_on_nodes(KV_LINKS_MULTICAST, 16, 8),
                     256 + 15 * 128 + 1024 + 100 + 8 * 576);
    ck_assert_int_eq(non_torch_on_nodes(KV_LINKS_MULTICAST, 4, 2), 256 + 3 * 128 + 1024);
}
END_TEST

START_TEST(inputs_of_reductions_stay_where_torch_keeps_them)
{
    struct kv_runtime_rule keeps = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 4096,
                                     .max_num_seqs = 1,
                                     .tensor_parallel = 2,
                                     .pipeline_parallel = 1};
    struct kv_runtime out, kept;
    kv_runtime_predict(&keeps, &model_llama_8b, &shape, &out);
    keeps.kept_reductions = 2;
    kv_runtime_predict(&keeps, &model_llama_8b, &shape, &kept);
    ck_assert_int_eq(kept.layer_bytes - out.layer_bytes, INT64_C(2) * 32 * 4096 * 4096 * 2);
    shape.tensor_parallel = 1;
    kv_runtime_predict(&keeps, &model_llama_8b, &shape, &kept);
    keeps.kept_reductions = 0;
    kv_runtime_predict(&keeps, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(kept.layer_bytes, out.layer_bytes);
}
END_TEST

START_TEST(rocm_has_a_context_of_its_own)
{
    struct kv_runtime_rule own = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = 8192,
                                     .max_num_seqs = 1,
                                     .tensor_parallel = 1,
                                     .pipeline_parallel = 1,
                                     .is_rocm = true};
    struct kv_runtime out;
    kv_runtime_predict(&own, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.non_torch_bytes, 256 * MIB);
    own.context_rocm_bytes = 1024 * MIB;
    kv_runtime_predict(&own, &model_llama_8b, &shape, &out);
    ck_assert_int_eq(out.non_torch_bytes, 1024 * MIB);
}
END_TEST

static const struct spec_vision tower = {.parameters = 0.5e9,
                                         .hidden = 1152,
                                         .intermediate = 4304,
                                         .output = 4096,
                                         .patch_values = 1536,
                                         .patches_per_token = 4,
                                         .item_tokens = 16384,
                                         .has_rotary = true};

static struct kv_runtime see(const struct spec_vision *vision, enum kv_encoder_profile encoder,
                             int64_t tokens, uint32_t ranks)
{
    struct spec_model model = model_llama_8b;
    struct kv_runtime_rule seeing = rule;
    struct kv_runtime_shape shape = {.max_num_batched_tokens = tokens,
                                     .max_num_seqs = 64,
                                     .tensor_parallel = ranks,
                                     .pipeline_parallel = 1};
    struct kv_runtime out;
    model.vision = *vision;
    seeing.encoder = encoder;
    kv_runtime_predict(&seeing, &model, &shape, &out);
    return out;
}

// One item beyond the budget is still run, and all that fit it are.
START_TEST(a_tower_runs_on_the_largest_items)
{
    int64_t patches = INT64_C(16384) * 4;
    struct kv_runtime one = see(&tower, KV_ENCODER_BUDGET, 8192, 1);
    ck_assert_int_eq(one.tower_bytes, patches * 2 * (1536 + 18 * 1152));
    ck_assert_int_eq(one.embedding_bytes, INT64_C(16384) * 2 * 4096);
    ck_assert_int_eq(one.activation_bytes, one.tower_bytes);
    ck_assert_int_eq(see(&tower, KV_ENCODER_BUDGET, 16384 * 3, 1).tower_bytes, 3 * one.tower_bytes);
    ck_assert_int_eq(see(&tower, KV_ENCODER_BUDGET, 8192, 2).tower_bytes,
                     patches * 2 * (1536 + 10 * 1152));
    // Without rotation the MLP is the widest part; the seats bound the number of pictures.
    struct spec_vision plain = tower;
    plain.has_rotary = false;
    plain.item_tokens = 16;
    ck_assert_int_eq(see(&plain, KV_ENCODER_BUDGET, 8192, 1).tower_bytes,
                     INT64_C(64) * 16 * 4 * 2 * (1536 + 2 * 1152 + 2 * 4304));
}
END_TEST

START_TEST(a_tower_beyond_every_device_still_has_a_size)
{
    struct spec_vision vast = tower;
    vast.patch_values = INT64_C(64) * 64 * 4096 * 4096;
    vast.patches_per_token = INT64_C(1024) * 1024;
    vast.output = INT64_C(1000000) * 1000000;
    vast.item_tokens = 1000000000;
    struct kv_runtime out = see(&vast, KV_ENCODER_BUDGET, 8192, 1);
    ck_assert_int_eq(out.tower_bytes, INT64_C(1000000000000000000));
    ck_assert_int_eq(out.embedding_bytes, INT64_C(1000000000000000000));
    ck_assert_int_ge(out.activation_bytes, out.tower_bytes);
}
END_TEST

START_TEST(a_prompt_of_pictures_samples_a_row_for_each)
{
    struct kv_runtime out = see(&tower, KV_ENCODER_PROMPT, 8192, 1);
    // Queries and keys are rotated in turn.
    ck_assert_int_eq(out.tower_bytes, INT64_C(8192) * 4 * 2 * (1536 + 12 * 1152));
    ck_assert_int_eq(out.sampler_bytes, INT64_C(128256) * 40 + INT64_C(8192) * 2 * 4096);
    struct kv_runtime blind = see(&tower, KV_ENCODER_NONE, 8192, 1);
    ck_assert_int_eq(blind.tower_bytes, 0);
    ck_assert_int_eq(blind.sampler_bytes, INT64_C(64) * 128256 * 40 + INT64_C(8192) * 2 * 4096);
}
END_TEST

CHECK_MAIN("kv.runtime", may_take_logits_of_all_tokens, takes_the_larger_of_layer_and_sampler,
           cuts_layers_over_ranks_but_no_logits, chunks_the_tokens_of_experts, counts_capture_sizes,
           capture_sizes_may_reach_beyond_the_seats, a_tower_runs_on_the_largest_items,
           a_tower_beyond_every_device_still_has_a_size,
           a_prompt_of_pictures_samples_a_row_for_each, an_eager_mlp_keeps_further_hidden_states,
           links_tell_what_ranks_cost, ranks_behind_switches_pay_once,
           inputs_of_reductions_stay_where_torch_keeps_them, rocm_has_a_context_of_its_own)
