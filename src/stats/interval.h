/*
 * interval.h - confidence intervals over independent parts: replications, or batches of one run.
 *
 * Near saturation the figures of a queue are skewed to the right: a few long busy periods make most of a mean and nearly
 * all of a P99. Intervals of latencies therefore reach further to the right than Student's t alone; how far was chosen on
 * M/M/1 and M/D/1 and is measured by bench/coverage (docs/decisions/005-intervals.md).
 *
 * Whether an interval is given follows from counts, hardly from the values: intervals withheld because they came out wide
 * would leave the lucky narrow ones, which cover too seldom.
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

/* Student t whose right end is value / sqrt(1 - 2 h) in place of value (1 + h), h the relative half width: the interval of
 * value^-2, for a skewness of several times the coefficient of variation. Equal to Student t for small h. Means of
 * latencies and of queues. */
/* Where the right end of a skewed figure lies instead of value + half: value / sqrt(1 - 2 half / value), held at 4.5 times the
 * value; never nearer than value + half. value > 0. */
double stats_skewed_end(double value, double half);
struct stats_interval stats_interval_skewed(const double *values, size_t count, double confidence);

/* The ratio of the sums of `tops` and `bottoms` over `count` parts, by linearization (Cochran, Sampling Techniques, 1977,
 * 6.4) with Student t: rates (counts over times) and shares. */
struct stats_interval stats_interval_ratio(const double *tops, const double *bottoms, size_t count,
                                           double confidence);

/* A percentile seen in `count` independent parts. */
struct stats_percentile {
    double q;
    double value;         /* what is reported; the interval holds it */
    const double *own;    /* each part's own percentile */
    const double *beyond; /* each part's share of observations beyond `pooled` (about 1 - q) */
    size_t count;
    /* independent observations that a part is worth; INFINITY where it is not known */
    double effective;
    double pooled; /* percentile of all parts' observations together */
    double (*at)(const void *context,
                 double beyond); /* the pooled value with that share beyond it */
    const void *context;
};

/*
 * By order statistics: Student t over the parts' shares beyond the pooled percentile, on a logarithmic scale, read back
 * through the pooled distribution; the right end also reaches what the parts' own percentiles say once their bias (from
 * the difference to the pooled one) is taken out, and what so few independent observations of such a tail leave open. Method
 * "order_statistics".
 */
struct stats_interval stats_interval_percentile(const struct stats_percentile *of,
                                                double confidence);

/* A share of which `hits` of `count` independent trials were seen: the exact interval (Clopper, Pearson: The use of
 * confidence or fiducial limits, Biometrika 26, 1934); 0 to 1 without trials. */
void stats_share_interval(size_t hits, size_t count, double confidence, double *low, double *high);

/* Effective sample for a percentile: false when a replication has fewer than 10 observations
 * beyond the quantile; `*needed` = observations per replication it takes. */
bool stats_quantile_is_supported(size_t count, double q, size_t *needed);

/* Slope test of a series (equally spaced): t statistic and p value of a rising trend, by least
 * squares with the residual autocorrelation of lag one taken into account. */
void stats_trend(const double *values, size_t count, double *slope, double *p_value);

/* Compensated (Neumaier) sum. */
double stats_sum(const double *values, size_t count);

#endif
