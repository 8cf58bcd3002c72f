/*
 * plan.h - the answer of a plan, for people and programs.
 */
#ifndef KVSIM_REPORT_PLAN_H
#define KVSIM_REPORT_PLAN_H

#include "base/text.h"
#include "record/plan.h"
#include "report/table.h"

#include <stdio.h>

/* An object: the best candidate's answer (max_rate, max_rate_ci, limit, replicas, gpus, usd_per_hour, ...), its curve,
 * and all candidates. */
void report_plan_json(FILE *out, const struct record_plan *plan);
/* A row for each candidate. */
void report_plan_csv(FILE *out, const struct record_plan *plan);
void report_plan_page(FILE *out, enum report_style style, const struct record_plan *plan);

/*
 * Words that all pages share; each writes at most `bytes` and returns text. Further off than REPORT_MONTHS_MAX a time is
 * said in months and not as a date.
 */
enum { REPORT_MONTHS_MAX = 1200 };
/* "on 2027-08-11, after 14.3 months (95 % interval 2027-08-02 to 2027-08-20)"; "" without growth. */
const char *report_plan_breach(const struct record_plan *plan, char *text, size_t bytes);
/* "87.0 % (95 % interval 78.8 % to 92.9 %, 100 samples)"; "" where it was not asked. */
const char *report_plan_odds(const struct record_plan *plan, char *text, size_t bytes);
/* "± 20 %, uniform" */
const char *report_plan_spread(const struct record_input *input, char *text, size_t bytes);
/* "16.2 requests/s", "64 clients", "2.3 x the trace's speed" */
const char *report_plan_load(const struct record_plan *plan, double load, char *text, size_t bytes);
/* The candidate's runs by replicas and rising load; freed by base_free(). */
const struct record_probe **report_plan_sort(const struct record_candidate *candidate);
/* "engine.kv_cache_dtype fp8, hardware l40s"; "" without axes. */
void report_plan_values(const struct record_plan *plan, const struct record_candidate *candidate,
                        struct base_text *out);

#endif
