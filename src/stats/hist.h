/*
 * hist.h - a mergeable log-linear histogram of non-negative int64 values (ns), and exact values
 * while there are few.
 *
 * Up to STATS_EXACT_MAX observations are kept as they are, so percentiles are exact (numpy's linear
 * rule); beyond that the buckets serve: 128 per octave, relative width 1/128, so reading the middle
 * errs by at most 0.4 %. Values below 256 have a bucket each. Octaves are allocated when first hit.
 * Sums are kept exactly, in ticks of 2^-20 ns. Adding many equal or evenly rising values costs one
 * bucket operation per bucket touched, with exact counts.
 */
#ifndef KVSIM_STATS_HIST_H
#define KVSIM_STATS_HIST_H

#include "base/i128.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_pack;

enum { STATS_EXACT_MAX = 65536, STATS_SUB_BITS = 7, STATS_OCTAVES = 64 };

struct stats_hist {
    uint64_t count;
    base_i128 sum_ticks;
    int64_t min, max;
    uint64_t *octaves[STATS_OCTAVES]; /* counts, 128 a piece */
    int64_t *exact;                   /* NULL once there are too many */
    size_t exact_capacity;
    bool is_sorted;   /* the exact values are in order of size */
    bool is_bucketed; /* never keeps exact values */
};

void stats_hist_init(struct stats_hist *hist);
/* Buckets alone, for many histograms of a part each. */
void stats_hist_init_bucketed(struct stats_hist *hist);
void stats_hist_release(struct stats_hist *hist);
void stats_hist_add(struct stats_hist *hist, int64_t value_ns, uint64_t weight);
/* `weight` times each of `steps` durations first, first + delta, first + 2 delta, ... ticks
 * (delta >= 0 or <= 0). */
void stats_hist_add_ramp(struct stats_hist *hist, int64_t first_ticks, int64_t delta_ticks,
                         uint64_t steps, uint64_t weight);
void stats_hist_merge(struct stats_hist *into, const struct stats_hist *from);
/* Adds to `into` what `now` gained since `before` was level with it, and brings `before` level.
 * `into` and `before` are bucketed: their extremes are those of buckets. */
void stats_hist_take_since(struct stats_hist *into, const struct stats_hist *now,
                           struct stats_hist *before);
double stats_hist_mean_ns(const struct stats_hist *hist);               /* NaN when empty */
double stats_hist_quantile_ns(const struct stats_hist *hist, double q); /* NaN when empty */
/* Puts exact values in order once, for many quantiles; every observable stays as it is. */
void stats_hist_sort(struct stats_hist *hist);
/* Of the values about their mean, in ns^2; evenly spread within buckets unless exact. NaN when empty. */
double stats_hist_variance_ns2(const struct stats_hist *hist);
uint64_t stats_hist_count_at_most(const struct stats_hist *hist,
                                  int64_t value_ns); /* for SLO attainment */
bool stats_hist_is_exact(const struct stats_hist *hist);
/* Bucket number of a value, and the smallest value of a bucket: for sums kept beside the counts. */
size_t stats_bucket_of(int64_t value_ns);
int64_t stats_bucket_low(size_t bucket);

/*
 * A cohort table: for every bucket the sums of `cause_count` shares (ns) of the values in it, so
 * that the cohort beyond a percentile is read off at the end without keeping requests.
 */
struct stats_cohort {
    size_t cause_count;
    uint64_t *counts[STATS_OCTAVES];
    int64_t *sums[STATS_OCTAVES]; /* [128][cause_count] */
};
void stats_cohort_init(struct stats_cohort *cohort, size_t cause_count);
void stats_cohort_release(struct stats_cohort *cohort);
void stats_cohort_add(struct stats_cohort *cohort, int64_t value_ns, const int64_t *shares_ns);
void stats_cohort_merge(struct stats_cohort *into, const struct stats_cohort *from);
/* Sums over all values in the bucket of `from_ns` and above; returns how many values. */
uint64_t stats_cohort_beyond(const struct stats_cohort *cohort, int64_t from_ns, double *sums_ns);

/* To and from another process (base/pack.h); what is read is fresh memory, released as any other. */
void stats_hist_pack(struct base_pack *pack, struct stats_hist *hist);
void stats_cohort_pack(struct base_pack *pack, struct stats_cohort *cohort);

#endif
