/*
 * The fewest replicas for a demand, shown by runs where the cluster is small enough to be simulated whole.
 */
#include "study/plan_int.h"

#include <math.h>

enum { VERIFIED_MAX = 16, TRIES_MAX = 6 };

#define CARRIED_FACTOR 1.1     /* of the first steps from the demand */
#define CARRIED_TOLERANCE 0.01 /* of what several replicas carry, relative */

/* Met at the stated confidence; where runs have no spread there is nothing but their word. */
static bool is_enough(const struct study_plan_point *point)
{
    return study_plan_is_carried(point) && (point->is_met_surely || !point->has_spread);
}

/* A search of its own with so many replicas; of the base's it is the search itself. */
static void set_replicas(struct study_plan_search *search, int64_t replicas)
{
    search->replicas = replicas == search->candidate->base_replicas ? 0 : replicas;
}

static enum kvsim_status try_replicas(struct study_plan_search *search, double demand,
                                      int64_t replicas, bool *enough, struct kvsim_error *err)
{
    struct study_plan_point point;
    set_replicas(search, replicas);
    enum kvsim_status status = study_plan_ask(search, demand, &point, err);
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

/* What the replicas carry if each carries what the configuration's own do. */
static double calculated_load(const struct record_candidate *candidate)
{
    return candidate->max_load / (double)candidate->base_replicas * (double)candidate->replicas;
}

/*
 * The interval is that of the search with all replicas, `half` to both sides, and has the bias that longer runs of the
 * configuration's own answer showed; without one it is that of this answer, which is another one only in its scale: whoever
 * divides the loads that are shown by the demand finds the same.
 */
static void fill_headroom(struct record_candidate *candidate, double demand, double half)
{
    double relative = candidate->carried_load / demand, low, high;
    candidate->headroom = relative - 1;
    if (isnan(candidate->ci_low) || !(candidate->root > 0))
        return;
    double answer = candidate->carried_is_found ? candidate->root : candidate->max_load;
    low = candidate->ci_low / answer;
    high = candidate->ci_high / answer;
    if (!isnan(half)) {
        double bias = isnan(candidate->longer_root) ? 1 : candidate->longer_root / candidate->root;
        low = fmin(low, exp(-half) * fmin(bias, 1));
        high = fmax(high, exp(half) * fmax(bias, 1));
    }
    candidate->headroom_low = relative * low - 1;
    candidate->headroom_high = relative * high - 1;
}

/*
 * Several replicas share the load more evenly than one meets it, so that they carry more than they would each for
 * themselves: the root is looked for with all of them, from the demand that their own run has met.
 */
static enum kvsim_status find_carried(struct study_plan_search *search, double demand,
                                      struct kvsim_error *err)
{
    struct record_candidate *candidate = search->candidate;
    double root = (double)NAN, half = (double)NAN, start = search->start,
           tolerance = search->tolerance;
    enum kvsim_status status = KVSIM_OK;
    set_replicas(search, candidate->replicas);
    if (candidate->is_verified && search->replicas > 0 &&
        candidate->status == RECORD_CANDIDATE_OK) {
        search->start = demand;
        search->tolerance = CARRIED_TOLERANCE;
        status = study_plan_root(search, CARRIED_FACTOR, &root, &half, err);
        search->start = start;
        search->tolerance = tolerance;
    }
    candidate->carried_is_found = root > 0;
    candidate->carried_load = root > 0 ? root : calculated_load(candidate);
    if (candidate->is_verified) // a run has met the demand, whatever is calculated
        candidate->carried_load = fmax(candidate->carried_load, demand);
    fill_headroom(candidate, demand, root > 0 ? half : (double)NAN);
    return status;
}

/* Months of growth until the demand is `factor` times what it is. */
static double months_until(double factor, double growth)
{
    return isnan(factor) ? factor : log(fmax(factor, 1)) / log1p(growth);
}

static void price(const struct study_plan_search *search)
{
    struct record_candidate *candidate = search->candidate;
    candidate->gpus =
        (candidate->replicas + search->request->spare_replicas) * candidate->gpus_per_replica;
    candidate->usd_per_hour = candidate->usd_per_gpu_hour * (double)candidate->gpus;
    double growth = search->request->growth_per_month;
    if (!(growth > 0))
        return;
    candidate->months_to_breach = months_until(1 + candidate->headroom, growth);
    candidate->months_low = months_until(1 + candidate->headroom_low, growth);
    candidate->months_high = months_until(1 + candidate->headroom_high, growth);
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
    if (!(demand > 0) || !isfinite(demand) || !(candidate->counted_load > 0))
        return KVSIM_OK;
    double needed =
        ceil(demand / (candidate->counted_load / (double)candidate->base_replicas) - 1e-9);
    if (needed > RECORD_REPLICAS_MAX)
        return KVSIM_OK;
    enum kvsim_status status = KVSIM_OK;
    int64_t guess = needed < 1 ? 1 : (int64_t)needed;
    candidate->replicas = guess;
    search->replications = 0; // as the scenario says
    if (guess <= VERIFIED_MAX)
        status = verify(search, demand, guess, err);
    if (status == KVSIM_OK && candidate->replicas > 0)
        status = find_carried(search, demand, err);
    search->replicas = 0;
    if (status == KVSIM_OK && candidate->replicas > 0) {
        price(search);
        price_tokens(search, demand);
    }
    return status;
}

void study_plan_forecast(struct record_plan *plan, const struct record_candidate *best)
{
    static const int months[] = {0, 1, 2, 3, 6, 9, 12, 18, 24, 36};
    if (!(plan->growth_per_month > 0) || best->replicas == 0)
        return;
    double per_replica = best->carried_load / (double)best->replicas;
    for (size_t i = 0; i < sizeof months / sizeof *months; i++) {
        struct record_forecast row = {.months = months[i]};
        row.demand = plan->demand * pow(1 + plan->growth_per_month, months[i]);
        double needed = ceil(row.demand / per_replica - 1e-9);
        if (needed > RECORD_REPLICAS_MAX)
            return;
        row.replicas = needed > (double)best->replicas ? (int64_t)needed : best->replicas;
        row.gpus = (row.replicas + plan->spare_replicas) * best->gpus_per_replica;
        row.usd_per_hour = best->usd_per_gpu_hour * (double)row.gpus;
        base_vec_push(&plan->forecast, row);
    }
}
