#include "kv/prefix.h"

#include "base/count.h"
#include "base/error.h"
#include "kv/prefix_int.h"

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
    kv_tree_release(&prefix->tree);
    base_vec_free(&prefix->path);
    base_vec_free(&prefix->blank_runs);
    base_vec_free(&prefix->blank_batch);
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

// The blocks of its own that a sequence has hashed so far are extents without an owner from now on; `as_youngest` when they
// have been hashed just now.
static void settle_hashed(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                          int64_t hashed_blocks, bool as_youngest)
{
    kv_prefix_catch_up(prefix, seq);
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
        int64_t lo = base_min(base_max(hold.lo, kv_kind_passed_blocks(kind, tokens)), hold.hi);
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
        seq->passed[k] =
            kv_kind_is_states(kind) ? 0 : kv_kind_passed_blocks(kind, hits->start_tokens);
        bool has_hits = at < hits->count && hits->at[at].table < end;
        bool is_one = has_hits ? hits->at[at].tables == kind->count : are_alike(prefix);
        struct tables tables = {k, kind->first, is_one ? kind->count : 1};
        for (; tables.first < end; tables.first += tables.count) {
            struct kv_extent *last = NULL;
            for (; at < hits->count && hits->at[at].table == tables.first; at++) {
                last = push_hit(prefix, seq, &hits->at[at], last);
            }
            if (!kv_kind_is_states(kind)) {
                own_tables(prefix, seq, kind, tables,
                           base_max(hits->blocks * kind->each,
                                    kv_kind_passed_blocks(kind, hits->start_tokens)),
                           seq->content.token_count / prefix->block_tokens * kind->each);
            }
        }
    }
    seq->splits_seen = prefix->splits;
    forget_blank_path(prefix);
}

void kv_prefix_commit(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks)
{
    settle_hashed(prefix, seq, hashed_blocks, true);
}

int64_t kv_prefix_holds_until(const struct kv_prefix_seq *seq, uint32_t table, int64_t block,
                              bool *is_held)
{
    int64_t until = INT64_MAX;
    *is_held = false;
    for (size_t i = seq->holds.count; i-- > 0 && seq->holds.at[i].table >= table;) {
        const struct kv_hold *hold = &seq->holds.at[i];
        if (hold->table != table || hold->lo >= hold->hi) {
            continue;
        }
        if (hold->lo <= block && block < hold->hi) {
            *is_held = true;
            return hold->hi;
        }
        if (hold->lo > block) {
            until = hold->lo;
        }
    }
    return until;
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
        if (hold.first == NULL && base_max(hold.lo, lo) < end) {
            kv_blank_note(seq, table, base_max(hold.lo, lo), end, number);
            blocks += end - base_max(hold.lo, lo);
        }
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

/* ---- cached states ---- */

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
    size_t k = kv_prefix_state_kind(prefix);
    const struct kv_prefix_kind *kind = &prefix->kinds[k];
    int64_t end = base_min(hi, seq->content.token_count / prefix->block_tokens);
    if (lo >= end) {
        return; // the last block of a sequence is not full
    }
    make_path(prefix, seq, lo);
    struct tables tables = {k, kind->first, 1};
    for (; tables.first < kind->first + kind->count; tables.first++) {
        size_t count = seq->holds.count, place = kv_prefix_begin_of_table(seq, tables.first + 1);
        own_tables(prefix, seq, kind, tables, lo, end);
        move_holds(seq, count, place);
    }
    forget_blank_path(prefix);
}
