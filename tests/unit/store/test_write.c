#include "support/made_run.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/store.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static struct kvsim_error err;

static struct store *open_store(const char *path, enum store_mode mode)
{
    struct store *store;
    ck_assert_msg(store_open(path, mode, &store, &err) == KVSIM_OK, "%s", err.message);
    return store;
}

static void write_run(struct store *store, int variant, int64_t run_id)
{
    struct record_run run;
    made_run_init(&run, variant);
    ck_assert_msg(store_write_run(store, &run, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_int_eq(run.run_id, run_id);
    record_run_free(&run);
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

START_TEST(ids_count_on)
{
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    write_run(store, 0, 1);
    write_run(store, 1, 2);
    store_close(store);
    store = open_store("x.db", STORE_WRITE);
    write_run(store, 2, 3);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM run_summary"), 3);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM request"), 9);
    ck_assert_int_eq(query("x.db", "PRAGMA application_id"), STORE_APPLICATION_ID);
    ck_assert_int_eq(query("x.db", "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    ck_assert_int_eq(query("x.db", "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    scratch_leave();
}
END_TEST

START_TEST(every_table_is_strict_and_knows_its_run)
{
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    write_run(store, 0, 1);
    store_close(store);
    ck_assert_int_eq(query("x.db",
                           "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND "
                           "type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'"),
                     0);
    // All that belongs to runs refers to `run`, and nothing refers to run_host.
    ck_assert_int_eq(query("x.db",
                           "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT "
                           "IN ('run', 'sweep') "
                           "AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'validation%' "
                           "AND sql NOT LIKE '%REFERENCES run%'"),
                     0);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                   "sql LIKE '%REFERENCES run_host%'"),
                     0);
    scratch_leave();
}
END_TEST

START_TEST(several_runs_are_kept_together_or_not_at_all)
{
    scratch_enter();
    struct record_run a, b;
    made_run_init(&a, 0);
    made_run_init(&b, 1);
    struct record_run *runs[] = {&a, &b};
    struct store *store = open_store("x.db", STORE_WRITE);
    // The same request twice breaks the key of the second run.
    b.requests.at[1].index = b.requests.at[0].index;
    ck_assert_int_eq(store_write_runs(store, runs, 2, NULL, NULL, &err), KVSIM_ERR_DEFECT);
    ck_assert_int_eq(a.run_id, 0);
    ck_assert_int_eq(b.run_id, 0);
    ck_assert_int_eq(scratch_count("."), 0);
    b.requests.at[1].index = 9;
    ck_assert_int_eq(store_write_runs(store, runs, 2, NULL, NULL, &err), KVSIM_OK);
    ck_assert_int_eq(a.run_id, 1);
    ck_assert_int_eq(b.run_id, 2);
    store_close(store);
    record_run_free(&a);
    record_run_free(&b);
    scratch_leave();
}
END_TEST

static enum kvsim_status refuse_to_print(void *context, struct kvsim_error *error)
{
    const struct record_run *run = context;
    ck_assert_int_gt(run->run_id, 0);
    return base_fail(error, KVSIM_ERR_IO, "cannot print");
}

START_TEST(what_cannot_be_shown_is_not_kept)
{
    scratch_enter();
    struct record_run run;
    made_run_init(&run, 0);
    struct record_run *runs[] = {&run};
    struct store *store = open_store("a/x.db", STORE_WRITE);
    ck_assert_int_eq(store_write_runs(store, runs, 1, refuse_to_print, &run, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.message, "cannot print");
    ck_assert_int_eq(run.run_id, 0);
    ck_assert_int_eq(scratch_count("."), 0);
    store_close(store);

    store = open_store("x.db", STORE_WRITE);
    write_run(store, 0, 1);
    ck_assert_int_eq(store_write_runs(store, runs, 1, refuse_to_print, &run, &err), KVSIM_ERR_IO);
    write_run(store, 0, 2);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(*) FROM run"), 2);
    record_run_free(&run);
    scratch_leave();
}
END_TEST

START_TEST(columns_that_an_older_kvsim_did_not_know_are_added)
{
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    write_run(store, 0, 1);
    store_close(store);
    execute("x.db", "DROP VIEW run_summary; DROP VIEW sweep_grid; "
                    "ALTER TABLE run DROP COLUMN running_peak; "
                    "ALTER TABLE run DROP COLUMN stability; "
                    "CREATE VIEW run_summary AS SELECT run.*, created_at, wall_s FROM run "
                    "LEFT JOIN run_host USING (run_id)");

    // Reading changes nothing; what was not stored is NULL.
    struct record_run run;
    record_run_init(&run);
    store = open_store("x.db", STORE_READ);
    ck_assert_msg(store_load_run(store, 1, &run, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_int_eq(run.summary[RECORD_RUNNING_PEAK].kind, RECORD_NULL);
    ck_assert_str_eq(record_get_text(&run, RECORD_MODEL), "llama-3.1-8b");
    store_close(store);
    record_run_free(&run);

    store = open_store("x.db", STORE_WRITE);
    write_run(store, 1, 2);
    store_close(store);
    ck_assert_int_eq(query("x.db", "SELECT count(stability) FROM run_summary"), 1);
    ck_assert_int_eq(query("x.db", "SELECT run_id FROM run_summary WHERE running_peak > 0"), 2);
    scratch_leave();
}
END_TEST

START_TEST(equal_runs_are_found_by_their_hash)
{
    scratch_enter();
    struct store *store = open_store("x.db", STORE_WRITE);
    write_run(store, 0, 1);
    write_run(store, 0, 2);
    int64_t run_id;
    const char *hash = "00112233445566778899aabbccddeeff";
    ck_assert_int_eq(store_find_run(store, hash, "0.1.0", &run_id, &err), KVSIM_OK);
    ck_assert_int_eq(run_id, 1);
    ck_assert_int_eq(store_find_run(store, hash, "0.2.0", &run_id, &err), KVSIM_OK);
    ck_assert_int_eq(run_id, 0);
    ck_assert_int_eq(store_find_run(store, "ff", "0.1.0", &run_id, &err), KVSIM_OK);
    ck_assert_int_eq(run_id, 0);
    store_close(store);
    scratch_leave();
}
END_TEST

START_TEST(a_run_that_is_there_is_not_kept_again)
{
    struct record_run run;
    bool was_there;
    scratch_enter();
    struct store *first = open_store("x.db", STORE_WRITE),
                 *second = open_store("x.db", STORE_WRITE);
    made_run_init(&run, 0);
    ck_assert_int_eq(store_keep_run(first, &run, &was_there, &err), KVSIM_OK);
    ck_assert(!was_there && run.run_id == 1);
    run.run_id = 0;
    ck_assert_int_eq(store_keep_run(second, &run, &was_there, &err), KVSIM_OK);
    ck_assert(was_there && run.run_id == 1);
    write_run(second, 0, 2); // a run that was asked for is a run
    store_close(first);
    store_close(second);
    record_run_free(&run);
    scratch_leave();
}
END_TEST

START_TEST(others_can_read_while_a_run_is_written)
{
    scratch_enter();
    struct store *writer = open_store("x.db", STORE_WRITE);
    write_run(writer, 0, 1);
    struct store *reader = open_store("x.db", STORE_READ);
    struct base_arena arena;
    struct store_entry *entries;
    size_t count;
    base_arena_init(&arena);
    ck_assert_int_eq(store_list_runs(reader, &arena, &entries, &count, &err), KVSIM_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(entries[0].scenario, "chat-8k");
    ck_assert_str_eq(entries[0].created_at, "2026-01-02T03:04:05Z");
    ck_assert_int_eq(entries[0].slo_met, 1);
    write_run(writer, 1, 2);
    ck_assert_int_eq(store_list_runs(reader, &arena, &entries, &count, &err), KVSIM_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(entries[1].run_id, 2);
    base_arena_release(&arena);
    store_close(reader);
    store_close(writer);
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run(
        "store.write",
        (const TTest *const[]){
            ids_count_on, every_table_is_strict_and_knows_its_run,
            several_runs_are_kept_together_or_not_at_all, what_cannot_be_shown_is_not_kept,
            columns_that_an_older_kvsim_did_not_know_are_added, equal_runs_are_found_by_their_hash,
            a_run_that_is_there_is_not_kept_again, others_can_read_while_a_run_is_written, NULL});
}
