/*
 * pipelines.h - the group of `kvsim validate` that compares what pipelines of 2, 4, 8 GPUs serve with what one serves.
 *
 * A row has `model, hardware, quantization, kv_cache_dtype, pp, prompt_tokens, output_tokens, output_tokens_per_s, source`;
 * the row of a load with pp 1 comes before its others. A case is the ratio of a row's rate to that row's, so that how
 * well one GPU is predicted stays out of it.
 *
 * Predicted in closed form, as `kvsim step` shows it: every step in flight holds its part of the sequences that the pool
 * takes, and so many new prompts as end; the interval between steps is that of the slowest stage (cost_pipeline_of).
 */
#ifndef KVSIM_CALIB_PIPELINES_H
#define KVSIM_CALIB_PIPELINES_H

#include "calib/validate.h"

enum kvsim_status calib_pipelines(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err);

#endif
