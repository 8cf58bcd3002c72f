/*
 * The recorded bounds of `kvsim validate` where groups simulate or fit: a change that makes predictions worse fails here.
 */
#include "calib/validate.h"

#include "support/check_main.h"

#include <stdio.h>
#include <string.h>

static bool is_here(const struct calib_group *group)
{
    return group->level != NULL &&
           (strstr(group->file, "throughput/") != NULL || strstr(group->name, "left-out") != NULL ||
            strcmp(group->level, "calibrated") == 0);
}

static void hold(const struct calib_group *group)
{
    struct base_arena arena;
    struct record_validation_group result;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    ck_assert_msg(calib_group_run(group, KVSIM_TEST_DATA "/validation", &arena, &result, &err) ==
                      KVSIM_OK,
                  "%s: %s", group->name, err.message);
    const struct record_validation_part *all = &result.parts.at[0];
    printf("%-20s n %4zu median %5.1f %% mean %5.1f %% bias %+5.1f %% tau %.2f\n", group->name,
           all->count, 100 * all->median, 100 * all->mean, 100 * all->bias, all->tau);
    for (size_t i = 0; i < result.bounds.count; i++)
        ck_assert_msg(!result.bounds.at[i].is_exceeded, "%s: %s %s is %f", group->name,
                      result.bounds.at[i].figure, result.bounds.at[i].part,
                      result.bounds.at[i].value);
    record_validation_group_free(&result);
    base_arena_release(&arena);
}

START_TEST(every_group_is_within_its_bounds)
{
    size_t held = 0;
    for (const struct calib_group *group = calib_groups; group->name != NULL; group++) {
        if (!is_here(group))
            continue;
        hold(group);
        held++;
    }
    ck_assert_uint_ge(held, 10);
}
END_TEST

CHECK_MAIN("validation.groups", every_group_is_within_its_bounds)
