/*
 * step.h - one step explained, for `kvsim step`: an engine from a scenario and overrides, a batch, and what it costs.
 *
 * Engines are kept: a table of a hundred thousand steps on three GPUs resolves three scenarios. An engine is told apart
 * by the texts that a row gives for it, so equal texts share one. No memory is checked: what does not fit is costed all
 * the same.
 */
#ifndef KVSIM_STUDY_STEP_H
#define KVSIM_STUDY_STEP_H

#include "base/error.h"
#include "base/mem.h"
#include "cost/explain.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a row of a table can say of the engine; the names are the columns'. */
enum study_step_key {
    STUDY_STEP_MODEL,
    STUDY_STEP_HARDWARE,
    STUDY_STEP_TP,
    STUDY_STEP_PP,
    STUDY_STEP_DP,
    STUDY_STEP_EP, /* ranks that share experts: 1, or tp * dp */
    STUDY_STEP_QUANTIZATION,
    STUDY_STEP_KV_CACHE_DTYPE,
    STUDY_STEP_GRAPHS,  /* true, false: kernels replayed as a CUDA graph, or launched one by one */
    STUDY_STEP_KERNELS, /* of which generation of software: current, 2024 */
    STUDY_STEP_KEY_COUNT
};

/* Sequences that prefill alike. */
struct study_step_chunk {
    int64_t seq_count, new_tokens, cached_tokens; /* tokens of each sequence */
};

enum { STUDY_STEP_SEQS_MAX = 1 << 20 };

/* Every chunk is taken as the last one of its prompt: it emits a token. */
struct study_step_batch {
    const struct study_step_chunk *chunks;
    size_t chunk_count;
    int64_t decode_seq_count;      /* 0 ... STUDY_STEP_SEQS_MAX */
    int64_t decode_context_tokens; /* of each sequence in the cache before the step */
};

/* Owned by its table. */
struct study_step_engine {
    const char *key;
    struct scenario *scenario;
    const struct serve_config *config;
    struct base_arena arena; /* of `cost` */
    struct cost *cost;
    int64_t seqs_max; /* that `cost` has room for */
};

struct study_steps {
    struct scenario_request request; /* what holds for every engine */
    struct base_arena arena;
    struct {
        struct study_step_engine **at;
        size_t count, capacity;
    } engines;
    struct study_step_engine *last;
    struct kvsim_diags diags; /* of the engine that failed, or the warnings of the last new one */
};

/* `request` and its texts must outlive the table. */
void study_steps_init(struct study_steps *steps, const struct scenario_request *request);
void study_steps_free(struct study_steps *steps);

/*
 * The engine in which the keys have these values (NULL: as the request says); valid until study_steps_free(). On failure
 * *fault is the key to blame, STUDY_STEP_KEY_COUNT when none of them is, and steps->diags has every diagnostic.
 */
enum kvsim_status study_steps_engine(struct study_steps *steps,
                                     const char *const values[STUDY_STEP_KEY_COUNT],
                                     struct study_step_engine **out, enum study_step_key *fault,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* KVSIM_ERR_SCENARIO for a batch without work or beyond what can be counted. */
enum kvsim_status study_step_explain(struct study_step_engine *engine,
                                     const struct study_step_batch *batch,
                                     struct cost_explanation *out,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The shape of a batch for a model with these windows; for tests too. */
void study_step_shape(const struct study_step_batch *batch, const struct cost_window *windows,
                      size_t window_count, struct cost_shape *out);

/* The level in use, and the weakest kind among the inputs: vendor, assumed, ... */
enum cost_level study_step_level(const struct study_step_engine *engine);
enum spec_claim study_step_basis(const struct study_step_engine *engine);

#endif
