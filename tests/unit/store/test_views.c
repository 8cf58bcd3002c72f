/*
 * The views as users meet them: through the sqlite3 program. Skipped where it isn't installed.
 */
#include "support/made_run.h"
#include "support/made_validation.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/comparison.h"
#include "store/store.h"
#include "store/sweep.h"
#include "store/validation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

static struct kvsim_error err;

static void write_runs(const char *path, int count)
{
    struct store *store;
    ck_assert_int_eq(store_open(path, STORE_WRITE, &store, &err), KVSIM_OK);
    for (int i = 0; i < count; i++) {
        struct record_run run;
        made_run_init(&run, i);
        run.wall_s = (double)strlen(path) + i; // what depends on the moment must not matter
        run.host = path;
        ck_assert_msg(store_write_run(store, &run, &err) == KVSIM_OK, "%s", err.message);
        record_run_free(&run);
    }
    store_close(store);
}

/* The answer of `sqlite3 x.db SQL` without its last newline, in a static buffer. */
static const char *ask(const char *sql)
{
    static char answer[65536];
    char command[4096];
    int code;
    snprintf(command, sizeof command, "sqlite3 -bail x.db \"%s\" 2>&1", sql);
    char *text = scratch_run(command, &code);
    ck_assert_msg(code == 0, "%s: %s", sql, text);
    snprintf(answer, sizeof answer, "%s", text);
    size_t length = strlen(answer);
    if (length > 0 && answer[length - 1] == '\n')
        answer[length - 1] = '\0';
    free(text);
    return answer;
}

START_TEST(the_readme_query_answers)
{
    scratch_enter();
    write_runs("x.db", 1);
    ck_assert_str_eq(ask("SELECT ttft_p99_ms, round(kv_usage_peak, 1), binding_limit FROM "
                         "run_summary"),
                     "1320.0625|83.6|weight_bandwidth");
    ck_assert_str_eq(ask("SELECT run_id, created_at, status, slo_met, prefix_hit_rate IS NULL FROM "
                         "run_summary"),
                     "1|2026-01-02T03:04:05Z|done|1|1");
    scratch_leave();
}
END_TEST

START_TEST(views_have_the_columns_that_others_rely_on)
{
    scratch_enter();
    write_runs("x.db", 1);
    static const char *const selects[] = {
        "SELECT run_id, created_at, status, kvsim_version, scenario, scenario_hash, model, "
        "hardware, engine, gpus, tensor_parallel_size, pipeline_parallel_size, "
        "data_parallel_size, replicas, kv_cache_dtype, block_size, seed, replications, requests, "
        "completed, failed, request_throughput, output_throughput, total_token_throughput, "
        "request_goodput, slo_met, kv_pool_tokens, kv_pool_bytes, kv_lower_bound_bytes_mean, "
        "kv_lower_bound_bytes_peak, kv_allocated_bytes_mean, kv_allocated_bytes_peak, "
        "kv_usage_mean, kv_usage_peak, preemptions, recomputed_tokens, swapped_bytes, "
        "prefix_hit_rate, running_mean, waiting_mean, binding_limit, stability, "
        "usd_per_mtok_output, wall_s FROM run_summary",
        "SELECT duration_s, steps, prompt_tokens, output_tokens, prompt_throughput, offered_rate, "
        "in_flight_mean, running_peak, waiting_peak, busy_fraction, prefill_time_fraction, "
        "slo_attainment, output_throughput_per_gpu, output_throughput_per_user, "
        "usd_per_mtok_input, usd_per_mtok_total, energy_per_output_token_j, rejected, unservable, "
        "timed_out, aborted, computed_tokens, evicted_blocks, lookup_tokens, used_blocks_peak, "
        "cost_level FROM run_summary",
        "SELECT ttft_mean_ms, ttft_p50_ms, tpot_p90_ms, itl_p95_ms, e2e_p99_ms, queue_p99_ms FROM "
        "run_summary",
        "SELECT run_id, name, statistic, class, unit, value, ci_low, ci_high, n, method, claim, "
        "basis FROM run_metric",
        "SELECT run_id, dimension, group_name, name, statistic, unit, value, ci_low, ci_high, n "
        "FROM run_metric_by",
        "SELECT run_id, replication, name, statistic, class, value, n FROM replication_metric",
        "SELECT run_id, replica, at, component, bytes, tokens, claim FROM run_ledger",
        "SELECT run_id, line, bytes_per_gpu, claim, source FROM run_waterfall",
        "SELECT run_id, kind, phase, name, share FROM run_limit",
        "SELECT run_id, tier, hit_tokens, queried_tokens, hit_rate, bytes_in, bytes_out, "
        "link_busy, "
        "evicted FROM run_tier",
        "SELECT run_id, metric, cause, share, ms FROM run_tail",
        "SELECT run_id, code, text FROM run_caveat",
        "SELECT run_id, key, value, unit, origin, claim, source FROM run_param",
        "SELECT run_id, replication, request_id, class, replica, arrival_ms, prompt_tokens, "
        "output_tokens, cached_tokens, cached_tokens_total, computed_tokens, recomputed_tokens, "
        "queue_ms, ttft_ms, tpot_ms, e2e_ms, preemptions, outcome, finish_reason, "
        "wait_kv_pool_ms, wait_seats_ms, prefill_ms, decode_host_ms FROM request_detail",
        "SELECT run_id, replication, replica, t_ms, running, waiting, kv_usage, "
        "prompt_throughput, output_throughput, lower_bound, block_rounding, out_of_window, "
        "reserved, replicated, padded, scales, shared, cached, fragmented, held_back, free, pool, "
        "allocated FROM timeline",
    };
    for (size_t i = 0; i < sizeof selects / sizeof *selects; i++)
        ck_assert_msg(ask(selects[i])[0] != '\0', "no row: %s", selects[i]);
    scratch_leave();
}
END_TEST

START_TEST(times_are_ms_and_ns_stay_below)
{
    scratch_enter();
    write_runs("x.db", 1);
    ck_assert_str_eq(ask("SELECT request_id, arrival_ms, queue_ms, ttft_ms, tpot_ms IS NULL, "
                         "e2e_ms, wait_step_ms, prefill_ms, outcome, finish_reason FROM "
                         "request_detail WHERE request_id = 'b'"),
                     "b|1.5|0.25|20.0|1|20.0|0.25|19.75|completed|length");
    ck_assert_str_eq(ask("SELECT group_concat(request_id, '') FROM request_detail"), "abc");
    ck_assert_str_eq(ask("SELECT t_ms, kv_usage, lower_bound, allocated, free, pool FROM timeline "
                         "WHERE running = 5"),
                     "2000.0|0.5|2097152|2097152|207618048|209715200");
    scratch_leave();
}
END_TEST

START_TEST(metrics_by_dimension)
{
    scratch_enter();
    write_runs("x.db", 1);
    ck_assert_str_eq(ask("SELECT group_concat(dimension || '=' || group_name, ';') FROM "
                         "run_metric_by"),
                     "replica=0;class=gold, \"fast\"");
    ck_assert_str_eq(ask("SELECT count(*) FROM run_metric WHERE ci_low IS NULL AND ci_high IS "
                         "NULL"),
                     "1");
    scratch_leave();
}
END_TEST

START_TEST(the_ledger_adds_up_in_sql)
{
    scratch_enter();
    write_runs("x.db", 2);
    ck_assert_str_eq(ask("SELECT count(*), sum(lines = pool) FROM (SELECT "
                         "sum(CASE component WHEN 'pool' THEN 0 WHEN 'shared' THEN -bytes ELSE "
                         "bytes END) AS lines, max(CASE component WHEN 'pool' THEN bytes END) AS "
                         "pool FROM run_ledger GROUP BY run_id, replica, at)"),
                     "4|4");
    scratch_leave();
}
END_TEST

START_TEST(equal_runs_give_equal_dumps_without_run_host)
{
    scratch_enter();
    write_runs("x.db", 2);
    write_runs("other/y.db", 2);
    int code;
    char *first = scratch_run("sqlite3 x.db .dump | grep -v '^INSERT INTO run_host'", &code);
    ck_assert_int_eq(code, 0);
    char *second = scratch_run("sqlite3 other/y.db .dump | grep -v '^INSERT INTO run_host'", &code);
    ck_assert_int_eq(code, 0);
    ck_assert(strcmp(first, second) == 0);
    ck_assert_ptr_nonnull(strstr(first, "INSERT INTO request VALUES(2,1,2,"));
    ck_assert_ptr_null(strstr(first, "x.db"));
    ck_assert_ptr_null(strstr(first, "2026-01-02"));
    free(first);
    free(second);
    scratch_leave();
}
END_TEST

/* Both runs as the points of a sweep and the sides of a comparison. */
static void write_studies(const char *path)
{
    struct store *store;
    struct record_sweep sweep;
    struct record_comparison comparison;
    struct store_decision decisions[2];
    ck_assert_int_eq(store_open(path, STORE_WRITE, &store, &err), KVSIM_OK);
    record_sweep_init(&sweep);
    strcpy(sweep.sweep_id, "s0123456789ab");
    sweep.axis_count = 2;
    sweep.axes[0] = "concurrency";
    sweep.axes[1] = "context";
    record_sweep_make_points(&sweep, 2);
    for (size_t i = 0; i < 2; i++) {
        sweep.points[i].values[0] = i == 0 ? "1" : "2";
        sweep.points[i].values[1] = "1024";
        sweep.points[i].status = RECORD_POINT_OK;
        sweep.points[i].run_id = (int64_t)i + 1;
        decisions[i] = (struct store_decision){.point = &sweep.points[i]};
    }
    ck_assert_msg(store_write_points(store, &sweep, decisions, 2, &err) == KVSIM_OK, "%s",
                  err.message);
    record_comparison_init(&comparison);
    comparison.a.run_id = 1;
    comparison.b.run_id = 2;
    struct record_difference row = {.name = "ttft",
                                    .statistic = "p99",
                                    .class_name = "",
                                    .unit = "ms",
                                    .ratio = 2,
                                    .method = "paired_t",
                                    .verdict = RECORD_WORSE};
    base_vec_push(&comparison.figures, row);
    ck_assert_int_eq(store_write_comparison(store, &comparison, &err), KVSIM_OK);
    record_comparison_free(&comparison);
    record_sweep_free(&sweep);
    struct record_validation validation;
    int64_t id;
    made_validation_init(&validation, 0.2);
    ck_assert_int_eq(store_write_validation(store, &validation, "1", &id, &err), KVSIM_OK);
    record_validation_free(&validation);
    store_close(store);
}

START_TEST(every_ready_question_is_answered)
{
    scratch_enter();
    write_runs("x.db", 2);
    write_studies("x.db");
    int code;
    char *names = scratch_run("cd '" KVSIM_TEST_DATA "/results/queries' && ls *.sql", &code);
    ck_assert_int_eq(code, 0);
    int count = 0;
    for (char *name = strtok(names, "\n"); name != NULL; name = strtok(NULL, "\n"), count++) {
        char command[4096];
        snprintf(command, sizeof command,
                 "sqlite3 x.db < '" KVSIM_TEST_DATA "/results/queries/%s' 2>&1", name);
        char *text = scratch_run(command, &code);
        ck_assert_msg(code == 0 && strstr(text, "Error") == NULL && strstr(text, " error") == NULL,
                      "%s: %s", name, text);
        // A header, a rule, and at least one row; `changed` has none where nothing changed.
        size_t lines = 0;
        for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
            lines++;
        ck_assert_msg(lines >= 3 || strcmp(name, "changed.sql") == 0, "%s: %s", name, text);
        free(text);
    }
    ck_assert_int_ge(count, 8);
    free(names);
    scratch_leave();
}
END_TEST

int main(void)
{
    if (system("command -v sqlite3 >/dev/null 2>&1") != 0) {
        puts("the sqlite3 program is not installed");
        return SKIPPED;
    }
    return unit_run("store.views",
                    (const TTest *const[]){
                        the_readme_query_answers, views_have_the_columns_that_others_rely_on,
                        times_are_ms_and_ns_stay_below, metrics_by_dimension,
                        the_ledger_adds_up_in_sql, equal_runs_give_equal_dumps_without_run_host,
                        every_ready_question_is_answered, NULL});
}
