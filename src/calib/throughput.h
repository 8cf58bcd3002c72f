/*
 * throughput.h - the groups of `kvsim validate` that simulate: published offline throughput, and the slope of a lone
 * request's step time over its context.
 */
#ifndef KVSIM_CALIB_THROUGHPUT_H
#define KVSIM_CALIB_THROUGHPUT_H

#include "calib/validate.h"

/* Columns model, hardware, tp, pp, precision, isl, osl, requests, output_tokens_per_s, source. */
enum kvsim_status calib_throughput(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err);
/* Columns model, hardware, bf16_ms_per_token, fp8_ms_per_token, source; the case is the ratio of the two. */
enum kvsim_status calib_fp8_slope(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err);

#endif
