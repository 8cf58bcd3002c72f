#include "cli/input.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "report/sweep.h"
#include "store/store.h"
#include "study/sweep.h"

#include <stdlib.h>
#include <string.h>

#define DOING "write the sweep"

struct session {
    const struct cli_args *args;
    struct study_axes axes;
    struct record_sweep sweep;
    enum cli_format format;
    struct study_sweep_counts counts;
    struct store *store;
    enum record_summary metric;
    size_t shard, shard_count;
    struct cli_progress progress;
};

static enum kvsim_status fail_usage(struct kvsim_error *err, const char *what, const char *value)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "%s: '%s'", what, value);
    base_error_at(err, "kvsim sweep", 0, 0);
    return status;
}

static enum kvsim_status read_axes(struct session *session, struct kvsim_error *err)
{
    session->axes.is_zipped = session->args->is_zipped;
    for (size_t i = 0; i < session->args->axes.count; i++) {
        enum kvsim_status status = study_axes_add(&session->axes, session->args->axes.at[i], err);
        if (status != KVSIM_OK)
            return status;
    }
    if (session->axes.count == 0) {
        enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "a sweep needs an --axis");
        base_error_at(err, "kvsim sweep", 0, 0);
        base_error_hint(err, "such as --axis concurrency=1..256*2 --axis context=1k..128k*2");
        return status;
    }
    return study_axes_check(&session->axes, err);
}

static enum kvsim_status read_metric(struct session *session, struct kvsim_error *err)
{
    const char *name = session->args->metric;
    session->metric = RECORD_OUTPUT_THROUGHPUT;
    if (name == NULL)
        return KVSIM_OK;
    session->metric = record_summary_find(name);
    if (session->metric < RECORD_SUMMARY_COUNT &&
        record_summary_columns[session->metric].kind != RECORD_TEXT)
        return KVSIM_OK;
    if (session->metric < RECORD_SUMMARY_COUNT) {
        enum kvsim_status is_text = fail_usage(err, "--metric is a text, not a number", name);
        base_error_hint(err, "a figure such as output_throughput or ttft_p99_ms");
        return is_text;
    }
    const char *names[RECORD_SUMMARY_COUNT + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (record_summary_columns[i].kind != RECORD_TEXT)
            names[count++] = record_summary_columns[i].name;
    }
    enum kvsim_status status = fail_usage(err, "--metric is no figure of run_summary", name);
    const char *near = base_name_nearest(names, name);
    if (near != NULL)
        base_error_hint(err, "did you mean '%s'?", near);
    return status;
}

/* "2/8": the second of eight parts. */
static enum kvsim_status read_shard(struct session *session, struct kvsim_error *err)
{
    const char *text = session->args->shard;
    if (text == NULL)
        return KVSIM_OK;
    size_t digits = strspn(text, "0123456789");
    size_t more = text[digits] == '/' ? strspn(text + digits + 1, "0123456789") : 0;
    if (digits == 0 || digits > 9 || more == 0 || more > 9 || text[digits + 1 + more] != '\0')
        return fail_usage(err, "--shard is not of the form K/N", text);
    session->shard = strtoul(text, NULL, 10);
    session->shard_count = strtoul(text + digits + 1, NULL, 10);
    if (session->shard < 1 || session->shard > session->shard_count)
        return fail_usage(err, "--shard counts from 1 to N", text);
    return KVSIM_OK;
}

static enum kvsim_status read_options(struct session *session, struct kvsim_error *err)
{
    enum kvsim_status status = read_axes(session, err);
    if (status == KVSIM_OK)
        status = read_metric(session, err);
    return status == KVSIM_OK ? read_shard(session, err) : status;
}

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
}

static enum kvsim_status simulate(struct session *session, struct kvsim_diags *diags,
                                  struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    const char *path = args->operands.at[0];
    struct study_sweep_request request = {.path = cli_input_path(path),
                                          .text = cli_input_text(args, path),
                                          .overrides = args->overrides.at,
                                          .override_count = args->overrides.count,
                                          .axes = &session->axes,
                                          .jobs =
                                              args->jobs == CLI_UNSET ? 0 : (unsigned)args->jobs,
                                          .executor = args->executor,
                                          .shard = session->shard,
                                          .shard_count = session->shard_count,
                                          .store = session->store,
                                          .progress = cli_progress_show_points,
                                          .progress_context = &session->progress};
    cli_progress_begin(&session->progress, !args->is_quiet);
    if (session->store != NULL)
        session->progress.after_interrupt =
            "what was decided is stored: the same command goes on there";
    enum kvsim_status status = study_sweep(&request, &session->sweep, &session->counts, diags, err);
    cli_progress_end(&session->progress);
    return status;
}

static void write_sweep(const void *context, FILE *out)
{
    const struct session *session = context;
    switch (session->format) {
    case CLI_JSON:
        report_sweep_json(out, &session->sweep);
        break;
    case CLI_CSV:
        report_sweep_csv(out, &session->sweep);
        break;
    case CLI_MARKDOWN:
        report_sweep_page(out, REPORT_MARKDOWN, &session->sweep, session->metric);
        break;
    case CLI_TEXT_FORMAT:
    case CLI_HTML:
    default:
        report_sweep_page(out, REPORT_TEXT, &session->sweep, session->metric);
    }
}

static void note_counts(const struct session *session)
{
    if (session->args->is_quiet)
        return;
    fprintf(stderr, "kvsim: %zu points simulated, %zu decided without\n", session->counts.simulated,
            session->counts.taken_up);
    if (session->counts.elsewhere > 0)
        fprintf(stderr, "kvsim: %zu of them were decided meanwhile by another kvsim\n",
                session->counts.elsewhere);
}

/* A point that could not be decided: 4 for files, else a defect. */
static int failure_of(const struct session *session)
{
    if (session->counts.first_failure == KVSIM_OK)
        return 0;
    struct kvsim_error failure = session->counts.failure;
    if (failure.status != KVSIM_ERR_IO)
        failure.status = KVSIM_ERR_DEFECT;
    return cli_fail(&failure);
}

static int run_session(struct session *session)
{
    struct kvsim_error err;
    struct kvsim_diags diags = {0};
    enum kvsim_status status = read_options(session, &err);
    if (status == KVSIM_OK)
        status = cli_result_plain(session->args, "sweep", &session->format, &err);
    if (status == KVSIM_OK)
        status = cli_result_check(session->args, DOING, &err);
    if (status == KVSIM_OK && !session->args->is_unstored)
        status = store_open(db_path_of(session->args), STORE_WRITE, &session->store, &err);
    if (status == KVSIM_OK)
        status = simulate(session, &diags, &err);
    if (status != KVSIM_OK)
        return diags.total > 0 ? cli_fail_all(&diags, status) : cli_fail(&err);
    status = cli_result_put(session->args, DOING, write_sweep, session, &err);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    note_counts(session);
    return failure_of(session);
}

int cli_sweep(const struct cli_args *args)
{
    struct session session = {.args = args};
    study_axes_init(&session.axes);
    record_sweep_init(&session.sweep);
    int code = run_session(&session);
    study_axes_free(&session.axes);
    record_sweep_free(&session.sweep);
    store_close(session.store);
    return code;
}
