#include "support/unit.h"

#include "record/sweep.h"

#include <math.h>
#include <string.h>

START_TEST(values_have_the_type_of_their_text)
{
    struct record_point point = {.values = {"1024", "0.9", "8/s", "fp8", "90%", "inf"}};
    ck_assert_int_eq(record_point_value(&point, 0).kind, RECORD_INTEGER);
    ck_assert_int_eq(record_point_value(&point, 0).integer, 1024);
    ck_assert_int_eq(record_point_value(&point, 1).kind, RECORD_REAL);
    ck_assert_double_eq(record_point_value(&point, 2).real, 8);
    ck_assert_str_eq(record_point_value(&point, 3).text, "fp8");
    ck_assert_int_eq(record_point_value(&point, 4).kind, RECORD_TEXT);
    ck_assert_int_eq(record_point_value(&point, 5).kind, RECORD_TEXT);
}
END_TEST

START_TEST(figures_are_copied_with_their_texts)
{
    struct record_sweep sweep;
    struct record_value summary[RECORD_SUMMARY_COUNT] = {{0}};
    char limit[] = "kv_pool";
    record_sweep_init(&sweep);
    record_sweep_make_points(&sweep, 2);
    ck_assert_int_eq(sweep.points[1].point_id, 2);
    ck_assert_uint_eq(sweep.total_count, 2);
    summary[RECORD_BINDING_LIMIT] = (struct record_value){.kind = RECORD_TEXT, .text = limit};
    summary[RECORD_GPUS] = (struct record_value){.kind = RECORD_INTEGER, .integer = 4};
    record_point_take(&sweep, &sweep.points[1], summary);
    memset(limit, 'x', strlen(limit));
    ck_assert_str_eq(record_point_text(&sweep.points[1], RECORD_BINDING_LIMIT), "kv_pool");
    ck_assert_double_eq(record_point_real(&sweep.points[1], RECORD_GPUS), 4);
    ck_assert(isnan(record_point_real(&sweep.points[0], RECORD_GPUS)));
    ck_assert_str_eq(record_point_text(&sweep.points[0], RECORD_BINDING_LIMIT), "");
    record_sweep_free(&sweep);
}
END_TEST

START_TEST(states_have_names)
{
    for (int i = RECORD_POINT_OK; i < RECORD_POINT_STATUS_COUNT; i++) {
        const char *name = record_point_status_name((enum record_point_status)i);
        ck_assert_int_eq(record_point_status_find(name), i);
    }
    ck_assert_int_eq(record_point_status_find("what"), RECORD_POINT_OPEN);
}
END_TEST

int main(void)
{
    return unit_run("record.sweep", (const TTest *const[]){values_have_the_type_of_their_text,
                                                           figures_are_copied_with_their_texts,
                                                           states_have_names, NULL});
}
