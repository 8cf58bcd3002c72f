/*
 * dist_util.h - what the tests of distributions share.
 */
#ifndef KVSIM_TESTS_UNIT_RNG_DIST_UTIL_H
#define KVSIM_TESTS_UNIT_RNG_DIST_UTIL_H

#include "rng/rng_int.h"

#include <check.h>
#include <math.h>

#define OPTIONS(kind_, ...) ((struct rng_dist_options){.kind = (kind_), __VA_ARGS__})
#define WITH_RANGE(low, high) .has_min = true, .min = (low), .has_max = true, .max = (high)
#define WITH_MEAN_CV(mean_, cv_) .has_mean = true, .mean = (mean_), .has_cv = true, .cv = (cv_)

static inline struct rng_dist make_dist(struct rng_dist_options options, bool whole,
                                        struct base_arena *arena)
{
    struct rng_dist dist;
    struct kvsim_error err = {0};

    ck_assert_msg(rng_dist_init(&dist, &options, whole, arena, &err) == KVSIM_OK, "%s: %s", err.key,
                  err.message);
    return dist;
}

/* Mean of `count` equally spaced quantiles: no noise but that of the grid. */
static inline double grid_mean(const struct rng_dist *dist, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++)
        sum += rng_dist_value(dist, ((double)i + 0.5) / (double)count);
    return sum / (double)count;
}

#endif
