#include "spec/dtype.h"

#include "base/error.h"
#include "base/field.h"

#include <stddef.h>

struct dtype_row {
    const char *name;
    enum spec_dtype dtype;
};

static const char *const dtype_names[SPEC_DTYPE_COUNT] = {
    [SPEC_FP32] = "fp32", [SPEC_FP16] = "fp16", [SPEC_BF16] = "bf16", [SPEC_FP8] = "fp8",
    [SPEC_INT8] = "int8", [SPEC_FP4] = "fp4",   [SPEC_INT4] = "int4",
};

static const double dtype_bytes[SPEC_DTYPE_COUNT] = {
    [SPEC_FP32] = 4, [SPEC_FP16] = 2,  [SPEC_BF16] = 2,   [SPEC_FP8] = 1,
    [SPEC_INT8] = 1, [SPEC_FP4] = 0.5, [SPEC_INT4] = 0.5,
};

// Spellings of config.json, of engines' options and of checkpoints.
static const struct dtype_row dtype_rows[] = {
    {"fp32", SPEC_FP32},
    {"float32", SPEC_FP32},
    {"float", SPEC_FP32},
    {"f32", SPEC_FP32},
    {"fp16", SPEC_FP16},
    {"float16", SPEC_FP16},
    {"half", SPEC_FP16},
    {"f16", SPEC_FP16},
    {"bf16", SPEC_BF16},
    {"bfloat16", SPEC_BF16},
    {"fp8", SPEC_FP8},
    {"fp8_e4m3", SPEC_FP8},
    {"fp8_e5m2", SPEC_FP8},
    {"float8", SPEC_FP8},
    {"float8_e4m3fn", SPEC_FP8},
    {"float8_e4m3", SPEC_FP8},
    {"float8_e4m3fnuz", SPEC_FP8},
    {"float8_e5m2", SPEC_FP8},
    {"float8_e5m2fnuz", SPEC_FP8},
    {"int8", SPEC_INT8},
    {"fp4", SPEC_FP4},
    {"nvfp4", SPEC_FP4},
    {"mxfp4", SPEC_FP4},
    {"int4", SPEC_INT4},
};

const char *spec_dtype_name(enum spec_dtype dtype)
{
    base_require((size_t)dtype < SPEC_DTYPE_COUNT);
    return dtype_names[dtype];
}

bool spec_dtype_parse(const char *text, enum spec_dtype *out)
{
    for (size_t i = 0; i < sizeof dtype_rows / sizeof dtype_rows[0]; i++) {
        if (base_key_equal(dtype_rows[i].name, text)) {
            *out = dtype_rows[i].dtype;
            return true;
        }
    }
    return false;
}

double spec_dtype_bytes(enum spec_dtype dtype)
{
    base_require((size_t)dtype < SPEC_DTYPE_COUNT);
    return dtype_bytes[dtype];
}
