/*
 * reserve.h - ways of allocating KV memory, and what a sequence is promised when it is admitted.
 *
 *   paged            blocks are taken as tokens come; nothing is promised
 *   reserved_max     the model's longest sequence, at admission, for good
 *   reserved_pow2    the prompt and the next power of two of the answer's length, at most the longest sequence
 *   reserved_exact   the prompt and the answer, as an oracle knows it
 *   concat           a tensor per sequence, grown by a new one of exactly the right size and a copy at every step
 *   concat_doubling  the same, but the new one is a power of two long, at most the longest sequence: copies are rare, slots
 *                    lie empty
 *   no_cache         nothing is kept: every step computes the whole context again
 *   unlimited        paged without an end: a pool that holds all seats at their longest
 *   slots, cells     a server's slots, each with cells of its own or sharing them (kv/slots.h)
 *
 * A reservation is counted in blocks. With a placement it is one range of a real address space, so free blocks can lie where
 * the next reservation does not fit: external fragmentation. A pool that compacts then slides reservations down, the lowest
 * first, until the hole behind the last one moved is long enough; what they keep is copied, which the caller pays for
 * (`moved_tokens`). So whatever is free can be used. Cost: a walk over the reservations at each compaction, and at each
 * reservation and return a search by address. Sources: Kwon et al., SOSP 2023 (PagedAttention), section 3;
 * Yu et al., OSDI 2022 (Orca).
 */
#ifndef KVSIM_KV_RESERVE_H
#define KVSIM_KV_RESERVE_H

#include "base/field.h"
#include "kv/paged.h"

/* Values of engine.kv_policy and engine.kv_placement, in the order of their enums; ended by a name of NULL. */
extern const struct base_choice kv_policy_choices[], kv_placement_choices[];

/* True when a sequence gets all its memory at admission. */
static inline bool kv_policy_reserves(enum kv_policy policy)
{
    return policy >= KV_RESERVED_MAX && policy <= KV_RESERVED_EXACT;
}

/* True when sequences run in slots that keep their last prompt. */
static inline bool kv_policy_has_slots(enum kv_policy policy)
{
    return policy == KV_SLOTS || policy == KV_CELLS;
}

/* True when a sequence's memory is a tensor of its own that grows by being copied. */
static inline bool kv_policy_concatenates(enum kv_policy policy)
{
    return policy == KV_CONCAT || policy == KV_CONCAT_DOUBLING;
}

/* Blocks that a sequence of `tokens` holds where memory grows with it. */
int64_t kv_reserve_held_blocks(const struct kv_paged *pool, int64_t tokens);
/* Tokens that a sequence of this prompt and answer is promised. The answer's true length is meant: both oracles of the
 * paper know it, pow2 to a factor of two. */
int64_t kv_reserve_tokens(const struct kv_paged *pool, int64_t prompt_tokens,
                          int64_t answer_tokens);
/* The most that a sequence of `tokens` holds or is promised, however it is divided into prompt and answer. */
int64_t kv_reserve_most_tokens(const struct kv_paged *pool, int64_t tokens);
/* Blocks that such a promise takes: whole ones, a power of two under buddy. */
int64_t kv_reserve_blocks(const struct kv_paged *pool, int64_t tokens);
/* True when it has a place now, `spare_blocks` staying free. */
bool kv_reserve_fits(const struct kv_paged *pool, int64_t tokens, int64_t spare_blocks);
/* Takes it; false, with nothing changed, when it does not fit. A pool that compacts keeps `out`, which must stay where it is
 * until it is given back. */
bool kv_reserve_take(struct kv_paged *pool, int64_t tokens, struct kv_promise *out);
void kv_reserve_give(struct kv_paged *pool, struct kv_promise *promise);
/* The pool's own memory; what it promised need not have come back. */
void kv_reserve_release(struct kv_paged *pool);

#endif
