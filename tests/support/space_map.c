#include "support/space_map.h"

#include "base/error.h"

#include <string.h>

void space_map_init(struct space_map *map, enum kv_placement placement, int64_t units)
{
    memset(map, 0, sizeof *map);
    kv_space_init(&map->space, placement, units);
}

void space_map_release(struct space_map *map)
{
    kv_space_release(&map->space);
}

static bool is_free(const struct space_map *map, int64_t at, int64_t units)
{
    if (at + units > map->space.units)
        return false;
    for (int64_t i = at; i < at + units; i++) {
        if (map->held_by[i] != 0)
            return false;
    }
    return true;
}

// How long the hole is in which `at` lies as its first unit; 0 when it is not the first one.
static int64_t hole_at(const struct space_map *map, int64_t at)
{
    if (map->held_by[at] != 0 || (at > 0 && map->held_by[at - 1] == 0))
        return 0;
    int64_t end = at;
    while (end < map->space.units && map->held_by[end] == 0)
        end++;
    return end - at;
}

// A buddy range of twice this size would be free as well, and lies inside one of the ranges that the space began as.
static bool grows(const struct space_map *map, int64_t at, int64_t units)
{
    int64_t first = at / (2 * units) * (2 * units);
    int64_t root_at = 0, root = map->space.units;
    for (int64_t power = 256; power >= 1; power /= 2) {
        if ((map->space.units & power) == 0)
            continue;
        root = power;
        if (at < root_at + root)
            break;
        root_at += root;
    }
    return 2 * units <= root && is_free(map, first, 2 * units);
}

// The size of the free buddy range that begins at `at`: the largest one that is aligned and free.
static int64_t buddy_at(const struct space_map *map, int64_t at)
{
    if (map->held_by[at] != 0)
        return 0;
    int64_t units = 1;
    while (grows(map, at, units)) {
        if (at % (2 * units) != 0)
            return 0; // it begins lower
        units *= 2;
    }
    return units;
}

// Where the allocation must lie, by looking at all units; -1 when nowhere.
static int64_t expected_at(const struct space_map *map, int64_t units)
{
    int64_t found = -1, shortest = INT64_MAX;
    enum kv_placement placement = map->space.placement;
    for (int64_t at = 0; at < map->space.units; at++) {
        int64_t length = placement == KV_BUDDY ? buddy_at(map, at) : hole_at(map, at);
        bool is_better = placement == KV_FIRST_FIT ? found < 0 : length < shortest;
        if (length >= units && is_better) {
            found = at;
            shortest = length;
        }
    }
    return found;
}

static int64_t rounded(enum kv_placement placement, int64_t units)
{
    int64_t power = 1;
    while (power < units)
        power *= 2;
    return placement == KV_BUDDY ? power : units;
}

static void take(struct space_map *map, size_t holder, int64_t units)
{
    int64_t length = rounded(map->space.placement, units);
    int64_t expected = expected_at(map, length);
    base_require(kv_space_units_for(&map->space, units) == length);
    base_require(kv_space_fits(&map->space, units) == (expected >= 0));
    int64_t at = kv_space_take(&map->space, units);
    base_require(at == expected);
    if (at < 0)
        return;
    base_require(is_free(map, at, length));
    memset(map->held_by + at, (int)holder + 1, (size_t)length);
    map->at[holder] = at;
    map->units[holder] = units;
}

static void give(struct space_map *map, size_t holder)
{
    kv_space_give(&map->space, map->at[holder], map->units[holder]);
    int64_t length = rounded(map->space.placement, map->units[holder]);
    memset(map->held_by + map->at[holder], 0, (size_t)length);
    map->units[holder] = 0;
}

static void check(const struct space_map *map)
{
    int64_t free_units = 0, largest = 0;
    for (int64_t i = 0; i < map->space.units; i++) {
        free_units += map->held_by[i] == 0 ? 1 : 0;
        int64_t length = map->space.placement == KV_BUDDY ? buddy_at(map, i) : hole_at(map, i);
        largest = length > largest ? length : largest;
    }
    base_require(free_units == map->space.free_units);
    base_require(largest == kv_space_largest(&map->space));
    base_require(kv_space_is_sound(&map->space));
}

void space_map_step(struct space_map *map, size_t holder, int64_t units)
{
    if (map->units[holder] > 0)
        give(map, holder);
    else
        take(map, holder, units);
    check(map);
}

void space_map_slide(struct space_map *map, size_t holder)
{
    int64_t from = map->at[holder], to = from, units = map->units[holder];
    if (units == 0 || map->space.placement == KV_BUDDY)
        return;
    while (to > 0 && map->held_by[to - 1] == 0)
        to--;
    kv_space_slide(&map->space, from, to, units);
    memset(map->held_by + from, 0, (size_t)units);
    memset(map->held_by + to, (int)holder + 1, (size_t)units);
    map->at[holder] = to;
    check(map);
}
