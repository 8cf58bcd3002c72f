#include "support/unit.h"

#include "base/units.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>

static void int_is(const char *text, enum base_unit unit, int64_t expected)
{
    struct kvsim_error err = {0};
    int64_t got = -12345;
    enum kvsim_status status = base_parse_int(text, unit, &got, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", text, err.message);
    ck_assert_msg(got == expected, "%s: %" PRId64 ", not %" PRId64, text, got, expected);
}

static void int_fails(const char *text, enum base_unit unit, const char *code)
{
    struct kvsim_error err = {0};
    int64_t got = 0;
    enum kvsim_status status = base_parse_int(text, unit, &got, &err);
    ck_assert_msg(status == KVSIM_ERR_SCENARIO, "'%s' is accepted as %" PRId64, text, got);
    ck_assert_msg(strcmp(err.code, code) == 0, "'%s': %s [%s]", text, err.message, err.code);
}

static void real_is(const char *text, enum base_unit unit, double expected)
{
    struct kvsim_error err = {0};
    double got = -12345.0;
    enum kvsim_status status = base_parse_real(text, unit, &got, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", text, err.message);
    ck_assert_msg(got == expected, "%s: %.17g, not %.17g", text, got, expected);
}

static void real_fails(const char *text, enum base_unit unit, const char *code)
{
    struct kvsim_error err = {0};
    double got = 0.0;
    enum kvsim_status status = base_parse_real(text, unit, &got, &err);
    ck_assert_msg(status == KVSIM_ERR_SCENARIO, "'%s' is accepted as %g", text, got);
    ck_assert_msg(strcmp(err.code, code) == 0, "'%s': %s [%s]", text, err.message, err.code);
}

static void rational_is(const char *text, int64_t num, int64_t den)
{
    struct kvsim_error err = {0};
    int64_t got_num = 0, got_den = 0;
    enum kvsim_status status = base_parse_rational(text, &got_num, &got_den, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", text, err.message);
    ck_assert_msg(got_num == num && got_den == den, "%s: %" PRId64 "/%" PRId64, text, got_num,
                  got_den);
}

START_TEST(k_of_tokens_is_1024)
{
    int_is("8k", BASE_TOKENS, 8192);
    int_is("8K", BASE_TOKENS, 8192);
    int_is("1M", BASE_TOKENS, 1048576);
    int_is("0.5k", BASE_TOKENS, 512);
    int_is("512", BASE_TOKENS, 512);
    int_is("128 k", BASE_TOKENS, 131072);
    int_is("4096 tokens", BASE_TOKENS, 4096);
    int_is("-1", BASE_TOKENS, -1);
    int_fails("8G", BASE_TOKENS, "unknown-unit");
}
END_TEST

START_TEST(k_of_all_else_is_1000)
{
    int_is("20k", BASE_COUNT, 20000);
    int_is("1.5M", BASE_COUNT, 1500000);
    int_is("2Ki", BASE_COUNT, 2048);
    int_is("2G", BASE_COUNT, INT64_C(2000000000));
    int_is("3T", BASE_COUNT, INT64_C(3000000000000));
    real_is("2.5k", BASE_COUNT, 2500.0);
    int_fails("8k", BASE_NONE, "unknown-unit");
}
END_TEST

START_TEST(bytes)
{
    int_is("80GiB", BASE_BYTES, INT64_C(85899345920));
    int_is("80 GiB", BASE_BYTES, INT64_C(85899345920));
    int_is("80GB", BASE_BYTES, INT64_C(80000000000));
    int_is("1.5GiB", BASE_BYTES, INT64_C(1610612736));
    int_is("7B", BASE_BYTES, 7);
    int_is("2kB", BASE_BYTES, 2000);
    int_is("2KB", BASE_BYTES, 2000);
    int_is("2KiB", BASE_BYTES, 2048);
    int_is("2TiB", BASE_BYTES, INT64_C(2199023255552));
    int_is("80G", BASE_BYTES, INT64_C(80000000000));
    int_is("80Gi", BASE_BYTES, INT64_C(85899345920));
    int_is("0.0009765625KiB", BASE_BYTES, 1);
    int_fails("1.1GiB", BASE_BYTES, "not-whole");
    int_fails("0.5B", BASE_BYTES, "not-whole");
    int_fails("80", BASE_BYTES, "missing-unit");
    int_fails("80gb", BASE_BYTES, "unknown-unit");
    int_fails("80Gb", BASE_BYTES, "unknown-unit");
    int_fails("80GiBs", BASE_BYTES, "unknown-unit");
    int_fails("-1GiB", BASE_BYTES, "out-of-range");
    int_is("1024", BASE_PLAIN_BYTES, 1024);
    int_is("1KiB", BASE_PLAIN_BYTES, 1024);
    int_is("17179869184", BASE_PLAIN_BYTES, INT64_C(17179869184));
}
END_TEST

START_TEST(times)
{
    int_is("1ns", BASE_TIME, 1);
    int_is("1us", BASE_TIME, 1000);
    int_is("250ms", BASE_TIME, 250000000);
    int_is("2 s", BASE_TIME, 2000000000);
    int_is("1.5min", BASE_TIME, INT64_C(90000000000));
    int_is("1h", BASE_TIME, INT64_C(3600000000000));
    int_is("0.5h", BASE_TIME, INT64_C(1800000000000));
    real_is("1h", BASE_TIME, 3.6e12);
    real_is("1.1min", BASE_TIME, 66e9);
    real_is("0.3us", BASE_TIME, 300.0);
    int_fails("5", BASE_TIME, "missing-unit");
    int_fails("5m", BASE_TIME, "unknown-unit");
    int_fails("5 mss", BASE_TIME, "unknown-unit");
    int_fails("-1s", BASE_TIME, "out-of-range");
}
END_TEST

START_TEST(times_round_to_the_nearest_ns_and_ties_to_even)
{
    int_is("0.4ns", BASE_TIME, 0);
    int_is("0.5ns", BASE_TIME, 0);
    int_is("0.500000000000000000000000000000001ns", BASE_TIME, 1);
    int_is("1.5ns", BASE_TIME, 2);
    int_is("2.5ns", BASE_TIME, 2);
    int_is("2.51ns", BASE_TIME, 3);
    int_is("0.123456789012345678s", BASE_TIME, 123456789);
    int_is("0.9999999999s", BASE_TIME, 1000000000);
    int_is("1e-300s", BASE_TIME, 0);
}
END_TEST

START_TEST(seconds_of_data_files)
{
    int64_t ns = 0;
    ck_assert_int_eq(base_parse_seconds("0.618518", &ns, NULL), KVSIM_OK);
    ck_assert_int_eq(ns, 618518000);
    ck_assert_int_eq(base_parse_seconds("86400.1234567891", &ns, NULL), KVSIM_OK);
    ck_assert_int_eq(ns, INT64_C(86400123456789));
    ck_assert_int_eq(base_parse_seconds("0", &ns, NULL), KVSIM_OK);
    ck_assert_int_eq(ns, 0);
    ck_assert_int_eq(base_parse_seconds("1e3", &ns, NULL), KVSIM_OK);
    ck_assert_int_eq(ns, INT64_C(1000000000000));
    static const char *const bad[] = {"-1", "1s", "nan", "inf", "", "1e10", "x", "9223372036.9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(base_parse_seconds(bad[i], &ns, NULL) != KVSIM_OK, "%s", bad[i]);
}
END_TEST

START_TEST(rates)
{
    real_is("4/s", BASE_RATE, 4.0);
    real_is("4 /s", BASE_RATE, 4.0);
    real_is("240/min", BASE_RATE, 4.0);
    real_is("7200/h", BASE_RATE, 2.0);
    real_is("0.1/s", BASE_RATE, 0.1);
    real_is("1k/s", BASE_RATE, 1000.0);
    int_is("240/min", BASE_RATE, 4);
    int_fails("100/min", BASE_RATE, "not-whole");
    real_fails("4", BASE_RATE, "missing-unit");
    real_fails("4/d", BASE_RATE, "unknown-unit");
    real_fails("-4/s", BASE_RATE, "out-of-range");
}
END_TEST

START_TEST(infinity_only_where_it_means_something)
{
    real_is("inf", BASE_RATE, INFINITY);
    real_is("Inf", BASE_RATE, INFINITY);
    real_is(".inf", BASE_NONE, INFINITY);
    real_fails("-inf", BASE_RATE, "bad-number");
    real_fails("inf", BASE_TIME, "out-of-range");
    real_fails("inf", BASE_TOKENS, "out-of-range");
    real_fails("infinite", BASE_RATE, "bad-number");
    int_fails("inf", BASE_RATE, "out-of-range");
    static const char *const nans[] = {"nan", "NaN", ".nan", "-nan", "nan(1)"};
    for (int unit = 0; unit < BASE_UNIT_COUNT; unit++) {
        for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++)
            real_fails(nans[i], (enum base_unit)unit, "bad-number");
    }
}
END_TEST

START_TEST(the_other_units)
{
    real_is("10%", BASE_RATIO, 0.1);
    real_is("0.1", BASE_RATIO, 0.1);
    real_is("-0.5", BASE_RATIO, -0.5);
    real_is("3.35TB/s", BASE_BYTES_PER_S, 3.35e12);
    real_is("3.35 TB/s", BASE_BYTES_PER_S, 3.35e12);
    real_is("400Gb/s", BASE_BYTES_PER_S, 50e9);
    real_is("400Gbps", BASE_BYTES_PER_S, 50e9);
    real_is("820GiB/s", BASE_BYTES_PER_S, 820.0 * 1073741824.0);
    real_is("989 TFLOPS", BASE_FLOP_PER_S, 989e12);
    real_is("989.4TFLOP/s", BASE_FLOP_PER_S, 989.4e12);
    real_is("1979 TOPS", BASE_FLOP_PER_S, 1979e12);
    real_is("700W", BASE_WATT, 700.0);
    real_is("10.2kW", BASE_WATT, 10200.0);
    real_is("2.50", BASE_USD, 2.5);
    real_is("$2.50", BASE_USD, 2.5);
    real_is("2.50 USD", BASE_USD, 2.5);
    real_fails("3.35TB", BASE_BYTES_PER_S, "unknown-unit");
    real_fails("989", BASE_FLOP_PER_S, "missing-unit");
    real_fails("-700W", BASE_WATT, "out-of-range");
    real_fails("$", BASE_USD, "bad-number");
}
END_TEST

START_TEST(zero_needs_no_unit)
{
    for (int unit = 0; unit < BASE_UNIT_COUNT; unit++) {
        int_is("0", (enum base_unit)unit, 0);
        real_is(" 0.00 ", (enum base_unit)unit, 0.0);
        real_is("-0", (enum base_unit)unit, 0.0);
        ck_assert(!signbit((double)0));
    }
}
END_TEST

START_TEST(forms_of_numbers)
{
    int_is("1e3", BASE_NONE, 1000);
    int_is("1.5E+2", BASE_NONE, 150);
    int_is("12000e-3", BASE_NONE, 12);
    int_is("+7", BASE_NONE, 7);
    int_is("007", BASE_NONE, 7);
    int_is("1.", BASE_NONE, 1);
    int_is(".5e1", BASE_NONE, 5);
    int_is("\t 5 ", BASE_NONE, 5);
    int_is("1e3k", BASE_TOKENS, 1024000);
    int_is("0e999999999999999999999", BASE_NONE, 0);
    static const char *const bad[] = {"",  " ", "-",   "+",     ".",   "e3", "--1",
                                      "x", "k", "- 1", "\"1\"", "one", "%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        int_fails(bad[i], BASE_NONE, "bad-number");
    int_fails("1_000", BASE_NONE, "bad-number");
    int_fails("1,000", BASE_NONE, "bad-number");
    int_fails("1.2.3", BASE_NONE, "bad-number");
    int_fails("0x10", BASE_NONE, "unknown-unit");
    int_fails("1 2", BASE_NONE, "unknown-unit");
    int_fails("1e", BASE_NONE, "unknown-unit");
    int_fails("1e+", BASE_NONE, "unknown-unit");
    int_fails("5 k k", BASE_TOKENS, "unknown-unit");
}
END_TEST

START_TEST(the_limits_of_64_bits)
{
    int_is("9223372036854775807", BASE_NONE, INT64_MAX);
    int_is("-9223372036854775807", BASE_NONE, -INT64_MAX);
    int_is("9.223372036854775807e18", BASE_NONE, INT64_MAX);
    int_is("9007199254740993", BASE_NONE, INT64_C(9007199254740993)); // not a double
    int_fails("9223372036854775808", BASE_NONE, "out-of-range");
    int_fails("1e19", BASE_NONE, "out-of-range");
    int_fails("1e400", BASE_NONE, "out-of-range");
    int_fails("1e99999999999999999999", BASE_NONE, "out-of-range");
    int_fails("9000000000GiB", BASE_BYTES, "out-of-range");
    int_fails("1e-1", BASE_NONE, "not-whole");
    int_fails("1e-99999999999", BASE_NONE, "not-whole");
    int_fails("0.000000000000000000000000000000000001", BASE_NONE, "not-whole");
}
END_TEST

START_TEST(the_limits_of_doubles)
{
    real_is("1e308", BASE_NONE, 1e308);
    real_is("0.1", BASE_NONE, 0.1);
    real_is("123456789.123456789", BASE_NONE, 123456789.123456789);
    real_is("2.2250738585072014e-308", BASE_NONE, 2.2250738585072014e-308);
    real_fails("1e309", BASE_NONE, "out-of-range");
    real_fails("1e-310", BASE_NONE, "out-of-range");
    real_fails("1e-999999", BASE_NONE, "out-of-range");
    real_fails("1e308k", BASE_COUNT, "out-of-range");
}
END_TEST

START_TEST(many_digits)
{
    real_is("0.1000000000000000055511151231257827", BASE_NONE, 0.1);
    real_is("1000000000000000000000000000000000000000000000000", BASE_NONE, 1e48);
    real_is("0.00000000000000000000000000000000000000000000000025", BASE_NONE, 2.5e-49);
    int_fails("1234567890123456789012345678901234567890", BASE_NONE, "bad-number");
    char monster[10000];
    memset(monster, '9', sizeof monster - 1);
    monster[sizeof monster - 1] = '\0';
    int_fails(monster, BASE_NONE, "bad-number");
    real_fails(monster, BASE_TIME, "missing-unit");
}
END_TEST

START_TEST(rationals_are_in_lowest_terms)
{
    rational_is("0.1", 1, 10);
    rational_is("0.01", 1, 100);
    rational_is("5%", 1, 20);
    rational_is("0.25", 1, 4);
    rational_is("0.90", 9, 10);
    rational_is("1", 1, 1);
    rational_is("0", 0, 1);
    rational_is("100%", 1, 1);
    rational_is("-0.5", -1, 2);
    rational_is("1e2", 100, 1);
    rational_is("0.123456789012345678", INT64_C(61728394506172839), INT64_C(500000000000000000));
    int64_t num = 0, den = 0;
    ck_assert_int_ne(base_parse_rational("1e-30", &num, &den, NULL), KVSIM_OK);
    ck_assert_int_ne(base_parse_rational("1e30", &num, &den, NULL), KVSIM_OK);
    ck_assert_int_ne(base_parse_rational("nan", &num, &den, NULL), KVSIM_OK);
    ck_assert_int_ne(base_parse_rational("inf", &num, &den, NULL), KVSIM_OK);
}
END_TEST

START_TEST(messages_say_what_may_be_written)
{
    struct kvsim_error err;
    int64_t value;
    ck_assert_int_ne(base_parse_int("80", BASE_BYTES, &value, &err), KVSIM_OK);
    ck_assert_str_eq(err.message, "'80' has no unit: use a size such as 80GiB (B, KB, MB, GB, TB, "
                                  "KiB, MiB, GiB, TiB)");
    ck_assert_int_ne(base_parse_int("1.1GiB", BASE_BYTES, &value, &err), KVSIM_OK);
    ck_assert_str_eq(err.message, "'1.1GiB' is not a whole number of bytes");
    for (int unit = 0; unit < BASE_UNIT_COUNT; unit++) {
        ck_assert_ptr_nonnull(base_unit_name((enum base_unit)unit));
        ck_assert_uint_gt(strlen(base_unit_help((enum base_unit)unit)), 10);
    }
}
END_TEST

/* Where the machine has a locale that writes decimals with a comma, nothing may change. */
START_TEST(the_locale_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL)
            break;
    }
    char text[40];
    real_is("2.5", BASE_NONE, 2.5);
    real_is("0.1ms", BASE_TIME, 1e5);
    real_fails("2,5", BASE_NONE, "bad-number");
    ck_assert_str_eq(base_print_real(2.5, text, sizeof text), "2.5");
    ck_assert_str_eq(base_print_bytes(1536.0, text, sizeof text), "1.50 KiB");
}
END_TEST

int main(void)
{
    return unit_run("base.units", (const TTest *const[]){
                                      k_of_tokens_is_1024,
                                      k_of_all_else_is_1000,
                                      bytes,
                                      times,
                                      times_round_to_the_nearest_ns_and_ties_to_even,
                                      seconds_of_data_files,
                                      rates,
                                      infinity_only_where_it_means_something,
                                      the_other_units,
                                      zero_needs_no_unit,
                                      forms_of_numbers,
                                      the_limits_of_64_bits,
                                      the_limits_of_doubles,
                                      many_digits,
                                      rationals_are_in_lowest_terms,
                                      messages_say_what_may_be_written,
                                      the_locale_changes_nothing,
                                      NULL,
                                  });
}
