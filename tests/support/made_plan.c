#include "support/made_plan.h"

#include <math.h>

static const struct record_target targets[] = {
    {"tpot p99 <= 50 ms", 50, 30, 29, 31},
    {"tpot p99 <= 50 ms", 50, 49.5, 47, 52},
    {"tpot p99 <= 50 ms", 50, 61, 57, 65},
};

static void add_probes(struct record_candidate *best)
{
    static const double loads[] = {12, 16.2, 17};
    for (size_t i = 0; i < 3; i++) {
        struct record_probe probe = {.load = loads[i],
                                     .replicas = 1,
                                     .replications = 5,
                                     .is_met = i < 2,
                                     .is_met_surely = i < 1,
                                     .margin = 0.01 * ((double)i - 2),
                                     .run_id = 6 + (int64_t)i,
                                     .targets = &targets[i],
                                     .target_count = 1,
                                     .worst = "tpot p99 <= 50 ms"};
        base_vec_push(&best->probes, probe);
    }
}

static void add_growth(struct record_plan *plan)
{
    static const struct record_forecast rows[] = {{0, 40, 3, 8, 20}, {6, 53.6, 4, 10, 25}};
    plan->start = (struct record_date){2027, 1, 15};
    for (size_t i = 0; i < 2; i++)
        base_vec_push(&plan->forecast, rows[i]);
}

static void add_inputs(struct record_plan *plan)
{
    static const struct record_input rows[] = {
        {"demand", "40/s", RECORD_SPREAD_UNIFORM, 0.2, {0.8, 16.2, 0.5}, {1.2, 16.2, 0}},
        {"workload.output_tokens",
         "",
         RECORD_SPREAD_NORMAL,
         0.1,
         {0.9, 17, 0.26},
         {1.1, 15.4, 0.14}},
    };
    for (size_t i = 0; i < 2; i++)
        base_vec_push(&plan->inputs, rows[i]);
    plan->odds = (struct record_odds){.samples = 100,
                                      .met = 87,
                                      .undecided = 2,
                                      .probability = 0.87,
                                      .ci_low = 0.77,
                                      .ci_high = 0.94,
                                      .limit = "tpot p99 <= 50 ms",
                                      .limit_count = 13};
}

static struct record_candidate plain_candidate(void)
{
    double none = (double)NAN;
    return (struct record_candidate){.reason = "",
                                     .model = "m",
                                     .hardware = "h",
                                     .limit = "",
                                     .binding_limit = "",
                                     .no_interval = "",
                                     .missed_load = none,
                                     .base_replicas = 1,
                                     .gpus_per_replica = 2,
                                     .usd_per_gpu_hour = none,
                                     .ci_low = none,
                                     .ci_high = none,
                                     .max_rate = none,
                                     .usd_per_hour = none,
                                     .usd_per_mtok_output = none,
                                     .root = none,
                                     .half_width = none,
                                     .carried_load = none,
                                     .headroom = none,
                                     .headroom_low = none,
                                     .headroom_high = none,
                                     .gpu_hours_elastic = none,
                                     .gpu_hours_static = none,
                                     .longer_root = none,
                                     .months_to_breach = none,
                                     .months_low = none,
                                     .months_high = none};
}

void made_plan_init(struct record_plan *plan)
{
    record_plan_init(plan);
    plan->scenario = "made";
    plan->demand = 40;
    plan->confidence = 0.95;
    plan->half_width = 0.03;
    plan->growth_per_month = 0.05;
    plan->spare_replicas = 1;
    plan->axis_count = 1;
    plan->axes[0] = "hardware";
    plan->candidates = base_arena_array(&plan->arena, 2, sizeof *plan->candidates);
    plan->candidate_count = 2;
    struct record_candidate *best = &plan->candidates[0];
    *best = plain_candidate();
    best->values[0] = "h";
    best->max_load = best->max_rate = 16.2;
    best->ci_low = 15.9;
    best->ci_high = 16.5;
    best->root = 16.22;
    best->half_width = 0.0192;
    best->replications = 5;
    best->sure_load = best->counted_load = 16;
    best->carried_load = 48;
    best->headroom_low = 0.176;
    best->headroom_high = 0.22;
    best->limit = "tpot p99 <= 50 ms";
    best->binding_limit = "compute";
    best->replicas = 3;
    best->gpus = 8;
    best->is_verified = true;
    best->usd_per_gpu_hour = 2.5;
    best->usd_per_hour = 20;
    best->usd_per_mtok_output = 0.25;
    best->headroom = plan->headroom_as_stated = 0.2;
    best->months_to_breach = 3.7;
    best->months_low = 3.5;
    best->months_high = 3.9;
    add_probes(best);
    add_growth(plan);
    add_inputs(plan);
    plan->candidates[1] = plain_candidate();
    plan->candidates[1].values[0] = "small";
    plan->candidates[1].status = RECORD_CANDIDATE_REFUSED;
    plan->candidates[1].reason = "cannot start";
}

void made_plan_leave_open(struct record_plan *plan)
{
    struct record_candidate *best = &plan->candidates[0];
    double none = (double)NAN;
    best->status = RECORD_CANDIDATE_NOT_REACHED;
    best->reason = "too few requests";
    best->limit = best->binding_limit = "";
    best->root = best->ci_low = best->ci_high = best->half_width = none;
    best->headroom_low = best->headroom_high = best->months_low = best->months_high = none;
    best->sure_load = 0;
    best->is_verified = false;
    best->probes.at[2].is_met = best->probes.at[2].is_short = true;
}
