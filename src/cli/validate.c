#include "cli/cli_int.h"

#include "base/field.h"
#include "calib/validate.h"
#include "conf/rows.h"
#include "report/validation.h"
#include "store/validation.h"

#include <kvsim/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder of the cases: as given, beside us, in $KVSIM_DATA, or where kvsim is installed. */
static const char *find_folder(const struct cli_args *args, struct base_arena *arena)
{
    const char *data = getenv("KVSIM_DATA");
    const char *places[] = {
        args->operands.count > 0 ? args->operands.at[0] : "validation",
        data != NULL ? base_arena_printf(arena, "%s/validation", data) : NULL,
#ifdef KVSIM_SHARE_DIR
        KVSIM_SHARE_DIR "/validation",
#endif
    };
    size_t count = args->operands.count > 0 ? 1 : sizeof places / sizeof places[0];
    for (size_t i = 0; i < count; i++) {
        struct conf_rows *rows;
        struct kvsim_error ignored;
        if (places[i] == NULL)
            continue;
        const char *first = base_arena_printf(arena, "%s/%s", places[i], calib_groups[0].file);
        if (conf_rows_open(first, &rows, &ignored) == KVSIM_OK) {
            conf_rows_close(rows);
            return places[i];
        }
    }
    return places[0];
}

static const struct calib_group *group_find(const char *name)
{
    const struct calib_group *group = calib_groups;
    while (group->name != NULL && strcmp(group->name, name) != 0)
        group++;
    return group->name == NULL ? NULL : group;
}

static enum kvsim_status fail_name(const char *name, struct base_arena *arena,
                                   struct kvsim_error *err)
{
    size_t count = 0;
    while (calib_groups[count].name != NULL)
        count++;
    const char **names = base_arena_array(arena, count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = calib_groups[i].name;
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "no group is called '%s'", name);
    base_error_at(err, "kvsim validate", 0, 0);
    const char *near = base_name_nearest(names, name);
    if (near != NULL)
        base_error_hint(err, "did you mean '%s'?", near);
    else
        base_error_hint(err, "the first column of 'kvsim validate --no-store' names them");
    return status;
}

static enum kvsim_status check_names(const struct cli_args *args, struct base_arena *arena,
                                     struct kvsim_error *err)
{
    for (size_t i = 0; i < args->groups.count; i++)
        if (group_find(args->groups.at[i]) == NULL)
            return fail_name(args->groups.at[i], arena, err);
    return KVSIM_OK;
}

static bool is_wanted(const struct cli_args *args, const struct calib_group *group)
{
    bool is_named = args->groups.count == 0;
    for (size_t i = 0; i < args->groups.count; i++)
        is_named = is_named || strcmp(args->groups.at[i], group->name) == 0;
    return is_named;
}

/* Whoever is elsewhere than in the tree learns where the cases can lie. */
static void hint_folder(const struct cli_args *args, const char *folder, struct kvsim_error *err)
{
    struct stat found;
    if (err->status != KVSIM_ERR_IO || stat(folder, &found) == 0)
        return;
    if (args->operands.count > 0)
        base_error_hint(err, "there is no folder %s", folder);
    else
        base_error_hint(err, "run it where kvsim's 'validation' lies, name that folder, or set "
                             "KVSIM_DATA to the one above it");
}

static enum kvsim_status run_groups(const struct cli_args *args,
                                    struct record_validation *validation, struct kvsim_error *err)
{
    const char *folder = find_folder(args, &validation->arena);
    enum kvsim_status status = KVSIM_OK;
    for (const struct calib_group *group = calib_groups; group->name != NULL && status == KVSIM_OK;
         group++) {
        if (!is_wanted(args, group))
            continue;
        struct record_validation_group result;
        status = calib_group_run(group, folder, &validation->arena, &result, err);
        base_vec_push(&validation->groups, result);
    }
    if (status != KVSIM_OK)
        hint_folder(args, folder, err);
    return status;
}

static enum kvsim_status print(const struct cli_args *args,
                               const struct record_validation *validation, struct kvsim_error *err)
{
    if (args->format == CLI_JSON)
        report_validation_json(stdout, validation);
    else
        report_validation_page(stdout, args->format == CLI_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT,
                               validation);
    return cli_output_end(err);
}

static enum kvsim_status validate(const struct cli_args *args, struct record_validation *validation,
                                  struct kvsim_error *err)
{
    const char *path = args->db_path == NULL ? "results/kvsim.db" : args->db_path;
    struct store *store = NULL;
    int64_t id;
    enum kvsim_status status = check_names(args, &validation->arena, err);
    if (status == KVSIM_OK && !args->is_unstored)
        status = store_open(path, STORE_WRITE, &store, err);
    if (status == KVSIM_OK)
        status = run_groups(args, validation, err);
    if (status == KVSIM_OK)
        status = print(args, validation, err);
    if (status == KVSIM_OK && store != NULL)
        status = store_write_validation(store, validation, KVSIM_VERSION, &id, err);
    store_close(store);
    return status;
}

int cli_validate(const struct cli_args *args)
{
    struct record_validation validation;
    struct kvsim_error err;
    record_validation_init(&validation);
    int code = 0;
    if (validate(args, &validation, &err) != KVSIM_OK)
        code = cli_fail(&err);
    else if (!record_validation_is_within(&validation))
        code = CLI_EXIT_MISSED;
    record_validation_free(&validation);
    return code;
}
