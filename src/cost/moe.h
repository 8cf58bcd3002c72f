/*
 * moe.h - which experts a step touches, and what the busiest of the GPUs that hold them gets.
 *
 * Routers: each token chooses k of E experts; expert e (by falling popularity) with probability q_e = min(1, c e^-s), c such
 * that they add up to k. s = 0 is an even router. n tokens touch T = sum 1 - (1 - q_e)^n distinct experts, with s = 0 the
 * E (1 - (1 - k/E)^n) of independent even choices.
 *
 * Ranks: E / R experts lie on each of R GPUs, popular and unpopular ones mixed at random. A layer ends when the busiest
 * rank has ended, whose rows and touched experts are taken as mean + m(R) standard deviations, m(R) being the expected
 * largest of R independent normal values. Rows vary by what tokens choose (k/R (1 - 1/R) (E-k)/(E-1) a token) and by
 * which experts lie together (n^2 times the variance of the sum of E/R of the q_e); touched experts by E/R t (1 - t) with
 * t = T / E. No rank gets more rows than n min(k, E/R), or touches more than E/R.
 *
 * Both never fall when tokens are added. R = 1 has no busiest rank: all rows, T experts.
 */
#ifndef KVSIM_COST_MOE_H
#define KVSIM_COST_MOE_H

#include "base/mem.h"

struct cost_moe {
    double experts, chosen, ranks;
    double largest;        /* m(R) */
    double row_variance;   /* of one token's rows on a rank */
    double share_variance; /* of the rows that one token sends a rank, over the ranks */
    size_t skewed_count;   /* 0: an even router */
    double *log_misses;    /* log(1 - q_e), -INFINITY where every token chooses e */
};

struct cost_moe_load {
    double rows;    /* token-expert pairs of the busiest rank */
    double touched; /* its distinct experts */
};

/* `chosen` of `experts` (a whole number) over `ranks` GPUs. */
void cost_moe_init(struct cost_moe *moe, double experts, double chosen, double ranks, double skew,
                   struct base_arena *arena);
struct cost_moe_load cost_moe_busiest(const struct cost_moe *moe, double tokens);
/* GPUs other than its own that a token is sent to: its experts on one GPU share a copy. */
double cost_moe_targets(const struct cost_moe *moe);

#endif
