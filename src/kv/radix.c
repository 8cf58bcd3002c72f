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

void kv_radix_init(struct kv_radix *radix, int64_t block_tokens, int64_t usable_blocks,
                   enum kv_eviction eviction)
{
    *radix = (struct kv_radix){.blank_blocks = usable_blocks};
    kv_tree_init(&radix->tree, block_tokens, sizeof(struct kv_radix_node));
    kv_evict_init(&radix->leaves, eviction);
    kv_evict_init(&radix->host.leaves, eviction);
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
    kv_evict_release(&radix->host.leaves);
}

/* ---- leaves ---- */

static bool is_free(const struct kv_radix_node *node)
{
    return node->extent.holders == 0 && node->pins == 0;
}

static bool is_leaf(const struct kv_node *node)
{
    const struct kv_radix_node *own = radix_of(node);
    return kv_radix_device_blocks(node) > 0 && own->device_children == 0 && is_free(own);
}

static bool is_host_leaf(const struct kv_node *node)
{
    const struct kv_radix_node *own = radix_of(node);
    return own->device_end < node->end && node->child_count == 0 && is_free(own) &&
           own->host_pins == 0;
}

static void set_leaf(struct kv_evict *leaves, struct kv_extent *extent, bool is_to_be, bool *is)
{
    if (is_to_be && *is) {
        kv_evict_aged(leaves, extent);
    } else if (is_to_be) {
        kv_evict_put(leaves, extent);
    } else if (*is) {
        kv_evict_remove(leaves, extent);
    }
    *is = is_to_be;
}

void kv_radix_changed(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_radix_node *own = radix_of(node);
    if (is_root(node)) {
        return;
    }
    own->extent.lo = own->host.lo = node->begin;
    own->extent.hi = own->device_end;
    own->host.hi = node->end;
    bool leaf = is_leaf(node);
    if (leaf) {
        own->extent.age.first_release = kv_radix_piece_made(node, own->device_end);
    }
    set_leaf(&radix->leaves, &own->extent, leaf, &own->is_leaf);
    bool host_leaf = is_host_leaf(node);
    if (host_leaf) {
        own->host.age = own->extent.age;
        own->host.age.first_release = own->made;
    }
    set_leaf(&radix->host.leaves, &own->host, host_leaf, &own->is_host_leaf);
}

// Its blocks in the pool leave the sums (-1), to come back (1) once holders, pins or blocks are others.
static void weigh(struct kv_radix *radix, const struct kv_node *node, int64_t sign)
{
    const struct kv_radix_node *own = radix_of(node);
    int64_t blocks = sign * kv_radix_device_blocks(node);
    if (own->extent.holders > 0) {
        radix->shared_blocks += blocks * (own->extent.holders - 1);
    } else if (own->pins > 0) {
        radix->pinned_blocks += blocks;
    } else {
        radix->idle_blocks += blocks;
    }
}

// From now on the blocks before `end` lie in the pool.
static void set_device_end(struct kv_radix *radix, struct kv_node *node, int64_t end)
{
    struct kv_radix_node *own = radix_of(node);
    bool had_some = kv_radix_device_blocks(node) > 0;
    weigh(radix, node, -1);
    own->device_end = end;
    weigh(radix, node, 1);
    bool has_some = kv_radix_device_blocks(node) > 0;
    radix_of(node->parent)->device_children += (has_some ? 1 : 0) - (had_some ? 1 : 0);
    kv_radix_changed(radix, node);
    kv_radix_changed(radix, node->parent);
}

/* ---- use ---- */

// A use does not make a leaf of what is none: only the age of one that is changes.
static void touch(struct kv_radix *radix, struct kv_node *node, int64_t now)
{
    struct kv_radix_node *own = radix_of(node);
    own->extent.age.last_release = now;
    if (own->is_leaf || own->is_host_leaf) {
        kv_radix_changed(radix, node);
    }
}

// An entry of a sequence passes over the node. A piece begins with 0 hits, one that a chunk put in with -1: the visit with which
// the prompt enters whole is not counted.
static void note_entry(struct kv_radix *radix, struct kv_node *node, int64_t now, int32_t priority,
                       bool is_hit)
{
    struct kv_age *age = &radix_of(node)->extent.age;
    age->hits += is_hit ? 1 : 0;
    age->priority = priority < age->priority ? priority : age->priority;
    touch(radix, node, now);
}

/* ---- cutting ---- */

// The first seam that is not below `at`, or NULL.
static const struct kv_seam *seam_from(const struct kv_node *node, int64_t at)
{
    const struct kv_radix_node *pieces = radix_of(node);
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

int64_t kv_radix_piece_made(const struct kv_node *node, int64_t at)
{
    const struct kv_seam *seam = seam_from(node, at);
    base_assert(at == node->end || (seam != NULL && seam->at == at));
    return at < node->end && seam != NULL ? seam->made : radix_of(node)->made;
}

int64_t kv_radix_piece_begin(const struct kv_node *node, int64_t at)
{
    const struct kv_radix_node *own = radix_of(node);
    const struct kv_seam *seam = seam_from(node, at);
    size_t before = seam != NULL ? (size_t)(seam - own->seams.at) : own->seams.count;
    return before > 0 ? own->seams.at[before - 1].at : node->begin;
}

// Seams below `at` go to the front; a seam at it is none any more.
static void share_seams(struct kv_radix_node *front, struct kv_radix_node *back, int64_t at)
{
    size_t kept = 0;
    for (size_t i = 0; i < back->seams.count; i++) {
        struct kv_seam seam = back->seams.at[i];
        if (seam.at < at) {
            base_vec_push(&front->seams, seam);
        } else if (seam.at > at) {
            back->seams.at[kept++] = seam;
        }
    }
    back->seams.count = kept;
}

// Whoever locks the back has locked the front.
static void share_state(struct kv_radix_node *front, struct kv_radix_node *back, int64_t at)
{
    front->extent = (struct kv_extent){
        .node = &front->node, .holders = back->extent.holders, .age = back->extent.age};
    front->host = (struct kv_extent){.node = &front->node};
    front->pins = back->pins;
    front->is_backed = back->is_backed;
    front->device_end = back->device_end < at ? back->device_end : at;
    back->device_end = back->device_end > at ? back->device_end : at;
    front->device_children = back->device_end > at ? 1 : 0;
}

struct kv_node *kv_radix_cut(struct kv_radix *radix, struct kv_node *node, int64_t at, int64_t made)
{
    struct kv_node *front = kv_tree_cut(&radix->tree, node, at);
    radix_of(front)->made = made;
    share_state(radix_of(front), radix_of(node), at);
    share_seams(radix_of(front), radix_of(node), at);
    kv_radix_changed(radix, front);
    kv_radix_changed(radix, node);
    return front;
}

static struct kv_node *cut_at_seam(struct kv_radix *radix, struct kv_node *node, int64_t at)
{
    return kv_radix_cut(radix, node, at, kv_radix_piece_made(node, at));
}

// A path ends at `at` within the node: returns the part that it passed over. Of the piece that it ends in it has seen the
// back too, which keeps its time of making, while the front is new; pieces behind that one it has not seen.
static struct kv_node *cut_at_end(struct kv_radix *radix, struct kv_node *node, int64_t at,
                                  int64_t now)
{
    const struct kv_seam *seam = seam_from(node, at);
    if (seam != NULL) {
        int64_t border = seam->at;
        node = cut_at_seam(radix, node, border);
        if (border == at) {
            return node;
        }
    }
    touch(radix, node, now);
    return kv_radix_cut(radix, node, at, ++radix->clock);
}

/* ---- locks ---- */

static void hold_node(struct kv_radix *radix, struct kv_node *node, int32_t change)
{
    struct kv_extent *extent = &radix_of(node)->extent;
    if (extent->holders > 0 && extent->holders + change > 0) {
        extent->holders += change;
        radix->shared_blocks += change * kv_radix_device_blocks(node);
        return;
    }
    weigh(radix, node, -1);
    radix_of(node)->extent.holders += change;
    base_assert(radix_of(node)->extent.holders >= 0);
    weigh(radix, node, 1);
    kv_radix_changed(radix, node);
}

static void pin_path(struct kv_radix *radix, struct kv_node *node, int32_t change)
{
    for (; !is_root(node); node = node->parent) {
        weigh(radix, node, -1);
        radix_of(node)->pins += change;
        base_assert(radix_of(node)->pins >= 0);
        weigh(radix, node, 1);
        kv_radix_changed(radix, node);
    }
}

void kv_radix_pin(struct kv_radix *radix, struct kv_node *node)
{
    pin_path(radix, node, 1);
}

void kv_radix_unpin(struct kv_radix *radix, struct kv_node *node)
{
    pin_path(radix, node, -1);
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
        hold_node(radix, node, -1);
    }
    set_last(seq, NULL);
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
            child = cut_at_end(radix, child, matched, now);
        }
        touch(radix, child, now);
        out->last = node = child;
        out->blocks += kv_radix_device_blocks(node);
        out->idle_blocks += is_free(radix_of(node)) ? kv_radix_device_blocks(node) : 0;
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
    return is_mixed(node) ? cut_at_seam(radix, node, radix_of(node)->device_end) : node;
}

void kv_radix_hold(struct kv_radix *radix, struct kv_radix_seq *seq,
                   const struct kv_radix_match *match)
{
    base_require(seq->last == NULL && match->last->end == match->blocks + match->host_blocks);
    struct kv_node *last = match->is_loaded ? match->last : last_in_pool(radix, match);
    base_require(last != NULL); // the root at least
    set_last(seq, last);
    for (struct kv_node *node = last; !is_root(node); node = node->parent) {
        hold_node(radix, node, 1);
    }
}

// All of the node lies in the pool from now on; what was copied at eviction has a copy, what was not gone yet has none.
static void fill(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_radix_node *own = radix_of(node);
    if (is_mixed(node) && !own->is_backed) {
        cut_at_seam(radix, node, own->device_end);
    }
    own->is_backed = true;
    set_device_end(radix, node, node->end);
}

void kv_radix_load(struct kv_radix *radix, struct kv_radix_seq *seq)
{
    struct kv_node *node = seq->last;
    for (; !is_root(node) && radix_of(node)->device_end < node->end; node = node->parent) {
        fill(radix, node);
    }
}

/* ---- entry ---- */

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
    set_device_end(radix, node, end);
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
            child = cut_at_end(radix, child, there, now);
        }
        *own += kv_radix_device_blocks(child);
        if (is_mixed(child) && looks_at_hits(radix)) {
            struct kv_node *front = cut_at_seam(radix, child, radix_of(child)->device_end);
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
        hold_node(radix, node, 1);
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
    int64_t own = 0;
    base_require(seq->last->end <= kept_blocks && kept_blocks <= held_blocks);
    if (kept_blocks > 0) {
        enter(radix, seq, kept_blocks, false, &own);
    }
    radix->blank_blocks += held_blocks - kept_blocks + own;
    let_go(radix, seq);
}

void kv_radix_throw_out(struct kv_radix *radix, struct kv_radix_seq *seq, int64_t held_blocks)
{
    base_require(held_blocks >= seq->last->end);
    radix->blank_blocks += held_blocks - seq->last->end;
    let_go(radix, seq);
}

int64_t kv_radix_enter_host(struct kv_radix *radix, struct kv_node *node,
                            const struct kv_content *content, int64_t end)
{
    int64_t now = ++radix->clock, there = node->end;
    struct kv_cursor at = kv_cursor_at(content, there * radix->tree.block_tokens);
    struct kv_node *child;
    touch(radix, node, now);
    while (there < end && (child = kv_tree_find(&radix->tree, node, at)) != NULL) {
        there += kv_tree_match(&radix->tree, child, &at, end - there);
        if (there < child->end) {
            child = cut_at_end(radix, child, there, now);
        }
        touch(radix, child, now);
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

/* ---- eviction ---- */

void kv_radix_forget(struct kv_radix *radix, struct kv_node *node, int64_t from)
{
    struct kv_radix_node *own = radix_of(node);
    if (from > node->begin) {
        own->made = own->seams.at[--own->seams.count].made;
        kv_tree_shorten(&radix->tree, node, from);
        kv_radix_changed(radix, node);
        return;
    }
    base_assert(own->seqs == NULL);
    set_leaf(&radix->leaves, &own->extent, false, &own->is_leaf);
    set_leaf(&radix->host.leaves, &own->host, false, &own->is_host_leaf);
    base_vec_free(&own->seams);
    kv_radix_changed(radix, kv_tree_drop(&radix->tree, node));
}

static int64_t evict_piece(struct kv_radix *radix)
{
    struct kv_extent *first = kv_evict_first(&radix->leaves);
    base_require(first != NULL);
    struct kv_node *node = first->node;
    int64_t end = radix_of(node)->device_end, from = kv_radix_piece_begin(node, end);
    bool stays = kv_radix_keeps_copy(radix, node, from);
    set_device_end(radix, node, from);
    if (!stays) {
        kv_radix_forget(radix, node, from);
    }
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
