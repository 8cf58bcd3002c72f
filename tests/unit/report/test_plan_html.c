/* The page of a plan made by hand, without plots. */
#include "support/made_plan.h"
#include "support/made_run.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/plan_html.h"

#include <math.h>
#include <string.h>

static struct record_plan plan;
static struct printed printed;
static const char *page;

static void print_page(const char *gnuplot)
{
    char fault[200];
    report_plan_html(printed_begin(&printed), &plan, gnuplot);
    page = printed_end(&printed);
    const char *what = markup_fault(page, fault, sizeof fault);
    ck_assert_msg(what == NULL, "%s", what == NULL ? "" : what);
    ck_assert_ptr_null(markup_outside(page));
}

static void teardown(void)
{
    printed_free(&printed);
    record_plan_free(&plan);
}

static void must_have(const char *words)
{
    ck_assert_msg(strstr(page, words) != NULL, "'%s' is not on the page", words);
}

START_TEST(what_a_demand_takes)
{
    made_plan_init(&plan);
    plan.command = "kvsim plan made.yaml --demand '40/s'";
    print_page(NULL);
    must_have("What does it take to carry 40 requests/s of made within its SLOs?");
    must_have("<div class=\"answer open\">\n<strong>8 × h, $20.00 an hour.</strong>");
    must_have("The best of 2 candidates: hardware h.");
    must_have("3 replicas and spare ones for failures (simulated), headroom 20.0\xC2\xA0% "
              "(95\xC2\xA0% interval");
    must_have("no longer suffice on 2027-05-06");
    must_have("a probability of 87.0\xC2\xA0% (95\xC2\xA0% interval 77.0\xC2\xA0% to 94.0");
    must_have("First to break: tpot p99 &lt;= 50 ms.");
    must_have("$20.00 an hour</b>, $0.250 per million output tokens");
    must_have("49.5 ± 2.5");
    must_have(">2027-07-15</th>");
    must_have("hardware small: cannot start.");
    must_have("The run behind the answer was not read");
    must_have("Spare replicas are counted, not simulated");
    must_have("<code>kvsim plan made.yaml --demand &#39;40/s&#39;</code>");
    must_have("Plots are left out");
    teardown();
}
END_TEST

START_TEST(how_much_a_configuration_carries)
{
    made_plan_init(&plan);
    plan.axis_count = 0;
    plan.growth_per_month = 0;
    plan.spare_replicas = 0;
    plan.forecast.count = plan.inputs.count = 0;
    plan.odds.samples = 0;
    plan.candidates[0].replicas = plan.candidates[0].base_replicas;
    plan.candidates[0].months_to_breach = (double)NAN;
    print_page(NULL);
    must_have("How much load does m on 2 × h carry within its SLOs?");
    must_have("<strong>Up to 16.20 requests/s (95\xC2\xA0% interval 15.90 to 16.50).</strong>");
    must_have("Met at 95\xC2\xA0% confidence: 16 requests/s.");
    ck_assert_ptr_null(strstr(page, "id=\"growth\""));
    ck_assert_ptr_null(strstr(page, "id=\"inputs\""));
    ck_assert_ptr_null(strstr(page, "id=\"candidates\""));
    teardown();
}
END_TEST

START_TEST(no_load_meets_the_targets)
{
    made_plan_init(&plan);
    plan.candidates[0].status = RECORD_CANDIDATE_NONE;
    plan.candidates[0].replicas = plan.candidates[0].gpus = 0;
    plan.candidates[0].max_load = 0;
    print_page(NULL);
    must_have("<div class=\"answer no\">\n<strong>No load meets the targets.</strong>");
    must_have("Missed even at the lowest: tpot p99");
    teardown();
}
END_TEST

START_TEST(a_limit_that_was_not_reached)
{
    made_plan_init(&plan);
    made_plan_leave_open(&plan);
    plan.axis_count = 0;
    plan.growth_per_month = 0;
    plan.spare_replicas = 0;
    plan.forecast.count = plan.inputs.count = 0;
    plan.odds.samples = 0;
    plan.candidates[0].replicas = plan.candidates[0].base_replicas;
    print_page(NULL);
    must_have("<div class=\"answer open\">\n<strong>Limit not reached: at least 16.20 requests/s.");
    must_have("The limit was not reached: too few requests.");
    must_have("too short to tell");
    must_have("no run could tell where the targets break");
    ck_assert_ptr_null(strstr(page, "% confidence:"));
    printed_free(&printed);
    plan.candidates[0].missed_load = 20;
    print_page(NULL);
    must_have("<strong>Limit at least 16.20 requests/s, below 20 requests/s.");
    must_have("The limit was not found: too few requests.");
    ck_assert_ptr_null(strstr(page, "no run could tell"));
    teardown();
}
END_TEST

START_TEST(every_target_and_every_run_is_there)
{
    static const struct record_target five[] = {{"a <= 1 s", 1, 2, 1, 3},
                                                {"b <= 1 s", 1, 2, 1, 3},
                                                {"c <= 1 s", 1, 2, 1, 3},
                                                {"d <= 1 s", 1, 2, 1, 3},
                                                {"e <= 1 s", 1, 2, 1, 3}};
    made_plan_init(&plan);
    for (int i = 0; i < 97; i++) {
        struct record_probe probe = plan.candidates[0].probes.at[0];
        probe.load = 1000 + i;
        base_vec_push(&plan.candidates[0].probes, probe);
    }
    for (size_t i = 0; i < 100; i++) {
        plan.candidates[0].probes.at[i].targets = five;
        plan.candidates[0].probes.at[i].target_count = 5;
    }
    print_page(NULL);
    must_have("The same runs, further targets");
    must_have(">e, ms</th>");
    must_have(">1,096</th>");
    teardown();
}
END_TEST

START_TEST(the_run_behind_it_brings_assumptions)
{
    made_plan_init(&plan);
    record_run_free(&plan.run);
    record_run_free(&plan.run);
    made_run_init(&plan.run, 0);
    plan.has_run = true;
    print_page(NULL);
    must_have("id=\"assumptions\"");
    ck_assert_ptr_null(strstr(page, "The run behind the answer was not read"));
    teardown();
}
END_TEST

START_TEST(without_gnuplot_tables_are_left)
{
    made_plan_init(&plan);
    print_page("kvsim-has-no-such-plotter");
    must_have("There are no plots, since gnuplot could not draw them");
    must_have("The highest load within the targets with one input at an end");
    teardown();
}
END_TEST

START_TEST(plots_stand_in_the_page)
{
    made_plan_init(&plan);
    print_page("gnuplot");
    if (strstr(page, "There are no plots") == NULL) {
        must_have("id=\"plot-target-1\"");
        must_have("id=\"plot-tornado\"");
        must_have("id=\"plot-growth\"");
    }
    teardown();
}
END_TEST

int main(void)
{
    return unit_run("report.plan_html",
                    (const TTest *const[]){
                        what_a_demand_takes, how_much_a_configuration_carries,
                        no_load_meets_the_targets, a_limit_that_was_not_reached,
                        every_target_and_every_run_is_there, the_run_behind_it_brings_assumptions,
                        without_gnuplot_tables_are_left, plots_stand_in_the_page, NULL});
}
