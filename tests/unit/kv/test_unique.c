/*
 * One block for each content, by hand: what is shared, found, given back and evicted, and who is contended. Against a block-by-block
 * model, under the scheduler: tests/property.
 */
#include "kv/unique.h"

#include "support/check_main.h"

enum { BLOCK = 4, BLOCKS = 8 };

struct run {
    struct spec_token_run runs[16];
    struct kv_content content;
    struct kv_unique_seq seq;
    int64_t full, held;
};

// "aab": blocks of equal letters, behind equal beginnings, are the same.
static void spell(struct run *run, const char *letters)
{
    *run = (struct run){.content.runs = run->runs};
    for (size_t i = 0; letters[i] != '\0'; i++) {
        run->runs[i] = (struct spec_token_run){1000 * (int64_t)letters[i], BLOCK};
        run->content.run_count++;
        run->content.token_count += BLOCK;
    }
    run->seq.content = &run->content;
}

// Who runs has filled `full` blocks, all of them before this turn.
static struct kv_unique_fill fill_of(void *context, const struct kv_unique_seq *seq)
{
    (void)context;
    const struct run *run =
        (const struct run *)(const void *)((const char *)seq - offsetof(struct run, seq));
    return (struct kv_unique_fill){run->full, run->full};
}

static void init(struct kv_unique *unique)
{
    kv_unique_init(unique, BLOCK, BLOCKS);
    unique->fill = fill_of;
    unique->turn = 1;
}

// The first `full` letters are its prompt.
static void begin(struct kv_unique *unique, struct run *run, const char *letters, int64_t full)
{
    spell(run, letters);
    run->full = run->held = full;
    kv_unique_attach(unique, &run->seq, full, 0);
}

static void end(struct kv_unique *unique, struct run *run, uint64_t used)
{
    kv_unique_detach(unique, &run->seq, run->full, run->held, used);
}

// It computes on: a block is taken, and filled.
static void grow(struct kv_unique *unique, struct run *run)
{
    kv_unique_take(unique, 1);
    run->full++;
    run->held++;
}

static int64_t found(struct kv_unique *unique, const char *letters)
{
    struct run run;
    spell(&run, letters);
    return kv_unique_look_up(unique, &run.content, (int64_t)run.content.run_count).blocks;
}

START_TEST(a_content_has_one_block)
{
    struct kv_unique unique;
    struct run one, other;
    init(&unique);
    begin(&unique, &one, "abc", 3);
    ck_assert_int_eq(found(&unique, "abc"), 0); // held, but not computed before the next turn
    begin(&unique, &other, "abd", 3);
    ck_assert_int_eq(unique.blank_blocks, BLOCKS - 4);
    ck_assert_int_eq(unique.shared_blocks, 2);
    unique.turn++;
    ck_assert_int_eq(found(&unique, "abc"), 3);
    ck_assert_int_eq(found(&unique, "abx"), 2);
    end(&unique, &one, 1);
    ck_assert_int_eq(unique.idle_blocks, 1);
    ck_assert_int_eq(unique.shared_blocks, 0);
    end(&unique, &other, 1);
    ck_assert_int_eq(unique.idle_blocks, 4);
    ck_assert_int_eq(kv_unique_free_blocks(&unique), BLOCKS);
    kv_unique_release(&unique);
}
END_TEST

// "ab" was used in step 5, "ac" in step 4: b and c lie as deep, the step decides; then a, used by the last one to let go of it.
START_TEST(the_longest_unused_goes_first_then_the_deepest)
{
    struct kv_unique unique;
    struct run one, other, third;
    init(&unique);
    begin(&unique, &one, "ab", 2);
    begin(&unique, &other, "ac", 2);
    begin(&unique, &third, "xyz", 3);
    unique.turn++;
    end(&unique, &one, 5);
    end(&unique, &other, 4);
    end(&unique, &third, 5);
    kv_unique_take(&unique, unique.blank_blocks + 1);
    ck_assert_int_eq(found(&unique, "ac"), 1);
    ck_assert_int_eq(found(&unique, "ab"), 2);
    kv_unique_take(&unique, 1); // a, though b is left: so the engine does it
    ck_assert_int_eq(found(&unique, "a"), 0);
    ck_assert_int_eq(found(&unique, "xyz"), 3);
    kv_unique_take(&unique, 1); // of b and xyz the third block
    ck_assert_int_eq(found(&unique, "xyz"), 2);
    ck_assert_int_eq(unique.evicted_blocks, 3);
    begin(&unique, &other, "ab",
          1); // a comes anew, in place of the block given back first: b, not y
    ck_assert_int_eq(found(&unique, "xy"), 2);
    ck_assert_int_eq(unique.evicted_blocks, 4);
    end(&unique, &other, 6);
    kv_unique_release(&unique);
}
END_TEST

// A hole: halving three blocks it asks for the second one first.
START_TEST(halving_jumps_over_a_hole)
{
    struct kv_unique unique;
    struct run one, other;
    init(&unique);
    begin(&unique, &one, "abc", 3);
    begin(&unique, &other, "a", 1);
    unique.turn++;
    end(&unique, &one, 5);
    end(&unique, &other, 4);
    kv_unique_take(&unique, unique.blank_blocks + 1);
    ck_assert_int_eq(found(&unique, "a"), 0);
    ck_assert_int_eq(found(&unique, "abc"), 3);
    ck_assert_int_eq(kv_unique_blocks_to_take(&unique, &one.content, 3), 3);
    kv_unique_release(&unique);
}
END_TEST

START_TEST(a_twin_takes_the_place_of_a_filled_block)
{
    struct kv_unique unique;
    struct run one, other, third;
    init(&unique);
    begin(&unique, &one, "abc", 1);
    unique.turn++;
    ck_assert(!one.seq.is_contended);
    grow(&unique, &one); // nobody looks: nothing is entered
    ck_assert_int_eq(found(&unique, "ab"), 2);
    begin(&unique, &other, "abcd", 4);
    ck_assert(one.seq.is_contended);
    ck_assert_int_eq(unique.contended_count, 1);
    grow(&unique, &one);
    int64_t blank = unique.blank_blocks;
    kv_unique_enter(&unique, &one.seq, fill_of(NULL, &one.seq));
    ck_assert_int_eq(unique.blank_blocks, blank + 1);
    ck_assert_int_eq(unique.shared_blocks, 3);
    ck_assert(!one.seq.is_contended); // its content ends there
    begin(&unique, &third, "xb", 1);
    end(&unique, &one, 3);
    end(&unique, &other, 3);
    end(&unique, &third, 3);
    ck_assert_int_eq(kv_unique_free_blocks(&unique), BLOCKS);
    kv_unique_release(&unique);
}
END_TEST

// Two prompts that are the same, whose answers are: who fills first keeps its block.
START_TEST(answers_side_by_side_are_contended)
{
    struct kv_unique unique;
    struct run one, other;
    init(&unique);
    begin(&unique, &one, "abcd", 1);
    begin(&unique, &other, "abce", 1);
    ck_assert_int_eq(unique.contended_count, 2);
    grow(&unique, &one);
    grow(&unique, &other);
    kv_unique_enter(&unique, &one.seq, fill_of(NULL, &one.seq));
    ck_assert(!one.seq.is_contended);
    kv_unique_enter(&unique, &other.seq, fill_of(NULL, &other.seq));
    ck_assert_int_eq(unique.contended_count, 2); // both are to fill c
    ck_assert_int_eq(unique.blank_blocks, BLOCKS - 2);
    end(&unique, &one, 1);
    end(&unique, &other, 1);
    kv_unique_release(&unique);
}
END_TEST

// What is moved elsewhere was used by nobody: it goes before everything.
START_TEST(moving_is_no_use)
{
    struct kv_unique unique;
    struct run one, other;
    init(&unique);
    begin(&unique, &one, "ab", 2);
    begin(&unique, &other, "cd", 2);
    unique.turn++;
    end(&unique, &one, 3);
    end(&unique, &other, 0);
    kv_unique_take(&unique, unique.blank_blocks + 2);
    ck_assert_int_eq(found(&unique, "ab"), 2);
    ck_assert_int_eq(found(&unique, "cd"), 0);
    kv_unique_release(&unique);
}
END_TEST

// a was given back by somebody that step 5 scheduled last, c behind it by nobody: whoever holds both is moved.
START_TEST(what_is_filled_later_has_a_date_of_its_own)
{
    struct kv_unique unique;
    struct run one, other, third;
    init(&unique);
    begin(&unique, &one, "ac", 1);
    begin(&unique, &other, "a", 1);
    begin(&unique, &third, "x", 1);
    unique.turn++;
    end(&unique, &other, 5);
    grow(&unique, &one);
    ck_assert_int_eq(found(&unique, "ac"), 2);
    end(&unique, &third, 3);
    end(&unique, &one, 0);
    kv_unique_take(&unique, unique.blank_blocks + 1);
    ck_assert_int_eq(found(&unique, "ac"), 1);
    kv_unique_take(&unique, 1);
    ck_assert_int_eq(found(&unique, "x"), 0);
    ck_assert_int_eq(found(&unique, "a"), 1);
    kv_unique_release(&unique);
}
END_TEST

CHECK_MAIN("kv.unique", a_content_has_one_block, the_longest_unused_goes_first_then_the_deepest,
           halving_jumps_over_a_hole, a_twin_takes_the_place_of_a_filled_block,
           answers_side_by_side_are_contended, moving_is_no_use,
           what_is_filled_later_has_a_date_of_its_own)
