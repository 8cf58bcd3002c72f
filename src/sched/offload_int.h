/*
 * offload_int.h - what the files behind sched/offload.h share. Private to them.
 */
#ifndef KVSIM_SCHED_OFFLOAD_INT_H
#define KVSIM_SCHED_OFFLOAD_INT_H

#include "sched/sched_int.h"

static inline int64_t sched_offload_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Until when a sequence waits for what is read up for it, all of it there at `done`. */
void sched_offload_set_patience(const struct sched *sched, struct sched_seq *seq, base_i128 done);

/* With a radix tree: see tree_tier.c. */
void sched_tree_tier_init(struct sched *sched);
/* What a store has put into host memory is copied further down. */
void sched_tree_write_down(struct sched *sched, const struct sched_transfer *store);
/* The sequence has arrived: what only the tier below has of it is read up. */
void sched_tree_prefetch(struct sched *sched, struct sched_seq *seq);
/* It leaves the queue before that was used. */
void sched_tree_drop_prefetch(struct sched *sched, struct sched_seq *seq);
/* A transfer has ended: what it read or wrote is locked no longer. */
void sched_tree_end_transfer(struct sched *sched, const struct sched_transfer *transfer);

/* Of either list, at its end; a store of plan `plan` has the next number. */
struct sched_transfer *sched_offload_transfer_new(struct sched_offload *offload,
                                                  struct sched_transfers *list);
struct sched_transfer *sched_offload_store_new(struct sched_offload *offload, uint64_t plan);
/* What the last offer to the first tier has dropped goes down; returns when that is written. */
base_i128 sched_offload_demote(struct sched_offload *offload);
/* The keys of the first `count` chunks; they are worked out once. */
const struct base_hash *sched_offload_keys(const struct sched *sched, struct sched_seq *seq,
                                           int64_t count);

#endif
