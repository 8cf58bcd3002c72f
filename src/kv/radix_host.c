/*
 * Host memory behind a radix tree: which pieces have a copy there, and which of those that left the pool make room.
 */
#include "kv/radix.h"

#include "base/error.h"
#include "kv/radix_int.h"

void kv_radix_set_host(struct kv_radix *radix, enum kv_backup when, int32_t uses,
                       int64_t capacity_blocks)
{
    base_require(radix->tree.node_count == 0 && when != KV_BACKUP_NONE && capacity_blocks > 0);
    radix->host.when = when;
    radix->host.uses = uses;
    radix->host.capacity_blocks = capacity_blocks;
}

/* ---- room ---- */

static int64_t evict_host_piece(struct kv_radix *radix)
{
    struct kv_node *node = kv_evict_first(&radix->host.leaves)->node;
    int64_t end = node->end, from = kv_radix_piece_begin(node, end);
    base_assert(from >= kv_radix_node_of(node)->device_end);
    kv_radix_forget(radix, node, from);
    return end - from;
}

// The engine makes room for the whole piece where it lacks a part of that, even if it then lacks some still.
bool kv_radix_take_room(struct kv_radix *radix, int64_t blocks)
{
    struct kv_radix_host *host = &radix->host;
    if (host->blocks + blocks > host->capacity_blocks) {
        int64_t evicted = 0;
        while (evicted < blocks && kv_evict_first(&host->leaves) != NULL) {
            evicted += evict_host_piece(radix);
        }
        host->blocks -= evicted;
        host->evicted_blocks += evicted;
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

static void pin_host(struct kv_radix *radix, struct kv_node *node, int32_t change)
{
    kv_radix_node_of(node)->host_pins += change;
    base_assert(kv_radix_node_of(node)->host_pins >= 0);
    kv_radix_changed(radix, node);
}

void kv_radix_pin_host(struct kv_radix *radix, struct kv_node *node)
{
    pin_host(radix, node, 1);
}

void kv_radix_unpin_host(struct kv_radix *radix, struct kv_node *node)
{
    pin_host(radix, node, -1);
}

/* ---- at use ---- */

static bool is_due(const struct kv_radix *radix, int32_t hits)
{
    return hits >= radix->host.uses - 1;
}

bool kv_radix_has_copy(const struct kv_node *node)
{
    return kv_radix_is_root(node) || kv_radix_node_of(node)->is_backed;
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
        // All that lay below it in host memory has made room for it, in vain.
        base_assert(node->child_count == 0 && own->device_end == node->end);
        return false;
    }
    radix->host.written_blocks += blocks;
    return true;
}

int64_t kv_radix_take_written(struct kv_radix *radix)
{
    int64_t blocks = radix->host.written_blocks;
    radix->host.written_blocks = 0;
    return blocks;
}
