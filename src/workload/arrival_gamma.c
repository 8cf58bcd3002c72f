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
    struct workload_gaps gaps;
    struct base_rational rate; /* den = 0: gaps are drawn */
};

static const struct base_field fields[] = {
    WORKLOAD_RATE_FIELD("mean arrivals per unit of time; inf = all at once"),
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
    struct rng_dist_options shape = {
        .kind = RNG_GAMMA, .has_cv = true, .cv = 1.0 / sqrt(spec->burstiness)};
    enum kvsim_status status = check(spec->burstiness, err);

    if (status != KVSIM_OK)
        return status;
    if (isinf(spec->burstiness)) {
        status = workload_check_rate(spec->rate_per_s, "rate", err);
        if (status == KVSIM_OK)
            gamma->rate = workload_rational(spec->rate_per_s);
        return status;
    }
    if (spec->burstiness == 1.0) /* the same gaps as poisson */
        shape = (struct rng_dist_options){.kind = RNG_EXPONENTIAL};
    return workload_gaps_init(&gamma->gaps, context, shape, err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *gamma = state;

    (void)more;
    if (gamma->rate.den != 0)
        return workload_time_at_rate(request->index + 1, gamma->rate, &request->arrival_ns, err);
    return workload_gaps_next(&gamma->gaps, request, err);
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
