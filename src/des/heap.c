#include "des/heap.h"

#include "base/error.h"
#include "base/mem.h"

void des_event_init(struct des_event *event, enum des_priority priority)
{
    *event = (struct des_event){.priority = (int32_t)priority, .heap_index = DES_IDLE};
}

void des_heap_init(struct des_heap *heap)
{
    *heap = (struct des_heap){0};
}

void des_heap_release(struct des_heap *heap)
{
    base_vec_free(heap);
}

static bool comes_before(const struct des_event *a, const struct des_event *b)
{
    if (a->at_ticks != b->at_ticks) {
        return a->at_ticks < b->at_ticks;
    }
    return a->priority != b->priority ? a->priority < b->priority : a->seq < b->seq;
}

static void place(struct des_heap *heap, size_t index, struct des_event *event)
{
    heap->at[index] = event;
    event->heap_index = (uint32_t)index;
}

static void sift_up(struct des_heap *heap, size_t index, struct des_event *event)
{
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (!comes_before(event, heap->at[parent])) {
            break;
        }
        place(heap, index, heap->at[parent]);
        index = parent;
    }
    place(heap, index, event);
}

static void sift_down(struct des_heap *heap, size_t index, struct des_event *event)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && comes_before(heap->at[child + 1], heap->at[child])) {
            child++;
        }
        if (!comes_before(heap->at[child], event)) {
            break;
        }
        place(heap, index, heap->at[child]);
        index = child;
    }
    place(heap, index, event);
}

void des_heap_push_as(struct des_heap *heap, struct des_event *event, base_i128 at_ticks,
                      uint64_t order)
{
    base_require(!des_event_is_queued(event));
    base_require(heap->count < DES_IDLE);
    event->at_ticks = at_ticks;
    event->seq = order;
    base_vec_push(heap, event);
    sift_up(heap, heap->count - 1, event);
}

void des_heap_push(struct des_heap *heap, struct des_event *event, base_i128 at_ticks)
{
    des_heap_push_as(heap, event, at_ticks, heap->next_seq++);
}

static void remove_at(struct des_heap *heap, size_t index)
{
    struct des_event *last = heap->at[--heap->count];
    heap->at[index < heap->count ? index : heap->count]->heap_index = DES_IDLE;
    if (index == heap->count) {
        return;
    }
    if (index > 0 && comes_before(last, heap->at[(index - 1) / 2])) {
        sift_up(heap, index, last);
    } else {
        sift_down(heap, index, last);
    }
}

struct des_event *des_heap_pop(struct des_heap *heap)
{
    base_require(heap->count > 0);
    struct des_event *top = heap->at[0];
    remove_at(heap, 0);
    return top;
}

void des_heap_cancel(struct des_heap *heap, struct des_event *event)
{
    if (des_event_is_queued(event)) {
        base_require(heap->at[event->heap_index] == event);
        remove_at(heap, event->heap_index);
    }
}
