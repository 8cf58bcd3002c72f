/*
 * sweep.h - a grid of points and what came of each: what store keeps, study fills and report prints.
 *
 * A point is one cell: its values on the axes, the fingerprint of its resolved scenario, how it was decided, and the
 * figures of the run that decided it. Points lie in the order of the grid, the last axis running fastest. Ownership:
 * everything lives in the sweep's arena.
 */
#ifndef KVSIM_RECORD_SWEEP_H
#define KVSIM_RECORD_SWEEP_H

#include "record/run.h"

enum { RECORD_AXES_MAX = 6, RECORD_SWEEP_ID_BYTES = 20 };

enum record_point_status {
    RECORD_POINT_OPEN, /* not decided yet; never stored */
    RECORD_POINT_OK,
    RECORD_POINT_SLO_MISSED, /* ran, but missed an SLO or `require`, or could never go on */
    RECORD_POINT_REFUSED,    /* cannot start, or the model does not reach the context; has no run */
    RECORD_POINT_FAILED,     /* could not be decided; the next call tries again */
    RECORD_POINT_STATUS_COUNT
};
const char *record_point_status_name(enum record_point_status status); /* "" when open */
enum record_point_status record_point_status_find(const char *name);

struct record_point {
    int64_t point_id;                    /* from 1, in the order of the grid */
    const char *values[RECORD_AXES_MAX]; /* as the scenario reads them */
    char hash[33];                       /* "" where the scenario has no resolved form */
    enum record_point_status status;
    const char *reason; /* of refused and failed points; "" otherwise */
    int64_t run_id;     /* 0: no run, or not stored */
    struct record_value summary[RECORD_SUMMARY_COUNT];
};

struct record_sweep {
    struct base_arena arena;
    char sweep_id[RECORD_SWEEP_ID_BYTES]; /* follows from the resolved points and the axes */
    const char *scenario, *kvsim_version;
    bool is_zipped; /* axes run side by side; else every combination */
    size_t axis_count;
    const char *axes[RECORD_AXES_MAX]; /* keys */
    struct record_point *points;
    size_t point_count;
    size_t total_count; /* of the grid: more than there are here while points are open */
};

void record_sweep_init(struct record_sweep *sweep);
void record_sweep_free(struct record_sweep *sweep);
/* All points, open and without values. */
void record_sweep_make_points(struct record_sweep *sweep, size_t count);
/* Copies the figures with their texts into the sweep's arena. */
void record_point_take(struct record_sweep *sweep, struct record_point *point,
                       const struct record_value summary[RECORD_SUMMARY_COUNT]);

/* A figure as a double, NaN where there is none; its text, or "". */
double record_point_real(const struct record_point *point, enum record_summary column);
const char *record_point_text(const struct record_point *point, enum record_summary column);
/* The value on an axis as a number (a bare one, or a rate per second), else a text. */
struct record_value record_point_value(const struct record_point *point, size_t axis);

#endif
