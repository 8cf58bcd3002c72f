/*
 * cell.h - many runs of one queue through kvsim, and how often the intervals that it prints hold the truth.
 */
#ifndef KVSIM_BENCH_COVERAGE_CELL_H
#define KVSIM_BENCH_COVERAGE_CELL_H

#include "base/error.h"
#include "coverage/theory.h"
#include "record/run.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cell {
    struct queue queue;
    int64_t requests;
    int64_t replications;
    size_t seeds;       /* 1, 2, ... */
    double rate_factor; /* 0 = 1; else arrivals are so much faster than the truth is for */
};

/* What became of one figure's intervals. */
struct cell_count {
    const char *name, *statistic;
    double truth_ms;
    size_t printed, covered, below, above; /* below: the interval ends before the truth */
    double bias_sum,
        half_width_sum; /* relative to the truth; bias over all runs, widths over printed ones */
};

enum { CELL_FIGURES = 4 };

struct cell_result {
    struct queue_truth truth;
    /* sojourn (e2e) and wait to the first token (ttft): mean and p99 */
    struct cell_count figures[CELL_FIGURES];
    size_t overloaded, not_settled, near_saturation;
};

/* Runs all seeds of a cell; `folder` holds queue.yaml. `each`, unless NULL, sees every run. */
enum kvsim_status cell_run(const char *folder, const struct cell *cell,
                           void (*each)(void *context, size_t index, const struct record_run *run),
                           void *context, struct cell_result *out,
                           struct kvsim_error *err) KVSIM_MUST_CHECK;

void cell_print_header(FILE *out);
void cell_print(FILE *out, const struct cell *cell, const struct cell_result *result);

/* The same seeds at two utilizations: intervals of the difference of a figure, paired and not. */
struct pair_count {
    size_t seeds, covered_paired, covered_unpaired;
    double width_paired, width_unpaired; /* sums of half widths, ms */
    double difference_sum_ms, truth_ms;
};

enum kvsim_status pair_run(const char *folder, const struct cell *low, const struct cell *high,
                           const char *statistic, struct pair_count *out,
                           struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
