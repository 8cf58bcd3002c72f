#include "support/made_run.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/comparison.h"
#include "store/sweep.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

static struct kvsim_error err;

static struct store *open_store(const char *path, enum store_mode mode)
{
    struct store *store;
    ck_assert_msg(store_open(path, mode, &store, &err) == KVSIM_OK, "%s", err.message);
    return store;
}

static int64_t query(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return value;
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* Two axes, four points. */
static void make_sweep(struct record_sweep *sweep)
{
    static const char *const values[][2] = {
        {"1", "fp8"}, {"1", "auto"}, {"2", "fp8"}, {"2", "auto"}};
    record_sweep_init(sweep);
    strcpy(sweep->sweep_id, "s0123456789ab");
    sweep->scenario = "made";
    sweep->kvsim_version = "9";
    sweep->axis_count = 2;
    sweep->axes[0] = "concurrency";
    sweep->axes[1] = "engine.kv_cache_dtype";
    record_sweep_make_points(sweep, 4);
    for (size_t i = 0; i < 4; i++) {
        strcpy(sweep->points[i].hash, "hash");
        for (size_t k = 0; k < 2; k++)
            sweep->points[i].values[k] = values[i][k];
    }
}

static void write_ok(struct store *store, const struct record_sweep *sweep,
                     struct store_decision *decisions, size_t count)
{
    ck_assert_msg(store_write_points(store, sweep, decisions, count, &err) == KVSIM_OK, "%s",
                  err.message);
}

START_TEST(points_come_back_as_they_went)
{
    struct record_sweep sweep, back;
    struct record_run run;
    bool found;
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    make_sweep(&sweep);
    made_run_init(&run, 0);
    sweep.points[0].status = RECORD_POINT_OK;
    sweep.points[1].status = RECORD_POINT_SLO_MISSED;
    sweep.points[2].status = RECORD_POINT_REFUSED;
    sweep.points[2].reason = "cannot start: it's too big";
    struct store_decision decisions[] = {{.point = &sweep.points[0], .run = &run},
                                         {.point = &sweep.points[1], .same_as = &sweep.points[0]},
                                         {.point = &sweep.points[2]}};
    write_ok(store, &sweep, decisions, 3);
    ck_assert_int_eq(sweep.points[0].run_id, 1);
    ck_assert_int_eq(sweep.points[1].run_id, 1);
    ck_assert_int_eq(sweep.points[2].run_id, 0);

    record_sweep_init(&back);
    ck_assert_int_eq(store_load_sweep(store, sweep.sweep_id, &back, &found, &err), KVSIM_OK);
    ck_assert(found);
    ck_assert_uint_eq(back.point_count, 3);
    ck_assert_uint_eq(back.total_count, 4);
    ck_assert_uint_eq(back.axis_count, 2);
    ck_assert_str_eq(back.axes[1], "engine.kv_cache_dtype");
    ck_assert_str_eq(back.points[1].values[1], "auto");
    ck_assert_str_eq(back.points[2].reason, "cannot start: it's too big");
    ck_assert_int_eq(back.points[2].status, RECORD_POINT_REFUSED);
    ck_assert_double_eq(record_point_real(&back.points[0], RECORD_TTFT_P99),
                        record_get_real(&run, RECORD_TTFT_P99));
    ck_assert_str_eq(record_point_text(&back.points[0], RECORD_MODEL),
                     record_get_text(&run, RECORD_MODEL));
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sweep_grid WHERE value_1 = 1"), 2);
    ck_assert_int_eq(
        query("x.db", "SELECT count(*) FROM sweep_grid WHERE run_id IS NULL AND model IS NULL"), 1);
    ck_assert_int_eq(
        query("x.db", "SELECT count(*) FROM sweep_grid WHERE axis_3 IS NULL AND value_3 IS NULL"),
        3);
    record_run_free(&run);
    record_sweep_free(&sweep);
    record_sweep_free(&back);
    scratch_leave();
}
END_TEST

START_TEST(a_failed_point_gives_way_to_an_answer)
{
    struct record_sweep sweep;
    struct record_run run;
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    make_sweep(&sweep);
    made_run_init(&run, 1);
    sweep.points[3].status = RECORD_POINT_FAILED;
    sweep.points[3].reason = "the trace broke off";
    struct store_decision decision = {.point = &sweep.points[3]};
    write_ok(store, &sweep, &decision, 1);
    sweep.points[3].status = RECORD_POINT_OK;
    sweep.points[3].reason = "";
    decision.run = &run;
    write_ok(store, &sweep, &decision, 1);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sweep_grid"), 1);
    ck_assert_int_eq(query("x.db", "SELECT status = 'ok' AND run_id = 1 FROM sweep_grid"), 1);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sweep"), 1);
    record_run_free(&run);
    record_sweep_free(&sweep);
    scratch_leave();
}
END_TEST

/* Two programs that decide the same point, each with a handle of its own that was opened before either wrote. */
START_TEST(what_another_has_stored_is_not_stored_again)
{
    struct record_sweep sweep, mine;
    struct record_run run, again;
    scratch_enter();
    struct store *other = open_store("x.db", STORE_WRITE), *store = open_store("x.db", STORE_WRITE);
    make_sweep(&sweep);
    make_sweep(&mine);
    made_run_init(&run, 0);
    made_run_init(&again, 0);
    sweep.points[0].status = mine.points[0].status = RECORD_POINT_OK;
    mine.points[2].status = RECORD_POINT_FAILED;
    mine.points[2].reason = "the trace broke off";
    sweep.points[2].status = RECORD_POINT_REFUSED;
    struct store_decision first[] = {{.point = &sweep.points[0], .run = &run},
                                     {.point = &sweep.points[2]}};
    struct store_decision second[] = {{.point = &mine.points[0], .run = &again},
                                      {.point = &mine.points[1], .same_as = &mine.points[0]},
                                      {.point = &mine.points[2]}};
    write_ok(other, &sweep, first, 2);
    ck_assert(!first[0].was_there);
    mine.points[1].status = RECORD_POINT_OK;
    write_ok(store, &mine, second, 3);
    ck_assert(second[0].was_there);
    ck_assert_int_eq(mine.points[0].run_id, 1);
    ck_assert_int_eq(mine.points[1].run_id, 1);
    store_close(other);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM run"), 1);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sweep_grid"), 3);
    // A failure does not take the place of an answer.
    ck_assert_int_eq(query("x.db", "SELECT status = 'refused' FROM sweep_grid WHERE point_id = 3"),
                     1);
    record_run_free(&run);
    record_run_free(&again);
    record_sweep_free(&sweep);
    record_sweep_free(&mine);
    scratch_leave();
}
END_TEST

START_TEST(a_run_that_cannot_be_stored_leaves_no_point)
{
    struct record_sweep sweep;
    struct record_run run;
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    make_sweep(&sweep);
    made_run_init(&run, 0);
    sweep.points[0].status = sweep.points[1].status = RECORD_POINT_OK;
    // One replication twice with one name: the key of its table is broken.
    base_vec_push(&run.replication_metrics, run.replication_metrics.at[0]);
    struct store_decision decisions[] = {{.point = &sweep.points[1], .run = &run}};
    ck_assert_int_eq(store_write_points(store, &sweep, decisions, 1, &err), KVSIM_ERR_DEFECT);
    ck_assert_int_eq(sweep.points[1].run_id, 0);
    store_close(store);
    ck_assert_int_eq(scratch_count("."), 0); // no database either
    record_run_free(&run);
    record_sweep_free(&sweep);
    scratch_leave();
}
END_TEST

START_TEST(sweeps_are_listed_in_the_order_of_their_runs)
{
    struct record_sweep sweep;
    struct base_arena arena;
    struct store_sweep_entry *entries;
    size_t count;
    base_arena_init(&arena);
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    ck_assert_int_eq(store_list_sweeps(store, &arena, &entries, &count, &err), KVSIM_OK);
    ck_assert_uint_eq(count, 0);
    for (int i = 0; i < 2; i++) {
        struct record_run run;
        make_sweep(&sweep);
        sweep.sweep_id[1] = i == 0 ? 'z' : 'a';
        made_run_init(&run, i);
        record_set_text(&run, RECORD_SCENARIO_HASH, i == 0 ? "one" : "another");
        sweep.points[0].status = RECORD_POINT_OK;
        struct store_decision decision = {.point = &sweep.points[0], .run = &run};
        write_ok(store, &sweep, &decision, 1);
        record_run_free(&run);
        record_sweep_free(&sweep);
    }
    ck_assert_int_eq(store_list_sweeps(store, &arena, &entries, &count, &err), KVSIM_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(entries[0].sweep_id[1], 'z');
    ck_assert_int_eq(entries[0].point_count, 4);
    ck_assert_int_eq(entries[0].decided_count, 1);
    ck_assert_int_eq(entries[1].first_run_id, 2);
    store_close(store);
    base_arena_release(&arena);
    scratch_leave();
}
END_TEST

/* A database as version 1 had it: without sweeps. */
START_TEST(an_older_database_is_read_and_brought_up_to_date)
{
    struct record_sweep sweep, back;
    struct record_run run;
    bool found = true;
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    made_run_init(&run, 0);
    ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
    record_run_free(&run);
    store_close(store);
    execute("x.db",
            "DROP VIEW sweep_grid; DROP VIEW run_compare; DROP TABLE sweep_point; "
            "DROP VIEW validate_group; DROP VIEW validate_bound; DROP VIEW validate_case; "
            "DROP TABLE validation_case; DROP TABLE validation_bound; DROP TABLE validation_part; "
            "DROP TABLE validation_group; DROP TABLE validation; "
            "DROP TABLE sweep; DROP TABLE comparison; DROP VIEW run_tier; DROP TABLE tier; "
            "PRAGMA user_version = 1");

    store = open_store("x.db", STORE_READ);
    record_sweep_init(&back);
    ck_assert_int_eq(store_load_sweep(store, "s0123456789ab", &back, &found, &err), KVSIM_OK);
    ck_assert(!found);
    record_sweep_free(&back);
    struct record_run again;
    record_run_init(&again);
    ck_assert_msg(store_load_run(store, 1, &again, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(again.tiers.count, 0);
    record_run_free(&again);
    store_close(store);
    ck_assert_int_eq(query("x.db", "PRAGMA user_version"), 1);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sqlite_schema WHERE name = 'tier'"), 0);

    // Who may write reads it too, and writes to the file, not to what was read.
    store = open_store("x.db", STORE_WRITE);
    for (int i = 0; i < 2; i++) {
        record_run_init(&again);
        ck_assert_msg(store_load_run(store, 1, &again, &err) == KVSIM_OK, "%s", err.message);
        ck_assert_uint_eq(again.tiers.count, 0);
        record_run_free(&again);
    }
    ck_assert_int_eq(query("x.db", "PRAGMA user_version"), 1);
    make_sweep(&sweep);
    sweep.points[0].status = RECORD_POINT_OK;
    sweep.points[0].run_id = 1;
    struct store_decision decision = {.point = &sweep.points[0]};
    write_ok(store, &sweep, &decision, 1);
    store_close(store);
    ck_assert_int_eq(query("x.db", "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sweep_grid WHERE model IS NOT NULL"), 1);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM run_compare"), 0);
    record_sweep_free(&sweep);
    scratch_leave();
}
END_TEST

START_TEST(a_comparison_is_stored_once)
{
    struct record_comparison comparison;
    struct record_run run;
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    for (int i = 0; i < 2; i++) {
        made_run_init(&run, i);
        ck_assert_int_eq(store_write_run(store, &run, &err), KVSIM_OK);
        record_run_free(&run);
    }
    record_comparison_init(&comparison);
    comparison.a.run_id = 1;
    comparison.b.run_id = 2;
    struct record_difference row = {.name = "ttft",
                                    .statistic = "p99",
                                    .class_name = "",
                                    .unit = "ms",
                                    .a = 1,
                                    .b = 2,
                                    .difference = 1,
                                    .ci_low = (double)NAN,
                                    .ci_high = (double)NAN,
                                    .ratio = 2,
                                    .n = 3,
                                    .more_replications = -1,
                                    .method = "none",
                                    .verdict = RECORD_NO_INTERVAL};
    base_vec_push(&comparison.figures, row);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(store_write_comparison(store, &comparison, &err) == KVSIM_OK, "%s",
                      err.message);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM run_compare"), 1);
    ck_assert_int_eq(query("x.db",
                           "SELECT ratio = 2 AND ci_low IS NULL AND more_replications IS NULL "
                           "AND verdict = 'no_interval' FROM run_compare"),
                     1);
    record_comparison_free(&comparison);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("store.sweep",
                    (const TTest *const[]){points_come_back_as_they_went,
                                           a_failed_point_gives_way_to_an_answer,
                                           what_another_has_stored_is_not_stored_again,
                                           a_run_that_cannot_be_stored_leaves_no_point,
                                           sweeps_are_listed_in_the_order_of_their_runs,
                                           an_older_database_is_read_and_brought_up_to_date,
                                           a_comparison_is_stored_once, NULL});
}
