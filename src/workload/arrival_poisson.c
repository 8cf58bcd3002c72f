/* Poisson: exponential gaps. A rate of inf is every request at once. */
#include "workload/workload_int.h"

#include <math.h>

struct state {
    uint64_t key;
    double mean_gap_ns;
    int64_t at_ns;
};

static const struct base_field fields[] = {
    {.key = "rate",
     .type = BASE_REAL,
     .unit = BASE_RATE,
     .offset = offsetof(struct workload_arrival_opts, rate_per_s),
     .max = INFINITY,
     .min_open = true,
     .required = true,
     .help = "mean arrivals per unit of time; inf = all at once"},
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
    struct state *poisson = state;

    poisson->key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    poisson->mean_gap_ns = WORKLOAD_NS_PER_S / context->spec->rate_per_s;
    return workload_check_rate(context->spec->rate_per_s, "rate", err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *poisson = state;
    double gap_ns = poisson->mean_gap_ns * workload_exponential(poisson->key, request->index);
    enum kvsim_status status = workload_add_gap(&poisson->at_ns, gap_ns, err);

    (void)more;
    request->arrival_ns = poisson->at_ns;
    return status;
}

const struct workload_arrival_ops workload_arrival_poisson = {
    .policy = {.name = "poisson",
               .summary = "independent arrivals at a constant rate",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_POISSON,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
