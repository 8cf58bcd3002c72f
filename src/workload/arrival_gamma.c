/*
 * Gamma-distributed gaps, as `vllm bench serve --burstiness`: shape = burstiness, scale = 1 / (rate
 * * burstiness), so 1 is Poisson, below 1 burstier, inf constant. The last send is not rescaled to
 * the nominal length, as vLLM does.
 */
#include "workload/workload_int.h"

#include <math.h>

/* Above it the gaps are constant for every purpose; the gamma inverse is not made for it. */
#define BURSTINESS_MAX 1e6
#define BURSTINESS_MIN 1e-4

struct state {
    uint64_t key;
    struct rng_dist gap_ns;
    struct base_rational rate; /* den = 0: gaps are drawn */
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
    {.key = "burstiness",
     .type = BASE_REAL,
     .unit = BASE_NONE,
     .offset = offsetof(struct workload_arrival_opts, burstiness),
     .max = INFINITY,
     .min_open = true,
     .def = "1",
     .help = "shape of the gaps: 1 = poisson, below 1 burstier, inf = constant"},
    {0},
};

static enum kvsim_status check(double burstiness, struct kvsim_error *err)
{
    if ((burstiness >= BURSTINESS_MIN && burstiness <= BURSTINESS_MAX) ||
        (isinf(burstiness) && burstiness > 0.0))
        return KVSIM_OK;
    return workload_fail_key(err, "burstiness", "out-of-range",
                             "'burstiness' must be from 1e-4 to 1e6, or inf");
}

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    enum kvsim_status status = check(opts->burstiness, err);

    (void)arena;
    spec->process = WORKLOAD_GAMMA;
    spec->rate_per_s = opts->rate_per_s;
    spec->burstiness = opts->burstiness;
    if (status != KVSIM_OK || isinf(opts->rate_per_s))
        return status;
    return workload_check_rate(opts->rate_per_s, "rate", err);
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    const struct workload_spec *spec = context->spec;
    struct state *gamma = state;
    struct rng_dist_options options = {.kind = RNG_GAMMA, .has_mean = true, .has_cv = true};
    enum kvsim_status status = check(spec->burstiness, err);

    if (status == KVSIM_OK)
        status = workload_check_rate(spec->rate_per_s, "rate", err);
    if (status != KVSIM_OK)
        return status;
    gamma->key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    if (isinf(spec->burstiness)) {
        gamma->rate = workload_rational(spec->rate_per_s);
        return KVSIM_OK;
    }
    options.mean = WORKLOAD_NS_PER_S / spec->rate_per_s;
    options.cv = 1.0 / sqrt(spec->burstiness);
    if (spec->burstiness == 1.0) /* the same gaps as poisson */
        options = (struct rng_dist_options){
            .kind = RNG_EXPONENTIAL, .has_mean = true, .mean = options.mean};
    return rng_dist_init(&gamma->gap_ns, &options, false, context->arena, err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *gamma = state;
    enum kvsim_status status;

    (void)more;
    if (gamma->rate.den != 0)
        return workload_time_at_rate(request->index + 1, gamma->rate, &request->arrival_ns, err);
    status = workload_add_gap(
        &gamma->at_ns, rng_dist_value(&gamma->gap_ns, rng_uniform(gamma->key, request->index)),
        err);
    request->arrival_ns = gamma->at_ns;
    return status;
}

const struct workload_arrival_ops workload_arrival_gamma = {
    .policy = {.name = "gamma",
               .summary = "gamma-distributed gaps of a given burstiness",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_GAMMA,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
