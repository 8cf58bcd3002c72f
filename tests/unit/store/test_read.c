#include "support/made_run.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/store.h"

#include <math.h>
#include <string.h>

static struct kvsim_error err;

static void must_equal(const struct record_value *a, const struct record_value *b, const char *name)
{
    ck_assert_msg(a->kind == b->kind, "%s", name);
    if (a->kind == RECORD_TEXT)
        ck_assert_str_eq(a->text, b->text);
    if (a->kind == RECORD_INTEGER)
        ck_assert_int_eq(a->integer, b->integer);
    if (a->kind == RECORD_REAL) // to the last bit
        ck_assert_mem_eq(&a->real, &b->real, sizeof a->real);
}

static void metrics_must_equal(const struct record_run *a, const struct record_run *b)
{
    ck_assert_uint_eq(a->metrics.count, b->metrics.count);
    for (size_t i = 0; i < a->metrics.count; i++) {
        const struct record_metric *x = &a->metrics.at[i], *y = &b->metrics.at[i];
        ck_assert_str_eq(x->name, y->name);
        ck_assert_str_eq(x->statistic, y->statistic);
        ck_assert_str_eq(x->class_name, y->class_name);
        ck_assert_str_eq(x->unit, y->unit);
        ck_assert_str_eq(x->method, y->method);
        ck_assert_str_eq(x->claim, y->claim);
        ck_assert_str_eq(x->basis, y->basis);
        ck_assert_double_eq(x->value, y->value);
        ck_assert_int_eq(isnan(x->ci_low), isnan(y->ci_low));
        if (!isnan(x->ci_high))
            ck_assert_double_eq(x->ci_high, y->ci_high);
        ck_assert_int_eq(x->n, y->n);
    }
    ck_assert_uint_eq(a->metrics_by.count, b->metrics_by.count);
    ck_assert_str_eq(a->metrics_by.at[0].class_name, b->metrics_by.at[0].class_name);
    ck_assert_uint_eq(a->replication_metrics.count, b->replication_metrics.count);
    ck_assert_uint_eq(b->replication_metrics.at[1].replication, 2);
    ck_assert_double_eq(a->replication_metrics.at[1].value, b->replication_metrics.at[1].value);
}

static void lists_must_equal(const struct record_run *a, const struct record_run *b)
{
    ck_assert_uint_eq(a->ledger.count, b->ledger.count);
    for (size_t i = 0; i < a->ledger.count; i++) {
        ck_assert_str_eq(a->ledger.at[i].component, b->ledger.at[i].component);
        ck_assert_str_eq(a->ledger.at[i].at, b->ledger.at[i].at);
        ck_assert_int_eq(a->ledger.at[i].bytes, b->ledger.at[i].bytes);
        ck_assert_int_eq(a->ledger.at[i].tokens, b->ledger.at[i].tokens);
    }
    ck_assert_uint_eq(a->waterfall.count, b->waterfall.count);
    ck_assert_str_eq(a->waterfall.at[8].line, b->waterfall.at[8].line);
    ck_assert_int_eq(a->waterfall.at[8].bytes_per_gpu, b->waterfall.at[8].bytes_per_gpu);
    ck_assert_str_eq(a->waterfall.at[8].source, b->waterfall.at[8].source);
    ck_assert_uint_eq(a->limits.count, b->limits.count);
    ck_assert_str_eq(a->limits.at[1].name, b->limits.at[1].name);
    ck_assert_double_eq(a->limits.at[2].share, b->limits.at[2].share);
    ck_assert_uint_eq(a->tails.count, b->tails.count);
    ck_assert_double_eq(a->tails.at[1].ms, b->tails.at[1].ms);
    ck_assert_uint_eq(a->caveats.count, b->caveats.count);
    ck_assert_str_eq(a->caveats.at[0].text, b->caveats.at[0].text);
    ck_assert_uint_eq(a->params.count, b->params.count);
    ck_assert_str_eq(a->params.at[1].key, b->params.at[1].key);
    ck_assert_uint_eq(a->slo_lines.count, b->slo_lines.count);
    ck_assert_str_eq(a->slo_lines.at[1], b->slo_lines.at[1]);
}

START_TEST(a_run_comes_back_as_it_was)
{
    scratch_enter();
    struct record_run run, again;
    struct store *store;
    made_run_init(&run, 3);
    record_run_init(&again);
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
    store_close(store);
    ck_assert_int_eq(store_open("x.db", STORE_READ, &store, &err), KVSIM_OK);
    ck_assert_msg(store_load_run(store, 1, &again, &err) == KVSIM_OK, "%s", err.message);
    store_close(store);

    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        must_equal(&run.summary[i], &again.summary[i], record_summary_columns[i].name);
    ck_assert_int_eq(again.run_id, 1);
    ck_assert_str_eq(again.created_at, run.created_at);
    ck_assert_str_eq(again.host, run.host);
    ck_assert_double_eq(again.wall_s, run.wall_s);
    ck_assert_int_eq(again.jobs, run.jobs);
    ck_assert_str_eq(again.scenario_yaml, run.scenario_yaml);
    metrics_must_equal(&run, &again);
    lists_must_equal(&run, &again);
    record_run_free(&run);
    record_run_free(&again);
    scratch_leave();
}
END_TEST

START_TEST(requests_and_samples_come_back_in_the_order_of_their_keys)
{
    scratch_enter();
    struct record_run run, again;
    struct store *store;
    made_run_init(&run, 0);
    record_run_init(&again);
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
    ck_assert_int_eq(store_load_run(store, 1, &again, &err), KVSIM_OK);
    store_close(store);

    ck_assert_uint_eq(again.requests.count, 3);
    ck_assert_uint_eq(again.request_replications.at[2], 1);
    for (size_t i = 0; i < 3; i++) {
        const struct record_request *before = &run.requests.at[2 - i];
        const struct record_request *after = &again.requests.at[i];
        ck_assert_uint_eq(after->index, i);
        ck_assert_str_eq(after->id, before->id);
        ck_assert_str_eq(after->class_name, before->class_name);
        ck_assert_int_eq(after->arrival_ns, before->arrival_ns);
        ck_assert_int_eq(after->ttft_ns, before->ttft_ns);
        ck_assert_int_eq(after->tpot_ns, -1);
        ck_assert_int_eq(after->outcome, before->outcome);
        ck_assert_int_eq(after->finish_reason, before->finish_reason);
        ck_assert_int_eq(after->is_counted, before->is_counted);
        ck_assert_int_eq(after->is_good, before->is_good);
        ck_assert_mem_eq(after->cause_ns, before->cause_ns, sizeof after->cause_ns);
    }
    ck_assert_uint_eq(again.samples.count, 3);
    ck_assert_double_eq(again.samples.at[2].kv_usage, run.samples.at[2].kv_usage);
    ck_assert_mem_eq(again.samples.at[1].ledger_bytes, run.samples.at[1].ledger_bytes,
                     sizeof run.samples.at[1].ledger_bytes);
    record_run_free(&run);
    record_run_free(&again);
    scratch_leave();
}
END_TEST

START_TEST(a_run_that_is_not_there)
{
    scratch_enter();
    struct record_run run;
    struct store *store;
    made_run_init(&run, 0);
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_load_run(store, 1, &run, &err), KVSIM_ERR_IO);
    ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
    record_run_free(&run);
    record_run_init(&run);
    ck_assert_int_eq(store_load_run(store, 2, &run, &err), KVSIM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "no run 2"));
    record_run_free(&run);
    store_close(store);
    scratch_leave();
}
END_TEST

START_TEST(a_damaged_database_is_told)
{
    scratch_enter();
    struct record_run run;
    struct store *store;
    made_run_init(&run, 0);
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
    store_close(store);
    // Everything after the header is overwritten.
    size_t bytes;
    char *content = scratch_read("x.db", &bytes);
    memset(content + 100, 0xA5, bytes - 100);
    scratch_write("x.db", content, bytes);
    free(content);
    record_run_free(&run);
    record_run_init(&run);
    ck_assert_int_eq(store_open("x.db", STORE_READ, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_load_run(store, 1, &run, &err), KVSIM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "damaged"));
    store_close(store);
    record_run_free(&run);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("store.read", (const TTest *const[]){
                                      a_run_comes_back_as_it_was,
                                      requests_and_samples_come_back_in_the_order_of_their_keys,
                                      a_run_that_is_not_there, a_damaged_database_is_told, NULL});
}
