#include "support/unit.h"

#include "base/i128.h"

static const char *text_of(base_i128 value)
{
    static char text[41];
    return base_i128_print(value, text, sizeof text);
}

START_TEST(prints_all_the_range)
{
    base_i128 max = (base_i128)(~(base_u128)0 >> 1), min = -max - 1;
    ck_assert_str_eq(text_of(0), "0");
    ck_assert_str_eq(text_of(-1), "-1");
    ck_assert_str_eq(text_of(INT64_MAX), "9223372036854775807");
    ck_assert_str_eq(text_of((base_i128)INT64_MAX * 1000 + 1), "9223372036854775807001");
    ck_assert_str_eq(text_of(max), "170141183460469231731687303715884105727");
    ck_assert_str_eq(text_of(min), "-170141183460469231731687303715884105728");
}
END_TEST

START_TEST(ticks_round_as_said)
{
    base_i128 year = base_ticks_from_ns(INT64_C(31536000) * 1000000000);
    ck_assert_int_eq(base_ticks_floor_ns(year), INT64_C(31536000000000000));
    ck_assert_int_eq(base_ticks_floor_ns(year + 1), INT64_C(31536000000000000));
    ck_assert_int_eq(base_ticks_ceil_ns(year + 1), INT64_C(31536000000000001));
    ck_assert_int_eq(base_ticks_ceil_ns(year), INT64_C(31536000000000000));
    ck_assert_int_eq(base_ticks_floor_ns(base_ticks_from_ns(3) - 1), 2);
    ck_assert_int_eq(base_ticks_ceil_ns(0), 0);
}
END_TEST

START_TEST(to_double_is_near)
{
    base_i128 value = (base_i128)1 << 100;
    ck_assert_double_eq(base_i128_to_double(value), 1267650600228229401496703205376.0);
    ck_assert_double_eq(base_i128_to_double(-value), -1267650600228229401496703205376.0);
}
END_TEST

int main(void)
{
    return unit_run("base.i128", (const TTest *const[]){prints_all_the_range, ticks_round_as_said,
                                                        to_double_is_near, NULL});
}
