#include "cli/input.h"
#include "cli/refusal.h"

#include "report/size.h"
#include "study/size.h"

#include <stdio.h>
#include <string.h>

struct contexts {
    int64_t *at;
    size_t count, capacity;
};

static enum kvsim_status take_context(void *context, const char *value, struct kvsim_error *err)
{
    struct contexts *contexts = context;
    int64_t tokens;
    enum kvsim_status status = base_parse_int(value, BASE_TOKENS, &tokens, err);
    if (status != KVSIM_OK)
        return status;
    if (tokens < 1 || tokens > ((int64_t)1 << 40))
        return base_fail(err, KVSIM_ERR_USAGE,
                         "--context must be 1 token or more, and at most 2^40, not %s", value);
    base_vec_push(contexts, tokens);
    return KVSIM_OK;
}

static enum kvsim_status read_contexts(const struct cli_args *args, struct contexts *contexts,
                                       struct kvsim_error *err)
{
    if (args->contexts == NULL)
        return KVSIM_OK;
    enum kvsim_status status =
        base_parse_range(args->contexts, BASE_TOKENS, take_context, contexts, err);
    if (status != KVSIM_OK)
        err->status = KVSIM_ERR_USAGE; // a value of the wrong form, whatever room found it
    return status == KVSIM_OK ? KVSIM_OK : KVSIM_ERR_USAGE;
}

static enum kvsim_status read_axes(const struct cli_args *args, struct study_axes *axes,
                                   struct kvsim_error *err)
{
    axes->is_zipped = args->is_zipped;
    for (size_t i = 0; i < args->axes.count; i++) {
        enum kvsim_status status = study_axes_add(axes, args->axes.at[i], err);
        if (status != KVSIM_OK)
            return status;
    }
    if (study_axes_has(axes, STUDY_AXIS_CONTEXT) || study_axes_has(axes, STUDY_AXIS_CONCURRENCY))
        return base_fail(
            err, KVSIM_ERR_USAGE,
            "context and concurrency are no axes here: give --context and --sequences");
    return study_axes_check(axes, err);
}

static bool names_model(const struct cli_args *args, const struct study_axes *axes)
{
    bool found = args->operands.count > 0 || args->model != NULL;
    for (size_t i = 0; i < axes->count && !found; i++)
        found = strcmp(axes->at[i].key, "model") == 0;
    return found;
}

static void print(const struct cli_args *args, const struct study_sizes *sizes, bool is_table)
{
    enum report_style style = args->format == CLI_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT;
    if (args->format == CLI_JSON)
        report_sizes_json(stdout, sizes->at, sizes->count, is_table);
    else if (args->format == CLI_CSV)
        report_sizes_csv(stdout, sizes->at, sizes->count);
    else if (is_table)
        report_sizes_page(stdout, style, sizes->at, sizes->count);
    else
        report_size_page(stdout, style, &sizes->at[0]);
}

/* A table's cells are all answers; a single configuration that cannot start exits as a refusal. */
static int exit_of(const struct study_sizes *sizes, bool is_table)
{
    return is_table || sizes->at[0].starts ? 0 : base_status_exit(KVSIM_ERR_REFUSED);
}

static int size_with(const struct cli_args *args, const struct study_axes *axes,
                     const struct contexts *contexts)
{
    int64_t longest = 0;
    for (size_t i = 0; i < contexts->count; i++)
        longest = contexts->at[i] > longest ? contexts->at[i] : longest;
    bool asks = args->sequences != CLI_UNSET && longest > 0;
    const char *path = args->operands.count > 0 ? args->operands.at[0] : NULL;
    struct scenario_request request = {
        .path = cli_input_path(path),
        .text = cli_input_text(args, path),
        .overrides = args->overrides.at,
        .override_count = args->overrides.count,
        .purpose = SCENARIO_FOR_SIZE,
        .warnings_wanted = !args->is_quiet,
        .demand_sequences = asks ? args->sequences : 0,
        .demand_tokens = asks ? longest : 0,
    };
    struct study_size_options options = {
        .contexts = contexts->at,
        .context_count = contexts->count,
        .sequences = args->sequences != CLI_UNSET ? args->sequences : 1,
    };
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    struct study_sizes sizes;
    struct kvsim_error err;
    enum kvsim_status status = study_sizes_make(&request, axes, &options, &sizes, diags);
    int code;
    if (status == KVSIM_OK) {
        if (!args->is_quiet)
            cli_warn_all(diags);
        print(args, &sizes, axes->count > 0);
        code = cli_output_end(&err) == KVSIM_OK ? exit_of(&sizes, axes->count > 0) : cli_fail(&err);
    } else {
        code = cli_fail_all(diags, status);
    }
    study_sizes_free(&sizes);
    base_free(diags);
    return code;
}

int cli_size(const struct cli_args *args)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct study_axes axes;
    struct contexts contexts = {0};
    study_axes_init(&axes);
    enum kvsim_status status = read_contexts(args, &contexts, &err);
    if (status == KVSIM_OK)
        status = read_axes(args, &axes, &err);
    if (status == KVSIM_OK && !names_model(args, &axes))
        status = base_fail(&err, KVSIM_ERR_USAGE,
                           "a SCENARIO.yaml, or --model and --hardware, is missing");
    int code;
    if (status == KVSIM_OK) {
        code = size_with(args, &axes, &contexts);
    } else {
        if (err.file[0] == '\0')
            base_error_at(&err, "kvsim size", 0, 0);
        code = cli_fail(&err);
    }
    base_vec_free(&contexts);
    study_axes_free(&axes);
    return code;
}
