#include "support/unit.h"

#include "stats/hist.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

enum { SUB = 1 << STATS_SUB_BITS };

static uint64_t dice(uint64_t *state, uint64_t below)
{
    *state += 1;
    return base_mix64(*state) % below;
}

/* Equal in every observable and every count; exact values as a multiset. */
static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool same_state(struct stats_hist *a, struct stats_hist *b)
{
    static const uint64_t zeros[SUB];
    bool same = a->count == b->count && a->sum_ticks == b->sum_ticks && a->min == b->min &&
                a->max == b->max && (a->exact == NULL) == (b->exact == NULL);

    for (size_t i = 0; i < STATS_OCTAVES; i++)
        same = same && memcmp(a->octaves[i] ? a->octaves[i] : zeros,
                              b->octaves[i] ? b->octaves[i] : zeros, sizeof zeros) == 0;
    if (same && a->exact != NULL) {
        qsort(a->exact, a->count, sizeof *a->exact, compare);
        qsort(b->exact, b->count, sizeof *b->exact, compare);
        same = memcmp(a->exact, b->exact, a->count * sizeof *a->exact) == 0;
    }
    return same;
}

START_TEST(buckets_tile_the_integers)
{
    int64_t values[] = {0,   1,   127, 128,     255,           256,      257,
                        258, 511, 512, 1000000, INT64_MAX / 2, INT64_MAX};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        size_t bucket = stats_bucket_of(values[i]);

        ck_assert_int_le(stats_bucket_low(bucket), values[i]);
        ck_assert_int_ge(stats_bucket_low(bucket + 1), values[i]);
        ck_assert_uint_lt(bucket, (size_t)STATS_OCTAVES * SUB);
    }
    for (int64_t v = 0; v < 256; v++)
        ck_assert_int_eq(stats_bucket_low(stats_bucket_of(v)), v);
    for (size_t bucket = 0; bucket < 50 * SUB; bucket++) {
        int64_t low = stats_bucket_low(bucket), next = stats_bucket_low(bucket + 1);

        if (stats_bucket_of(low) != bucket || stats_bucket_of(next - 1) != bucket ||
            (low >= 256 && (next - low) * 128 > low))
            ck_abort_msg("bucket %zu: %lld to %lld", bucket, (long long)low, (long long)next);
    }
}
END_TEST

START_TEST(nothing_has_no_mean)
{
    struct stats_hist hist;

    stats_hist_init(&hist);
    ck_assert(isnan(stats_hist_mean_ns(&hist)));
    ck_assert(isnan(stats_hist_quantile_ns(&hist, 0.5)));
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, 5), 0);
    ck_assert(stats_hist_is_exact(&hist));
    stats_hist_add(&hist, 5, 0);
    ck_assert_uint_eq(hist.count, 0);
    stats_hist_release(&hist);
}
END_TEST

/* numpy.percentile([15, 20, 35, 40, 50], [5, 30, 40, 95, 100]) = 16, 23, 29, 48, 50 */
START_TEST(few_values_are_exact)
{
    static const int64_t values[] = {40, 15, 50, 35, 20};
    struct stats_hist hist;

    stats_hist_init(&hist);
    for (size_t i = 0; i < 5; i++)
        stats_hist_add(&hist, values[i], 1);
    ck_assert_double_eq_tol(stats_hist_quantile_ns(&hist, 0.05), 16.0, 1e-12);
    ck_assert_double_eq_tol(stats_hist_quantile_ns(&hist, 0.30), 23.0, 1e-12);
    ck_assert_double_eq_tol(stats_hist_quantile_ns(&hist, 0.40), 29.0, 1e-12);
    ck_assert_double_eq_tol(stats_hist_quantile_ns(&hist, 0.95), 48.0, 1e-12);
    ck_assert_double_eq(stats_hist_quantile_ns(&hist, 0.0), 15.0);
    ck_assert_double_eq(stats_hist_quantile_ns(&hist, 1.0), 50.0);
    ck_assert_double_eq(stats_hist_mean_ns(&hist), 32.0);
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, 14), 0);
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, 35), 3);
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, 49), 4);
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, 50), 5);
    stats_hist_release(&hist);
}
END_TEST

START_TEST(weights_count_as_so_many_values)
{
    struct stats_hist hist;

    stats_hist_init(&hist);
    stats_hist_add(&hist, 1000, 3);
    stats_hist_add(&hist, 2000, 1);
    ck_assert_double_eq(stats_hist_quantile_ns(&hist, 0.5), 1000.0);
    ck_assert_double_eq(stats_hist_mean_ns(&hist), 1250.0);
    stats_hist_add(&hist, 3000, STATS_EXACT_MAX - 4);
    ck_assert(stats_hist_is_exact(&hist));
    ck_assert_ptr_nonnull(hist.exact);
    stats_hist_add(&hist, 3000, 1);
    ck_assert(!stats_hist_is_exact(&hist));
    ck_assert_ptr_null(hist.exact);
    stats_hist_release(&hist);
}
END_TEST

START_TEST(many_values_err_by_less_than_half_a_percent)
{
    enum { COUNT = 200000 };
    static int64_t values[COUNT];
    static const double qs[] = {0.0, 0.001, 0.5, 0.9, 0.99, 0.9999, 1.0};
    struct stats_hist hist;
    uint64_t below = 0;

    stats_hist_init(&hist);
    for (uint64_t i = 0; i < COUNT; i++) {
        values[i] = (int64_t)exp(3.0 + 20.0 * (double)(base_mix64(i) >> 11) * 0x1.0p-53);
        stats_hist_add(&hist, values[i], 1);
    }
    qsort(values, COUNT, sizeof values[0], compare);
    for (size_t i = 0; i < sizeof qs / sizeof qs[0]; i++) {
        double exact = (double)values[(size_t)(qs[i] * (COUNT - 1))];

        ck_assert_double_eq_tol(stats_hist_quantile_ns(&hist, qs[i]) / exact, 1.0, 0.005);
    }
    for (size_t i = 0; i < COUNT; i++)
        below += values[i] <= 1000000;
    ck_assert_double_eq_tol((double)stats_hist_count_at_most(&hist, 1000000) / (double)below, 1.0,
                            0.002);
    ck_assert_uint_eq(stats_hist_count_at_most(&hist, INT64_MAX), COUNT);
    stats_hist_release(&hist);
}
END_TEST

/* A ramp equals its steps added alone, whichever way it goes and wherever it is cut. */
static void add_alone(struct stats_hist *hist, int64_t first, int64_t delta, uint64_t steps,
                      uint64_t weight)
{
    for (uint64_t i = 0; i < steps; i++) {
        int64_t ticks = first + delta * (int64_t)i;

        stats_hist_add(hist, ticks >> BASE_TICKS_SHIFT, weight);
        /* add() knows whole ns only */
        hist->sum_ticks += (base_i128)(ticks & (BASE_TICKS_PER_NS - 1)) * (base_i128)weight;
    }
}

START_TEST(a_ramp_is_the_same_as_its_steps)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t state = seed << 32, steps = 1 + dice(&state, seed % 10 == 0 ? 3000 : 60);
        uint64_t weight = 1 + dice(&state, seed % 3 == 0 ? 400 : 5), cut = dice(&state, steps + 1);
        int64_t first = (int64_t)dice(&state, UINT64_C(1) << (1 + dice(&state, 58)));
        int64_t delta = (int64_t)dice(&state, UINT64_C(1) << dice(&state, 45));
        struct stats_hist whole, parts, alone;

        if (dice(&state, 3) == 0) { /* whole ns: steps fall on the bounds of buckets */
            first = (first >> 40) << BASE_TICKS_SHIFT;
            delta = (int64_t)(1 + dice(&state, 8)) << BASE_TICKS_SHIFT;
        }
        if (delta > (INT64_MAX - first) / (int64_t)steps)
            delta = (INT64_MAX - first) / (int64_t)steps;
        if (dice(&state, 2) == 0)
            delta = -delta > -first / (int64_t)steps ? -delta : -first / (int64_t)steps;
        stats_hist_init(&whole);
        stats_hist_init(&parts);
        stats_hist_init(&alone);
        stats_hist_add_ramp(&whole, first, delta, steps, weight);
        if (cut < steps)
            stats_hist_add_ramp(&parts, first + delta * (int64_t)cut, delta, steps - cut, weight);
        stats_hist_add_ramp(&parts, first, delta, cut, weight);
        add_alone(&alone, first, delta, steps, weight);
        ck_assert_msg(same_state(&whole, &alone), "seed %d: %lld %+lld x %llu", (int)seed,
                      (long long)first, (long long)delta, (unsigned long long)steps);
        ck_assert_msg(same_state(&whole, &parts), "seed %d: cut at %llu", (int)seed,
                      (unsigned long long)cut);
        stats_hist_release(&whole);
        stats_hist_release(&parts);
        stats_hist_release(&alone);
    }
}
END_TEST

START_TEST(a_long_ramp_costs_its_buckets)
{
    struct stats_hist hist;

    stats_hist_init(&hist);
    /* Ten thousand million steps: only possible by bucket. From 10 ms up by 1 tick each. */
    stats_hist_add_ramp(&hist, base_ticks_from_ns(10000000) & INT64_MAX, 1, UINT64_C(10000000000),
                        256);
    ck_assert_uint_eq(hist.count, UINT64_C(2560000000000));
    ck_assert_int_eq(hist.min, 10000000);
    ck_assert_int_eq(hist.max, 10000000 + (9999999999 >> 20));
    ck_assert_double_eq_tol(stats_hist_mean_ns(&hist), 10000000.0 + 9999999999.0 / 2097152.0, 1e-3);
    stats_hist_release(&hist);
}
END_TEST

START_TEST(merging_is_adding_in_any_order)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t state = seed << 40, scale = seed % 4 == 0 ? 40000 : 900;
        struct stats_hist all, parts[3], merged;

        stats_hist_init(&all);
        stats_hist_init(&merged);
        for (size_t p = 0; p < 3; p++) {
            uint64_t count = dice(&state, scale);

            stats_hist_init(&parts[p]);
            for (uint64_t i = 0; i < count; i++) {
                int64_t value = (int64_t)dice(&state, UINT64_C(1) << (1 + dice(&state, 50)));

                stats_hist_add(&parts[p], value, 1);
                stats_hist_add(&all, value, 1);
            }
        }
        stats_hist_merge(&merged, &parts[seed % 3]);
        stats_hist_merge(&merged, &parts[(seed + 2) % 3]);
        stats_hist_merge(&merged, &parts[(seed + 1) % 3]);
        ck_assert_msg(same_state(&all, &merged), "seed %d", (int)seed);
        stats_hist_release(&all);
        stats_hist_release(&merged);
        for (size_t p = 0; p < 3; p++)
            stats_hist_release(&parts[p]);
    }
}
END_TEST

/* A histogram read off now and then: each part has what was added since, in buckets. */
START_TEST(parts_since_are_what_was_added)
{
    struct stats_hist all, before;
    uint64_t state = 17;

    stats_hist_init(&all);
    stats_hist_init_bucketed(&before);
    for (int round = 0; round < 40; round++) {
        struct stats_hist added, part;
        uint64_t count = dice(&state, 4000); /* exact at first, then too many */

        stats_hist_init_bucketed(&added);
        stats_hist_init_bucketed(&part);
        for (uint64_t i = 0; i < count; i++) {
            int64_t value = (int64_t)dice(&state, UINT64_C(1) << (1 + dice(&state, 50)));

            stats_hist_add(&all, value, 1);
            stats_hist_add(&added, value, 1);
        }
        stats_hist_take_since(&part, &all, &before);
        /* extremes are those of their buckets */
        ck_assert(count == 0 || stats_bucket_of(part.min) == stats_bucket_of(added.min));
        ck_assert(count == 0 || stats_bucket_of(part.max) == stats_bucket_of(added.max));
        ck_assert_int_le(part.min, added.min);
        ck_assert_int_ge(part.max, added.max);
        part.min = added.min;
        part.max = added.max;
        ck_assert_msg(same_state(&part, &added), "round %d", round);
        stats_hist_release(&added);
        stats_hist_release(&part);
    }
    stats_hist_release(&all);
    stats_hist_release(&before);
}
END_TEST

/* Everything that can be asked is the same before and after, of a few values as of many. */
static void sort_some(int count)
{
    struct stats_hist plain, sorted;
    uint64_t state = 5;

    stats_hist_init(&plain);
    stats_hist_init(&sorted);
    for (int i = 0; i < count; i++) {
        int64_t value = (int64_t)(dice(&state, 1000) * dice(&state, 1000) * dice(&state, 1000000));

        stats_hist_add(&plain, value, 1);
        stats_hist_add(&sorted, value, 1);
    }
    stats_hist_sort(&sorted);
    for (int i = 0; i <= 100; i++) {
        double q = i / 100.0, value = stats_hist_quantile_ns(&plain, q);

        ck_assert_double_eq(stats_hist_quantile_ns(&sorted, q), value);
        ck_assert_uint_eq(stats_hist_count_at_most(&sorted, (int64_t)value),
                          stats_hist_count_at_most(&plain, (int64_t)value));
    }
    ck_assert_double_eq_tol(stats_hist_variance_ns2(&sorted) / stats_hist_variance_ns2(&plain), 1.0,
                            1e-12);
    stats_hist_add(&sorted, 1, 1); /* out of order again */
    stats_hist_add(&plain, 1, 1);
    ck_assert_double_eq(stats_hist_quantile_ns(&sorted, 0.3), stats_hist_quantile_ns(&plain, 0.3));
    ck_assert(same_state(&plain, &sorted));
    stats_hist_release(&plain);
    stats_hist_release(&sorted);
}

START_TEST(sorting_changes_nothing_that_is_seen)
{
    static const int counts[] = {2, 300, 1999, 2000, 3000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        sort_some(counts[i]);
}
END_TEST

START_TEST(bucketed_ones_keep_no_values)
{
    struct stats_hist exact, bucketed, merged;
    uint64_t state = 9;

    stats_hist_init(&exact);
    stats_hist_init_bucketed(&bucketed);
    stats_hist_init(&merged);
    for (int i = 0; i < 2000; i++) {
        int64_t value = (int64_t)(1000000 + dice(&state, 1000000));

        stats_hist_add(&exact, value, 1);
        stats_hist_add(&bucketed, value, 1);
    }
    ck_assert(!stats_hist_is_exact(&bucketed) && bucketed.exact == NULL);
    for (int i = 1; i < 100; i++)
        ck_assert_double_eq_tol(stats_hist_quantile_ns(&bucketed, i / 100.0) /
                                    stats_hist_quantile_ns(&exact, i / 100.0),
                                1.0, 0.005);
    ck_assert_double_eq_tol(stats_hist_variance_ns2(&bucketed) / stats_hist_variance_ns2(&exact),
                            1.0, 0.01);
    stats_hist_add(&merged, 7, 1);
    stats_hist_merge(&merged, &bucketed);
    ck_assert(!stats_hist_is_exact(&merged) && merged.exact == NULL);
    ck_assert_uint_eq(merged.count, 2001);
    stats_hist_release(&exact);
    stats_hist_release(&bucketed);
    stats_hist_release(&merged);
}
END_TEST

int main(void)
{
    return unit_run("stats.hist", (const TTest *const[]){
                                      buckets_tile_the_integers,
                                      nothing_has_no_mean,
                                      few_values_are_exact,
                                      weights_count_as_so_many_values,
                                      many_values_err_by_less_than_half_a_percent,
                                      a_ramp_is_the_same_as_its_steps,
                                      a_long_ramp_costs_its_buckets,
                                      merging_is_adding_in_any_order,
                                      parts_since_are_what_was_added,
                                      sorting_changes_nothing_that_is_seen,
                                      bucketed_ones_keep_no_values,
                                      NULL,
                                  });
}
