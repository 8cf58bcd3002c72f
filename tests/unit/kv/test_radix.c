/*
 * A radix tree by hand: what a look-up cuts and dates, what sequences lock and give back, which pieces go and in what order.
 * Against a naive tree, under the scheduler: tests/property.
 */
#include "kv/radix.h"

#include "support/check_main.h"

enum { PAGE = 4, PAGES = 100 };

/* Contents of pages that are numbers: runs of PAGE tokens. */
struct text {
    struct spec_token_run runs[16];
    struct kv_content content;
};

// "aab": pages of equal letters are the same.
static struct text text_of(const char *letters)
{
    struct text text = {.content.token_count = 0};
    for (size_t i = 0; letters[i] != '\0'; i++) {
        text.runs[i] = (struct spec_token_run){1000 * (int64_t)letters[i], PAGE};
        text.content.run_count++;
        text.content.token_count += PAGE;
    }
    return text;
}

static int64_t length(const struct text *text)
{
    return text->content.token_count / PAGE;
}

static int64_t found(struct kv_radix *radix, const char *letters)
{
    struct text text = text_of(letters);
    text.content.runs = text.runs;
    struct kv_radix_match match;
    kv_radix_match(radix, &text.content, length(&text), &match);
    return match.blocks;
}

struct run {
    struct text text;
    struct kv_radix_seq seq;
    int64_t held;
};

/* Is looked up, runs and takes pages for all of its content. */
static void begin(struct kv_radix *radix, struct run *run, const char *letters, int32_t priority)
{
    *run = (struct run){.text = text_of(letters)};
    run->text.content.runs = run->text.runs;
    run->seq.content = &run->text.content;
    run->seq.priority = priority;
    struct kv_radix_match match;
    kv_radix_match(radix, &run->text.content, length(&run->text), &match);
    kv_radix_hold(radix, &run->seq, &match);
    run->held = length(&run->text);
    kv_radix_take(radix, run->held - match.blocks);
}

static void end(struct kv_radix *radix, struct run *run)
{
    kv_radix_end(radix, &run->seq, run->held, run->held);
}

/* Runs alone, from its beginning to its end; nothing of it enters before. */
static void pass(struct kv_radix *radix, const char *letters, int32_t priority)
{
    struct run run;
    begin(radix, &run, letters, priority);
    end(radix, &run);
}

static struct kv_radix made(enum kv_eviction order)
{
    struct kv_radix radix;
    kv_radix_init(&radix, PAGE, PAGES, order);
    return radix;
}

START_TEST(contents_are_found_to_the_page_in_which_they_part)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    pass(&radix, "abcd", 0);
    ck_assert_int_eq(found(&radix, "abcd"), 4);
    ck_assert_int_eq(found(&radix, "abxy"), 2);
    ck_assert_int_eq(found(&radix, "xbcd"), 0);
    pass(&radix, "abxy", 0);
    ck_assert_int_eq(radix.idle_blocks, 6);
    ck_assert_int_eq(radix.blank_blocks, PAGES - 6);
    ck_assert_int_eq(found(&radix, "abcde"), 4);
    ck_assert_int_eq(found(&radix, "abxz"), 3);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_match_that_ends_within_a_page_ends_before_it)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    pass(&radix, "ab", 0);
    struct spec_token_run runs[] = {{1000 * 'a', PAGE}, {1000 * 'b', PAGE - 1}, {7, 5}};
    struct kv_content content = {runs, 3, 2 * PAGE + 4};
    struct kv_radix_match match;
    kv_radix_match(&radix, &content, 3, &match);
    ck_assert_int_eq(match.blocks, 1);
    ck_assert_int_eq(match.idle_blocks, 1);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(paths_of_running_sequences_are_locked_and_shared)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    pass(&radix, "abcd", 0);
    struct run one, two;
    begin(&radix, &one, "abcd", 0);
    ck_assert_int_eq(radix.idle_blocks, 0);
    begin(&radix, &two, "abxy", 0);
    ck_assert_int_eq(radix.shared_blocks, 2);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES - 6);
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 0); // nothing is idle
    kv_radix_enter(&radix, &two.seq, 3, true);
    kv_radix_throw_out(&radix, &two.seq, two.held); // y is lost, x stays
    ck_assert_int_eq(radix.shared_blocks, 0);
    ck_assert_int_eq(found(&radix, "abxy"), 3);
    ck_assert_int_eq(radix.idle_blocks, 1);
    end(&radix, &one);
    ck_assert_int_eq(radix.idle_blocks, 5);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(who_enters_second_gives_its_own_copy_back)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    struct run one, two;
    begin(&radix, &one, "abcd", 0);
    begin(&radix, &two, "abxy", 0); // nothing has entered: it computes a and b as well
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES - 8);
    kv_radix_enter(&radix, &one.seq, 4, false);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES - 8);
    kv_radix_enter(&radix, &two.seq, 4, false);
    ck_assert_int_eq(kv_radix_free_blocks(&radix), PAGES - 6);
    ck_assert_int_eq(radix.shared_blocks, 2);
    end(&radix, &one);
    end(&radix, &two);
    ck_assert_int_eq(radix.idle_blocks, 6);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(what_a_running_sequence_will_compute_is_pending)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    pass(&radix, "a", 0);
    struct run one;
    begin(&radix, &one, "abc", 0);
    struct text same = text_of("abx"), other = text_of("axx");
    same.content.runs = same.runs;
    other.content.runs = other.runs;
    struct kv_radix_match match;
    kv_radix_match(&radix, &same.content, 3, &match);
    ck_assert_int_eq(match.blocks, 1);
    ck_assert(kv_radix_is_pending(&radix, &same.content, &match));
    kv_radix_match(&radix, &other.content, 3, &match);
    ck_assert(!kv_radix_is_pending(&radix, &other.content, &match));
    pass(&radix, "ab", 0); // somebody else is quicker: c is still to come
    struct text longer = text_of("abcd");
    longer.content.runs = longer.runs;
    kv_radix_match(&radix, &longer.content, 4, &match);
    ck_assert_int_eq(match.blocks, 2);
    ck_assert(kv_radix_is_pending(&radix, &longer.content, &match));
    end(&radix, &one);
    kv_radix_match(&radix, &longer.content, 4, &match);
    ck_assert_int_eq(match.blocks, 3);
    ck_assert(!kv_radix_is_pending(&radix, &longer.content, &match));
    kv_radix_release(&radix);
}
END_TEST

/* ---- pieces ---- */

static void in_chunks(struct kv_radix *radix, struct run *run, const char *letters)
{
    begin(radix, run, letters, 0);
    for (int64_t pages = 2; pages <= run->held; pages += 2) {
        kv_radix_enter(radix, &run->seq, pages, pages < run->held);
    }
}

START_TEST(chunks_are_one_node_and_go_one_by_one)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    struct run run;
    in_chunks(&radix, &run, "abcdef");
    ck_assert_uint_eq(radix.tree.node_count, 1);
    end(&radix, &run);
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 2);
    ck_assert_int_eq(found(&radix, "abcdef"), 4);
    ck_assert_int_eq(kv_radix_evict(&radix, 3), 4);
    ck_assert_int_eq(found(&radix, "abcdef"), 0);
    ck_assert_uint_eq(radix.tree.node_count, 0);
    ck_assert_int_eq(radix.evicted_blocks, 6);
    ck_assert_int_eq(radix.blank_blocks, PAGES);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(a_use_that_ends_between_pieces_or_within_one_cuts_there)
{
    struct kv_radix radix = made(KV_EVICT_LRU);
    struct run run;
    in_chunks(&radix, &run, "abcdef");
    end(&radix, &run);
    pass(&radix, "xyz", 0);
    ck_assert_int_eq(found(&radix, "abcx"),
                     3); // within the second piece, whose rest is as fresh as its front
    ck_assert_uint_eq(radix.tree.node_count, 4);
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 2); // e and f: not on that path
    ck_assert_int_eq(found(&radix, "xyz"), 3);
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 1); // d
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 1); // c
    ck_assert_int_eq(found(&radix, "abcdef"), 2);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(pieces_with_other_hits_are_nodes_of_their_own_where_that_counts)
{
    static const struct {
        enum kv_eviction order;
        size_t nodes;
    } rows[] = {{KV_EVICT_LRU, 1}, {KV_EVICT_FIFO, 1}, {KV_EVICT_LFU, 2}, {KV_EVICT_SLRU, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kv_radix radix = made(rows[i].order);
        struct run run;
        begin(&radix, &run, "abcd", 0);
        kv_radix_enter(&radix, &run.seq, 2, false); // the prompt, which its own answer passes over
        end(&radix, &run);
        ck_assert_uint_eq(radix.tree.node_count, rows[i].nodes);
        ck_assert_int_eq(kv_radix_evict(&radix, 1), 2);
        ck_assert_int_eq(found(&radix, "abcd"), 2);
        kv_radix_release(&radix);
    }
}
END_TEST

/* ---- orders ---- */

// What is left of "a" (the first made, found once), "b" and "c" when one page has gone.
static void after_one(enum kv_eviction order, const char *gone)
{
    struct kv_radix radix = made(order);
    pass(&radix, "a", 1);
    pass(&radix, "b", 2);
    pass(&radix, "c", 0);
    pass(&radix, "a", 1);
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 1);
    ck_assert_msg(found(&radix, gone) == 0, "order %d: %s is still there", (int)order, gone);
    ck_assert_int_eq(radix.idle_blocks, 2);
    kv_radix_release(&radix);
}

START_TEST(every_order_lets_another_leaf_go)
{
    after_one(KV_EVICT_LRU, "b");
    after_one(KV_EVICT_FIFO, "a");
    after_one(KV_EVICT_LFU, "b");
    after_one(KV_EVICT_MRU, "a");
    after_one(KV_EVICT_FILO, "c");
    after_one(KV_EVICT_PRIORITY, "b");
    after_one(KV_EVICT_SLRU, "b");
}
END_TEST

START_TEST(the_front_of_a_cut_is_made_when_it_is_cut)
{
    struct kv_radix radix = made(KV_EVICT_FIFO);
    pass(&radix, "ab", 0);
    pass(&radix, "x", 0);
    ck_assert_int_eq(found(&radix, "ay"), 1); // a look-up that comes to nothing
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 1);
    ck_assert_int_eq(found(&radix, "ab"), 1); // b is the oldest
    ck_assert_int_eq(kv_radix_evict(&radix, 1), 1);
    ck_assert_int_eq(found(&radix, "x"), 0); // then x: a is younger
    ck_assert_int_eq(found(&radix, "a"), 1);
    kv_radix_release(&radix);
}
END_TEST

START_TEST(taking_blocks_lets_no_more_go_than_it_needs)
{
    struct kv_radix once = made(KV_EVICT_LRU), twice = made(KV_EVICT_LRU);
    struct kv_radix *both[] = {&once, &twice};
    for (size_t i = 0; i < 2; i++) {
        pass(both[i], "abc", 0);
        pass(both[i], "xyz", 0);
    }
    kv_radix_take(&once, PAGES - 4); // 94 are blank
    kv_radix_take(&twice, PAGES - 5);
    kv_radix_take(&twice, 1);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(both[i]->evicted_blocks, 3);
        ck_assert_int_eq(both[i]->blank_blocks, 1);
        ck_assert_int_eq(found(both[i], "xyz"), 3);
        kv_radix_release(both[i]);
    }
}
END_TEST

CHECK_MAIN("kv.radix", contents_are_found_to_the_page_in_which_they_part,
           a_match_that_ends_within_a_page_ends_before_it,
           paths_of_running_sequences_are_locked_and_shared,
           who_enters_second_gives_its_own_copy_back,
           what_a_running_sequence_will_compute_is_pending, chunks_are_one_node_and_go_one_by_one,
           a_use_that_ends_between_pieces_or_within_one_cuts_there,
           pieces_with_other_hits_are_nodes_of_their_own_where_that_counts,
           every_order_lets_another_leaf_go, the_front_of_a_cut_is_made_when_it_is_cut,
           taking_blocks_lets_no_more_go_than_it_needs)
