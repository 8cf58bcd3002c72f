/*
 * compare.h - two runs against each other, for people and programs.
 */
#ifndef KVSIM_REPORT_COMPARE_H
#define KVSIM_REPORT_COMPARE_H

#include "record/comparison.h"
#include "report/table.h"

#include <stdbool.h>
#include <stdio.h>

/* An object: run_a, run_b, paired, a and b (columns of run_summary), params, metrics (rows of run_compare), ledger,
 * waterfall, limits, tail. */
void report_compare_json(FILE *out, const struct record_comparison *comparison);
/* Rows of run_compare. */
void report_compare_csv(FILE *out, const struct record_comparison *comparison);
void report_compare_page(FILE *out, enum report_style style,
                         const struct record_comparison *comparison);

/*
 * What all pages share. The figures of the page in their order; NULL where the runs have none. "ttft p99", "preemptions";
 * "better", "no difference shown (12 more replications would)"; whether a parameter was changed, and does not follow from
 * others. The latter two write at most `bytes`; all texts are returned.
 */
size_t report_compare_count(void);
const struct record_difference *report_compare_row(const struct record_comparison *comparison,
                                                   size_t at);
const char *report_compare_name(const struct record_difference *row, char *text, size_t bytes);
const char *report_compare_verdict(const struct record_difference *row, char *text, size_t bytes);
bool report_compare_is_changed(const struct record_param_difference *row);

#endif
