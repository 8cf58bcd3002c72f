/*
 * pool.h - fixed-size objects, taken and given back in O(1).
 *
 * Memory comes in chunks that double; a returned object heads a free list kept inside the objects.
 * Invariant: taken + free == objects in all chunks. Nothing is returned to the system before release.
 * Ownership: the pool owns every object; a pointer is valid until given back or the pool is released.
 */
#ifndef KVSIM_BASE_POOL_H
#define KVSIM_BASE_POOL_H

#include <stddef.h>

struct base_pool {
    void *free_head;
    struct base_pool_chunk *chunks;
    size_t object_bytes, taken_count, total_count;
};

void base_pool_init(struct base_pool *pool, size_t object_bytes);
void base_pool_release(struct base_pool *pool);
void *base_pool_take(struct base_pool *pool);     /* zeroed */
void *base_pool_take_raw(struct base_pool *pool); /* to be written whole */
void base_pool_give(struct base_pool *pool, void *object);

#endif
