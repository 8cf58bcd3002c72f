/*
 * comparison.h - two runs side by side: what differs in what was simulated and in what came out.
 *
 * Everything is "b against a": a difference is b - a, a ratio b / a. Ownership: the comparison's arena; the runs are
 * copied from, not kept.
 */
#ifndef KVSIM_RECORD_COMPARISON_H
#define KVSIM_RECORD_COMPARISON_H

#include "record/run.h"

/*
 * better, worse: the interval of the difference leaves 0 out, and the figure has a good side. more, less: it has none.
 * equal: no replication differs. no_difference_shown: 0 lies in the interval. no_interval: it is withheld.
 */
enum record_verdict {
    RECORD_BETTER,
    RECORD_WORSE,
    RECORD_MORE,
    RECORD_LESS,
    RECORD_EQUAL,
    RECORD_NO_DIFFERENCE_SHOWN,
    RECORD_NO_INTERVAL,
    RECORD_VERDICT_COUNT
};
const char *record_verdict_name(enum record_verdict verdict);

struct record_difference {
    const char *name, *statistic, *class_name, *unit;
    double a, b, difference, ci_low, ci_high, ratio, ratio_ci_low, ratio_ci_high; /* NaN: none */
    int64_t n; /* replications of the smaller run */
    /* until a difference would be shown, if it is what it seems; -1: not said */
    int64_t more_replications;
    const char *method; /* paired_t, paired_t_skewed, welch_t, none */
    enum record_verdict verdict;
};

struct record_param_difference {
    const char *key, *a, *b; /* "" where a run has no such parameter */
};

/* Bytes of all replicas, or of one GPU where `at` is "waterfall". */
struct record_bytes_difference {
    const char *at, *component;
    int64_t a, b;
};

/* Shares of limits, and milliseconds of the slowest percent by cause. */
struct record_share_difference {
    const char *kind, *phase, *name;
    double a, b;
};

struct record_side {
    int64_t run_id;
    struct record_value summary[RECORD_SUMMARY_COUNT];
};

struct record_comparison {
    struct base_arena arena;
    struct record_side a, b;
    bool is_paired; /* the same seed and as many replications: common random numbers */
    struct {
        struct record_difference *at;
        size_t count, capacity;
    } figures;
    struct {
        struct record_param_difference *at;
        size_t count, capacity;
    } params;
    struct {
        struct record_bytes_difference *at;
        size_t count, capacity;
    } bytes;
    struct {
        struct record_share_difference *at;
        size_t count, capacity;
    } shares;
};

void record_comparison_init(struct record_comparison *comparison);
void record_comparison_free(struct record_comparison *comparison);
/* The row of all requests, or NULL. */
const struct record_difference *record_comparison_find(const struct record_comparison *comparison,
                                                       const char *name, const char *statistic);

#endif
