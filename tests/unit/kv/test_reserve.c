#include "kv/reserve.h"

#include "support/check_main.h"

/* Tokens of one byte in blocks of four; 10 blocks, one of them outside use. */
static struct spec_kv_layout layout = {.group_count = 1,
                                       .lower_bound_bytes_per_token = 1,
                                       .slot_bytes = 1,
                                       .block_bytes = 4,
                                       .block_tokens = 4};

static void begin(struct kv_paged *pool, enum kv_policy policy)
{
    layout.groups[0] = (struct spec_kv_slot){.kind = SPEC_KV_FULL,
                                             .layer_count = 1,
                                             .block_tokens = 4,
                                             .lower_bound_bytes = 1,
                                             .slot_bytes = 1,
                                             .block_bytes = 4};
    kv_paged_init(pool, &layout, 10, 1);
    pool->policy = policy;
    pool->longest_tokens = 25;
}

START_TEST(promises_are_those_of_the_policy)
{
    struct kv_paged pool;
    begin(&pool, KV_RESERVED_MAX);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 3, 2), 25);
    begin(&pool, KV_RESERVED_EXACT);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 3, 5), 8);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 20, 9), 25); // no sequence is longer
    begin(&pool, KV_RESERVED_POW2);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 3, 5), 11);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 3, 8), 11);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 3, 1), 4);
    ck_assert_int_eq(kv_reserve_tokens(&pool, 23, 3), 25);
    static const enum kv_policy others[] = {KV_PAGED, KV_CONCAT, KV_NO_CACHE, KV_UNLIMITED};
    for (size_t i = 0; i < 4; i++)
        ck_assert(!kv_policy_reserves(others[i]));
}
END_TEST

START_TEST(every_value_of_a_key_has_its_own_place)
{
    for (int i = 0; kv_policy_choices[i].name != NULL; i++)
        ck_assert_int_eq(kv_policy_choices[i].value, i);
    for (int i = 0; kv_placement_choices[i].name != NULL; i++)
        ck_assert_int_eq(kv_placement_choices[i].value, i);
}
END_TEST

START_TEST(what_is_taken_comes_back)
{
    struct kv_paged pool;
    struct kv_promise a = {0}, b = {0};
    begin(&pool, KV_RESERVED_EXACT);
    ck_assert(kv_reserve_take(&pool, 13, &a)); // 4 blocks
    ck_assert_int_eq(pool.free_blocks, 5);
    ck_assert_int_eq(pool.promised_tokens, 13);
    ck_assert(kv_reserve_fits(&pool, 20, 0));
    ck_assert(!kv_reserve_fits(&pool, 20, 1)); // one block is to stay free
    ck_assert(!kv_reserve_take(&pool, 21, &b));
    ck_assert_int_eq(b.blocks, 0);
    ck_assert(kv_reserve_take(&pool, 20, &b));
    kv_reserve_give(&pool, &a);
    kv_reserve_give(&pool, &b);
    ck_assert_int_eq(a.tokens, 0);
    ck_assert_int_eq(pool.free_blocks, 9);
    ck_assert_int_eq(pool.promised_tokens, 0);
}
END_TEST

START_TEST(with_addresses_free_blocks_can_be_of_no_use)
{
    struct kv_paged pool;
    struct kv_space space;
    struct kv_promise held[3] = {{0}};
    begin(&pool, KV_RESERVED_EXACT);
    kv_space_init(&space, KV_FIRST_FIT, pool.free_blocks);
    pool.space = &space;
    for (size_t i = 0; i < 3; i++)
        ck_assert(kv_reserve_take(&pool, 12, &held[i])); // 3 blocks each: the pool is full
    ck_assert_int_eq(held[2].at, 6);
    kv_reserve_give(&pool, &held[0]);
    kv_reserve_give(&pool, &held[2]);
    ck_assert_int_eq(pool.free_blocks, 6);
    ck_assert(kv_reserve_fits(&pool, 12, 0));
    ck_assert(!kv_reserve_fits(&pool, 13, 0)); // six are free, three in a row
    kv_reserve_give(&pool, &held[1]);
    ck_assert(kv_reserve_fits(&pool, 36, 0));
    kv_space_release(&space);
}
END_TEST

START_TEST(a_buddy_takes_more_than_it_was_asked_for)
{
    struct kv_paged pool;
    struct kv_space space;
    struct kv_promise held = {0};
    begin(&pool, KV_RESERVED_EXACT);
    kv_space_init(&space, KV_BUDDY, pool.free_blocks);
    pool.space = &space;
    ck_assert(kv_reserve_take(&pool, 18, &held)); // 5 blocks in 8
    ck_assert_int_eq(held.blocks, 8);
    ck_assert_int_eq(pool.free_blocks, 1);
    struct kv_ledger ledger;
    struct kv_paged_state state = {.live_tokens = 7,
                                   .used_blocks = kv_paged_used_blocks(&pool),
                                   .promised_tokens = kv_paged_promised_tokens(&pool)};
    state.fragmented_blocks = 1;
    kv_paged_ledger(&pool, &state, &ledger);
    ck_assert(kv_ledger_is_exact(&ledger));
    ck_assert_int_eq(ledger.lower_bound_bytes, 7);
    ck_assert_int_eq(ledger.reserved_bytes, 11);
    ck_assert_int_eq(ledger.block_rounding_bytes, 14);
    ck_assert_int_eq(ledger.fragmented_bytes, 4);
    ck_assert_int_eq(ledger.free_bytes, 0);
    kv_reserve_give(&pool, &held);
    ck_assert_int_eq(pool.free_blocks, 9);
    kv_space_release(&space);
}
END_TEST

START_TEST(a_tensor_doubles_up_to_the_longest_sequence)
{
    struct kv_paged pool;
    struct spec_kv_layout slots = layout;
    slots.block_tokens = 1;
    slots.block_bytes = 1;
    kv_paged_init(&pool, &slots, 100, 0);
    pool.policy = KV_CONCAT_DOUBLING;
    pool.longest_tokens = 25;
    static const int64_t held[][2] = {{0, 0}, {1, 1},   {2, 2},   {3, 4},
                                      {5, 8}, {16, 16}, {17, 25}, {25, 25}};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        ck_assert_int_eq(kv_reserve_held_blocks(&pool, held[i][0]), held[i][1]);
    ck_assert(kv_paged_take(&pool, 25));
    ck_assert_int_eq(kv_paged_promised_tokens(&pool), 25);
    pool.policy = KV_CONCAT;
    ck_assert_int_eq(kv_reserve_held_blocks(&pool, 17), 17);
    ck_assert_int_eq(kv_paged_promised_tokens(&pool), 0);
}
END_TEST

static int64_t all_of_it(const void *context, const struct kv_promise *promise)
{
    (void)context;
    return promise->tokens;
}

// Nine blocks are full; the first and the third come back. One neighbour moves, and the hole is long enough.
START_TEST(compaction_moves_no_more_than_it_must)
{
    struct kv_paged pool;
    struct kv_space space;
    struct kv_promise held[6] = {{0}}, next = {0};
    begin(&pool, KV_RESERVED_EXACT);
    kv_space_init(&space, KV_FIRST_FIT, pool.free_blocks);
    pool.space = &space;
    pool.compacts = true;
    pool.kept_tokens = all_of_it;
    for (int i = 0; i < 6; i++)
        ck_assert(kv_reserve_take(&pool, i < 5 ? 3 : 16, &held[i]));
    ck_assert_int_eq(pool.free_blocks, 0);
    kv_reserve_give(&pool, &held[0]);
    kv_reserve_give(&pool, &held[2]);
    ck_assert(kv_reserve_fits(&pool, 8, 0));
    ck_assert(kv_reserve_take(&pool, 8, &next));
    ck_assert_int_eq(next.at, 1);
    ck_assert_int_eq(held[1].at, 0);
    ck_assert_int_eq(held[3].at, 3);
    ck_assert_int_eq(pool.moved_tokens, 3);
    ck_assert(kv_space_is_sound(&space));
    kv_reserve_release(&pool);
    kv_space_release(&space);
}
END_TEST

CHECK_MAIN("kv.reserve", a_tensor_doubles_up_to_the_longest_sequence,
           promises_are_those_of_the_policy, every_value_of_a_key_has_its_own_place,
           what_is_taken_comes_back, with_addresses_free_blocks_can_be_of_no_use,
           a_buddy_takes_more_than_it_was_asked_for, compaction_moves_no_more_than_it_must)
