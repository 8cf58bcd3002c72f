#include "kv/prefix.h"

#include "base/error.h"
#include "kv/prefix_int.h"

/* ---- keys ---- */

// Of a node's blocks: each is the hash of the content up to its end. They are worked out once.
static const struct base_hash *keys_of(const struct kv_prefix *prefix, struct kv_node *node)
{
    struct kv_copies_node *own = kv_copies_of(node);
    if (own->keys != NULL) {
        return own->keys;
    }
    struct base_hash hash = {0, 0};
    if (node->begin > 0) {
        const struct kv_node *parent = node->parent;
        hash = keys_of(prefix, node->parent)[parent->end - parent->begin - 1];
    }
    size_t count = (size_t)(node->end - node->begin);
    own->keys = base_alloc(base_mul_size(count, sizeof *own->keys));
    struct kv_cursor cursor = kv_cursor_at(&node->content, 0);
    for (size_t i = 0; i < count; i++) {
        kv_cursor_hash(&cursor, prefix->block_tokens, &hash);
        own->keys[i] = hash;
    }
    return own->keys;
}

static void forget_keys(struct kv_node *node)
{
    base_free(kv_copies_of(node)->keys);
    kv_copies_of(node)->keys = NULL;
}

// A node without copies and children holds nothing that anybody can find.
static void drop_empty_nodes(struct kv_prefix *prefix, struct kv_node *node)
{
    while (node->parent != NULL && kv_copies_of(node)->extent_count == 0 &&
           node->child_count == 0) {
        forget_keys(node);
        node = kv_tree_drop(&prefix->tree, node);
    }
}

/* ---- extents ---- */

static void node_insert_after(struct kv_node *node, struct kv_extent *extent,
                              struct kv_extent *older)
{
    struct kv_copies *copies = &kv_copies_of(node)->of[extent->table];
    extent->node = node;
    kv_copies_of(node)->extent_count++;
    extent->older = older;
    extent->younger = older != NULL ? older->younger : copies->oldest;
    *(extent->older != NULL ? &extent->older->younger : &copies->oldest) = extent;
    *(extent->younger != NULL ? &extent->younger->older : &copies->youngest) = extent;
}

static void node_insert_youngest(struct kv_node *node, struct kv_extent *extent)
{
    node_insert_after(node, extent, kv_copies_of(node)->of[extent->table].youngest);
}

static void node_remove(struct kv_extent *extent)
{
    struct kv_copies *copies = &kv_copies_of(extent->node)->of[extent->table];
    kv_copies_of(extent->node)->extent_count--;
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

// Two pieces of a copy that share their fate again: one sequence alone holds both, and nothing tells their ages apart later on
// (the queue's order is that of giving back). No copy lies between them in age.
static bool can_join(const struct kv_prefix *prefix, const struct kv_extent *front,
                     const struct kv_extent *back)
{
    uint64_t store = front->last_store > back->last_store ? front->last_store : back->last_store;
    return front->next_piece == back && front->younger == back && front->hi == back->lo &&
           front->node == back->node && front->holders == 1 && back->holders == 1 &&
           front->owner == NULL && back->owner == NULL && prefix->idle.order == KV_EVICT_LRU &&
           (front->last_store == back->last_store || store <= prefix->stores_done);
}

static void extent_join(struct kv_prefix *prefix, struct kv_extent *front, struct kv_extent *back)
{
    front->hi = back->hi;
    extent_drop(prefix, back);
}

static void move_front_of_copies(struct kv_prefix *prefix, struct kv_node *node,
                                 struct kv_node *front, uint32_t table, int64_t at)
{
    for (struct kv_extent *extent = kv_copies_of(node)->of[table].oldest, *next; extent != NULL;
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

static struct kv_node *node_cut(struct kv_prefix *prefix, struct kv_node *node, int64_t at)
{
    forget_keys(node);
    struct kv_node *front = kv_tree_cut(&prefix->tree, node, at);
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
                                 .is_sparse = tables->is_sparse,
                                 .blank_blocks = usable_blocks};
    add_kind(prefix, NULL, tables->full_tables);
    for (size_t w = 0; w < tables->window_count; w++) {
        add_kind(prefix, &tables->windows[w], tables->windows[w].table_count);
    }
    kv_evict_init(&prefix->idle, eviction);
    kv_tree_init(&prefix->tree, tables->block_tokens,
                 sizeof(struct kv_copies_node) +
                     base_mul_size(prefix->table_count, sizeof(struct kv_copies)));
    base_pool_init(&prefix->extents, sizeof(struct kv_extent));
    if (is_old_order && usable_blocks > 0) {
        struct kv_extent *blank = base_pool_take(&prefix->extents);
        blank->hi = usable_blocks;
        kv_evict_put(&prefix->idle, blank);
    }
}

void kv_prefix_release(struct kv_prefix *prefix)
{
    for (size_t i = 0; i < prefix->tree.map_capacity; i++) {
        for (struct kv_node *node = prefix->tree.map[i]; node != NULL; node = node->map_next) {
            forget_keys(node);
        }
    }
    kv_tree_release(&prefix->tree);
    base_vec_free(&prefix->path);
    kv_evict_release(&prefix->idle);
    base_pool_release(&prefix->extents);
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
        struct kv_extent *extent = hold.lo < hold.hi ? hold.first : NULL; // blank: NULL
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
    struct kv_extent *other = kv_copies_of(mine->node)->of[mine->table].oldest;
    for (; other != NULL; other = other->younger) {
        if (other->owner != NULL && other->owner != mine->owner && other->lo < mine->hi &&
            other->hi > mine->lo && kv_prefix_visible_end(prefix, other) < mine->hi) {
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
    struct kv_node *node = prefix->tree.root;
    struct kv_cursor at = kv_cursor_at(&seq->content, 0);
    while (done < blocks) {
        struct kv_node *child = kv_tree_find(&prefix->tree, node, at);
        if (child == NULL) {
            child = kv_tree_add(&prefix->tree, node, at, blocks);
            done = blocks;
        } else {
            done += kv_tree_match(&prefix->tree, child, &at, blocks - done);
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

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Blocks [lo, hi) of the path.
static void own_path(struct kv_prefix *prefix, struct kv_prefix_seq *seq, uint32_t table,
                     int64_t lo, int64_t hi)
{
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t begin = higher(stretch->node->begin, lo), end = lower(stretch->end, hi);
        if (begin < end) {
            own(prefix, seq, stretch->node, table, begin, end);
        }
    }
}

static void hold_blank(struct kv_prefix_seq *seq, uint32_t table, int64_t lo, int64_t hi)
{
    if (lo < hi) {
        struct kv_hold hold = {NULL, lo, hi, table};
        base_vec_push(&seq->holds, hold);
    }
}

// The blocks of the path from `from` on that a table will take: those that keep their content, and the others between them.
static void own_table(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                      const struct kv_prefix_kind *kind, uint32_t table, int64_t from)
{
    int64_t end = seq->content.token_count / prefix->block_tokens;
    if (!prefix->is_sparse || kind->window == NULL || kind->window->kind != SPEC_KV_SLIDING) {
        own_path(prefix, seq, table, from, end);
        return;
    }
    int64_t needed = kv_window_blocks_to_start(kind->window, prefix->block_tokens);
    int64_t ends[] = {lower(seq->replay_blocks, seq->junction_blocks),
                      higher(seq->replay_blocks, seq->junction_blocks)};
    for (size_t i = 0; i < 2; i++) {
        int64_t begin = higher(ends[i] - needed, from);
        if (begin < ends[i]) {
            hold_blank(seq, table, from, begin);
            own_path(prefix, seq, table, begin, ends[i]);
            from = ends[i];
        }
    }
    hold_blank(seq, table, from, end);
}

// A hit becomes a hold, or lengthens the one before it: where a window has slid over a context block by block, many pieces
// become one, and the next look-up is as short as the first.
static void push_hit(struct kv_prefix *prefix, struct kv_prefix_seq *seq, const struct kv_hold *hit)
{
    struct kv_hold *last = seq->holds.count > 0 ? &seq->holds.at[seq->holds.count - 1] : NULL;
    if (last != NULL && last->table == hit->table && can_join(prefix, last->first, hit->first)) {
        extent_join(prefix, last->first, hit->first);
        last->hi = hit->hi;
    } else {
        base_vec_push(&seq->holds, *hit);
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
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
            for (; at < hits->count && hits->at[at].table == table; at++) {
                push_hit(prefix, seq, &hits->at[at]);
            }
            own_table(prefix, seq, kind, table, hits->blocks);
        }
    }
    if (prefix->path.count > 0) {
        drop_empty_nodes(prefix,
                         prefix->path.at[prefix->path.count - 1].node); // all of it is blank
    }
}

// Blank blocks come before all extents; with free order `old` they are extents themselves, without a node.
static void take_from_extent(struct kv_prefix *prefix, struct kv_extent *extent, int64_t blocks)
{
    if (extent->last_store > prefix->stores_done && prefix->on_reuse != NULL) {
        struct kv_source source = {extent->copy, extent->hi - blocks, extent->hi,
                                   extent->lo,   extent->hi,          extent->last_store};
        prefix->on_reuse(prefix->context, &source);
    }
    extent->hi -= blocks;
    if (extent->node != NULL && prefix->on_evict != NULL) {
        const struct base_hash *keys = keys_of(prefix, extent->node);
        prefix->on_evict(prefix->context, keys + (extent->hi - extent->node->begin), blocks);
    }
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
    if (last == NULL) {
        free_blank(prefix, higher(lower(hold->hi, hashed) - hold->lo, 0));
        return;
    }
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
            struct kv_source source = {extent->copy,
                                       extent->lo > lo ? extent->lo : lo,
                                       extent->hi < end ? extent->hi : end,
                                       extent->lo,
                                       extent->hi,
                                       extent->last_store};
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
    while (extent != NULL && extent->hi < front.hi) {
        extent = extent->next_piece;
    }
    if (extent != NULL && front.hi < hold->hi) {
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

/* ---- along the queue ---- */

void kv_prefix_walk_queue(const struct kv_prefix *prefix, struct kv_queue_walk *out)
{
    *out = prefix->is_old_order ? (struct kv_queue_walk){.extent = kv_evict_first(&prefix->idle)}
                                : (struct kv_queue_walk){.blank = prefix->blank_blocks};
}

int64_t kv_queue_walk_alike(const struct kv_queue_walk *walk, bool *evicts)
{
    const struct kv_extent *extent = walk->extent;
    *evicts = walk->blank == 0 && (extent == NULL || extent->node != NULL);
    if (walk->blank > 0) {
        return walk->blank;
    }
    return extent == NULL ? INT64_MAX : extent->hi - extent->lo - walk->passed;
}

int64_t kv_queue_walk_pass(struct kv_queue_walk *walk, int64_t blocks)
{
    int64_t held = 0;
    while (blocks > 0) {
        bool evicts;
        int64_t here = kv_queue_walk_alike(walk, &evicts);
        here = here < blocks ? here : blocks;
        held += evicts ? here : 0;
        blocks -= here;
        if (walk->blank > 0) {
            walk->blank -= here;
        } else if (walk->extent != NULL) {
            walk->passed += here;
            if (walk->passed == walk->extent->hi - walk->extent->lo) {
                walk->extent = walk->extent->after;
                walk->passed = 0;
            }
        }
    }
    return held;
}
