/*
 * vllm_v0_int.h - a turn of vLLM's V0 scheduler in the making, shared by its files.
 */
#ifndef KVSIM_SCHED_VLLM_V0_INT_H
#define KVSIM_SCHED_VLLM_V0_INT_H

#include "sched/sched_int.h"

struct v0_turn {
    struct sched_plan *plan;
    int64_t budget; /* tokens that are left; without chunked prefill decodes may take it below 0 */
    bool someone_went;    /* to the queue or to the host */
    bool someone_is_left; /* the budget did not reach the end of the list */
    bool has_new_head;    /* the queue was sorted: another one stands first */
    bool has_given_back;  /* a block that filled had a twin: the head of the queue may fit now */
    size_t put_back;      /* leading victims of the plan that wait again already */
};

/* A waiting request as it is looked at: its known tokens, of them those that a prefix cache has, and what it would compute. */
struct v0_head {
    int64_t known, cached, tokens;
};

/* ---- requests of one sequence and groups alike ---- */

static inline bool is_forked(const struct sched_seq *seq)
{
    return seq->group != NULL && seq->group->is_forked;
}

/* Sequences that compute now; seats that the request takes, those of answers to come included. */
static inline int64_t member_count(const struct sched_seq *seq)
{
    return is_forked(seq) ? seq->group->left : 1;
}

static inline int64_t seat_count(const struct sched_seq *seq)
{
    return seq->group != NULL && !is_forked(seq) ? seq->group->count : member_count(seq);
}

/* Members of a request that compute: all of a group that is forked, else the one that stands for it. */
static inline struct sched_seq *next_member(const struct sched_seq *seq)
{
    return is_forked(seq) ? seq->sibling : NULL;
}

static inline int64_t seats_taken(const struct sched *sched)
{
    return (int64_t)sched->running.count + sched->v0.extra_seats;
}

/* What the lists' counts leave out, as a request begins (+1) or ceases (-1) to run. */
static inline void count_running(struct sched *sched, const struct sched_seq *seq, int64_t by)
{
    sched->extra_members += by * (member_count(seq) - 1);
    sched->v0.extra_seats += by * (seat_count(seq) - member_count(seq));
}

static inline bool is_prefilling(const struct sched_seq *seq)
{
    return seq->state != SCHED_FRONT && seq->computed < seq->prefill_tokens;
}

/* Tokens that have a place: a whole prompt has from its admission. */
static inline int64_t placed_tokens(const struct sched *sched, const struct sched_seq *seq)
{
    return is_prefilling(seq) ? seq->prefill_tokens : sched_seq_computed(sched, seq);
}

/* All members of a request that is given up are gone, with what they hold on the host. */
void sched_v0_forget(struct sched *sched, struct sched_seq *first);
/* The policy's `delivered` and `finish`. */
void sched_v0_delivered(struct sched *sched, struct sched_plan *plan);
void sched_v0_finish(struct sched *sched, struct sched_seq *seq, bool is_delivered, bool in_flight);
/* vllm_v0_beam.c: a group is forked, or its last sequence goes. */
void sched_v0_search_begin(struct sched *sched, struct sched_group *group);
void sched_v0_search_end(struct sched *sched, struct sched_group *group);
/* Blocks that beams in the front copy at their next token; that token, when the front steps as a whole. */
int64_t sched_v0_front_copies(const struct sched *sched);
void sched_v0_front_writes(struct sched *sched, struct sched_plan *plan);
/* The tokens of `plan` have come: which beams go on. */
void sched_v0_choose_beams(struct sched *sched, const struct sched_plan *plan);
/* To the queue or to the host; those computed again wait when the turn is over. */
void sched_v0_throw_out(struct sched *sched, struct v0_turn *turn, struct sched_seq *first);
/* A waiting request, its whole prompt, could be admitted now. */
bool sched_v0_fits(struct sched *sched, const struct v0_turn *turn, struct sched_seq *seq);
/* vllm_v0_cache.c: the head of the queue, looked up once until it runs. */
struct v0_head sched_v0_look_up(struct sched *sched, struct sched_seq *seq);
/* It is admitted: holds the blocks of all its known tokens, and starts behind its hits. */
void sched_v0_take_hits(struct sched *sched, struct sched_seq *seq, const struct v0_head *head);
/* Free blocks that its full blocks need where it is swapped to; and all its blocks go there. */
int64_t sched_v0_blocks_to_take(struct kv_unique *to, const struct sched *sched,
                                const struct sched_seq *seq);
void sched_v0_move(struct sched *sched, struct kv_unique *from, struct kv_unique *to,
                   struct sched_seq *seq);
/* What one on the host holds in a cache there comes back. */
void sched_v0_leave_host(struct sched *sched, struct sched_seq *seq);
/* A sequence that decodes has a place for its next token: a block that this fills may be one that others have. */
void sched_v0_filled(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq);
/* By priority, in a turn that admits nobody: both lists are sorted, and the less urgent make way for the head of the queue. */
void sched_v0_by_priority(struct sched *sched, struct v0_turn *turn);
/* The running list has another order: its members' places follow. */
void sched_v0_renumber(struct sched *sched);
/* With chunked prefill, after everybody has been given tokens: the running list as the engine makes it anew, by roles. */
void sched_v0_reorder(struct sched *sched, const struct v0_turn *turn);

#endif
