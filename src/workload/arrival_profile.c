/*
 * A rate over time: stages of constant rate, ramps, and sinus days; each Poisson unless it says
 * deterministic.
 *
 * A Poisson stage is a non-homogeneous Poisson process by the inverse of its cumulative rate L(t):
 * the index-th request comes when L has grown by one unit exponential, drawn at its own address.
 * Positions are kept as ns from the start of the stage, so nothing drifts. The k-th arrival of a
 * deterministic stage is where L from the stage's start reaches k (the end of the stage included);
 * what remains at its end is dropped. The profile starts anew while the run goes on; a run without
 * limit ends with the profile.
 */
#include "workload/workload_int.h"

#include <math.h>

#define TWO_PI 6.28318530717958647692
/* L(end) may miss a whole number by rounding: 0.1/s for 100 s. */
#define COUNT_SLACK 1e-9

enum { INVERSE_STEPS_MAX = 200 };

struct state {
    const struct workload_spec *spec;
    uint64_t key;
    size_t stage;
    int64_t stage_start_ns;
    int64_t in_stage_ns;    /* Poisson: the last arrival */
    uint64_t arrived_count; /* deterministic: arrivals in this visit to the stage */
    bool repeats;
};

static const struct base_choice stage_processes[] = {
    {"poisson", WORKLOAD_POISSON, "independent arrivals"},
    {"deterministic", WORKLOAD_DETERMINISTIC, "evenly spaced arrivals"},
    {0},
};

static const struct base_field stage_fields[] = {
    {.key = "rate",
     .type = BASE_REAL,
     .unit = BASE_RATE,
     .offset = offsetof(struct workload_stage_opts, rate_per_s),
     .max = 1e12,
     .min_open = true,
     .required = true,
     .also = "mean",
     .help = "arrivals per unit of time; at the start of a ramp; the mean of a sinus"},
    {.key = "rate_end",
     .type = BASE_REAL,
     .unit = BASE_RATE,
     .offset = offsetof(struct workload_stage_opts, rate_end_per_s),
     .max = 1e12,
     .min_open = true,
     .also = "to",
     .help = "makes the stage a ramp that ends at this rate"},
    {.key = "amplitude",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     .offset = offsetof(struct workload_stage_opts, amplitude),
     .max = 1.0,
     .help = "relative amplitude of a sinus: rate (1 + amplitude sin(2 pi t / period))"},
    {.key = "period",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct workload_stage_opts, period_ns),
     .min = 1.0,
     .max = 9e18,
     .help = "period of the sinus; the length of the stage unless written"},
    {.key = "duration",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct workload_stage_opts, duration_ns),
     .min = 1.0,
     .max = 9e18,
     .required = true,
     .help = "length of the stage"},
    {.key = "process",
     .type = BASE_CHOICE,
     .offset = offsetof(struct workload_stage_opts, process),
     .choices = stage_processes,
     .def = "poisson",
     .help = "how arrivals lie within the stage"},
    {0},
};

static const struct base_field fields[] = {
    {.key = "stages",
     .type = BASE_LIST,
     .offset = offsetof(struct workload_arrival_opts, stages),
     .sub = stage_fields,
     .sub_bytes = sizeof(struct workload_stage_opts),
     .required = true,
     .help = "stages, one after the other, repeated"},
    {0},
};

static bool is_ramp(const struct workload_stage *stage)
{
    return stage->amplitude == 0.0 && stage->rate_end_per_s > 0.0 &&
           stage->rate_end_per_s != stage->rate_per_s;
}

/* L over `length_ns` from a point of a stage, in ns from its start. */
static double expected_over(const struct workload_stage *stage, double from_ns, double length_ns)
{
    double start = from_ns / WORKLOAD_NS_PER_S, length = length_ns / WORKLOAD_NS_PER_S;

    if (is_ramp(stage)) {
        double slope = (stage->rate_end_per_s - stage->rate_per_s) /
                       ((double)stage->duration_ns / WORKLOAD_NS_PER_S);

        return length * (stage->rate_per_s + slope * (start + 0.5 * length));
    }
    if (stage->amplitude > 0.0) {
        double omega = TWO_PI / ((double)stage->period_ns / WORKLOAD_NS_PER_S);

        /* cos a - cos b = 2 sin((a + b) / 2) sin((b - a) / 2): no digits are lost over a short
         * gap */
        return stage->rate_per_s *
               (length + 2.0 * stage->amplitude / omega * sin(omega * (start + 0.5 * length)) *
                             sin(omega * 0.5 * length));
    }
    return stage->rate_per_s * length;
}

/* L from a point of a stage to its end. */
static double expected_left(const struct workload_stage *stage, int64_t from_ns)
{
    return expected_over(stage, (double)from_ns, (double)(stage->duration_ns - from_ns));
}

/* The least length from `from_ns` over which `due` arrivals are expected, in ns; due <= what the
 * stage has left. */
static double ramp_inverse_ns(const struct workload_stage *stage, int64_t from_ns, double due)
{
    double duration_s = (double)stage->duration_ns / WORKLOAD_NS_PER_S;
    double slope = (stage->rate_end_per_s - stage->rate_per_s) / duration_s;
    double rate = stage->rate_per_s + slope * ((double)from_ns / WORKLOAD_NS_PER_S);

    /* rate t + slope t^2 / 2 = due, in the form that does not cancel */
    return WORKLOAD_NS_PER_S * 2.0 * due /
           (rate + sqrt(fmax(0.0, rate * rate + 2.0 * slope * due)));
}

/* Newton's steps, held inside a bracket; to half a ns, or to what a double tells apart. */
static double sinus_inverse_ns(const struct workload_stage *stage, int64_t from_ns, double due)
{
    double omega = TWO_PI / (double)stage->period_ns, low = 0.0,
           high = (double)(stage->duration_ns - from_ns);
    double per_ns = stage->rate_per_s / WORKLOAD_NS_PER_S, length = fmin(high, due / per_ns);

    for (int i = 0; i < INVERSE_STEPS_MAX && high - low > 0.5; i++) {
        double rate = per_ns * (1.0 + stage->amplitude * sin(omega * ((double)from_ns + length)));
        double off = expected_over(stage, (double)from_ns, length) - due,
               next = length - off / rate;

        if (off > 0.0)
            high = length;
        else
            low = length;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - length) < 0.25)
            return next;
        length = next;
    }
    return length;
}

static int64_t inverse_ns(const struct workload_stage *stage, int64_t from_ns, double due)
{
    double left_ns = (double)(stage->duration_ns - from_ns), length_ns;

    if (is_ramp(stage))
        length_ns = ramp_inverse_ns(stage, from_ns, due);
    else if (stage->amplitude > 0.0)
        length_ns = sinus_inverse_ns(stage, from_ns, due);
    else
        length_ns = due / stage->rate_per_s * WORKLOAD_NS_PER_S;
    length_ns = fmin(floor(length_ns + 0.5), left_ns);
    return length_ns >= left_ns ? stage->duration_ns : from_ns + (int64_t)length_ns;
}

static enum kvsim_status check_stage(const struct workload_stage *stage, struct kvsim_error *err)
{
    if (stage->duration_ns <= 0)
        return workload_fail_key(err, "stages", "out-of-range",
                                 "'duration' of a stage must be above 0");
    if (!isfinite(stage->rate_per_s) || stage->rate_per_s < 0.0 ||
        !isfinite(stage->rate_end_per_s) || stage->rate_end_per_s < 0.0)
        return workload_fail_key(err, "stages", "out-of-range",
                                 "the rates of a stage must be finite and not negative");
    if (!(stage->amplitude >= 0.0 && stage->amplitude <= 1.0))
        return workload_fail_key(err, "stages", "out-of-range",
                                 "'amplitude' of a stage must be from 0 to 1");
    if (stage->amplitude > 0.0 && stage->period_ns <= 0)
        return workload_fail_key(err, "stages", "missing-key", "a sinus needs a 'period' above 0");
    if (stage->amplitude > 0.0 && stage->rate_end_per_s > 0.0 &&
        stage->rate_end_per_s != stage->rate_per_s)
        return workload_fail_key(err, "stages", "contradiction",
                                 "a stage is a ramp or a sinus, not both");
    return KVSIM_OK;
}

static enum kvsim_status check_round(const struct workload_stage *stages, size_t count,
                                     struct kvsim_error *err)
{
    double expected = 0.0;

    for (size_t i = 0; i < count; i++) {
        enum kvsim_status status = check_stage(&stages[i], err);
        double arrivals;

        if (status != KVSIM_OK)
            return status;
        arrivals = expected_left(&stages[i], 0);
        expected += stages[i].deterministic ? floor(arrivals + COUNT_SLACK) : arrivals;
    }
    /* Else a request could take millions of rounds to appear. */
    if (!(expected >= 1e-3))
        return workload_fail_key(err, "stages", "out-of-range",
                                 "a round through 'stages' has less than 0.001 arrivals");
    return KVSIM_OK;
}

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    const struct workload_stage_opts *from = opts->stages.at;
    struct workload_stage *stages;

    if (opts->stages.count == 0)
        return workload_fail_key(err, "stages", "missing-key",
                                 "'stages' must have at least one stage");
    stages = base_arena_array(arena, opts->stages.count, sizeof *stages);
    for (size_t i = 0; i < opts->stages.count; i++) {
        enum kvsim_status status = workload_check_rate(from[i].rate_per_s, "stages", err);

        if (status != KVSIM_OK)
            return status;
        stages[i] = (struct workload_stage){
            .rate_per_s = from[i].rate_per_s,
            .rate_end_per_s = from[i].rate_end_per_s,
            .amplitude = from[i].amplitude,
            .period_ns = from[i].period_ns > 0 ? from[i].period_ns : from[i].duration_ns,
            .duration_ns = from[i].duration_ns,
            .deterministic = from[i].process == WORKLOAD_DETERMINISTIC};
    }
    spec->process = WORKLOAD_PROFILE;
    spec->stages = stages;
    spec->stage_count = opts->stages.count;
    return check_round(stages, opts->stages.count, err);
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    const struct workload_spec *spec = context->spec;
    struct state *profile = state;

    profile->spec = spec;
    profile->key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    profile->repeats = spec->request_limit > 0 || spec->duration_ns > 0;
    return check_round(spec->stages, spec->stage_count, err);
}

/* Places the request in the current stage, if it comes before the stage ends. */
static bool place_deterministic(struct state *profile, int64_t *in_stage_ns)
{
    const struct workload_stage *stage = &profile->spec->stages[profile->stage];
    uint64_t count = profile->arrived_count + 1;
    bool is_constant = !is_ramp(stage) && stage->amplitude == 0.0;

    if (stage->rate_per_s <= 0.0 && is_constant)
        return false;
    if (is_constant) {
        if (workload_time_at_rate(count, workload_rational(stage->rate_per_s), in_stage_ns, NULL) !=
                KVSIM_OK ||
            *in_stage_ns > stage->duration_ns)
            return false;
    } else {
        if (expected_left(stage, 0) < (double)count - COUNT_SLACK)
            return false;
        *in_stage_ns = inverse_ns(stage, 0, (double)count);
    }
    profile->arrived_count = count;
    return true;
}

static bool place_poisson(struct state *profile, double *due, int64_t *in_stage_ns)
{
    const struct workload_stage *stage = &profile->spec->stages[profile->stage];
    double left = expected_left(stage, profile->in_stage_ns);

    if (*due >= left) {
        *due -= left;
        return false;
    }
    *in_stage_ns = inverse_ns(stage, profile->in_stage_ns, *due);
    profile->in_stage_ns = *in_stage_ns;
    return true;
}

static enum kvsim_status enter_next_stage(struct state *profile, bool *more,
                                          struct kvsim_error *err)
{
    int64_t duration_ns = profile->spec->stages[profile->stage].duration_ns;

    profile->stage++;
    if (profile->stage == profile->spec->stage_count) {
        profile->stage = 0;
        *more = profile->repeats;
    }
    profile->in_stage_ns = 0;
    profile->arrived_count = 0;
    if (duration_ns > INT64_MAX - profile->stage_start_ns)
        return workload_fail_key(err, "stages", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    profile->stage_start_ns += duration_ns;
    return KVSIM_OK;
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *profile = state;
    double due = workload_exponential(profile->key, request->index);
    int64_t in_stage_ns = 0;

    for (;;) {
        bool deterministic = profile->spec->stages[profile->stage].deterministic;
        enum kvsim_status status;

        if (deterministic ? place_deterministic(profile, &in_stage_ns)
                          : place_poisson(profile, &due, &in_stage_ns))
            break;
        status = enter_next_stage(profile, more, err);
        if (status != KVSIM_OK || !*more)
            return status;
    }
    if (in_stage_ns > INT64_MAX - profile->stage_start_ns)
        return workload_fail_key(err, "stages", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    request->arrival_ns = profile->stage_start_ns + in_stage_ns;
    return KVSIM_OK;
}

const struct workload_arrival_ops workload_arrival_profile = {
    .policy = {.name = "profile",
               .summary = "a rate that follows stages over time: constant, ramp or sinus",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_PROFILE,
    .compile = compile,
    .init = init,
    .next = next,
};
