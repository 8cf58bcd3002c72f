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
 * Host memory behind the tree (kv_radix_set_host(), SGLang's HiCache): a piece is copied there when entries have passed over it
 * often enough, its parent having a copy, or when it is evicted. One that is evicted and has a copy stays in the tree, in host
 * memory alone. A look-up finds both, blocks of the pool first: nothing below a node that has left the pool lies in it. Of what
 * lies in host memory alone the childless pieces make room there, by the same order; a copy of what the pool has stays.
 * Transfers lock the paths that they read from or write to (pins). What is copied between host memory and a tier below stays
 * there by pieces (kv_radix_pin): a cut leaves such a pin with the part that the piece's end lies in, as what is above that
 * stays with it. A leaf of the pool that finds no room for a copy is gone, unless a pinned piece lies behind it: then it stays,
 * and the next leaf goes; if there is none, it goes with all that lies behind it.
 *
 * Cost: look-up, entry and end by the nodes of the path; taking blocks O(log idle leaves) for each piece that goes.
 * Times are counts of the tree's clock. One table, all of the context; blocks are pages of the engine.
 * Source: SGLang, mem_cache/radix_cache.py, hiradix_cache.py, evict_policy.py (docs/sources.md). A trie of plain arrays
 * (tests/reference) agrees.
 * Invariants: a node is held and pinned at least as often as each of its children; free == blank + idle; idle leaves, and only
 * they, are in `leaves`; a node that is in the pool in part is held and pinned by nobody.
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
    /* prompt and answer; with the priority set before kv_radix_hold() */
    const struct kv_content *content;
    int32_t priority; /* low is urgent */
    /* lowest node that it locks, the root where there is none; NULL: it does not run */
    struct kv_node *last;
    struct kv_radix_seq *prev, *next; /* others with the same last */
};

struct kv_radix_match {
    struct kv_node *last; /* whose end is where the match ends */
    int64_t blocks;       /* in the pool */
    int64_t idle_blocks;  /* of them, free: held and pinned by nobody */
    int64_t host_blocks;  /* behind them, in host memory alone */
    bool is_loaded;       /* set by whoever holds it: these come to the pool, kv_radix_load() */
};

/*
 * A copy from or to the tier below needs the piece that ends at `end`, or its place. Taken and given back with
 * kv_radix_pin_host() and kv_radix_unpin_host().
 */
struct kv_radix_pin {
    struct kv_node *node; /* in which the piece ends; NULL: it had to go all the same */
    int64_t end;
    struct kv_radix_pin *above, *below;  /* of the node, by their ends */
    struct kv_radix_pin *before, *after; /* of the tree */
};

/* A piece that was copied to host memory, pinned there until it has been copied further. */
struct kv_radix_piece {
    struct kv_radix_pin *pin;
    int64_t blocks;
};

struct kv_radix_pieces {
    struct kv_radix_piece *at;
    size_t count, capacity;
};

/* Of a tree, in no order. */
struct kv_radix_nodes {
    struct kv_node **at;
    size_t count, capacity;
};

/* When a piece is copied to host memory. */
enum kv_backup {
    KV_BACKUP_NONE, /* there is none */
    KV_BACKUP_AT_USE, /* at the `uses`th entry that passes over it, the first is the one that adds it */
    KV_BACKUP_AT_EVICTION /* when it leaves the pool */
};

struct kv_radix_host {
    enum kv_backup when;
    int32_t uses;
    int64_t capacity_blocks;
    int64_t blocks, peak_blocks; /* held */
    int64_t added_blocks, evicted_blocks;
    int64_t refused;        /* pieces for which there was no room */
    bool has_below;         /* what is copied at eviction is copied further down */
    struct kv_evict leaves; /* pieces in host memory alone, without children */
    /* What was copied since kv_radix_take_backup(): at use, and the node down to which that is pinned; at eviction. */
    struct kv_node *source;
    int64_t backed_blocks, written_blocks;
    struct kv_radix_pieces written; /* if something is below */
    struct base_pool pin_pool;
    struct kv_radix_pin *pins;
    struct kv_radix_nodes kept, path; /* scratch */
    struct {
        struct spec_token_run *at;
        size_t count, capacity;
    } runs;
};

struct kv_radix {
    struct kv_tree tree;
    struct kv_evict leaves; /* idle ones */
    int64_t clock;
    int64_t blank_blocks;  /* free, without content */
    int64_t idle_blocks;   /* in the tree, held by nobody */
    int64_t shared_blocks; /* sum over held blocks of holders - 1 */
    int64_t pinned_blocks; /* in the tree, held by transfers alone */
    int64_t evicted_blocks;
    struct kv_radix_host host;
};

void kv_radix_init(struct kv_radix *radix, int64_t block_tokens, int64_t usable_blocks,
                   enum kv_eviction eviction);
/* The tree, still empty, has host memory behind it, and perhaps a tier below that. */
void kv_radix_set_host(struct kv_radix *radix, enum kv_backup when, int32_t uses,
                       int64_t capacity_blocks, bool has_below);
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
/* The sequence runs and holds what was found, the last match that was made; of what lies in host memory what is_loaded. */
void kv_radix_hold(struct kv_radix *radix, struct kv_radix_seq *seq,
                   const struct kv_radix_match *match);
/* What it found in host memory lies in the pool from now on, in blocks that were taken for it. */
void kv_radix_load(struct kv_radix *radix, struct kv_radix_seq *seq);
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

/* A transfer reads or writes blocks of the path down to `node`: it stays until it has ended. */
void kv_radix_pin(struct kv_radix *radix, struct kv_node *node);
void kv_radix_unpin(struct kv_radix *radix, struct kv_node *node);
/* The copy in host memory of the piece of `node` that ends at `end` stays, or its place in the tree, for what comes from below. */
struct kv_radix_pin *kv_radix_pin_host(struct kv_radix *radix, struct kv_node *node, int64_t end);
void kv_radix_unpin_host(struct kv_radix *radix, struct kv_radix_pin *pin);
bool kv_radix_has_copy(const struct kv_node *node);
/* Room in host memory for so many blocks, and giving it back. */
bool kv_radix_take_room(struct kv_radix *radix, int64_t blocks);
void kv_radix_give_room(struct kv_radix *radix, int64_t blocks);
/* Blocks of `content` up to `end`, behind `node`, are in host memory: returns how many were not in the tree. */
int64_t kv_radix_enter_host(struct kv_radix *radix, struct kv_node *node,
                            const struct kv_content *content, int64_t end);
/* Blocks copied at use since this was last asked; the path down to *source is pinned for that and to be unpinned. 0: none. */
int64_t kv_radix_take_backup(struct kv_radix *radix, struct kv_node **source);
/* Blocks copied at eviction since this was last asked; if something is below, the pieces that they are of are added to `pieces`,
 * but for those that have gone since. */
int64_t kv_radix_take_written(struct kv_radix *radix, struct kv_radix_pieces *pieces);
/* All tokens of the path down to a pin: true until the next call. Costs by the runs of the path. */
struct kv_content kv_radix_content(struct kv_radix *radix, const struct kv_radix_pin *pin);

#endif
