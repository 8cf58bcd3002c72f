#include "support/printed.h"
#include "support/unit.h"

#include "report/plan.h"

#include <math.h>
#include <string.h>

static void has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%s", words, text);
}

static struct record_candidate plain_candidate(void)
{
    double none = (double)NAN;
    return (struct record_candidate){.reason = "",
                                     .model = "m",
                                     .hardware = "h",
                                     .limit = "",
                                     .binding_limit = "",
                                     .base_replicas = 1,
                                     .gpus_per_replica = 2,
                                     .usd_per_gpu_hour = none,
                                     .ci_low = none,
                                     .ci_high = none,
                                     .max_rate = none,
                                     .usd_per_hour = none,
                                     .usd_per_mtok_output = none,
                                     .headroom = none,
                                     .gpu_hours_elastic = none,
                                     .gpu_hours_static = none,
                                     .months_to_breach = none};
}

/* Two candidates, the second refused. */
static void make(struct record_plan *plan)
{
    record_plan_init(plan);
    plan->scenario = "made";
    plan->demand = 40;
    plan->confidence = 0.95;
    plan->growth_per_month = 0.05;
    plan->spare_replicas = 1;
    plan->axis_count = 1;
    plan->axes[0] = "hardware";
    plan->candidates = base_arena_array(&plan->arena, 2, sizeof *plan->candidates);
    plan->candidate_count = 2;
    struct record_candidate *best = &plan->candidates[0];
    *best = plain_candidate();
    best->values[0] = "h";
    best->max_load = best->max_rate = 16.2;
    best->ci_low = 15.9;
    best->ci_high = 16.5;
    best->sure_load = 16;
    best->limit = "tpot p99 <= 50 ms";
    best->binding_limit = "compute";
    best->replicas = 3;
    best->gpus = 8;
    best->is_verified = true;
    best->usd_per_hour = 20;
    best->usd_per_mtok_output = 0.25;
    best->headroom = 0.2;
    best->months_to_breach = 3.7;
    struct record_probe probe = {.load = 16.2,
                                 .replicas = 1,
                                 .replications = 5,
                                 .is_met = true,
                                 .margin = -0.01,
                                 .run_id = 7,
                                 .worst = "tpot p99 <= 50 ms"};
    base_vec_push(&best->probes, probe);
    plan->candidates[1] = plain_candidate();
    plan->candidates[1].values[0] = "small";
    plan->candidates[1].status = RECORD_CANDIDATE_REFUSED;
    plan->candidates[1].reason = "cannot start";
}

START_TEST(the_page_begins_with_the_answer)
{
    struct record_plan plan;
    struct printed printed;
    make(&plan);
    report_plan_page(printed_begin(&printed), REPORT_TEXT, &plan);
    const char *text = printed_end(&printed);
    has(text, "best of 2 candidates: hardware h");
    has(text, "highest load within the targets: 16.20 requests/s (95.0 % interval 15.90 to 16.50)");
    has(text, "breaks first: tpot p99 <= 50 ms; there binds compute");
    has(text, "demand of 40 requests/s: 3 replicas and spare ones for failures, 8 GPUs");
    has(text, "at 5 % more a month the targets break after 3.7 months");
    has(text, "small: cannot start");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(json_has_the_names_of_the_contract)
{
    struct record_plan plan;
    struct printed printed;
    make(&plan);
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
    printed_free(&printed);
    report_plan_csv(printed_begin(&printed), &plan);
    has(printed_end(&printed),
        "ok,h,m,h,16.2,15.9,16.5,16,16.2,tpot p99 <= 50 ms,compute,3,8,20,0.25,0.2,\n");
    printed_free(&printed);
    record_plan_free(&plan);
}
END_TEST

START_TEST(clients_are_told_beside_the_rate)
{
    struct record_plan plan;
    struct printed printed;
    make(&plan);
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
