#include "workload/arrivals.h"

const struct workload_arrival_ops *const workload_arrivals[] = {
    &workload_arrival_poisson, &workload_arrival_gamma,
    &workload_arrival_weibull, &workload_arrival_deterministic,
    &workload_arrival_mmpp,    &workload_arrival_profile,
    &workload_arrival_at_once, &workload_arrival_closed_loop,
    &workload_arrival_trace,   NULL,
};

const struct base_choice workload_process_choices[] = {
    {"poisson", WORKLOAD_POISSON, "independent arrivals at a constant rate"},
    {"gamma", WORKLOAD_GAMMA, "gamma-distributed gaps of a given burstiness"},
    {"weibull", WORKLOAD_WEIBULL, "weibull-distributed gaps of a given cv"},
    {"deterministic", WORKLOAD_DETERMINISTIC, "equal gaps"},
    {"mmpp", WORKLOAD_MMPP, "a rate that changes at random between states"},
    {"profile", WORKLOAD_PROFILE, "a rate that follows stages over time"},
    {"all_at_once", WORKLOAD_ALL_AT_ONCE, "every request at time 0"},
    {"closed_loop", WORKLOAD_CLOSED_LOOP, "clients that wait for their answer"},
    {"trace", WORKLOAD_TRACE, "arrivals and lengths from a file"},
    {0},
};

const struct workload_arrival_ops *workload_arrival_find(const char *name)
{
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        if (base_key_equal(workload_arrivals[i]->policy.name, name))
            return workload_arrivals[i];
    }
    return NULL;
}
