#include "kv/evict.h"

#include "base/error.h"
#include "base/mem.h"

const struct base_choice kv_eviction_choices[] = {
    {"lru", KV_EVICT_LRU, "what was given back longest ago: the engine's free queue"},
    {"fifo", KV_EVICT_FIFO, "what was first given back longest ago, found again or not"},
    {"lfu", KV_EVICT_LFU, "what was found again least often, of equals lru"},
    {"mru", KV_EVICT_MRU, "what was given back last"},
    {"filo", KV_EVICT_FILO, "what was first given back last"},
    {"priority", KV_EVICT_PRIORITY, "what the least urgent requests held, of equals lru"},
    {"slru", KV_EVICT_SLRU, "what was never found again before what was, lru in each"},
    {NULL, 0, NULL},
};

void kv_evict_init(struct kv_evict *idle, enum kv_eviction order)
{
    *idle = (struct kv_evict){.order = order};
}

void kv_evict_release(struct kv_evict *idle)
{
    base_vec_free(&idle->heap);
}

struct key {
    int64_t rank, release;
};

static struct key key_of(enum kv_eviction order, const struct kv_age *age)
{
    switch (order) {
    case KV_EVICT_FIFO:
        return (struct key){0, age->first_release};
    case KV_EVICT_LFU:
        return (struct key){age->hits, age->last_release};
    case KV_EVICT_MRU:
        return (struct key){0, -age->last_release};
    case KV_EVICT_FILO:
        return (struct key){0, -age->first_release};
    case KV_EVICT_PRIORITY:
        return (struct key){-(int64_t)age->priority, age->last_release};
    case KV_EVICT_SLRU:
        return (struct key){age->hits > 0, age->last_release};
    default:
        return (struct key){0, age->last_release};
    }
}

static bool goes_before(const struct kv_evict *idle, const struct kv_extent *a,
                        const struct kv_extent *b)
{
    struct key x = key_of(idle->order, &a->age), y = key_of(idle->order, &b->age);
    if (x.rank != y.rank) {
        return x.rank < y.rank;
    }
    if (x.release != y.release) {
        return x.release < y.release;
    }
    return a->lo > b->lo; // one sequence gave both back: they lie apart
}

static void heap_set(struct kv_evict *idle, size_t index, struct kv_extent *extent)
{
    idle->heap.at[index] = extent;
    extent->heap_index = index;
}

static void sift_up(struct kv_evict *idle, size_t index)
{
    struct kv_extent *extent = idle->heap.at[index];
    while (index > 0 && goes_before(idle, extent, idle->heap.at[(index - 1) / 2])) {
        heap_set(idle, index, idle->heap.at[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    heap_set(idle, index, extent);
}

static void sift_down(struct kv_evict *idle, size_t index)
{
    struct kv_extent *extent = idle->heap.at[index];
    for (size_t child; (child = 2 * index + 1) < idle->heap.count; index = child) {
        if (child + 1 < idle->heap.count &&
            goes_before(idle, idle->heap.at[child + 1], idle->heap.at[child])) {
            child++;
        }
        if (!goes_before(idle, idle->heap.at[child], extent)) {
            break;
        }
        heap_set(idle, index, idle->heap.at[child]);
    }
    heap_set(idle, index, extent);
}

void kv_evict_put(struct kv_evict *idle, struct kv_extent *extent)
{
    base_vec_push(&idle->heap, extent);
    sift_up(idle, idle->heap.count - 1);
}

void kv_evict_remove(struct kv_evict *idle, const struct kv_extent *extent)
{
    size_t index = extent->heap_index;
    base_assert(idle->heap.at[index] == extent);
    struct kv_extent *last = idle->heap.at[--idle->heap.count];
    if (last != extent) {
        heap_set(idle, index, last);
        sift_up(idle, index);
        sift_down(idle, last->heap_index);
    }
}

void kv_evict_aged(struct kv_evict *idle, const struct kv_extent *extent)
{
    base_assert(idle->heap.at[extent->heap_index] == extent);
    size_t index = extent->heap_index;
    sift_up(idle, index);
    sift_down(idle, extent->heap_index);
}
