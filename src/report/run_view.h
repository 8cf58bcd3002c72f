/*
 * run_view.h - what the pages of a run share: its figures as texts, its ledger summed up, its SLOs read back.
 *
 * Private to report. Nothing here prints.
 */
#ifndef KVSIM_REPORT_RUN_VIEW_H
#define KVSIM_REPORT_RUN_VIEW_H

#include "record/run.h"
#include "spec/slo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool report_run_is(const struct record_run *run, enum record_summary column, const char *value);

/* The row of run_metric that a column's figure has, or NULL. */
const struct record_metric *report_run_row(const struct record_run *run,
                                           enum record_summary column);
/* A column's figure with its interval where run_metric has one: "34.2 ± 0.1". */
const char *report_run_figure(const struct record_run *run, enum record_summary column, char *text,
                              size_t bytes);
bool report_run_has_interval(const struct record_run *run, enum record_summary column);

/* What a status other than "done" means for whoever reads the figures; NULL for done. */
const char *report_run_warning(const struct record_run *run);

/* The value of a parameter, or NULL. */
const struct record_param_row *report_run_param(const struct record_run *run, const char *key);

/* One of three answers to "how many requests fit": what its figure is made of, or why there is none. */
struct report_fit {
    const char *name, *means, *claim;
    enum record_summary column;
};
enum { REPORT_FITS = 3 };
struct report_fit report_run_fit(const struct record_run *run, size_t answer);

/* "=", "−" or " ": what a line of the waterfall does to the memory. */
const char *report_waterfall_sign(const char *line);

/* The mean is summed over replicas; a peak is an instant of one replica, the fullest. */
struct report_ledger {
    int64_t mean_bytes[RECORD_LEDGER_LINES], peak_bytes[RECORD_LEDGER_LINES];
    uint32_t peak_replica, replica_count;
};
void report_ledger_read(const struct record_run *run, struct report_ledger *ledger);
const char *report_ledger_sign(size_t line); /* " ", "+", "−", "=" */

/* Whether no row before has the same kind and phase. */
bool report_limit_is_first(const struct record_run *run, size_t at);

/*
 * A line of slo_lines taken apart: "ttft p99 <= 2 s: met (1.32 s)". `is_slo` is false for a `require`; then only the texts
 * and the verdict are set. `row` is the figure that is judged, or NULL.
 */
struct report_slo {
    char promise[256], outcome[128];
    char bound[48]; /* as it was written: "2 s" */
    bool is_met, is_slo;
    struct spec_slo slo; /* points into `promise` */
    const struct record_metric *row;
};
void report_slo_read(const struct record_run *run, size_t at, struct report_slo *out);
/* bound / figure; NaN when there is none. Below 1: missed. */
double report_slo_headroom(const struct report_slo *slo);

#endif
