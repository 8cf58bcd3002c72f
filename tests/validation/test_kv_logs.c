/*
 * The groups of logged engine starts within their recorded bounds; figures that are exact, exact.
 */
#include "calib/validate.h"

#include "support/check_main.h"

#include <string.h>

static void run_group(const char *name, struct base_arena *arena,
                      struct record_validation_group *out)
{
    const struct calib_group *group = calib_groups;
    while (group->name != NULL && strcmp(group->name, name) != 0)
        group++;
    ck_assert_ptr_nonnull(group->name);
    struct kvsim_error err = {0};
    ck_assert_msg(calib_group_run(group, KVSIM_TEST_DATA "/validation", arena, out, &err) ==
                      KVSIM_OK,
                  "%s:%d: %s", err.file, err.line, err.message);
}

static void check_group(const char *name)
{
    struct base_arena arena;
    struct record_validation_group result;
    base_arena_init(&arena);
    run_group(name, &arena, &result);
    ck_assert_uint_gt(result.cases.count, 10);
    ck_assert_msg(result.is_within, "%s", name);
    record_validation_group_free(&result);
    base_arena_release(&arena);
}

START_TEST(printed_figures_follow_from_the_printed_memory)
{
    check_group("kv-logs-printed");
}
END_TEST

START_TEST(verdicts_are_the_engines_own)
{
    check_group("kv-logs-verdicts");
}
END_TEST

START_TEST(predictions_are_within_their_bounds)
{
    check_group("kv-logs-weights");
    check_group("kv-logs-modelled");
    check_group("kv-logs-left-out");
    check_group("kv-logs-predicted");
}
END_TEST

START_TEST(held_out_starts_are_within_their_bounds)
{
    check_group("held-out-printed");
    check_group("held-out-verdicts");
    check_group("held-out-weights");
    check_group("held-out-predicted");
    check_group("held-out-starts");
}
END_TEST

START_TEST(the_second_held_out_set_is_within_its_bounds)
{
    check_group("held-out-2-printed");
    check_group("held-out-2-verdicts");
    check_group("held-out-2-weights");
    check_group("held-out-2-predicted");
    check_group("held-out-2-starts");
}
END_TEST

START_TEST(llama_cpp_is_exact)
{
    struct base_arena arena;
    struct record_validation_group result;
    size_t cells = 0;
    base_arena_init(&arena);
    run_group("kv-logs-printed", &arena, &result);
    for (size_t i = 0; i < result.cases.count; i++) {
        const struct record_validation_case *item = &result.cases.at[i];
        if (strcmp(item->what, "MiB of cells") != 0)
            continue;
        ck_assert_msg(item->agrees, "%s", item->id);
        cells++;
    }
    ck_assert_uint_ge(cells, 22);
    record_validation_group_free(&result);
    base_arena_release(&arena);
}
END_TEST

CHECK_MAIN("validation.kv_logs", printed_figures_follow_from_the_printed_memory,
           verdicts_are_the_engines_own, predictions_are_within_their_bounds,
           held_out_starts_are_within_their_bounds, the_second_held_out_set_is_within_its_bounds,
           llama_cpp_is_exact)
