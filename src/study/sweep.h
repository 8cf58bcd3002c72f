/*
 * sweep.h - a grid of configurations: resolved before anything is written, simulated on threads, stored in order.
 *
 * Every point is resolved first, so that a value which the scenario may not have is told before the work starts. Points
 * that the database has decided are taken from it, also those of other sweeps and of plans: equal fingerprints have equal
 * figures. The rest is simulated, and each point is stored as soon as all before it are, in transactions of their own: the
 * rows do not depend on the number of threads, and a call that was killed is taken up where it ended. Two calls on one
 * database at once store every point once: what the other has stored is found when a point is about to be, and from then on
 * points that the other has decided are not begun.
 */
#ifndef KVSIM_STUDY_SWEEP_H
#define KVSIM_STUDY_SWEEP_H

#include "base/error.h"
#include "record/sweep.h"
#include "scenario/scenario.h"
#include "study/axes.h"

#include <stdbool.h>
#include <stddef.h>

struct store;
struct study_executor;

struct study_sweep_progress {
    const char *stage;     /* "reading", "simulating" */
    bool is_ahead;         /* no point is simulated before this stage is over */
    size_t decided, total; /* points of this call */
    size_t detail;         /* runs asked of a plan; 0: not said */
};

struct study_sweep_request {
    const char *path;
    const struct scenario_text *text;          /* see scenario_request */
    const struct scenario_override *overrides; /* for all points */
    size_t override_count;
    const struct study_axes *axes;
    unsigned jobs;                   /* 0 = as many as there are processors */
    struct study_executor *executor; /* of the points; NULL: threads of this process */
    size_t shard,
        shard_count;     /* this call's part of the points: shard 1 ... shard_count; 0 of 0 = all */
    struct store *store; /* NULL: nothing is stored or taken up */
    void (*progress)(void *context, const struct study_sweep_progress *progress); /* may be NULL */
    void *progress_context;
};

struct study_sweep_counts {
    size_t simulated, taken_up, by_status[RECORD_POINT_STATUS_COUNT];
    /* decided meanwhile by another kvsim on the same database, simulated here too or not */
    size_t elsewhere;
    enum kvsim_status first_failure; /* KVSIM_OK when every point was decided */
    struct kvsim_error failure;
};

/*
 * Fills `out` (initialized; freed by the caller) with all points, those of other shards open. An invalid point ends it
 * before anything is written: its status, and its diagnostics in `diags`. Other failures are in `err` (diags->total 0).
 */
enum kvsim_status study_sweep(const struct study_sweep_request *request, struct record_sweep *out,
                              struct study_sweep_counts *counts, struct kvsim_diags *diags,
                              struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
