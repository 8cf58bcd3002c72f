/*
 * sweep.h - sweeps in the database: what a grid is, its points as they are decided, and read back.
 *
 * A sweep's row is written with its first decided point; a point's row in the same transaction as its run. A point that
 * could not be decided (failed) gives way to the answer of a later call; every other row stays as it is. So two programs
 * may write the same sweep at once: whoever decides a point first has stored it, the other finds it there.
 */
#ifndef KVSIM_STORE_SWEEP_H
#define KVSIM_STORE_SWEEP_H

#include "record/sweep.h"
#include "store/store.h"

/* A point that was decided: by a run of its own (stored too, its id goes to the point), by that of an earlier point of
 * the same call or sweep, by one that is stored already (point->run_id), or without a run. */
struct store_decision {
    struct record_point *point;
    struct record_run *run;             /* NULL: none to be stored */
    const struct record_point *same_as; /* NULL, or the point whose run_id it shares */
    /* set by the call: another program has stored a run of this fingerprint meanwhile, `run` was not */
    bool was_there;
};

/* All in one transaction. On failure no point has got a run_id. */
enum kvsim_status store_write_points(struct store *store, const struct record_sweep *sweep,
                                     struct store_decision *decisions, size_t count,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The sweep with the points that are decided so far, figures included. An id that isn't there, or no database, gives no
 * axes and no points; `*found` (may be NULL) says so. */
enum kvsim_status store_load_sweep(struct store *store, const char *sweep_id,
                                   struct record_sweep *out, bool *found,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;

struct store_sweep_entry {
    const char *sweep_id, *scenario;
    int64_t point_count, decided_count;
    int64_t first_run_id; /* 0: none */
};
/* In the order of their first runs. */
enum kvsim_status store_list_sweeps(struct store *store, struct base_arena *arena,
                                    struct store_sweep_entry **out, size_t *count,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
