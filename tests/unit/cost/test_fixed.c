#include "fixture.h"

static void start(struct fixture *fixture, int64_t step_ns)
{
    fixture_init(fixture, fixture_h100(), fixture_llama8b());
    fixture->options =
        (struct cost_options){.level = COST_FIXED, .has_level = true, .fixed_step_ns = step_ns};
    fixture->config.model = NULL;
    fixture->config.hardware = NULL;
    fixture->config.layout = NULL;
}

START_TEST(every_step_lasts_the_same)
{
    struct fixture fixture;
    start(&fixture, 10000000);
    fixture_start(&fixture);
    struct cost_shape prefill = {0}, decode = {0};
    fixture_add_prefill(&fixture, &prefill, 3, 500, 20);
    fixture_add_decode(&fixture, &decode, 7, 300);
    ck_assert_int_eq(cost_step(fixture.cost, &prefill).ticks, 10000000 * BASE_TICKS_PER_NS);
    ck_assert_int_eq(cost_step(fixture.cost, &decode).ticks, 10000000 * BASE_TICKS_PER_NS);

    struct cost_ramp ramp = {.seq_count = 1024, .context_tokens = 5000};
    struct cost_piece piece;
    cost_ramp_piece(fixture.cost, &ramp, 1000000, &piece);
    ck_assert_int_eq(piece.step_count, 1000000);
    ck_assert_int_eq(piece.first_ticks, 10000000 * BASE_TICKS_PER_NS);
    ck_assert_int_eq(piece.delta_ticks, 0);
    fixture_release(&fixture);
}
END_TEST

START_TEST(host_adds_or_hides)
{
    struct fixture fixture;
    start(&fixture, 1000);
    fixture.options.has_host_per_step = fixture.options.has_host_per_sequence = true;
    fixture.options.host_per_step_ns = 500;
    fixture.options.host_per_sequence_ns = 100;
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    fixture_add_decode(&fixture, &shape, 3, 10);
    fixture_add_prefill(&fixture, &shape, 1, 10, 0);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, 1900 * BASE_TICKS_PER_NS);

    fixture.config.async_scheduling = true;
    fixture_start(&fixture);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, 1000 * BASE_TICKS_PER_NS);
    fixture_add_decode(&fixture, &shape, 4, 10);
    struct cost_result hidden = cost_step(fixture.cost, &shape); // 500 + 8 * 100
    ck_assert_int_eq(hidden.ticks, 1300 * BASE_TICKS_PER_NS);
    ck_assert_int_eq(hidden.bound, COST_HOST);

    fixture.options.has_host_overlap = true; // stated: overrides the engine's scheduling
    fixture_start(&fixture);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, 2300 * BASE_TICKS_PER_NS);
    fixture_release(&fixture);
}
END_TEST

START_TEST(a_step_must_take_time)
{
    struct fixture fixture;
    start(&fixture, 0);
    ck_assert_int_eq(fixture_try(&fixture), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(fixture.err.message, "step"));
    fixture_release(&fixture);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("fixed");
    tcase_add_test(tests, every_step_lasts_the_same);
    tcase_add_test(tests, host_adds_or_hides);
    tcase_add_test(tests, a_step_must_take_time);
    return fixture_run(tests);
}
