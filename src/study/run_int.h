/*
 * run_int.h - what the files behind study_run() share: replications done, and the figures taken from them.
 */
#ifndef KVSIM_STUDY_RUN_INT_H
#define KVSIM_STUDY_RUN_INT_H

#include "record/run.h"
#include "serve/config.h"
#include "serve/result.h"
#include "serve/serve.h"
#include "study/collect.h"

#include <stdatomic.h>

struct study_replication {
    struct serve_result result;
    struct study_collector collector;
    bool is_done;
    enum kvsim_status status;
    struct kvsim_error err;
    atomic_ullong arrived;
};

/* How one is run; NULL where nobody wants to know. */
struct study_replication_how {
    enum serve_mode mode;
    struct record_sink *steps;
    bool (*tick)(void *context, uint64_t arrived); /* true stops it */
    void *tick_context;
};
/* Number `number` (from 1) of the config, into fresh memory: result, collector, is_done, status and err. */
void study_replication_run(const struct serve_config *config, uint32_t number,
                           const struct study_replication_how *how, struct study_replication *out);
void study_replication_release(struct study_replication *replication); /* that is_done */

struct study_replications {
    const struct serve_config *config;
    struct study_replication *at;
    size_t count;
};

/* Figures, ledger, limits, tails, rows: everything in `out` that comes from the replications. */
void study_gather(const struct study_replications *replications, struct record_run *out);
/* The numbers of run_summary with their intervals and values by replication. */
void study_gather_figures(const struct study_replications *replications, struct record_run *out);
/* SLOs and requires against those; caveats; slo_met. */
void study_gather_verdicts(const struct study_replications *replications, struct record_run *out);

/* Status and stability of the run, with a caveat for each that is not as it should be. */
void study_judge_stability(const struct study_replications *replications, struct record_run *out);
/* A queue that grows: one replication found so early, or all of them together at the end. */
bool study_is_overloaded(const struct study_replications *replications);
bool study_any_has_status(const struct study_replications *replications, enum serve_status status);

/* A window's integrals as means over `ticks` are added to `means`. */
void study_add_means(const struct serve_integrals *window, double ticks,
                     struct kv_paged_means *means);

#endif
