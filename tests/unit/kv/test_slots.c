#include "kv/slots.h"

#include "support/check_main.h"

static const struct kv_tables plain = {
    .block_tokens = 1, .block_bytes = 1, .growing_tables = 1, .full_tables = 1};

static struct kv_cells cells_of(uint32_t slots, int64_t stream_cells, bool is_shared)
{
    struct kv_cells cells = {.group_count = 1,
                             .slots = slots,
                             .streams = is_shared ? 1 : slots,
                             .stream_cells = stream_cells};
    cells.groups[0] = (struct kv_cells_group){.cells = stream_cells, .streams = cells.streams};
    return cells;
}

static struct kv_slots_options usual(bool is_shared)
{
    return (struct kv_slots_options){
        .is_shared = is_shared, .keeps_content = true, .similarity = {1, 10}};
}

/* A content of one run; the answer's tokens follow. */
struct text {
    struct spec_token_run runs[2];
    struct kv_content content;
};

static struct kv_content *text_of(struct text *text, int64_t first, int64_t tokens)
{
    text->runs[0] = (struct spec_token_run){first, tokens};
    text->content = (struct kv_content){text->runs, 1, tokens};
    return &text->content;
}

static struct kv_content *then(struct text *text, int64_t first, int64_t tokens)
{
    text->runs[1] = (struct spec_token_run){first, tokens};
    text->content.run_count = 2;
    text->content.token_count += tokens;
    return &text->content;
}

// Serves a request at once; returns its slot.
static size_t serve(struct kv_slots *slots, const struct kv_content *content, int64_t prompt,
                    int64_t *found)
{
    size_t number = kv_slots_choose(slots, content, prompt);
    *found = kv_slots_take(slots, number, content, prompt);
    kv_slots_give(slots, number, content, content->token_count);
    return number;
}

START_TEST(never_used_slots_come_from_the_back)
{
    struct kv_cells cells = cells_of(3, 100, false);
    struct kv_slots slots;
    struct kv_slots_options options = usual(false);
    struct text text;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    ck_assert_uint_eq(serve(&slots, text_of(&text, 1000, 10), 10, &found), 2);
    ck_assert_uint_eq(serve(&slots, text_of(&text, 2000, 10), 10, &found), 1);
    ck_assert_uint_eq(serve(&slots, text_of(&text, 3000, 10), 10, &found), 0);
    ck_assert_uint_eq(serve(&slots, text_of(&text, 4000, 10), 10, &found), 2);
    ck_assert_int_eq(slots.kept_tokens, 30);
    ck_assert_int_eq(slots.lost_tokens, 10);
    ck_assert_int_eq(kv_slots_empty_cells(&slots, 0), 270);
    kv_slots_release(&slots);
}
END_TEST

START_TEST(a_conversation_comes_back_to_its_slot)
{
    struct kv_cells cells = cells_of(2, 100, false);
    struct kv_slots slots;
    struct kv_slots_options options = usual(false);
    struct text first, other, second;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    text_of(&first, 1000, 20);
    ck_assert_uint_eq(serve(&slots, then(&first, 5000, 10), 20, &found), 1);
    ck_assert_uint_eq(serve(&slots, text_of(&other, 2000, 10), 10, &found), 0);
    // Prompt, answer and a new question; the least recently used one would be slot 1 too, so take it first.
    text_of(&second, 2000, 10);
    ck_assert_uint_eq(serve(&slots, then(&second, 7000, 5), 15, &found), 0);
    ck_assert_int_eq(found, 10);
    struct spec_token_run runs[] = {{1000, 20}, {5000, 10}, {9000, 6}};
    struct kv_content turn = {runs, 3, 36};
    ck_assert_uint_eq(serve(&slots, &turn, 36, &found), 1);
    ck_assert_int_eq(found, 30);
    kv_slots_release(&slots);
}
END_TEST

// A tenth of the prompt is not more than a tenth; one token more is.
START_TEST(similarity_is_a_share_of_the_prompt)
{
    struct kv_cells cells = cells_of(2, 200, false);
    struct kv_slots slots;
    struct kv_slots_options options = usual(false);
    struct text text;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    serve(&slots, text_of(&text, 1000, 11), 11, &found); // slot 1
    serve(&slots, text_of(&text, 2000, 10), 10, &found); // slot 0
    serve(&slots, text_of(&text, 1000, 5), 5, &found);   // slot 1, kept 5
    struct text part;
    text_of(&part, 2000, 10);
    then(&part, 8000, 90);
    ck_assert_uint_eq(kv_slots_choose(&slots, &part.content, 100), 0); // by age, too
    serve(&slots, text_of(&text, 3000, 4), 4, &found);                 // slot 0: 2000 is gone
    text_of(&part, 1000, 5);
    then(&part, 8000, 45);
    ck_assert_uint_eq(kv_slots_choose(&slots, &part.content, 50), 1);
    serve(&slots, &part.content, 50, &found); // slot 1 is the younger one now
    text_of(&part, 1000, 5);
    then(&part, 9000, 45);
    ck_assert_uint_eq(kv_slots_choose(&slots, &part.content, 50), 0); // 5 of 50 is not more
    ck_assert_uint_eq(kv_slots_choose(&slots, &part.content, 49), 1); // 5 of 49 is
    kv_slots_release(&slots);
}
END_TEST

START_TEST(one_token_is_always_computed)
{
    struct kv_cells cells = cells_of(1, 100, false);
    struct kv_slots slots;
    struct kv_slots_options options = usual(false);
    struct text text;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    serve(&slots, text_of(&text, 1000, 10), 10, &found);
    serve(&slots, text_of(&text, 1000, 10), 10, &found);
    ck_assert_int_eq(found, 9);
    ck_assert_int_eq(slots.lost_tokens, 1);
    kv_slots_release(&slots);
}
END_TEST

START_TEST(waiting_slots_are_cleared_in_order)
{
    struct kv_cells cells = cells_of(3, 100, true);
    struct kv_slots slots;
    struct kv_slots_options options = usual(true);
    struct text text;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    serve(&slots, text_of(&text, 1000, 10), 10, &found); // slot 2
    serve(&slots, text_of(&text, 2000, 20), 20, &found); // slot 1
    size_t busy = kv_slots_choose(&slots, text_of(&text, 3000, 5), 5);
    ck_assert_uint_eq(busy, 0);
    kv_slots_take(&slots, busy, &text.content, 5);
    ck_assert_int_eq(kv_slots_empty_cells(&slots, 5), 65);
    ck_assert(kv_slots_clear_one(&slots));
    ck_assert_int_eq(slots.kept_tokens, 10);
    ck_assert(kv_slots_clear_one(&slots));
    ck_assert(!kv_slots_clear_one(&slots));
    ck_assert_int_eq(slots.kept_sequences, 0);
    ck_assert_int_eq(slots.lost_tokens, 30);
    kv_slots_release(&slots);
}
END_TEST

/* A window of 4 in a ring of 10: of 30 tokens the last 10 are there. */
static void begin_ring(struct kv_slots *slots, struct kv_cells *cells, struct kv_tables *tables,
                       bool is_shared)
{
    *cells = cells_of(1, 100, is_shared);
    cells->groups[cells->group_count++] = (struct kv_cells_group){
        .kind = SPEC_KV_SLIDING, .window_tokens = 4, .cells = 10, .streams = 1};
    *tables = plain;
    tables->windows[tables->window_count++] =
        (struct kv_window){.kind = SPEC_KV_SLIDING, .tokens = 4, .block_tokens = 1};
    struct kv_slots_options options = usual(is_shared);
    kv_slots_init(slots, cells, tables, &options);
}

static int64_t found_after(bool is_shared, int64_t common)
{
    struct kv_slots slots;
    struct kv_cells cells;
    struct kv_tables tables;
    struct text text;
    int64_t found;
    begin_ring(&slots, &cells, &tables, is_shared);
    serve(&slots, text_of(&text, 1000, 30), 30, &found);
    ck_assert_int_eq(slots.kept_visible_tokens[0], 4);
    text_of(&text, 1000, common);
    serve(&slots, then(&text, 7000, 5), common + 5, &found);
    kv_slots_release(&slots);
    return found;
}

START_TEST(a_ring_reaches_back_so_far)
{
    ck_assert_int_eq(found_after(false, 30), 30);
    ck_assert_int_eq(found_after(false, 24),
                     24); // positions from 20 on are there: 24 sees 20 ... 23
    ck_assert_int_eq(found_after(false, 23), 0);
    ck_assert_int_eq(found_after(true, 30), 30);
    ck_assert_int_eq(found_after(true, 29), 0); // shared: who knows what lies behind the window
}
END_TEST

START_TEST(a_state_is_gone_on_from_at_its_end_only)
{
    struct kv_cells cells = cells_of(1, 100, false);
    cells.groups[cells.group_count++] =
        (struct kv_cells_group){.kind = SPEC_KV_STATE, .cells = 1, .streams = 1};
    struct kv_slots slots;
    struct kv_slots_options options = usual(false);
    struct text text;
    int64_t found;
    kv_slots_init(&slots, &cells, &plain, &options);
    serve(&slots, text_of(&text, 1000, 30), 30, &found);
    serve(&slots, text_of(&text, 1000, 40), 40, &found);
    ck_assert_int_eq(found, 30);
    serve(&slots, text_of(&text, 1000, 20), 20, &found);
    ck_assert_int_eq(found, 0);
    serve(&slots, text_of(&text, 1000, 20), 20, &found);
    ck_assert_int_eq(found, 0); // the last token would have to be computed from the state before it
    kv_slots_release(&slots);
}
END_TEST

CHECK_MAIN("kv.slots", never_used_slots_come_from_the_back, a_conversation_comes_back_to_its_slot,
           similarity_is_a_share_of_the_prompt, one_token_is_always_computed,
           waiting_slots_are_cleared_in_order, a_ring_reaches_back_so_far,
           a_state_is_gone_on_from_at_its_end_only)
