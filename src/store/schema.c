/*
 * Tables are generated: `run` from record_summary_columns, the lists of a run from store_tables. Views are written out
 * where they are more than a table under its public name.
 *
 * STRICT tables refuse a value of the wrong type; WITHOUT ROWID ones lie in the order of their keys, which makes a dump
 * independent of the order of insertion.
 */
#include "store/store_int.h"

#include <string.h>

static const char *kind_name(enum record_kind kind)
{
    switch (kind) {
    case RECORD_INTEGER:
        return "INTEGER";
    case RECORD_REAL:
        return "REAL";
    default:
        return "TEXT";
    }
}

static const char *column_definition(enum store_column_type type)
{
    switch (type) {
    case STORE_OPTIONAL:
        return "INTEGER";
    case STORE_REAL:
        return "REAL";
    case STORE_TEXT:
    case STORE_OUTCOME:
    case STORE_FINISH:
        return "TEXT NOT NULL";
    case STORE_BOOL:
    case STORE_INT64:
    case STORE_UINT32:
    default:
        return "INTEGER NOT NULL";
    }
}

static void add_run_table(struct base_text *sql)
{
    base_text_add(sql, "CREATE TABLE run (\n  run_id INTEGER PRIMARY KEY");
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        base_text_printf(sql, ",\n  %s %s", record_summary_columns[i].name,
                         kind_name(record_summary_columns[i].kind));
    base_text_add(sql, "\n) STRICT;\n"
                       "CREATE INDEX run_by_hash ON run (scenario_hash, kvsim_version);\n"
                       "CREATE TABLE run_host (\n"
                       "  run_id INTEGER PRIMARY KEY REFERENCES run,\n"
                       "  created_at TEXT NOT NULL,\n"
                       "  wall_s REAL,\n"
                       "  host TEXT NOT NULL,\n"
                       "  jobs INTEGER NOT NULL\n"
                       ") STRICT;\n"
                       "CREATE TABLE run_scenario (\n"
                       "  run_id INTEGER PRIMARY KEY REFERENCES run,\n"
                       "  yaml TEXT NOT NULL\n"
                       ") STRICT;\n");
}

static void add_list_table(struct base_text *sql, const struct store_table *table)
{
    base_text_printf(sql, "CREATE TABLE %s (\n  run_id INTEGER NOT NULL REFERENCES run",
                     table->name);
    if (store_table_has_position(table))
        base_text_add(sql, ",\n  position INTEGER NOT NULL");
    if (table->replications_offset != 0)
        base_text_add(sql, ",\n  replication INTEGER NOT NULL");
    for (const struct store_column *column = table->columns; !store_column_is_last(column);
         column++) {
        for (size_t element = 0; element < store_column_element_count(column); element++) {
            base_text_add(sql, ",\n  ");
            store_column_add_name(sql, column, element);
            base_text_printf(sql, " %s", column_definition(column->type));
        }
    }
    base_text_printf(sql, ",\n  PRIMARY KEY (run_id, %s)\n) STRICT, WITHOUT ROWID;\n", table->key);
}

/* Begins a view that may be there in an older form. */
static void begin_view(struct base_text *sql, const char *name)
{
    base_text_printf(sql, "DROP VIEW IF EXISTS %s;\nCREATE VIEW %s AS SELECT ", name, name);
}

static void add_summary_view(struct base_text *sql)
{
    begin_view(sql, "run_summary");
    base_text_add(sql, "run.run_id, run_host.created_at");
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        base_text_printf(sql, ", run.%s", record_summary_columns[i].name);
    base_text_add(sql, ", run_host.wall_s FROM run LEFT JOIN run_host USING (run_id);\n");
}

static void add_request_view(struct base_text *sql)
{
    begin_view(sql, "request_detail");
    base_text_add(sql, "run_id, replication, request_id, class, replica, "
                       "arrival_ns / 1e6 AS arrival_ms, prompt_tokens, output_tokens, "
                       "cached_tokens, cached_tokens_total, computed_tokens, recomputed_tokens, "
                       "queue_ns / 1e6 AS queue_ms, ttft_ns / 1e6 AS ttft_ms, "
                       "tpot_ns / 1e6 AS tpot_ms, e2e_ns / 1e6 AS e2e_ms, "
                       "finish_ns / 1e6 AS finish_ms, preemptions, outcome, finish_reason, "
                       "counted, good");
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        const char *name = record_cause_name((enum record_cause)i);
        base_text_printf(sql, ", %s_ns / 1e6 AS %s_ms", name, name);
    }
    base_text_add(sql, " FROM request;\n");
}

static void add_timeline_view(struct base_text *sql)
{
    begin_view(sql, "timeline");
    base_text_add(sql, "run_id, replication, replica, t_ns / 1e6 AS t_ms, running, waiting, "
                       "kv_usage, prompt_throughput, output_throughput");
    for (size_t i = 0; i < RECORD_LEDGER_LINES; i++)
        base_text_printf(sql, ", %s_bytes AS %s", record_ledger_name(i), record_ledger_name(i));
    base_text_add(sql, ", ");
    for (size_t i = 0; i < RECORD_LEDGER_SHARED; i++)
        base_text_printf(sql, "%s%s_bytes", i == 0 ? "" : " + ", record_ledger_name(i));
    base_text_printf(sql, " - %s_bytes AS allocated FROM sample;\n",
                     record_ledger_name(RECORD_LEDGER_SHARED));
}

struct view {
    const char *name, *body;
};

/* A list's table without its position, under its public name. */
static const struct view plain_views[] = {
    {"run_metric", "run_id, name, statistic, class, unit, value, ci_low, ci_high, n, method, "
                   "claim, basis FROM metric"},
    {"run_metric_by",
     "run_id, substr(class, 1, instr(class, ':') - 1) AS dimension, "
     "substr(class, instr(class, ':') + 1) AS group_name, "
     "name, statistic, unit, value, ci_low, ci_high, n FROM metric_by "
     "UNION ALL "
     "SELECT run_id, 'class', class, name, statistic, unit, value, ci_low, ci_high, n FROM metric "
     "WHERE class <> '' AND NOT EXISTS (SELECT 1 FROM metric_by AS other "
     "WHERE other.run_id = metric.run_id AND other.class = 'class:' || metric.class "
     "AND other.name = metric.name AND other.statistic = metric.statistic)"},
    {"replication_metric",
     "run_id, replication, name, statistic, class, value, n FROM metric_replication"},
    {"run_ledger", "run_id, replica, at, component, bytes, tokens, claim FROM ledger"},
    {"run_waterfall", "run_id, line, bytes_per_gpu, claim, source FROM waterfall"},
    {"run_limit", "run_id, kind, phase, name, share FROM limit_share"},
    {"run_tier", "run_id, tier, capacity_bytes, hit_tokens, queried_tokens, hit_rate, hit_blocks, "
                 "bytes_in, bytes_out, link_busy, read_busy, write_busy, evicted, refused_stores, "
                 "held_bytes, read_wait_ms, write_wait_ms, claim FROM tier"},
    {"run_tail", "run_id, metric, cause, share, ms FROM tail_share"},
    {"run_caveat", "run_id, code, text FROM caveat"},
    {"run_param", "run_id, key, value, unit, origin, claim, source FROM param"},
    {"run_slo", "run_id, text FROM slo"},
};

static void add_views(struct base_text *sql)
{
    add_summary_view(sql);
    for (size_t i = 0; i < sizeof plain_views / sizeof *plain_views; i++) {
        begin_view(sql, plain_views[i].name);
        base_text_printf(sql, "%s;\n", plain_views[i].body);
    }
    add_request_view(sql);
    add_timeline_view(sql);
    store_sweep_add_views(sql);
    store_validation_add_views(sql);
}

static void add_version(struct base_text *sql)
{
    base_text_printf(sql, "PRAGMA application_id = %d;\nPRAGMA user_version = %d;\n",
                     (int)STORE_APPLICATION_ID, (int)STORE_SCHEMA_VERSION);
}

enum kvsim_status store_schema_create(struct store *store, struct kvsim_error *err)
{
    struct base_text sql = {0};
    add_run_table(&sql);
    for (size_t i = 0; i < store_table_count; i++)
        add_list_table(&sql, &store_tables[i]);
    store_sweep_add_tables(&sql);
    store_validation_add_tables(&sql);
    add_views(&sql);
    add_version(&sql);
    enum kvsim_status status = store_exec(store, sql.at, err);
    base_text_free(&sql);
    return status;
}

/* Collects in `sql` the columns that `run` lacks; an older kvsim knew fewer figures. */
static enum kvsim_status add_missing_columns(struct store *store, struct base_text *sql,
                                             struct kvsim_error *err)
{
    bool is_there[RECORD_SUMMARY_COUNT] = {false};
    sqlite3_stmt *stmt;
    enum kvsim_status status =
        store_prepare(store, "SELECT name FROM pragma_table_info('run')", &stmt, err);
    if (status != KVSIM_OK)
        return status;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        enum record_summary at = record_summary_find((const char *)sqlite3_column_text(stmt, 0));
        if (at < RECORD_SUMMARY_COUNT)
            is_there[at] = true;
    }
    if (rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "read the schema");
    sqlite3_finalize(stmt);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (!is_there[i])
            base_text_printf(sql, "ALTER TABLE run ADD COLUMN %s %s;\n",
                             record_summary_columns[i].name,
                             kind_name(record_summary_columns[i].kind));
    }
    return status;
}

static void add_tier_table(struct base_text *sql)
{
    base_text_add(sql, "CREATE TABLE tier (run_id INTEGER NOT NULL REFERENCES run, "
                       "position INTEGER NOT NULL, tier TEXT NOT NULL, capacity_bytes REAL, "
                       "hit_tokens REAL, queried_tokens REAL, hit_rate REAL, hit_blocks REAL, "
                       "bytes_in REAL, bytes_out REAL, link_busy REAL, read_busy REAL, "
                       "write_busy REAL, evicted REAL, refused_stores REAL, claim TEXT NOT NULL, "
                       "PRIMARY KEY (run_id, position)) STRICT, WITHOUT ROWID;\n");
}

static void add_tier_columns(struct base_text *sql)
{
    static const char *const names[] = {"held_bytes", "read_wait_ms", "write_wait_ms"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        base_text_printf(sql, "ALTER TABLE tier ADD COLUMN %s REAL;\n", names[i]);
}

/* What leads from a version to the next one; row v - 1 leads from v. */
static void (*const migrations[STORE_SCHEMA_VERSION - 1])(struct base_text *sql) = {
    store_sweep_add_tables,      /* 1 had runs only */
    store_validation_add_tables, /* 2 had no validations */
    add_tier_table,              /* 3 had no tiers */
    add_tier_columns,            /* 4 did not know how full they are, and who waits for a link */
};

enum kvsim_status store_schema_migrate(struct store *store, struct kvsim_error *err)
{
    int64_t version = 0;
    enum kvsim_status status = store_query_int(store, "PRAGMA user_version", &version, err);
    if (status != KVSIM_OK)
        return status;
    if (version < 1)
        return base_fail(err, KVSIM_ERR_IO, "the database has no schema version");

    struct base_text changes = {0};
    for (int64_t v = version; v < STORE_SCHEMA_VERSION; v++)
        migrations[v - 1](&changes);
    status = add_missing_columns(store, &changes, err);
    if (status == KVSIM_OK && changes.count > 0) {
        add_views(&changes);
        add_version(&changes);
        status = store_exec(store, changes.at, err);
    }
    base_text_free(&changes);
    return status;
}
