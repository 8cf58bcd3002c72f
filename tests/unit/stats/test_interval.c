#include "support/unit.h"

#include "stats/interval.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

static double uniform(uint64_t i)
{
    return ((double)(base_mix64(i) >> 11) + 0.5) * 0x1.0p-53;
}

/* Box and Muller. */
static double normal(uint64_t i)
{
    return sqrt(-2.0 * log(uniform(2 * i))) * cos(6.283185307179586 * uniform(2 * i + 1));
}

/* t(0.975, 4) = 2.7764451, s = 1.5811388, so 3 +- 1.9632432 */
START_TEST(student_t)
{
    struct stats_interval interval =
        stats_interval_t((const double[]){1, 2, 3, 4, 5}, 5, 0.95, 0.0);

    ck_assert_double_eq(interval.value, 3.0);
    ck_assert_double_eq_tol(interval.low, 3.0 - 1.96324316, 1e-7);
    ck_assert_double_eq_tol(interval.high, 3.0 + 1.96324316, 1e-7);
    ck_assert(!interval.is_withheld);
    ck_assert_str_eq(interval.method, "student_t");
}
END_TEST

START_TEST(never_narrower_than_the_resolution)
{
    struct stats_interval interval =
        stats_interval_t((const double[]){200, 200, 200}, 3, 0.95, 0.005);

    ck_assert_double_eq_tol(interval.low, 199.0, 1e-12);
    ck_assert_double_eq_tol(interval.high, 201.0, 1e-12);
}
END_TEST

START_TEST(what_has_no_interval)
{
    struct stats_interval interval = stats_interval_t((const double[]){7}, 1, 0.95, 0.0);

    ck_assert(interval.is_withheld && isnan(interval.low) && isnan(interval.high));
    ck_assert_double_eq(interval.value, 7.0);
    ck_assert_str_eq(interval.method, "none");
    interval = stats_interval_t((const double[]){7, (double)NAN, 9}, 3, 0.95, 0.0);
    ck_assert(interval.is_withheld);
    ck_assert_double_eq(interval.value, 8.0);
    interval = stats_interval_t(NULL, 0, 0.95, 0.0);
    ck_assert(interval.is_withheld && isnan(interval.value));
}
END_TEST

/* 2,000 intervals of 5 normal values each: 95 % of them hold the mean, within 4 standard errors. */
START_TEST(intervals_cover)
{
    unsigned hits = 0;

    for (uint64_t i = 0; i < 2000; i++) {
        double values[5];
        struct stats_interval interval;

        for (uint64_t k = 0; k < 5; k++)
            values[k] = 10.0 + normal(i * 5 + k);
        interval = stats_interval_t(values, 5, 0.95, 0.0);
        hits += interval.low <= 10.0 && interval.high >= 10.0;
    }
    ck_assert_double_eq_tol(hits / 2000.0, 0.95, 0.0195);
}
END_TEST

START_TEST(a_quantile_needs_ten_beyond_it)
{
    size_t needed;

    ck_assert(stats_quantile_is_supported(1000, 0.99, &needed));
    ck_assert_uint_eq(needed, 1000);
    ck_assert(!stats_quantile_is_supported(999, 0.99, &needed));
    ck_assert(stats_quantile_is_supported(20, 0.5, &needed));
    ck_assert_uint_eq(needed, 20);
    ck_assert(!stats_quantile_is_supported(199, 0.95, &needed));
    ck_assert_uint_eq(needed, 200);
}
END_TEST

START_TEST(a_trend_is_told_from_noise)
{
    double values[64], slope, p_value;
    unsigned alarms = 0;

    for (uint64_t i = 0; i < 64; i++)
        values[i] = 5.0 + 0.1 * (double)i + normal(i);
    stats_trend(values, 64, &slope, &p_value);
    ck_assert_double_eq_tol(slope, 0.1, 0.03);
    ck_assert_double_lt(p_value, 1e-6);
    for (uint64_t run = 1; run <= 400; run++) {
        for (uint64_t i = 0; i < 64; i++)
            values[i] = normal(run * 1000 + i);
        stats_trend(values, 64, &slope, &p_value);
        alarms += p_value < 0.05;
    }
    ck_assert_uint_le(alarms, 36); /* 20 expected, sd 4.4 */
    ck_assert_uint_ge(alarms, 4);
}
END_TEST

/* A wandering but stationary series: plain least squares would see a trend in a third of them. */
START_TEST(correlated_noise_is_no_trend)
{
    double values[64], slope, p_value;
    unsigned alarms = 0;

    for (uint64_t run = 1; run <= 400; run++) {
        double level = normal(run * 1000 + 999);

        for (uint64_t i = 0; i < 64; i++) {
            level = 0.7 * level + sqrt(1.0 - 0.49) * normal(run * 1000 + i);
            values[i] = level;
        }
        stats_trend(values, 64, &slope, &p_value);
        alarms += p_value < 0.05;
    }
    ck_assert_uint_le(alarms, 60);
}
END_TEST

START_TEST(trends_without_noise)
{
    double slope, p_value;

    stats_trend((const double[]){1, 2, 3, 4, 5, 6}, 6, &slope, &p_value);
    ck_assert_double_eq_tol(slope, 1.0, 1e-12);
    ck_assert_double_lt(p_value, 1e-6);
    stats_trend((const double[]){6, 5, 4, 3, 2, 1}, 6, &slope, &p_value);
    ck_assert_double_gt(p_value, 0.999);
    stats_trend((const double[]){4, 4, 4, 4}, 4, &slope, &p_value);
    ck_assert_double_eq(slope, 0.0);
    ck_assert_double_gt(p_value, 0.4);
    stats_trend((const double[]){1, 9}, 2, &slope, &p_value);
    ck_assert_double_eq(p_value, 1.0);
}
END_TEST

START_TEST(small_terms_are_not_lost)
{
    ck_assert_double_eq(stats_sum((const double[]){1e100, 1.0, -1e100, 1.0}, 4), 2.0);
    ck_assert(isinf(stats_sum((const double[]){INFINITY, 1.0}, 2)));
    ck_assert_double_eq(stats_sum(NULL, 0), 0.0);
}
END_TEST

int main(void)
{
    return unit_run("stats.interval", (const TTest *const[]){
                                          student_t,
                                          never_narrower_than_the_resolution,
                                          what_has_no_interval,
                                          intervals_cover,
                                          a_quantile_needs_ten_beyond_it,
                                          a_trend_is_told_from_noise,
                                          correlated_noise_is_no_trend,
                                          trends_without_noise,
                                          small_terms_are_not_lost,
                                          NULL,
                                      });
}
