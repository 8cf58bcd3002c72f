/*
 * space.h - an address space in which every allocation is one contiguous range of units (blocks or bytes).
 *
 * Free ranges are kept by address, so neighbours merge when one comes back; what lies between allocations is what external
 * fragmentation is made of. Placements:
 *   first fit   the lowest range that is long enough
 *   best fit    the shortest one, of equals the lowest
 *   buddy       sizes are powers of two of a unit, at multiples of themselves; the smallest free power that fits is halved
 *               as often as needed, of equals the lowest address; a buddy that is free too merges. A space that is no power
 *               of two begins as its binary digits, the largest first.
 * An allocation can be moved to lower addresses (first and best fit): compaction, which the caller decides and pays for.
 * Sources: Knuth, The Art of Computer Programming, volume 1, 2.5 (algorithms A, B, R, S).
 *
 * Invariants: ranges do not overlap and lie inside the space; used + free == units; no two free neighbours (first and best
 * fit) or buddies (buddy) lie side by side. Cost: a walk over the free ranges, which are at most one more than the
 * allocations. The caller knows what it holds: kv_space_give() takes the range as it was given.
 */
#ifndef KVSIM_KV_SPACE_H
#define KVSIM_KV_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a reservation lies. */
enum kv_placement {
    KV_ANY_BLOCKS, /* in any free blocks: nothing is contiguous, no space is needed */
    KV_FIRST_FIT,
    KV_BEST_FIT,
    KV_BUDDY,
};

struct kv_range {
    int64_t at, units;
};

struct kv_space {
    enum kv_placement placement; /* not KV_ANY_BLOCKS */
    int64_t units, free_units;
    struct {
        struct kv_range *at;
        size_t count, capacity;
    } free; /* by address */
};

/* units >= 0. */
void kv_space_init(struct kv_space *space, enum kv_placement placement, int64_t units);
void kv_space_release(struct kv_space *space);

/* What an allocation of `units` >= 1 takes: itself, or (buddy) the next power of two. */
int64_t kv_space_units_for(const struct kv_space *space, int64_t units);
/* True when there is a place for it now. */
bool kv_space_fits(const struct kv_space *space, int64_t units);
/* The address of kv_space_units_for(units) units, or -1 when there is no place. */
int64_t kv_space_take(struct kv_space *space, int64_t units);
/* Gives back what kv_space_take(units) gave at that address. */
void kv_space_give(struct kv_space *space, int64_t at, int64_t units);
/* first and best fit: the `units` at `from` lie at `to` from now on; to <= from, and all of [to, from) is free. */
void kv_space_slide(struct kv_space *space, int64_t from, int64_t to, int64_t units);
/* The longest free range: the largest request that fits (buddy: its power of two). */
int64_t kv_space_largest(const struct kv_space *space);
/* Everything is in order (see the invariants); for tests and debug builds. */
bool kv_space_is_sound(const struct kv_space *space);

#endif
