/*
 * rng.h - addressed random numbers: the value of (seed, replication, purpose, entity, index) is the
 * same whatever was drawn before it, so that sweep points and compared scenarios share their
 * randomness.
 *
 * rng_key() folds all but the index into one word once; rng_uniform() is then two multiplications a
 * value. Distributions that have no inverse take a stream of their own per value: rng_gsl_at() in
 * rng/stream.h.
 */
#ifndef KVSIM_RNG_RNG_H
#define KVSIM_RNG_RNG_H

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rng_purpose {
    RNG_ARRIVAL = 1,
    RNG_CLASS,
    RNG_PROMPT,
    RNG_OUTPUT,
    RNG_LENGTH_PAIR, /* the second, correlated normal of a pair */
    RNG_MAX_TOKENS,
    RNG_THINK,
    RNG_MODULATION,
    RNG_ROUTER,
    RNG_PREFIX,
    RNG_ABORT,
    RNG_NOISE,
    RNG_SESSION,
    RNG_INPUT,    /* what a plan is not sure of */
    RNG_SEQUENCE, /* how many answers a request asks for, and the further ones' lengths */
    RNG_BEAM,     /* of a request: which beams go on from which */
};

uint64_t rng_key(uint64_t seed, uint32_t replication, enum rng_purpose purpose, uint64_t entity);

/* Uniform in the open interval (0, 1), 53 bits. */
static inline double rng_uniform(uint64_t key, uint64_t index)
{
    return ((double)(base_mix64(key + index * UINT64_C(0x9e3779b97f4a7c15)) >> 11) + 0.5) *
           0x1.0p-53;
}

/*
 * A distribution of one value through its (truncated) inverse: one uniform per value. `mean`, `cv`,
 * `median`, `p95` describe it before `min` and `max` cut it off (no clamping at the ends).
 */
enum rng_kind {
    RNG_FIXED,
    RNG_UNIFORM,     /* min, max */
    RNG_NORMAL,      /* mean, sd */
    RNG_LOGNORMAL,   /* mean, cv | median, p95 */
    RNG_GAMMA,       /* mean, cv | median, p95 */
    RNG_WEIBULL,     /* mean, cv */
    RNG_EXPONENTIAL, /* mean */
    RNG_GEOMETRIC,   /* mean, from 1 */
    RNG_ZIPF,        /* s, min, max */
    RNG_EMPIRICAL,   /* bins: values or [low, high) with weights */
};

struct rng_bin {
    double low, high; /* low == high: a single value; else uniform within */
    double weight;
};

struct rng_dist_options {
    enum rng_kind kind;
    bool has_mean, has_cv, has_sd, has_median, has_p95, has_min, has_max, has_s;
    double value, mean, cv, sd, median, p95, min, max, s;
    const struct rng_bin *bins;
    size_t bin_count;
};

struct rng_dist {
    enum rng_kind kind;
    double a, b;          /* parameters of the kind: mu and sigma, shape and scale, ... */
    double low, high;     /* truncation */
    double u_low, u_span; /* CDF(low), CDF(high) - CDF(low) */
    bool whole;           /* values are whole numbers: rounded as said in rng_dist_init */
    const double *table;  /* cumulative weights: zipf, empirical */
    const struct rng_bin *bins;
    size_t table_count;
};

/*
 * Compiles and validates; `err` names the key at fault. `whole` = values are token counts, at least
 * 1: a continuous value is rounded to the nearest whole number and stays within [min, max] (without
 * `min`, what rounds below 1 becomes 1); uniform takes every whole number from min to max equally
 * often, an empirical range [low, high) every one in it. geometric and zipf are whole anyway. A
 * spread of 0 makes a fixed value. Tables and bins are kept in `arena`.
 */
enum kvsim_status rng_dist_init(struct rng_dist *dist, const struct rng_dist_options *options,
                                bool whole, struct base_arena *arena,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;
double rng_dist_value(const struct rng_dist *dist, double u);
/* After truncation and rounding; numeric where there is no closed form. */
double rng_dist_mean(const struct rng_dist *dist);

/* Correlated pair: maps (z1, z2) with rank correlation `rho` of a Gaussian copula to two
 * uniforms. */
void rng_correlate(double rho, double u1, double u2, double *v1, double *v2);

#endif
