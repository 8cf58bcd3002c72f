/*
 * plan_html_int.h - the sections of a plan's page. Each writes its section, or nothing where there are no rows.
 */
#ifndef KVSIM_REPORT_PLAN_HTML_INT_H
#define KVSIM_REPORT_PLAN_HTML_INT_H

#include "record/plan.h"
#include "report/html.h"
#include "report/plot.h"

/* plan_html_parts.c */
void report_html_curve(struct report_html *html, struct report_plotter *plotter,
                       const struct record_plan *plan);
void report_html_growth(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan);
void report_html_inputs(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan);
void report_html_candidates(struct report_html *html, struct report_plotter *plotter,
                            const struct record_plan *plan);
void report_html_stages(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan);

#endif
