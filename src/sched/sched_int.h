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

/* A token that `seq` emitted outside the front is in flight as the plan `number` is made: it is not known to be hashed. */
static inline bool sched_seq_owes(const struct sched *sched, const struct sched_seq *seq,
                                  uint64_t number)
{
    return sched->in_flight && seq->emitted_step + 1 == number;
}

static inline int64_t sched_seq_known_tokens(const struct sched_seq *seq)
{
    return seq->prompt_tokens + seq->emitted;
}

/* Blocks that the front takes in this step, in all tables. */
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
void sched_add_to_shape(const struct sched *sched, struct cost_shape *shape,
                        const struct sched_seq *seq, int64_t tokens, bool emits);
void sched_loose_add(struct sched *sched, struct sched_seq *seq);
void sched_loose_remove(struct sched *sched, const struct sched_seq *seq);

/* What became of the blocks that sched->hits was asked for, at an admission; `loaded_tokens` more come from a tier. */
void sched_count_reuse(struct sched *sched, const struct sched_seq *seq, int64_t loaded_tokens);
/* Runs from this step on, at its place among the others; it has been given no tokens yet. */
void sched_begin_running(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq);

/* After sched_settle(). */
void sched_leave_front(struct sched *sched, struct sched_seq *seq);
/* A member of the front sits this step out, and is loose from here on. */
void sched_leave_front_unscheduled(struct sched *sched, struct sched_plan *plan,
                                   struct sched_seq *seq);
/* All blocks back, computed again from the start; where it waits is the caller's. */
void sched_throw_out(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq);
/* Out of the running list with its tokens; its blocks are the caller's. */
void sched_swap_out(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq);
/* Recompute: all blocks back, to the front of the queue (or its place). */
void sched_preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq);

/* Blocks of a sequence that is set aside, and giving them back. */
int64_t sched_blocks_aside(const struct sched *sched, const struct sched_seq *seq);
void sched_free_aside(struct sched *sched, struct sched_seq *seq);

/* With a radix tree, see tree.c: the beginning of the known tokens that it holds, to hits. */
void sched_tree_look_up(struct sched *sched, const struct sched_seq *seq);
/* The sequence, looked up last, holds what was found; `is_loaded`: what lies in host memory as well. */
void sched_tree_hold(struct sched *sched, struct sched_seq *seq, bool is_loaded);
/* Tokens were given to a sequence outside the front: what belongs to its prompt is to enter. */
void sched_tree_note_computed(struct sched *sched, struct sched_seq *seq);
/* A turn begins: what former ones have computed of prompts enters. */
void sched_tree_enter(struct sched *sched);
/* Gives back all that it holds; `has_ended`: its first `kept_tokens` enter before. */
void sched_tree_let_go(struct sched *sched, struct sched_seq *seq, int64_t held_blocks,
                       int64_t kept_tokens, bool has_ended);

/* With host memory behind the tree, see tree_tier.c: what the last look-up found there, 0 where that is not worth a load. */
int64_t sched_tree_loadable_tokens(const struct sched *sched, struct sched_seq *seq,
                                   int64_t hit_tokens);
/* A sequence that holds the path has taken `blocks` for what lies in host memory: it comes with the turn's load. */
void sched_tree_load(struct sched *sched, struct sched_seq *seq, int64_t blocks);
/* What the entry just made of the sequence has copied is to be stored. */
void sched_tree_store(struct sched *sched, struct sched_seq *seq);
/* Whether a sequence that is looked at has to wait for what is read up for it; what has come enters the tree if not. */
bool sched_tree_waits_for_prefetch(struct sched *sched, struct sched_seq *seq);
/* The turn is decided: what has left the pool for it is written first. */
void sched_tree_write_back(struct sched *sched);
/* What the tree has free and locked is the pool's. */
void sched_tree_take_over(struct sched *sched);
/* With the prefix cache of vLLM V0, see vllm_v0_cache.c: a sequence that ran gives back all that it holds. */
void sched_unique_let_go(struct sched *sched, struct sched_seq *seq);
/* It leaves the front: which plan scheduled it last. */
void sched_unique_note_used(struct sched *sched, struct sched_seq *seq);
void sched_unique_init(struct sched *sched);
/* A sequence that ran leaves its slot, which keeps what it has computed. */
void sched_slot_give(struct sched *sched, struct sched_seq *seq);
/* For how many steps of the front, at most `limit`, there are cells, and nothing but tokens changes. */
int64_t sched_slots_runway(const struct sched *sched, int64_t limit);

static inline bool sched_has_windows(const struct sched *sched)
{
    return sched->pool->tables.window_count > 0;
}
/* Where cached states have to lie at block borders (states.c): tokens of a chunk of a sequence that starts at `start`. */
int64_t sched_cut_at_border(const struct sched *sched, const struct sched_seq *seq, int64_t start,
                            int64_t tokens);
/* A sequence outside the front gets blocks for its tokens up to `end`: one for the state there. */
void sched_take_states(struct sched *sched, struct sched_seq *seq, int64_t end);
/* States before the last of `processed` tokens come back. */
void sched_drop_states(struct sched *sched, struct sched_seq *seq, int64_t processed);
/* kv_prefix.new_state */
int64_t sched_new_state(void *context, const struct kv_prefix_seq *cache);
struct sched_seq *sched_seq_of_cache(const struct kv_prefix_seq *cache);

/* At the start of a running sequence's allocation, even if that then fails: what no query sees any more comes back. */
void sched_drop_out_of_window(struct sched *sched, const struct sched_plan *plan,
                              struct sched_seq *seq);
/* The step begins for the members of the front; `is_given`: their blocks came back one by one already. With a prefix cache
 * they come back in sched_drop_due(). */
void sched_begin_front_step(struct sched *sched, bool is_given);
/* Some of the `blocks` that all take in this step may be empty ones that somebody before them gives back in it. */
bool sched_reuses_drops(const struct sched *sched, int64_t blocks);
/* With a prefix cache: members that stand before `place` give back what is due in this step. */
void sched_drop_due(struct sched *sched, uint64_t place);
/* One member gives back what is due in the step that its front has not begun yet. */
void sched_drop_member(struct sched *sched, struct sched_seq *seq);
/* A sequence starts behind `tokens` hits: what lies below its windows it never holds. */
void sched_begin_windows(struct sched *sched, struct sched_seq *seq, int64_t tokens);
/* Blocks of all tables that a sequence has given back. */
int64_t sched_dropped_blocks(const struct sched *sched, const struct sched_seq *seq);
/* The sequence has left the front: the last plan that it was a member of is `number`, and the one before may be another. */
void sched_note_member_steps(struct sched_seq *seq, uint64_t number);
/* Pairs of queries and keys that windows leave of a chunk, or the keys of a decode. */
void sched_add_windows(const struct sched *sched, struct cost_shape *shape,
                       const struct sched_seq *seq, int64_t tokens, bool is_decode);
/* Tokens of a front member whose blocks are hashed; `is_scheduled`: this turn has given the member its token. */
int64_t sched_front_hashed_tokens(const struct sched *sched, const struct sched_seq *seq,
                                  bool is_scheduled);
/* kv_prefix.hashed_blocks: asked during admission, when every front member has been scheduled. */
int64_t sched_hashed_blocks(void *context, const struct kv_prefix_seq *cache);

#endif
