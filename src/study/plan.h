/*
 * plan.h - the highest load within the targets, and the fewest replicas for a demand, over candidates.
 *
 * The highest load is found by root finding on runs that share their random numbers: the load is doubled or halved until
 * the targets are met on one side only, then bracketed by secants and bisection. The spread between replications gives
 * the interval of the root; where it is wider than asked for, replications are added. Then the curve around the knee.
 * What is uncertain is asked last, of the best candidate alone.
 */
#ifndef KVSIM_STUDY_PLAN_H
#define KVSIM_STUDY_PLAN_H

#include "base/error.h"
#include "record/plan.h"
#include "scenario/scenario.h"
#include "study/axes.h"

struct store;
struct study_executor;

struct study_plan_progress {
    size_t candidate, candidate_count; /* from 1 */
    size_t probes;                     /* runs asked so far */
};

/* An input that is known within a spread: a number of the scenario, the load ("demand"), or several numbers at once: a
 * length's mean or median and p95, a section of hardware.efficiency. */
struct study_uncertain {
    const char *key;
    enum record_spread distribution;
    double spread; /* 0.2 = 20 % each way */
};

struct study_memo;

struct study_plan_request {
    const char *path;
    const struct scenario_text *text; /* see scenario_request */
    const struct scenario_override *overrides;
    size_t override_count;
    const struct study_axes *axes; /* candidates; none: the scenario alone */
    unsigned jobs;
    struct study_executor *executor; /* of the replications; NULL: threads of this process */
    struct store *store;             /* NULL: nothing is kept or taken up */
    double confidence;               /* 0.95 */
    double half_width;               /* relative, of the interval: 0.03 */
    double demand;                   /* NaN: the scenario's own */
    bool demand_is_rate;             /* per second; else a plain number: clients, a trace's speed */
    const char *demand_text;         /* as it was written, for what is said of it; NULL: none */
    double growth_per_month;         /* 0.05 = 5 %; 0 = none */
    struct record_date start;        /* of the growth; year 0: not said */
    int64_t spare_replicas;          /* for failures: counted in gpus and dollars */
    const struct study_uncertain *uncertain;
    size_t uncertain_count;
    bool run_wanted; /* plan->run: for a page with assumptions and caveats */
    int64_t samples; /* of the uncertain inputs, for the probability */
    void (*progress)(void *context, const struct study_plan_progress *progress); /* may be NULL */
    void *progress_context;
    struct study_memo *memo; /* study_plan()'s own; the caller's is not looked at */
};

/* KVSIM_ERR_REFUSED when no candidate can start: the first reason in `err`; KVSIM_ERR_USAGE for a demand that is not in the
 * unit of the scenario's arrivals, and for candidates that have different ones. */
enum kvsim_status study_plan(const struct study_plan_request *request, struct record_plan *out,
                             struct kvsim_diags *diags, struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
