/*
 * plan_plots.h - the figures of a plan's page. Each writes a figure, or nothing (false) where there is nothing to draw or
 * gnuplot cannot draw it.
 */
#ifndef KVSIM_REPORT_PLAN_PLOTS_H
#define KVSIM_REPORT_PLAN_PLOTS_H

#include "record/plan.h"
#include "report/html.h"
#include "report/plot.h"

/* The target's figure against the load, with its intervals, its bound and the interval of the answer. */
bool report_figure_target(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan, size_t target);
/* The answer with each input at its ends, the largest effect first. */
bool report_figure_tornado(struct report_html *html, struct report_plotter *plotter,
                           const struct record_plan *plan);
/* What each candidate costs for the demand; the highest load of each where there is none. */
bool report_figure_candidates(struct report_html *html, struct report_plotter *plotter,
                              const struct record_plan *plan);
/* The growing demand, and what so many replicas carry. */
bool report_figure_growth(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan);
/* Replicas over the stages of a profile. */
bool report_figure_stages(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan);

#endif
