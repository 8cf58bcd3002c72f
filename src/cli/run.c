#include "cli/input.h"
#include "cli/progress.h"
#include "cli/refusal.h"
#include "cli/result.h"
#include "record/run.h"
#include "report/run.h"
#include "report/steps.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "study/study.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* One scenario of the command line and what came of it. */
struct item {
    const char *path;
    const struct scenario_text *text;
    struct scenario *scenario;
    struct record_run run;
};

struct session {
    const struct cli_args *args;
    struct item *items;
    size_t count;
    struct store *store;       /* NULL with --no-store */
    struct report_steps steps; /* in use while steps.file.out is */
    struct cli_progress progress;
    enum cli_format format;
    bool is_shown;
};

#define DOING "write the run"

static void session_init(struct session *session, const struct cli_args *args)
{
    *session = (struct session){.args = args, .count = args->operands.count};
    session->items = base_alloc(base_mul_size(session->count, sizeof *session->items));
    for (size_t i = 0; i < session->count; i++) {
        session->items[i].path = cli_input_path(args->operands.at[i]);
        session->items[i].text = cli_input_text(args, args->operands.at[i]);
        record_run_init(&session->items[i].run);
    }
}

static void session_release(struct session *session)
{
    for (size_t i = 0; i < session->count; i++) {
        record_run_free(&session->items[i].run);
        scenario_free(session->items[i].scenario);
    }
    base_free(session->items);
    store_close(session->store);
}

static struct scenario_request request_of(const struct session *session, const struct item *item)
{
    return (struct scenario_request){.path = item->path,
                                     .text = item->text,
                                     .overrides = session->args->overrides.at,
                                     .override_count = session->args->overrides.count,
                                     .purpose = SCENARIO_FOR_RUN,
                                     .warnings_wanted = !session->args->is_quiet};
}

static enum kvsim_status load_item(const struct session *session, struct item *item,
                                   int *first_code)
{
    struct kvsim_diags diags = {0};
    struct scenario_request request = request_of(session, item);
    enum kvsim_status status = scenario_load(&request, &item->scenario, &diags);
    if (!session->args->is_quiet)
        cli_warn_all(&diags);
    int code = status == KVSIM_OK ? 0 : cli_fail_all(&diags, status);
    if (*first_code == 0)
        *first_code = code;
    return status;
}

/* All of them, so that every diagnostic is seen; the exit status is that of the first that fails. */
static int load_all(struct session *session)
{
    int code = 0;
    for (size_t i = 0; i < session->count; i++)
        if (load_item(session, &session->items[i], &code) != KVSIM_OK)
            session->items[i].scenario = NULL;
    return code;
}

static const struct serve_config *config_of(const struct item *item)
{
    return scenario_config(item->scenario);
}

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
}

static void print_refusals(const struct session *session)
{
    enum cli_format format = session->format;
    bool is_json = format == CLI_JSON;
    struct report_json json;
    report_json_init(&json, stdout);
    if (is_json && session->count > 1)
        report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < session->count; i++) {
        const struct serve_config *config = config_of(&session->items[i]);
        if (config->waterfall.starts)
            continue;
        if (is_json)
            cli_refusal_json_object(&json, NULL, config);
        else if (format == CLI_CSV)
            cli_refusal_csv(stdout, config);
        else
            cli_refusal_text(stdout, config);
    }
    if (is_json && session->count > 1)
        report_json_end_list(&json);
    if (is_json)
        report_json_finish(&json);
}

/* The exit status when one of them cannot start, else 0. */
static int refuse(const struct session *session)
{
    int code = 0;
    for (size_t i = 0; i < session->count; i++) {
        const struct item *item = &session->items[i];
        if (config_of(item)->waterfall.starts)
            continue;
        struct kvsim_error err;
        cli_refusal_error(config_of(item), &err);
        base_error_at(&err, item->path, 0, 0);
        code = cli_fail(&err);
    }
    if (code != 0)
        print_refusals(session);
    return code;
}

static enum kvsim_status open_steps(struct session *session, struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    const char *path = args->steps_path, *doing = "write the steps";
    if (strcmp(path, "-") == 0) {
        base_fail(err, KVSIM_ERR_USAGE, "--steps writes a file, and - is none");
        base_error_hint(err, "standard output is the report's");
        base_error_at(err, "kvsim run", 0, 0);
        return KVSIM_ERR_USAGE;
    }
    if (!args->is_unstored && report_file_is(path, db_path_of(args)))
        return report_file_fail_kept(path, doing, "the database", err);
    if (report_file_is(path, args->operands.at[0]))
        return report_file_fail_kept(path, doing, "the scenario", err);
    return report_steps_open(&session->steps, path, err);
}

/* Wrong paths are told before the work starts; neither call makes the file that it is for. */
static enum kvsim_status open_files(struct session *session, struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    enum kvsim_status status = KVSIM_OK;
    if (!args->is_unstored)
        status = store_open(db_path_of(args), STORE_WRITE, &session->store, err);
    if (status == KVSIM_OK && args->steps_path != NULL)
        status = open_steps(session, err);
    return status;
}

static void abandon_steps(struct session *session)
{
    if (session->steps.file.out != NULL)
        report_steps_abandon(&session->steps);
}

static void on_interrupt(void *context)
{
    const struct session *session = context;
    if (session->steps.file.out != NULL)
        report_file_unlink(&session->steps.file);
}

static struct record_sink *steps_sink(void *context, uint32_t replication)
{
    struct session *session = context;
    (void)replication;
    return &session->steps.sink;
}

static void fill_host(struct record_run *run, double wall_s, int64_t jobs)
{
    char text[32] = "";
    struct utsname machine;
    struct timespec clock;
    time_t now = clock_gettime(CLOCK_REALTIME, &clock) == 0 ? clock.tv_sec : 0;
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    run->created_at = base_arena_copy(&run->arena, text);
    run->host = base_arena_copy(&run->arena, uname(&machine) == 0 ? machine.nodename : "");
    run->wall_s = wall_s;
    run->jobs = jobs;
}

static enum kvsim_status simulate(struct session *session, struct item *item,
                                  struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    bool is_stepped = args->steps_path != NULL || args->is_stepped;
    struct scenario_request source = request_of(session, item);
    struct study_options options = {.jobs = args->jobs == CLI_UNSET ? 0 : (unsigned)args->jobs,
                                    .mode = is_stepped ? SERVE_STEP : SERVE_JUMP,
                                    .executor = args->executor,
                                    .source = &source,
                                    .progress = cli_progress_show,
                                    .progress_context = &session->progress};
    if (args->steps_path != NULL) {
        options.steps_sink = steps_sink;
        options.steps_context = session;
    }
    int64_t jobs = args->jobs == CLI_UNSET ? (int64_t)sysconf(_SC_NPROCESSORS_ONLN) : args->jobs;
    cli_progress_start(&session->progress, config_of(item)->name);
    double start_s = cli_clock_s();
    enum kvsim_status status = study_run(config_of(item), &options, &item->run, err);
    cli_progress_erase(&session->progress);
    fill_host(&item->run, cli_clock_s() - start_s, jobs);
    // What only the simulation finds has no line of its own.
    if (status == KVSIM_ERR_SCENARIO && err->file[0] == '\0')
        base_error_at(err, args->operands.at[item - session->items], 1, 1);
    return status;
}

static void write_one(const struct session *session, const struct item *item, FILE *out)
{
    const char *db_path = session->store == NULL ? NULL : db_path_of(session->args);
    switch (session->format) {
    case CLI_MARKDOWN:
        report_run_markdown(out, &item->run, db_path);
        break;
    case CLI_CSV:
        report_run_csv(out, &item->run);
        break;
    case CLI_TEXT_FORMAT:
    case CLI_JSON:
    case CLI_HTML:
    default:
        report_run_text(out, &item->run, db_path);
    }
}

static void write_json(const struct session *session, FILE *out)
{
    if (session->count == 1) {
        report_run_json(out, &session->items[0].run);
        return;
    }
    struct report_json json;
    report_json_list_begin(&json, out);
    for (size_t i = 0; i < session->count; i++)
        report_run_json_object(&json, NULL, &session->items[i].run);
    report_json_list_end(&json);
}

static void write_all(const void *context, FILE *out)
{
    const struct session *session = context;
    if (session->format == CLI_JSON) {
        write_json(session, out);
        return;
    }
    if (session->format == CLI_CSV)
        report_run_csv_header(out);
    for (size_t i = 0; i < session->count; i++) {
        if (i > 0 && session->format != CLI_CSV)
            fputc('\n', out);
        write_one(session, &session->items[i], out);
    }
}

/* Called when the runs have their ids, before they are kept: what cannot be shown is not stored. */
static enum kvsim_status publish(void *context, struct kvsim_error *err)
{
    struct session *session = context;
    session->is_shown = true;
    enum kvsim_status status = cli_result_put(session->args, DOING, write_all, session, err);
    if (status == KVSIM_OK)
        status = cli_output_end(err);
    if (status == KVSIM_OK && session->steps.file.out != NULL)
        status = report_steps_finish(&session->steps, err);
    return status;
}

static enum kvsim_status store_and_print(struct session *session, struct kvsim_error *err)
{
    if (session->store == NULL)
        return publish(session, err);
    struct record_run **runs =
        base_alloc(base_mul_size(session->count, sizeof(struct record_run *)));
    for (size_t i = 0; i < session->count; i++)
        runs[i] = &session->items[i].run;
    enum kvsim_status status =
        store_write_runs(session->store, runs, session->count, publish, session, err);
    if (status != KVSIM_OK && session->is_shown && err->hint[0] == '\0')
        base_error_hint(err, "what was shown is not stored: the number of its run names nothing");
    base_free(runs);
    return status;
}

static enum kvsim_status do_all(struct session *session, struct kvsim_error *err)
{
    enum kvsim_status status = open_files(session, err);
    for (size_t i = 0; i < session->count && status == KVSIM_OK; i++)
        status = simulate(session, &session->items[i], err);
    if (status == KVSIM_OK)
        status = store_and_print(session, err);
    abandon_steps(session);
    return status;
}

/* An engine that can never go on has answered the question, and the answer is no. */
static bool missed(const struct record_run *run)
{
    const char *status = record_get_text(run, RECORD_STATUS);
    return strcmp(status, "stuck") == 0 || strcmp(status, "engine_died") == 0 ||
           !study_slos_are_met(run);
}

static int run_session(struct session *session)
{
    struct kvsim_error err;
    if (cli_result_plain(session->args, "run", &session->format, &err) != KVSIM_OK)
        return cli_fail(&err);
    int code = load_all(session);
    if (code == 0)
        code = refuse(session);
    if (code != 0)
        return code;
    if (cli_result_check(session->args, DOING, &err) != KVSIM_OK)
        return cli_fail(&err);

    cli_progress_begin(&session->progress, !session->args->is_quiet);
    session->progress.on_interrupt = on_interrupt;
    session->progress.context = session;
    enum kvsim_status status = do_all(session, &err);
    cli_progress_end(&session->progress);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < session->count; i++)
        if (missed(&session->items[i].run))
            return CLI_EXIT_MISSED;
    return 0;
}

int cli_run(const struct cli_args *args)
{
    if (args->steps_path != NULL && args->operands.count > 1) {
        struct kvsim_error err;
        base_fail(&err, KVSIM_ERR_USAGE, "--steps is for a single scenario");
        base_error_at(&err, "kvsim run", 0, 0);
        return cli_fail(&err);
    }
    struct session session;
    session_init(&session, args);
    int code = run_session(&session);
    session_release(&session);
    return code;
}
