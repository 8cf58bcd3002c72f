/*
 * Groups under vLLM V0: several answers to a prompt, from the fork of its table to the last one's end.
 */
#include "sched/vllm_v0_int.h"

#include "base/error.h"

struct sched_group *sched_group_new(struct sched *sched, uint32_t count)
{
    struct sched_group *group = base_pool_take(&sched->groups);
    group->forks.nodes = &sched->forks;
    group->forks.block_tokens = sched->pool->block_tokens;
    group->count = count;
    sched->spare_blocks = sched->spare_blocks > count ? sched->spare_blocks : count;
    return group;
}

void sched_group_add(struct sched_group *group, struct sched_seq *seq)
{
    struct sched_seq **at = &group->first;
    while (*at != NULL) {
        at = &(*at)->sibling;
    }
    *at = seq;
    seq->group = group;
    seq->sibling = NULL;
    group->left++;
}

static void leave_group(struct sched *sched, struct sched_seq *seq)
{
    struct sched_group *group = seq->group;
    struct sched_seq **at = &group->first;
    while (*at != seq) {
        at = &(*at)->sibling;
    }
    *at = seq->sibling;
    seq->group = NULL;
    if (--group->left == 0) {
        sched_v0_search_end(sched, group);
        base_pool_give(&sched->groups, group);
    }
}

void sched_v0_forget(struct sched *sched, struct sched_seq *first)
{
    for (struct sched_seq *seq = first, *next; seq != NULL; seq = next) {
        next = seq->sibling;
        seq->state = SCHED_GONE;
        if (is_forked(seq)) {
            kv_fork_leave(&seq->group->forks, &seq->fork, seq->computed);
        }
        if (seq->group != NULL) {
            leave_group(sched, seq);
        }
    }
}

/* ---- results ---- */

static void begin_sibling(struct sched *sched, struct sched_seq *first, struct sched_seq *seq,
                          struct sched_seq *before)
{
    kv_fork_add(&seq->group->forks, &first->fork, &seq->fork, first->computed);
    seq->computed = seq->high_water = first->computed;
    seq->prefill_tokens = first->prefill_tokens;
    sched_list_insert_before(&sched->running, seq, before);
    sched->outside_front_tokens += seq->computed;
    if (seq->emitted == seq->end_outputs) {
        seq->state = SCHED_DRAINING;
        base_vec_push(&sched->draining, seq);
    } else {
        seq->state = SCHED_LOOSE;
        sched_loose_add(sched, seq);
    }
}

// The prompt is computed: its table is forked for all answers.
static void fork_group(struct sched *sched, struct sched_seq *first)
{
    struct sched_seq *before = first->next;
    count_running(sched, first, -1);
    for (struct sched_seq *seq = first->sibling; seq != NULL; seq = seq->sibling) {
        begin_sibling(sched, first, seq, before);
    }
    first->group->is_forked = true;
    sched_v0_search_begin(sched, first->group);
    count_running(sched, first, 1);
    sched->pool->forked_blocks += first->group->forks.shared_blocks;
}

void sched_v0_delivered(struct sched *sched, struct sched_plan *plan)
{
    for (size_t i = 0; plan->forked_count > 0 && i < plan->emits.count; i++) {
        struct sched_seq *seq = plan->emits.at[i];
        if (seq->group != NULL && !is_forked(seq) && seq->group->first == seq) {
            fork_group(sched, seq);
        }
    }
    sched_v0_choose_beams(sched, plan);
}

static void leave_host(struct sched *sched, struct sched_seq *seq, int64_t blocks)
{
    sched->v0.host_blocks -= blocks;
    sched_v0_leave_host(sched, seq);
    if (seq == sched_group_first(seq)) {
        struct sched_seq *successor = next_member(seq);
        if (successor != NULL) {
            sched_list_insert_before(&sched->v0.swapped, successor, seq);
        }
        sched_list_remove(&sched->v0.swapped, seq);
    }
    seq->state = SCHED_GONE;
}

static bool runs(const struct sched_seq *seq)
{
    return seq->state == SCHED_LOOSE || seq->state == SCHED_FRONT || seq->state == SCHED_DRAINING;
}

// A member of a group leaves what it shares; what it holds alone is given back with it.
static void leave_forks(struct sched *sched, struct sched_seq *seq)
{
    struct kv_forks *forks = &seq->group->forks;
    int64_t shared = forks->shared_blocks;
    int64_t own = kv_fork_own_blocks(forks, &seq->fork, seq->computed);
    int64_t given = kv_fork_leave(forks, &seq->fork, seq->computed);
    kv_paged_give(sched->pool, given - own);
    sched->pool->forked_blocks += forks->shared_blocks - shared;
}

void sched_v0_finish(struct sched *sched, struct sched_seq *seq, bool is_delivered, bool in_flight)
{
    bool has_run = runs(seq);
    sched->v0.circle = (struct sched_circle){0};
    if (seq->state == SCHED_SWAPPED) {
        int64_t blocks = kv_paged_blocks_for(sched->pool, placed_tokens(sched, seq));
        if (seq->group != NULL) {
            blocks =
                kv_fork_leave(&seq->group->forks, &seq->fork, seq->computed) + seq->blank_blocks;
        }
        leave_host(sched, seq, blocks);
    }
    if (has_run) {
        count_running(sched, sched_group_first(seq), -1);
    }
    if (has_run && seq->group != NULL) {
        sched_settle(sched, seq);
        leave_forks(sched, seq);
    }
    struct sched_group *group = seq->group;
    sched_finish_and_free(sched, seq, is_delivered, in_flight);
    bool others_run = has_run && is_forked(seq) && group->left > 1;
    if (group != NULL) {
        leave_group(sched, seq);
    }
    if (others_run) {
        count_running(sched, group->first, 1);
    }
}
