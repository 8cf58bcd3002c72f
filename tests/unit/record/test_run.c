#include "support/unit.h"

#include "record/run.h"

#include <math.h>
#include <string.h>

START_TEST(columns_are_named_once)
{
    for (int i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        const struct record_column *column = &record_summary_columns[i];
        ck_assert_uint_gt(strlen(column->name), 0);
        ck_assert_int_ne(column->kind, RECORD_NULL);
        ck_assert_int_eq(record_summary_find(column->name), i);
    }
    ck_assert_int_eq(record_summary_find("ttft_p99_ms"), RECORD_TTFT_P99);
    ck_assert_int_eq(record_summary_find("created_at"), RECORD_SUMMARY_COUNT);
    ck_assert_int_eq(record_summary_find(""), RECORD_SUMMARY_COUNT);
    ck_assert_str_eq(record_summary_columns[RECORD_QUEUE_P50].unit, "ms");
}
END_TEST

START_TEST(columns_of_one_metric_lie_in_the_order_of_statistics)
{
    static const int means[] = {RECORD_TTFT_MEAN, RECORD_TPOT_MEAN, RECORD_ITL_MEAN,
                                RECORD_E2E_MEAN, RECORD_QUEUE_MEAN};
    static const char *const statistics[] = {"mean", "p50", "p90", "p95", "p99"};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        char first[64], name[64];
        record_summary_metric((enum record_summary)means[i], first, sizeof first);
        for (int s = 0; s < 5; s++) {
            enum record_summary column = (enum record_summary)(means[i] + s);
            ck_assert_str_eq(record_summary_metric(column, name, sizeof name), statistics[s]);
            ck_assert_str_eq(name, first);
        }
    }
}
END_TEST

START_TEST(a_metric_has_the_columns_name_without_statistic_and_unit)
{
    static const struct {
        enum record_summary column;
        const char *name, *statistic;
    } rows[] = {{RECORD_TTFT_P99, "ttft", "p99"},
                {RECORD_QUEUE_MEAN, "queue", "mean"},
                {RECORD_KV_ALLOCATED_BYTES_PEAK, "kv_allocated", "peak"},
                {RECORD_KV_USAGE_MEAN, "kv_usage", "mean"},
                {RECORD_USED_BLOCKS_PEAK, "used_blocks", "peak"},
                {RECORD_DURATION_S, "duration", "value"},
                {RECORD_KV_POOL_BYTES, "kv_pool_bytes", "value"},
                {RECORD_KV_POOL_TOKENS, "kv_pool_tokens", "value"},
                {RECORD_REQUEST_THROUGHPUT, "request_throughput", "value"},
                {RECORD_ENERGY_PER_OUTPUT_TOKEN_J, "energy_per_output_token", "value"},
                {RECORD_PREEMPTIONS, "preemptions", "value"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        ck_assert_str_eq(record_summary_metric(rows[i].column, name, sizeof name),
                         rows[i].statistic);
        ck_assert_str_eq(name, rows[i].name);
    }
}
END_TEST

START_TEST(metric_names_do_not_clash)
{
    for (int i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        char name[64], other[64];
        const char *statistic = record_summary_metric((enum record_summary)i, name, sizeof name);
        for (int k = 0; k < i; k++) {
            const char *another =
                record_summary_metric((enum record_summary)k, other, sizeof other);
            ck_assert(strcmp(name, other) != 0 || strcmp(statistic, another) != 0);
        }
    }
}
END_TEST

START_TEST(values_are_set_and_read)
{
    struct record_run run;
    record_run_init(&run);
    char text[] = "chat";
    record_set_text(&run, RECORD_SCENARIO, text);
    text[0] = 'X';
    record_set_integer(&run, RECORD_GPUS, 8);
    record_set_real(&run, RECORD_TTFT_MEAN, 1.5);
    record_set_real(&run, RECORD_PREFIX_HIT_RATE, NAN);
    ck_assert_str_eq(record_get_text(&run, RECORD_SCENARIO), "chat");
    ck_assert_str_eq(record_get_text(&run, RECORD_MODEL), "");
    ck_assert_double_eq(record_get_real(&run, RECORD_GPUS), 8);
    ck_assert_double_eq(record_get_real(&run, RECORD_TTFT_MEAN), 1.5);
    ck_assert_int_eq(run.summary[RECORD_PREFIX_HIT_RATE].kind, RECORD_NULL);
    ck_assert(isnan(record_get_real(&run, RECORD_PREFIX_HIT_RATE)));
    ck_assert(isnan(record_get_real(&run, RECORD_SCENARIO)));
    record_set_text(&run, RECORD_SCENARIO, NULL);
    ck_assert_int_eq(run.summary[RECORD_SCENARIO].kind, RECORD_NULL);
    record_run_free(&run);
}
END_TEST

START_TEST(metrics_are_found_by_all_three_names)
{
    struct record_run run;
    record_run_init(&run);
    struct record_metric row = {.name = "ttft", .statistic = "p99", .class_name = "gold"};
    base_vec_push(&run.metrics, row);
    row.class_name = "";
    row.value = 7;
    base_vec_push(&run.metrics, row);
    ck_assert_ptr_eq(record_run_metric(&run, "ttft", "p99", ""), &run.metrics.at[1]);
    ck_assert_ptr_eq(record_run_metric(&run, "ttft", "p99", "gold"), &run.metrics.at[0]);
    ck_assert_ptr_null(record_run_metric(&run, "ttft", "p95", ""));
    ck_assert_ptr_null(record_run_metric(&run, "tpot", "p99", ""));
    record_run_free(&run);
}
END_TEST

START_TEST(the_memory_sink_keeps_what_was_asked_for)
{
    struct record_run run;
    record_run_init(&run);
    struct record_memory memory;
    record_memory_init(&memory, &run, 3);
    memory.sink.request_limit = 2;
    char id[] = "a", class_name[] = "gold";
    struct record_request request = {.id = id, .class_name = class_name};
    struct record_sample sample = {.t_ns = 5};
    struct record_step step = {.step = 1};
    for (int i = 0; i < 4; i++, id[0]++) {
        request.index = (uint64_t)i;
        memory.sink.ops->on_request(&memory.sink, &request);
        memory.sink.ops->on_step(&memory.sink, &step);
    }
    memory.sink.ops->on_sample(&memory.sink, &sample);
    class_name[0] = 'X';

    ck_assert_uint_eq(memory.request_count, 4);
    ck_assert_uint_eq(run.requests.count, 2);
    ck_assert_uint_eq(run.request_replications.count, 2);
    ck_assert_uint_eq(run.request_replications.at[1], 3);
    ck_assert_str_eq(run.requests.at[0].id, "a");
    ck_assert_str_eq(run.requests.at[1].id, "b");
    ck_assert_str_eq(run.requests.at[1].class_name, "gold");
    ck_assert_uint_eq(run.samples.count, 1);
    ck_assert_int_eq(run.samples.at[0].t_ns, 5);
    ck_assert_uint_eq(run.sample_replications.at[0], 3);
    record_run_free(&run);
}
END_TEST

START_TEST(a_caveat_is_said_once)
{
    struct record_run run;
    record_run_init(&run);
    record_run_add_caveat(&run, "a", "one");
    record_run_add_caveat(&run, "a", "one");
    record_run_add_caveat(&run, "a", "two");
    ck_assert_uint_eq(run.caveats.count, 2);
    ck_assert_str_eq(run.caveats.at[1].text, "two");
    record_run_free(&run);
}
END_TEST

int main(void)
{
    return unit_run(
        "record.run",
        (const TTest *const[]){
            columns_are_named_once, columns_of_one_metric_lie_in_the_order_of_statistics,
            a_metric_has_the_columns_name_without_statistic_and_unit, metric_names_do_not_clash,
            values_are_set_and_read, metrics_are_found_by_all_three_names,
            the_memory_sink_keeps_what_was_asked_for, a_caveat_is_said_once, NULL});
}
