/*
 * plan_root.c - the root of the worst target's margin, found on noisy runs, and how far off it may lie.
 */
#include "study/plan_root.h"

#include "stats/paired.h"

#include <math.h>

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
    SHARPEN_MAX = 3
};

bool study_plan_is_quick(const struct study_plan_search *search)
{
    return !(search->request->half_width < QUICK);
}

bool study_plan_has_root(const struct study_plan_bracket *bracket)
{
    return bracket->has_met && bracket->has_missed && !bracket->missed.is_short;
}

static void take(struct study_plan_bracket *bracket, const struct study_plan_point *point)
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
                                      struct study_plan_bracket *bracket, struct kvsim_error *err)
{
    struct study_plan_point point;
    double load = study_plan_round(search, start);
    enum kvsim_status status = study_plan_ask(search, load, &point, err);
    for (int i = 0; status == KVSIM_OK && i < DOUBLINGS_MAX; i++) {
        bool is_carried = study_plan_is_carried(&point);
        take(bracket, &point);
        if ((bracket->has_met && bracket->has_missed) || (!is_carried && i == HALVINGS_MAX))
            break;
        double next = study_plan_round(search, is_carried ? fmin(load * factor, search->most)
                                                          : load / factor);
        if (!(next < load) && !(next > load))
            break; // one client is the least there is
        load = next;
        status = study_plan_ask(search, load, &point, err);
    }
    if (status == KVSIM_OK)
        take(bracket, &point);
    return status;
}

static bool is_closed(const struct study_plan_search *search,
                      const struct study_plan_bracket *bracket)
{
    if (search->is_whole && bracket->missed.load - bracket->met.load < 1.5)
        return true;
    double tolerance =
        bracket->missed.is_short ? fmax(LOOSE, search->tolerance) : search->tolerance;
    return bracket->missed.load < bracket->met.load * (1 + tolerance);
}

/* Where the straight line between both ends crosses; NaN where an end says no more than "beyond". */
static double secant(const struct study_plan_bracket *bracket)
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
static double next_load(const struct study_plan_bracket *bracket, double tolerance, int step)
{
    double low = log(bracket->met.load), high = log(bracket->missed.load), width = high - low;
    double root = log(secant(bracket)), at = low + width / 2;
    if (!isnan(root) && step % 3 != 2)
        at = root + (step % 2 == 0 ? 0.45 : -0.45) * tolerance;
    return exp(fmin(fmax(at, low + 0.05 * width), high - 0.05 * width));
}

static enum kvsim_status close_bracket(struct study_plan_search *search,
                                       struct study_plan_bracket *bracket, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (int step = 0; step < STEPS_MAX && status == KVSIM_OK && !is_closed(search, bracket);
         step++) {
        double load = study_plan_round(search, next_load(bracket, search->tolerance, step));
        struct study_plan_point point;
        if (!(load > bracket->met.load) || !(load < bracket->missed.load)) {
            load = study_plan_round(search, sqrt(bracket->met.load * bracket->missed.load));
            if (!(load > bracket->met.load) || !(load < bracket->missed.load))
                break;
        }
        status = study_plan_ask(search, load, &point, err);
        if (status == KVSIM_OK)
            take(bracket, &point);
    }
    return status;
}

enum kvsim_status study_plan_find_ends(struct study_plan_search *search, double start,
                                       double factor, struct study_plan_bracket *bracket,
                                       struct kvsim_error *err)
{
    *bracket = (struct study_plan_bracket){.has_met = false};
    enum kvsim_status status = find_bracket(search, start, factor, bracket, err);
    if (status == KVSIM_OK && bracket->has_met && bracket->has_missed)
        status = close_bracket(search, bracket, err);
    return status;
}

/* ---- the interval ---- */

/* The root between two close ends. */
static double root_of(const struct study_plan_search *search,
                      const struct study_plan_bracket *bracket)
{
    double root = secant(bracket);
    if (search->is_whole || isnan(root))
        return bracket->met.load;
    return root;
}

/* Least squares over the probes near the root. */
double study_plan_slope(const struct study_plan_search *search, double root)
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
        double load = study_plan_round(search, root * factors[i]);
        status = study_plan_ask(search, load, &point, err);
    }
    return status;
}

double study_plan_half_width(const struct study_plan_search *search,
                             const struct study_plan_bracket *bracket, double root,
                             double probability)
{
    const struct study_plan_point *at = &bracket->met;
    double slope = study_plan_slope(search, root);
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
    double needed = !study_plan_is_quick(search) ? REPLICATIONS_LEAST : 0;
    if (half > wanted)
        needed =
            fmax(needed, ceil((double)now * (half / (0.9 * wanted)) * (half / (0.9 * wanted))));
    return needed < 1e9 ? (int64_t)needed : (int64_t)1e9;
}

/* More replications until the interval is as narrow as asked for: the root is looked for again near the first one. */
static enum kvsim_status sharpen(struct study_plan_search *search,
                                 struct study_plan_bracket *bracket, double *root, double *half,
                                 struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    int64_t most = bracket->met.replications * REPLICATIONS_FACTOR;
    for (int i = 0; i < SHARPEN_MAX && search->can_replicate && !isnan(*half); i++) {
        int64_t now = bracket->met.replications, needed = count_needed(search, now, *half);
        if (needed <= now || now >= most)
            break;
        struct study_plan_bracket sharper;
        search->replications = needed < most ? needed : most;
        status = study_plan_find_ends(search, *root, 1 + fmin(*half, 0.5), &sharper, err);
        bool is_bound = sharper.has_met && sharper.missed.is_short;
        if (status != KVSIM_OK || (!study_plan_has_root(&sharper) && !is_bound)) {
            search->replications = now; // the answer stays that of fewer
            break;
        }
        *bracket = sharper;
        if (is_bound)
            break;
        *root = root_of(search, bracket);
        status = ask_curve(search, *root, err);
        *half = study_plan_half_width(search, bracket, *root, two_sided(search));
    }
    return status;
}

enum kvsim_status study_plan_settle(struct study_plan_search *search,
                                    struct study_plan_bracket *bracket, double *root, double *half,
                                    struct kvsim_error *err)
{
    *root = root_of(search, bracket);
    *half = (double)NAN;
    enum kvsim_status status = ask_curve(search, *root, err);
    if (status != KVSIM_OK)
        return status;
    *half = study_plan_half_width(search, bracket, *root, two_sided(search));
    return sharpen(search, bracket, root, half, err);
}

enum kvsim_status study_plan_root(struct study_plan_search *search, double factor, double *root,
                                  double *half, struct kvsim_error *err)
{
    struct study_plan_bracket bracket;
    enum kvsim_status status = study_plan_find_ends(search, search->start, factor, &bracket, err);
    bool is_found = status == KVSIM_OK && study_plan_has_root(&bracket);
    *root = (double)NAN;
    if (half != NULL)
        *half = is_found ? study_plan_half_width(search, &bracket, root_of(search, &bracket),
                                                 two_sided(search))
                         : (double)NAN;
    if (is_found)
        *root = root_of(search, &bracket);
    else if (status == KVSIM_OK && !bracket.has_met && !bracket.missed.is_short)
        *root = 0;
    return status;
}
