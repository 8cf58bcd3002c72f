/*
 * collect.h - a sink that keeps the rows of one replication in memory, and hands steps on.
 *
 * Requests up to the limit asked for; samples with the rule of record/rows.h: when RECORD_SAMPLES_MAX have come, every
 * other one is dropped. Texts are copied into the collector's arena.
 */
#ifndef KVSIM_STUDY_COLLECT_H
#define KVSIM_STUDY_COLLECT_H

#include "base/mem.h"
#include "record/rows.h"

struct study_collector {
    struct record_sink sink;   /* first */
    struct record_sink *steps; /* NULL: none */
    struct base_arena arena;
    size_t replica_count;
    struct {
        struct record_request *at;
        size_t count, capacity;
    } requests;
    struct {
        struct record_sample *at;
        size_t count, capacity;
    } samples;
};

void study_collector_init(struct study_collector *collector, size_t replica_count,
                          uint64_t request_limit, int64_t sample_ns, struct record_sink *steps);
void study_collector_release(struct study_collector *collector);

#endif
