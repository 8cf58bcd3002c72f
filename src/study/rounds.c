#include "study/rounds.h"

#include <math.h>

/* How long a session lasts whose requests take so long each; of a workload without sessions one request. */
static double session_s(const struct workload_spec *workload, double request_s)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < workload->class_count; i++) {
        const struct workload_sessions *sessions = workload->classes[i].sessions;
        double lasts = request_s;
        if (sessions != NULL) {
            double turns = rng_dist_mean(&sessions->turns),
                   think = sessions->has_think ? rng_dist_mean(&sessions->think) : 0,
                   tool = sessions->has_tool ? rng_dist_mean(&sessions->tool) : 0;
            lasts = turns * request_s + (turns - 1) * (sessions->tool_share * tool +
                                                       (1 - sessions->tool_share) * think);
        }
        sum += workload->classes[i].weight * lasts;
        weights += workload->classes[i].weight;
    }
    return sum / weights;
}

double study_rounds(const struct workload_spec *workload, const struct record_run *run)
{
    double request_s = record_get_real(run, RECORD_E2E_MEAN) / 1e3;
    if (isnan(request_s))
        return 0;
    double round_s = workload_is_closed_loop(workload) ? request_s : session_s(workload, request_s);
    return fmin(record_get_real(run, RECORD_DURATION_S) / round_s,
                record_get_real(run, RECORD_REQUESTS));
}

bool study_is_short(const struct workload_spec *workload, const struct record_run *run)
{
    double rounds = study_rounds(workload, run);
    return workload_is_steady(workload) && rounds > 0 && rounds < STUDY_ROUNDS_LEAST;
}
