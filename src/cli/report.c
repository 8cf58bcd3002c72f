#include "cli/cli_int.h"
#include "cli/result.h"

#include "base/units.h"
#include "report/file.h"
#include "report/run.h"
#include "report/run_html.h"
#include "report/sweep.h"
#include "report/sweep_html.h"
#include "store/store.h"
#include "store/sweep.h"

#include <stdio.h>
#include <string.h>

/* What is to be shown: a run, or a sweep where sweep_id is there. */
struct session {
    const struct cli_args *args;
    enum cli_format format;
    int64_t run_id;       /* 0: the last one */
    const char *sweep_id; /* NULL: a run */
    struct store *store;
    struct record_run run;
    struct record_sweep sweep;
    struct record_run *runs; /* of the sweep's points, as far as a page needs them */
    const struct record_run **run_of;
};

/* A page of a larger grid has the runs of its first points and of the first miss alone: all would take longer than they tell. */
enum { RUNS_MAX = 400, FIRST_RUNS = 40 };

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
}

/* A sweep_id is an "s" with hexadecimal digits. */
static bool looks_like_sweep(const char *text)
{
    return text[0] == 's' && text[1] != '\0' && strlen(text) < RECORD_SWEEP_ID_BYTES &&
           text[1 + strspn(text + 1, "0123456789abcdef")] == '\0';
}

static enum kvsim_status read_operand(struct session *session, struct kvsim_error *err)
{
    const char *text = session->args->operands.at[0];
    struct kvsim_error ignored;
    if (strcmp(text, "last") == 0)
        return KVSIM_OK;
    if (looks_like_sweep(text)) {
        session->sweep_id = text;
        return KVSIM_OK;
    }
    if (base_parse_int(text, BASE_NONE, &session->run_id, &ignored) == KVSIM_OK &&
        session->run_id > 0)
        return KVSIM_OK;
    enum kvsim_status status = base_fail(
        err, KVSIM_ERR_USAGE, "'%s' is not a run: expected a run_id, 'last' or a sweep_id", text);
    base_error_at(err, "kvsim report", 0, 0);
    base_error_hint(err, "'kvsim list runs' shows them");
    return status;
}

static enum kvsim_status find_last(struct session *session, struct kvsim_error *err)
{
    struct base_arena arena;
    struct store_entry *entries = NULL;
    size_t count = 0;
    base_arena_init(&arena);
    enum kvsim_status status = store_list_runs(session->store, &arena, &entries, &count, err);
    if (status == KVSIM_OK && count == 0)
        status = base_fail(err, KVSIM_ERR_IO, "there are no runs yet");
    if (status == KVSIM_OK)
        session->run_id = entries[count - 1].run_id;
    base_arena_release(&arena);
    return status;
}

static enum kvsim_status load_sweep(struct session *session, struct kvsim_error *err)
{
    bool found = false;
    enum kvsim_status status =
        store_load_sweep(session->store, session->sweep_id, &session->sweep, &found, err);
    if (status == KVSIM_OK && !found) {
        status = base_fail(err, KVSIM_ERR_IO, "there is no sweep %s", session->sweep_id);
        base_error_at(err, db_path_of(session->args), 0, 0);
        base_error_hint(err, "the view sweep_grid has the sweep_ids");
    }
    return status;
}

/* Requests and samples of a sweep's runs are no part of its page. */
static enum kvsim_status load_run_of(struct session *session, size_t at, struct kvsim_error *err)
{
    struct record_run *run = &session->runs[at];
    record_run_init(run);
    enum kvsim_status status =
        store_load_run(session->store, session->sweep.points[at].run_id, run, err);
    session->run_of[at] = run;
    base_vec_free(&run->requests);
    base_vec_free(&run->samples);
    return status;
}

/* The first point that misses a target, whose levers the page names; count when there is none. */
static size_t find_first_miss(const struct record_sweep *sweep)
{
    size_t at = 0;
    while (at < sweep->point_count && sweep->points[at].status != RECORD_POINT_SLO_MISSED)
        at++;
    return at;
}

static enum kvsim_status load_runs(struct session *session, struct kvsim_error *err)
{
    size_t count = session->sweep.point_count;
    size_t wanted = count <= RUNS_MAX ? count : FIRST_RUNS;
    size_t miss = find_first_miss(&session->sweep);
    enum kvsim_status status = KVSIM_OK;
    session->runs = base_alloc(base_mul_size(count, sizeof *session->runs));
    session->run_of = base_alloc(base_mul_size(count, sizeof *session->run_of));
    for (size_t i = 0; i < count && status == KVSIM_OK; i++) {
        bool is_wanted = i < wanted || i == miss;
        if (is_wanted && session->sweep.points[i].run_id > 0)
            status = load_run_of(session, i, err);
    }
    return status;
}

static void free_runs(struct session *session)
{
    for (size_t i = 0; session->run_of != NULL && i < session->sweep.point_count; i++) {
        if (session->run_of[i] != NULL)
            record_run_free(&session->runs[i]);
    }
    base_free(session->runs);
    base_free(session->run_of);
}

static enum kvsim_status load(struct session *session, struct kvsim_error *err)
{
    enum kvsim_status status =
        store_open(db_path_of(session->args), STORE_READ, &session->store, err);
    if (status != KVSIM_OK)
        return status;
    if (session->sweep_id != NULL) {
        status = load_sweep(session, err);
        return status == KVSIM_OK && session->format == CLI_HTML ? load_runs(session, err) : status;
    }
    if (session->run_id == 0)
        status = find_last(session, err);
    return status == KVSIM_OK ? store_load_run(session->store, session->run_id, &session->run, err)
                              : status;
}

static void write_run(const struct session *session, FILE *out)
{
    const struct record_run *run = &session->run;
    const char *db_path = db_path_of(session->args);
    switch (session->format) {
    case CLI_JSON:
        report_run_json(out, run);
        break;
    case CLI_MARKDOWN:
        report_run_markdown(out, run, db_path);
        break;
    case CLI_CSV:
        report_run_csv_header(out);
        report_run_csv(out, run);
        break;
    case CLI_HTML:
        report_run_html(out, run, db_path, "gnuplot");
        break;
    case CLI_TEXT_FORMAT:
    default:
        report_run_text(out, run, db_path);
    }
}

static void write_sweep(const struct session *session, FILE *out)
{
    const struct record_sweep *sweep = &session->sweep;
    switch (session->format) {
    case CLI_JSON:
        report_sweep_json(out, sweep);
        break;
    case CLI_MARKDOWN:
        report_sweep_page(out, REPORT_MARKDOWN, sweep, RECORD_OUTPUT_THROUGHPUT);
        break;
    case CLI_CSV:
        report_sweep_csv(out, sweep);
        break;
    case CLI_HTML:
        report_sweep_html(out, sweep, session->run_of, RECORD_OUTPUT_THROUGHPUT,
                          db_path_of(session->args), "gnuplot");
        break;
    case CLI_TEXT_FORMAT:
    default:
        report_sweep_page(out, REPORT_TEXT, sweep, RECORD_OUTPUT_THROUGHPUT);
    }
}

static void write_result(const void *context, FILE *out)
{
    const struct session *session = context;
    if (session->sweep_id != NULL)
        write_sweep(session, out);
    else
        write_run(session, out);
}

/* The database itself is refused as that, whatever its name ends in. */
static enum kvsim_status check_output(const struct cli_args *args, struct kvsim_error *err)
{
    bool is_database =
        args->output_path != NULL && report_file_is(args->output_path, db_path_of(args));
    return is_database ? KVSIM_OK : cli_result_check_ending(args, err);
}

int cli_report(const struct cli_args *args)
{
    struct kvsim_error err;
    struct session session = {.args = args, .format = cli_result_format(args)};
    record_run_init(&session.run);
    record_sweep_init(&session.sweep);
    enum kvsim_status status = read_operand(&session, &err);
    if (status == KVSIM_OK)
        status = load(&session, &err);
    if (status == KVSIM_OK)
        status = check_output(args, &err);
    if (status == KVSIM_OK)
        status = cli_result_put(args, "write the report", write_result, &session, &err);
    store_close(session.store);
    free_runs(&session);
    record_sweep_free(&session.sweep);
    record_run_free(&session.run);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}
