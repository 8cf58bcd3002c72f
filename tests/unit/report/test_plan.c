#include "support/made_plan.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/plan.h"

#include <math.h>
#include <string.h>

static void has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%.3000s", words, text);
}

START_TEST(the_page_begins_with_the_answer)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    const char *text = printed_end(&printed);
    has(text, "best of 2 candidates: hardware h");
    has(text, "highest load within the targets: 16.20 requests/s (95 % interval 15.90 to 16.50)");
    has(text, "breaks first: tpot p99 <= 50 ms; there binds compute");
    has(text, "demand of 40 requests/s: 3 replicas and spare ones for failures, 8 GPUs");
    has(text,
        "at 5 % more a month the targets break on 2027-05-06, after 3.7 months (95 % interval "
        "2027-04-30 to");
    has(text, "2027-07-15   53.60         4    10  25.00");
    has(text,
        "the targets are met with a probability of 87.0 % (95 % interval 77.0 % to 94.0 %, 100");
    has(text, "2 of the samples lie too near");
    has(text,
        "with every input as stated the targets are just met at 16.22 requests/s, headroom 20.0 %");
    has(text, "GROWTH (calculated: a replica carries 16 requests/s)");
    has(text, "missed most often: tpot p99 <= 50 ms (13 of 100 samples)");
    has(text, "\xC2\xB1 10 %, normal (95 % within)");
    has(text, "small: cannot start");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(json_has_the_names_of_the_contract)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    report_plan_json(printed_begin(&printed), &plan);
    const char *json = printed_end(&printed);
    has(json, "\"max_rate\": 16.2,");
    has(json, "\"max_rate_ci\": [");
    has(json, "\"limit\": \"tpot p99 <= 50 ms\"");
    has(json, "\"replicas\": 3,");
    has(json, "\"replicas_with_spare\": 4,");
    has(json, "\"gpus\": 8,");
    has(json, "\"usd_per_hour\": 20,");
    has(json, "\"candidates\": [");
    has(json, "\"status\": \"refused\", \"reason\": \"cannot start\"");
    has(json, "\"max_rate\": null, \"max_rate_at_least\": null, \"max_rate_ci\": null");
    has(json, "\"run_id\": 7, \"met\": true");
    has(json, "\"breach_date\": \"2027-05-06\",");
    has(json, "{\"months\": 6, \"date\": \"2027-07-15\", \"demand\": 53.6, \"replicas\": 4,");
    has(json, "\"probability\": 0.87,");
    has(json,
        "{\"key\": \"workload.output_tokens\", \"value\": null, \"distribution\": \"normal\",");
    has(json, "\"bound_ms\": 50, \"value_ms\": 49.5, \"ci_low\": 47, \"ci_high\": 52");
    printed_free(&printed);
    report_plan_csv(printed_begin(&printed), &plan);
    const char *csv = printed_end(&printed);
    has(csv,
        "status,hardware,model,max_load,at_least,below,"); // the axis has the column of its name
    has(csv, "\nok,h,m,16.2,,,15.9,16.5,16,16.2,tpot p99 <= 50 "
             "ms,compute,3,8,20,0.25,0.2,3.7,0.87,0.77,0.94,\n");
    has(csv, "\nrefused,small,m,,,,,,,,,,,,,,,,,,,cannot start\n"); // nothing is 0
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(clients_are_told_beside_the_rate)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    plan.load = RECORD_LOAD_CONCURRENCY;
    plan.candidates[0].max_load = 28;
    plan.candidates[0].max_rate = 5.6;
    plan.candidates[0].ci_low = 27;
    plan.candidates[0].ci_high = 30;
    report_plan_json(printed_begin(&printed), &plan);
    const char *json = printed_end(&printed);
    has(json, "\"max_rate\": 5.6,");
    has(json, "\"max_concurrency\": 28,");
    has(json, "\"max_concurrency_ci\": [");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(a_limit_that_was_not_reached_is_a_bound)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    made_plan_leave_open(&plan);
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    const char *text = printed_end(&printed);
    has(text, "highest load within the targets: not reached: at least 16.20 requests/s");
    has(text, "why: too few requests");
    has(text, "at most 3 replicas");
    has(text, "headroom at least 20.0 %");
    has(text, "the targets break at the earliest on 2027-05-06");
    has(text, "too short to tell");
    ck_assert_ptr_null(strstr(text, "confidence:"));
    ck_assert_ptr_null(strstr(text, "breaks first:"));
    printed_free(&printed);
    report_plan_json(printed_begin(&printed), &plan);
    const char *json = printed_end(&printed);
    has(json, "\"status\": \"not_reached\",\n  \"reason\": \"too few requests\",");
    has(json, "\"max_rate\": null,\n  \"max_rate_at_least\": 16.2,\n  \"max_rate_ci\": null,\n  "
              "\"max_rate_of_longer_runs\": null,\n  \"longer_run_requests\": null,\n  "
              "\"max_rate_at_confidence\": null,");
    has(json, "\"too_short\": true");
    printed_free(&printed);
    report_plan_csv(printed_begin(&printed), &plan);
    has(printed_end(&printed), "\nnot_reached,h,m,,16.2,,,,,16.2,,,3,8,");
    printed_free(&printed);
    plan.candidates[0].missed_load = 20;
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    text = printed_end(&printed);
    has(text, "highest load within the targets: at least 16.20 requests/s, below 20 requests/s");
    has(text, "not found");
    printed_free(&printed);
    report_plan_json(printed_begin(&printed), &plan);
    has(printed_end(&printed), "\"max_rate_below\": 20,");
    printed_free(&printed);
    report_plan_csv(printed_begin(&printed), &plan);
    has(printed_end(&printed), "\nnot_reached,h,m,,16.2,20,,,,16.2,,,3,8,");
    printed_free(&printed);
    plan.candidates[0].max_load = 0;
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    has(printed_end(&printed), "highest load within the targets: below 20 requests/s");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(the_cause_of_a_missing_interval_is_carried)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    plan.candidates[0].ci_low = plan.candidates[0].ci_high = (double)NAN;
    plan.candidates[0].no_interval = "a cause";
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    has(printed_end(&printed), "16.20 requests/s (no interval: a cause)");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(what_was_asked_and_not_reached_is_said)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    plan.half_width = 0.01;
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    has(printed_end(&printed),
        "the interval is \xC2\xB1 1.9 % wide, and \xC2\xB1 1 % was asked for: 5 "
        "replications");
    printed_free(&printed);
    report_plan_json(printed_begin(&printed), &plan);
    has(printed_end(&printed), "\"precision_asked\": 0.01,\n  \"precision_reached\": false,");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(sessions_are_no_requests)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    plan.load = RECORD_LOAD_SESSION_RATE;
    plan.candidates[0].max_rate = 97.2;
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    const char *text = printed_end(&printed);
    has(text, "16.20 sessions/s (95 % interval");
    has(text, "that is 97.20 requests/s");
    has(text, "demand of 40 sessions/s");
    printed_free(&printed);
    report_plan_json(printed_begin(&printed), &plan);
    const char *json = printed_end(&printed);
    has(json, "\"load_unit\": \"sessions/s\",");
    has(json, "\"max_rate\": 97.2,");
    has(json, "\"max_session_rate\": 16.2,");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(every_run_of_the_curve_is_shown)
{
    struct record_plan plan;
    struct printed printed;
    made_plan_init(&plan);
    for (int i = 0; i < 97; i++) {
        struct record_probe probe = plan.candidates[0].probes.at[0];
        probe.load = 100 + i;
        base_vec_push(&plan.candidates[0].probes, probe);
    }
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    has(printed_end(&printed), "\n    196 ");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

int main(void)
{
    return unit_run("report.plan",
                    (const TTest *const[]){
                        the_page_begins_with_the_answer, a_limit_that_was_not_reached_is_a_bound,
                        the_cause_of_a_missing_interval_is_carried,
                        what_was_asked_and_not_reached_is_said, sessions_are_no_requests,
                        every_run_of_the_curve_is_shown, json_has_the_names_of_the_contract,
                        clients_are_told_beside_the_rate, NULL});
}
