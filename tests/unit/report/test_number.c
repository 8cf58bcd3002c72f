#include "support/unit.h"

#include "report/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char text[REPORT_NUMBER_BYTES];

START_TEST(exact_numbers_read_back_the_same)
{
    static const double values[] = {0,       0.1,       1.0 / 3.0, 1320.0625,
                                    19366,   1e22,      1e-9,      DBL_MAX,
                                    DBL_MIN, 0x1p-1074, -2.5,      123456789012345678.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double again = strtod(report_print_exact(values[i], text, sizeof text), NULL);
        ck_assert_mem_eq(&again, &values[i], sizeof again);
    }
    ck_assert_str_eq(report_print_exact(0.1, text, sizeof text), "0.1");
    ck_assert_str_eq(report_print_exact(19366, text, sizeof text), "19366");
    ck_assert_str_eq(report_print_exact(1.0 / 3.0, text, sizeof text), "0.3333333333333333");
}
END_TEST

START_TEST(rounded_numbers_keep_their_digits)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},          {0.0342, "0.0342"},       {0.5, "0.500"},
                {9.876, "9.88"},   {11.24, "11.2"},          {1320.4, "1,320"},
                {19366, "19,366"}, {1234567.8, "1,234,568"}, {-1234.5, "-1,234"},
                {999.6, "1,000"},  {1e18, "1e+18"},          {1e-12, "0.000000"},
                {HUGE_VAL, "inf"}, {-HUGE_VAL, "-inf"},      {NAN, "-"},
                {100, "100"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(report_print_rounded(rows[i].value, 3, text, sizeof text), rows[i].text);
}
END_TEST

START_TEST(an_interval_is_shown_with_the_decimals_it_needs)
{
    ck_assert_str_eq(report_print_interval(34.21, 34.11, 34.31, text, sizeof text), "34.2 ± 0.1");
    ck_assert_str_eq(report_print_interval(1320.4, 1308.4, 1332.4, text, sizeof text),
                     "1,320 ± 12");
    ck_assert_str_eq(report_print_interval(1320.4, 1320.37, 1320.43, text, sizeof text),
                     "1,320.40 ± 0.03");
    ck_assert_str_eq(report_print_interval(5, 5, 5, text, sizeof text), "5 ± 0");
    ck_assert_str_eq(report_print_interval(7.569443, 7.569442, 7.569444, text, sizeof text),
                     "7.56944 ± 0.00001");
    ck_assert_str_eq(report_print_interval(0, -0.003, 0.003, text, sizeof text), "0.000 ± 0.003");
    // Equal replications leave the rounding of a mean.
    ck_assert_str_eq(report_print_interval(2013.42, 2013.42, 2013.42 + 1e-12, text, sizeof text),
                     "2,013 ± 0");
    ck_assert_str_eq(report_print_interval(34.21, NAN, NAN, text, sizeof text), "34.2");
    ck_assert_str_eq(report_print_interval(NAN, NAN, NAN, text, sizeof text), "-");
    // A difference that was shown must not look as if its interval held zero.
    ck_assert_str_eq(report_print_difference(15.4, 8.2, 33.7, text, sizeof text),
                     "15.4 (8.20 to 33.7)");
    ck_assert_str_eq(report_print_difference(34.21, 34.11, 34.31, text, sizeof text), "34.2 ± 0.1");
    ck_assert_str_eq(report_print_difference(34.21, NAN, NAN, text, sizeof text), "34.2");
}
END_TEST

START_TEST(shares_and_gib)
{
    ck_assert_str_eq(report_print_share(0.1234, text, sizeof text), "12.3 %");
    ck_assert_str_eq(report_print_share(1, text, sizeof text), "100.0 %");
    ck_assert_str_eq(report_print_share(0.9995, text, sizeof text), "99.95 %");
    ck_assert_str_eq(report_print_share(0.99999, text, sizeof text), "99.999 %");
    ck_assert_str_eq(report_print_share(0.999, text, sizeof text), "99.9 %");
    ck_assert_str_eq(report_print_share(NAN, text, sizeof text), "-");
    ck_assert_str_eq(report_print_gib(85899345920.0, text, sizeof text), "80.00");
    ck_assert_str_eq(report_print_gib(-1073741824.0, text, sizeof text), "-1.00");
}
END_TEST

START_TEST(width_counts_characters)
{
    ck_assert_uint_eq(report_text_width(""), 0);
    ck_assert_uint_eq(report_text_width("34.2 ± 0.1"), 10);
    ck_assert_uint_eq(report_text_width("−"), 1);
}
END_TEST

START_TEST(a_short_buffer_is_not_overrun)
{
    char tiny[8];
    memset(tiny, 'x', sizeof tiny);
    report_print_rounded(123456789.0, 3, tiny, 5);
    ck_assert_uint_lt(strlen(tiny), 5);
    ck_assert_int_eq(tiny[5], 'x');
    report_print_interval(1320.4, 1308.4, 1332.4, tiny, 5);
    ck_assert_uint_lt(strlen(tiny), 5);
}
END_TEST

int main(void)
{
    return unit_run(
        "report.number",
        (const TTest *const[]){exact_numbers_read_back_the_same, rounded_numbers_keep_their_digits,
                               an_interval_is_shown_with_the_decimals_it_needs, shares_and_gib,
                               width_counts_characters, a_short_buffer_is_not_overrun, NULL});
}
