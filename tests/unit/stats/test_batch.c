#include "support/unit.h"

#include "stats/batch.h"

#include "base/hash.h"

#include <math.h>

static double uniform(uint64_t i)
{
    return ((double)(base_mix64(i) >> 11) + 0.5) * 0x1.0p-53;
}

static double normal(uint64_t i)
{
    return sqrt(-2.0 * log(uniform(2 * i))) * cos(6.283185307179586 * uniform(2 * i + 1));
}

/* x_k = r x_{k-1} + noise, from its steady state. */
static void fill_ar(double *out, size_t count, double r, uint64_t seed)
{
    double x = normal(seed * 100000) / sqrt(1.0 - r * r);
    for (size_t i = 0; i < count; i++) {
        x = r * x + normal(seed * 100000 + 1 + i);
        out[i] = x;
    }
}

START_TEST(independent_values_are_not_correlated)
{
    size_t found = 0;
    double values[50];
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        fill_ar(values, 50, 0.0, seed);
        found += stats_is_correlated(values, 50);
    }
    ck_assert_uint_ge(found, 25); // 5 % of 1,000, within four standard errors
    ck_assert_uint_le(found, 78);
}
END_TEST

START_TEST(correlated_values_are_found)
{
    size_t found = 0;
    double values[50];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        fill_ar(values, 50, 0.8, seed);
        found += stats_is_correlated(values, 50);
    }
    ck_assert_uint_ge(found, 98);
    ck_assert(!stats_is_correlated((const double[]){3, 3, 3, 3, 3}, 5));
}
END_TEST

START_TEST(batches_grow_with_the_correlation)
{
    double values[60];
    fill_ar(values, 60, 0.0, 7);
    ck_assert_uint_eq(stats_batch_width(values, 60), 60 / STATS_BATCHES_MOST);
    ck_assert_uint_eq(stats_batch_width(values, STATS_BATCHES_LEAST - 1), 0);
    for (size_t i = 0; i < 60; i++)
        values[i] = (double)i; // a slope: batches of any width resemble their neighbours
    ck_assert_uint_eq(stats_batch_width(values, 60), 0);
}
END_TEST

/* Means of 25 independent values of variance 4 are worth 25 each. */
START_TEST(independent_values_count_in_full)
{
    enum { BATCHES = 400, WIDTH = 25 };
    double means[BATCHES] = {0};
    for (size_t i = 0; i < (size_t)BATCHES * WIDTH; i++)
        means[i / WIDTH] += 2.0 * normal(i) / WIDTH;
    double effective = stats_effective_count(means, BATCHES, 4.0);
    ck_assert_double_eq_tol(effective / (BATCHES * WIDTH), 1.0, 0.3);
    ck_assert(isinf(stats_effective_count((const double[]){2, 2, 2}, 3, 1.0)));
}
END_TEST

START_TEST(the_start_is_cut_where_it_differs)
{
    double values[40];
    for (size_t i = 0; i < 40; i++)
        values[i] = (i < 9 ? 10.0 * (double)(9 - i) : 0.0) + 0.1 * normal(i);
    size_t cut = stats_mser(values, 40);
    ck_assert_uint_ge(cut, 8);
    ck_assert_uint_le(cut, 12);
    // Never more than half, even of a line.
    for (size_t i = 0; i < 40; i++)
        values[i] = (double)i;
    ck_assert_uint_eq(stats_mser(values, 40), 20);
}
END_TEST

/* Of 2,000 walks without drift hardly one rises by four standard errors. */
START_TEST(a_walk_does_not_rise)
{
    size_t beyond = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        double levels[32], rise, error;
        levels[0] = 0;
        for (size_t i = 1; i < 32; i++)
            levels[i] = levels[i - 1] + normal(seed * 1000 + i);
        stats_rise(levels, 32, &rise, &error);
        beyond += rise > 4.0 * error;
    }
    ck_assert_uint_le(beyond, 3);
}
END_TEST

START_TEST(a_drift_rises)
{
    double levels[32], rise, error;
    for (size_t i = 0; i < 32; i++)
        levels[i] = 2.0 * (double)i + normal(i);
    stats_rise(levels, 32, &rise, &error);
    ck_assert_double_eq_tol(rise, 62.0, 5.0);
    ck_assert(rise > 4.0 * error);
    stats_rise((const double[]){1, 3, 5, 7, 9}, 5, &rise, &error);
    ck_assert_double_eq(rise, 8.0);
    ck_assert_double_eq(error, 0.0);
}
END_TEST

int main(void)
{
    return unit_run("stats.batch", (const TTest *const[]){
                                       independent_values_are_not_correlated,
                                       correlated_values_are_found,
                                       batches_grow_with_the_correlation,
                                       independent_values_count_in_full,
                                       the_start_is_cut_where_it_differs,
                                       a_walk_does_not_rise,
                                       a_drift_rises,
                                       NULL,
                                   });
}
