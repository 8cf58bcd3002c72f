/*
 * evict.h - which idle blocks lose their content first.
 *
 *   lru       by when they were last given back: the engine's own free queue
 *   fifo      by when they were first given back; being found again does not help
 *   lfu       by how often they were found again, of equals lru
 *   mru       the latest given back first
 *   filo      the latest first given back first
 *   priority  the least urgent first, of equals lru; a block has the priority of the most urgent request that held it
 *   slru      two segments: what was never found again goes before what was, lru in each
 *
 * Of blocks that one sequence gave back at once the last one goes first, whatever the order: a beginning is worth more than
 * what follows it, which cannot be found without it. So all orders are orders of extents: (rank, release, first block).
 *
 * A heap, O(log of the idle extents), whatever the length of a context; extents come in any order and may age while they are
 * idle. The engine's own free queue, which is lru and holds empty blocks between the others, is a list: kv/braid.h.
 * Source of the names and keys: SGLang, mem_cache/evict_policy.py (docs/sources.md).
 */
#ifndef KVSIM_KV_EVICT_H
#define KVSIM_KV_EVICT_H

#include "base/field.h"
#include "kv/extent.h"

#include <stdbool.h>
#include <stddef.h>

enum kv_eviction {
    KV_EVICT_LRU,
    KV_EVICT_FIFO,
    KV_EVICT_LFU,
    KV_EVICT_MRU,
    KV_EVICT_FILO,
    KV_EVICT_PRIORITY,
    KV_EVICT_SLRU,
};

/* Values of engine.kv_eviction, in the order of the enum; ended by a name of NULL. */
extern const struct base_choice kv_eviction_choices[];

struct kv_evict {
    enum kv_eviction order;
    struct {
        struct kv_extent **at;
        size_t count, capacity;
    } heap; /* the next one on top */
};

void kv_evict_init(struct kv_evict *idle, enum kv_eviction order);
void kv_evict_release(struct kv_evict *idle);

/* The extent whose last block is taken next, or NULL. */
static inline struct kv_extent *kv_evict_first(const struct kv_evict *idle)
{
    return idle->heap.count > 0 ? idle->heap.at[0] : NULL;
}

/* Its age is up to date. */
void kv_evict_put(struct kv_evict *idle, struct kv_extent *extent);
void kv_evict_remove(struct kv_evict *idle, const struct kv_extent *extent);
/* The age of an idle extent is another one now. */
void kv_evict_aged(struct kv_evict *idle, const struct kv_extent *extent);

#endif
