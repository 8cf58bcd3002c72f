/* Samples averaged into spans. */
#include "support/unit.h"

#include "report/timeline.h"

static struct record_run run;
static struct base_arena arena;

static void setup(void)
{
    record_run_init(&run);
    base_arena_init(&arena);
}

static void teardown(void)
{
    record_run_free(&run);
    base_arena_release(&arena);
}

static void add(uint32_t replication, uint32_t replica, int64_t t_s, int64_t running)
{
    struct record_sample row = {
        .replica = replica, .t_ns = t_s * 1000000000, .running = running, .waiting = 2 * running};
    row.ledger_bytes[0] = 10 * running;
    row.ledger_bytes[RECORD_LEDGER_POOL] = 1000;
    record_run_add_sample(&run, replication, &row);
}

START_TEST(nothing)
{
    struct report_timeline timeline;
    setup();
    report_timeline_read(&run, 10, &arena, &timeline);
    ck_assert_uint_eq(timeline.count, 0);
    ck_assert_uint_eq(timeline.samples, 0);
    teardown();
}
END_TEST

START_TEST(spans_are_means)
{
    struct report_timeline timeline;
    setup();
    for (int i = 0; i <= 9; i++)
        add(1, 0, i, i);
    add(2, 0, 500, 500); // of another replication
    report_timeline_read(&run, 2, &arena, &timeline);
    ck_assert_uint_eq(timeline.count, 2);
    ck_assert_uint_eq(timeline.samples, 10);
    // 0 ... 4 and 5 ... 9: a span ends where the next begins, at 4.5 s.
    ck_assert_double_eq_tol(timeline.at[0].running, 2.0, 1e-12);
    ck_assert_double_eq_tol(timeline.at[1].running, 7.0, 1e-12);
    ck_assert_double_eq_tol(timeline.at[1].waiting, 14.0, 1e-12);
    ck_assert_double_eq_tol(timeline.at[1].ledger_bytes[0], 70.0, 1e-12);
    ck_assert_double_eq_tol(timeline.at[0].t_s, 2.25, 1e-12);
    ck_assert_double_eq_tol(timeline.pool_bytes, 1000.0, 1e-9);
    teardown();
}
END_TEST

START_TEST(replicas_are_summed_and_keep_their_value)
{
    struct report_timeline timeline;
    setup();
    for (int i = 0; i <= 3; i++)
        add(1, 0, i, 1);
    add(1, 1, 0, 10); // silent from here on
    report_timeline_read(&run, 4, &arena, &timeline);
    ck_assert_uint_eq(timeline.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(timeline.at[i].running, 11.0, 1e-12);
    ck_assert_double_eq_tol(timeline.pool_bytes, 2000.0, 1e-9);
    teardown();
}
END_TEST

START_TEST(one_instant)
{
    struct report_timeline timeline;
    setup();
    add(1, 0, 5, 3);
    report_timeline_read(&run, 4, &arena, &timeline);
    ck_assert_uint_eq(timeline.count, 1);
    ck_assert_double_eq_tol(timeline.at[0].running, 3.0, 1e-12);
    teardown();
}
END_TEST

int main(void)
{
    return unit_run("report.timeline",
                    (const TTest *const[]){nothing, spans_are_means,
                                           replicas_are_summed_and_keep_their_value, one_instant,
                                           NULL});
}
