/*
 * plan_html.h - a plan as a capacity report: one page of HTML, as run_html.h says of a run.
 *
 * What the load or the demand takes, with its interval; the targets along the load, growth, what is not known exactly,
 * candidates by cost, stages of a profile; then assumptions and caveats of the run behind the answer, and how to get it
 * again.
 */
#ifndef KVSIM_REPORT_PLAN_HTML_H
#define KVSIM_REPORT_PLAN_HTML_H

#include "record/plan.h"

#include <stdio.h>

/* `gnuplot` as in report_run_html(). Without plan->run the page says that it lacks assumptions and caveats. */
void report_plan_html(FILE *out, const struct record_plan *plan, const char *gnuplot);

#endif
