#include "store/store_int.h"

#include <math.h>
#include <string.h>

const char *store_read_text(struct base_arena *arena, sqlite3_stmt *stmt, int column)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return text == NULL ? "" : base_arena_copy(arena, (const char *)text);
}

/*
 * Connects to what is there; asking must not make a database. *is_empty: there is none, or one that kvsim has begun but
 * not finished, as after a crash.
 */
enum kvsim_status store_connect_to_read(struct store *store, bool *is_empty,
                                        struct kvsim_error *err)
{
    *is_empty = true;
    if (store->db == NULL && store_is_absent(store))
        return KVSIM_OK;
    int64_t table_count = 0;
    enum kvsim_status status = store_connect(store, err);
    if (status == KVSIM_OK)
        status = store_query_int(store, "SELECT count(*) FROM sqlite_schema", &table_count, err);
    *is_empty = table_count == 0;
    return status;
}

enum kvsim_status store_list_runs(struct store *store, struct base_arena *arena,
                                  struct store_entry **out, size_t *count, struct kvsim_error *err)
{
    *out = NULL;
    *count = 0;
    bool is_empty;
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_connect_to_read(store, &is_empty, err);
    if (status != KVSIM_OK || is_empty)
        return status;
    int64_t run_count;
    status = store_query_int(store, "SELECT count(*) FROM run", &run_count, err);
    if (status == KVSIM_OK)
        status = store_prepare(store,
                               "SELECT run_id, created_at, scenario, model, hardware, engine, "
                               "status, coalesce(slo_met, -1) FROM run_summary ORDER BY run_id",
                               &stmt, err);
    if (status != KVSIM_OK)
        return status;
    *out = base_arena_array(arena, (size_t)run_count, sizeof **out);
    int rc;
    // A run that was added since the count is left to the next call.
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && *count < (size_t)run_count) {
        (*out)[(*count)++] = (struct store_entry){
            .run_id = sqlite3_column_int64(stmt, 0),
            .created_at = store_read_text(arena, stmt, 1),
            .scenario = store_read_text(arena, stmt, 2),
            .model = store_read_text(arena, stmt, 3),
            .hardware = store_read_text(arena, stmt, 4),
            .engine = store_read_text(arena, stmt, 5),
            .status = store_read_text(arena, stmt, 6),
            .slo_met = sqlite3_column_int64(stmt, 7),
        };
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "list the runs");
    sqlite3_finalize(stmt);
    return status;
}

struct record_value store_read_value(struct base_arena *arena, sqlite3_stmt *stmt, int column,
                                     enum record_kind kind)
{
    struct record_value value = {.kind = kind};
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return (struct record_value){.kind = RECORD_NULL};
    if (kind == RECORD_INTEGER)
        value.integer = sqlite3_column_int64(stmt, column);
    else if (kind == RECORD_REAL)
        value.real = sqlite3_column_double(stmt, column);
    else
        value.text = store_read_text(arena, stmt, column);
    return value;
}

/* Columns are found by their names, since an older database may lack some. */
static void read_summary_row(struct record_run *run, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *name = sqlite3_column_name(stmt, i);
        enum record_summary at = record_summary_find(name);
        if (at < RECORD_SUMMARY_COUNT)
            run->summary[at] =
                store_read_value(&run->arena, stmt, i, record_summary_columns[at].kind);
        else if (strcmp(name, "run_id") == 0)
            run->run_id = sqlite3_column_int64(stmt, i);
        else if (strcmp(name, "created_at") == 0)
            run->created_at = store_read_text(&run->arena, stmt, i);
        else if (strcmp(name, "wall_s") == 0)
            run->wall_s = sqlite3_column_double(stmt, i);
        else if (strcmp(name, "host") == 0)
            run->host = store_read_text(&run->arena, stmt, i);
        else if (strcmp(name, "jobs") == 0)
            run->jobs = sqlite3_column_int64(stmt, i);
        else if (strcmp(name, "yaml") == 0)
            run->scenario_yaml = store_read_text(&run->arena, stmt, i);
    }
}

static enum kvsim_status load_summary(struct store *store, int64_t run_id, struct record_run *run,
                                      struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_prepare(
        store,
        "SELECT run_summary.*, host, jobs, yaml FROM run_summary LEFT JOIN run_host USING (run_id) "
        "LEFT JOIN run_scenario USING (run_id) WHERE run_id = ?",
        &stmt, err);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, run_id);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        read_summary_row(run, stmt);
    } else if (rc == SQLITE_DONE) {
        status = base_fail(err, KVSIM_ERR_IO, "there is no run %lld", (long long)run_id);
        base_error_at(err, store->path, 0, 0);
        base_error_hint(err, "'kvsim list runs' shows what is there");
    } else {
        status = store_fail(store, rc, err, "read the run");
    }
    sqlite3_finalize(stmt);
    return status;
}

static enum record_outcome find_outcome(const char *name)
{
    int outcome = 0;
    while (outcome < RECORD_OUTCOME_COUNT - 1 &&
           strcmp(record_outcome_name((enum record_outcome)outcome), name) != 0)
        outcome++;
    return (enum record_outcome)outcome;
}

static enum record_finish find_finish(const char *name)
{
    int reason = RECORD_FINISH_NONE;
    while (reason < RECORD_FINISH_ABORT &&
           strcmp(record_finish_name((enum record_finish)reason), name) != 0)
        reason++;
    return (enum record_finish)reason;
}

static void read_column(struct base_arena *arena, sqlite3_stmt *stmt, int at,
                        enum store_column_type type, char *to)
{
    bool is_null = sqlite3_column_type(stmt, at) == SQLITE_NULL;
    switch (type) {
    case STORE_INT64:
    case STORE_OPTIONAL: {
        int64_t value = is_null ? -1 : sqlite3_column_int64(stmt, at);
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_UINT32: {
        uint32_t value = (uint32_t)sqlite3_column_int64(stmt, at);
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_REAL: {
        double value = is_null ? (double)NAN : sqlite3_column_double(stmt, at);
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_TEXT: {
        const char *value = store_read_text(arena, stmt, at);
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_BOOL: {
        bool value = sqlite3_column_int(stmt, at) != 0;
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_OUTCOME: {
        enum record_outcome value = find_outcome(store_read_text(arena, stmt, at));
        memcpy(to, &value, sizeof value);
        break;
    }
    case STORE_FINISH: {
        enum record_finish value = find_finish(store_read_text(arena, stmt, at));
        memcpy(to, &value, sizeof value);
        break;
    }
    }
}

static void read_item(struct base_arena *arena, sqlite3_stmt *stmt, int at,
                      const struct store_table *table, char *item)
{
    for (const struct store_column *column = table->columns; !store_column_is_last(column);
         column++) {
        for (size_t element = 0; element < store_column_element_count(column); element++)
            read_column(arena, stmt, at++, column->type,
                        item + column->offset + element * sizeof(int64_t));
    }
}

/* Room for one item more; returns where it goes. */
static void *grow_list(struct record_run *run, size_t list_offset, size_t item_bytes)
{
    struct store_list list;
    memcpy(&list, (const char *)run + list_offset, sizeof list);
    if (list.count == list.capacity)
        list.at = base_vec_grow(list.at, &list.capacity, list.count + 1, item_bytes);
    void *item = (char *)list.at + list.count * item_bytes;
    memset(item, 0, item_bytes);
    list.count++;
    memcpy((char *)run + list_offset, &list, sizeof list);
    return item;
}

static void read_list_row(struct record_run *run, const struct store_table *table,
                          sqlite3_stmt *stmt)
{
    int first = 1; // run_id stands before
    if (store_table_has_position(table))
        first++;
    if (table->replications_offset != 0) {
        uint32_t *replication = grow_list(run, table->replications_offset, sizeof *replication);
        *replication = (uint32_t)sqlite3_column_int64(stmt, first++);
    }
    char *item = grow_list(run, table->list_offset, table->item_bytes);
    read_item(&run->arena, stmt, first, table, item);
}

static enum kvsim_status load_list(struct store *store, const struct store_table *table,
                                   struct record_run *run, struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "SELECT run_id");
    store_table_add_names(&sql, table);
    base_text_printf(&sql, " FROM %s WHERE run_id = ? ORDER BY %s", table->name, table->key);
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_prepare(store, sql.at, &stmt, err);
    base_text_free(&sql);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, run->run_id);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        read_list_row(run, table, stmt);
    if (rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "read the run");
    sqlite3_finalize(stmt);
    return status;
}

enum kvsim_status store_load_summary(struct store *store, int64_t run_id, struct record_run *run,
                                     struct kvsim_error *err)
{
    bool is_empty;
    enum kvsim_status status = store_connect_to_read(store, &is_empty, err);
    if (status == KVSIM_OK && is_empty) {
        status = base_fail(err, KVSIM_ERR_IO, "the database holds no run");
        base_error_at(err, store->path, 0, 0);
    }
    return status == KVSIM_OK ? load_summary(store, run_id, run, err) : status;
}

enum kvsim_status store_load_run(struct store *store, int64_t run_id, struct record_run *run,
                                 struct kvsim_error *err)
{
    bool is_empty;
    enum kvsim_status status = store_connect_to_read(store, &is_empty, err);
    if (status == KVSIM_OK && !is_empty)
        status = store_connect_as_new(store, err);
    if (status == KVSIM_OK)
        status = store_load_summary(store, run_id, run, err);
    for (size_t i = 0; i < store_table_count && status == KVSIM_OK; i++)
        status = load_list(store, &store_tables[i], run, err);
    return status;
}

enum kvsim_status store_find_run(struct store *store, const char *scenario_hash,
                                 const char *kvsim_version, int64_t *run_id,
                                 struct kvsim_error *err)
{
    *run_id = 0;
    bool is_empty;
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_connect_to_read(store, &is_empty, err);
    if (status != KVSIM_OK || is_empty)
        return status;
    status = store_prepare(
        store, "SELECT min(run_id) FROM run WHERE scenario_hash = ? AND kvsim_version = ?", &stmt,
        err);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_text(stmt, 1, scenario_hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, kvsim_version, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *run_id = sqlite3_column_int64(stmt, 0);
    else
        status = store_fail(store, rc, err, "look for a run");
    sqlite3_finalize(stmt);
    return status;
}
