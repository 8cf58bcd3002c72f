/*
 * radix.h - the prefix cache of SGLang: a tree of what sequences have computed, locked along the paths of running ones.
 *
 * A running sequence holds the nodes of its path down to `last` (a lock each) and, beside the tree, the blocks behind it. What
 * it computes enters the tree while its prompt is computed and when it ends; where the tree has that content already, its own
 * copy is given back and it holds the tree's. So content is there once, and can be found when it has entered, not before.
 * A look-up or an entry refreshes the nodes of its path and cuts a node in which it ends. Nobody's nodes are idle; of them a
 * childless one goes first, by the order of eviction, as a whole; then its parent may be the next.
 *
 *   piece   what SGLang calls a node: what one entry added, or a part of it once contents have parted in it
 *   node    of the tree here: a row of pieces, each the only child of the one before, that have shared their fate so far
 *           (locks, last use, hits, urgency). `seams` are the borders between them. A sequence that goes on where it stopped makes
 *           a node longer, so that steps down the tree cost by the contents that part, not by chunks, turns and tokens
 *
 * Cost: look-up, entry and end by the nodes of the path; taking blocks O(log idle leaves) for each piece that goes.
 * Times are counts of the tree's clock. One table, all of the context; blocks are pages of the engine.
 * Source: SGLang, mem_cache/radix_cache.py, evict_policy.py (docs/sources.md). A trie of plain arrays (tests/reference) agrees.
 * Invariants: a node is held at least as often as each of its children; free == blank + idle; idle leaves, and only they, are
 * in `leaves`.
 */
#ifndef KVSIM_KV_RADIX_H
#define KVSIM_KV_RADIX_H

#include "kv/content.h"
#include "kv/evict.h"
#include "kv/tree.h"

#include <stdbool.h>
#include <stdint.h>

/* What a sequence holds: embedded in the scheduler's own. Zeroed = nothing. */
struct kv_radix_seq {
    const struct kv_content
        *content;     /* prompt and answer; with the priority set before kv_radix_hold() */
    int32_t priority; /* low is urgent */
    struct kv_node
        *last; /* lowest node that it locks, the root where there is none; NULL: it does not run */
    struct kv_radix_seq *prev, *next; /* others with the same last */
};

struct kv_radix_match {
    struct kv_node *last; /* whose end is where the match ends */
    int64_t blocks;
    int64_t idle_blocks; /* of them, held by nobody */
};

struct kv_radix {
    struct kv_tree tree;
    struct kv_evict leaves; /* idle ones */
    int64_t clock;
    int64_t blank_blocks;  /* free, without content */
    int64_t idle_blocks;   /* in the tree, held by nobody */
    int64_t shared_blocks; /* sum over held blocks of holders - 1 */
    int64_t evicted_blocks;
};

void kv_radix_init(struct kv_radix *radix, int64_t block_tokens, int64_t usable_blocks,
                   enum kv_eviction eviction);
void kv_radix_release(struct kv_radix *radix);

static inline int64_t kv_radix_free_blocks(const struct kv_radix *radix)
{
    return radix->blank_blocks + radix->idle_blocks;
}

/* The longest beginning of `content` in the tree, at most `most` blocks. Refreshes and cuts, whatever becomes of it. */
void kv_radix_match(struct kv_radix *radix, const struct kv_content *content, int64_t most,
                    struct kv_radix_match *out);
/* A running sequence is about to compute the block of `content` behind the match. */
bool kv_radix_is_pending(const struct kv_radix *radix, const struct kv_content *content,
                         const struct kv_radix_match *match);
/* The sequence runs and holds what was found, the last match that was made. */
void kv_radix_hold(struct kv_radix *radix, struct kv_radix_seq *seq,
                   const struct kv_radix_match *match);
/* The first `blocks` of a running sequence, which it has computed or found, are in the tree from now on, and held.
 * `is_chunk`: more of its prompt follows, so this is no use of what it made before. */
void kv_radix_enter(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t blocks,
                    bool is_chunk);
/* The sequence has ended: its first `kept_blocks` are in the tree, the others of `held_blocks` in all are free and blank. */
void kv_radix_end(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t kept_blocks,
                  int64_t held_blocks);
/* The sequence is thrown out: what has entered stays, the others of `held_blocks` are free and blank. */
void kv_radix_throw_out(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t held_blocks);
/* Takes blocks; as many pieces go as it takes for them to be blank. blocks <= free. */
void kv_radix_take(struct kv_radix *radix, int64_t blocks);
/* Pieces go until at least so many blocks have become blank, or none is idle. Returns how many have. */
int64_t kv_radix_evict(struct kv_radix *radix, int64_t blocks);

#endif
