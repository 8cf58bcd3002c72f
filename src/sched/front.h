/*
 * front.h - the decode front: all sequences that gain one token a step, as a few numbers.
 *
 * A step of the whole batch costs O(1): count, the sum of contexts, and how many blocks are needed at each step modulo the
 * period in which all tables' blocks begin together (block_size, where all blocks are as long). Joining and leaving cost O(log n); the calendar (a heap by final step) tells when the next one ends.
 * Invariants: context_sum = sum of (front_base + step); a member holds kv_tables_blocks(computed) blocks, but for what windows
 * have given back; the counts of a period add up to count * period_blocks; residue = step mod period_tokens.
 */
#ifndef KVSIM_SCHED_FRONT_H
#define KVSIM_SCHED_FRONT_H

#include "base/mem.h"
#include "sched/front_window.h"
#include "sched/rhythm.h"
#include "sched/seq.h"

#include <stdint.h>

struct sched_front {
    uint64_t step;   /* steps scheduled since the start */
    int64_t residue; /* its place in `boundary`, kept beside it: a division a step would be felt */
    uint64_t generation; /* changes whenever the membership does */
    int64_t count;
    int64_t context_sum; /* tokens in the cache, all members */
    int64_t period_tokens;
    int64_t period_blocks; /* that a member takes in it, in all tables */
    const struct kv_tables *tables;
    bool takes_blocks; /* false: a member's memory was reserved at admission, or none is kept */
    sched_rhythm *boundary; /* blocks of all tables that members need when scheduling step s */
    int64_t *counted;       /* [class_count]: members whose gaps are recorded */
    int64_t counted_total;
    struct sched_seq **calendar; /* heap by (final_step, place) */
    size_t calendar_capacity;
    struct sched_front_windows windows;
};

void sched_front_init(struct sched_front *front, struct base_arena *arena,
                      const struct kv_tables *tables, bool is_async, bool tells_drops,
                      size_t class_count);
void sched_front_release(struct sched_front *front);
void sched_front_join(struct sched_front *front,
                      struct sched_seq *seq); /* seq->final_step is set */
void sched_front_leave(struct sched_front *front, struct sched_seq *seq); /* sets seq->computed */

/* The place in `boundary` of the step that comes `ahead` >= 0 steps after the next one. */
static inline int64_t sched_front_residue(const struct sched_front *front, int64_t ahead)
{
    int64_t residue =
        front->residue + (ahead < front->period_tokens ? ahead : ahead % front->period_tokens);
    return residue < front->period_tokens ? residue : residue - front->period_tokens;
}
/* Blocks that all members need in the next step, in all tables. */
static inline int64_t sched_front_need(const struct sched_front *front)
{
    return front->boundary[front->residue];
}
/* Every member one token on; its blocks have been taken. */
void sched_front_step(struct sched_front *front);
/* Every member one token on, `steps` times; returns how many blocks that takes in all tables. */
int64_t sched_front_advance(struct sched_front *front, int64_t steps);
/* For how many further steps `free_blocks` are enough, at most `limit`. */
int64_t sched_front_runway(const struct sched_front *front, int64_t free_blocks, int64_t limit);
/* The next final step, or UINT64_MAX. */
static inline uint64_t sched_front_next_final(const struct sched_front *front)
{
    return front->count > 0 ? front->calendar[0]->final_step : UINT64_MAX;
}

#endif
