/*
 * unique.h - the prefix cache of vLLM V0 (block manager v2) over runs of blocks: a content has one block, whoever holds it.
 *
 * A block of the engine is hashed when its last token is given a place: those of a whole prompt with its admission, those of an
 * answer as they fill. Where that content has a block already, computed or not, the sequence holds that one and its own is given
 * back; else its own is the content's from then on. Whom a step has scheduled is as good as computed in the next one, whatever
 * was: what is found computed is not computed again. A block that nobody holds keeps its content until it is taken: empty ones
 * first, then the one that was used longest ago; of equals the one farthest from the beginning, of equals the one given back
 * first (where the engine goes by the hash). Used is what a sequence holds, whenever a step schedules it; of those that held a
 * block only the last one to let go of it counts, and none who was swapped.
 *
 * Host memory to which sequences are swapped is another such cache.
 *
 *   node    of the tree of contents: a run of blocks that share their fate. There, held by whole sequences' paths, or idle;
 *           or missing: it was evicted before what follows it, which the engine can do and finds by hash all the same
 *   tip     where a running sequence's path ends. What its answer has filled since is entered when somebody looks there:
 *           nobody can tell before. Where the next block of two of them is the same, or it is in the tree already, they are
 *           contended, and entered at every step in the order of the engine, since one of them gives a block back
 *
 * Cost: by the nodes of a path, not by its blocks; a sequence that computes alone costs nothing a step. Eviction is O(log nodes)
 * for each run that goes; runs that were used last in one step and are equally long go block by block in turn, so there it is
 * O(log nodes) a block.
 * Source: vLLM, vllm/core/block/prefix_caching_block.py, block_table.py, vllm/core/evictor.py (docs/sources.md). A block-by-block
 * reference (tests/reference) agrees on every step of random scenarios.
 * Invariants: free == blank + idle; a held node's parent is held at least as often; a missing node has children and no holder.
 */
#ifndef KVSIM_KV_UNIQUE_H
#define KVSIM_KV_UNIQUE_H

#include "kv/content.h"
#include "kv/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a sequence holds: embedded in the scheduler's own. Zeroed = nothing. */
struct kv_unique_seq {
    const struct kv_content *content;  /* prompt and answer */
    struct kv_node *last;              /* its path ends there; NULL: it does not run */
    struct kv_unique_seq *prev, *next; /* others with the same last */
    bool is_contended;
};

/* Blocks of a sequence that are full as of now, and as of the beginning of this turn. */
struct kv_unique_fill {
    int64_t blocks, before;
};

struct kv_unique_hits {
    int64_t blocks;       /* found computed, as the engine looks for them */
    bool next_is_pending; /* the next one is there, but this turn gives it out */
};

struct kv_unique_node;

struct kv_unique {
    struct kv_tree tree;
    struct {
        struct kv_unique_node **at;
        size_t count, capacity;
    } idle; /* a heap: the next one to go on top */
    struct {
        struct kv_unique_node **at;
        size_t count, capacity;
    } path;                /* scratch of a look-up */
    int64_t blank_blocks;  /* free, without content */
    int64_t idle_blocks;   /* free, with content */
    int64_t shared_blocks; /* sum over held blocks of holders - 1 */
    int64_t evicted_blocks;
    int64_t contended_count; /* running sequences with is_contended */
    uint64_t turn;           /* the plan in the making */
    uint64_t releases;       /* sequences that gave back what they held */
    struct kv_unique_fill (*fill)(void *context, const struct kv_unique_seq *seq);
    void *context;
};

void kv_unique_init(struct kv_unique *unique, int64_t block_tokens, int64_t usable_blocks);
void kv_unique_release(struct kv_unique *unique);

static inline int64_t kv_unique_free_blocks(const struct kv_unique *unique)
{
    return unique->blank_blocks + unique->idle_blocks;
}

/*
 * How many of the first `blocks` of a content the engine finds computed. It halves: where a beginning was evicted before what
 * follows it, that is not the longest one.
 */
struct kv_unique_hits kv_unique_look_up(struct kv_unique *unique, const struct kv_content *content,
                                        int64_t blocks);
/* How many of the first `blocks` of a content nobody holds: whoever will hold them needs so many free ones. */
int64_t kv_unique_blocks_to_take(struct kv_unique *unique, const struct kv_content *content,
                                 int64_t blocks);
/* The sequence runs and holds its first `blocks`, all full, and `blank` ones behind them; what is not there is taken, in order. */
void kv_unique_attach(struct kv_unique *unique, struct kv_unique_seq *seq, int64_t blocks,
                      int64_t blank);
/* Takes blocks, empty ones first; what the others held is evicted. blocks <= free. */
void kv_unique_take(struct kv_unique *unique, int64_t blocks);
/* The full blocks of a running sequence are entered: of a contended one at each step, when its turn has come. */
void kv_unique_enter(struct kv_unique *unique, struct kv_unique_seq *seq,
                     struct kv_unique_fill fill);
/* It gives back all that it holds: `full_blocks` with content, and the others of `held_blocks`. A step scheduled it last as plan
 * `used`; 0: it is moved elsewhere, of which the engine notes no use. */
void kv_unique_detach(struct kv_unique *unique, struct kv_unique_seq *seq, int64_t full_blocks,
                      int64_t held_blocks, uint64_t used);
/* A word for what is idle and in which order, as seen from this turn: another one where that is another. */
uint64_t kv_unique_signature(const struct kv_unique *unique);

#endif
