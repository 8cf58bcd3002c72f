#include "cli/cli_int.h"

#include "calib/validate.h"
#include "conf/rows.h"
#include "report/json.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 32 };

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

static void cell(struct report_page *page, const char *text)
{
    report_page_cell(page, text);
}

static void cell_count(struct report_page *page, size_t value)
{
    char text[REPORT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%zu", value);
    cell(page, text);
}

static void cell_share(struct report_page *page, double share)
{
    char text[REPORT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%.2f %%", share * 100);
    cell(page, text);
}

static void print_groups(struct report_page *page, const struct calib_group_result *results,
                         size_t count)
{
    static const char *const names[] = {"group", "level", "cases", "agree",      "median", "mean",
                                        "90th",  "bias",  "worst", "worst case", "verdict"};
    report_page_heading(page, "PREDICTED AGAINST MEASURED");
    report_page_table_begin(page, "llrrrrrrrll");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cell(page, names[i]);
    for (size_t i = 0; i < count; i++) {
        const struct calib_group_result *result = &results[i];
        cell(page, result->group->name);
        cell(page, result->group->level == NULL ? "-" : result->group->level);
        cell_count(page, result->cases.count);
        if (result->group->is_exact)
            cell_count(page, result->agreeing);
        else
            cell(page, "-");
        for (int figure = 0; figure < 5; figure++) {
            const double figures[] = {result->median, result->mean, result->p90, result->bias,
                                      result->worst};
            if (result->group->is_exact)
                cell(page, "-");
            else
                cell_share(page, figures[figure]);
        }
        cell(page, result->group->is_exact || result->worst_id == NULL ? "-" : result->worst_id);
        cell(page, result->within ? "within its bounds" : "BEYOND ITS BOUNDS");
    }
    report_page_table_end(page);
    for (size_t i = 0; i < count; i++)
        report_page_line(page, "%s: %s", results[i].group->name, results[i].group->summary);
}

/* The error that `shown` cases reach: what is printed of a group with more. */
static double least_shown(const struct calib_group_result *result, size_t shown)
{
    double floor_error = 0;
    for (size_t reached = result->cases.count; reached > shown;) {
        double next = INFINITY;
        for (size_t i = 0; i < result->cases.count; i++) {
            double error = fabs(result->cases.at[i].error);
            if (error > floor_error && error < next)
                next = error;
        }
        if (isinf(next))
            break;
        floor_error = next;
        reached = 0;
        for (size_t i = 0; i < result->cases.count; i++)
            reached += fabs(result->cases.at[i].error) >= floor_error;
    }
    return floor_error;
}

static void print_cases(struct report_page *page, const struct calib_group_result *result)
{
    enum { SHOWN_MANY = 40, SHOWN_FEW = 10 };
    size_t shown = result->cases.count > SHOWN_MANY ? SHOWN_FEW : SHOWN_MANY;
    static const char *const names[] = {"case", "figure", "predicted", "measured", "error", "note"};
    char heading[128], text[REPORT_NUMBER_BYTES];
    bool exact = result->group->is_exact;
    if (exact && result->agreeing == result->cases.count)
        return;
    double least = exact ? 0 : least_shown(result, shown);
    snprintf(heading, sizeof heading, "%s: %s", result->group->name,
             exact                         ? "what does not agree"
             : result->cases.count > shown ? "the largest errors"
                                           : "every case");
    report_page_heading(page, heading);
    report_page_table_begin(page, "llrrrl");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cell(page, names[i]);
    for (size_t i = 0; i < result->cases.count; i++) {
        const struct calib_case *item = &result->cases.at[i];
        if ((exact && item->agrees) || (!exact && fabs(item->error) < least))
            continue;
        char note[41];
        snprintf(note, sizeof note, "%s", item->note);
        cell(page, item->id);
        cell(page, item->what);
        cell(page, report_print_rounded(item->predicted, 5, text, sizeof text));
        cell(page, report_print_rounded(item->measured, 5, text, sizeof text));
        cell_share(page, item->error);
        cell(page, note);
    }
    report_page_table_end(page);
}

static void put_case(struct report_json *json, const struct calib_case *item)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "id", item->id);
    report_json_text(json, "family", item->family);
    report_json_text(json, "source", item->source);
    report_json_text(json, "figure", item->what);
    report_json_real(json, "predicted", item->predicted);
    report_json_real(json, "measured", item->measured);
    report_json_real(json, "error", item->error);
    report_json_bool(json, "agrees", item->agrees);
    report_json_text(json, "note", item->note);
    report_json_end_object(json);
}

static void print_json(const struct calib_group_result *results, size_t count)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct calib_group_result *result = &results[i];
        report_json_begin_object(&json, NULL);
        report_json_text(&json, "group", result->group->name);
        report_json_text(&json, "summary", result->group->summary);
        report_json_integer(&json, "n", (int64_t)result->cases.count);
        report_json_integer(&json, "agree", (int64_t)result->agreeing);
        report_json_text(&json, "level", result->group->level);
        report_json_real(&json, "median_error", result->median);
        report_json_real(&json, "mean_error", result->mean);
        report_json_real(&json, "bias", result->bias);
        report_json_real(&json, "kendall_tau", result->tau);
        report_json_text(&json, "worst_case", result->worst_id);
        report_json_real(&json, "p90_error", result->p90);
        report_json_real(&json, "worst_error", result->worst);
        report_json_bool(&json, "within_bounds", result->within);
        report_json_begin_list(&json, "cases");
        for (size_t j = 0; j < result->cases.count; j++)
            put_case(&json, &result->cases.at[j]);
        report_json_end_list(&json);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}

static void print(const struct cli_args *args, const struct calib_group_result *results,
                  size_t count)
{
    if (args->format == CLI_JSON) {
        print_json(results, count);
        return;
    }
    struct report_page page;
    report_page_init(&page, stdout, args->format == CLI_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT);
    report_page_title(&page, "kvsim against real machines");
    print_groups(&page, results, count);
    for (size_t i = 0; i < count; i++)
        print_cases(&page, &results[i]);
}

int cli_validate(const struct cli_args *args)
{
    struct base_arena arena;
    base_arena_init(&arena);
    struct calib_group_result results[GROUPS_MAX];
    struct kvsim_error err = {.status = KVSIM_OK};
    const char *folder = find_folder(args, &arena);
    size_t count = 0;
    bool within = true;
    enum kvsim_status status = KVSIM_OK;
    while (status == KVSIM_OK && calib_groups[count].name != NULL) {
        base_require(count < GROUPS_MAX);
        status = calib_group_run(&calib_groups[count], folder, &arena, &results[count], &err);
        within = within && results[count].within;
        count++;
    }
    int code = 0;
    if (status == KVSIM_OK) {
        print(args, results, count);
        code = within ? 0 : CLI_EXIT_MISSED;
        if (cli_output_end(&err) != KVSIM_OK)
            code = cli_fail(&err);
    } else {
        code = cli_fail(&err);
    }
    for (size_t i = 0; i < count; i++)
        calib_group_result_free(&results[i]);
    base_arena_release(&arena);
    return code;
}
