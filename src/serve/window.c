#include "serve/window.h"

#include "serve/segments.h"
#include "serve/transfers.h"

/* ---- begin: what is warm-up, when the window closes ---- */

static void set_warmup(struct serve *serve)
{
    const struct serve_config *config = serve->config;
    const struct workload_spec *workload = &config->workload;
    const struct serve_warmup *warmup = &config->warmup;
    static const double default_share = 0.1;
    serve->warmup_ns = -1;
    double share = warmup->kind == SERVE_WARMUP_SHARE ? warmup->share : default_share;
    switch (warmup->kind) {
    case SERVE_WARMUP_REQUESTS:
        serve->warmup_requests = (uint64_t)warmup->requests;
        return;
    case SERVE_WARMUP_TIME:
        serve->warmup_ns = warmup->time_ns;
        return;
    case SERVE_WARMUP_DEFAULT:
        if (!serve->is_steady) {
            return;
        }
        break;
    default:
        break;
    }
    if (workload->request_limit > 0) {
        serve->warmup_requests = (uint64_t)((double)workload->request_limit * share);
    } else if (workload->duration_ns > 0) {
        serve->warmup_ns = (int64_t)((double)workload->duration_ns * share);
    }
}

static void begin_sampling(struct serve *serve)
{
    des_event_init(&serve->sample_event, DES_SAMPLE);
    des_event_init(&serve->close_event, DES_SAMPLE);
    size_t replicas = serve->config->replica_count;
    serve->sampled_prefill = base_arena_array(&serve->arena, replicas, sizeof(int64_t));
    serve->sampled_emitted = base_arena_array(&serve->arena, replicas, sizeof(int64_t));
    const struct record_sink *sink = serve->sink;
    if (sink == NULL || sink->sample_ns == 0) {
        return;
    }
    enum { FIRST_INTERVAL_NS = 1000000 };
    serve->sample_interval =
        base_ticks_from_ns(sink->sample_ns > 0 ? sink->sample_ns : FIRST_INTERVAL_NS);
    des_heap_push(&serve->external, &serve->sample_event, serve->sample_interval);
}

void serve_window_begin(struct serve *serve)
{
    const struct workload_spec *workload = &serve->config->workload;
    serve->is_steady = workload_is_steady(workload);
    set_warmup(serve);
    begin_sampling(serve);
    serve_segments_begin(serve);
    if (serve->is_steady && workload->request_limit == 0 && workload->duration_ns > 0) {
        des_heap_push(&serve->external, &serve->close_event,
                      base_ticks_from_ns(workload->duration_ns));
    }
}

/* ---- requests in flight ---- */

static void change_in_flight(struct serve *serve, base_i128 now, int64_t by)
{
    serve->result->in_flight_ticks += serve->in_flight * (now - serve->in_flight_since);
    serve->in_flight_since = now;
    serve->in_flight += by;
}

/* ---- the window ---- */

static void open_window(struct serve *serve, base_i128 now)
{
    serve->window_is_open = true;
    serve->window_start_ticks = now;
    change_in_flight(serve, now, 0);
    serve->in_flight_at_window_start = serve->result->in_flight_ticks;
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        struct serve_tally *tally = &serve->replicas[i].tally;
        serve_tally_at(tally, now, &tally->window_start);
    }
}

void serve_window_close(struct serve *serve, base_i128 now)
{
    if (!serve->window_is_open || serve->window_is_closed) {
        return;
    }
    serve->window_is_closed = true;
    struct serve_result *result = serve->result;
    result->window_ticks = now - serve->window_start_ticks;
    change_in_flight(serve, now, 0);
    result->window_in_flight_ticks = result->in_flight_ticks - serve->in_flight_at_window_start;
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        struct serve_tally *tally = &serve->replicas[i].tally;
        serve_tally_at(tally, now, &result->replicas[i].window);
        serve_integrals_subtract(&result->replicas[i].window, &tally->window_start);
    }
}

/* ---- drift: mean requests in flight over segments of equal numbers of arrivals ---- */

/*
 * Overload: over the second half the queue rises by more than 1 % of the arrivals there, and by more than the walk of a
 * queue that is just critical would: five of its standard errors, since this is asked at every segment's end.
 */
static bool is_overloaded(const struct serve_result *result)
{
    enum { LEAST_SEGMENTS = 48, LEAST_ARRIVALS = 1500, LEAST_ERRORS = 5 };
    size_t count = result->segment_count;
    if (count < LEAST_SEGMENTS || (int64_t)count * result->segment_arrivals < LEAST_ARRIVALS) {
        return false;
    }
    double rise, error;
    double arrivals = serve_result_queue_rise(result, &rise, &error);
    return rise > SERVE_GROWTH_SHARE * arrivals && rise > LEAST_ERRORS * error;
}

static void judge_load(struct serve *serve)
{
    bool may_stop = serve->config->stop_when_overloaded && serve->is_steady &&
                    serve->config->workload.process != WORKLOAD_CLOSED_LOOP;
    if (may_stop && is_overloaded(serve->result)) {
        serve->result->status = SERVE_OVERLOADED;
        serve->arrivals_stopped = true;
    }
}

/* ---- arrivals and ends ---- */

static bool is_last_arrival(const struct serve *serve, const struct serve_request *request)
{
    uint64_t limit = serve->config->workload.request_limit;
    if (limit > 0) {
        return request->asked.index + 1 == limit;
    }
    return false;
}

void serve_window_note_arrival(struct serve *serve, struct serve_request *request, base_i128 now)
{
    struct serve_result *result = serve->result;
    request->seq.is_counted = serve->warmup_ns >= 0
                                  ? base_ticks_floor_ns(now) >= serve->warmup_ns
                                  : request->asked.index >= serve->warmup_requests;
    if (request->seq.is_counted && !serve->window_is_open) {
        open_window(serve, now);
        result->first_counted = request->asked.index;
    }
    result->arrived++;
    result->prompt_tokens += request->asked.prompt_tokens;
    result->classes[request->asked.class_index].arrived++;
    result->window_arrived += serve->window_is_open && !serve->window_is_closed ? 1 : 0;
    if (serve->is_steady && is_last_arrival(serve, request)) {
        serve_window_close(serve, now);
    }
    if (serve_segments_note_arrival(serve, now)) {
        judge_load(serve);
        serve_segments_make_room(serve);
    }
    change_in_flight(serve, now, 1);
}

void serve_window_note_end(struct serve *serve, const struct serve_request *request, base_i128 now,
                           bool is_completed, bool is_good, int64_t output_tokens)
{
    change_in_flight(serve, now, -1);
    if (is_completed) {
        serve_segments_note_completion(serve, is_good, request->asked.prompt_tokens, output_tokens);
    }
    if (!is_completed || !serve->window_is_open || serve->window_is_closed) {
        return;
    }
    struct serve_result *result = serve->result;
    result->window_completed++;
    result->window_good += is_good ? 1 : 0;
    result->window_prompt_tokens += request->asked.prompt_tokens;
    result->window_output_tokens += output_tokens;
}

/* ---- samples ---- */

static void sample_replica(struct serve *serve, uint32_t number, base_i128 now)
{
    const struct serve_replica *replica = &serve->replicas[number];
    int64_t used = kv_paged_used_blocks(&replica->pool);
    double seconds =
        base_i128_to_double(now - serve->last_sample) / (1e9 * (double)BASE_TICKS_PER_NS);
    struct record_sample row = {
        .replica = number,
        .t_ns = base_ticks_floor_ns(now),
        .running = (int64_t)replica->sched.running.count,
        .waiting = sched_waiting_count(&replica->sched),
        .kv_usage =
            (double)used / (double)(replica->pool.total_blocks - replica->pool.held_back_blocks),
        .prompt_throughput =
            (double)(replica->prefill_tokens - serve->sampled_prefill[number]) / seconds,
        .output_throughput =
            (double)(replica->emitted_tokens - serve->sampled_emitted[number]) / seconds,
    };
    serve->sampled_prefill[number] = replica->prefill_tokens;
    serve->sampled_emitted[number] = replica->emitted_tokens;
    struct kv_ledger ledger;
    kv_paged_ledger(&replica->pool, &replica->tally.state.kv, &ledger);
    for (size_t i = 0; i < KV_LEDGER_LINE_COUNT; i++) {
        row.ledger_bytes[i] = kv_ledger_line_bytes(&ledger, i);
    }
    row.ledger_bytes[KV_LEDGER_LINE_COUNT] = ledger.pool_bytes;
    serve->sink->ops->on_sample(serve->sink, &row);
}

// Automatic sampling keeps at most 1,000 points: when full, the interval doubles and the sink drops every other point.
void serve_window_sample(struct serve *serve, base_i128 now)
{
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        sample_replica(serve, i, now);
    }
    serve->last_sample = now;
    serve->sample_count++;
    if (serve->sink->sample_ns < 0 && serve->sample_count == RECORD_SAMPLES_MAX) {
        serve->sample_count /= 2;
        serve->sample_interval *= 2;
    }
    des_heap_push(&serve->external, &serve->sample_event, now + serve->sample_interval);
}

/* ---- the end ---- */

void serve_window_end(struct serve *serve, base_i128 now)
{
    struct serve_result *result = serve->result;
    serve_window_close(serve, now);
    change_in_flight(serve, now, 0);
    result->end_ticks = now;
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        struct serve_replica *replica = &serve->replicas[i];
        struct serve_replica_result *out = &result->replicas[i];
        serve_transfers_settle(replica, now); // what has ended since its last turn
        serve_tally_at(&replica->tally, now, &out->whole);
        out->peak = replica->tally.peak;
        out->lookup_tokens = replica->sched.lookup_tokens;
        out->hit_tokens = replica->sched.hit_tokens;
        out->reuse = replica->sched.reuse;
        out->evicted_blocks = serve_replica_evicted_blocks(replica);
        serve_transfers_result(replica, now, out);
        out->peak_running = replica->tally.peak_running;
        out->peak_waiting = replica->tally.peak_waiting;
        out->steps = replica->steps;
        out->copied_tokens = replica->copied_tokens;
        out->computed_tokens = replica->computed_tokens;
        out->prefill_tokens = replica->prefill_tokens;
        out->swapped_blocks = replica->swapped_blocks;
        out->copied_blocks = replica->copied_blocks;
        out->preemptions = replica->preemptions;
        out->requests = replica->requests;
    }
}
