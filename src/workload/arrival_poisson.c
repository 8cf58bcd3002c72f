/* Poisson: exponential gaps. A rate of inf is every request at once. */
#include "workload/workload_int.h"

#include <math.h>

static const struct base_field fields[] = {
    WORKLOAD_RATE_FIELD("mean arrivals per unit of time; inf = all at once"),
    {0},
};

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    (void)arena;
    spec->process = WORKLOAD_POISSON;
    spec->rate_per_s = opts->rate_per_s;
    return isinf(opts->rate_per_s) ? KVSIM_OK : workload_check_rate(opts->rate_per_s, "rate", err);
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    return workload_gaps_init(state, context, (struct rng_dist_options){.kind = RNG_EXPONENTIAL},
                              err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    (void)more;
    return workload_gaps_next(state, request, err);
}

const struct workload_arrival_ops workload_arrival_poisson = {
    .policy = {.name = "poisson",
               .summary = "independent arrivals at a constant rate",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct workload_gaps)},
    .process = WORKLOAD_POISSON,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
