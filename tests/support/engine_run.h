/*
 * engine_run.h - runs the engine on a scenario of the naive reference and keeps all that it reports, for comparison.
 */
#ifndef KVSIM_TESTS_SUPPORT_ENGINE_RUN_H
#define KVSIM_TESTS_SUPPORT_ENGINE_RUN_H

#include "reference/ref.h"
#include "serve/serve.h"

#include <stdbool.h>

struct engine_step {
    struct record_step row;
    struct record_list_item *items; /* scheduled, admitted, preempted, finished, one after the other */
};

struct engine_run {
    struct record_sink sink; /* first */
    struct base_arena arena;
    struct { struct engine_step *at; size_t count, capacity; } steps;
    struct { struct record_request *at; size_t count, capacity; } requests;
    struct serve_result result;
};

/* Steps are kept with SERVE_STEP only. */
void engine_run_reference_input(const struct ref_input *input, enum serve_mode mode, struct engine_run *out);
void engine_run_release(struct engine_run *run);

/* The first difference as text, or "" when the engine did just what the reference did. */
void engine_compare_with_reference(const struct ref_input *input, const struct ref_output *expected,
                                   const struct engine_run *run, char *difference, size_t bytes);
/* The same for two runs of the engine (jumping against stepping): requests, counts, integrals, histograms. */
void engine_compare_runs(const struct engine_run *a, const struct engine_run *b, char *difference, size_t bytes);

#endif
