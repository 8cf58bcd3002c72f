/*
 * Markov-modulated Poisson process: the states follow each other in a circle, each visit lasts an
 * exponential time and has its own rate. The first state is drawn by its share of time, so that the
 * process is stationary from time 0 on. Visits are addressed (RNG_MODULATION, visit), arrivals
 * (RNG_ARRIVAL, index): the index-th request spends one unit exponential of expected arrivals.
 */
#include "workload/workload_int.h"

#include <math.h>

#define DWELL_ADDRESS_START UINT64_MAX

struct state {
    const struct workload_spec *spec;
    uint64_t arrival_key, dwell_key;
    size_t current;
    uint64_t visit;
    int64_t at_ns, visit_end_ns;
};

static const struct base_field state_fields[] = {
    {.key = "rate",
     .type = BASE_REAL,
     .unit = BASE_RATE,
     .offset = offsetof(struct workload_state_opts, rate_per_s),
     .max = 1e12,
     .min_open = true,
     .required = true,
     .help = "mean arrivals per unit of time in this state"},
    {.key = "dwell",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct workload_state_opts, mean_dwell_ns),
     .min = 1.0,
     .max = 1e18,
     .required = true,
     .also = "mean_dwell duration",
     .help = "mean length of a visit"},
    {0},
};

static const struct base_field fields[] = {
    {.key = "states",
     .type = BASE_LIST,
     .offset = offsetof(struct workload_arrival_opts, states),
     .sub = state_fields,
     .sub_bytes = sizeof(struct workload_state_opts),
     .required = true,
     .help = "states in the order in which they follow each other"},
    {0},
};

static enum kvsim_status check_round(const struct workload_mmpp_state *states, size_t count,
                                     struct kvsim_error *err)
{
    double arrivals = 0.0;

    for (size_t i = 0; i < count; i++) {
        const struct workload_mmpp_state *item = &states[i];

        if (!isfinite(item->rate_per_s) || item->rate_per_s < 0.0 || !(item->mean_dwell_s > 0.0))
            return workload_fail_key(err, "states", "out-of-range",
                                     "a state needs a finite rate and a dwell above 0");
        arrivals += item->rate_per_s * item->mean_dwell_s;
    }
    /* Else a request could take millions of rounds to appear. */
    if (!(arrivals >= 1e-3))
        return workload_fail_key(err, "states", "out-of-range",
                                 "a round through 'states' has less than 0.001 arrivals");
    return KVSIM_OK;
}

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    const struct workload_state_opts *from = opts->states.at;
    struct workload_mmpp_state *states;

    if (opts->states.count == 0)
        return workload_fail_key(err, "states", "missing-key",
                                 "'states' must have at least one state");
    states = base_arena_array(arena, opts->states.count, sizeof *states);
    for (size_t i = 0; i < opts->states.count; i++) {
        enum kvsim_status status = workload_check_rate(from[i].rate_per_s, "states", err);

        if (status != KVSIM_OK)
            return status;
        if (from[i].mean_dwell_ns <= 0)
            return workload_fail_key(err, "states", "out-of-range",
                                     "'dwell' of a state must be above 0");
        states[i] = (struct workload_mmpp_state){.rate_per_s = from[i].rate_per_s,
                                                 .mean_dwell_s = (double)from[i].mean_dwell_ns /
                                                                 WORKLOAD_NS_PER_S};
    }
    spec->process = WORKLOAD_MMPP;
    spec->states = states;
    spec->state_count = opts->states.count;
    return check_round(states, opts->states.count, err);
}

static enum kvsim_status enter_visit(struct state *mmpp, struct kvsim_error *err)
{
    double dwell_ns = mmpp->spec->states[mmpp->current].mean_dwell_s * WORKLOAD_NS_PER_S *
                      workload_exponential(mmpp->dwell_key, mmpp->visit);

    mmpp->visit_end_ns = mmpp->at_ns;
    return workload_add_gap(&mmpp->visit_end_ns, dwell_ns, err);
}

static size_t first_state(const struct state *mmpp)
{
    double total = 0.0, target;

    for (size_t i = 0; i < mmpp->spec->state_count; i++)
        total += mmpp->spec->states[i].mean_dwell_s;
    target = rng_uniform(mmpp->dwell_key, DWELL_ADDRESS_START) * total;
    for (size_t i = 0; i + 1 < mmpp->spec->state_count; i++) {
        target -= mmpp->spec->states[i].mean_dwell_s;
        if (target < 0.0)
            return i;
    }
    return mmpp->spec->state_count - 1;
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    struct state *mmpp = state;

    mmpp->spec = context->spec;
    enum kvsim_status status = check_round(mmpp->spec->states, mmpp->spec->state_count, err);
    if (status != KVSIM_OK)
        return status;
    mmpp->arrival_key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    mmpp->dwell_key = rng_key(context->seed, context->replication, RNG_MODULATION, 0);
    mmpp->current = first_state(mmpp);
    return enter_visit(mmpp, err);
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *mmpp = state;
    double due = workload_exponential(mmpp->arrival_key, request->index);
    enum kvsim_status status;

    (void)more;
    for (;;) {
        double per_ns = mmpp->spec->states[mmpp->current].rate_per_s / WORKLOAD_NS_PER_S;
        double expected = per_ns * (double)(mmpp->visit_end_ns - mmpp->at_ns);

        if (due < expected)
            break;
        due -= expected;
        mmpp->at_ns = mmpp->visit_end_ns;
        mmpp->current = (mmpp->current + 1) % mmpp->spec->state_count;
        mmpp->visit++;
        status = enter_visit(mmpp, err);
        if (status != KVSIM_OK)
            return status;
    }
    status = workload_add_gap(
        &mmpp->at_ns, due * WORKLOAD_NS_PER_S / mmpp->spec->states[mmpp->current].rate_per_s, err);
    if (mmpp->at_ns > mmpp->visit_end_ns)
        mmpp->at_ns = mmpp->visit_end_ns;
    request->arrival_ns = mmpp->at_ns;
    return status;
}

const struct workload_arrival_ops workload_arrival_mmpp = {
    .policy = {.name = "mmpp",
               .summary = "a rate that changes at random between states",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_MMPP,
    .is_endless = true,
    .compile = compile,
    .init = init,
    .next = next,
};
