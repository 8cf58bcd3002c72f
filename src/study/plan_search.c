/*
 * The highest load within the targets, by root finding on noisy runs.
 */
#include "study/plan_int.h"

#include "stats/paired.h"
#include "study/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR_LOG 0.12 /* probes within this of the root tell the slope */
#define LOOSE 0.05   /* of the bracket where its upper end is a run that is too short */

/* Whoever asks for less precision than this wants a quick answer. */
#define QUICK 0.05

/* A load 4,096 times below the scenario's leaves an engine idle: what it misses then it always misses. */
enum {
    STEPS_MAX = 40,
    DOUBLINGS_MAX = 30,
    HALVINGS_MAX = 12,
    REPLICATIONS_FACTOR = 8,
    REPLICATIONS_LEAST = 10,
    SHARPEN_MAX = 3,
    SURE_TRIES = 12
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
        bool is_same =
            !(point->load < load) && !(point->load > load) && point->replicas == search->replicas;
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

enum kvsim_status study_plan_ask(struct study_plan_search *search, double load,
                                 struct study_plan_point *out, struct kvsim_error *err)
{
    struct study_probe_ask ask = {
        .load = load, .replicas = search->replicas, .replications = search->replications};
    struct study_probe_answer answer;
    const struct study_plan_point *known = find_point(search, load);
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
    *out = (struct study_plan_point){.load = load,
                                     .margin = answer.probe.margin,
                                     .standard_error = answer.standard_error,
                                     .rounds = answer.probe.rounds,
                                     .replicas = search->replicas,
                                     .replications = answer.probe.replications,
                                     .is_met = answer.probe.is_met,
                                     .is_met_surely = answer.probe.is_met_surely,
                                     .is_hard = answer.is_hard,
                                     .is_short = answer.probe.is_short,
                                     .is_near = answer.probe.is_near,
                                     .has_spread = answer.has_spread};
    base_vec_push(&search->points, *out);
    return KVSIM_OK;
}

bool study_plan_is_carried(const struct study_plan_point *point)
{
    return point->is_met && !point->is_short;
}

/* ---- the bracket ---- */

/* The upper end misses a target, or is a run that is too short to tell. */
struct bracket {
    struct study_plan_point met, missed;
    bool has_met, has_missed;
};

static bool has_root(const struct bracket *bracket)
{
    return bracket->has_met && bracket->has_missed && !bracket->missed.is_short;
}

static void take(struct bracket *bracket, const struct study_plan_point *point)
{
    if (study_plan_is_carried(point)) {
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
    enum kvsim_status status = study_plan_ask(search, load, &point, err);
    for (int i = 0; status == KVSIM_OK && i < DOUBLINGS_MAX; i++) {
        bool is_carried = study_plan_is_carried(&point);
        take(bracket, &point);
        if ((bracket->has_met && bracket->has_missed) || (!is_carried && i == HALVINGS_MAX))
            break;
        double next =
            round_load(search, is_carried ? fmin(load * factor, search->most) : load / factor);
        if (!(next < load) && !(next > load))
            break; // one client is the least there is
        load = next;
        status = study_plan_ask(search, load, &point, err);
    }
    if (status == KVSIM_OK)
        take(bracket, &point);
    return status;
}

static bool is_closed(const struct study_plan_search *search, const struct bracket *bracket)
{
    if (search->is_whole && bracket->missed.load - bracket->met.load < 1.5)
        return true;
    double tolerance =
        bracket->missed.is_short ? fmax(LOOSE, search->tolerance) : search->tolerance;
    return bracket->missed.load < bracket->met.load * (1 + tolerance);
}

/* Where the straight line between both ends crosses; NaN where an end says no more than "beyond". */
static double secant(const struct bracket *bracket)
{
    const struct study_plan_point *a = &bracket->met, *b = &bracket->missed;
    if (b->is_hard || b->is_short || !isfinite(a->margin) || !isfinite(b->margin) ||
        !(b->margin > a->margin))
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
        status = study_plan_ask(search, load, &point, err);
        if (status == KVSIM_OK)
            take(bracket, &point);
    }
    return status;
}

static enum kvsim_status find_ends(struct study_plan_search *search, double start, double factor,
                                   struct bracket *bracket, struct kvsim_error *err)
{
    *bracket = (struct bracket){.has_met = false};
    enum kvsim_status status = find_bracket(search, start, factor, bracket, err);
    if (status == KVSIM_OK && bracket->has_met && bracket->has_missed)
        status = close_bracket(search, bracket, err);
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
        bool is_same = point->replicas == search->replicas &&
                       (search->replications == 0 || point->replications == search->replications);
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
        status = study_plan_ask(search, load, &point, err);
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

/* How many replications the interval asks for: enough for the width, and not so few that it may be narrow by luck. */
static int64_t count_needed(const struct study_plan_search *search, int64_t now, double half)
{
    double wanted = search->request->half_width;
    double needed = wanted < QUICK ? REPLICATIONS_LEAST : 0;
    if (half > wanted)
        needed =
            fmax(needed, ceil((double)now * (half / (0.9 * wanted)) * (half / (0.9 * wanted))));
    return needed < 1e9 ? (int64_t)needed : (int64_t)1e9;
}

/* More replications until the interval is as narrow as asked for: the root is looked for again near the first one. */
static enum kvsim_status sharpen(struct study_plan_search *search, struct bracket *bracket,
                                 double *root, double *half, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    int64_t most = bracket->met.replications * REPLICATIONS_FACTOR;
    for (int i = 0; i < SHARPEN_MAX && search->can_replicate && !isnan(*half); i++) {
        int64_t now = bracket->met.replications, needed = count_needed(search, now, *half);
        if (needed <= now || now >= most)
            break;
        struct bracket sharper;
        search->replications = needed < most ? needed : most;
        status = find_ends(search, *root, 1 + fmin(*half, 0.5), &sharper, err);
        bool is_bound = sharper.has_met && sharper.missed.is_short;
        if (status != KVSIM_OK || (!has_root(&sharper) && !is_bound)) {
            search->replications = now; // the answer stays that of fewer
            break;
        }
        *bracket = sharper;
        if (is_bound)
            break;
        *root = root_of(search, bracket);
        status = ask_curve(search, *root, err);
        *half = half_width(search, bracket, *root, two_sided(search));
    }
    return status;
}

/* The highest load up to `most` whose run was surely met; 0: none. */
static double find_surely_met(const struct study_plan_search *search, double most,
                              int64_t replications)
{
    double sure = 0;
    for (size_t i = 0; i < search->points.count; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        if (point->is_met_surely && study_plan_is_carried(point) && point->load <= most &&
            point->replicas == search->replicas && point->replications == replications)
            sure = fmax(sure, point->load);
    }
    return sure;
}

/* Surely met by a run, and by a longer one where these are asked. */
static enum kvsim_status is_surely_met(struct study_plan_search *search,
                                       struct study_plan_longer *longer, double load, bool *is_met,
                                       struct kvsim_error *err)
{
    struct study_plan_point point;
    enum kvsim_status status = study_plan_ask(search, load, &point, err);
    *is_met = status == KVSIM_OK && study_plan_is_carried(&point) && point.is_met_surely;
    if (*is_met && !isnan(longer->root))
        status = study_plan_longer_met(longer, load, is_met, err);
    return status;
}

/* The highest load that meets the targets at the stated confidence, shown by a run. */
static enum kvsim_status find_sure_load(struct study_plan_search *search,
                                        const struct bracket *bracket,
                                        struct study_plan_longer *longer, double root,
                                        struct kvsim_error *err)
{
    double half = half_width(search, bracket, root, search->request->confidence), sure = 0;
    double load = isnan(half) ? bracket->met.load : fmin(bracket->met.load, root * exp(-half));
    enum kvsim_status status = KVSIM_OK;
    if (longer->root < root) // their one-sided interval is narrower than half of the two-sided one
        load = fmin(load, longer->root * exp(-longer->half));
    for (int i = 0; i < SURE_TRIES && status == KVSIM_OK && !(sure > 0); i++) {
        bool is_met;
        double rounded = round_load(search, load);
        status = is_surely_met(search, longer, rounded, &is_met, err);
        if (is_met)
            sure = rounded;
        double next = load * 0.99;
        load = search->is_whole && round_load(search, next) >= rounded ? rounded - 1 : next;
        if (!(load > 0) || (search->is_whole && load < 1))
            break;
    }
    // A higher one that was asked on the way may do.
    if (isnan(longer->root))
        sure = fmax(sure, find_surely_met(search, bracket->met.load, bracket->met.replications));
    search->candidate->counted_load = bracket->met.has_spread ? sure : bracket->met.load;
    // Where nothing tells how far the root may lie from here, no confidence is claimed either.
    search->candidate->sure_load = isnan(search->candidate->ci_low) ? 0 : sure;
    return status;
}

enum kvsim_status study_plan_root(struct study_plan_search *search, double factor, double *root,
                                  double *half, struct kvsim_error *err)
{
    struct bracket bracket;
    enum kvsim_status status = find_ends(search, search->start, factor, &bracket, err);
    bool is_found = status == KVSIM_OK && has_root(&bracket);
    *root = (double)NAN;
    if (half != NULL)
        *half = is_found
                    ? half_width(search, &bracket, root_of(search, &bracket), two_sided(search))
                    : (double)NAN;
    if (is_found)
        *root = root_of(search, &bracket);
    else if (status == KVSIM_OK && !bracket.has_met && !bracket.missed.is_short)
        *root = 0;
    return status;
}

/* ---- the answer ---- */

static const struct record_probe *find_probe(const struct study_plan_search *search,
                                             const struct study_plan_point *point)
{
    const struct record_probe *found = NULL;
    for (size_t i = 0; i < search->candidate->probes.count; i++) {
        const struct record_probe *probe = &search->candidate->probes.at[i];
        int64_t replicas = point->replicas > 0 ? point->replicas : search->candidate->base_replicas;
        bool is_same = !(probe->load < point->load) && !(probe->load > point->load) &&
                       probe->replicas == replicas;
        if (is_same && probe->replications == point->replications)
            found = probe;
    }
    return found;
}

/* Requests per second at the highest load: the load itself, or what its run brought. */
static double rate_at(const struct study_plan_search *search, const struct study_plan_point *point)
{
    const struct record_probe *probe = find_probe(search, point);
    if (search->base.load == RECORD_LOAD_RATE)
        return point->load;
    return probe == NULL ? (double)NAN
                         : record_value_real(&probe->summary[RECORD_REQUEST_THROUGHPUT]);
}

static void take_met(struct study_plan_search *search, const struct study_plan_point *met)
{
    struct record_candidate *candidate = search->candidate;
    candidate->max_load = met->load;
    candidate->max_rate = rate_at(search, met);
    candidate->replications = met->replications;
}

static void take_limit(struct study_plan_search *search, const struct bracket *bracket)
{
    struct record_candidate *candidate = search->candidate;
    const struct record_probe *missed = find_probe(search, &bracket->missed);
    if (missed == NULL)
        return;
    const struct record_value *limit = &missed->summary[RECORD_BINDING_LIMIT];
    candidate->limit = missed->worst;
    candidate->binding_limit = limit->kind == RECORD_TEXT ? limit->text : "";
}

/* Each of what half_width() needs, in the order of its being asked for. */
static const char *why_no_interval(const struct study_plan_search *search,
                                   const struct bracket *bracket)
{
    const struct record_probe *met = find_probe(search, &bracket->met);
    if (!search->can_replicate)
        return "a trace is one sample of its load, and replications repeat it";
    if (bracket->met.replications < 2)
        return "one replication";
    if (met != NULL && met->target_count == 0)
        return "no target is stated (slo), and overload has no margin";
    if (isnan(bracket->met.standard_error))
        return "the replications' figures have no spread to tell it by";
    return "no slope tells how far it may lie off";
}

/* The bracket itself is part of what is not known, and so is what longer runs say. */
static void take_interval(struct study_plan_search *search, const struct bracket *bracket,
                          const struct study_plan_longer *longer, double root, double half)
{
    struct record_candidate *candidate = search->candidate;
    candidate->root = root;
    candidate->no_interval = isnan(half) ? why_no_interval(search, bracket) : "";
    if (isnan(half))
        return;
    double low = root * exp(-half), high = root * exp(half);
    if (!isnan(longer->root)) {
        candidate->longer_root = longer->root;
        candidate->longer_requests = (int64_t)longer->search.base.requests;
        double steady = study_plan_longer_steady(longer, root);
        low = fmin(low, fmin(steady, longer->root) * exp(-longer->half));
        high = fmax(high, fmax(steady, longer->root) * exp(longer->half));
    }
    candidate->ci_low = fmin(low, bracket->met.load);
    candidate->ci_high = fmax(high, bracket->missed.load);
    candidate->half_width = (candidate->ci_high - candidate->ci_low) / 2 / root;
    if (search->is_whole) { // the width is that before ends are rounded to whole clients
        candidate->half_width = (high - low) / 2 / root;
        candidate->ci_low = fmax(0, floor(candidate->ci_low));
        candidate->ci_high = ceil(high);
    }
}

/* Why it was not found where the targets break. */
static const char *why_not_reached(const struct study_plan_search *search,
                                   const struct bracket *bracket)
{
    struct base_arena *arena = &search->plan->arena;
    const struct study_plan_point *last = &bracket->missed;
    const struct record_probe *probe = bracket->has_missed ? find_probe(search, last) : NULL;
    const struct record_probe *met = bracket->has_met ? find_probe(search, &bracket->met) : NULL;
    if (met != NULL && met->target_count == 0 && search->base.load == RECORD_LOAD_CONCURRENCY)
        return base_arena_printf(arena, "no target is stated (slo), and clients who wait for their "
                                        "answers overload nothing");
    if (probe == NULL)
        return base_arena_printf(arena, "no load that was tried misses a target");
    double requests = record_value_real(&probe->summary[RECORD_REQUESTS]);
    const char *more = search->base.load == RECORD_LOAD_SPEEDUP ? "a longer trace would tell"
                                                                : "set run.requests to more";
    if (requests < STUDY_ROUNDS_LEAST)
        return base_arena_printf(arena,
                                 "a run of %.0f requests is too short for any load to build up; %s",
                                 requests, more);
    if (!(last->rounds > 0))
        return base_arena_printf(arena, "at %.4g %s none of a run's requests is answered",
                                 last->load, record_load_unit(search->base.load));
    return base_arena_printf(arena,
                             "at %.4g %s a run of %.0f requests is too short for the load to build "
                             "up: it lasts %.1f times as long as a %s takes, and at least %d are "
                             "needed; %s",
                             last->load, record_load_unit(search->base.load), requests,
                             floor(last->rounds * 10) / 10, // never as many as are needed
                             search->base.load == RECORD_LOAD_SESSION_RATE ? "session" : "request",
                             (int)STUDY_ROUNDS_LEAST, more);
}

/*
 * The highest load that is surely no overload: where the targets are too far off to be missed within a run, a queue may
 * grow unseen. Clients of a closed loop bring no such growth.
 */
static bool find_bound(const struct study_plan_search *search, double most,
                       struct study_plan_point *out)
{
    bool is_found = false;
    for (size_t i = 0; i < search->points.count; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        bool is_open = record_load_is_rate(search->base.load);
        if (!study_plan_is_carried(point) || point->replicas != search->replicas ||
            point->load > most || (is_open && point->is_near) ||
            (is_found && point->load < out->load))
            continue;
        *out = *point;
        is_found = true;
    }
    return is_found;
}

/* The lowest load beyond the bracket's end whose run misses a target, whatever runs in between are too short for. */
static const struct study_plan_point *find_missed(const struct study_plan_search *search,
                                                  const struct bracket *bracket)
{
    const struct study_plan_point *found = NULL;
    for (size_t i = 0; i < search->points.count && bracket->has_missed; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        if (!point->is_met && point->replicas == search->replicas &&
            point->load > bracket->missed.load && (found == NULL || point->load < found->load))
            found = point;
    }
    return found;
}

/* What runs could tell is not enough for an answer: a bound from below, and one from above where a target was missed. */
static void take_bound(struct study_plan_search *search, const struct bracket *bracket)
{
    struct record_candidate *candidate = search->candidate;
    candidate->status = RECORD_CANDIDATE_NOT_REACHED;
    candidate->reason = why_not_reached(search, bracket);
    candidate->limit = candidate->binding_limit = "";
    const struct study_plan_point *missed = find_missed(search, bracket);
    const struct record_probe *probe = missed == NULL ? NULL : find_probe(search, missed);
    if (probe != NULL) {
        candidate->missed_load = probe->load;
        candidate->reason =
            base_arena_printf(&search->plan->arena, "at %.4g %s %s is missed, but %s", probe->load,
                              record_load_unit(search->base.load), probe->worst, candidate->reason);
    }
    struct study_plan_point bound = {.load = 0};
    if (!bracket->has_met || !find_bound(search, bracket->met.load, &bound))
        return;
    take_met(search, &bound);
    candidate->counted_load =
        bound.has_spread ? find_surely_met(search, bound.load, bound.replications) : bound.load;
}

/* A trace has no longer runs, and who asks for little precision wants a quick answer. */
static bool is_worth_longer(const struct study_plan_search *search, double half)
{
    return search->can_replicate && search->base.requests > 0 && !isnan(half) &&
           search->request->half_width < QUICK;
}

static enum kvsim_status answer(struct study_plan_search *search, const struct bracket *bracket,
                                double root, double half, struct kvsim_error *err)
{
    struct study_plan_longer longer;
    enum kvsim_status status = KVSIM_OK;
    study_plan_longer_open(&longer, search);
    if (is_worth_longer(search, half))
        status = study_plan_longer_find(&longer, root, slope_at(search, root), err);
    if (status == KVSIM_OK) {
        take_met(search, &bracket->met);
        take_interval(search, bracket, &longer, root, half);
        take_limit(search, bracket);
        status = find_sure_load(search, bracket, &longer, root, err);
    }
    study_plan_longer_close(&longer);
    return status;
}

static enum kvsim_status finish(struct study_plan_search *search, struct bracket *bracket,
                                struct kvsim_error *err)
{
    double root = root_of(search, bracket), half = (double)NAN;
    enum kvsim_status status = ask_curve(search, root, err);
    if (status == KVSIM_OK) {
        half = half_width(search, bracket, root, two_sided(search));
        status = sharpen(search, bracket, &root, &half, err);
    }
    if (status != KVSIM_OK)
        return status;
    if (!has_root(bracket)) {
        take_bound(search, bracket);
        return KVSIM_OK;
    }
    return answer(search, bracket, root, half, err);
}

enum kvsim_status study_plan_search(struct study_plan_search *search, struct kvsim_error *err)
{
    struct bracket bracket;
    struct record_candidate *candidate = search->candidate;
    enum kvsim_status status = find_ends(search, search->start, 2, &bracket, err);
    if (status != KVSIM_OK)
        return status;
    if (has_root(&bracket)) {
        candidate->status = RECORD_CANDIDATE_OK;
        return finish(search, &bracket, err);
    }
    if (bracket.has_met || bracket.missed.is_short) {
        take_bound(search, &bracket);
        return KVSIM_OK;
    }
    const struct record_probe *probe = find_probe(search, &bracket.missed);
    candidate->status = RECORD_CANDIDATE_NONE;
    candidate->limit = probe == NULL ? "" : probe->worst;
    candidate->max_rate = 0;
    return KVSIM_OK;
}
