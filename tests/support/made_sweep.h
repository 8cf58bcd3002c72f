/*
 * made_sweep.h - a sweep made by hand: concurrency 1, 4, 16 down, context 1k and 8k across.
 *
 *                1024   8192
 *     1          ok     ok
 *     4          ok     missed, kv_pool binds
 *     16         missed refused
 */
#ifndef KVSIM_TESTS_SUPPORT_MADE_SWEEP_H
#define KVSIM_TESTS_SUPPORT_MADE_SWEEP_H

#include "record/sweep.h"

enum { MADE_SWEEP_POINTS = 6 };

struct made_sweep {
    struct record_sweep sweep;
    struct record_run runs[MADE_SWEEP_POINTS - 1]; /* of all points but the refused one */
    const struct record_run *run_of[MADE_SWEEP_POINTS];
};

void made_sweep_init(struct made_sweep *made);
/* The same points on one axis, workload.arrival.rate = 1 … 6 per second; the last three miss. */
void made_sweep_init_line(struct made_sweep *made);
/* The run of a point (from 0) was overloaded, or had not settled. */
void made_sweep_overload(struct made_sweep *made, size_t point);
void made_sweep_unsettle(struct made_sweep *made, size_t point);
void made_sweep_free(struct made_sweep *made);

#endif
