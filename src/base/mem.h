/*
 * mem.h - the only door to the allocator: checked sizes, an arena, and growable arrays.
 *
 * No function here returns NULL. When the system has no memory left, base_alloc() and base_realloc() write one line,
 * "kvsim: out of memory", to stderr and end the process with exit status 70, without unwinding: a simulator that was
 * refused a few bytes has nothing useful left to do, the store's journal makes an interrupted database whole again, and
 * code without thousands of untested error paths is safer code. What comes from outside (the size of a file, a count in
 * a scenario) is therefore checked against a limit before memory is asked for.
 *
 * Builds with KVSIM_FAULTS defined (preset asan) can bring that about: after base_mem_fail_at(n) the n-th allocation
 * from then on ends the process in the same way. tests/fault runs the work in a child for n = 1, 2, … until it gets
 * through, and looks at the child's exit status, its one line, and the files it left.
 *
 * An arena hands out zeroed memory that lives until the arena is released; one arena belongs to one run or one
 * document. An arena is not thread-safe; it has one owner.
 */
#ifndef KVSIM_BASE_MEM_H
#define KVSIM_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a * b, or abort when it does not fit in size_t. */
size_t base_mul_size(size_t a, size_t b);

void *base_alloc(size_t bytes);                 /* zeroed */
void *base_realloc(void *memory, size_t bytes); /* new bytes are not zeroed */
void base_free(void *memory);

#ifdef KVSIM_FAULTS
/* The n-th allocation from now (from 1) fails; 0 = none does. For the whole process. */
void base_mem_fail_at(long n);
#endif

struct base_arena {
    struct base_arena_chunk *chunks;
    unsigned char *next, *end;
    size_t chunk_bytes, used_bytes;
};

void base_arena_init(struct base_arena *arena);
void base_arena_release(struct base_arena *arena);
void *base_arena_take(struct base_arena *arena, size_t bytes); /* zeroed, aligned for any type */
void *base_arena_array(struct base_arena *arena, size_t count, size_t item_bytes); /* checked */
char *base_arena_copy(struct base_arena *arena, const char *text);
char *base_arena_copy_n(struct base_arena *arena, const char *text, size_t length);
char *base_arena_printf(struct base_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Growable array: `struct { T *at; size_t count, capacity; }` used through base_vec_push().
 * base_vec_reserve(vec, n) makes room for n items; base_vec_free(vec) gives the memory back.
 */
void *base_vec_grow(void *at, size_t *capacity, size_t needed, size_t item_bytes);
#define base_vec_reserve(vec, n)                                                                  \
    ((n) > (vec)->capacity                                                                        \
         ? (void)((vec)->at = base_vec_grow((vec)->at, &(vec)->capacity, (n), sizeof *(vec)->at)) \
         : (void)0)
#define base_vec_push(vec, item) \
    (base_vec_reserve((vec), (vec)->count + 1), (vec)->at[(vec)->count++] = (item))
#define base_vec_free(vec) \
    (base_free((vec)->at), (vec)->at = NULL, (vec)->count = (vec)->capacity = 0)

#endif
