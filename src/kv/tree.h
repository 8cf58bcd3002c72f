/*
 * tree.h - contents that begin alike, cut where they part: what a prefix cache hangs its copies on.
 *
 * A node is a run of whole blocks below its parent, so a content is a path from the root. Children are found in one hash
 * map by (parent, content of their first block); contents are compared run by run, so a step down costs by runs of tokens,
 * not by tokens. Whoever uses the tree embeds kv_node as the first member of a node of its own and says how large that is;
 * a node is zeroed but for the head when it comes.
 * Source of the shape: SGLang, mem_cache/radix_cache.py (docs/sources.md).
 * Invariant: begin of a node == end of its parent; two children of one parent differ in their first block.
 * Ownership: the tree owns all nodes; the root has no content and stays.
 */
#ifndef KVSIM_KV_TREE_H
#define KVSIM_KV_TREE_H

#include "base/pool.h"
#include "kv/content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KV_NODE_RUNS = 4 };

struct kv_node {
    struct kv_node *parent, *map_next;
    uint64_t key;              /* of its first block */
    int64_t begin, end;        /* blocks of the path */
    struct kv_content content; /* tokens [begin, end) of the path */
    struct spec_token_run few[KV_NODE_RUNS];
    struct spec_token_run *many; /* when they are more; room for: */
    size_t many_capacity;
    int64_t child_count;
};

struct kv_runs {
    struct spec_token_run *at;
    size_t count, capacity;
};

struct kv_tree {
    int64_t block_tokens;
    struct kv_node *root;
    struct kv_node **map; /* children by (parent, key of their first block) */
    size_t map_capacity, node_count;
    struct base_pool nodes;
};

/* node_bytes: of the user's node, kv_node at its beginning. */
void kv_tree_init(struct kv_tree *tree, int64_t block_tokens, size_t node_bytes);
void kv_tree_release(struct kv_tree *tree);

/* The child whose first block is the next one of `at`, or NULL. */
struct kv_node *kv_tree_find(const struct kv_tree *tree, const struct kv_node *parent,
                             struct kv_cursor at);
/* Whole blocks from the node's beginning on that `at` shares with it, at most `most`; `at` moves past them. */
int64_t kv_tree_match(const struct kv_tree *tree, const struct kv_node *node, struct kv_cursor *at,
                      int64_t most);
/* A new child with the blocks from its parent's end to `end`, which begin at `content`; there is none like it. */
struct kv_node *kv_tree_add(struct kv_tree *tree, struct kv_node *parent, struct kv_cursor content,
                            int64_t end);
/* A childless node is made longer by the blocks up to `end`, which begin at `content`. */
void kv_tree_extend(struct kv_tree *tree, struct kv_node *node, struct kv_cursor content,
                    int64_t end);
/* A childless node loses the blocks from `end` on; some are left. */
void kv_tree_shorten(struct kv_tree *tree, struct kv_node *node, int64_t end);
/* Cuts at block `at`, begin < at < end: the front becomes a node of its own above, which is returned; node and children stay. */
struct kv_node *kv_tree_cut(struct kv_tree *tree, struct kv_node *node, int64_t at);
/* What the path to a node consists of, from the root on: its runs are put into `runs`, an empty list. */
struct kv_content kv_tree_content(const struct kv_node *node, struct kv_runs *runs);
/* A childless node goes; returns its parent. */
struct kv_node *kv_tree_drop(struct kv_tree *tree, struct kv_node *node);

#endif
