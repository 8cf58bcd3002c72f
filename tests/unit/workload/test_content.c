#include "support/unit.h"

#include "unit/workload/spec_util.h"

START_TEST(ranges_are_runs_and_empty_ones_are_none)
{
    struct workload_runs runs = {0};
    int64_t tokens;

    ck_assert(workload_runs_of_ranges(" [ [5, 9] ,[0,0],[7,1]] ", &runs, &tokens));
    ck_assert_int_eq(tokens, 10);
    ck_assert_uint_eq(runs.count, 2);
    ck_assert_int_eq(runs.at[1].first, 7);
    ck_assert(workload_runs_of_ranges("[]", &runs, &tokens));
    ck_assert_int_eq(tokens, 0);
    ck_assert_uint_eq(runs.count, 2);
    base_vec_free(&runs);
}
END_TEST

START_TEST(other_texts_are_no_lists)
{
    static const char *const bad[] = {"",
                                      "[",
                                      "[[1]]",
                                      "[[1,2]",
                                      "[[1,2]]x",
                                      "[[-1,2]]",
                                      "[[1,2],]",
                                      "[1,2]",
                                      "[[1,2,3]]",
                                      "[[1,9999999999999999999]]",
                                      "[[1,2000000000000]]"};
    struct workload_runs runs = {0};
    int64_t tokens;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!workload_runs_of_ranges(bad[i], &runs, &tokens), "'%s'", bad[i]);
    ck_assert(!workload_runs_of_ids("[1,]", 16, &runs));
    ck_assert(!workload_runs_of_ids("[1 2]", 16, &runs));
    ck_assert(!workload_runs_of_ids("[[1]]", 16, &runs));
    ck_assert(
        !workload_runs_of_ids("[70368744177664]", 16, &runs)); /* would leave the range of ids */
    base_vec_free(&runs);
}
END_TEST

START_TEST(ids_are_blocks_apart_from_all_ranges)
{
    struct workload_runs runs = {0};

    ck_assert(workload_runs_of_ids("[3,4,9]", 16, &runs));
    ck_assert_uint_eq(runs.count, 3);
    ck_assert_int_eq(runs.at[1].first - runs.at[0].first, 16);
    ck_assert_int_eq(runs.at[2].count, 16);
    ck_assert_int_gt(runs.at[0].first,
                     INT64_C(1000000000000000000)); /* 18 digits at most in a range */
    ck_assert_uint_eq(workload_runs_join(runs.at, runs.count), 2);
    ck_assert_int_eq(runs.at[0].count, 32);
    base_vec_free(&runs);
}
END_TEST

int main(void)
{
    return unit_run("workload.content", (const TTest *const[]){
                                            ranges_are_runs_and_empty_ones_are_none,
                                            other_texts_are_no_lists,
                                            ids_are_blocks_apart_from_all_ranges,
                                            NULL,
                                        });
}
