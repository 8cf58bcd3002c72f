#include "support/made_run.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kvsim_error err;

/* Opening must fail with KVSIM_ERR_IO, name the path and say `words`. */
static void must_refuse(const char *path, enum store_mode mode, const char *words)
{
    struct store *store;
    ck_assert_int_eq(store_open(path, mode, &store, &err), KVSIM_ERR_IO);
    ck_assert_ptr_null(store);
    ck_assert_str_eq(err.file, path);
    ck_assert_msg(strstr(err.message, words) != NULL, "'%s' does not say '%s'", err.message, words);
}

static void must_stay(const char *path, const char *text, size_t bytes)
{
    size_t now;
    char *content = scratch_read(path, &now);
    ck_assert_ptr_nonnull(content);
    ck_assert_uint_eq(now, bytes);
    ck_assert_mem_eq(content, text, bytes);
    free(content);
}

static void write_one(const char *path)
{
    struct record_run run;
    struct store *store;
    made_run_init(&run, 0);
    ck_assert_int_eq(store_open(path, STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_msg(store_write_run(store, &run, &err) == KVSIM_OK, "%s", err.message);
    store_close(store);
    record_run_free(&run);
}

START_TEST(opening_makes_nothing)
{
    scratch_enter();
    struct store *store;
    ck_assert_int_eq(store_open("a/b/c.db", STORE_WRITE, &store, &err), KVSIM_OK);
    store_close(store);
    ck_assert_int_eq(scratch_count("."), 0);
    ck_assert_int_eq(store_open("c.db", STORE_WRITE, &store, &err), KVSIM_OK);
    int64_t run_id = 1;
    ck_assert_int_eq(store_find_run(store, "x", "y", &run_id, &err), KVSIM_OK);
    ck_assert_int_eq(run_id, 0);
    store_close(store);
    ck_assert_int_eq(scratch_count("."), 0);
    scratch_leave();
}
END_TEST

START_TEST(the_first_run_makes_folders_and_file)
{
    scratch_enter();
    write_one("a/b//c.db");
    ck_assert_int_eq(scratch_count("a/b"), 1);
    write_one("a/b/c.db");
    ck_assert_int_eq(scratch_count("a/b"), 1);
    char here[2048], path[4096];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s/x/y.db", here);
    write_one(path);
    ck_assert_int_eq(scratch_count("x"), 1);
    scratch_leave();
}
END_TEST

START_TEST(names_with_a_meaning_for_sqlite_are_files)
{
    scratch_enter();
    write_one(":memory:");
    write_one("file:q?mode=memory");
    ck_assert_int_eq(access(":memory:", F_OK), 0);
    ck_assert_int_eq(access("file:q?mode=memory", F_OK), 0);
    scratch_leave();
}
END_TEST

START_TEST(an_empty_file_is_taken)
{
    scratch_enter();
    scratch_write("empty.db", "", 0);
    must_refuse("empty.db", STORE_READ, "empty");
    write_one("empty.db");
    struct store *store;
    ck_assert_int_eq(store_open("empty.db", STORE_READ, &store, &err), KVSIM_OK);
    store_close(store);
    scratch_leave();
}
END_TEST

START_TEST(what_is_no_database_is_refused_untouched)
{
    scratch_enter();
    static const char text[] = "name: chat-8k\n";
    scratch_write("a.yaml", text, sizeof text - 1);
    must_refuse("a.yaml", STORE_WRITE, "not a database of kvsim");
    must_refuse("a.yaml", STORE_READ, "not a database of kvsim");
    must_stay("a.yaml", text, sizeof text - 1);
    static const char cut[] = "SQLite format 3";
    scratch_write("cut.db", cut, sizeof cut);
    must_refuse("cut.db", STORE_WRITE, "not a database of kvsim");
    ck_assert_int_eq(scratch_count("."), 2);
    scratch_leave();
}
END_TEST

START_TEST(a_foreign_database_is_refused_untouched)
{
    scratch_enter();
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open("other.db", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "PRAGMA journal_mode = WAL; CREATE TABLE run (run_id INTEGER); "
                                  "INSERT INTO run VALUES (7)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    size_t bytes;
    char *before = scratch_read("other.db", &bytes);
    must_refuse("other.db", STORE_WRITE, "another program");
    must_refuse("other.db", STORE_READ, "another program");
    must_stay("other.db", before, bytes);
    ck_assert_int_eq(scratch_count("."), 1);
    free(before);
    scratch_leave();
}
END_TEST

START_TEST(a_newer_database_is_refused_untouched)
{
    scratch_enter();
    write_one("new.db");
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open("new.db", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version = 999", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    must_refuse("new.db", STORE_WRITE, "newer kvsim (schema 999");
    must_refuse("new.db", STORE_READ, "newer kvsim");
    scratch_leave();
}
END_TEST

START_TEST(paths_that_cannot_be_are_refused)
{
    scratch_enter();
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("file", "x", 1);
    ck_assert_int_eq(mkfifo("pipe", 0666), 0);
    must_refuse("", STORE_WRITE, "not the name of a file");
    must_refuse("folder", STORE_WRITE, "directory");
    must_refuse("folder/", STORE_WRITE, "not the name of a file");
    must_refuse("file/x.db", STORE_WRITE, "Not a directory");
    must_refuse("file/y/x.db", STORE_WRITE, "Not a directory");
    must_refuse("pipe", STORE_WRITE, "not a regular file");
    must_refuse("absent.db", STORE_READ, "no such database");
    must_refuse("absent/absent.db", STORE_READ, "no such database");
    ck_assert_int_eq(scratch_count("."), 3);
    scratch_leave();
}
END_TEST

START_TEST(a_read_only_place_is_refused_or_read)
{
    if (geteuid() == 0)
        return; // root may write everywhere
    scratch_enter();
    ck_assert_int_eq(mkdir("closed", 0777), 0);
    write_one("closed/x.db");
    ck_assert_int_eq(chmod("closed/x.db", 0444), 0);
    must_refuse("closed/x.db", STORE_WRITE, "read-only");
    ck_assert_int_eq(chmod("closed", 0555), 0);
    must_refuse("closed/y.db", STORE_WRITE, "Permission denied");

    struct store *store;
    struct record_run run;
    record_run_init(&run);
    ck_assert_int_eq(store_open("closed/x.db", STORE_READ, &store, &err), KVSIM_OK);
    ck_assert_msg(store_load_run(store, 1, &run, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_str_eq(record_get_text(&run, RECORD_MODEL), "llama-3.1-8b");
    store_close(store);
    record_run_free(&run);
    ck_assert_int_eq(scratch_count("closed"), 1);
    scratch_leave();
}
END_TEST

START_TEST(reading_leaves_no_journal)
{
    scratch_enter();
    write_one("x.db");
    size_t bytes;
    char *before = scratch_read("x.db", &bytes);
    struct store *store;
    struct base_arena arena;
    struct store_entry *entries;
    size_t count;
    base_arena_init(&arena);
    ck_assert_int_eq(store_open("x.db", STORE_READ, &store, &err), KVSIM_OK);
    ck_assert_int_eq(store_list_runs(store, &arena, &entries, &count, &err), KVSIM_OK);
    ck_assert_uint_eq(count, 1);
    store_close(store);
    base_arena_release(&arena);
    must_stay("x.db", before, bytes);
    ck_assert_int_eq(scratch_count("."), 1);
    free(before);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("store.open",
                    (const TTest *const[]){
                        opening_makes_nothing, the_first_run_makes_folders_and_file,
                        names_with_a_meaning_for_sqlite_are_files, an_empty_file_is_taken,
                        what_is_no_database_is_refused_untouched,
                        a_foreign_database_is_refused_untouched,
                        a_newer_database_is_refused_untouched, paths_that_cannot_be_are_refused,
                        a_read_only_place_is_refused_or_read, reading_leaves_no_journal, NULL});
}
