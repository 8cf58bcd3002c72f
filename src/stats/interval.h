/*
 * interval.h - confidence intervals over independent replications.
 */
#ifndef KVSIM_STATS_INTERVAL_H
#define KVSIM_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct stats_interval {
    double value;     /* mean over replications */
    double low, high; /* NaN when withheld */
    bool is_withheld;
    const char *method; /* "student_t", "none" (one replication), ... */
};

/* Student t over `count` values at `confidence` (0.95), never narrower than `resolution`
 * (relative, e.g. 0.005 for histogram percentiles, 0 for exact figures). NaN values make it
 * withheld; one value has no interval. */
struct stats_interval stats_interval_t(const double *values, size_t count, double confidence,
                                       double resolution);

/* Effective sample for a percentile: false when a replication has fewer than 10 observations
 * beyond the quantile; `*needed` = observations per replication it takes. */
bool stats_quantile_is_supported(size_t count, double q, size_t *needed);

/* Slope test of a series (equally spaced): t statistic and p value of a rising trend, by least
 * squares with the residual autocorrelation of lag one taken into account. */
void stats_trend(const double *values, size_t count, double *slope, double *p_value);

/* Compensated (Neumaier) sum. */
double stats_sum(const double *values, size_t count);

#endif
