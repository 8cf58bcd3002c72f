/*
 * compare_html.h - a comparison as a page of HTML, as run_html.h says of a run.
 *
 * What was changed and what came of it, with the intervals of the differences; what binds on either side; bytes of the
 * ledger that moved, where the slowest percent spends its time; then assumptions, caveats, and how to get it again.
 */
#ifndef KVSIM_REPORT_COMPARE_HTML_H
#define KVSIM_REPORT_COMPARE_HTML_H

#include "record/comparison.h"

#include <stdio.h>

/* `a` and `b` are the runs compared; `command` gives the page again; `gnuplot` as in report_run_html(). */
void report_compare_html(FILE *out, const struct record_comparison *comparison,
                         const struct record_run *a, const struct record_run *b,
                         const char *command, const char *gnuplot);

#endif
