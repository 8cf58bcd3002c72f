/*
 * probe.h - a configuration asked at one load: are its targets met, by how much, and how surely?
 *
 * A run tells nothing of a load that it is too short for: every run has few requests in the system at its beginning. One
 * that meets its targets counts only if it lasts STUDY_ROUNDS_LEAST times as long as one request takes, think times
 * between the requests of a session included, and has as many requests.
 *
 * Replications of all probes share their random numbers, so that the answer is a smooth function of the load and its root
 * can be found. A target's margin is the log of its figure over its bound; the probe's is that of the worst target.
 */
#ifndef KVSIM_STUDY_PROBE_H
#define KVSIM_STUDY_PROBE_H

#include "base/error.h"
#include "record/plan.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct study_executor;

/* What stays the same over all probes of a candidate. */
struct study_probe_base {
    const char *path;
    const struct scenario_text *text;          /* see scenario_request */
    const struct scenario_override *overrides; /* the command's and the candidate's */
    size_t override_count;
    enum record_load load;
    bool replaces_arrival; /* a profile is asked as a Poisson stream of one rate */
    uint64_t requests;     /* of one replication with base_replicas; 0: as the scenario says */
    int64_t base_replicas;
    unsigned jobs;
    struct study_executor *executor; /* of the replications; NULL: threads of this process */
    struct study_memo *memo;         /* NULL: none */
    struct store *store;             /* NULL: nothing is kept or taken up */
    double confidence;               /* of "surely", one-sided */
};

struct study_probe_ask {
    double load;
    int64_t replicas;       /* 0: the base's */
    int64_t replications;   /* 0: the scenario's */
    struct record_run *run; /* initialized, to be kept by the caller; NULL: the answer is enough */
};

struct study_probe_answer {
    struct record_probe probe; /* texts in the arena given */
    double standard_error;     /* of the margin; NaN with one replication */
    bool has_spread;           /* figures over replications: without, nothing can be surely met */
    bool is_hard; /* overloaded or a requirement missed: the margin says no more than "beyond" */
    bool was_taken_up; /* from the database */
    bool is_refused;   /* cannot start: `reason` */
    const char *reason;
};

/* `diags` (may be filled) has what is wrong with the scenario. */
enum kvsim_status study_probe(const struct study_probe_base *base,
                              const struct study_probe_ask *ask, struct base_arena *arena,
                              struct study_probe_answer *out, struct kvsim_diags *diags,
                              struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
