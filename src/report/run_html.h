/*
 * run_html.h - a capacity report of one run as a page of HTML.
 *
 * First the question, the answer with its interval, what binds, what to change and what it costs; then the figures behind
 * it, each with its claim kind; then assumptions, what the figures do not support, and how to get them again. Equal runs
 * give equal pages but for one line, the last of the page: run_id, database, host, time and jobs.
 */
#ifndef KVSIM_REPORT_RUN_HTML_H
#define KVSIM_REPORT_RUN_HTML_H

#include "record/run.h"

#include <stdio.h>

/*
 * `gnuplot`: the program that draws, looked up in PATH; NULL or absent: tables in place of plots, and a note. `db_path`: where
 * the run is stored, NULL when it is not. Does not fail by itself; the caller looks at ferror(out).
 */
void report_run_html(FILE *out, const struct record_run *run, const char *db_path,
                     const char *gnuplot);

#endif
