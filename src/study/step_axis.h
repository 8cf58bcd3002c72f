/*
 * step_axis.h - one step under each value of a key, capacity and speed apart.
 *
 * What a token's KV takes says how many fit; what attention and the whole step take says how fast they go. Each value is an engine
 * of its own; no memory is checked.
 */
#ifndef KVSIM_STUDY_STEP_AXIS_H
#define KVSIM_STUDY_STEP_AXIS_H

#include "study/axes.h"
#include "study/step.h"

/* What becomes of the conversion of a narrow cache to what attention computes in. */
enum study_conversion {
    STUDY_CONVERSION_NONE,
    STUDY_CONVERSION_HIDDEN, /* it takes no time beside the reads: a bound */
    STUDY_CONVERSION_STATED  /* cost.kv_dtype.DTYPE.dequant_cost says what it takes */
};
const char *study_conversion_name(enum study_conversion conversion);

struct study_step_value {
    const char *value, *model, *hardware, *kv_cache_dtype;
    int64_t lower_bound_bytes, slot_bytes; /* of a token, over all GPUs */
    double attention_ms, step_ms;
    const char *bound;
    enum study_conversion conversion;
};

/*
 * The step under `request` with axis->key at its `at`th value; texts live in `arena`. `diags` are those of the engine, on success its
 * warnings.
 */
enum kvsim_status study_step_at(const struct scenario_request *request,
                                const struct study_axis *axis, size_t at,
                                const struct study_step_batch *batch, struct base_arena *arena,
                                struct study_step_value *out, struct kvsim_diags *diags,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;

/* How many times `first` is of `value`; NaN where either is nothing. */
double study_step_times(double first, double value);

#endif
