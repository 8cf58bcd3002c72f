/*
 * paged.h - a pool of equal blocks, counted: what paged allocation without shared content needs.
 *
 * Without a prefix cache blocks are interchangeable, so a sequence's blocks are a number and every operation is O(1). The
 * null block and reserved blocks are outside use from the start (held back). Invariant: used + free + held back == total.
 * Ledger lines follow from two numbers, live tokens and used blocks: kv_paged_ledger().
 */
#ifndef KVSIM_KV_PAGED_H
#define KVSIM_KV_PAGED_H

#include "base/error.h"
#include "kv/ledger.h"
#include "spec/kv.h"

#include <stdbool.h>
#include <stdint.h>

struct kv_paged {
    int64_t total_blocks;    /* null block included */
    int64_t held_back_blocks;
    int64_t free_blocks;
    int64_t block_tokens;
    const struct spec_kv_layout *layout;
};

void kv_paged_init(struct kv_paged *pool, const struct spec_kv_layout *layout, int64_t total_blocks,
                   int64_t held_back_blocks);

static inline int64_t kv_paged_used_blocks(const struct kv_paged *pool)
{
    return pool->total_blocks - pool->held_back_blocks - pool->free_blocks;
}

/* Blocks that hold `tokens` tokens. */
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
    return true;
}

static inline void kv_paged_give(struct kv_paged *pool, int64_t blocks)
{
    pool->free_blocks += blocks;
    base_assert(pool->free_blocks <= pool->total_blocks - pool->held_back_blocks);
}

/* The ledger when `live_tokens` tokens lie in `used_blocks` blocks. Exact; every line is linear in both. */
void kv_paged_ledger(const struct kv_paged *pool, int64_t live_tokens, int64_t used_blocks, struct kv_ledger *out);

#endif
