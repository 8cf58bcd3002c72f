/*
 * forks.h - block tables that sequences share since one of them was forked: references, and copies on write.
 *
 * A fork copies a table, not blocks: parent and child hold the same blocks until one of them writes. Only the last block can
 * still be written to, where it is not full: who writes first into one that others hold takes a copy of it; the last one of
 * them has it for itself. Kept as a tree: a node is a run of blocks that all its leaves have in common, a leaf is a living
 * sequence and what it alone holds. A node with one child left is no fork any more and becomes part of that child, so a group
 * of n sequences has fewer than n nodes, however often they were forked. Forking, writing and leaving cost O(1).
 *
 * How far a leaf has grown is the caller's to know (`tokens`): a sequence that grows alone needs nothing of this.
 * Invariants: the sum of ceil(tokens / block) over leaves - shared_blocks = blocks that the group holds; a node has at least
 * two children; tail_holders > 0 only where its tokens end within a block.
 * Ownership: leaves lie with their sequences, nodes in a pool that groups share. Source of the rule: Kwon et al., SOSP 2023,
 * section 4.4; vLLM's vllm/core/block/ of 2024 (docs/sources.md).
 */
#ifndef KVSIM_KV_FORKS_H
#define KVSIM_KV_FORKS_H

#include "base/count.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* A leaf or a node. Zeroed = a leaf that was never forked. */
struct kv_fork {
    struct kv_fork *parent, *first_child, *prev, *next; /* prev, next: under the same parent */
    int64_t first_block; /* from here on the blocks are its own; below, its parent's */
    int64_t tokens;      /* of a node: its leaves have them in common */
    int64_t children,
        tail_holders; /* of a node; tail_holders: leaves that hold its last block, not full */
};

/* A group of sequences that come from one prompt. */
struct kv_forks {
    struct base_pool *nodes; /* of struct kv_fork */
    int64_t block_tokens;
    int64_t shared_blocks; /* sum over held blocks of holders - 1 */
    int64_t shared_tails;  /* of them in blocks that are not full */
};

/* `child`, a new leaf, shares all that `leaf` holds; both have `tokens`. */
void kv_fork_add(struct kv_forks *forks, struct kv_fork *leaf, struct kv_fork *child,
                 int64_t tokens);
/* True when the leaf must copy its last block before it writes on from `tokens`. */
bool kv_fork_must_copy(const struct kv_forks *forks, const struct kv_fork *leaf, int64_t tokens);
/* The leaf writes on from `tokens`, in a block that nobody else holds: its own, or the copy that it has been given. */
void kv_fork_write(struct kv_forks *forks, struct kv_fork *leaf, int64_t tokens);
/* The leaf gives up its table. Returns the blocks that nobody holds any more. */
int64_t kv_fork_leave(struct kv_forks *forks, struct kv_fork *leaf, int64_t tokens);

/* Blocks of a leaf that nobody else holds. */
static inline int64_t kv_fork_own_blocks(const struct kv_forks *forks, const struct kv_fork *leaf,
                                         int64_t tokens)
{
    int64_t held = base_div_up(tokens, forks->block_tokens);
    return held > leaf->first_block ? held - leaf->first_block : 0;
}

#endif
