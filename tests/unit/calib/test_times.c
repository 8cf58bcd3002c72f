/* The recorded bounds of `kvsim validate`: a change that makes predictions worse fails here. */
#include "calib/times.h"

#include "support/unit.h"

#include <stdio.h>
#include <string.h>

/* Groups whose fits take long are held to their bounds by `kvsim validate` in an optimized build. */
static bool is_quick(const struct calib_group *group)
{
    static const char *const slow[] = {"layers-left-out", "layers-calibrated", "steps-calibrated"};
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++)
        if (strcmp(slow[i], group->name) == 0)
            return false;
    return group->level != NULL;
}

START_TEST(groups_of_times_are_within_their_bounds)
{
    for (const struct calib_group *group = calib_groups; group->name != NULL; group++) {
        struct base_arena arena;
        struct calib_group_result result;
        struct kvsim_error err;
        if (!is_quick(group))
            continue;
        base_arena_init(&arena);
        enum kvsim_status status =
            calib_group_run(group, KVSIM_TEST_DATA "/validation", &arena, &result, &err);
        ck_assert_msg(status == KVSIM_OK, "%s: %s", group->name, err.message);
        printf("%-20s n %4zu mean %5.1f %% bias %+5.1f %%\n", group->name, result.cases.count,
               100 * result.mean, 100 * result.bias);
        ck_assert_uint_ge(result.cases.count, 30);
        ck_assert_msg(result.within, "%s: mean %.3f median %.3f bias %.3f tau %.3f", group->name,
                      result.mean, result.median, result.bias, result.tau);
        calib_group_result_free(&result);
        base_arena_release(&arena);
    }
}
END_TEST

int main(void)
{
    return unit_run("calib.times",
                    (const TTest *const[]){groups_of_times_are_within_their_bounds, NULL});
}
