#include "fixture.h"

#include "cost/rates.h"

static double parameter_bytes(const struct fixture *fixture)
{
    return 2 * (spec_model_parameters(&fixture->model) -
                (double)fixture->model.vocabulary * fixture->model.hidden);
}

/* One sequence reads every weight once: 15 GB over 0.83-0.86 of 3.35 TB/s, plus the fixed parts of some 350 kernels. */
START_TEST(a_lonely_decode_streams_the_weights)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    double s = fixture_decode_s(&fixture, 1, 1024);
    double weights_s = parameter_bytes(&fixture) / 3350e9;
    ck_assert(s > weights_s / 0.86);
    ck_assert(s < weights_s / 0.86 + 1.5e-3);
    ck_assert(s > 5.5e-3 && s < 7e-3);
    fixture_release(&fixture);
}
END_TEST

START_TEST(a_long_prefill_computes)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    double s = fixture_prefill_s(&fixture, 1, 8192, 0);
    double flops = 8192 * parameter_bytes(&fixture) + 32 * 8192.0 * 8192 / 2 * 16384;
    ck_assert(flops / s < 0.79 * 989e12);
    ck_assert(flops / s > 0.60 * 989e12);
    struct cost_shape shape = {0};
    fixture_add_prefill(&fixture, &shape, 1, 8192, 0);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).bound, COST_COMPUTE);
    fixture_release(&fixture);
}
END_TEST

/* Where the time goes as batch and context grow. */
START_TEST(bounds_follow_the_batch)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    struct cost_shape small = {0}, deep = {0};
    fixture_add_decode(&fixture, &small, 1, 512);
    fixture_add_decode(&fixture, &deep, 128, 8192);
    ck_assert_int_eq(cost_step(fixture.cost, &small).bound, COST_WEIGHT_BANDWIDTH);
    ck_assert_int_eq(cost_step(fixture.cost, &deep).bound, COST_KV_BANDWIDTH);
    fixture_release(&fixture);
}
END_TEST

static void random_config(uint64_t *state, struct fixture *fixture)
{
    static const char *const kv_dtypes[] = {"bf16", "fp8"};
    static const char *const formats[] = {"none", "fp8", "awq"};
    struct spec_model models[] = {fixture_llama8b(), fixture_windowed(), fixture_mixtral(),
                                  fixture_deepseek()};
    int64_t model = fixture_below(state, 4);
    fixture_init(fixture, fixture_below(state, 2) ? fixture_h100() : fixture_a100(), models[model]);
    fixture->config.kv_dtype = kv_dtypes[fixture_below(state, 2)];
    fixture->config.quantization = formats[fixture_below(state, 3)];
    fixture->config.tensor_parallel = 1u << fixture_below(state, 4);
    fixture->config.cuda_graphs = fixture_below(state, 2) == 1;
    fixture->config.async_scheduling = fixture_below(state, 2) == 1;
    fixture->config.mla_absorbed = fixture_below(state, 3) > 0;
    fixture->config.expert_parallel = fixture_below(state, 2) == 1;
    fixture->config.data_parallel = 1u << fixture_below(state, 2);
    fixture->options.kernels =
        fixture_below(state, 3) == 0 ? COST_KERNELS_2024 : COST_KERNELS_CURRENT;
    fixture->options.expert_skew = (double)fixture_below(state, 3) * 0.4;
    fixture->options.host_per_step_ns = (double)fixture_below(state, 3) * 4e6;
    fixture->options.host_per_sequence_ns = (double)fixture_below(state, 2) * 5000;
    fixture_start(fixture);
}

/* Ramps equal their steps wherever they are cut, in every configuration. */
START_TEST(ramps_equal_steps)
{
    uint64_t state = 11;
    for (int round = 0; round < 60; round++) {
        struct fixture fixture;
        random_config(&state, &fixture);
        uint32_t count = 1 + (uint32_t)fixture_below(&state, 300);
        int64_t context = 1 + fixture_below(&state, 6000), steps = 3000;
        // all sequences alike: a window saturates for all at once, so the stretch ends there at the latest
        bool below = cost_window_count(fixture.cost) > 0 && context < 4096;
        if (below)
            steps = 4096 - context + 1;
        struct cost_ramp ramp = {.seq_count = count};
        int64_t wrong_count = 0;
        for (int64_t at = 0; at < steps;) {
            struct cost_shape shape = {0};
            fixture_add_decode(&fixture, &shape, count, context + at);
            cost_ramp_from_shape(&shape, &ramp);
            ramp.window_gain[0] = below ? count : 0;
            struct cost_piece piece;
            cost_ramp_piece(fixture.cost, &ramp, 1 + fixture_below(&state, steps - at), &piece);
            for (int64_t i = 0; i < piece.step_count; i += 1 + piece.step_count / 7) {
                struct cost_shape one = {0};
                fixture_add_decode(&fixture, &one, count, context + at + i);
                struct cost_result step = cost_step(fixture.cost, &one);
                wrong_count += step.ticks != piece.first_ticks + i * piece.delta_ticks ||
                               step.bound != piece.bound;
            }
            at += piece.step_count;
        }
        ck_assert_int_eq(wrong_count, 0);
        fixture_release(&fixture);
    }
}
END_TEST

/* More of anything is never cheaper. */
START_TEST(more_is_never_cheaper)
{
    uint64_t state = 12;
    for (int round = 0; round < 400; round++) {
        struct fixture fixture;
        random_config(&state, &fixture);
        uint32_t prefills = (uint32_t)fixture_below(&state, 3),
                 decodes = (uint32_t)fixture_below(&state, 200);
        int64_t q = 1 + fixture_below(&state, 2000), c = fixture_below(&state, 3000);
        int64_t context = 2 + fixture_below(&state, 8000);
        decodes += prefills == 0;
        struct cost_shape base = {0};
        fixture_add_prefill(&fixture, &base, prefills, q, c);
        struct cost_shape longer = base, wider, cached = {0}, chunk = {0};
        fixture_add_decode(&fixture, &base, decodes, context);
        fixture_add_decode(&fixture, &longer, decodes, context + 100);
        wider = base;
        fixture_add_decode(&fixture, &wider, 1, context);
        fixture_add_prefill(&fixture, &cached, prefills, q, c + 100);
        fixture_add_decode(&fixture, &cached, decodes, context);
        fixture_add_prefill(&fixture, &chunk, prefills, q + 10, c);
        fixture_add_decode(&fixture, &chunk, decodes, context);
        int64_t ticks = cost_step(fixture.cost, &base).ticks;
        if (cost_step(fixture.cost, &longer).ticks < ticks ||
            cost_step(fixture.cost, &wider).ticks < ticks ||
            cost_step(fixture.cost, &cached).ticks < ticks ||
            cost_step(fixture.cost, &chunk).ticks < ticks)
            ck_abort_msg("%s: %u prefills of %d on %d, %u decodes at %d", fixture.model.name,
                         prefills, (int)q, (int)c, decodes, (int)context);
        fixture_release(&fixture);
    }
}
END_TEST

START_TEST(windows_stop_growing)
{
    struct fixture full, windowed;
    fixture_init(&full, fixture_h100(), fixture_llama8b());
    fixture_init(&windowed, fixture_h100(), fixture_windowed());
    fixture_start(&full);
    fixture_start(&windowed);
    double full_growth = fixture_decode_s(&full, 64, 16384) - fixture_decode_s(&full, 64, 8192);
    double growth = fixture_decode_s(&windowed, 64, 16384) - fixture_decode_s(&windowed, 64, 8192);
    ck_assert_double_eq_tol(growth, full_growth / 2, 0.01 * full_growth);
    ck_assert(fixture_prefill_s(&windowed, 1, 16384, 0) < fixture_prefill_s(&full, 1, 16384, 0));
    fixture_release(&full);
    fixture_release(&windowed);
}
END_TEST

/* fp8 KV halves the bytes; the step gains less than twofold, and less where weights dominate. */
START_TEST(small_caches_speed_up_long_contexts)
{
    struct fixture wide, narrow;
    fixture_init(&wide, fixture_h100(), fixture_llama8b());
    fixture_init(&narrow, fixture_h100(), fixture_llama8b());
    narrow.config.kv_dtype = "fp8";
    fixture_start(&wide);
    fixture_start(&narrow);
    double deep = fixture_decode_s(&wide, 64, 16384) / fixture_decode_s(&narrow, 64, 16384);
    double shallow = fixture_decode_s(&wide, 8, 512) / fixture_decode_s(&narrow, 8, 512);
    ck_assert(deep > 1.3 && deep < 1.9);
    ck_assert(shallow < 1.1);

    narrow.options.kv_dtype_count = 1;
    narrow.options.kv_dtypes[0] = (struct cost_kv_dtype_options){.name = "fp8_e4m3",
                                                                 .read_fraction = 0.4,
                                                                 .write_ns_per_token = 10,
                                                                 .dequant_ns_per_token = 0.01};
    double stated = fixture_decode_s(&narrow, 64, 16384);
    fixture_start(&narrow);
    double slowed = fixture_decode_s(&narrow, 64, 16384);
    double bytes = 64 * 16384.0 * 65536;
    ck_assert_double_eq_tol(
        slowed - stated,
        bytes / 3350e9 * (1 / 0.4 - 1 / 0.73) + 32 * (64 * 10e-9 + 64 * 16384 * 0.01e-9), 1e-5);
    fixture_release(&wide);
    fixture_release(&narrow);
}
END_TEST

START_TEST(small_weights_speed_up_small_batches)
{
    struct fixture wide, fp8, awq, ampere, ampere8;
    fixture_init(&wide, fixture_h100(), fixture_llama8b());
    fixture_init(&fp8, fixture_h100(), fixture_llama8b());
    fixture_init(&awq, fixture_h100(), fixture_llama8b());
    fixture_init(&ampere, fixture_a100(), fixture_llama8b());
    fixture_init(&ampere8, fixture_a100(), fixture_llama8b());
    fp8.config.quantization = "fp8";
    awq.config.quantization = "awq";
    ampere8.config.quantization = "fp8";
    fixture_start(&wide);
    fixture_start(&fp8);
    fixture_start(&awq);
    fixture_start(&ampere);
    fixture_start(&ampere8);
    double one = fixture_decode_s(&wide, 1, 128);
    ck_assert(fixture_decode_s(&fp8, 1, 128) < 0.75 * one);
    ck_assert(fixture_decode_s(&awq, 1, 128) < 0.6 * one);
    // weight-only formats compute in 16 bits; fp8 does not where the device can multiply it
    ck_assert(fixture_prefill_s(&awq, 1, 4096, 0) > 0.97 * fixture_prefill_s(&wide, 1, 4096, 0));
    ck_assert(fixture_prefill_s(&fp8, 1, 4096, 0) < 0.85 * fixture_prefill_s(&wide, 1, 4096, 0));
    // without fp8 products the weights are still half as many bytes
    ck_assert(fixture_decode_s(&ampere8, 1, 128) < 0.65 * fixture_decode_s(&ampere, 1, 128));
    ck_assert(fixture_prefill_s(&ampere8, 1, 4096, 0) >
              0.97 * fixture_prefill_s(&ampere, 1, 4096, 0));
    fixture_release(&wide);
    fixture_release(&fp8);
    fixture_release(&awq);
    fixture_release(&ampere);
    fixture_release(&ampere8);
}
END_TEST

START_TEST(few_tokens_touch_few_experts)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_mixtral());
    fixture_start(&fixture);
    struct cost_shape one = {0}, many = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &one, 1, 100);
    fixture_add_decode(&fixture, &many, 256, 100);
    double expert_bytes = 2 * 3 * 4096.0 * 14336;
    cost_explain(fixture.cost, &one, &explanation);
    ck_assert_double_eq_tol(explanation.rows[COST_OP_EXPERTS].bytes, 32 * 2 * expert_bytes,
                            0.001 * 64 * expert_bytes);
    cost_explain(fixture.cost, &many, &explanation);
    ck_assert(explanation.rows[COST_OP_EXPERTS].bytes > 0.999 * 32 * 8 * expert_bytes);
    fixture_release(&fixture);
}
END_TEST

START_TEST(absorption_pays_in_decode)
{
    struct fixture absorbed, expanded;
    fixture_init(&absorbed, fixture_h100(), fixture_deepseek());
    fixture_init(&expanded, fixture_h100(), fixture_deepseek());
    absorbed.config.tensor_parallel = expanded.config.tensor_parallel = 8;
    expanded.config.mla_absorbed = false;
    fixture_start(&absorbed);
    fixture_start(&expanded);
    ck_assert(fixture_decode_s(&absorbed, 32, 4096) < 0.7 * fixture_decode_s(&expanded, 32, 4096));
    ck_assert_double_eq(fixture_prefill_s(&absorbed, 1, 4096, 0),
                        fixture_prefill_s(&expanded, 1, 4096, 0));
    fixture_release(&absorbed);
    fixture_release(&expanded);
}
END_TEST

START_TEST(gpus_share_the_work)
{
    double decode_s[2], prefill_s[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct fixture fixture;
        fixture_init(&fixture, fixture_h100(), fixture_llama8b());
        fixture.config.tensor_parallel = i + 1;
        fixture_start(&fixture);
        decode_s[i] = fixture_decode_s(&fixture, 16, 4096);
        prefill_s[i] = fixture_prefill_s(&fixture, 1, 8192, 0);
        struct cost_shape shape = {0};
        struct cost_explanation explanation;
        fixture_add_decode(&fixture, &shape, 16, 4096);
        cost_explain(fixture.cost, &shape, &explanation);
        ck_assert_int_eq(explanation.rows[COST_OP_ALL_REDUCE].total_s > 0, i == 1);
        if (i == 1) // two a layer, each the latency at least
            ck_assert(explanation.rows[COST_OP_ALL_REDUCE].per_layer_s > 2 * 4.25e-6);
        fixture_release(&fixture);
    }
    ck_assert(decode_s[1] > 0.5 * decode_s[0] && decode_s[1] < 0.8 * decode_s[0]);
    ck_assert(prefill_s[1] > 0.5 * prefill_s[0] && prefill_s[1] < 0.75 * prefill_s[0]);
}
END_TEST

START_TEST(stages_follow_one_another)
{
    struct fixture one, two;
    fixture_init(&one, fixture_h100(), fixture_llama8b());
    fixture_init(&two, fixture_h100(), fixture_llama8b());
    two.config.pipeline_parallel = 2;
    fixture_start(&one);
    fixture_start(&two);
    double more = fixture_decode_s(&two, 16, 1000) - fixture_decode_s(&one, 16, 1000);
    ck_assert_double_eq_tol(more, 4.25e-6 + 16 * 8192 / (cost_defaults.link_fraction * 450e9),
                            1e-9);
    fixture_release(&one);
    fixture_release(&two);
}
END_TEST

START_TEST(experts_in_parallel_exchange_tokens)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_deepseek());
    fixture.config.quantization = "fp8";
    fixture.config.data_parallel = 8;
    fixture.config.expert_parallel = true;
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &shape, 64, 1000);
    cost_explain(fixture.cost, &shape, &explanation);
    ck_assert(explanation.rows[COST_OP_ALL_TO_ALL].total_s > 2 * 58 * 4.25e-6);
    ck_assert_double_eq(explanation.rows[COST_OP_ALL_REDUCE].total_s, 0);
    // 32 experts of a layer on this GPU, nearly all touched by the tokens of eight replicas
    double experts = 58 * 32.0 * 3 * 7168 * 2048, shared = 58 * 3.0 * 7168 * 2048;
    ck_assert_double_eq_tol(explanation.rows[COST_OP_EXPERTS].bytes, experts + shared,
                            0.03 * experts);
    fixture_release(&fixture);
}
END_TEST

/* Without expert parallelism a GPU of eight data-parallel ranks holds an eighth of each expert, and serves all tokens. */
START_TEST(experts_in_slices_gather_tokens)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_deepseek());
    fixture.config.quantization = "fp8";
    fixture.config.data_parallel = 8;
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &shape, 64, 1000);
    cost_explain(fixture.cost, &shape, &explanation);
    // all 256 experts, 2048 / 8 wide, touched by the tokens of eight replicas
    double experts = 58 * 256.0 * 3 * 7168 * 256, shared = 58 * 3.0 * 7168 * 2048;
    double activations = 58 * 2 * (64 * 8 * 8) * (2 * 7168 + 3 * 256.0);
    ck_assert_double_eq_tol(explanation.rows[COST_OP_EXPERTS].bytes, experts + shared + activations,
                            0.01 * experts);
    double other_tokens = 7 * 64, width = 2 * 7168;
    ck_assert_double_eq_tol(explanation.rows[COST_OP_ALL_TO_ALL].bytes,
                            58 * 2 * other_tokens * width, 1);
    ck_assert_double_eq(explanation.rows[COST_OP_ALL_REDUCE].total_s, 0);
    fixture_release(&fixture);
}
END_TEST

/* Kernels that the host has to launch one by one outlast small work; a graph replays them. */
START_TEST(graphs_hide_launches)
{
    struct fixture graphs, eager;
    struct spec_model tiny = fixture_llama8b();
    tiny.hidden = 512;
    tiny.q_head_count = 4;
    tiny.kv_head_count = tiny.groups[0].kv_head_count = 1;
    tiny.intermediate = 1024;
    tiny.vocabulary = 1000;
    struct spec_hardware slow_host = fixture_h100();
    slow_host.efficiency.launch_s = 10e-6;
    fixture_init(&graphs, slow_host, tiny);
    fixture_init(&eager, slow_host, tiny);
    eager.config.cuda_graphs = false;
    fixture_start(&graphs);
    fixture_start(&eager);
    struct cost_shape shape = {0};
    fixture_add_decode(&eager, &shape, 1, 10);
    ck_assert_int_eq(cost_step(eager.cost, &shape).bound, COST_HOST);
    ck_assert_int_ne(cost_step(graphs.cost, &shape).bound, COST_HOST);
    ck_assert(fixture_decode_s(&graphs, 1, 10) < 0.6 * fixture_decode_s(&eager, 1, 10));
    fixture_release(&graphs);
    fixture_release(&eager);
}
END_TEST

START_TEST(a_mixed_step_shares_the_weights)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    struct cost_shape mixed = {0};
    fixture_add_prefill(&fixture, &mixed, 1, 256, 0);
    fixture_add_decode(&fixture, &mixed, 64, 1000);
    double s = (double)cost_step(fixture.cost, &mixed).ticks / (1e9 * (double)BASE_TICKS_PER_NS);
    double prefill_s = fixture_prefill_s(&fixture, 1, 256, 0),
           decode_s = fixture_decode_s(&fixture, 64, 1000);
    ck_assert(s > prefill_s && s > decode_s);
    ck_assert(s < 0.8 * (prefill_s + decode_s));
    fixture_release(&fixture);
}
END_TEST

/* Absent `cost.host`, the engine's CPU work is assumed; it hides behind the device when scheduling is asynchronous. */
START_TEST(host_work_is_assumed)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    double none = fixture_decode_s(&fixture, 10, 1000);
    fixture.options.has_host_per_step = fixture.options.has_host_per_sequence = false;
    fixture_start(&fixture);
    ck_assert_double_eq_tol(fixture_decode_s(&fixture, 10, 1000) - none,
                            cost_defaults.host_per_step_s + 10 * cost_defaults.host_per_sequence_s,
                            1e-9);
    fixture.config.async_scheduling = true;
    fixture_start(&fixture);
    ck_assert_double_eq_tol(fixture_decode_s(&fixture, 10, 1000), none, 1e-9);
    fixture_release(&fixture);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("datasheet");
    tcase_add_test(tests, a_lonely_decode_streams_the_weights);
    tcase_add_test(tests, a_long_prefill_computes);
    tcase_add_test(tests, bounds_follow_the_batch);
    tcase_add_test(tests, ramps_equal_steps);
    tcase_add_test(tests, more_is_never_cheaper);
    tcase_add_test(tests, windows_stop_growing);
    tcase_add_test(tests, small_caches_speed_up_long_contexts);
    tcase_add_test(tests, small_weights_speed_up_small_batches);
    tcase_add_test(tests, few_tokens_touch_few_experts);
    tcase_add_test(tests, absorption_pays_in_decode);
    tcase_add_test(tests, gpus_share_the_work);
    tcase_add_test(tests, stages_follow_one_another);
    tcase_add_test(tests, experts_in_parallel_exchange_tokens);
    tcase_add_test(tests, experts_in_slices_gather_tokens);
    tcase_add_test(tests, graphs_hide_launches);
    tcase_add_test(tests, a_mixed_step_shares_the_weights);
    tcase_add_test(tests, host_work_is_assumed);
    return fixture_run(tests);
}
