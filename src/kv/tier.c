#include "kv/tier.h"

#include "base/count.h"
#include "base/error.h"
#include "base/mem.h"

/* Chunks whose count is remembered (vLLM, max_tracker_size). */
enum { ASKED_MAX = 64000 };

void kv_tier_init(struct kv_tier *tier, struct kv_stock *stock, uint32_t tables, uint32_t plane,
                  enum kv_tier_order order, int64_t capacity)
{
    base_require(plane + kv_tier_planes(tables) <= stock->plane_count);
    *tier = (struct kv_tier){
        .order = order, .capacity = capacity, .stock = stock, .tables = tables, .plane = plane};
}

void kv_tier_release(struct kv_tier *tier)
{
    base_vec_free(&tier->victims);
    base_vec_free(&tier->missing);
    base_vec_free(&tier->dropped);
}

static uint32_t plane_of(const struct kv_tier *tier, uint32_t table)
{
    return tier->plane + table;
}

static uint32_t asked_plane_of(const struct kv_tier *tier, uint32_t table)
{
    return tier->plane + tier->tables + table;
}

/* ---- looking ---- */

static bool is_in(const struct kv_tier *tier, const struct kv_strand *strand,
                  enum kv_tier_list which)
{
    return strand->list == &tier->lists[which];
}

static bool is_held(const struct kv_tier *tier, const struct kv_strand *strand)
{
    return strand != NULL &&
           (is_in(tier, strand, KV_TIER_RECENT) || is_in(tier, strand, KV_TIER_FREQUENT));
}

static struct kv_alike without_ghosts(const struct kv_tier *tier, struct kv_alike alike)
{
    alike.strand = is_held(tier, alike.strand) ? alike.strand : NULL;
    return alike;
}

struct kv_alike kv_tier_look(const struct kv_tier *tier, const struct kv_path *path, uint32_t table,
                             int64_t at, int64_t limit)
{
    return without_ghosts(tier, kv_path_look(path, plane_of(tier, table), at, limit));
}

struct kv_alike kv_tier_look_back(const struct kv_tier *tier, const struct kv_path *path,
                                  uint32_t table, int64_t at, int64_t limit)
{
    return without_ghosts(tier, kv_path_look_back(path, plane_of(tier, table), at, limit));
}

int64_t kv_tier_count_held(const struct kv_tier *tier, const struct kv_piece *piece)
{
    int64_t chunks = 0;
    const struct kv_strand *strand = kv_piece_last(piece, plane_of(tier, piece->table));
    for (; strand != NULL; strand = kv_piece_next(piece, strand)) {
        if (is_held(tier, strand)) {
            chunks += base_min(strand->hi, piece->hi) - base_max(strand->lo, piece->lo);
        }
    }
    return chunks;
}

/* ---- asking ---- */

static double at_least_one(double ratio)
{
    return ratio > 1 ? ratio : 1;
}

// Ghosts that are asked for, one after the other: their list was cut too short.
static void learn(struct kv_tier *tier, const struct kv_strand *ghosts)
{
    double recent = (double)tier->lists[KV_TIER_RECENT_GHOST].count;
    double frequent = (double)tier->lists[KV_TIER_FREQUENT_GHOST].count;
    double step = is_in(tier, ghosts, KV_TIER_RECENT_GHOST) ? at_least_one(frequent / recent)
                                                            : -at_least_one(recent / frequent);
    for (int64_t i = 0; i < kv_strand_chunks(ghosts); i++) {
        tier->recent_target += step;
        tier->recent_target = tier->recent_target > 0 ? tier->recent_target : 0;
        if (tier->recent_target > (double)tier->capacity) {
            tier->recent_target = (double)tier->capacity;
        }
    }
}

static void touch(struct kv_tier *tier, struct kv_strand *strand)
{
    struct kv_strand_list *list = strand->list;
    // What is still being stored was not asked for twice.
    if (tier->order == KV_TIER_ARC && is_in(tier, strand, KV_TIER_RECENT) && strand->is_ready) {
        list = &tier->lists[KV_TIER_FREQUENT];
    }
    if (!is_held(tier, strand)) {
        learn(tier, strand);
    }
    kv_strand_move(tier->stock, strand, list, false);
}

void kv_tier_touch(struct kv_tier *tier, const struct kv_path *path, uint32_t table, int64_t lo,
                   int64_t hi)
{
    hi = base_min(hi, path->end);
    if (lo >= hi) {
        return;
    }
    struct kv_piece piece = kv_path_piece(path, table, lo, hi);
    struct kv_strand *strand = kv_piece_last(&piece, plane_of(tier, table));
    for (; strand != NULL; strand = kv_piece_next(&piece, strand)) {
        strand = kv_strand_within(tier->stock, strand, lo, hi);
        touch(tier, strand);
    }
}

static void forget_oldest_asked(struct kv_tier *tier, int64_t chunks)
{
    while (chunks > 0) {
        struct kv_strand *oldest = tier->lists[KV_TIER_ASKED].oldest;
        int64_t here = base_min(chunks, kv_strand_chunks(oldest));
        kv_strand_shrink(tier->stock, oldest, here);
        chunks -= here;
    }
}

static struct kv_strand *new_asked(struct kv_tier *tier, const struct kv_path *path, uint32_t plane,
                                   const struct kv_alike *alike)
{
    struct kv_node *node = kv_path_piece(path, 0, alike->lo, alike->hi).node;
    struct kv_strand *strand = kv_strand_new(tier->stock, node, plane, alike->lo, alike->hi, true,
                                             &tier->lists[KV_TIER_ASKED]);
    strand->asked = 1;
    return strand;
}

void kv_tier_count_asked(struct kv_tier *tier, const struct kv_path *path, uint32_t table,
                         int64_t lo, int64_t hi)
{
    uint32_t plane = asked_plane_of(tier, table);
    struct kv_strand_list *list = &tier->lists[KV_TIER_ASKED];
    kv_stock_hold(path->last);
    for (int64_t at = lo; at < hi;) {
        struct kv_alike alike = kv_path_look(path, plane, at, base_min(hi, at + ASKED_MAX));
        if (alike.strand != NULL) {
            struct kv_strand *strand =
                kv_strand_within(tier->stock, alike.strand, alike.lo, alike.hi);
            strand->asked++;
            kv_strand_move(tier->stock, strand, list, true);
        } else {
            forget_oldest_asked(tier, list->count + (alike.hi - at) - ASKED_MAX);
            kv_strand_join(tier->stock, new_asked(tier, path, plane, &alike));
        }
        at = alike.hi;
    }
    kv_stock_unhold(tier->stock, path->last);
}

/* ---- eviction ---- */

static bool is_idle(const struct kv_strand *strand)
{
    return strand->is_ready && strand->readers == 0 && strand->copiers == 0;
}

// The first of a list, from *at on, that may go; *at moves behind it.
static struct kv_strand *next_victim(const struct kv_tier *tier, struct kv_strand **at)
{
    struct kv_strand *strand = *at;
    while (strand != NULL && (!is_idle(strand) || strand->spared == tier->stamp)) {
        strand = strand->younger;
    }
    *at = strand != NULL ? strand->younger : NULL;
    return strand;
}

static bool choose_victims(struct kv_tier *tier, int64_t count)
{
    struct kv_strand *recent = tier->lists[KV_TIER_RECENT].oldest;
    struct kv_strand *frequent = tier->lists[KV_TIER_FREQUENT].oldest;
    int64_t recent_count = tier->lists[KV_TIER_RECENT].count;
    tier->victims.count = 0;
    while (count > 0) {
        struct kv_victim victim = {.chunks = count};
        // Of the recent ones as many as there are too many, and then one: what is no more than the target stays.
        int64_t surplus = recent_count - (int64_t)tier->recent_target + 1;
        if (tier->order == KV_TIER_LRU || surplus > 0) {
            victim.strand = next_victim(tier, &recent);
            victim.chunks = tier->order == KV_TIER_LRU ? count : base_min(count, surplus);
        }
        if (victim.strand == NULL) {
            victim.strand = next_victim(tier, &frequent);
            victim.chunks = count;
        }
        if (victim.strand == NULL) {
            return false;
        }
        victim.chunks = base_min(victim.chunks, kv_strand_chunks(victim.strand));
        recent_count -= is_in(tier, victim.strand, KV_TIER_RECENT) ? victim.chunks : 0;
        count -= victim.chunks;
        base_vec_push(&tier->victims, victim);
    }
    return true;
}

static void trim(struct kv_tier *tier, enum kv_tier_list ghosts)
{
    struct kv_strand_list *list = &tier->lists[ghosts];
    while (list->count > tier->capacity) {
        int64_t surplus = list->count - tier->capacity;
        kv_strand_shrink(tier->stock, list->oldest,
                         base_min(surplus, kv_strand_chunks(list->oldest)));
    }
}

static struct kv_piece oldest_of(const struct kv_tier *tier, const struct kv_victim *victim)
{
    const struct kv_strand *strand = victim->strand;
    return (struct kv_piece){
        .node = strand->node,
        .lo = strand->is_rising ? strand->lo : strand->hi - victim->chunks,
        .hi = strand->is_rising ? strand->lo + victim->chunks : strand->hi,
        .table = strand->plane - tier->plane,
        .is_falling = !strand->is_rising,
    };
}

static void let_go(struct kv_tier *tier, const struct kv_victim *victim)
{
    struct kv_piece piece = oldest_of(tier, victim);
    kv_pieces_keep(&tier->dropped, &piece);
    tier->evictable -= victim->chunks;
    tier->evicted_chunks += victim->chunks;
    if (tier->order == KV_TIER_LRU) {
        kv_strand_shrink(tier->stock, victim->strand, victim->chunks);
        return;
    }
    struct kv_strand *strand = kv_strand_within(tier->stock, victim->strand, piece.lo, piece.hi);
    enum kv_tier_list ghosts =
        is_in(tier, strand, KV_TIER_RECENT) ? KV_TIER_RECENT_GHOST : KV_TIER_FREQUENT_GHOST;
    kv_strand_move(tier->stock, strand, &tier->lists[ghosts], !piece.is_falling);
}

static bool make_room(struct kv_tier *tier, int64_t count)
{
    if (count > tier->evictable || !choose_victims(tier, count)) {
        tier->refused_stores++;
        return false;
    }
    for (size_t i = 0; i < tier->victims.count; i++) {
        let_go(tier, &tier->victims.at[i]);
    }
    trim(tier, KV_TIER_RECENT_GHOST);
    trim(tier, KV_TIER_FREQUENT_GHOST);
    return true;
}

/* ---- offers ---- */

static struct kv_path path_of(const struct kv_piece *piece)
{
    return (struct kv_path){piece->node, piece->hi};
}

// The next chunks of a piece that are alike in a plane, `left` of it still to come.
static struct kv_alike next_alike(const struct kv_piece *piece, uint32_t plane,
                                  const struct kv_alike *left)
{
    struct kv_path path = path_of(piece);
    return piece->is_falling ? kv_path_look_back(&path, plane, left->hi, left->lo)
                             : kv_path_look(&path, plane, left->lo, left->hi);
}

static void pass(const struct kv_piece *piece, struct kv_alike *left, const struct kv_alike *passed)
{
    if (piece->is_falling) {
        left->hi = passed->lo;
    } else {
        left->lo = passed->hi;
    }
}

static void note_missing(struct kv_tier *tier, const struct kv_piece *piece,
                         const struct kv_alike *missing)
{
    struct kv_path path = path_of(piece);
    struct kv_piece part = kv_path_piece(&path, piece->table, missing->lo, missing->hi);
    part.is_falling = piece->is_falling;
    base_vec_push(&tier->missing, part);
}

// Of chunks that are wanted alike: those that are missing, to `missing`; the others do not make room for themselves.
static int64_t sort_out(struct kv_tier *tier, const struct kv_piece *piece, struct kv_alike left)
{
    int64_t missing = 0;
    while (left.lo < left.hi) {
        struct kv_alike alike = next_alike(piece, plane_of(tier, piece->table), &left);
        if (is_held(tier, alike.strand)) {
            kv_strand_within(tier->stock, alike.strand, alike.lo, alike.hi)->spared = tier->stamp;
        } else {
            note_missing(tier, piece, &alike);
            missing += alike.hi - alike.lo;
        }
        pass(piece, &left, &alike);
    }
    return missing;
}

static int64_t sort_out_wanted(struct kv_tier *tier, const struct kv_piece *piece,
                               int64_t threshold)
{
    int64_t missing = 0;
    struct kv_alike left = {NULL, piece->lo, piece->hi};
    while (threshold > 1 && left.lo < left.hi) {
        struct kv_alike alike = next_alike(piece, asked_plane_of(tier, piece->table), &left);
        if (alike.strand != NULL && alike.strand->asked >= threshold) {
            missing += sort_out(tier, piece, (struct kv_alike){NULL, alike.lo, alike.hi});
        }
        pass(piece, &left, &alike);
    }
    return threshold > 1 ? missing : sort_out(tier, piece, left);
}

// As many as lie in one node, and are ghosts or not.
static void add_pending(struct kv_tier *tier, const struct kv_piece *piece,
                        const struct kv_alike *alike)
{
    struct kv_strand_list *list = &tier->lists[KV_TIER_RECENT];
    bool is_rising = !piece->is_falling;
    if (alike->strand != NULL) {
        struct kv_strand *ghost =
            kv_strand_within(tier->stock, alike->strand, alike->lo, alike->hi);
        ghost->is_ready = false;
        kv_strand_move(tier->stock, ghost, list, is_rising);
        return;
    }
    struct kv_path path = path_of(piece);
    struct kv_node *node = kv_path_piece(&path, piece->table, alike->lo, alike->hi).node;
    kv_strand_join(tier->stock, kv_strand_new(tier->stock, node, plane_of(tier, piece->table),
                                              alike->lo, alike->hi, is_rising, list));
}

static void add_missing(struct kv_tier *tier, const struct kv_piece *piece)
{
    struct kv_alike left = {NULL, piece->lo, piece->hi};
    while (left.lo < left.hi) {
        struct kv_alike alike = next_alike(piece, plane_of(tier, piece->table), &left);
        add_pending(tier, piece, &alike);
        pass(piece, &left, &alike);
    }
}

static bool take_in(struct kv_tier *tier, const struct kv_pieces *offered, int64_t threshold,
                    struct kv_pieces *out)
{
    int64_t missing = 0;
    tier->missing.count = 0;
    tier->stamp++;
    for (size_t i = 0; i < offered->count; i++) {
        missing += sort_out_wanted(tier, &offered->at[i], threshold);
    }
    int64_t excess = kv_tier_chunk_count(tier) + missing - tier->capacity;
    if (missing > 0 && excess > 0 && !make_room(tier, excess)) {
        return false;
    }
    for (size_t i = 0; i < tier->missing.count; i++) {
        add_missing(tier, &tier->missing.at[i]);
        base_vec_push(out, tier->missing.at[i]);
    }
    tier->added_chunks += missing;
    return true;
}

bool kv_tier_offer(struct kv_tier *tier, const struct kv_pieces *offered, int64_t threshold,
                   struct kv_pieces *out)
{
    out->count = 0;
    for (size_t i = 0; i < offered->count; i++) {
        kv_stock_hold(offered->at[i].node);
    }
    kv_pieces_forget(tier->stock, &tier->dropped);
    bool fits = take_in(tier, offered, threshold, out);
    for (size_t i = 0; i < offered->count; i++) {
        kv_stock_unhold(tier->stock, offered->at[i].node);
    }
    return fits;
}

/* ---- what transfers do ---- */

// All of it, from `strand` on, is in another state now: it may be like what lies beside it.
static void join_piece(struct kv_tier *tier, const struct kv_piece *piece, struct kv_strand *strand)
{
    for (; strand != NULL; strand = kv_piece_next(piece, strand)) {
        strand = kv_strand_join(tier->stock, strand);
    }
}

void kv_tier_set_ready(struct kv_tier *tier, const struct kv_piece *piece)
{
    int64_t left = piece->hi - piece->lo;
    struct kv_strand *strand = kv_piece_last(piece, plane_of(tier, piece->table)), *last = NULL;
    for (; strand != NULL; strand = kv_piece_next(piece, strand)) {
        strand = kv_strand_within(tier->stock, strand, piece->lo, piece->hi);
        last = last != NULL ? last : strand;
        base_require(is_held(tier, strand) && !strand->is_ready);
        strand->is_ready = true;
        left -= kv_strand_chunks(strand);
    }
    base_require(left == 0);
    tier->evictable += piece->hi - piece->lo;
    join_piece(tier, piece, last);
}

// A user more or less of a kind; a chunk that is used cannot go.
static void use(struct kv_tier *tier, const struct kv_piece *piece, int32_t readers,
                int32_t copiers)
{
    int64_t left = piece->hi - piece->lo;
    struct kv_strand *strand = kv_piece_last(piece, plane_of(tier, piece->table)), *last = NULL;
    for (; strand != NULL; strand = kv_piece_next(piece, strand)) {
        strand = kv_strand_within(tier->stock, strand, piece->lo, piece->hi);
        last = last != NULL ? last : strand;
        base_require(is_held(tier, strand) && strand->is_ready);
        bool was_idle = is_idle(strand);
        strand->readers += readers;
        strand->copiers += copiers;
        base_require(strand->readers >= 0 && strand->copiers >= 0);
        tier->evictable +=
            ((is_idle(strand) ? 1 : 0) - (was_idle ? 1 : 0)) * kv_strand_chunks(strand);
        left -= kv_strand_chunks(strand);
    }
    base_require(left == 0);
    if (readers + copiers < 0) { // what begins to be used is seldom like what lies beside it
        join_piece(tier, piece, last);
    }
}

void kv_tier_pin(struct kv_tier *tier, const struct kv_piece *piece)
{
    use(tier, piece, 1, 0);
}

void kv_tier_unpin(struct kv_tier *tier, const struct kv_piece *piece)
{
    use(tier, piece, -1, 0);
}

void kv_tier_begin_copy(struct kv_tier *tier, const struct kv_piece *piece)
{
    use(tier, piece, 0, 1);
}

void kv_tier_end_copy(struct kv_tier *tier, const struct kv_piece *piece)
{
    use(tier, piece, 0, -1);
}
