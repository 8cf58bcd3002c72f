/*
 * paired.h - the difference of two configurations with its confidence interval.
 *
 * On common random numbers the i-th replications of both belong together, and their difference varies less than either
 * does: Student t over the differences. Where they do not belong together (other seeds, other counts), Welch's t.
 */
#ifndef KVSIM_STATS_PAIRED_H
#define KVSIM_STATS_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

struct stats_difference {
    double a, b;                         /* means over replications */
    double difference, low, high;        /* b - a; the interval NaN when withheld */
    double ratio, ratio_low, ratio_high; /* b / a; NaN where a is 0 */
    bool is_withheld;                    /* one replication, or a value that is missing */
    /* until the interval would leave 0 out; 0 = it does, or no count would */
    size_t more_replications;
    const char *method; /* "paired_t", "paired_t_skewed", "welch_t", "none" */
};

/* `a` and `b` have `count` values each, replication by replication. */
struct stats_difference stats_difference_paired(const double *a, const double *b, size_t count,
                                                double confidence);
/* The same for figures that are skewed to the right, as latencies are: of the two ends the one away from zero follows their rule
 * (stats_skewed_end), the one that says whether there is a difference stays Student's. */
struct stats_difference stats_difference_skewed(const double *a, const double *b, size_t count,
                                                double confidence);
struct stats_difference stats_difference_welch(const double *a, size_t a_count, const double *b,
                                               size_t b_count, double confidence);

/* The value that Student t with so many degrees of freedom stays below with this probability. */
double stats_t_quantile(double probability, double degrees);

#endif
