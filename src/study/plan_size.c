/*
 * The fewest replicas for a demand, shown by runs where the cluster is small enough to be simulated whole.
 */
#include "study/plan_int.h"

#include <math.h>

enum { VERIFIED_MAX = 16, TRIES_MAX = 6 };

/* Met at the stated confidence; with one replication there is nothing but its word. */
static bool is_enough(const struct study_plan_point *point)
{
    return point->is_met_surely || (point->is_met && point->replications < 2);
}

static enum kvsim_status try_replicas(struct study_plan_search *search, double demand,
                                      int64_t replicas, bool *enough, struct kvsim_error *err)
{
    struct study_plan_point point;
    enum kvsim_status status = study_plan_ask(search, demand, replicas, &point, err);
    *enough = status == KVSIM_OK && is_enough(&point);
    return status;
}

/*
 * Up or down from the calculated number until one is enough and one less is not. Upwards it is given up at some point: the
 * calculated number has failed then, and so is no answer.
 */
static enum kvsim_status verify(struct study_plan_search *search, double demand, int64_t guess,
                                struct kvsim_error *err)
{
    struct record_candidate *candidate = search->candidate;
    int64_t replicas = guess, step = 0, most = guess + TRIES_MAX;
    candidate->replicas = 0;
    while (replicas >= 1 && replicas <= most) {
        bool enough;
        enum kvsim_status status = try_replicas(search, demand, replicas, &enough, err);
        if (status != KVSIM_OK)
            return status;
        if (enough) {
            candidate->replicas = replicas;
            candidate->is_verified = true;
        }
        if (step == 0)
            step = enough ? -1 : 1;
        else if (enough == (step > 0))
            return KVSIM_OK;
        replicas += step;
    }
    if (candidate->replicas == 0) {
        candidate->missed_from = guess;
        candidate->missed_to = most;
    }
    return KVSIM_OK;
}

/*
 * The load at which the configuration alone has this margin, from the curve, between its two nearest points; NaN where the
 * margin lies beyond them.
 */
static double load_of_margin(const struct study_plan_search *search, double margin)
{
    const struct study_plan_point *below = NULL, *above = NULL;
    for (size_t i = 0; i < search->points.count; i++) {
        const struct study_plan_point *point = &search->points.at[i];
        if (point->is_hard || !isfinite(point->margin))
            continue;
        if (point->margin <= margin && (below == NULL || point->margin > below->margin))
            below = point;
        if (point->margin > margin && (above == NULL || point->margin < above->margin))
            above = point;
    }
    if (below == NULL || above == NULL)
        return (double)NAN;
    double share = (margin - below->margin) / (above->margin - below->margin);
    return exp(log(below->load) + share * (log(above->load) - log(below->load)));
}

/* The margin that the demand's own run had; NaN without one. */
static double demand_margin(const struct record_candidate *candidate, double demand)
{
    for (size_t i = 0; i < candidate->probes.count; i++) {
        const struct record_probe *probe = &candidate->probes.at[i];
        if (probe->replicas == candidate->replicas && !(probe->load < demand) &&
            !(probe->load > demand))
            return probe->margin;
    }
    return (double)NAN;
}

/*
 * How much more the replicas carry. They share the load more evenly than one alone meets it, so their own run tells it: it
 * is as far from the root as one replica with the same margin. Without such a run, from what one carries.
 */
static double headroom(const struct study_plan_search *search, double demand)
{
    const struct record_candidate *candidate = search->candidate;
    double equivalent = candidate->is_verified
                            ? load_of_margin(search, demand_margin(candidate, demand))
                            : (double)NAN;
    if (!isnan(equivalent))
        return candidate->max_load / equivalent - 1;
    return candidate->sure_load / (double)candidate->base_replicas * (double)candidate->replicas /
               demand -
           1;
}

/* Months of growth until the demand is `factor` times what it is. */
static double months_until(double factor, double growth)
{
    return log(fmax(factor, 1)) / log1p(growth);
}

static void price(struct study_plan_search *search, double demand)
{
    struct record_candidate *candidate = search->candidate;
    candidate->gpus =
        (candidate->replicas + search->request->spare_replicas) * candidate->gpus_per_replica;
    candidate->usd_per_hour = candidate->usd_per_gpu_hour * (double)candidate->gpus;
    candidate->headroom = headroom(search, demand);
    double growth = search->request->growth_per_month;
    if (!(growth > 0))
        return;
    double carried = 1 + candidate->headroom;
    candidate->months_to_breach = months_until(carried, growth);
    if (isnan(candidate->ci_low) || !(candidate->max_load > 0))
        return;
    candidate->months_low = months_until(carried * candidate->ci_low / candidate->max_load, growth);
    candidate->months_high =
        months_until(carried * candidate->ci_high / candidate->max_load, growth);
}

/* Dollars per million output tokens as the demand's own run has them, spare replicas included. */
static void price_tokens(struct study_plan_search *search, double demand)
{
    struct record_candidate *candidate = search->candidate;
    for (size_t i = 0; i < candidate->probes.count; i++) {
        const struct record_probe *probe = &candidate->probes.at[i];
        const struct record_value *output = &probe->summary[RECORD_OUTPUT_THROUGHPUT];
        bool is_it = probe->replicas == candidate->replicas && !(probe->load < demand) &&
                     !(probe->load > demand);
        if (is_it && output->kind == RECORD_REAL && output->real > 0)
            candidate->usd_per_mtok_output = candidate->usd_per_hour / 3600 / output->real * 1e6;
    }
}

enum kvsim_status study_plan_size(struct study_plan_search *search, double demand,
                                  struct kvsim_error *err)
{
    struct record_candidate *candidate = search->candidate;
    if (!(demand > 0) || !isfinite(demand) || !(candidate->sure_load > 0))
        return KVSIM_OK;
    double per_replica = candidate->sure_load / (double)candidate->base_replicas;
    double needed = ceil(demand / per_replica - 1e-9);
    if (needed > 1e6)
        return KVSIM_OK;
    enum kvsim_status status = KVSIM_OK;
    int64_t guess = needed < 1 ? 1 : (int64_t)needed;
    candidate->replicas = guess;
    search->replications = 0; // as the scenario says
    if (guess <= VERIFIED_MAX && candidate->status == RECORD_CANDIDATE_OK)
        status = verify(search, demand, guess, err);
    if (status == KVSIM_OK && candidate->replicas > 0) {
        price(search, demand);
        price_tokens(search, demand);
    }
    return status;
}

void study_plan_forecast(struct record_plan *plan, const struct record_candidate *best)
{
    static const int months[] = {0, 1, 2, 3, 6, 9, 12, 18, 24, 36};
    if (!(plan->growth_per_month > 0) || best->replicas == 0)
        return;
    double per_replica = plan->demand * (1 + best->headroom) / (double)best->replicas;
    for (size_t i = 0; i < sizeof months / sizeof *months; i++) {
        struct record_forecast row = {.months = months[i]};
        row.demand = plan->demand * pow(1 + plan->growth_per_month, months[i]);
        double needed = ceil(row.demand / per_replica - 1e-9);
        if (!(needed < 1e6))
            return;
        row.replicas = needed > (double)best->replicas ? (int64_t)needed : best->replicas;
        row.gpus = (row.replicas + plan->spare_replicas) * best->gpus_per_replica;
        row.usd_per_hour = best->usd_per_gpu_hour * (double)row.gpus;
        base_vec_push(&plan->forecast, row);
    }
}
