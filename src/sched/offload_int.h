/*
 * offload_int.h - what the files behind sched/offload.h share. Private to them.
 */
#ifndef KVSIM_SCHED_OFFLOAD_INT_H
#define KVSIM_SCHED_OFFLOAD_INT_H

#include "sched/sched_int.h"

/* What the tiers know of a sequence's first chunks: looked for again when that may have changed. */
struct kv_path sched_offload_path(const struct sched *sched, struct sched_seq *seq, int64_t chunks);

/* Until when a sequence waits for what is read up for it, all of it there at `done`. */
void sched_offload_set_patience(const struct sched *sched, struct sched_seq *seq, base_i128 done);

/* Ticks of the steps that would compute the sequence's known tokens from `from` on, alone. */
base_i128 sched_offload_prefill_ticks(const struct sched *sched, const struct sched_seq *seq,
                                      int64_t from);
/*
 * Fetch or recompute: ticks until `blocks` have come to the pool, `below_chunks` of their chunks from the tier below, and by how
 * many ticks computing the tokens between `hit_tokens` and `to` takes longer than that.
 */
base_i128 sched_offload_gain(const struct sched *sched, const struct sched_seq *seq,
                             int64_t hit_tokens, int64_t to, int64_t blocks, int64_t below_chunks);
/*
 * Up into the first tier: what it lacks of the pieces. False when there is no room for that; `end_ticks`: when the last of it is
 * there.
 */
bool sched_offload_read_up(struct sched_offload *offload, const struct kv_pieces *wanted,
                           base_i128 *end_ticks);

/* With several tables or windows: see offload_tables.c. */
void sched_offload_init_tables(struct sched *sched);
int64_t sched_offload_ask_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens);
void sched_offload_prefetch_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens);
/* The chunks of all tables that a sequence needs to go on behind `to` tokens are pinned and added to `load`. */
void sched_offload_pin_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                              int64_t to, struct sched_transfer *load);
/* Chunks from `first` to `full` of all tables, as far as the sequence holds them: to `wanted`. */
void sched_offload_list_held(struct sched *sched, const struct sched_seq *seq,
                             const struct kv_path *path, int64_t first, int64_t full);
/* Its first `count` chunks are the most recent ones of the first tier: of windows those from its last hits on. */
void sched_offload_touch_tables(struct sched *sched, struct kv_tier *tier,
                                const struct sched_seq *seq, const struct kv_path *path,
                                int64_t count);

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

#endif
