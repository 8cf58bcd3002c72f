/*
 * cell.h - one configuration of a study: resolved, found refused or invalid, and run.
 *
 * Sweeps, plans and comparisons are lists of cells. Resolving and running need no shared state, so that any thread may
 * do either; what a cell points to is the caller's.
 */
#ifndef KVSIM_STUDY_CELL_H
#define KVSIM_STUDY_CELL_H

#include "base/error.h"
#include "record/run.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>

struct study_executor;
struct study_memo;

enum study_cell_state {
    STUDY_CELL_NEW,
    STUDY_CELL_READY,
    STUDY_CELL_REFUSED, /* cannot start, or asks of the model what it cannot do: `reason` */
    STUDY_CELL_INVALID, /* `diags` says why */
};

struct study_cell {
    const char *path;                 /* NULL: from the overrides alone */
    const struct scenario_text *text; /* see scenario_request */
    const struct scenario_override *overrides;
    size_t override_count, axis_count; /* see scenario_request */
    bool rows_unwanted;                /* see scenario_request */
    struct study_executor *executor;   /* of its replications; NULL: threads of this process */
    struct study_memo *memo;           /* NULL: none */

    enum study_cell_state state;
    /* NULL where it could not be resolved, and after study_cell_forget() */
    struct scenario *scenario;
    char name[120]; /* the scenario's */
    char hash[33];  /* "" where it could not be resolved */
    char reason[400];
    struct kvsim_diags *diags; /* STUDY_CELL_INVALID */
    enum kvsim_status status;  /* of the diagnostics */
};

void study_cell_resolve(struct study_cell *cell);
/* An invalid cell whose only fault is that its engine does not do all of this together becomes a refused one: for cells beside
 * others that can run, where an axis brought it about. False for any other. */
bool study_cell_refuse_misfit(struct study_cell *cell);
/* Gives the scenario back; study_cell_run() reads it again. */
void study_cell_forget(struct study_cell *cell);
void study_cell_release(struct study_cell *cell);

/* Runs all replications on `jobs` threads (0: all processors) and notes where and when; `out` is initialized and freed by
 * the caller. The cell must be READY. */
enum kvsim_status study_cell_run(struct study_cell *cell, unsigned jobs, unsigned jobs_noted,
                                 struct record_run *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Seconds of a clock that never goes back. */
double study_clock_s(void);

#endif
