/*
 * units.h - numbers with units, as users write them, to SI integers or doubles and back.
 *
 * Token counts: k = 1024, M = 1024^2. Every other quantity: k, M, G, T = powers of 1000; Ki, Mi, Gi, Ti = powers of
 * 1024. "8k", "80GiB", "80 GiB", "250ms", "4/s", "3.35 TB/s", "989 TFLOPS", "10%". Time: ns us ms s min h.
 * Bandwidth also Gb/s (bits). A bare number is accepted where the unit is NONE, TOKENS, COUNT, RATIO, USD or
 * PLAIN_BYTES, and 0 everywhere; elsewhere a missing unit is an error that names the units.
 *
 * A number is an optional sign, decimal digits with at most one point, and an optional exponent ("1e3"); no grouping,
 * no hexadecimal, at most 36 significant digits. The point is '.' in every locale. A negative value is an error for
 * bytes, times, rates, watts and money; elsewhere ranges are the field table's business. Errors are
 * KVSIM_ERR_SCENARIO with the codes bad-number, missing-unit, unknown-unit, not-whole and out-of-range, without a
 * place: the caller knows it.
 */
#ifndef KVSIM_BASE_UNITS_H
#define KVSIM_BASE_UNITS_H

#include <kvsim/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum base_unit {
    BASE_NONE,        /* a bare number, no prefix */
    BASE_COUNT,       /* dimensionless count; k = 1000 */
    BASE_TOKENS,      /* k = 1024 */
    BASE_BYTES,       /* B, KB, MB, GB, TB, KiB, MiB, GiB, TiB */
    BASE_TIME,        /* to ns */
    BASE_RATE,        /* "4/s", "240/min", "inf": per second */
    BASE_RATIO,       /* "10%" or "0.1" */
    BASE_BYTES_PER_S, /* GB/s, TB/s, GiB/s, Gb/s */
    BASE_FLOP_PER_S,  /* TFLOPS, GFLOPS, PFLOPS, TFLOP/s, TOPS */
    BASE_WATT,
    BASE_USD,         /* plain number, or "$2.50" */
    BASE_PLAIN_BYTES, /* as BASE_BYTES, and a bare number is bytes: for keys whose name says so */
    BASE_UNIT_COUNT
};

/* `text` to a double in the unit's SI base (bytes, ns, 1/s, tokens, ...). Rejects NaN, unknown units, trailing text.
 * "inf" only for BASE_RATE and BASE_NONE. */
enum kvsim_status base_parse_real(const char *text, enum base_unit unit, double *out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The same for integers, exact in decimal arithmetic: "1.5GiB" is 1610612736; a value that is not whole is an error
 * (for BASE_TIME it is rounded to the nearest ns, ties to the even one). Overflow is an error. */
enum kvsim_status base_parse_int(const char *text, enum base_unit unit, int64_t *out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* An exact decimal as a fraction in lowest terms ("0.01" is 1/100, "5%" is 1/20). */
enum kvsim_status base_parse_rational(const char *text, int64_t *num, int64_t *den,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/* A bare decimal number of seconds, as data files have it, exact and rounded as above; negative is an error. */
enum kvsim_status base_parse_seconds(const char *text, int64_t *out_ns,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Name of the unit for messages, manual and run_param: "tokens", "bytes", "ns", "1/s", ... "" for NONE. */
const char *base_unit_name(enum base_unit unit);

/* The suffix that makes a bare number of the base unit acceptable: "B", "ns", "/s", or "". */
const char *base_unit_suffix(enum base_unit unit);

/* What a user may write, for messages: "a time such as 250ms (ns, us, ms, s, min, h)". */
const char *base_unit_help(enum base_unit unit);

/* For people: 85899345920 -> "80.00 GiB"; 1234567 ns -> "1.235 ms"; writes at most `bytes`. Returns text. */
char *base_print_bytes(double value_bytes, char *text, size_t bytes);
char *base_print_time(double value_ns, char *text, size_t bytes);
char *base_print_count(double value, char *text, size_t bytes); /* 12,345 */

/* The shortest decimal that reads back as the same double, with '.' in every locale; "nan", "inf", "-inf". 32 bytes
 * are enough. Returns text. */
char *base_print_real(double value, char *text, size_t bytes);

/*
 * A range as the command line writes it: "1,2,4", "1..16", "1..256*2", "1k..9k+2k", or any mix with commas; items that
 * are not ranges are kept as text. A comma inside brackets or quotes does not separate. An item is a range when a number
 * stands before its ".."; all integers of lo..hi, or arithmetic by "+step" (decimals allowed), or geometric by "*factor"
 * (a whole number from 2). Calls `item` with each value's text: for a range a plain number, with the base unit's suffix
 * ("B", "ns", "/s", …) where a bare number would not be accepted. At most 10,000 values.
 */
enum kvsim_status base_parse_range(const char *text, enum base_unit unit,
                                   enum kvsim_status (*item)(void *context, const char *value,
                                                             struct kvsim_error *err),
                                   void *context, struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
