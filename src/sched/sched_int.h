/*
 * sched_int.h - what schedulers share: steps on one sequence, and how a decision begins and ends. Private to the room.
 */
#ifndef KVSIM_SCHED_SCHED_INT_H
#define KVSIM_SCHED_SCHED_INT_H

#include "kv/reserve.h"
#include "sched/sched.h"

/* The queue as the options order it; the tail of a stretch; the blocks back: a policy's enqueue, advance, finish. */
void sched_enqueue_as_asked(struct sched *sched, struct sched_seq *seq);
void sched_advance_front(struct sched *sched, struct sched_plan *plan, int64_t steps);
void sched_finish_and_free(struct sched *sched, struct sched_seq *seq, bool is_delivered,
                           bool in_flight);

/* The lists of the plan are empty, its number is set. */
void sched_begin_plan(struct sched *sched, struct sched_plan *plan);
/* Everything has its tokens and blocks: the front moves on, emitters join it or drain, `valid_steps` is found.
 * `is_front_only`: nothing outside the front was given tokens but what was admitted. */
void sched_close_plan(struct sched *sched, struct sched_plan *plan, bool is_front_only);

static inline int64_t sched_seq_known_tokens(const struct sched_seq *seq)
{
    return seq->prompt_tokens + seq->emitted;
}

/* Blocks that the front takes in this step. */
int64_t sched_front_blocks(const struct sched *sched);
/* Tokens of a sequence that `tokens` more make move to a larger tensor. */
int64_t sched_regrown_tokens(const struct sched *sched, int64_t computed, int64_t tokens);
/* Blocks that `tokens` more tokens of a sequence outside the front take; 0 where they were taken at admission. */
int64_t sched_blocks_missing(const struct sched *sched, const struct sched_seq *seq,
                             int64_t tokens);
/* Where sequences reserve: what this one would be promised has a place now, `spare_blocks` staying free. */
bool sched_reservation_fits(const struct sched *sched, const struct sched_seq *seq,
                            int64_t spare_blocks);
/* Out of the queue already: it runs from this step on, with `tokens`, which fit or whose reservation does. */
void sched_admit(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                 int64_t tokens);
/* Gives `tokens` to a sequence outside the front; its blocks have been taken. */
void sched_schedule_loose(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                          int64_t tokens);
void sched_add_to_shape(struct cost_shape *shape, const struct sched_seq *seq, int64_t tokens,
                        bool emits, int64_t window_tokens);
void sched_loose_add(struct sched *sched, struct sched_seq *seq);
void sched_loose_remove(struct sched *sched, const struct sched_seq *seq);

/* After sched_settle(). */
void sched_leave_front(struct sched *sched, struct sched_seq *seq);
/* The plan that is being made finds the sequence no longer in the front's rhythm. */
void sched_note_left_front(struct sched_plan *plan, struct sched_seq *seq);

/* Recompute: all blocks back, to the front of the queue (or its place). */
void sched_preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq);

/* Blocks of a sequence that is set aside, and giving them back. */
int64_t sched_blocks_aside(const struct sched *sched, const struct sched_seq *seq);
void sched_free_aside(struct sched *sched, struct sched_seq *seq);

/* At the start of a running sequence's allocation, even if that then fails. */
void sched_drop_out_of_window(struct sched *sched, const struct sched_plan *plan,
                              struct sched_seq *seq);
/* Tokens of a front member whose blocks are hashed; `is_scheduled`: this turn has given the member its token. */
int64_t sched_front_hashed_tokens(const struct sched *sched, const struct sched_seq *seq,
                                  bool is_scheduled);
/* kv_prefix.hashed_blocks: asked during admission, when every front member has been scheduled. */
int64_t sched_hashed_blocks(void *context, const struct kv_prefix_seq *cache);

#endif
