#include "kv/space.h"

#include "support/check_main.h"

static int64_t take_of(enum kv_placement placement, int64_t units)
{
    // Holes of 4 (at 2), 2 (at 8) and 3 (at 12) units; the rest, at 17, is held too.
    static const int64_t sizes[] = {2, 4, 2, 2, 2, 3, 5};
    static const size_t holes[] = {1, 3, 5};
    struct kv_space space;
    kv_space_init(&space, placement, 20);
    int64_t at[7];
    for (size_t i = 0; i < 7; i++)
        at[i] = kv_space_take(&space, sizes[i]);
    for (size_t i = 0; i < 3; i++)
        kv_space_give(&space, at[holes[i]], sizes[holes[i]]);
    ck_assert_int_eq(space.free_units, 9);
    ck_assert(kv_space_is_sound(&space));
    int64_t found = kv_space_take(&space, units);
    kv_space_release(&space);
    return found;
}

START_TEST(first_fit_takes_the_lowest_and_best_fit_the_shortest_hole)
{
    ck_assert_int_eq(take_of(KV_FIRST_FIT, 2), 2);
    ck_assert_int_eq(take_of(KV_BEST_FIT, 2), 8);
    ck_assert_int_eq(take_of(KV_FIRST_FIT, 3), 2);
    ck_assert_int_eq(take_of(KV_BEST_FIT, 3), 12);
    // Nine units are free, but no five in a row.
    ck_assert_int_eq(take_of(KV_FIRST_FIT, 5), -1);
    ck_assert_int_eq(take_of(KV_BEST_FIT, 5), -1);
}
END_TEST

START_TEST(neighbours_merge_on_both_sides)
{
    struct kv_space space;
    kv_space_init(&space, KV_FIRST_FIT, 9);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_int_eq(kv_space_take(&space, 3), 3 * i);
    kv_space_give(&space, 0, 3);
    kv_space_give(&space, 6, 3);
    ck_assert_uint_eq(space.free.count, 2);
    ck_assert_int_eq(kv_space_largest(&space), 3);
    kv_space_give(&space, 3, 3);
    ck_assert_uint_eq(space.free.count, 1);
    ck_assert_int_eq(kv_space_largest(&space), 9);
    kv_space_release(&space);
}
END_TEST

START_TEST(a_buddy_space_begins_as_its_binary_digits)
{
    struct kv_space space;
    kv_space_init(&space, KV_BUDDY, 7);
    ck_assert_uint_eq(space.free.count, 3);
    ck_assert_int_eq(kv_space_largest(&space), 4);
    ck_assert(!kv_space_fits(&space, 5)); // 7 are free
    ck_assert_int_eq(kv_space_units_for(&space, 3), 4);
    ck_assert_int_eq(kv_space_take(&space, 2),
                     4); // the one that fits as it is, not half of the four
    ck_assert_int_eq(kv_space_take(&space, 1), 6);
    ck_assert_int_eq(kv_space_take(&space, 1), 0); // now the four is halved
    ck_assert_int_eq(kv_space_take(&space, 2), 2);
    ck_assert_int_eq(kv_space_take(&space, 1), 1);
    ck_assert_int_eq(space.free_units, 0);
    kv_space_give(&space, 2, 2);
    kv_space_give(&space, 1, 1);
    ck_assert_int_eq(kv_space_largest(&space), 2); // 1 and 2-3 are neighbours, but no buddies
    kv_space_give(&space, 0, 1);
    ck_assert_int_eq(kv_space_largest(&space), 4);
    kv_space_give(&space, 4, 2);
    kv_space_give(&space, 6, 1);
    ck_assert_uint_eq(space.free.count, 3); // as it began
    ck_assert(kv_space_is_sound(&space));
    kv_space_release(&space);
}
END_TEST

START_TEST(what_is_larger_than_the_space_never_fits)
{
    static const enum kv_placement placements[] = {KV_FIRST_FIT, KV_BEST_FIT, KV_BUDDY};
    for (size_t i = 0; i < 3; i++) {
        struct kv_space space;
        kv_space_init(&space, placements[i], 4);
        ck_assert(!kv_space_fits(&space, INT64_MAX));
        ck_assert_int_eq(kv_space_take(&space, INT64_MAX), -1);
        ck_assert_int_eq(kv_space_take(&space, 4), 0);
        ck_assert(!kv_space_fits(&space, 1));
        kv_space_release(&space);
        kv_space_init(&space, placements[i], 0);
        ck_assert(!kv_space_fits(&space, 1));
        ck_assert_int_eq(kv_space_largest(&space), 0);
        kv_space_release(&space);
    }
}
END_TEST

CHECK_MAIN("kv.space", first_fit_takes_the_lowest_and_best_fit_the_shortest_hole,
           neighbours_merge_on_both_sides, a_buddy_space_begins_as_its_binary_digits,
           what_is_larger_than_the_space_never_fits)
