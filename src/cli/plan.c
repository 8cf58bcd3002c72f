#include "cli/input.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "base/text.h"
#include "report/command.h"
#include "report/plan.h"
#include "report/plan_html.h"
#include "store/store.h"
#include "study/plan.h"
#include "study/sweep.h"

#include <math.h>
#include <string.h>

#define DEMAND_MIN 1e-9 /* as a scenario's rates */
#define DEMAND_MAX 1e12

struct session {
    const struct cli_args *args;
    struct study_axes axes;
    struct record_plan plan;
    struct store *store;
    double confidence, half_width, demand, growth;
    bool demand_is_rate;
    struct record_date start;
    struct {
        struct study_uncertain *at;
        size_t count, capacity;
    } uncertain;
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

/* A rate has a unit; clients of a closed loop and the speed of a trace are plain numbers. Which of them it has to be is told
 * by the scenario's arrivals. */
static enum kvsim_status read_demand(struct session *session, struct kvsim_error *err)
{
    const char *text = session->args->demand;
    struct kvsim_error why;
    char said[140];
    session->demand = (double)NAN;
    if (text == NULL)
        return KVSIM_OK;
    session->demand_is_rate = base_parse_real(text, BASE_NONE, &session->demand, &why) != KVSIM_OK;
    bool is_read = !session->demand_is_rate ||
                   base_parse_real(text, BASE_RATE, &session->demand, &why) == KVSIM_OK;
    if (is_read && session->demand >= DEMAND_MIN && session->demand <= DEMAND_MAX)
        return KVSIM_OK;
    snprintf(said, sizeof said,
             is_read ? "%.60s is not between 1e-9 and 1e12"
                     : "'%.60s' is neither a rate, such as 5/s, nor a number, such as 64 clients",
             text);
    return fail_usage(err, "demand", said);
}

/* The load is what a plan looks for, and the demand is the same for all candidates. */
static enum kvsim_status check_axis(const char *key, struct kvsim_error *err)
{
    static const char *const loads[] = {"workload.arrival", "workload.arrival.process",
                                        "workload.arrival.rate", "workload.arrival.concurrency",
                                        "workload.arrival.speedup"};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        if (!base_key_equal(key, loads[i]) && !base_starts_with(key, "workload.arrival.stages"))
            continue;
        enum kvsim_status status = base_fail(
            err, KVSIM_ERR_USAGE,
            "--axis: %.80s is the load, which a plan looks for itself, under one demand for all "
            "candidates",
            key);
        base_error_at(err, "kvsim plan", 0, 0);
        base_error_hint(err, "--demand states it; 'kvsim sweep --axis %.80s=...' runs several",
                        key);
        return status;
    }
    return KVSIM_OK;
}

static enum kvsim_status read_start(struct session *session, struct kvsim_error *err)
{
    const char *text = session->args->start;
    if (text == NULL)
        return KVSIM_OK;
    if (session->args->growth == NULL)
        return fail_usage(err, "start", "is the first day of --growth, which is not given");
    return record_date_read(text, &session->start)
               ? KVSIM_OK
               : fail_usage(err, "start", "a day such as 2027-01-15 or a month such as 2027-01");
}

/* Behind an optional plus-minus sign, written as one character or as two. */
static const char *skip_sign(const char *text)
{
    static const char *const signs[] = {"\xC2\xB1", "+-", "+/-"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (base_starts_with(text, signs[i]))
            return text + strlen(signs[i]);
    }
    return text;
}

/* KEY=20%, KEY=20%:normal */
static enum kvsim_status read_uncertain(struct session *session, struct base_arena *arena,
                                        const char *text, struct kvsim_error *err)
{
    static const char form[] = "KEY=SHARE[:uniform|:normal], such as demand=20%";
    struct study_uncertain input = {.distribution = RECORD_SPREAD_UNIFORM};
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return fail_usage(err, "uncertain", form);
    const char *share = skip_sign(equals + 1), *colon = strchr(share, ':');
    size_t length = colon == NULL ? strlen(share) : (size_t)(colon - share);
    input.key = base_arena_copy_n(arena, text, (size_t)(equals - text));
    if (colon != NULL && strcmp(colon + 1, record_spread_name(RECORD_SPREAD_NORMAL)) == 0)
        input.distribution = RECORD_SPREAD_NORMAL;
    else if (colon != NULL && strcmp(colon + 1, record_spread_name(RECORD_SPREAD_UNIFORM)) != 0)
        return fail_usage(err, "uncertain", form);
    // A normal spread reaches twice as far, and no input may become negative.
    double most = input.distribution == RECORD_SPREAD_NORMAL ? 0.5 : 1;
    enum kvsim_status status = read_real("uncertain", base_arena_copy_n(arena, share, length),
                                         BASE_RATIO, 0, most, &input.spread, err);
    for (size_t i = 0; i < session->uncertain.count && status == KVSIM_OK; i++) {
        if (strcmp(session->uncertain.at[i].key, input.key) == 0)
            status = fail_usage(err, "uncertain", "a key stands there twice");
    }
    if (status == KVSIM_OK)
        base_vec_push(&session->uncertain, input);
    return status;
}

static enum kvsim_status read_doubts(struct session *session, struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    enum kvsim_status status = KVSIM_OK;
    if (args->samples != CLI_UNSET && args->uncertain.count == 0)
        return fail_usage(err, "samples", "are of the inputs of --uncertain, which is not given");
    for (size_t i = 0; i < args->uncertain.count && status == KVSIM_OK; i++)
        status = read_uncertain(session, &session->plan.arena, args->uncertain.at[i], err);
    return status;
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
    if (status == KVSIM_OK)
        status = read_start(session, err);
    if (status == KVSIM_OK)
        status = read_doubts(session, err);
    for (size_t i = 0; i < args->axes.count && status == KVSIM_OK; i++)
        status = study_axes_add(&session->axes, args->axes.at[i], err);
    for (size_t i = 0; i < session->axes.count && status == KVSIM_OK; i++)
        status = check_axis(session->axes.at[i].key, err);
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
    struct study_plan_request request = {
        .path = cli_input_path(path),
        .text = cli_input_text(args, path),
        .overrides = args->overrides.at,
        .override_count = args->overrides.count,
        .axes = session->axes.count > 0 ? &session->axes : NULL,
        .jobs = args->jobs == CLI_UNSET ? 0 : (unsigned)args->jobs,
        .executor = args->executor,
        .store = session->store,
        .confidence = session->confidence,
        .half_width = session->half_width,
        .demand = session->demand,
        .demand_is_rate = session->demand_is_rate,
        .demand_text = args->demand,
        .growth_per_month = session->growth,
        .start = session->start,
        .spare_replicas = args->spare == CLI_UNSET ? 0 : args->spare,
        .uncertain = session->uncertain.at,
        .uncertain_count = session->uncertain.count,
        .samples = args->samples == CLI_UNSET ? 100 : args->samples,
        .run_wanted = cli_result_format(args) == CLI_HTML,
        .progress = show_progress,
        .progress_context = session};
    cli_progress_begin(&session->progress, !args->is_quiet);
    if (session->store != NULL)
        session->progress.after_interrupt = "the runs so far are stored and will be used again";
    enum kvsim_status status = study_plan(&request, &session->plan, diags, err);
    cli_progress_end(&session->progress);
    return status;
}

static void add_option(struct base_text *command, const char *option, const char *value)
{
    if (value == NULL)
        return;
    base_text_printf(command, " --%s", option);
    report_command_word(command, value);
}

static void add_number(struct base_text *command, const char *option, int64_t value)
{
    if (value != CLI_UNSET)
        base_text_printf(command, " --%s %lld", option, (long long)value);
}

/* The words that matter to the answer. */
static void note_command(struct session *session)
{
    const struct cli_args *args = session->args;
    struct base_text command = {0}, word = {0};
    base_text_add(&command, "kvsim plan");
    report_command_word(&command, args->operands.at[0]);
    for (size_t i = 0; i < args->overrides.count; i++) {
        base_text_clear(&word);
        base_text_printf(&word, "%s=%s", args->overrides.at[i].key, args->overrides.at[i].value);
        add_option(&command, "set", word.at);
    }
    for (size_t i = 0; i < args->axes.count; i++)
        add_option(&command, "axis", args->axes.at[i]);
    base_text_add(&command, args->is_zipped ? " --zip" : "");
    add_option(&command, "demand", args->demand);
    add_option(&command, "confidence", args->confidence);
    add_option(&command, "precision", args->precision);
    add_option(&command, "growth", args->growth);
    add_option(&command, "start", args->start);
    add_number(&command, "spare", args->spare);
    for (size_t i = 0; i < args->uncertain.count; i++)
        add_option(&command, "uncertain", args->uncertain.at[i]);
    add_number(&command, "samples", args->samples);
    session->plan.command = base_arena_copy(&session->plan.arena, command.at);
    base_text_free(&word);
    base_text_free(&command);
}

static void write_plan(const void *context, FILE *out)
{
    const struct session *session = context;
    switch (cli_result_format(session->args)) {
    case CLI_JSON:
        report_plan_json(out, &session->plan);
        break;
    case CLI_CSV:
        report_plan_csv(out, &session->plan);
        break;
    case CLI_MARKDOWN:
        report_plan_page(out, REPORT_MARKDOWN, &session->plan);
        break;
    case CLI_HTML:
        report_plan_html(out, &session->plan, "gnuplot");
        break;
    case CLI_TEXT_FORMAT:
    default:
        report_plan_page(out, REPORT_TEXT, &session->plan);
    }
}

/* A limit that was not reached is an answer only where it was enough for a stated demand. */
static int exit_status(const struct session *session)
{
    const struct record_candidate *best = &session->plan.candidates[0];
    bool is_carried = session->args->demand != NULL && best->is_verified;
    bool is_answered = best->status == RECORD_CANDIDATE_OK ||
                       (best->status == RECORD_CANDIDATE_NOT_REACHED && is_carried);
    return is_answered ? 0 : CLI_EXIT_MISSED;
}

static int run_session(struct session *session)
{
    struct kvsim_error err;
    struct kvsim_diags diags = {0};
    enum kvsim_status status = read_options(session, &err);
    if (status == KVSIM_OK)
        status = cli_result_check(session->args, "write the plan", &err);
    if (status == KVSIM_OK && !session->args->is_unstored)
        status = store_open(db_path_of(session->args), STORE_WRITE, &session->store, &err);
    if (status == KVSIM_OK)
        status = make_plan(session, &diags, &err);
    if (status != KVSIM_OK)
        return diags.total > 0 ? cli_fail_all(&diags, status) : cli_fail(&err);
    note_command(session);
    status = cli_result_put(session->args, "write the plan", write_plan, session, &err);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    return exit_status(session);
}

int cli_plan(const struct cli_args *args)
{
    struct session session = {.args = args};
    study_axes_init(&session.axes);
    record_plan_init(&session.plan);
    int code = run_session(&session);
    study_axes_free(&session.axes);
    base_vec_free(&session.uncertain);
    record_plan_free(&session.plan);
    store_close(session.store);
    return code;
}
