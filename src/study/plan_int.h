/*
 * plan_int.h - what the files behind study_plan() share: one candidate at work.
 */
#ifndef KVSIM_STUDY_PLAN_INT_H
#define KVSIM_STUDY_PLAN_INT_H

#include "study/plan.h"
#include "study/probe.h"

#define STUDY_PLAN_CLIENTS_MAX 1e7 /* of a closed loop */

/* What load a scenario is under, and how it can be changed. */
struct study_plan_load {
    enum record_load load;
    bool replaces_arrival, is_whole, can_replicate;
    double start;        /* the load of the first probe */
    double demand;       /* NaN: the scenario has none */
    double natural_rate; /* of a trace, arrivals per second at its own speed */
    uint64_t requests;
    struct workload_stage *stages; /* of a profile; in the plan's arena */
    size_t stage_count;
};

/* A probe as the search sees it. */
struct study_plan_point {
    double load, margin, standard_error, rounds;
    int64_t replicas; /* 0: the base's */
    int64_t replications;
    bool is_met, is_met_surely, is_hard, is_short, is_near, has_spread;
};

struct study_plan_search {
    const struct study_plan_request *request;
    struct record_plan *plan;
    struct record_candidate *candidate;
    struct study_probe_base base;
    struct kvsim_diags *diags;
    size_t candidate_number;
    bool is_whole;        /* loads are whole numbers: clients */
    bool can_replicate;   /* more replications have other random numbers */
    int64_t replicas;     /* of the search; 0: the base's */
    int64_t replications; /* of the probes to come; 0: the scenario's */
    double start;         /* the scenario's own load */
    double tolerance;     /* of the bracket, relative */
    double most;          /* beyond it nothing is asked */
    struct {
        struct study_plan_point *at;
        size_t count, capacity;
    } points;
};

/* Fails where arrivals have no rate that could be changed. */
enum kvsim_status study_plan_take_load(const struct serve_config *config, struct record_plan *plan,
                                       struct study_plan_load *out, struct kvsim_error *err);
/* The highest rate within a stage of a profile: its ends, or the crest of its wave. */
double study_plan_stage_peak(const struct workload_stage *stage);
/* Fills the plan's load and demand: the stated one in the scenario's unit, else its own. Fails where it is no such load, and
 * where another candidate has another one. */
enum kvsim_status study_plan_take_demand(const struct study_plan_request *request,
                                         const struct study_plan_load *load,
                                         struct record_plan *plan, struct kvsim_error *err);
/* plan_ask.c: as a load is asked, whole clients or four significant digits: enough for the tolerance, short enough to be
 * typed again. */
double study_plan_round(const struct study_plan_search *search, double load);
/* Asks at a load with search->replicas; a refusal is KVSIM_ERR_REFUSED with the reason. */
enum kvsim_status study_plan_ask(struct study_plan_search *search, double load,
                                 struct study_plan_point *out, struct kvsim_error *err);
/* The targets are met by a run that was long enough to tell. */
bool study_plan_is_carried(const struct study_plan_point *point);
/* The highest load: fills max_load, its interval, sure_load, limits, status. */
enum kvsim_status study_plan_search(struct study_plan_search *search, struct kvsim_error *err);
/* The load at which the targets are just met, near search->start, and nothing else; 0: none, NaN: not reached. `factor`
 * is that of the first steps. `half` (may be NULL) is half its interval, relative; NaN: nothing tells it. */
enum kvsim_status study_plan_root(struct study_plan_search *search, double factor, double *root,
                                  double *half, struct kvsim_error *err);

/* The same question asked of longer runs. */
struct study_plan_longer {
    struct study_plan_search search;
    struct record_candidate candidate; /* takes their probes */
    double root, half;                 /* what they say; NaN: not asked */
};
void study_plan_longer_open(struct study_plan_longer *longer,
                            const struct study_plan_search *search);
void study_plan_longer_close(struct study_plan_longer *longer);
/* Fills `root` and `half` from the answer's root and the slope d margin / d log load there. */
enum kvsim_status study_plan_longer_find(struct study_plan_longer *longer, double root,
                                         double slope, struct kvsim_error *err);
/* Where runs without end would put the highest load. */
double study_plan_longer_steady(const struct study_plan_longer *longer, double root);
/* Whether longer runs meet the targets surely at a load. */
enum kvsim_status study_plan_longer_met(struct study_plan_longer *longer, double load, bool *is_met,
                                        struct kvsim_error *err);

void study_plan_tell(const struct study_plan_search *search); /* the progress */
/* The fewest replicas for the demand, with what they cost. */
enum kvsim_status study_plan_size(struct study_plan_search *search, double demand,
                                  struct kvsim_error *err);
/* Fails where an uncertain input has no numbers here, or where its spread leaves what its key may be. */
enum kvsim_status study_plan_check_doubt(const struct study_plan_search *search,
                                         struct kvsim_error *err);
/* What the inputs that are not known exactly do to the answer of search->candidate: fills plan->inputs and odds. */
enum kvsim_status study_plan_doubt(const struct study_plan_search *search, double demand,
                                   struct kvsim_error *err);
/* What growth takes: fills plan->forecast. */
void study_plan_forecast(struct record_plan *plan, const struct record_candidate *best);

#endif
