#include "support/unit.h"

#include "scenario/scenario.h"
#include "study/intervals.h"
#include "study/study.h"

#include <math.h>
#include <string.h>

#define QUEUE KVSIM_TEST_DATA "/bench/coverage/queue.yaml"

static struct scenario *load(const struct scenario_override *overrides, size_t count)
{
    struct scenario *scenario = NULL;
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    struct scenario_request request = {.path = QUEUE,
                                       .overrides = overrides,
                                       .override_count = count,
                                       .purpose = SCENARIO_FOR_RUN};
    ck_assert_msg(scenario_load(&request, &scenario, diags) == KVSIM_OK, "%s",
                  diags->at[0].message);
    base_free(diags);
    return scenario;
}

static void run(const struct scenario_override *overrides, size_t count, unsigned jobs,
                struct record_run *out)
{
    struct scenario *scenario = load(overrides, count);
    struct study_options options = {.jobs = jobs, .mode = SERVE_JUMP};
    struct kvsim_error err;
    record_run_init(out);
    ck_assert(study_run(scenario_config(scenario), &options, out, &err) == KVSIM_OK);
    scenario_free(scenario);
}

static const struct record_metric *metric_of(const struct record_run *run, const char *name,
                                             const char *statistic)
{
    const struct record_metric *metric = record_run_metric(run, name, statistic, "");
    ck_assert_ptr_nonnull(metric);
    return metric;
}

static bool has_caveat(const struct record_run *run, const char *code)
{
    for (size_t i = 0; i < run->caveats.count; i++) {
        if (strcmp(run->caveats.at[i].code, code) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- run.until ---- */

START_TEST(rounds_are_added_until_a_figure_is_precise)
{
    const struct scenario_override overrides[] = {
        {"run.requests", "2000"},
        {"run.replications", "3"},
        {"run.until", "{metric: ttft_mean, relative_half_width: 6%, max_replications: 200}"}};
    struct record_run one, two;
    run(overrides, 3, 1, &one);
    run(overrides, 3, 3, &two);
    int64_t replications = one.summary[RECORD_REPLICATIONS].integer;
    const struct record_metric *mean = metric_of(&one, "ttft", "mean");
    ck_assert_int_gt(replications, 3);
    ck_assert_int_eq(replications % 3, 0);
    ck_assert(mean->ci_high - mean->ci_low <= 2 * 0.06 * mean->value);
    ck_assert(!has_caveat(&one, "until_not_reached"));
    // Whatever the number of threads.
    ck_assert_int_eq(two.summary[RECORD_REPLICATIONS].integer, replications);
    ck_assert_double_eq(metric_of(&two, "ttft", "mean")->ci_high, mean->ci_high);
    record_run_free(&one);
    record_run_free(&two);
}
END_TEST

START_TEST(rounds_end_at_the_most_that_is_allowed)
{
    const struct scenario_override overrides[] = {
        {"run.requests", "500"},
        {"run.replications", "3"},
        {"run.until", "{metric: e2e_p99, relative_half_width: 0.1%, max_replications: 7}"}};
    struct record_run out;
    run(overrides, 3, 1, &out);
    ck_assert_int_eq(out.summary[RECORD_REPLICATIONS].integer, 7);
    ck_assert(has_caveat(&out, "until_not_reached"));
    record_run_free(&out);
}
END_TEST

/* ---- intervals ---- */

START_TEST(a_single_steady_run_has_intervals_from_its_batches)
{
    const struct scenario_override overrides[] = {{"run.requests", "20000"},
                                                  {"run.replications", "1"}};
    struct record_run out;
    run(overrides, 2, 1, &out);
    const char *const figures[][2] = {{"e2e", "mean"},
                                      {"e2e", "p99"},
                                      {"ttft", "p50"},
                                      {"request_throughput", "value"},
                                      {"busy_fraction", "value"}};
    for (size_t i = 0; i < 5; i++) {
        const struct record_metric *metric = metric_of(&out, figures[i][0], figures[i][1]);
        ck_assert_str_eq(metric->method, "batch_means");
        ck_assert(metric->ci_low <= metric->value && metric->value <= metric->ci_high);
    }
    // Load 0.5, mean sojourn 2 s (less half a step).
    const struct record_metric *busy = metric_of(&out, "busy_fraction", "value"),
                               *e2e = metric_of(&out, "e2e", "mean");
    ck_assert(busy->ci_low < 0.5 && 0.5 < busy->ci_high && busy->ci_high - busy->ci_low < 0.05);
    ck_assert(e2e->ci_high - e2e->ci_low < 0.3 * e2e->value);
    ck_assert(!has_caveat(&out, "one_replication"));
    record_run_free(&out);
}
END_TEST

START_TEST(too_few_requests_have_no_percentile)
{
    const struct scenario_override overrides[] = {{"run.requests", "500"},
                                                  {"run.replications", "5"}};
    struct record_run out;
    run(overrides, 2, 1, &out);
    const struct record_metric *p99 = metric_of(&out, "ttft", "p99"),
                               *p50 = metric_of(&out, "ttft", "p50");
    ck_assert(isnan(p99->ci_low) && isnan(p99->ci_high));
    // 1,000 measured ones are 450 + 550, and a tenth of all is warm-up.
    ck_assert_str_eq(p99->method, STUDY_TOO_FEW ": 612 more requests a replication");
    ck_assert_str_eq(p50->method, "order_statistics");
    ck_assert(has_caveat(&out, "short_run"));
    record_run_free(&out);
}
END_TEST

/* ---- what is said of the load ---- */

START_TEST(what_is_left_of_the_seats)
{
    const struct scenario_override overrides[] = {{"run.requests", "4000"}};
    struct record_run out;
    run(overrides, 1, 1, &out);
    ck_assert_double_eq_tol(record_get_real(&out, RECORD_SPARE_SHARE), 0.5, 0.05);
    ck_assert_str_eq(record_get_text(&out, RECORD_STATUS), "done");
    record_run_free(&out);
}
END_TEST

/* Two hundred clients begin at once before one seat: the time that a request takes rises until all have had their turn. */
START_TEST(a_warmup_that_is_too_short_is_found)
{
    const struct scenario_override overrides[] = {
        {"workload.arrival", "{process: closed_loop, concurrency: 200}"},
        {"run.requests", "1600"},
        {"run.warmup", "1%"},
        {"workload.output_tokens", "{distribution: geometric, mean: 100}"}};
    struct record_run out;
    run(overrides, 4, 1, &out);
    ck_assert_str_eq(record_get_text(&out, RECORD_STATUS), "not_settled");
    ck_assert(has_caveat(&out, "not_settled"));
    record_run_free(&out);
}
END_TEST

/* ---- segments ---- */

START_TEST(segments_add_up)
{
    const struct scenario_override overrides[] = {{"run.requests", "5000"},
                                                  {"run.replications", "1"}};
    struct scenario *scenario = load(overrides, 2);
    struct serve_run_options options = {.replication = 1, .mode = SERVE_JUMP};
    struct serve_result result;
    struct kvsim_error err;
    uint64_t values = 0, kept = 0;
    base_i128 arrived = 0, ticks = 0;
    ck_assert(serve_run(scenario_config(scenario), &options, &result, &err) == KVSIM_OK);
    for (size_t i = 0; i < SERVE_SEGMENTS; i++) {
        const struct serve_segment *segment = &result.segments[i];
        values += segment->value_count[SPEC_E2E];
        kept += segment->hists != NULL ? segment->hists[SPEC_E2E].count : 0;
        arrived += segment->span[SERVE_SPAN_ARRIVED];
        ticks += segment->span[SERVE_SPAN_TICKS];
    }
    ck_assert_uint_eq(values, 5000);
    ck_assert_uint_eq(kept, 5000);
    // 128 a segment: 39 are full, and the last 8 arrivals lie beyond them.
    ck_assert_int_eq(result.segment_arrivals, 128);
    ck_assert_uint_eq(result.segment_count, 39);
    ck_assert_int_eq((int64_t)arrived,
                     39 * 128 + 1); // the arrival that ends the last one is counted
    ck_assert(ticks > 0 && ticks <= result.end_ticks);
    ck_assert_uint_eq(result.first_counted, 500);
    serve_result_release(&result);
    scenario_free(scenario);
}
END_TEST

int main(void)
{
    return unit_run("study.run", (const TTest *const[]){
                                     rounds_are_added_until_a_figure_is_precise,
                                     rounds_end_at_the_most_that_is_allowed,
                                     a_single_steady_run_has_intervals_from_its_batches,
                                     too_few_requests_have_no_percentile,
                                     what_is_left_of_the_seats,
                                     a_warmup_that_is_too_short_is_found,
                                     segments_add_up,
                                     NULL,
                                 });
}
