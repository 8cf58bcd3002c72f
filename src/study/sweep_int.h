/*
 * sweep_int.h - what the files behind study_sweep() share: one call at work. Private to study.
 */
#ifndef KVSIM_STUDY_SWEEP_INT_H
#define KVSIM_STUDY_SWEEP_INT_H

#include "base/mem.h"
#include "study/cell.h"
#include "study/sweep.h"

#include <stdatomic.h>

/* A point at work. */
struct study_sweep_task {
    size_t point;             /* index */
    bool is_run;              /* to be simulated */
    bool has_run;             /* was simulated; `run` is to be freed */
    atomic_bool is_elsewhere; /* another kvsim has decided it meanwhile */
    struct record_run run;
    enum kvsim_status status;
    struct kvsim_error err;
};

struct study_sweep_work {
    const struct study_sweep_request *request;
    struct record_sweep *sweep;
    struct study_sweep_counts *counts;
    struct kvsim_diags *diags;
    struct study_memo *memo;
    struct base_arena arena; /* of overrides */
    /* one for each combination of ordinary keys, where special axes need them */
    struct study_cell *bases;
    struct study_base_facts *facts;
    size_t base_count;
    struct study_cell *cells; /* one for each point */
    struct study_overrides *overrides;
    int64_t *same_as; /* the first point of this call with the same fingerprint, or NONE */
    struct study_sweep_task *tasks;
    size_t task_count;
    unsigned jobs, jobs_per_point;
    const char *stage;
    bool is_reading;
    size_t stage_done, stage_total;
};

/* The progress of the stage at hand. */
void study_sweep_show(void *work);
/* sweep_read.c: every point's cell, and the sweep's identity. Fails where a point is invalid. */
enum kvsim_status study_sweep_read(struct study_sweep_work *work, struct kvsim_error *err);

#endif
