/*
 * Host memory behind a radix tree: which pieces have a copy there, and which of those that left the pool make room.
 */
#include "kv/radix.h"

#include "base/error.h"
#include "base/mem.h"
#include "kv/radix_int.h"

void kv_radix_init_host(struct kv_radix *radix, enum kv_eviction eviction)
{
    kv_evict_init(&radix->host.leaves, eviction);
    base_pool_init(&radix->host.pin_pool, sizeof(struct kv_radix_pin));
}

void kv_radix_release_host(struct kv_radix *radix)
{
    struct kv_radix_host *host = &radix->host;
    kv_evict_release(&host->leaves);
    base_pool_release(&host->pin_pool);
    base_vec_free(&host->written);
    base_vec_free(&host->kept);
    base_vec_free(&host->path);
    base_vec_free(&host->runs);
}

void kv_radix_set_host(struct kv_radix *radix, enum kv_backup when, int32_t uses,
                       int64_t capacity_blocks, bool has_below)
{
    base_require(radix->tree.node_count == 0 && when != KV_BACKUP_NONE && capacity_blocks > 0);
    radix->host.when = when;
    radix->host.uses = uses;
    radix->host.capacity_blocks = capacity_blocks;
    radix->host.has_below = has_below;
}

/* ---- room ---- */

// The last piece of a childless node, in host memory alone.
static int64_t drop_last_piece(struct kv_radix *radix, struct kv_node *node)
{
    int64_t end = node->end, from = kv_radix_piece_begin(node, end);
    base_assert(from >= kv_radix_node_of(node)->device_end);
    kv_radix_forget(radix, node, from);
    return end - from;
}

static void note_evicted(struct kv_radix_host *host, int64_t blocks)
{
    host->blocks -= blocks;
    host->evicted_blocks += blocks;
}

// The engine makes room for the whole piece where it lacks a part of that, even if it then lacks some still.
bool kv_radix_take_room(struct kv_radix *radix, int64_t blocks)
{
    struct kv_radix_host *host = &radix->host;
    if (host->blocks + blocks > host->capacity_blocks) {
        int64_t evicted = 0;
        struct kv_extent *leaf;
        while (evicted < blocks && (leaf = kv_evict_first(&host->leaves)) != NULL) {
            evicted += drop_last_piece(radix, leaf->node);
        }
        note_evicted(host, evicted);
    }
    if (host->blocks + blocks > host->capacity_blocks) {
        host->refused++;
        return false;
    }
    host->blocks += blocks;
    host->added_blocks += blocks;
    host->peak_blocks = host->blocks > host->peak_blocks ? host->blocks : host->peak_blocks;
    return true;
}

void kv_radix_give_room(struct kv_radix *radix, int64_t blocks)
{
    radix->host.blocks -= blocks;
    radix->host.added_blocks -= blocks;
}

/* ---- pins ---- */

// Ends of pieces go up with time: what is pinned last mostly ends highest.
static void node_put_pin(struct kv_radix_node *own, struct kv_radix_pin *pin)
{
    struct kv_radix_pin *above = NULL, *below = own->highest;
    if (own->lowest != NULL && own->lowest->end <= pin->end) {
        above = own->lowest;
        below = NULL;
    }
    while (below != NULL && below->end < pin->end) {
        above = below;
        below = below->below;
    }
    pin->above = above;
    pin->below = below;
    *(above != NULL ? &above->below : &own->highest) = pin;
    *(below != NULL ? &below->above : &own->lowest) = pin;
}

static void node_take_pin(struct kv_radix_node *own, const struct kv_radix_pin *pin)
{
    *(pin->above != NULL ? &pin->above->below : &own->highest) = pin->below;
    *(pin->below != NULL ? &pin->below->above : &own->lowest) = pin->above;
}

static void count_pin(struct kv_node *node, int32_t change)
{
    for (; node != NULL; node = node->parent) {
        kv_radix_node_of(node)->host_pins += change;
        base_assert(kv_radix_node_of(node)->host_pins >= 0);
    }
}

struct kv_radix_pin *kv_radix_pin_host(struct kv_radix *radix, struct kv_node *node, int64_t end)
{
    base_require((node->begin < end || kv_radix_is_root(node)) && end <= node->end);
    struct kv_radix_pin *pin = base_pool_take(&radix->host.pin_pool);
    pin->node = node;
    pin->end = end;
    pin->after = radix->host.pins;
    if (pin->after != NULL) {
        pin->after->before = pin;
    }
    radix->host.pins = pin;
    node_put_pin(kv_radix_node_of(node), pin);
    count_pin(node, 1);
    kv_radix_changed(radix, node);
    return pin;
}

// It holds nothing any more.
static void pin_let_go(struct kv_radix *radix, struct kv_radix_pin *pin)
{
    struct kv_node *node = pin->node;
    node_take_pin(kv_radix_node_of(node), pin);
    count_pin(node, -1);
    pin->node = NULL;
    *(pin->before != NULL ? &pin->before->after : &radix->host.pins) = pin->after;
    if (pin->after != NULL) {
        pin->after->before = pin->before;
    }
    kv_radix_changed(radix, node);
}

void kv_radix_unpin_host(struct kv_radix *radix, struct kv_radix_pin *pin)
{
    if (pin->node != NULL) {
        pin_let_go(radix, pin);
    }
    base_pool_give(&radix->host.pin_pool, pin);
}

void kv_radix_share_pins(struct kv_radix_node *front, struct kv_radix_node *back, int64_t at)
{
    front->host_pins = back->host_pins;
    struct kv_radix_pin *pin;
    while ((pin = back->highest) != NULL && pin->end <= at) {
        node_take_pin(back, pin);
        node_put_pin(front, pin);
        pin->node = &front->node;
        back->host_pins--;
    }
}

struct kv_content kv_radix_content(struct kv_radix *radix, const struct kv_radix_pin *pin)
{
    struct kv_radix_host *host = &radix->host;
    int64_t size = radix->tree.block_tokens;
    base_require(pin->node != NULL);
    host->runs.count = 0;
    for (struct kv_node *node = pin->node; !kv_radix_is_root(node); node = node->parent) {
        base_vec_push(&host->path, node);
    }
    while (host->path.count > 0) {
        const struct kv_node *node = host->path.at[--host->path.count];
        int64_t end = pin->end < node->end ? pin->end : node->end;
        struct kv_cursor cursor = kv_cursor_at(&node->content, 0);
        base_vec_reserve(&host->runs, host->runs.count + node->content.run_count);
        host->runs.count +=
            kv_cursor_copy(&cursor, (end - node->begin) * size, &host->runs.at[host->runs.count]);
    }
    return (struct kv_content){host->runs.at, host->runs.count, pin->end * size};
}

static bool is_behind(const struct kv_node *node, const struct kv_node *leaf)
{
    while (node != NULL && node != leaf) {
        node = node->parent;
    }
    return node != NULL;
}

// From a node up, of what lies in host memory alone; what has children or is pinned stays.
static int64_t drop_unpinned(struct kv_radix *radix, struct kv_node *node)
{
    int64_t dropped = 0;
    while (node->child_count == 0 && !kv_radix_end_is_pinned(node) &&
           kv_radix_node_of(node)->device_end < node->end) {
        struct kv_node *parent = node->parent;
        bool is_last = kv_radix_piece_begin(node, node->end) == node->begin;
        dropped += drop_last_piece(radix, node);
        node = is_last ? parent : node;
    }
    return dropped;
}

// All that nobody had pinned behind it made room before.
void kv_radix_drop_behind(struct kv_radix *radix, struct kv_node *leaf)
{
    struct kv_radix_pin *next;
    for (struct kv_radix_pin *pin = radix->host.pins; pin != NULL; pin = next) {
        struct kv_node *node = pin->node;
        next = pin->after;
        if (is_behind(node, leaf)) {
            pin_let_go(radix, pin);
            note_evicted(&radix->host, drop_unpinned(radix, node));
        }
    }
    base_assert(leaf->child_count == 0 && kv_radix_node_of(leaf)->device_end == leaf->end);
}

/* ---- at use ---- */

static bool is_due(const struct kv_radix *radix, int32_t hits)
{
    return hits >= radix->host.uses - 1;
}

bool kv_radix_has_copy(const struct kv_node *node)
{
    const struct kv_radix_node *own = kv_radix_node_of(node);
    return kv_radix_is_root(node) || own->is_backed || own->device_end < node->end;
}

void kv_radix_note_backup(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_radix_host *host = &radix->host;
    if (host->source != NULL) {
        kv_radix_unpin(radix, host->source);
    }
    host->source = node;
    kv_radix_pin(radix, node);
}

// Piece by piece: there may be room for the first ones only, of which a node is made then.
static void back_up_node(struct kv_radix *radix, struct kv_node *node)
{
    struct kv_radix_node *own = kv_radix_node_of(node);
    int64_t at = node->begin;
    size_t seam = 0;
    while (at < node->end) {
        int64_t end = seam < own->seams.count ? own->seams.at[seam].at : node->end;
        if (!kv_radix_take_room(radix, end - at)) {
            break;
        }
        radix->host.backed_blocks += end - at;
        at = end;
        seam++;
    }
    if (at == node->begin) {
        return;
    }
    if (at < node->end) {
        node = kv_radix_cut(radix, node, at, kv_radix_piece_made(node, at));
    }
    kv_radix_node_of(node)->is_backed = true;
    kv_radix_note_backup(radix, node);
}

// The highest node of the path without a copy, or NULL.
static struct kv_node *first_without(struct kv_node *last)
{
    struct kv_node *first = NULL;
    for (struct kv_node *node = last; !kv_radix_is_root(node); node = node->parent) {
        first = kv_radix_has_copy(node) ? first : node;
    }
    return first;
}

void kv_radix_back_up(struct kv_radix *radix, struct kv_node *last)
{
    struct kv_node *node;
    while ((node = first_without(last)) != NULL &&
           is_due(radix, kv_radix_node_of(node)->extent.age.hits)) {
        back_up_node(radix, node);
        if (!kv_radix_has_copy(node)) {
            return; // nor can anything below get one
        }
    }
}

bool kv_radix_back_up_new(struct kv_radix *radix, const struct kv_node *parent, int64_t blocks,
                          int32_t hits)
{
    if (radix->host.when != KV_BACKUP_AT_USE || !is_due(radix, hits) ||
        !kv_radix_has_copy(parent) || !kv_radix_take_room(radix, blocks)) {
        return false;
    }
    radix->host.backed_blocks += blocks;
    return true;
}

int64_t kv_radix_take_backup(struct kv_radix *radix, struct kv_node **source)
{
    int64_t blocks = radix->host.backed_blocks;
    *source = radix->host.source;
    radix->host.source = NULL;
    radix->host.backed_blocks = 0;
    return blocks;
}

/* ---- at eviction ---- */

bool kv_radix_keeps_copy(struct kv_radix *radix, struct kv_node *node, int64_t from)
{
    struct kv_radix_node *own = kv_radix_node_of(node);
    if (own->is_backed) {
        return true;
    }
    int64_t blocks = own->device_end - from;
    if (radix->host.when != KV_BACKUP_AT_EVICTION || !kv_radix_take_room(radix, blocks)) {
        // All that lay below it in host memory has made room for it, in vain, but for what is pinned.
        base_assert(own->host_pins > 0 || (node->child_count == 0 && own->device_end == node->end));
        return false;
    }
    radix->host.written_blocks += blocks;
    if (radix->host.has_below) {
        struct kv_radix_pin *pin = kv_radix_pin_host(radix, node, own->device_end);
        base_vec_push(&radix->host.written, ((struct kv_radix_piece){pin, blocks}));
    }
    return true;
}

int64_t kv_radix_take_written(struct kv_radix *radix, struct kv_radix_pieces *pieces)
{
    struct kv_radix_host *host = &radix->host;
    int64_t blocks = host->written_blocks;
    host->written_blocks = 0;
    for (size_t i = 0; i < host->written.count; i++) {
        if (host->written.at[i].pin->node != NULL) {
            base_vec_push(pieces, host->written.at[i]);
        } else {
            kv_radix_unpin_host(radix, host->written.at[i].pin);
        }
    }
    host->written.count = 0;
    return blocks;
}
