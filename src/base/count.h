/*
 * count.h - the lesser, the greater and the quotient rounded up, of counts.
 *
 * Counts are far from the end of their type: nothing here is checked (base_mul_size() is, for sizes). `by` > 0.
 */
#ifndef KVSIM_BASE_COUNT_H
#define KVSIM_BASE_COUNT_H

#include <stdint.h>

static inline int64_t base_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t base_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t base_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* value >= 0. */
static inline int64_t base_div_up(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

static inline uint64_t base_div_up_u64(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

#endif
