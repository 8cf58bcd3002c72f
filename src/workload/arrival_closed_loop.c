/*
 * A closed loop: each client sends its first request at 0 and the next one a think time after an
 * answer has ended. Lengths and think times are addressed by (client, turn), so they do not depend
 * on who was answered first.
 */
#include "workload/workload_int.h"

#include <math.h>

#define CLIENTS_MAX 10000000

struct state {
    const struct workload_spec *spec;
    uint64_t think_key;
    uint32_t started_clients;
};

static const struct base_field fields[] = {
    {.key = "concurrency",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     .offset = offsetof(struct workload_arrival_opts, concurrency),
     .min = 1,
     .max = CLIENTS_MAX,
     .required = true,
     .help = "clients, each with one request at a time"},
    {.key = "think_time",
     .type = BASE_NODE,
     .unit = BASE_TIME,
     .offset = offsetof(struct workload_arrival_opts, think_time),
     .help = "time from the end of an answer to the client's next request: a time or a "
             "distribution; none unless written"},
    {0},
};

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    (void)arena;
    if (opts->concurrency < 1 || opts->concurrency > CLIENTS_MAX)
        return workload_fail_key(err, "concurrency", "out-of-range",
                                 "'concurrency' must be from 1 to 10,000,000");
    spec->process = WORKLOAD_CLOSED_LOOP;
    spec->concurrency = (uint32_t)opts->concurrency;
    return KVSIM_OK;
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    struct state *loop = state;

    loop->spec = context->spec;
    if (loop->spec->concurrency == 0)
        return workload_fail_key(err, "concurrency", "out-of-range",
                                 "a closed loop needs at least one client");
    loop->think_key = rng_key(context->seed, context->replication, RNG_THINK, 0);
    return KVSIM_OK;
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *loop = state;

    (void)err;
    if (loop->started_clients == loop->spec->concurrency) {
        *more = false;
        return KVSIM_OK;
    }
    request->client = loop->started_clients++;
    request->turn = 0;
    request->arrival_ns = 0;
    return KVSIM_OK;
}

static enum kvsim_status done(void *state, const struct workload_request *ended, int64_t at_ns,
                              struct workload_request *request, struct kvsim_error *err)
{
    struct state *loop = state;
    double think_ns = 0.0;

    base_require(ended->client < loop->spec->concurrency);
    request->client = ended->client;
    request->turn = ended->turn + 1;
    if (loop->spec->has_think) {
        uint64_t address = workload_address(request->client, request->turn);

        think_ns =
            fmax(0.0, rng_dist_value(&loop->spec->think, rng_uniform(loop->think_key, address))) *
            WORKLOAD_NS_PER_S;
    }
    request->arrival_ns = at_ns;
    return workload_add_gap(&request->arrival_ns, think_ns, err);
}

const struct workload_arrival_ops workload_arrival_closed_loop = {
    .policy = {.name = "closed_loop",
               .summary = "clients that wait for their answer",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_CLOSED_LOOP,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
    .done = done,
};
