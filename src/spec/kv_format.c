/*
 * kv_format.c - how one KV element is stored, by name.
 *
 * Sources: vLLM (docs/sources.md: per-tensor and per-token-head formats, nvfp4, fp8_ds_mla) and llama.cpp's block
 * types: q8_0 34 B, q5_1 24 B, q5_0 22 B, q4_1 20 B, q4_0 and iq4_nl 18 B, each for 32 elements.
 */
#include "spec/kv.h"

#include "base/field.h"

#include <stddef.h>

// 1024ths of a bit per element: two bytes of scale over 32 elements, four bytes, one byte over 16.
enum { SCALE_2_PER_32 = 512, SCALE_4_PER_32 = 1024, SCALE_1_PER_16 = 512 };

static const struct spec_kv_format formats[] = {
    {"bf16", 16, 0, 0, 0},
    {"fp16", 16, 0, 0, 0},
    {"fp32", 32, 0, 0, 0},
    {"fp8", 8, 0, 0, 0},
    {"fp8_per_token_head", 8, 0, 4, 0},
    {"int8", 8, 0, 0, 0},
    {"int8_per_token_head", 8, 0, 4, 0},
    {"int4", 4, 0, 4, 0},
    {"nvfp4", 4, SCALE_1_PER_16, 0, 0},
    {"fp8_ds_mla", 8, 0, 0, 656},
    {"q8_0", 8, SCALE_2_PER_32, 0, 0},
    {"q5_1", 5, SCALE_4_PER_32, 0, 0},
    {"q5_0", 5, SCALE_2_PER_32, 0, 0},
    {"q4_1", 4, SCALE_4_PER_32, 0, 0},
    {"q4_0", 4, SCALE_2_PER_32, 0, 0},
    {"iq4_nl", 4, SCALE_2_PER_32, 0, 0},
};

// Other spellings of the same bytes; the format keeps its own name.
static const char *const aliases[][2] = {
    {"bfloat16", "bf16"},     {"float16", "fp16"},    {"half", "fp16"},
    {"f16", "fp16"},          {"float32", "fp32"},    {"float", "fp32"},
    {"f32", "fp32"},          {"fp8_e4m3", "fp8"},    {"fp8_e5m2", "fp8"},
    {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8"}, {"fp8_e4m3fnuz", "fp8"},
    {"fp8_inc", "fp8"},       {"fp4", "nvfp4"},       {"int4_per_token_head", "int4"},
};

static const char *canonical_name(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (base_key_equal(aliases[i][0], name))
            return aliases[i][1];
    }
    return name;
}

bool spec_kv_format_find(const char *name, struct spec_kv_format *out)
{
    const char *wanted = canonical_name(name);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (base_key_equal(formats[i].name, wanted)) {
            *out = formats[i];
            return true;
        }
    }
    return false;
}
