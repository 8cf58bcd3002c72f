/*
 * rhythm.h - how much members of the decode front do at each step, counted by step modulo a period: block_tokens, or a multiple
 * of it where blocks have several lengths.
 *
 * The counts are kept twice, one after the other, so that any period_tokens successive steps lie side by side: no sum over a
 * few steps has to look where the round begins anew.
 */
#ifndef KVSIM_SCHED_RHYTHM_H
#define KVSIM_SCHED_RHYTHM_H

#include "base/mem.h"

#include <stdint.h>

/* [2 * period_tokens]; residues 0 <= r < period_tokens, the second time at r + period_tokens. */
typedef int64_t sched_rhythm;

static inline sched_rhythm *sched_rhythm_new(struct base_arena *arena, int64_t period_tokens)
{
    return base_arena_array(arena, 2 * (size_t)period_tokens, sizeof(sched_rhythm));
}

/* `residue` may be any number of steps, before now as well. */
static inline void sched_rhythm_add(sched_rhythm *rhythm, int64_t period_tokens, int64_t residue,
                                    int64_t by)
{
    residue %= period_tokens;
    residue += residue < 0 ? period_tokens : 0;
    rhythm[residue] += by;
    rhythm[residue + period_tokens] += by;
}

/* The same at every `tokens`-th step, of which the period is a multiple. */
static inline void sched_rhythm_add_each(sched_rhythm *rhythm, int64_t period_tokens,
                                         int64_t residue, int64_t tokens, int64_t by)
{
    sched_rhythm_add(rhythm, period_tokens, residue, by);
    for (int64_t i = tokens; i < period_tokens; i += tokens) {
        sched_rhythm_add(rhythm, period_tokens, residue + i, by);
    }
}

/* Over `steps` <= period_tokens steps from `residue` on. */
static inline int64_t sched_rhythm_sum(const sched_rhythm *rhythm, int64_t residue, int64_t steps)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < steps; i++) {
        sum += rhythm[residue + i];
    }
    return sum;
}

#endif
