#include "support/unit.h"

#include "record/plan.h"

#include <math.h>
#include <string.h>

static struct record_date day(const char *text)
{
    struct record_date date;
    ck_assert_msg(record_date_read(text, &date), "%s", text);
    return date;
}

static void expect_after(const char *from, double months, const char *expected)
{
    char text[RECORD_DATE_BYTES];
    record_date_print(record_date_after(day(from), months), text, sizeof text);
    ck_assert_msg(strcmp(text, expected) == 0, "%s and %g months: %s", from, months, text);
}

START_TEST(days_are_read_as_the_calendar_has_them)
{
    static const char *const wrong[] = {"2027",       "2027-1",      "2027-13",  "2027-00-01",
                                        "2027-02-29", "2100-02-29",  "27-01-01", "2027/01/01",
                                        "2027-01-0x", "2027-01-011", "",         "0000-01-01"};
    struct record_date date;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!record_date_read(wrong[i], &date), "%s", wrong[i]);
    ck_assert(record_date_read("2028-02-29", &date));
    ck_assert(record_date_read("2000-02-29", &date));
    ck_assert(record_date_read("2027-11", &date));
    ck_assert_int_eq(date.year, 2027);
    ck_assert_int_eq(date.month, 11);
    ck_assert_int_eq(date.day, 1);
}
END_TEST

START_TEST(months_pass_by_the_calendar)
{
    expect_after("2027-01", 0, "2027-01-01");
    expect_after("2027-01-15", 1, "2027-02-15");
    expect_after("2027-01-31", 1, "2027-02-28");
    expect_after("2027-12-31", 2, "2028-02-29");
    expect_after("2027-11-05", 14, "2029-01-05");
    expect_after("2027-01-01", 0.5, "2027-01-16");
    expect_after("2027-02-01", 0.5, "2027-02-15");
    expect_after("2027-01-25", 0.5, "2027-02-09");
    expect_after("2027-12-25", 0.99, "2028-01-24");
    expect_after("2027-01-01", 0.01, "2027-01-01");
}
END_TEST

START_TEST(the_effect_of_an_input_is_what_lies_between_its_ends)
{
    struct record_input input = {.low = {.max_load = 12, .headroom = 0.2},
                                 .high = {.max_load = 9, .headroom = -0.1}};
    ck_assert_double_eq_tol(record_input_effect(&input), 0.3, 1e-12);
    input.low.headroom = (double)NAN;
    ck_assert_double_eq_tol(record_input_effect(&input), 3, 1e-12);
    input.high.max_load = (double)NAN;
    ck_assert_double_eq(record_input_effect(&input), 0);
}
END_TEST

int main(void)
{
    return unit_run(
        "record.plan",
        (const TTest *const[]){days_are_read_as_the_calendar_has_them, months_pass_by_the_calendar,
                               the_effect_of_an_input_is_what_lies_between_its_ends, NULL});
}
