/*
 * prefix_int.h - what the files of the block-hash cache share: copies hung on nodes of the tree. Private to the room.
 */
#ifndef KVSIM_KV_PREFIX_INT_H
#define KVSIM_KV_PREFIX_INT_H

#include "base/error.h"
#include "kv/prefix.h"

/* Of the tables of a kind, by when they were hashed. */
struct kv_copies {
    struct kv_extent *oldest, *youngest;
    int64_t split_count; /* of them in one table only, where there are more */
};

/* A node and all copies of its blocks. */
struct kv_copies_node {
    struct kv_node node;
    int64_t extent_count;
    struct kv_copies of[]; /* by kind */
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

static inline bool kv_extent_covers(const struct kv_extent *extent, uint32_t table)
{
    return extent->table <= table && table < (uint32_t)extent->table + extent->tables;
}

static inline bool kv_kind_is_states(const struct kv_prefix_kind *kind)
{
    return kind->window != NULL && kind->window->kind == SPEC_KV_STATE;
}

/* Blocks that no window of the kind sees from `tokens` on. */
static inline int64_t kv_kind_passed_blocks(const struct kv_prefix_kind *kind, int64_t tokens)
{
    return kind->window != NULL ? kv_window_passed_blocks(kind->window, tokens) : 0;
}

/* Of cached states: the last one. */
static inline size_t kv_prefix_state_kind(const struct kv_prefix *prefix)
{
    size_t kind = prefix->kind_count - 1;
    base_require(kv_kind_is_states(&prefix->kinds[kind]));
    return kind;
}

/* The first hold of a table, or where it would stand. Windows lie behind the full tables, and have few. */
static inline size_t kv_prefix_begin_of_table(const struct kv_prefix_seq *seq, uint32_t table)
{
    size_t i = seq->holds.count;
    while (i > 0 && seq->holds.at[i - 1].table >= table) {
        i--;
    }
    return i;
}

/* Of the engine's own queue; the other orders are a heap of extents. */
static inline bool kv_prefix_has_queue(const struct kv_prefix *prefix)
{
    return prefix->idle.order == KV_EVICT_LRU;
}

/* ---- prefix_copies.c: extents of nodes ---- */

/* Of a node's blocks: each is the hash of the content up to its end. */
void kv_copies_add_youngest(struct kv_prefix *prefix, struct kv_node *node,
                            struct kv_extent *extent);
void kv_copies_remove(struct kv_prefix *prefix, struct kv_extent *extent);
/* From a node upwards: one without copies and children holds nothing that anybody can find. */
void kv_copies_drop_empty_nodes(struct kv_prefix *prefix, struct kv_node *node);
/* Contents part at block `at`: returns the node in front of it. */
struct kv_node *kv_copies_cut_node(struct kv_prefix *prefix, struct kv_node *node, int64_t at);

/* Not among the idle ones. */
void kv_extent_drop(struct kv_prefix *prefix, struct kv_extent *extent);
/* At block `at`, lo < at < hi: the extent keeps the front, the back is a piece of its own with the same fate. */
struct kv_extent *kv_extent_cut(struct kv_prefix *prefix, struct kv_extent *extent, int64_t at);
/* Two pieces of a copy share their fate again. */
bool kv_extent_can_join(const struct kv_prefix *prefix, const struct kv_extent *front,
                        const struct kv_extent *back);
void kv_extent_join(struct kv_prefix *prefix, struct kv_extent *front, struct kv_extent *back);
/* The sequence's hold begins with the extent. When it lets the first block go, that shares the fate of the piece before it. */
bool kv_extent_can_slide(const struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                         const struct kv_extent *extent);
/* An extent of several tables becomes one for each; it stays that of the first, the others follow it in age. */
void kv_extent_split(struct kv_prefix *prefix, struct kv_extent *extent);
/* A braid of several rounds becomes one for each, its strands are split; what was taken of it is gone. Of a link the trail. */
void kv_prefix_unravel(struct kv_prefix *prefix, struct kv_braid *braid);
void kv_prefix_unravel_trail(struct kv_prefix *prefix, struct kv_extent *trail);
/* The first block of a trail loses its place in all tables; counted it is already. */
void kv_prefix_eat_link(struct kv_prefix *prefix, struct kv_braid *link);
/* The next blocks of a braid of one round lose their places; counted they are already. */
void kv_prefix_eat(struct kv_prefix *prefix, struct kv_braid *braid, int64_t blocks);
/* What a sequence holds of an extent that has been split it holds table by table from now on. */
void kv_prefix_follow_splits(struct kv_prefix *prefix, struct kv_prefix_seq *seq);

/* The same where there were splits that it has not seen. */
static inline void kv_prefix_catch_up(struct kv_prefix *prefix, struct kv_prefix_seq *seq)
{
    if (seq->splits_seen != prefix->splits) {
        kv_prefix_follow_splits(prefix, seq);
    }
}

/* ---- prefix_blank.c: blocks without content that transfers read; where on_blank_reuse is set ---- */

/* Blocks come back at the head of the queue together: first those that nobody reads, then of a hold, its last block first. */
void kv_blank_begin(struct kv_prefix *prefix, int64_t unread_blocks);
void kv_blank_give(struct kv_prefix *prefix, const struct kv_prefix_seq *seq, uint32_t table,
                   int64_t lo, int64_t hi);
void kv_blank_end(struct kv_prefix *prefix);
/* From the head of the queue; no more than there are. */
void kv_blank_take(struct kv_prefix *prefix, int64_t blocks);
void kv_blank_note(struct kv_prefix_seq *seq, uint32_t table, int64_t lo, int64_t hi,
                   uint64_t number);
/* Reads that have ended are no matter any more. */
void kv_blank_forget(const struct kv_prefix *prefix, struct kv_prefix_seq *seq);

/* Up to where an extent can be hit: a running sequence's own blocks as far as they are hashed. */
int64_t kv_prefix_visible_end(const struct kv_prefix *prefix, const struct kv_extent *extent);

#endif
