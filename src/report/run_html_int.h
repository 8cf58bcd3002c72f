/*
 * run_html_int.h - the sections of a run's page. Each writes its section, or nothing where there are no rows.
 */
#ifndef KVSIM_REPORT_RUN_HTML_INT_H
#define KVSIM_REPORT_RUN_HTML_INT_H

#include "record/run.h"
#include "report/html.h"
#include "report/plot.h"
#include "report/run_answer.h"

/* run_html_figures.c */
void report_html_latency(struct report_html *html, struct report_plotter *plotter,
                         const struct record_run *run);
void report_html_classes(struct report_html *html, const struct record_run *run);
void report_html_load(struct report_html *html, const struct record_run *run);
void report_html_timeline(struct report_html *html, struct report_plotter *plotter,
                          const struct record_run *run);
void report_html_memory(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run);
void report_html_limits(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run);

/* run_html.c: settings to try, as a list; nothing without any. */
void report_html_levers(struct report_html *html, const struct report_lever *levers, size_t count);

/* run_html_end.c */
void report_html_assumptions(struct report_html *html, const struct record_run *run);
void report_html_caveats(struct report_html *html, const struct record_run *run);
/* The run's caveats as items of an open list. */
void report_html_caveat_items(struct report_html *html, const struct record_run *run);
/* Folded away: the resolved scenario; nothing where it is not known. */
void report_html_scenario(struct report_html *html, const struct record_run *run);
void report_html_again(struct report_html *html, const struct record_run *run);

#endif
