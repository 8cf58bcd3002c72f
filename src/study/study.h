/*
 * study.h - what is asked of runs: replications on threads, their figures with intervals, gathered into a record_run.
 *
 * The result does not depend on the number of threads: replication r has its own streams and its place in the rows.
 */
#ifndef KVSIM_STUDY_STUDY_H
#define KVSIM_STUDY_STUDY_H

#include "base/error.h"
#include "record/run.h"
#include "serve/config.h"
#include "serve/serve.h"

#include <stdbool.h>

struct scenario_request;
struct study_executor;

struct study_progress {
    uint64_t done, total; /* requests arrived over all replications */
};

struct study_options {
    unsigned jobs;                   /* threads; 0 = as many as there are processors */
    enum serve_mode mode;            /* SERVE_JUMP, but SERVE_STEP for --steps */
    struct study_executor *executor; /* NULL: threads of this process */
    /* how another process reads the config; with an executor */
    const struct scenario_request *source;
    /* Called from one thread, some times a second; may be NULL. */
    void (*progress)(void *context, const struct study_progress *progress);
    void *progress_context;
    /* --steps: called once per replication in order; rows come from replications in order, one at a time. NULL: none. */
    struct record_sink *(*steps_sink)(void *context, uint32_t replication);
    void *steps_context;
};

/* Runs all replications and fills `out` (initialized by record_run_init; freed by the caller in any case). A trace that
 * breaks off or a class that does not exist fails the run: nothing is half done. */
enum kvsim_status study_run(const struct serve_config *config, const struct study_options *options,
                            struct record_run *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* How the verdict begins that more requests have failed than the targets leave out. */
#define STUDY_FAILED "failed requests"
/* SLOs and requires of the config against the run's figures: true when all hold. */
bool study_slos_are_met(const struct record_run *run);

#endif
