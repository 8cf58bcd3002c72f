/*
 * engine_run.h - runs the engine and keeps all that it reports, for comparison: with the naive
 * reference on one of its scenarios, or with another run.
 */
#ifndef KVSIM_TESTS_SUPPORT_ENGINE_RUN_H
#define KVSIM_TESTS_SUPPORT_ENGINE_RUN_H

#include "reference/ref.h"
#include "serve/serve.h"

#include <stdbool.h>

struct engine_step {
    struct record_step row;
    /* scheduled, admitted, preempted, finished, one after the other */
    struct record_list_item *items;
};

struct engine_run {
    struct record_sink sink; /* first */
    struct base_arena arena;
    struct {
        struct engine_step *at;
        size_t count, capacity;
    } steps;
    struct {
        struct record_request *at;
        size_t count, capacity;
    } requests;
    struct {
        struct record_sample *at;
        size_t count, capacity;
    } samples;
    struct serve_result result;
};

struct engine_options {
    enum serve_mode mode;
    /* with no rows, steps or samples wanted the engine runs without a sink */
    uint64_t request_rows;
    bool wants_steps;
    int64_t sample_ns;
    const struct serve_source *source; /* NULL: the config's workload */
};

/* Replication 1 of any config; ends the process when the engine refuses it. */
void engine_run_config(const struct serve_config *config, const struct engine_options *wanted,
                       struct engine_run *out);
/* All requests are kept; steps with SERVE_STEP only. */
void engine_run_reference_input(const struct ref_input *input, enum serve_mode mode,
                                struct engine_run *out);
void engine_run_release(struct engine_run *run);

/* The first difference as text, or "" when the engine did just what the reference did. */
void engine_compare_with_reference(const struct ref_input *input, const struct ref_output *expected,
                                   const struct engine_run *run, char *difference, size_t bytes);
/* The same for two runs of the engine (jumping against stepping): every number of the results and
 * every row. */
void engine_compare_runs(const struct engine_run *a, const struct engine_run *b, char *difference,
                         size_t bytes);

#endif
