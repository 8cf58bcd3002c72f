/*
 * stretch.c - many steps of one plan taken at once.
 */
#include "serve/replica_int.h"
#include "serve/serve_int.h"

// The front goes from the last interval of a piece to the first of the next: one token each, and the blocks that takes.
static void step_state(struct serve_replica *replica, int64_t ahead)
{
    const struct sched_front *front = &replica->sched.front;
    const struct kv_tables *tables = &replica->pool.tables;
    struct kv_paged_state *kv = &replica->tally.state.kv;
    int64_t residue = sched_front_residue(front, ahead);
    sched_give_back_ahead(&replica->sched, 1);
    int64_t kept = front->windows.kept.count > 0 ? front->windows.kept.at[0].blocks : 0;
    int64_t taken = front->boundary[residue], given = 0;
    kv->live_tokens += front->count;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct sched_front_window *window = &front->windows.at[w];
        kv->visible_tokens[w] += window->visible_growing;
        kv->dropped_blocks[w] += window->drop[residue];
        kv->table_blocks[w] += window->take != NULL ? window->take[residue] : 0;
        given += window->drop[residue] * tables->windows[w].table_count;
    }
    kv->used_blocks += taken - given + kept;
    kv->shared_blocks -= kept;
    kv->cached_blocks -= kv_queue_walk_pass(&replica->tally.state.queue, taken);
    kv->cached_blocks += replica->tally.state.keeps_content ? given - kept : 0;
}

// What the windows of a stretch's first step hold, and what they gain with each further one.
static void fill_windows(const struct serve_replica *replica, const struct cost_shape *shape,
                         struct cost_ramp *ramp)
{
    for (size_t w = 0; w < replica->pool.tables.window_count; w++) {
        ramp->window_tokens[w] = shape->decode_window_tokens[w];
        ramp->window_gain[w] = replica->sched.front.windows.at[w].cost_growing;
    }
}

static void ramp_advance(struct cost_ramp *ramp, int64_t steps)
{
    ramp->context_tokens += steps * (int64_t)ramp->seq_count;
    for (size_t w = 0; w < COST_WINDOWS_MAX; w++) {
        ramp->window_tokens[w] += steps * ramp->window_gain[w];
    }
}

/*
 * Takes as many intervals at once as the plan provably holds, at most up to the first boundary at or after the next
 * event. `newest` was decided at this turn; `running` is it (synchronous) or the step before it, of the same members.
 * Interval j runs step running + j in the state after deciding newest + j.
 */
void serve_replica_take_stretch(struct serve_replica *replica, struct serve_flight *newest,
                                base_i128 next_event)
{
    struct serve_flight *running = replica->running;
    struct cost_ramp ramp = {.seq_count = running->plan.shape.decode_seq_count,
                             .context_tokens = running->plan.shape.decode_context_tokens};
    fill_windows(replica, &running->plan.shape, &ramp);
    const struct sched_front *front = &replica->sched.front;
    int64_t limit = 1 + newest->plan.valid_steps, done = 0;
    bool is_last = false;
    while (!is_last) {
        struct cost_piece piece;
        // All members have their whole cache copied at each step, or nobody has.
        bool all_copied = replica->pool.policy == KV_CONCAT;
        int64_t copied = all_copied ? ramp.context_tokens - (int64_t)ramp.seq_count : 0;
        serve_price_piece(replica, &ramp, copied, limit - done, &piece);
        base_i128 start = replica->tally.since_ticks;
        int64_t count = cost_piece_steps_until(&piece, next_event - start);
        if (done > 0) {
            step_state(replica, done - 1);
        }
        sched_give_back_ahead(&replica->sched, count - 1);
        replica->tally.state.bound = piece.bound;
        serve_tally_stretch(&replica->tally, &piece, count, front, done);
        done += count;
        is_last = done == limit || replica->tally.since_ticks >= next_event;
        // The gaps of the last step wait for its delivery.
        int64_t delivered = is_last ? count - 1 : count;
        if (delivered > 0) {
            serve_replica_add_gaps(replica, &running->plan, piece.first_ticks, piece.delta_ticks,
                                   delivered);
        }
        running->ticks = piece.first_ticks + piece.delta_ticks * (count - 1);
        running->bound = piece.bound;
        ramp_advance(&ramp, count);
    }
    running->end_ticks = replica->tally.since_ticks;
    running->start_ticks = running->end_ticks - running->ticks;
    if (done > 1) {
        if (replica->pool.policy == KV_CONCAT) {
            replica->copied_tokens += (done - 1) * newest->plan.shape.decode_context_tokens +
                                      (done - 1) * (done - 2) / 2 * front->count;
        }
        sched_advance(&replica->sched, &newest->plan, done - 1);
        if (running != newest) {
            running->plan.number += (uint64_t)(done - 1);
            running->plan.shape.decode_context_tokens += (done - 1) * front->count;
            for (size_t w = 0; w < COST_WINDOWS_MAX; w++) {
                running->plan.shape.decode_window_tokens[w] += (done - 1) * ramp.window_gain[w];
            }
        }
        replica->steps += (uint64_t)(done - 1);
        replica->computed_tokens += (done - 1) * (int64_t)ramp.seq_count;
        replica->emitted_tokens += (done - 1) * (int64_t)ramp.seq_count;
    }
}

bool serve_replica_can_stretch(const struct serve_replica *replica,
                               const struct serve_flight *newest)
{
    if (replica->serve->options->mode != SERVE_JUMP || newest == NULL ||
        newest->plan.valid_steps == 0 || serve_stalls_exist(&replica->stalls)) {
        return false;
    }
    const struct sched_plan *running = &replica->running->plan;
    return running == &newest->plan ||
           (running->is_front_only && running->generation == newest->plan.generation);
}
