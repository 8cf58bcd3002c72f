/*
 * extent.h - a run of consecutive blocks of one content that share their fate: holders, uses and place among the idle ones.
 *
 * Owned by a prefix cache (kv/prefix.h, kv/radix.h), which says what an extent holds; kv/braid.h and kv/evict.h keep the idle
 * ones in the order in which they are taken. It stands for its blocks in `tables` block tables that are alike. Invariant: every
 * block of an extent has the same holders and, among hashed blocks, the same age, and the last block is taken first; so an extent
 * is cut where a hit ends and eaten from its end. But for a trail, which a sliding window leaves behind: its blocks came back one
 * by one, each has a place of its own in the free queue, and the first one is taken first. In a radix tree a node is one extent:
 * it has no copies and no pieces, and its pieces' times are the tree's (seams).
 */
#ifndef KVSIM_KV_EXTENT_H
#define KVSIM_KV_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_braid;
struct kv_node;
struct kv_prefix_seq;

/* What orders of eviction look at. A release is one sequence giving blocks back; in a radix tree the times are those at which
 * a node was made and at which it was last on the path of a sequence. */
struct kv_age {
    int64_t first_release; /* the first one after which nobody held it; 0 = not yet */
    int64_t last_release;  /* the latest one */
    int32_t hits;          /* how often it was found again */
    int32_t priority;      /* the most urgent of all that have held it; low is urgent */
};

/* What a walk along the copies reads lies in the first cache line. */
struct kv_extent {
    struct kv_extent *older, *younger; /* copies of the node, by when they were hashed */
    int64_t lo, hi;                    /* blocks of the path */
    struct kv_prefix_seq *owner;       /* the running sequence that computes it, or NULL */
    struct kv_node *node;
    int32_t holders;
    uint16_t kind, table, tables; /* block tables [table, table + tables) of a kind */
    bool is_trail;
    int32_t begins;                            /* holds whose first piece it is */
    struct kv_extent *next_piece, *prev_piece; /* of one copy that was cut */
    union {
        struct {
            struct kv_extent *before, *after; /* in a braid of the free queue (lru) */
            struct kv_braid *braid;
        };
        struct kv_braid *last_link;   /* of a trail: the place of its last block */
        size_t heap_index;            /* among the idle ones (other orders) */
        struct kv_extent *next_table; /* while it is held: the same blocks, when it was split */
    };
    /* Of which copy the blocks are: its number and theirs name a block of the pool. */
    uint64_t copy;
    uint64_t last_store; /* number of the last transfer that reads some of them; 0 = none */
    /* of cached states: the turn that hashed the last block; 0 = some turn before */
    uint64_t hashed_turn;
    struct kv_age age;
};

#endif
