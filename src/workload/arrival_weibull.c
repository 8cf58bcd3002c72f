/* Weibull-distributed gaps of a given coefficient of variation: 1 is Poisson, above 1 a heavy
 * tail. */
#include "workload/workload_int.h"

#include <math.h>

struct state {
    uint64_t key;
    struct rng_dist gap_ns;
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
    {.key = "cv",
     .type = BASE_REAL,
     .unit = BASE_NONE,
     .offset = offsetof(struct workload_arrival_opts, cv),
     .max = 1000.0,
     .min_open = true,
     .required = true,
     .help = "coefficient of variation of the gaps"},
    {0},
};

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    struct rng_dist dist;
    struct rng_dist_options options = {
        .kind = RNG_WEIBULL, .has_mean = true, .mean = 1.0, .has_cv = true, .cv = opts->cv};
    enum kvsim_status status = rng_dist_init(&dist, &options, false, arena, err);

    spec->process = WORKLOAD_WEIBULL;
    spec->rate_per_s = opts->rate_per_s;
    spec->cv = opts->cv;
    if (status != KVSIM_OK || isinf(opts->rate_per_s))
        return status;
    return workload_check_rate(opts->rate_per_s, "rate", err);
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    struct state *weibull = state;
    struct rng_dist_options options = {
        .kind = RNG_WEIBULL, .has_mean = true, .has_cv = true, .cv = context->spec->cv};
    enum kvsim_status status = workload_check_rate(context->spec->rate_per_s, "rate", err);

    if (status != KVSIM_OK)
        return status;
    weibull->key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    options.mean = WORKLOAD_NS_PER_S / context->spec->rate_per_s;
    return rng_dist_init(&weibull->gap_ns, &options, false, context->arena, err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *weibull = state;
    double gap_ns = rng_dist_value(&weibull->gap_ns, rng_uniform(weibull->key, request->index));
    enum kvsim_status status = workload_add_gap(&weibull->at_ns, gap_ns, err);

    (void)more;
    request->arrival_ns = weibull->at_ns;
    return status;
}

const struct workload_arrival_ops workload_arrival_weibull = {
    .policy = {.name = "weibull",
               .summary = "weibull-distributed gaps of a given cv",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_WEIBULL,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
