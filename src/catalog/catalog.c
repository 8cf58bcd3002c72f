#include "catalog/catalog.h"

#include "cost/ops.h"
#include "sched/sched.h"
#include "workload/workload.h"

#include <stddef.h>

static const struct base_policy *const schedulers[] = {&sched_vllm_v1, NULL};

static const struct base_policy *const cost_levels[] = {
    &cost_ops_datasheet.policy, &cost_ops_affine.policy, &cost_ops_fixed.policy, NULL};

const struct catalog_kind catalog_kinds[] = {
    {.name = "arrival", .key = "workload.arrival.process", .choices = workload_process_choices},
    {.name = "scheduler", .key = "engine.profile", .policies = schedulers},
    {.name = "cost", .key = "cost.level", .policies = cost_levels},
    {.name = NULL},
};
