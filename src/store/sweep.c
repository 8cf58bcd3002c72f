#include "store/sweep.h"
#include "store/store_int.h"

#include <string.h>

/* ---- writing ---- */

struct write_points {
    const struct record_sweep *sweep;
    struct store_decision *decisions;
    size_t count;
};

static enum kvsim_status write_sweep(struct store *store, const struct record_sweep *sweep,
                                     struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT OR IGNORE INTO sweep (sweep_id, scenario, kvsim_version, zipped, "
                        "points");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(&sql, ", axis_%d", i);
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    store_insert_text(&insert, sweep->sweep_id);
    store_insert_text(&insert, sweep->scenario);
    store_insert_text(&insert, sweep->kvsim_version);
    store_insert_integer(&insert, sweep->is_zipped ? 1 : 0);
    store_insert_integer(&insert, (int64_t)sweep->total_count);
    for (size_t i = 0; i < RECORD_AXES_MAX; i++) {
        if (i < sweep->axis_count)
            store_insert_text(&insert, sweep->axes[i]);
        else
            store_insert_null(&insert);
    }
    store_insert_row(&insert);
    return store_insert_end(store, &insert, err);
}

static void put_point(struct store_insert *insert, const struct record_sweep *sweep,
                      const struct record_point *point, int64_t run_id)
{
    store_insert_text(insert, sweep->sweep_id);
    store_insert_integer(insert, point->point_id);
    for (size_t i = 0; i < RECORD_AXES_MAX; i++) {
        struct record_value value = {.kind = RECORD_NULL};
        if (i < sweep->axis_count)
            value = record_point_value(point, i);
        store_insert_value(insert, &value);
    }
    store_insert_text(insert, point->hash);
    if (run_id > 0)
        store_insert_integer(insert, run_id);
    else
        store_insert_null(insert);
    store_insert_text(insert, record_point_status_name(point->status));
    store_insert_text(insert, point->reason);
    store_insert_row(insert);
}

/* Points get the ids of their runs as these are given: a later point may share that of an earlier one. */
static enum kvsim_status add_runs(struct store *store, const struct write_points *write,
                                  struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < write->count && status == KVSIM_OK; i++) {
        struct store_decision *decision = &write->decisions[i];
        if (decision->run != NULL) {
            status = store_add_run_once(store, decision->run, &decision->was_there, err);
            decision->point->run_id = decision->run->run_id;
        } else if (decision->same_as != NULL) {
            decision->point->run_id = decision->same_as->run_id;
        }
    }
    return status;
}

/* Points that failed before give way; those that another program has decided meanwhile stay. */
static enum kvsim_status remove_failed(struct store *store, const struct write_points *write,
                                       struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    enum kvsim_status status =
        store_prepare(store,
                      "DELETE FROM sweep_point WHERE sweep_id = ? AND point_id = ? AND "
                      "status = 'failed'",
                      &stmt, err);
    for (size_t i = 0; i < write->count && status == KVSIM_OK; i++) {
        sqlite3_bind_text(stmt, 1, write->sweep->sweep_id, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, write->decisions[i].point->point_id);
        int rc = sqlite3_step(stmt);
        if (rc != SQLITE_DONE)
            status = store_fail(store, rc, err, "store the sweep");
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum kvsim_status add_points(struct store *store, const struct write_points *write,
                                    struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT OR IGNORE INTO sweep_point (sweep_id, point_id");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(&sql, ", value_%d", i);
    base_text_add(&sql, ", scenario_hash, run_id, status, reason");
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    for (size_t i = 0; i < write->count && insert.rc == SQLITE_OK; i++) {
        const struct record_point *point = write->decisions[i].point;
        base_require(point->status != RECORD_POINT_OPEN);
        put_point(&insert, write->sweep, point, point->run_id);
    }
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status write_points(struct store *store, void *context, struct kvsim_error *err)
{
    const struct write_points *write = context;
    enum kvsim_status status = write_sweep(store, write->sweep, err);
    if (status == KVSIM_OK)
        status = add_runs(store, write, err);
    if (status == KVSIM_OK)
        status = remove_failed(store, write, err);
    return status == KVSIM_OK ? add_points(store, write, err) : status;
}

enum kvsim_status store_write_points(struct store *store, const struct record_sweep *sweep,
                                     struct store_decision *decisions, size_t count,
                                     struct kvsim_error *err)
{
    base_require(sweep->sweep_id[0] != '\0');
    struct write_points write = {sweep, decisions, count};
    enum kvsim_status status = store_transact(store, write_points, &write, err);
    for (size_t i = 0; i < count && status != KVSIM_OK; i++) {
        if (decisions[i].run != NULL || decisions[i].same_as != NULL)
            decisions[i].point->run_id = 0;
        if (decisions[i].run != NULL)
            decisions[i].run->run_id = 0;
    }
    return status;
}

/* ---- reading ---- */

/* A database that an older kvsim wrote has no sweeps. */
static enum kvsim_status connect_to_sweeps(struct store *store, bool *is_empty,
                                           struct kvsim_error *err)
{
    enum kvsim_status status = store_connect_to_read(store, is_empty, err);
    int64_t table_count = 0;
    if (status == KVSIM_OK && !*is_empty)
        status =
            store_query_int(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'sweep_grid'",
                            &table_count, err);
    *is_empty = *is_empty || table_count == 0;
    return status;
}

static enum kvsim_status load_head(struct store *store, struct record_sweep *out, bool *found,
                                   struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "SELECT scenario, kvsim_version, zipped, points");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(&sql, ", axis_%d", i);
    base_text_add(&sql, " FROM sweep WHERE sweep_id = ?");
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_prepare(store, sql.at, &stmt, err);
    base_text_free(&sql);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_text(stmt, 1, out->sweep_id, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    *found = rc == SQLITE_ROW;
    if (*found) {
        out->scenario = store_read_text(&out->arena, stmt, 0);
        out->kvsim_version = store_read_text(&out->arena, stmt, 1);
        out->is_zipped = sqlite3_column_int(stmt, 2) != 0;
        out->total_count = (size_t)sqlite3_column_int64(stmt, 3);
        for (int i = 0; i < RECORD_AXES_MAX && sqlite3_column_type(stmt, 4 + i) == SQLITE_TEXT; i++)
            out->axes[out->axis_count++] = store_read_text(&out->arena, stmt, 4 + i);
    } else if (rc != SQLITE_DONE) {
        status = store_fail(store, rc, err, "read the sweep");
    }
    sqlite3_finalize(stmt);
    return status;
}

enum { POINT_COLUMNS = 5 };

static void read_point(struct record_sweep *sweep, struct record_point *point, sqlite3_stmt *stmt)
{
    int at = 0;
    point->point_id = sqlite3_column_int64(stmt, at++);
    base_copy(point->hash, sizeof point->hash, store_read_text(&sweep->arena, stmt, at++));
    point->run_id = sqlite3_column_int64(stmt, at++);
    point->status = record_point_status_find(store_read_text(&sweep->arena, stmt, at++));
    point->reason = store_read_text(&sweep->arena, stmt, at++);
    base_assert(at == POINT_COLUMNS);
    for (size_t i = 0; i < RECORD_AXES_MAX; i++)
        point->values[i] = store_read_text(&sweep->arena, stmt, at++);
    // The run's columns by name: an older database may lack some.
    for (; at < sqlite3_column_count(stmt); at++) {
        enum record_summary column = record_summary_find(sqlite3_column_name(stmt, at));
        if (column < RECORD_SUMMARY_COUNT)
            point->summary[column] =
                store_read_value(&sweep->arena, stmt, at, record_summary_columns[column].kind);
    }
}

static enum kvsim_status prepare_points(struct store *store, sqlite3_stmt **stmt,
                                        struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "SELECT point_id, sweep_point.scenario_hash, sweep_point.run_id, "
                        "sweep_point.status, reason");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(&sql, ", value_%d", i);
    base_text_add(&sql, ", run.* FROM sweep_point LEFT JOIN run ON run.run_id = sweep_point.run_id "
                        "WHERE sweep_id = ? ORDER BY point_id");
    enum kvsim_status status = store_prepare(store, sql.at, stmt, err);
    base_text_free(&sql);
    return status;
}

static enum kvsim_status count_points(struct store *store, const char *sweep_id, int64_t *count,
                                      struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    enum kvsim_status status =
        store_prepare(store, "SELECT count(*) FROM sweep_point WHERE sweep_id = ?", &stmt, err);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_text(stmt, 1, sweep_id, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    *count = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    if (rc != SQLITE_ROW)
        status = store_fail(store, rc, err, "read the sweep");
    sqlite3_finalize(stmt);
    return status;
}

static enum kvsim_status load_points(struct store *store, struct record_sweep *out,
                                     struct kvsim_error *err)
{
    int64_t count = 0;
    sqlite3_stmt *stmt;
    enum kvsim_status status = count_points(store, out->sweep_id, &count, err);
    if (status == KVSIM_OK)
        status = prepare_points(store, &stmt, err);
    if (status != KVSIM_OK)
        return status;
    size_t total_count = out->total_count;
    record_sweep_make_points(out, (size_t)count);
    out->total_count = total_count;
    sqlite3_bind_text(stmt, 1, out->sweep_id, -1, SQLITE_STATIC);
    int rc;
    size_t at = 0;
    // A point that was decided since the count is left to the next call.
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && at < (size_t)count)
        read_point(out, &out->points[at++], stmt);
    out->point_count = at;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "read the sweep");
    sqlite3_finalize(stmt);
    return status;
}

enum kvsim_status store_load_sweep(struct store *store, const char *sweep_id,
                                   struct record_sweep *out, bool *found, struct kvsim_error *err)
{
    bool is_empty, is_there = false;
    enum kvsim_status status = connect_to_sweeps(store, &is_empty, err);
    base_copy(out->sweep_id, sizeof out->sweep_id, sweep_id);
    if (status == KVSIM_OK && !is_empty)
        status = load_head(store, out, &is_there, err);
    if (status == KVSIM_OK && is_there)
        status = load_points(store, out, err);
    if (found != NULL)
        *found = is_there;
    return status;
}

enum kvsim_status store_list_sweeps(struct store *store, struct base_arena *arena,
                                    struct store_sweep_entry **out, size_t *count,
                                    struct kvsim_error *err)
{
    bool is_empty;
    *out = NULL;
    *count = 0;
    int64_t sweep_count = 0;
    sqlite3_stmt *stmt;
    enum kvsim_status status = connect_to_sweeps(store, &is_empty, err);
    if (status != KVSIM_OK || is_empty)
        return status;
    status = store_query_int(store, "SELECT count(*) FROM sweep", &sweep_count, err);
    if (status == KVSIM_OK)
        status = store_prepare(
            store,
            "SELECT sweep_id, scenario, points, count(point_id), coalesce(min(run_id), 0) AS first "
            "FROM sweep LEFT JOIN sweep_point USING (sweep_id) GROUP BY sweep_id "
            "ORDER BY first, sweep_id",
            &stmt, err);
    if (status != KVSIM_OK)
        return status;
    *out = base_arena_array(arena, (size_t)sweep_count, sizeof **out);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && *count < (size_t)sweep_count) {
        (*out)[(*count)++] = (struct store_sweep_entry){
            .sweep_id = store_read_text(arena, stmt, 0),
            .scenario = store_read_text(arena, stmt, 1),
            .point_count = sqlite3_column_int64(stmt, 2),
            .decided_count = sqlite3_column_int64(stmt, 3),
            .first_run_id = sqlite3_column_int64(stmt, 4),
        };
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "list the sweeps");
    sqlite3_finalize(stmt);
    return status;
}
