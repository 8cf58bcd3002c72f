/*
 * paged.h - a pool of equal blocks: counted, and with a prefix cache behind the count.
 *
 * Without a prefix cache blocks are interchangeable, so a sequence's blocks are a number and every operation is O(1). With
 * one, `prefix` (or `radix`, a tree, or `unique`, vLLM V0's) knows what the free blocks hold, and taking blocks evicts it. Where sequences reserve (kv/reserve.h), a
 * reservation is a number of blocks too, and `space` knows where it lies. The null block and reserved blocks are outside
 * use from the start (held back). Where a server has slots (kv/slots.h) a block is a cell, all are taken from the start, and
 * those that waiting slots keep count as free. Invariant: used + free + held back (+ loading) == total; idle blocks with content count as free.
 * Ledger lines follow from a few numbers: kv_paged_ledger().
 */
#ifndef KVSIM_KV_PAGED_H
#define KVSIM_KV_PAGED_H

#include "base/error.h"
#include "base/i128.h"
#include "kv/ledger.h"
#include "kv/prefix.h"
#include "kv/radix.h"
#include "kv/slots.h"
#include "kv/space.h"
#include "kv/tables.h"
#include "kv/unique.h"
#include "spec/kv.h"

#include <stdbool.h>
#include <stdint.h>

/* How memory is allocated; see kv/reserve.h. */
enum kv_policy {
    KV_PAGED,
    KV_RADIX,
    KV_RESERVED_MAX,
    KV_RESERVED_POW2,
    KV_RESERVED_EXACT,
    KV_CONCAT,
    KV_CONCAT_DOUBLING,
    KV_NO_CACHE,
    KV_UNLIMITED,
    KV_SLOTS,
    KV_CELLS,
};

/* What a sequence was promised at admission. Zeroed = nothing. */
struct kv_promise {
    int64_t tokens, blocks;
    int64_t at; /* first block, in a space */
};

/* How many tokens are kept under a promise: what moving it copies. */
typedef int64_t kv_kept_fn(const void *context, const struct kv_promise *promise);

struct kv_paged {
    int64_t total_blocks; /* null block included */
    int64_t held_back_blocks;
    int64_t loading_blocks; /* held back too: a transfer writes to them */
    int64_t free_blocks;
    int64_t block_tokens;
    struct kv_tables tables; /* of a sequence */
    const struct spec_kv_layout *layout;
    struct kv_prefix *prefix;     /* NULL: no cache of hashed blocks */
    struct kv_radix *radix;       /* NULL: no radix tree */
    struct kv_unique *unique;     /* NULL: not vLLM V0's cache */
    struct kv_slots *slots;       /* NULL: no slots */
    const struct kv_cells *cells; /* theirs; set wherever the ledger is asked for */
    enum kv_policy policy;
    int64_t longest_tokens;  /* of a sequence; where sequences reserve */
    int64_t promised_tokens; /* sum over reservations */
    struct kv_space *space;  /* of all usable blocks; NULL: reservations lie in any free blocks */
    bool compacts; /* moves reservations where only fragmentation stands in the way of one */
    struct {
        struct kv_promise **at;
        size_t count, capacity;
    } placed;                /* while it compacts: all reservations, by address */
    kv_kept_fn *kept_tokens; /* while it compacts */
    const void *kept_context;
    int64_t moved_tokens;  /* by compaction, since the pool began */
    int64_t forked_blocks; /* of tables that were forked: sum over held blocks of holders - 1 */
    int64_t blank_blocks;  /* held by sequences that have no token there yet */
};

/* With one table a sequence; kv_paged_set_tables() says otherwise. */
void kv_paged_init(struct kv_paged *pool, const struct spec_kv_layout *layout, int64_t total_blocks,
                   int64_t held_back_blocks);
void kv_paged_set_tables(struct kv_paged *pool, const struct kv_tables *tables);

static inline int64_t kv_paged_used_blocks(const struct kv_paged *pool)
{
    return pool->total_blocks - pool->held_back_blocks - pool->loading_blocks - pool->free_blocks;
}

static inline int64_t kv_paged_pool_bytes(const struct kv_paged *pool)
{
    return pool->cells != NULL ? pool->cells->pool_bytes
                               : pool->total_blocks * pool->tables.block_bytes;
}

static inline bool kv_paged_has_cache(const struct kv_paged *pool)
{
    return pool->prefix != NULL || pool->radix != NULL || pool->unique != NULL;
}

/* What is set aside for sequences, with a token in it or not; 0 where nothing is. */
static inline int64_t kv_paged_promised_tokens(const struct kv_paged *pool)
{
    // A tensor that doubles has slots of one token.
    return pool->policy == KV_CONCAT_DOUBLING ? kv_paged_used_blocks(pool) : pool->promised_tokens;
}

/* Blocks of one table that hold `tokens` tokens. */
static inline int64_t kv_paged_blocks_for(const struct kv_paged *pool, int64_t tokens)
{
    return (tokens + pool->block_tokens - 1) / pool->block_tokens;
}

static inline bool kv_paged_take(struct kv_paged *pool, int64_t blocks)
{
    if (blocks > pool->free_blocks) {
        return false;
    }
    pool->free_blocks -= blocks;
    if (pool->prefix != NULL) {
        kv_prefix_take(pool->prefix, blocks);
    } else if (pool->radix != NULL) {
        kv_radix_take(pool->radix, blocks);
    } else if (pool->unique != NULL) {
        kv_unique_take(pool->unique, blocks);
    }
    return true;
}

static inline void kv_paged_give(struct kv_paged *pool, int64_t blocks)
{
    pool->free_blocks += blocks;
    base_assert(pool->free_blocks <= pool->total_blocks - pool->held_back_blocks);
}

/* What a pool holds at an instant, in the units in which it is counted. */
struct kv_paged_state {
    int64_t live_tokens;       /* tokens in the cache of running sequences, each sequence counted */
    int64_t sequences;         /* running; of account where states lie in the pool */
    int64_t used_blocks;       /* held by at least one sequence */
    int64_t shared_blocks;     /* sum over held blocks of holders - 1 */
    int64_t cached_blocks;     /* idle, with content */
    int64_t promised_tokens;   /* reserved, used or not; 0 where nothing is reserved */
    int64_t fragmented_blocks; /* free, but no place for the head of the queue */
    int64_t loading_blocks;    /* held back by transfers */
    int64_t blank_blocks;      /* of the held ones: taken for tokens that are yet to be computed */
    /* By window: live tokens that a query of a step in flight sees; blocks that one table of each has given back; of blocks
     * longer than others, those that one table would hold without that. */
    int64_t visible_tokens[KV_WINDOWS_MAX], dropped_blocks[KV_WINDOWS_MAX],
        table_blocks[KV_WINDOWS_MAX];
    /* Who waits and keeps something: of slots, and by window, what of it the next query would see; with cached states, who
     * has one that was loaded. */
    int64_t kept_sequences, kept_visible_tokens[KV_WINDOWS_MAX];
};

/* The same as means over a time. */
struct kv_paged_means {
    double live_tokens, sequences, used_blocks, shared_blocks, cached_blocks, promised_tokens,
        fragmented_blocks, loading_blocks, blank_blocks, visible_tokens[KV_WINDOWS_MAX],
        dropped_blocks[KV_WINDOWS_MAX], table_blocks[KV_WINDOWS_MAX], kept_sequences,
        kept_visible_tokens[KV_WINDOWS_MAX];
};

/* The ledger of a state. Exact; every line is linear in the numbers, `reserved` where anything is promised. */
void kv_paged_ledger(const struct kv_paged *pool, const struct kv_paged_state *state,
                     struct kv_ledger *out);
/* Each line rounded; free takes the rest, which may be below 0 by some bytes. */
void kv_paged_mean_ledger(const struct kv_paged *pool, const struct kv_paged_means *means,
                          struct kv_ledger *out);
/* The line lower_bound alone, of numbers that may be integrals. */
base_i128 kv_paged_lower_bound_bytes(const struct kv_paged *pool, base_i128 live_tokens,
                                     base_i128 sequences, base_i128 kept_sequences,
                                     const base_i128 *visible_tokens);

#endif
