#include "support/unit.h"

#include "base/mem.h"
#include "study/team.h"

#include <stdatomic.h>
#include <string.h>

enum { ITEMS = 500 };

struct list {
    atomic_int done[ITEMS]; /* how often each was worked on */
    size_t taken;           /* the next that take() must get */
    size_t fails_at;        /* ITEMS: never */
    atomic_size_t most_ahead, taken_so_far;
};

static void work(void *context, size_t index)
{
    struct list *list = context;
    // Uneven work, so that threads finish out of order.
    atomic_int waste = 0;
    for (size_t i = 0; i < index % 7 * 1000; i++)
        atomic_fetch_add(&waste, 1);
    atomic_fetch_add(&list->done[index], 1);
    size_t ahead = index - atomic_load(&list->taken_so_far);
    size_t most = atomic_load(&list->most_ahead);
    while (index >= atomic_load(&list->taken_so_far) && ahead > most &&
           !atomic_compare_exchange_weak(&list->most_ahead, &most, ahead))
        continue;
}

static enum kvsim_status take(void *context, size_t first, size_t count, struct kvsim_error *err)
{
    struct list *list = context;
    ck_assert_uint_eq(first, list->taken);
    for (size_t i = first; i < first + count; i++) {
        ck_assert_int_eq(atomic_load(&list->done[i]), 1);
        if (i == list->fails_at)
            return base_fail(err, KVSIM_ERR_IO, "as the test wants it");
    }
    list->taken = first + count;
    atomic_store(&list->taken_so_far, list->taken);
    return KVSIM_OK;
}

START_TEST(items_are_taken_in_order_by_any_number_of_threads)
{
    for (unsigned jobs = 1; jobs <= 5; jobs++) {
        struct kvsim_error err;
        struct list *list = base_alloc(sizeof *list);
        list->fails_at = ITEMS;
        struct study_team_work team = {
            .count = ITEMS, .jobs = jobs, .ahead = 16, .context = list, .work = work, .take = take};
        ck_assert_int_eq(study_team_run(&team, &err), KVSIM_OK);
        ck_assert_uint_eq(list->taken, ITEMS);
        ck_assert(atomic_load(&list->most_ahead) <= 16);
        base_free(list);
    }
}
END_TEST

START_TEST(a_failure_ends_the_team)
{
    struct kvsim_error err;
    struct list *list = base_alloc(sizeof *list);
    list->fails_at = 100;
    struct study_team_work team = {
        .count = ITEMS, .jobs = 3, .ahead = 16, .context = list, .work = work, .take = take};
    ck_assert_int_eq(study_team_run(&team, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.message, "as the test wants it");
    int begun = 0;
    for (size_t i = 0; i < ITEMS; i++)
        begun += atomic_load(&list->done[i]);
    ck_assert(begun <= 100 + 16 + 4);
    base_free(list);
}
END_TEST

START_TEST(no_items_are_no_work)
{
    struct kvsim_error err;
    struct study_team_work team = {.count = 0, .work = work};
    ck_assert_int_eq(study_team_run(&team, &err), KVSIM_OK);
    ck_assert_uint_eq(study_team_size(8, 3), 3);
    ck_assert_uint_eq(study_team_size(8, 0), 1);
    ck_assert(study_team_size(0, 1000) >= 1);
}
END_TEST

int main(void)
{
    return unit_run("study.team",
                    (const TTest *const[]){items_are_taken_in_order_by_any_number_of_threads,
                                           a_failure_ends_the_team, no_items_are_no_work, NULL});
}
