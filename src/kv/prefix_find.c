/*
 * prefix_find.c - what of a content the block-hash cache holds: along one path of the tree, by the oldest copies.
 */
#include "kv/prefix_int.h"

#include "base/error.h"

int64_t kv_prefix_visible_end(const struct kv_prefix *prefix, const struct kv_extent *extent)
{
    if (extent->owner == NULL) {
        return extent->hi;
    }
    int64_t hashed =
        prefix->hashed_blocks(prefix->context, extent->owner) * prefix->kinds[extent->kind].each;
    return hashed < extent->hi ? hashed : extent->hi;
}

/* Which tables are looked at: all of a kind where their copies are alike, else one. */
struct tables {
    size_t kind;
    uint32_t first, count;
};

/* Along the copies of a node in one table, block by block: where the next block's oldest copy is looked for. */
struct copies_walk {
    struct kv_extent *from;
    int64_t limit; /* the first block beyond the last one found that an older copy has */
};

static struct copies_walk walk_copies(const struct kv_node *node, struct tables at)
{
    return (struct copies_walk){kv_copies_of(node)->of[at.kind].oldest, INT64_MAX};
}

// The oldest copy of block `at`, and up to where it stays the oldest. The walk goes on there: copies that were passed over do
// not hold the blocks that follow, unless one of them begins just there, and the pieces of a copy lie one behind the other.
static struct kv_extent *oldest_copy(const struct kv_prefix *prefix, const struct kv_node *node,
                                     struct tables tables, struct copies_walk *walk, int64_t at,
                                     int64_t *end)
{
    struct kv_extent *extent = walk->from;
    for (; extent != NULL; extent = extent->younger) {
        if (!kv_extent_covers(extent, tables.first)) {
            continue;
        }
        int64_t visible = kv_prefix_visible_end(prefix, extent);
        if (extent->lo <= at && at < visible) {
            break;
        }
        if (extent->lo > at && extent->lo < visible && extent->lo < walk->limit) {
            walk->limit = extent->lo;
        }
    }
    if (extent == NULL) {
        return NULL;
    }
    int64_t visible = kv_prefix_visible_end(prefix, extent);
    if (visible < walk->limit) {
        *end = visible;
        walk->from = extent->younger;
    } else {
        *end = walk->limit;
        *walk = walk_copies(node, tables);
    }
    return extent;
}

// The first table says whether some running sequence is about to hash a block of the path.
static bool is_being_computed(const struct kv_node *node, int64_t block)
{
    const struct kv_extent *extent = kv_copies_of(node)->of[0].oldest;
    while (extent != NULL && (extent->owner == NULL || extent->lo > block || extent->hi <= block ||
                              !kv_extent_covers(extent, 0))) {
        extent = extent->younger;
    }
    return extent != NULL;
}

static bool is_pending(const struct kv_prefix *prefix, int64_t block)
{
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        if (stretch->node->begin <= block && block < stretch->end) {
            return is_being_computed(stretch->node, block * prefix->kinds[0].each);
        }
    }
    return false;
}

// A state that this turn computes can't be started from yet: some copy of block `block` was hashed in it.
static bool is_new_state(const struct kv_prefix *prefix, size_t kind, int64_t block)
{
    const struct kv_extent *extent = NULL;
    for (size_t i = 0; i < prefix->path.count; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        if (stretch->node->begin <= block && block < stretch->end) {
            extent = kv_copies_of(stretch->node)->of[kind].oldest;
        }
    }
    for (; extent != NULL; extent = extent->younger) {
        bool holds = extent->lo <= block && block < extent->hi;
        bool is_new = extent->owner != NULL
                          ? prefix->new_state(prefix->context, extent->owner) == block
                          : extent->hi - 1 == block && extent->hashed_turn == prefix->turn;
        if (holds && is_new) {
            return true;
        }
    }
    return false;
}

/* ---- lookup ---- */

// The nodes that hold some copy of the content's first blocks, as far as the content agrees with them.
static int64_t find_path(struct kv_prefix *prefix, const struct kv_content *content, int64_t most)
{
    struct kv_node *node = prefix->tree.root;
    struct kv_cursor at = kv_cursor_at(content, 0);
    int64_t end = 0;
    prefix->path.count = 0;
    while (end < most && (node = kv_tree_find(&prefix->tree, node, at)) != NULL) {
        end = node->begin + kv_tree_match(&prefix->tree, node, &at, most - end);
        struct kv_stretch stretch = {node, end};
        base_vec_push(&prefix->path, stretch);
        if (end < node->end) {
            break;
        }
    }
    return end;
}

// The first tables of a kind: all of them, unless some copy on the path is of one only.
static struct tables tables_of(const struct kv_prefix *prefix, size_t kind)
{
    const struct kv_prefix_kind *own = &prefix->kinds[kind];
    struct tables tables = {kind, own->first, own->count};
    for (size_t i = 0; tables.count > 1 && i < prefix->path.count; i++) {
        bool is_split = kv_copies_of(prefix->path.at[i].node)->of[kind].split_count > 0;
        tables.count = is_split ? 1 : tables.count;
    }
    return tables;
}

// Pushes the oldest copies of blocks [from, until) of some tables; returns the first block that has none, or `until`.
static int64_t push_copies(const struct kv_prefix *prefix, struct tables tables, int64_t from,
                           int64_t until, struct kv_hits *out)
{
    int64_t at = from, each = prefix->kinds[tables.kind].each;
    for (size_t i = 0; i < prefix->path.count && at < until; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end * each < until ? stretch->end * each : until;
        struct copies_walk walk = walk_copies(stretch->node, tables);
        while (at < end) {
            int64_t same_until;
            struct kv_extent *extent =
                oldest_copy(prefix, stretch->node, tables, &walk, at, &same_until);
            if (extent == NULL) {
                return at;
            }
            same_until = same_until < end ? same_until : end;
            struct kv_hold hold = {extent, at, same_until, tables.first, tables.count};
            base_vec_push(out, hold);
            out->idle_blocks += extent->holders == 0 ? (same_until - at) * tables.count : 0;
            at = same_until;
        }
    }
    return at;
}

// The first block from `from` on that a table lacks, or `until`.
static int64_t covered_until(const struct kv_prefix *prefix, struct tables tables, int64_t from,
                             int64_t until)
{
    int64_t at = from, each = prefix->kinds[tables.kind].each;
    for (size_t i = 0; i < prefix->path.count && at < until; i++) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end * each < until ? stretch->end * each : until, same_until;
        struct copies_walk walk = walk_copies(stretch->node, tables);
        while (at < end &&
               oldest_copy(prefix, stretch->node, tables, &walk, at, &same_until) != NULL) {
            at = same_until < end ? same_until : end;
        }
        if (at < end) {
            return at;
        }
    }
    return at;
}

// Of blocks [0, below): one more than the last that is there; `copy`: one that has it. From the youngest on, whose last piece
// comes first: mostly it reaches as far as any can.
static int64_t last_copy(const struct kv_prefix *prefix, struct tables tables, int64_t below,
                         const struct kv_extent **copy)
{
    int64_t each = prefix->kinds[tables.kind].each;
    for (size_t i = prefix->path.count; i-- > 0;) {
        const struct kv_stretch *stretch = &prefix->path.at[i];
        int64_t end = stretch->end * each < below ? stretch->end * each : below, last = 0;
        if (stretch->node->begin * each >= below) {
            continue;
        }
        const struct kv_extent *extent = kv_copies_of(stretch->node)->of[tables.kind].youngest;
        for (; extent != NULL && last < end; extent = extent->older) {
            int64_t visible = kv_prefix_visible_end(prefix, extent);
            visible = visible < end ? visible : end;
            if (visible > extent->lo && visible > last && kv_extent_covers(extent, tables.first)) {
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

// The most leading blocks, at most `most` and whole ones of the tree, whose last `needed` are in the table, or all where they are
// fewer.
static int64_t table_window(const struct kv_prefix *prefix, struct tables tables, int64_t needed,
                            int64_t most)
{
    const struct kv_extent *copy = NULL;
    int64_t each = prefix->kinds[tables.kind].each;
    int64_t end = last_copy(prefix, tables, most, &copy);
    while (end > 0) {
        int64_t beyond = each > 1 ? end % each : 0;
        if (beyond > 0) {
            end = last_copy(prefix, tables, end - beyond, &copy);
            continue;
        }
        int64_t wanted = end - needed > 0 ? end - needed : 0, at = copy->lo, gap = end;
        while (at > wanted) {
            // Mostly the run goes on in the piece that this one was cut from, which is hashed to its end.
            if (copy->prev_piece != NULL && copy->prev_piece->hi == at &&
                kv_extent_covers(copy->prev_piece, tables.first)) {
                copy = copy->prev_piece;
            } else if ((gap = last_copy(prefix, tables, at, &copy)) < at) {
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

// The most leading blocks, at most `most`, whose blocks from `from` on are in all tables of a kind.
static int64_t kind_run(const struct kv_prefix *prefix, struct tables tables, int64_t from,
                        int64_t most)
{
    uint32_t end = tables.first + prefix->kinds[tables.kind].count;
    for (; tables.first < end; tables.first += tables.count) {
        most = covered_until(prefix, tables, from, most);
    }
    return most;
}

static bool sees_all(const struct kv_prefix_kind *kind)
{
    return kind->window == NULL || kind->window->kind == SPEC_KV_FULL;
}

// What all tables of a kind find, in blocks of the tree, asked once: the beginning of a chunk is that of the longest answer
// thinkable.
static int64_t kind_hits(const struct kv_prefix *prefix, struct tables tables, int64_t most)
{
    const struct kv_prefix_kind *kind = &prefix->kinds[tables.kind];
    int64_t each = kind->each;
    if (sees_all(kind) || kind->window->kind == SPEC_KV_CHUNKED) {
        int64_t begin =
            sees_all(kind) ? 0 : kv_window_passed_blocks(kind->window, most * prefix->block_tokens);
        int64_t found = kind_run(prefix, tables, begin, most * each);
        return each > 1 ? found / each : found;
    }
    most *= each;
    int64_t needed = kv_window_blocks_to_start(kind->window);
    for (int64_t before = -1; before != most;) {
        before = most;
        for (tables.first = kind->first; tables.first < kind->first + kind->count;
             tables.first += tables.count) {
            most = table_window(prefix, tables, needed > 0 ? needed : 1, most);
        }
    }
    return each > 1 ? most / each : most;
}

// As if all that braids of several rounds were made of were still there.
static void look_up(struct kv_prefix *prefix, const struct kv_content *content, int64_t most,
                    struct kv_hits *out)
{
    out->count = 0;
    out->blocks = out->idle_blocks = out->junction_blocks = 0;
    out->next_is_pending = out->is_new_state = false;
    int64_t end = find_path(prefix, content, most);
    if (prefix->table_count == 1 && prefix->kinds[0].window == NULL) {
        out->blocks = push_copies(prefix, (struct tables){0, 0, 1}, 0, end, out);
        out->next_is_pending = out->blocks < end && is_pending(prefix, out->blocks);
        return;
    }
    // A chunk or a window that ends at the beginning of its content has nothing to find.
    int64_t longest = 0;
    for (size_t k = 0, agreed = 0; agreed < prefix->kind_count; k = (k + 1) % prefix->kind_count) {
        int64_t found = kind_hits(prefix, tables_of(prefix, k), most);
        longest = found > longest ? found : longest;
        // Who found less says the same again, but for chunks, whose beginning may be another one now.
        bool is_settled =
            sees_all(&prefix->kinds[k]) || prefix->kinds[k].window->kind == SPEC_KV_SLIDING;
        agreed = found == most ? agreed + 1 : is_settled ? 1 : 0;
        most = found;
    }
    out->blocks = most;
    out->junction_blocks = longest > most ? longest : 0;
    out->next_is_pending = is_pending(prefix, most);
    if (most > 0 && kv_kind_is_states(&prefix->kinds[prefix->kind_count - 1])) {
        out->is_new_state = is_new_state(prefix, prefix->kind_count - 1, most - 1);
    }
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        int64_t from = kind->window != NULL
                           ? kv_window_passed_blocks(kind->window, most * prefix->block_tokens)
                           : 0;
        struct tables tables = tables_of(prefix, k);
        for (; tables.first < kind->first + kind->count; tables.first += tables.count) {
            int64_t until = push_copies(prefix, tables, from, most * kind->each, out);
            base_require(until >= most * kind->each || from >= most * kind->each);
        }
    }
}

// Some hits are of a braid of which blocks were taken already.
static bool hits_what_is_eaten(const struct kv_prefix *prefix, const struct kv_hits *hits)
{
    const struct kv_braid *head = prefix->queue.head;
    if (head == NULL || head->eaten == 0) {
        return false;
    }
    for (size_t i = 0; i < hits->count; i++) {
        const struct kv_extent *extent = hits->at[i].first;
        bool is_in_head = head->is_link
                              ? extent == head->first && hits->at[i].lo == extent->lo
                              : extent->holders == 0 && !extent->is_trail && extent->braid == head;
        if (is_in_head) {
            return true;
        }
    }
    return false;
}

void kv_prefix_lookup(struct kv_prefix *prefix, const struct kv_content *content, int64_t most,
                      struct kv_hits *out)
{
    look_up(prefix, content, most, out);
    // What was found without the help of such a braid is the most that there is with less of it, too.
    if (hits_what_is_eaten(prefix, out)) {
        kv_prefix_unravel(prefix, prefix->queue.head);
        look_up(prefix, content, most, out);
    }
    out->start_tokens = out->blocks * prefix->block_tokens;
}
