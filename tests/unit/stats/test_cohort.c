#include "support/unit.h"

#include "stats/hist.h"

START_TEST(shares_of_the_slowest_are_read_off)
{
    struct stats_cohort cohort;
    double sums[2];

    stats_cohort_init(&cohort, 2);
    stats_cohort_add(&cohort, 100, (const int64_t[]){60, 40});
    stats_cohort_add(&cohort, 5000, (const int64_t[]){1000, 4000});
    stats_cohort_add(&cohort, 9000000000, (const int64_t[]){0, 9000000000});
    ck_assert_uint_eq(stats_cohort_beyond(&cohort, 0, sums), 3);
    ck_assert_double_eq(sums[0], 1060.0);
    ck_assert_double_eq(sums[1], 9000004040.0);
    ck_assert_uint_eq(stats_cohort_beyond(&cohort, 5000, sums),
                      2); /* with the whole bucket of 5000 */
    ck_assert_double_eq(sums[0], 1000.0);
    ck_assert_uint_eq(stats_cohort_beyond(&cohort, 5100, sums), 1);
    ck_assert_uint_eq(stats_cohort_beyond(&cohort, INT64_MAX, sums), 0);
    ck_assert_double_eq(sums[1], 0.0);
    stats_cohort_release(&cohort);
}
END_TEST

START_TEST(merging_adds)
{
    struct stats_cohort a, b;
    double sums[1];

    stats_cohort_init(&a, 1);
    stats_cohort_init(&b, 1);
    stats_cohort_add(&a, 10, (const int64_t[]){7});
    stats_cohort_add(&b, 10, (const int64_t[]){3});
    stats_cohort_add(&b, 70000, (const int64_t[]){-2});
    stats_cohort_merge(&a, &b);
    ck_assert_uint_eq(stats_cohort_beyond(&a, 0, sums), 3);
    ck_assert_double_eq(sums[0], 8.0);
    ck_assert_uint_eq(stats_cohort_beyond(&a, 11, sums), 1);
    ck_assert_double_eq(sums[0], -2.0);
    stats_cohort_release(&a);
    stats_cohort_release(&b);
}
END_TEST

int main(void)
{
    return unit_run("stats.cohort", (const TTest *const[]){
                                        shares_of_the_slowest_are_read_off,
                                        merging_adds,
                                        NULL,
                                    });
}
