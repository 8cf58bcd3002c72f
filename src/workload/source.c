#include "workload/workload_int.h"

#include <math.h>

struct workload_source {
    const struct workload_spec *spec;
    const struct workload_arrival_ops *ops;
    void *state;
    struct workload_draws draws;
    struct base_arena arena;
    uint64_t next_index;
    bool is_finished;
};

bool workload_is_closed_loop(const struct workload_spec *spec)
{
    return spec->process == WORKLOAD_CLOSED_LOOP;
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
    base_free(source);
}

/* Where a request's random numbers lie: its number, or its client and turn. */
static uint64_t address_of(const struct workload_source *source,
                           const struct workload_request *request)
{
    if (source->spec->process == WORKLOAD_CLOSED_LOOP)
        return ((uint64_t)request->client << 32) + request->turn;
    return request->index;
}

static struct workload_request blank_request(const struct workload_source *source)
{
    return (struct workload_request){.index = source->next_index,
                                     .class_index = WORKLOAD_CLASS_NONE,
                                     .priority = WORKLOAD_PRIORITY_NONE};
}

/* What the arrival process left open: class and lengths, priority, and what the class says of
 * patience. */
static void complete(const struct workload_source *source, struct workload_request *request)
{
    const struct workload_spec *spec = source->spec;
    uint64_t address = address_of(source, request);
    const struct workload_class *class;

    if (request->class_index == WORKLOAD_CLASS_NONE)
        request->class_index = workload_draws_class(&source->draws, address);
    class = &spec->classes[request->class_index];
    if (request->output_tokens == 0)
        workload_draws_lengths(&source->draws, address, request);
    else if (request->max_tokens == 0)
        workload_draws_max_tokens(&source->draws, address, request);
    if (request->priority == WORKLOAD_PRIORITY_NONE)
        request->priority = class->priority;
    if (request->sequence_count == 0)
        request->sequence_count = 1;
    if (spec->ignore_eos)
        request->output_tokens = request->max_tokens;
    request->abort_after_ns = class->abort_after_ns;
    request->timeout_first_ns = class->timeout_first_ns;
    request->timeout_total_ns = class->timeout_total_ns;
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
    status = source->ops->next(source->state, out, more, err);
    if (status != KVSIM_OK)
        return status;
    if (!*more || is_beyond_run(source->spec, out->arrival_ns)) {
        *more = false;
        source->is_finished = true;
        return KVSIM_OK;
    }
    complete(source, out);
    source->next_index++;
    return KVSIM_OK;
}

enum kvsim_status workload_done(struct workload_source *source, uint32_t client, int64_t at_ns,
                                struct workload_request *out, bool *more, struct kvsim_error *err)
{
    enum kvsim_status status;

    *more = false;
    *out = blank_request(source);
    if (source->ops->done == NULL || is_used_up(source))
        return KVSIM_OK;
    *more = true;
    status = source->ops->done(source->state, client, at_ns, out, more, err);
    if (status != KVSIM_OK || !*more)
        return status;
    if (is_beyond_run(source->spec, out->arrival_ns)) {
        *more = false;
        return KVSIM_OK;
    }
    complete(source, out);
    source->next_index++;
    return KVSIM_OK;
}
