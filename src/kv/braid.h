/*
 * braid.h - the engine's own free queue (lru), as braids: what one sequence gives back at once, in tables that are alike.
 *
 * Blocks come back table by table, in each first those without content, then the others, last block first. Tables that are
 * alike (kv/prefix.h) give the same blocks back, so one braid stands for all of them: its strands are extents, and it is taken
 * in rounds, one for each table. A strand that is hit leaves, and the others keep their places. A braid of several rounds
 * counts what was taken from its beginning (`eaten`) and lets its strands go when that is all of it; who must know what is
 * left of a strand unravels it first (kv_prefix_unravel). Of a braid of one round blocks are taken at once.
 *
 * A window that slides gives back one block at a time, each behind those that others gave back meanwhile. Such blocks of one
 * extent are a trail: each is a braid of its own, a link, but they stay one extent, whose first block is the next to be taken.
 *
 * Invariant: round_blocks == blank + blocks of the strands; a braid is not empty; eaten == 0 where there is one round. A trail
 * has as many links as blocks, in the order of the queue; the block of a link is known by its place among them.
 */
#ifndef KVSIM_KV_BRAID_H
#define KVSIM_KV_BRAID_H

#include "base/pool.h"
#include "kv/extent.h"

#include <stdbool.h>
#include <stdint.h>

struct kv_braid {
    struct kv_braid *before, *after;
    /* of the strands, in the order in which they are taken; of a link the trail */
    struct kv_extent *first;
    union {
        struct kv_extent *last;
        struct kv_braid *earlier; /* link, where this one is not the trail's first */
    };
    int64_t blank; /* blocks of a round without content, before all strands */
    int64_t round_blocks;
    int32_t rounds;
    bool is_link;
    int64_t eaten;
};

/* Links are used again in the order in which they went, so that they lie in memory as they do in the queue: walking is quick. */
struct kv_braids {
    struct kv_braid *head, *tail; /* taken from the head */
    struct base_pool pool, links;
    struct kv_braid *free_first, *free_last; /* links, by `after` */
};

void kv_braids_init(struct kv_braids *queue);
void kv_braids_release(struct kv_braids *queue);

/* A new one before `next`, NULL: at the tail; without strands yet. */
struct kv_braid *kv_braids_add(struct kv_braids *queue, struct kv_braid *next, int64_t rounds,
                               int64_t blank);
void kv_braids_drop(struct kv_braids *queue, struct kv_braid *braid);
/* Blocks without content come to the tail. */
void kv_braids_add_blank(struct kv_braids *queue, int64_t blocks);

void kv_braid_add_strand(struct kv_braid *braid, struct kv_extent *extent);
/* The back of a strand that has been cut. */
void kv_braid_add_back_piece(struct kv_extent *front, struct kv_extent *back);
/* A braid that is empty with that goes too. */
void kv_braid_remove_strand(struct kv_braids *queue, struct kv_extent *extent);

/* The last block of an idle extent comes to the tail: its only one, or it is a trail. */
void kv_trail_add_link(struct kv_braids *queue, struct kv_extent *extent);
/* The back of a trail that has been cut. */
void kv_trail_add_back_piece(struct kv_extent *front, struct kv_extent *back);
/* None of its blocks has a place any more, it is an extent like others. */
void kv_trail_remove_links(struct kv_braids *queue, struct kv_extent *extent);
/* Tables that are no longer alike: links of one round to `extent`, one before each of `whole`, a trail of as many blocks. */
void kv_trail_copy_links(struct kv_braids *queue, struct kv_extent *extent, struct kv_braid *whole);

static inline int64_t kv_braid_blocks(const struct kv_braid *braid)
{
    return braid->rounds * braid->round_blocks - braid->eaten;
}

/* Of the next `blocks` behind the first `passed` ones, those with content. */
int64_t kv_braid_content(const struct kv_braid *braid, int64_t passed, int64_t blocks);
/* Behind the first `passed` ones: how many are all blank or (evicts) all with content. */
int64_t kv_braid_alike(const struct kv_braid *braid, int64_t passed, bool *evicts);

#endif
