/* Every request at time 0; also what a rate of inf means in any process. */
#include "workload/workload_int.h"

#include <math.h>

struct state {
    char none;
};

static const struct base_field fields[] = {{0}};

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    (void)opts;
    (void)arena;
    (void)err;
    spec->process = WORKLOAD_ALL_AT_ONCE;
    spec->rate_per_s = INFINITY;
    return KVSIM_OK;
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    (void)state;
    if (context->spec->request_limit > 0)
        return KVSIM_OK;
    return workload_fail_key(err, "requests", "missing-key",
                             "requests that arrive all at once need 'run.requests'");
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    (void)state;
    (void)more;
    (void)err;
    request->arrival_ns = 0;
    return KVSIM_OK;
}

const struct workload_arrival_ops workload_arrival_at_once = {
    .policy = {.name = "all_at_once",
               .summary = "every request at time 0",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_ALL_AT_ONCE,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
