/*
 * loads.h - the group of `kvsim validate` that simulates served loads: published throughput and mean latencies.
 *
 * A row has `id, model, hardware, gpus, tp, quantization, kv_cache_dtype, max_num_seqs, max_num_batched_tokens,
 * max_model_len, arrival, prompt_tokens, output_tokens, shared_prefix, requests, ttft_ms, itl_ms, output_tokens_per_s,
 * source, note`; arrival, lengths and shared_prefix are written as in a scenario. One replica of `tp` GPUs is simulated
 * with its `requests`; the output rate is that of gpus / tp such replicas. Each measured figure that a row has is a case,
 * and the group takes those of one figure.
 */
#ifndef KVSIM_CALIB_LOADS_H
#define KVSIM_CALIB_LOADS_H

#include "calib/validate.h"

enum kvsim_status calib_loads_throughput(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err);
enum kvsim_status calib_loads_ttft(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err);
enum kvsim_status calib_loads_itl(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err);

#endif
