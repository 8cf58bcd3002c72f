/*
 * compare_html_int.h - the sections of a comparison's page.
 */
#ifndef KVSIM_REPORT_COMPARE_HTML_INT_H
#define KVSIM_REPORT_COMPARE_HTML_INT_H

#include "record/comparison.h"
#include "report/html.h"
#include "report/plot.h"

/* compare_html_parts.c */
void report_html_differences(struct report_html *html, struct report_plotter *plotter,
                             const struct record_comparison *comparison);
void report_html_moved_bytes(struct report_html *html, struct report_plotter *plotter,
                             const struct record_comparison *comparison);
void report_html_moved_time(struct report_html *html, struct report_plotter *plotter,
                            const struct record_comparison *comparison);
void report_html_changed(struct report_html *html, const struct record_comparison *comparison);

#endif
