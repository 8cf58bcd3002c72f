#include "store/store_int.h"

#include <math.h>
#include <string.h>

static void keep(struct store_insert *insert, int rc)
{
    if (insert->rc == SQLITE_OK && rc != SQLITE_OK)
        insert->rc = rc;
    insert->next++;
}

void store_insert_null(struct store_insert *insert)
{
    keep(insert, sqlite3_bind_null(insert->stmt, insert->next));
}

void store_insert_integer(struct store_insert *insert, int64_t value)
{
    keep(insert, sqlite3_bind_int64(insert->stmt, insert->next, value));
}

void store_insert_real(struct store_insert *insert, double value)
{
    if (isnan(value))
        store_insert_null(insert);
    else
        keep(insert, sqlite3_bind_double(insert->stmt, insert->next, value));
}

/* The text must live until the row is written. */
void store_insert_text(struct store_insert *insert, const char *value)
{
    keep(insert, sqlite3_bind_text(insert->stmt, insert->next, value == NULL ? "" : value, -1,
                                   SQLITE_STATIC));
}

void store_insert_row(struct store_insert *insert)
{
    if (insert->rc == SQLITE_OK) {
        int rc = sqlite3_step(insert->stmt);
        if (rc != SQLITE_DONE)
            insert->rc = rc;
    }
    int rc = sqlite3_reset(insert->stmt);
    if (insert->rc == SQLITE_OK)
        insert->rc = rc;
    insert->next = 1;
}

/* "?, ?, ?)" for as many names as the text before it has. */
static void add_parameters(struct base_text *sql)
{
    size_t count = 1;
    for (const char *c = strchr(sql->at, '('); *c != '\0'; c++)
        count += *c == ',';
    base_text_add(sql, ") VALUES (?");
    for (size_t i = 1; i < count; i++)
        base_text_add(sql, ", ?");
    base_text_add(sql, ")");
}

enum kvsim_status store_insert_begin(struct store *store, struct store_insert *insert,
                                     struct base_text *sql, struct kvsim_error *err)
{
    *insert = (struct store_insert){.next = 1};
    add_parameters(sql);
    enum kvsim_status status = store_prepare(store, sql->at, &insert->stmt, err);
    base_text_free(sql);
    return status;
}

enum kvsim_status store_insert_end(struct store *store, struct store_insert *insert,
                                   struct kvsim_error *err)
{
    int rc = insert->rc;
    enum kvsim_status status =
        rc == SQLITE_OK ? KVSIM_OK : store_fail(store, rc, err, "store the run");
    sqlite3_finalize(insert->stmt);
    return status;
}

void store_insert_value(struct store_insert *insert, const struct record_value *value)
{
    switch (value->kind) {
    case RECORD_INTEGER:
        store_insert_integer(insert, value->integer);
        break;
    case RECORD_REAL:
        store_insert_real(insert, value->real);
        break;
    case RECORD_TEXT:
        store_insert_text(insert, value->text);
        break;
    case RECORD_NULL:
    default:
        store_insert_null(insert);
    }
}

static enum kvsim_status write_summary(struct store *store, const struct record_run *run,
                                       int64_t run_id, struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT INTO run (run_id");
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        base_text_printf(&sql, ", %s", record_summary_columns[i].name);
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    store_insert_integer(&insert, run_id);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        store_insert_value(&insert, &run->summary[i]);
    store_insert_row(&insert);
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status write_host(struct store *store, const struct record_run *run,
                                    int64_t run_id, struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT INTO run_host (run_id, created_at, wall_s, host, jobs");
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    store_insert_integer(&insert, run_id);
    store_insert_text(&insert, run->created_at);
    store_insert_real(&insert, run->wall_s);
    store_insert_text(&insert, run->host);
    store_insert_integer(&insert, run->jobs);
    store_insert_row(&insert);
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status write_scenario(struct store *store, const struct record_run *run,
                                        int64_t run_id, struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT INTO run_scenario (run_id, yaml");
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    store_insert_integer(&insert, run_id);
    store_insert_text(&insert, run->scenario_yaml);
    store_insert_row(&insert);
    return store_insert_end(store, &insert, err);
}

/* Members are read by memcpy: their addresses are computed, not typed. */
static int64_t read_int64(const char *from)
{
    int64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static void put_column(struct store_insert *insert, enum store_column_type type, const char *from)
{
    switch (type) {
    case STORE_INT64:
        store_insert_integer(insert, read_int64(from));
        break;
    case STORE_OPTIONAL:
        if (read_int64(from) < 0)
            store_insert_null(insert);
        else
            store_insert_integer(insert, read_int64(from));
        break;
    case STORE_UINT32: {
        uint32_t value;
        memcpy(&value, from, sizeof value);
        store_insert_integer(insert, value);
        break;
    }
    case STORE_REAL: {
        double value;
        memcpy(&value, from, sizeof value);
        store_insert_real(insert, value);
        break;
    }
    case STORE_TEXT: {
        const char *value;
        memcpy(&value, from, sizeof value);
        store_insert_text(insert, value);
        break;
    }
    case STORE_BOOL: {
        bool value;
        memcpy(&value, from, sizeof value);
        store_insert_integer(insert, value ? 1 : 0);
        break;
    }
    case STORE_OUTCOME: {
        enum record_outcome value;
        memcpy(&value, from, sizeof value);
        store_insert_text(insert, record_outcome_name(value));
        break;
    }
    case STORE_FINISH: {
        enum record_finish value;
        memcpy(&value, from, sizeof value);
        store_insert_text(insert, record_finish_name(value));
        break;
    }
    }
}

static void put_item(struct store_insert *insert, const struct store_table *table, const char *item)
{
    for (const struct store_column *column = table->columns; !store_column_is_last(column);
         column++) {
        for (size_t element = 0; element < store_column_element_count(column); element++)
            put_column(insert, column->type, item + column->offset + element * sizeof(int64_t));
    }
}

static enum kvsim_status write_list(struct store *store, const struct store_table *table,
                                    const struct record_run *run, int64_t run_id,
                                    struct kvsim_error *err)
{
    struct store_list list, replications = {0};
    memcpy(&list, (const char *)run + table->list_offset, sizeof list);
    if (table->replications_offset != 0) {
        memcpy(&replications, (const char *)run + table->replications_offset, sizeof replications);
        base_require(replications.count == list.count);
    }
    if (list.count == 0)
        return KVSIM_OK;

    struct base_text sql = {0};
    base_text_printf(&sql, "INSERT INTO %s (run_id", table->name);
    store_table_add_names(&sql, table);
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    const uint32_t *replication = replications.at;
    for (size_t i = 0; i < list.count && insert.rc == SQLITE_OK; i++) {
        store_insert_integer(&insert, run_id);
        if (store_table_has_position(table))
            store_insert_integer(&insert, (int64_t)i + 1);
        if (replication != NULL)
            store_insert_integer(&insert, replication[i]);
        put_item(&insert, table, (const char *)list.at + i * table->item_bytes);
        store_insert_row(&insert);
    }
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status write_rows(struct store *store, const struct record_run *run,
                                    int64_t run_id, struct kvsim_error *err)
{
    enum kvsim_status status = write_summary(store, run, run_id, err);
    if (status == KVSIM_OK)
        status = write_host(store, run, run_id, err);
    if (status == KVSIM_OK)
        status = write_scenario(store, run, run_id, err);
    for (size_t i = 0; i < store_table_count && status == KVSIM_OK; i++)
        status = write_list(store, &store_tables[i], run, run_id, err);
    return status;
}

/*
 * Opens the transaction that will hold the run. In a file without a schema yet, the schema is part of the same
 * transaction, so that a first run that cannot be stored leaves an empty file, which is removed. A page of it must not
 * reach the file before the commit either: the file's first bytes tell the next kvsim whose it is.
 */
static enum kvsim_status begin_write(struct store *store, struct kvsim_error *err)
{
    int64_t table_count = 0;
    enum kvsim_status status =
        store_query_int(store, "SELECT count(*) FROM sqlite_schema", &table_count, err);
    if (status == KVSIM_OK && table_count == 0)
        status = store_exec(store, "PRAGMA cache_spill = OFF", err);
    if (status == KVSIM_OK)
        status = store_exec(store, "BEGIN IMMEDIATE", err);
    // Another kvsim may have made the schema while this one waited for the lock.
    if (status == KVSIM_OK)
        status = store_query_int(store, "SELECT count(*) FROM sqlite_schema", &table_count, err);
    if (status != KVSIM_OK)
        return status;
    return table_count == 0 ? store_schema_create(store, err) : store_schema_migrate(store, err);
}

// Within a transaction: the run gets the next id, and all its rows.
static enum kvsim_status add_run(struct store *store, struct record_run *run,
                                 struct kvsim_error *err)
{
    int64_t run_id = 0;
    enum kvsim_status status =
        store_query_int(store, "SELECT coalesce(max(run_id), 0) + 1 FROM run", &run_id, err);
    if (status == KVSIM_OK)
        status = write_rows(store, run, run_id, err);
    if (status == KVSIM_OK)
        run->run_id = run_id;
    return status;
}

enum kvsim_status store_add_run_once(struct store *store, struct record_run *run, bool *was_there,
                                     struct kvsim_error *err)
{
    int64_t run_id = 0;
    enum kvsim_status status =
        store_find_run(store, record_get_text(run, RECORD_SCENARIO_HASH),
                       record_get_text(run, RECORD_KVSIM_VERSION), &run_id, err);
    *was_there = status == KVSIM_OK && run_id > 0;
    if (*was_there)
        run->run_id = run_id;
    return status != KVSIM_OK || *was_there ? status : add_run(store, run, err);
}

enum kvsim_status store_transact(struct store *store, store_write_body *body, void *context,
                                 struct kvsim_error *err)
{
    base_require(store->mode == STORE_WRITE);
    if (store->is_copy)
        store_disconnect(
            store); // what was read stays as it was; the file itself is brought up to date
    enum kvsim_status status = store_connect(store, err);
    if (status != KVSIM_OK)
        return status;

    status = begin_write(store, err);
    if (status == KVSIM_OK)
        status = body(store, context, err);
    if (status == KVSIM_OK)
        status = store_exec(store, "COMMIT", err);
    if (status != KVSIM_OK) {
        // SQLite has rolled back by itself after some failures; then this one is refused, harmlessly.
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        store_disconnect(store);
        store_remove_made(store);
        return status;
    }
    store->made_file = false;
    store->made_folders = 0;
    // Others can read while we write from now on. Where the file system knows no shared memory, or another program
    // holds the file just now, the journal stays as it is: slower, not wrong.
    sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    return KVSIM_OK;
}

struct write_runs {
    struct record_run *const *runs;
    size_t count;
    store_before_commit *before_commit;
    void *context;
};

/* Writes what the transaction holds, so that a disk without room for it is known before anything is said of it. Nothing of a
 * file that is new (see begin_write()). */
static enum kvsim_status flush(struct store *store, struct kvsim_error *err)
{
    int rc = sqlite3_db_cacheflush(store->db);
    return rc == SQLITE_OK ? KVSIM_OK : store_fail(store, rc, err, "use the database");
}

static enum kvsim_status write_runs(struct store *store, void *context, struct kvsim_error *err)
{
    const struct write_runs *write = context;
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < write->count && status == KVSIM_OK; i++)
        status = add_run(store, write->runs[i], err);
    if (status == KVSIM_OK && write->before_commit != NULL)
        status = flush(store, err);
    if (status == KVSIM_OK && write->before_commit != NULL)
        status = write->before_commit(write->context, err);
    return status;
}

enum kvsim_status store_write_runs(struct store *store, struct record_run *const *runs,
                                   size_t count, store_before_commit *before_commit, void *context,
                                   struct kvsim_error *err)
{
    struct write_runs write = {runs, count, before_commit, context};
    enum kvsim_status status = store_transact(store, write_runs, &write, err);
    for (size_t i = 0; i < count && status != KVSIM_OK; i++)
        runs[i]->run_id = 0;
    return status;
}

enum kvsim_status store_write_run(struct store *store, struct record_run *run,
                                  struct kvsim_error *err)
{
    return store_write_runs(store, &run, 1, NULL, NULL, err);
}

struct keep_run {
    struct record_run *run;
    bool was_there;
};

static enum kvsim_status keep_run(struct store *store, void *context, struct kvsim_error *err)
{
    struct keep_run *keep = context;
    return store_add_run_once(store, keep->run, &keep->was_there, err);
}

enum kvsim_status store_keep_run(struct store *store, struct record_run *run, bool *was_there,
                                 struct kvsim_error *err)
{
    struct keep_run keep = {.run = run};
    enum kvsim_status status = store_transact(store, keep_run, &keep, err);
    if (status != KVSIM_OK)
        run->run_id = 0;
    if (was_there != NULL)
        *was_there = keep.was_there;
    return status;
}
