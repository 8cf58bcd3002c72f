#include "support/made_plan.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/plan.h"

#include <math.h>
#include <string.h>

static void has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%s", words, text);
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
    has(json, "\"max_rate\": null, \"max_rate_ci\": null");
    has(json, "\"run_id\": 7, \"met\": true");
    has(json, "\"breach_date\": \"2027-05-06\",");
    has(json, "{\"months\": 6, \"date\": \"2027-07-15\", \"demand\": 53.6, \"replicas\": 4,");
    has(json, "\"probability\": 0.87,");
    has(json,
        "{\"key\": \"workload.output_tokens\", \"value\": null, \"distribution\": \"normal\",");
    has(json, "\"bound_ms\": 50, \"value_ms\": 49.5, \"ci_low\": 47, \"ci_high\": 52");
    printed_free(&printed);
    report_plan_csv(printed_begin(&printed), &plan);
    has(printed_end(&printed), "ok,h,m,h,16.2,15.9,16.5,16,16.2,tpot p99 <= 50 "
                               "ms,compute,3,8,20,0.25,0.2,3.7,0.87,0.77,0.94,\n");
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

int main(void)
{
    return unit_run("report.plan", (const TTest *const[]){the_page_begins_with_the_answer,
                                                          json_has_the_names_of_the_contract,
                                                          clients_are_told_beside_the_rate, NULL});
}
