#include "support/unit.h"

#include "unit/workload/spec_util.h"

enum { COUNT = 100000 };

static int64_t arrivals[COUNT];

static struct workload_spec mmpp(const struct workload_mmpp_state *states, size_t count)
{
    struct workload_spec spec = simple_spec(WORKLOAD_MMPP);

    spec.states = states;
    spec.state_count = count;
    spec.request_limit = COUNT;
    return spec;
}

/*
 * Two states: mean rate = time-weighted, and the index of dispersion of counts over long windows 1
 * + 2 (a - b)^2 p q / (mean (1/s + 1/t)) with s, t the mean dwells, p = s / (s + t) (Heffes and
 * Lucantoni 1986).
 */
START_TEST(rate_and_dispersion_of_two_states)
{
    static const struct workload_mmpp_state states[] = {{40, 1.0}, {4, 3.0}};
    enum { WINDOWS = 150 };
    struct workload_spec spec = mmpp(states, 2);
    double mean = 13.0,
           expected = 1.0 + 2.0 * 36.0 * 36.0 * 0.25 * 0.75 / (mean * (1.0 + 1.0 / 3.0));
    double sum = 0.0, squares = 0.0, n = 0.0;

    for (uint64_t seed = 1; seed <= 2; seed++) {
        size_t count = take_arrivals(&spec, seed, arrivals, COUNT), i = 0;

        ck_assert_uint_eq(count, COUNT);
        for (int64_t w = 1; w <= WINDOWS; w++, n += 1.0) { /* windows of 40 s, ten cycles each */
            size_t first = i;

            while (i < count && arrivals[i] <= w * INT64_C(40000000000))
                i++;
            sum += (double)(i - first);
            squares += (double)(i - first) * (double)(i - first);
        }
    }
    ck_assert_double_eq_tol(sum / n / 40.0 / mean, 1.0, 0.05);
    ck_assert_double_eq_tol((squares / n - sum / n * (sum / n)) / (sum / n) / expected, 1.0, 0.3);
}
END_TEST

START_TEST(one_state_is_poisson)
{
    static const struct workload_mmpp_state state = {4, 1e7};
    static int64_t poisson[1000];
    struct workload_spec spec = mmpp(&state, 1), plain = simple_spec(WORKLOAD_POISSON);

    take_arrivals(&spec, 5, arrivals, 1000);
    take_arrivals(&plain, 5, poisson, 1000);
    ck_assert_mem_eq(poisson, arrivals, sizeof poisson);
}
END_TEST

START_TEST(silent_states_have_no_arrivals)
{
    static const struct workload_mmpp_state states[] = {{1000, 0.01}, {0, 1.0}};
    struct workload_spec spec = mmpp(states, 2);
    size_t pauses = 0;

    spec.request_limit = 2000;
    take_arrivals(&spec, 2, arrivals, COUNT);
    for (size_t i = 1; i < 2000; i++)
        pauses += arrivals[i] - arrivals[i - 1] > 50000000;
    /* 10 arrivals a burst, of which 1 in 11 is empty; most pauses are longer than 50 ms. */
    ck_assert_uint_gt(pauses, 130);
    ck_assert_uint_lt(pauses, 260);
}
END_TEST

START_TEST(the_start_is_stationary)
{
    static const struct workload_mmpp_state states[] = {{100, 1.0}, {0.01, 3.0}};
    struct workload_spec spec = mmpp(states, 2);
    unsigned busy = 0;

    spec.request_limit = 1;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        take_arrivals(&spec, seed, arrivals, 1);
        busy += arrivals[0] < 60000000;
    }
    ck_assert_double_eq_tol(busy / 300.0, 0.25, 0.1);
}
END_TEST

START_TEST(states_that_make_no_sense)
{
    static const struct workload_mmpp_state bad[] = {
        {-1, 1}, {5, 0}, {5, (double)NAN}, {0, 5}, {(double)INFINITY, 1}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct workload_spec spec = mmpp(&bad[i], 1);

        check_open_refused(&spec, "states");
    }
}
END_TEST

START_TEST(options_become_states)
{
    struct workload_state_opts states[] = {{.rate_per_s = 5, .mean_dwell_ns = 1500000000}};
    struct workload_arrival_opts opts = {.states = {.at = states, .count = 1}};
    struct base_arena arena;
    struct workload_spec spec = {0};

    base_arena_init(&arena);
    ck_assert_int_eq(workload_arrival_mmpp.compile(&opts, &arena, &spec, NULL), KVSIM_OK);
    ck_assert_double_eq(spec.states[0].mean_dwell_s, 1.5);
    states[0].mean_dwell_ns = 0;
    ck_assert_int_eq(workload_arrival_mmpp.compile(&opts, &arena, &spec, NULL), KVSIM_ERR_SCENARIO);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    return unit_run("workload.arrival_mmpp", (const TTest *const[]){
                                                 rate_and_dispersion_of_two_states,
                                                 one_state_is_poisson,
                                                 silent_states_have_no_arrivals,
                                                 the_start_is_stationary,
                                                 states_that_make_no_sense,
                                                 options_become_states,
                                                 NULL,
                                             });
}
