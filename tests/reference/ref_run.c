/*
 * The loop: from one instant at which something happens to the next.
 */
#include "reference/ref_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t to_ns(ref_i128 ticks)
{
    return (int64_t)(ticks / REF_TICKS_PER_NS);
}

static ref_i128 to_ticks(int64_t ns)
{
    return (ref_i128)ns * REF_TICKS_PER_NS;
}

/* ---- arrivals ---- */

static void post_arrival(struct ref_state *state, struct ref_request *request, ref_i128 base)
{
    request->due_ticks = base + to_ticks(request->in->arrival_ns);
    request->due_order = state->postings++;
    request->posted = true;
}

static void post_followers(struct ref_state *state, int64_t index)
{
    for (int64_t i = 0; i < state->input->request_count; i++) {
        if (state->requests[i].in->after == index && !state->requests[i].in->is_sibling) {
            post_arrival(state, &state->requests[i], state->now);
        }
    }
}

/* The client's side of the end of a request, with all its answers. */
static void conclude(struct ref_state *state, struct ref_request *request, enum ref_outcome outcome)
{
    const int64_t end = ref_end_of_answers(state->input, request->index);
    for (int64_t i = request->index; i < end; i++) {
        struct ref_request_out *out = state->requests[i].out;
        out->outcome = outcome;
        out->finish_ticks = state->now;
        out->finish_ns = to_ns(state->now);
        out->output_tokens = state->requests[i].outputs;
    }
    post_followers(state, request->index);
}

static void arrive(struct ref_state *state, struct ref_request *request)
{
    const bool is_refused = request->in->prompt_tokens == 0 ||
                            request->in->prompt_tokens >= state->engine->max_model_len;
    const int64_t end = ref_end_of_answers(state->input, request->index);
    for (int64_t i = request->index; i < end; i++) {
        struct ref_request *answer = &state->requests[i];
        answer->due_ticks = request->due_ticks;
        answer->out->arrival_ticks = state->now;
        answer->out->arrival_ns = to_ns(state->now);
        answer->out->arrival_order = state->arrivals;
        if (is_refused) {
            answer->where = REF_OVER;
        } else {
            ref_waiting_put(state, answer, false);
        }
    }
    state->arrivals++;
    if (is_refused) {
        conclude(state, request, REF_REJECTED);
    }
}

/* The posted request that arrives first, or NULL. */
static struct ref_request *next_arrival(const struct ref_state *state)
{
    struct ref_request *next = NULL;
    for (int64_t i = 0; i < state->input->request_count; i++) {
        struct ref_request *request = &state->requests[i];
        if (!request->posted || request->where != REF_OUTSIDE) {
            continue;
        }
        if (next == NULL || request->due_ticks < next->due_ticks ||
            (request->due_ticks == next->due_ticks && request->due_order < next->due_order)) {
            next = request;
        }
    }
    return next;
}

static bool take_arrivals(struct ref_state *state, bool *any_accepted)
{
    bool any = false;
    for (struct ref_request *next = next_arrival(state);
         next != NULL && next->due_ticks <= state->now; next = next_arrival(state)) {
        arrive(state, next);
        any = true;
        *any_accepted = *any_accepted || next->where != REF_OVER;
    }
    return any;
}

/* ---- clients that give up ---- */

struct limit {
    ref_i128 at;
    enum ref_outcome outcome;
    bool exists;
};

static void limit_consider(struct limit *limit, ref_i128 base, int64_t after_ns,
                           enum ref_outcome outcome)
{
    if (after_ns == REF_NEVER) {
        return;
    }
    const ref_i128 at = base + to_ticks(after_ns);
    if (!limit->exists || at < limit->at) {
        *limit = (struct limit){.at = at, .outcome = outcome, .exists = true};
    }
}

/* True while the engine works on it and somebody listens. */
static bool is_wanted(const struct ref_request *request)
{
    return (request->where == REF_WAITING || request->where == REF_RUNNING) && !request->gone;
}

/* When a client gives up, as things stand. */
static struct limit limit_of(const struct ref_state *state, const struct ref_request *request)
{
    struct limit limit = {.exists = false};
    bool any_wanted = false;
    int64_t outputs = 0;
    if (request->in->is_sibling) {
        return limit; // the first one's stands for all
    }
    const int64_t end = ref_end_of_answers(state->input, request->index);
    for (int64_t i = request->index; i < end; i++) {
        any_wanted = any_wanted || is_wanted(&state->requests[i]);
        outputs += state->requests[i].outputs;
    }
    if (!any_wanted) {
        return limit;
    }
    if (outputs == 0) {
        limit_consider(&limit, request->due_ticks, request->in->first_token_timeout_ns,
                       REF_TIMED_OUT);
    }
    limit_consider(&limit, request->due_ticks, request->in->timeout_ns, REF_TIMED_OUT);
    limit_consider(&limit, request->due_ticks, request->in->abort_ns, REF_ABORTED);
    return limit;
}

/* Who goes now and came first of those, or NULL. */
static struct ref_request *next_abort(const struct ref_state *state)
{
    struct ref_request *first = NULL;
    for (int64_t i = 0; i < state->input->request_count; i++) {
        struct ref_request *request = &state->requests[i];
        const struct limit limit = limit_of(state, request);
        if (limit.exists && limit.at <= state->now &&
            (first == NULL || request->out->arrival_order < first->out->arrival_order)) {
            first = request;
        }
    }
    return first;
}

static bool take_aborts(struct ref_state *state)
{
    bool any = false;
    for (struct ref_request *request; (request = next_abort(state)) != NULL; any = true) {
        const struct limit limit = limit_of(state, request);
        const int64_t end = ref_end_of_answers(state->input, request->index);
        for (int64_t i = request->index; i < end; i++) {
            state->requests[i].gone = is_wanted(&state->requests[i]);
        }
        conclude(state, request, limit.outcome);
    }
    return any;
}

static void leave_list(struct ref_state *state, const struct ref_request *request)
{
    if (request->where == REF_RUNNING) {
        ref_list_remove(&state->running, ref_list_find(&state->running, request->index));
    } else {
        ref_waiting_remove(state, request);
    }
}

/* The engine learns who has given up. */
static bool went_before(const struct ref_request *a, const struct ref_request *b)
{
    if (a->out->finish_ticks != b->out->finish_ticks) {
        return a->out->finish_ticks < b->out->finish_ticks;
    }
    return a->out->arrival_order < b->out->arrival_order;
}

/* The one who went first of those that are still in a list, or NULL. */
static struct ref_request *first_gone(struct ref_state *state)
{
    struct ref_request *first = NULL;
    for (int64_t i = 0; i < state->input->request_count; i++) {
        struct ref_request *request = &state->requests[i];
        if (request->gone && request->where != REF_OVER &&
            (first == NULL || went_before(request, first))) {
            first = request;
        }
    }
    return first;
}

static void remove_gone(struct ref_state *state)
{
    for (struct ref_request *request; (request = first_gone(state)) != NULL;) {
        leave_list(state, request);
        request->where = REF_OVER;
        ref_tree_drop_prefetch(state, request);
        if (request->load == REF_LOADING && !request->load_is_done) {
            continue; // its blocks are written to; they are free when that has ended
        }
        request->load = REF_NOT_LOADED;
        ref_request_release(state, request, true);
    }
}

/* ---- results ---- */

static enum ref_finish why_finished(const struct ref_state *state,
                                    const struct ref_request *request)
{
    if (request->outputs >= request->in->max_tokens ||
        ref_request_tokens(request) >= state->engine->max_model_len) {
        return REF_FINISH_LENGTH;
    }
    return request->outputs >= request->in->output_tokens ? REF_FINISH_STOP : REF_FINISH_NONE;
}

static void finish(struct ref_state *state, struct ref_request *request, struct ref_step *step)
{
    leave_list(state, request);
    ref_request_release(state, request, true);
    request->where = REF_OVER;
    const int64_t first = ref_first_answer(state->input, request->index);
    const int64_t end = ref_end_of_answers(state->input, first);
    for (int64_t i = first; i < end; i++) {
        if (state->requests[i].where != REF_OVER) {
            return; // other answers are still to come
        }
    }
    conclude(state, &state->requests[first], REF_COMPLETED);
    step->finished =
        ref_resize(step->finished, (size_t)step->finished_count + 1, sizeof(*step->finished));
    step->finished[step->finished_count++] = first;
}

static void deliver_token(struct ref_state *state, const struct ref_batch_item *item,
                          struct ref_step *step)
{
    struct ref_request *request = &state->requests[item->request];
    if (request->where == REF_OVER || request->gone) {
        return; // ended by an earlier result, or nobody listens
    }
    request->outputs++;
    if (request->outputs == 1) {
        request->out->first_token_ticks = state->now;
        request->out->first_token_ns = to_ns(state->now);
    }
    if (state->engine->async_scheduling && item->life == request->life) {
        request->placeholders--;
        if (request->where == REF_RUNNING) {
            ref_request_hash(state, request, request->computed - request->placeholders);
        }
    }
    request->out->finish = why_finished(state, request);
    if (request->out->finish != REF_FINISH_NONE) {
        finish(state, request, step);
    }
}

static void complete_oldest(struct ref_state *state)
{
    struct ref_batch batch = state->in_flight[0];
    state->in_flight[0] = state->in_flight[1];
    state->in_flight_count--;
    state->waits_for_oldest = false;
    struct ref_step *step = &state->output->steps[batch.step];
    for (int64_t i = 0; i < batch.count; i++) {
        if (batch.items[i].emits) {
            deliver_token(state, &batch.items[i], step);
        }
    }
    step->running_end = state->running.count;
    step->free_blocks_end = ref_free_blocks(state);
    free(batch.items);
}

/* ---- a scheduled step ---- */

/* Counts the tokens as computed, at the time of the decision, and says who emits. */
static void advance_requests(struct ref_state *state, struct ref_batch *batch,
                             struct ref_shape *shape)
{
    for (int64_t i = 0; i < batch->count; i++) {
        struct ref_batch_item *item = &batch->items[i];
        struct ref_request *request = &state->requests[item->request];
        const int64_t before = request->computed;
        const int64_t after = before + item->tokens;
        request->computed = after;
        item->emits = after == ref_request_tokens(request) + request->placeholders;
        if (item->emits && state->engine->async_scheduling) {
            request->placeholders++;
        }
        if (request->highest > before) {
            request->out->recomputed_tokens +=
                (request->highest < after ? request->highest : after) - before;
        }
        request->highest = request->highest > after ? request->highest : after;
        request->out->computed_tokens += item->tokens;
        if (request->out->first_scheduled_ns == REF_NEVER) {
            request->out->first_scheduled_ticks = state->now;
            request->out->first_scheduled_ns = to_ns(state->now);
        }
        if (state->engine->reservation == REF_KEEP_NOTHING) {
            request->computed = 0;
        }
        shape->context_tokens += after;
        shape->scheduled_tokens += item->tokens;
        if (item->tokens == 1 && before >= request->in->prompt_tokens && item->emits) {
            shape->decode_seqs++;
            shape->decode_context_tokens += after;
        } else {
            shape->prefill_seqs++;
            shape->prefill_tokens += item->tokens;
        }
    }
}

int64_t ref_step_ticks(const struct ref_input *input, const struct ref_shape *shape)
{
    if (input->ticks != NULL) {
        return input->ticks(input->ticks_user, shape);
    }
    return input->step.a + input->step.b * shape->prefill_tokens +
           input->step.c * shape->decode_seqs + input->step.d * shape->context_tokens;
}

/* Moves a list into an output array of its own. */
static int64_t *list_give(struct ref_list *list, int64_t *count)
{
    int64_t *array = list->at;
    *count = list->count;
    *list = (struct ref_list){0};
    return array;
}

static void fill_row(struct ref_state *state, struct ref_turn *turn, struct ref_step *step)
{
    const struct ref_batch *batch = &turn->batch;
    step->scheduled = ref_alloc((size_t)batch->count, sizeof(*step->scheduled));
    step->scheduled_count = batch->count;
    for (int64_t i = 0; i < batch->count; i++) {
        step->scheduled[i] =
            (struct ref_item){.request = batch->items[i].request, .tokens = batch->items[i].tokens};
    }
    step->admitted = list_give(&turn->admitted, &step->admitted_count);
    step->preempted = list_give(&state->preempted, &step->preempted_count);
    step->running = state->running.count;
    step->waiting = state->waiting.count + state->aside.count;
    step->free_blocks = ref_free_blocks(state);
    step->used_blocks =
        state->pool.block_count - ref_free_blocks(state) - ref_tier_loading_blocks(state);
    step->cached_idle_blocks = ref_pool_idle_cached(&state->pool) + ref_tree_idle(state);
    if (state->engine->kind == REF_LLAMA_CPP) {
        step->cached_idle_blocks = ref_slots_kept(state);
    }
    ref_ledger_count(state, step->ledger_tokens);
}

static struct ref_step *new_row(struct ref_state *state)
{
    struct ref_output *output = state->output;
    if (output->step_count == state->step_room) {
        state->step_room = state->step_room * 2 + 64;
        output->steps = ref_resize(output->steps, (size_t)state->step_room, sizeof(*output->steps));
    }
    output->steps[output->step_count] = (struct ref_step){0};
    return &output->steps[output->step_count];
}

/* Where all memory is taken from the start: when most of it has tokens of requests. */
static void note_peak(struct ref_state *state, const struct ref_step *step)
{
    struct ref_totals *totals = &state->output->totals;
    int64_t *most = &totals->peak_used_blocks, now = step->used_blocks;
    if (state->engine->kind == REF_LLAMA_CPP) {
        most = &state->slots.peak_tokens;
        now = 0;
        for (int64_t i = 0; i < state->running.count; i++) {
            now += state->requests[state->running.at[i]].computed;
        }
    }
    if (now > *most) {
        *most = now;
        totals->peak_used_blocks = step->used_blocks;
    }
}

static void launch(struct ref_state *state, struct ref_turn *turn)
{
    struct ref_output *output = state->output;
    struct ref_step *step = new_row(state);
    ref_tier_store(state, turn);
    advance_requests(state, &turn->batch, &step->shape);
    const int64_t computing = state->engine->kind == REF_LLAMA_CPP
                                  ? ref_slots_ticks(state, &turn->batch)
                                  : ref_step_ticks(state->input, &step->shape);
    const int64_t ticks = computing + state->engine->ticks_per_moved_token * turn->moved_tokens;
    output->totals.moved_tokens += turn->moved_tokens;
    if (ticks < 1) {
        fprintf(stderr, "reference: a step without duration\n");
        abort();
    }
    step->sched_ticks = state->now;
    step->start_ticks = state->last_end > state->now ? state->last_end : state->now;
    step->end_ticks = ref_tier_launch(state, step->start_ticks, ticks);
    step->sched_ns = to_ns(step->sched_ticks);
    step->start_ns = to_ns(step->start_ticks);
    step->end_ns = to_ns(step->end_ticks);
    state->last_end = step->end_ticks;

    turn->batch.step = output->step_count++;
    turn->batch.end_ticks = step->end_ticks;
    state->in_flight[state->in_flight_count++] = turn->batch;
    fill_row(state, turn, step);
    note_peak(state, step);
}

/* The clients of those whom the engine gave up are told, and with them go all their other answers. */
static void conclude_failed(struct ref_state *state, const struct ref_turn *turn)
{
    for (int64_t i = 0; i < turn->failed.count; i++) {
        const int64_t first = ref_first_answer(state->input, turn->failed.at[i]);
        const int64_t end = ref_end_of_answers(state->input, first);
        if (state->requests[first].out->outcome != REF_PENDING) {
            continue;
        }
        for (int64_t k = first; k < end; k++) {
            struct ref_request *answer = &state->requests[k];
            if (answer->where == REF_WAITING) {
                ref_waiting_remove(state, answer);
            }
            answer->where = REF_OVER;
        }
        conclude(state, &state->requests[first], REF_ABORTED);
    }
}

/* Takes turns while they lead to batches and there is room. False if they run in a circle. */
static bool take_turns(struct ref_state *state, bool has_completed)
{
    const int64_t depth = state->engine->async_scheduling ? 2 : 1;
    int64_t empty_turns = 0;
    if (state->engine->is_radix && !has_completed &&
        state->running.count + state->waiting.count + state->aside.count == 0) {
        return true; // a refused request is no reason to look, and what has ended of transfers is seen later
    }
    while (state->in_flight_count < depth && !state->waits_for_oldest) {
        ref_tier_settle(state);
        remove_gone(state);
        struct ref_turn turn;
        ref_turn_decide(state, &turn);
        conclude_failed(state, &turn);
        const bool any_out = turn.preempted_any || turn.failed.count > 0;
        ref_list_free(&turn.failed);
        if (turn.batch.count > 0) {
            launch(state, &turn);
            continue;
        }
        free(turn.batch.items);
        ref_list_free(&turn.admitted);
        ref_tier_launch_nothing(state);
        state->waits_for_oldest = state->in_flight_count > 0;
        if (!any_out || state->waits_for_oldest) {
            return true;
        }
        if (++empty_turns > 2 * state->input->request_count + 8) {
            return false;
        }
    }
    return true;
}

/* ---- time ---- */

static void add_to_integrals(struct ref_state *state, ref_i128 ticks)
{
    struct ref_integrals *sum = &state->output->integrals;
    int64_t lines[REF_LINES];
    ref_ledger_count(state, lines);
    for (int line = 0; line < REF_LINES; line++) {
        sum->ledger_tokens[line] += ticks * lines[line];
    }
    for (int64_t i = 0; i < state->running.count; i++) {
        sum->context_tokens += ticks * state->requests[state->running.at[i]].computed;
    }
    sum->ticks += ticks;
    sum->running += ticks * state->running.count;
    sum->waiting += ticks * (state->waiting.count + state->aside.count);
    sum->used_blocks +=
        ticks * (state->pool.block_count - ref_free_blocks(state) - ref_tier_loading_blocks(state));
}

/* The next instant at which something happens by itself. False if there is none. */
static bool find_next(const struct ref_state *state, ref_i128 *at)
{
    bool any = false;
    if (state->in_flight_count > 0) {
        *at = state->in_flight[0].end_ticks;
        any = true;
    }
    ref_i128 transfer;
    if (ref_tier_next(state, &transfer) && (!any || transfer < *at)) {
        *at = transfer;
        any = true;
    }
    const struct ref_request *arrival = next_arrival(state);
    if (arrival != NULL && (!any || arrival->due_ticks < *at)) {
        *at = arrival->due_ticks;
        any = true;
    }
    for (int64_t i = 0; i < state->input->request_count; i++) {
        const struct limit limit = limit_of(state, &state->requests[i]);
        if (limit.exists && (!any || limit.at < *at)) {
            *at = limit.at;
            any = true;
        }
    }
    return any;
}

struct news {
    bool has_completed; /* a batch */
    bool is_any;        /* that the engine sees: a request that is refused never comes to it */
};

/* `is_of_tier`: a transfer ends now, or somebody's patience. */
static struct news happen(struct ref_state *state, bool is_of_tier)
{
    bool has_completed = false, any_accepted = false, any_gone = false;
    while (state->in_flight_count > 0 && state->in_flight[0].end_ticks <= state->now) {
        complete_oldest(state);
        has_completed = true;
    }
    bool more = true;
    while (more) {
        more = take_aborts(state);
        any_gone = any_gone || more;
        more = take_arrivals(state, &any_accepted) || more;
    }
    return (struct news){has_completed, has_completed || is_of_tier || any_gone || any_accepted};
}

static bool run_to_the_end(struct ref_state *state)
{
    const int64_t patience = 64 * (state->input->request_count + 8);
    ref_i128 next = 0;
    int64_t events = 0, steps = 0; /* since the last step; then */
    while (find_next(state, &next)) {
        ref_i128 transfer;
        const bool is_of_tier = ref_tier_next(state, &transfer) && transfer <= next;
        add_to_integrals(state, next - state->now);
        state->now = next;
        const struct news news = happen(state, is_of_tier);
        const int64_t limit = state->input->step_limit;
        if ((news.is_any && !take_turns(state, news.has_completed)) ||
            (limit > 0 && state->output->step_count >= limit)) {
            return false;
        }
        events = state->output->step_count > steps || state->in_flight_count > 0 ? 0 : events + 1;
        steps = state->output->step_count;
        if (limit > 0 && events > patience) {
            return false; // prompts that are put off read up what the others push out, for ever
        }
    }
    return state->running.count == 0 && state->waiting.count == 0 && state->aside.count == 0;
}

/* ---- begin and end ---- */

static bool request_makes_sense(const struct ref_input *input, int64_t index)
{
    const struct ref_request_in *in = &input->requests[index];
    int64_t sum = 0;
    for (int64_t i = 0; i < in->range_count; i++) {
        sum += in->ranges[i].count;
    }
    return in->prompt_tokens >= 0 && (in->range_count == 0 || sum == in->prompt_tokens) &&
           in->output_tokens >= 1 && in->max_tokens >= 1 && in->arrival_ns >= 0 &&
           in->after >= -1 && in->after < index && !(index == 0 && in->is_sibling) &&
           (in->abort_ns == REF_NEVER || in->abort_ns > 0) &&
           (in->timeout_ns == REF_NEVER || in->timeout_ns > 0) &&
           (in->first_token_timeout_ns == REF_NEVER || in->first_token_timeout_ns > 0);
}

static bool input_makes_sense(const struct ref_input *input)
{
    const struct ref_engine *engine = &input->engine;
    for (int64_t i = 0; i < input->request_count; i++) {
        if (!request_makes_sense(input, i)) {
            return false;
        }
    }
    return engine->block_size >= 1 && engine->num_blocks >= (engine->kind == REF_VLLM_V1 ? 2 : 1) &&
           engine->max_model_len >= 1 && engine->max_num_batched_tokens >= 1 &&
           engine->max_num_seqs >= 1 && engine->long_prefill_token_threshold >= 0 &&
           engine->sliding_window >= 0 && engine->watermark_num >= 0 && engine->watermark_den >= 0;
}

static bool can_start(const struct ref_engine *engine, struct ref_output *output)
{
    const int64_t needed = ref_longest_blocks(engine);
    if (engine->kind == REF_ORCA && ref_orca_can_start(engine)) {
        return true;
    }
    if (engine->kind == REF_LLAMA_CPP) {
        const int64_t streams = engine->shares_cells ? 1 : engine->max_num_seqs;
        if (engine->num_blocks / streams >= engine->max_model_len) {
            return true;
        }
    } else if (engine->skip_startup_check ||
               (engine->kind == REF_VLLM_V1 && needed <= engine->num_blocks - 1)) {
        return true;
    }
    output->verdict = REF_CANNOT_START;
    snprintf(output->why, sizeof(output->why),
             "one sequence of max_model_len needs %lld blocks, %lld are usable", (long long)needed,
             (long long)(engine->num_blocks - 1));
    return false;
}

static void begin(struct ref_state *state, const struct ref_input *input, struct ref_output *output)
{
    *state = (struct ref_state){
        .input = input, .engine = &input->engine, .output = output, .tier.flush = -1};
    ref_pool_init(&state->pool, &input->engine);
    ref_tree_init(state);
    ref_slots_begin(state);
    ref_tier_begin(state);
    state->table_count = ref_engine_tables(&input->engine, state->tables);
    state->requests = ref_alloc((size_t)input->request_count, sizeof(*state->requests));
    output->requests = ref_alloc((size_t)input->request_count, sizeof(*output->requests));
    output->request_count = input->request_count;
    for (int64_t i = 0; i < input->request_count; i++) {
        struct ref_request *request = &state->requests[i];
        request->index = i;
        request->slot = REF_NO_SLOT;
        request->in = &input->requests[i];
        for (int64_t t = 0; t < REF_TABLES_MAX; t++) {
            request->last_state[t] = -1;
        }
        request->out = &output->requests[i];
        *request->out = (struct ref_request_out){.arrival_ns = REF_NEVER,
                                                 .first_scheduled_ns = REF_NEVER,
                                                 .first_token_ns = REF_NEVER,
                                                 .finish_ns = REF_NEVER,
                                                 .arrival_order = -1};
        if (request->in->after < 0 && !request->in->is_sibling) {
            post_arrival(state, request, 0);
        }
    }
}

static void sum_up(struct ref_state *state)
{
    struct ref_output *output = state->output;
    struct ref_totals *totals = &output->totals;
    totals->steps = output->step_count;
    ref_i128 busy = 0;
    for (int64_t i = 0; i < output->step_count; i++) {
        busy += output->steps[i].end_ticks - output->steps[i].start_ticks;
    }
    totals->busy_ns = to_ns(busy);
    totals->end_ns = to_ns(state->last_end);
    totals->evicted_blocks = state->pool.evicted;
    output->end_ticks = state->now;
    ref_tier_end(state);
    for (int64_t i = 0; i < output->request_count; i++) {
        const struct ref_request_out *out = &output->requests[i];
        const bool is_client = !state->input->requests[i].is_sibling;
        totals->finished += is_client && out->outcome == REF_COMPLETED;
        totals->rejected += is_client && out->outcome == REF_REJECTED;
        totals->timed_out += is_client && out->outcome == REF_TIMED_OUT;
        totals->aborted += is_client && out->outcome == REF_ABORTED;
        totals->output_tokens += out->output_tokens;
        totals->computed_tokens += out->computed_tokens;
        totals->recomputed_tokens += out->recomputed_tokens;
        totals->cached_tokens += out->cached_tokens_total;
        totals->preemptions += out->preemptions;
    }
}

static void end(struct ref_state *state)
{
    for (int64_t i = 0; i < state->in_flight_count; i++) {
        free(state->in_flight[i].items);
    }
    for (int64_t i = 0; i < state->input->request_count; i++) {
        for (int64_t t = 0; t < REF_TABLES_MAX; t++) {
            ref_list_free(&state->requests[i].blocks[t]);
        }
        ref_list_free(&state->requests[i].links);
        ref_list_free(&state->requests[i].found);
    }
    free(state->requests);
    ref_list_free(&state->running);
    ref_list_free(&state->waiting);
    ref_list_free(&state->aside);
    ref_list_free(&state->new_states);
    ref_tier_release(state);
    ref_list_free(&state->preempted);
    ref_pool_release(&state->pool);
    ref_tree_release(state);
    ref_slots_release(state);
}

int ref_run(const struct ref_input *input, struct ref_output *output)
{
    *output = (struct ref_output){.verdict = REF_DONE};
    if (!input_makes_sense(input)) {
        return -1;
    }
    if (!can_start(&input->engine, output)) {
        return 0;
    }
    struct ref_state state;
    begin(&state, input, output);
    if (!run_to_the_end(&state)) {
        output->verdict = REF_STUCK;
        snprintf(output->why, sizeof(output->why), "%lld requests can never be scheduled",
                 (long long)(state.running.count + state.waiting.count + state.aside.count));
    }
    ref_tier_settle(&state); // what has ended since the last turn
    sum_up(&state);
    end(&state);
    return 0;
}

void ref_output_free(struct ref_output *output)
{
    for (int64_t i = 0; i < output->step_count; i++) {
        free(output->steps[i].scheduled);
        free(output->steps[i].admitted);
        free(output->steps[i].preempted);
        free(output->steps[i].finished);
    }
    free(output->steps);
    free(output->requests);
    *output = (struct ref_output){0};
}

void ref_input_free(struct ref_input *input)
{
    for (int64_t i = 0; i < input->request_count; i++) {
        free(input->requests[i].ranges);
    }
    free(input->requests);
    input->requests = NULL;
    input->request_count = 0;
}

void ref_engine_defaults(struct ref_engine *engine)
{
    *engine = (struct ref_engine){.block_size = 16,
                                  .max_num_batched_tokens = 2048,
                                  .max_num_seqs = 128,
                                  .enable_chunked_prefill = true,
                                  .scheduler_reserve_full_isl = true,
                                  .async_scheduling = true,
                                  .enable_prefix_caching = true};
}

void ref_request_defaults(struct ref_request_in *request)
{
    *request = (struct ref_request_in){.after = -1,
                                       .output_tokens = 1,
                                       .max_tokens = 1,
                                       .abort_ns = REF_NEVER,
                                       .timeout_ns = REF_NEVER,
                                       .first_token_timeout_ns = REF_NEVER};
}

const char *ref_outcome_name(enum ref_outcome outcome)
{
    static const char *const names[] = {"pending", "finished", "rejected", "timed_out", "aborted"};
    return names[outcome];
}

const char *ref_line_name(enum ref_line line)
{
    static const char *const names[] = {
        "lower_bound",   "block_rounding", "reserved",  "shared", "cached",
        "out_of_window", "fragmented",     "held_back", "free",   "pool"};
    return names[line];
}
