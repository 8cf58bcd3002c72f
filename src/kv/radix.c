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

void kv_radix_init(struct kv_radix *radix, int64_t block_tokens, int64_t usable_blocks,
                   enum kv_eviction eviction)
{
    *radix = (struct kv_radix){.blank_blocks = usable_blocks};
    kv_tree_init(&radix->tree, block_tokens, sizeof(struct kv_radix_node));
    kv_evict_init(&radix->leaves, eviction);
    kv_radix_init_host(radix, eviction);
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
    kv_radix_release_host(radix);
}

/* ---- leaves ---- */

static bool is_leaf(const struct kv_node *node)
{
    const struct kv_radix_node *own = radix_of(node);
    return kv_radix_device_blocks(node) > 0 && own->device_children == 0 &&
           kv_radix_is_free(node) && !own->is_kept;
}

static bool is_host_leaf(const struct kv_node *node)
{
    const struct kv_radix_node *own = radix_of(node);
    return own->device_end < node->end && node->child_count == 0 && kv_radix_is_free(node) &&
           !kv_radix_end_is_pinned(node);
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

void kv_radix_set_device_end(struct kv_radix *radix, struct kv_node *node, int64_t end)
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

void kv_radix_touch(struct kv_radix *radix, struct kv_node *node, int64_t now)
{
    struct kv_radix_node *own = radix_of(node);
    own->extent.age.last_release = now;
    if (own->is_leaf || own->is_host_leaf) {
        kv_radix_changed(radix, node);
    }
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
    kv_radix_share_pins(radix_of(front), radix_of(node), at);
    kv_radix_changed(radix, front);
    kv_radix_changed(radix, node);
    return front;
}

struct kv_node *kv_radix_cut_at_seam(struct kv_radix *radix, struct kv_node *node, int64_t at)
{
    return kv_radix_cut(radix, node, at, kv_radix_piece_made(node, at));
}

struct kv_node *kv_radix_cut_at_end(struct kv_radix *radix, struct kv_node *node, int64_t at,
                                    int64_t now)
{
    const struct kv_seam *seam = seam_from(node, at);
    if (seam != NULL) {
        int64_t border = seam->at;
        node = kv_radix_cut_at_seam(radix, node, border);
        if (border == at) {
            return node;
        }
    }
    kv_radix_touch(radix, node, now);
    return kv_radix_cut(radix, node, at, ++radix->clock);
}

/* ---- locks ---- */

void kv_radix_hold_node(struct kv_radix *radix, struct kv_node *node, int32_t change)
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

void kv_radix_set_last(struct kv_radix_seq *seq, struct kv_node *last)
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

void kv_radix_let_go(struct kv_radix *radix, struct kv_radix_seq *seq)
{
    for (struct kv_node *node = seq->last; !is_root(node); node = node->parent) {
        kv_radix_hold_node(radix, node, -1);
    }
    kv_radix_set_last(seq, NULL);
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
    base_assert(own->seqs == NULL && own->lowest == NULL);
    set_leaf(&radix->leaves, &own->extent, false, &own->is_leaf);
    set_leaf(&radix->host.leaves, &own->host, false, &own->is_host_leaf);
    base_vec_free(&own->seams);
    kv_radix_changed(radix, kv_tree_drop(&radix->tree, node));
}

static int64_t last_piece_in_pool(const struct kv_node *node)
{
    return kv_radix_piece_begin(node, radix_of(node)->device_end);
}

static void set_kept(struct kv_radix *radix, struct kv_node *node, bool is_kept)
{
    radix_of(node)->is_kept = is_kept;
    kv_radix_changed(radix, node);
}

// The first leaf whose last piece can go; `stays`: has a copy then.
static struct kv_node *first_to_go(struct kv_radix *radix, bool *stays)
{
    struct kv_radix_nodes *kept = &radix->host.kept;
    struct kv_node *node = NULL;
    for (;;) {
        struct kv_extent *first = kv_evict_first(&radix->leaves);
        node = first != NULL ? first->node : NULL;
        *stays = node != NULL && kv_radix_keeps_copy(radix, node, last_piece_in_pool(node));
        if (node == NULL || *stays || radix_of(node)->host_pins == 0) {
            break;
        }
        base_vec_push(kept, node);
        set_kept(radix, node, true);
    }
    while (kept->count > 0) {
        set_kept(radix, kept->at[--kept->count], false);
    }
    return node;
}

static int64_t evict_piece(struct kv_radix *radix)
{
    bool stays;
    struct kv_node *node = first_to_go(radix, &stays);
    if (node == NULL) {
        base_require(kv_evict_first(&radix->leaves) != NULL);
        node = kv_evict_first(&radix->leaves)->node;
        kv_radix_drop_behind(radix, node);
    }
    int64_t end = radix_of(node)->device_end, from = last_piece_in_pool(node);
    kv_radix_set_device_end(radix, node, from);
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
