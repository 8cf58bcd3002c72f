/*
 * plan_search.c - what the root says of a candidate: its highest load, what is surely carried, and why there may be neither.
 */
#include "study/plan_root.h"

#include "study/rounds.h"

#include <math.h>

enum { SURE_TRIES = 12 };

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
                                        const struct study_plan_bracket *bracket,
                                        struct study_plan_longer *longer, double root,
                                        struct kvsim_error *err)
{
    double half = study_plan_half_width(search, bracket, root, search->request->confidence),
           sure = 0;
    double load = isnan(half) ? bracket->met.load : fmin(bracket->met.load, root * exp(-half));
    enum kvsim_status status = KVSIM_OK;
    if (longer->root < root) // their one-sided interval is narrower than half of the two-sided one
        load = fmin(load, longer->root * exp(-longer->half));
    for (int i = 0; i < SURE_TRIES && status == KVSIM_OK && !(sure > 0); i++) {
        bool is_met;
        double rounded = study_plan_round(search, load);
        status = is_surely_met(search, longer, rounded, &is_met, err);
        if (is_met)
            sure = rounded;
        double next = load * 0.99;
        load = search->is_whole && study_plan_round(search, next) >= rounded ? rounded - 1 : next;
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

static void take_limit(struct study_plan_search *search, const struct study_plan_bracket *bracket)
{
    struct record_candidate *candidate = search->candidate;
    const struct record_probe *missed = find_probe(search, &bracket->missed);
    if (missed == NULL)
        return;
    const struct record_value *limit = &missed->summary[RECORD_BINDING_LIMIT];
    candidate->limit = missed->worst;
    candidate->binding_limit = limit->kind == RECORD_TEXT ? limit->text : "";
}

/* Each of what study_plan_half_width() needs, in the order of its being asked for. */
static const char *why_no_interval(const struct study_plan_search *search,
                                   const struct study_plan_bracket *bracket)
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
static void take_interval(struct study_plan_search *search,
                          const struct study_plan_bracket *bracket,
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
                                   const struct study_plan_bracket *bracket)
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
                                                  const struct study_plan_bracket *bracket)
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
static void take_bound(struct study_plan_search *search, const struct study_plan_bracket *bracket)
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
           !study_plan_is_quick(search);
}

static enum kvsim_status answer(struct study_plan_search *search,
                                const struct study_plan_bracket *bracket, double root, double half,
                                struct kvsim_error *err)
{
    struct study_plan_longer longer;
    enum kvsim_status status = KVSIM_OK;
    study_plan_longer_open(&longer, search);
    if (is_worth_longer(search, half))
        status = study_plan_longer_find(&longer, root, study_plan_slope(search, root), err);
    if (status == KVSIM_OK) {
        take_met(search, &bracket->met);
        take_interval(search, bracket, &longer, root, half);
        take_limit(search, bracket);
        status = find_sure_load(search, bracket, &longer, root, err);
    }
    study_plan_longer_close(&longer);
    return status;
}

static enum kvsim_status finish(struct study_plan_search *search,
                                struct study_plan_bracket *bracket, struct kvsim_error *err)
{
    double root, half;
    enum kvsim_status status = study_plan_settle(search, bracket, &root, &half, err);
    if (status != KVSIM_OK)
        return status;
    if (!study_plan_has_root(bracket)) {
        take_bound(search, bracket);
        return KVSIM_OK;
    }
    return answer(search, bracket, root, half, err);
}

enum kvsim_status study_plan_search(struct study_plan_search *search, struct kvsim_error *err)
{
    struct study_plan_bracket bracket;
    struct record_candidate *candidate = search->candidate;
    enum kvsim_status status = study_plan_find_ends(search, search->start, 2, &bracket, err);
    if (status != KVSIM_OK)
        return status;
    if (study_plan_has_root(&bracket)) {
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
