#include "base/pool.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum { POOL_FIRST_OBJECTS = 64, CACHE_LINE = 64 };

struct base_pool_chunk {
    struct base_pool_chunk *next;
};

/* What a free object holds. */
struct free_object {
    struct free_object *next;
};

void base_pool_init(struct base_pool *pool, size_t object_bytes)
{
    size_t align = _Alignof(max_align_t);
    base_require(object_bytes <= SIZE_MAX - align);
    size_t rounded = (object_bytes + align - 1) / align * align;
    *pool = (struct base_pool){.object_bytes = rounded == 0 ? align : rounded};
}

void base_pool_release(struct base_pool *pool)
{
    while (pool->chunks != NULL) {
        struct base_pool_chunk *next = pool->chunks->next;
        base_free(pool->chunks);
        pool->chunks = next;
    }
    base_pool_init(pool, pool->object_bytes);
}

static void push_free(struct base_pool *pool, void *object)
{
    struct free_object *head = object;
    head->next = pool->free_head;
    pool->free_head = head;
}

/* Objects of whole cache lines begin with one. */
static size_t alignment_of(size_t object_bytes)
{
    return object_bytes % CACHE_LINE == 0 ? CACHE_LINE : _Alignof(max_align_t);
}

/* As many objects again as there are, so that the number of chunks grows with the logarithm. */
static void add_chunk(struct base_pool *pool)
{
    size_t count = pool->total_count == 0 ? POOL_FIRST_OBJECTS : pool->total_count;
    size_t bytes = base_mul_size(count, pool->object_bytes),
           align = alignment_of(pool->object_bytes);
    base_require(bytes <= SIZE_MAX - sizeof(struct base_pool_chunk) - align);
    struct base_pool_chunk *chunk = base_alloc(sizeof *chunk + align + bytes);
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    unsigned char *first = (unsigned char *)(chunk + 1);
    first += (align - (uintptr_t)first % align) % align;
    for (size_t i = count; i-- > 0;) /* backwards: the lowest address is taken first */
        push_free(pool, first + i * pool->object_bytes);
    pool->total_count += count;
}

void *base_pool_take_raw(struct base_pool *pool)
{
    if (pool->free_head == NULL)
        add_chunk(pool);
    struct free_object *object = pool->free_head;
    pool->free_head = object->next;
    pool->taken_count++;
    return object;
}

void *base_pool_take(struct base_pool *pool)
{
    return memset(base_pool_take_raw(pool), 0, pool->object_bytes);
}

void base_pool_give(struct base_pool *pool, void *object)
{
    base_require(object != NULL && pool->taken_count > 0);
    pool->taken_count--;
    push_free(pool, object);
}
