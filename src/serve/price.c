/*
 * price.c - how long a step takes: the cost model's word, copies and swaps, and the links that keep it waiting.
 */
#include "serve/replica_int.h"
#include "serve/serve_int.h"
#include "serve/transfers.h"

#include <string.h>

int64_t serve_copied_tokens(const struct serve_replica *replica, const struct sched_plan *plan)
{
    const struct cost_shape *shape = &plan->shape;
    if (replica->pool.policy != KV_CONCAT) {
        return plan->copied_tokens;
    }
    return shape->prefill_cached_tokens + shape->decode_context_tokens - shape->decode_seq_count;
}

static int64_t copy_ticks(const struct serve_replica *replica, const struct cost_shape *shape,
                          int64_t copied)
{
    const struct serve_copy_ticks *copy = &replica->serve->config->copy;
    int64_t context =
        shape->prefill_cached_tokens + shape->prefill_tokens + shape->decode_context_tokens;
    return copy->per_cached_token * copied + copy->per_context_token * context;
}

// The next piece of a ramp, copies included: they grow along a line as well.
void serve_price_piece(struct serve_replica *replica, const struct cost_ramp *ramp, int64_t copied,
                       int64_t max_steps, struct cost_piece *piece)
{
    const struct serve_copy_ticks *copy = &replica->serve->config->copy;
    struct cost_shape shape = {.decode_seq_count = ramp->seq_count,
                               .decode_context_tokens = ramp->context_tokens};
    cost_ramp_piece(replica->cost, ramp, max_steps, piece);
    piece->first_ticks += copy_ticks(replica, &shape, copied);
    if (replica->pool.policy == KV_CONCAT) {
        piece->delta_ticks += (copy->per_cached_token + copy->per_context_token) * ramp->seq_count;
    }
}

// A batch that is computed in passes lasts as long as they do; what bounds it is what bounds the longest.
static struct cost_result step_cost(struct serve_replica *replica, const struct sched_plan *plan)
{
    if (plan->passes.count == 0) {
        return cost_step(replica->cost, &plan->shape);
    }
    struct cost_result sum = {0};
    int64_t longest = 0;
    for (size_t i = 0; i < plan->passes.count; i++) {
        struct cost_shape shape = plan->passes.at[i];
        if (i == 0) {
            shape.decode_seq_count = plan->shape.decode_seq_count;
            shape.decode_context_tokens = plan->shape.decode_context_tokens;
            memcpy(shape.decode_window_tokens, plan->shape.decode_window_tokens,
                   sizeof shape.decode_window_tokens);
        }
        struct cost_result pass = cost_step(replica->cost, &shape);
        sum.ticks += pass.ticks;
        sum.bound = pass.ticks > longest ? pass.bound : sum.bound;
        longest = pass.ticks > longest ? pass.ticks : longest;
    }
    return sum;
}

void serve_price_step(struct serve_replica *replica, struct serve_flight *flight, base_i128 start)
{
    const struct cost_shape *shape = &flight->plan.shape;
    flight->start_ticks = start;
    if (shape->prefill_tokens == 0) {
        struct cost_ramp ramp = {.seq_count = shape->decode_seq_count,
                                 .context_tokens = shape->decode_context_tokens};
        memcpy(ramp.window_tokens, shape->decode_window_tokens, sizeof ramp.window_tokens);
        struct cost_piece piece;
        serve_price_piece(replica, &ramp, serve_copied_tokens(replica, &flight->plan), 1, &piece);
        flight->ticks = piece.first_ticks;
        flight->bound = piece.bound;
    } else {
        struct cost_result result = step_cost(replica, &flight->plan);
        flight->ticks =
            result.ticks + copy_ticks(replica, shape, serve_copied_tokens(replica, &flight->plan));
        flight->bound = result.bound;
    }
    flight->ticks += flight->plan.swapped_blocks * replica->serve->config->swap_ticks_per_block +
                     flight->plan.copied_blocks * replica->pool.block_tokens *
                         replica->serve->config->copy.per_cached_token;
    flight->ticks = serve_transfers_step_ticks(replica, &flight->plan, start, flight->ticks);
    flight->end_ticks = start + flight->ticks;
}
