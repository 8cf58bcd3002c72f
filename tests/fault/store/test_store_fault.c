/*
 * Whatever fails while a run is stored, the run is there whole or not at all, the message is clear, and a first run that
 * fails leaves no file and no folder. Every operation that changes a file fails in turn, or kills the process.
 */
#include "fault_vfs.h"
#include "support/made_run.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPERATIONS_MAX = 2000 };

static struct kvsim_error err;

/* Stores a run made by hand; the status of whichever step failed. */
static enum kvsim_status try_write(const char *path)
{
    struct store *store;
    struct record_run run;
    made_run_init(&run, 0);
    memset(&err, 0, sizeof err);
    enum kvsim_status status = store_open(path, STORE_WRITE, &store, &err);
    if (status == KVSIM_OK) {
        store_set_busy_timeout(store, 20);
        status = store_write_run(store, &run, &err);
    }
    ck_assert_int_eq(run.run_id > 0, status == KVSIM_OK);
    store_close(store);
    record_run_free(&run);
    return status;
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

/* Every run has all its rows, and there are `runs` of them. */
static void must_hold_whole_runs(const char *path, int64_t runs)
{
    ck_assert_int_eq(query(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM run"), runs);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM run_host"), runs);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM request"), 3 * runs);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM sample"), 3 * runs);
    ck_assert_int_eq(query(path, "SELECT count(*) FROM ledger"), 26 * runs);
}

static void must_have_failed_clearly(enum kvsim_status status)
{
    ck_assert_int_eq(status, KVSIM_ERR_IO);
    ck_assert_uint_gt(strlen(err.message), 10);
    ck_assert_uint_gt(strlen(err.file), 0);
}

START_TEST(each_operation_of_a_first_run_fails)
{
    scratch_enter();
    fault_vfs_register();
    int failures = 0, n = 1;
    for (; n < OPERATIONS_MAX; n++) {
        fault_vfs_set(FAULT_IO, n);
        enum kvsim_status status = try_write("a/b/x.db");
        int has_struck = fault_vfs_has_struck();
        fault_vfs_set(FAULT_NONE, 0);
        if (status == KVSIM_OK) {
            must_hold_whole_runs("a/b/x.db", 1);
            scratch_leave();
            scratch_enter();
        } else {
            must_have_failed_clearly(status);
            ck_assert_msg(scratch_count(".") == 0, "operation %d left something", n);
            failures++;
        }
        if (!has_struck)
            break;
    }
    ck_assert_int_gt(failures, 10);
    ck_assert_int_lt(n, OPERATIONS_MAX);
    fault_vfs_unregister();
    scratch_leave();
}
END_TEST

START_TEST(each_operation_of_a_further_run_fails)
{
    scratch_enter();
    fault_vfs_register();
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    int64_t runs = 1;
    int failures = 0, n = 1;
    for (; n < OPERATIONS_MAX; n++) {
        fault_vfs_set(FAULT_IO, n);
        enum kvsim_status status = try_write("x.db");
        int has_struck = fault_vfs_has_struck();
        fault_vfs_set(FAULT_NONE, 0);
        if (status == KVSIM_OK)
            runs++;
        else
            must_have_failed_clearly(status);
        failures += status != KVSIM_OK;
        must_hold_whole_runs("x.db", runs);
        if (!has_struck)
            break;
    }
    ck_assert_int_gt(failures, 3);
    ck_assert_int_lt(n, OPERATIONS_MAX);
    fault_vfs_unregister();
    scratch_leave();
}
END_TEST

START_TEST(the_disk_is_full)
{
    scratch_enter();
    fault_vfs_register();
    int failures = 0;
    for (int n = 1; n < OPERATIONS_MAX; n++) {
        fault_vfs_set(FAULT_FULL, n);
        enum kvsim_status status = try_write("a/x.db");
        int has_struck = fault_vfs_has_struck();
        fault_vfs_set(FAULT_NONE, 0);
        if (status == KVSIM_OK) {
            must_hold_whole_runs("a/x.db", 1);
            scratch_leave();
            scratch_enter();
        } else {
            must_have_failed_clearly(status);
            ck_assert_msg(strstr(err.message, "no space left") != NULL, "%s", err.message);
            ck_assert_int_eq(scratch_count("."), 0);
            failures++;
        }
        if (!has_struck)
            break;
    }
    ck_assert_int_gt(failures, 10);

    // A database that is there keeps what it has.
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    fault_vfs_set(FAULT_FULL, 3);
    must_have_failed_clearly(try_write("x.db"));
    fault_vfs_set(FAULT_NONE, 0);
    must_hold_whole_runs("x.db", 1);
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    must_hold_whole_runs("x.db", 2);
    fault_vfs_unregister();
    scratch_leave();
}
END_TEST

START_TEST(the_database_is_locked)
{
    scratch_enter();
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open("x.db", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    must_have_failed_clearly(try_write("x.db"));
    ck_assert_ptr_nonnull(strstr(err.message, "locked by another program"));
    ck_assert_ptr_nonnull(strstr(err.hint, "--db"));
    ck_assert_int_eq(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    must_hold_whole_runs("x.db", 2);
    scratch_leave();
}
END_TEST

/* Lets a child write and be killed at its n-th operation; whether it was. */
static bool is_killed_at(int n, const char *path)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        fault_vfs_set(FAULT_KILL, n);
        enum kvsim_status status = try_write(path);
        _exit(status == KVSIM_OK ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
        return true;
    }
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    return false;
}

START_TEST(killed_in_the_middle_of_a_first_run)
{
    scratch_enter();
    fault_vfs_register();
    int n = 1;
    for (bool is_killed = true; is_killed && n < OPERATIONS_MAX; n++) {
        is_killed = is_killed_at(n, "x.db");
        // The next kvsim finds nothing, or the run whole, and goes on.
        ck_assert_msg(try_write("x.db") == KVSIM_OK, "operation %d: %s", n, err.message);
        int64_t runs = query("x.db", "SELECT count(*) FROM run");
        ck_assert(runs == 1 || runs == 2);
        must_hold_whole_runs("x.db", runs);
        scratch_leave();
        scratch_enter();
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_lt(n, OPERATIONS_MAX);
    fault_vfs_unregister();
    scratch_leave();
}
END_TEST

START_TEST(killed_in_the_middle_of_a_further_run)
{
    scratch_enter();
    fault_vfs_register();
    ck_assert_int_eq(try_write("x.db"), KVSIM_OK);
    int64_t runs = 1;
    int n = 1;
    for (bool is_killed = true; is_killed && n < OPERATIONS_MAX; n++) {
        is_killed = is_killed_at(n, "x.db");
        int64_t now = query("x.db", "SELECT count(*) FROM run");
        ck_assert(now == runs || now == runs + 1);
        must_hold_whole_runs("x.db", now);
        runs = now;
    }
    ck_assert_int_gt(n, 3);
    ck_assert_int_lt(n, OPERATIONS_MAX);
    fault_vfs_unregister();
    scratch_leave();
}
END_TEST

/* SQLite's allocator, whose n-th allocation fails. */
static struct {
    sqlite3_mem_methods real;
    int left; /* 0 = none fails */
} heap;

static int heap_strikes(void)
{
    return heap.left > 0 && --heap.left == 0;
}

static void *heap_malloc(int bytes)
{
    return heap_strikes() ? NULL : heap.real.xMalloc(bytes);
}

static void *heap_realloc(void *memory, int bytes)
{
    return heap_strikes() ? NULL : heap.real.xRealloc(memory, bytes);
}

static void heap_register(void)
{
    sqlite3_shutdown();
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap.real), SQLITE_OK);
    sqlite3_mem_methods methods = heap.real;
    methods.xMalloc = heap_malloc;
    methods.xRealloc = heap_realloc;
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
}

/* SQLite asks for memory thousands of times in much the same way: every one of the first, then ever fewer. */
START_TEST(sqlite_is_out_of_memory)
{
    scratch_enter();
    heap_register();
    int64_t runs = 0;
    int failures = 0;
    for (int n = 1; n < 1000000; n += 1 + n / 32) {
        heap.left = n;
        enum kvsim_status status = try_write("x.db");
        bool has_struck = heap.left == 0;
        heap.left = 0;
        if (status == KVSIM_OK)
            runs++;
        else
            ck_assert_msg(status == KVSIM_ERR_MEMORY || status == KVSIM_ERR_IO, "%s", err.message);
        failures += status != KVSIM_OK;
        if (runs > 0)
            must_hold_whole_runs("x.db", runs);
        else
            ck_assert_int_eq(scratch_count("."), 0);
        if (!has_struck)
            break;
    }
    ck_assert_int_gt(failures, 50);
    ck_assert_int_gt(runs, 0);
    scratch_leave();
}
END_TEST

#ifdef KVSIM_FAULTS
/* Our own allocator ends the process; whether it did at the n-th allocation of storing a run. */
static bool is_ended_at(int n, const char *path)
{
    enum { OUT_OF_MEMORY = 70 };
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct record_run run;
        struct store *store;
        made_run_init(&run, 0);
        ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
        base_mem_fail_at(n);
        enum kvsim_status status = store_open(path, STORE_WRITE, &store, &err);
        if (status == KVSIM_OK)
            status = store_write_run(store, &run, &err);
        _exit(status == KVSIM_OK ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == OUT_OF_MEMORY);
    return WEXITSTATUS(status) == OUT_OF_MEMORY;
}

START_TEST(kvsim_is_out_of_memory)
{
    scratch_enter();
    int n = 1;
    for (bool is_ended = true; is_ended; n++) {
        is_ended = is_ended_at(n, "x.db");
        ck_assert_msg(try_write("x.db") == KVSIM_OK, "allocation %d: %s", n, err.message);
        must_hold_whole_runs("x.db", is_ended ? 1 : 2);
        scratch_leave();
        scratch_enter();
    }
    ck_assert_int_gt(n, 20);
    scratch_leave();
}
END_TEST
#endif

int main(void)
{
    return unit_run("store.fault", (const TTest *const[]){each_operation_of_a_first_run_fails,
                                                          each_operation_of_a_further_run_fails,
                                                          the_disk_is_full, the_database_is_locked,
                                                          killed_in_the_middle_of_a_first_run,
                                                          killed_in_the_middle_of_a_further_run,
                                                          sqlite_is_out_of_memory,
#ifdef KVSIM_FAULTS
                                                          kvsim_is_out_of_memory,
#endif
                                                          NULL});
}
