#include "workload/workload_int.h"

#include <math.h>

struct workload_source {
    const struct workload_spec *spec;
    const struct workload_arrival_ops *ops;
    void *state;
    struct workload_draws draws;
    struct base_arena arena;
    uint64_t next_index;
    uint64_t beginnings;   /* requests that follow no other */
    int64_t *text_lengths; /* the longest part of each shared text that was sent */
    bool has_sessions;
    bool has_sequences; /* some class has several sequences a request */
    bool is_finished;
    struct spec_token_run runs[WORKLOAD_RUNS]; /* content of the request that was given last */
    struct workload_lengths outputs;           /* of its sequences, where they are several */
};

bool workload_is_closed_loop(const struct workload_spec *spec)
{
    return spec->process == WORKLOAD_CLOSED_LOOP;
}

static bool has_sessions(const struct workload_spec *spec)
{
    for (size_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].sessions != NULL)
            return true;
    }
    return false;
}

static bool has_sequences(const struct workload_spec *spec)
{
    for (size_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].has_sequences || spec->classes[i].candidates > 1)
            return true;
    }
    return false;
}

bool workload_has_follow_ups(const struct workload_spec *spec)
{
    return spec->process == WORKLOAD_CLOSED_LOOP || has_sessions(spec);
}

static bool has_rate(enum workload_process process)
{
    return process == WORKLOAD_POISSON || process == WORKLOAD_GAMMA ||
           process == WORKLOAD_WEIBULL || process == WORKLOAD_DETERMINISTIC;
}

bool workload_is_steady(const struct workload_spec *spec)
{
    if (has_rate(spec->process))
        return isfinite(spec->rate_per_s);
    return spec->process == WORKLOAD_CLOSED_LOOP || spec->process == WORKLOAD_MMPP;
}

static const struct workload_arrival_ops *ops_of(const struct workload_spec *spec)
{
    if (has_rate(spec->process) && isinf(spec->rate_per_s))
        return &workload_arrival_at_once;
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        if (workload_arrivals[i]->process == spec->process)
            return workload_arrivals[i];
    }
    return NULL;
}

static uint64_t text_count(const struct workload_spec *spec)
{
    uint64_t count = 0;

    for (size_t i = 0; i < spec->class_count; i++) {
        const struct workload_shared *shared = spec->classes[i].shared;
        uint64_t end = shared == NULL ? 0 : shared->first_text + workload_shared_texts(shared);

        count = count > end ? count : end;
    }
    return count;
}

static enum kvsim_status start(struct workload_source *source, uint64_t seed, uint32_t replication,
                               struct kvsim_error *err)
{
    const struct workload_spec *spec = source->spec;
    struct workload_arrival_context context = {
        .spec = spec, .seed = seed, .replication = replication, .arena = &source->arena};

    if (source->ops->is_endless && spec->request_limit == 0 && spec->duration_ns == 0)
        return workload_fail_key(
            err, "requests", "missing-key",
            "these arrivals never end: 'run.requests' or 'run.duration' is needed");
    source->state = base_arena_take(&source->arena, source->ops->policy.state_bytes);
    return source->ops->init(source->state, &context, err);
}

enum kvsim_status workload_source_open(const struct workload_spec *spec, uint64_t seed,
                                       uint32_t replication, struct workload_source **out,
                                       struct kvsim_error *err)
{
    struct workload_source *source = base_alloc(sizeof *source);
    enum kvsim_status status;

    *out = NULL;
    source->spec = spec;
    source->has_sessions = has_sessions(spec);
    source->has_sequences = has_sequences(spec);
    if (text_count(spec) > 0)
        source->text_lengths = base_alloc(base_mul_size(text_count(spec), sizeof(int64_t)));
    source->ops = ops_of(spec);
    base_require(source->ops != NULL);
    base_arena_init(&source->arena);
    workload_draws_init(&source->draws, spec, seed, replication);
    status = start(source, seed, replication, err);
    if (status != KVSIM_OK) {
        workload_source_close(source);
        return status;
    }
    *out = source;
    return KVSIM_OK;
}

void workload_source_close(struct workload_source *source)
{
    if (source == NULL)
        return;
    if (source->ops->release != NULL && source->state != NULL)
        source->ops->release(source->state);
    base_arena_release(&source->arena);
    base_free(source->text_lengths);
    base_vec_free(&source->outputs);
    base_free(source);
}

/* Where a request's random numbers lie: its number, or its client (or session) and turn. */
static uint64_t address_of(const struct workload_source *source,
                           const struct workload_request *request)
{
    if (source->spec->process == WORKLOAD_CLOSED_LOOP || source->has_sessions)
        return workload_address(request->client, request->turn);
    return request->index;
}

static struct workload_request blank_request(const struct workload_source *source)
{
    return (struct workload_request){.index = source->next_index,
                                     .beginning = source->beginnings,
                                     .class_index = WORKLOAD_CLASS_NONE,
                                     .priority = WORKLOAD_PRIORITY_NONE};
}

/* Answers to one prompt: each has a length of its own, unless the trace or the limit says it. */
static void draw_sequences(struct workload_source *source, struct workload_request *request,
                           uint64_t address, bool is_drawn)
{
    workload_draws_sequences(&source->draws, address, request);
    if (is_drawn)
        workload_draws_answers(&source->draws, address, request, &source->outputs);
}

static void fill_sequences(struct workload_source *source, struct workload_request *request,
                           uint64_t address, bool is_drawn)
{
    if (source->has_sequences)
        draw_sequences(source, request, address, is_drawn);
    else if (request->sequence_count == 0)
        request->sequence_count = 1;
}

/* Priority and what the class says of patience. */
static void complete(const struct workload_source *source, struct workload_request *request)
{
    const struct workload_spec *spec = source->spec;
    const struct workload_class *class = &spec->classes[request->class_index];

    if (request->priority == WORKLOAD_PRIORITY_NONE)
        request->priority = class->priority;
    if (spec->ignore_eos)
        request->output_tokens = request->max_tokens;
    request->abort_after_ns = class->abort_after_ns;
    request->timeout_first_ns = class->timeout_first_ns;
    request->timeout_total_ns = class->timeout_total_ns;
}

/* What the arrival process left open in a request that follows no other: class, lengths, content. */
static void begin(struct workload_source *source, struct workload_request *request)
{
    uint64_t address = address_of(source, request);
    bool is_drawn = request->output_tokens == 0;

    if (request->class_index == WORKLOAD_CLASS_NONE)
        request->class_index = workload_draws_class(&source->draws, address);
    if (is_drawn) {
        workload_draws_lengths(&source->draws, address, request);
        workload_draws_beginning(&source->draws, address, request, source->runs);
        if (source->text_lengths != NULL)
            request->seen_tokens = workload_seen_texts(request, source->text_lengths);
    } else if (request->max_tokens == 0) {
        workload_draws_max_tokens(&source->draws, address, request);
    }
    fill_sequences(source, request, address, is_drawn);
    complete(source, request);
    source->beginnings++;
}

static bool is_beyond_run(const struct workload_spec *spec, int64_t arrival_ns)
{
    return spec->duration_ns > 0 && arrival_ns > spec->duration_ns;
}

static bool is_used_up(const struct workload_source *source)
{
    return source->spec->request_limit > 0 && source->next_index >= source->spec->request_limit;
}

enum kvsim_status workload_next(struct workload_source *source, struct workload_request *out,
                                bool *more, struct kvsim_error *err)
{
    enum kvsim_status status;

    *more = false;
    *out = blank_request(source);
    if (source->is_finished || is_used_up(source))
        return KVSIM_OK;
    *more = true;
    if (source->has_sessions && source->spec->process != WORKLOAD_CLOSED_LOOP) {
        /* The process counts sessions; their further turns have numbers too. */
        out->index = source->beginnings;
        out->client = (uint32_t)source->beginnings;
    }
    status = source->ops->next(source->state, out, more, err);
    if (status != KVSIM_OK)
        return status;
    out->index = source->next_index;
    if (!*more || is_beyond_run(source->spec, out->arrival_ns)) {
        *more = false;
        source->is_finished = true;
        return KVSIM_OK;
    }
    begin(source, out);
    source->next_index++;
    return KVSIM_OK;
}

/* True when `ended` has a further turn: then it is in *out, but for its place in the run. */
static bool next_turn(struct workload_source *source, const struct workload_ended *ended,
                      struct workload_request *out)
{
    const struct workload_request *last = ended->request;
    const struct workload_sessions *sessions = source->spec->classes[last->class_index].sessions;
    uint64_t address = workload_address(last->client, last->turn + 1);
    uint64_t start = address - last->session_turn - 1;
    int64_t limit = source->spec->max_context_tokens;

    if (sessions == NULL || !ended->is_completed ||
        last->session_turn + 1 >=
            workload_draws_turn_count(&source->draws, last->class_index, start))
        return false;
    out->class_index = last->class_index;
    out->client = last->client;
    out->turn = last->turn + 1;
    out->session_turn = last->session_turn + 1;
    out->beginning = last->beginning;
    workload_draws_lengths(&source->draws, address, out);
    workload_draws_turn(&source->draws, address, ended, out, source->runs);
    return limit == 0 || out->prompt_tokens < limit || sessions->end == WORKLOAD_END_SEND;
}

enum kvsim_status workload_done(struct workload_source *source, const struct workload_ended *ended,
                                struct workload_request *out, bool *more, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;

    *more = false;
    *out = blank_request(source);
    if (is_used_up(source))
        return KVSIM_OK;
    if (next_turn(source, ended, out)) {
        uint64_t address = workload_address(out->client, out->turn);
        double gap_s = workload_draws_gap_s(&source->draws, out->class_index, address);

        out->arrival_ns = ended->at_ns;
        status = workload_add_gap(&out->arrival_ns, gap_s * WORKLOAD_NS_PER_S, err);
        fill_sequences(source, out, address, true);
        complete(source, out);
    } else if (source->ops->done != NULL) {
        *out = blank_request(source);
        status = source->ops->done(source->state, ended->request, ended->at_ns, out, err);
        if (status == KVSIM_OK)
            begin(source, out);
    } else {
        return KVSIM_OK;
    }
    if (status != KVSIM_OK || is_beyond_run(source->spec, out->arrival_ns))
        return status;
    *more = true;
    source->next_index++;
    return KVSIM_OK;
}
