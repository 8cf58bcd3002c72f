#include "cli/cli_int.h"
#include "cli/progress.h"
#include "report/plan.h"
#include "store/store.h"
#include "study/plan.h"
#include "study/sweep.h"

#include <math.h>
#include <string.h>

struct session {
    const struct cli_args *args;
    struct study_axes axes;
    struct record_plan plan;
    struct store *store;
    double confidence, half_width, demand, growth;
    struct cli_progress progress;
};

static enum kvsim_status fail_usage(struct kvsim_error *err, const char *option, const char *why)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "--%s: %s", option, why);
    base_error_at(err, "kvsim plan", 0, 0);
    return status;
}

/* A number of an option in its unit, above `above` and below `below`. */
static enum kvsim_status read_real(const char *option, const char *text, enum base_unit unit,
                                   double above, double below, double *out, struct kvsim_error *err)
{
    struct kvsim_error why;
    if (text == NULL)
        return KVSIM_OK;
    if (base_parse_real(text, unit, out, &why) != KVSIM_OK)
        return fail_usage(err, option, why.message);
    if (*out > above && *out < below)
        return KVSIM_OK;
    char range[80];
    snprintf(range, sizeof range, "%s is not between %g and %g", text, above, below);
    return fail_usage(err, option, range);
}

/* A rate has a unit; clients of a closed loop and the speed of a trace are plain numbers. */
static enum kvsim_status read_demand(struct session *session, struct kvsim_error *err)
{
    const char *text = session->args->demand;
    struct kvsim_error ignored;
    session->demand = (double)NAN;
    if (text != NULL && base_parse_real(text, BASE_NONE, &session->demand, &ignored) == KVSIM_OK)
        return session->demand > 0 && isfinite(session->demand)
                   ? KVSIM_OK
                   : fail_usage(err, "demand", "must be above 0");
    return read_real("demand", text, BASE_RATE, 0, HUGE_VAL, &session->demand, err);
}

static enum kvsim_status read_options(struct session *session, struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    session->confidence = 0.95;
    session->half_width = 0.03;
    session->axes.is_zipped = args->is_zipped;
    enum kvsim_status status = read_demand(session, err);
    if (status == KVSIM_OK)
        status = read_real("confidence", args->confidence, BASE_RATIO, 0.5, 1, &session->confidence,
                           err);
    if (status == KVSIM_OK)
        status =
            read_real("precision", args->precision, BASE_RATIO, 0, 1, &session->half_width, err);
    if (status == KVSIM_OK)
        status = read_real("growth", args->growth, BASE_RATIO, 0, 100, &session->growth, err);
    for (size_t i = 0; i < args->axes.count && status == KVSIM_OK; i++)
        status = study_axes_add(&session->axes, args->axes.at[i], err);
    if (status == KVSIM_OK && study_axes_has(&session->axes, STUDY_AXIS_CONCURRENCY))
        status = fail_usage(err, "axis", "concurrency is what a plan looks for in a closed loop");
    return status == KVSIM_OK ? study_axes_check(&session->axes, err) : status;
}

static void show_progress(void *context, const struct study_plan_progress *state)
{
    struct session *session = context;
    struct study_sweep_progress shown = {.stage = "planning",
                                         .decided = state->candidate - 1,
                                         .total = state->candidate_count,
                                         .detail = state->probes};
    cli_progress_show_points(&session->progress, &shown);
}

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
}

static enum kvsim_status make_plan(struct session *session, struct kvsim_diags *diags,
                                   struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    const char *path = args->operands.at[0];
    struct study_plan_request request = {.path = strcmp(path, "-") == 0 ? "/dev/stdin" : path,
                                         .overrides = args->overrides.at,
                                         .override_count = args->overrides.count,
                                         .axes = session->axes.count > 0 ? &session->axes : NULL,
                                         .jobs = args->jobs == CLI_UNSET ? 0 : (unsigned)args->jobs,
                                         .executor = args->executor,
                                         .store = session->store,
                                         .confidence = session->confidence,
                                         .half_width = session->half_width,
                                         .demand = session->demand,
                                         .growth_per_month = session->growth,
                                         .spare_replicas =
                                             args->spare == CLI_UNSET ? 0 : args->spare,
                                         .progress = show_progress,
                                         .progress_context = session};
    cli_progress_begin(&session->progress, !args->is_quiet);
    if (session->store != NULL)
        session->progress.after_interrupt = "the runs so far are stored and will be used again";
    enum kvsim_status status = study_plan(&request, &session->plan, diags, err);
    cli_progress_end(&session->progress);
    return status;
}

static void print(const struct session *session)
{
    switch (session->args->format) {
    case CLI_JSON:
        report_plan_json(stdout, &session->plan);
        break;
    case CLI_CSV:
        report_plan_csv(stdout, &session->plan);
        break;
    case CLI_MARKDOWN:
        report_plan_page(stdout, REPORT_MARKDOWN, &session->plan);
        break;
    default:
        report_plan_page(stdout, REPORT_TEXT, &session->plan);
    }
}

static int run_session(struct session *session)
{
    struct kvsim_error err;
    struct kvsim_diags diags = {0};
    enum kvsim_status status = read_options(session, &err);
    if (status == KVSIM_OK && !session->args->is_unstored)
        status = store_open(db_path_of(session->args), STORE_WRITE, &session->store, &err);
    if (status == KVSIM_OK)
        status = make_plan(session, &diags, &err);
    if (status != KVSIM_OK)
        return diags.total > 0 ? cli_fail_all(&diags, status) : cli_fail(&err);
    print(session);
    return session->plan.candidates[0].status == RECORD_CANDIDATE_NONE ? CLI_EXIT_MISSED : 0;
}

int cli_plan(const struct cli_args *args)
{
    struct session session = {.args = args};
    study_axes_init(&session.axes);
    record_plan_init(&session.plan);
    int code = run_session(&session);
    study_axes_free(&session.axes);
    record_plan_free(&session.plan);
    store_close(session.store);
    return code;
}
