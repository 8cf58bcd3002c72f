/*
 * fault_vfs.h - an SQLite VFS over the default one whose n-th operation that changes a file fails, or kills.
 *
 * Counted are opening a file that may be written, writing, truncating, syncing and deleting. It's the default VFS while
 * registered, so that the code under test does not know of it.
 */
#ifndef KVSIM_TESTS_FAULT_STORE_FAULT_VFS_H
#define KVSIM_TESTS_FAULT_STORE_FAULT_VFS_H

enum fault_kind {
    FAULT_NONE,
    FAULT_IO,   /* the operation fails as on a broken disk */
    FAULT_FULL, /* writing fails for lack of space, from the n-th on; the rest goes on */
    FAULT_KILL, /* the process ends by SIGKILL, half of a write done */
};

void fault_vfs_register(void);
void fault_vfs_unregister(void);

/* The n-th operation from now (from 1) is the one. */
void fault_vfs_set(enum fault_kind kind, int n);

/* Whether the operation was reached since fault_vfs_set(). */
int fault_vfs_has_struck(void);

#endif
