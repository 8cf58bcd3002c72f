#include "kv/prefix.h"

#include "base/error.h"
#include "base/hash.h"

#include <string.h>

enum { NODE_RUNS = 4 };

/* Of one table, by when they were hashed. */
struct kv_copies {
    struct kv_extent *oldest, *youngest;
};

struct kv_node {
    struct kv_node *parent, *map_next;
    uint64_t key;              /* of its first block */
    int64_t begin, end;        /* blocks of the path */
    struct kv_content content; /* tokens [begin, end) of the path */
    struct spec_token_run few[NODE_RUNS];
    struct spec_token_run *many; /* when they are more */
    int64_t child_count, extent_count;
    struct kv_copies copies[]; /* by table */
};

/* A node of a path, and up to which block the content is in it. */
struct kv_stretch {
    struct kv_node *node;
    int64_t end;
};

/* ---- nodes ---- */

static size_t slot_of(const struct kv_prefix *prefix, const struct kv_node *parent, uint64_t key)
{
    return (size_t)(base_mix2((uint64_t)(uintptr_t)parent, key) & (prefix->map_capacity - 1));
}

static void map_put(struct kv_prefix *prefix, struct kv_node *node)
{
    size_t slot = slot_of(prefix, node->parent, node->key);
    node->map_next = prefix->map[slot];
    prefix->map[slot] = node;
}

static void map_drop(struct kv_prefix *prefix, const struct kv_node *node)
{
    struct kv_node **at = &prefix->map[slot_of(prefix, node->parent, node->key)];
    while (*at != node) {
        at = &(*at)->map_next;
    }
    *at = node->map_next;
}

static void map_grow(struct kv_prefix *prefix)
{
    struct kv_node **old = prefix->map;
    size_t old_capacity = prefix->map_capacity;
    prefix->map_capacity = old_capacity == 0 ? 256 : old_capacity * 2;
    prefix->map = base_alloc(base_mul_size(prefix->map_capacity, sizeof *prefix->map));
    for (size_t i = 0; i < old_capacity; i++) {
        for (struct kv_node *node = old[i], *next; node != NULL; node = next) {
            next = node->map_next;
            map_put(prefix, node);
        }
    }
    base_free(old);
}

static void node_set_content(struct kv_node *node, struct kv_cursor from, int64_t tokens)
{
    struct kv_cursor cursor = from;
    size_t count = kv_cursor_copy(&cursor, tokens, NULL);
    struct spec_token_run *runs = node->few;
    if (count > NODE_RUNS) {
        runs = node->many = base_alloc(base_mul_size(count, sizeof *runs));
    }
    cursor = from;
    kv_cursor_copy(&cursor, tokens, runs);
    node->content = (struct kv_content){runs, count, tokens};
}

static struct kv_node *node_new(struct kv_prefix *prefix, struct kv_node *parent,
                                struct kv_cursor content, int64_t begin, int64_t end)
{
    struct kv_node *node = base_pool_take(&prefix->nodes);
    node->parent = parent;
    node->begin = begin;
    node->end = end;
    node_set_content(node, content, (end - begin) * prefix->block_tokens);
    struct kv_cursor first = kv_cursor_at(&node->content, 0);
    node->key = kv_cursor_key(&first, prefix->block_tokens);
    if (prefix->node_count++ >= prefix->map_capacity) {
        map_grow(prefix);
    }
    map_put(prefix, node);
    parent->child_count++;
    return node;
}

// A node without copies and children holds nothing that anybody can find.
static void drop_empty_nodes(struct kv_prefix *prefix, struct kv_node *node)
{
    while (node->parent != NULL && node->extent_count == 0 && node->child_count == 0) {
        struct kv_node *parent = node->parent;
        map_drop(prefix, node);
        base_free(node->many);
        base_pool_give(&prefix->nodes, node);
        prefix->node_count--;
        parent->child_count--;
        node = parent;
    }
}

static struct kv_node *find_child(const struct kv_prefix *prefix, const struct kv_node *parent,
                                  struct kv_cursor at)
{
    if (prefix->map_capacity == 0) {
        return NULL;
    }
    struct kv_cursor cursor = at;
    uint64_t key = kv_cursor_key(&cursor, prefix->block_tokens);
    struct kv_node *node = prefix->map[slot_of(prefix, parent, key)];
    for (; node != NULL; node = node->map_next) {
        if (node->parent == parent && node->key == key) {
            struct kv_cursor a = at, b = kv_cursor_at(&node->content, 0);
            if (kv_cursor_match(&a, &b, prefix->block_tokens) == prefix->block_tokens) {
                return node;
            }
        }
    }
    return NULL;
}

// Whole blocks from the node's beginning on that `at` shares with it; `at` moves past them.
static int64_t matching_blocks(const struct kv_prefix *prefix, const struct kv_node *node,
                               struct kv_cursor *at, int64_t most)
{
    int64_t blocks = node->end - node->begin;
    blocks = blocks < most ? blocks : most;
    struct kv_cursor a = *at, b = kv_cursor_at(&node->content, 0);
    int64_t matched = kv_cursor_match(&a, &b, blocks * prefix->block_tokens) / prefix->block_tokens;
    *at = kv_cursor_at(at->content, (node->begin + matched) * prefix->block_tokens);
    return matched;
}

/* ---- extents ---- */

static void node_insert_after(struct kv_node *node, struct kv_extent *extent,
                              struct kv_extent *older)
{
    struct kv_copies *copies = &node->copies[extent->table];
    extent->node = node;
    node->extent_count++;
    extent->older = older;
    extent->younger = older != NULL ? older->younger : copies->oldest;
    *(extent->older != NULL ? &extent->older->younger : &copies->oldest) = extent;
    *(extent->younger != NULL ? &extent->younger->older : &copies->youngest) = extent;
}

static void node_insert_youngest(struct kv_node *node, struct kv_extent *extent)
{
    node_insert_after(node, extent, node->copies[extent->table].youngest);
}

static void node_remove(struct kv_extent *extent)
{
    struct kv_copies *copies = &extent->node->copies[extent->table];
    extent->node->extent_count--;
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

static void extent_drop(struct kv_prefix *prefix, struct kv_extent *extent)
{
    struct kv_node *node = extent->node;
    if (extent->prev_piece != NULL) {
        extent->prev_piece->next_piece = extent->next_piece;
    }
    if (extent->next_piece != NULL) {
        extent->next_piece->prev_piece = extent->prev_piece;
    }
    node_remove(extent);
    base_pool_give(&prefix->extents, extent);
    drop_empty_nodes(prefix, node);
}

// Cuts at block `at`, lo < at < hi: the extent keeps the front, the back is a piece of its own with the same fate.
static struct kv_extent *extent_cut(struct kv_prefix *prefix, struct kv_extent *extent, int64_t at)
{
    struct kv_extent *back = base_pool_take(&prefix->extents);
    *back = (struct kv_extent){.owner = extent->owner,
                               .table = extent->table,
                               .lo = at,
                               .hi = extent->hi,
                               .holders = extent->holders,
                               .age = extent->age,
                               .copy = extent->copy,
                               .last_store = extent->last_store};
    extent->hi = at;
    node_insert_after(extent->node, back, extent);
    piece_link_after(extent, back);
    if (extent->holders == 0) {
        kv_evict_put_back_piece(&prefix->idle, back, extent);
    }
    return back;
}

static void move_front_of_copies(struct kv_prefix *prefix, struct kv_node *node,
                                 struct kv_node *front, uint32_t table, int64_t at)
{
    for (struct kv_extent *extent = node->copies[table].oldest, *next; extent != NULL;
         extent = next) {
        if (extent->lo < at && extent->hi > at) {
            extent_cut(prefix, extent, at);
        }
        next = extent->younger;
        if (extent->lo < at) {
            node_remove(extent);
            node_insert_youngest(front, extent);
        }
    }
}

// The front part of a node becomes a node of its own above it, so that its children stay where they are.
static struct kv_node *node_cut(struct kv_prefix *prefix, struct kv_node *node, int64_t at)
{
    struct kv_node *parent = node->parent;
    map_drop(prefix, node);
    parent->child_count--;
    struct kv_content whole = node->content;
    struct spec_token_run *many = node->many;
    struct spec_token_run few[NODE_RUNS];
    if (many == NULL) {
        memcpy(few, node->few, sizeof few);
        whole.runs = few;
    }
    struct kv_node *front = node_new(prefix, parent, kv_cursor_at(&whole, 0), node->begin, at);
    node->many = NULL;
    node_set_content(node, kv_cursor_at(&whole, (at - node->begin) * prefix->block_tokens),
                     (node->end - at) * prefix->block_tokens);
    base_free(many);
    node->begin = at;
    node->parent = front;
    struct kv_cursor first = kv_cursor_at(&node->content, 0);
    node->key = kv_cursor_key(&first, prefix->block_tokens);
    map_put(prefix, node);
    front->child_count++;
    for (uint32_t table = 0; table < prefix->table_count; table++) {
        move_front_of_copies(prefix, node, front, table, at);
    }
    return front;
}

/* ---- interface ---- */

static void add_kind(struct kv_prefix *prefix, const struct kv_window *window, int64_t tables)
{
    if (tables > 0) {
        prefix->kinds[prefix->kind_count++] =
            (struct kv_prefix_kind){window, prefix->table_count, (uint32_t)tables};
        prefix->table_count += (uint32_t)tables;
    }
}

void kv_prefix_init(struct kv_prefix *prefix, const struct kv_tables *tables, int64_t usable_blocks,
                    enum kv_eviction eviction, bool is_old_order)
{
    base_require(!is_old_order || eviction == KV_EVICT_LRU);
    *prefix = (struct kv_prefix){.block_tokens = tables->block_tokens,
                                 .is_old_order = is_old_order,
                                 .blank_blocks = usable_blocks};
    add_kind(prefix, NULL, tables->full_tables);
    for (size_t w = 0; w < tables->window_count; w++) {
        add_kind(prefix, &tables->windows[w], tables->windows[w].table_count);
    }
    kv_evict_init(&prefix->idle, eviction);
    base_pool_init(&prefix->nodes,
                   sizeof(struct kv_node) +
                       base_mul_size(prefix->table_count, sizeof(struct kv_copies)));
    base_pool_init(&prefix->extents, sizeof(struct kv_extent));
    prefix->root = base_pool_take(&prefix->nodes);
    if (is_old_order && usable_blocks > 0) {
        struct kv_extent *blank = base_pool_take(&prefix->extents);
        blank->hi = usable_blocks;
        kv_evict_put(&prefix->idle, blank);
    }
}

void kv_prefix_release(struct kv_prefix *prefix)
{
    for (size_t i = 0; i < prefix->map_capacity; i++) {
        for (struct kv_node *node = prefix->map[i]; node != NULL; node = node->map_next) {
            base_free(node->many);
        }
    }
    base_free(prefix->map);
    base_vec_free(&prefix->path);
    kv_evict_release(&prefix->idle);
    base_pool_release(&prefix->nodes);
    base_pool_release(&prefix->extents);
}

// Up to where an extent can be hit: a running sequence's own blocks as far as they are hashed.
static int64_t visible_end(const struct kv_prefix *prefix, const struct kv_extent *extent)
{
    if (extent->owner == NULL) {
        return extent->hi;
    }
    int64_t hashed = prefix->hashed_blocks(prefix->context, extent->owner);
    return hashed < extent->hi ? hashed : extent->hi;
}

// The oldest copy of block `at` in a table, and up to where it stays the oldest.
static struct kv_extent *oldest_copy(const struct kv_prefix *prefix, const struct kv_node *node,
                                     uint32_t table, int64_t at, int64_t *end)
{
    int64_t limit = INT64_MAX;
    for (struct kv_extent *extent = node->copies[table].oldest; extent != NULL;
         extent = extent->younger) {
        int64_t visible = visible_end(prefix, extent);
        if (extent->lo <= at && at < visible) {
            *end = visible < limit ? visible : limit;
            return extent;
        }
        if (extent->lo > at && extent->lo < visible && extent->lo < limit) {
            limit = extent->lo;
        }
    }
    return NULL;
}

static bool is_being_computed(const struct kv_node *node, uint32_t table, int64_t block)
{
    const struct kv_extent *extent = node->copies[table].oldest;
    while (extent != NULL && (extent->owner == NULL || extent->lo > block || extent->hi <= block)) {
        extent = extent->younger;
    }
    return extent != NULL;
}

// The first table says whether some running sequence is about to hash a block of the path.
static bool is_pending(const struct kv_prefix *prefix, int64_t block)
{
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        if (stretch->node->begin <= block && block < stretch->end) {
            return is_being_computed(stretch->node, 0, block);
        }
    }
    return false;
}

/* ---- lookup ---- */

// The nodes that hold some copy of the content's first blocks, as far as the content agrees with them.
static int64_t find_path(struct kv_prefix *prefix, const struct kv_content *content, int64_t most)
{
    struct kv_node *node = prefix->root;
    struct kv_cursor at = kv_cursor_at(content, 0);
    int64_t end = 0;
    prefix->path.count = 0;
    while (end < most && (node = find_child(prefix, node, at)) != NULL) {
        end = node->begin + matching_blocks(prefix, node, &at, most - end);
        struct kv_stretch stretch = {node, end};
        base_vec_push(&prefix->path, stretch);
        if (end < node->end) {
            break;
        }
    }
    return end;
}

// Pushes the oldest copies of blocks [from, until) of a table; returns the first block that has none, or `until`.
static int64_t push_copies(const struct kv_prefix *prefix, uint32_t table, int64_t from,
                           int64_t until, struct kv_hits *out)
{
    int64_t at = from;
    for (size_t i = 0; i < prefix->path.count && at < until; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end < until ? stretch->end : until;
        while (at < end) {
            int64_t same_until;
            struct kv_extent *extent = oldest_copy(prefix, stretch->node, table, at, &same_until);
            if (extent == NULL) {
                return at;
            }
            same_until = same_until < end ? same_until : end;
            struct kv_hold hold = {extent, at, same_until, table};
            base_vec_push(out, hold);
            out->idle_blocks += extent->holders == 0 ? same_until - at : 0;
            at = same_until;
        }
    }
    return at;
}

// The first block from `from` on that a table lacks, or `until`.
static int64_t covered_until(const struct kv_prefix *prefix, uint32_t table, int64_t from,
                             int64_t until)
{
    int64_t at = from;
    for (size_t i = 0; i < prefix->path.count && at < until; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end < until ? stretch->end : until, same_until;
        while (at < end && oldest_copy(prefix, stretch->node, table, at, &same_until) != NULL) {
            at = same_until < end ? same_until : end;
        }
        if (at < end) {
            return at;
        }
    }
    return at;
}

// Of blocks [0, below): one more than the last that is there and whose run is wanted; `copy`: where it is.
static int64_t last_copy(const struct kv_prefix *prefix, uint32_t table, int64_t below,
                         const struct kv_extent **copy)
{
    for (size_t i = prefix->path.count; i-- > 0;) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end < below ? stretch->end : below, last = 0;
        if (stretch->node->begin >= below) {
            continue;
        }
        const struct kv_extent *extent = stretch->node->copies[table].oldest;
        for (; extent != NULL; extent = extent->younger) {
            int64_t visible = visible_end(prefix, extent);
            visible = visible < end ? visible : end;
            if (visible > extent->lo &&
                (visible > last || (visible == last && extent->lo < (*copy)->lo))) {
                last = visible;
                *copy = extent;
            }
        }
        if (last > 0) {
            return last;
        }
    }
    return 0;
}

// The most leading blocks, at most `most`, whose last `needed` are in the table, or all where they are fewer.
static int64_t table_window(const struct kv_prefix *prefix, uint32_t table, int64_t needed,
                            int64_t most)
{
    const struct kv_extent *copy = NULL;
    int64_t end = last_copy(prefix, table, most, &copy);
    while (end > 0) {
        int64_t wanted = end - needed > 0 ? end - needed : 0, at = copy->lo, gap = end;
        while (at > wanted) {
            // Mostly the run goes on in the piece that this one was cut from, which is hashed to its end.
            if (copy->prev_piece != NULL && copy->prev_piece->hi == at) {
                copy = copy->prev_piece;
            } else if ((gap = last_copy(prefix, table, at, &copy)) < at) {
                break;
            }
            at = copy->lo;
        }
        if (at <= wanted) {
            return end;
        }
        end = gap;
    }
    return 0;
}

static int64_t kind_hits(const struct kv_prefix *prefix, const struct kv_prefix_kind *kind,
                         int64_t most)
{
    int64_t size = prefix->block_tokens;
    for (int64_t before = -1; before != most;) {
        before = most;
        for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
            if (kind->window == NULL) {
                most = covered_until(prefix, table, 0, most);
            } else if (kind->window->kind == SPEC_KV_CHUNKED) {
                int64_t begin = most * size / kind->window->tokens * kind->window->tokens / size;
                most = covered_until(prefix, table, begin, most);
            } else {
                int64_t needed = (kind->window->tokens - 1 + size - 1) / size;
                most = table_window(prefix, table, needed > 0 ? needed : 1, most);
            }
        }
    }
    return most;
}

void kv_prefix_lookup(struct kv_prefix *prefix, const struct kv_content *content, int64_t most,
                      struct kv_hits *out)
{
    out->count = 0;
    out->blocks = out->idle_blocks = 0;
    out->next_is_pending = false;
    int64_t end = find_path(prefix, content, most);
    if (prefix->table_count == 1 && prefix->kinds[0].window == NULL) {
        out->blocks = push_copies(prefix, 0, 0, end, out);
        out->next_is_pending = out->blocks < end && is_pending(prefix, out->blocks);
        return;
    }
    // A chunk or a window that ends at the beginning of its content has nothing to find.
    for (int64_t before = -1; before != most;) {
        before = most;
        for (size_t k = 0; k < prefix->kind_count; k++) {
            most = kind_hits(prefix, &prefix->kinds[k], most);
        }
    }
    out->blocks = most;
    out->next_is_pending = is_pending(prefix, most);
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        int64_t from = kind->window != NULL
                           ? kv_window_passed_blocks(kind->window, most * prefix->block_tokens,
                                                     prefix->block_tokens)
                           : 0;
        for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
            int64_t until = push_copies(prefix, table, from, most, out);
            base_require(until >= most || from >= most);
        }
    }
}

// Makes [lo, hi) of a copy an extent of its own and gives it one more holder.
static void hold_hit(struct kv_prefix *prefix, struct kv_hold *hold, int32_t priority)
{
    struct kv_extent *extent = hold->first;
    while (extent->hi <= hold->lo) {
        extent = extent->next_piece; // it was cut for a hit before this one
    }
    if (extent->lo < hold->lo) {
        extent = extent_cut(prefix, extent, hold->lo);
    }
    if (extent->hi > hold->hi) {
        extent_cut(prefix, extent, hold->hi);
    }
    hold->first = extent;
    extent->age.hits++;
    extent->age.priority = priority < extent->age.priority ? priority : extent->age.priority;
    int64_t blocks = hold->hi - hold->lo;
    if (extent->holders++ == 0) {
        kv_evict_remove(&prefix->idle, extent);
        prefix->idle_blocks -= blocks;
    } else {
        prefix->shared_blocks += blocks;
    }
}

// The blocks of its own that a sequence has hashed so far are extents without an owner from now on; `as_youngest` when they
// have been hashed just now.
static void settle_hashed(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                          int64_t hashed_blocks, bool as_youngest)
{
    for (size_t i = 0; i < seq->holds.count; i++) {
        struct kv_hold hold = seq->holds.at[i];
        struct kv_extent *extent = hold.lo < hold.hi ? hold.first : NULL;
        for (; extent != NULL && extent->lo < hold.hi && extent->lo < hashed_blocks;
             extent = extent->next_piece) {
            if (extent->owner != seq) {
                continue;
            }
            if (extent->hi > hashed_blocks) {
                extent_cut(prefix, extent, hashed_blocks);
            }
            extent->owner = NULL;
            if (as_youngest) {
                struct kv_node *node = extent->node;
                node_remove(extent);
                node_insert_youngest(node, extent);
            }
        }
    }
}

static void contend(struct kv_prefix *prefix, struct kv_prefix_seq *seq)
{
    if (!seq->is_contended) {
        prefix->contended_count++;
        seq->is_contended = true;
        settle_hashed(prefix, seq, prefix->hashed_blocks(prefix->context, seq), false);
    }
}

// Another running sequence has yet to hash some of the same blocks.
static void note_contention(struct kv_prefix *prefix, const struct kv_extent *mine)
{
    struct kv_extent *other = mine->node->copies[mine->table].oldest;
    for (; other != NULL; other = other->younger) {
        if (other->owner != NULL && other->owner != mine->owner && other->lo < mine->hi &&
            other->hi > mine->lo && visible_end(prefix, other) < mine->hi) {
            contend(prefix, other->owner);
            contend(prefix, mine->owner);
        }
    }
}

static void own(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_node *node,
                uint32_t table, int64_t lo, int64_t hi)
{
    struct kv_extent *extent = base_pool_take(&prefix->extents);
    *extent = (struct kv_extent){.owner = seq,
                                 .table = table,
                                 .lo = lo,
                                 .hi = hi,
                                 .holders = 1,
                                 .age = {.priority = seq->priority},
                                 .copy = ++prefix->next_copy};
    node_insert_youngest(node, extent);
    struct kv_hold hold = {extent, lo, hi, table};
    base_vec_push(&seq->holds, hold);
    note_contention(prefix, extent);
}

// The path of the sequence's whole content, its nodes from block `from` on.
static void make_path(struct kv_prefix *prefix, const struct kv_prefix_seq *seq, int64_t from)
{
    prefix->path.count = 0;
    int64_t blocks = seq->content.token_count / prefix->block_tokens, done = 0;
    struct kv_node *node = prefix->root;
    struct kv_cursor at = kv_cursor_at(&seq->content, 0);
    while (done < blocks) {
        struct kv_node *child = find_child(prefix, node, at);
        if (child == NULL) {
            child = node_new(prefix, node, at, done, blocks);
            done = blocks;
        } else {
            done += matching_blocks(prefix, child, &at, blocks - done);
            if (done < child->end && done < blocks) {
                child = node_cut(prefix, child, done); // contents part here
            }
        }
        if (done > from) {
            struct kv_stretch stretch = {child, done};
            base_vec_push(&prefix->path, stretch);
        }
        node = child;
    }
}

static void own_path(struct kv_prefix *prefix, struct kv_prefix_seq *seq, uint32_t table,
                     int64_t from)
{
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t begin = stretch->node->begin;
        own(prefix, seq, stretch->node, table, begin > from ? begin : from, stretch->end);
    }
}

void kv_prefix_attach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_hits *hits)
{
    base_require(seq->holds.count == 0);
    size_t at = 0;
    // Hits are held first: a node without a copy would go when the path is made.
    for (size_t i = 0; i < hits->count; i++) {
        hold_hit(prefix, &hits->at[i], seq->priority);
    }
    make_path(prefix, seq, hits->blocks);
    for (uint32_t table = 0; table < prefix->table_count; table++) {
        for (; at < hits->count && hits->at[at].table == table; at++) {
            base_vec_push(&seq->holds, hits->at[at]);
        }
        own_path(prefix, seq, table, hits->blocks);
    }
}

// Blank blocks come before all extents; with free order `old` they are extents themselves, without a node.
static void take_from_extent(struct kv_prefix *prefix, struct kv_extent *extent, int64_t blocks)
{
    if (extent->last_store > prefix->stores_done && prefix->on_reuse != NULL) {
        struct kv_source source = {extent->copy, extent->hi - blocks, extent->hi};
        prefix->on_reuse(prefix->context, &source);
    }
    extent->hi -= blocks;
    if (extent->node == NULL) {
        prefix->blank_blocks -= blocks;
    } else {
        prefix->idle_blocks -= blocks;
        prefix->evicted_blocks += blocks;
    }
    if (extent->hi > extent->lo) {
        return;
    }
    kv_evict_remove(&prefix->idle, extent);
    if (extent->node == NULL) {
        base_pool_give(&prefix->extents, extent);
    } else {
        extent_drop(prefix, extent);
    }
}

void kv_prefix_take(struct kv_prefix *prefix, int64_t blocks)
{
    base_require(blocks <= kv_prefix_free_blocks(prefix));
    if (!prefix->is_old_order) {
        int64_t blank = blocks < prefix->blank_blocks ? blocks : prefix->blank_blocks;
        prefix->blank_blocks -= blank;
        blocks -= blank;
    }
    while (blocks > 0) {
        struct kv_extent *first = kv_evict_first(&prefix->idle);
        base_require(first != NULL);
        int64_t here = first->hi - first->lo;
        here = here < blocks ? here : blocks;
        take_from_extent(prefix, first, here);
        blocks -= here;
    }
}

static void free_blank(struct kv_prefix *prefix, int64_t blocks)
{
    prefix->blank_blocks += blocks;
    if (!prefix->is_old_order || blocks == 0) {
        return;
    }
    struct kv_extent *tail = prefix->idle.tail;
    if (tail != NULL && tail->node == NULL) {
        tail->hi += blocks;
        return;
    }
    struct kv_extent *blank = base_pool_take(&prefix->extents);
    blank->hi = blocks;
    kv_evict_put(&prefix->idle, blank);
}

static void let_go(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                   struct kv_extent *extent, int64_t hashed)
{
    if (extent->owner == seq) {
        extent->owner = NULL;
        extent->hi = extent->hi < hashed ? extent->hi : hashed;
        if (extent->hi <= extent->lo) {
            base_require(extent->holders == 1);
            extent_drop(prefix, extent); // never hashed
            return;
        }
    }
    int64_t blocks = extent->hi - extent->lo;
    if (--extent->holders > 0) {
        prefix->shared_blocks -= blocks;
        return;
    }
    prefix->idle_blocks += blocks;
    struct kv_age *age = &extent->age;
    age->last_release = prefix->releases;
    age->first_release = age->first_release > 0 ? age->first_release : prefix->releases;
    kv_evict_put(&prefix->idle, extent);
}

void kv_prefix_commit(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks)
{
    settle_hashed(prefix, seq, hashed_blocks, true);
}

// Blocks of one hold below `until`, last one first; `hashed` as in let_go().
static void let_go_hold(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                        const struct kv_hold *hold, int64_t hashed)
{
    struct kv_extent *last = hold->first;
    while (last->hi < hold->hi) {
        last = last->next_piece;
    }
    for (struct kv_extent *extent = last, *previous; extent != NULL; extent = previous) {
        previous = extent == hold->first ? NULL : extent->prev_piece;
        let_go(prefix, seq, extent, hashed);
    }
}

// The holds of the table that begins at index `begin`: up to which index.
static size_t end_of_table(const struct kv_prefix_seq *seq, size_t begin, uint32_t table)
{
    while (begin < seq->holds.count && seq->holds.at[begin].table == table) {
        begin++;
    }
    return begin;
}

void kv_prefix_detach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks,
                      int64_t blank_blocks)
{
    prefix->releases++;
    if (seq->is_contended) {
        kv_prefix_commit(prefix, seq, hashed_blocks);
        seq->is_contended = false;
        prefix->contended_count--;
    }
    size_t begin = 0;
    for (uint32_t table = 0; table < prefix->table_count; table++) {
        free_blank(prefix, blank_blocks);
        size_t end = end_of_table(seq, begin, table);
        for (size_t i = end; i-- > begin;) {
            if (seq->holds.at[i].lo < seq->holds.at[i].hi) {
                let_go_hold(prefix, seq, &seq->holds.at[i], hashed_blocks);
            }
        }
        begin = end;
    }
    seq->holds.count = 0;
}

void kv_prefix_note_store(struct kv_prefix_seq *seq, int64_t lo, int64_t hi, uint64_t number,
                          struct kv_sources *out)
{
    for (size_t i = seq->holds.count; i-- > 0 && seq->holds.at[i].hi > lo;) {
        struct kv_hold hold = seq->holds.at[i];
        int64_t end = hold.hi < hi ? hold.hi : hi;
        for (struct kv_extent *extent = hold.first; extent != NULL && extent->lo < end;
             extent = extent->next_piece) {
            struct kv_source source = {extent->copy, extent->lo > lo ? extent->lo : lo,
                                       extent->hi < end ? extent->hi : end};
            if (source.lo < source.hi) {
                extent->last_store = number;
                base_vec_push(out, source);
            }
        }
    }
}

// Takes the part below `until` out of a hold, as a hold of its own.
static struct kv_hold split_hold(struct kv_prefix *prefix, struct kv_hold *hold, int64_t until)
{
    struct kv_hold front = *hold;
    struct kv_extent *extent = hold->first;
    front.hi = until < hold->hi ? until : hold->hi;
    while (extent->hi < front.hi) {
        extent = extent->next_piece;
    }
    if (front.hi < hold->hi) {
        hold->first =
            extent->hi > front.hi ? extent_cut(prefix, extent, front.hi) : extent->next_piece;
    }
    hold->lo = front.hi;
    return front;
}

// `begin` to `end`: the holds of one table.
static void drop_holds(struct kv_prefix *prefix, struct kv_prefix_seq *seq, size_t begin,
                       size_t end, int64_t until)
{
    size_t last = begin;
    while (last < end && seq->holds.at[last].lo < until) {
        last++;
    }
    for (size_t i = last; i-- > begin;) {
        if (seq->holds.at[i].lo < seq->holds.at[i].hi) {
            struct kv_hold front = split_hold(prefix, &seq->holds.at[i], until);
            let_go_hold(prefix, seq, &front, until);
        }
    }
}

void kv_prefix_drop(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                    const struct kv_window *window, int64_t until)
{
    size_t begin = 0;
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
            size_t end = end_of_table(seq, begin, table);
            if (kind->window == window) {
                drop_holds(prefix, seq, begin, end, until);
            }
            begin = end;
        }
    }
}

int64_t kv_prefix_uniform_blocks(const struct kv_prefix *prefix, bool *evicts)
{
    if (!prefix->is_old_order) {
        *evicts = prefix->blank_blocks == 0;
        return *evicts ? prefix->idle_blocks : prefix->blank_blocks;
    }
    const struct kv_extent *head = kv_evict_first(&prefix->idle);
    *evicts = head != NULL && head->node != NULL;
    return head != NULL ? head->hi - head->lo : 0;
}
