/*
 * plan.h - the answer of a plan, for people and programs.
 */
#ifndef KVSIM_REPORT_PLAN_H
#define KVSIM_REPORT_PLAN_H

#include "record/plan.h"
#include "report/table.h"

#include <stdio.h>

/* An object: the best candidate's answer (max_rate, max_rate_ci, limit, replicas, gpus, usd_per_hour, ...), its curve,
 * and all candidates. */
void report_plan_json(FILE *out, const struct record_plan *plan);
/* A row for each candidate. */
void report_plan_csv(FILE *out, const struct record_plan *plan);
void report_plan_page(FILE *out, enum report_style style, const struct record_plan *plan);

#endif
