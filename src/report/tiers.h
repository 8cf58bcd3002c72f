/*
 * tiers.h - where content was found: the pool and the tier behind it, as a table of the pages.
 */
#ifndef KVSIM_REPORT_TIERS_H
#define KVSIM_REPORT_TIERS_H

#include "record/run.h"
#include "report/html.h"
#include "report/table.h"

/* Nothing without a tier. */
void report_tiers_page(struct report_page *page, const struct record_run *run);
void report_tiers_html(struct report_html *html, const struct record_run *run);

#endif
