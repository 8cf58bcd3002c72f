#include "serve/sequences.h"

#include "base/error.h"
#include "base/i128.h"
#include "sched/sched.h"
#include "serve/search.h"

struct serve_sequences {
    uint32_t left;                        /* that have not ended */
    struct serve_search *search;          /* outside the engine; else NULL; owned */
    int64_t cause_ns[RECORD_CAUSE_COUNT]; /* of its time, up to the step under way */
    struct serve_delivered delivered;
    struct {
        struct serve_request *request; /* NULL before it came and after it has ended */
        int64_t output_tokens;
    } at[]; /* asked.sequence_count */
};

void serve_sequences_keep(struct serve_request *request)
{
    const struct workload_request *asked = &request->asked;
    struct serve_sequences *sequences = base_alloc(
        sizeof *sequences + base_mul_size(asked->sequence_count, sizeof sequences->at[0]));
    for (uint32_t i = 0; i < asked->sequence_count; i++) {
        sequences->at[i].output_tokens =
            asked->sequence_outputs != NULL ? asked->sequence_outputs[i] : asked->output_tokens;
    }
    request->asked.sequence_outputs = NULL; // the source's own, valid until its next call
    request->sequences = sequences;
}

void serve_sequences_free(struct serve_request *request)
{
    if (request->sequences->search != NULL) {
        serve_search_free(request->sequences->search);
    }
    base_free(request->sequences);
}

// What one sequence is asked for: the same, but for its answer. Whoever looks for its prompt finds what the first one sent.
static struct workload_request asked_of(const struct serve_request *request, uint32_t number)
{
    struct workload_request asked = request->asked;
    asked.output_tokens = request->sequences->at[number].output_tokens;
    if (number > 0) {
        asked.seen_tokens = asked.prompt_tokens;
        asked.answer_first = 0;
    }
    return asked;
}

static struct serve_request *new_sequence(struct serve *serve, struct serve_request *request,
                                          uint32_t number, const struct workload_request *asked,
                                          base_i128 now)
{
    struct serve_request *sequence = serve_request_new(serve, asked);
    request->sequences->at[number].request = sequence;
    sequence->parent = request;
    sequence->replica = request->replica;
    sequence->arrival_ticks = now;
    sequence->seq.is_counted = request->seq.is_counted;
    return sequence;
}

static void enter_all(struct serve *serve, struct serve_request *request, base_i128 now)
{
    struct serve_sequences *sequences = request->sequences;
    sequences->left = request->asked.sequence_count;
    struct sched *sched = &request->replica->sched;
    struct sched_group *group =
        sched->ops->forks ? sched_group_new(sched, request->asked.sequence_count) : NULL;
    if (request->asked.is_beam) {
        base_require(group != NULL); // else it is a search outside the engine, or refused
        const struct workload_class *classes = serve->config->workload.classes;
        sched_group_search(group, request->asked.beam_key,
                           classes[request->asked.class_index].beam_switch);
    }
    for (uint32_t i = 0; i < request->asked.sequence_count; i++) {
        struct workload_request asked = asked_of(request, i);
        struct serve_request *sequence = new_sequence(serve, request, i, &asked, now);
        if (group != NULL) {
            sched_group_add(group, &sequence->seq);
        }
        if (group == NULL || i == 0) {
            serve_sequence_enter(serve, sequence, now);
        } else {
            serve_sequence_expect(serve, sequence, now);
        }
    }
    request->seq.stops_early = sequences->at[0].request->seq.stops_early;
}

static void enter_step(struct serve *serve, struct serve_request *request, base_i128 now)
{
    struct serve_sequences *sequences = request->sequences;
    sequences->left = serve_search_width(sequences->search);
    for (uint32_t i = 0; i < sequences->left; i++) {
        struct workload_request asked = serve_search_ask(sequences->search, &request->asked, i);
        serve_sequence_enter(serve, new_sequence(serve, request, i, &asked, now), now);
    }
}

void serve_sequences_enter(struct serve *serve, struct serve_request *request, base_i128 now)
{
    struct serve_sequences *sequences = request->sequences;
    bool is_outside = request->asked.is_beam && serve->config->search_outside;
    if (is_outside && sequences->search == NULL) {
        sequences->search = serve_search_new(serve->config, &request->asked);
        request->seq.stops_early =
            request->asked.output_tokens < serve_search_end(sequences->search);
    }
    if (is_outside) {
        enter_step(serve, request, now);
    } else {
        enter_all(serve, request, now);
    }
}

bool serve_sequences_note_first_token(const struct serve_request *sequence)
{
    struct serve_request *request = sequence->parent;
    if (request->has_first_token && request->sequences->search != NULL) {
        serve_gap(request->replica->serve, request,
                  sequence->first_token_ticks - sequence->arrival_ticks);
    }
    if (request->has_first_token) {
        return false;
    }
    request->has_first_token = true;
    request->first_token_ticks = sequence->first_token_ticks;
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        request->ttft_cause_ns[i] = sequence->ttft_cause_ns[i];
    }
    return true;
}

static uint32_t number_of(const struct serve_request *sequence)
{
    const struct serve_sequences *sequences = sequence->parent->sequences;
    uint32_t number = 0;
    while (sequences->at[number].request != sequence) {
        number++;
    }
    base_require(number < sequence->parent->asked.sequence_count);
    return number;
}

// Where more is generated than returned, what is returned is chosen at the end: by number, which tells nothing of its length.
static void add_delivered(const struct serve_request *request, uint32_t number, int64_t outputs)
{
    struct serve_delivered *delivered = &request->sequences->delivered;
    if (request->sequences->search != NULL) {
        return; // a token is nobody's before its step is over
    }
    delivered->generated += outputs;
    if (request->asked.answer_count > 0 && number >= request->asked.answer_count) {
        return;
    }
    delivered->all += outputs;
    delivered->longest = outputs > delivered->longest ? outputs : delivered->longest;
    delivered->first = number == 0 ? outputs : delivered->first;
}

// A sequence's figures become part of its client's; the client's request is not known to it any more.
static void add_to_client(struct serve_request *sequence, uint32_t number, int64_t outputs)
{
    struct serve_request *request = sequence->parent;
    const struct sched_seq *seq = &sequence->seq;
    bool is_first_scheduled = sequence->first_scheduled_ns >= 0 &&
                              (request->first_scheduled_ns < 0 ||
                               sequence->first_scheduled_ns < request->first_scheduled_ns);
    if (is_first_scheduled) {
        request->first_scheduled_ns = sequence->first_scheduled_ns;
    }
    request->seq.cached_tokens += seq->cached_tokens;
    request->seq.cached_total += seq->cached_total;
    request->seq.computed_total += seq->computed_total;
    request->seq.recomputed_total += seq->recomputed_total;
    request->seq.preemptions += seq->preemptions;
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        request->cause_ns[i] = request->sequences->cause_ns[i] + sequence->cause_ns[i];
    }
    add_delivered(request, number, outputs);
    request->sequences->at[number].request = NULL;
    request->sequences->left--;
    sequence->parent = NULL;
}

// A step of a search is over; true when that was the last one.
static bool end_step(struct serve_request *request)
{
    struct serve_sequences *sequences = request->sequences;
    struct serve_search *search = sequences->search;
    int64_t outputs = request->asked.output_tokens, end = serve_search_end(search);
    serve_search_advance(search);
    sequences->delivered.generated += request->asked.sequence_count;
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        sequences->cause_ns[i] = request->cause_ns[i];
    }
    if (serve_search_tokens(search) < end) {
        return false;
    }
    outputs = outputs < end ? outputs : end;
    sequences->delivered.all =
        outputs * (request->asked.answer_count > 0 ? request->asked.answer_count
                                                   : request->asked.sequence_count);
    sequences->delivered.longest = sequences->delivered.first = outputs;
    return true;
}

void serve_sequences_note_completed(struct serve *serve, struct serve_request *sequence,
                                    base_i128 now)
{
    struct serve_request *request = sequence->parent;
    add_to_client(sequence, number_of(sequence), sequence->seq.end_outputs);
    if (request->sequences->left > 0) {
        return;
    }
    if (request->sequences->search != NULL && !end_step(request)) {
        des_heap_push(&serve->external, &request->arrival_event, now);
        return;
    }
    request->replica->in_flight--;
    serve_request_ended(serve, request, now, RECORD_OUTCOME_COMPLETED,
                        &request->sequences->delivered);
    serve_request_free(serve, request);
}

// What its client has got that goes before the end: nothing, where answers are chosen only then.
static struct serve_delivered delivered_early(const struct serve_request *request)
{
    const struct serve_delivered *delivered = &request->sequences->delivered;
    return request->asked.answer_count > 0
               ? (struct serve_delivered){.generated = delivered->generated}
               : *delivered;
}

void serve_sequences_give_up(struct serve_request *request, base_i128 now,
                             struct serve_delivered *out)
{
    struct serve_sequences *sequences = request->sequences;
    des_heap_cancel(&request->replica->serve->external, &request->arrival_event);
    for (uint32_t i = 0; i < request->asked.sequence_count; i++) {
        struct serve_request *sequence = sequences->at[i].request;
        if (sequence != NULL) {
            int64_t outputs = serve_replica_give_up(request->replica, sequence, now);
            add_to_client(sequence, i, outputs);
        }
    }
    *out = delivered_early(request);
}

uint32_t serve_sequences_left(const struct serve_request *request)
{
    const struct serve_sequences *sequences = request->sequences;
    bool goes_on = sequences->search != NULL &&
                   serve_search_tokens(sequences->search) + 1 < serve_search_end(sequences->search);
    return sequences->left + (goes_on ? 1 : 0);
}

double serve_seats_each(const struct serve_config *config)
{
    const struct workload_spec *workload = &config->workload;
    double sum = 0, weights = 0;
    if (!serve_scheduler(config)->forks)
        return 1;
    for (size_t i = 0; i < workload->class_count; i++) {
        const struct workload_class *class = &workload->classes[i];
        double answers = class->has_sequences ? rng_dist_mean(&class->sequences) : 1;
        bool is_outside = class->is_beam && config->search_outside;
        answers = class->candidates > 0 ? (double)class->candidates : answers;
        sum += class->weight * (is_outside ? 1 : answers);
        weights += class->weight;
    }
    return weights > 0 ? sum / weights : 1;
}

const struct sched_ops *serve_scheduler(const struct serve_config *config)
{
    return config->scheduler != NULL ? config->scheduler : &sched_vllm_v1;
}

int64_t serve_watermark_blocks(const struct serve_config *config, int64_t running)
{
    const struct base_rational *share = &config->sched.watermark;
    const struct sched_ops *ops = serve_scheduler(config);
    bool has_one = (ops->uses & SCHED_USES_WATERMARK) != 0 && share->den > 0;
    if (!has_one || (running == 0 && !ops->has_watermark_when_idle))
        return 0;
    return (int64_t)((base_i128)share->num * config->pool_blocks / share->den);
}
