#include "kv/forks.h"

#include "base/count.h"
#include "base/error.h"

#include <stddef.h>

static int64_t blocks_for(const struct kv_forks *forks, int64_t tokens)
{
    return base_div_up(tokens, forks->block_tokens);
}

static bool ends_within_block(const struct kv_forks *forks, int64_t tokens)
{
    return tokens % forks->block_tokens != 0;
}

// The leaf has written nothing since it was forked.
static bool is_unwritten(const struct kv_fork *leaf, int64_t tokens)
{
    return leaf->parent != NULL && leaf->parent->tokens == tokens;
}

/* ---- the tree ---- */

static void link_child(struct kv_fork *parent, struct kv_fork *child)
{
    child->parent = parent;
    child->prev = NULL;
    child->next = parent->first_child;
    if (child->next != NULL) {
        child->next->prev = child;
    }
    parent->first_child = child;
    parent->children++;
}

static void unlink_child(struct kv_fork *child)
{
    struct kv_fork *parent = child->parent;
    *(child->prev != NULL ? &child->prev->next : &parent->first_child) = child->next;
    if (child->next != NULL) {
        child->next->prev = child->prev;
    }
    child->parent = child->prev = child->next = NULL;
    parent->children--;
}

static void take_place(struct kv_fork *newcomer, struct kv_fork *of)
{
    struct kv_fork *parent = of->parent;
    if (parent != NULL) {
        unlink_child(of);
        link_child(parent, newcomer);
    }
}

// What the leaf has so far becomes a node, of which it is the first leaf.
static struct kv_fork *split_off(struct kv_forks *forks, struct kv_fork *leaf, int64_t tokens)
{
    struct kv_fork *node = base_pool_take(forks->nodes);
    node->first_block = leaf->first_block;
    node->tokens = tokens;
    node->tail_holders = ends_within_block(forks, tokens) ? 1 : 0;
    take_place(node, leaf);
    link_child(node, leaf);
    leaf->first_block = blocks_for(forks, tokens);
    return node;
}

// A node with one child left is that child's own beginning.
static void merge(struct kv_forks *forks, struct kv_fork *node)
{
    struct kv_fork *child = node->first_child;
    base_assert(node->children == 1 && node->tail_holders <= 1);
    unlink_child(child);
    child->first_block = node->first_block;
    take_place(child, node);
    base_pool_give(forks->nodes, node);
}

/* ---- what sequences do ---- */

void kv_fork_add(struct kv_forks *forks, struct kv_fork *leaf, struct kv_fork *child,
                 int64_t tokens)
{
    base_require(tokens > 0 && leaf->first_child == NULL);
    struct kv_fork *node =
        is_unwritten(leaf, tokens) ? leaf->parent : split_off(forks, leaf, tokens);
    *child = (struct kv_fork){.first_block = blocks_for(forks, tokens)};
    link_child(node, child);
    forks->shared_blocks += blocks_for(forks, tokens);
    if (node->tail_holders > 0) {
        node->tail_holders++;
        forks->shared_tails++;
    }
}

bool kv_fork_must_copy(const struct kv_forks *forks, const struct kv_fork *leaf, int64_t tokens)
{
    return is_unwritten(leaf, tokens) && ends_within_block(forks, tokens) &&
           leaf->parent->tail_holders > 1;
}

void kv_fork_write(struct kv_forks *forks, struct kv_fork *leaf, int64_t tokens)
{
    if (!is_unwritten(leaf, tokens) || !ends_within_block(forks, tokens)) {
        return; // a block of its own already, or one that is yet to be taken
    }
    if (leaf->parent->tail_holders > 1) {
        forks->shared_blocks--;
        forks->shared_tails--;
    }
    leaf->parent->tail_holders--;
    leaf->first_block = tokens / forks->block_tokens;
}

int64_t kv_fork_leave(struct kv_forks *forks, struct kv_fork *leaf, int64_t tokens)
{
    int64_t given = kv_fork_own_blocks(forks, leaf, tokens);
    struct kv_fork *node = leaf->parent;
    if (node == NULL) {
        return given;
    }
    // A written leaf began within its node's last block where that was not full.
    bool holds_tail = is_unwritten(leaf, tokens) && node->tail_holders > 0;
    if (holds_tail && node->tail_holders > 1) {
        forks->shared_tails--;
    }
    if (holds_tail && --node->tail_holders == 0) {
        given++;
    }
    forks->shared_blocks -= blocks_for(forks, tokens) - given;
    unlink_child(leaf);
    if (node->children == 1) {
        merge(forks, node);
    }
    return given;
}
