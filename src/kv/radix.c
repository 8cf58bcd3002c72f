#include "kv/radix.h"

#include "base/error.h"
#include "base/mem.h"

/* Where a piece begins that is not the first of its node, and when the one before it was made. */
struct seam {
    int64_t at, made;
};

/* The extent's ages are those of all pieces, but first_release, which is when the last one was made. */
struct radix_node {
    struct kv_node node;
    struct kv_extent extent;
    struct kv_radix_seq *seqs; /* running ones whose last node it is */
    struct {
        struct seam *at;
        size_t count, capacity;
    } seams;
};

static struct radix_node *radix_of(const struct kv_node *node)
{
    return (struct radix_node *)(uintptr_t)node;
}

static int64_t blocks_of(const struct kv_node *node)
{
    return node->end - node->begin;
}

static bool is_root(const struct kv_node *node)
{
    return node->parent == NULL;
}

static bool is_idle_leaf(const struct kv_node *node)
{
    return node->child_count == 0 && radix_of(node)->extent.holders == 0 && !is_root(node);
}

void kv_radix_init(struct kv_radix *radix, int64_t block_tokens, int64_t usable_blocks,
                   enum kv_eviction eviction)
{
    *radix = (struct kv_radix){.blank_blocks = usable_blocks};
    kv_tree_init(&radix->tree, block_tokens, sizeof(struct radix_node));
    kv_evict_init_by_age(&radix->leaves, eviction);
}

void kv_radix_release(struct kv_radix *radix)
{
    for (size_t i = 0; i < radix->tree.map_capacity; i++) {
        for (struct kv_node *node = radix->tree.map[i]; node != NULL; node = node->map_next) {
            base_vec_free(&radix_of(node)->seams);
        }
    }
    kv_tree_release(&radix->tree);
    kv_evict_release(&radix->leaves);
}

/* ---- use ---- */

static void touch(struct kv_radix *radix, struct kv_node *node, int64_t now)
{
    struct kv_extent *extent = &radix_of(node)->extent;
    extent->age.last_release = now;
    if (is_idle_leaf(node)) {
        kv_evict_aged(&radix->leaves, extent);
    }
}

// An entry of a sequence passes over the node. A piece begins with 0 hits, one that a chunk put in with -1: the visit with which
// the prompt enters whole is not counted.
static void note_entry(struct kv_radix *radix, struct kv_node *node, int64_t now, int32_t priority,
                       bool is_chunk)
{
    struct kv_age *age = &radix_of(node)->extent.age;
    age->hits += is_chunk ? 0 : 1;
    age->priority = priority < age->priority ? priority : age->priority;
    touch(radix, node, now);
}

/* ---- cutting ---- */

static void set_extent(struct kv_node *node)
{
    struct kv_extent *extent = &radix_of(node)->extent;
    extent->node = node;
    extent->lo = node->begin;
    extent->hi = node->end;
}

// Seams below `at` go to the front; a seam at it is none any more.
static void share_seams(struct radix_node *front, struct radix_node *back, int64_t at)
{
    size_t kept = 0;
    for (size_t i = 0; i < back->seams.count; i++) {
        struct seam seam = back->seams.at[i];
        if (seam.at < at) {
            base_vec_push(&front->seams, seam);
        } else if (seam.at > at) {
            back->seams.at[kept++] = seam;
        }
    }
    back->seams.count = kept;
}

// The front [begin, at) as a node of its own, made at `made`.
static struct kv_node *cut_off(struct kv_radix *radix, struct kv_node *node, int64_t at,
                               int64_t made)
{
    struct kv_node *front = kv_tree_cut(&radix->tree, node, at);
    radix_of(front)->extent.holders = radix_of(node)->extent.holders;
    radix_of(front)->extent.age = radix_of(node)->extent.age;
    radix_of(front)->extent.age.first_release = made;
    share_seams(radix_of(front), radix_of(node), at);
    set_extent(front);
    set_extent(node);
    return front;
}

// The first seam that is not below `at`, or NULL.
static const struct seam *seam_from(const struct kv_node *node, int64_t at)
{
    const struct radix_node *pieces = radix_of(node);
    size_t low = 0, high = pieces->seams.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pieces->seams.at[middle].at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < pieces->seams.count ? &pieces->seams.at[low] : NULL;
}

// A path ends at `at` within the node: returns the part that it passed over. Of the piece that it ends in it has seen the
// back too, which keeps its time of making, while the front is new; pieces behind that one it has not seen.
static struct kv_node *cut_at_end(struct kv_radix *radix, struct kv_node *node, int64_t at,
                                  int64_t now)
{
    const struct seam *seam = seam_from(node, at);
    if (seam != NULL) {
        int64_t border = seam->at;
        node = cut_off(radix, node, border, seam->made);
        if (border == at) {
            return node;
        }
    }
    touch(radix, node, now);
    node = cut_off(radix, node, at, ++radix->clock);
    return node;
}

/* ---- locks ---- */

static void lock(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_extent *extent = &radix_of(node)->extent;
    if (is_idle_leaf(node)) {
        kv_evict_remove(&radix->leaves, extent);
    }
    if (extent->holders++ == 0) {
        radix->idle_blocks -= blocks_of(node);
    } else {
        radix->shared_blocks += blocks_of(node);
    }
}

static void unlock(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_extent *extent = &radix_of(node)->extent;
    base_assert(extent->holders > 0);
    if (--extent->holders > 0) {
        radix->shared_blocks -= blocks_of(node);
        return;
    }
    radix->idle_blocks += blocks_of(node);
    if (is_idle_leaf(node)) {
        kv_evict_put(&radix->leaves, extent);
    }
}

static void set_last(struct kv_radix_seq *seq, struct kv_node *last)
{
    if (seq->last != NULL) {
        *(seq->prev != NULL ? &seq->prev->next : &radix_of(seq->last)->seqs) = seq->next;
        if (seq->next != NULL) {
            seq->next->prev = seq->prev;
        }
    }
    seq->last = last;
    seq->prev = NULL;
    seq->next = NULL;
    if (last == NULL) {
        return;
    }
    seq->next = radix_of(last)->seqs;
    if (seq->next != NULL) {
        seq->next->prev = seq;
    }
    radix_of(last)->seqs = seq;
}

static void let_go(struct kv_radix *radix, struct kv_radix_seq *seq)
{
    for (struct kv_node *node = seq->last; !is_root(node); node = node->parent) {
        unlock(radix, node);
    }
    set_last(seq, NULL);
}

/* ---- look-up ---- */

void kv_radix_match(struct kv_radix *radix, const struct kv_content *content, int64_t most,
                    struct kv_radix_match *out)
{
    int64_t now = ++radix->clock;
    struct kv_node *node = radix->tree.root, *child;
    struct kv_cursor at = kv_cursor_at(content, 0);
    *out = (struct kv_radix_match){.last = node};
    while (out->blocks < most && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        out->blocks += kv_tree_match(&radix->tree, child, &at, most - out->blocks);
        if (out->blocks < child->end) {
            child = cut_at_end(radix, child, out->blocks, now);
        }
        touch(radix, child, now);
        out->last = node = child;
        out->idle_blocks += radix_of(node)->extent.holders == 0 ? blocks_of(node) : 0;
    }
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
    int64_t size = radix->tree.block_tokens, until = (match->blocks + 1) * size;
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

void kv_radix_hold(struct kv_radix *radix, struct kv_radix_seq *seq,
                   const struct kv_radix_match *match)
{
    base_require(seq->last == NULL && match->last->end == match->blocks);
    set_last(seq, match->last);
    for (struct kv_node *node = seq->last; !is_root(node); node = node->parent) {
        lock(radix, node);
    }
}

/* ---- entry ---- */

static bool looks_at_hits(const struct kv_radix *radix)
{
    return radix->leaves.order == KV_EVICT_LFU || radix->leaves.order == KV_EVICT_SLRU;
}

// What `seq` adds below its last node shares the fate of that one: nobody else holds it or goes on from it, and the order of
// eviction will see no difference.
static bool goes_on(const struct kv_radix *radix, const struct kv_radix_seq *seq,
                    const struct kv_node *node, int32_t hits)
{
    const struct kv_extent *extent = &radix_of(node)->extent;
    return node == seq->last && !is_root(node) && node->child_count == 0 && extent->holders == 1 &&
           extent->age.priority == seq->priority &&
           (!looks_at_hits(radix) || extent->age.hits == hits);
}

static void add_piece(struct kv_radix *radix, struct kv_node *node, struct kv_cursor at,
                      int64_t end)
{
    struct radix_node *pieces = radix_of(node);
    struct seam seam = {node->end, pieces->extent.age.first_release};
    base_vec_push(&pieces->seams, seam);
    kv_tree_extend(&radix->tree, node, at, end);
    set_extent(node);
    pieces->extent.age.first_release = pieces->extent.age.last_release = ++radix->clock;
}

static struct kv_node *add_node(struct kv_radix *radix, struct kv_node *parent, struct kv_cursor at,
                                int64_t end, const struct kv_age *age)
{
    if (is_idle_leaf(parent)) {
        kv_evict_remove(&radix->leaves, &radix_of(parent)->extent);
    }
    struct kv_node *node = kv_tree_add(&radix->tree, parent, at, end);
    set_extent(node);
    radix_of(node)->extent.age = *age;
    radix->idle_blocks += blocks_of(node);
    kv_evict_put(&radix->leaves, &radix_of(node)->extent);
    return node;
}

// The first `blocks` of a running sequence are in the tree: returns the node that ends there. `there`: how many were before.
static struct kv_node *enter(struct kv_radix *radix, const struct kv_radix_seq *seq, int64_t blocks,
                             bool is_chunk, int64_t *there)
{
    int64_t now = ++radix->clock;
    struct kv_node *node = seq->last, *child;
    for (struct kv_node *above = node; !is_root(above); above = above->parent) {
        note_entry(radix, above, now, seq->priority, is_chunk);
    }
    struct kv_cursor at = kv_cursor_at(seq->content, node->end * radix->tree.block_tokens);
    *there = node->end;
    while (*there < blocks && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        *there += kv_tree_match(&radix->tree, child, &at, blocks - *there);
        if (*there < child->end) {
            child = cut_at_end(radix, child, *there, now);
        }
        note_entry(radix, child, now, seq->priority, is_chunk);
        node = child;
    }
    if (*there == blocks) {
        return node;
    }
    int32_t hits = is_chunk ? -1 : 0;
    if (goes_on(radix, seq, node, hits)) {
        add_piece(radix, node, at, blocks);
        return node;
    }
    int64_t made = ++radix->clock;
    struct kv_age age = {made, made, hits, seq->priority};
    return add_node(radix, node, at, blocks, &age);
}

void kv_radix_enter(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t blocks, bool is_chunk)
{
    base_require(seq->last != NULL && blocks >= seq->last->end);
    int64_t held = seq->last->end, there;
    if (blocks == 0) {
        return;
    }
    struct kv_node *last = enter(radix, seq, blocks, is_chunk, &there);
    radix->blank_blocks += there - held; // its own copies of what is there
    for (struct kv_node *node = last; node != seq->last; node = node->parent) {
        lock(radix, node);
    }
    set_last(seq, last);
    int64_t now = ++radix->clock; // the engine looks its path up anew
    for (struct kv_node *node = last; !is_root(node); node = node->parent) {
        touch(radix, node, now);
    }
}

void kv_radix_end(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t kept_blocks,
                  int64_t held_blocks)
{
    int64_t held = seq->last->end, there = held;
    base_require(held <= kept_blocks && kept_blocks <= held_blocks);
    if (kept_blocks > 0) {
        enter(radix, seq, kept_blocks, false, &there);
    }
    radix->blank_blocks += held_blocks - held - (kept_blocks - there);
    let_go(radix, seq);
}

void kv_radix_throw_out(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t held_blocks)
{
    base_require(held_blocks >= seq->last->end);
    radix->blank_blocks += held_blocks - seq->last->end;
    let_go(radix, seq);
}

/* ---- eviction ---- */

// The last piece of a node goes, others are left.
static void drop_piece(struct kv_radix *radix, struct kv_node *node)
{
    struct radix_node *pieces = radix_of(node);
    struct seam seam = pieces->seams.at[--pieces->seams.count];
    kv_tree_shorten(&radix->tree, node, seam.at);
    set_extent(node);
    pieces->extent.age.first_release = seam.made;
    kv_evict_aged(&radix->leaves, &pieces->extent);
}

static void drop_node(struct kv_radix *radix, struct kv_node *node)
{
    base_assert(radix_of(node)->seqs == NULL);
    kv_evict_remove(&radix->leaves, &radix_of(node)->extent);
    base_vec_free(&radix_of(node)->seams);
    struct kv_node *parent = kv_tree_drop(&radix->tree, node);
    if (is_idle_leaf(parent)) {
        kv_evict_put(&radix->leaves, &radix_of(parent)->extent);
    }
}

static int64_t evict_piece(struct kv_radix *radix)
{
    struct kv_extent *first = kv_evict_first(&radix->leaves);
    base_require(first != NULL);
    struct kv_node *node = first->node;
    const struct radix_node *pieces = radix_of(node);
    int64_t end = node->end;
    int64_t from =
        pieces->seams.count > 0 ? pieces->seams.at[pieces->seams.count - 1].at : node->begin;
    if (from > node->begin) {
        drop_piece(radix, node);
    } else {
        drop_node(radix, node);
    }
    radix->idle_blocks -= end - from;
    radix->blank_blocks += end - from;
    radix->evicted_blocks += end - from;
    return end - from;
}

int64_t kv_radix_evict(struct kv_radix *radix, int64_t blocks)
{
    int64_t evicted = 0;
    while (evicted < blocks && radix->idle_blocks > 0) {
        evicted += evict_piece(radix);
    }
    return evicted;
}

void kv_radix_take(struct kv_radix *radix, int64_t blocks)
{
    base_require(blocks <= kv_radix_free_blocks(radix));
    while (radix->blank_blocks < blocks) {
        evict_piece(radix);
    }
    radix->blank_blocks -= blocks;
}
