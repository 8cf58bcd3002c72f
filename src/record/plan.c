#include "record/plan.h"

#include "base/error.h"

const char *record_load_name(enum record_load load)
{
    static const char *const names[] = {"rate", "concurrency", "speedup"};
    base_require((unsigned)load < sizeof names / sizeof *names);
    return names[load];
}

const char *record_candidate_status_name(enum record_candidate_status status)
{
    static const char *const names[RECORD_CANDIDATE_STATUS_COUNT] = {"ok", "none", "unbounded",
                                                                     "refused"};
    base_require((unsigned)status < RECORD_CANDIDATE_STATUS_COUNT);
    return names[status];
}

void record_plan_init(struct record_plan *plan)
{
    *plan = (struct record_plan){.scenario = ""};
    base_arena_init(&plan->arena);
}

void record_plan_free(struct record_plan *plan)
{
    for (size_t i = 0; i < plan->candidate_count; i++)
        base_vec_free(&plan->candidates[i].probes);
    base_vec_free(&plan->stages);
    base_arena_release(&plan->arena);
}
