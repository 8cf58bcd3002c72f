#include "serve/serve.h"

#include "serve/ended.h"
#include "serve/search.h"
#include "serve/segments.h"
#include "serve/sequences.h"
#include "serve/serve_int.h"
#include "serve/window.h"

#include <inttypes.h>

/* ---- the workload as a source ---- */

static enum kvsim_status workload_source_next(void *context, struct workload_request *out,
                                              bool *more, struct kvsim_error *err)
{
    return workload_next(context, out, more, err);
}

static enum kvsim_status workload_source_done(void *context, const struct workload_ended *ended,
                                              struct workload_request *out, bool *more,
                                              struct kvsim_error *err)
{
    return workload_done(context, ended, out, more, err);
}

static enum kvsim_status open_source(struct serve *serve)
{
    serve->has_follow_ups = workload_has_follow_ups(&serve->config->workload);
    if (serve->options->source != NULL) {
        serve->source = *serve->options->source;
        return KVSIM_OK;
    }
    enum kvsim_status status =
        workload_source_open(&serve->config->workload, serve->config->seed,
                             serve->options->replication, &serve->own_source, serve->err);
    serve->source =
        (struct serve_source){serve->own_source, workload_source_next, workload_source_done};
    return status;
}

/* ---- arrivals ---- */

// The source's runs are valid only until its next call; without a prefix cache nobody asks for them.
static void keep_runs(const struct serve *serve, struct serve_request *request)
{
    struct workload_request *asked = &request->asked;
    if (!serve->config->sched.enable_prefix_caching || asked->run_count == 0) {
        asked->runs = NULL;
        asked->run_count = 0;
        return;
    }
    struct spec_token_run *runs = base_alloc(base_mul_size(asked->run_count + 1, sizeof *runs));
    for (size_t i = 0; i < asked->run_count; i++) {
        runs[i] = asked->runs[i];
    }
    request->content_runs = runs;
    asked->runs = runs;
}

static inline struct serve_request *new_request(struct serve *serve,
                                                const struct workload_request *asked)
{
    struct serve_request *request = base_pool_take(&serve->requests);
    request->all_next = serve->all;
    if (serve->all != NULL) {
        serve->all->all_prev = request;
    }
    serve->all = request;
    request->asked = *asked;
    request->first_scheduled_ns = -1;
    keep_runs(serve, request);
    des_event_init(&request->arrival_event, DES_ARRIVAL);
    des_event_init(&request->limit_event, DES_ABORT);
    return request;
}

struct serve_request *serve_request_new(struct serve *serve, const struct workload_request *asked)
{
    return new_request(serve, asked);
}

static void post_arrival(struct serve *serve, const struct workload_request *asked, base_i128 at)
{
    struct serve_request *request = new_request(serve, asked);
    if (asked->sequence_count > 1 || (asked->is_beam && serve->config->search_outside)) {
        serve_sequences_keep(request);
    }
    des_heap_push(&serve->external, &request->arrival_event, at);
}

// An open process keeps its next arrival pending, a closed loop gives all its first ones.
static void pull_arrival(struct serve *serve)
{
    struct workload_request asked;
    bool more = false;
    while (!serve->source_is_dry && serve->status == KVSIM_OK) {
        serve->status = serve->source.next(serve->source.context, &asked, &more, serve->err);
        if (serve->status != KVSIM_OK || !more) {
            serve->source_is_dry = true;
            return;
        }
        post_arrival(serve, &asked, base_ticks_from_ns(asked.arrival_ns));
        if (serve->config->workload.process != WORKLOAD_CLOSED_LOOP) {
            return;
        }
    }
}

void serve_follow_up(struct serve *serve, const struct serve_request *request, base_i128 now,
                     bool is_completed, int64_t output_tokens)
{
    if (!serve->has_follow_ups || serve->arrivals_stopped) {
        return;
    }
    struct workload_request asked;
    bool more = false;
    int64_t now_ns = base_ticks_floor_ns(now);
    struct workload_ended ended = {.request = &request->asked,
                                   .at_ns = now_ns,
                                   .output_tokens = output_tokens,
                                   .is_completed = is_completed};
    serve->status = serve->source.done(serve->source.context, &ended, &asked, &more, serve->err);
    if (serve->status == KVSIM_OK && more) {
        // To the tick: think time counts from the very end of the request before.
        post_arrival(serve, &asked, now + base_ticks_from_ns(asked.arrival_ns - now_ns));
    }
}

static struct serve_replica *route(struct serve *serve)
{
    uint32_t count = serve->config->replica_count;
    struct serve_replica *chosen = &serve->replicas[serve->next_replica % count];
    if (serve->config->router == SERVE_LEAST_OUTSTANDING) {
        // Ties go round, so that an idle service spreads its load.
        for (uint32_t i = 1; i < count; i++) {
            struct serve_replica *other = &serve->replicas[(serve->next_replica + i) % count];
            chosen = other->in_flight < chosen->in_flight ? other : chosen;
        }
        serve->next_replica = (chosen->number + 1) % count;
        return chosen;
    }
    serve->next_replica = (serve->next_replica + 1) % count;
    return chosen;
}

static bool is_refused_on_arrival(const struct serve *serve, const struct workload_request *asked)
{
    const struct sched_options *options = &serve->config->sched;
    bool queues = serve->config->scheduler != NULL && serve->config->scheduler->queues_long_prompts;
    return asked->prompt_tokens <= 0 ||
           (!queues && asked->prompt_tokens >= options->max_model_len) ||
           (options->reject_over_length &&
            asked->prompt_tokens > options->max_model_len - asked->max_tokens);
}

static void fill_seq(struct serve *serve, struct serve_request *request)
{
    const struct workload_request *asked = &request->asked;
    struct sched_seq *seq = &request->seq;
    int64_t beyond =
        serve->config->scheduler != NULL ? serve->config->scheduler->beyond_longest : 0;
    int64_t room = serve->config->sched.max_model_len + beyond - asked->prompt_tokens;
    room = room > 1 ? room : 1; // a prompt that is too long is given up, or gets a token
    seq->index = serve->sequences++;
    seq->arrival_ns = base_ticks_floor_ns(request->arrival_ticks);
    seq->priority = asked->priority;
    seq->class_index = asked->class_index;
    seq->seen_tokens = asked->seen_tokens;
    seq->prompt_tokens = asked->prompt_tokens;
    seq->max_outputs = asked->max_tokens < room ? asked->max_tokens : room;
    seq->end_outputs =
        asked->output_tokens < seq->max_outputs ? asked->output_tokens : seq->max_outputs;
    seq->stops_early = seq->end_outputs < seq->max_outputs;
    // No plan has it in the front yet.
    seq->first_front_plan = UINT64_MAX;
}

// What the request consists of, for the prefix cache: the prompt's runs, else one of its own, then the answer's.
static void fill_content(struct serve_request *request)
{
    const struct workload_request *asked = &request->asked;
    struct sched_seq *seq = &request->seq;
    size_t prompt_runs = asked->run_count;
    struct spec_token_run *runs = request->content_runs; // the prompt's, with room for the answer's
    if (prompt_runs == 0) {
        runs = request->content_runs = base_alloc(2 * sizeof *runs);
        runs[0] = (struct spec_token_run){serve_own_ids(asked->index, false), asked->prompt_tokens};
        prompt_runs = 1;
    }
    int64_t answer =
        asked->answer_first != 0 ? asked->answer_first : serve_own_ids(seq->index, true);
    runs[prompt_runs] = (struct spec_token_run){answer, seq->end_outputs};
    seq->cache.content =
        (struct kv_content){runs, prompt_runs + 1, asked->prompt_tokens + seq->end_outputs};
}

void serve_request_free(struct serve *serve, struct serve_request *request)
{
    base_free(request->content_runs);
    if (request->sequences != NULL) {
        serve_sequences_free(request);
    }
    base_vec_free(&request->seq.cache.holds);
    base_vec_free(&request->seq.cache.reads);
    *(request->all_prev != NULL ? &request->all_prev->all_next : &serve->all) = request->all_next;
    if (request->all_next != NULL) {
        request->all_next->all_prev = request->all_prev;
    }
    base_pool_give(&serve->requests, request);
}

static inline void enter_sequence(struct serve *serve, struct serve_request *request, base_i128 now)
{
    fill_seq(serve, request);
    if (serve->config->sched.enable_prefix_caching) {
        fill_content(request);
    }
    serve_replica_enqueue(request->replica, request, now);
}

void serve_sequence_expect(struct serve *serve, struct serve_request *request, base_i128 now)
{
    fill_seq(serve, request);
    serve_replica_expect(request->replica, request, now);
}

void serve_sequence_enter(struct serve *serve, struct serve_request *request, base_i128 now)
{
    enter_sequence(serve, request, now);
}

static void enter(struct serve *serve, struct serve_request *request, base_i128 now)
{
    request->arrival_ticks = now;
    request->asked.index = serve->arrived++;
    serve_window_note_arrival(serve, request, now);
    if (is_refused_on_arrival(serve, &request->asked)) {
        request->mark_ticks = now;
        struct serve_delivered nothing = {0};
        serve_request_ended(serve, request, now, RECORD_OUTCOME_REJECTED, &nothing);
        serve_request_free(serve, request);
        return;
    }
    struct serve_replica *replica = request->replica = route(serve);
    replica->requests++;
    replica->in_flight++;
    if (request->sequences != NULL) {
        serve_sequences_enter(serve, request, now);
    } else {
        enter_sequence(serve, request, now);
    }
    serve_push_limit(serve, request);
    if (serve_replica_is_idle(replica)) {
        serve_replica_push_turn(replica, now);
    }
}

// The next step of a search outside the engine begins, where it began: there is no other route for it.
static void go_on(struct serve *serve, struct serve_request *request, base_i128 now)
{
    serve_sequences_enter(serve, request, now);
    if (serve_replica_is_idle(request->replica)) {
        serve_replica_push_turn(request->replica, now);
    }
}

static void hold_back(struct serve *serve, struct serve_request *request)
{
    request->next = NULL;
    *(serve->held_tail != NULL ? &serve->held_tail->next : &serve->held_head) = request;
    serve->held_tail = request;
}

static bool is_full(const struct serve *serve)
{
    uint64_t limit = serve->config->workload.max_concurrency;
    return limit > 0 && (uint64_t)serve->in_flight >= limit;
}

static void release_held(struct serve *serve, base_i128 now)
{
    while (serve->held_head != NULL && !is_full(serve)) {
        struct serve_request *request = serve->held_head;
        serve->held_head = request->next;
        serve->held_tail = serve->held_head == NULL ? NULL : serve->held_tail;
        enter(serve, request, now);
    }
}

static void on_arrival(struct serve *serve, struct serve_request *request, base_i128 now)
{
    // A further turn of a session is not the process' own arrival.
    if (serve->config->workload.process != WORKLOAD_CLOSED_LOOP &&
        request->asked.session_turn == 0) {
        pull_arrival(serve);
    }
    if (serve->arrivals_stopped) {
        serve_request_free(serve, request);
        return;
    }
    hold_back(serve, request);
    release_held(serve, now);
}

/* ---- clients' limits ---- */

// The next limit that can end the request; 0 = none. Timeouts come before aborts at one instant.
static int64_t next_limit_ns(const struct serve_request *request, enum record_outcome *outcome)
{
    const struct workload_request *asked = &request->asked;
    int64_t limit = 0;
    *outcome = RECORD_OUTCOME_TIMED_OUT;
    if (asked->timeout_first_ns > 0 && !request->has_first_token) {
        limit = asked->timeout_first_ns;
    }
    if (asked->timeout_total_ns > 0 && (limit == 0 || asked->timeout_total_ns < limit)) {
        limit = asked->timeout_total_ns;
    }
    if (asked->abort_after_ns > 0 && (limit == 0 || asked->abort_after_ns < limit)) {
        limit = asked->abort_after_ns;
        *outcome = RECORD_OUTCOME_ABORTED;
    }
    return limit;
}

void serve_push_limit(struct serve *serve, struct serve_request *request)
{
    enum record_outcome outcome;
    int64_t limit_ns = next_limit_ns(request, &outcome);
    if (limit_ns > 0) {
        // At one instant clients go in the order in which they came.
        des_heap_push_as(&serve->external, &request->limit_event,
                         request->arrival_ticks + base_ticks_from_ns(limit_ns),
                         request->asked.index);
    }
}

// A client's request ends before its time: so do all its sequences.
static void end_early(struct serve *serve, struct serve_request *request, base_i128 now,
                      enum record_outcome outcome)
{
    struct serve_replica *replica = request->replica;
    struct serve_delivered delivered;
    if (request->sequences != NULL) {
        serve_sequences_give_up(request, now, &delivered);
    } else {
        int64_t outputs = serve_replica_give_up(replica, request, now);
        delivered = serve_delivered_one(outputs);
    }
    replica->in_flight--;
    serve_request_ended(serve, request, now, outcome, &delivered);
    if (request->sequences != NULL) {
        serve_request_free(serve, request);
    }
}

void serve_request_given_up(struct serve *serve, struct serve_request *request, base_i128 now,
                            enum record_outcome outcome)
{
    end_early(serve, request, now, outcome);
}

static void on_limit(struct serve *serve, struct serve_request *request, base_i128 now)
{
    enum record_outcome outcome;
    next_limit_ns(request, &outcome);
    struct serve_replica *replica = request->replica;
    end_early(serve, request, now, outcome);
    if (serve_replica_is_idle(replica)) {
        serve_replica_push_turn(replica, now);
    }
}

/* ---- the loop ---- */

// An engine that dies ends the run, at one of its own turns: nobody else may have counted steps beyond that.
static bool another_may_die(const struct serve *serve, const struct serve_replica *replica)
{
    bool may_die = replica->sched.ops->dies_of_swapping;
    for (uint32_t i = 0; may_die && i < serve->config->replica_count; i++) {
        if (i != replica->number && sched_may_die(&serve->replicas[i].sched)) {
            return true;
        }
    }
    return false;
}

// When something outside this replica happens next that it must not pass.
static base_i128 next_event_ticks(const struct serve *serve, const struct serve_replica *replica)
{
    const struct des_event *external = des_heap_top(&serve->external);
    base_i128 next = external != NULL ? external->at_ticks : SERVE_NEVER;
    // Another replica's completion can bring an arrival here only where requests follow each other, or under a cap.
    bool completions_matter =
        serve->config->replica_count > 1 &&
        (serve->has_follow_ups || serve->config->workload.max_concurrency > 0 ||
         another_may_die(serve, replica));
    const struct des_event *boundary = des_heap_top(&serve->boundary);
    if (completions_matter && boundary != NULL && boundary->at_ticks < next) {
        next = boundary->at_ticks;
    }
    return next;
}

static bool something_else_happens_now(const struct serve *serve, base_i128 now)
{
    const struct des_event *external = des_heap_top(&serve->external);
    const struct des_event *boundary = des_heap_top(&serve->boundary);
    return (external != NULL && external->at_ticks <= now) ||
           (boundary != NULL && boundary->at_ticks <= now);
}

static void on_boundary(struct serve *serve, struct des_event *event, base_i128 now)
{
    struct serve_replica *replica;
    if (event->priority == DES_COMPLETION) {
        replica = (struct serve_replica *)(void *)((char *)event -
                                                   offsetof(struct serve_replica, boundary_event));
        serve_replica_complete(replica);
        release_held(serve, now);
        if (something_else_happens_now(serve, now)) {
            serve_replica_push_turn(replica, now);
            return;
        }
    } else {
        replica = (struct serve_replica *)(void *)((char *)event -
                                                   offsetof(struct serve_replica, turn_event));
    }
    serve_replica_turn(replica, now, next_event_ticks(serve, replica));
    release_held(serve, now); // in place of those whom the engine gave up
}

/* A table of step times that ends before the run does, or a step that is too long: the run fails, with the reason. */
static void check_prices(struct serve *serve)
{
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        const struct kvsim_error *fault = cost_fault(serve->replicas[i].cost);
        if (fault != NULL && serve->status == KVSIM_OK) {
            *serve->err = *fault;
            serve->status = fault->status;
        }
    }
}

static void on_external(struct serve *serve, struct des_event *event, base_i128 now)
{
    switch ((enum des_priority)event->priority) {
    case DES_ARRIVAL: {
        struct serve_request *request = serve_request_of_arrival(event);
        if (request->replica != NULL) {
            go_on(serve, request, now);
        } else {
            on_arrival(serve, request, now);
        }
        break;
    }
    case DES_ABORT:
        on_limit(serve, serve_request_of_limit(event), now);
        release_held(serve, now);
        break;
    default:
        if (event == &serve->close_event) {
            serve_window_close(serve, now);
        } else {
            serve_window_sample(serve, now);
        }
        break;
    }
}

static bool has_only_samples(const struct serve *serve)
{
    size_t samples = (des_event_is_queued(&serve->sample_event) ? 1U : 0U) +
                     (des_event_is_queued(&serve->close_event) ? 1U : 0U);
    return serve->external.count == samples;
}

// Only samples are left: nothing will happen any more.
static bool has_ended(const struct serve *serve)
{
    return serve->boundary.count == 0 && has_only_samples(serve);
}

bool serve_is_over(const struct serve *serve)
{
    bool is_over = has_only_samples(serve);
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        const struct serve_replica *replica = &serve->replicas[i];
        bool is_quiet =
            serve_replica_is_idle(replica) && !des_event_is_queued(&replica->turn_event);
        is_over = is_over && (is_quiet || replica->circles);
    }
    return is_over;
}

static bool is_interrupted(struct serve *serve, uint64_t *rounds)
{
    enum { ROUNDS_PER_TICK = 4096 };
    const struct serve_run_options *options = serve->options;
    if (options->tick == NULL || ++*rounds % ROUNDS_PER_TICK != 0) {
        return false;
    }
    if (options->tick(options->tick_context, serve->arrived)) {
        serve->status = base_fail(serve->err, KVSIM_ERR_IO, "interrupted");
        return true;
    }
    return false;
}

static void run_events(struct serve *serve)
{
    base_i128 now = 0;
    uint64_t rounds = 0;
    while (serve->status == KVSIM_OK && !has_ended(serve) && !is_interrupted(serve, &rounds)) {
        struct des_event *external = des_heap_top(&serve->external);
        struct des_event *boundary = des_heap_top(&serve->boundary);
        bool is_boundary =
            boundary != NULL && (external == NULL || des_event_is_before(boundary, external));
        struct des_event *event = des_heap_pop(is_boundary ? &serve->boundary : &serve->external);
        base_require(event->at_ticks >= now);
        now = event->at_ticks;
        if (is_boundary) {
            on_boundary(serve, event, now);
            if (serve->config->cost.options->table != NULL ||
                serve->config->sched.tier.chunk_blocks > 0) {
                check_prices(serve);
            }
        } else {
            on_external(serve, event, now);
        }
        if (serve->result->status == SERVE_OVERLOADED || serve->result->status == SERVE_STUCK ||
            serve->result->status == SERVE_ENGINE_DIED) {
            break;
        }
    }
    check_prices(serve);
    serve_window_end(serve, now);
    serve->result->outcomes[RECORD_OUTCOME_UNFINISHED] = (uint64_t)serve->in_flight;
    serve->result->engine_requests = serve->sequences;
    if (serve->status == KVSIM_OK && serve->in_flight > 0 && serve->result->status == SERVE_DONE) {
        serve->result->status = SERVE_STUCK;
    }
}

static enum kvsim_status start(struct serve *serve)
{
    const struct serve_config *config = serve->config;
    serve->replicas =
        base_arena_array(&serve->arena, config->replica_count, sizeof *serve->replicas);
    for (uint32_t i = 0; i < config->replica_count; i++) {
        enum kvsim_status status =
            serve_replica_init(&serve->replicas[i], serve, i, config, &serve->arena, serve->err);
        if (status != KVSIM_OK) {
            return status;
        }
    }
    serve_window_begin(serve);
    return open_source(serve);
}

static void release(struct serve *serve)
{
    while (serve->all != NULL) {
        serve_request_free(serve, serve->all);
    }
    for (uint32_t i = 0; serve->replicas != NULL && i < serve->config->replica_count; i++) {
        serve_replica_release(&serve->replicas[i]);
    }
    serve_segments_end(serve);
    workload_source_close(serve->own_source);
    des_heap_release(&serve->external);
    des_heap_release(&serve->boundary);
    base_pool_release(&serve->requests);
    base_arena_release(&serve->arena);
}

enum kvsim_status serve_run(const struct serve_config *config,
                            const struct serve_run_options *options, struct serve_result *out,
                            struct kvsim_error *err)
{
    struct serve serve = {
        .config = config, .options = options, .sink = options->sink, .result = out, .err = err};
    serve_result_init(out, config->workload.class_count, config->replica_count);
    base_arena_init(&serve.arena);
    base_pool_init(&serve.requests, sizeof(struct serve_request));
    des_heap_init(&serve.external);
    des_heap_init(&serve.boundary);
    serve.status = start(&serve);
    if (serve.status == KVSIM_OK) {
        pull_arrival(&serve);
        run_events(&serve);
    }
    enum kvsim_status status = serve.status;
    release(&serve);
    return status;
}
