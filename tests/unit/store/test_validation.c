#include "support/made_validation.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "store/validation.h"

#include <sqlite3.h>

static struct kvsim_error err;

static void execute(const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open("x.db", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* Whether a condition on the views holds. */
static void holds(const char *condition)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    char sql[600];
    snprintf(sql, sizeof sql, "SELECT %s", condition);
    ck_assert_int_eq(sqlite3_open("x.db", &db), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_msg(sqlite3_column_int(stmt, 0) == 1, "%s", condition);
    sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static int64_t write(double bound, const char *version)
{
    struct record_validation validation;
    struct store *store;
    int64_t id = -1;
    made_validation_init(&validation, bound);
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_msg(store_write_validation(store, &validation, version, &id, &err) == KVSIM_OK, "%s",
                  err.message);
    store_close(store);
    record_validation_free(&validation);
    return id;
}

START_TEST(groups_bounds_and_cases_are_read_back)
{
    scratch_enter();
    ck_assert_int_eq(write(0.05, "1"), 1);
    holds("count(*) = 2 FROM validate_group WHERE validation_id = 1 AND group_name = 'layers'");
    holds("n = 1 AND mean_error = 0.1 AND worst_case = 'a:1' AND kendall_tau IS NULL AND exceeded "
          "AND level = 'datasheet' AND bound = 'mean_error <= 0.05, bias of decode <= 0.2' "
          "FROM validate_group WHERE part_kind = 'all'");
    holds("mean_error = 0.3 AND bound IS NULL AND exceeded IS NULL FROM validate_group "
          "WHERE part_kind = 'fitted'");
    holds("count(*) = 2 AND sum(exceeded) = 1 AND max(value) = 0.1 FROM validate_bound");
    holds("count(*) = 2 AND sum(fitted) = 1 AND max(predicted) = 1.1 FROM validate_case");
    holds("note = 'it''s \"so\"' AND phase = 'prefill' AND figure = 'layer_ms' FROM validate_case "
          "WHERE id = 'a:2'");
    scratch_leave();
}
END_TEST

START_TEST(equal_figures_in_a_row_are_stored_once)
{
    scratch_enter();
    ck_assert_int_eq(write(0.2, "1"), 1);
    ck_assert_int_eq(write(0.2, "1"), 1);
    holds("count(*) = 1 AND min(within_bounds) = 1 FROM validation");
    ck_assert_int_eq(write(0.05, "1"), 2);
    ck_assert_int_eq(write(0.05, "2"), 3);
    ck_assert_int_eq(write(0.2, "1"), 4);
    holds("count(*) = 8 FROM validate_case");
    scratch_leave();
}
END_TEST

static int64_t write_made(const struct record_validation *validation)
{
    struct store *store;
    int64_t id = -1;
    ck_assert_int_eq(store_open("x.db", STORE_WRITE, &store, &err), KVSIM_OK);
    ck_assert_msg(store_write_validation(store, validation, "1", &id, &err) == KVSIM_OK, "%s",
                  err.message);
    store_close(store);
    return id;
}

#define CHANGE(member, value)                                    \
    do {                                                         \
        member = value;                                          \
        ck_assert_msg(write_made(&made) == ++id, "%s", #member); \
        ck_assert_msg(write_made(&made) == id, "%s", #member);   \
    } while (0)

START_TEST(a_change_of_any_column_is_stored)
{
    struct record_validation made;
    int64_t id = 1;
    scratch_enter();
    made_validation_init(&made, 0.2);
    struct record_validation_group *group = &made.groups.at[0];
    ck_assert_int_eq(write_made(&made), id);
    CHANGE(group->name, "other");
    CHANGE(group->summary, "other");
    CHANGE(group->level, "affine");
    CHANGE(group->level, "");
    CHANGE(group->level, NULL);
    CHANGE(group->basis, "other");
    CHANGE(group->is_exact, !group->is_exact);
    CHANGE(group->is_within, !group->is_within);
    CHANGE(group->parts.at[1].kind, RECORD_VALIDATION_PHASE);
    CHANGE(group->parts.at[1].name, "decode");
    CHANGE(group->parts.at[1].count, 2);
    CHANGE(group->parts.at[1].agreeing, 2);
    CHANGE(group->parts.at[1].median, 0.2);
    CHANGE(group->parts.at[1].mean, 0.2);
    CHANGE(group->parts.at[1].p90, 0.2);
    CHANGE(group->parts.at[1].bias, 0.2);
    CHANGE(group->parts.at[1].worst, 0.2);
    CHANGE(group->parts.at[1].tau, 0.2);
    CHANGE(group->parts.at[1].worst_case, "a:2");
    CHANGE(group->bounds.at[1].figure, "p90_error");
    CHANGE(group->bounds.at[1].part, "prefill");
    CHANGE(group->bounds.at[1].bound, 0.3);
    CHANGE(group->bounds.at[1].value, 0.3);
    CHANGE(group->bounds.at[1].is_exceeded, true);
    CHANGE(group->cases.at[1].id, "b:2");
    CHANGE(group->cases.at[1].family, "b");
    CHANGE(group->cases.at[1].device, "b");
    CHANGE(group->cases.at[1].phase, NULL);
    CHANGE(group->cases.at[1].what, "step_ms");
    CHANGE(group->cases.at[1].predicted, 2);
    CHANGE(group->cases.at[1].measured, 2);
    CHANGE(group->cases.at[1].error, 2);
    CHANGE(group->cases.at[1].agrees, false);
    CHANGE(group->cases.at[1].is_fitted, false);
    CHANGE(group->cases.at[1].note, "other");
    CHANGE(group->cases.at[1].source, "other");
    record_validation_free(&made);
    scratch_leave();
}
END_TEST

/* A database as version 2 had it: without validations. */
START_TEST(an_older_database_is_brought_up_to_date)
{
    scratch_enter();
    ck_assert_int_eq(write(0.2, "1"), 1);
    execute("DROP VIEW validate_group; DROP VIEW validate_bound; DROP VIEW validate_case; "
            "DROP TABLE validation_case; DROP TABLE validation_bound; DROP TABLE validation_part; "
            "DROP TABLE validation_group; DROP TABLE validation; DROP VIEW run_tier; "
            "DROP TABLE tier; PRAGMA user_version = 2");
    ck_assert_int_eq(write(0.2, "1"), 1);
    holds("count(*) = 2 FROM validate_case");
    execute("CREATE TABLE reached (version INTEGER); "
            "INSERT INTO reached SELECT user_version FROM pragma_user_version");
    char condition[64];
    snprintf(condition, sizeof condition, "version = %d FROM reached", (int)STORE_SCHEMA_VERSION);
    holds(condition);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("store.validation",
                    (const TTest *const[]){groups_bounds_and_cases_are_read_back,
                                           equal_figures_in_a_row_are_stored_once,
                                           a_change_of_any_column_is_stored,
                                           an_older_database_is_brought_up_to_date, NULL});
}
