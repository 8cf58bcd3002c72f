/*
 * slo.h - a bound on a metric: "ttft p99 <= 2 s [for CLASS]".
 */
#ifndef KVSIM_SPEC_SLO_H
#define KVSIM_SPEC_SLO_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum spec_metric { SPEC_TTFT, SPEC_TPOT, SPEC_ITL, SPEC_E2E, SPEC_QUEUE, SPEC_METRIC_COUNT };
const char *spec_metric_name(enum spec_metric metric);

enum spec_statistic { SPEC_MEAN, SPEC_P50, SPEC_P90, SPEC_P95, SPEC_P99, SPEC_STATISTIC_COUNT };
const char *spec_statistic_name(enum spec_statistic statistic);
double spec_statistic_quantile(enum spec_statistic statistic); /* 0.5 ... 0.99; -1 for the mean */

struct spec_slo {
    enum spec_metric metric;
    enum spec_statistic statistic;
    int64_t bound_ns;
    const char *class_name; /* NULL: all requests */
    const char *text;       /* as written */
};

/* "METRIC STATISTIC <= VALUE [for CLASS]"; texts point into `text`, which must live as long. */
enum kvsim_status spec_slo_parse(const char *text, struct spec_slo *out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
