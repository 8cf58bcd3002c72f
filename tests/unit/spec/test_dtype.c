#include "spec/dtype.h"

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

CHECK_MAIN("spec.dtype", dtypes_are_found_by_every_spelling, every_dtype_reads_its_own_name_back,
           dtypes_have_their_bytes)
