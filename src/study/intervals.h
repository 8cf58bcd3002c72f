/*
 * intervals.h - from replications, or from the segments of a single steady run, to a figure's confidence interval.
 *
 * Several replications: Student t over them, skewed to the right for latencies and queues; percentiles by order statistics.
 * One steady replication: batch means over its segments. Without either, and where there are too few observations, the
 * interval is withheld, and `method` says why and how many more requests it takes.
 */
#ifndef KVSIM_STUDY_INTERVALS_H
#define KVSIM_STUDY_INTERVALS_H

#include "study/run_int.h"

#include <stdbool.h>

/* What a figure is, for its interval. */
struct study_span {
    enum serve_span top, more, bottom; /* (top + more) / bottom; more = SERVE_SPAN_COUNT: none */
    bool is_known;                     /* false: no such ratio of sums */
};

struct study_interval {
    double low, high; /* NaN when withheld */
    const char *method;
};

/* A number of run_summary; `values` by replication. */
struct study_interval study_interval_of_figure(const struct study_replications *replications,
                                               const double *values, bool is_skewed,
                                               const struct study_span *span);

/* Latencies of one metric and class: `hists` by replication, sorted; `pooled` all of them together. */
struct study_latency {
    const struct study_replications *replications;
    const struct stats_hist *hists, *pooled;
    enum spec_metric metric;
    bool is_all; /* all classes: segments can be used */
};

struct study_interval study_interval_of_latency(const struct study_latency *latency,
                                                enum spec_statistic statistic, const double *values,
                                                struct base_arena *texts);

/* method begins with this where an interval is withheld for want of requests; after it how many more. */
#define STUDY_TOO_FEW "too_few_observations"

#endif
