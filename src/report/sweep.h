/*
 * sweep.h - a grid of points for people and programs: heat maps, the frontier, the Pareto set; rows of sweep_grid.
 */
#ifndef KVSIM_REPORT_SWEEP_H
#define KVSIM_REPORT_SWEEP_H

#include "record/sweep.h"
#include "report/json.h"
#include "report/table.h"

#include <stdio.h>

/* A list of rows with the columns of the view sweep_grid, as many axes as there are. Open points are left out. */
void report_sweep_json(FILE *out, const struct record_sweep *sweep);
void report_sweep_csv(FILE *out, const struct record_sweep *sweep);

/* `metric`: the figure of the heat map. */
void report_sweep_page(FILE *out, enum report_style style, const struct record_sweep *sweep,
                       enum record_summary metric);

/* sweep_text.c: the parts of the page. A value as people write it: 8192 tokens are "8k". */
const char *report_sweep_value(const struct record_sweep *sweep, const struct record_point *point,
                               size_t axis, char *text, size_t bytes);
void report_sweep_frontier(struct report_page *page, const struct record_sweep *sweep);
void report_sweep_pareto(struct report_page *page, const struct record_sweep *sweep);

/* True for points that no other one of those that met their targets beats in both figures; for reports and tests. */
bool report_sweep_is_pareto(const struct record_sweep *sweep, size_t point, enum record_summary a,
                            enum record_summary b);

#endif
