/*
 * units_int.h - exact decimal numbers, shared by the parsers of base.
 *
 * A number is n * 2^e2 * 5^e5 / d3 with d3 a power of 3: every decimal, every prefix of 1000 or 1024, percent, minutes
 * and hours are of that form, so that nothing is rounded before the caller asks for it.
 */
#ifndef KVSIM_BASE_UNITS_INT_H
#define KVSIM_BASE_UNITS_INT_H

#include "base/i128.h"
#include "base/units.h"

struct base_number {
    bool negative, infinite;
    base_u128 n; /* at most 36 digits times 36 */
    long e2, e5;
    unsigned d3; /* 1, 3 or 9 */
};

/* Reads the whole of `text` as a number with a unit. */
enum kvsim_status base_number_parse(const char *text, enum base_unit unit, struct base_number *out,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;

/* To an integer; `round` takes the nearest (ties to even) where it is not whole. `text` is for messages. */
enum kvsim_status base_number_to_int(const struct base_number *number, bool round, const char *text,
                                     int64_t *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Fills err with "'TEXT' FMT...", TEXT cut to a readable length. */
enum kvsim_status base_number_fail(struct kvsim_error *err, const char *code, const char *text,
                                   const char *fmt, ...) KVSIM_PRINTF(4, 5);

#endif
