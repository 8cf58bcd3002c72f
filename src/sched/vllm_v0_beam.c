/*
 * Beam search in vLLM V0's core, as it was up to 0.6.2: a group whose sequences are the beams.
 *
 * At each token the engine keeps as many of the beams' continuations as there are beams. One that has several goes on as
 * itself and is forked for the others, one that has none is freed. Which have how many is drawn (beams.h).
 * With 1 all continuations are alike good, and the common past lies about 2 (W - 1) tokens back; with 0 no two beams meet
 * again. All beams have the same length, and the same number of tokens in the cache: a block that is not full and that
 * several hold is copied for all but one of them at their next token.
 *
 * A group in the front is counted there like any other; its copies are taken with the front's step. Tables change with every
 * token, so that a replica with beams is stepped. Cost: O(beams) a token.
 */
#include "sched/vllm_v0_int.h"

#include "base/error.h"
#include "sched/beams.h"

/* ---- the searches under way ---- */

void sched_group_search(struct sched_group *group, uint64_t key, double beam_switch)
{
    group->beams = (struct sched_beams){.is_search = true, .key = key, .switches = beam_switch};
}

void sched_v0_search_begin(struct sched *sched, struct sched_group *group)
{
    struct sched_beams *beams = &group->beams;
    if (!beams->is_search) {
        return;
    }
    beams->tokens = 1; // the prompt's, from which all of them begin
    beams->prev = NULL;
    beams->next = sched->v0.searches;
    if (beams->next != NULL) {
        beams->next->beams.prev = group;
    }
    sched->v0.searches = group;
}

void sched_v0_search_end(struct sched *sched, struct sched_group *group)
{
    struct sched_beams *beams = &group->beams;
    if (!beams->is_search || !group->is_forked) {
        return;
    }
    *(beams->prev != NULL ? &beams->prev->beams.next : &sched->v0.searches) = beams->next;
    if (beams->next != NULL) {
        beams->next->beams.prev = beams->prev;
    }
}

/* ---- a token of the front as a whole ---- */

static bool is_in_front(const struct sched_group *group)
{
    return group->first->state == SCHED_FRONT;
}

int64_t sched_v0_front_copies(const struct sched *sched)
{
    int64_t copies = 0;
    for (const struct sched_group *group = sched->v0.searches; group != NULL;
         group = group->beams.next) {
        copies += is_in_front(group) ? group->forks.shared_tails : 0;
    }
    return copies;
}

void sched_v0_front_writes(struct sched *sched, struct sched_plan *plan)
{
    for (struct sched_group *group = sched->v0.searches; group != NULL; group = group->beams.next) {
        if (!is_in_front(group)) {
            continue;
        }
        int64_t tokens = sched_seq_computed(sched, group->first),
                copies = group->forks.shared_tails;
        group->beams.plan = plan->number;
        for (struct sched_seq *seq = group->first; copies > 0 && seq != NULL; seq = seq->sibling) {
            kv_fork_write(&group->forks, &seq->fork, tokens);
        }
        base_assert(group->forks.shared_tails == 0);
        plan->copied_blocks += copies;
        sched->pool->forked_blocks -= copies;
    }
}

/* ---- which beams go on ---- */

static const uint32_t *draw_parents(struct sched *sched, const struct sched_group *group)
{
    const struct sched_beam_draws draws = {
        .key = group->beams.key, .switches = group->beams.switches, .width = group->count};
    sched->v0.parents.count = 0;
    for (uint32_t i = 0; i < 2 * group->count; i++) {
        base_vec_push(&sched->v0.parents, 0);
    }
    uint32_t *parents = sched->v0.parents.at;
    sched_beam_parents(&draws, group->beams.tokens, parents, parents + group->count);
    return parents;
}

static void choose(struct sched *sched, struct sched_group *group)
{
    struct kv_forks *forks = &group->forks;
    int64_t tokens = sched_seq_computed(sched, group->first), shared = forks->shared_blocks;
    const uint32_t *parents = draw_parents(sched, group);
    struct sched_seq *parent = group->first;
    uint32_t beam = 0, parent_number = 0;
    for (struct sched_seq *seq = group->first; seq != NULL; seq = seq->sibling, beam++) {
        if (parents[beam] == beam) {
            continue;
        }
        for (; parent_number < parents[beam]; parent_number++) {
            parent = parent->sibling;
        }
        kv_paged_give(sched->pool, kv_fork_leave(forks, &seq->fork, tokens));
        kv_fork_add(forks, &parent->fork, &seq->fork, tokens);
    }
    sched->pool->forked_blocks += forks->shared_blocks - shared;
}

void sched_v0_choose_beams(struct sched *sched, const struct sched_plan *plan)
{
    for (struct sched_group *group = sched->v0.searches; group != NULL; group = group->beams.next) {
        if (group->beams.plan != plan->number || group->first->state == SCHED_DRAINING) {
            continue; // no token, or the last one
        }
        group->beams.tokens++;
        base_assert(group->left == group->count);
        choose(sched, group);
    }
}
