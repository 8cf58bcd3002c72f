/*
 * Candidates one after the other, each with its highest load and its size for the demand; then the order of merit.
 */
#include "study/plan.h"

#include "study/cell.h"
#include "study/memo.h"
#include "study/plan_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0.004 /* of the bracket about the highest load, relative */

static const char *copy(struct record_plan *plan, const char *text)
{
    return base_arena_copy(&plan->arena, text == NULL ? "" : text);
}

/* ---- candidates ---- */

static void init_candidate(struct record_candidate *candidate)
{
    double none = (double)NAN;
    *candidate = (struct record_candidate){.reason = "",
                                           .model = "",
                                           .hardware = "",
                                           .limit = "",
                                           .binding_limit = "",
                                           .no_interval = "",
                                           .missed_load = none,
                                           .usd_per_gpu_hour = none,
                                           .root = none,
                                           .longer_root = none,
                                           .ci_low = none,
                                           .ci_high = none,
                                           .half_width = none,
                                           .max_rate = none,
                                           .usd_per_hour = none,
                                           .usd_per_mtok_output = none,
                                           .carried_load = none,
                                           .headroom = none,
                                           .headroom_low = none,
                                           .headroom_high = none,
                                           .gpu_hours_elastic = none,
                                           .gpu_hours_static = none,
                                           .months_to_breach = none,
                                           .months_low = none,
                                           .months_high = none};
}

struct candidate_work {
    const struct study_plan_request *request;
    struct record_plan *plan;
    size_t index;
    struct study_overrides overrides;
    struct study_plan_load load;
    struct study_plan_search search;
    bool is_strict; /* what an engine does not have together is a fault, not a refusal */
};

static void take_config(struct candidate_work *work, struct record_candidate *candidate,
                        const struct serve_config *config)
{
    candidate->model = copy(work->plan, config->model_name);
    candidate->hardware = copy(work->plan, config->hardware_name);
    candidate->base_replicas = config->replica_count;
    candidate->gpus_per_replica = config->gpu_count_per_replica;
    if (config->usd_per_gpu_hour > 0)
        candidate->usd_per_gpu_hour = config->usd_per_gpu_hour;
    if (work->plan->scenario[0] == '\0')
        work->plan->scenario = copy(work->plan, config->name);
}

/* The candidate's overrides; `context` among the axes needs the scenario without them first. */
static enum kvsim_status fill_overrides(struct candidate_work *work, struct kvsim_diags *diags,
                                        const char **refusal, struct kvsim_error *err)
{
    const struct study_plan_request *request = work->request;
    struct study_base_facts facts, *known = NULL;
    *refusal = NULL;
    for (size_t i = 0; i < request->override_count; i++)
        base_vec_push(&work->overrides, request->overrides[i]);
    if (request->axes == NULL)
        return KVSIM_OK;
    if (study_axes_has(request->axes, STUDY_AXIS_CONTEXT)) {
        struct study_cell cell = {.path = request->path,
                                  .text = request->text,
                                  .overrides = work->overrides.at,
                                  .override_count = work->overrides.count,
                                  .rows_unwanted = true};
        study_cell_resolve(&cell);
        enum kvsim_status status = KVSIM_OK;
        if (cell.scenario != NULL) {
            study_base_facts_take(scenario_config(cell.scenario), &facts);
            known = &facts;
        } else if (cell.diags != NULL) {
            *diags = *cell.diags;
            *err = diags->at[0];
            status = cell.status;
        }
        study_cell_release(&cell);
        if (status != KVSIM_OK)
            return status;
    }
    study_axes_overrides(request->axes, work->index, known, &work->plan->arena, &work->overrides,
                         refusal);
    return KVSIM_OK;
}

static void refuse(struct candidate_work *work, const char *reason)
{
    struct record_candidate *candidate = &work->plan->candidates[work->index];
    candidate->status = RECORD_CANDIDATE_REFUSED;
    candidate->reason = copy(work->plan, reason);
    candidate->replicas = 0; // the load of the demand may be what it cannot be started for
}

static enum kvsim_status resolve(struct candidate_work *work, struct kvsim_diags *diags,
                                 struct kvsim_error *err)
{
    struct record_candidate *candidate = &work->plan->candidates[work->index];
    struct study_cell cell = {.path = work->request->path,
                              .text = work->request->text,
                              .overrides = work->overrides.at,
                              .override_count = work->overrides.count,
                              .axis_count = work->overrides.count - work->request->override_count,
                              .rows_unwanted = true};
    study_cell_resolve(&cell);
    enum kvsim_status status = KVSIM_OK;
    bool is_one_of_many = work->plan->candidate_count > 1 && !work->is_strict;
    if (cell.state == STUDY_CELL_INVALID && !(is_one_of_many && study_cell_refuse_misfit(&cell))) {
        *diags = *cell.diags;
        *err = diags->at[0];
        status = cell.status;
    }
    if (cell.state == STUDY_CELL_REFUSED)
        refuse(work, cell.reason);
    if (cell.scenario != NULL) {
        const struct serve_config *config = scenario_config(cell.scenario);
        take_config(work, candidate, config);
        status = study_plan_take_load(config, work->plan, &work->load, err);
        if (status != KVSIM_OK)
            base_error_at(err, work->request->path, 0, 0);
    }
    study_cell_release(&cell);
    return status;
}

static void begin_search(struct candidate_work *work, struct kvsim_diags *diags)
{
    const struct study_plan_request *request = work->request;
    struct record_candidate *candidate = &work->plan->candidates[work->index];
    work->search = (struct study_plan_search){
        .request = request,
        .plan = work->plan,
        .candidate = candidate,
        .base = {.path = request->path,
                 .memo = request->memo,
                 .text = request->text,
                 .overrides = work->overrides.at,
                 .override_count = work->overrides.count,
                 .load = work->load.load,
                 .replaces_arrival = work->load.replaces_arrival,
                 .requests = work->load.requests,
                 .base_replicas = candidate->base_replicas,
                 .jobs = request->jobs,
                 .executor = request->executor,
                 .store = request->store,
                 .confidence = request->confidence},
        .diags = diags,
        .candidate_number = work->index + 1,
        .is_whole = work->load.is_whole,
        .can_replicate = work->load.can_replicate,
        .start = work->load.start,
        .tolerance = TOLERANCE,
        .most = work->load.is_whole ? STUDY_PLAN_CLIENTS_MAX : HUGE_VAL,
    };
}

/* What the profile's stages take, each by its peak; elastic: replicas follow the stages. */
static void size_stages(struct candidate_work *work, struct record_candidate *candidate)
{
    double per_replica = candidate->counted_load / (double)candidate->base_replicas;
    double total_s = 0, elastic_s = 0, requests = 0;
    if (work->load.stage_count == 0 || !(per_replica > 0) || candidate->replicas == 0)
        return;
    for (size_t i = 0; i < work->load.stage_count; i++) {
        const struct workload_stage *stage = &work->load.stages[i];
        double seconds = (double)stage->duration_ns / 1e9;
        double replicas = fmax(1, ceil(study_plan_stage_peak(stage) / per_replica - 1e-9));
        double end = stage->rate_end_per_s > 0 ? stage->rate_end_per_s : stage->rate_per_s;
        total_s += seconds;
        requests += seconds * (stage->rate_per_s + end) / 2; // waves go up as far as down
        elastic_s += seconds * replicas;
    }
    double gpus = (double)candidate->gpus_per_replica;
    candidate->gpu_hours_elastic = elastic_s * gpus / 3600;
    candidate->gpu_hours_static = total_s * (double)candidate->gpus / 3600;
    // The price of the peak's own run, for the tokens that the GPUs bring over the whole profile.
    if (requests > 0)
        candidate->usd_per_mtok_output *= work->load.demand / (requests / total_s);
}

/* Ready to search, or refused. */
static enum kvsim_status prepare(struct candidate_work *work, struct kvsim_diags *diags,
                                 struct kvsim_error *err)
{
    const char *refusal;
    enum kvsim_status status = fill_overrides(work, diags, &refusal, err);
    if (status == KVSIM_OK && refusal != NULL)
        refuse(work, refusal);
    else if (status == KVSIM_OK)
        status = resolve(work, diags, err);
    if (status == KVSIM_OK)
        begin_search(work, diags);
    return status;
}

/* What can be told without a run: that it starts, under what demand, and that its uncertain inputs stay in range. */
static enum kvsim_status look_ahead(struct candidate_work *work, struct kvsim_diags *diags,
                                    struct kvsim_error *err)
{
    enum kvsim_status status = prepare(work, diags, err);
    if (status != KVSIM_OK ||
        work->plan->candidates[work->index].status == RECORD_CANDIDATE_REFUSED)
        return status;
    status = study_plan_take_demand(work->request, &work->load, work->plan, err);
    return status == KVSIM_OK ? study_plan_check_doubt(&work->search, err) : status;
}

static enum kvsim_status do_candidate(struct candidate_work *work, struct kvsim_diags *diags,
                                      struct kvsim_error *err)
{
    struct record_plan *plan = work->plan;
    struct record_candidate *candidate = &plan->candidates[work->index];
    if (candidate->status == RECORD_CANDIDATE_REFUSED)
        return KVSIM_OK;
    enum kvsim_status status = prepare(work, diags, err);
    if (status == KVSIM_OK)
        status = study_plan_search(&work->search, err);
    if (status == KVSIM_OK)
        status = study_plan_size(&work->search, plan->demand, err);
    if (status == KVSIM_ERR_REFUSED) { // met with a load that the engine cannot be started for
        refuse(work, err->message);
        status = KVSIM_OK;
    }
    if (status == KVSIM_OK)
        size_stages(work, candidate);
    base_vec_free(&work->search.points);
    return status;
}

static enum kvsim_status do_all(
    const struct study_plan_request *request, struct record_plan *plan,
    enum kvsim_status (*act)(struct candidate_work *, struct kvsim_diags *, struct kvsim_error *),
    struct study_plan_load *load, struct kvsim_diags *diags, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < plan->candidate_count && status == KVSIM_OK; i++) {
        struct candidate_work work = {.request = request, .plan = plan, .index = i};
        status = act(&work, diags, err);
        if (work.load.stage_count > 0)
            *load = work.load;
        base_vec_free(&work.overrides);
    }
    return status;
}

static void name_values(const struct study_plan_request *request, struct record_plan *plan)
{
    const struct study_axes *axes = request->axes;
    size_t count = axes == NULL ? 1 : study_axes_point_count(axes);
    plan->axis_count = axes == NULL ? 0 : axes->count;
    plan->is_zipped = axes != NULL && axes->is_zipped;
    plan->candidates = base_arena_array(&plan->arena, count, sizeof *plan->candidates);
    plan->candidate_count = count;
    for (size_t i = 0; i < plan->axis_count; i++)
        plan->axes[i] = copy(plan, axes->at[i].key);
    for (size_t i = 0; i < count; i++) {
        init_candidate(&plan->candidates[i]);
        for (size_t k = 0; k < plan->axis_count; k++)
            plan->candidates[i].values[k] = copy(plan, study_axes_value(axes, i, k));
    }
}

/* ---- the order of merit ---- */

static int compare_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_load_per_gpu(const struct record_candidate *a, const struct record_candidate *b)
{
    double gpus_a = (double)(a->base_replicas * a->gpus_per_replica),
           gpus_b = (double)(b->base_replicas * b->gpus_per_replica);
    return compare_doubles(b->max_load / gpus_b, a->max_load / gpus_a);
}

/*
 * Those that carry the demand first: the fewest dollars an hour, those of known price before others, then the fewest GPUs;
 * without a demand the most load per GPU. Those that cannot start are the last: of them nothing else is known.
 */
static int compare_candidates(const void *left, const void *right)
{
    const struct record_candidate *a = left, *b = right;
    bool a_starts = a->status != RECORD_CANDIDATE_REFUSED,
         b_starts = b->status != RECORD_CANDIDATE_REFUSED;
    bool a_serves = a->replicas > 0, b_serves = b->replicas > 0;
    if (a_starts != b_starts)
        return a_starts ? -1 : 1;
    if (a_serves != b_serves)
        return a_serves ? -1 : 1;
    int order = 0;
    if (a_serves) {
        order = compare_doubles(a->usd_per_hour, b->usd_per_hour);
        if (order == 0)
            order = (a->gpus > b->gpus) - (a->gpus < b->gpus);
    }
    if (order == 0 && a_starts)
        order = compare_load_per_gpu(a, b);
    for (size_t i = 0; i < RECORD_AXES_MAX && order == 0 && a->values[i] != NULL; i++)
        order = strcmp(a->values[i], b->values[i]);
    return order;
}

static void describe_stages(struct record_plan *plan, const struct study_plan_load *load)
{
    const struct record_candidate *best = &plan->candidates[0];
    double per_replica = best->counted_load / (double)best->base_replicas;
    for (size_t i = 0; i < load->stage_count && per_replica > 0; i++) {
        double peak = study_plan_stage_peak(&load->stages[i]);
        struct record_plan_stage stage = {.peak_rate = peak,
                                          .duration_s = (double)load->stages[i].duration_ns / 1e9,
                                          .replicas =
                                              (int64_t)fmax(1, ceil(peak / per_replica - 1e-9))};
        base_vec_push(&plan->stages, stage);
    }
}

/* The run of the demand with its replicas, or of the highest load; taken up where runs are stored. */
static enum kvsim_status show_run(const struct candidate_work *work, struct kvsim_diags *diags,
                                  struct kvsim_error *err)
{
    struct record_plan *plan = work->plan;
    const struct record_candidate *best = work->search.candidate;
    struct study_probe_answer answer;
    struct study_probe_ask ask = {.load = best->max_load > 0 ? best->max_load : work->load.start,
                                  .replications = work->search.replications,
                                  .run = &plan->run};
    if (best->is_verified) { // by a run with the scenario's replications
        ask.load = plan->demand;
        ask.replicas = best->replicas;
        ask.replications = 0;
    }
    enum kvsim_status status =
        study_probe(&work->search.base, &ask, &plan->arena, &answer, diags, err);
    plan->has_run = status == KVSIM_OK && !answer.is_refused;
    if (plan->has_run && !answer.was_taken_up)
        plan->runs_simulated++;
    return status;
}

/* What is asked of the candidate that will be the first, and of no other. */
static enum kvsim_status look_at_best(const struct study_plan_request *request,
                                      struct record_plan *plan, struct kvsim_diags *diags,
                                      struct kvsim_error *err)
{
    size_t best = 0;
    for (size_t i = 1; i < plan->candidate_count; i++) {
        if (compare_candidates(&plan->candidates[i], &plan->candidates[best]) < 0)
            best = i;
    }
    struct candidate_work work = {.request = request, .plan = plan, .index = best};
    enum kvsim_status status = prepare(&work, diags, err);
    base_require(plan->candidates[best].status != RECORD_CANDIDATE_REFUSED); // see refuse_all()
    if (work.load.can_replicate) // the answer's own random numbers
        work.search.replications = plan->candidates[best].replications;
    if (status == KVSIM_OK && request->uncertain_count > 0)
        status = study_plan_doubt(&work.search, plan->demand, err);
    if (status == KVSIM_OK && request->run_wanted)
        status = show_run(&work, diags, err);
    base_vec_free(&work.overrides);
    return status;
}

/* Where there is nothing to plan, what no candidate's engine does is a fault of the scenario. */
static enum kvsim_status check_any(const struct study_plan_request *request,
                                   struct record_plan *plan, struct kvsim_diags *diags,
                                   struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < plan->candidate_count; i++) {
        if (plan->candidates[i].status != RECORD_CANDIDATE_REFUSED)
            return KVSIM_OK;
    }
    for (size_t i = 0; i < plan->candidate_count && status == KVSIM_OK; i++) {
        struct candidate_work work = {
            .request = request, .plan = plan, .index = i, .is_strict = true};
        status = prepare(&work, diags, err);
        base_vec_free(&work.overrides);
    }
    return status;
}

static enum kvsim_status refuse_all(const struct study_plan_request *request,
                                    const struct record_plan *plan, struct kvsim_error *err)
{
    for (size_t i = 0; i < plan->candidate_count; i++) {
        if (plan->candidates[i].status != RECORD_CANDIDATE_REFUSED)
            return KVSIM_OK;
    }
    const char *reason = plan->candidates[0].reason;
    enum kvsim_status status =
        plan->candidate_count == 1
            ? base_fail(err, KVSIM_ERR_REFUSED, "%s", reason)
            : base_fail(err, KVSIM_ERR_REFUSED,
                        "none of the %zu candidates can start; the first: %s",
                        plan->candidate_count, reason);
    base_error_code(err, "cannot-start");
    base_error_at(err, request->path, 0, 0);
    base_error_hint(err,
                    "'kvsim size' with the same scenario and --set shows where the memory goes, "
                    "and which change fits");
    return status;
}

static enum kvsim_status make_plan(const struct study_plan_request *request,
                                   struct record_plan *out, struct kvsim_diags *diags,
                                   struct kvsim_error *err)
{
    struct study_plan_load load = {.stage_count = 0};
    enum kvsim_status status;
    out->confidence = request->confidence;
    out->demand = (double)NAN;
    out->half_width = request->half_width;
    out->growth_per_month = request->growth_per_month;
    out->start = request->start;
    out->spare_replicas = request->spare_replicas;
    name_values(request, out);
    status = do_all(request, out, look_ahead, &load, diags, err);
    if (status == KVSIM_OK)
        status = check_any(request, out, diags, err);
    if (status == KVSIM_OK)
        status = do_all(request, out, do_candidate, &load, diags, err);
    if (status == KVSIM_OK)
        status = refuse_all(request, out, err);
    if (status == KVSIM_OK && (request->uncertain_count > 0 || request->run_wanted))
        status = look_at_best(request, out, diags, err);
    if (status != KVSIM_OK)
        return status;
    qsort(out->candidates, out->candidate_count, sizeof *out->candidates, compare_candidates);
    describe_stages(out, &load);
    study_plan_forecast(out, &out->candidates[0]);
    return KVSIM_OK;
}

enum kvsim_status study_plan(const struct study_plan_request *request, struct record_plan *out,
                             struct kvsim_diags *diags, struct kvsim_error *err)
{
    struct study_plan_request asked = *request;
    asked.memo = study_memo_open();
    enum kvsim_status status = make_plan(&asked, out, diags, err);
    study_memo_close(asked.memo);
    return status;
}
