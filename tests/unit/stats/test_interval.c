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

/* mean 3, half width h = 0.654 of it: beyond what value / sqrt(1 - 2 h) can be, so it stays at sqrt(1 / 0.05). */
START_TEST(skewed_intervals_reach_further_right)
{
    const double near[] = {99, 100, 101, 100, 100}, far[] = {1, 2, 3, 4, 5};
    struct stats_interval t = stats_interval_t(near, 5, 0.95, 0.0);
    struct stats_interval skewed = stats_interval_skewed(near, 5, 0.95);
    double h = t.high / 100.0 - 1.0;

    ck_assert_double_eq(skewed.low, t.low);
    ck_assert_double_eq_tol(skewed.high, 100.0 / sqrt(1.0 - 2.0 * h), 1e-9);
    ck_assert_double_eq_tol(skewed.high, t.high, 2.0 * h * h * 100.0);
    skewed = stats_interval_skewed(far, 5, 0.95);
    ck_assert_double_eq_tol(skewed.high, 3.0 * sqrt(20.0), 1e-9);
    skewed = stats_interval_skewed((const double[]){-1, 0, 1}, 3, 0.95);
    ck_assert_double_eq_tol(skewed.high, -skewed.low, 1e-12);
    ck_assert(stats_interval_skewed(near, 1, 0.95).is_withheld);
}
END_TEST

/* 2,000 times 5 means of skewed values (exponential, cubed): Student t covers too seldom, the skewed interval more often. */
START_TEST(skewed_intervals_cover_more)
{
    int t_covers = 0, skewed_covers = 0;

    for (uint64_t trial = 0; trial < 2000; trial++) {
        double means[5] = {0};

        for (uint64_t i = 0; i < 5 * 20; i++)
            means[i / 20] += pow(-log(uniform(trial * 1000 + i)), 3.0) / 20.0;
        struct stats_interval t = stats_interval_t(means, 5, 0.95, 0.0);
        struct stats_interval skewed = stats_interval_skewed(means, 5, 0.95);

        t_covers += t.low <= 6.0 && 6.0 <= t.high; /* E X^3 = 3! */
        skewed_covers += skewed.low <= 6.0 && 6.0 <= skewed.high;
    }
    ck_assert_int_lt(t_covers, 1820);
    ck_assert_int_ge(skewed_covers, t_covers + 60);
}
END_TEST

START_TEST(ratios_of_sums)
{
    struct stats_interval exact =
        stats_interval_ratio((const double[]){2, 4, 6}, (const double[]){1, 2, 3}, 3, 0.95);

    ck_assert_double_eq(exact.value, 2.0);
    ck_assert_double_eq(exact.low, 2.0);
    ck_assert_double_eq(exact.high, 2.0);
    /* Equal denominators: the interval of a mean. */
    struct stats_interval ratio = stats_interval_ratio((const double[]){1, 2, 3, 4, 5},
                                                       (const double[]){1, 1, 1, 1, 1}, 5, 0.95);
    struct stats_interval mean = stats_interval_t((const double[]){1, 2, 3, 4, 5}, 5, 0.95, 0.0);

    ck_assert_double_eq_tol(ratio.low, mean.low, 1e-12);
    ck_assert_double_eq_tol(ratio.high, mean.high, 1e-12);
    ck_assert(
        stats_interval_ratio((const double[]){1, 1}, (const double[]){0, 0}, 2, 0.95).is_withheld);
}
END_TEST

/* Parts of an exponential distribution of mean 1, whose percentiles are known: -log(1 - q). */
static double exponential_at(const void *context, double beyond)
{
    return *(const double *)context * -log(beyond);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

START_TEST(percentiles_are_covered)
{
    enum { PARTS = 5, EACH = 1000, TRIALS = 200 };
    static double values[PARTS][EACH], all[PARTS * EACH];
    const double q = 0.99;
    int covers = 0;

    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double own[PARTS], beyond[PARTS], sum = 0.0;

        for (uint64_t i = 0; i < (uint64_t)PARTS * EACH; i++)
            values[i / EACH][i % EACH] = all[i] = -log(uniform(trial * 100000 + i));
        qsort(all, (size_t)PARTS * EACH, sizeof *all, compare_doubles);
        double pooled = all[(size_t)(q * PARTS * EACH)], scale = pooled / -log(1.0 - q);

        for (size_t p = 0; p < PARTS; p++) {
            qsort(values[p], EACH, sizeof *values[p], compare_doubles);
            own[p] = values[p][(size_t)(q * EACH)];
            sum += own[p];
            beyond[p] = 0.0;
            for (size_t i = 0; i < EACH; i++)
                beyond[p] += values[p][i] > pooled ? 1.0 / EACH : 0.0;
        }
        struct stats_percentile of = {.q = q,
                                      .value = sum / PARTS,
                                      .own = own,
                                      .beyond = beyond,
                                      .count = PARTS,
                                      .effective = EACH,
                                      .pooled = pooled,
                                      .at = exponential_at,
                                      .context = &scale};
        struct stats_interval interval = stats_interval_percentile(&of, 0.95);

        ck_assert(!interval.is_withheld && interval.low <= of.value && of.value <= interval.high);
        ck_assert_str_eq(interval.method, "order_statistics");
        covers += interval.low <= -log(1.0 - q) && -log(1.0 - q) <= interval.high;
    }
    ck_assert_int_ge(covers, TRIALS * 93 / 100 - 4);
    ck_assert_int_le(covers, TRIALS * 99 / 100);
}
END_TEST

START_TEST(equal_parts_have_a_sharp_percentile)
{
    double scale = 1.0, value = -log(0.01);
    const double own[] = {value, value, value}, beyond[] = {0.01, 0.01, 0.01};
    struct stats_percentile of = {.q = 0.99,
                                  .value = value,
                                  .own = own,
                                  .beyond = beyond,
                                  .count = 3,
                                  .effective = (double)INFINITY,
                                  .pooled = value,
                                  .at = exponential_at,
                                  .context = &scale};
    struct stats_interval interval = stats_interval_percentile(&of, 0.95);

    ck_assert_double_eq_tol(interval.low, value, 1e-12);
    ck_assert_double_eq_tol(interval.high, value, 1e-12);
    // Parts that agree know no more than their independent observations: t(0.95, 2) sqrt(0.99 / (3 * 50 * 0.01)).
    of.effective = 50.0;
    interval = stats_interval_percentile(&of, 0.95);
    ck_assert_double_eq_tol(interval.low, value, 1e-12);
    ck_assert_double_eq_tol(log(interval.high / value) * value, 2.919986 * sqrt(0.66), 1e-5);
    of.count = 1;
    ck_assert(stats_interval_percentile(&of, 0.95).is_withheld);
}
END_TEST

/* The chance that at most `hits` of `count` trials of chance `p` are seen. */
static double at_most(int hits, int count, double p)
{
    double term = pow(1 - p, count), sum = 0;
    for (int k = 0; k <= hits; k++) {
        sum += term;
        term *= (count - k) / (k + 1.0) * p / (1 - p);
    }
    return sum;
}

START_TEST(shares_have_the_ends_that_their_chances_define)
{
    double low, high;
    for (int hits = 1; hits < 20; hits++) {
        stats_share_interval((size_t)hits, 20, 0.95, &low, &high);
        ck_assert_double_eq_tol(at_most(hits, 20, high), 0.025, 1e-9);
        ck_assert_double_eq_tol(1 - at_most(hits - 1, 20, low), 0.025, 1e-9);
    }
    stats_share_interval(0, 20, 0.95, &low, &high);
    ck_assert_double_eq(low, 0);
    ck_assert_double_eq_tol(pow(1 - high, 20), 0.025, 1e-9);
    stats_share_interval(20, 20, 0.95, &low, &high);
    ck_assert_double_eq_tol(pow(low, 20), 0.025, 1e-9);
    ck_assert_double_eq(high, 1);
    stats_share_interval(0, 0, 0.95, &low, &high);
    ck_assert(low <= 0 && high >= 1);
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
                                          skewed_intervals_reach_further_right,
                                          skewed_intervals_cover_more,
                                          ratios_of_sums,
                                          percentiles_are_covered,
                                          equal_parts_have_a_sharp_percentile,
                                          shares_have_the_ends_that_their_chances_define,
                                          NULL,
                                      });
}
