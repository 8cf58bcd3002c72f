#include "catalog/catalog.h"

#include "cost/fields.h"
#include "kv/evict.h"
#include "kv/reserve.h"
#include "sched/sched.h"
#include "workload/workload.h"

#include <stddef.h>
#include <string.h>

static const struct sched_ops *const scheduler_ops[] = {&sched_vllm_v1, &sched_vllm_v0, &sched_orca,
                                                        &sched_llama_cpp, NULL};
static const struct base_policy *const schedulers[] = {&sched_vllm_v1.policy, &sched_vllm_v0.policy,
                                                       &sched_orca.policy, &sched_llama_cpp.policy,
                                                       NULL};

const struct base_choice catalog_routers[] = {
    {"round_robin", 0, "replicas in turn"},
    {"least_outstanding", 1, "the replica with the fewest requests in flight; ties go round"},
    {NULL, 0, NULL},
};

const struct catalog_kind catalog_kinds[] = {
    {.name = "arrival", .key = "workload.arrival.process", .choices = workload_process_choices},
    {.name = "scheduler", .key = "engine.profile", .policies = schedulers},
    {.name = "kv", .key = "engine.kv_policy", .choices = kv_policy_choices},
    {.name = "kv_eviction", .key = "engine.kv_eviction", .choices = kv_eviction_choices},
    {.name = "kv_placement", .key = "engine.kv_placement", .choices = kv_placement_choices},
    {.name = "router", .key = "cluster.router", .choices = catalog_routers},
    {.name = "cost", .key = "cost.level", .choices = cost_level_choices},
    {.name = NULL},
};

// Schedulers of profiles that are sized, not simulated: what is known of them.
static const struct {
    const char *name;
    bool admits_by_end;
} sized_schedulers[] = {{"trtllm", true}}; // GUARANTEED_NO_EVICT

bool catalog_admits_by_end(const char *name)
{
    for (size_t i = 0; i < sizeof sized_schedulers / sizeof *sized_schedulers; i++) {
        if (strcmp(sized_schedulers[i].name, name) == 0)
            return sized_schedulers[i].admits_by_end;
    }
    return false;
}

const struct sched_ops *catalog_scheduler(const char *name)
{
    for (size_t i = 0; scheduler_ops[i] != NULL; i++) {
        if (strcmp(scheduler_ops[i]->policy.name, name) == 0)
            return scheduler_ops[i];
    }
    return NULL;
}
