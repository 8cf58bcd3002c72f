#include "spec/hardware.h"

#include "support/check_main.h"

START_TEST(dtypes_are_found_by_every_spelling)
{
    static const struct {
        const char *text;
        enum spec_dtype dtype;
    } rows[] = {
        {"bf16", SPEC_BF16}, {"bfloat16", SPEC_BF16},     {"half", SPEC_FP16},
        {"fp32", SPEC_FP32}, {"float8_e4m3fn", SPEC_FP8}, {"fp8-e5m2", SPEC_FP8},
        {"int8", SPEC_INT8}, {"nvfp4", SPEC_FP4},         {"int4", SPEC_INT4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum spec_dtype dtype;
        ck_assert_msg(spec_dtype_parse(rows[i].text, &dtype), "%s", rows[i].text);
        ck_assert_msg(dtype == rows[i].dtype, "%s", rows[i].text);
    }
    enum spec_dtype untouched = SPEC_INT4;
    ck_assert(!spec_dtype_parse("fp7", &untouched));
    ck_assert_int_eq(untouched, SPEC_INT4);
}
END_TEST

START_TEST(every_dtype_reads_its_own_name_back)
{
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++) {
        enum spec_dtype dtype;
        ck_assert(spec_dtype_parse(spec_dtype_name((enum spec_dtype)i), &dtype));
        ck_assert_int_eq(dtype, i);
    }
}
END_TEST

START_TEST(dtypes_have_their_bytes)
{
    ck_assert_double_eq(spec_dtype_bytes(SPEC_FP32), 4);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_FP16), 2);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_BF16), 2);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_FP8), 1);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_INT8), 1);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_FP4), 0.5);
    ck_assert_double_eq(spec_dtype_bytes(SPEC_INT4), 0.5);
}
END_TEST

START_TEST(unknown_memory_is_derived_with_its_interval)
{
    struct spec_hardware card = {.memory_nominal_bytes = UINT64_C(32) << 30};
    ck_assert(spec_hardware_derive_memory(&card, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(card.memory_bytes, 33672543600); // floor(0.98 x 32 GiB)
    ck_assert_uint_eq(card.memory_low_bytes, 31954556682);
    ck_assert_uint_eq(card.memory_high_bytes, UINT64_C(32) << 30);
    ck_assert(card.memory_is_derived);
    ck_assert_int_eq(card.memory_claim, SPEC_ASSUMED);
}
END_TEST

START_TEST(known_memory_stays_and_unknown_label_is_refused)
{
    struct spec_hardware known = {.memory_bytes = 1000, .memory_nominal_bytes = 2000};
    ck_assert(spec_hardware_derive_memory(&known, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(known.memory_bytes, 1000);
    ck_assert(!known.memory_is_derived);
    struct spec_hardware nothing = {0};
    ck_assert(!spec_hardware_derive_memory(&nothing, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(nothing.memory_bytes, 0);
}
END_TEST

CHECK_MAIN("spec.hardware", dtypes_are_found_by_every_spelling, every_dtype_reads_its_own_name_back,
           dtypes_have_their_bytes, unknown_memory_is_derived_with_its_interval,
           known_memory_stays_and_unknown_label_is_refused)
