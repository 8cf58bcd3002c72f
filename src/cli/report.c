#include "cli/cli_int.h"

#include "base/units.h"
#include "report/run.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static const char *db_path_of(const struct cli_args *args)
{
    return args->db_path == NULL ? "results/kvsim.db" : args->db_path;
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

static void print_run(const struct record_run *run, const struct cli_args *args)
{
    switch (args->format) {
    case CLI_JSON:
        report_run_json(stdout, run);
        break;
    case CLI_MARKDOWN:
        report_run_markdown(stdout, run, db_path_of(args));
        break;
    case CLI_CSV:
        report_run_csv_header(stdout);
        report_run_csv(stdout, run);
        break;
    default:
        report_run_text(stdout, run, db_path_of(args));
    }
}

static enum kvsim_status read_and_print(struct store *store, int64_t run_id,
                                        const struct cli_args *args, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    if (run_id == 0)
        status = find_last(store, &run_id, err);
    struct record_run run;
    record_run_init(&run);
    if (status == KVSIM_OK)
        status = store_load_run(store, run_id, &run, err);
    if (status == KVSIM_OK)
        print_run(&run, args);
    record_run_free(&run);
    return status;
}

/* "last" is 0. */
static enum kvsim_status read_run_id(const char *text, int64_t *run_id, struct kvsim_error *err)
{
    *run_id = 0;
    if (strcmp(text, "last") == 0)
        return KVSIM_OK;
    struct kvsim_error ignored;
    if (base_parse_int(text, BASE_NONE, run_id, &ignored) == KVSIM_OK && *run_id > 0)
        return KVSIM_OK;
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_USAGE, "'%s' is not a run: expected a run_id or 'last'", text);
    base_error_at(err, "kvsim report", 0, 0);
    base_error_hint(err, "'kvsim list runs' shows them");
    return status;
}

int cli_report(const struct cli_args *args)
{
    struct kvsim_error err;
    int64_t run_id;
    struct store *store = NULL;
    enum kvsim_status status = read_run_id(args->operands.at[0], &run_id, &err);
    if (status == KVSIM_OK)
        status = store_open(db_path_of(args), STORE_READ, &store, &err);
    if (status == KVSIM_OK)
        status = read_and_print(store, run_id, args, &err);
    store_close(store);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}
