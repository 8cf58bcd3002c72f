/*
 * bins.h - the bins of an `empirical` distribution from a file, CSV with a header or JSON lines.
 *
 * Known by their columns:
 *   low,high,weight    a histogram: [low, high), uniform within; low = high is one value
 *   value[,weight]     single values
 *   value,cdf          points of a cumulative distribution, rising to 1: the first row is a value
 *                      of its own, after it the share between two rows lies evenly in
 *                      (value before, value]
 *   a trace or a table of lengths: the column of prompts or of outputs, whichever is asked for;
 *                      rows with 0 (failed requests) are left out
 * Equal single values are counted together, so memory grows with the distinct values only.
 */
#ifndef KVSIM_WORKLOAD_BINS_H
#define KVSIM_WORKLOAD_BINS_H

#include "base/error.h"
#include "base/mem.h"
#include "rng/rng.h"

enum workload_role { WORKLOAD_ROLE_PROMPT, WORKLOAD_ROLE_OUTPUT };

/* `*bins` live in `arena`. Errors carry the file's line and column. */
enum kvsim_status workload_bins_read(const char *path, enum workload_role role,
                                     struct base_arena *arena, const struct rng_bin **bins,
                                     size_t *count, struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
