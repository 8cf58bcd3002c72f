#include "fixture.h"

static void start(struct fixture *fixture, struct cost_affine_options affine)
{
    fixture_init(fixture, fixture_h100(), fixture_llama8b());
    fixture->options =
        (struct cost_options){.level = COST_AFFINE, .has_level = true, .affine = affine};
    fixture->config.model = NULL;
    fixture->config.hardware = NULL;
    fixture->config.layout = NULL;
    fixture_start(fixture);
}

static const struct cost_affine_options all = {.base_ns = 1e6,
                                               .per_prefill_token_ns = 2000,
                                               .per_prefill_token_context_ns = 0.5,
                                               .per_decode_seq_ns = 300,
                                               .per_context_token_ns = 0.25};

START_TEST(terms_add_up)
{
    struct fixture fixture;
    start(&fixture, all);
    struct cost_shape shape = {0};
    fixture_add_prefill(&fixture, &shape, 2, 100,
                        40); // 200 tokens, 2 * (4000 + 5050) pairs, 280 in the cache
    fixture_add_decode(&fixture, &shape, 5, 60); // 300 in the cache
    int64_t expected_ns = 1000000 + 2000 * 200 + 18100 / 2 + 300 * 5 + 580 / 4;
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, expected_ns * BASE_TICKS_PER_NS);
    fixture_release(&fixture);
}
END_TEST

START_TEST(coefficients_are_rounded_once)
{
    struct fixture fixture;
    start(&fixture, (struct cost_affine_options){.per_context_token_ns = 0.1});
    int64_t beta = 104858; // 0.1 * 2^20 = 104857.6
    struct cost_ramp ramp = {.seq_count = 3, .context_tokens = 1000};
    struct cost_piece piece;
    cost_ramp_piece(fixture.cost, &ramp, 500, &piece);
    ck_assert_int_eq(piece.first_ticks, 1000 * beta);
    ck_assert_int_eq(piece.delta_ticks, 3 * beta);
    ck_assert_int_eq(piece.step_count, 500);
    ck_assert_int_eq(piece.bound, COST_KV_BANDWIDTH);

    struct cost_shape shape = {0};
    fixture_add_prefill(&fixture, &shape, 1, 1, 999);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, 1000 * beta);
    fixture_release(&fixture);
}
END_TEST

START_TEST(a_ramp_is_its_steps)
{
    struct fixture fixture;
    start(&fixture, all);
    struct cost_ramp ramp = {.seq_count = 17, .context_tokens = 5000};
    int64_t at = 0;
    while (at < 3000) {
        struct cost_piece piece;
        cost_ramp_piece(fixture.cost, &ramp, 3000 - at, &piece);
        struct cost_shape shape = {.decode_seq_count = 17};
        for (int64_t i = 0; i < piece.step_count; i += 97) {
            shape.decode_context_tokens = ramp.context_tokens + 17 * i;
            struct cost_result step = cost_step(fixture.cost, &shape);
            ck_assert_int_eq(step.ticks, piece.first_ticks + i * piece.delta_ticks);
            ck_assert_int_eq(step.bound, piece.bound);
        }
        at += piece.step_count;
        ramp.context_tokens += 17 * piece.step_count;
    }
    fixture_release(&fixture);
}
END_TEST

START_TEST(a_rate_is_another_spelling)
{
    struct fixture fixture;
    start(&fixture,
          (struct cost_affine_options){.has_prefill_rate = true, .prefill_rate_per_s = 1e4});
    struct cost_shape shape = {0};
    fixture_add_prefill(&fixture, &shape, 1, 10, 0);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, 1000000 * BASE_TICKS_PER_NS);
    fixture_release(&fixture);
}
END_TEST

START_TEST(no_step_takes_no_time)
{
    struct fixture fixture;
    start(&fixture, (struct cost_affine_options){.per_prefill_token_ns = 5});
    struct cost_piece piece;
    cost_ramp_piece(fixture.cost, &(struct cost_ramp){.seq_count = 1, .context_tokens = 9}, 100,
                    &piece);
    ck_assert_int_eq(piece.first_ticks, 1);
    ck_assert_int_eq(piece.delta_ticks, 0);
    ck_assert_int_eq(piece.step_count, 100);
    fixture_release(&fixture);
}
END_TEST

START_TEST(huge_coefficients_are_held)
{
    struct fixture fixture;
    start(&fixture, (struct cost_affine_options){.base_ns = 1e12,
                                                 .per_prefill_token_ns = 1e12,
                                                 .per_prefill_token_context_ns = 1e12});
    struct cost_shape shape = {0};
    fixture_add_prefill(&fixture, &shape, 1000, 100000, 100000);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks, COST_TICKS_MAX);
    fixture_release(&fixture);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("affine");
    tcase_add_test(tests, terms_add_up);
    tcase_add_test(tests, coefficients_are_rounded_once);
    tcase_add_test(tests, a_ramp_is_its_steps);
    tcase_add_test(tests, a_rate_is_another_spelling);
    tcase_add_test(tests, no_step_takes_no_time);
    tcase_add_test(tests, huge_coefficients_are_held);
    return fixture_run(tests);
}
