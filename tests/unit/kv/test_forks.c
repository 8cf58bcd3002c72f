/*
 * Forked block tables against arrays of block numbers with a count of holders for each block: random sequences that fork,
 * write and leave. Blocks held, shared ones, those in blocks that are not full, and copies must agree after each step.
 */
#include "kv/forks.h"

#include "base/mem.h"
#include "support/check_main.h"

#include <stdlib.h>

enum { SEQS = 12, BLOCKS = 4096, LENGTH = 64 };

struct naive {
    bool lives;
    struct kv_fork fork;
    int64_t tokens, blocks, table[LENGTH];
};

struct world {
    struct base_pool nodes;
    struct kv_forks forks;
    struct naive seqs[SEQS];
    int64_t holders[BLOCKS], next, held; /* held: as the tree says */
    uint64_t dice;
};

static int64_t below(struct world *world, int64_t n)
{
    world->dice = world->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((world->dice >> 33) % (uint64_t)n);
}

static int64_t new_block(struct world *world)
{
    ck_assert_int_lt(world->next, BLOCKS);
    world->holders[world->next] = 1;
    return world->next++;
}

static void fork_it(struct world *world, struct naive *from, struct naive *to)
{
    int64_t blocks = from->blocks;
    to->lives = true;
    to->tokens = from->tokens;
    to->blocks = blocks;
    for (int64_t b = 0; b < blocks; b++) {
        to->table[b] = from->table[b];
        world->holders[to->table[b]]++;
    }
    kv_fork_add(&world->forks, &from->fork, &to->fork, from->tokens);
}

static void write_it(struct world *world, struct naive *seq)
{
    int64_t bs = world->forks.block_tokens;
    bool fresh = seq->tokens % bs == 0;
    bool copies = !fresh && world->holders[seq->table[seq->blocks - 1]] > 1;
    ck_assert_int_eq(kv_fork_must_copy(&world->forks, &seq->fork, seq->tokens), copies);
    kv_fork_write(&world->forks, &seq->fork, seq->tokens);
    if (fresh) {
        seq->table[seq->blocks++] = new_block(world);
    } else if (copies) {
        world->holders[seq->table[seq->blocks - 1]]--;
        seq->table[seq->blocks - 1] = new_block(world);
    }
    world->held += fresh || copies ? 1 : 0;
    seq->tokens++;
}

static void leave(struct world *world, struct naive *seq)
{
    int64_t given = 0;
    for (int64_t b = 0; b < seq->blocks; b++) {
        given += --world->holders[seq->table[b]] == 0 ? 1 : 0;
    }
    int64_t said = kv_fork_leave(&world->forks, &seq->fork, seq->tokens);
    ck_assert_int_eq(said, given);
    world->held -= said;
    *seq = (struct naive){.lives = false};
}

static void compare(const struct world *world)
{
    int64_t held = 0, tables = 0, tails = 0, tail_holders = 0;
    bool is_tail[BLOCKS] = {false};
    for (int64_t b = 0; b < world->next; b++) {
        held += world->holders[b] > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < SEQS; i++) {
        const struct naive *seq = &world->seqs[i];
        tables += seq->blocks;
        if (seq->lives && seq->tokens % world->forks.block_tokens != 0) {
            int64_t tail = seq->table[seq->blocks - 1];
            tails += is_tail[tail] ? 0 : 1;
            is_tail[tail] = true;
            tail_holders++;
        }
    }
    ck_assert_int_eq(world->held, held);
    ck_assert_int_eq(world->forks.shared_blocks, tables - held);
    ck_assert_int_eq(world->forks.shared_tails, tail_holders - tails);
}

static void play(uint64_t seed)
{
    struct world *world = base_alloc(sizeof *world);
    world->dice = seed;
    base_pool_init(&world->nodes, sizeof(struct kv_fork));
    world->forks = (struct kv_forks){&world->nodes, 1 + below(world, 5), 0, 0};
    struct naive *first = &world->seqs[0];
    first->lives = true;
    for (int64_t i = 1 + below(world, 9); i > 0; i--) {
        write_it(world, first);
    }
    int64_t living = 1;
    for (int64_t step = 0; living > 0 && step < 600 && world->next < BLOCKS - 1; step++) {
        struct naive *seq = &world->seqs[below(world, SEQS)],
                     *other = &world->seqs[below(world, SEQS)];
        int64_t act = below(world, 10);
        if (seq->lives && !other->lives && act < 3) {
            fork_it(world, seq, other);
            living++;
        } else if (seq->lives && act == 3) {
            leave(world, seq);
            living--;
        } else if (seq->lives && seq->blocks < LENGTH - 1) {
            write_it(world, seq);
        }
        compare(world);
    }
    for (size_t i = 0; i < SEQS; i++) {
        if (world->seqs[i].lives) {
            leave(world, &world->seqs[i]);
        }
    }
    ck_assert_int_eq(world->held, 0);
    ck_assert_int_eq(world->forks.shared_blocks, 0);
    ck_assert_int_eq(world->forks.shared_tails, 0);
    ck_assert_uint_eq(world->nodes.taken_count, 0); // no node outlives its leaves
    base_pool_release(&world->nodes);
    base_free(world);
}

START_TEST(trees_are_tables)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        play(seed);
    }
}
END_TEST

// Three answers to a prompt of 13 tokens in blocks of 8: one full block for all, and the last one for whoever writes last.
START_TEST(three_answers)
{
    struct base_pool nodes;
    base_pool_init(&nodes, sizeof(struct kv_fork));
    struct kv_forks forks = {&nodes, 8, 0, 0};
    struct kv_fork seqs[3] = {{0}};
    kv_fork_add(&forks, &seqs[0], &seqs[1], 13);
    kv_fork_add(&forks, &seqs[0], &seqs[2], 13);
    ck_assert_int_eq(forks.shared_blocks, 4);
    ck_assert_int_eq(forks.shared_tails, 2);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(kv_fork_must_copy(&forks, &seqs[i], 13), i < 2);
        kv_fork_write(&forks, &seqs[i], 13);
        ck_assert_int_eq(kv_fork_own_blocks(&forks, &seqs[i], 14), 1);
    }
    ck_assert_int_eq(forks.shared_blocks, 2);
    ck_assert_int_eq(kv_fork_leave(&forks, &seqs[1], 14), 1);
    ck_assert_int_eq(kv_fork_leave(&forks, &seqs[0], 20), 2);
    ck_assert_int_eq(kv_fork_leave(&forks, &seqs[2], 14), 2);
    base_pool_release(&nodes);
}
END_TEST

CHECK_MAIN("kv.forks", three_answers, trees_are_tables)
