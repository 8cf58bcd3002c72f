#include "base/mem.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KVSIM_FAULTS
#include <stdatomic.h>

/* The one mutable static of the library, and only in builds made to fail. */
static atomic_long fail_countdown;

void base_mem_fail_at(long n)
{
    atomic_store(&fail_countdown, n);
}

static bool fails_now(void)
{
    return atomic_load(&fail_countdown) > 0 && atomic_fetch_sub(&fail_countdown, 1) == 1;
}
#else
static bool fails_now(void)
{
    return false;
}
#endif

enum { ARENA_FIRST_BYTES = 16 * 1024, ARENA_LAST_BYTES = 1024 * 1024, VEC_FIRST_ITEMS = 8 };

struct base_arena_chunk {
    struct base_arena_chunk *next;
    max_align_t at[]; /* for its alignment */
};

static _Noreturn void out_of_memory(void)
{
    fputs("kvsim: out of memory\n", stderr);
    fflush(stderr);
    _Exit(70);
}

size_t base_mul_size(size_t a, size_t b)
{
    base_require(b == 0 || a <= SIZE_MAX / b);
    return a * b;
}

void *base_alloc(size_t bytes)
{
    void *memory = fails_now() ? NULL : calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL)
        out_of_memory();
    return memory;
}

void *base_realloc(void *memory, size_t bytes)
{
    void *moved = fails_now() ? NULL : realloc(memory, bytes == 0 ? 1 : bytes);
    if (moved == NULL)
        out_of_memory();
    return moved;
}

void base_free(void *memory)
{
    free(memory);
}

void base_arena_init(struct base_arena *arena)
{
    *arena = (struct base_arena){.chunk_bytes = ARENA_FIRST_BYTES};
}

void base_arena_release(struct base_arena *arena)
{
    while (arena->chunks != NULL) {
        struct base_arena_chunk *next = arena->chunks->next;
        base_free(arena->chunks);
        arena->chunks = next;
    }
    base_arena_init(arena);
}

static struct base_arena_chunk *new_chunk(size_t bytes)
{
    base_require(bytes <= SIZE_MAX - sizeof(struct base_arena_chunk));
    return base_alloc(sizeof(struct base_arena_chunk) + bytes);
}

/* A big object gets a chunk of its own, behind the current one, whose rest stays in use. */
static void *take_alone(struct base_arena *arena, size_t bytes)
{
    struct base_arena_chunk *chunk = new_chunk(bytes);
    if (arena->chunks == NULL) {
        arena->chunks = chunk;
    } else {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    }
    return chunk->at;
}

static void add_chunk(struct base_arena *arena)
{
    struct base_arena_chunk *chunk = new_chunk(arena->chunk_bytes);
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->next = (unsigned char *)chunk->at;
    arena->end = arena->next + arena->chunk_bytes;
    if (arena->chunk_bytes < ARENA_LAST_BYTES)
        arena->chunk_bytes *= 2;
}

static size_t round_up(size_t bytes)
{
    size_t align = _Alignof(max_align_t);
    base_require(bytes <= SIZE_MAX - align);
    return bytes == 0 ? align : (bytes + align - 1) / align * align;
}

void *base_arena_take(struct base_arena *arena, size_t bytes)
{
    size_t rounded = round_up(bytes);
    arena->used_bytes += rounded;
    if (rounded > arena->chunk_bytes / 4)
        return take_alone(arena, rounded);
    if (arena->next == NULL || (size_t)(arena->end - arena->next) < rounded)
        add_chunk(arena);
    void *taken = arena->next;
    arena->next += rounded;
    return taken;
}

void *base_arena_array(struct base_arena *arena, size_t count, size_t item_bytes)
{
    return base_arena_take(arena, base_mul_size(count, item_bytes));
}

char *base_arena_copy_n(struct base_arena *arena, const char *text, size_t length)
{
    base_require(length < SIZE_MAX);
    char *copy = base_arena_take(arena, length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *base_arena_copy(struct base_arena *arena, const char *text)
{
    return base_arena_copy_n(arena, text, strlen(text));
}

char *base_arena_printf(struct base_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    base_require(length >= 0);
    char *text = base_arena_take(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, fmt, again);
    va_end(again);
    return text;
}

void *base_vec_grow(void *at, size_t *capacity, size_t needed, size_t item_bytes)
{
    size_t grown = *capacity == 0 ? VEC_FIRST_ITEMS : *capacity;
    while (grown < needed)
        grown = grown > SIZE_MAX / 2 ? needed : grown * 2;
    at = base_realloc(at, base_mul_size(grown, item_bytes));
    *capacity = grown;
    return at;
}
