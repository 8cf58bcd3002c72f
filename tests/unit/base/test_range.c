#include "support/unit.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

static enum kvsim_status collect(void *context, const char *value, struct kvsim_error *err)
{
    (void)err;
    base_text_printf(context, "%s|", value);
    return KVSIM_OK;
}

/* The values that a text stands for, each followed by '|'. */
static void expect(const char *text, enum base_unit unit, const char *values)
{
    struct base_text got = {0};
    struct kvsim_error err = {0};
    base_text_add(&got, "");
    enum kvsim_status status = base_parse_range(text, unit, collect, &got, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", text, err.message);
    ck_assert_str_eq(got.at, values);
    base_text_free(&got);
}

static void expect_error(const char *text, enum base_unit unit, const char *code)
{
    struct base_text got = {0};
    struct kvsim_error err = {0};
    enum kvsim_status status = base_parse_range(text, unit, collect, &got, &err);
    ck_assert_msg(status == KVSIM_ERR_SCENARIO, "%s is accepted", text);
    ck_assert_msg(strcmp(err.code, code) == 0, "%s: %s [%s]", text, err.message, err.code);
    base_text_free(&got);
}

START_TEST(the_forms_of_the_command_line)
{
    expect("1,2,4", BASE_COUNT, "1|2|4|");
    expect("1..5", BASE_COUNT, "1|2|3|4|5|");
    expect("7..7", BASE_COUNT, "7|");
    expect("1..256*2", BASE_COUNT, "1|2|4|8|16|32|64|128|256|");
    expect("1..100*10", BASE_COUNT, "1|10|100|");
    expect("3..20*2", BASE_COUNT, "3|6|12|");
    expect("1k..9k+2k", BASE_TOKENS, "1024|3072|5120|7168|9216|");
    expect("1k..3k+1k", BASE_COUNT, "1000|2000|3000|");
    expect("-2..2+2", BASE_NONE, "-2|0|2|");
    expect(" 1 , 2 .. 4 ,8", BASE_COUNT, "1|2|3|4|8|");
    expect("1..3,x,5..6", BASE_NONE, "1|2|3|x|5|6|");
    expect("1..1e3*10", BASE_NONE, "1|10|100|1000|");
    expect("1..1e+2*10", BASE_NONE, "1|10|100|");
}
END_TEST

START_TEST(decimals_step_exactly)
{
    expect("0.80..0.95+0.05", BASE_RATIO, "0.8|0.85|0.9|0.95|");
    expect("0..0.3+0.1", BASE_RATIO, "0|0.1|0.2|0.3|");
    expect("80%..90%+5%", BASE_RATIO, "0.8|0.85|0.9|");
    expect("-0.5..0.5+0.5", BASE_NONE, "-0.5|0|0.5|");
    expect("0.5/s..2/s*2", BASE_RATE, "0.5/s|1/s|2/s|");
}
END_TEST

START_TEST(values_keep_a_unit_where_one_is_needed)
{
    expect("1GiB..4GiB*2", BASE_BYTES, "1073741824B|2147483648B|4294967296B|");
    expect("10ms..30ms+10ms", BASE_TIME, "10000000ns|20000000ns|30000000ns|");
    expect("1/s..3/s+1/s", BASE_RATE, "1/s|2/s|3/s|");
}
END_TEST

/* Printed values mean what they meant: each reads back with the same unit. */
static enum kvsim_status reread(void *context, const char *value, struct kvsim_error *err)
{
    (*(int *)context)++;
    double real;
    return base_parse_real(value, BASE_TIME, &real, err);
}

START_TEST(values_read_back)
{
    int count = 0;
    ck_assert_int_eq(base_parse_range("0s..2s+250ms", BASE_TIME, reread, &count, NULL), KVSIM_OK);
    ck_assert_int_eq(count, 9);
}
END_TEST

START_TEST(texts_stay_texts)
{
    expect("fp8,auto", BASE_NONE, "fp8|auto|");
    expect("../a.yaml,b..c", BASE_NONE, "../a.yaml|b..c|");
    expect("{k: fp8, v: [1, 2]},auto", BASE_NONE, "{k: fp8, v: [1, 2]}|auto|");
    expect("\"a,b\",'c,d'", BASE_NONE, "\"a,b\"|'c,d'|");
    expect("8/s,inf", BASE_RATE, "8/s|inf|");
    expect("1.5,2", BASE_NONE, "1.5|2|");
}
END_TEST

START_TEST(what_is_refused)
{
    expect_error("", BASE_NONE, "bad-range");
    expect_error("1,,2", BASE_NONE, "bad-range");
    expect_error("1,2,", BASE_NONE, "bad-range");
    expect_error("1..", BASE_NONE, "bad-range");
    expect_error("1..4+", BASE_NONE, "bad-range");
    expect_error("1..4*", BASE_NONE, "bad-range");
    expect_error("1..x", BASE_NONE, "bad-number");
    expect_error("1..2..3", BASE_NONE, "bad-number");
    expect_error("4..1", BASE_NONE, "out-of-range");
    expect_error("1..4+0", BASE_NONE, "out-of-range");
    expect_error("1..4+-1", BASE_NONE, "out-of-range");
    expect_error("0..4*2", BASE_NONE, "out-of-range");
    expect_error("1..4*1", BASE_NONE, "out-of-range");
    expect_error("1..inf", BASE_NONE, "out-of-range");
    expect_error("0.5..4", BASE_NONE, "not-whole");
    expect_error("1..8*1.5", BASE_NONE, "not-whole");
    expect_error("1..1e18", BASE_NONE, "out-of-range"); // too many values
    expect_error("1ms..5s", BASE_BYTES, "unknown-unit");
}
END_TEST

START_TEST(the_largest_numbers_end)
{
    expect("9223372036854775806..9223372036854775807", BASE_NONE,
           "9223372036854775806|9223372036854775807|");
    expect("4611686018427387904..9223372036854775807*2", BASE_NONE, "4611686018427387904|");
}
END_TEST

static enum kvsim_status refuse(void *context, const char *value, struct kvsim_error *err)
{
    (*(int *)context)++;
    return base_fail(err, KVSIM_ERR_USAGE, "no %s", value);
}

START_TEST(the_callers_refusal_ends_it)
{
    struct kvsim_error err;
    int count = 0;
    ck_assert_int_eq(base_parse_range("1..9", BASE_NONE, refuse, &count, &err), KVSIM_ERR_USAGE);
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(err.message, "no 1");
}
END_TEST

int main(void)
{
    return unit_run("base.range", (const TTest *const[]){
                                      the_forms_of_the_command_line,
                                      decimals_step_exactly,
                                      values_keep_a_unit_where_one_is_needed,
                                      values_read_back,
                                      texts_stay_texts,
                                      what_is_refused,
                                      the_largest_numbers_end,
                                      the_callers_refusal_ends_it,
                                      NULL,
                                  });
}
