/*
 * Host memory behind a radix tree by hand: what is copied when, what stays of what leaves the pool, and who makes room.
 * Against a naive tree, under the scheduler: tests/property.
 */
#include "base/mem.h"
#include "kv/radix.h"

#include "support/check_main.h"

enum { PAGE = 4, PAGES = 8 };

struct text {
    struct spec_token_run runs[16];
    struct kv_content content;
};

// "aab": pages of equal letters are the same.
static void set_text(struct text *text, const char *letters)
{
    *text = (struct text){.content.runs = text->runs};
    for (size_t i = 0; letters[i] != '\0'; i++) {
        text->runs[i] = (struct spec_token_run){1000 * (int64_t)letters[i], PAGE};
        text->content.run_count++;
        text->content.token_count += PAGE;
    }
}

static int64_t length(const struct text *text)
{
    return text->content.token_count / PAGE;
}

struct run {
    struct text text;
    struct kv_radix_seq seq;
    int64_t found, found_host;
};

static struct kv_radix made(enum kv_backup when, int32_t uses, int64_t capacity)
{
    struct kv_radix radix;
    kv_radix_init(&radix, PAGE, PAGES, KV_EVICT_LRU);
    kv_radix_set_host(&radix, when, uses, capacity, false);
    return radix;
}

/* Is looked up and runs, with pages for all of its content. */
static void begin(struct kv_radix *radix, struct run *run, const char *letters, bool is_loaded)
{
    *run = (struct run){.found = 0};
    set_text(&run->text, letters);
    run->seq.content = &run->text.content;
    struct kv_radix_match match;
    kv_radix_match(radix, &run->text.content, length(&run->text), &match);
    run->found = match.blocks;
    run->found_host = match.host_blocks;
    match.is_loaded = is_loaded;
    kv_radix_hold(radix, &run->seq, &match);
    kv_radix_take(radix, length(&run->text) - match.blocks);
    if (is_loaded) {
        kv_radix_load(radix, &run->seq);
    }
}

static void end(struct kv_radix *radix, struct run *run)
{
    kv_radix_end(radix, &run->seq, length(&run->text), length(&run->text));
}

/* Copies made since the last time, whose transfer ends at once. */
static int64_t copied(struct kv_radix *radix)
{
    struct kv_node *source;
    int64_t blocks = kv_radix_take_backup(radix, &source);
    if (blocks > 0) {
        kv_radix_unpin(radix, source);
    }
    return blocks;
}

/* From beginning to end, alone; returns what was copied. */
static int64_t pass(struct kv_radix *radix, const char *letters)
{
    struct run run;
    begin(radix, &run, letters, false);
    end(radix, &run);
    return copied(radix);
}

static int64_t found(struct kv_radix *radix, const char *letters, int64_t *host)
{
    struct text text;
    set_text(&text, letters);
    struct kv_radix_match match;
    kv_radix_match(radix, &text.content, length(&text), &match);
    *host = match.host_blocks;
    return match.blocks;
}

START_TEST(what_is_copied_is_locked_until_the_transfer_has_ended)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 100);
    struct run run;
    begin(&radix, &run, "abc", false);
    end(&radix, &run);
    struct kv_node *source;
    ck_assert_int_eq(kv_radix_take_backup(&radix, &source), 3);
    ck_assert_int_eq(radix.host.blocks, 3);
    ck_assert_int_eq(radix.pinned_blocks, 3);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES - 3);
    kv_radix_unpin(&radix, source);
    ck_assert_int_eq(radix.pinned_blocks, 0);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_second_use_copies_what_it_passes_over)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 2, 100);
    ck_assert_int_eq(pass(&radix, "abc"), 0);
    ck_assert_int_eq(pass(&radix, "abd"), 2); // a and b for the second time, d for the first
    ck_assert_int_eq(pass(&radix, "abc"), 1);
    ck_assert_int_eq(pass(&radix, "abc"), 0); // all there
    ck_assert_int_eq(radix.host.blocks, 3);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_chunk_is_copied_when_its_prompt_is_there)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 100);
    struct run run;
    begin(&radix, &run, "abcd", false);
    kv_radix_enter(&radix, &run.seq, 2, true);
    ck_assert_int_eq(copied(&radix), 0);
    kv_radix_enter(&radix, &run.seq, 3, false);
    ck_assert_int_eq(copied(&radix), 3);
    end(&radix, &run);
    ck_assert_int_eq(copied(&radix), 1);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_leaves_the_pool_stays_with_its_copy_and_comes_back)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 100);
    int64_t host;
    pass(&radix, "abc");
    pass(&radix, "xyzuvw"); // 8 pages: abc has to go
    ck_assert_int_eq(found(&radix, "abcd", &host), 0);
    ck_assert_int_eq(host, 3);
    struct run run;
    begin(&radix, &run, "abcd", true);
    ck_assert_int_eq(run.found_host, 3);
    ck_assert_int_eq(radix.host.added_blocks, 9); // the copies are where they were
    end(&radix, &run);
    ck_assert_int_eq(copied(&radix), 1); // d
    ck_assert_int_eq(found(&radix, "abcd", &host), 4);
    ck_assert_int_eq(host, 0);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_is_not_loaded_is_computed_again_in_its_place)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 100);
    int64_t host;
    pass(&radix, "ab");
    pass(&radix, "abc");    // c is a piece of its own
    pass(&radix, "uvwxyz"); // takes c's page
    ck_assert_int_eq(found(&radix, "abcd", &host), 2);
    ck_assert_int_eq(host, 1);
    struct run run;
    begin(&radix, &run, "abcd", false);
    ck_assert_int_eq(run.seq.last->end, 2); // holds what lies in the pool
    end(&radix, &run);
    ck_assert_int_eq(copied(&radix), 1); // d alone: c has its copy still
    ck_assert_int_eq(found(&radix, "abcd", &host), 4);
    ck_assert_int_eq(radix.host.blocks, 3 + 6 + 1);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(only_what_has_left_the_pool_makes_room)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 7);
    int64_t host;
    pass(&radix, "abc");
    pass(&radix, "uvw");
    ck_assert_int_eq(radix.host.blocks, 6);
    ck_assert_int_eq(pass(&radix, "xy"), 0); // 8 pages: no one has left, no room
    ck_assert_int_eq(radix.host.refused, 1);
    ck_assert_int_eq(pass(&radix, "rs"), 2); // abc has left the pool now, and makes room
    ck_assert_int_eq(radix.host.evicted_blocks, 3);
    ck_assert_int_eq(found(&radix, "abc", &host), 0);
    ck_assert_int_eq(host, 0);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(nothing_is_copied_below_what_has_no_copy)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 2);
    ck_assert_int_eq(pass(&radix, "abc"), 0); // larger than all there is
    ck_assert_int_eq(pass(&radix, "abcd"), 0);
    ck_assert_int_eq(radix.host.refused, 2); // abc twice; d was not tried
    ck_assert_int_eq(pass(&radix, "xy"), 2);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_node_is_cut_where_room_ends)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 3);
    struct run run;
    int64_t host;
    begin(&radix, &run, "abcd", false);
    kv_radix_enter(&radix, &run.seq, 2, true); // pieces ab and cd, one node
    kv_radix_enter(&radix, &run.seq, 4, true);
    end(&radix, &run);
    ck_assert_int_eq(copied(&radix), 2);
    begin(&radix, &run, "uvwxyzrs", false); // the whole pool
    kv_radix_throw_out(&radix, &run.seq, PAGES);
    ck_assert_int_eq(found(&radix, "abcd", &host), 0);
    ck_assert_int_eq(host, 2);
    ck_assert_int_eq(pass(&radix, "uvwxyzrs"), 0); // makes room in vain, as the engine does
    ck_assert_int_eq(radix.host.blocks, 0);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_is_copied_at_eviction_is_written_piece_by_piece)
{
    struct kv_radix radix = made(KV_BACKUP_AT_EVICTION, 1, 3);
    int64_t host;
    ck_assert_int_eq(pass(&radix, "ab"), 0);
    pass(&radix, "abc");
    pass(&radix, "uvwxyz"); // 9 pages: c goes
    ck_assert_int_eq(kv_radix_take_written(&radix, NULL), 1);
    ck_assert_int_eq(found(&radix, "abc", &host), 2);
    ck_assert_int_eq(host, 1);
    pass(
        &radix,
        "rs"); // ab used last: the six go, for which there is no room, and c's place is gone for that
    ck_assert_int_eq(kv_radix_take_written(&radix, NULL), 0);
    ck_assert_int_eq(radix.host.blocks, 0);
    ck_assert_int_eq(found(&radix, "abc", &host), 2);
    ck_assert_int_eq(host, 0);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_comes_from_below_goes_on_from_what_is_there)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 100);
    struct kv_radix_match match;
    struct text text;
    int64_t host;
    pass(&radix, "ab");
    set_text(&text, "abcdef");
    kv_radix_match(&radix, &text.content, 6, &match);
    struct kv_radix_pin *pin = kv_radix_pin_host(&radix, match.last, match.last->end);
    pass(&radix, "abc"); // meanwhile c is there, as a piece of its own
    ck_assert(kv_radix_take_room(&radix, 3));
    ck_assert_int_eq(kv_radix_enter_host(&radix, match.last, &text.content, 5), 2); // d and e
    kv_radix_give_room(&radix, 1);
    kv_radix_unpin_host(&radix, pin);
    ck_assert_int_eq(found(&radix, "abcdef", &host), 3);
    ck_assert_int_eq(host, 2);
    ck_assert_int_eq(radix.host.blocks, 3 + 2);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_is_needed_below_stays)
{
    struct kv_radix radix = made(KV_BACKUP_AT_USE, 1, 8);
    struct kv_radix_match match;
    struct text text;
    int64_t host;
    pass(&radix, "ab");
    set_text(&text, "ab");
    kv_radix_match(&radix, &text.content, 2, &match);
    struct kv_radix_pin *pin = kv_radix_pin_host(&radix, match.last, match.last->end);
    pass(&radix, "uvwxyz");
    pass(&radix, "rst"); // ab has left the pool, but does not make room
    ck_assert_int_eq(found(&radix, "ab", &host), 0);
    ck_assert_int_eq(host, 2);
    kv_radix_unpin_host(&radix, pin);
    ck_assert(kv_radix_take_room(&radix, 4));
    ck_assert_int_eq(found(&radix, "ab", &host), 0);
    ck_assert_int_eq(host, 0);
    kv_radix_release(&radix);
}
END_TEST

/* ---- a tier below what is copied at eviction ---- */

static struct kv_radix made_with_below(int64_t capacity)
{
    struct kv_radix radix;
    kv_radix_init(&radix, PAGE, PAGES, KV_EVICT_LRU);
    kv_radix_set_host(&radix, KV_BACKUP_AT_EVICTION, 1, capacity, true);
    return radix;
}

/* "abcd" as one node of two pieces, ab and cd. */
static void pass_in_two(struct kv_radix *radix)
{
    struct run run;
    begin(radix, &run, "abcd", false);
    kv_radix_enter(radix, &run.seq, 2, true);
    end(radix, &run);
    ck_assert_uint_eq(radix->tree.node_count, 1);
}

/* So many pages are taken: the one piece that has to go for them, pinned. */
static struct kv_radix_piece written(struct kv_radix *radix, int64_t pages)
{
    struct kv_radix_pieces pieces = {0};
    kv_radix_take(radix, pages);
    int64_t blocks = kv_radix_take_written(radix, &pieces);
    ck_assert_uint_eq(pieces.count, 1);
    ck_assert_int_eq(pieces.at[0].blocks, blocks);
    struct kv_radix_piece piece = pieces.at[0];
    base_vec_free(&pieces);
    return piece;
}

static void check_content(struct kv_radix *radix, const struct kv_radix_piece *piece,
                          const char *letters)
{
    struct text text;
    set_text(&text, letters);
    struct kv_content content = kv_radix_content(radix, piece->pin);
    ck_assert_int_eq(content.token_count, text.content.token_count);
    struct kv_cursor a = kv_cursor_at(&content, 0), b = kv_cursor_at(&text.content, 0);
    ck_assert_int_eq(kv_cursor_match(&a, &b, content.token_count), content.token_count);
}

START_TEST(each_piece_of_a_node_is_pinned_by_itself)
{
    struct kv_radix radix = made_with_below(4);
    pass_in_two(&radix);
    struct kv_radix_piece cd = written(&radix, 6), ab = written(&radix, 2);
    check_content(&radix, &cd, "abcd");
    check_content(&radix, &ab, "ab");
    ck_assert_uint_eq(radix.tree.node_count, 1);
    ck_assert(!kv_radix_take_room(&radix, 1));
    kv_radix_unpin_host(&radix, cd.pin);
    ck_assert(kv_radix_take_room(&radix, 1)); // the place of cd
    ck_assert(kv_radix_take_room(&radix, 1));
    ck_assert(!kv_radix_take_room(&radix, 1));
    kv_radix_unpin_host(&radix, ab.pin);
    ck_assert(kv_radix_take_room(&radix, 1));
    ck_assert_uint_eq(radix.tree.node_count, 0);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_cut_leaves_pins_where_their_pieces_are)
{
    struct kv_radix radix = made_with_below(4);
    int64_t host;
    pass_in_two(&radix);
    struct kv_radix_piece cd = written(&radix, 6), ab = written(&radix, 2);
    found(&radix, "abx", &host); // cuts between the pieces
    ck_assert_uint_eq(radix.tree.node_count, 2);
    kv_radix_unpin_host(&radix, cd.pin);
    ck_assert(kv_radix_take_room(&radix, 2)); // the back goes
    ck_assert_uint_eq(radix.tree.node_count, 1);
    ck_assert(!kv_radix_take_room(&radix, 1));
    kv_radix_unpin_host(&radix, ab.pin);
    ck_assert(kv_radix_take_room(&radix, 1));
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_cut_within_a_pinned_piece_keeps_all_of_it)
{
    struct kv_radix radix = made_with_below(4);
    int64_t host;
    pass(&radix, "abcd");
    struct kv_radix_piece all = written(&radix, 8);
    found(&radix, "abx", &host);
    ck_assert_uint_eq(radix.tree.node_count, 2);
    check_content(&radix, &all, "abcd"); // of both halves
    ck_assert(!kv_radix_take_room(&radix, 1));
    kv_radix_unpin_host(&radix, all.pin);
    ck_assert(kv_radix_take_room(&radix, 2));
    ck_assert_uint_eq(radix.tree.node_count, 1);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_is_before_a_pinned_piece_stays_in_the_pool_while_others_can_go)
{
    struct kv_radix radix = made_with_below(2);
    int64_t host;
    pass_in_two(&radix);
    pass(&radix, "xy");
    struct kv_radix_piece cd = written(&radix, 4); // fills host memory
    kv_radix_take(&radix, 1);                      // ab is the older one, and must wait for cd
    ck_assert_int_eq(found(&radix, "xy", &host), 0);
    ck_assert_int_eq(found(&radix, "abcd", &host), 2);
    ck_assert_int_eq(host, 2);
    kv_radix_take(&radix, 2); // nothing else is left
    ck_assert_int_eq(found(&radix, "abcd", &host), 0);
    ck_assert_int_eq(radix.host.blocks, 0);
    ck_assert_ptr_null(cd.pin->node);
    kv_radix_unpin_host(&radix, cd.pin);
    kv_radix_release(&radix);
}
END_TEST

CHECK_MAIN("kv.radix_host", each_piece_of_a_node_is_pinned_by_itself,
           a_cut_leaves_pins_where_their_pieces_are, a_cut_within_a_pinned_piece_keeps_all_of_it,
           what_is_before_a_pinned_piece_stays_in_the_pool_while_others_can_go,
           what_comes_from_below_goes_on_from_what_is_there, what_is_needed_below_stays,
           what_is_copied_is_locked_until_the_transfer_has_ended,
           a_second_use_copies_what_it_passes_over, a_chunk_is_copied_when_its_prompt_is_there,
           what_leaves_the_pool_stays_with_its_copy_and_comes_back,
           what_is_not_loaded_is_computed_again_in_its_place,
           only_what_has_left_the_pool_makes_room, nothing_is_copied_below_what_has_no_copy,
           a_node_is_cut_where_room_ends, what_is_copied_at_eviction_is_written_piece_by_piece)
