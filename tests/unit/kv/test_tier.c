/*
 * The tier's chunks: what is held, pending and pinned, which ones go first, and that nothing changes where a store is refused.
 */
#include "kv/tier.h"

#include "support/check_main.h"

enum { KEYS = 16 };

static struct kv_tier tier;
static struct base_hash keys[KEYS];
static struct kv_chunks chunks;
static struct kv_places places;

static int64_t threshold;

static void begin(enum kv_tier_order order, int64_t capacity, int64_t wanted)
{
    threshold = wanted;
    kv_tier_init(&tier, order, capacity);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = (struct base_hash){base_mix64(i), i};
    }
}

static void end(void)
{
    kv_tier_release(&tier);
    base_vec_free(&chunks);
    base_vec_free(&places);
}

static bool offer(size_t first, size_t count)
{
    return kv_tier_offer(&tier, keys + first, (int64_t)count, threshold, &chunks, &places);
}

static void store(size_t first, size_t count)
{
    ck_assert(offer(first, count));
    for (size_t i = 0; i < chunks.count; i++) {
        kv_tier_set_ready(&tier, chunks.at[i]);
    }
}

static bool has(size_t key)
{
    return kv_tier_find(&tier, &keys[key]) != NULL;
}

START_TEST(the_least_recently_asked_goes_first)
{
    begin(KV_TIER_LRU, 4, 0);
    store(0, 4);
    kv_tier_touch(&tier, &keys[0], 1);
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
    kv_tier_touch(&tier, keys, 4);
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
    ck_assert_uint_eq(chunks.count, 2);
    ck_assert_int_eq(places.at[0], 2);
    ck_assert_int_eq(places.at[1], 3);
    end();
}
END_TEST

START_TEST(pending_and_pinned_chunks_stay)
{
    begin(KV_TIER_LRU, 3, 0);
    store(0, 2);
    ck_assert(offer(2, 1)); // pending
    kv_tier_pin(&tier, kv_tier_find(&tier, &keys[0]));
    ck_assert(!offer(3, 2)); // only key 1 can go
    ck_assert_int_eq(tier.refused_stores, 1);
    ck_assert(has(0) && has(1) && has(2) && !has(3));
    ck_assert(offer(3, 1));
    ck_assert(has(0) && !has(1) && has(2) && has(3));
    kv_tier_unpin(&tier, kv_tier_find(&tier, &keys[0]));
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

START_TEST(a_threshold_waits_for_demand)
{
    begin(KV_TIER_LRU, 4, 2);
    store(0, 2);
    ck_assert(!has(0));
    kv_tier_count_asked(&tier, keys, 2);
    store(0, 2);
    ck_assert(!has(0));
    kv_tier_count_asked(&tier, keys, 1);
    store(0, 2);
    ck_assert(has(0) && !has(1));
    end();
}
END_TEST

START_TEST(arc_keeps_what_was_asked_for_again)
{
    begin(KV_TIER_ARC, 4, 0);
    store(0, 4);
    kv_tier_touch(&tier, keys, 2); // 0 and 1 are frequent now
    store(4, 2);                   // 2 and 3 go, asked for once
    store(6, 2);                   // 4 and 5 as well
    ck_assert(has(0) && has(1) && !has(2) && !has(3) && !has(4) && !has(5));
    ck_assert_int_eq(tier.lists[KV_TIER_RECENT_GHOST].count, 4);
    end();
}
END_TEST

START_TEST(arc_learns_from_ghosts)
{
    begin(KV_TIER_ARC, 4, 0);
    store(0, 4);
    kv_tier_touch(&tier, keys, 2);
    store(4, 2);
    ck_assert_double_eq(tier.recent_target, 0);
    kv_tier_touch(&tier, &keys[2], 1); // a ghost of the recent ones: they get more room
    ck_assert_double_eq(tier.recent_target, 1);
    kv_tier_touch(&tier, &keys[2], 1);
    kv_tier_touch(&tier, &keys[2], 1);
    ck_assert_double_eq(tier.recent_target, 3);
    store(6, 1); // two recent ones are fewer than their target: a frequent one goes
    ck_assert(has(4) && has(5) && has(6));
    ck_assert_int_eq(tier.lists[KV_TIER_FREQUENT_GHOST].count, 1);
    end();
}
END_TEST

/* Sequences of keys that begin alike or not, touched whole, touched in part, offered and dropped, in any order. */
static void check_same(const struct kv_tier *a, const struct kv_tier *b)
{
    const struct kv_chunk *x = a->lists[KV_TIER_RECENT].oldest,
                          *y = b->lists[KV_TIER_RECENT].oldest;
    for (; x != NULL && y != NULL; x = x->younger, y = y->younger) {
        ck_assert_uint_eq(x->key.a, y->key.a);
    }
    ck_assert(x == NULL && y == NULL);
}

static void offer_to(struct kv_tier *to, const struct base_hash *first, int64_t count)
{
    if (kv_tier_offer(to, first, count, 0, &chunks, &places)) {
        for (size_t i = 0; i < chunks.count; i++) {
            kv_tier_set_ready(to, chunks.at[i]);
        }
    }
}

START_TEST(a_run_is_moved_as_its_chunks_would_be)
{
    enum { SEQUENCES = 6, LENGTH = 9, STEPS = 20000 };
    struct base_hash of[SEQUENCES][LENGTH];
    struct kv_run runs[SEQUENCES] = {{0}};
    struct kv_tier plain;
    uint64_t dice = 1, whole = 0;
    begin(KV_TIER_LRU, 30, 0);
    kv_tier_init(&plain, KV_TIER_LRU, 30);
    for (uint64_t s = 0; s < SEQUENCES; s++) {
        for (uint64_t i = 0; i < LENGTH; i++) {
            uint64_t key = s % 3 == 0 && i < 3 ? i : 100 * s + i; // two of them begin alike
            of[s][i] = (struct base_hash){base_mix64(key + 1), key};
        }
    }
    for (int step = 0; step < STEPS; step++) {
        dice = base_mix64(dice + 1);
        size_t s = (size_t)(dice % SEQUENCES), first = (size_t)(dice / 8 % LENGTH);
        int64_t count = (int64_t)(LENGTH - first);
        switch (dice / 128 % 8) {
        case 0:
            offer_to(&tier, &of[s][first], count);
            offer_to(&plain, &of[s][first], count);
            break;
        case 1:
            kv_tier_touch(&tier, &of[s][first], count);
            kv_tier_touch(&plain, &of[s][first], count);
            break;
        default:
            whole += kv_tier_run_is_whole(&tier, &runs[s]) ? 1 : 0;
            kv_tier_touch_run(&tier, of[s], LENGTH, &runs[s]);
            kv_tier_touch(&plain, of[s], LENGTH);
            break;
        }
        check_same(&tier, &plain);
    }
    ck_assert_uint_gt(whole, STEPS / 10);
    for (size_t s = 0; s < SEQUENCES; s++) {
        kv_run_release(&runs[s]);
    }
    kv_tier_release(&plain);
    end();
}
END_TEST

CHECK_MAIN("kv.tier", a_run_is_moved_as_its_chunks_would_be, the_least_recently_asked_goes_first,
           a_sequence_loses_its_end_before_its_beginning, what_is_there_is_not_stored_again,
           pending_and_pinned_chunks_stay, an_offer_does_not_make_room_with_itself,
           a_threshold_waits_for_demand, arc_keeps_what_was_asked_for_again, arc_learns_from_ghosts)
