#include "fixture.h"

#include <math.h>

static const double ticks_per_s = 1e9 * (double)BASE_TICKS_PER_NS;

START_TEST(operators_have_the_contracted_names)
{
    static const char *const names[] = {"embed",
                                        "norm",
                                        "qkv",
                                        "rope",
                                        "kv_write",
                                        "attention_prefill",
                                        "attention_decode",
                                        "o",
                                        "gate_up",
                                        "act",
                                        "down",
                                        "router",
                                        "experts",
                                        "all_reduce",
                                        "all_to_all",
                                        "p2p",
                                        "lm_head",
                                        "sampler",
                                        "launch",
                                        "host"};
    ck_assert_uint_eq(sizeof names / sizeof names[0], COST_OPERATOR_COUNT);
    for (int i = 0; i < COST_OPERATOR_COUNT; i++)
        ck_assert_str_eq(cost_operator_name((enum cost_operator)i), names[i]);
}
END_TEST

static struct spec_model model_at(int i)
{
    switch (i) {
    case 0:
        return fixture_llama8b();
    case 1:
        return fixture_windowed();
    case 2:
        return fixture_mixtral();
    default:
        return fixture_deepseek();
    }
}

static void shape_random(uint64_t *state, const struct fixture *fixture, struct cost_shape *shape)
{
    uint32_t prefills = (uint32_t)fixture_below(state, 3);
    fixture_add_prefill(fixture, shape, prefills, 1 + fixture_below(state, 1500),
                        fixture_below(state, 3000));
    fixture_add_decode(fixture, shape, (prefills == 0) + (uint32_t)fixture_below(state, 100),
                       1 + fixture_below(state, 9000));
}

/* Alike stages without ends: no bubble while each has a step, (p - 1) / p of the time with one step in flight. */
START_TEST(bubbles_are_what_stages_leave)
{
    struct cost_explanation step = {.row_count = COST_OPERATOR_COUNT};
    struct cost_pipeline pipeline;
    step.rows[COST_OP_O] = (struct cost_operator_row){
        .op = COST_OP_O, .layer_count = 8, .per_layer_s = 1e-3, .total_s = 8e-3};
    step.step_ticks = (int64_t)(8e-3 * ticks_per_s);
    cost_pipeline_of(&step, 4, 4, &pipeline);
    ck_assert(fabs(pipeline.slowest_s - 2e-3) < 1e-9 && fabs(pipeline.interval_s - 2e-3) < 1e-9);
    ck_assert(fabs(pipeline.bubble_share) < 1e-9);
    cost_pipeline_of(&step, 4, 1, &pipeline);
    ck_assert(fabs(pipeline.interval_s - 8e-3) < 1e-9);
    ck_assert(fabs(pipeline.bubble_share - 0.75) < 1e-9);
    // One host schedules all the steps in flight.
    step.host_s = 5e-3;
    cost_pipeline_of(&step, 4, 4, &pipeline);
    ck_assert(fabs(pipeline.interval_s - 5e-3) < 1e-9);
    ck_assert(fabs(pipeline.bubble_share - 0.6) < 1e-9);
    step.host_s = 0;
    // A head of a layer's time makes the last stage the slowest: 3 of 2 + 2 + 2 + 3 ms.
    step.rows[COST_OP_LM_HEAD] = (struct cost_operator_row){.op = COST_OP_LM_HEAD, .total_s = 1e-3};
    step.step_ticks = (int64_t)(9e-3 * ticks_per_s);
    cost_pipeline_of(&step, 4, 4, &pipeline);
    ck_assert(fabs(pipeline.interval_s - 3e-3) < 1e-9);
    ck_assert(fabs(pipeline.bubble_share - 0.25) < 1e-9);
    // Seven layers over two stages: four in one of them.
    step.rows[COST_OP_LM_HEAD].total_s = 0;
    step.rows[COST_OP_O].layer_count = 7;
    cost_pipeline_of(&step, 2, 2, &pipeline);
    ck_assert(fabs(pipeline.slowest_s - 4 * 8e-3 / 7) < 1e-9);
}
END_TEST

/* What is shown is what the engine is charged: the same ticks, and rows that add up to them. */
START_TEST(rows_add_up_to_the_step)
{
    uint64_t state = 21;
    for (int round = 0; round < 200; round++) {
        struct fixture fixture;
        fixture_init(&fixture, fixture_h100(), model_at(round % 4));
        fixture.config.tensor_parallel = 1u << fixture_below(&state, 4);
        fixture.config.async_scheduling = fixture_below(&state, 2) == 1;
        fixture.options.host_per_step_ns = 1e5;
        fixture_start(&fixture);
        struct cost_shape shape = {0};
        shape_random(&state, &fixture, &shape);
        struct cost_explanation explanation;
        cost_explain(fixture.cost, &shape, &explanation);
        struct cost_result step = cost_step(fixture.cost, &shape);
        ck_assert_int_eq(explanation.step_ticks, step.ticks);
        ck_assert_int_eq(explanation.bound, step.bound);

        double device_s = 0, layer_s = 0;
        for (size_t i = 0; i < COST_OP_LAUNCH; i++) {
            device_s += explanation.rows[i].total_s;
            layer_s += explanation.rows[i].per_layer_s;
        }
        ck_assert_double_eq_tol(device_s, explanation.device_s, 1e-12);
        ck_assert_double_eq_tol(layer_s, explanation.layer_s, 1e-12);
        double step_s = fmax(explanation.device_s, explanation.launch_s);
        step_s = fixture.config.async_scheduling ? fmax(step_s, explanation.host_s)
                                                 : step_s + explanation.host_s;
        // lines are rounded to ticks per token: a few ppm
        ck_assert_double_eq_tol((double)explanation.step_ticks / ticks_per_s, step_s,
                                2e-5 * step_s);
        ck_assert(explanation.flop_share > 0 && explanation.flop_share < 1);
        ck_assert(explanation.bandwidth_share > 0 && explanation.bandwidth_share < 1);
        fixture_release(&fixture);
    }
}
END_TEST

START_TEST(an_operator_that_is_not_there_is_zero)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &shape, 4, 100);
    cost_explain(fixture.cost, &shape, &explanation);
    ck_assert_uint_eq(explanation.row_count, COST_OPERATOR_COUNT);
    static const enum cost_operator absent[] = {COST_OP_ATTENTION_PREFILL, COST_OP_ROUTER,
                                                COST_OP_EXPERTS,           COST_OP_ALL_REDUCE,
                                                COST_OP_ALL_TO_ALL,        COST_OP_P2P};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        ck_assert_double_eq(explanation.rows[absent[i]].total_s, 0);
        ck_assert_double_eq(explanation.rows[absent[i]].per_layer_s, 0);
    }
    ck_assert_uint_eq(explanation.rows[COST_OP_QKV].layer_count, 32);
    ck_assert_uint_eq(explanation.rows[COST_OP_LM_HEAD].layer_count, 0);
    ck_assert_double_eq(explanation.rows[COST_OP_LM_HEAD].per_layer_s, 0);
    ck_assert_double_eq_tol(explanation.rows[COST_OP_QKV].per_layer_s * 32,
                            explanation.rows[COST_OP_QKV].total_s, 1e-12);
    fixture_release(&fixture);
}
END_TEST

/* Bytes and FLOPs are the textbook's, whatever the efficiencies. */
START_TEST(work_is_counted_exactly)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_prefill(&fixture, &shape, 2, 100, 50);
    fixture_add_decode(&fixture, &shape, 4, 1000);
    cost_explain(fixture.cost, &shape, &explanation);
    const struct cost_operator_row *rows = explanation.rows;
    ck_assert_double_eq(rows[COST_OP_QKV].flops, 32 * 2.0 * 204 * 4096 * 6144);
    ck_assert_double_eq(rows[COST_OP_DOWN].flops, 32 * 2.0 * 204 * 4096 * 14336);
    ck_assert_double_eq(rows[COST_OP_LM_HEAD].flops, 2.0 * 6 * 4096 * 128256);
    ck_assert_double_eq(rows[COST_OP_ATTENTION_PREFILL].flops, 32 * 16384.0 * 2 * (5000 + 5050));
    ck_assert_double_eq(rows[COST_OP_ATTENTION_DECODE].flops, 32 * 16384.0 * 4000);
    ck_assert_double_eq(rows[COST_OP_ATTENTION_DECODE].bytes, 131072.0 * 4000);
    fixture_release(&fixture);
}
END_TEST

START_TEST(moved_bytes_are_counted_exactly)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &shape, 10, 1000);
    cost_explain(fixture.cost, &shape, &explanation);
    const struct cost_operator_row *rows = explanation.rows;
    ck_assert_double_eq(rows[COST_OP_EMBED].bytes, 2 * 2 * 10 * 4096.0);
    ck_assert_double_eq(rows[COST_OP_NORM].bytes, 65 * 4 * 2 * 10 * 4096.0);
    ck_assert_double_eq(rows[COST_OP_ROPE].bytes, 32 * 2 * 2 * 10 * 40.0 * 128);
    ck_assert_double_eq(rows[COST_OP_KV_WRITE].bytes, 2 * 10 * 131072.0); // read and written
    ck_assert_double_eq(rows[COST_OP_ACT].bytes, 32 * 3 * 2 * 10 * 14336.0);
    fixture_release(&fixture);
}
END_TEST

START_TEST(latent_work_is_counted_exactly)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_deepseek());
    fixture.config.tensor_parallel = 8;
    fixture_start(&fixture);
    struct cost_shape decode = {0}, prefill = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &decode, 4, 1000);
    cost_explain(fixture.cost, &decode, &explanation);
    ck_assert_double_eq(explanation.rows[COST_OP_ATTENTION_DECODE].flops,
                        61 * 4000.0 * 2 * 16 * (2 * 512 + 64));
    ck_assert_double_eq(explanation.rows[COST_OP_ATTENTION_DECODE].bytes,
                        4000.0 * 70272); // on every rank
    fixture_add_prefill(&fixture, &prefill, 1, 100, 50);
    cost_explain(fixture.cost, &prefill, &explanation);
    double pairs = 100 * 50 + 5050, up = 2 * 512 * 16 * 256.0 * 150;
    ck_assert_double_eq(explanation.rows[COST_OP_ATTENTION_PREFILL].flops,
                        61 * (pairs * 2 * 16 * 320 + up));
    fixture_release(&fixture);
}
END_TEST

START_TEST(simple_levels_have_totals_only)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.options.level = COST_FIXED;
    fixture.options.fixed_step_ns = 5000000;
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    struct cost_explanation explanation;
    fixture_add_decode(&fixture, &shape, 4, 1000);
    cost_explain(fixture.cost, &shape, &explanation);
    ck_assert_int_eq(explanation.step_ticks, 5000000 * BASE_TICKS_PER_NS);
    ck_assert_double_eq_tol(explanation.device_s, 5e-3, 1e-15);
    ck_assert_double_eq(explanation.rows[COST_OP_QKV].total_s, 0);
    fixture_release(&fixture);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("explain");
    tcase_add_test(tests, operators_have_the_contracted_names);
    tcase_add_test(tests, bubbles_are_what_stages_leave);
    tcase_add_test(tests, rows_add_up_to_the_step);
    tcase_add_test(tests, an_operator_that_is_not_there_is_zero);
    tcase_add_test(tests, work_is_counted_exactly);
    tcase_add_test(tests, moved_bytes_are_counted_exactly);
    tcase_add_test(tests, latent_work_is_counted_exactly);
    tcase_add_test(tests, simple_levels_have_totals_only);
    return fixture_run(tests);
}
