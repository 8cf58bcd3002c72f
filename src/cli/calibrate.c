#include "cli/cli_int.h"

#include "base/text.h"
#include "base/units.h"
#include "calib/calibrate.h"
#include "report/file.h"
#include "report/json.h"
#include "report/number.h"
#include "report/table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void cell_share(struct report_page *page, double share, size_t count)
{
    char text[REPORT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%.2f %%", 100 * share);
    report_page_cell(page, count == 0 ? "-" : text);
}

static void print_groups(struct report_page *page, const struct calib_result *result)
{
    static const char *const header[] = {"rows",     "n",    "before", "fitted",
                                         "left out", "90th", "bias"};
    report_page_heading(page,
                        "ERRORS (mean absolute; left out: each fifth from a fit to the rest)");
    report_page_table_begin(page, "lrrrrrr");
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        report_page_cell(page, header[i]);
    for (size_t i = 0; i < result->group_count; i++) {
        const struct calib_group_errors *group = &result->groups[i];
        char count[REPORT_NUMBER_BYTES];
        snprintf(count, sizeof count, "%zu", group->fitted.count);
        report_page_cell(page, group->name);
        report_page_cell(page, count);
        cell_share(page, group->before.mean, group->before.count);
        cell_share(page, group->fitted.mean, group->fitted.count);
        cell_share(page, group->crossed.mean, group->crossed.count);
        cell_share(page, group->fitted.p90, group->fitted.count);
        cell_share(page, group->fitted.bias, group->fitted.count);
    }
    report_page_table_end(page);
}

static void add_value(struct report_page *page, enum spec_coefficient_unit unit, double value)
{
    static const char *const units[] = {
        [SPEC_SHARE] = "", [SPEC_SECONDS] = " us", [SPEC_BYTES] = " B", [SPEC_TIMES] = ""};
    char number[REPORT_NUMBER_BYTES], text[REPORT_NUMBER_BYTES + 8];
    report_print_rounded(unit == SPEC_SECONDS ? value * 1e6 : value, 4, number, sizeof number);
    snprintf(text, sizeof text, "%s%s", number, units[unit]);
    report_page_cell(page, text);
}

static void print_coefficients(struct report_page *page, const struct calib_result *result)
{
    static const char *const header[] = {"coefficient", "before", "fitted", "spread"};
    report_page_heading(page, "COEFFICIENTS");
    report_page_table_begin(page, "lrrr");
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        report_page_cell(page, header[i]);
    for (size_t i = 0; i < result->coefficient_count; i++) {
        const struct calib_coefficient *coefficient = &result->coefficients[i];
        if (!coefficient->is_determined)
            continue;
        report_page_cell(page, coefficient->name);
        add_value(page, coefficient->unit, coefficient->before);
        add_value(page, coefficient->unit, coefficient->value);
        cell_share(page, coefficient->spread, 1);
    }
    report_page_table_end(page);
    if (result->unsized[0] != '\0')
        report_page_line(page,
                         "all-reduce among so many GPUs is left as it is, for want of message "
                         "sizes: %s",
                         result->unsized);
    struct base_text names = {0};
    for (size_t i = 0; i < result->coefficient_count; i++)
        if (!result->coefficients[i].is_determined)
            base_text_printf(&names, "%s%s", names.count == 0 ? "" : ", ",
                             result->coefficients[i].name);
    if (names.count > 0)
        report_page_line(page, "not determined by these rows, left as they are: %s", names.at);
    base_text_free(&names);
}

static void print_page(const struct calib_result *result, const char *path, enum report_style style)
{
    struct report_page page;
    char title[256];
    snprintf(title, sizeof title, "%s calibrated: %s", result->base, path);
    report_page_init(&page, stdout, style);
    report_page_title(&page, title);
    report_page_line(
        &page,
        "%zu rows fitted (%zu times), %zu of other devices and %zu without a time left out, "
        "%zu outliers",
        result->row_count, result->time_count, result->other_count, result->untimed_count,
        result->outlier_count);
    if (result->bound_count > 0)
        report_page_line(&page,
                         "%zu rows of kvsim's own kernels taken as the longest that an engine's "
                         "take; %zu are predicted more than 5 %% longer",
                         result->bound_count, result->bound_broken_count);
    print_groups(&page, result);
    if (result->by_model.count > 0)
        report_page_line(
            &page,
            "models that were not fitted: mean %.2f %%, 90th percentile %.2f %%, bias %+.2f %%",
            100 * result->by_model.mean, 100 * result->by_model.p90, 100 * result->by_model.bias);
    if (result->worst[0] != '\0')
        report_page_line(&page, "worst row: %s", result->worst);
    print_coefficients(&page, result);
}

static void put_errors(struct report_json *json, const char *prefix,
                       const struct calib_errors *errors)
{
    static const char *const names[] = {"mean", "median", "p90", "bias", "worst"};
    const double values[] = {errors->mean, errors->median, errors->p90, errors->bias,
                             errors->worst};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_%s", prefix, names[i]);
        report_json_real(json, key, values[i]);
    }
}

static void print_json(const struct calib_result *result, const char *path)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_object(&json, NULL);
    report_json_text(&json, "hardware", result->base);
    report_json_text(&json, "output", path);
    report_json_integer(&json, "rows", (int64_t)result->row_count);
    report_json_integer(&json, "times", (int64_t)result->time_count);
    report_json_integer(&json, "rows_of_other_hardware", (int64_t)result->other_count);
    report_json_integer(&json, "rows_without_time", (int64_t)result->untimed_count);
    report_json_integer(&json, "outliers", (int64_t)result->outlier_count);
    report_json_integer(&json, "bounds", (int64_t)result->bound_count);
    report_json_integer(&json, "bounds_broken", (int64_t)result->bound_broken_count);
    report_json_real(&json, "kernel_ratio", result->kernel_count > 0 ? result->kernel_ratio : 1);
    report_json_bool(&json, "doubtful", result->is_doubtful);
    report_json_begin_list(&json, "errors");
    for (size_t i = 0; i < result->group_count; i++) {
        report_json_begin_object(&json, NULL);
        report_json_text(&json, "group", result->groups[i].name);
        report_json_integer(&json, "n", (int64_t)result->groups[i].fitted.count);
        put_errors(&json, "before", &result->groups[i].before);
        put_errors(&json, "fitted", &result->groups[i].fitted);
        put_errors(&json, "cross_validated", &result->groups[i].crossed);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_begin_list(&json, "coefficients");
    for (size_t i = 0; i < result->coefficient_count; i++) {
        const struct calib_coefficient *coefficient = &result->coefficients[i];
        report_json_begin_object(&json, NULL);
        report_json_text(&json, "name", coefficient->name);
        report_json_bool(&json, "determined", coefficient->is_determined);
        report_json_real(&json, "before", coefficient->before);
        report_json_real(&json, "value", coefficient->value);
        report_json_real(&json, "spread", coefficient->spread);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_end_object(&json);
    report_json_finish(&json);
}

/* ---- the file ---- */

/* The folders of a path that are not there. */
static void make_folders(struct base_arena *arena, const char *path)
{
    char *copy = base_arena_copy(arena, path);
    for (char *at = copy + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(copy, 0777); // what fails here fails when the file is opened, too
        *at = '/';
    }
}

static enum kvsim_status write_file(struct base_arena *arena, const struct calib_result *result,
                                    const char *path, struct kvsim_error *err)
{
    struct base_text text = {0};
    calib_result_print(result, &text);
    make_folders(arena, path);
    struct report_file file;
    enum kvsim_status status = report_file_open(&file, path, "write the hardware file", err);
    if (status == KVSIM_OK) {
        fwrite(text.at, 1, text.count, file.out);
        status = report_file_finish(&file, err);
    }
    base_text_free(&text);
    return status;
}

static void warn(const struct calib_result *result)
{
    if (result->is_doubtful)
        fprintf(stderr,
                "warning: these kernels take %.2f times what the file of %s says (median of %zu): "
                "another device, other clocks or software?\n",
                result->kernel_ratio, result->base, result->kernel_count);
}

static int calibrate(const struct cli_args *args, const struct calib_request *request,
                     struct base_arena *arena)
{
    struct calib_result *result = base_alloc(sizeof *result);
    struct kvsim_error err = {.status = KVSIM_OK};
    enum kvsim_status status = calib_calibrate(request, result, &err);
    const char *path = args->output_path;
    if (status == KVSIM_OK && path == NULL)
        path = base_arena_printf(arena, "hardware/calibrated/%s.yaml", result->base);
    if (status == KVSIM_OK)
        status = write_file(arena, result, path, &err);
    if (status == KVSIM_OK && !args->is_quiet)
        warn(result);
    if (status == KVSIM_OK && args->format == CLI_JSON)
        print_json(result, path);
    else if (status == KVSIM_OK)
        print_page(result, path, args->format == CLI_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT);
    if (status == KVSIM_OK)
        status = cli_output_end(&err);
    calib_result_free(result);
    base_free(result);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}

int cli_calibrate(const struct cli_args *args)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct calib_request request = {.hardware = args->hardware,
                                    .files = args->operands.at,
                                    .file_count = args->operands.count,
                                    .scenario = args->scenario_path,
                                    .first_share = 1};
    if (args->output_path != NULL && strcmp(args->output_path, "-") == 0) {
        base_fail(&err, KVSIM_ERR_USAGE, "--output is the hardware file; '-' is none");
        return cli_fail(&err);
    }
    if (args->hardware == NULL) {
        base_fail(&err, KVSIM_ERR_USAGE, "--hardware must name the device that was measured");
        return cli_fail(&err);
    }
    if (args->first_text != NULL &&
        (base_parse_real(args->first_text, BASE_RATIO, &request.first_share, &err) != KVSIM_OK ||
         !(request.first_share > 0) || request.first_share > 1)) {
        base_fail(&err, KVSIM_ERR_USAGE, "--first is a share above 0 and at most 1, such as 20%%");
        return cli_fail(&err);
    }
    struct base_arena arena;
    base_arena_init(&arena);
    int code = calibrate(args, &request, &arena);
    base_arena_release(&arena);
    return code;
}
