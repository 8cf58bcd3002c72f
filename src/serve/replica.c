#include "serve/replica.h"

#include "base/error.h"
#include "kv/reserve.h"
#include "serve/flight.h"
#include "serve/replica_int.h"
#include "serve/serve_int.h"
#include "serve/transfers.h"

#include <string.h>

static void init_slots(struct serve_replica *replica, const struct serve_config *config)
{
    struct kv_paged *pool = &replica->pool;
    base_require(pool->block_tokens == 1 && !config->sched.async_scheduling);
    struct kv_slots_options options = {.is_shared = config->kv_policy == KV_CELLS,
                                       .keeps_content = config->sched.enable_prefix_caching,
                                       .similarity = config->slot_prompt_similarity};
    pool->slots = &replica->slots;
    kv_slots_init(&replica->slots, &config->cells, &pool->tables, &options);
    base_require(replica->slots.cells <= pool->free_blocks);
    pool->free_blocks -= replica->slots.cells; // nothing is kept yet
    replica->tally.state.kv.used_blocks = kv_paged_used_blocks(pool);
    replica->tally.state.peak_is_by_tokens = true;
}

static void init_pool(struct serve_replica *replica, const struct serve_config *config)
{
    struct kv_paged *pool = &replica->pool;
    serve_config_pool(config, pool);
    pool->policy = config->kv_policy;
    pool->longest_tokens = config->sched.max_model_len;
    base_require(config->kv_policy != KV_CONCAT_DOUBLING || pool->block_tokens == 1);
    if (kv_policy_reserves(config->kv_policy) && config->kv_placement != KV_ANY_BLOCKS) {
        pool->space = &replica->space;
        kv_space_init(&replica->space, config->kv_placement, pool->free_blocks);
        pool->compacts = config->kv_compaction;
    }
    if (kv_policy_has_slots(config->kv_policy)) {
        init_slots(replica, config);
    } else if (config->kv_policy == KV_RADIX) {
        base_require(config->sched.enable_prefix_caching && pool->tables.growing_tables == 1 &&
                     pool->tables.state_blocks == 0);
        pool->radix = &replica->radix;
        kv_radix_init(&replica->radix, pool->block_tokens, pool->free_blocks, config->kv_eviction);
    } else if (config->sched.enable_prefix_caching && config->scheduler != NULL &&
               config->scheduler->has_unique_blocks) {
        base_require(pool->tables.growing_tables == 1 && pool->tables.state_blocks == 0 &&
                     pool->tables.window_count == 0);
        pool->unique = &replica->unique;
        kv_unique_init(&replica->unique, pool->block_tokens, pool->free_blocks);
    } else if (config->sched.enable_prefix_caching) {
        base_require(config->kv_policy == KV_PAGED || config->kv_policy == KV_UNLIMITED);
        pool->prefix = &replica->prefix;
        kv_prefix_init(&replica->prefix, &pool->tables, pool->free_blocks, config->kv_eviction,
                       config->sched.free_order == SCHED_FREE_OLD);
    }
}

enum kvsim_status serve_replica_init(struct serve_replica *replica, struct serve *serve,
                                     uint32_t number, const struct serve_config *config,
                                     struct base_arena *arena, struct kvsim_error *err)
{
    *replica = (struct serve_replica){.serve = serve, .number = number};
    init_pool(replica, config);
    size_t class_count = config->workload.class_count;
    const struct sched_ops *ops = serve_scheduler(config);
    sched_init(&replica->sched, ops, &config->sched, &replica->pool, arena, class_count);
    serve_transfers_init(replica);
    for (size_t i = 0; i < SERVE_FLIGHTS; i++) {
        struct sched_plan *plan = &replica->flights[i].plan;
        plan->class_count = class_count;
        plan->counted = base_arena_array(arena, class_count, sizeof *plan->counted);
        base_arena_init(&replica->flights[i].texts);
    }
    base_arena_init(&replica->thrown_out_texts);
    replica->stalls.class_count = class_count;
    des_event_init(&replica->boundary_event, DES_COMPLETION);
    des_event_init(&replica->turn_event, DES_SCHEDULE);
    return cost_new(&config->cost, arena, &replica->cost, err);
}

void serve_replica_release(struct serve_replica *replica)
{
    sched_release(&replica->sched);
    base_vec_free(&replica->thrown_out);
    base_vec_free(&replica->swapped_out);
    serve_stalls_release(&replica->stalls);
    base_arena_release(&replica->thrown_out_texts);
    if (replica->pool.prefix != NULL) {
        kv_prefix_release(replica->pool.prefix);
    }
    if (replica->pool.radix != NULL) {
        kv_radix_release(replica->pool.radix);
    }
    if (replica->pool.unique != NULL) {
        kv_unique_release(replica->pool.unique);
    }
    if (replica->pool.slots != NULL) {
        kv_slots_release(replica->pool.slots);
    }
    if (replica->pool.space != NULL) {
        kv_space_release(replica->pool.space);
        kv_reserve_release(&replica->pool);
    }
    for (size_t i = 0; i < SERVE_FLIGHTS; i++) {
        sched_plan_release(&replica->flights[i].plan);
        serve_flight_release(&replica->flights[i]);
    }
}

static int64_t floor_ns(base_i128 ticks)
{
    return base_ticks_floor_ns(ticks);
}

/* ---- where a request's time goes ---- */

static void copy_waits(const struct serve_replica *replica, int64_t *to)
{
    for (size_t i = 0; i < SERVE_WAIT_CAUSES; i++) {
        to[i] = floor_ns(replica->tally.wait_ticks[i]);
    }
}

static void begin_decoding(const struct serve_replica *replica, struct serve_request *request,
                           base_i128 now)
{
    request->phase = SERVE_DECODING;
    for (size_t i = 0; i < SERVE_DECODE_CAUSES; i++) {
        request->decode_before_ns[i] = floor_ns(serve_tally_decode_ticks(&replica->tally, i, now));
    }
}

// Closes the phase that the request is in: its time goes to the phase's causes.
static void end_phase(const struct serve_replica *replica, struct serve_request *request,
                      base_i128 now)
{
    int64_t since_mark = floor_ns(now - request->mark_ticks);
    switch (request->phase) {
    case SERVE_QUEUED:
        for (size_t i = 0; i < SERVE_WAIT_CAUSES; i++) {
            request->cause_ns[RECORD_WAIT_KV_POOL + i] +=
                floor_ns(replica->tally.wait_ticks[i]) - request->wait_before_ns[i];
        }
        break;
    case SERVE_PREFILLING:
        request->cause_ns[RECORD_PREFILL] += since_mark;
        break;
    case SERVE_THROWN_OUT:
        request->cause_ns[RECORD_PREEMPTED] += since_mark;
        break;
    case SERVE_DECODING:
        for (size_t i = 0; i < SERVE_DECODE_CAUSES; i++) {
            request->cause_ns[RECORD_OTHERS_PREFILL + i] +=
                floor_ns(serve_tally_decode_ticks(&replica->tally, i, now)) -
                request->decode_before_ns[i];
        }
        break;
    }
    request->mark_ticks = now;
}

// The engine's members of a request: those of a group that have not ended, else the one sequence.
static struct serve_request *first_member(struct sched_seq *seq)
{
    return serve_request_of(sched_group_first(seq));
}

static struct serve_request *next_member(const struct serve_request *request)
{
    struct sched_seq *next = sched_group_next(&request->seq);
    return next != NULL ? serve_request_of(next) : NULL;
}

/* ---- arrivals ---- */

static void set_waiting(struct serve_replica *replica, base_i128 now)
{
    int64_t waiting = sched_waiting_count(&replica->sched);
    serve_tally_set_waiting(&replica->tally, now, waiting);
}

void serve_replica_enqueue(struct serve_replica *replica, struct serve_request *request,
                           base_i128 now)
{
    if (replica->tally.waiting == 0) {
        replica->tally.wait_cause = SERVE_WAIT_STEP;
    }
    sched_enqueue(&replica->sched, &request->seq);
    set_waiting(replica, now);
    serve_replica_expect(replica, request, now);
}

void serve_replica_expect(const struct serve_replica *replica, struct serve_request *request,
                          base_i128 now)
{
    request->phase = SERVE_QUEUED;
    request->mark_ticks = now;
    copy_waits(replica, request->wait_before_ns);
}

/* ---- the end of a step ---- */

void serve_replica_add_gaps(struct serve_replica *replica, const struct sched_plan *plan,
                            int64_t first_ticks, int64_t delta_ticks, int64_t count)
{
    struct serve_class_result *classes = replica->serve->result->classes;
    for (size_t i = 0; plan->counted_total > 0 && i < plan->class_count; i++) {
        int64_t members = plan->class_count == 1 ? plan->counted_total : plan->counted[i];
        if (members > 0) {
            stats_hist_add_ramp(&classes[i].metric[SPEC_ITL], first_ticks, delta_ticks,
                                (uint64_t)count, (uint64_t)members);
        }
    }
}

// Hours of it are counted in whole nanoseconds.
static void add_long_gap(struct stats_hist *itl, base_i128 ticks, uint64_t members)
{
    if (ticks <= INT64_MAX) {
        stats_hist_add_ramp(itl, (int64_t)ticks, 0, 1, members);
    } else {
        stats_hist_add(itl, floor_ns(ticks), members);
    }
}

// The same for one step, in which those who had sat out get their token after a longer gap.
static void add_step_gaps(struct serve_replica *replica, const struct sched_plan *plan,
                          int64_t ticks)
{
    struct serve_stalls *stalls = &replica->stalls;
    if (!serve_stalls_exist(stalls)) {
        serve_replica_add_gaps(replica, plan, ticks, 0, 1);
        return;
    }
    struct serve_class_result *classes = replica->serve->result->classes;
    for (size_t c = 0; c < plan->class_count; c++) {
        struct stats_hist *itl = &classes[c].metric[SPEC_ITL];
        int64_t rest = plan->class_count == 1 ? plan->counted_total : plan->counted[c];
        for (size_t i = 0; i < stalls->count; i++) {
            const struct serve_stall *stall = &stalls->at[i];
            if (stall->counted[c] > 0) {
                add_long_gap(itl, ticks + stall->ticks, (uint64_t)stall->counted[c]);
            }
            rest -= stall->counted[c];
        }
        base_assert(rest >= 0);
        if (rest > 0) {
            stats_hist_add_ramp(itl, ticks, 0, 1, (uint64_t)rest);
        }
    }
    stalls->count = 0;
}

static void deliver_emission(struct serve_replica *replica, struct serve_request *request,
                             base_i128 now)
{
    if (!request->has_first_token) {
        request->has_first_token = true;
        request->first_token_ticks = now;
        end_phase(replica, request, now);
        for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
            request->ttft_cause_ns[i] = request->cause_ns[i];
        }
        serve_first_token(replica->serve, request);
    } else {
        serve_gap(replica->serve, request, now - request->last_token_ticks);
        end_phase(replica, request, now);
    }
    request->last_token_ticks = now;
    // A victim's token in flight is still delivered, but the request stays thrown out.
    if (request->seq.state != SCHED_WAITING) {
        begin_decoding(replica, request, now);
    } else {
        request->phase = SERVE_THROWN_OUT;
    }
}

static void uncount_member(struct sched_plan *plan, const struct sched_seq *seq)
{
    if (seq->is_counted && sched_seq_was_in_front(seq, plan)) {
        plan->counted_total--;
        plan->counted[seq->class_index] -= plan->class_count > 1 ? 1 : 0;
    }
}

static void finish(struct serve_replica *replica, struct serve_request *request, base_i128 now)
{
    end_phase(replica, request, now);
    // An early stop noticed a step late: the slot in the step that is already decided yields no token.
    if (request->seq.is_overrun && replica->next != NULL) {
        uncount_member(&replica->next->plan, &request->seq);
    }
    sched_finish(&replica->sched, &request->seq, true, replica->next != NULL);
    serve_sequence_completed(replica->serve, request, now);
}

void serve_replica_complete(struct serve_replica *replica)
{
    struct serve_flight *flight = replica->running;
    base_i128 now = flight->end_ticks;
    serve_transfers_reach(replica, now);
    if (flight->plan.skips_front) {
        serve_stalls_note(&replica->stalls, &flight->plan, flight->ticks);
    } else {
        add_step_gaps(replica, &flight->plan, flight->ticks);
    }
    replica->emitted_tokens += flight->plan.shape.decode_seq_count +
                               flight->plan.shape.emitting_count + flight->plan.forked_count;
    for (size_t i = 0; i < flight->plan.emits.count; i++) {
        deliver_emission(replica, serve_request_of(flight->plan.emits.at[i]), now);
    }
    if (replica->sched.ops->delivered != NULL) {
        replica->sched.ops->delivered(&replica->sched, &flight->plan);
    }
    struct record_sink *sink = replica->serve->sink;
    bool writes_row = sink != NULL && sink->wants_steps;
    if (writes_row) {
        serve_flight_note_finished(flight);
    }
    for (size_t i = 0; i < flight->plan.finals.count; i++) {
        finish(replica, serve_request_of(flight->plan.finals.at[i]), now);
    }
    if (writes_row) {
        serve_flight_write_row(replica, flight);
    }
    serve_transfers_step_ended(replica, &flight->plan, now);
    flight->is_active = false;
    replica->running = replica->next;
    replica->next = NULL;
    // A victim whose last token was in flight has left the queue.
    if (sched_waiting_count(&replica->sched) != replica->tally.waiting) {
        set_waiting(replica, now);
    }
}

/* ---- a turn ---- */

static void take_out_given_up(struct serve_replica *replica)
{
    while (replica->given_up != NULL) {
        struct serve_request *request = replica->given_up;
        replica->given_up = request->next;
        if (request->seq.state == SCHED_FRONT) {
            serve_stalls_drop(&replica->stalls, &request->seq);
        }
        sched_finish(&replica->sched, &request->seq, false, replica->running != NULL);
        if (!sched_seq_is_written_to(&request->seq)) {
            serve_request_free(replica->serve, request);
        }
    }
}

static struct serve_flight *spare_flight(struct serve_replica *replica)
{
    return replica->flights[0].is_active ? &replica->flights[1] : &replica->flights[0];
}

// All of a request's sequences have lost their place.
static void note_thrown_out(struct serve_replica *replica, const struct sched_seqs *victims,
                            base_i128 now)
{
    for (size_t i = 0; i < victims->count; i++) {
        struct serve_request *request = first_member(victims->at[i]);
        for (; request != NULL; request = next_member(request)) {
            end_phase(replica, request, now);
            request->phase = SERVE_THROWN_OUT;
        }
        replica->preemptions++;
    }
}

static void note_admitted(struct serve_replica *replica, struct serve_request *request,
                          base_i128 now)
{
    if (request->first_scheduled_ns < 0) {
        request->first_scheduled_ns = floor_ns(now);
        end_phase(replica, request, now);
        request->phase = SERVE_PREFILLING;
    }
}

// What the turn did to requests: times, phases, the gaps that are no longer one step.
static void note_plan(struct serve_replica *replica, const struct sched_plan *plan, base_i128 now)
{
    base_i128 last_emission = replica->running != NULL ? replica->running->end_ticks : now;
    for (size_t i = 0; i < plan->left_front.count; i++) {
        struct sched_seq *seq = plan->left_front.at[i];
        serve_request_of(seq)->last_token_ticks =
            last_emission - serve_stalls_drop(&replica->stalls, seq);
    }
    note_thrown_out(replica, &plan->victims, now);
    note_thrown_out(replica, &plan->swapped_out, now);
    for (size_t i = 0; i < plan->admitted.count; i++) {
        struct serve_request *request = first_member(plan->admitted.at[i]);
        for (; request != NULL; request = next_member(request)) {
            note_admitted(replica, request, now);
        }
    }
    replica->copied_blocks += plan->copied_blocks;
}

// `newest` has been decided; the running step, if there is one, was decided before it.
static void take_state(struct serve_replica *replica, const struct serve_flight *newest)
{
    struct serve_state *state = &replica->tally.state;
    struct kv_paged_state *kv = &state->kv;
    kv->live_tokens = sched_live_tokens(&replica->sched);
    if (replica->pool.tables.window_count > 0) {
        const struct serve_flight *oldest = replica->running != NULL ? replica->running : newest;
        sched_count_windows(&replica->sched, oldest != NULL ? oldest->plan.number : UINT64_MAX, kv);
    }
    kv->used_blocks = kv_paged_used_blocks(&replica->pool);
    kv->promised_tokens = kv_paged_promised_tokens(&replica->pool);
    kv->fragmented_blocks = replica->sched.fragmented_blocks;
    kv->loading_blocks = replica->pool.loading_blocks;
    state->queue = (struct kv_queue_walk){.blank = INT64_MAX};
    kv->shared_blocks = replica->pool.forked_blocks;
    kv->blank_blocks = replica->pool.blank_blocks;
    if (replica->pool.prefix != NULL) {
        kv->shared_blocks = replica->prefix.shared_blocks;
        kv->cached_blocks = replica->prefix.idle_blocks;
        kv->kept_sequences = replica->sched.offload.aside_states;
        kv_prefix_walk_queue(&replica->prefix, &state->queue);
    } else if (replica->pool.radix != NULL) {
        kv->shared_blocks = replica->radix.shared_blocks;
        kv->cached_blocks = replica->radix.idle_blocks;
    } else if (replica->pool.unique != NULL) {
        kv->shared_blocks = replica->unique.shared_blocks;
        kv->cached_blocks = replica->unique.idle_blocks;
        state->queue.blank = replica->unique.blank_blocks; // behind them all have content
    } else if (replica->pool.slots != NULL) {
        kv->cached_blocks = replica->slots.kept_tokens;
        kv->kept_sequences = replica->slots.kept_sequences;
        memcpy(kv->kept_visible_tokens, replica->slots.kept_visible_tokens,
               sizeof kv->kept_visible_tokens);
    }
    kv->sequences = sched_running_count(&replica->sched);
    state->window_count = replica->pool.tables.window_count;
    state->keeps_content = replica->pool.prefix != NULL;
}

// The step that runs from now on, if any.
static void take_busy(struct serve_replica *replica)
{
    struct serve_state *state = &replica->tally.state;
    state->is_busy = replica->running != NULL;
    if (state->is_busy) {
        state->has_prefill = replica->running->plan.shape.prefill_tokens > 0;
        state->bound = replica->running->bound;
    }
}

// Whom the engine gave up in this turn: their clients are told, and all their sequences are gone.
static void end_given_up(struct serve_replica *replica, const struct sched_plan *plan,
                         base_i128 now)
{
    enum record_outcome outcome = replica->sched.ops->gives_up_unservable
                                      ? RECORD_OUTCOME_UNSERVABLE
                                      : RECORD_OUTCOME_ABORTED;
    for (size_t i = 0; i < plan->given_up.count; i++) {
        struct serve_request *request = serve_request_of(plan->given_up.at[i]);
        if (!request->given_up) {
            serve_request_given_up(
                replica->serve, request->parent != NULL ? request->parent : request, now, outcome);
        }
    }
    take_out_given_up(replica);
}

// The engine cannot go on: it gave up, or it turns in circles and nothing from outside will end that.
static bool has_ended(struct serve_replica *replica, const struct sched_plan *plan)
{
    struct serve_result *result = replica->serve->result;
    if (plan->engine_died) {
        result->status = SERVE_ENGINE_DIED;
    }
    bool steps_front = replica->sched.front.count > 0 && !plan->skips_front;
    replica->circles =
        plan->goes_in_circles || (replica->circles && plan->emits.count == 0 && !steps_front);
    if (plan->goes_in_circles && serve_is_over(replica->serve)) {
        result->status = SERVE_STUCK;
    }
    return result->status == SERVE_ENGINE_DIED || result->status == SERVE_STUCK;
}

static struct serve_flight *decide(struct serve_replica *replica, base_i128 now)
{
    struct serve_flight *flight = spare_flight(replica);
    struct sched_plan *plan = &flight->plan;
    bool gave_up = false;
    size_t changes; // that make another decision possible
    do {
        replica->sched.in_flight = replica->running != NULL;
        sched_plan_next(&replica->sched, plan);
        changes = plan->victims.count + plan->swapped_out.count + plan->given_up.count;
        if (changes + plan->admitted.count > 0) {
            set_waiting(replica, now);
        }
        note_plan(replica, plan, now);
        if (replica->serve->sink != NULL && replica->serve->sink->wants_steps) {
            serve_flight_note_thrown_out(replica, plan);
        }
        if (plan->given_up.count > 0) {
            gave_up = true;
            end_given_up(replica, plan, now);
        }
        if (has_ended(replica, plan)) {
            return NULL;
        }
        // An empty turn that threw somebody out is followed by another at once when nothing is in flight.
    } while (plan->token_count == 0 && changes > 0 && replica->running == NULL);
    if (gave_up) {
        plan->valid_steps = 0; // who is told may come again at once, or another in its place
    }
    replica->tally.state.wait = plan->wait;
    if (plan->token_count == 0) {
        serve_transfers_without_step(replica, plan, now);
        return NULL;
    }
    flight->is_active = true;
    flight->sched_ticks = now;
    take_state(replica, flight);
    serve_tally_note_peak(&replica->tally);
    replica->steps++;
    if (kv_policy_concatenates(replica->pool.policy) || replica->pool.compacts) {
        replica->copied_tokens += serve_copied_tokens(replica, plan);
    }
    replica->computed_tokens += plan->token_count;
    replica->swapped_blocks += plan->swapped_blocks;
    replica->prefill_tokens += plan->shape.prefill_tokens;
    if (replica->serve->sink != NULL && replica->serve->sink->wants_steps) {
        serve_flight_begin_row(replica, flight);
    }
    return flight;
}

// Tells from now on what the queue waits for: the head's reason, or just the next turn.
static void note_wait(struct serve_replica *replica)
{
    enum sched_wait wait = replica->tally.state.wait;
    replica->tally.wait_cause =
        wait == SCHED_WAIT_NONE ? SERVE_WAIT_STEP : (size_t)wait - SCHED_WAIT_KV_POOL;
}

// An idle engine looks again when a transfer ends that somebody waits for.
static void wake_at(struct serve_replica *replica, base_i128 at)
{
    if (at < SERVE_NEVER) {
        serve_replica_push_turn(replica, at);
    }
}

void serve_replica_push_turn(struct serve_replica *replica, base_i128 at)
{
    struct des_event *event = &replica->turn_event;
    if (des_event_is_queued(event)) {
        if (event->at_ticks <= at) {
            return;
        }
        des_heap_cancel(&replica->serve->boundary, event);
    }
    des_heap_push_as(&replica->serve->boundary, event, at, replica->number);
}

void serve_replica_turn(struct serve_replica *replica, base_i128 now, base_i128 next_event_ticks)
{
    bool is_async = replica->serve->config->sched.async_scheduling;
    serve_tally_settle(&replica->tally, now);
    serve_transfers_settle(replica, now);
    take_out_given_up(replica);
    struct serve_flight *newest = NULL;
    if (replica->running == NULL) {
        replica->running = newest = decide(replica, now);
    }
    if (replica->running != NULL) {
        serve_price_step(replica, replica->running, now);
    }
    if (is_async && replica->running != NULL) {
        replica->next = newest = decide(replica, now);
    }
    set_waiting(replica, now);
    note_wait(replica);
    if (newest == NULL) {
        take_state(replica, NULL); // else it was taken with the decision
    }
    take_busy(replica);
    base_i128 transfer_end = serve_transfers_next_end(replica, replica->running == NULL);
    if (replica->running == NULL) {
        wake_at(replica, transfer_end);
        return;
    }
    if (serve_replica_can_stretch(replica, newest)) {
        serve_replica_take_stretch(
            replica, newest, transfer_end < next_event_ticks ? transfer_end : next_event_ticks);
    } else {
        serve_tally_interval(&replica->tally, replica->running->ticks);
    }
    des_heap_push_as(&replica->serve->boundary, &replica->boundary_event,
                     replica->running->end_ticks, replica->number);
}

/* ---- clients that go ---- */

static bool list_drop(struct sched_seqs *seqs, const struct sched_seq *seq)
{
    size_t kept = 0;
    for (size_t i = 0; i < seqs->count; i++) {
        if (seqs->at[i] != seq) {
            seqs->at[kept++] = seqs->at[i];
        }
    }
    bool was_there = kept < seqs->count;
    seqs->count = kept;
    return was_there;
}

// Takes the request out of a step in flight: its token will not be delivered. True when it would have emitted.
static bool drop_from_flight(struct serve_flight *flight, struct serve_stalls *stalls,
                             const struct sched_seq *seq)
{
    if (flight == NULL) {
        return false;
    }
    list_drop(&flight->plan.finals, seq);
    bool in_front = sched_seq_was_in_front(seq, &flight->plan);
    if (in_front) {
        serve_stalls_drop(stalls, seq);
    }
    uncount_member(&flight->plan, seq);
    return list_drop(&flight->plan.emits, seq) || in_front;
}

int64_t serve_replica_give_up(struct serve_replica *replica, struct serve_request *request,
                              base_i128 now)
{
    struct sched_seq *seq = &request->seq;
    sched_settle(&replica->sched, seq);
    int64_t outputs = seq->emitted;
    outputs -= drop_from_flight(replica->running, &replica->stalls, seq) ? 1 : 0;
    outputs -= drop_from_flight(replica->next, &replica->stalls, seq) ? 1 : 0;
    if (request->phase == SERVE_QUEUED) {
        set_waiting(replica, now); // brings the totals up to now
    }
    end_phase(replica, request, now);
    request->given_up = true;
    // In the order in which the clients went, at one instant in order of arrival: blocks are freed in it.
    struct serve_request **at = &replica->given_up;
    while (*at != NULL && ((*at)->mark_ticks < now || (*at)->seq.index < seq->index)) {
        at = &(*at)->next;
    }
    request->next = *at;
    *at = request;
    return outputs;
}
