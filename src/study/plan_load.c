/*
 * The load of a scenario that a plan is about, and the demand that is to be carried.
 */
#include "study/plan_int.h"

#include <math.h>

double study_plan_stage_peak(const struct workload_stage *stage)
{
    double peak = fmax(stage->rate_per_s, stage->rate_end_per_s);
    return peak * (1 + fabs(stage->amplitude));
}

static void take_stages(const struct workload_spec *workload, struct record_plan *plan,
                        struct study_plan_load *out)
{
    out->stages = base_arena_array(&plan->arena, workload->stage_count + 1, sizeof *out->stages);
    out->stage_count = workload->stage_count;
    out->demand = 0;
    for (size_t i = 0; i < workload->stage_count; i++) {
        out->stages[i] = workload->stages[i];
        out->demand = fmax(out->demand, study_plan_stage_peak(&workload->stages[i]));
    }
    out->start = out->demand;
}

static bool has_sessions(const struct workload_spec *workload)
{
    for (size_t i = 0; i < workload->class_count; i++) {
        if (workload->classes[i].sessions != NULL)
            return true;
    }
    return false;
}

static enum kvsim_status take_trace(const struct workload_spec *workload,
                                    struct study_plan_load *out, struct kvsim_error *err)
{
    struct workload_trace_info info;
    out->load = RECORD_LOAD_SPEEDUP;
    out->can_replicate = false;
    out->start = out->demand = workload->speedup > 0 ? workload->speedup : 1;
    out->requests = 0; // all rows, whatever the number of replicas
    enum kvsim_status status =
        workload_trace_scan(workload->trace_path, workload->hash_block_tokens, &info, err);
    double span_s = status == KVSIM_OK ? (double)(info.last_ns - info.first_ns) / 1e9 : 0;
    out->natural_rate = span_s > 0 ? (double)(info.row_count - 1) / span_s : (double)NAN;
    return status;
}

enum kvsim_status study_plan_take_load(const struct serve_config *config, struct record_plan *plan,
                                       struct study_plan_load *out, struct kvsim_error *err)
{
    const struct workload_spec *workload = &config->workload;
    *out = (struct study_plan_load){.load = has_sessions(workload) ? RECORD_LOAD_SESSION_RATE
                                                                   : RECORD_LOAD_RATE,
                                    .can_replicate = true,
                                    .demand = (double)NAN};
    out->requests = workload->request_limit;
    out->start = 1;
    switch (workload->process) {
    case WORKLOAD_POISSON:
    case WORKLOAD_GAMMA:
    case WORKLOAD_WEIBULL:
    case WORKLOAD_DETERMINISTIC:
        if (isfinite(workload->rate_per_s))
            out->start = out->demand = workload->rate_per_s;
        return KVSIM_OK;
    case WORKLOAD_CLOSED_LOOP:
        out->load = RECORD_LOAD_CONCURRENCY;
        out->is_whole = true;
        out->start = out->demand = workload->concurrency;
        return KVSIM_OK;
    case WORKLOAD_TRACE:
        return take_trace(workload, out, err);
    case WORKLOAD_PROFILE:
        out->replaces_arrival = true;
        out->requests = workload->request_limit > 0 ? workload->request_limit : 10000;
        take_stages(workload, plan, out);
        return KVSIM_OK;
    case WORKLOAD_MMPP:
    case WORKLOAD_ALL_AT_ONCE:
    default:
        break;
    }
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_SCENARIO, "a plan needs arrivals that have a rate to be changed");
    base_error_key(err, "workload.arrival.process");
    base_error_hint(err, "poisson, gamma, weibull, deterministic, profile, closed_loop or trace");
    return status;
}

static enum kvsim_status fail_demand(const struct study_plan_request *request,
                                     const struct study_plan_load *load, struct kvsim_error *err)
{
    static const char *const forms[RECORD_LOAD_COUNT] = {
        "arrivals have a rate, such as 5/s", "a closed loop has clients, a whole number such as 64",
        "a trace has a speed, such as 1.5, or a rate, such as 5/s",
        "sessions come at a rate, such as 5/s"};
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_USAGE, "--demand: %s is not the load of this scenario: %s",
                  request->demand_text == NULL ? "it" : request->demand_text, forms[load->load]);
    base_error_at(err, "kvsim plan", 0, 0);
    base_error_key(err, "demand");
    return status;
}

/* The stated demand in the unit of the scenario's load. */
static enum kvsim_status read_demand(const struct study_plan_request *request,
                                     const struct study_plan_load *load, double *out,
                                     struct kvsim_error *err)
{
    *out = request->demand;
    switch (load->load) {
    case RECORD_LOAD_CONCURRENCY:
        if (request->demand_is_rate || *out < 1 || *out > STUDY_PLAN_CLIENTS_MAX ||
            *out > floor(*out))
            return fail_demand(request, load, err);
        break;
    case RECORD_LOAD_SPEEDUP:
        if (request->demand_is_rate)
            *out /= load->natural_rate;
        if (!(*out > 0) || !isfinite(*out))
            return fail_demand(request, load, err);
        break;
    case RECORD_LOAD_RATE:
    case RECORD_LOAD_SESSION_RATE:
    case RECORD_LOAD_COUNT:
    default:
        if (!request->demand_is_rate)
            return fail_demand(request, load, err);
    }
    return KVSIM_OK;
}

static enum kvsim_status fail_different(const struct record_plan *plan,
                                        const struct study_plan_load *load, double demand,
                                        struct kvsim_error *err)
{
    enum kvsim_status status = base_fail(
        err, KVSIM_ERR_USAGE,
        "the candidates have different demands, %.4g %s and %.4g %s: a plan compares them "
        "under one",
        plan->demand, record_load_unit(plan->load), demand, record_load_unit(load->load));
    base_error_at(err, "kvsim plan", 0, 0);
    base_error_key(err, "axis");
    base_error_hint(err, plan->load == load->load ? "--demand states one for all of them"
                                                  : "one plan for each kind of arrivals");
    return status;
}

enum kvsim_status study_plan_take_demand(const struct study_plan_request *request,
                                         const struct study_plan_load *load,
                                         struct record_plan *plan, struct kvsim_error *err)
{
    double demand = load->demand;
    enum kvsim_status status = KVSIM_OK;
    if (!isnan(request->demand))
        status = read_demand(request, load, &demand, err);
    if (status != KVSIM_OK)
        return status;
    bool is_same = plan->load == load->load &&
                   ((isnan(plan->demand) && isnan(demand)) || !(fabs(plan->demand - demand) > 0));
    if (plan->has_demand && !is_same)
        return fail_different(plan, load, demand, err);
    plan->has_demand = true;
    plan->load = load->load;
    plan->demand = demand;
    return KVSIM_OK;
}
