/*
 * prefix_copies.c - the extents of the block-hash cache: hung on nodes, cut and joined, split where tables are no longer alike.
 */
#include "kv/prefix_int.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

// A node without copies and children holds nothing that anybody can find.
void kv_copies_drop_empty_nodes(struct kv_prefix *prefix, struct kv_node *node)
{
    while (node->parent != NULL && kv_copies_of(node)->extent_count == 0 &&
           node->child_count == 0) {
        node = kv_tree_drop(&prefix->tree, node);
    }
}

/* ---- extents ---- */

// +1 where the extent is of one table only.
static int64_t split_weight(const struct kv_prefix *prefix, const struct kv_extent *extent)
{
    return extent->tables < prefix->kinds[extent->kind].count ? 1 : 0;
}

static void node_insert_after(struct kv_prefix *prefix, struct kv_node *node,
                              struct kv_extent *extent, struct kv_extent *older)
{
    struct kv_copies *copies = &kv_copies_of(node)->of[extent->kind];
    extent->node = node;
    kv_copies_of(node)->extent_count++;
    copies->split_count += split_weight(prefix, extent);
    extent->older = older;
    extent->younger = older != NULL ? older->younger : copies->oldest;
    *(extent->older != NULL ? &extent->older->younger : &copies->oldest) = extent;
    *(extent->younger != NULL ? &extent->younger->older : &copies->youngest) = extent;
}

void kv_copies_add_youngest(struct kv_prefix *prefix, struct kv_node *node,
                            struct kv_extent *extent)
{
    node_insert_after(prefix, node, extent, kv_copies_of(node)->of[extent->kind].youngest);
}

void kv_copies_remove(struct kv_prefix *prefix, struct kv_extent *extent)
{
    struct kv_copies *copies = &kv_copies_of(extent->node)->of[extent->kind];
    kv_copies_of(extent->node)->extent_count--;
    copies->split_count -= split_weight(prefix, extent);
    *(extent->older != NULL ? &extent->older->younger : &copies->oldest) = extent->younger;
    *(extent->younger != NULL ? &extent->younger->older : &copies->youngest) = extent->older;
    extent->older = extent->younger = NULL;
}

static void piece_link_after(struct kv_extent *extent, struct kv_extent *piece)
{
    piece->prev_piece = extent;
    piece->next_piece = extent->next_piece;
    if (piece->next_piece != NULL) {
        piece->next_piece->prev_piece = piece;
    }
    extent->next_piece = piece;
}

void kv_extent_drop(struct kv_prefix *prefix, struct kv_extent *extent)
{
    struct kv_node *node = extent->node;
    if (extent->prev_piece != NULL) {
        extent->prev_piece->next_piece = extent->next_piece;
    }
    if (extent->next_piece != NULL) {
        extent->next_piece->prev_piece = extent->prev_piece;
    }
    kv_copies_remove(prefix, extent);
    base_pool_give(&prefix->extents, extent);
    kv_copies_drop_empty_nodes(prefix, node);
}

struct kv_extent *kv_extent_cut(struct kv_prefix *prefix, struct kv_extent *extent, int64_t at)
{
    struct kv_extent *back = base_pool_take_raw(&prefix->extents);
    *back = (struct kv_extent){.owner = extent->owner,
                               .kind = extent->kind,
                               .table = extent->table,
                               .tables = extent->tables,
                               .lo = at,
                               .hi = extent->hi,
                               .holders = extent->holders,
                               .age = extent->age,
                               .copy = extent->copy,
                               .last_store = extent->last_store};
    extent->hi = at;
    if (kv_kind_is_states(&prefix->kinds[extent->kind])) {
        extent->hashed_turn = 0; // it was that of the last block
    }
    node_insert_after(prefix, extent->node, back, extent);
    piece_link_after(extent, back);
    if (extent->is_trail) {
        kv_trail_add_back_piece(extent, back);
    } else if (extent->holders == 0 && kv_prefix_has_queue(prefix)) {
        kv_braid_add_back_piece(extent, back);
    } else if (extent->holders == 0) {
        kv_evict_put(&prefix->idle, back);
    }
    return back;
}

// Two pieces lie side by side, no copy lies between them in age, and nothing tells their ages apart later on (the queue's order
// is that of giving back).
static bool are_neighbours(const struct kv_prefix *prefix, const struct kv_extent *front,
                           const struct kv_extent *back)
{
    return front->next_piece == back && front->younger == back && front->hi == back->lo &&
           front->node == back->node && front->owner == NULL && kv_prefix_has_queue(prefix) &&
           front->tables == back->tables && front->table == back->table;
}

static bool is_whole(const struct kv_prefix *prefix, const struct kv_extent *extent)
{
    return extent->tables == prefix->kinds[extent->kind].count;
}

// Who holds the back holds the front, since nobody's hold begins between them. Who has not followed a split yet needs all pieces.
bool kv_extent_can_join(const struct kv_prefix *prefix, const struct kv_extent *front,
                        const struct kv_extent *back)
{
    uint64_t store = front->last_store > back->last_store ? front->last_store : back->last_store;
    return are_neighbours(prefix, front, back) && back->owner == NULL && back->begins == 0 &&
           front->holders == back->holders && (front->holders == 1 || is_whole(prefix, back)) &&
           (front->last_store == back->last_store || store <= prefix->stores_done);
}

void kv_extent_join(struct kv_prefix *prefix, struct kv_extent *front, struct kv_extent *back)
{
    front->hi = back->hi;
    kv_extent_drop(prefix, back);
}

bool kv_extent_can_slide(const struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                         const struct kv_extent *extent)
{
    const struct kv_extent *front = extent->prev_piece;
    if (front == NULL || !are_neighbours(prefix, front, extent) ||
        (extent->owner != NULL && extent->owner != seq)) {
        return false;
    }
    return extent->holders == 1 ? front->is_trail
                                : front->holders + 1 == extent->holders && extent->begins == 1 &&
                                      is_whole(prefix, extent);
}

static void move_front_of_copies(struct kv_prefix *prefix, struct kv_node *node,
                                 struct kv_node *front, size_t kind, int64_t at)
{
    for (struct kv_extent *extent = kv_copies_of(node)->of[kind].oldest, *next; extent != NULL;
         extent = next) {
        if (extent->lo < at && extent->hi > at) {
            kv_extent_cut(prefix, extent, at);
        }
        next = extent->younger;
        if (extent->lo < at) {
            kv_copies_remove(prefix, extent);
            kv_copies_add_youngest(prefix, front, extent);
        }
    }
}

struct kv_node *kv_copies_cut_node(struct kv_prefix *prefix, struct kv_node *node, int64_t at)
{
    struct kv_node *front = kv_tree_cut(&prefix->tree, node, at);
    for (size_t k = 0; k < prefix->kind_count; k++) {
        move_front_of_copies(prefix, node, front, k, at * prefix->kinds[k].each);
    }
    return front;
}

/* ---- tables that are no longer alike ---- */

void kv_extent_split(struct kv_prefix *prefix, struct kv_extent *extent)
{
    base_assert(extent->tables > 1 && extent->holders > 0);
    struct kv_extent *last = extent;
    prefix->splits++;
    kv_copies_of(extent->node)->of[extent->kind].split_count++;
    for (uint16_t i = 1; i < extent->tables; i++) {
        struct kv_extent *split = base_pool_take_raw(&prefix->extents);
        *split = (struct kv_extent){.owner = extent->owner,
                                    .kind = extent->kind,
                                    .table = (uint16_t)(extent->table + i),
                                    .tables = 1,
                                    .lo = extent->lo,
                                    .hi = extent->hi,
                                    .holders = extent->holders,
                                    .begins = extent->begins,
                                    .age = extent->age,
                                    .copy = ++prefix->next_copy};
        node_insert_after(prefix, extent->node, split, last);
        last->next_table = split;
        last = split;
    }
    extent->tables = 1;
}

void kv_prefix_eat(struct kv_prefix *prefix, struct kv_braid *braid, int64_t blocks)
{
    int64_t blank = blocks < braid->blank ? blocks : braid->blank;
    braid->blank -= blank;
    braid->round_blocks -= blocks;
    blocks -= blank;
    while (blocks > 0) {
        struct kv_extent *extent = braid->first;
        int64_t here = extent->hi - extent->lo;
        here = here < blocks ? here : blocks;
        extent->hi -= here;
        blocks -= here;
        if (extent->hi == extent->lo) {
            braid->first = extent->after;
            *(extent->after != NULL ? &extent->after->before : &braid->last) = NULL;
            kv_extent_drop(prefix, extent);
        }
    }
    if (braid->round_blocks == 0) {
        kv_braids_drop(&prefix->queue, braid);
    }
}

void kv_prefix_eat_link(struct kv_prefix *prefix, struct kv_braid *link)
{
    struct kv_extent *trail = link->first;
    kv_braids_drop(&prefix->queue, link);
    if (++trail->lo == trail->hi) {
        kv_extent_drop(prefix, trail);
    }
}

void kv_prefix_unravel_trail(struct kv_prefix *prefix, struct kv_extent *trail)
{
    struct kv_braids *queue = &prefix->queue;
    struct kv_braid *last = trail->last_link, *link = last;
    int64_t blocks = trail->hi - trail->lo, eaten = 0;
    trail->is_trail = false;
    trail->next_table = NULL;
    trail->holders = 1; // as if held, while it is split
    kv_extent_split(prefix, trail);
    for (struct kv_extent *table = trail, *next; table != NULL; table = next) {
        next = table->next_table;
        table->holders = 0;
        kv_trail_copy_links(queue, table, last);
    }
    for (int64_t i = 0; i < blocks; i++) {
        struct kv_braid *earlier = link->earlier;
        eaten = link->eaten;
        kv_braids_drop(queue, link);
        link = earlier;
    }
    // Only the head of the queue is partly eaten: it was the trail's first link.
    for (; eaten > 0; eaten--) {
        kv_prefix_eat_link(prefix, queue->head);
    }
}

void kv_prefix_unravel(struct kv_prefix *prefix, struct kv_braid *braid)
{
    struct kv_braids *queue = &prefix->queue;
    if (braid->is_link) {
        kv_prefix_unravel_trail(prefix, braid->first);
        return;
    }
    struct kv_braid *first = NULL;
    for (int64_t i = 0; i < braid->rounds; i++) {
        struct kv_braid *round = kv_braids_add(queue, braid, 1, braid->blank);
        first = first != NULL ? first : round;
    }
    for (struct kv_extent *extent = braid->first, *next; extent != NULL; extent = next) {
        next = extent->after;
        extent->holders = 1; // as if held, while it is split
        kv_extent_split(prefix, extent);
        struct kv_braid *round = first;
        for (struct kv_extent *table = extent, *other; table != NULL; table = other) {
            other = round->after == braid ? NULL : table->next_table;
            table->holders = 0;
            kv_braid_add_strand(round, table);
            round = round->after;
        }
    }
    int64_t eaten = braid->eaten;
    kv_braids_drop(queue, braid);
    while (eaten > 0) {
        struct kv_braid *next = first->after;
        int64_t here = first->round_blocks < eaten ? first->round_blocks : eaten;
        kv_prefix_eat(prefix, first, here);
        eaten -= here;
        first = next;
    }
}

static bool is_split(const struct kv_hold *hold)
{
    const struct kv_extent *extent = hold->tables > 1 && hold->lo < hold->hi ? hold->first : NULL;
    for (; extent != NULL && extent->lo < hold->hi; extent = extent->next_piece) {
        if (extent->tables < hold->tables) {
            return true;
        }
    }
    return false;
}

static struct kv_extent *in_table(struct kv_extent *extent, uint32_t table)
{
    while (extent->table < table) {
        extent = extent->next_table;
    }
    return extent;
}

// All pieces of the hold in its first table, and in each other one those that they were split into, one behind the other.
static void split_hold_pieces(struct kv_prefix *prefix, const struct kv_hold *hold)
{
    for (struct kv_extent *extent = hold->first; extent != NULL && extent->lo < hold->hi;
         extent = extent->next_piece) {
        if (extent->tables > 1) {
            kv_extent_split(prefix, extent);
        }
    }
    for (uint32_t table = hold->table + 1; table < hold->table + hold->tables; table++) {
        struct kv_extent *last = NULL;
        for (struct kv_extent *extent = hold->first; extent != NULL && extent->lo < hold->hi;
             extent = extent->next_piece) {
            if (extent->next_table == NULL) {
                continue; // cut since it was split: so may have been the others
            }
            struct kv_extent *here = in_table(extent, table);
            while (last != NULL && last->next_piece != NULL && last->hi < here->lo) {
                last = last->next_piece;
            }
            if (last != NULL && last->hi == here->lo && last->next_piece == NULL) {
                last->next_piece = here;
                here->prev_piece = last;
            }
            last = here;
        }
    }
}

// The holds of a kind, from index `begin` to `end`, table by table.
static void unravel_holds(struct kv_prefix *prefix, struct kv_prefix_seq *seq, size_t begin,
                          size_t end)
{
    size_t old_count = seq->holds.count;
    uint32_t tables = seq->holds.at[begin].tables, table = seq->holds.at[begin].table;
    for (size_t i = begin; i < end; i++) {
        if (seq->holds.at[i].lo < seq->holds.at[i].hi) {
            split_hold_pieces(prefix, &seq->holds.at[i]);
        }
    }
    // All behind the others, then to their place.
    for (uint32_t t = table; t < table + tables; t++) {
        for (size_t i = begin; i < end; i++) {
            struct kv_hold hold = seq->holds.at[i];
            if (hold.lo < hold.hi) {
                hold = (struct kv_hold){in_table(hold.first, t), hold.lo, hold.hi, t, 1};
                base_vec_push(&seq->holds, hold);
            }
        }
    }
    for (size_t i = end; i < old_count; i++) {
        struct kv_hold hold = seq->holds.at[i];
        base_vec_push(&seq->holds, hold);
    }
    size_t count = seq->holds.count - old_count;
    memmove(&seq->holds.at[begin], &seq->holds.at[old_count], count * sizeof *seq->holds.at);
    seq->holds.count = begin + count;
}

void kv_prefix_follow_splits(struct kv_prefix *prefix, struct kv_prefix_seq *seq)
{
    for (size_t begin = 0, end; begin < seq->holds.count; begin = end) {
        bool any = false;
        uint32_t table = seq->holds.at[begin].table;
        for (end = begin; end < seq->holds.count && seq->holds.at[end].table == table; end++) {
            any = any || is_split(&seq->holds.at[end]);
        }
        if (any) {
            unravel_holds(prefix, seq, begin, end);
            end = begin; // they are looked at again, as they are now
        }
    }
    seq->splits_seen = prefix->splits;
}
