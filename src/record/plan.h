/*
 * plan.h - how much load a configuration carries within its targets, and how many of it a demand takes.
 *
 * The load is a rate of arrivals, the number of clients of a closed loop, or the speed of a trace. Every candidate is one
 * configuration; the scenario as it stands is the only one where no axis is given. Ownership: the plan's arena.
 */
#ifndef KVSIM_RECORD_PLAN_H
#define KVSIM_RECORD_PLAN_H

#include "record/sweep.h"

enum record_load { RECORD_LOAD_RATE, RECORD_LOAD_CONCURRENCY, RECORD_LOAD_SPEEDUP };
const char *record_load_name(enum record_load load); /* "rate", "concurrency", "speedup" */

/* A run that was asked on the way, at one load. */
struct record_probe {
    double load;
    int64_t replicas, replications;
    bool is_met;        /* every target holds for the mean over replications */
    bool is_met_surely; /* ... and for the bound of its one-sided interval */
    bool is_overloaded;
    double margin;     /* log of the worst figure over its bound; below 0 = met */
    int64_t run_id;    /* 0: not stored */
    const char *worst; /* the target that is nearest to its bound, or furthest beyond */
    struct record_value summary[RECORD_SUMMARY_COUNT];
};

enum record_candidate_status {
    RECORD_CANDIDATE_OK,
    RECORD_CANDIDATE_NONE,      /* no load meets the targets */
    RECORD_CANDIDATE_UNBOUNDED, /* every load that was tried meets them */
    RECORD_CANDIDATE_REFUSED,
    RECORD_CANDIDATE_STATUS_COUNT
};
const char *record_candidate_status_name(enum record_candidate_status status);

struct record_candidate {
    const char *values[RECORD_AXES_MAX];
    enum record_candidate_status status;
    const char *reason;
    const char *model, *hardware;
    int64_t base_replicas, gpus_per_replica;
    double usd_per_gpu_hour; /* NaN: unknown */

    /* The highest load of the configuration with its own replicas. */
    double max_load, ci_low,
        ci_high;       /* interval of the load at which the targets are just met; NaN: withheld */
    double sure_load;  /* met at the stated confidence */
    double max_rate;   /* requests per second at that load */
    const char *limit; /* the target that breaks first, or "stability" */
    const char *binding_limit; /* what binds there */

    /* For the demand. */
    int64_t replicas, gpus; /* 0: no demand, or it cannot be met */
    bool is_verified;       /* by a run of so many replicas; else calculated from one */
    double usd_per_hour, usd_per_mtok_output, headroom; /* NaN: unknown */
    double gpu_hours_elastic, gpu_hours_static;         /* over a profile; NaN without one */
    double months_to_breach;                            /* at the stated growth; NaN without one */

    struct {
        struct record_probe *at;
        size_t count, capacity;
    } probes; /* in the order in which they were asked */
};

/* A part of a profile: the demand at its peak, and what it takes. */
struct record_plan_stage {
    double peak_rate, duration_s;
    int64_t replicas;
};

struct record_plan {
    struct base_arena arena;
    const char *scenario;
    enum record_load load;
    double demand; /* requests per second; NaN: none */
    double confidence, growth_per_month;
    int64_t spare_replicas;
    bool is_zipped;
    size_t axis_count;
    const char *axes[RECORD_AXES_MAX];
    struct record_candidate *candidates; /* best first */
    size_t candidate_count;
    struct {
        struct record_plan_stage *at;
        size_t count, capacity;
    } stages; /* of a profile, with the best candidate */
    size_t runs_simulated, runs_taken_up;
};

void record_plan_init(struct record_plan *plan);
void record_plan_free(struct record_plan *plan);

#endif
