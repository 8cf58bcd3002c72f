/*
 * claims.h - the group of `kvsim validate` that compares sizes which papers and posts state with the closed form.
 *
 * A row has `id, model, tp, kv_cache_dtype, block_size, figure, amount, value, tolerance, source, note`. `figure` is
 * bytes_per_token (of all GPUs, the lower bound), block_bytes_per_gpu, bytes_of_tokens (of `amount` tokens), or
 * tokens_of_bytes (of `amount` bytes of KV memory on one GPU, in whole blocks). The case agrees when the figure is within
 * `tolerance`, which is half the last digit that was printed.
 */
#ifndef KVSIM_CALIB_CLAIMS_H
#define KVSIM_CALIB_CLAIMS_H

#include "calib/validate.h"

enum kvsim_status calib_claims(const char *path, struct base_arena *arena,
                               struct record_validation_cases *out, struct kvsim_error *err);

#endif
