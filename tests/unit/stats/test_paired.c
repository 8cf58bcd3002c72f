#include "support/unit.h"

#include "stats/paired.h"

#include <math.h>

/* Student t for 95 % and 4 degrees of freedom, from printed tables. */
#define T4 2.776445

START_TEST(quantiles_are_those_of_the_tables)
{
    ck_assert_double_eq_tol(stats_t_quantile(0.975, 4), T4, 1e-6);
    ck_assert_double_eq_tol(stats_t_quantile(0.95, 9), 1.833113, 1e-6);
    ck_assert_double_eq_tol(stats_t_quantile(0.5, 3), 0, 1e-12);
}
END_TEST

START_TEST(paired_interval_by_hand)
{
    const double a[] = {10, 20, 30, 40, 50}, b[] = {12, 21, 33, 42, 52};
    // differences 2 1 3 2 2: mean 2, standard deviation sqrt(0.5)
    struct stats_difference d = stats_difference_paired(a, b, 5, 0.95);
    double half = T4 * sqrt(0.5) / sqrt(5);
    ck_assert(!d.is_withheld);
    ck_assert_str_eq(d.method, "paired_t");
    ck_assert_double_eq_tol(d.difference, 2, 1e-12);
    ck_assert_double_eq_tol(d.low, 2 - half, 1e-6);
    ck_assert_double_eq_tol(d.high, 2 + half, 1e-6);
    ck_assert_double_eq_tol(d.ratio, 160.0 / 150.0, 1e-12);
    ck_assert(d.ratio_low < d.ratio && d.ratio < d.ratio_high);
    ck_assert_uint_eq(d.more_replications, 0);
}
END_TEST

START_TEST(skewed_differences_reach_further_from_zero)
{
    const double a[] = {10, 20, 30, 40, 50}, b[] = {12, 21, 33, 42, 52};
    // differences 2 1 3 2 2: mean 2, half width h = 0.878 by Student; 2 / sqrt(1 - 2 h / 2) = 5.73
    double half = T4 * sqrt(0.5) / sqrt(5), far = 2 / sqrt(1 - half);
    struct stats_difference up = stats_difference_skewed(a, b, 5, 0.95);
    struct stats_difference down = stats_difference_skewed(b, a, 5, 0.95);
    struct stats_difference plain = stats_difference_paired(a, b, 5, 0.95);
    ck_assert_str_eq(up.method, "paired_t_skewed");
    ck_assert_double_eq_tol(up.low, 2 - half, 1e-6);
    ck_assert_double_eq_tol(up.high, far, 1e-5);
    ck_assert_double_eq_tol(down.low, -far, 1e-5);
    ck_assert_double_eq_tol(down.high, -2 + half, 1e-6);
    ck_assert_double_eq(up.ratio_low, plain.ratio_low);
    ck_assert_double_gt(up.ratio_high, plain.ratio_high);
    ck_assert(down.ratio_low >= 0 && down.ratio_low < down.ratio);
}
END_TEST

START_TEST(pairing_is_narrower_than_welch_where_pairs_move_together)
{
    const double a[] = {10, 20, 30, 40, 50}, b[] = {12, 21, 33, 42, 52};
    struct stats_difference paired = stats_difference_paired(a, b, 5, 0.95);
    struct stats_difference welch = stats_difference_welch(a, 5, b, 5, 0.95);
    ck_assert_str_eq(welch.method, "welch_t");
    ck_assert_double_eq_tol(welch.difference, paired.difference, 1e-12);
    ck_assert(welch.high - welch.low > 10 * (paired.high - paired.low));
}
END_TEST

START_TEST(welch_by_hand)
{
    const double a[] = {1, 2, 3}, b[] = {2, 4, 6, 8};
    // va = 1/3, vb = (20/3)/4 = 5/3; df = (va + vb)^2 / (va^2/2 + vb^2/3)
    struct stats_difference d = stats_difference_welch(a, 3, b, 4, 0.95);
    double va = 1.0 / 3, vb = 5.0 / 3, df = (va + vb) * (va + vb) / (va * va / 2 + vb * vb / 3);
    ck_assert_double_eq_tol(d.difference, 3, 1e-12);
    ck_assert_double_eq_tol(d.high - d.difference, stats_t_quantile(0.975, df) * sqrt(va + vb),
                            1e-9);
}
END_TEST

START_TEST(more_replications_would_show_a_small_difference)
{
    // mean 0.5, standard deviation about 1.29: not shown by four, shown by some dozens
    const double a[] = {0, 0, 0, 0}, b[] = {-1, 0.5, 0.5, 2};
    struct stats_difference d = stats_difference_paired(a, b, 4, 0.95);
    ck_assert(d.low < 0 && d.high > 0);
    ck_assert(d.more_replications > 10 && d.more_replications < 60);
    size_t m = 4 + d.more_replications;
    double deviation = sqrt((2.25 + 0 + 0 + 2.25) / 3);
    ck_assert(stats_t_quantile(0.975, (double)m - 1) * deviation / sqrt((double)m) < 0.5);
    ck_assert(stats_t_quantile(0.975, (double)m - 2) * deviation / sqrt((double)m - 1) >= 0.5);
}
END_TEST

START_TEST(what_cannot_be_judged_is_withheld)
{
    const double a[] = {1, (double)NAN}, b[] = {2, 3};
    ck_assert(stats_difference_paired(b, b, 1, 0.95).is_withheld);
    ck_assert(stats_difference_paired(a, b, 2, 0.95).is_withheld);
    ck_assert(isnan(stats_difference_paired(a, b, 2, 0.95).low));
    ck_assert(stats_difference_welch(b, 1, b, 2, 0.95).is_withheld);
    const double zero[] = {0, 0};
    ck_assert(isnan(stats_difference_paired(zero, b, 2, 0.95).ratio));
}
END_TEST

int main(void)
{
    return unit_run(
        "stats.paired",
        (const TTest *const[]){quantiles_are_those_of_the_tables, paired_interval_by_hand,
                               skewed_differences_reach_further_from_zero,
                               pairing_is_narrower_than_welch_where_pairs_move_together,
                               welch_by_hand, more_replications_would_show_a_small_difference,
                               what_cannot_be_judged_is_withheld, NULL});
}
