/*
 * rhythm.h - how many members of the decode front do something at each step, counted by step modulo block_tokens.
 *
 * The counts are kept twice, one after the other, so that any block_tokens successive steps lie side by side: no sum over a
 * few steps has to look where the round begins anew.
 */
#ifndef KVSIM_SCHED_RHYTHM_H
#define KVSIM_SCHED_RHYTHM_H

#include "base/mem.h"

#include <stdint.h>

/* [2 * block_tokens]; residues 0 <= r < block_tokens, the second time at r + block_tokens. */
typedef int64_t sched_rhythm;

static inline sched_rhythm *sched_rhythm_new(struct base_arena *arena, int64_t block_tokens)
{
    return base_arena_array(arena, 2 * (size_t)block_tokens, sizeof(sched_rhythm));
}

/* `residue` may be any number of steps, before now as well. */
static inline void sched_rhythm_add(sched_rhythm *rhythm, int64_t block_tokens, int64_t residue,
                                    int64_t by)
{
    residue %= block_tokens;
    residue += residue < 0 ? block_tokens : 0;
    rhythm[residue] += by;
    rhythm[residue + block_tokens] += by;
}

/* Over `steps` <= block_tokens steps from `residue` on. */
static inline int64_t sched_rhythm_sum(const sched_rhythm *rhythm, int64_t residue, int64_t steps)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < steps; i++) {
        sum += rhythm[residue + i];
    }
    return sum;
}

#endif
