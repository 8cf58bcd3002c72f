/*
 * heap.h - pending events in order of (time, priority, order of pushing).
 *
 * Events are intrusive: the object that waits owns its event, the heap only keeps the index up to date. Time is exact, in
 * ticks of 2^-20 ns, so that the end of a step between two nanoseconds keeps its place. At equal times the lower priority
 * number goes first: completion, abort, arrival, schedule, sample. Push, pop, cancel and move cost O(log n).
 */
#ifndef KVSIM_DES_HEAP_H
#define KVSIM_DES_HEAP_H

#include "base/i128.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum des_priority { DES_COMPLETION, DES_ABORT, DES_ARRIVAL, DES_SCHEDULE, DES_SAMPLE };

#define DES_IDLE UINT32_MAX

struct des_event {
    base_i128 at_ticks;
    uint64_t seq; /* given at push; makes the order total */
    int32_t priority;
    uint32_t heap_index; /* DES_IDLE when not queued */
};

struct des_heap {
    struct des_event **at;
    size_t count, capacity;
    uint64_t next_seq;
};

void des_event_init(struct des_event *event, enum des_priority priority);
void des_heap_init(struct des_heap *heap);
void des_heap_release(struct des_heap *heap);
void des_heap_push(struct des_heap *heap, struct des_event *event, base_i128 at_ticks);
/* The same with an order of the caller's among events of equal time and priority; no two may share it. */
void des_heap_push_as(struct des_heap *heap, struct des_event *event, base_i128 at_ticks,
                      uint64_t order);
struct des_event *des_heap_pop(struct des_heap *heap);
void des_heap_cancel(struct des_heap *heap, struct des_event *event); /* no effect when idle */

static inline struct des_event *des_heap_top(const struct des_heap *heap)
{
    return heap->count > 0 ? heap->at[0] : NULL;
}

static inline bool des_event_is_queued(const struct des_event *event)
{
    return event->heap_index != DES_IDLE;
}

/* True when `a` comes before `b` by time and priority; events of different heaps may be compared (ties: false). */
static inline bool des_event_is_before(const struct des_event *a, const struct des_event *b)
{
    return a->at_ticks != b->at_ticks ? a->at_ticks < b->at_ticks : a->priority < b->priority;
}

#endif
