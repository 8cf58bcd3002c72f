/*
 * size.h - `kvsim size`: a resolved configuration in closed form, without a simulation, and tables over keys.
 *
 * Each figure follows from kv's closed forms (waterfall, pages, hold, cells); here they are only brought together, per
 * context length and for N sequences, with the words that belong to them. Sources of the formulas: docs/kv-sizing.md.
 */
#ifndef KVSIM_STUDY_SIZE_H
#define KVSIM_STUDY_SIZE_H

#include "base/error.h"
#include "base/mem.h"
#include "record/size.h"
#include "scenario/scenario.h"
#include "study/axes.h"

#include <stddef.h>
#include <stdint.h>

struct study_size_options {
    const int64_t *contexts; /* tokens; none: doubling up to max_model_len */
    size_t context_count;
    int64_t sequences; /* 0 = 1 */
};

/* Fills `out`, everything in `arena`; the config need not outlive it. A refusal is an answer (out->starts false). */
void study_size_make(const struct serve_config *config, const struct study_size_options *options,
                     struct base_arena *arena, struct record_size *out);

struct study_sizes {
    struct base_arena arena;
    struct record_size *at;
    size_t count;
};

/*
 * One size per combination of the axes' values, the last axis fastest; without axes one. A combination that cannot be
 * resolved (a card without that dtype, heads that do not divide) is a row with `refusal_message` as long as there are
 * axes; without them it is a failure with `diags`. The caller frees `out` in any case.
 */
enum kvsim_status study_sizes_make(const struct scenario_request *request,
                                   const struct study_axes *axes,
                                   const struct study_size_options *options,
                                   struct study_sizes *out,
                                   struct kvsim_diags *diags) KVSIM_MUST_CHECK;
void study_sizes_free(struct study_sizes *sizes);

#endif
