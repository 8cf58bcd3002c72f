#include "kv/prefix.h"

#include "base/count.h"
#include "base/error.h"
#include "kv/prefix_int.h"

#include <string.h>

static void add_kind(struct kv_prefix *prefix, const struct kv_window *window, int64_t tables,
                     int64_t block_tokens)
{
    if (tables > 0) {
        prefix->kinds[prefix->kind_count++] = (struct kv_prefix_kind){
            window, prefix->table_count, (uint32_t)tables, prefix->block_tokens / block_tokens};
        prefix->table_count += (uint32_t)tables;
    }
}

// A window that is shorter than a block of the tree gives blocks back before that is hashed.
static bool passes_unhashed(const struct kv_prefix *prefix)
{
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        if (kind->each > 1 && kind->window != NULL &&
            kind->window->tokens <= prefix->block_tokens) {
            return true;
        }
    }
    return false;
}

void kv_prefix_init(struct kv_prefix *prefix, const struct kv_tables *tables, int64_t usable_blocks,
                    enum kv_eviction eviction, bool is_old_order)
{
    base_require(!is_old_order || eviction == KV_EVICT_LRU);
    *prefix = (struct kv_prefix){.block_tokens = tables->period_tokens,
                                 .is_old_order = is_old_order,
                                 .is_sparse = tables->is_sparse,
                                 .blank_blocks = usable_blocks};
    add_kind(prefix, NULL, tables->full_tables, tables->block_tokens);
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        add_kind(prefix, window, window->table_count, window->block_tokens);
    }
    prefix->drops_blank = prefix->is_sparse || passes_unhashed(prefix);
    base_require(prefix->table_count <= UINT16_MAX);
    kv_braids_init(&prefix->queue);
    kv_evict_init(&prefix->idle, eviction);
    kv_tree_init(&prefix->tree, prefix->block_tokens,
                 sizeof(struct kv_copies_node) +
                     base_mul_size(prefix->kind_count, sizeof(struct kv_copies)));
    base_pool_init(&prefix->extents, sizeof(struct kv_extent));
    if (is_old_order) {
        kv_braids_add_blank(&prefix->queue, usable_blocks);
    }
}

void kv_prefix_release(struct kv_prefix *prefix)
{
    for (size_t i = 0; i < prefix->tree.map_capacity; i++) {
        for (struct kv_node *node = prefix->tree.map[i]; node != NULL; node = node->map_next) {
            kv_copies_forget_keys(node);
        }
    }
    kv_tree_release(&prefix->tree);
    base_vec_free(&prefix->path);
    kv_braids_release(&prefix->queue);
    kv_evict_release(&prefix->idle);
    base_pool_release(&prefix->extents);
}

// The extent where the hit is, in as many tables as that. Those that it was split into for a hit before this one follow it.
static struct kv_extent *in_tables_of(struct kv_prefix *prefix, const struct kv_hold *hold)
{
    struct kv_extent *extent = hold->first;
    if (extent->tables > hold->tables) {
        if (extent->holders > 0) {
            kv_extent_split(prefix, extent);
        } else if (extent->is_trail) {
            kv_prefix_unravel_trail(prefix, extent);
        } else {
            kv_prefix_unravel(prefix, extent->braid);
        }
    }
    while (extent->table != hold->table) {
        extent = extent->younger;
    }
    return extent;
}

static void leave_idle(struct kv_prefix *prefix, struct kv_extent *extent)
{
    if (extent->is_trail) {
        kv_trail_remove_links(&prefix->queue, extent);
    } else if (kv_prefix_has_queue(prefix)) {
        kv_braid_remove_strand(&prefix->queue, extent);
    } else {
        kv_evict_remove(&prefix->idle, extent);
        extent->next_table = NULL;
    }
}

// Makes [lo, hi) of a copy an extent of its own and gives it one more holder.
static void hold_hit(struct kv_prefix *prefix, struct kv_hold *hold, int32_t priority)
{
    struct kv_extent *extent = in_tables_of(prefix, hold);
    while (extent->hi <= hold->lo) {
        extent = extent->next_piece; // it was cut for a hit before this one
    }
    if (extent->lo < hold->lo) {
        extent = kv_extent_cut(prefix, extent, hold->lo);
    }
    if (extent->hi > hold->hi) {
        kv_extent_cut(prefix, extent, hold->hi);
    }
    hold->first = extent;
    extent->begins++;
    extent->age.hits++;
    extent->age.priority = priority < extent->age.priority ? priority : extent->age.priority;
    int64_t blocks = (hold->hi - hold->lo) * hold->tables;
    if (extent->holders++ == 0) {
        leave_idle(prefix, extent);
        prefix->idle_blocks -= blocks;
    } else {
        prefix->shared_blocks += blocks;
    }
}

static inline void follow_splits(struct kv_prefix *prefix, struct kv_prefix_seq *seq)
{
    if (seq->splits_seen != prefix->splits) {
        kv_prefix_follow_splits(prefix, seq);
    }
}

// The blocks of its own that a sequence has hashed so far are extents without an owner from now on; `as_youngest` when they
// have been hashed just now.
static void settle_hashed(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                          int64_t hashed_blocks, bool as_youngest)
{
    follow_splits(prefix, seq);
    for (size_t i = 0; i < seq->holds.count; i++) {
        struct kv_hold hold = seq->holds.at[i];
        struct kv_extent *extent = hold.lo < hold.hi ? hold.first : NULL; // blank: NULL
        int64_t hashed =
            extent != NULL ? hashed_blocks * prefix->kinds[extent->kind].each : hashed_blocks;
        for (; extent != NULL && extent->lo < hold.hi && extent->lo < hashed;
             extent = extent->next_piece) {
            if (extent->owner != seq) {
                continue;
            }
            if (extent->hi > hashed) {
                kv_extent_cut(prefix, extent, hashed);
            }
            extent->owner = NULL;
            if (kv_kind_is_states(&prefix->kinds[extent->kind]) &&
                prefix->new_state(prefix->context, seq) == extent->hi - 1) {
                extent->hashed_turn = prefix->turn;
            }
            if (as_youngest) {
                struct kv_node *node = extent->node;
                kv_copies_remove(prefix, extent);
                kv_copies_add_youngest(prefix, node, extent);
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
    struct kv_extent *other = kv_copies_of(mine->node)->of[mine->kind].oldest;
    for (; other != NULL; other = other->younger) {
        bool is_alike =
            kv_extent_covers(other, mine->table) || kv_extent_covers(mine, other->table);
        if (is_alike && other->owner != NULL && other->owner != mine->owner &&
            other->lo < mine->hi && other->hi > mine->lo &&
            kv_prefix_visible_end(prefix, other) < mine->hi) {
            contend(prefix, other->owner);
            contend(prefix, mine->owner);
        }
    }
}

/* Some tables of a kind: all of them, or one. */
struct tables {
    size_t kind;
    uint32_t first, count;
};

static void own(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_node *node,
                struct tables tables, int64_t lo, int64_t hi)
{
    struct kv_extent *extent = base_pool_take_raw(&prefix->extents);
    *extent = (struct kv_extent){.owner = seq,
                                 .kind = (uint16_t)tables.kind,
                                 .table = (uint16_t)tables.first,
                                 .tables = (uint16_t)tables.count,
                                 .lo = lo,
                                 .hi = hi,
                                 .holders = 1,
                                 .begins = 1,
                                 .age = {.priority = seq->priority},
                                 .copy = ++prefix->next_copy};
    kv_copies_add_youngest(prefix, node, extent);
    struct kv_hold hold = {extent, lo, hi, tables.first, tables.count};
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
                child = kv_copies_cut_node(prefix, child, done); // contents part here
            }
        }
        if (done > from) {
            struct kv_stretch stretch = {child, done};
            base_vec_push(&prefix->path, stretch);
        }
        node = child;
    }
}

// Blocks [lo, hi) of the tables along the path.
static void own_path(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct tables tables,
                     int64_t lo, int64_t hi)
{
    int64_t each = prefix->kinds[tables.kind].each;
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t begin = base_max(stretch->node->begin * each, lo);
        int64_t end = base_min(stretch->end * each, hi);
        if (begin < end) {
            own(prefix, seq, stretch->node, tables, begin, end);
        }
    }
}

static void hold_blank(struct kv_prefix_seq *seq, struct tables tables, int64_t lo, int64_t hi)
{
    if (lo < hi) {
        struct kv_hold hold = {NULL, lo, hi, tables.first, tables.count};
        base_vec_push(&seq->holds, hold);
    }
}

// The blocks of the path from `from` to `end` that the tables will take: those that keep their content, and the others between them.
static void own_tables(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                       const struct kv_prefix_kind *kind, struct tables tables, int64_t from,
                       int64_t end)
{
    if (!prefix->is_sparse || kind->window == NULL || kind->window->kind == SPEC_KV_CHUNKED ||
        kind->window->kind == SPEC_KV_FULL) {
        own_path(prefix, seq, tables, from, end);
        return;
    }
    int64_t needed = kv_window_blocks_to_start(kind->window);
    int64_t ends[] = {base_min(seq->replay_blocks, seq->junction_blocks) * kind->each,
                      base_max(seq->replay_blocks, seq->junction_blocks) * kind->each};
    for (size_t i = 0; i < 2; i++) {
        int64_t begin = base_max(ends[i] - needed, from), kept_end = base_min(ends[i], end);
        if (begin < kept_end) {
            hold_blank(seq, tables, from, begin);
            own_path(prefix, seq, tables, begin, kept_end);
            from = kept_end;
        }
    }
    hold_blank(seq, tables, from, end);
}

// A hit becomes a hold, or lengthens the one before it, which ends with the piece `last`: many pieces become one, and the next
// look-up is as short as the first. Returns the last piece now.
static struct kv_extent *push_hit(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                                  const struct kv_hold *hit, struct kv_extent *last)
{
    if (last == NULL || last->next_piece != hit->first || last->hi != hit->lo) {
        base_vec_push(&seq->holds, *hit);
        return hit->first;
    }
    seq->holds.at[seq->holds.count - 1].hi = hit->hi;
    hit->first->begins--;
    if (kv_extent_can_join(prefix, last, hit->first)) {
        kv_extent_join(prefix, last, hit->first);
        return last;
    }
    return hit->first;
}

// Whether new extents stand for all tables of a kind. Where junctions matter what the first kind of tables has must be known to
// the block, hit or not, so nothing may be eaten unseen.
static bool are_alike(const struct kv_prefix *prefix)
{
    bool minds_junctions =
        prefix->is_sparse || kv_kind_is_states(&prefix->kinds[prefix->kind_count - 1]);
    return kv_prefix_has_queue(prefix) && !minds_junctions && prefix->on_reuse == NULL &&
           prefix->on_evict == NULL;
}

// Blocks that no window of the kind sees from `tokens` on.
static int64_t passed_blocks(const struct kv_prefix_kind *kind, int64_t tokens)
{
    return kind->window != NULL ? kv_window_passed_blocks(kind->window, tokens) : 0;
}

void kv_prefix_start_behind(const struct kv_prefix *prefix, struct kv_hits *hits, int64_t tokens)
{
    const struct kv_prefix_kind *kind = prefix->kinds;
    size_t kept = 0;
    hits->start_tokens = tokens;
    for (size_t i = 0; i < hits->count; i++) {
        struct kv_hold hold = hits->at[i];
        while (hold.table >= kind->first + kind->count) {
            kind++;
        }
        int64_t lo = base_min(base_max(hold.lo, passed_blocks(kind, tokens)), hold.hi);
        hits->idle_blocks -= hold.first->holders == 0 ? (lo - hold.lo) * hold.tables : 0;
        hold.lo = lo;
        if (hold.lo < hold.hi) {
            hits->at[kept++] = hold;
        }
    }
    hits->count = kept;
}

// All of the path may be blank.
static void forget_blank_path(struct kv_prefix *prefix)
{
    if (prefix->path.count > 0) {
        kv_copies_drop_empty_nodes(prefix, prefix->path.at[prefix->path.count - 1].node);
    }
}

void kv_prefix_attach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_hits *hits)
{
    base_require(seq->holds.count == 0);
    base_assert(hits->start_tokens >= hits->blocks * prefix->block_tokens);
    size_t at = 0;
    // Hits are held first: a node without a copy would go when the path is made.
    for (size_t i = 0; i < hits->count; i++) {
        hold_hit(prefix, &hits->at[i], seq->priority);
    }
    make_path(prefix, seq, hits->blocks);
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        uint32_t end = kind->first + kind->count;
        seq->passed[k] = kv_kind_is_states(kind) ? 0 : passed_blocks(kind, hits->start_tokens);
        bool has_hits = at < hits->count && hits->at[at].table < end;
        bool is_one = has_hits ? hits->at[at].tables == kind->count : are_alike(prefix);
        struct tables tables = {k, kind->first, is_one ? kind->count : 1};
        for (; tables.first < end; tables.first += tables.count) {
            struct kv_extent *last = NULL;
            for (; at < hits->count && hits->at[at].table == tables.first; at++) {
                last = push_hit(prefix, seq, &hits->at[at], last);
            }
            if (!kv_kind_is_states(kind)) {
                own_tables(
                    prefix, seq, kind, tables,
                    base_max(hits->blocks * kind->each, passed_blocks(kind, hits->start_tokens)),
                    seq->content.token_count / prefix->block_tokens * kind->each);
            }
        }
    }
    seq->splits_seen = prefix->splits;
    forget_blank_path(prefix);
}

// The next blocks of an extent are taken: who reads them or asks for what they held is told.
static void tell_taken(struct kv_prefix *prefix, const struct kv_extent *extent, int64_t blocks)
{
    int64_t from = extent->hi - blocks;
    if (extent->last_store > prefix->stores_done && prefix->on_reuse != NULL) {
        struct kv_source source = {extent->copy, from,       extent->hi,
                                   extent->lo,   extent->hi, extent->last_store};
        prefix->on_reuse(prefix->context, &source);
    }
    if (prefix->on_evict != NULL) {
        const struct base_hash *keys = kv_copies_keys(prefix, extent->node);
        prefix->on_evict(prefix->context, extent->table, keys + (from - extent->node->begin),
                         blocks);
    }
}

static void tell_taken_of_braid(struct kv_prefix *prefix, const struct kv_braid *braid,
                                int64_t blocks)
{
    blocks -= braid->blank < blocks ? braid->blank : blocks;
    for (const struct kv_extent *extent = braid->first; blocks > 0; extent = extent->after) {
        int64_t here = extent->hi - extent->lo < blocks ? extent->hi - extent->lo : blocks;
        tell_taken(prefix, extent, here);
        blocks -= here;
    }
}

static void take_from_braid(struct kv_prefix *prefix, struct kv_braid *braid, int64_t blocks)
{
    if (braid->is_link) {
        braid->eaten += blocks;
        if (braid->eaten == braid->rounds) {
            kv_prefix_eat_link(prefix, braid);
        }
        return;
    }
    if (braid->rounds == 1) {
        if (prefix->on_reuse != NULL || prefix->on_evict != NULL) {
            tell_taken_of_braid(prefix, braid, blocks);
        }
        kv_prefix_eat(prefix, braid, blocks);
        return;
    }
    braid->eaten += blocks;
    if (kv_braid_blocks(braid) > 0) {
        return;
    }
    for (struct kv_extent *extent = braid->first, *next; extent != NULL; extent = next) {
        next = extent->after;
        kv_extent_drop(prefix, extent);
    }
    kv_braids_drop(&prefix->queue, braid);
}

static void take_from_queue(struct kv_prefix *prefix, int64_t blocks)
{
    while (blocks > 0) {
        struct kv_braid *head = prefix->queue.head;
        base_require(head != NULL);
        int64_t here = kv_braid_blocks(head);
        here = here < blocks ? here : blocks;
        int64_t content = kv_braid_content(head, 0, here);
        prefix->idle_blocks -= content;
        prefix->evicted_blocks += content;
        prefix->blank_blocks -= here - content;
        take_from_braid(prefix, head, here);
        blocks -= here;
    }
}

static void take_from_heap(struct kv_prefix *prefix, int64_t blocks)
{
    prefix->idle_blocks -= blocks;
    prefix->evicted_blocks += blocks;
    while (blocks > 0) {
        struct kv_extent *first = kv_evict_first(&prefix->idle);
        base_require(first != NULL);
        int64_t here = first->hi - first->lo;
        here = here < blocks ? here : blocks;
        tell_taken(prefix, first, here);
        first->hi -= here;
        if (first->hi == first->lo) {
            kv_evict_remove(&prefix->idle, first);
            kv_extent_drop(prefix, first);
        }
        blocks -= here;
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
    if (kv_prefix_has_queue(prefix)) {
        take_from_queue(prefix, blocks);
    } else {
        take_from_heap(prefix, blocks);
    }
}

/* What one sequence gives back at once in tables that are alike. */
struct release {
    struct kv_braid *braid; /* NULL: nothing with content yet */
    int64_t rounds, blank;  /* blocks of each without content, before all others */
    bool is_step;           /* one block that a window has left behind */
};

static struct release begin_release(struct kv_prefix *prefix, int64_t rounds, int64_t blank)
{
    prefix->blank_blocks += rounds * blank;
    return (struct release){NULL, rounds, prefix->is_old_order ? blank : 0, false};
}

static void end_release(struct kv_prefix *prefix, const struct release *release)
{
    if (release->braid == NULL && release->blank > 0) {
        kv_braids_add_blank(&prefix->queue, release->rounds * release->blank);
    }
}

// Blocks without content behind what came back before.
static void release_blank(struct kv_prefix *prefix, struct release *release, int64_t blocks)
{
    base_assert(release->rounds == 1);
    prefix->blank_blocks += blocks;
    if (prefix->is_old_order) {
        release->blank = blocks + (release->braid == NULL ? release->blank : 0);
        release->braid = NULL;
    }
}

static void make_idle(struct kv_prefix *prefix, struct kv_extent *extent, struct release *release)
{
    prefix->idle_blocks += (extent->hi - extent->lo) * extent->tables;
    struct kv_age *age = &extent->age;
    age->last_release = prefix->releases;
    age->first_release = age->first_release > 0 ? age->first_release : prefix->releases;
    if (!kv_prefix_has_queue(prefix)) {
        kv_evict_put(&prefix->idle, extent);
        return;
    }
    if (release->is_step) {
        kv_trail_add_link(&prefix->queue, extent);
        return;
    }
    if (release->braid == NULL) {
        release->braid = kv_braids_add(&prefix->queue, NULL, release->rounds, release->blank);
    }
    kv_braid_add_strand(release->braid, extent);
}

static void let_go(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                   struct kv_extent *extent, int64_t hashed, struct release *release)
{
    if (extent->owner == seq) {
        extent->owner = NULL;
        extent->hi = extent->hi < hashed ? extent->hi : hashed;
        if (extent->hi <= extent->lo) {
            base_require(extent->holders == 1);
            kv_extent_drop(prefix, extent); // never hashed
            return;
        }
    }
    if (--extent->holders > 0) {
        prefix->shared_blocks -= (extent->hi - extent->lo) * extent->tables;
    } else {
        make_idle(prefix, extent, release);
    }
}

void kv_prefix_commit(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks)
{
    settle_hashed(prefix, seq, hashed_blocks, true);
}

// Blocks of one hold below `until`, last one first; `hashed` as in let_go().
static void let_go_hold(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                        const struct kv_hold *hold, int64_t hashed, struct release *release)
{
    struct kv_extent *last = hold->first;
    if (last == NULL) {
        release_blank(prefix, release, base_max(base_min(hold->hi, hashed) - hold->lo, 0));
        return;
    }
    base_assert(last->begins > 0);
    last->begins--;
    while (last->hi < hold->hi) {
        last = last->next_piece;
    }
    for (struct kv_extent *extent = last, *previous; extent != NULL; extent = previous) {
        previous = extent == hold->first ? NULL : extent->prev_piece;
        let_go(prefix, seq, extent, hashed, release);
    }
}

// The first hold of a table, or where it would stand. Windows lie behind the full tables, and have few.
static size_t begin_of_table(const struct kv_prefix_seq *seq, uint32_t table)
{
    size_t i = seq->holds.count;
    while (i > 0 && seq->holds.at[i - 1].table >= table) {
        i--;
    }
    return i;
}

// The holds that begin at index `begin`, in the same tables: up to which index.
static size_t end_of_tables(const struct kv_prefix_seq *seq, size_t begin)
{
    uint32_t table = begin < seq->holds.count ? seq->holds.at[begin].table : 0;
    while (begin < seq->holds.count && seq->holds.at[begin].table == table) {
        begin++;
    }
    return begin;
}

// Of each table of a kind, the blocks for so many tokens.
static int64_t blocks_for(const struct kv_prefix *prefix, const struct kv_prefix_kind *kind,
                          int64_t tokens)
{
    int64_t block = kind->each == 1 ? prefix->block_tokens : prefix->block_tokens / kind->each;
    return (tokens + block - 1) / block;
}

void kv_prefix_detach_early(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                            int64_t hashed_blocks, int64_t held_tokens, int64_t start_tokens)
{
    const struct kv_prefix_kind *kind = prefix->kinds;
    prefix->releases++;
    follow_splits(prefix, seq);
    if (seq->is_contended) {
        kv_prefix_commit(prefix, seq, hashed_blocks);
        seq->is_contended = false;
        prefix->contended_count--;
    }
    size_t begin = 0, end;
    for (uint32_t table = 0; table < prefix->table_count; begin = end) {
        bool is_held = begin < seq->holds.count && seq->holds.at[begin].table == table;
        uint32_t tables = is_held ? seq->holds.at[begin].tables : 1;
        while (table >= kind->first + kind->count) {
            kind++;
        }
        int64_t hashed = hashed_blocks * kind->each;
        int64_t passed =
            base_max(seq->passed[kind - prefix->kinds], passed_blocks(kind, start_tokens));
        struct release release = begin_release(
            prefix, tables, blocks_for(prefix, kind, held_tokens) - base_max(hashed, passed));
        end = is_held ? end_of_tables(seq, begin) : begin;
        for (size_t i = end; i-- > begin;) {
            if (seq->holds.at[i].lo < seq->holds.at[i].hi) {
                let_go_hold(prefix, seq, &seq->holds.at[i], hashed, &release);
            }
        }
        end_release(prefix, &release);
        table += tables;
    }
    seq->holds.count = 0;
}

void kv_prefix_detach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks,
                      int64_t held_tokens)
{
    kv_prefix_detach_early(prefix, seq, hashed_blocks, held_tokens, 0);
}

bool kv_prefix_holds(const struct kv_prefix_seq *seq, uint32_t table, int64_t block)
{
    for (size_t i = seq->holds.count; i-- > 0 && seq->holds.at[i].table >= table;) {
        const struct kv_hold *hold = &seq->holds.at[i];
        if (hold->table == table && hold->lo <= block && block < hold->hi) {
            return hold->first != NULL;
        }
    }
    return false;
}

int64_t kv_prefix_note_store(struct kv_prefix_seq *seq, uint32_t table, int64_t lo, int64_t hi,
                             uint64_t number, struct kv_sources *out)
{
    int64_t blocks = 0;
    for (size_t i = seq->holds.count; i-- > 0 && seq->holds.at[i].table >= table;) {
        struct kv_hold hold = seq->holds.at[i];
        if (hold.table > table || hold.lo >= hold.hi) {
            continue;
        }
        if (hold.hi <= lo) {
            break;
        }
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
                blocks += source.hi - source.lo;
                base_vec_push(out, source);
            }
        }
    }
    return blocks;
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
            extent->hi > front.hi ? kv_extent_cut(prefix, extent, front.hi) : extent->next_piece;
        hold->first->begins++;
    }
    hold->lo = front.hi;
    return front;
}

static void erase_holds(struct kv_prefix_seq *seq, size_t at, size_t count)
{
    seq->holds.count -= count;
    memmove(&seq->holds.at[at], &seq->holds.at[at + count],
            (seq->holds.count - at) * sizeof *seq->holds.at);
}

// A window leaves the first block of a hold behind. Mostly the piece before it is what it left behind last: then the border
// between them moves, and nothing is cut. False, with nothing changed, where they have different fates.
static bool slide(struct kv_prefix *prefix, const struct kv_prefix_seq *seq, struct kv_hold *hold)
{
    struct kv_extent *extent = hold->first;
    if (!kv_extent_can_slide(prefix, seq, extent)) {
        return false;
    }
    struct kv_extent *front = extent->prev_piece;
    hold->lo++;
    extent->lo++;
    front->hi++;
    if (front->is_trail) {
        prefix->idle_blocks += extent->tables;
        kv_trail_add_link(&prefix->queue, front);
    } else {
        prefix->shared_blocks -= extent->tables;
    }
    if (extent->lo == extent->hi) {
        hold->first = extent->next_piece;
        if (hold->lo < hold->hi) {
            hold->first->begins++;
        }
        kv_extent_drop(prefix, extent);
    }
    return true;
}

// Whether a block that a window leaves behind is a link of a trail: nobody asks for its age, or what it held.
static bool leaves_trails(const struct kv_prefix *prefix)
{
    return kv_prefix_has_queue(prefix) && prefix->on_reuse == NULL && prefix->on_evict == NULL;
}

// `begin` to `end`: the holds of the same tables; returns how many were given back whole and are gone.
static size_t drop_holds(struct kv_prefix *prefix, struct kv_prefix_seq *seq, size_t begin,
                         size_t end, int64_t until, int64_t blank)
{
    struct kv_hold *first = &seq->holds.at[begin];
    struct release release = begin_release(prefix, first->tables, blank);
    release.is_step =
        blank == 0 && until - first->lo == 1 && first->first != NULL && leaves_trails(prefix);
    if (release.is_step && slide(prefix, seq, first)) {
        if (first->lo < first->hi) {
            return 0;
        }
        erase_holds(seq, begin, 1);
        return 1;
    }
    size_t last = begin;
    while (last < end && seq->holds.at[last].lo < until) {
        last++;
    }
    size_t empty = 0;
    for (size_t i = last; i-- > begin;) {
        struct kv_hold front = split_hold(prefix, &seq->holds.at[i], until);
        let_go_hold(prefix, seq, &front, until - blank, &release);
        empty += seq->holds.at[i].lo == seq->holds.at[i].hi ? 1 : 0;
    }
    end_release(prefix, &release);
    if (empty > 0) {
        erase_holds(seq, begin, empty);
    }
    return empty;
}

// With `blank` blocks of each table that have not been hashed, the last ones; no hold knows those beyond the last whole block of
// the tree.
static void drop_blank(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                       const struct kv_prefix_kind *kind, int64_t until, int64_t blank)
{
    uint32_t last = kind->first + kind->count;
    for (uint32_t table = kind->first; table < last;) {
        size_t begin = begin_of_table(seq, table), end = end_of_tables(seq, begin);
        if (begin < seq->holds.count && seq->holds.at[begin].table == table) {
            table += seq->holds.at[begin].tables;
            drop_holds(prefix, seq, begin, end, until, blank);
        } else {
            struct release release = begin_release(prefix, 1, blank);
            end_release(prefix, &release);
            table++;
        }
    }
}

void kv_prefix_drop(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                    const struct kv_window *window, int64_t until, int64_t hashed_blocks)
{
    follow_splits(prefix, seq);
    const struct kv_prefix_kind *kind = prefix->kinds;
    while (kind->window != window) {
        kind++;
    }
    int64_t *passed = &seq->passed[kind - prefix->kinds];
    int64_t blank = until - base_max(*passed, hashed_blocks * kind->each);
    *passed = until;
    if (blank > 0) {
        drop_blank(prefix, seq, kind, until, blank);
        return;
    }
    for (size_t begin = begin_of_table(seq, kind->first), end; begin < seq->holds.count;
         begin = end) {
        if (seq->holds.at[begin].table >= kind->first + kind->count) {
            return;
        }
        end = end_of_tables(seq, begin);
        end -= drop_holds(prefix, seq, begin, end, until, 0);
    }
}

/* ---- cached states ---- */

static size_t state_kind(const struct kv_prefix *prefix)
{
    size_t kind = prefix->kind_count - 1;
    base_require(kv_kind_is_states(&prefix->kinds[kind]));
    return kind;
}

// The holds from index `from` on, which were added last, move before index `to`.
static void move_holds(struct kv_prefix_seq *seq, size_t from, size_t to)
{
    for (size_t i = from; i < seq->holds.count; i++, to++) {
        struct kv_hold hold = seq->holds.at[i];
        for (size_t j = i; j > to; j--) {
            seq->holds.at[j] = seq->holds.at[j - 1];
        }
        seq->holds.at[to] = hold;
    }
}

void kv_prefix_add_states(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t lo,
                          int64_t hi)
{
    size_t k = state_kind(prefix);
    const struct kv_prefix_kind *kind = &prefix->kinds[k];
    int64_t end = base_min(hi, seq->content.token_count / prefix->block_tokens);
    if (lo >= end) {
        return; // the last block of a sequence is not full
    }
    make_path(prefix, seq, lo);
    struct tables tables = {k, kind->first, 1};
    for (; tables.first < kind->first + kind->count; tables.first++) {
        size_t count = seq->holds.count, place = begin_of_table(seq, tables.first + 1);
        own_tables(prefix, seq, kind, tables, lo, end);
        move_holds(seq, count, place);
    }
    forget_blank_path(prefix);
}

static void let_go_front(struct kv_prefix *prefix, struct kv_prefix_seq *seq, struct kv_hold *hold,
                         int64_t until, struct release *release)
{
    struct kv_hold front = split_hold(prefix, hold, until);
    let_go_hold(prefix, seq, &front, until, release);
}

// Of one table, whose holds are `begin` to `end`: what lies below `until` without a gap, then block `older`.
static int64_t drop_states(struct kv_prefix *prefix, struct kv_prefix_seq *seq, size_t begin,
                           size_t end, int64_t until, int64_t older)
{
    struct release release = begin_release(prefix, 1, 0);
    int64_t at = until, blocks = 0;
    for (size_t i = end; i-- > begin;) {
        struct kv_hold *hold = &seq->holds.at[i];
        if (hold->lo >= hold->hi || hold->lo >= at) {
            continue;
        }
        if (hold->hi < at) {
            break;
        }
        int64_t lo = hold->lo;
        let_go_front(prefix, seq, hold, at, &release);
        blocks += at - lo;
        at = lo;
    }
    for (size_t i = begin; i < end && older >= 0; i++) {
        struct kv_hold *hold = &seq->holds.at[i];
        if (hold->lo == older && hold->lo < hold->hi) {
            let_go_front(prefix, seq, hold, older + 1, &release);
            blocks++;
            older = -1;
        }
    }
    end_release(prefix, &release);
    return blocks;
}

int64_t kv_prefix_drop_states(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t until,
                              int64_t older)
{
    const struct kv_prefix_kind *kind = &prefix->kinds[state_kind(prefix)];
    int64_t blocks = 0;
    for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
        size_t begin = begin_of_table(seq, table), end = begin_of_table(seq, table + 1);
        blocks = drop_states(prefix, seq, begin, end, until, older);
    }
    return blocks;
}

int64_t kv_prefix_uniform_blocks(const struct kv_prefix *prefix, bool *evicts)
{
    if (!prefix->is_old_order) {
        *evicts = prefix->blank_blocks == 0;
        return *evicts ? prefix->idle_blocks : prefix->blank_blocks;
    }
    const struct kv_braid *head = prefix->queue.head;
    *evicts = false;
    return head != NULL ? kv_braid_alike(head, 0, evicts) : 0;
}

/* ---- along the queue ---- */

void kv_prefix_walk_queue(const struct kv_prefix *prefix, struct kv_queue_walk *out)
{
    *out = prefix->is_old_order ? (struct kv_queue_walk){.braid = prefix->queue.head}
                                : (struct kv_queue_walk){.blank = prefix->blank_blocks};
}

int64_t kv_queue_walk_alike(const struct kv_queue_walk *walk, bool *evicts)
{
    *evicts = walk->blank == 0;
    if (walk->blank > 0) {
        return walk->blank;
    }
    return walk->braid != NULL ? kv_braid_alike(walk->braid, walk->passed, evicts) : INT64_MAX;
}

int64_t kv_queue_walk_pass(struct kv_queue_walk *walk, int64_t blocks)
{
    int64_t here = walk->blank < blocks ? walk->blank : blocks, held = 0;
    walk->blank -= here;
    blocks -= here;
    while (blocks > 0 && walk->braid != NULL) {
        int64_t left = kv_braid_blocks(walk->braid) - walk->passed;
        here = left < blocks ? left : blocks;
        held += kv_braid_content(walk->braid, walk->passed, here);
        blocks -= here;
        walk->passed += here;
        if (here == left) {
            walk->braid = walk->braid->after;
            walk->passed = 0;
        }
    }
    return held + blocks;
}
