/*
 * Whether runs longer than the scenario's say the same.
 *
 * A queue near its limit takes longer to fill than a run may last: percentiles of a run that begins empty lie below those of
 * the steady state, and no number of replications shows it. So runs four times as long are asked near the answer. Where they
 * put the highest load elsewhere the answer's interval holds that too, and where runs without end would put it; what counts as
 * surely met is met by the longer runs as well.
 */
#include "study/plan_int.h"

#include "stats/paired.h"

#include <math.h>
#include <string.h>

enum { LONGER = 4, STEPS_MAX = 5 };

#define NEAR 0.01      /* of the root: the slope tells the rest */
#define STRIDE_MAX 0.1 /* of one step */

void study_plan_longer_open(struct study_plan_longer *longer,
                            const struct study_plan_search *search)
{
    // Runs of their own: not to be mixed up with those of the answer, nor listed among them.
    longer->candidate = *search->candidate;
    longer->search = *search;
    longer->search.candidate = &longer->candidate;
    longer->search.base.requests = search->base.requests * LONGER;
    memset(&longer->candidate.probes, 0, sizeof longer->candidate.probes);
    memset(&longer->search.points, 0, sizeof longer->search.points);
    longer->root = longer->half = (double)NAN;
}

void study_plan_longer_close(struct study_plan_longer *longer)
{
    base_vec_free(&longer->candidate.probes);
    base_vec_free(&longer->search.points);
}

enum kvsim_status study_plan_longer_find(struct study_plan_longer *longer, double root,
                                         double slope, struct kvsim_error *err)
{
    const struct study_plan_search *search = &longer->search;
    double load = root, step = NEAR;
    for (int i = 0; i < STEPS_MAX && !(step < NEAR); i++) {
        struct study_plan_point point;
        double asked = search->is_whole ? fmax(1, floor(load + 0.5)) : load;
        enum kvsim_status status = study_plan_ask(&longer->search, asked, &point, err);
        if (status != KVSIM_OK)
            return status;
        bool has_margin = !point.is_hard && isfinite(point.margin);
        double move = has_margin ? -point.margin / slope : -STRIDE_MAX / 2;
        move = fmin(fmax(move, -STRIDE_MAX), STRIDE_MAX);
        load = asked * exp(move);
        step = fabs(move);
        longer->root = load;
        longer->half = has_margin && point.replications > 1
                           ? stats_t_quantile(0.5 + 0.5 * search->request->confidence,
                                              (double)(point.replications - 1)) *
                                 point.standard_error / slope
                           : 0;
    }
    return KVSIM_OK;
}

/* What a beginning without a queue takes off is spread over the run's length: it falls with one over that. */
double study_plan_longer_steady(const struct study_plan_longer *longer, double root)
{
    return longer->root + (longer->root - root) / (LONGER - 1);
}

enum kvsim_status study_plan_longer_met(struct study_plan_longer *longer, double load, bool *is_met,
                                        struct kvsim_error *err)
{
    struct study_plan_point point;
    enum kvsim_status status = study_plan_ask(&longer->search, load, &point, err);
    *is_met = status == KVSIM_OK && study_plan_is_carried(&point) && point.is_met_surely;
    return status;
}
