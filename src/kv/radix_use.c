/*
 * What sequences do with a radix tree: look-up, hold, entry, end.
 */
#include "kv/radix.h"

#include "base/error.h"
#include "base/mem.h"
#include "kv/radix_int.h"

static struct kv_radix_node *radix_of(const struct kv_node *node)
{
    return kv_radix_node_of(node);
}

static bool is_root(const struct kv_node *node)
{
    return kv_radix_is_root(node);
}

// In the pool in part.
static bool is_mixed(const struct kv_node *node)
{
    return node->begin < radix_of(node)->device_end && radix_of(node)->device_end < node->end;
}

/* ---- look-up ---- */

void kv_radix_match(struct kv_radix *radix, const struct kv_content *content, int64_t most,
                    struct kv_radix_match *out)
{
    int64_t now = ++radix->clock, matched = 0;
    struct kv_node *node = radix->tree.root, *child;
    struct kv_cursor at = kv_cursor_at(content, 0);
    *out = (struct kv_radix_match){.last = node};
    while (matched < most && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        matched += kv_tree_match(&radix->tree, child, &at, most - matched);
        if (matched < child->end) {
            child = kv_radix_cut_at_end(radix, child, matched, now);
        }
        kv_radix_touch(radix, child, now);
        out->last = node = child;
        out->blocks += kv_radix_device_blocks(node);
        out->idle_blocks += kv_radix_is_free(node) ? kv_radix_device_blocks(node) : 0;
    }
    out->host_blocks = matched - out->blocks;
}

static bool has_in_common(const struct kv_content *a, const struct kv_content *b, int64_t from,
                          int64_t until)
{
    struct kv_cursor x = kv_cursor_at(a, from), y = kv_cursor_at(b, from);
    return kv_cursor_match(&x, &y, until - from) == until - from;
}

bool kv_radix_is_pending(const struct kv_radix *radix, const struct kv_content *content,
                         const struct kv_radix_match *match)
{
    int64_t size = radix->tree.block_tokens, until = (match->last->end + 1) * size;
    for (const struct kv_node *node = match->last; node != NULL; node = node->parent) {
        const struct kv_radix_seq *seq = radix_of(node)->seqs;
        for (; seq != NULL; seq = seq->next) {
            if (has_in_common(seq->content, content, node->end * size, until)) {
                return true;
            }
        }
    }
    return false;
}

// The lowest node of the match in the pool, which ends there.
static struct kv_node *last_in_pool(struct kv_radix *radix, const struct kv_radix_match *match)
{
    struct kv_node *node = match->last;
    while (!is_root(node) && kv_radix_device_blocks(node) == 0) {
        node = node->parent;
    }
    return is_mixed(node) ? kv_radix_cut_at_seam(radix, node, radix_of(node)->device_end) : node;
}

void kv_radix_hold(struct kv_radix *radix, struct kv_radix_seq *seq,
                   const struct kv_radix_match *match)
{
    base_require(seq->last == NULL && match->last->end == match->blocks + match->host_blocks);
    struct kv_node *last = match->is_loaded ? match->last : last_in_pool(radix, match);
    base_require(last != NULL); // the root at least
    kv_radix_set_last(seq, last);
    for (struct kv_node *node = last; !is_root(node); node = node->parent) {
        kv_radix_hold_node(radix, node, 1);
    }
}

// All of the node lies in the pool from now on; what was copied at eviction has a copy, what was not gone yet has none.
static void fill(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_radix_node *own = radix_of(node);
    if (is_mixed(node) && !own->is_backed) {
        kv_radix_cut_at_seam(radix, node, own->device_end);
    }
    own->is_backed = true;
    kv_radix_set_device_end(radix, node, node->end);
}

void kv_radix_load(struct kv_radix *radix, struct kv_radix_seq *seq)
{
    struct kv_node *node = seq->last;
    for (; !is_root(node) && radix_of(node)->device_end < node->end; node = node->parent) {
        fill(radix, node);
    }
}

/* ---- entry ---- */

// An entry of a sequence passes over the node. A piece begins with 0 hits, one that a chunk put in with -1: the visit with which
// the prompt enters whole is not counted.
static void note_entry(struct kv_radix *radix, struct kv_node *node, int64_t now, int32_t priority,
                       bool is_hit)
{
    struct kv_age *age = &radix_of(node)->extent.age;
    age->hits += is_hit ? 1 : 0;
    age->priority = priority < age->priority ? priority : age->priority;
    kv_radix_touch(radix, node, now);
}

static bool looks_at_hits(const struct kv_radix *radix)
{
    return radix->leaves.order == KV_EVICT_LFU || radix->leaves.order == KV_EVICT_SLRU;
}

// Whether pieces of different hits must be told apart: by the order of eviction, or since one has yet to get its copy.
static bool minds_hits(const struct kv_radix *radix, const struct kv_radix_node *node)
{
    return looks_at_hits(radix) || (radix->host.when == KV_BACKUP_AT_USE && !node->is_backed);
}

// What `seq` adds below its last node shares the fate of that one: nobody else holds it or goes on from it, and the order of
// eviction will see no difference.
static bool goes_on(const struct kv_radix *radix, const struct kv_radix_seq *seq,
                    const struct kv_node *node, int32_t hits, bool is_backed)
{
    const struct kv_radix_node *own = radix_of(node);
    const struct kv_extent *extent = &own->extent;
    return node == seq->last && !is_root(node) && node->child_count == 0 && extent->holders == 1 &&
           own->pins == (radix->host.source == node ? 1 : 0) && own->host_pins == 0 &&
           own->is_backed == is_backed && extent->age.priority == seq->priority &&
           (!minds_hits(radix, own) || extent->age.hits == hits);
}

static void add_piece(struct kv_radix *radix, struct kv_node *node, struct kv_cursor at,
                      int64_t end)
{
    struct kv_radix_node *own = radix_of(node);
    struct kv_seam seam = {node->end, own->made};
    base_vec_push(&own->seams, seam);
    kv_tree_extend(&radix->tree, node, at, end);
    own->device_end = end; // held by the one sequence alone: no sum changes
    own->made = own->extent.age.last_release = ++radix->clock;
    kv_radix_changed(radix, node);
}

static struct kv_node *add_node(struct kv_radix *radix, struct kv_node *parent, struct kv_cursor at,
                                int64_t end, const struct kv_age *age, bool is_backed)
{
    struct kv_node *node = kv_tree_add(&radix->tree, parent, at, end);
    struct kv_radix_node *own = radix_of(node);
    own->extent = (struct kv_extent){.node = node, .age = *age};
    own->host = (struct kv_extent){.node = node};
    own->made = age->first_release;
    own->device_end = node->begin;
    own->is_backed = is_backed;
    kv_radix_set_device_end(radix, node, end);
    return node;
}

// What the content of `seq` has in the tree, up to `blocks`: returns the lowest node of it, all in the pool. `own`: how many of
// its own copies the tree had as well.
static struct kv_node *pass(struct kv_radix *radix, const struct kv_radix_seq *seq, int64_t blocks,
                            bool is_hit, int64_t *own)
{
    int64_t now = ++radix->clock, there = seq->last->end;
    struct kv_node *node = seq->last, *child;
    for (struct kv_node *above = node; !is_root(above); above = above->parent) {
        note_entry(radix, above, now, seq->priority, is_hit);
    }
    struct kv_cursor at = kv_cursor_at(seq->content, node->end * radix->tree.block_tokens);
    *own = 0;
    while (there < blocks && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        there += kv_tree_match(&radix->tree, child, &at, blocks - there);
        if (there < child->end) {
            child = kv_radix_cut_at_end(radix, child, there, now);
        }
        *own += kv_radix_device_blocks(child);
        if (is_mixed(child) && looks_at_hits(radix)) {
            struct kv_node *front = kv_radix_cut_at_seam(radix, child, radix_of(child)->device_end);
            note_entry(radix, front, now, seq->priority, is_hit);
        }
        // What had left the pool is there anew, and not found.
        note_entry(radix, child, now, seq->priority, is_hit && kv_radix_device_blocks(child) > 0);
        if (radix_of(child)->device_end < child->end) {
            fill(radix, child);
        }
        node = child;
    }
    return node;
}

// The first `blocks` of a running sequence are in the tree: returns the node that ends there. `own`: see pass().
static struct kv_node *enter(struct kv_radix *radix, const struct kv_radix_seq *seq, int64_t blocks,
                             bool is_chunk, int64_t *own)
{
    bool is_hit = !is_chunk && radix->host.when != KV_BACKUP_AT_EVICTION;
    struct kv_node *node = pass(radix, seq, blocks, is_hit, own);
    if (is_hit && radix->host.when == KV_BACKUP_AT_USE) {
        kv_radix_back_up(radix, node);
    }
    if (node->end == blocks) {
        return node;
    }
    int32_t hits = is_hit ? 0 : -1;
    bool is_backed = kv_radix_back_up_new(radix, node, blocks - node->end, hits);
    struct kv_cursor at = kv_cursor_at(seq->content, node->end * radix->tree.block_tokens);
    if (goes_on(radix, seq, node, hits, is_backed)) {
        add_piece(radix, node, at, blocks);
    } else {
        int64_t made = ++radix->clock;
        struct kv_age age = {made, made, hits, seq->priority};
        node = add_node(radix, node, at, blocks, &age, is_backed);
    }
    if (is_backed) {
        kv_radix_note_backup(radix, node);
    }
    return node;
}

void kv_radix_enter(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t blocks, bool is_chunk)
{
    base_require(seq->last != NULL && blocks >= seq->last->end);
    int64_t own;
    if (blocks == 0) {
        return;
    }
    struct kv_node *last = enter(radix, seq, blocks, is_chunk, &own);
    radix->blank_blocks += own;
    for (struct kv_node *node = last; node != seq->last; node = node->parent) {
        kv_radix_hold_node(radix, node, 1);
    }
    kv_radix_set_last(seq, last);
    int64_t now = ++radix->clock; // the engine looks its path up anew
    for (struct kv_node *node = last; !is_root(node); node = node->parent) {
        kv_radix_touch(radix, node, now);
    }
}

void kv_radix_end(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t kept_blocks,
                  int64_t held_blocks)
{
    int64_t own = 0;
    base_require(seq->last->end <= kept_blocks && kept_blocks <= held_blocks);
    if (kept_blocks > 0) {
        enter(radix, seq, kept_blocks, false, &own);
    }
    radix->blank_blocks += held_blocks - kept_blocks + own;
    kv_radix_let_go(radix, seq);
}

void kv_radix_throw_out(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t held_blocks)
{
    base_require(held_blocks >= seq->last->end);
    radix->blank_blocks += held_blocks - seq->last->end;
    kv_radix_let_go(radix, seq);
}

int64_t kv_radix_enter_host(struct kv_radix *radix, struct kv_node *node,
                            const struct kv_content *content, int64_t end)
{
    int64_t now = ++radix->clock, there = node->end;
    struct kv_cursor at = kv_cursor_at(content, there * radix->tree.block_tokens);
    struct kv_node *child;
    kv_radix_touch(radix, node, now);
    while (there < end && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        there += kv_tree_match(&radix->tree, child, &at, end - there);
        if (there < child->end) {
            child = kv_radix_cut_at_end(radix, child, there, now);
        }
        kv_radix_touch(radix, child, now);
        node = child;
    }
    if (there < end) {
        int64_t made = ++radix->clock;
        // It is as urgent as what it goes on from.
        int32_t priority = is_root(node) ? INT32_MAX : radix_of(node)->extent.age.priority;
        at = kv_cursor_at(content, there * radix->tree.block_tokens);
        child = kv_tree_add(&radix->tree, node, at, end);
        struct kv_radix_node *own = radix_of(child);
        own->extent = (struct kv_extent){.node = child, .age = {made, made, -1, priority}};
        own->host = (struct kv_extent){.node = child};
        own->made = made;
        own->device_end = child->begin;
        own->is_backed = true;
        kv_radix_changed(radix, child);
        kv_radix_changed(radix, node);
    }
    return end - there;
}
