/*
 * No moment is stored: what the machine or the moment decides has one place, and a validation follows from the program
 * and its cases alone. Ids order them.
 */
#include "store/validation.h"
#include "store/store_int.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

/* ---- schema ---- */

void store_validation_add_tables(struct base_text *sql)
{
    base_text_add(sql, "CREATE TABLE validation (\n  validation_id INTEGER PRIMARY KEY,\n"
                       "  kvsim_version TEXT NOT NULL,\n  fingerprint TEXT NOT NULL,\n"
                       "  within_bounds INTEGER NOT NULL\n) STRICT;\n"
                       "CREATE TABLE validation_group (\n"
                       "  validation_id INTEGER NOT NULL REFERENCES validation,\n"
                       "  position INTEGER NOT NULL,\n  name TEXT NOT NULL,\n"
                       "  summary TEXT NOT NULL,\n  level TEXT,\n  basis TEXT NOT NULL,\n"
                       "  is_exact INTEGER NOT NULL,\n  within_bounds INTEGER NOT NULL,\n"
                       "  PRIMARY KEY (validation_id, position)\n) STRICT, WITHOUT ROWID;\n"
                       "CREATE TABLE validation_part (\n  validation_id INTEGER NOT NULL,\n"
                       "  group_position INTEGER NOT NULL,\n  position INTEGER NOT NULL,\n"
                       "  part_kind TEXT NOT NULL,\n  part TEXT NOT NULL,\n  n INTEGER NOT NULL,\n"
                       "  agree INTEGER NOT NULL,\n  median_error REAL,\n  mean_error REAL,\n"
                       "  p90_error REAL,\n  bias REAL,\n  worst_error REAL,\n"
                       "  worst_case TEXT NOT NULL,\n  kendall_tau REAL,\n"
                       "  PRIMARY KEY (validation_id, group_position, position),\n"
                       "  FOREIGN KEY (validation_id, group_position) "
                       "REFERENCES validation_group\n) STRICT, WITHOUT ROWID;\n"
                       "CREATE TABLE validation_bound (\n  validation_id INTEGER NOT NULL,\n"
                       "  group_position INTEGER NOT NULL,\n  position INTEGER NOT NULL,\n"
                       "  figure TEXT NOT NULL,\n  part TEXT NOT NULL,\n  bound REAL NOT NULL,\n"
                       "  value REAL,\n  exceeded INTEGER NOT NULL,\n"
                       "  PRIMARY KEY (validation_id, group_position, position),\n"
                       "  FOREIGN KEY (validation_id, group_position) "
                       "REFERENCES validation_group\n) STRICT, WITHOUT ROWID;\n"
                       "CREATE TABLE validation_case (\n  validation_id INTEGER NOT NULL,\n"
                       "  group_position INTEGER NOT NULL,\n  position INTEGER NOT NULL,\n"
                       "  id TEXT NOT NULL,\n  family TEXT NOT NULL,\n  device TEXT,\n"
                       "  phase TEXT,\n  figure TEXT NOT NULL,\n  predicted REAL,\n"
                       "  measured REAL,\n  error REAL,\n  agrees INTEGER NOT NULL,\n"
                       "  fitted INTEGER NOT NULL,\n  note TEXT NOT NULL,\n"
                       "  source TEXT NOT NULL,\n"
                       "  PRIMARY KEY (validation_id, group_position, position),\n"
                       "  FOREIGN KEY (validation_id, group_position) "
                       "REFERENCES validation_group\n) STRICT, WITHOUT ROWID;\n");
}

static void add_view(struct base_text *sql, const char *name, const char *columns,
                     const char *table)
{
    base_text_printf(sql,
                     "DROP VIEW IF EXISTS %s;\nCREATE VIEW %s AS SELECT g.validation_id, "
                     "g.name AS group_name, %s FROM validation_group AS g JOIN %s AS t "
                     "ON t.validation_id = g.validation_id AND t.group_position = g.position;\n",
                     name, name, columns, table);
}

void store_validation_add_views(struct base_text *sql)
{
    add_view(sql, "validate_group",
             "g.level, t.part_kind, t.part, t.n, t.agree, t.median_error, t.mean_error, "
             "t.p90_error, t.bias, t.worst_error, t.worst_case, t.kendall_tau, "
             "CASE WHEN t.part_kind = 'all' THEN (SELECT group_concat(b.figure || "
             "CASE b.part WHEN '' THEN '' ELSE ' of ' || b.part END || "
             "CASE b.figure WHEN 'kendall_tau' THEN ' >= ' ELSE ' <= ' END || b.bound, ', ') "
             "FROM validation_bound AS b WHERE b.validation_id = g.validation_id "
             "AND b.group_position = g.position) END AS bound, "
             "CASE WHEN t.part_kind = 'all' THEN 1 - g.within_bounds END AS exceeded, "
             "g.basis, g.summary",
             "validation_part");
    add_view(sql, "validate_bound", "t.figure, t.part, t.bound, t.value, t.exceeded",
             "validation_bound");
    add_view(sql, "validate_case",
             "t.id, t.family, t.device, t.phase, t.figure, t.predicted, t.measured, t.error, "
             "t.agrees, t.fitted, t.note, t.source",
             "validation_case");
}

/* ---- writing ---- */

struct write_rows {
    const struct record_validation *validation;
    const char *kvsim_version;
    char fingerprint[33];
    int64_t id;
};

static void optional_text(struct store_insert *insert, const char *text)
{
    if (text == NULL)
        store_insert_null(insert);
    else
        store_insert_text(insert, text);
}

static void put_part(struct store_insert *insert, const struct record_validation_part *part)
{
    store_insert_text(insert, record_validation_kind_name(part->kind));
    store_insert_text(insert, part->name);
    store_insert_integer(insert, (int64_t)part->count);
    store_insert_integer(insert, (int64_t)part->agreeing);
    store_insert_real(insert, part->median);
    store_insert_real(insert, part->mean);
    store_insert_real(insert, part->p90);
    store_insert_real(insert, part->bias);
    store_insert_real(insert, part->worst);
    store_insert_text(insert, part->worst_case);
    store_insert_real(insert, part->tau);
}

static void put_bound(struct store_insert *insert, const struct record_validation_bound *bound)
{
    store_insert_text(insert, bound->figure);
    store_insert_text(insert, bound->part);
    store_insert_real(insert, bound->bound);
    store_insert_real(insert, bound->value);
    store_insert_integer(insert, bound->is_exceeded);
}

static void put_case(struct store_insert *insert, const struct record_validation_case *item)
{
    store_insert_text(insert, item->id);
    store_insert_text(insert, item->family);
    optional_text(insert, item->device);
    optional_text(insert, item->phase);
    store_insert_text(insert, item->what);
    store_insert_real(insert, item->predicted);
    store_insert_real(insert, item->measured);
    store_insert_real(insert, item->error);
    store_insert_integer(insert, item->agrees);
    store_insert_integer(insert, item->is_fitted);
    store_insert_text(insert, item->note);
    store_insert_text(insert, item->source);
}

static void put_group(struct store_insert *insert, const struct record_validation_group *group)
{
    store_insert_text(insert, group->name);
    store_insert_text(insert, group->summary);
    optional_text(insert, group->level);
    store_insert_text(insert, group->basis);
    store_insert_integer(insert, group->is_exact);
    store_insert_integer(insert, group->is_within);
}

static enum kvsim_status begin(struct store *store, struct store_insert *insert,
                               const char *columns, struct kvsim_error *err)
{
    struct base_text sql = {0};
    base_text_printf(&sql, "INSERT INTO %s", columns);
    return store_insert_begin(store, insert, &sql, err);
}

static enum kvsim_status write_head(struct store *store, const struct write_rows *write,
                                    struct kvsim_error *err)
{
    struct store_insert insert;
    enum kvsim_status status =
        begin(store, &insert,
              "validation (validation_id, kvsim_version, fingerprint, within_bounds", err);
    if (status != KVSIM_OK)
        return status;
    store_insert_integer(&insert, write->id);
    store_insert_text(&insert, write->kvsim_version);
    store_insert_text(&insert, write->fingerprint);
    store_insert_integer(&insert, record_validation_is_within(write->validation));
    store_insert_row(&insert);
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status write_groups(struct store *store, const struct write_rows *write,
                                      struct kvsim_error *err)
{
    struct store_insert insert;
    enum kvsim_status status =
        begin(store, &insert,
              "validation_group (validation_id, position, name, summary, level, basis, is_exact, "
              "within_bounds",
              err);
    if (status != KVSIM_OK)
        return status;
    for (size_t i = 0; i < write->validation->groups.count && insert.rc == SQLITE_OK; i++) {
        store_insert_integer(&insert, write->id);
        store_insert_integer(&insert, (int64_t)i + 1);
        put_group(&insert, &write->validation->groups.at[i]);
        store_insert_row(&insert);
    }
    return store_insert_end(store, &insert, err);
}

/* One of a group's three lists. */
enum list { PARTS, BOUNDS, CASES, LISTS };
static const char *const list_columns[LISTS] = {
    [PARTS] =
        "validation_part (validation_id, group_position, position, part_kind, part, n, agree, "
        "median_error, mean_error, p90_error, bias, worst_error, worst_case, kendall_tau",
    [BOUNDS] = "validation_bound (validation_id, group_position, position, figure, part, bound, "
               "value, exceeded",
    [CASES] =
        "validation_case (validation_id, group_position, position, id, family, device, phase, "
        "figure, predicted, measured, error, agrees, fitted, note, source",
};

static size_t list_count(const struct record_validation_group *group, enum list list)
{
    return list == PARTS ? group->parts.count
                         : (list == BOUNDS ? group->bounds.count : group->cases.count);
}

static void put_item(struct store_insert *insert, const struct record_validation_group *group,
                     enum list list, size_t at)
{
    if (list == PARTS)
        put_part(insert, &group->parts.at[at]);
    else if (list == BOUNDS)
        put_bound(insert, &group->bounds.at[at]);
    else
        put_case(insert, &group->cases.at[at]);
}

static enum kvsim_status write_list(struct store *store, const struct write_rows *write,
                                    enum list list, struct kvsim_error *err)
{
    struct store_insert insert;
    enum kvsim_status status = begin(store, &insert, list_columns[list], err);
    if (status != KVSIM_OK)
        return status;
    for (size_t i = 0; i < write->validation->groups.count; i++) {
        const struct record_validation_group *group = &write->validation->groups.at[i];
        for (size_t k = 0; k < list_count(group, list) && insert.rc == SQLITE_OK; k++) {
            store_insert_integer(&insert, write->id);
            store_insert_integer(&insert, (int64_t)i + 1);
            store_insert_integer(&insert, (int64_t)k + 1);
            put_item(&insert, group, list, k);
            store_insert_row(&insert);
        }
    }
    return store_insert_end(store, &insert, err);
}

/* ---- the same again: every column that is written ---- */

// Every NaN is stored as NULL.
static void hash_real(struct base_hash *hash, double value)
{
    value = isnan(value) ? (double)NAN : value;
    base_hash_bytes(hash, &value, sizeof value);
}

static void hash_count(struct base_hash *hash, size_t value)
{
    uint64_t wide = value;
    base_hash_bytes(hash, &wide, sizeof wide);
}

static void hash_optional(struct base_hash *hash, const char *text)
{
    hash_count(hash, text != NULL);
    base_hash_text(hash, text != NULL ? text : "");
}

static void hash_part(struct base_hash *hash, const struct record_validation_part *part)
{
    hash_count(hash, part->kind);
    base_hash_text(hash, part->name);
    hash_count(hash, part->count);
    hash_count(hash, part->agreeing);
    hash_real(hash, part->median);
    hash_real(hash, part->mean);
    hash_real(hash, part->p90);
    hash_real(hash, part->bias);
    hash_real(hash, part->worst);
    base_hash_text(hash, part->worst_case);
    hash_real(hash, part->tau);
}

static void hash_bound(struct base_hash *hash, const struct record_validation_bound *bound)
{
    base_hash_text(hash, bound->figure);
    base_hash_text(hash, bound->part);
    hash_real(hash, bound->bound);
    hash_real(hash, bound->value);
    hash_count(hash, bound->is_exceeded);
}

static void hash_case(struct base_hash *hash, const struct record_validation_case *item)
{
    base_hash_text(hash, item->id);
    base_hash_text(hash, item->family);
    hash_optional(hash, item->device);
    hash_optional(hash, item->phase);
    base_hash_text(hash, item->what);
    hash_real(hash, item->predicted);
    hash_real(hash, item->measured);
    hash_real(hash, item->error);
    hash_count(hash, item->agrees);
    hash_count(hash, item->is_fitted);
    base_hash_text(hash, item->note);
    base_hash_text(hash, item->source);
}

static void hash_group(struct base_hash *hash, const struct record_validation_group *group)
{
    base_hash_text(hash, group->name);
    base_hash_text(hash, group->summary);
    hash_optional(hash, group->level);
    base_hash_text(hash, group->basis);
    hash_count(hash, group->is_exact);
    hash_count(hash, group->is_within);
    for (int list = 0; list < LISTS; list++)
        hash_count(hash, list_count(group, (enum list)list));
    for (size_t i = 0; i < group->parts.count; i++)
        hash_part(hash, &group->parts.at[i]);
    for (size_t i = 0; i < group->bounds.count; i++)
        hash_bound(hash, &group->bounds.at[i]);
    for (size_t i = 0; i < group->cases.count; i++)
        hash_case(hash, &group->cases.at[i]);
}

static void fingerprint_of(struct write_rows *write)
{
    struct base_hash hash;
    base_hash_init(&hash);
    base_hash_text(&hash, write->kvsim_version);
    for (size_t i = 0; i < write->validation->groups.count; i++)
        hash_group(&hash, &write->validation->groups.at[i]);
    base_hash_hex(&hash, write->fingerprint);
}

/* *id: of the last one stored when it is the same, else 0. */
static enum kvsim_status find_last(struct store *store, const char *fingerprint, int64_t *id,
                                   struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    *id = 0;
    enum kvsim_status status = store_prepare(store,
                                             "SELECT validation_id, fingerprint FROM validation "
                                             "ORDER BY validation_id DESC LIMIT 1",
                                             &stmt, err);
    if (status != KVSIM_OK)
        return status;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 1), fingerprint) == 0)
        *id = sqlite3_column_int64(stmt, 0);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "read the validations");
    sqlite3_finalize(stmt);
    return status;
}

/* ---- all of it, in one transaction ---- */

static enum kvsim_status write_all(struct store *store, void *context, struct kvsim_error *err)
{
    struct write_rows *write = context;
    enum kvsim_status status = find_last(store, write->fingerprint, &write->id, err);
    if (status != KVSIM_OK || write->id > 0)
        return status;
    status = store_query_int(store, "SELECT coalesce(max(validation_id), 0) + 1 FROM validation",
                             &write->id, err);
    if (status == KVSIM_OK)
        status = write_head(store, write, err);
    if (status == KVSIM_OK)
        status = write_groups(store, write, err);
    for (int list = 0; list < LISTS && status == KVSIM_OK; list++)
        status = write_list(store, write, (enum list)list, err);
    return status;
}

enum kvsim_status store_write_validation(struct store *store,
                                         const struct record_validation *validation,
                                         const char *kvsim_version, int64_t *validation_id,
                                         struct kvsim_error *err)
{
    struct write_rows write = {.validation = validation, .kvsim_version = kvsim_version};
    fingerprint_of(&write);
    enum kvsim_status status = store_transact(store, write_all, &write, err);
    *validation_id = status == KVSIM_OK ? write.id : 0;
    return status;
}
