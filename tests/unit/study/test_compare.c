#include "support/unit.h"

#include "study/compare.h"

#include <math.h>
#include <string.h>

/* One figure of a run: its value, and those of the replications. */
static void add_figure(struct record_run *run, const char *name, const char *statistic,
                       const double *values, size_t count, const char *method)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct record_replication_metric row = {.replication = (uint32_t)i + 1,
                                                .name = name,
                                                .statistic = statistic,
                                                .class_name = "",
                                                .value = values[i]};
        base_vec_push(&run->replication_metrics, row);
        sum += values[i];
    }
    struct record_metric metric = {.name = name,
                                   .statistic = statistic,
                                   .class_name = "",
                                   .unit = "ms",
                                   .value = sum / (double)count,
                                   .method = method};
    base_vec_push(&run->metrics, metric);
}

static void make_run(struct record_run *run, int64_t seed, double shift)
{
    const double latency[] = {10 + shift, 14 + shift, 12 + shift, 13 + shift};
    const double usage[] = {0.5 + shift, 0.52 + shift, 0.49 + shift, 0.51 + shift};
    const double same[] = {3, 4, 5, 6};
    record_run_init(run);
    record_set_integer(run, RECORD_SEED, seed);
    record_set_integer(run, RECORD_REPLICATIONS, 4);
    add_figure(run, "ttft", "mean", latency, 4, "student_t");
    add_figure(run, "ttft", "p99", latency, 4, "too_few_observations");
    add_figure(run, "output_throughput", "value", latency, 4, "student_t");
    add_figure(run, "kv_usage", "mean", usage, 4, "student_t");
    add_figure(run, "usd_per_mtok_output", "value", latency, 4, "student_t");
    add_figure(run, "energy_per_output_token", "value", latency, 4, "student_t");
    add_figure(run, "completed", "value", same, 4, "student_t");
}

static void compare(int64_t seed_b, double shift, struct record_comparison *out)
{
    struct record_run a, b;
    make_run(&a, 1, 0);
    make_run(&b, seed_b, shift);
    record_comparison_init(out);
    study_compare(&a, &b, out);
    record_run_free(&a);
    record_run_free(&b);
}

START_TEST(the_good_side_decides_the_verdict)
{
    struct record_comparison more, less;
    compare(1, 1, &more);
    compare(1, -1, &less);
    ck_assert(more.is_paired);
    ck_assert_int_eq(record_comparison_find(&more, "ttft", "mean")->verdict, RECORD_WORSE);
    ck_assert_int_eq(record_comparison_find(&less, "ttft", "mean")->verdict, RECORD_BETTER);
    ck_assert_int_eq(record_comparison_find(&more, "output_throughput", "value")->verdict,
                     RECORD_BETTER);
    ck_assert_int_eq(record_comparison_find(&more, "kv_usage", "mean")->verdict, RECORD_MORE);
    ck_assert_int_eq(record_comparison_find(&less, "kv_usage", "mean")->verdict, RECORD_LESS);
    ck_assert_int_eq(record_comparison_find(&more, "completed", "value")->verdict, RECORD_EQUAL);
    ck_assert_double_eq_tol(record_comparison_find(&more, "ttft", "mean")->difference, 1, 1e-12);
    record_comparison_free(&more);
    record_comparison_free(&less);
}
END_TEST

START_TEST(what_a_run_withholds_is_withheld)
{
    struct record_comparison comparison;
    compare(1, 1, &comparison);
    const struct record_difference *row = record_comparison_find(&comparison, "ttft", "p99");
    ck_assert_int_eq(row->verdict, RECORD_NO_INTERVAL);
    ck_assert(isnan(row->ci_low) && isnan(row->ratio_ci_high));
    ck_assert_str_eq(row->method, "none");
    record_comparison_free(&comparison);
}
END_TEST

START_TEST(other_seeds_are_not_paired)
{
    struct record_comparison comparison;
    compare(2, 1, &comparison);
    const struct record_difference *row = record_comparison_find(&comparison, "ttft", "mean");
    ck_assert(!comparison.is_paired);
    ck_assert_str_eq(row->method, "welch_t");
    ck_assert_int_eq(row->verdict, RECORD_NO_DIFFERENCE_SHOWN);
    ck_assert_int_gt(row->more_replications, 0);
    record_comparison_free(&comparison);
}
END_TEST

static void add_param(struct record_run *run, const char *key, const char *value)
{
    struct record_param_row row = {key, value, "", "scenario", "assumed", ""};
    base_vec_push(&run->params, row);
}

static enum record_verdict verdict_of(const char *figure, const char *process, const char *rate_b,
                                      const char *stability_a, const char *stability_b)
{
    struct record_run a, b;
    struct record_comparison comparison;
    make_run(&a, 1, 0);
    make_run(&b, 1, 1);
    add_param(&a, "workload.arrival.process", process);
    add_param(&b, "workload.arrival.process", process);
    add_param(&a, "workload.arrival.rate", "4");
    add_param(&b, "workload.arrival.rate", rate_b);
    record_set_text(&a, RECORD_STABILITY, stability_a);
    record_set_text(&b, RECORD_STABILITY, stability_b);
    record_comparison_init(&comparison);
    study_compare(&a, &b, &comparison);
    enum record_verdict verdict = record_comparison_find(&comparison, figure, "value")->verdict;
    ck_assert_int_eq(record_comparison_find(&comparison, "ttft", "mean")->verdict, RECORD_WORSE);
    record_comparison_free(&comparison);
    record_run_free(&a);
    record_run_free(&b);
    return verdict;
}

/* B has the higher throughput. */
START_TEST(a_throughput_that_follows_the_load_is_no_merit)
{
    static const char rate[] = "output_throughput";
    ck_assert_int_eq(verdict_of(rate, "poisson", "4", "stable", "stable"), RECORD_BETTER);
    ck_assert_int_eq(verdict_of(rate, "poisson", "5", "stable", "stable"), RECORD_MORE);
    ck_assert_int_eq(verdict_of(rate, "poisson", "5", "overloaded", "stable"), RECORD_BETTER);
    ck_assert_int_eq(verdict_of(rate, "closed_loop", "5", "stable", "stable"), RECORD_BETTER);
}
END_TEST

/* B's tokens are dearer, by the hour and by the joule: with fewer of them to share the machine's price that is no fault. */
START_TEST(a_price_of_tokens_that_follows_the_load_is_no_fault)
{
    static const char *const prices[] = {"usd_per_mtok_output", "energy_per_output_token"};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(verdict_of(prices[i], "poisson", "4", "stable", "stable"), RECORD_WORSE);
        ck_assert_int_eq(verdict_of(prices[i], "poisson", "3", "stable", "stable"), RECORD_MORE);
        // The dearer side carries no more than that.
        ck_assert_int_eq(verdict_of(prices[i], "poisson", "5", "stable", "overloaded"),
                         RECORD_WORSE);
        ck_assert_int_eq(verdict_of(prices[i], "poisson", "5", "overloaded", "stable"),
                         RECORD_MORE);
        ck_assert_int_eq(verdict_of(prices[i], "closed_loop", "3", "stable", "stable"),
                         RECORD_WORSE);
    }
}
END_TEST

START_TEST(parameters_bytes_and_shares_that_differ)
{
    struct record_run a, b;
    struct record_comparison comparison;
    make_run(&a, 1, 0);
    make_run(&b, 1, 0);
    add_param(&a, "same", "1");
    add_param(&b, "same", "1");
    add_param(&a, "other", "1");
    add_param(&b, "other", "2");
    add_param(&a, "gone", "x");
    add_param(&b, "new", "y");
    // Two replicas add up.
    for (uint32_t replica = 0; replica < 2; replica++) {
        struct record_ledger_row row = {.replica = replica,
                                        .at = "mean",
                                        .component = "free",
                                        .bytes = 100,
                                        .tokens = -1,
                                        .claim = "simulated"};
        base_vec_push(&a.ledger, row);
        row.bytes = 70;
        base_vec_push(&b.ledger, row);
    }
    struct record_tail_row tail = {"e2e", "prefill", 0.5, 12};
    base_vec_push(&b.tails, tail);
    record_comparison_init(&comparison);
    study_compare(&a, &b, &comparison);
    ck_assert_uint_eq(comparison.params.count, 3);
    ck_assert_str_eq(comparison.params.at[0].key, "other");
    ck_assert_str_eq(comparison.params.at[1].b, "");
    ck_assert_str_eq(comparison.params.at[2].a, "");
    ck_assert_uint_eq(comparison.bytes.count, 1);
    ck_assert_int_eq(comparison.bytes.at[0].a, 200);
    ck_assert_int_eq(comparison.bytes.at[0].b, 140);
    ck_assert_uint_eq(comparison.shares.count, 1);
    ck_assert_str_eq(comparison.shares.at[0].kind, "tail_ms");
    ck_assert_double_eq(comparison.shares.at[0].a, 0);
    ck_assert_double_eq(comparison.shares.at[0].b, 12);
    record_run_free(&a);
    record_run_free(&b);
    record_comparison_free(&comparison);
}
END_TEST

int main(void)
{
    return unit_run("study.compare",
                    (const TTest *const[]){
                        the_good_side_decides_the_verdict, what_a_run_withholds_is_withheld,
                        other_seeds_are_not_paired, a_throughput_that_follows_the_load_is_no_merit,
                        a_price_of_tokens_that_follows_the_load_is_no_fault,
                        parameters_bytes_and_shares_that_differ, NULL});
}
