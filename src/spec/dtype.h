/*
 * dtype.h - number formats of weights, activations and KV that a device computes or stores in.
 */
#ifndef KVSIM_SPEC_DTYPE_H
#define KVSIM_SPEC_DTYPE_H

#include <stdbool.h>

enum spec_dtype {
    SPEC_FP32,
    SPEC_FP16,
    SPEC_BF16,
    SPEC_FP8,
    SPEC_INT8,
    SPEC_FP4, /* nvfp4, mxfp4 */
    SPEC_INT4,
    SPEC_DTYPE_COUNT
};
const char *spec_dtype_name(enum spec_dtype dtype);
bool spec_dtype_parse(const char *text,
                      enum spec_dtype *out); /* also float16, bfloat16, half, float8_e4m3fn, ... */
double spec_dtype_bytes(enum spec_dtype dtype); /* without scales: 4 2 2 1 1 0.5 0.5 */

#endif
