/*
 * store.h - finished runs in an SQLite database: written whole or not at all, read back, listed.
 *
 * A store is opened before the work starts, so that a wrong path, a foreign file or a read-only one is refused in time;
 * but nothing is created until the first run is written: a command that fails leaves no database and no folder. A run
 * is one transaction (or several that belong together are); the first one also makes the folders, the file and the
 * schema, and when it fails takes them away again. The database is in WAL mode, so that others can read while it is written.
 *
 * What depends on the machine or the moment (created_at, wall_s, host, jobs) lies in the table run_host and nowhere
 * else: without it, equal runs give equal dumps. Rows lie in the order of their keys, ids are 1, 2, 3, ...
 *
 * Every failure is KVSIM_ERR_IO with the path in err->file, KVSIM_ERR_MEMORY, or KVSIM_ERR_DEFECT for a row that breaks
 * the schema. A store belongs to one thread at a time.
 */
#ifndef KVSIM_STORE_STORE_H
#define KVSIM_STORE_STORE_H

#include "base/error.h"
#include "base/mem.h"
#include "record/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "kvsm": what PRAGMA application_id says of a database of kvsim. */
enum { STORE_APPLICATION_ID = 0x6b76736d, STORE_SCHEMA_VERSION = 5 };

enum store_mode {
    STORE_READ, /* the database must exist; it is never changed */
    STORE_WRITE,
};

struct store;

/* Looks at the path without changing anything; see above. On success *out must be closed. */
enum kvsim_status store_open(const char *path, enum store_mode mode, struct store **out,
                             struct kvsim_error *err) KVSIM_MUST_CHECK;
void store_close(struct store *store); /* NULL is allowed */

/* How long to wait for another program's lock; 10,000 ms unless set. */
void store_set_busy_timeout(struct store *store, int timeout_ms);

/* Stores the run and sets run->run_id to the highest one before, plus 1; 0 on failure. */
enum kvsim_status store_write_run(struct store *store, struct record_run *run,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

/*
 * The same, but where a run of the same scenario_hash and kvsim_version is there by now, run->run_id is that one's, and
 * nothing is written: looked up and stored in one transaction, so that two programs that simulate the same configuration
 * at the same time store it once. `*was_there` (may be NULL) says so.
 */
enum kvsim_status store_keep_run(struct store *store, struct record_run *run, bool *was_there,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/*
 * Several runs in one transaction, all or none. `before_commit` (may be NULL) is called when they have their ids and
 * before they are kept; when it fails nothing is stored, and its status and error are those of the whole. A command
 * prints there: what cannot be shown leaves no trace.
 */
typedef enum kvsim_status store_before_commit(void *context, struct kvsim_error *err);
enum kvsim_status store_write_runs(struct store *store, struct record_run *const *runs,
                                   size_t count, store_before_commit *before_commit, void *context,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The texts live in the arena. */
struct store_entry {
    int64_t run_id;
    const char *created_at, *scenario, *model, *hardware, *engine, *status;
    int64_t slo_met; /* 1, 0; -1 without any SLO */
};

/* All runs by rising id, in the arena. */
enum kvsim_status store_list_runs(struct store *store, struct base_arena *arena,
                                  struct store_entry **out, size_t *count,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

/*
 * Fills `run`, which the caller has initialized and frees. A figure that an older kvsim did not store is NULL. An id
 * that isn't there is KVSIM_ERR_IO.
 */
enum kvsim_status store_load_run(struct store *store, int64_t run_id, struct record_run *run,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The same without the lists: the figures, created_at, host and the resolved scenario. */
enum kvsim_status store_load_summary(struct store *store, int64_t run_id, struct record_run *run,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The first run whose scenario_hash and kvsim_version are these; 0 when there is none, or no database yet. */
enum kvsim_status store_find_run(struct store *store, const char *scenario_hash,
                                 const char *kvsim_version, int64_t *run_id,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

struct base_pack;
/* To and from another process (base/pack.h): the whole run but its id. Reading needs a run that was just initialized; it is
 * freed as any other. */
void store_run_pack(struct base_pack *pack, struct record_run *run);

#endif
