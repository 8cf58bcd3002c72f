/*
 * compare.h - two runs against each other, for people and programs.
 */
#ifndef KVSIM_REPORT_COMPARE_H
#define KVSIM_REPORT_COMPARE_H

#include "record/comparison.h"
#include "report/table.h"

#include <stdio.h>

/* An object: run_a, run_b, paired, a and b (columns of run_summary), params, metrics (rows of run_compare), ledger,
 * waterfall, limits, tail. */
void report_compare_json(FILE *out, const struct record_comparison *comparison);
/* Rows of run_compare. */
void report_compare_csv(FILE *out, const struct record_comparison *comparison);
void report_compare_page(FILE *out, enum report_style style,
                         const struct record_comparison *comparison);

#endif
