#include "report/validation.h"

#include "support/printed.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

enum { MANY = 60 };

/* A group of `count` cases whose k-th is k % off. */
static void add_group(struct record_validation *validation, const char *name, size_t count)
{
    struct record_validation_group group = {.name = name,
                                            .summary = "a summary",
                                            .level = "datasheet",
                                            .basis = "nothing",
                                            .is_within = true};
    for (size_t i = 0; i < count; i++) {
        struct record_validation_case one = {
            .id = base_arena_printf(&validation->arena, "%s-%zu", name, i + 1),
            .family = "f",
            .source = "s",
            .what = "layer_ms",
            .device = i % 2 == 0 ? "even" : "odd",
            .predicted = 1 + 0.01 * (double)(i + 1),
            .measured = 1,
            .error = 0.01 * (double)(i + 1),
            .agrees = true,
            .note = ""};
        base_vec_push(&group.cases, one);
    }
    struct record_validation_part all = {.kind = RECORD_VALIDATION_ALL,
                                         .name = "",
                                         .count = count,
                                         .median = 0.125,
                                         .mean = 0.25,
                                         .p90 = 0.375,
                                         .bias = -0.5,
                                         .worst = 0.625,
                                         .tau = (double)NAN,
                                         .worst_case = "the-worst"};
    struct record_validation_part half = all;
    half.kind = RECORD_VALIDATION_DEVICE;
    half.name = "even";
    half.count = count / 2;
    base_vec_push(&group.parts, all);
    base_vec_push(&group.parts, half);
    base_vec_push(&validation->groups, group);
}

static void add_bound(struct record_validation_group *group, const char *figure, double bound,
                      double value, bool is_exceeded)
{
    struct record_validation_bound row = {figure, "", bound, value, is_exceeded};
    base_vec_push(&group->bounds, row);
    group->is_within = group->is_within && !is_exceeded;
}

static const char *page(struct printed *printed, const struct record_validation *validation)
{
    report_validation_page(printed_begin(printed), REPORT_TEXT, validation);
    return printed_end(printed);
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
}

static void lacks(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}

START_TEST(errors_and_what_was_fitted_are_printed)
{
    struct record_validation validation;
    struct printed printed;
    record_validation_init(&validation);
    add_group(&validation, "few", 4);
    add_bound(&validation.groups.at[0], "mean_error", 0.3, 0.25, false);
    const char *text = page(&printed, &validation);
    has(text, "12.50 %  25.00 %  37.50 %  -50.00 %  62.50 %  the-worst   within its bounds");
    has(text, "few: a summary. Used for fitting: nothing.");
    has(text, "mean_error <= 30 %");
    has(text, "holds");
    has(text, "every case");
    has(text, "few-4");
    has(text, "even"); // a device apart
    printed_free(&printed);
    record_validation_free(&validation);
}
END_TEST

START_TEST(a_bound_that_is_exceeded_stands_out)
{
    struct record_validation validation;
    struct printed printed;
    record_validation_init(&validation);
    add_group(&validation, "few", 4);
    add_bound(&validation.groups.at[0], "kendall_tau", 0.9, 0.875, true);
    const char *text = page(&printed, &validation);
    has(text, "BEYOND ITS BOUNDS");
    has(text, "kendall_tau >= 0.9");
    has(text, "0.875");
    has(text, "EXCEEDED");
    lacks(text, "holds");
    printed_free(&printed);
    record_validation_free(&validation);
}
END_TEST

/* Of a long group the furthest cases alone; of an exact one what does not agree, or nothing. */
START_TEST(only_the_cases_that_matter_are_printed)
{
    struct record_validation validation;
    struct printed printed;
    record_validation_init(&validation);
    add_group(&validation, "many", MANY);
    add_group(&validation, "exact", 3);
    validation.groups.at[1].is_exact = true;
    validation.groups.at[1].cases.at[1].agrees = false;
    validation.groups.at[1].parts.at[0].agreeing = 2;
    const char *text = page(&printed, &validation);
    has(text, "many: the largest errors");
    has(text, "many-60");
    has(text, "many-51");
    lacks(text, "many-50");
    has(text, "exact: what does not agree");
    has(text, "exact-2");
    lacks(text, "exact-3");
    printed_free(&printed);
    validation.groups.at[1].parts.at[0].agreeing = 3;
    lacks(page(&printed, &validation), "what does not agree");
    printed_free(&printed);
    record_validation_free(&validation);
}
END_TEST

START_TEST(json_has_every_case)
{
    struct record_validation validation;
    struct printed printed;
    record_validation_init(&validation);
    add_group(&validation, "many", MANY);
    add_bound(&validation.groups.at[0], "bias", 0.03, 0.05, true);
    report_validation_json(printed_begin(&printed), &validation);
    const char *text = printed_end(&printed);
    has(text, "\"group\": \"many\"");
    has(text, "\"level\": \"datasheet\"");
    has(text, "\"mean_error\": 0.25");
    has(text, "\"bias\": -0.5");
    has(text, "\"kendall_tau\": null");
    has(text, "\"within_bounds\": false");
    has(text, "\"figure\": \"bias\", \"part\": \"\", \"bound\": 0.03, \"value\": 0.05, "
              "\"exceeded\": true");
    size_t cases = 0;
    for (const char *at = text; (at = strstr(at, "\"id\": \"many-")) != NULL; at++)
        cases++;
    ck_assert_uint_eq(cases, MANY);
    printed_free(&printed);
    record_validation_free(&validation);
}
END_TEST

int main(void)
{
    return unit_run("report.validation",
                    (const TTest *const[]){
                        errors_and_what_was_fitted_are_printed, a_bound_that_is_exceeded_stands_out,
                        only_the_cases_that_matter_are_printed, json_has_every_case, NULL});
}
