/* The busiest rank of an expert-parallel layer against drawing tokens' experts one by one. */
#include "support/unit.h"

#include "base/hash.h"
#include "cost/moe.h"

#include <math.h>

static struct base_arena arena;

static double uniform(uint64_t *state)
{
    *state = base_mix64(*state);
    return (double)(*state >> 11) * 0x1p-53;
}

/* Experts of one token, without putting back, by weights. */
static void choose(uint64_t *state, const double *weights, int experts, int chosen, int *counts,
                   const int *rank_of, int *rows)
{
    bool taken[512] = {false};
    for (int k = 0; k < chosen; k++) {
        double rest = 0;
        for (int e = 0; e < experts; e++)
            rest += taken[e] ? 0 : weights[e];
        double at = uniform(state) * rest;
        int last = -1;
        for (int e = 0; e < experts; e++) {
            if (taken[e])
                continue;
            last = e;
            at -= weights[e];
            if (at < 0)
                break;
        }
        taken[last] = true;
        counts[last]++;
        rows[rank_of[last]]++;
    }
}

struct drawn {
    double rows, touched, all_touched; /* means over draws: of the busiest rank, of all */
};

static struct drawn draw(int experts, int chosen, int ranks, double skew, int tokens)
{
    enum { DRAWS = 300 };
    struct drawn mean = {0};
    uint64_t state = 7;
    double weights[512];
    for (int e = 0; e < experts; e++)
        weights[e] = pow(e + 1, -skew);
    for (int d = 0; d < DRAWS; d++) {
        int counts[512] = {0}, rank_of[512], rows[64] = {0}, touched[64] = {0};
        for (int e = 0; e < experts; e++)
            rank_of[e] = e % ranks;
        for (int e = experts - 1; e > 0; e--) {
            int other = (int)(uniform(&state) * (e + 1)), kept = rank_of[e];
            rank_of[e] = rank_of[other];
            rank_of[other] = kept;
        }
        for (int t = 0; t < tokens; t++)
            choose(&state, weights, experts, chosen, counts, rank_of, rows);
        int most_rows = 0, most_touched = 0;
        for (int e = 0; e < experts; e++) {
            touched[rank_of[e]] += counts[e] > 0;
            mean.all_touched += (counts[e] > 0) / (double)DRAWS;
        }
        for (int r = 0; r < ranks; r++) {
            most_rows = rows[r] > most_rows ? rows[r] : most_rows;
            most_touched = touched[r] > most_touched ? touched[r] : most_touched;
        }
        mean.rows += most_rows / (double)DRAWS;
        mean.touched += most_touched / (double)DRAWS;
    }
    return mean;
}

static void agrees(int experts, int chosen, int ranks, double skew, int tokens, double tolerance)
{
    struct cost_moe moe;
    cost_moe_init(&moe, experts, chosen, ranks, skew, &arena);
    struct cost_moe_load load = cost_moe_busiest(&moe, tokens);
    struct drawn mean = draw(experts, chosen, ranks, skew, tokens);
    ck_assert_msg(fabs(load.rows / mean.rows - 1) < tolerance, "E %d R %d s %.1f n %d: %f rows, %f",
                  experts, ranks, skew, tokens, load.rows, mean.rows);
    ck_assert_msg(fabs(load.touched / mean.touched - 1) < tolerance,
                  "E %d R %d s %.1f n %d: %f touched, %f", experts, ranks, skew, tokens,
                  load.touched, mean.touched);
}

START_TEST(the_busiest_rank_is_what_drawing_gives)
{
    agrees(128, 8, 8, 0, 64, 0.04);
    agrees(128, 8, 8, 0, 8, 0.06);
    agrees(64, 6, 4, 0, 200, 0.03);
    agrees(256, 8, 32, 0, 64, 0.06);
    // Popular experts make ranks differ by more than chance; who draws without putting back meets q_e only nearly.
    agrees(128, 8, 8, 0.5, 64, 0.08);
    agrees(64, 6, 4, 0.5, 200, 0.08);
}
END_TEST

START_TEST(an_even_router_touches_what_the_formula_says)
{
    struct cost_moe even, skewed;
    cost_moe_init(&even, 128, 8, 1, 0, &arena);
    cost_moe_init(&skewed, 128, 8, 1, 0.8, &arena);
    for (double n = 1; n < 5000; n *= 3) {
        struct cost_moe_load a = cost_moe_busiest(&even, n), b = cost_moe_busiest(&skewed, n);
        ck_assert(fabs(a.touched - 128 * (1 - pow(1 - 8.0 / 128, n))) < 1e-6);
        ck_assert(fabs(a.rows - 8 * n) < 1e-9 && fabs(b.rows - 8 * n) < 1e-9);
        ck_assert(n > 1 ? b.touched <= a.touched : fabs(b.touched - 8) < 1e-9);
    }
    ck_assert(fabs(draw(128, 8, 1, 0.8, 30).all_touched / cost_moe_busiest(&skewed, 30).touched -
                   1) < 0.08);
}
END_TEST

START_TEST(more_tokens_are_never_less_work)
{
    static const double skews[] = {0, 0.3, 1, 2.5};
    static const double ranks[] = {1, 2, 8, 32};
    for (size_t s = 0; s < 4; s++) {
        for (size_t r = 0; r < 4; r++) {
            struct cost_moe moe;
            struct cost_moe_load before = {0, 0};
            cost_moe_init(&moe, 64, 6, ranks[r], skews[s], &arena);
            for (double n = 1; n < 3000; n += n < 40 ? 1 : 37) {
                struct cost_moe_load now = cost_moe_busiest(&moe, n);
                ck_assert(now.rows >= before.rows && now.touched >= before.touched);
                ck_assert(now.rows >= n * 6 / ranks[r] && now.rows <= n * 6);
                ck_assert(now.touched <= 64 / ranks[r] + 1e-9);
                before = now;
            }
        }
    }
}
END_TEST

/* Eight experts over eight GPUs, one of which is a token's own: each expert is another GPU. */
START_TEST(a_token_is_sent_once_to_each_gpu)
{
    struct cost_moe moe;
    cost_moe_init(&moe, 8, 2, 8, 0, &arena);
    ck_assert(fabs(cost_moe_targets(&moe) - 7 * (1 - 6.0 / 8)) < 1e-12);
    cost_moe_init(&moe, 8, 8, 2, 0, &arena);
    ck_assert(fabs(cost_moe_targets(&moe) - 1) < 1e-12);
    cost_moe_init(&moe, 256, 8, 1, 0, &arena);
    ck_assert(cost_moe_targets(&moe) == 0);
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int failed =
        unit_run("cost.moe", (const TTest *const[]){the_busiest_rank_is_what_drawing_gives,
                                                    an_even_router_touches_what_the_formula_says,
                                                    more_tokens_are_never_less_work,
                                                    a_token_is_sent_once_to_each_gpu, NULL});
    base_arena_release(&arena);
    return failed;
}
