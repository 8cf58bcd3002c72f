/*
 * store_int.h - what the files of store share: the handle, and one description of every table that holds a list of a
 * run. Schema, INSERT and SELECT follow from the description, so that a column is named once.
 */
#ifndef KVSIM_STORE_STORE_INT_H
#define KVSIM_STORE_STORE_INT_H

#include "store/store.h"

#include "base/text.h"

#include <sqlite3.h>
#include <stdbool.h>

struct store {
    char *path;
    enum store_mode mode;
    sqlite3 *db;  /* NULL until first needed */
    bool is_copy; /* `db` is a copy in memory, brought up to date, of what an older kvsim stored */
    int busy_timeout_ms;
    bool made_file;      /* this handle made the file, and no run has been written yet */
    size_t made_folders; /* how many parents of the file this handle made */
};

enum store_column_type {
    STORE_INT64,
    STORE_UINT32,
    STORE_OPTIONAL, /* int64_t; negative is NULL */
    STORE_REAL,     /* NaN is NULL */
    STORE_TEXT,     /* a NULL pointer is stored as '' */
    STORE_BOOL,
    STORE_OUTCOME, /* enum record_outcome, by name */
    STORE_FINISH,
};

struct store_column {
    /* NULL: an array of int64_t, whose elements `element_name` and `suffix` name */
    const char *name;
    enum store_column_type type;
    size_t offset;
    size_t element_count; /* of an array, else 0 */
    const char *(*element_name)(size_t element);
    const char *suffix;
};

struct store_table {
    const char *name;
    const char *key; /* after run_id; "position" counts the rows of the list from 1 */
    const struct store_column *columns; /* ended by a row without name and elements */
    size_t list_offset;                 /* of the list in struct record_run */
    size_t item_bytes;
    size_t replications_offset; /* of the list of replications beside it; 0 = none */
};

extern const struct store_table store_tables[];
extern const size_t store_table_count;

/* A list of struct record_run, whatever its items are. */
struct store_list {
    void *at;
    size_t count, capacity;
};

bool store_column_is_last(const struct store_column *column);
size_t store_column_element_count(const struct store_column *column); /* 1 for a plain one */
/* Appends the column's name, or its element's. */
void store_column_add_name(struct base_text *sql, const struct store_column *column,
                           size_t element);
/* Appends ", name" for run_id's successors: position or replication, then all columns. */
void store_table_add_names(struct base_text *sql, const struct store_table *table);
bool store_table_has_position(const struct store_table *table);

/*
 * One transaction: what `body` writes is kept whole or not at all. The first one of a new file makes folders, file and
 * schema, and takes them away again when it fails.
 */
typedef enum kvsim_status store_write_body(struct store *store, void *context,
                                           struct kvsim_error *err);
enum kvsim_status store_transact(struct store *store, store_write_body *body, void *context,
                                 struct kvsim_error *err);
/* The same where none with its fingerprint is there; else it gets that one's id. */
enum kvsim_status store_add_run_once(struct store *store, struct record_run *run, bool *was_there,
                                     struct kvsim_error *err);

/* A failed bind or step sticks in rc, so that a row is checked once, at its end. */
struct store_insert {
    sqlite3_stmt *stmt;
    int next; /* parameter, from 1 */
    int rc;
};
/* `sql` ends after the last column's name, without the closing bracket; it is freed. */
enum kvsim_status store_insert_begin(struct store *store, struct store_insert *insert,
                                     struct base_text *sql, struct kvsim_error *err);
void store_insert_null(struct store_insert *insert);
void store_insert_integer(struct store_insert *insert, int64_t value);
void store_insert_real(struct store_insert *insert, double value); /* NaN is NULL */
void store_insert_text(struct store_insert *insert,
                       const char *value); /* NULL is ''; must live on */
void store_insert_value(struct store_insert *insert, const struct record_value *value);
void store_insert_row(struct store_insert *insert);
enum kvsim_status store_insert_end(struct store *store, struct store_insert *insert,
                                   struct kvsim_error *err);

/* Connects to what is there; asking must not make a database. *is_empty: there is none, or one without a schema. */
enum kvsim_status store_connect_to_read(struct store *store, bool *is_empty,
                                        struct kvsim_error *err);
/* A column of the current row as a text in the arena; "" for NULL. */
const char *store_read_text(struct base_arena *arena, sqlite3_stmt *stmt, int column);
struct record_value store_read_value(struct base_arena *arena, sqlite3_stmt *stmt, int column,
                                     enum record_kind kind);

/* sweep_schema.c: tables and views of sweeps and comparisons. */
void store_sweep_add_tables(struct base_text *sql);
void store_sweep_add_views(struct base_text *sql);
/* validation.c: those of validations. */
void store_validation_add_tables(struct base_text *sql);
void store_validation_add_views(struct base_text *sql);

/* Tables, views, ids and versions; within the caller's transaction. */
enum kvsim_status store_schema_create(struct store *store, struct kvsim_error *err);
enum kvsim_status store_schema_migrate(struct store *store, struct kvsim_error *err);

/* Turns SQLite's last error into ours; `doing` completes "cannot ...". */
enum kvsim_status store_fail(struct store *store, int rc, struct kvsim_error *err,
                             const char *doing);
enum kvsim_status store_exec(struct store *store, const char *sql, struct kvsim_error *err);
enum kvsim_status store_prepare(struct store *store, const char *sql, sqlite3_stmt **out,
                                struct kvsim_error *err);
/* The first column of the first row of a query; 0 when it has no row. */
enum kvsim_status store_query_int(struct store *store, const char *sql, int64_t *out,
                                  struct kvsim_error *err);

/* The connection for reading, or for writing: opened when first called. */
enum kvsim_status store_connect(struct store *store, struct kvsim_error *err);
/* The same, where what an older kvsim did not store may be asked for: an older database is then read from a copy in memory,
 * brought up to date, until something is written. Not within a transaction. */
enum kvsim_status store_connect_as_new(struct store *store, struct kvsim_error *err);
bool store_is_absent(const struct store *store); /* there is no such file */
void store_disconnect(struct store *store);
/* After a failed first write: removes the file when it's empty, and the folders made for it. */
void store_remove_made(struct store *store);

#endif
