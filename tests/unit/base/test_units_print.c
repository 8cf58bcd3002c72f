#include "support/unit.h"

#include "base/units.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static char text[64];

START_TEST(bytes_for_people)
{
    ck_assert_str_eq(base_print_bytes(85899345920.0, text, sizeof text), "80.00 GiB");
    ck_assert_str_eq(base_print_bytes(0.0, text, sizeof text), "0 B");
    ck_assert_str_eq(base_print_bytes(1023.0, text, sizeof text), "1023 B");
    ck_assert_str_eq(base_print_bytes(1536.0, text, sizeof text), "1.50 KiB");
    ck_assert_str_eq(base_print_bytes(-1073741824.0, text, sizeof text), "-1.00 GiB");
    ck_assert_str_eq(base_print_bytes(5e15, text, sizeof text), "4547.47 TiB");
}
END_TEST

START_TEST(times_for_people)
{
    ck_assert_str_eq(base_print_time(1234567.0, text, sizeof text), "1.235 ms");
    ck_assert_str_eq(base_print_time(12345678.0, text, sizeof text), "12.35 ms");
    ck_assert_str_eq(base_print_time(123456789.0, text, sizeof text), "123.5 ms");
    ck_assert_str_eq(base_print_time(999.0, text, sizeof text), "999 ns");
    ck_assert_str_eq(base_print_time(0.0, text, sizeof text), "0 ns");
    ck_assert_str_eq(base_print_time(90e9, text, sizeof text), "1.500 min");
    ck_assert_str_eq(base_print_time(7200e9, text, sizeof text), "2.000 h");
}
END_TEST

START_TEST(counts_for_people)
{
    ck_assert_str_eq(base_print_count(12345.0, text, sizeof text), "12,345");
    ck_assert_str_eq(base_print_count(0.0, text, sizeof text), "0");
    ck_assert_str_eq(base_print_count(999.4, text, sizeof text), "999");
    ck_assert_str_eq(base_print_count(1000000.0, text, sizeof text), "1,000,000");
    ck_assert_str_eq(base_print_count(-123456.0, text, sizeof text), "-123,456");
    ck_assert_str_eq(base_print_count(-0.2, text, sizeof text), "0");
}
END_TEST

START_TEST(small_buffers_are_not_overrun)
{
    for (size_t bytes = 1; bytes < 12; bytes++) {
        memset(text, 'x', sizeof text);
        base_print_count(1234567.0, text, bytes);
        ck_assert_uint_lt(strlen(text), bytes);
        ck_assert_int_eq(text[bytes], 'x');
        memset(text, 'x', sizeof text);
        base_print_bytes(85899345920.0, text, bytes);
        ck_assert_int_eq(text[bytes], 'x');
    }
}
END_TEST

START_TEST(reals_are_short)
{
    ck_assert_str_eq(base_print_real(0.1, text, sizeof text), "0.1");
    ck_assert_str_eq(base_print_real(100.0, text, sizeof text), "100");
    ck_assert_str_eq(base_print_real(-2.5, text, sizeof text), "-2.5");
    ck_assert_str_eq(base_print_real(1e300, text, sizeof text), "1e+300");
    ck_assert_str_eq(base_print_real(1e15, text, sizeof text), "1000000000000000");
    ck_assert_str_eq(base_print_real(12345.678, text, sizeof text), "12345.678");
    ck_assert_str_eq(base_print_real(0.00012, text, sizeof text), "0.00012");
    ck_assert_str_eq(base_print_real(1.5e-9, text, sizeof text), "1.5e-09");
    ck_assert_str_eq(base_print_real(9007199254740993.0, text, sizeof text), "9007199254740992");
    ck_assert_str_eq(base_print_real(0.0, text, sizeof text), "0");
    ck_assert_str_eq(base_print_real(NAN, text, sizeof text), "nan");
    ck_assert_str_eq(base_print_real(-INFINITY, text, sizeof text), "-inf");
}
END_TEST

START_TEST(reals_read_back)
{
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double value, again;
        bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (!isnormal(value))
            continue;
        base_print_real(value, text, sizeof text);
        ck_assert_uint_lt(strlen(text), 32);
        ck_assert_int_eq(base_parse_real(text, BASE_NONE, &again, NULL), KVSIM_OK);
        ck_assert_msg(value == again, "%s", text);
    }
}
END_TEST

int main(void)
{
    return unit_run("base.units_print", (const TTest *const[]){
                                            bytes_for_people,
                                            times_for_people,
                                            counts_for_people,
                                            small_buffers_are_not_overrun,
                                            reals_are_short,
                                            reals_read_back,
                                            NULL,
                                        });
}
