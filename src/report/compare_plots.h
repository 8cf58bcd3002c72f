/*
 * compare_plots.h - the figures of a comparison's page. Each writes a figure, or nothing (false) where there is nothing to
 * draw or gnuplot cannot draw it.
 */
#ifndef KVSIM_REPORT_COMPARE_PLOTS_H
#define KVSIM_REPORT_COMPARE_PLOTS_H

#include "record/comparison.h"
#include "report/html.h"
#include "report/plot.h"

/* Relative differences of the page's figures, with their intervals. */
bool report_figure_differences(struct report_html *html, struct report_plotter *plotter,
                               const struct record_comparison *comparison);
/* The ledger's lines whose time mean moved. */
bool report_figure_moved_bytes(struct report_html *html, struct report_plotter *plotter,
                               const struct record_comparison *comparison);
/* Milliseconds of the slowest percent by cause, A above B. */
bool report_figure_moved_tail(struct report_html *html, struct report_plotter *plotter,
                              const struct record_comparison *comparison, const char *metric);

#endif
