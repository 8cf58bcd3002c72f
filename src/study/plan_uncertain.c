/*
 * What inputs that are not known exactly do to a plan: each one alone at the ends of its spread, and all of them drawn at
 * once for the probability that the demand's replicas meet the targets.
 *
 * An input multiplies its numbers by a factor about 1. Every run has the same random numbers, so that an end differs from
 * the stated answer by the input alone; the factors of a sample are addressed by (seed, key, sample), so that one more
 * input changes those of no other. The interval of the probability counts runs whose own interval lies on both sides of
 * the target once as met and once as missed.
 */
#include "study/plan_int.h"

#include "rng/rng.h"
#include "stats/interval.h"
#include "stats/paired.h"
#include "study/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_TOLERANCE 0.01 /* of an end's highest load, relative */
#define END_FACTOR 1.15    /* of its first steps */
#define Z95 1.959963984540054

/* A number that --set can change. */
struct number {
    const char *key, *suffix;
    double value;
    bool is_plain, is_whole; /* no unit stands in the text; no part of a whole */
};

struct input {
    const struct study_uncertain *asked;
    const char *value;
    bool is_load;
    struct rng_dist factor;
    uint64_t stream;
    struct {
        struct number *at;
        size_t count, capacity;
    } numbers;
};

struct inputs {
    struct input *at;
    size_t count, capacity;
};

/* ---- which numbers an input moves ---- */

/* "3350 GB/s" is 3350 and " GB/s"; a plain number has the suffix of its key's unit. */
static bool read_number(struct base_arena *arena, const struct serve_param *param,
                        struct number *out)
{
    char *end;
    double value = strtod(param->value, &end);
    if (end == param->value || !isfinite(value) || !(fabs(value) > 0))
        return false;
    bool is_plain = *end == '\0';
    *out = (struct number){.key = base_arena_copy(arena, param->key),
                           .suffix = is_plain ? base_unit_suffix(scenario_key_unit(param->key))
                                              : base_arena_copy(arena, end),
                           .value = value,
                           .is_plain = is_plain,
                           .is_whole = is_plain &&
                                       param->value[strspn(param->value, "0123456789")] == '\0'};
    return is_plain || *end == ' ' || (*end >= 'A' && *end <= 'z') || *end == '%' || *end == '/';
}

static const struct serve_param *find_param(const struct serve_config *config, const char *key)
{
    for (size_t i = 0; i < config->param_count; i++) {
        if (strcmp(config->params[i].key, key) == 0)
            return &config->params[i];
    }
    return NULL;
}

static void add_key(const struct serve_config *config, const char *section, const char *name,
                    struct base_arena *arena, struct input *out)
{
    struct number number;
    const struct serve_param *param =
        find_param(config, base_arena_printf(arena, "%s.%s", section, name));
    if (param != NULL && read_number(arena, param, &number))
        base_vec_push(&out->numbers, number);
}

/* A length as a whole: what says where it lies, not how it spreads or is cut off. */
static void add_length(const struct serve_config *config, const char *key, const char *distribution,
                       struct base_arena *arena, struct input *out)
{
    static const char *const places[] = {"mean", "median", "p95", "value"};
    static const char *const ends[] = {"min", "max"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        add_key(config, key, places[i], arena, out);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && strcmp(distribution, "uniform") == 0; i++)
        add_key(config, key, ends[i], arena, out);
}

/* Efficiencies as a whole: every bare share below the key; times that stand beside them are no efficiency. */
static void add_shares(const struct serve_config *config, const char *key, struct base_arena *arena,
                       struct input *out)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < config->param_count; i++) {
        const struct serve_param *param = &config->params[i];
        struct number number;
        if (base_starts_with(param->key, key) && param->key[length] == '.' &&
            read_number(arena, param, &number) && number.suffix[0] == '\0' && number.value < 1)
            base_vec_push(&out->numbers, number);
    }
}

static bool is_load_key(const struct study_plan_search *search, const char *key)
{
    static const char *const keys[RECORD_LOAD_COUNT] = {
        "workload.arrival.rate", "workload.arrival.concurrency", "workload.arrival.speedup",
        "workload.arrival.rate"};
    return strcmp(key, "demand") == 0 ||
           (!search->base.replaces_arrival && strcmp(key, keys[search->base.load]) == 0);
}

static enum kvsim_status fail_key(const struct serve_config *config, const char *key,
                                  struct kvsim_error *err)
{
    const struct serve_param *param = find_param(config, key);
    enum kvsim_status status = param == NULL
                                   ? base_fail(err, KVSIM_ERR_SCENARIO,
                                               "'%s' is not a number that this scenario uses", key)
                                   : base_fail(err, KVSIM_ERR_SCENARIO,
                                               "'%s' is '%.60s' here, and no number that a spread "
                                               "could move",
                                               key, param->value);
    base_error_at(err, "--uncertain", 0, 0);
    base_error_key(err, key);
    const char **names = base_alloc(base_mul_size(config->param_count + 2, sizeof *names));
    for (size_t i = 0; i < config->param_count; i++)
        names[i] = config->params[i].key;
    names[config->param_count] = "demand";
    const char *near = base_name_nearest(names, key);
    if (near != NULL && param == NULL)
        base_error_hint(err, "did you mean '%s'?", near);
    else
        base_error_hint(err, "demand, workload.output_tokens, hardware.efficiency, or any key with "
                             "a number that a run's parameters show");
    base_free(names);
    return status;
}

/* "8/s", "260 tokens", "3350 GB/s" */
static const char *describe(struct base_arena *arena, const struct serve_param *param,
                            const struct number *number)
{
    if (!number->is_plain)
        return base_arena_copy(arena, param->value);
    if (number->suffix[0] != '\0' || param->unit[0] == '\0')
        return base_arena_printf(arena, "%s%s", param->value, number->suffix);
    return base_arena_printf(arena, "%s %s", param->value, param->unit);
}

static enum kvsim_status find_numbers(const struct study_plan_search *search,
                                      const struct serve_config *config, struct input *out,
                                      struct kvsim_error *err)
{
    struct base_arena *arena = &search->plan->arena;
    const char *key = out->asked->key;
    const struct serve_param *param = find_param(config, key);
    const struct serve_param *distribution =
        find_param(config, base_arena_printf(arena, "%s.distribution", key));
    struct number number;
    out->is_load = is_load_key(search, key);
    if (param != NULL && read_number(arena, param, &number)) {
        base_vec_push(&out->numbers, number);
        out->value = describe(arena, param, &number);
    } else if (distribution != NULL) {
        add_length(config, key, distribution->value, arena, out);
    } else if (base_starts_with(key, "hardware.efficiency") ||
               base_starts_with(key, "hardware.calibration")) {
        add_shares(config, key, arena, out);
    }
    if (out->is_load && search->plan->demand > 0)
        out->value = base_arena_printf(arena, "%.6g%s", search->plan->demand,
                                       record_load_is_rate(search->base.load) ? "/s" : "");
    return out->is_load || out->numbers.count > 0 ? KVSIM_OK : fail_key(config, key, err);
}

static enum kvsim_status prepare_input(const struct study_plan_search *search,
                                       const struct serve_config *config, struct input *out,
                                       struct kvsim_error *err)
{
    double spread = out->asked->spread;
    struct base_hash hash;
    base_hash_init(&hash);
    base_hash_text(&hash, out->asked->key);
    out->stream = rng_key(config->seed, 0, RNG_INPUT, hash.a ^ hash.b);
    out->value = "";
    bool is_normal = out->asked->distribution == RECORD_SPREAD_NORMAL;
    struct rng_dist_options options = {.kind = is_normal ? RNG_NORMAL : RNG_UNIFORM,
                                       .has_mean = is_normal,
                                       .has_sd = is_normal,
                                       .has_min = true,
                                       .has_max = true,
                                       .mean = 1,
                                       .sd = spread / Z95,
                                       .min = is_normal ? 1 - 2 * spread : 1 - spread,
                                       .max = is_normal ? 1 + 2 * spread : 1 + spread};
    enum kvsim_status status =
        rng_dist_init(&out->factor, &options, false, &search->plan->arena, err);
    return status == KVSIM_OK ? find_numbers(search, config, out, err) : status;
}

static enum kvsim_status prepare_inputs(const struct study_plan_search *search, struct inputs *out,
                                        struct kvsim_error *err)
{
    const struct study_plan_request *request = search->request;
    struct study_cell cell = {.path = search->base.path,
                              .text = search->base.text,
                              .overrides = search->base.overrides,
                              .override_count = search->base.override_count,
                              .rows_unwanted = true};
    study_cell_resolve(&cell);
    enum kvsim_status status = KVSIM_OK;
    base_require(cell.scenario != NULL); // the candidate was resolved before
    for (size_t i = 0; i < request->uncertain_count && status == KVSIM_OK; i++) {
        struct input input = {.asked = &request->uncertain[i]};
        status = prepare_input(search, scenario_config(cell.scenario), &input, err);
        base_vec_push(out, input);
    }
    study_cell_release(&cell);
    return status;
}

static void free_inputs(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        base_vec_free(&inputs->at[i].numbers);
    base_vec_free(inputs);
}

/* ---- the scenario with an input moved ---- */

static void add_moved(const struct input *input, double factor, struct base_arena *arena,
                      struct study_overrides *out)
{
    for (size_t i = 0; i < input->numbers.count && !input->is_load; i++) {
        const struct number *number = &input->numbers.at[i];
        double value = number->value * factor;
        char text[40];
        if (number->is_whole)
            snprintf(text, sizeof text, "%.0f", fmax(1, floor(value + 0.5)));
        else
            snprintf(text, sizeof text, "%.9g", value);
        struct scenario_override override = {
            .key = number->key, .value = base_arena_printf(arena, "%s%s", text, number->suffix)};
        base_vec_push(out, override);
    }
}

static void begin_moved(const struct study_plan_search *search, struct study_overrides *out)
{
    for (size_t i = 0; i < search->base.override_count; i++)
        base_vec_push(out, search->base.overrides[i]);
}

/* ---- before the search ---- */

static enum kvsim_status check_moved(const struct study_plan_search *search,
                                     const struct input *input, double factor,
                                     struct kvsim_error *err)
{
    struct study_overrides overrides = {0};
    begin_moved(search, &overrides);
    add_moved(input, factor, &search->plan->arena, &overrides);
    struct study_cell cell = {.path = search->base.path,
                              .text = search->base.text,
                              .overrides = overrides.at,
                              .override_count = overrides.count,
                              .rows_unwanted = true};
    enum kvsim_status status = KVSIM_OK;
    study_cell_resolve(&cell);
    if (cell.state == STUDY_CELL_INVALID) {
        const struct kvsim_error *why = &cell.diags->at[0];
        status = base_fail(err, cell.status, "with '%s' %.6g times as large: %s", input->asked->key,
                           factor, why->message);
        base_error_at(err, "--uncertain", 0, 0);
        base_error_key(err, input->asked->key);
        base_error_hint(err, "a smaller spread than %.6g %%", input->asked->spread * 100);
    }
    study_cell_release(&cell);
    base_vec_free(&overrides);
    return status;
}

/* The furthest that the ends and the samples go. */
static enum kvsim_status check_input(const struct study_plan_search *search,
                                     const struct input *input, struct kvsim_error *err)
{
    double low = 1 - input->asked->spread, high = 1 + input->asked->spread;
    if (input->is_load)
        return KVSIM_OK;
    if (input->asked->distribution == RECORD_SPREAD_NORMAL && search->request->samples > 0) {
        low -= input->asked->spread;
        high += input->asked->spread;
    }
    enum kvsim_status status = check_moved(search, input, low, err);
    return status == KVSIM_OK ? check_moved(search, input, high, err) : status;
}

enum kvsim_status study_plan_check_doubt(const struct study_plan_search *search,
                                         struct kvsim_error *err)
{
    struct inputs inputs = {0};
    if (search->request->uncertain_count == 0)
        return KVSIM_OK;
    enum kvsim_status status = prepare_inputs(search, &inputs, err);
    for (size_t i = 0; i < inputs.count && status == KVSIM_OK; i++)
        status = check_input(search, &inputs.at[i], err);
    free_inputs(&inputs);
    return status;
}

/* ---- one input at an end ---- */

/* Of the replicas for the demand where one configuration just meets the targets at `root`. */
static double headroom_at(const struct record_candidate *best, double root, double demand)
{
    if (isnan(best->headroom))
        return (double)NAN;
    double carried = best->carried_is_found
                         ? best->carried_load * (root / best->root)
                         : root / (double)best->base_replicas * (double)best->replicas;
    return carried / demand - 1;
}

/* The highest load there, by a short search about the stated one; what cannot start carries none. */
static enum kvsim_status find_end(const struct study_plan_search *search, const struct input *input,
                                  double demand, struct record_input_end *end,
                                  struct kvsim_error *err)
{
    struct record_candidate scratch = *search->candidate;
    struct study_plan_search moved = *search;
    struct study_overrides overrides = {0};
    enum kvsim_status status = KVSIM_OK;
    end->max_load = search->candidate->root;
    if (!input->is_load) {
        memset(&scratch.probes, 0, sizeof scratch.probes);
        memset(&moved.points, 0, sizeof moved.points);
        begin_moved(search, &overrides);
        add_moved(input, end->factor, &search->plan->arena, &overrides);
        moved.candidate = &scratch;
        moved.base.overrides = overrides.at;
        moved.base.override_count = overrides.count;
        moved.start = search->candidate->max_load;
        moved.tolerance = END_TOLERANCE;
        status = study_plan_root(&moved, END_FACTOR, &end->max_load, NULL, err);
        if (status == KVSIM_ERR_REFUSED) {
            end->max_load = 0;
            status = KVSIM_OK;
        }
        base_vec_free(&scratch.probes);
        base_vec_free(&moved.points);
        base_vec_free(&overrides);
    }
    end->headroom =
        headroom_at(search->candidate, end->max_load, demand * (input->is_load ? end->factor : 1));
    return status;
}

static enum kvsim_status find_ends(const struct study_plan_search *search,
                                   const struct input *input, double demand,
                                   struct record_input *out, struct kvsim_error *err)
{
    *out = (struct record_input){
        .key = base_arena_copy(&search->plan->arena, input->asked->key),
        .value = input->value,
        .distribution = input->asked->distribution,
        .spread = input->asked->spread,
        .low = {.factor = 1 - input->asked->spread, .max_load = (double)NAN},
        .high = {.factor = 1 + input->asked->spread, .max_load = (double)NAN}};
    out->low.headroom = out->high.headroom = (double)NAN;
    if (search->candidate->status != RECORD_CANDIDATE_OK)
        return KVSIM_OK;
    enum kvsim_status status = find_end(search, input, demand, &out->low, err);
    return status == KVSIM_OK ? find_end(search, input, demand, &out->high, err) : status;
}

static int compare_inputs(const void *left, const void *right)
{
    double a = record_input_effect(left), b = record_input_effect(right);
    return (a < b) - (a > b);
}

/* ---- all inputs at once ---- */

/* The load that a sample is asked at, and with how many replicas: a large cluster by one replica's share of it. */
struct demand {
    double load;
    int64_t replicas;
};

enum { WHOLE_CLUSTER_MAX = 16 };

static struct demand find_demand(const struct study_plan_search *search, double demand)
{
    const struct record_candidate *best = search->candidate;
    if (best->replicas <= WHOLE_CLUSTER_MAX)
        return (struct demand){demand, best->replicas};
    return (struct demand){demand / (double)best->replicas * (double)best->base_replicas,
                           best->base_replicas};
}

/* What a sample says: met, missed, and whether its own interval leaves it open. */
struct verdict {
    bool is_met, is_undecided;
    const char *limit;
};

static void judge_sample(const struct study_probe_answer *answer, double confidence,
                         struct verdict *out)
{
    const struct record_probe *probe = &answer->probe;
    *out = (struct verdict){.is_met = !answer->is_refused && probe->is_met,
                            .limit = answer->is_refused ? "cannot start" : probe->worst};
    if (answer->is_refused || answer->is_hard || probe->replications < 2 ||
        isnan(answer->standard_error))
        return;
    double half = answer->standard_error *
                  stats_t_quantile(0.5 + 0.5 * confidence, (double)(probe->replications - 1));
    out->is_undecided = fabs(probe->margin) < half;
}

static enum kvsim_status ask_sample(const struct study_plan_search *search,
                                    const struct inputs *inputs, const struct demand *demand,
                                    int64_t index, struct verdict *out, struct kvsim_error *err)
{
    struct study_overrides overrides = {0};
    struct study_probe_base base = search->base;
    struct study_probe_ask ask = {.load = demand->load,
                                  .replicas = demand->replicas}; // as verified
    struct study_probe_answer answer;
    begin_moved(search, &overrides);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->at[i];
        double factor = rng_dist_value(&input->factor, rng_uniform(input->stream, (uint64_t)index));
        if (input->is_load)
            ask.load =
                search->is_whole ? fmax(1, floor(ask.load * factor + 0.5)) : ask.load * factor;
        add_moved(input, factor, &search->plan->arena, &overrides);
    }
    base.overrides = overrides.at;
    base.override_count = overrides.count;
    enum kvsim_status status =
        study_probe(&base, &ask, &search->plan->arena, &answer, search->diags, err);
    if (status == KVSIM_OK) {
        *(answer.was_taken_up ? &search->plan->runs_taken_up : &search->plan->runs_simulated) += 1;
        study_plan_tell(search);
        judge_sample(&answer, search->request->confidence, out);
    }
    base_vec_free(&overrides);
    return status;
}

/* The target that most of the samples miss that miss one. */
static void find_common_limit(const struct verdict *verdicts, size_t count, struct record_odds *out)
{
    for (size_t i = 0; i < count; i++) {
        int64_t same = 0;
        for (size_t k = 0; k < count && !verdicts[i].is_met; k++)
            same += !verdicts[k].is_met && strcmp(verdicts[k].limit, verdicts[i].limit) == 0;
        if (same > out->limit_count) {
            out->limit = verdicts[i].limit;
            out->limit_count = same;
        }
    }
}

static void sum_up(const struct verdict *verdicts, size_t count, double confidence,
                   struct record_odds *out)
{
    size_t surely = 0, possibly = 0;
    double ignored;
    for (size_t i = 0; i < count; i++) {
        out->met += verdicts[i].is_met;
        out->undecided += verdicts[i].is_undecided;
        surely += verdicts[i].is_met && !verdicts[i].is_undecided;
        possibly += verdicts[i].is_met || verdicts[i].is_undecided;
    }
    out->samples = (int64_t)count;
    out->probability = (double)out->met / (double)count;
    stats_share_interval(surely, count, confidence, &out->ci_low, &ignored);
    stats_share_interval(possibly, count, confidence, &ignored, &out->ci_high);
    find_common_limit(verdicts, count, out);
}

static enum kvsim_status find_odds(const struct study_plan_search *search,
                                   const struct inputs *inputs, double demand,
                                   struct kvsim_error *err)
{
    size_t count = (size_t)search->request->samples;
    enum kvsim_status status = KVSIM_OK;
    if (search->candidate->replicas == 0 || count == 0)
        return status;
    struct demand asked = find_demand(search, demand);
    struct verdict *verdicts = base_alloc(base_mul_size(count, sizeof *verdicts));
    for (size_t i = 0; i < count && status == KVSIM_OK; i++)
        status = ask_sample(search, inputs, &asked, (int64_t)i, &verdicts[i], err);
    if (status == KVSIM_OK)
        sum_up(verdicts, count, search->request->confidence, &search->plan->odds);
    base_free(verdicts);
    return status;
}

enum kvsim_status study_plan_doubt(const struct study_plan_search *search, double demand,
                                   struct kvsim_error *err)
{
    struct inputs inputs = {0};
    struct record_plan *plan = search->plan;
    enum kvsim_status status = prepare_inputs(search, &inputs, err);
    plan->headroom_as_stated = headroom_at(search->candidate, search->candidate->root, demand);
    for (size_t i = 0; i < inputs.count && status == KVSIM_OK; i++) {
        struct record_input row;
        status = find_ends(search, &inputs.at[i], demand, &row, err);
        base_vec_push(&plan->inputs, row);
    }
    if (status == KVSIM_OK)
        status = find_odds(search, &inputs, demand, err);
    if (plan->inputs.count > 1)
        qsort(plan->inputs.at, plan->inputs.count, sizeof *plan->inputs.at, compare_inputs);
    free_inputs(&inputs);
    return status;
}
