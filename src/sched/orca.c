/*
 * Iteration-level scheduling as in Orca, and request-level batches as in FasterTransformer.
 *
 * A step gives one token to everyone who runs and the whole prompt to everyone who is admitted; there are no chunks and no
 * budget. Whoever is admitted has the memory for all it will ever need, by reservation or (concat) because the sum of what
 * all will have grown to is within the pool, so nobody is thrown out. The queue is served in order: a head that does not
 * fit holds up the rest. With `static_batch` a batch is formed only when nothing runs, and runs until its last one is done;
 * what ends early gives its memory back. Without a cache (no_cache) every sequence is computed from its first token again
 * at every step.
 *
 * Sources: Yu et al., OSDI 2022; microsoft/sarathi-serve (OrcaScheduler, FasterTransformerScheduler).
 */
#include "sched/sched_int.h"

#include "base/error.h"

// Blocks that a sequence will have grown to where nothing is reserved.
static int64_t blocks_at_the_end(const struct sched *sched, const struct sched_seq *seq)
{
    if (sched->pool->policy == KV_NO_CACHE) {
        return 0;
    }
    return kv_reserve_held_blocks(sched->pool, seq->prompt_tokens + seq->max_outputs);
}

static bool fits(const struct sched *sched, const struct sched_seq *seq)
{
    const struct kv_paged *pool = sched->pool;
    if (kv_policy_reserves(pool->policy)) {
        return sched_reservation_fits(sched, seq, 0);
    }
    int64_t usable = pool->total_blocks - pool->held_back_blocks;
    return blocks_at_the_end(sched, seq) <= usable - sched->blocks_at_the_end;
}

static enum sched_wait try_head(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    if ((int64_t)sched->running.count >= sched->options->max_num_seqs) {
        return SCHED_WAIT_SEATS;
    }
    if (!fits(sched, seq)) {
        return SCHED_WAIT_KV_POOL;
    }
    sched_queue_remove(&sched->waiting, seq);
    if (!kv_policy_reserves(sched->pool->policy)) {
        seq->blocks_at_the_end = blocks_at_the_end(sched, seq);
        sched->blocks_at_the_end += seq->blocks_at_the_end;
    }
    sched_admit(sched, plan, seq, sched_seq_known_tokens(seq));
    return SCHED_WAIT_NONE;
}

// A batch that is closed has no seat for anyone else.
static enum sched_wait admit_from_queue(struct sched *sched, struct sched_plan *plan)
{
    struct sched_seq *seq = sched_queue_head(&sched->waiting);
    if (seq != NULL && sched->options->static_batch && sched->running.count > 0) {
        return SCHED_WAIT_SEATS;
    }
    enum sched_wait wait = SCHED_WAIT_NONE;
    for (; wait == SCHED_WAIT_NONE && seq != NULL; seq = sched_queue_head(&sched->waiting)) {
        wait = try_head(sched, plan, seq);
    }
    return wait;
}

// Those outside the front get what is left of their known tokens: all of them where nothing is kept, else the next one of a
// sequence whose prompt was longer than a window (it joins the front a step later).
static void compute_loose(struct sched *sched, struct sched_plan *plan)
{
    for (size_t i = 0; i < sched->loose.count; i++) {
        struct sched_seq *seq = sched->loose.at[i];
        int64_t tokens = sched_seq_known_tokens(seq) - seq->computed;
        bool taken = kv_paged_take(sched->pool, sched_blocks_missing(sched, seq, tokens));
        base_require(taken);
        sched_schedule_loose(sched, plan, seq, tokens);
    }
}

static void plan_next(struct sched *sched, struct sched_plan *plan)
{
    sched_begin_plan(sched, plan);
    bool taken = kv_paged_take(sched->pool, sched_front_blocks(sched));
    base_require(taken);
    sched_begin_front_step(sched, false);
    compute_loose(sched, plan);
    bool is_front_only = plan->token_count == 0;
    plan->wait = admit_from_queue(sched, plan);
    sched_close_plan(sched, plan, is_front_only);
}

static void finish(struct sched *sched, struct sched_seq *seq, bool is_delivered, bool in_flight)
{
    sched->blocks_at_the_end -= seq->blocks_at_the_end;
    seq->blocks_at_the_end = 0;
    sched_finish_and_free(sched, seq, is_delivered, in_flight);
}

const struct sched_ops sched_orca = {
    .policy = {.name = "orca",
               .summary = "Orca: iterations, whole prompts, memory for all of a request at "
                          "admission, no preemption"},
    .uses = SCHED_USES_ORDER | SCHED_USES_STATIC_BATCHES,
    .admits_by_end = true,
    .enqueue = sched_enqueue_as_asked,
    .plan = plan_next,
    .advance = sched_advance_front,
    .finish = finish,
};
