/* Weibull-distributed gaps of a given coefficient of variation: 1 is Poisson, above 1 a heavy
 * tail. */
#include "workload/workload_int.h"

#include <math.h>

static const struct base_field fields[] = {
    WORKLOAD_RATE_FIELD("mean arrivals per unit of time; inf = all at once"),
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
    return workload_gaps_init(
        state, context,
        (struct rng_dist_options){.kind = RNG_WEIBULL, .has_cv = true, .cv = context->spec->cv},
        err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    (void)more;
    return workload_gaps_next(state, request, err);
}

const struct workload_arrival_ops workload_arrival_weibull = {
    .policy = {.name = "weibull",
               .summary = "weibull-distributed gaps of a given cv",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct workload_gaps)},
    .process = WORKLOAD_WEIBULL,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
