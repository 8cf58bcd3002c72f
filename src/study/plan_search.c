/*
 * The highest load within the targets, by root finding on noisy runs.
 */
#include "study/plan_int.h"

#include "stats/paired.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR_LOG 0.12 /* probes within this of the root tell the slope */

/* Whoever asks for less precision than this wants a quick answer. */
#define QUICK 0.05

/* A load 4,096 times below the scenario's leaves an engine idle: what it misses then it always misses. */
enum {
    STEPS_MAX = 40,
    DOUBLINGS_MAX = 30,
    HALVINGS_MAX = 12,
    REPLICATIONS_FACTOR = 8,
    REPLICATIONS_LEAST = 10
};

/* ---- asking ---- */

/* Four significant digits: enough for the tolerance, short enough to be typed again. */
static double round_load(const struct study_plan_search *search, double load)
{
    char text[40];
    if (search->is_whole)
        return fmax(1, floor(load + 0.5));
    snprintf(text, sizeof text, "%.4g", load);
    return strtod(text, NULL);
}

static const struct study_plan_point *find_point(const struct study_plan_search *search,
                                                 double load)
{
    for (size_t i = 0; i < search->points.count; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        bool is_same = !(point->load < load) && !(point->load > load);
        if (is_same && (search->replications == 0 || point->replications == search->replications))
            return point;
    }
    return NULL;
}

void study_plan_tell(const struct study_plan_search *search)
{
    const struct study_plan_request *request = search->request;
    if (request->progress == NULL)
        return;
    struct study_plan_progress progress = {search->candidate_number, search->plan->candidate_count,
                                           search->plan->runs_simulated +
                                               search->plan->runs_taken_up};
    request->progress(request->progress_context, &progress);
}

enum kvsim_status study_plan_ask(struct study_plan_search *search, double load, int64_t replicas,
                                 struct study_plan_point *out, struct kvsim_error *err)
{
    struct study_probe_ask ask = {
        .load = load, .replicas = replicas, .replications = search->replications};
    struct study_probe_answer answer;
    if (replicas == search->candidate->base_replicas)
        replicas = 0;
    const struct study_plan_point *known = replicas == 0 ? find_point(search, load) : NULL;
    if (known != NULL) {
        *out = *known;
        return KVSIM_OK;
    }
    enum kvsim_status status =
        study_probe(&search->base, &ask, &search->plan->arena, &answer, search->diags, err);
    if (status == KVSIM_OK && answer.is_refused)
        status = base_fail(err, KVSIM_ERR_REFUSED, "%s", answer.reason);
    if (status != KVSIM_OK)
        return status;
    *(answer.was_taken_up ? &search->plan->runs_taken_up : &search->plan->runs_simulated) += 1;
    study_plan_tell(search);
    base_vec_push(&search->candidate->probes, answer.probe);
    *out = (struct study_plan_point){load,
                                     answer.probe.margin,
                                     answer.standard_error,
                                     answer.probe.replications,
                                     answer.probe.is_met,
                                     answer.probe.is_met_surely,
                                     answer.is_hard};
    if (replicas == 0)
        base_vec_push(&search->points, *out);
    return KVSIM_OK;
}

static enum kvsim_status ask(struct study_plan_search *search, double load,
                             struct study_plan_point *out, struct kvsim_error *err)
{
    return study_plan_ask(search, load, 0, out, err);
}

/* ---- the bracket ---- */

struct bracket {
    struct study_plan_point met, missed;
    bool has_met, has_missed;
};

static void take(struct bracket *bracket, const struct study_plan_point *point)
{
    if (point->is_met) {
        bracket->met = *point;
        bracket->has_met = true;
    } else {
        bracket->missed = *point;
        bracket->has_missed = true;
    }
}

/* Doubles or halves the load until the targets are met on one side and missed on the other. */
static enum kvsim_status find_bracket(struct study_plan_search *search, double start, double factor,
                                      struct bracket *bracket, struct kvsim_error *err)
{
    struct study_plan_point point;
    double load = round_load(search, start);
    enum kvsim_status status = ask(search, load, &point, err);
    for (int i = 0; status == KVSIM_OK && i < DOUBLINGS_MAX; i++) {
        take(bracket, &point);
        if ((bracket->has_met && bracket->has_missed) || (!point.is_met && i == HALVINGS_MAX))
            break;
        double next =
            round_load(search, point.is_met ? fmin(load * factor, search->most) : load / factor);
        if (!(next < load) && !(next > load))
            break; // one client is the least there is
        load = next;
        status = ask(search, load, &point, err);
    }
    if (status == KVSIM_OK)
        take(bracket, &point);
    return status;
}

static bool is_closed(const struct study_plan_search *search, const struct bracket *bracket)
{
    if (search->is_whole && bracket->missed.load - bracket->met.load < 1.5)
        return true;
    return bracket->missed.load < bracket->met.load * (1 + search->tolerance);
}

/* Where the straight line between both ends crosses; NaN where an end says no more than "beyond". */
static double secant(const struct bracket *bracket)
{
    const struct study_plan_point *a = &bracket->met, *b = &bracket->missed;
    if (b->is_hard || !isfinite(a->margin) || !isfinite(b->margin) || !(b->margin > a->margin))
        return (double)NAN;
    double share = -a->margin / (b->margin - a->margin);
    return exp(log(a->load) + share * (log(b->load) - log(a->load)));
}

/*
 * Secants straddle the root by half the tolerance, now on one side, now on the other, so that both ends of the bracket
 * move; every third step halves it whatever the secant says.
 */
static double next_load(const struct bracket *bracket, double tolerance, int step)
{
    double low = log(bracket->met.load), high = log(bracket->missed.load), width = high - low;
    double root = log(secant(bracket)), at = low + width / 2;
    if (!isnan(root) && step % 3 != 2)
        at = root + (step % 2 == 0 ? 0.45 : -0.45) * tolerance;
    return exp(fmin(fmax(at, low + 0.05 * width), high - 0.05 * width));
}

static enum kvsim_status close_bracket(struct study_plan_search *search, struct bracket *bracket,
                                       struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (int step = 0; step < STEPS_MAX && status == KVSIM_OK && !is_closed(search, bracket);
         step++) {
        double load = round_load(search, next_load(bracket, search->tolerance, step));
        struct study_plan_point point;
        if (!(load > bracket->met.load) || !(load < bracket->missed.load)) {
            load = round_load(search, sqrt(bracket->met.load * bracket->missed.load));
            if (!(load > bracket->met.load) || !(load < bracket->missed.load))
                break;
        }
        status = ask(search, load, &point, err);
        if (status == KVSIM_OK)
            take(bracket, &point);
    }
    return status;
}

/* ---- the interval ---- */

/* The root between two close ends. */
static double root_of(const struct study_plan_search *search, const struct bracket *bracket)
{
    double root = secant(bracket);
    if (search->is_whole || isnan(root))
        return bracket->met.load;
    return root;
}

/* d margin / d log load by least squares over the probes near the root; NaN where they do not tell. */
static double slope_at(const struct study_plan_search *search, double root)
{
    double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = 0; i < search->points.count; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        double x = log(point->load / root);
        bool is_same = search->replications == 0 || point->replications == search->replications;
        if (point->is_hard || !isfinite(point->margin) || fabs(x) > FAR_LOG || !is_same)
            continue;
        n++;
        sum_x += x;
        sum_y += point->margin;
        sum_xx += x * x;
        sum_xy += x * point->margin;
    }
    double spread = sum_xx - sum_x * sum_x / n;
    double slope = (sum_xy - sum_x * sum_y / n) / spread;
    return n >= 3 && spread > 1e-8 && slope > 0 ? slope : (double)NAN;
}

/* The curve around the knee; it also tells the slope. */
static enum kvsim_status ask_curve(struct study_plan_search *search, double root,
                                   struct kvsim_error *err)
{
    static const double factors[] = {0.8, 0.9, 0.95, 1.05, 1.1};
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < sizeof factors / sizeof *factors && status == KVSIM_OK; i++) {
        struct study_plan_point point;
        double load = round_load(search, root * factors[i]);
        status = ask(search, load, &point, err);
    }
    return status;
}

/* Relative half width of the root's interval at a two-sided confidence; NaN where nothing tells it. */
static double half_width(const struct study_plan_search *search, const struct bracket *bracket,
                         double root, double probability)
{
    const struct study_plan_point *at = &bracket->met;
    double slope = slope_at(search, root);
    if (at->replications < 2 || isnan(slope) || isnan(at->standard_error))
        return (double)NAN;
    double t = stats_t_quantile(probability, (double)(at->replications - 1));
    return t * at->standard_error / slope;
}

static double two_sided(const struct study_plan_search *search)
{
    return 0.5 + 0.5 * search->request->confidence;
}

/*
 * More replications where the interval is wider than asked for, or rests on so few that it may be narrow by luck: the root
 * is looked for again near the first one.
 */
static enum kvsim_status sharpen(struct study_plan_search *search, struct bracket *bracket,
                                 double *root, double *half, struct kvsim_error *err)
{
    double wanted = search->request->half_width;
    enum kvsim_status status = KVSIM_OK;
    int64_t now = bracket->met.replications, most = now * REPLICATIONS_FACTOR;
    if (!search->can_replicate || isnan(*half))
        return status;
    double needed = wanted < QUICK ? REPLICATIONS_LEAST : 0;
    if (*half > wanted)
        needed =
            fmax(needed, ceil((double)now * (*half / (0.9 * wanted)) * (*half / (0.9 * wanted))));
    if (needed <= (double)now)
        return status;
    search->replications = needed < (double)most ? (int64_t)needed : most;
    *bracket = (struct bracket){.has_met = false};
    status = find_bracket(search, *root, 1 + fmin(*half, 0.5), bracket, err);
    if (status == KVSIM_OK && bracket->has_met && bracket->has_missed)
        status = close_bracket(search, bracket, err);
    if (status != KVSIM_OK || !bracket->has_met || !bracket->has_missed)
        return status;
    *root = root_of(search, bracket);
    status = ask_curve(search, *root, err);
    *half = half_width(search, bracket, *root, two_sided(search));
    return status;
}

/* The highest load that meets the targets at the stated confidence, shown by a run. */
static enum kvsim_status find_sure_load(struct study_plan_search *search,
                                        const struct bracket *bracket, double root,
                                        struct kvsim_error *err)
{
    double half = half_width(search, bracket, root, search->request->confidence);
    double load = isnan(half) ? bracket->met.load : fmin(bracket->met.load, root * exp(-half));
    enum kvsim_status status = KVSIM_OK;
    for (int i = 0; i < 8 && status == KVSIM_OK && search->candidate->sure_load <= 0; i++) {
        struct study_plan_point point;
        double rounded = round_load(search, load);
        status = ask(search, rounded, &point, err);
        if (status == KVSIM_OK && (point.is_met_surely || (point.is_met && point.replications < 2)))
            search->candidate->sure_load = rounded;
        double next = load * 0.99;
        load = search->is_whole && round_load(search, next) >= rounded ? rounded - 1 : next;
        if (!(load > 0) || (search->is_whole && load < 1))
            break;
    }
    for (size_t i = 0; i < search->points.count;
         i++) { // a higher one that was asked on the way may do
        const struct study_plan_point *point = &search->points.at[i];
        if (point->is_met_surely && point->load <= bracket->met.load &&
            point->replications == bracket->met.replications)
            search->candidate->sure_load = fmax(search->candidate->sure_load, point->load);
    }
    return status;
}

enum kvsim_status study_plan_root(struct study_plan_search *search, double factor, double *root,
                                  struct kvsim_error *err)
{
    struct bracket bracket = {.has_met = false};
    enum kvsim_status status = find_bracket(search, search->start, factor, &bracket, err);
    bool is_between = bracket.has_met && bracket.has_missed;
    if (status == KVSIM_OK && is_between)
        status = close_bracket(search, &bracket, err);
    *root = is_between ? root_of(search, &bracket) : bracket.has_met ? (double)NAN : 0;
    return status;
}

/* ---- the answer ---- */

static const struct record_probe *find_probe(const struct study_plan_search *search,
                                             const struct study_plan_point *point)
{
    const struct record_probe *found = NULL;
    for (size_t i = 0; i < search->candidate->probes.count; i++) {
        const struct record_probe *probe = &search->candidate->probes.at[i];
        bool is_same = !(probe->load < point->load) && !(probe->load > point->load);
        if (is_same && probe->replications == point->replications)
            found = probe;
    }
    return found;
}

static void take_limit(struct study_plan_search *search, const struct bracket *bracket)
{
    struct record_candidate *candidate = search->candidate;
    const struct record_probe *met = find_probe(search, &bracket->met);
    const struct record_probe *missed = find_probe(search, &bracket->missed);
    const struct record_value *rate = met == NULL ? NULL : &met->summary[RECORD_REQUEST_THROUGHPUT];
    if (missed != NULL) {
        const struct record_value *limit = &missed->summary[RECORD_BINDING_LIMIT];
        candidate->limit = missed->worst;
        candidate->binding_limit = limit->kind == RECORD_TEXT ? limit->text : "";
    }
    candidate->max_rate = search->base.load == RECORD_LOAD_RATE       ? candidate->max_load
                          : rate != NULL && rate->kind == RECORD_REAL ? rate->real
                                                                      : (double)NAN;
}

static void take_interval(struct study_plan_search *search, const struct bracket *bracket,
                          double root, double half)
{
    struct record_candidate *candidate = search->candidate;
    candidate->max_load = bracket->met.load;
    if (isnan(half))
        return;
    // The bracket itself is part of what is not known.
    candidate->ci_low = fmin(root * exp(-half), bracket->met.load);
    candidate->ci_high = fmax(root * exp(half), bracket->missed.load);
    if (search->is_whole) {
        candidate->ci_low = fmax(0, floor(candidate->ci_low));
        candidate->ci_high = ceil(root * exp(half));
    }
}

static enum kvsim_status finish(struct study_plan_search *search, struct bracket *bracket,
                                struct kvsim_error *err)
{
    enum kvsim_status status = close_bracket(search, bracket, err);
    double root = root_of(search, bracket), half = (double)NAN;
    if (status == KVSIM_OK)
        status = ask_curve(search, root, err);
    if (status == KVSIM_OK) {
        half = half_width(search, bracket, root, two_sided(search));
        status = sharpen(search, bracket, &root, &half, err);
    }
    if (status != KVSIM_OK || !bracket->has_met || !bracket->has_missed)
        return status;
    take_interval(search, bracket, root, half);
    take_limit(search, bracket);
    return find_sure_load(search, bracket, root, err);
}

/* Requests per second at the highest load: the load itself, or the most that any number of clients brought. */
static double best_rate(const struct study_plan_search *search)
{
    double rate = (double)NAN;
    for (size_t i = 0; i < search->candidate->probes.count; i++) {
        const struct record_probe *probe = &search->candidate->probes.at[i];
        const struct record_value *value = &probe->summary[RECORD_REQUEST_THROUGHPUT];
        double here = value->kind == RECORD_REAL ? value->real : (double)NAN;
        rate = fmax(rate, search->base.load == RECORD_LOAD_RATE ? probe->load : here);
    }
    return rate;
}

enum kvsim_status study_plan_search(struct study_plan_search *search, struct kvsim_error *err)
{
    struct bracket bracket = {.has_met = false};
    struct record_candidate *candidate = search->candidate;
    enum kvsim_status status = find_bracket(search, search->start, 2, &bracket, err);
    if (status != KVSIM_OK)
        return status;
    candidate->status = !bracket.has_met      ? RECORD_CANDIDATE_NONE
                        : !bracket.has_missed ? RECORD_CANDIDATE_UNBOUNDED
                                              : RECORD_CANDIDATE_OK;
    if (candidate->status == RECORD_CANDIDATE_OK)
        return finish(search, &bracket, err);
    const struct study_plan_point *last = bracket.has_met ? &bracket.met : &bracket.missed;
    const struct record_probe *probe = find_probe(search, last);
    candidate->limit = probe == NULL || bracket.has_met ? "" : probe->worst;
    candidate->max_load = candidate->sure_load = bracket.has_met ? last->load : 0;
    candidate->max_rate = bracket.has_met ? best_rate(search) : 0;
    return KVSIM_OK;
}
