/*
 * merge.h - the databases of shards into one: the same rows as if one process had done it all.
 *
 * Points of a sweep are taken in the order of the grid, whatever database they lie in, and their runs get the ids that a
 * single call would have given. Then follow the runs that belong to no sweep. What the target has is not added again, so
 * that a merge may be repeated, and go on after it was killed.
 */
#ifndef KVSIM_STUDY_MERGE_H
#define KVSIM_STUDY_MERGE_H

#include "base/error.h"

#include <stddef.h>

struct store;

struct study_merge_counts {
    size_t sweeps, points, runs; /* added */
};

/* `sources` are open for reading, `target` for writing. */
enum kvsim_status study_merge(struct store *const *sources, size_t source_count,
                              struct store *target, struct study_merge_counts *counts,
                              struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
