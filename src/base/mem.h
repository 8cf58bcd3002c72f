/*
 * mem.h - the only door to the allocator: checked sizes, an arena, and growable arrays.
 *
 * base_alloc() never returns NULL on a normal system; when memory ends it calls base_abort() unless a test has asked
 * for failures through base_mem_fail_at(), see below. An arena hands out zeroed memory that lives until the arena is
 * released; one arena belongs to one run or one document. An arena is not thread-safe; it has one owner.
 */
#ifndef KVSIM_BASE_MEM_H
#define KVSIM_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a * b, or abort when it does not fit in size_t. */
size_t base_mul_size(size_t a, size_t b);

void *base_alloc(size_t bytes);                     /* zeroed */
void *base_realloc(void *memory, size_t bytes);     /* new bytes are not zeroed */
void base_free(void *memory);

struct base_arena {
    struct base_arena_chunk *chunks;
    unsigned char *next, *end;
    size_t chunk_bytes, used_bytes;
};

void base_arena_init(struct base_arena *arena);
void base_arena_release(struct base_arena *arena);
void *base_arena_take(struct base_arena *arena, size_t bytes);                   /* zeroed, aligned for any type */
void *base_arena_array(struct base_arena *arena, size_t count, size_t item_bytes); /* checked product */
char *base_arena_copy(struct base_arena *arena, const char *text);
char *base_arena_copy_n(struct base_arena *arena, const char *text, size_t length);
char *base_arena_printf(struct base_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Growable array: `struct { T *at; size_t count, capacity; }` used through base_vec_push().
 * base_vec_reserve(vec, n) makes room for n items; base_vec_free(vec) gives the memory back.
 */
void base_vec_grow(void **at, size_t *capacity, size_t needed, size_t item_bytes);
#define base_vec_reserve(vec, n)                                                                                    \
    ((n) > (vec)->capacity ? base_vec_grow((void **)&(vec)->at, &(vec)->capacity, (n), sizeof *(vec)->at) : (void)0)
#define base_vec_push(vec, item) (base_vec_reserve((vec), (vec)->count + 1), (vec)->at[(vec)->count++] = (item))
#define base_vec_free(vec) (base_free((vec)->at), (vec)->at = NULL, (vec)->count = (vec)->capacity = 0)

#endif
