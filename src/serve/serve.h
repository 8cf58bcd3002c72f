/*
 * serve.h - the simulated service: requests arrive, are routed to replicas, and move through steps until they end.
 *
 * A replication is a pure function (config, seed, replication) -> rows and result. Time advances from event to event; in
 * between a replica jumps over stretches of steps whose plan provably holds, by exact arithmetic (SERVE_JUMP), or walks
 * them one by one (SERVE_STEP): the same result.
 */
#ifndef KVSIM_SERVE_SERVE_H
#define KVSIM_SERVE_SERVE_H

#include "base/error.h"
#include "record/rows.h"
#include "serve/config.h"
#include "serve/result.h"

/* Where requests come from; the workload's own source unless a test brings another. */
struct serve_source {
    void *context;
    enum kvsim_status (*next)(void *context, struct workload_request *out, bool *more,
                              struct kvsim_error *err);
    enum kvsim_status (*done)(void *context, const struct workload_ended *ended,
                              struct workload_request *out, bool *more, struct kvsim_error *err);
};

struct serve_run_options {
    uint32_t replication; /* from 1 */
    enum serve_mode mode;
    struct record_sink *sink;          /* may be NULL */
    const struct serve_source *source; /* NULL: config->workload */
    /* Called now and then with the number of arrivals so far; true stops the run (KVSIM_ERR_IO "interrupted"). */
    bool (*tick)(void *context, uint64_t arrived);
    void *tick_context;
};

/* `out` is initialized here and released by the caller, also after a failure. */
enum kvsim_status serve_run(const struct serve_config *config,
                            const struct serve_run_options *options, struct serve_result *out,
                            struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
