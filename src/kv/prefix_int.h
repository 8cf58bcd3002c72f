/*
 * prefix_int.h - what the files of the block-hash cache share: copies hung on nodes of the tree. Private to the room.
 */
#ifndef KVSIM_KV_PREFIX_INT_H
#define KVSIM_KV_PREFIX_INT_H

#include "kv/prefix.h"

/* Of one table, by when they were hashed. */
struct kv_copies {
    struct kv_extent *oldest, *youngest;
};

/* A node and all copies of its blocks. */
struct kv_copies_node {
    struct kv_node node;
    int64_t extent_count;
    struct base_hash *keys; /* of its blocks, once they were asked for; owned */
    struct kv_copies of[];  /* by table */
};

/* A node of a path, and up to which block the content is in it. */
struct kv_stretch {
    struct kv_node *node;
    int64_t end;
};

static inline struct kv_copies_node *kv_copies_of(const struct kv_node *node)
{
    return (struct kv_copies_node *)(uintptr_t)node;
}

/* Up to where an extent can be hit: a running sequence's own blocks as far as they are hashed. */
int64_t kv_prefix_visible_end(const struct kv_prefix *prefix, const struct kv_extent *extent);

#endif
