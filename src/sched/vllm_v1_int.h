/*
 * vllm_v1_int.h - an admission of vLLM's V1 scheduler, with a tier behind the pool or without. Shared by its files.
 */
#ifndef KVSIM_SCHED_VLLM_V1_INT_H
#define KVSIM_SCHED_VLLM_V1_INT_H

#include "sched/sched_int.h"

/* Why nobody is looked at any more: seats or `budget` are at an end. SCHED_WAIT_NONE: there is room. */
enum sched_wait sched_v1_wait_for_room(const struct sched *sched, int64_t budget);
/* Tokens of the sequence that the pool has, to sched->hits. At least one is computed, so a prompt that is cached to its last
 * block recomputes that block. */
int64_t sched_v1_look_up(struct sched *sched, struct sched_seq *seq);
/* What it asks for behind so many of its tokens, before the budget. */
int64_t sched_v1_wanted_behind(const struct sched *sched, const struct sched_seq *seq,
                               int64_t tokens);
/* Its tokens up to `end` behind sched->hits have blocks, `held_blocks` of which it has already; `spare_blocks` are not for it. */
bool sched_v1_fits(struct sched *sched, const struct sched_seq *seq, int64_t end,
                   int64_t held_blocks, int64_t spare_blocks);
/* The sequence, out of the queue, holds its hits; `loaded_tokens` more of it come from the tier. */
void sched_v1_take_hits(struct sched *sched, struct sched_seq *seq, int64_t loaded_tokens);
/* Out of the queue: it runs from this step on, with `tokens`. */
void sched_v1_run(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                  int64_t tokens);

/* vllm_v1_tier.c: phase 2 with a tier; why it ended. */
enum sched_wait sched_v1_admit_with_tier(struct sched *sched, struct sched_plan *plan,
                                         int64_t budget);

#endif
