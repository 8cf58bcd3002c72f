/*
 * prefix_release.c - blocks that come back: all of a sequence at its end, what a window has left behind, states no longer needed.
 *
 * Whatever nobody else holds goes to the queue as one braid for all tables that are alike, or to the heap of the idle ones;
 * what was never hashed is blank.
 */
#include "base/count.h"
#include "base/error.h"
#include "kv/prefix_int.h"

#include <string.h>

/* What one sequence gives back at once in tables that are alike. */
struct release {
    struct kv_braid *braid; /* NULL: nothing with content yet */
    int64_t rounds, blank;  /* blocks of each without content, before all others */
    bool is_step;           /* one block that a window has left behind */
};

static struct release begin_release(struct kv_prefix *prefix, int64_t rounds, int64_t blank)
{
    prefix->blank_blocks += rounds * blank;
    if (prefix->on_blank_reuse != NULL) {
        kv_blank_begin(prefix, rounds * blank);
    }
    return (struct release){NULL, rounds, prefix->is_old_order ? blank : 0, false};
}

static void end_release(struct kv_prefix *prefix, const struct release *release)
{
    if (prefix->on_blank_reuse != NULL) {
        kv_blank_end(prefix);
    }
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

// Blocks of one hold below `until`, last one first; `hashed` as in let_go().
static void let_go_hold(struct kv_prefix *prefix, const struct kv_prefix_seq *seq,
                        const struct kv_hold *hold, int64_t hashed, struct release *release)
{
    struct kv_extent *last = hold->first;
    if (last == NULL) {
        int64_t hi = base_max(base_min(hold->hi, hashed), hold->lo);
        release_blank(prefix, release, hi - hold->lo);
        if (prefix->on_blank_reuse != NULL) {
            kv_blank_give(prefix, seq, hold->table, hold->lo, hi);
        }
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
    kv_prefix_catch_up(prefix, seq);
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
            base_max(seq->passed[kind - prefix->kinds], kv_kind_passed_blocks(kind, start_tokens));
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
    seq->holds.count = seq->reads.count = 0;
}

void kv_prefix_detach(struct kv_prefix *prefix, struct kv_prefix_seq *seq, int64_t hashed_blocks,
                      int64_t held_tokens)
{
    kv_prefix_detach_early(prefix, seq, hashed_blocks, held_tokens, 0);
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
        size_t begin = kv_prefix_begin_of_table(seq, table), end = end_of_tables(seq, begin);
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
    kv_prefix_catch_up(prefix, seq);
    kv_blank_forget(prefix, seq);
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
    for (size_t begin = kv_prefix_begin_of_table(seq, kind->first), end; begin < seq->holds.count;
         begin = end) {
        if (seq->holds.at[begin].table >= kind->first + kind->count) {
            return;
        }
        end = end_of_tables(seq, begin);
        end -= drop_holds(prefix, seq, begin, end, until, 0);
    }
}

/* ---- cached states ---- */

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
    if (prefix->on_blank_reuse != NULL) { // what follows comes back by itself
        kv_blank_end(prefix);
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
    const struct kv_prefix_kind *kind = &prefix->kinds[kv_prefix_state_kind(prefix)];
    int64_t blocks = 0;
    kv_blank_forget(prefix, seq);
    for (uint32_t table = kind->first; table < kind->first + kind->count; table++) {
        size_t begin = kv_prefix_begin_of_table(seq, table),
               end = kv_prefix_begin_of_table(seq, table + 1);
        blocks = drop_states(prefix, seq, begin, end, until, older);
    }
    return blocks;
}
