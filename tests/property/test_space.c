/*
 * The address space against a map of its units: conservation, no overlap, coalescing, and each placement's own choice,
 * after every one of many random operations. KVSIM_SEED sets the first seed.
 */
#include "support/check_main.h"
#include "support/space_map.h"

#include <stdio.h>

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static void run(enum kv_placement placement, uint64_t seed)
{
    uint64_t state = seed;
    struct space_map map;
    int64_t units = (int64_t)draw(&state, SPACE_MAP_UNITS + 1);
    uint64_t most = 1 + draw(&state, units > 3 ? (uint64_t)units / 2 : 2);
    space_map_init(&map, placement, units);
    for (int i = 0; i < 400; i++) {
        size_t holder = (size_t)draw(&state, SPACE_MAP_HOLDERS);
        space_map_step(&map, holder, 1 + (int64_t)draw(&state, most));
        if (draw(&state, 4) == 0)
            space_map_slide(&map, (size_t)draw(&state, SPACE_MAP_HOLDERS));
    }
    // Everything given back: the space is as it began.
    for (size_t i = 0; i < SPACE_MAP_HOLDERS; i++) {
        if (map.units[i] > 0)
            space_map_step(&map, i, 1);
    }
    struct kv_space fresh;
    kv_space_init(&fresh, placement, units);
    ck_assert_uint_eq(fresh.free.count, map.space.free.count);
    for (size_t i = 0; i < fresh.free.count; i++) {
        ck_assert_int_eq(fresh.free.at[i].at, map.space.free.at[i].at);
        ck_assert_int_eq(fresh.free.at[i].units, map.space.free.at[i].units);
    }
    kv_space_release(&fresh);
    space_map_release(&map);
}

static void run_many(enum kv_placement placement)
{
    const char *text = getenv("KVSIM_SEED");
    uint64_t first = text != NULL ? strtoull(text, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + 100; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        run(placement, seed);
    }
}

START_TEST(first_fit_does_what_looking_at_all_units_says)
{
    run_many(KV_FIRST_FIT);
}
END_TEST

START_TEST(best_fit_does_what_looking_at_all_units_says)
{
    run_many(KV_BEST_FIT);
}
END_TEST

START_TEST(buddies_do_what_looking_at_all_units_says)
{
    run_many(KV_BUDDY);
}
END_TEST

CHECK_MAIN("kv.space against a map", first_fit_does_what_looking_at_all_units_says,
           best_fit_does_what_looking_at_all_units_says, buddies_do_what_looking_at_all_units_says)
