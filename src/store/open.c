/*
 * What a path is, is told from the file's own first bytes, before SQLite sees it: SQLite would lay -shm and -wal files
 * beside a database of another program just by reading it.
 */
#include "store/store_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 100, USER_VERSION_AT = 60, APPLICATION_ID_AT = 68, BUSY_TIMEOUT_MS = 10000 };

static enum kvsim_status fail_at(struct kvsim_error *err, const char *path, const char *message)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_IO, "%s", message);
    base_error_at(err, path, 0, 0);
    return status;
}

static uint32_t read_big_endian(const unsigned char *bytes)
{
    return ((uint32_t)bytes[0] << 24) | ((uint32_t)bytes[1] << 16) | ((uint32_t)bytes[2] << 8) |
           (uint32_t)bytes[3];
}

/* The first bytes of the SQLite file format: https://www.sqlite.org/fileformat.html, section 1.3. */
static enum kvsim_status check_header(const char *path, const unsigned char *header, size_t count,
                                      struct kvsim_error *err)
{
    static const char magic[] = "SQLite format 3";
    if (count < HEADER_BYTES || memcmp(header, magic, sizeof magic) != 0)
        return fail_at(err, path, "this file is not a database of kvsim");
    if (read_big_endian(header + APPLICATION_ID_AT) != STORE_APPLICATION_ID)
        return fail_at(err, path, "this database belongs to another program, not to kvsim");
    uint32_t version = read_big_endian(header + USER_VERSION_AT);
    if (version <= STORE_SCHEMA_VERSION)
        return KVSIM_OK;
    enum kvsim_status status = base_fail(
        err, KVSIM_ERR_IO, "this database was written by a newer kvsim (schema %lu, known is %d)",
        (unsigned long)version, (int)STORE_SCHEMA_VERSION);
    base_error_at(err, path, 0, 0);
    return status;
}

/* A regular file that is there: empty (fit for writing only) or one of ours. */
static enum kvsim_status check_file(const char *path, enum store_mode mode, struct kvsim_error *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail_at(err, path, strerror(errno));
    unsigned char header[HEADER_BYTES];
    size_t count = fread(header, 1, sizeof header, file);
    bool is_bad = ferror(file) != 0;
    fclose(file);
    if (is_bad)
        return fail_at(err, path, "cannot read the file");
    if (count == 0 && mode == STORE_READ)
        return fail_at(err, path, "the database is empty");
    if (count > 0) {
        enum kvsim_status status = check_header(path, header, count, err);
        if (status != KVSIM_OK)
            return status;
    }
    if (mode == STORE_WRITE && access(path, W_OK) != 0)
        return fail_at(err, path, "the database is read-only");
    return KVSIM_OK;
}

/* Length of the parent folder's path in `path`, "/" included when it is the root; 0 when there is none. */
static size_t parent_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* The file is not there: the nearest folder that exists must let us make it, and those between. */
static enum kvsim_status check_parents(const char *path, struct kvsim_error *err)
{
    struct base_text parent = {0};
    base_text_add(&parent, path);
    int failure = ENOENT;
    while (failure == ENOENT) {
        size_t length = parent_length(parent.at, parent.count);
        base_text_clear(&parent);
        base_text_add_n(&parent, length == 0 ? "." : path, length == 0 ? 1 : length);
        struct stat info;
        failure = stat(parent.at, &info) == 0 ? 0 : errno;
        if (failure == 0 && !S_ISDIR(info.st_mode))
            failure = ENOTDIR;
        if (failure == 0 && access(parent.at, W_OK | X_OK) != 0)
            failure = errno;
        if (length == 0)
            break;
    }
    enum kvsim_status status = KVSIM_OK;
    if (failure != 0) {
        status = base_fail(err, KVSIM_ERR_IO, "cannot make the database in '%s': %s", parent.at,
                           strerror(failure));
        base_error_at(err, path, 0, 0);
    }
    base_text_free(&parent);
    return status;
}

static enum kvsim_status check_path(const char *path, enum store_mode mode, struct kvsim_error *err)
{
    struct stat info;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return fail_at(err, path, "this is not the name of a file");
    if (stat(path, &info) != 0) {
        if (errno != ENOENT)
            return fail_at(err, path, strerror(errno));
        if (mode == STORE_READ) {
            enum kvsim_status status = fail_at(err, path, "there is no such database");
            base_error_hint(err, "'kvsim run SCENARIO.yaml' makes it");
            return status;
        }
        return check_parents(path, err);
    }
    if (S_ISDIR(info.st_mode))
        return fail_at(err, path, "this is a directory, not a database");
    if (!S_ISREG(info.st_mode))
        return fail_at(err, path, "this is not a regular file");
    return check_file(path, mode, err);
}

enum kvsim_status store_open(const char *path, enum store_mode mode, struct store **out,
                             struct kvsim_error *err)
{
    *out = NULL;
    enum kvsim_status status = check_path(path, mode, err);
    if (status != KVSIM_OK)
        return status;
    struct store *store = base_alloc(sizeof *store);
    struct base_text text = {0};
    base_text_add(&text, path);
    *store = (struct store){.path = text.at, .mode = mode, .busy_timeout_ms = BUSY_TIMEOUT_MS};
    *out = store;
    return KVSIM_OK;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    store_disconnect(store);
    base_free(store->path);
    base_free(store);
}

void store_set_busy_timeout(struct store *store, int timeout_ms)
{
    store->busy_timeout_ms = timeout_ms;
    if (store->db != NULL)
        sqlite3_busy_timeout(store->db, timeout_ms);
}

/* Makes the folders above the file that are missing; how many stays in store->made_folders. */
static enum kvsim_status make_parents(struct store *store, struct kvsim_error *err)
{
    size_t parents = 0;
    for (size_t length = parent_length(store->path, strlen(store->path)); length > 0;
         length = parent_length(store->path, length)) {
        parents++;
        if (length == 1 && store->path[0] == '/')
            break;
    }
    for (; parents > 0; parents--) {
        size_t length = strlen(store->path);
        for (size_t i = 0; i < parents; i++)
            length = parent_length(store->path, length);
        struct base_text folder = {0};
        base_text_add_n(&folder, store->path, length);
        int failure = mkdir(folder.at, 0777) == 0 ? 0 : errno;
        base_text_free(&folder);
        if (failure == 0)
            store->made_folders++;
        else if (failure != EEXIST)
            return fail_at(err, store->path, strerror(failure));
    }
    return KVSIM_OK;
}

/* SQLite gives names such as ":memory:" a meaning; with "./" before them they are files. */
static void add_file_name(struct base_text *name, const char *path)
{
    if (path[0] != '/')
        base_text_add(name, "./");
    base_text_add(name, path);
}

/* The path as a URI that says: nobody changes this file, look for no journal and no lock. */
static void add_immutable_uri(struct base_text *uri, const char *path)
{
    struct base_text name = {0};
    add_file_name(&name, path);
    base_text_add(uri, "file:");
    for (const char *c = name.at; *c != '\0'; c++) {
        if (*c == '%' || *c == '?' || *c == '#')
            base_text_printf(uri, "%%%02x", (unsigned)*c);
        else
            base_text_add_n(uri, c, 1);
    }
    base_text_add(uri, "?immutable=1");
    base_text_free(&name);
}

static bool has_journal(const char *path)
{
    struct base_text name = {0};
    base_text_printf(&name, "%s-wal", path);
    bool is_there = access(name.at, F_OK) == 0;
    base_text_free(&name);
    return is_there;
}

static bool is_writable(const char *path)
{
    struct base_text parent = {0};
    size_t length = parent_length(path, strlen(path));
    base_text_add_n(&parent, length == 0 ? "." : path, length == 0 ? 1 : length);
    bool is_so = access(parent.at, W_OK | X_OK) == 0 && access(path, W_OK) == 0;
    base_text_free(&parent);
    return is_so;
}

/*
 * A reader opens the file for writing too where it may: a read-only connection to a database in WAL mode leaves -wal
 * and -shm files behind, a writable one that writes nothing does not. Where it may not, and nobody else has the
 * database open, it's read as a file that never changes.
 */
static int open_database(struct store *store)
{
    struct base_text name = {0};
    int flags = SQLITE_OPEN_READWRITE;
    if (store->mode == STORE_WRITE) {
        flags |= SQLITE_OPEN_CREATE;
        add_file_name(&name, store->path);
    } else if (is_writable(store->path)) {
        add_file_name(&name, store->path);
    } else if (has_journal(store->path)) {
        flags = SQLITE_OPEN_READONLY;
        add_file_name(&name, store->path);
    } else {
        flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
        add_immutable_uri(&name, store->path);
    }
    int rc = sqlite3_open_v2(name.at, &store->db, flags, NULL);
    base_text_free(&name);
    return rc;
}

void store_remove_made(struct store *store)
{
    struct stat info;
    bool is_there = store->made_file && stat(store->path, &info) == 0;
    if (is_there && info.st_size > 0) {
        // A commit that failed at its end has left its journal; the next who reads takes the pages back.
        struct kvsim_error ignored;
        int64_t table_count;
        if (open_database(store) == SQLITE_OK &&
            store_query_int(store, "SELECT count(*) FROM sqlite_schema", &table_count, &ignored) !=
                KVSIM_OK)
            is_there = false;
        store_disconnect(store);
        is_there = is_there && stat(store->path, &info) == 0;
    }
    // Another program may have filled the file meanwhile; only an empty one is ours to remove.
    if (is_there && info.st_size == 0)
        unlink(store->path);
    store->made_file = false;

    size_t length = strlen(store->path);
    for (; store->made_folders > 0; store->made_folders--) {
        length = parent_length(store->path, length);
        struct base_text folder = {0};
        base_text_add_n(&folder, store->path, length);
        int rc = rmdir(folder.at); // fails, rightly, when somebody put something there
        base_text_free(&folder);
        if (rc != 0)
            break;
    }
    store->made_folders = 0;
}

bool store_is_absent(const struct store *store)
{
    return access(store->path, F_OK) != 0;
}

static enum kvsim_status copy_to_memory(struct store *store, struct kvsim_error *err)
{
    sqlite3 *copy = NULL;
    int rc = sqlite3_open(":memory:", &copy);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(copy, "main", store->db, "main") : NULL;
    if (backup != NULL) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else {
        rc = SQLITE_NOMEM;
    }
    if (rc != SQLITE_OK) {
        sqlite3_close(copy);
        return store_fail(store, rc, err, "copy an older database");
    }
    sqlite3_close(store->db);
    store->db = copy;
    store->is_copy = true;
    return KVSIM_OK;
}

/*
 * What an older kvsim stored is read as if a run had brought it up to date: in a copy in memory, for reading leaves the file as
 * it is.
 */
static enum kvsim_status read_as_new(struct store *store, struct kvsim_error *err)
{
    int64_t version = 0;
    enum kvsim_status status = store_query_int(store, "PRAGMA user_version", &version, err);
    if (status != KVSIM_OK || version < 1 || version >= STORE_SCHEMA_VERSION)
        return status;
    status = copy_to_memory(store, err);
    return status == KVSIM_OK ? store_schema_migrate(store, err) : status;
}

enum kvsim_status store_connect(struct store *store, struct kvsim_error *err)
{
    if (store->db != NULL)
        return KVSIM_OK;
    enum kvsim_status status = KVSIM_OK;
    if (store->mode == STORE_WRITE && store_is_absent(store)) {
        store->made_file = true;
        status = make_parents(store, err);
    }
    if (status == KVSIM_OK) {
        int rc = open_database(store);
        if (rc != SQLITE_OK)
            status = store_fail(store, rc, err, "open the database");
    }
    if (status == KVSIM_OK) {
        sqlite3_extended_result_codes(store->db, 1);
        sqlite3_busy_timeout(store->db, store->busy_timeout_ms);
        if (store->mode == STORE_READ)
            status = read_as_new(store, err);
    }
    if (status == KVSIM_OK) {
        status = store_exec(
            store,
            store->mode == STORE_READ ? "PRAGMA query_only = ON" : "PRAGMA foreign_keys = ON", err);
    }
    if (status != KVSIM_OK) {
        store_disconnect(store);
        store_remove_made(store);
    }
    return status;
}

enum kvsim_status store_connect_as_new(struct store *store, struct kvsim_error *err)
{
    enum kvsim_status status = store_connect(store, err);
    return status == KVSIM_OK && !store->is_copy ? read_as_new(store, err) : status;
}

void store_disconnect(struct store *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
    store->is_copy = false;
}
