/*
 * stock.h - what the tiers behind the pool hold, as strands: chunks of one content that lie in a row and are alike.
 *
 * A chunk is some tokens of a content and all before them, of one block table. All contents of which a tier holds or remembers
 * something are one tree (kv/tree.h, its blocks being chunks). On its nodes lie strands, in planes: a plane is a table of a
 * tier. The chunks of a strand follow each other in their content and in a list of their tier (from the first on: rising; from
 * the last: falling), and whatever is known of one is true of all. So what is done to a content costs by strands, not by
 * chunks. A strand is cut where less than all of it changes, and joined with its neighbour in the list where the two are alike.
 *
 * Invariants: strands of a plane in a node do not overlap; a list's count is that of its chunks; a node without strands, holds
 * and children is gone. Ownership: the stock owns nodes and strands; lists belong to the tiers (kv/tier.h).
 */
#ifndef KVSIM_KV_STOCK_H
#define KVSIM_KV_STOCK_H

#include "kv/tree.h"

struct kv_strand_list {
    struct kv_strand *oldest, *youngest;
    int64_t count; /* chunks */
};

struct kv_strand {
    struct kv_node *node;
    struct kv_strand *above,
        *below; /* the next ones of the plane in the node, to the root and away */
    struct kv_strand *older, *younger;
    struct kv_strand_list *list;
    int64_t lo, hi; /* chunks of the path */
    uint32_t plane;
    bool is_rising; /* nothing of one chunk */
    /* Of each chunk: */
    bool is_ready;
    int32_t readers, copiers; /* transfers to the memory above, and to the tier below */
    int64_t asked;
    uint64_t spared; /* scratch of one eviction */
};

/* Chunks [lo, hi) of a table on the path that ends with `node`: true whatever is cut or joined, while the node is held. */
struct kv_piece {
    struct kv_node *node;
    int64_t lo, hi;
    uint32_t table;
    bool is_falling; /* where they are gone through: the last one first */
};

struct kv_pieces {
    struct kv_piece *at;
    size_t count, capacity;
};

/* The leading chunks of a content that the tree knows: `end` of them, the last one in `last`. */
struct kv_path {
    struct kv_node *last;
    int64_t end;
};

/* Chunks that are alike: of one strand, or of none. */
struct kv_alike {
    struct kv_strand *strand; /* NULL: nothing is known of them */
    int64_t lo, hi;
};

struct kv_stock {
    struct kv_tree tree;
    uint64_t changes; /* of the tree so far */
    uint32_t plane_count;
    struct base_pool strands;
};

void kv_stock_init(struct kv_stock *stock, int64_t chunk_tokens, uint32_t plane_count);
void kv_stock_release(struct kv_stock *stock);

/* At most `most` chunks. True until `changes` is another. */
struct kv_path kv_stock_find(const struct kv_stock *stock, const struct kv_content *content,
                             int64_t most);
/* All of the first `end`; a node that is made for that is gone with the next kv_stock_unhold() if nothing has come to it. */
struct kv_path kv_stock_make(struct kv_stock *stock, const struct kv_content *content, int64_t end);
/* A node that is held stays, and so does the path to it. */
void kv_stock_hold(struct kv_node *node);
void kv_stock_unhold(struct kv_stock *stock, struct kv_node *node);

/* [lo, hi) of a path, hi <= its end and lo < hi, the first one first. */
struct kv_piece kv_path_piece(const struct kv_path *path, uint32_t table, int64_t lo, int64_t hi);
/* From `at` on, and up to `at`, in one node at most: no further than `limit`. */
struct kv_alike kv_path_look(const struct kv_path *path, uint32_t plane, int64_t at, int64_t limit);
struct kv_alike kv_path_look_back(const struct kv_path *path, uint32_t plane, int64_t at,
                                  int64_t limit);

/* Adds a piece and holds its node; empties the list and lets them go. */
void kv_pieces_keep(struct kv_pieces *pieces, const struct kv_piece *piece);
void kv_pieces_forget(struct kv_stock *stock, struct kv_pieces *pieces);
int64_t kv_pieces_chunks(const struct kv_pieces *pieces);

/* The strands of a plane that share chunks with the piece, the last one first. `next`: the strand as it is now. */
struct kv_strand *kv_piece_last(const struct kv_piece *piece, uint32_t plane);
struct kv_strand *kv_piece_next(const struct kv_piece *piece, const struct kv_strand *strand);

/* Chunks of which nothing is known, within one node, come to the young end of a list; everything else of them is zero. */
struct kv_strand *kv_strand_new(struct kv_stock *stock, struct kv_node *node, uint32_t plane,
                                int64_t lo, int64_t hi, bool is_rising,
                                struct kv_strand_list *list);
/* Cut to what lies in [lo, hi). */
struct kv_strand *kv_strand_within(struct kv_stock *stock, struct kv_strand *strand, int64_t lo,
                                   int64_t hi);
/* To the young end of a list, in that order: goes on the one before it, if that is alike, but stays the strand that it is. */
void kv_strand_move(struct kv_stock *stock, struct kv_strand *strand, struct kv_strand_list *list,
                    bool is_rising);
/* With its neighbours in the list, if they are alike; returns the strand in which it is now. */
struct kv_strand *kv_strand_join(struct kv_stock *stock, struct kv_strand *strand);
/* Its `chunks` oldest are not known any more; some may be left. */
void kv_strand_shrink(struct kv_stock *stock, struct kv_strand *strand, int64_t chunks);

static inline int64_t kv_strand_chunks(const struct kv_strand *strand)
{
    return strand->hi - strand->lo;
}

#endif
