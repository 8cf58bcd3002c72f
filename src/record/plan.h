/*
 * plan.h - how much load a configuration carries within its targets, and how many of it a demand takes.
 *
 * The load is a rate of arrivals, the number of clients of a closed loop, or the speed of a trace. Every candidate is one
 * configuration; the scenario as it stands is the only one where no axis is given. Ownership: the plan's arena.
 */
#ifndef KVSIM_RECORD_PLAN_H
#define KVSIM_RECORD_PLAN_H

#include "record/sweep.h"

enum { RECORD_REPLICAS_MAX = 1000000 }; /* more than so many are no answer */

enum record_load {
    RECORD_LOAD_RATE,         /* requests per second */
    RECORD_LOAD_CONCURRENCY,  /* clients of a closed loop */
    RECORD_LOAD_SPEEDUP,      /* of a trace */
    RECORD_LOAD_SESSION_RATE, /* sessions per second: each brings several requests */
    RECORD_LOAD_COUNT
};
const char *record_load_name(enum record_load load); /* "rate", "session_rate" ... */
const char *record_load_unit(enum record_load load); /* "requests/s", "clients" ... */
/* A rate of arrivals, of requests or sessions. */
bool record_load_is_rate(enum record_load load);

/* A target's figure at one load, with Student's t interval over the replications (NaN: one replication, or none). */
struct record_target {
    const char *text; /* "ttft p99 <= 2 s" */
    double bound_ms, value_ms, ci_low_ms, ci_high_ms;
};

/* A run that was asked on the way, at one load. */
struct record_probe {
    double load;
    int64_t replicas, replications;
    bool is_met;        /* every target holds for the mean over replications */
    bool is_met_surely; /* ... and for the bound of its one-sided interval */
    bool is_overloaded,
        is_near;    /* is_near: near saturation, where overload may be hidden by chance */
    bool is_short;  /* too few requests for the load to build up: met says nothing */
    double rounds;  /* the run's length over what one request, or session, takes; 0: none ended */
    double margin;  /* log of the worst figure over its bound; below 0 = met */
    int64_t run_id; /* 0: not stored */
    const struct record_target *targets; /* in the scenario's order */
    size_t target_count;
    const char *worst; /* the target that is nearest to its bound, or furthest beyond */
    struct record_value summary[RECORD_SUMMARY_COUNT];
};

enum record_candidate_status {
    RECORD_CANDIDATE_OK,
    RECORD_CANDIDATE_NONE,        /* no load meets the targets */
    RECORD_CANDIDATE_NOT_REACHED, /* where they break no run could tell: at least max_load */
    RECORD_CANDIDATE_REFUSED,
    RECORD_CANDIDATE_STATUS_COUNT
};
const char *record_candidate_status_name(enum record_candidate_status status);

struct record_candidate {
    const char *values[RECORD_AXES_MAX];
    enum record_candidate_status status;
    const char *reason; /* why it is refused, or why the limit was not reached; "" */
    const char *model, *hardware;
    int64_t base_replicas, gpus_per_replica;
    double usd_per_gpu_hour; /* NaN: unknown */

    /* The highest load of the configuration with its own replicas. */
    double max_load;    /* the highest that a run met */
    double missed_load; /* not reached: the lowest above that misses a target; NaN: none was seen */
    double root, ci_low,
        ci_high;       /* the load at which the targets are just met, its interval; NaN: withheld */
    double half_width; /* of the interval, relative; NaN */
    const char *no_interval; /* why there is none; "" */
    double longer_root;      /* what longer runs say in place of `root`; NaN: they were not asked */
    int64_t longer_requests; /* of one of them */
    double sure_load;        /* met at the stated confidence; 0: nothing shows confidence */
    double counted_load;     /* what sizes a demand: the sure one, or the highest where runs have no
                             spread to be sure by; 0: none */
    double max_rate;         /* requests per second at the highest load */
    int64_t replications;    /* of the runs behind the answer */
    const char *limit;       /* the target that breaks first, or "stability" */
    const char *binding_limit; /* what binds there */

    /* For the demand. */
    int64_t replicas, gpus;         /* 0: no demand, or it cannot be met */
    bool is_verified;               /* by a run of so many replicas; else calculated from one */
    int64_t missed_from, missed_to; /* so many replicas were run and none was enough; 0: not so */
    double usd_per_hour;            /* NaN: unknown */
    double usd_per_mtok_output;     /* at the demand, or over its profile with all replicas; NaN */
    double carried_load;            /* by the replicas together; NaN: unknown */
    bool carried_is_found; /* by a search with all of them; else max_load, once for each replica */
    double headroom, headroom_low, headroom_high; /* carried_load over the demand, less 1; NaN */
    double gpu_hours_elastic, gpu_hours_static;   /* over a profile; NaN without one */
    double months_to_breach, months_low, months_high; /* at the stated growth; NaN without one */

    struct {
        struct record_probe *at;
        size_t count, capacity;
    } probes; /* in the order in which they were asked */
};

/* How an uncertain input is spread about its stated value. */
enum record_spread {
    RECORD_SPREAD_UNIFORM, /* anywhere within, nothing outside */
    RECORD_SPREAD_NORMAL,  /* within with 95 % */
    RECORD_SPREAD_COUNT
};
const char *record_spread_name(enum record_spread distribution); /* "uniform", "normal" */

/* The answer with one input at an end of its spread and all others as stated. */
struct record_input_end {
    double factor;   /* of the input: 1 - spread, 1 + spread */
    double max_load; /* 0: none meets the targets, or it cannot start; NaN: not found */
    double headroom; /* over the demand; NaN without one */
};

struct record_input {
    const char *key;
    const char *value; /* as the scenario has it; "" for several numbers at once */
    enum record_spread distribution;
    double spread; /* 0.2 = from 20 % below to 20 % above */
    struct record_input_end low, high;
};

/* Whether the replicas for the demand meet the targets when the inputs are drawn from their spreads. */
struct record_odds {
    int64_t samples, met; /* 0: not asked */
    int64_t undecided; /* of them, where the run's own interval lies on both sides of the target */
    double probability, ci_low, ci_high; /* the interval holds the undecided ones, too */
    const char *limit;                   /* what is missed most often; "" */
    int64_t limit_count;
};

/* A day of the calendar; year 0: none. */
struct record_date {
    int year, month, day;
};
enum { RECORD_DATE_BYTES = 16 };
/* "2026-12-01". */
char *record_date_print(struct record_date date, char *text, size_t bytes);
/* False unless `text` is YYYY-MM-DD, or YYYY-MM for the first day, of a day that there is. */
bool record_date_read(const char *text, struct record_date *out);
/* So many months later; a part of a month as that part of its days. */
struct record_date record_date_after(struct record_date from, double months);

/* What growth makes of the demand, calculated from what a replica carries. */
struct record_forecast {
    int months;
    double demand;
    int64_t replicas, gpus;
    double usd_per_hour; /* NaN: unknown */
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
    bool has_demand; /* a candidate that can start has told load and demand */
    double demand;   /* in the load's unit; NaN: none */
    double confidence, growth_per_month;
    double half_width;        /* relative, that was asked for */
    struct record_date start; /* of the growth */
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
    struct {
        struct record_forecast *at;
        size_t count, capacity;
    } forecast; /* with the best candidate */
    struct {
        struct record_input *at;
        size_t count, capacity;
    } inputs; /* of the best candidate, the one with the largest effect first */
    /* what theirs move: at `root`, where the candidate's is at max_load */
    double headroom_as_stated;
    struct record_odds odds;
    struct record_run run; /* of the best candidate, where one was asked for */
    bool has_run;
    const char *command; /* that gives the plan again; "" */
    size_t runs_simulated, runs_taken_up;
};

/* False where there is an interval and it is wider than was asked for. */
bool record_candidate_is_precise(const struct record_plan *plan,
                                 const struct record_candidate *candidate);
/* What an input does to the answer, the absolute difference between its ends; 0 where one was not found. */
double record_input_effect(const struct record_input *input);

void record_plan_init(struct record_plan *plan);
void record_plan_free(struct record_plan *plan);

#endif
