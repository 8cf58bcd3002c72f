/*
 * reuse.h - what became of the blocks that the prefix cache was asked for, at admissions.
 *
 * Blocks are those of the whole sequence, a partial last one included; a resumed request's answer so far is looked up too.
 * Invariant: lookup = hit + lost + cut + those of content that was new + those that a tier behind the pool had.
 */
#ifndef KVSIM_SCHED_REUSE_H
#define KVSIM_SCHED_REUSE_H

#include <stdbool.h>
#include <stdint.h>

struct sched_reuse {
    int64_t lookup_blocks; /* ceil(tokens / block) of each admission */
    int64_t hit_blocks;
    /* content had been there before, but was evicted (or is not computed yet), and no tier has it */
    int64_t lost_blocks;
    /* of them: the first one was being computed by a running sequence */
    int64_t lost_pending_blocks;
    /* of them: the first one was this request's own, evicted after a preemption */
    int64_t lost_own_blocks;
    /* begun by content that was there, but only whole blocks are found, and not the last one */
    int64_t cut_blocks;
    /* of some content nobody knows whether it was there: lost and cut are too low */
    bool is_unknown;
};

#endif
