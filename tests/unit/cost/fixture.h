/* Models and hardware built by hand, for the tests of the cost model. Figures: vendor datasheets and config.json. */
#ifndef KVSIM_TESTS_COST_FIXTURE_H
#define KVSIM_TESTS_COST_FIXTURE_H

#include "cost/ops.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* An H100 SXM with its own efficiencies; without them the defaults are tested. */
static inline struct spec_hardware fixture_h100(void)
{
    return (struct spec_hardware){
        .name = "h100",
        .memory_bytes_per_s = 3350e9,
        .flop_per_s = {67e12, 989e12, 989e12, 1979e12, 1979e12},
        .link_bytes_per_s = 450e9,
        .link_latency_s = 4.25e-6,
        .efficiency =
            {.gemm_prefill = {[SPEC_BF16] = 0.79, [SPEC_FP8] = 0.54},
             .weight_stream = {[SPEC_BF16] = {3.1e-6, 0.86}, [SPEC_FP8] = {5.8e-6, 0.79}},
             .decode_attention = {[SPEC_BF16] = {13.1e-6, 0.85}, [SPEC_FP8] = {16.1e-6, 0.73}},
             .prefill_attention_long = 0.61,
             .prefill_attention_mid = 0.53,
             .prefill_attention_short = 0.32,
             .launch_s = 2.5e-6,
             .graph_launch_s = 1.3e-6},
        .allreduce_count = 1,
        .allreduce = {{.gpu_count = 2,
                       .latency_s = 4.25e-6,
                       .point_count = 6,
                       .message_bytes = {32768, 262144, 1048576, 16777216, 134217728, 1073741824},
                       .busbw_bytes_per_s = {7.43e9, 50.8e9, 126e9, 204e9, 288e9, 333e9}}},
    };
}

/* No fp8, no efficiencies of its own. */
static inline struct spec_hardware fixture_a100(void)
{
    return (struct spec_hardware){.name = "a100",
                                  .memory_bytes_per_s = 2039e9,
                                  .flop_per_s = {19.5e12, 312e12, 312e12, 0, 624e12},
                                  .link_bytes_per_s = 300e9};
}

static inline struct spec_model fixture_llama8b(void)
{
    struct spec_model model = {.name = "llama-3.1-8b",
                               .weight_dtype = "bf16",
                               .layer_count = 32,
                               .hidden = 4096,
                               .vocabulary = 128256,
                               .q_head_count = 32,
                               .kv_head_count = 8,
                               .head_dim = 128,
                               .intermediate = 14336,
                               .attention_layer_count = 32,
                               .group_count = 1};
    model.groups[0] = (struct spec_kv_group){
        .kind = SPEC_KV_FULL, .layer_count = 32, .kv_head_count = 8, .k_dim = 128, .v_dim = 128};
    return model;
}

/* Half of the layers see 4096 tokens, as in Gemma 2. */
static inline struct spec_model fixture_windowed(void)
{
    struct spec_model model = fixture_llama8b();
    model.name = "windowed";
    model.group_count = 2;
    model.groups[0].layer_count = 16;
    model.groups[1] = model.groups[0];
    model.groups[1].kind = SPEC_KV_SLIDING;
    model.groups[1].window_tokens = 4096;
    return model;
}

static inline struct spec_model fixture_mixtral(void)
{
    struct spec_model model = fixture_llama8b();
    model.name = "mixtral-8x7b";
    model.vocabulary = 32000;
    model.intermediate = 0;
    model.expert_count = 8;
    model.experts_per_token = 2;
    model.expert_intermediate = 14336;
    model.moe_layer_count = 32;
    return model;
}

static inline struct spec_model fixture_deepseek(void)
{
    struct spec_model model = {.name = "deepseek-v3",
                               .weight_dtype = "fp8",
                               .layer_count = 61,
                               .hidden = 7168,
                               .vocabulary = 129280,
                               .q_head_count = 128,
                               .kv_head_count = 128,
                               .head_dim = 192,
                               .is_mla = true,
                               .kv_lora_rank = 512,
                               .qk_rope_dim = 64,
                               .qk_nope_dim = 128,
                               .v_head_dim = 128,
                               .q_lora_rank = 1536,
                               .intermediate = 18432,
                               .expert_count = 256,
                               .experts_per_token = 8,
                               .expert_intermediate = 2048,
                               .shared_intermediate = 2048,
                               .moe_layer_count = 58,
                               .attention_layer_count = 61,
                               .group_count = 1};
    model.groups[0] = (struct spec_kv_group){.kind = SPEC_KV_FULL,
                                             .layer_count = 61,
                                             .kv_head_count = 1,
                                             .k_dim = 576,
                                             .is_latent = true};
    return model;
}

/* Everything that a cost instance needs, with plain defaults: one GPU, bf16, graphs, synchronous, no host cost. */
struct fixture {
    struct spec_hardware hardware;
    struct spec_model model;
    struct spec_kv_layout layout;
    struct cost_options options;
    struct cost_config config;
    struct base_arena arena;
    struct cost *cost;
    struct kvsim_error err;
};

static inline void fixture_init(struct fixture *fixture, struct spec_hardware hardware,
                                struct spec_model model)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->hardware = hardware;
    fixture->model = model;
    fixture->options = (struct cost_options){.level = COST_DATASHEET,
                                             .has_level = true,
                                             .has_host_per_step = true,
                                             .has_host_per_sequence = true};
    fixture->config = (struct cost_config){.options = &fixture->options,
                                           .model = &fixture->model,
                                           .hardware = &fixture->hardware,
                                           .layout = &fixture->layout,
                                           .tensor_parallel = 1,
                                           .pipeline_parallel = 1,
                                           .data_parallel = 1,
                                           .cuda_graphs = true,
                                           .mla_absorbed = true,
                                           .quantization = "none",
                                           .dtype = "bf16",
                                           .kv_dtype = "bf16",
                                           .max_decode_seqs = 1024};
    base_arena_init(&fixture->arena);
}

static inline enum kvsim_status fixture_try(struct fixture *fixture)
{
    struct spec_kv_options kv = {.tensor_parallel = fixture->config.tensor_parallel,
                                 .pipeline_parallel = fixture->config.pipeline_parallel,
                                 .block_tokens = 16,
                                 .k_dtype = fixture->config.kv_dtype,
                                 .v_dtype = fixture->config.kv_dtype};
    enum kvsim_status status = KVSIM_OK;
    if (fixture->config.layout)
        status = spec_kv_layout_make(&fixture->model, &kv, &fixture->layout, &fixture->err);
    if (status == KVSIM_OK)
        status = cost_new(&fixture->config, &fixture->arena, &fixture->cost, &fixture->err);
    return status;
}

static inline void fixture_start(struct fixture *fixture)
{
    ck_assert_msg(fixture_try(fixture) == KVSIM_OK, "%s", fixture->err.message);
}

static inline void fixture_release(struct fixture *fixture)
{
    base_arena_release(&fixture->arena);
}

static inline int64_t fixture_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* `count` sequences that each compute q new tokens on c cached ones, the last prompt token among them. */
static inline void fixture_add_prefill(const struct fixture *fixture, struct cost_shape *shape,
                                       uint32_t count, int64_t q, int64_t c)
{
    shape->prefill_seq_count += count;
    shape->emitting_count += count;
    shape->prefill_tokens += count * q;
    shape->prefill_cached_tokens += count * c;
    shape->prefill_area += (base_i128)count * (q * c + q * (q + 1) / 2);
    for (size_t w = 0; fixture->cost && w < cost_window_count(fixture->cost); w++)
        for (int64_t i = 1; i <= q; i++)
            shape->prefill_window_area[w] +=
                (base_i128)count * fixture_min(c + i, cost_window_at(fixture->cost, w)->tokens);
}

/* `count` decodes with `context` tokens each after the step. */
static inline void fixture_add_decode(const struct fixture *fixture, struct cost_shape *shape,
                                      uint32_t count, int64_t context)
{
    shape->decode_seq_count += count;
    shape->decode_context_tokens += count * context;
    for (size_t w = 0; fixture->cost && w < cost_window_count(fixture->cost); w++)
        shape->decode_window_tokens[w] +=
            count * fixture_min(context, cost_window_at(fixture->cost, w)->tokens);
}

static inline double fixture_decode_s(struct fixture *fixture, uint32_t count, int64_t context)
{
    struct cost_shape shape = {0};
    fixture_add_decode(fixture, &shape, count, context);
    return (double)cost_step(fixture->cost, &shape).ticks / (1e9 * (double)BASE_TICKS_PER_NS);
}

static inline double fixture_prefill_s(struct fixture *fixture, uint32_t count, int64_t q,
                                       int64_t c)
{
    struct cost_shape shape = {0};
    fixture_add_prefill(fixture, &shape, count, q, c);
    return (double)cost_step(fixture->cost, &shape).ticks / (1e9 * (double)BASE_TICKS_PER_NS);
}

static inline uint64_t fixture_random(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline int64_t fixture_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(fixture_random(state) % (uint64_t)limit);
}

static inline int fixture_run(TCase *tests)
{
    Suite *suite = suite_create("cost");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
