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
enum { REPORT_MONTHS_MAX = 1200, REPORT_LOAD_BYTES = 96, REPORT_HEADROOM_BYTES = 256 };
/* "16.2 requests/s", "64 clients", "2.3 x the trace's speed" */
const char *report_plan_load(const struct record_plan *plan, double load, char *text, size_t bytes);
/* "16.05 requests/s (95 % interval 15.92 to 16.24)", "not reached: at least 80 clients", "at least 8 clients, below 16" */
void report_plan_highest(const struct record_plan *plan, const struct record_candidate *candidate,
                         struct base_text *out);
/* What breaks first, or why nothing is known of it: "not reached", "refused". */
const char *report_plan_end(const struct record_candidate *candidate);
/* That the interval is wider than was asked for; "" where it isn't. */
/* What longer runs say of the highest load; "" where none were asked. */
const char *report_plan_longer(const struct record_plan *plan,
                               const struct record_candidate *candidate, char *text, size_t bytes);
const char *report_plan_imprecise(const struct record_plan *plan,
                                  const struct record_candidate *candidate, char *text,
                                  size_t bytes);
/* "100.6 % (95 % interval 98.0 % to 103 %)", "at least 12.3 %" */
const char *report_plan_headroom(const struct record_plan *plan,
                                 const struct record_candidate *candidate, char *text,
                                 size_t bytes);
/* Replicas calculated from a load that was not the limit: so many are enough and perhaps more than enough. */
bool report_plan_is_bound(const struct record_candidate *candidate);
/* "no number of replicas was found", and why. */
void report_plan_none_found(const struct record_plan *plan, const struct record_candidate *best,
                            struct base_text *out);
/* "2027-08-11", or "14.3 months" where no first day was given. */
const char *report_plan_when(const struct record_plan *plan, double months, char *text,
                             size_t bytes);
/* "on 2027-08-11, after 14.3 months (95 % interval 2027-08-02 to 2027-08-20)"; "" without growth. */
const char *report_plan_breach(const struct record_plan *plan, char *text, size_t bytes);
/* "87.0 % (95 % interval 78.8 % to 92.9 %, 100 samples)"; "" where it was not asked. */
const char *report_plan_odds(const struct record_plan *plan, char *text, size_t bytes);
/* "± 20 %, uniform" */
const char *report_plan_spread(const struct record_input *input, char *text, size_t bytes);
/* What the ends of the inputs lie about: the answer on the same random numbers; nothing where there is none. */
void report_plan_as_stated(const struct record_plan *plan, struct base_text *out);
/* The candidate's runs by replicas and rising load; freed by base_free(). */
const struct record_probe **report_plan_sort(const struct record_candidate *candidate);
/* "engine.kv_cache_dtype fp8, hardware l40s"; "" without axes. */
void report_plan_values(const struct record_plan *plan, const struct record_candidate *candidate,
                        struct base_text *out);

#endif
