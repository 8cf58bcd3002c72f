/*
 * sweep_html.h - a sweep as a capacity report: one page of HTML, as run_html.h says of a run.
 *
 * Where the targets are met and where that ends; heat map and map of what binds, latency along the first axis with intervals
 * and SLO lines, the Pareto set, every point; then assumptions that all points share, caveats, and how to get it again.
 */
#ifndef KVSIM_REPORT_SWEEP_HTML_H
#define KVSIM_REPORT_SWEEP_HTML_H

#include "record/sweep.h"

#include <stdio.h>

/*
 * `runs` belong to the sweep's points in their order, NULL where one has no run or it wasn't read; `runs` itself may be NULL.
 * From them come intervals, SLOs and assumptions: without any the page says what it lacks. `metric`: the figure of the heat
 * map. `db_path` and `gnuplot` as in report_run_html().
 */
void report_sweep_html(FILE *out, const struct record_sweep *sweep,
                       const struct record_run *const *runs, enum record_summary metric,
                       const char *db_path, const char *gnuplot);

#endif
