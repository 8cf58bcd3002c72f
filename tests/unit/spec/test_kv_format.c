#include "spec/kv.h"

#include "support/check_main.h"

#include <string.h>

START_TEST(formats_are_found_by_engine_spellings)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        {"bf16", "bf16"},    {"bfloat16", "bf16"},
        {"half", "fp16"},    {"f16", "fp16"},
        {"fp8_e4m3", "fp8"}, {"fp8_e5m2", "fp8"},
        {"fp8", "fp8"},      {"int4_per_token_head", "int4"},
        {"q8_0", "q8_0"},    {"fp8-per-token-head", "fp8_per_token_head"},
        {"float32", "fp32"}, {"fp8_ds_mla", "fp8_ds_mla"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct spec_kv_format format;
        ck_assert_msg(spec_kv_format_find(rows[i].text, &format), "%s", rows[i].text);
        ck_assert_str_eq(format.name, rows[i].name);
    }
    struct spec_kv_format format;
    ck_assert(!spec_kv_format_find("auto", &format));
    ck_assert(!spec_kv_format_find("", &format));
}
END_TEST

// Bytes of 32 elements with their scales, times 1024.
static uint64_t bytes_of_32_x1024(const char *name)
{
    struct spec_kv_format format;
    ck_assert(spec_kv_format_find(name, &format));
    uint64_t bits = (uint64_t)format.bits_per_element * 1024 + format.scale_bits_per_element_x1024;
    return bits * 32 / 8;
}

START_TEST(block_formats_have_llama_cpps_bytes)
{
    ck_assert_uint_eq(bytes_of_32_x1024("q8_0"), 34 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("q5_1"), 24 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("q5_0"), 22 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("q4_1"), 20 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("q4_0"), 18 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("iq4_nl"), 18 * 1024);
    ck_assert_uint_eq(bytes_of_32_x1024("nvfp4"), 18 * 1024); // a byte of scale per 16
}
END_TEST

CHECK_MAIN("spec.kv_format", formats_are_found_by_engine_spellings,
           block_formats_have_llama_cpps_bytes)
