#include "cli/input.h"
#include "cli/result.h"
#include "report/command.h"
#include "report/compare.h"
#include "report/compare_html.h"
#include "store/comparison.h"
#include "store/store.h"
#include "study/cell.h"
#include "study/compare.h"

#include <kvsim/version.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DOING "write the comparison"

/* One side: a stored run, or a scenario with overrides. */
struct side {
    int64_t run_id; /* -1: a scenario; 0: the last run */
    const char *path;
    const struct scenario_text *text;
    struct {
        struct scenario_override *at;
        size_t count, capacity;
    } overrides;
    struct study_cell cell;
    struct record_run run;
    bool is_new; /* simulated here */
};

struct session {
    const struct cli_args *args;
    struct side sides[2];
    struct store *store;
    bool is_readable_only;
};

static enum kvsim_status fail_usage(struct kvsim_error *err, const char *word, const char *what,
                                    const char *hint)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "%s %s", word, what);
    base_error_at(err, "kvsim compare", 0, 0);
    base_error_hint(err, "%s", hint);
    return status;
}

/* ---- the words ---- */

static bool is_override(const char *word)
{
    struct stat info;
    const char *equals = strchr(word, '=');
    return equals != NULL && equals != word && stat(word, &info) != 0;
}

static bool is_run(const char *word, int64_t *run_id)
{
    struct kvsim_error ignored;
    *run_id = 0;
    if (strcmp(word, "last") == 0)
        return true;
    return word[strspn(word, "0123456789")] == '\0' &&
           base_parse_int(word, BASE_NONE, run_id, &ignored) == KVSIM_OK && *run_id > 0;
}

static void take_operand(const struct session *session, struct side *side, const char *word)
{
    side->path = cli_input_path(word);
    side->text = cli_input_text(session->args, word);
    if (!is_run(word, &side->run_id))
        side->run_id = -1;
    for (size_t i = 0; i < session->args->overrides.count; i++)
        base_vec_push(&side->overrides, session->args->overrides.at[i]);
}

static void add_override(struct side *side, const char *word, struct base_arena *arena)
{
    const char *equals = strchr(word, '=');
    struct scenario_override override = {
        .key = base_arena_copy_n(arena, word, (size_t)(equals - word)), .value = equals + 1};
    base_vec_push(&side->overrides, override);
}

/* A, then B or nothing, then KEY=VALUE for B. */
static enum kvsim_status read_operands(struct session *session, struct base_arena *arena,
                                       struct kvsim_error *err)
{
    const struct cli_args *args = session->args;
    size_t sides = 0, overrides = 0;
    for (size_t i = 0; i < args->operands.count; i++) {
        const char *word = args->operands.at[i];
        if (is_override(word)) {
            if (word[strlen(word) - 1] == '=')
                return fail_usage(err, word, "has no value", "null takes the key away");
            overrides++;
            continue;
        }
        if (sides == 2 || overrides > 0)
            return fail_usage(err, word, "is one word too many",
                              "usage: kvsim compare A [B] [KEY=VALUE...]");
        take_operand(session, &session->sides[sides++], word);
    }
    if (sides == 0 || (sides == 1 && overrides == 0))
        return fail_usage(err, sides == 0 ? "A" : "B", "is missing",
                          "usage: kvsim compare A [B] [KEY=VALUE...], each a run or a scenario");
    if (sides == 1)
        take_operand(session, &session->sides[1], args->operands.at[0]);
    for (size_t i = 0; i < args->operands.count; i++) {
        if (is_override(args->operands.at[i]))
            add_override(&session->sides[1], args->operands.at[i], arena);
    }
    for (size_t i = 0; i < 2; i++) {
        if (session->sides[i].run_id >= 0 && session->sides[i].overrides.count > 0)
            return fail_usage(err, session->sides[i].path, "is a stored run and cannot be changed",
                              "name its scenario in place of the run");
    }
    return KVSIM_OK;
}

/* ---- the database ---- */

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
}

static bool needs_simulation(const struct session *session)
{
    return session->sides[0].run_id < 0 || session->sides[1].run_id < 0;
}

/* Two stored runs can be compared where nothing can be written, too. */
static enum kvsim_status open_store(struct session *session, struct kvsim_error *err)
{
    const char *path = db_path_of(session->args);
    bool reads_runs = session->sides[0].run_id >= 0 || session->sides[1].run_id >= 0;
    if (session->args->is_unstored && !reads_runs)
        return KVSIM_OK;
    enum kvsim_status status = KVSIM_ERR_IO;
    if (reads_runs) { // a database that isn't there has no runs
        status = store_open(path, STORE_READ, &session->store, err);
        store_close(session->store);
        session->store = NULL;
        if (status != KVSIM_OK)
            return status;
        status = KVSIM_ERR_IO;
    }
    if (!session->args->is_unstored)
        status = store_open(path, STORE_WRITE, &session->store, err);
    if (status == KVSIM_OK || (needs_simulation(session) && !session->args->is_unstored))
        return status;
    session->is_readable_only = true;
    return store_open(path, STORE_READ, &session->store, err);
}

static bool is_storing(const struct session *session)
{
    return session->store != NULL && !session->is_readable_only;
}

/* ---- the runs ---- */

static int resolve(struct session *session)
{
    int code = 0;
    for (size_t i = 0; i < 2; i++) {
        struct side *side = &session->sides[i];
        if (side->run_id >= 0)
            continue;
        side->cell = (struct study_cell){.path = side->path,
                                         .text = side->text,
                                         .overrides = side->overrides.at,
                                         .override_count = side->overrides.count,
                                         .rows_unwanted = true};
        study_cell_resolve(&side->cell);
        if (side->cell.state == STUDY_CELL_INVALID)
            code = cli_fail_all(side->cell.diags, side->cell.status);
        if (side->cell.state == STUDY_CELL_REFUSED && code == 0) {
            struct kvsim_error err;
            base_fail(&err, KVSIM_ERR_REFUSED, "%s", side->cell.reason);
            base_error_at(&err, side->path, 0, 0);
            base_error_code(&err, "cannot-start");
            code = cli_fail(&err);
        }
    }
    return code;
}

static enum kvsim_status find_last(struct store *store, int64_t *run_id, struct kvsim_error *err)
{
    struct base_arena arena;
    struct store_entry *entries = NULL;
    size_t count = 0;
    base_arena_init(&arena);
    enum kvsim_status status = store_list_runs(store, &arena, &entries, &count, err);
    if (status == KVSIM_OK && count == 0)
        status = base_fail(err, KVSIM_ERR_IO, "there are no runs yet");
    if (status == KVSIM_OK)
        *run_id = entries[count - 1].run_id;
    base_arena_release(&arena);
    return status;
}

/* The run of a scenario: taken from the database when it has one of the same fingerprint. */
static enum kvsim_status make_run(struct session *session, struct side *side,
                                  struct kvsim_error *err)
{
    unsigned jobs = session->args->jobs == CLI_UNSET ? 0 : (unsigned)session->args->jobs;
    int64_t run_id = 0;
    enum kvsim_status status = KVSIM_OK;
    if (session->store != NULL)
        status = store_find_run(session->store, side->cell.hash, KVSIM_VERSION, &run_id, err);
    if (status == KVSIM_OK && run_id > 0)
        return store_load_run(session->store, run_id, &side->run, err);
    side->cell.executor = session->args->executor;
    if (status == KVSIM_OK)
        status = study_cell_run(&side->cell, jobs, jobs, &side->run, err);
    if (status == KVSIM_OK && is_storing(session))
        status = store_keep_run(session->store, &side->run, NULL, err);
    return status;
}

static enum kvsim_status get_run(struct session *session, struct side *side,
                                 struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    if (side->run_id == 0)
        status = find_last(session->store, &side->run_id, err);
    if (status != KVSIM_OK)
        return status;
    return side->run_id > 0 ? store_load_run(session->store, side->run_id, &side->run, err)
                            : make_run(session, side, err);
}

/* ---- the whole ---- */

/* What is written, and what it is written of. */
struct written {
    const struct session *session;
    const struct record_comparison *comparison;
};

static void put_command(const struct cli_args *args, struct base_text *out)
{
    struct base_text word = {0};
    base_text_add(out, "kvsim compare");
    for (size_t i = 0; i < args->operands.count; i++)
        report_command_word(out, args->operands.at[i]);
    for (size_t i = 0; i < args->overrides.count; i++) {
        base_text_clear(&word);
        base_text_printf(&word, "%s=%s", args->overrides.at[i].key, args->overrides.at[i].value);
        base_text_add(out, " --set");
        report_command_word(out, word.at);
    }
    base_text_free(&word);
}

static void write_html(const struct written *written, FILE *out)
{
    struct base_text command = {0};
    put_command(written->session->args, &command);
    report_compare_html(out, written->comparison, &written->session->sides[0].run,
                        &written->session->sides[1].run, command.at, "gnuplot");
    base_text_free(&command);
}

static void write_comparison(const void *context, FILE *out)
{
    const struct written *written = context;
    switch (cli_result_format(written->session->args)) {
    case CLI_JSON:
        report_compare_json(out, written->comparison);
        break;
    case CLI_CSV:
        report_compare_csv(out, written->comparison);
        break;
    case CLI_MARKDOWN:
        report_compare_page(out, REPORT_MARKDOWN, written->comparison);
        break;
    case CLI_HTML:
        write_html(written, out);
        break;
    case CLI_TEXT_FORMAT:
    default:
        report_compare_page(out, REPORT_TEXT, written->comparison);
    }
}

static enum kvsim_status compare(struct session *session, struct kvsim_error *err)
{
    struct record_comparison comparison;
    enum kvsim_status status = get_run(session, &session->sides[0], err);
    if (status == KVSIM_OK)
        status = get_run(session, &session->sides[1], err);
    if (status != KVSIM_OK)
        return status;
    record_comparison_init(&comparison);
    study_compare(&session->sides[0].run, &session->sides[1].run, &comparison);
    if (is_storing(session))
        status = store_write_comparison(session->store, &comparison, err);
    struct written written = {session, &comparison};
    if (status == KVSIM_OK)
        status = cli_result_put(session->args, DOING, write_comparison, &written, err);
    record_comparison_free(&comparison);
    return status;
}

static int run_session(struct session *session, struct base_arena *arena)
{
    struct kvsim_error err;
    enum kvsim_status status = read_operands(session, arena, &err);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    int code = resolve(session);
    if (code != 0)
        return code;
    status = cli_result_check(session->args, DOING, &err);
    if (status == KVSIM_OK)
        status = open_store(session, &err);
    if (status == KVSIM_OK)
        status = compare(session, &err);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}

int cli_compare(const struct cli_args *args)
{
    struct session session = {.args = args};
    struct base_arena arena;
    base_arena_init(&arena);
    for (size_t i = 0; i < 2; i++)
        record_run_init(&session.sides[i].run);
    int code = run_session(&session, &arena);
    for (size_t i = 0; i < 2; i++) {
        record_run_free(&session.sides[i].run);
        study_cell_release(&session.sides[i].cell);
        base_vec_free(&session.sides[i].overrides);
    }
    store_close(session.store);
    base_arena_release(&arena);
    return code;
}
