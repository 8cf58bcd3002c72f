/*
 * radix_int.h - what the files behind kv/radix.h share. Private to them.
 */
#ifndef KVSIM_KV_RADIX_INT_H
#define KVSIM_KV_RADIX_INT_H

#include "kv/radix.h"

#include <stddef.h>

/* Where a piece begins that is not the first of its node, and when the one before it was made. */
struct kv_seam {
    int64_t at, made;
};

/*
 * The blocks up to `device_end`, a border of pieces, lie in the pool; those behind it in host memory alone. Whether the former
 * have a copy there as well: is_backed. Ages are those of all pieces, but first_release: when the last piece was made that the
 * extent is about, which is the last one in the pool (`extent`) or the last one of all (`host`).
 */
struct kv_radix_node {
    struct kv_node node;
    struct kv_extent extent, host;
    struct kv_radix_seq *seqs; /* running ones whose last node it is */
    int64_t made;              /* the last piece */
    int64_t device_end;
    int64_t device_children; /* children with blocks in the pool */
    int32_t pins;            /* transfers that lock it, or a node below */
    int32_t host_pins;       /* pins for copies to and from below, of it or a node below */
    struct kv_radix_pin *highest, *lowest; /* its own */
    bool is_backed;
    bool is_kept;               /* an idle leaf that cannot go, while another one is looked for */
    bool is_leaf, is_host_leaf; /* stands among the leaves of either kind */
    struct {
        struct kv_seam *at;
        size_t count, capacity;
    } seams;
};

static inline struct kv_radix_node *kv_radix_node_of(const struct kv_node *node)
{
    return (struct kv_radix_node *)(uintptr_t)node;
}

static inline bool kv_radix_is_root(const struct kv_node *node)
{
    return node->parent == NULL;
}

static inline int64_t kv_radix_device_blocks(const struct kv_node *node)
{
    return kv_radix_node_of(node)->device_end - node->begin;
}

/* Held by nobody, and no transfer reads or writes it. */
static inline bool kv_radix_is_free(const struct kv_node *node)
{
    return kv_radix_node_of(node)->extent.holders == 0 && kv_radix_node_of(node)->pins == 0;
}

/* ---- radix.c ---- */

/* Something about the node is another: whether it is a leaf, and how old. */
void kv_radix_changed(struct kv_radix *radix, struct kv_node *node);
/* The front [begin, at) as a node of its own; at a seam, or within a piece whose front was made at `made`. */
struct kv_node *kv_radix_cut(struct kv_radix *radix, struct kv_node *node, int64_t at,
                             int64_t made);
/* Where the piece begins that ends at `at`, and when it was made. */
int64_t kv_radix_piece_begin(const struct kv_node *node, int64_t at);
int64_t kv_radix_piece_made(const struct kv_node *node, int64_t at);
/* The blocks from `from` on, which are not in the pool or have just left it, are gone altogether: a piece, the last one. */
void kv_radix_forget(struct kv_radix *radix, struct kv_node *node, int64_t from);

/* From now on the blocks before `end` lie in the pool. */
void kv_radix_set_device_end(struct kv_radix *radix, struct kv_node *node, int64_t end);
/* A use does not make a leaf of what is none: only the age of one that is changes. */
void kv_radix_touch(struct kv_radix *radix, struct kv_node *node, int64_t now);
struct kv_node *kv_radix_cut_at_seam(struct kv_radix *radix, struct kv_node *node, int64_t at);
/* A path ends at `at` within the node: returns the part that it passed over. Of the piece that it ends in it has seen the
 * back too, which keeps its time of making, while the front is new; pieces behind that one it has not seen. */
struct kv_node *kv_radix_cut_at_end(struct kv_radix *radix, struct kv_node *node, int64_t at,
                                    int64_t now);
void kv_radix_hold_node(struct kv_radix *radix, struct kv_node *node, int32_t change);
void kv_radix_set_last(struct kv_radix_seq *seq, struct kv_node *last);
void kv_radix_let_go(struct kv_radix *radix, struct kv_radix_seq *seq);

/* ---- radix_host.c ---- */

void kv_radix_init_host(struct kv_radix *radix, enum kv_eviction eviction);
void kv_radix_release_host(struct kv_radix *radix);

/* Of the path down to `last` what has been used often enough and has no copy yet gets one, from the root on. */
void kv_radix_back_up(struct kv_radix *radix, struct kv_node *last);
/* Whether a new piece below `parent` of so many blocks has a copy from the beginning. */
bool kv_radix_back_up_new(struct kv_radix *radix, const struct kv_node *parent, int64_t blocks,
                          int32_t hits);
/* The path down to `node` is what the copies just made are read from. */
void kv_radix_note_backup(struct kv_radix *radix, struct kv_node *node);
/* The last piece in the pool of an idle leaf, from `from` on, is to leave it: is there a copy? */
bool kv_radix_keeps_copy(struct kv_radix *radix, struct kv_node *node, int64_t from);
/* What lies behind the blocks in the pool of an idle leaf is gone, pinned or not. */
void kv_radix_drop_behind(struct kv_radix *radix, struct kv_node *node);
/* The pins of a node that is cut: those of pieces that end in the front are the front's. */
void kv_radix_share_pins(struct kv_radix_node *front, struct kv_radix_node *back, int64_t at);
/* A pin holds its last piece. */
static inline bool kv_radix_end_is_pinned(const struct kv_node *node)
{
    const struct kv_radix_pin *lowest = kv_radix_node_of(node)->lowest;
    return lowest != NULL && lowest->end == node->end;
}

#endif
