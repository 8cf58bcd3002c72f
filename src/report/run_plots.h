/*
 * run_plots.h - the figures of a run. Private to report. Each writes its figure, or nothing and returns false: because
 * there is nothing to draw, or because gnuplot cannot.
 */
#ifndef KVSIM_REPORT_RUN_PLOTS_H
#define KVSIM_REPORT_RUN_PLOTS_H

#include "record/run.h"
#include "report/figure.h"
#include "report/timeline.h"

bool report_figure_latency(struct report_html *html, struct report_plotter *plotter,
                           const struct record_run *run);
bool report_figure_ledger(struct report_html *html, struct report_plotter *plotter,
                          const struct report_timeline *timeline);
bool report_figure_requests(struct report_html *html, struct report_plotter *plotter,
                            const struct report_timeline *timeline);
bool report_figure_waterfall(struct report_html *html, struct report_plotter *plotter,
                             const struct record_run *run);
bool report_figure_limits(struct report_html *html, struct report_plotter *plotter,
                          const struct record_run *run);
bool report_figure_tail(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run);

/* A limit has one colour in all figures. */
int report_limit_colour(const char *limit);

#endif
