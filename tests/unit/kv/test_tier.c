/*
 * The tier's chunks: what is held, pending and pinned, which ones go first, and that nothing changes where a store is refused.
 */
#include "kv/tier.h"

#include "base/hash.h"
#include "base/mem.h"
#include "support/check_main.h"

#include <string.h>

enum { CHUNKS = 16 };

static struct kv_stock stock;
static struct kv_tier tier;
static struct spec_token_run tokens = {1, CHUNKS};
static const struct kv_content content = {&tokens, 1, CHUNKS}; /* of a token each */
static struct kv_pieces found;
static int64_t threshold;

static void begin(enum kv_tier_order order, int64_t capacity, int64_t wanted)
{
    threshold = wanted;
    kv_stock_init(&stock, 1, kv_tier_planes(1));
    kv_tier_init(&tier, &stock, 1, 0, order, capacity);
}

static void end(void)
{
    kv_tier_release(&tier);
    kv_stock_release(&stock);
    base_vec_free(&found);
}

static bool offer(int64_t first, int64_t count)
{
    struct kv_path path = kv_stock_make(&stock, &content, first + count);
    struct kv_piece piece = kv_path_piece(&path, 0, first, first + count);
    struct kv_pieces offered = {&piece, 1, 1};
    return kv_tier_offer(&tier, &offered, threshold, &found);
}

static void store(int64_t first, int64_t count)
{
    ck_assert(offer(first, count));
    for (size_t i = 0; i < found.count; i++) {
        kv_tier_set_ready(&tier, &found.at[i]);
    }
}

static struct kv_path known(void)
{
    return kv_stock_find(&stock, &content, CHUNKS);
}

static bool has(int64_t chunk)
{
    struct kv_path path = known();
    return kv_tier_look(&tier, &path, 0, chunk, chunk + 1).strand != NULL;
}

static void touch(int64_t first, int64_t count)
{
    struct kv_path path = known();
    kv_tier_touch(&tier, &path, 0, first, first + count);
}

static void count_asked(int64_t count)
{
    struct kv_path path = kv_stock_make(&stock, &content, count);
    kv_tier_count_asked(&tier, &path, 0, 0, count);
}

static struct kv_piece piece_of(int64_t chunk)
{
    struct kv_path path = known();
    return kv_path_piece(&path, 0, chunk, chunk + 1);
}

START_TEST(the_least_recently_asked_goes_first)
{
    begin(KV_TIER_LRU, 4, 0);
    store(0, 4);
    touch(0, 1);
    store(4, 1);
    ck_assert(has(0) && !has(1) && has(2) && has(3) && has(4));
    ck_assert_int_eq(tier.evicted_chunks, 1);
    ck_assert_int_eq(kv_tier_chunk_count(&tier), 4);
    end();
}
END_TEST

START_TEST(a_sequence_loses_its_end_before_its_beginning)
{
    begin(KV_TIER_LRU, 4, 0);
    store(0, 4);
    touch(0, 4);
    store(4, 2);
    ck_assert(has(0) && has(1) && !has(2) && !has(3));
    end();
}
END_TEST

START_TEST(what_is_there_is_not_stored_again)
{
    begin(KV_TIER_LRU, 4, 0);
    store(0, 2);
    ck_assert(offer(0, 4));
    ck_assert_int_eq(kv_pieces_chunks(&found), 2);
    ck_assert_int_eq(found.at[0].lo, 2);
    ck_assert_int_eq(found.at[0].hi, 4);
    end();
}
END_TEST

START_TEST(pending_and_pinned_chunks_stay)
{
    begin(KV_TIER_LRU, 3, 0);
    store(0, 2);
    ck_assert(offer(2, 1)); // pending
    struct kv_piece first = piece_of(0);
    kv_tier_pin(&tier, &first);
    ck_assert(!offer(3, 2)); // only chunk 1 can go
    ck_assert_int_eq(tier.refused_stores, 1);
    ck_assert(has(0) && has(1) && has(2) && !has(3));
    ck_assert(offer(3, 1));
    ck_assert(has(0) && !has(1) && has(2) && has(3));
    first = piece_of(0);
    kv_tier_unpin(&tier, &first);
    ck_assert(offer(4, 1));
    ck_assert(!has(0));
    end();
}
END_TEST

START_TEST(an_offer_does_not_make_room_with_itself)
{
    begin(KV_TIER_LRU, 2, 0);
    store(0, 2);
    ck_assert(!offer(0, 3));
    ck_assert(has(0) && has(1));
    end();
}
END_TEST

START_TEST(a_refused_offer_leaves_no_content_behind)
{
    begin(KV_TIER_LRU, 2, 0);
    ck_assert(!offer(0, 3));
    ck_assert_uint_eq(stock.tree.node_count, 0);
    end();
}
END_TEST

START_TEST(a_threshold_waits_for_demand)
{
    begin(KV_TIER_LRU, 4, 2);
    store(0, 2);
    ck_assert(!has(0));
    count_asked(2);
    store(0, 2);
    ck_assert(!has(0));
    count_asked(1);
    store(0, 2);
    ck_assert(has(0) && !has(1));
    end();
}
END_TEST

START_TEST(arc_keeps_what_was_asked_for_again)
{
    begin(KV_TIER_ARC, 4, 0);
    store(0, 4);
    touch(0, 2); // 0 and 1 are frequent now
    store(4, 2); // 2 and 3 go, asked for once
    store(6, 2); // 4 and 5 as well
    ck_assert(has(0) && has(1) && !has(2) && !has(3) && !has(4) && !has(5));
    ck_assert_int_eq(tier.lists[KV_TIER_RECENT_GHOST].count, 4);
    end();
}
END_TEST

START_TEST(arc_learns_from_ghosts)
{
    begin(KV_TIER_ARC, 4, 0);
    store(0, 4);
    touch(0, 2);
    store(4, 2);
    ck_assert_double_eq(tier.recent_target, 0);
    touch(2, 1); // a ghost of the recent ones: they get more room
    ck_assert_double_eq(tier.recent_target, 1);
    touch(2, 1);
    touch(2, 1);
    ck_assert_double_eq(tier.recent_target, 3);
    store(6, 1); // two recent ones are fewer than their target: a frequent one goes
    ck_assert(has(4) && has(5) && has(6));
    ck_assert_int_eq(tier.lists[KV_TIER_FREQUENT_GHOST].count, 1);
    end();
}
END_TEST

/*
 * Contents that begin alike or not, offered, touched, pinned and counted whole or in part, in any order, against one chunk
 * after the other in a row of a table. The tree must come to nothing where nothing is left.
 */
enum { CONTENTS = 6, LENGTH = 9, IDS = CONTENTS * LENGTH };

/* The tier chunk by chunk: places[0] is the oldest one. */
struct plain {
    int capacity, count, held[IDS];
    bool pending[IDS];
    int pins[IDS];
};

static int id_of(int which, int chunk)
{
    return which % 3 == 0 && chunk < 4 ? chunk : which * LENGTH + chunk; // two of them begin alike
}

static int place_of(const struct plain *plain, int id)
{
    for (int i = 0; i < plain->count; i++) {
        if (plain->held[i] == id) {
            return i;
        }
    }
    return -1;
}

static void plain_remove(struct plain *plain, int place)
{
    memmove(&plain->held[place], &plain->held[place + 1],
            (size_t)(plain->count - place - 1) * sizeof *plain->held);
    plain->count--;
}

static void plain_touch(struct plain *plain, int which, int lo, int hi)
{
    for (int chunk = hi - 1; chunk >= lo; chunk--) {
        int id = id_of(which, chunk), place = place_of(plain, id);
        if (place >= 0) {
            plain_remove(plain, place);
            plain->held[plain->count++] = id;
        }
    }
}

static bool plain_may_go(const struct plain *plain, int place, int which, int lo, int hi)
{
    int id = plain->held[place];
    bool may = !plain->pending[id] && plain->pins[id] == 0;
    for (int chunk = lo; chunk < hi; chunk++) {
        may = may && id_of(which, chunk) != id;
    }
    return may;
}

static bool plain_make_room(struct plain *plain, int excess, int which, int lo, int hi)
{
    int may_go = 0;
    for (int i = 0; i < plain->count; i++) {
        may_go += plain_may_go(plain, i, which, lo, hi) ? 1 : 0;
    }
    if (may_go < excess) {
        return false;
    }
    for (int i = 0; excess > 0;) {
        if (plain_may_go(plain, i, which, lo, hi)) {
            plain_remove(plain, i);
            excess--;
        } else {
            i++;
        }
    }
    return true;
}

static bool plain_offer(struct plain *plain, int which, int lo, int hi)
{
    int missing = 0;
    for (int chunk = lo; chunk < hi; chunk++) {
        missing += place_of(plain, id_of(which, chunk)) < 0 ? 1 : 0;
    }
    if (missing > 0 &&
        !plain_make_room(plain, plain->count + missing - plain->capacity, which, lo, hi)) {
        return false;
    }
    for (int chunk = lo; chunk < hi; chunk++) {
        int id = id_of(which, chunk);
        if (place_of(plain, id) < 0) {
            plain->held[plain->count++] = id;
            plain->pending[id] = true;
            plain->pins[id] = 0;
        }
    }
    return true;
}

/* Chunks that a transfer moves: pending ones, or pinned ones. */
struct moving {
    struct kv_pieces pieces;
    int which, lo, hi;
    bool is_pin;
};

static struct kv_content content_of(int which, struct spec_token_run runs[2])
{
    runs[0] = (struct spec_token_run){which % 3 == 0 ? 1 : 100 * (which + 1), 4};
    runs[1] = (struct spec_token_run){100 * (which + 1) + 4, LENGTH - 4};
    return (struct kv_content){runs, 2, LENGTH};
}

/* The id of a strand's chunk, told by the first token of its block. */
static int id_in(const struct kv_strand *strand, int64_t chunk)
{
    const struct kv_node *node = strand->node;
    while (node->begin > chunk) {
        node = node->parent;
    }
    struct kv_cursor at = kv_cursor_at(&node->content, chunk - node->begin);
    int64_t token = at.content->runs[at.run].first + at.offset;
    return token < 100 ? (int)token - 1 : (int)(token / 100 - 1) * LENGTH + (int)(token % 100);
}

static bool is_as(const struct plain *plain, int place, const struct kv_strand *strand, int64_t i)
{
    int64_t chunk = strand->is_rising ? strand->lo + i : strand->hi - 1 - i;
    int id = place < plain->count ? plain->held[place] : -1;
    return id >= 0 && id_in(strand, chunk) == id && strand->is_ready == !plain->pending[id] &&
           strand->readers == plain->pins[id];
}

static void check_same(const struct plain *plain)
{
    int place = 0;
    for (const struct kv_strand *strand = tier.lists[KV_TIER_RECENT].oldest; strand != NULL;
         strand = strand->younger) {
        for (int64_t i = 0; i < kv_strand_chunks(strand); i++, place++) {
            if (!is_as(plain, place, strand, i)) {
                ck_abort_msg("chunk %d from the oldest on", place);
            }
        }
    }
    ck_assert_int_eq(place, plain->count);
    ck_assert_int_eq(kv_tier_chunk_count(&tier), plain->count);
}

static void end_moving(struct plain *plain, struct moving *moving)
{
    for (size_t i = 0; i < moving->pieces.count; i++) {
        const struct kv_piece *piece = &moving->pieces.at[i];
        if (moving->is_pin) {
            kv_tier_unpin(&tier, piece);
        } else {
            kv_tier_set_ready(&tier, piece);
        }
        for (int64_t chunk = piece->lo; chunk < piece->hi; chunk++) {
            int id = id_of(moving->which, (int)chunk);
            plain->pins[id] -= moving->is_pin ? 1 : 0;
            plain->pending[id] = moving->is_pin && plain->pending[id];
        }
    }
    kv_pieces_forget(&stock, &moving->pieces);
    base_vec_free(&moving->pieces);
}

static void begin_store(struct plain *plain, struct moving *moving, const struct kv_content *of)
{
    struct kv_path path = kv_stock_make(&stock, of, moving->hi);
    struct kv_piece piece = kv_path_piece(&path, 0, moving->lo, moving->hi);
    struct kv_pieces offered = {&piece, 1, 1};
    bool fits = kv_tier_offer(&tier, &offered, 0, &found);
    ck_assert_int_eq(plain_offer(plain, moving->which, moving->lo, moving->hi), fits);
    for (size_t i = 0; i < found.count; i++) {
        kv_pieces_keep(&moving->pieces, &found.at[i]);
    }
}

static void begin_pin(struct plain *plain, struct moving *moving, const struct kv_content *of)
{
    struct kv_path path = kv_stock_find(&stock, of, moving->hi);
    moving->is_pin = true;
    for (int64_t at = moving->lo; at < moving->hi;) {
        struct kv_alike alike = kv_tier_look(&tier, &path, 0, at, moving->hi);
        if (alike.strand != NULL && alike.strand->is_ready) {
            struct kv_piece piece = kv_path_piece(&path, 0, alike.lo, alike.hi);
            kv_tier_pin(&tier, &piece);
            kv_pieces_keep(&moving->pieces, &piece);
            for (int64_t chunk = alike.lo; chunk < alike.hi; chunk++) {
                plain->pins[id_of(moving->which, (int)chunk)]++;
            }
        }
        at = alike.hi;
    }
}

START_TEST(strands_do_what_their_chunks_would_do)
{
    enum { STEPS = 20000, MOVING = 3 };
    static struct plain plain;
    struct moving moving[MOVING] = {{{0}, 0, 0, 0, false}};
    uint64_t dice = 1, refused = 0;
    plain = (struct plain){.capacity = 20};
    begin(KV_TIER_LRU, plain.capacity, 0);
    for (int step = 0; step < STEPS; step++) {
        dice = base_mix64(dice + 1);
        int which = (int)(dice % CONTENTS), lo = (int)(dice / 8 % LENGTH);
        int hi = lo + 1 + (int)(dice / 128 % (uint64_t)(LENGTH - lo));
        struct spec_token_run runs[2];
        struct kv_content of = content_of(which, runs);
        struct moving *slot = &moving[dice / 4096 % MOVING];
        end_moving(&plain, slot);
        *slot = (struct moving){.which = which, .lo = lo, .hi = hi};
        switch (dice / 65536 % 3) {
        case 0:
            begin_store(&plain, slot, &of);
            refused += slot->pieces.count == 0 ? 1 : 0;
            break;
        case 1:
            begin_pin(&plain, slot, &of);
            break;
        default: {
            struct kv_path path = kv_stock_find(&stock, &of, hi);
            kv_tier_touch(&tier, &path, 0, lo, hi);
            plain_touch(&plain, which, lo, hi);
        } break;
        }
        check_same(&plain);
    }
    ck_assert_uint_gt(refused, 0);
    for (int i = 0; i < MOVING; i++) {
        end_moving(&plain, &moving[i]);
    }
    end();
}
END_TEST

CHECK_MAIN("kv.tier", the_least_recently_asked_goes_first,
           a_sequence_loses_its_end_before_its_beginning, what_is_there_is_not_stored_again,
           pending_and_pinned_chunks_stay, an_offer_does_not_make_room_with_itself,
           a_refused_offer_leaves_no_content_behind, a_threshold_waits_for_demand,
           arc_keeps_what_was_asked_for_again, arc_learns_from_ghosts,
           strands_do_what_their_chunks_would_do)
