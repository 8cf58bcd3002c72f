#include "cli/input.h"
#include "report/json.h"
#include "scenario/scenario.h"

#include <stdio.h>

static void put_diagnostic(struct report_json *json, const struct kvsim_error *err,
                           const char *severity)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "severity", severity);
    report_json_text(json, "file", err->file);
    report_json_integer(json, "line", err->line);
    report_json_integer(json, "column", err->column);
    report_json_text(json, "key", err->key);
    report_json_text(json, "code", err->code);
    report_json_text(json, "message", err->message);
    report_json_text(json, "hint", err->hint);
    report_json_end_object(json);
}

static void put_file(struct report_json *json, const char *path, const struct kvsim_diags *diags)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "file", path);
    report_json_bool(json, "valid", diags->total == 0);
    report_json_begin_list(json, "diagnostics");
    for (size_t i = 0; i < diags->count; i++)
        put_diagnostic(json, &diags->at[i], "error");
    for (size_t i = 0; i < diags->warning_count; i++)
        put_diagnostic(json, &diags->warnings[i], "warning");
    report_json_end_list(json);
    report_json_end_object(json);
}

/* The exit status of one file. */
static int check_file(const struct cli_args *args, const char *path, struct report_json *json)
{
    struct kvsim_diags diags = {0};
    struct scenario_request request = {.path = cli_input_path(path),
                                       .text = cli_input_text(args, path),
                                       .overrides = args->overrides.at,
                                       .override_count = args->overrides.count};
    enum kvsim_status status = scenario_check(&request, &diags);
    cli_warn_all(&diags);
    int code = status == KVSIM_OK ? 0 : cli_fail_all(&diags, status);
    if (json != NULL)
        put_file(json, path, &diags);
    else if (status == KVSIM_OK)
        printf("%s: valid\n", path);
    return code;
}

int cli_check(const struct cli_args *args)
{
    struct report_json json;
    bool is_json = args->format == CLI_JSON;
    int first_code = 0;
    if (is_json) {
        report_json_init(&json, stdout);
        report_json_begin_list(&json, NULL);
    }
    for (size_t i = 0; i < args->operands.count; i++) {
        int code = check_file(args, args->operands.at[i], is_json ? &json : NULL);
        if (first_code == 0)
            first_code = code;
    }
    if (is_json) {
        report_json_end_list(&json);
        report_json_finish(&json);
    }
    return first_code;
}
