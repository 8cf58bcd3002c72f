/*
 * plan_ask.c - one load asked, and remembered: no load is asked twice.
 */
#include "study/plan_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double study_plan_round(const struct study_plan_search *search, double load)
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
