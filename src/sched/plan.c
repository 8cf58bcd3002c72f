/*
 * plan.c - how a decision begins and ends: who emitted joins the front or drains, what the step is, how long the plan holds.
 */
#include "sched/sched_int.h"

#include "base/error.h"

#include <string.h>

void sched_plan_release(struct sched_plan *plan)
{
    base_vec_free(&plan->emits);
    base_vec_free(&plan->finals);
    base_vec_free(&plan->admitted);
    base_vec_free(&plan->victims);
    base_vec_free(&plan->given_up);
    base_vec_free(&plan->passes);
    base_vec_free(&plan->left_front);
    base_vec_free(&plan->swapped_out);
    base_vec_free(&plan->swapped_in);
}

void sched_begin_plan(struct sched *sched, struct sched_plan *plan)
{
    plan->number = sched->next_number;
    plan->token_count = 0;
    plan->shape = (struct cost_shape){.cached_step_tokens = sched->options->cached_step_tokens};
    plan->valid_steps = 0;
    plan->copied_tokens = 0;
    plan->flush = 0;
    sched_offload_begin_turn(sched);
    sched->head_needs = INT64_MAX;
    plan->skips_front = plan->is_by_role = false;
    plan->engine_died = plan->goes_in_circles = false;
    plan->swapped_blocks = plan->copied_blocks = plan->forked_count = 0;
    plan->swapped_out.count = plan->swapped_in.count = 0;
    plan->emits.count = plan->finals.count = plan->passes.count = 0;
    plan->admitted.count = plan->victims.count = plan->left_front.count = 0;
    plan->given_up.count = 0;
}

/* ---- who has emitted ---- */

static void final_add(struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_seqs *finals = &plan->finals;
    base_vec_push(finals, seq);
    size_t i = finals->count - 1;
    for (; i > 0 && finals->at[i - 1]->place > seq->place; i--) {
        finals->at[i] = finals->at[i - 1];
    }
    finals->at[i] = seq;
}

static void start_draining(struct sched *sched, struct sched_seq *seq)
{
    if (seq->state == SCHED_LOOSE) {
        sched_loose_remove(sched, seq);
    }
    seq->state = SCHED_DRAINING;
    base_vec_push(&sched->draining, seq);
}

// An asynchronous engine learns of an early stop a step late: the sequence stays scheduled until then.
static bool overruns(const struct sched *sched, const struct sched_seq *seq)
{
    return sched->options->async_scheduling && seq->stops_early;
}

static void join_front(struct sched *sched, struct sched_seq *seq, bool is_overrun)
{
    if (is_overrun) {
        seq->final_step = UINT64_MAX;
        seq->is_overrun = true;
        sched->overrun_count++;
    }
    sched_front_join(&sched->front, seq);
    if (sched_has_tier(sched) && sched->pool->radix == NULL) {
        sched_offload_joined_front(sched, seq);
    }
}

// Nothing of what was computed is kept.
static void forget(struct sched *sched, struct sched_seq *seq)
{
    sched->outside_front_tokens -= seq->computed;
    seq->computed = 0;
}

// A sequence that emitted outside the front decodes from now on, or is done when that token is delivered.
static void follow_up_emission(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    seq->emitted++;
    bool is_last = seq->emitted == seq->end_outputs;
    if (is_last) {
        final_add(plan, seq);
    }
    bool keeps_nothing = sched->pool->policy == KV_NO_CACHE;
    if (seq->group != NULL && !seq->group->is_forked) {
        // Its siblings begin when this step's tokens are there; nobody is in the front's rhythm before the first write.
        if (is_last && seq->state == SCHED_LOOSE) {
            start_draining(sched, seq);
        }
        return;
    }
    if (keeps_nothing) {
        forget(sched, seq);
    }
    if (is_last && (keeps_nothing || !overruns(sched, seq))) {
        start_draining(sched, seq);
        return;
    }
    if (keeps_nothing) {
        return; // there is no front of what computes everything
    }
    if (!sched_window_can_join(&sched->front, seq, plan->number, sched->in_flight)) {
        seq->is_overrun = is_last;
        sched->overrun_count += is_last ? 1 : 0;
        return; // what its last chunk pushed out of a window is still held
    }
    sched_loose_remove(sched, seq);
    sched->outside_front_tokens -= seq->computed;
    seq->first_front_plan = plan->number + 1;
    seq->last_front_plan = UINT64_MAX;
    seq->final_step = sched->front.step + (uint64_t)(seq->end_outputs - seq->emitted);
    join_front(sched, seq, is_last);
}

// Members whose last token comes with the step just scheduled.
static void follow_up_finals(struct sched *sched, struct sched_plan *plan)
{
    struct sched_front *front = &sched->front;
    while (sched_front_next_final(front) <= front->step) {
        struct sched_seq *seq = front->calendar[0];
        base_assert(seq->final_step == front->step);
        final_add(plan, seq);
        // The front has moved on: what it hashed at this scheduling lies one token behind, or two.
        int64_t hashed = sched_front_hashed_tokens(sched, seq, false);
        sched_settle(sched, seq);
        sched_leave_front(sched, seq);
        seq->hashed_tokens = hashed;
        if (overruns(sched, seq)) {
            join_front(sched, seq, true);
            continue;
        }
        sched->outside_front_tokens += seq->computed;
        seq->last_front_plan = plan->number;
        sched_note_member_steps(seq, plan->number);
        start_draining(sched, seq);
    }
}

/* ---- how long the plan holds ---- */

static int64_t provable_steps(const struct sched *sched, const struct sched_plan *plan)
{
    if (sched->pool->policy == KV_CONCAT_DOUBLING) {
        return 0; // every tensor grows at a step of its own
    }
    if (sched->v0.searches != NULL) {
        return 0; // tables are forked and freed with every token
    }
    const struct kv_unique *unique = sched->pool->unique;
    if (unique != NULL && (unique->contended_count > 0 || sched->v0.swapped.count > 0)) {
        return 0; // blocks may be given back with any step, or become those that somebody on the host needs
    }
    if (!plan->is_front_only || sched->draining.count + sched->overrun_count > 0 ||
        sched->skipped.count > 1) {
        return 0;
    }
    const struct kv_prefix *prefix = sched->pool->prefix;
    const struct kv_radix *radix = sched->pool->radix;
    if (kv_paged_has_cache(sched->pool) && sched->head_was_looked_up) {
        return 0; // what the cache holds changes with every step, and with it the head's chances
    }
    uint64_t final_step = sched_front_next_final(&sched->front);
    uint64_t left = final_step - sched->front.step;
    int64_t limit = left > INT32_MAX ? INT32_MAX : (int64_t)left;
    if (sched->pool->slots != NULL) {
        return sched_slots_runway(sched, limit);
    }
    int64_t blocks = sched->pool->free_blocks;
    if (prefix != NULL && sched_has_tier(sched) && sched_offload_minds_eviction(sched)) {
        blocks = kv_prefix_quiet_blocks(prefix);
    } else if (radix != NULL) {
        blocks = radix->blank_blocks; // the next one takes a whole piece out of the tree
    }
    if (sched_has_tier(sched)) {
        limit = sched_offload_runway(sched, limit);
    }
    if (blocks < sched->spare_blocks) {
        return 0;
    }
    blocks -= sched->spare_blocks;
    if (!sched_has_windows(sched)) {
        return sched_front_runway(&sched->front, blocks, limit);
    }
    uint64_t quiet = sched_front_windows_quiet_steps(&sched->front);
    limit = quiet < (uint64_t)limit ? (int64_t)quiet : limit;
    if (prefix != NULL && prefix->drops_blank) {
        // Blocks without content come back where the next ones are taken.
        limit = sched_front_windows_steps_to_drop(&sched->front, limit);
    }
    if (prefix != NULL) {
        // Blocks are taken from one end of the queue and come back at the other: those that are there now are enough.
        return sched_front_runway(&sched->front, blocks, limit);
    }
    return sched_front_windows_runway(&sched->front, blocks, sched->head_needs, limit);
}

/* ---- the step ---- */

static void count_front(const struct sched *sched, struct sched_plan *plan)
{
    const struct sched_front *front = &sched->front;
    plan->counted_total = front->counted_total;
    for (size_t i = 0; plan->class_count > 1 && i < plan->class_count; i++) {
        plan->counted[i] = front->counted[i];
    }
    if (plan->skips_front) {
        return;
    }
    plan->shape.decode_seq_count += (uint32_t)front->count;
    plan->token_count += front->count;
}

static void count_front_windows(const struct sched *sched, int64_t *window_tokens)
{
    for (size_t w = 0; w < sched->pool->tables.window_count; w++) {
        window_tokens[w] += sched->front.windows.at[w].cost_tokens;
    }
}

static void count_regrown(const struct sched *sched, struct sched_plan *plan)
{
    for (const struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        if (seq->state == SCHED_FRONT) {
            plan->copied_tokens += sched_regrown_tokens(sched, sched_seq_computed(sched, seq), 1);
        }
    }
}

// Free blocks among which the head of the queue finds no place; where blocks lie anywhere there is no such thing.
static int64_t count_fragmented(const struct sched *sched)
{
    const struct sched_seq *head = sched->pool->space != NULL && !sched->pool->compacts
                                       ? sched_queue_head(&sched->waiting)
                                       : NULL;
    return head != NULL && !sched_reservation_fits(sched, head, 0) ? sched->pool->free_blocks : 0;
}

void sched_close_plan(struct sched *sched, struct sched_plan *plan, bool is_front_only)
{
    struct sched_front *front = &sched->front;
    sched->fragmented_blocks = count_fragmented(sched);
    count_front(sched, plan);
    if (sched_has_tier(sched) && sched->pool->radix != NULL) {
        sched_tree_write_back(sched);
    }
    plan->flush = sched->offload.flush;
    if (plan->token_count == 0) {
        return;
    }
    if (sched_has_tier(sched)) {
        sched_offload_store(sched, plan);
        is_front_only = is_front_only && !sched->offload.has_orders;
    }
    if (sched->pool->policy == KV_CONCAT_DOUBLING) {
        count_regrown(sched, plan);
    }
    // Blocks of the front have been taken; here its tokens count as computed.
    if (!plan->skips_front) {
        sched_front_step(front);
        sched->v0.front_plan = plan->number;
        plan->shape.decode_context_tokens += front->context_sum;
        count_front_windows(sched, plan->shape.decode_window_tokens);
    }
    plan->is_front_only = is_front_only && plan->admitted.count == 0;
    plan->generation = front->generation;
    sched->next_number++;
    for (size_t i = 0; i < plan->emits.count; i++) {
        follow_up_emission(sched, plan, plan->emits.at[i]);
    }
    follow_up_finals(sched, plan);
    size_t moved = plan->victims.count + plan->swapped_out.count + plan->given_up.count;
    plan->valid_steps = moved > 0 ? 0 : provable_steps(sched, plan);
}

void sched_advance_front(struct sched *sched, struct sched_plan *plan, int64_t steps)
{
    base_require(steps >= 1 && steps <= plan->valid_steps);
    struct sched_front *front = &sched->front;
    int64_t dropped = sched_front_windows_drop(front, steps);
    if (sched->pool->prefix != NULL) {
        sched_give_back_ahead(sched, steps - front->windows.given_steps);
        front->windows.given_steps = dropped = 0;
    }
    int64_t needed = sched_front_advance(front, steps);
    // Blocks that come back are taken again: only the balance shows, and within the stretch there were enough at each step.
    if (dropped > needed) {
        kv_paged_give(sched->pool, dropped - needed);
    } else {
        bool taken = kv_paged_take(sched->pool, needed - dropped);
        base_require(taken);
    }
    plan->number += (uint64_t)steps;
    sched->next_number = plan->number + 1;
    sched->v0.front_plan = plan->number;
    plan->shape.decode_context_tokens = front->context_sum;
    memset(plan->shape.decode_window_tokens, 0, sizeof plan->shape.decode_window_tokens);
    count_front_windows(sched, plan->shape.decode_window_tokens);
    plan->valid_steps -= steps;
    follow_up_finals(sched, plan);
}
