#include "store/store_int.h"

#include <string.h>

/* What went wrong, in the user's words; NULL where SQLite's own say enough. */
static const char *explain(int rc)
{
    if (rc == SQLITE_IOERR_WRITE)
        return "a file cannot be written: a quota or a limit on its size is reached, or the disk "
               "fails";
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "the database is locked by another program";
    case SQLITE_FULL:
        return "no space left";
    case SQLITE_READONLY:
        return "the database is read-only";
    case SQLITE_NOTADB:
        return "this file is not a database of kvsim";
    case SQLITE_CORRUPT:
        return "the database is damaged";
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return "permission denied";
    default:
        return NULL;
    }
}

static enum kvsim_status status_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return KVSIM_ERR_MEMORY;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        return KVSIM_ERR_DEFECT;
    default:
        return KVSIM_ERR_IO;
    }
}

enum kvsim_status store_fail(struct store *store, int rc, struct kvsim_error *err,
                             const char *doing)
{
    const char *what = explain(rc);
    int system = store->db == NULL ? 0 : sqlite3_system_errno(store->db);
    if (what == NULL && system != 0 && (rc & 0xff) != SQLITE_ERROR)
        what = strerror(system);
    if (what == NULL)
        what = store->db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(store->db);
    enum kvsim_status status = base_fail(err, status_of(rc), "cannot %s: %s", doing, what);
    base_error_at(err, store->path, 0, 0);
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
        base_error_hint(err, "try again when it is free, or write to another file with --db");
    return status;
}

enum kvsim_status store_exec(struct store *store, const char *sql, struct kvsim_error *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? KVSIM_OK : store_fail(store, rc, err, "use the database");
}

enum kvsim_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out,
                                struct kvsim_error *err)
{
    int rc = sqlite3_prepare_v2(store->db, sql, -1, out, NULL);
    return rc == SQLITE_OK ? KVSIM_OK : store_fail(store, rc, err, "use the database");
}

enum kvsim_status store_query_int(struct store *store, const char *sql, int64_t *out,
                                  struct kvsim_error *err)
{
    sqlite3_stmt *stmt;
    enum kvsim_status status = store_prepare(store, sql, &stmt, err);
    if (status != KVSIM_OK)
        return status;
    int rc = sqlite3_step(stmt);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = store_fail(store, rc, err, "read the database");
    sqlite3_finalize(stmt);
    return status;
}
