/*
 * i128.h - 128-bit integers, for exact time (ticks) and exact integrals (tokens x ticks).
 *
 * A tick is 2^-20 ns. int64 ticks would end after 2.4 hours, token x ns overflows at ten million requests; 128 bits
 * hold every sum that a run can reach.
 */
#ifndef KVSIM_BASE_I128_H
#define KVSIM_BASE_I128_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 base_i128;
__extension__ typedef unsigned __int128 base_u128;

enum { BASE_TICKS_SHIFT = 20 };
#define BASE_TICKS_PER_NS ((int64_t)1 << BASE_TICKS_SHIFT)

static inline base_i128 base_ticks_from_ns(int64_t ns)
{
    return (base_i128)ns * BASE_TICKS_PER_NS;
}

/* Floor; ticks >= 0. */
static inline int64_t base_ticks_floor_ns(base_i128 ticks)
{
    return (int64_t)(ticks >> BASE_TICKS_SHIFT);
}

static inline int64_t base_ticks_ceil_ns(base_i128 ticks)
{
    return (int64_t)((ticks + (BASE_TICKS_PER_NS - 1)) >> BASE_TICKS_SHIFT);
}

/* The nearest double (error below one unit in the last place of a double). */
static inline double base_i128_to_double(base_i128 value)
{
    return (double)value;
}

/* Decimal text; `text` has room for 41 characters. Returns text. */
char *base_i128_print(base_i128 value, char *text, size_t bytes);

#endif
