/*
 * timeline.h - the samples of a run's first replication, averaged into equal spans of time and summed over replicas.
 */
#ifndef KVSIM_REPORT_TIMELINE_H
#define KVSIM_REPORT_TIMELINE_H

#include "record/run.h"

#include <stddef.h>

struct report_moment {
    double t_s; /* the middle of the span */
    double running, waiting;
    double ledger_bytes[RECORD_LEDGER_LINES];
};

struct report_timeline {
    struct report_moment *at; /* in the caller's arena */
    size_t count;             /* 0: no timeline was recorded */
    size_t samples;           /* of all replicas */
    double pool_bytes;
};

/*
 * At most `limit` moments, and no more than the replica with the most samples has. Each is the mean of its span; a replica
 * without a sample in a span keeps the value it had.
 */
void report_timeline_read(const struct record_run *run, size_t limit, struct base_arena *arena,
                          struct report_timeline *out);

#endif
