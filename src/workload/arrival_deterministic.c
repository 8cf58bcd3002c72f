/* Equal gaps: arrival i (from 0) at (i + 1) / rate, computed from i, so that 3/s does not drift. */
#include "workload/workload_int.h"

#include <math.h>

struct state {
    struct base_rational rate;
};

static const struct base_field fields[] = {
    WORKLOAD_RATE_FIELD("arrivals per unit of time; inf = all at once"),
    {0},
};

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    enum kvsim_status status;

    (void)arena;
    spec->process = WORKLOAD_DETERMINISTIC;
    spec->rate_per_s = opts->rate_per_s;
    spec->interval_ns = 0;
    if (isinf(opts->rate_per_s))
        return KVSIM_OK;
    status = workload_check_rate(opts->rate_per_s, "rate", err);
    if (status == KVSIM_OK)
        status = workload_add_gap(&spec->interval_ns, WORKLOAD_NS_PER_S / opts->rate_per_s, err);
    return status;
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    const struct workload_spec *spec = context->spec;
    struct state *equal = state;
    enum kvsim_status status;

    if (spec->rate_per_s == 0.0 && spec->interval_ns > 0) {
        equal->rate = (struct base_rational){.num = 1000000000, .den = spec->interval_ns};
        return KVSIM_OK;
    }
    status = workload_check_rate(spec->rate_per_s, "rate", err);
    if (status == KVSIM_OK)
        equal->rate = workload_rational(spec->rate_per_s);
    return status;
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    const struct state *equal = state;

    (void)more;
    return workload_time_at_rate(request->index + 1, equal->rate, &request->arrival_ns, err);
}

const struct workload_arrival_ops workload_arrival_deterministic = {
    .policy = {.name = "deterministic",
               .summary = "equal gaps; the first arrival one gap after the start",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_DETERMINISTIC,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
