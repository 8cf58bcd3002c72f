#include "kv/tree.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static size_t slot_of(const struct kv_tree *tree, const struct kv_node *parent, uint64_t key)
{
    return (size_t)(base_mix2((uint64_t)(uintptr_t)parent, key) & (tree->map_capacity - 1));
}

static void map_put(struct kv_tree *tree, struct kv_node *node)
{
    size_t slot = slot_of(tree, node->parent, node->key);
    node->map_next = tree->map[slot];
    tree->map[slot] = node;
}

static void map_drop(struct kv_tree *tree, const struct kv_node *node)
{
    struct kv_node **at = &tree->map[slot_of(tree, node->parent, node->key)];
    while (*at != node) {
        at = &(*at)->map_next;
    }
    *at = node->map_next;
}

static void map_grow(struct kv_tree *tree)
{
    struct kv_node **old = tree->map;
    size_t old_capacity = tree->map_capacity;
    tree->map_capacity = old_capacity == 0 ? 256 : old_capacity * 2;
    tree->map = base_alloc(base_mul_size(tree->map_capacity, sizeof *tree->map));
    for (size_t i = 0; i < old_capacity; i++) {
        for (struct kv_node *node = old[i], *next; node != NULL; node = next) {
            next = node->map_next;
            map_put(tree, node);
        }
    }
    base_free(old);
}

void kv_tree_init(struct kv_tree *tree, int64_t block_tokens, size_t node_bytes)
{
    base_require(block_tokens > 0 && node_bytes >= sizeof(struct kv_node));
    *tree = (struct kv_tree){.block_tokens = block_tokens};
    base_pool_init(&tree->nodes, node_bytes);
    tree->root = base_pool_take(&tree->nodes);
}

void kv_tree_release(struct kv_tree *tree)
{
    for (size_t i = 0; i < tree->map_capacity; i++) {
        for (struct kv_node *node = tree->map[i]; node != NULL; node = node->map_next) {
            base_free(node->many);
        }
    }
    base_free(tree->map);
    base_pool_release(&tree->nodes);
}

struct kv_node *kv_tree_find(const struct kv_tree *tree, const struct kv_node *parent,
                             struct kv_cursor at)
{
    if (tree->map_capacity == 0) {
        return NULL;
    }
    struct kv_cursor cursor = at;
    uint64_t key = kv_cursor_key(&cursor, tree->block_tokens);
    struct kv_node *node = tree->map[slot_of(tree, parent, key)];
    for (; node != NULL; node = node->map_next) {
        if (node->parent == parent && node->key == key) {
            struct kv_cursor a = at, b = kv_cursor_at(&node->content, 0);
            if (kv_cursor_match(&a, &b, tree->block_tokens) == tree->block_tokens) {
                return node;
            }
        }
    }
    return NULL;
}

int64_t kv_tree_match(const struct kv_tree *tree, const struct kv_node *node, struct kv_cursor *at,
                      int64_t most)
{
    int64_t blocks = node->end - node->begin;
    blocks = blocks < most ? blocks : most;
    struct kv_cursor a = *at, b = kv_cursor_at(&node->content, 0);
    int64_t tokens = kv_cursor_match(&a, &b, blocks * tree->block_tokens);
    int64_t matched = tokens / tree->block_tokens;
    bool parts_in_block = tokens % tree->block_tokens != 0;
    *at = parts_in_block ? kv_cursor_at(at->content, (node->begin + matched) * tree->block_tokens)
                         : a;
    return matched;
}

/* ---- nodes ---- */

static struct spec_token_run *runs_of(struct kv_node *node)
{
    return node->many != NULL ? node->many : node->few;
}

// Room for `count` runs; those that are there stay.
static struct spec_token_run *make_room(struct kv_node *node, size_t count)
{
    if (count > KV_NODE_RUNS && count > node->many_capacity) {
        bool moves = node->many == NULL;
        node->many = base_vec_grow(node->many, &node->many_capacity, count, sizeof *node->many);
        if (moves) {
            memcpy(node->many, node->few, sizeof node->few);
        }
    }
    return runs_of(node);
}

// The node has no content yet.
static void set_content(struct kv_node *node, struct kv_cursor from, int64_t tokens)
{
    struct kv_cursor cursor = from;
    size_t count = kv_cursor_copy(&cursor, tokens, NULL);
    struct spec_token_run *runs = make_room(node, count);
    cursor = from;
    kv_cursor_copy(&cursor, tokens, runs);
    node->content = (struct kv_content){runs, count, tokens};
}

static void set_key(const struct kv_tree *tree, struct kv_node *node)
{
    struct kv_cursor first = kv_cursor_at(&node->content, 0);
    node->key = kv_cursor_key(&first, tree->block_tokens);
}

struct kv_node *kv_tree_add(struct kv_tree *tree, struct kv_node *parent, struct kv_cursor content,
                            int64_t end)
{
    base_assert(end > parent->end);
    struct kv_node *node = base_pool_take(&tree->nodes);
    node->parent = parent;
    node->begin = parent->end;
    node->end = end;
    set_content(node, content, (end - node->begin) * tree->block_tokens);
    set_key(tree, node);
    if (tree->node_count++ >= tree->map_capacity) {
        map_grow(tree);
    }
    map_put(tree, node);
    parent->child_count++;
    return node;
}

struct kv_node *kv_tree_drop(struct kv_tree *tree, struct kv_node *node)
{
    base_assert(node->parent != NULL && node->child_count == 0);
    struct kv_node *parent = node->parent;
    map_drop(tree, node);
    base_free(node->many);
    base_pool_give(&tree->nodes, node);
    tree->node_count--;
    parent->child_count--;
    return parent;
}

struct kv_node *kv_tree_cut(struct kv_tree *tree, struct kv_node *node, int64_t at)
{
    base_assert(node->begin < at && at < node->end);
    struct kv_node *parent = node->parent;
    map_drop(tree, node);
    parent->child_count--;
    struct kv_content whole = node->content;
    struct spec_token_run *many = node->many;
    struct spec_token_run few[KV_NODE_RUNS];
    if (many == NULL) {
        memcpy(few, node->few, sizeof few);
        whole.runs = few;
    }
    struct kv_node *front = kv_tree_add(tree, parent, kv_cursor_at(&whole, 0), at);
    node->many = NULL;
    node->many_capacity = 0;
    set_content(node, kv_cursor_at(&whole, (at - node->begin) * tree->block_tokens),
                (node->end - at) * tree->block_tokens);
    base_free(many);
    node->begin = at;
    node->parent = front;
    set_key(tree, node);
    map_put(tree, node);
    front->child_count++;
    return front;
}

void kv_tree_extend(struct kv_tree *tree, struct kv_node *node, struct kv_cursor content,
                    int64_t end)
{
    base_assert(node->child_count == 0 && end > node->end);
    int64_t tokens = (end - node->end) * tree->block_tokens;
    struct kv_cursor cursor = content;
    size_t had = node->content.run_count, more = kv_cursor_copy(&cursor, tokens, NULL);
    struct spec_token_run *runs = make_room(node, had + more);
    cursor = content;
    kv_cursor_copy(&cursor, tokens, &runs[had]);
    struct spec_token_run *last = &runs[had - 1];
    if (last->first + last->count == runs[had].first) { // goes on where it stopped
        last->count += runs[had].count;
        memmove(&runs[had], &runs[had + 1], --more * sizeof *runs);
    }
    node->content = (struct kv_content){runs, had + more, node->content.token_count + tokens};
    node->end = end;
}

void kv_tree_shorten(struct kv_tree *tree, struct kv_node *node, int64_t end)
{
    base_assert(node->child_count == 0 && node->begin < end && end < node->end);
    int64_t surplus = (node->end - end) * tree->block_tokens;
    struct spec_token_run *runs = runs_of(node);
    node->content.token_count -= surplus;
    while (surplus >= runs[node->content.run_count - 1].count) {
        surplus -= runs[--node->content.run_count].count;
    }
    runs[node->content.run_count - 1].count -= surplus;
    node->end = end;
}

struct kv_content kv_tree_content(const struct kv_node *node, struct kv_runs *runs)
{
    size_t count = 0;
    for (const struct kv_node *at = node; at != NULL; at = at->parent) {
        count += at->content.run_count;
    }
    base_vec_reserve(runs, count);
    runs->count = count;
    int64_t tokens = 0;
    for (const struct kv_node *at = node; at != NULL; at = at->parent) {
        count -= at->content.run_count;
        tokens += at->content.token_count;
        for (size_t i = 0; i < at->content.run_count; i++) {
            runs->at[count + i] = at->content.runs[i];
        }
    }
    return (struct kv_content){runs->at, runs->count, tokens};
}
