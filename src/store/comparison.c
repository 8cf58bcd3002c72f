#include "store/comparison.h"
#include "store/store_int.h"

static void put_row(struct store_insert *insert, const struct record_comparison *comparison,
                    const struct record_difference *row)
{
    store_insert_integer(insert, comparison->a.run_id);
    store_insert_integer(insert, comparison->b.run_id);
    store_insert_text(insert, row->name);
    store_insert_text(insert, row->statistic);
    store_insert_text(insert, row->class_name);
    store_insert_text(insert, row->unit);
    store_insert_real(insert, row->a);
    store_insert_real(insert, row->b);
    store_insert_real(insert, row->difference);
    store_insert_real(insert, row->ci_low);
    store_insert_real(insert, row->ci_high);
    store_insert_real(insert, row->ratio);
    store_insert_real(insert, row->ratio_ci_low);
    store_insert_real(insert, row->ratio_ci_high);
    store_insert_integer(insert, row->n);
    if (row->more_replications < 0)
        store_insert_null(insert);
    else
        store_insert_integer(insert, row->more_replications);
    store_insert_text(insert, row->method);
    store_insert_text(insert, record_verdict_name(row->verdict));
    store_insert_row(insert);
}

struct write_rows {
    const struct record_comparison *comparison;
};

static enum kvsim_status write_rows(struct store *store, void *context, struct kvsim_error *err)
{
    const struct record_comparison *comparison = ((const struct write_rows *)context)->comparison;
    struct base_text sql = {0};
    base_text_add(&sql, "INSERT OR REPLACE INTO comparison (run_a, run_b, name, statistic, class, "
                        "unit, a, b, difference, ci_low, ci_high, ratio, ratio_ci_low, "
                        "ratio_ci_high, n, more_replications, method, verdict");
    struct store_insert insert;
    enum kvsim_status status = store_insert_begin(store, &insert, &sql, err);
    if (status != KVSIM_OK)
        return status;
    for (size_t i = 0; i < comparison->figures.count && insert.rc == SQLITE_OK; i++)
        put_row(&insert, comparison, &comparison->figures.at[i]);
    return store_insert_end(store, &insert, err);
}

static enum kvsim_status count_rows(struct store *store, const struct record_comparison *comparison,
                                    int64_t *count, struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_prepare(
        store, "SELECT count(*) FROM comparison WHERE run_a = ? AND run_b = ?", &stmt, err);
    if (status != KVSIM_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, comparison->a.run_id);
    sqlite3_bind_int64(stmt, 2, comparison->b.run_id);
    *count = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return status;
}

enum kvsim_status store_write_comparison(struct store *store,
                                         const struct record_comparison *comparison,
                                         struct kvsim_error *err)
{
    base_require(comparison->a.run_id > 0 && comparison->b.run_id > 0);
    bool is_empty;
    int64_t table_count = 0, count = 0;
    enum kvsim_status status = store_connect_to_read(store, &is_empty, err);
    if (status == KVSIM_OK && !is_empty)
        status =
            store_query_int(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'comparison'",
                            &table_count, err);
    if (status == KVSIM_OK && table_count > 0)
        status = count_rows(store, comparison, &count, err);
    // Runs never change, and so does what follows from them.
    if (status != KVSIM_OK || (count > 0 && count == (int64_t)comparison->figures.count))
        return status;
    struct write_rows write = {comparison};
    return store_transact(store, write_rows, &write, err);
}
