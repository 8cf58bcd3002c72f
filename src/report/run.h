/*
 * run.h - a finished run for people and for programs.
 *
 * Text is at most REPORT_WIDTH columns wide and explains itself: what was simulated, whether the SLOs hold, latency with
 * intervals, throughput, where the memory goes, how many users fit, what limits, where the slowest percent spends its
 * time, and what the figures do not support. Markdown has the same content. JSON and CSV have the names of the views.
 *
 * None of these functions fails by itself; the caller looks at ferror(out) when all is written.
 */
#ifndef KVSIM_REPORT_RUN_H
#define KVSIM_REPORT_RUN_H

#include "record/run.h"
#include "report/json.h"

#include <stdio.h>

/* `db_path`: where the run is stored, for the line that says how to query it; NULL when it is not. */
void report_run_text(FILE *out, const struct record_run *run, const char *db_path);
void report_run_markdown(FILE *out, const struct record_run *run, const char *db_path);

/*
 * The run as one object: run_id (null when not stored), created_at, the columns of run_summary, wall_s, and as lists of
 * rows slo, metrics, by_class (and by_replica, by_stage, by_role, by_turn where there are rows), ledger, waterfall,
 * limits, tail, caveats, params. `key` as in report_json_begin_object(), so that it can stand in a list of runs.
 */
void report_run_json_object(struct report_json *json, const char *key,
                            const struct record_run *run);
void report_run_json(FILE *out, const struct record_run *run); /* the only run: with its newline */

/* A list of several: begin, report_run_json_object(json, NULL, run) for each, end. */
void report_json_list_begin(struct report_json *json, FILE *out);
void report_json_list_end(struct report_json *json);

/* The columns of run_summary as a header; one line a run. */
void report_run_csv_header(FILE *out);
void report_run_csv(FILE *out, const struct record_run *run);

#endif
