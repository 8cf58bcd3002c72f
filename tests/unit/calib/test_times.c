/* The recorded bounds of `kvsim validate`: a change that makes predictions worse fails here. */
#include "calib/times.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Groups of fits take long here; `kvsim validate` and tests/validation hold them to their bounds. */
START_TEST(a_group_is_within_its_bounds)
{
    const struct calib_group *group = &calib_groups[_i];
    struct base_arena arena;
    struct record_validation_group result;
    struct kvsim_error err;
    if (group->level == NULL || strcmp(group->level, "datasheet") != 0 ||
        strstr(group->name, "left-out") != NULL || strstr(group->file, "throughput/") != NULL)
        return;
    base_arena_init(&arena);
    enum kvsim_status status =
        calib_group_run(group, KVSIM_TEST_DATA "/validation", &arena, &result, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", group->name, err.message);
    printf("%-20s n %4zu mean %5.1f %% bias %+5.1f %%\n", group->name, result.cases.count,
           100 * result.parts.at[0].mean, 100 * result.parts.at[0].bias);
    ck_assert_uint_ge(result.cases.count, 1);
    ck_assert_msg(result.is_within, "%s: mean %.3f median %.3f bias %.3f tau %.3f", group->name,
                  result.parts.at[0].mean, result.parts.at[0].median, result.parts.at[0].bias,
                  result.parts.at[0].tau);
    record_validation_group_free(&result);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    int count = 0;
    while (calib_groups[count].name != NULL)
        count++;
    TCase *tests = tcase_create("calib.times");
    tcase_add_loop_test(tests, a_group_is_within_its_bounds, 0, count);
    Suite *suite = suite_create("calib.times");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
