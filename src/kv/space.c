#include "kv/space.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static void insert_at(struct kv_space *space, size_t index, struct kv_range range)
{
    base_vec_push(&space->free, range);
    struct kv_range *at = space->free.at;
    memmove(at + index + 1, at + index, (space->free.count - 1 - index) * sizeof *at);
    at[index] = range;
}

static void remove_at(struct kv_space *space, size_t index)
{
    struct kv_range *at = space->free.at;
    space->free.count--;
    memmove(at + index, at + index + 1, (space->free.count - index) * sizeof *at);
}

// The first free range at or behind an address.
static size_t index_of(const struct kv_space *space, int64_t address)
{
    size_t low = 0, high = space->free.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->free.at[middle].at < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t power_below(int64_t units)
{
    int64_t power = 1;
    while (power <= units / 2) {
        power *= 2;
    }
    return power;
}

static int64_t power_above(int64_t units)
{
    int64_t power = 1;
    while (power < units) {
        base_require(power <= INT64_MAX / 2);
        power *= 2;
    }
    return power;
}

void kv_space_init(struct kv_space *space, enum kv_placement placement, int64_t units)
{
    base_require(placement != KV_ANY_BLOCKS && units >= 0);
    *space = (struct kv_space){.placement = placement, .units = units, .free_units = units};
    for (int64_t at = 0; at < units;) {
        int64_t length = placement == KV_BUDDY ? power_below(units - at) : units;
        insert_at(space, space->free.count, (struct kv_range){at, length});
        at += length;
    }
}

void kv_space_release(struct kv_space *space)
{
    base_vec_free(&space->free);
}

int64_t kv_space_units_for(const struct kv_space *space, int64_t units)
{
    base_require(units >= 1);
    return space->placement == KV_BUDDY ? power_above(units) : units;
}

// The free range from which `units` are cut, or the count of ranges when there is none.
static size_t choose(const struct kv_space *space, int64_t units)
{
    size_t chosen = space->free.count;
    for (size_t i = 0; i < space->free.count; i++) {
        int64_t length = space->free.at[i].units;
        if (length < units) {
            continue;
        }
        if (space->placement == KV_FIRST_FIT) {
            return i;
        }
        if (chosen == space->free.count || length < space->free.at[chosen].units) {
            chosen = i;
        }
    }
    return chosen;
}

bool kv_space_fits(const struct kv_space *space, int64_t units)
{
    if (units > space->units) {
        return false;
    }
    return choose(space, kv_space_units_for(space, units)) < space->free.count;
}

// Halves a power of two until it is `units` long; the upper halves stay free.
static void halve(struct kv_space *space, size_t index, int64_t units)
{
    while (space->free.at[index].units > units) {
        struct kv_range *lower = &space->free.at[index];
        lower->units /= 2;
        insert_at(space, index + 1, (struct kv_range){lower->at + lower->units, lower->units});
    }
}

int64_t kv_space_take(struct kv_space *space, int64_t units)
{
    if (units > space->units) {
        return -1;
    }
    int64_t length = kv_space_units_for(space, units);
    size_t index = choose(space, length);
    if (index == space->free.count) {
        return -1;
    }
    if (space->placement == KV_BUDDY) {
        halve(space, index, length);
    }
    struct kv_range *range = &space->free.at[index];
    int64_t at = range->at;
    range->at += length;
    range->units -= length;
    if (range->units == 0) {
        remove_at(space, index);
    }
    space->free_units -= length;
    return at;
}

static void merge_neighbours(struct kv_space *space, size_t index)
{
    struct kv_range *at = space->free.at;
    if (index + 1 < space->free.count && at[index].at + at[index].units == at[index + 1].at) {
        at[index].units += at[index + 1].units;
        remove_at(space, index + 1);
    }
    if (index > 0 && at[index - 1].at + at[index - 1].units == at[index].at) {
        at[index - 1].units += at[index].units;
        remove_at(space, index);
    }
}

// A range and its buddy become the range that they were cut from, as long as both are free.
static void merge_buddies(struct kv_space *space, size_t index)
{
    struct kv_range *at = space->free.at;
    bool merged = true;
    while (merged) {
        int64_t length = at[index].units;
        bool is_lower = (at[index].at / length) % 2 == 0;
        size_t lower = is_lower ? index : index - 1;
        // The other half must be next to it in the list, of the same length and at the right place.
        merged = (is_lower || index > 0) && lower + 1 < space->free.count &&
                 at[lower].units == length && at[lower + 1].units == length &&
                 at[lower].at + length == at[lower + 1].at;
        if (merged) {
            at[lower].units = 2 * length;
            remove_at(space, lower + 1);
            index = lower;
        }
    }
}

void kv_space_give(struct kv_space *space, int64_t at, int64_t units)
{
    int64_t length = kv_space_units_for(space, units);
    base_require(at >= 0 && at <= space->units - length);
    size_t index = index_of(space, at);
    const struct kv_range *ranges = space->free.at;
    base_require(index == 0 || ranges[index - 1].at + ranges[index - 1].units <= at);
    base_require(index == space->free.count || at + length <= ranges[index].at);
    insert_at(space, index, (struct kv_range){at, length});
    space->free_units += length;
    if (space->placement == KV_BUDDY) {
        merge_buddies(space, index);
    } else {
        merge_neighbours(space, index);
    }
}

void kv_space_slide(struct kv_space *space, int64_t from, int64_t to, int64_t units)
{
    base_require(space->placement != KV_BUDDY && to <= from && units >= 1);
    if (to == from) {
        return;
    }
    size_t index = index_of(space, to);
    base_require(index < space->free.count);
    struct kv_range *hole = &space->free.at[index];
    base_require(hole->at == to && hole->at + hole->units == from);
    hole->at += units; // the hole and the allocation change places
    if (index + 1 < space->free.count && hole->at + hole->units == space->free.at[index + 1].at) {
        hole->units += space->free.at[index + 1].units;
        remove_at(space, index + 1);
    }
}

int64_t kv_space_largest(const struct kv_space *space)
{
    int64_t largest = 0;
    for (size_t i = 0; i < space->free.count; i++) {
        largest = space->free.at[i].units > largest ? space->free.at[i].units : largest;
    }
    return largest;
}

static bool is_power_at_multiple(struct kv_range range)
{
    return (range.units & (range.units - 1)) == 0 && range.at % range.units == 0;
}

static bool are_buddies(struct kv_range a, struct kv_range b)
{
    return a.units == b.units && a.at + a.units == b.at && (a.at / a.units) % 2 == 0;
}

bool kv_space_is_sound(const struct kv_space *space)
{
    int64_t end = 0, sum = 0;
    bool sound = true;
    bool is_buddy = space->placement == KV_BUDDY;
    for (size_t i = 0; i < space->free.count && sound; i++) {
        struct kv_range range = space->free.at[i];
        sound = range.units > 0 && range.at >= end && range.at <= space->units - range.units &&
                (!is_buddy || is_power_at_multiple(range));
        if (i > 0 && sound) {
            struct kv_range before = space->free.at[i - 1];
            sound = is_buddy ? !are_buddies(before, range) : range.at > end;
        }
        end = range.at + range.units;
        sum += range.units;
    }
    return sound && sum == space->free_units;
}
