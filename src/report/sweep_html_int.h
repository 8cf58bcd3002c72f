/*
 * sweep_html_int.h - the parts of a sweep's page. Private to report.
 */
#ifndef KVSIM_REPORT_SWEEP_HTML_INT_H
#define KVSIM_REPORT_SWEEP_HTML_INT_H

#include "record/sweep.h"
#include "report/figure.h"
#include "report/sweep_view.h"

struct report_grid {
    const struct record_sweep *sweep;
    const struct record_run *const *runs; /* of the points; may be NULL */
    const struct record_run *base;        /* the first run there is; NULL without any */
    enum record_summary metric;
};

/* The run of a point of the sweep, or NULL. */
const struct record_run *report_grid_run(const struct report_grid *grid,
                                         const struct record_point *point);

/* Each writes its figure, or nothing and returns false. */
/* sweep_maps.c: one combination of the axes from the third on; `number` tells the figures apart. */
bool report_figure_heat(struct report_html *html, struct report_plotter *plotter,
                        const struct report_grid *grid, const struct record_point *rest,
                        size_t number);
bool report_figure_binding(struct report_html *html, struct report_plotter *plotter,
                           const struct report_grid *grid, const struct record_point *rest,
                           size_t number);
/* sweep_along.c: a latency at P99 along the first axis, a line for each combination of the other axes. */
bool report_figure_along(struct report_html *html, struct report_plotter *plotter,
                         const struct report_grid *grid, enum record_summary column);
/* sweep_pareto.c */
bool report_figure_pareto(struct report_html *html, struct report_plotter *plotter,
                          const struct report_grid *grid);

/* sweep_html_parts.c: sections; nothing where there are no rows. */
void report_grid_maps(struct report_html *html, struct report_plotter *plotter,
                      const struct report_grid *grid);
void report_grid_latency(struct report_html *html, struct report_plotter *plotter,
                         const struct report_grid *grid);
void report_grid_frontier(struct report_html *html, const struct report_grid *grid);
void report_grid_pareto(struct report_html *html, struct report_plotter *plotter,
                        const struct report_grid *grid);
void report_grid_points(struct report_html *html, const struct report_grid *grid);
void report_grid_refusals(struct report_html *html, const struct report_grid *grid);
void report_grid_again(struct report_html *html, const struct report_grid *grid);

/* sweep_html_caveats.c: what the runs of the points caution against, each once, with the points that it holds for. */
void report_grid_caveats(struct report_html *html, const struct report_grid *grid);

#endif
