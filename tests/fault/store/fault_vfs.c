#include "fault_vfs.h"

#include <check.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
};

static struct {
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
    enum fault_kind kind;
    int left; /* operations before the one that fails */
    int has_struck;
} fault;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

/* Counts one operation; true when it is the one. */
static int strikes(void)
{
    if (fault.kind == FAULT_NONE)
        return 0;
    if (fault.left > 0)
        fault.left--;
    if (fault.left > 0)
        return 0;
    // A full disk stays full, a broken one breaks once.
    if (fault.kind != FAULT_FULL && fault.has_struck)
        return 0;
    fault.has_struck = 1;
    return 1;
}

static int do_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int do_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), to, bytes, at);
}

static int do_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    if (strikes()) {
        if (fault.kind == FAULT_FULL)
            return SQLITE_FULL;
        real_of(file)->pMethods->xWrite(real_of(file), from, bytes / 2, at);
        if (fault.kind == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return SQLITE_IOERR_WRITE;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), from, bytes, at);
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    if (fault.kind != FAULT_FULL && strikes()) {
        if (fault.kind == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return SQLITE_IOERR_TRUNCATE;
    }
    return real_of(file)->pMethods->xTruncate(real_of(file), bytes);
}

static int do_sync(sqlite3_file *file, int flags)
{
    if (fault.kind != FAULT_FULL && strikes()) {
        if (fault.kind == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return SQLITE_IOERR_FSYNC;
    }
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int do_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), bytes);
}

static int do_lock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int do_unlock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int do_check_lock(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int do_control(sqlite3_file *file, int op, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static int do_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int do_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int do_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, bytes, extend, out);
}

static int do_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void do_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int do_shm_unmap(sqlite3_file *file, int is_deleted)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), is_deleted);
}

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                   int *out_flags)
{
    (void)vfs;
    struct fault_file *mine = (struct fault_file *)file;
    memset(mine, 0, sizeof *mine);
    mine->real = (sqlite3_file *)(void *)(mine + 1);
    int is_writable = (flags & SQLITE_OPEN_READWRITE) != 0;
    if (fault.kind != FAULT_FULL && is_writable && strikes()) {
        if (fault.kind == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return SQLITE_CANTOPEN;
    }
    int rc = fault.real->xOpen(fault.real, name, mine->real, flags, out_flags);
    if (mine->real->pMethods != NULL)
        mine->base.pMethods = &fault.methods;
    return rc;
}

static int do_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    if (fault.kind != FAULT_FULL && strikes()) {
        if (fault.kind == FAULT_KILL)
            kill(getpid(), SIGKILL);
        return SQLITE_IOERR_DELETE;
    }
    return fault.real->xDelete(fault.real, name, sync_folder);
}

void fault_vfs_register(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = do_open;
    fault.vfs.xDelete = do_delete;
    fault.methods = (sqlite3_io_methods){.iVersion = 2,
                                         .xClose = do_close,
                                         .xRead = do_read,
                                         .xWrite = do_write,
                                         .xTruncate = do_truncate,
                                         .xSync = do_sync,
                                         .xFileSize = do_size,
                                         .xLock = do_lock,
                                         .xUnlock = do_unlock,
                                         .xCheckReservedLock = do_check_lock,
                                         .xFileControl = do_control,
                                         .xSectorSize = do_sector,
                                         .xDeviceCharacteristics = do_device,
                                         .xShmMap = do_shm_map,
                                         .xShmLock = do_shm_lock,
                                         .xShmBarrier = do_shm_barrier,
                                         .xShmUnmap = do_shm_unmap};
    ck_assert_int_eq(sqlite3_vfs_register(&fault.vfs, 1), SQLITE_OK);
}

void fault_vfs_unregister(void)
{
    fault.kind = FAULT_NONE;
    ck_assert_int_eq(sqlite3_vfs_unregister(&fault.vfs), SQLITE_OK);
}

void fault_vfs_set(enum fault_kind kind, int n)
{
    fault.kind = kind;
    fault.left = n;
    fault.has_struck = 0;
}

int fault_vfs_has_struck(void)
{
    return fault.has_struck;
}
