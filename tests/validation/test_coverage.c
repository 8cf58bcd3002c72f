/*
 * The coverage experiment of bench/coverage in small: truths against closed forms, intervals against the truth, paired
 * against unpaired, and what is called overloaded.
 */
#include "support/unit.h"

#include "coverage/cell.h"

#include <math.h>

#define FOLDER KVSIM_TEST_DATA "/bench/coverage"

static struct cell cell_of(bool is_geometric, double utilization, int64_t requests, size_t seeds)
{
    return (struct cell){.queue = {is_geometric, 100, 0.01, utilization},
                         .requests = requests,
                         .replications = 5,
                         .seeds = seeds};
}

static struct cell_result run(const struct cell *cell)
{
    struct cell_result result;
    struct kvsim_error err = {0};
    ck_assert_msg(cell_run(FOLDER, cell, NULL, NULL, &result, &err) == KVSIM_OK, "%s", err.message);
    return result;
}

/* With many short steps M/Geo/1 is M/M/1, whose sojourn is exponential and whose wait is, but for the part without one. */
START_TEST(short_steps_are_m_m_1)
{
    struct queue queue = {true, 1000, 0.001, 0.8};
    struct queue_truth truth;
    queue_solve(&queue, &truth);
    ck_assert_double_eq_tol(truth.sojourn_mean_s, 5.0, 0.01);
    ck_assert_double_eq_tol(truth.sojourn_p99_s / (5.0 * log(100.0)), 1.0, 0.002);
    ck_assert_double_eq_tol(truth.wait_p99_s / (5.0 * log(80.0)), 1.0, 0.002);
    ck_assert_double_eq_tol(truth.mean_error, 0.0, 1e-4);
}
END_TEST

/* Erlang: P(W <= t) = (1 - rho) sum over k <= t of (-rho (t - k))^k / k! e^{rho (t - k)}, service time 1. */
static double md1_wait(double rho, double t)
{
    double sum = 0;
    for (int k = 0; k <= (int)t; k++) {
        sum += pow(-rho * (t - k), k) / tgamma(k + 1.0) * exp(rho * (t - k));
    }
    return (1 - rho) * sum;
}

START_TEST(constant_steps_are_m_d_1)
{
    for (int i = 5; i < 9; i++) {
        struct queue queue = {false, 100, 0.01, i / 10.0};
        struct queue_truth truth;
        queue_solve(&queue, &truth);
        ck_assert_double_eq_tol(truth.wait_mean_s, i / 10.0 / 2 / (1 - i / 10.0), 1e-12);
        ck_assert_double_eq_tol(truth.mean_error, 0.0, 1e-4);
        ck_assert_double_eq_tol(md1_wait(i / 10.0, truth.wait_p99_s), 0.99, 1e-5);
        ck_assert_double_eq_tol(truth.sojourn_p99_s, truth.wait_p99_s + 1, 1e-3);
    }
}
END_TEST

/* 30 of 40 intervals of 95 % would be found less often than once in a million. */
START_TEST(intervals_cover)
{
    const struct cell cells[] = {cell_of(true, 0.5, 4000, 40), cell_of(false, 0.8, 4000, 40)};
    for (size_t i = 0; i < 2; i++) {
        struct cell_result result = run(&cells[i]);
        for (size_t f = 0; f < CELL_FIGURES; f++) {
            const struct cell_count *count = &result.figures[f];
            ck_assert_uint_eq(count->printed, 40);
            ck_assert_msg(count->covered >= 33, "%s %s: %zu of 40", count->name, count->statistic,
                          count->covered);
            ck_assert_double_eq_tol(count->bias_sum / 40, 0.0, 0.05);
        }
        ck_assert_uint_eq(result.overloaded, 0);
        ck_assert_uint_le(result.not_settled, 2);
    }
}
END_TEST

START_TEST(pairs_are_narrower)
{
    struct cell low = cell_of(true, 0.80, 4000, 20), high = cell_of(true, 0.82, 4000, 20);
    struct pair_count pair;
    struct kvsim_error err = {0};
    ck_assert(pair_run(FOLDER, &low, &high, "mean", &pair, &err) == KVSIM_OK);
    ck_assert_uint_ge(pair.covered_paired, 16);
    ck_assert(pair.width_unpaired > 2 * pair.width_paired);
}
END_TEST

static void see_that_it_ended_early(void *context, size_t index, const struct record_run *run)
{
    (void)context;
    (void)index;
    const struct record_metric *mean = record_run_metric(run, "e2e", "mean", "");
    ck_assert_str_eq(record_get_text(run, RECORD_STATUS), "overloaded");
    ck_assert(record_get_real(run, RECORD_REQUESTS) < 15000);
    ck_assert_str_eq(mean->method, "growing");
    ck_assert(isnan(mean->ci_low) && isnan(mean->ci_high));
}

START_TEST(an_overload_ends_early)
{
    struct cell cell = cell_of(true, 0.8, 20000, 3);
    struct cell_result result;
    struct kvsim_error err = {0};
    cell.rate_factor = 1.5; // rho 1.2
    ck_assert(cell_run(FOLDER, &cell, see_that_it_ended_early, NULL, &result, &err) == KVSIM_OK);
    ck_assert_uint_eq(result.overloaded, 3);
}
END_TEST

START_TEST(a_busy_queue_is_no_overload)
{
    struct cell cell = cell_of(true, 0.95, 10000, 6);
    struct cell_result result = run(&cell);
    ck_assert_uint_eq(result.overloaded, 0);
    ck_assert_uint_eq(result.near_saturation, 6);
}
END_TEST

int main(void)
{
    return unit_run("validation.coverage", (const TTest *const[]){
                                               short_steps_are_m_m_1,
                                               constant_steps_are_m_d_1,
                                               intervals_cover,
                                               pairs_are_narrower,
                                               an_overload_ends_early,
                                               a_busy_queue_is_no_overload,
                                               NULL,
                                           });
}
