/*
 * prefix.h - the prefix cache of vLLM V1 over runs of blocks: hits, holders, the free queue, eviction.
 *
 * The engine keeps blocks one by one: a full block is hashed together with everything before it, a block that nobody holds
 * waits in the free queue with its content until it is taken. Here a run of consecutive blocks that share their fate is
 * one extent, so cost follows requests and shared prefixes, not contexts:
 *
 *   node    a stretch of content in the tree of all contents that are cached or being computed; it is cut where contents
 *           part (at block borders) and where a run must be cut
 *   extent  one physical copy of the blocks [lo, hi) of a node's path: how many hold it, its place in the free queue.
 *           Several copies of one position can exist; the one hashed first is hit, each keeps its place
 *
 * While a sequence runs, its own extents reach to where its content will end; what of them is hashed so far is asked of the
 * sequence (`hashed_blocks`). Where two running sequences will hash the same blocks (one's prompt holds the other's answer,
 * or two prompts are computed side by side) they are contended: kv_prefix_commit() then settles after every turn which copy
 * is the older one. An extent in the free queue is eaten from its end (blocks are freed last block first), a hit
 * takes from its front. Free order `new`: blocks without content go to the head of the queue, so they are a number before
 * all extents; `old`: everything goes to the tail in turn. Other orders than the queue's (kv/evict.h) take empty blocks first.
 *
 * Where tables have blocks of several lengths, contents are cut where blocks of all of them begin together: a block of the tree
 * is that many tokens (kv_tables.period_tokens), found or hashed as a whole, and several blocks of a table. Extents and holds
 * count a table's own blocks, of which each is taken and given back by itself.
 *
 * Sparse windows (kv_tables.is_sparse): a sequence hashes of a sliding window's blocks only those that somebody who starts
 * behind one of two places needs: behind the last whole block before its prompt's last token (replay), and behind the
 * longest beginning that the first kind of tables had when it was looked up, if the others had less (junction). All others
 * are blank holds: blocks that never have content. A transfer reads them like others, so which of them lie at the head of the
 * queue matters while it does (kv/prefix_blank.c).
 *
 * Tables of a kind see alike, so they hold, hash and give back the same blocks. An extent stands for all of them, and the free
 * queue takes such extents in rounds, table by table (kv/braid.h); only where eviction has taken a block from some of them and
 * somebody looks there, extents are split, one for each table, and a sequence that held them follows
 * (kv_prefix_follow_splits). Where transfers read blocks, windows are sparse or the order is another one than the queue's, each
 * table is by itself.
 *
 * Source: vLLM, vllm/v1/core/block_pool.py, kv_cache_manager.py (docs/sources.md). A block-by-block reference
 * (tests/reference) agrees on every step of random scenarios.
 * Invariants: free_blocks == blank_blocks + idle_blocks; an extent is queued just when it has no holder.
 */
#ifndef KVSIM_KV_PREFIX_H
#define KVSIM_KV_PREFIX_H

#include "base/mem.h"
#include "base/pool.h"
#include "kv/braid.h"
#include "kv/content.h"
#include "kv/evict.h"
#include "kv/tables.h"
#include "kv/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Blocks [lo, hi) of a copy, by its number: stays true whatever becomes of the extents. They lay in the piece [piece_lo,
 * piece_hi), of which `last_store` had been the last transfer to read some.
 */
struct kv_source {
    uint64_t copy;
    int64_t lo, hi, piece_lo, piece_hi;
    uint64_t last_store;
};

struct kv_sources {
    struct kv_source *at;
    size_t count, capacity;
};

/* Free blocks without content that lie in a row, or those that a sequence holds: the last transfer to read them; 0: none. */
struct kv_blank_run {
    int64_t blocks;
    uint64_t last_store;
};

struct kv_blank_runs {
    struct kv_blank_run *at;
    size_t count, capacity;
};

/* Blocks [lo, hi) of a table that a sequence holds without content: transfer `store` reads them. */
struct kv_blank_read {
    int64_t lo, hi;
    uint64_t store;
    uint32_t table;
};

struct kv_stretch;

/* Blocks [lo, hi) of a copy in some tables, from its piece `first` on; NULL: blocks without content, also when they are full. */
struct kv_hold {
    struct kv_extent *first;
    int64_t lo, hi;
    uint32_t table, tables; /* all of a kind, or one */
};

/* What a sequence holds: embedded in the scheduler's own. Zeroed = nothing. */
struct kv_prefix_seq {
    struct kv_content content; /* prompt and answer */
    struct {
        struct kv_hold *at;
        size_t count, capacity;
    } holds; /* by table, then by place */
    struct {
        struct kv_blank_read *at;
        size_t count, capacity;
    } reads;              /* of blank holds, by transfer, then table; some have ended */
    uint64_t splits_seen; /* of kv_prefix.splits */
    /* by kind: blocks of a table that windows have left behind */
    int64_t passed[KV_WINDOWS_MAX + 1];
    bool is_contended;
    int32_t priority; /* of the request; this and the next two are set before it is attached */
    int64_t replay_blocks,
        junction_blocks; /* of the tree; sparse windows: what ends there keeps its content */
};

struct kv_hits {
    bool is_new_state; /* the turn under way has hashed the state that they end with */
    struct kv_hold *at;
    size_t count, capacity;
    /* of the tree, hit from block 0 on in every table; below a window there is nothing to hold */
    int64_t blocks;
    int64_t idle_blocks; /* of all tables, in the free queue */
    /* the sequence starts behind these, more than hits: see kv_prefix_start_behind() */
    int64_t start_tokens;
    int64_t junction_blocks; /* that the first kind of tables has, if others have less; else 0 */
    bool next_is_pending;    /* a running sequence is about to hash the block behind them */
};

/* Block tables from `first` on that see alike: window NULL, everything. */
struct kv_prefix_kind {
    const struct kv_window *window;
    uint32_t first, count;
    int64_t each; /* blocks of a table in one of the tree */
};

/* Along the free queue from its head on, changing nothing; INT64_MAX blank ones: nothing that is taken holds content. */
struct kv_queue_walk {
    int64_t blank;                /* the next ones are empty; behind them */
    const struct kv_braid *braid; /* NULL: all others hold content */
    int64_t passed;               /* blocks of it */
};

struct kv_prefix {
    int64_t block_tokens; /* of the tree */
    uint32_t table_count;
    size_t kind_count;
    struct kv_prefix_kind kinds[KV_WINDOWS_MAX + 1]; /* full tables, then windows */
    struct {
        struct kv_stretch *at;
        size_t count, capacity;
    } path; /* scratch: the nodes along one content */
    bool is_old_order;
    bool is_sparse;
    bool drops_blank;      /* windows may give back blocks that have no content */
    int64_t blank_blocks;  /* free, without content */
    int64_t idle_blocks;   /* free, with content */
    int64_t shared_blocks; /* sum over held blocks of holders - 1 */
    int64_t evicted_blocks;
    int64_t contended_count; /* running sequences with is_contended */
    int64_t releases;        /* sequences that gave back what they held */
    struct kv_braids queue;  /* extents that nobody holds: lru */
    struct kv_evict idle;    /* the other orders */
    struct kv_tree tree;     /* of all contents that are cached or being computed */
    struct base_pool extents;
    /* Of the tree. */
    int64_t (*hashed_blocks)(void *context, const struct kv_prefix_seq *seq);
    /* The block whose state the turn under way has hashed, or -1; asked of models with cached states. */
    int64_t (*new_state)(void *context, const struct kv_prefix_seq *seq);
    uint64_t turn;
    void *context;
    uint64_t next_copy;
    uint64_t splits;      /* extents of several tables that became one for each */
    uint64_t stores_done; /* transfers up to this number read no more */
    /* Idle blocks are taken that a later transfer may read. NULL: nobody reads. */
    void (*on_reuse)(void *context, const struct kv_source *source);
    /* The same of blocks without content. NULL: nobody reads such, and they are a number. */
    void (*on_blank_reuse)(void *context, uint64_t last_store);
    /* The blank blocks, the last run lies at the head of the queue; those that no run stands for lie below, read by nobody. */
    struct kv_blank_runs blank_runs;
    struct kv_blank_runs
        blank_batch; /* scratch: what comes back together, the first to be taken first */
    /* Blocks [lo, hi) of the path through `node`, with content, are evicted, the last one first. NULL: nobody asks. */
    void (*on_evict)(void *context, uint32_t table, const struct kv_node *node, int64_t lo,
                     int64_t hi);
};

/* is_old_order: empty blocks lie in the queue among the others; lru only. `tables` stays where it is. */
void kv_prefix_init(struct kv_prefix *prefix, const struct kv_tables *tables, int64_t usable_blocks,
                    enum kv_eviction eviction, bool is_old_order);
void kv_prefix_release(struct kv_prefix *prefix);

static inline int64_t kv_prefix_free_blocks(const struct kv_prefix *prefix)
{
    return prefix->blank_blocks + prefix->idle_blocks;
}

/*
 * The most leading blocks of `content`, at most `most`, that a sequence can start behind: all of them in the full tables, in
 * a sliding window's those that the next token sees, in a chunked one's those of its chunk. Changes nothing.
 */
void kv_prefix_lookup(struct kv_prefix *prefix, const struct kv_content *content, int64_t most,
                      struct kv_hits *out);
/* It will start behind `tokens`, what lies behind its hits coming from elsewhere: what no window sees from there is not held. */
void kv_prefix_start_behind(const struct kv_prefix *prefix, struct kv_hits *hits, int64_t tokens);
/* The sequence holds the hits from now on and will compute the rest of its content itself. */
void kv_prefix_attach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_hits *hits);
/* Takes blocks from the head of the queue; what they held is evicted. blocks <= free. */
void kv_prefix_take(struct kv_prefix *prefix, int64_t blocks);
/* The sequence gives everything back, table by table, last block first: of the blocks for `held_tokens` those without content,
 * then those of the first hashed_blocks of the tree. */
void kv_prefix_detach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks,
                      int64_t held_tokens);
/* The same of a sequence that was to start behind `start_tokens`, to which nothing has come of what its hits lack: it has
 * blocks for `held_tokens`, less those that no window sees from there. */
void kv_prefix_detach_early(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                            int64_t hashed_blocks, int64_t held_tokens, int64_t start_tokens);
/* The tables of a window give back their blocks below `until`, last block first; those of the first hashed_blocks of the tree
 * are hashed. */
void kv_prefix_drop(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                    const struct kv_window *window, int64_t until, int64_t hashed_blocks);
/*
 * Tables of cached states. A sequence that holds them takes the states of blocks [lo, hi) when their turn comes: one, in which a
 * chunk ends, or all to its end, once it gains one token a step.
 */
void kv_prefix_add_states(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t lo,
                          int64_t hi);
/* They give back what lies below `until` without a gap, last block first, and then block `older` (-1: none); returns how many
 * blocks of a table. */
int64_t kv_prefix_drop_states(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t until,
                              int64_t older);
/* The blocks of a contended sequence that are hashed by now are as old as now: called after each turn, in running order. */
void kv_prefix_commit(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks);
/* Where every table is by itself: whether the sequence holds a block in one, and so all others up to what is returned. */
int64_t kv_prefix_holds_until(const struct kv_prefix_seq *seq, uint32_t table, int64_t block,
                              bool *is_held);
/* Transfer `number` reads blocks [lo, hi) of a table, as far as the sequence holds them; adds them to `out`, returns how many. */
int64_t kv_prefix_note_store(struct kv_prefix_seq *seq, uint32_t table, int64_t lo, int64_t hi,
                             uint64_t number, struct kv_sources *out);
/* The walk stands at the head of the queue as it is now. */
void kv_prefix_walk_queue(const struct kv_prefix *prefix, struct kv_queue_walk *out);
/* The next blocks that are taken, all blank or (evicts) all with content; 0: nothing is known of the next one. */
int64_t kv_queue_walk_alike(const struct kv_queue_walk *walk, bool *evicts);
/* Passes the next `blocks`, no more than are free; returns how many of them hold content. */
int64_t kv_queue_walk_pass(struct kv_queue_walk *walk, int64_t blocks);
/* How many blocks can be taken of which nobody is told: they hold no content, and no transfer reads them. */
int64_t kv_prefix_quiet_blocks(const struct kv_prefix *prefix);

#endif
