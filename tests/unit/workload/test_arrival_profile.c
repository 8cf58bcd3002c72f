#include "support/unit.h"

#include "unit/workload/spec_util.h"

enum { COUNT = 200000 };
#define S INT64_C(1000000000)

static int64_t arrivals[COUNT];

static struct workload_spec profile(const struct workload_stage *stages, size_t count)
{
    struct workload_spec spec = simple_spec(WORKLOAD_PROFILE);

    spec.stages = stages;
    spec.stage_count = count;
    spec.request_limit = 0;
    return spec;
}

/* How many arrivals lie in (from, to], over many seeds, is near what the rate says. */
static void check_window(const struct workload_spec *spec, int64_t from_ns, int64_t to_ns,
                         double expected)
{
    double sum = 0.0;
    const int seeds = 6;

    for (int seed = 1; seed <= seeds; seed++) {
        size_t count = take_arrivals(spec, (uint64_t)seed, arrivals, COUNT);

        for (size_t i = 0; i < count; i++)
            sum += arrivals[i] > from_ns && arrivals[i] <= to_ns;
    }
    ck_assert_msg(fabs(sum - expected * seeds) <= 4.0 * sqrt(expected * seeds),
                  "%g arrivals, not %g", sum / seeds, expected);
}

START_TEST(steps_ramps_and_sinus_follow_the_rate)
{
    static const struct workload_stage stages[] = {
        {.rate_per_s = 50, .duration_ns = 10 * S},
        {.rate_per_s = 10, .rate_end_per_s = 90, .duration_ns = 20 * S},
        {.rate_per_s = 40, .amplitude = 1.0, .period_ns = 20 * S, .duration_ns = 40 * S},
        {.rate_per_s = 90, .rate_end_per_s = 10, .duration_ns = 10 * S},
    };
    struct workload_spec spec = profile(stages, 4);

    check_window(&spec, 0, 5 * S, 250);
    check_window(&spec, 10 * S, 20 * S, 300); /* 10 ... 50 */
    check_window(&spec, 20 * S, 30 * S, 700); /* 50 ... 90 */
    /* half a period: 10 s (1 + A 2 / pi) 40/s */
    check_window(&spec, 30 * S, 40 * S, 400.0 * (1.0 + 2.0 / 3.14159265358979));
    check_window(&spec, 40 * S, 50 * S, 400.0 * (1.0 - 2.0 / 3.14159265358979));
    check_window(&spec, 70 * S, 75 * S, 350);  /* 90 ... 50 */
    check_window(&spec, 80 * S, INT64_MAX, 0); /* without limits the profile runs once */
}
END_TEST

START_TEST(constant_stages_are_poisson_with_the_same_draws)
{
    static const struct workload_stage stage = {.rate_per_s = 4, .duration_ns = 1000 * S};
    static int64_t poisson[1000];
    struct workload_spec spec = profile(&stage, 1), plain = simple_spec(WORKLOAD_POISSON);

    spec.request_limit = 1000;
    ck_assert_uint_eq(take_arrivals(&spec, 5, arrivals, COUNT), 1000);
    take_arrivals(&plain, 5, poisson, 1000);
    ck_assert_mem_eq(poisson, arrivals, sizeof poisson);
}
END_TEST

START_TEST(the_inverse_is_the_inverse)
{
    /* Expected counts between neighbours are unit exponentials: their mean is 1, and 1 in e^2 is
     * above 2. */
    static const struct workload_stage stages[] = {
        {.rate_per_s = 2000, .amplitude = 0.9, .period_ns = 3 * S, .duration_ns = 10 * S}};
    struct workload_spec spec = profile(stages, 1);
    size_t count = take_arrivals(&spec, 11, arrivals, COUNT), above = 0;
    double omega = 6.283185307179586 / 3.0, before = 0.0, sum = 0.0;

    ck_assert_uint_gt(count, 10000);
    for (size_t i = 0; i < count; i++) {
        double t = (double)arrivals[i] / 1e9,
               upto = 2000.0 * (t + 0.9 / omega * (1.0 - cos(omega * t)));

        sum += upto - before;
        above += upto - before > 2.0;
        before = upto;
    }
    ck_assert_double_eq_tol(sum / (double)count, 1.0, 0.03);
    ck_assert_double_eq_tol((double)above / (double)count, exp(-2.0), 0.012);
}
END_TEST

START_TEST(deterministic_stages_are_exact)
{
    static const struct workload_stage stages[] = {
        {.rate_per_s = 3, .duration_ns = 2 * S, .deterministic = true},
        {.rate_per_s = 0.1, .duration_ns = 100 * S, .deterministic = true},
        {.rate_per_s = 2, .rate_end_per_s = 6, .duration_ns = S, .deterministic = true},
    };
    struct workload_spec spec = profile(stages, 3);

    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 6 + 10 + 4);
    ck_assert_int_eq(arrivals[0], 333333333);
    ck_assert_int_eq(arrivals[5], 2 * S); /* the end of the stage belongs to it */
    ck_assert_int_eq(arrivals[6], 12 * S);
    ck_assert_int_eq(arrivals[15], 102 * S);
    /* 2 t + 2 t^2 = 1: t = (sqrt(3) - 1) / 2 */
    ck_assert_int_eq(arrivals[16], 102 * S + 366025404);
    ck_assert_int_eq(arrivals[19], 103 * S);
}
END_TEST

START_TEST(profiles_repeat_while_the_run_goes_on)
{
    static const struct workload_stage stages[] = {
        {.rate_per_s = 2, .duration_ns = S, .deterministic = true},
        {.rate_per_s = 0, .duration_ns = 4 * S},
    };
    struct workload_spec spec = profile(stages, 2);

    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 2);
    spec.duration_ns = 11 * S;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 6);
    ck_assert_int_eq(arrivals[4], 10 * S + S / 2);
    spec.duration_ns = 0;
    spec.request_limit = 9;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 9);
    ck_assert_int_eq(arrivals[8], 20 * S + S / 2);
}
END_TEST

START_TEST(stages_that_make_no_sense)
{
    static const struct workload_stage bad[] = {
        {.rate_per_s = 2, .duration_ns = 0},
        {.rate_per_s = -2, .duration_ns = S},
        {.rate_per_s = (double)INFINITY, .duration_ns = S},
        {.rate_per_s = 2, .duration_ns = S, .amplitude = 1.5, .period_ns = S},
        {.rate_per_s = 2, .duration_ns = S, .amplitude = 0.5},
        {.rate_per_s = 2, .rate_end_per_s = 3, .duration_ns = S, .amplitude = 0.5, .period_ns = S},
        {.rate_per_s = 0, .duration_ns = S},
        {.rate_per_s = 0.5, .duration_ns = S, .deterministic = true},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct workload_spec spec = profile(&bad[i], 1);

        check_open_refused(&spec, "stages");
    }
}
END_TEST

START_TEST(options_become_stages)
{
    struct workload_stage_opts stages[] = {
        {.rate_per_s = 5, .duration_ns = S, .process = WORKLOAD_DETERMINISTIC},
        {.rate_per_s = 5, .amplitude = 0.5, .duration_ns = 7 * S, .process = WORKLOAD_POISSON}};
    struct workload_arrival_opts opts = {.stages = {.at = stages, .count = 2}};
    struct base_arena arena;
    struct workload_spec spec = {0};
    struct kvsim_error err = {0};

    base_arena_init(&arena);
    ck_assert_int_eq(workload_arrival_profile.compile(&opts, &arena, &spec, &err), KVSIM_OK);
    ck_assert_uint_eq(spec.stage_count, 2);
    ck_assert(spec.stages[0].deterministic && !spec.stages[1].deterministic);
    ck_assert_int_eq(spec.stages[1].period_ns, 7 * S); /* one period unless written */
    stages[1].amplitude = 3;
    ck_assert_int_eq(workload_arrival_profile.compile(&opts, &arena, &spec, &err),
                     KVSIM_ERR_SCENARIO);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    return unit_run("workload.arrival_profile", (const TTest *const[]){
                                                    steps_ramps_and_sinus_follow_the_rate,
                                                    constant_stages_are_poisson_with_the_same_draws,
                                                    the_inverse_is_the_inverse,
                                                    deterministic_stages_are_exact,
                                                    profiles_repeat_while_the_run_goes_on,
                                                    stages_that_make_no_sense,
                                                    options_become_stages,
                                                    NULL,
                                                });
}
