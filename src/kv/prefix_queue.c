/*
 * prefix_queue.c - which idle blocks are taken next, and what they held: out of the engine's own queue, or of a heap by age.
 */
#include "base/error.h"
#include "kv/prefix_int.h"

// The next blocks of an extent are taken: who reads them or asks for what they held is told.
static void tell_taken(struct kv_prefix *prefix, const struct kv_extent *extent, int64_t blocks)
{
    int64_t from = extent->hi - blocks;
    if (extent->last_store > prefix->stores_done && prefix->on_reuse != NULL) {
        struct kv_source source = {extent->copy, from,       extent->hi,
                                   extent->lo,   extent->hi, extent->last_store};
        prefix->on_reuse(prefix->context, &source);
    }
    if (prefix->on_evict != NULL) {
        prefix->on_evict(prefix->context, extent->table, extent->node, from, extent->hi);
    }
}

static void tell_taken_of_braid(struct kv_prefix *prefix, const struct kv_braid *braid,
                                int64_t blocks)
{
    blocks -= braid->blank < blocks ? braid->blank : blocks;
    for (const struct kv_extent *extent = braid->first; blocks > 0; extent = extent->after) {
        int64_t here = extent->hi - extent->lo < blocks ? extent->hi - extent->lo : blocks;
        tell_taken(prefix, extent, here);
        blocks -= here;
    }
}

static void take_from_braid(struct kv_prefix *prefix, struct kv_braid *braid, int64_t blocks)
{
    if (braid->is_link) {
        braid->eaten += blocks;
        if (braid->eaten == braid->rounds) {
            kv_prefix_eat_link(prefix, braid);
        }
        return;
    }
    if (braid->rounds == 1) {
        if (prefix->on_reuse != NULL || prefix->on_evict != NULL) {
            tell_taken_of_braid(prefix, braid, blocks);
        }
        kv_prefix_eat(prefix, braid, blocks);
        return;
    }
    braid->eaten += blocks;
    if (kv_braid_blocks(braid) > 0) {
        return;
    }
    for (struct kv_extent *extent = braid->first, *next; extent != NULL; extent = next) {
        next = extent->after;
        kv_extent_drop(prefix, extent);
    }
    kv_braids_drop(&prefix->queue, braid);
}

static void take_from_queue(struct kv_prefix *prefix, int64_t blocks)
{
    while (blocks > 0) {
        struct kv_braid *head = prefix->queue.head;
        base_require(head != NULL);
        int64_t here = kv_braid_blocks(head);
        here = here < blocks ? here : blocks;
        int64_t content = kv_braid_content(head, 0, here);
        prefix->idle_blocks -= content;
        prefix->evicted_blocks += content;
        prefix->blank_blocks -= here - content;
        take_from_braid(prefix, head, here);
        blocks -= here;
    }
}

static void take_from_heap(struct kv_prefix *prefix, int64_t blocks)
{
    prefix->idle_blocks -= blocks;
    prefix->evicted_blocks += blocks;
    while (blocks > 0) {
        struct kv_extent *first = kv_evict_first(&prefix->idle);
        base_require(first != NULL);
        int64_t here = first->hi - first->lo;
        here = here < blocks ? here : blocks;
        tell_taken(prefix, first, here);
        first->hi -= here;
        if (first->hi == first->lo) {
            kv_evict_remove(&prefix->idle, first);
            kv_extent_drop(prefix, first);
        }
        blocks -= here;
    }
}

void kv_prefix_take(struct kv_prefix *prefix, int64_t blocks)
{
    base_require(blocks <= kv_prefix_free_blocks(prefix));
    if (!prefix->is_old_order) {
        int64_t blank = blocks < prefix->blank_blocks ? blocks : prefix->blank_blocks;
        prefix->blank_blocks -= blank;
        blocks -= blank;
        if (prefix->blank_runs.count > 0) {
            kv_blank_take(prefix, blank);
        }
    }
    if (kv_prefix_has_queue(prefix)) {
        take_from_queue(prefix, blocks);
    } else {
        take_from_heap(prefix, blocks);
    }
}

/* ---- along the queue ---- */

void kv_prefix_walk_queue(const struct kv_prefix *prefix, struct kv_queue_walk *out)
{
    *out = prefix->is_old_order ? (struct kv_queue_walk){.braid = prefix->queue.head}
                                : (struct kv_queue_walk){.blank = prefix->blank_blocks};
}

int64_t kv_queue_walk_alike(const struct kv_queue_walk *walk, bool *evicts)
{
    *evicts = walk->blank == 0;
    if (walk->blank > 0) {
        return walk->blank;
    }
    return walk->braid != NULL ? kv_braid_alike(walk->braid, walk->passed, evicts) : INT64_MAX;
}

int64_t kv_queue_walk_pass(struct kv_queue_walk *walk, int64_t blocks)
{
    int64_t here = walk->blank < blocks ? walk->blank : blocks, held = 0;
    walk->blank -= here;
    blocks -= here;
    while (blocks > 0 && walk->braid != NULL) {
        int64_t left = kv_braid_blocks(walk->braid) - walk->passed;
        here = left < blocks ? left : blocks;
        held += kv_braid_content(walk->braid, walk->passed, here);
        blocks -= here;
        walk->passed += here;
        if (here == left) {
            walk->braid = walk->braid->after;
            walk->passed = 0;
        }
    }
    return held + blocks;
}
