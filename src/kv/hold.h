/*
 * hold.h - what sequences of a given length hold in closed form, cause by cause: the ledger without a simulation.
 *
 * `tokens` are all computed, the last one in the step just scheduled: a window's blocks that lie below it are given back
 * (vLLM V1, single_type_kv_cache_manager.py: blocks entirely below C - W + 1 are freed when the next are allocated). The
 * allocator, driven token by token, takes exactly this; tests/property/test_size_against_allocator.c.
 */
#ifndef KVSIM_KV_HOLD_H
#define KVSIM_KV_HOLD_H

#include "base/i128.h"
#include "kv/ledger.h"
#include "kv/pages.h"
#include "spec/kv.h"

#include <stdint.h>

/* Blocks of one table of this kind that a sequence of `tokens` holds. */
int64_t kv_hold_table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                             int64_t tokens);

/* Blocks over all tables. At most kv_pages_asked_blocks(), which is what admission counts. */
int64_t kv_hold_blocks(const struct kv_pages *pages, int64_t tokens);

/*
 * The most that a sequence holds on its way to `tokens` once its prompt is computed: what its windows have passed is back, but
 * for the tokens of `steps` steps in flight. At most kv_pages_asked_blocks(), which counts a prompt that windows have not passed.
 */
int64_t kv_hold_most_blocks(const struct kv_pages *pages, int64_t tokens, int64_t steps);

/* The sum of them over sequences of `first` to `last` tokens; first >= 1. */
base_i128 kv_hold_blocks_sum(const struct kv_pages *pages, int64_t first, int64_t last);

/*
 * Of those, the blocks that lie wholly in the first `leading` tokens and that windows have not given back: what sequences that
 * begin alike can hold together. Recurrent states are everybody's own.
 */
base_i128 kv_hold_leading_sum(const struct kv_pages *pages, int64_t leading, int64_t first,
                              int64_t last);

/* What is set aside for a sequence, with tokens in it or not; pages of one table only. Zeroed: nothing is. */
struct kv_hold_share {
    int64_t tokens, blocks;
};

/*
 * The lines up to `allocated` for `sequences` alike sequences; nothing shared, cached or free is known here. Recurrent
 * states that lie outside the pool are counted as well. allocated = blocks * block bytes + those states, to the byte.
 */
void kv_hold_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                    int64_t tokens, int64_t sequences, struct kv_ledger *out);

/* The same where each has a share set aside; tokens >= 1. */
void kv_hold_share_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                          const struct kv_hold_share *share, int64_t tokens, int64_t sequences,
                          struct kv_ledger *out);

/*
 * Plain pages whose windowed layers have a pool of their own (SGLang): each group of layers in blocks of block_tokens, a
 * window's blocks come back. Blocks of one group, and the lines of all.
 */
int64_t kv_hold_pool_blocks(const struct kv_pages *pages, const struct spec_kv_slot *slot,
                            int64_t tokens);
void kv_hold_pools_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                          int64_t tokens, int64_t sequences, struct kv_ledger *out);

#endif
