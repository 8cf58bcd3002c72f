/*
 * A study is the same for any number of threads, and for stepping and jumping: every column,
 * metric, interval, ledger line, share and row, over random services and in overload.
 */
#include "support/check_main.h"
#include "support/random_service.h"
#include "support/rows_compare.h"

#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPLICATIONS = 6, ROWS_PER_REPLICATION = 500 };

static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void check(bool holds, uint64_t seed, const char *what, size_t index)
{
    if (!holds) {
        ck_assert_msg(false, "service %u: %s %zu differs", (unsigned)seed, what, index);
    }
}

static void compare_summary(const struct record_run *a, const struct record_run *b, uint64_t seed)
{
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        const struct record_value *x = &a->summary[i], *y = &b->summary[i];
        check(x->kind == y->kind && x->integer == y->integer && same_real(x->real, y->real) &&
                  same_text(x->text, y->text),
              seed, record_summary_columns[i].name, i);
    }
}

static void compare_metrics(const struct record_run *a, const struct record_run *b, uint64_t seed)
{
    check(a->metrics.count == b->metrics.count, seed, "metrics", a->metrics.count);
    for (size_t i = 0; i < a->metrics.count; i++) {
        const struct record_metric *x = &a->metrics.at[i], *y = &b->metrics.at[i];
        check(same_text(x->name, y->name) && same_text(x->statistic, y->statistic) &&
                  same_text(x->class_name, y->class_name) && same_text(x->method, y->method) &&
                  x->n == y->n && same_real(x->value, y->value) &&
                  same_real(x->ci_low, y->ci_low) && same_real(x->ci_high, y->ci_high),
              seed, x->name, i);
    }
    check(a->replication_metrics.count == b->replication_metrics.count, seed, "replication metrics",
          0);
    for (size_t i = 0; i < a->replication_metrics.count; i++) {
        const struct record_replication_metric *x = &a->replication_metrics.at[i],
                                               *y = &b->replication_metrics.at[i];
        check(x->replication == y->replication && same_text(x->name, y->name) &&
                  same_text(x->statistic, y->statistic) && same_real(x->value, y->value) &&
                  x->n == y->n,
              seed, "replication metric", i);
    }
}

static void compare_tables(const struct record_run *a, const struct record_run *b, uint64_t seed)
{
    check(a->ledger.count == b->ledger.count, seed, "ledger", a->ledger.count);
    for (size_t i = 0; i < a->ledger.count; i++) {
        check(same_text(a->ledger.at[i].component, b->ledger.at[i].component) &&
                  a->ledger.at[i].bytes == b->ledger.at[i].bytes,
              seed, "ledger line", i);
    }
    check(a->limits.count == b->limits.count, seed, "limits", a->limits.count);
    for (size_t i = 0; i < a->limits.count; i++) {
        check(a->limits.at[i].share == b->limits.at[i].share, seed, "limit", i);
    }
    check(a->tails.count == b->tails.count, seed, "tails", a->tails.count);
    for (size_t i = 0; i < a->tails.count; i++) {
        check(a->tails.at[i].share == b->tails.at[i].share &&
                  a->tails.at[i].ms == b->tails.at[i].ms,
              seed, "tail", i);
    }
    check(a->caveats.count == b->caveats.count, seed, "caveats", a->caveats.count);
}

static void compare_rows(const struct record_run *a, const struct record_run *b, uint64_t seed)
{
    check(a->requests.count == b->requests.count, seed, "requests", a->requests.count);
    for (size_t i = 0; i < a->requests.count; i++) {
        check(rows_same_request(&a->requests.at[i], &b->requests.at[i]) &&
                  a->request_replications.at[i] == b->request_replications.at[i],
              seed, "request", i);
    }
    check(a->samples.count == b->samples.count, seed, "samples", a->samples.count);
    for (size_t i = 0; i < a->samples.count; i++) {
        check(rows_same_sample(&a->samples.at[i], &b->samples.at[i]) &&
                  a->sample_replications.at[i] == b->sample_replications.at[i],
              seed, "sample", i);
    }
}

static void run(const struct serve_config *config, unsigned jobs, enum serve_mode mode,
                struct record_run *out)
{
    struct study_options options = {.jobs = jobs, .mode = mode};
    struct kvsim_error err = {0};
    record_run_init(out);
    enum kvsim_status status = study_run(config, &options, out, &err);
    ck_assert_msg(status == KVSIM_OK, "%s", err.message);
}

static void check_study(const struct serve_config *config, uint64_t seed)
{
    struct record_run alone, together, stepped;
    run(config, 1, SERVE_JUMP, &alone);
    run(config, 4, SERVE_JUMP, &together);
    run(config, 2, SERVE_STEP, &stepped);
    struct record_run *others[] = {&together, &stepped};
    for (size_t i = 0; i < 2; i++) {
        compare_summary(&alone, others[i], seed);
        compare_metrics(&alone, others[i], seed);
        compare_tables(&alone, others[i], seed);
        compare_rows(&alone, others[i], seed);
    }
    // There was something to compare.
    ck_assert_uint_gt(alone.metrics.count, 40);
    ck_assert_uint_gt(alone.requests.count, 0);
    ck_assert_uint_gt(alone.ledger.count, 10);
    record_run_free(&alone);
    record_run_free(&together);
    record_run_free(&stepped);
}

START_TEST(threads_and_modes_change_nothing)
{
    for (uint64_t seed = 501; seed <= 508; seed++) {
        struct random_service random;
        random_service_init(&random, seed);
        struct serve_config *config = &random.service.config;
        config->replications = REPLICATIONS;
        config->record_requests = seed % 2 == 0 ? UINT64_MAX : ROWS_PER_REPLICATION;
        config->record_sample_ns = -1;
        check_study(config, seed);
        random_service_release(&random);
    }
}
END_TEST

// A run that ends early ends at the same request in every way, and says what it left.
START_TEST(overload_ends_alike)
{
    struct service service;
    service_init(&service);
    struct serve_config *config = &service.config;
    service_set_fixed_step(&service, 10000000, 4);
    struct rng_dist_options output = {.kind = RNG_GEOMETRIC, .has_mean = true, .mean = 20};
    config->workload.classes[0].output = service_dist(&service, &output, true);
    service_set_poisson(&service, 30, 20000); // capacity 20/s
    config->replications = 3;
    config->stop_when_overloaded = true;
    config->record_requests = 1000;
    check_study(config, 0);
    struct record_run out;
    run(config, 2, SERVE_JUMP, &out);
    ck_assert_str_eq(record_get_text(&out, RECORD_STATUS), "overloaded");
    ck_assert_str_eq(record_get_text(&out, RECORD_STABILITY), "overloaded");
    double arrived = record_get_real(&out, RECORD_REQUESTS);
    ck_assert_double_lt(arrived, 20000);
    ck_assert_double_lt(
        record_get_real(&out, RECORD_COMPLETED) + record_get_real(&out, RECORD_FAILED), arrived);
    record_run_free(&out);
    service_release(&service);
}
END_TEST

CHECK_MAIN("study jobs", threads_and_modes_change_nothing, overload_ends_alike)
