#include "report/validation.h"

#include "report/json.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

static void cell(struct report_page *page, const char *text)
{
    report_page_cell(page, text);
}

static void cells(struct report_page *page, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cell(page, names[i]);
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

static void cells_of_errors(struct report_page *page, const struct record_validation_part *part,
                            bool is_exact)
{
    const double figures[] = {part->median, part->mean, part->p90, part->bias, part->worst};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (is_exact)
            cell(page, "-");
        else
            cell_share(page, figures[i]);
    }
}

/* ---- groups ---- */

static void print_groups(struct report_page *page, const struct record_validation *validation)
{
    static const char *const names[] = {"group", "level", "cases", "agree",      "median", "mean",
                                        "90th",  "bias",  "worst", "worst case", "verdict"};
    report_page_heading(page, "PREDICTED AGAINST MEASURED");
    report_page_table_begin(page, "llrrrrrrrll");
    cells(page, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < validation->groups.count; i++) {
        const struct record_validation_group *group = &validation->groups.at[i];
        const struct record_validation_part *all = &group->parts.at[0];
        cell(page, group->name);
        cell(page, group->level == NULL ? "-" : group->level);
        cell_count(page, all->count);
        if (group->is_exact)
            cell_count(page, all->agreeing);
        else
            cell(page, "-");
        cells_of_errors(page, all, group->is_exact);
        cell(page, group->is_exact ? "-" : all->worst_case);
        cell(page, group->is_within ? "within its bounds" : "BEYOND ITS BOUNDS");
    }
    report_page_table_end(page);
    for (size_t i = 0; i < validation->groups.count; i++)
        report_page_line(page, "%s: %s. Used for fitting: %s.", validation->groups.at[i].name,
                         validation->groups.at[i].summary, validation->groups.at[i].basis);
}

static void print_bounds(struct report_page *page, const struct record_validation *validation)
{
    static const char *const names[] = {"group", "bound", "worst of", "value", "verdict"};
    char text[REPORT_NUMBER_BYTES];
    report_page_heading(page, "BOUNDS");
    report_page_table_begin(page, "lllrl");
    cells(page, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < validation->groups.count; i++) {
        const struct record_validation_group *group = &validation->groups.at[i];
        for (size_t k = 0; k < group->bounds.count; k++) {
            const struct record_validation_bound *bound = &group->bounds.at[k];
            cell(page, group->name);
            record_validation_print_bound(bound, text, sizeof text);
            cell(page, text);
            cell(page, bound->part);
            if (strcmp(bound->figure, "kendall_tau") == 0)
                cell(page, report_print_rounded(bound->value, 3, text, sizeof text));
            else
                cell_share(page, bound->value);
            cell(page, bound->is_exceeded ? "EXCEEDED" : "holds");
        }
    }
    report_page_table_end(page);
}

static bool is_apart(const struct record_validation_group *group, size_t part)
{
    return part > 0 && group->parts.at[part].count != group->parts.at[0].count;
}

static bool has_parts(const struct record_validation *validation)
{
    for (size_t i = 0; i < validation->groups.count; i++)
        for (size_t k = 1; k < validation->groups.at[i].parts.count; k++)
            if (is_apart(&validation->groups.at[i], k))
                return true;
    return false;
}

/* Devices, phases and fitted rows of groups that have more than one kind of them. */
static void print_parts(struct report_page *page, const struct record_validation *validation)
{
    static const char *const names[] = {"group", "part", "cases", "median",
                                        "mean",  "90th", "bias",  "worst"};
    report_page_heading(page, "DEVICES, PHASES AND FITTED ROWS APART");
    report_page_table_begin(page, "llrrrrrr");
    cells(page, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < validation->groups.count; i++) {
        const struct record_validation_group *group = &validation->groups.at[i];
        for (size_t k = 1; k < group->parts.count; k++) {
            const struct record_validation_part *part = &group->parts.at[k];
            if (!is_apart(group, k))
                continue;
            cell(page, group->name);
            cell(page, part->kind == RECORD_VALIDATION_FITTED ? "fitted rows" : part->name);
            cell_count(page, part->count);
            cells_of_errors(page, part, group->is_exact);
        }
    }
    report_page_table_end(page);
}

/* ---- cases ---- */

/* The error that `shown` cases reach: what is printed of a group with more. */
static double least_shown(const struct record_validation_cases *list, size_t shown)
{
    double floor_error = 0;
    for (size_t reached = list->count; reached > shown;) {
        double next = INFINITY;
        for (size_t i = 0; i < list->count; i++) {
            double error = fabs(list->at[i].error);
            if (error > floor_error && error < next)
                next = error;
        }
        if (isinf(next))
            break;
        floor_error = next;
        reached = 0;
        for (size_t i = 0; i < list->count; i++)
            reached += fabs(list->at[i].error) >= floor_error;
    }
    return floor_error;
}

static void print_case(struct report_page *page, const struct record_validation_case *item)
{
    char note[41], text[REPORT_NUMBER_BYTES];
    snprintf(note, sizeof note, "%s", item->note);
    cell(page, item->id);
    cell(page, item->what);
    cell(page, report_print_rounded(item->predicted, 5, text, sizeof text));
    cell(page, report_print_rounded(item->measured, 5, text, sizeof text));
    cell_share(page, item->error);
    cell(page, note);
}

static void print_cases(struct report_page *page, const struct record_validation_group *group)
{
    enum { SHOWN_MANY = 40, SHOWN_FEW = 10 };
    static const char *const names[] = {"case", "figure", "predicted", "measured", "error", "note"};
    char heading[128];
    bool exact = group->is_exact, is_long = group->cases.count > SHOWN_MANY;
    if (exact && group->parts.at[0].agreeing == group->cases.count)
        return;
    double least = exact ? 0 : least_shown(&group->cases, is_long ? SHOWN_FEW : SHOWN_MANY);
    snprintf(heading, sizeof heading, "%s: %s", group->name,
             exact     ? "what does not agree"
             : is_long ? "the largest errors"
                       : "every case");
    report_page_heading(page, heading);
    report_page_table_begin(page, "llrrrl");
    cells(page, names, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < group->cases.count; i++) {
        const struct record_validation_case *item = &group->cases.at[i];
        if (exact ? !item->agrees : fabs(item->error) >= least)
            print_case(page, item);
    }
    report_page_table_end(page);
}

void report_validation_page(FILE *out, enum report_style style,
                            const struct record_validation *validation)
{
    struct report_page page;
    report_page_init(&page, out, style);
    report_page_title(&page, "kvsim against real machines");
    print_groups(&page, validation);
    print_bounds(&page, validation);
    if (has_parts(validation))
        print_parts(&page, validation);
    for (size_t i = 0; i < validation->groups.count; i++)
        print_cases(&page, &validation->groups.at[i]);
}

/* ---- JSON ---- */

static void put_figures(struct report_json *json, const struct record_validation_part *part)
{
    report_json_integer(json, "n", (int64_t)part->count);
    report_json_integer(json, "agree", (int64_t)part->agreeing);
    report_json_real(json, "median_error", part->median);
    report_json_real(json, "mean_error", part->mean);
    report_json_real(json, "p90_error", part->p90);
    report_json_real(json, "bias", part->bias);
    report_json_real(json, "worst_error", part->worst);
    report_json_text(json, "worst_case", part->worst_case);
    report_json_real(json, "kendall_tau", part->tau);
}

static void put_parts(struct report_json *json, const struct record_validation_group *group)
{
    report_json_begin_list(json, "parts");
    for (size_t i = 1; i < group->parts.count; i++) {
        report_json_begin_object(json, NULL);
        report_json_text(json, "part_kind", record_validation_kind_name(group->parts.at[i].kind));
        report_json_text(json, "part", group->parts.at[i].name);
        put_figures(json, &group->parts.at[i]);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_bounds(struct report_json *json, const struct record_validation_group *group)
{
    report_json_begin_list(json, "bounds");
    for (size_t i = 0; i < group->bounds.count; i++) {
        const struct record_validation_bound *bound = &group->bounds.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "figure", bound->figure);
        report_json_text(json, "part", bound->part);
        report_json_real(json, "bound", bound->bound);
        report_json_real(json, "value", bound->value);
        report_json_bool(json, "exceeded", bound->is_exceeded);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_case(struct report_json *json, const struct record_validation_case *item)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "id", item->id);
    report_json_text(json, "family", item->family);
    report_json_text(json, "device", item->device);
    report_json_text(json, "phase", item->phase);
    report_json_text(json, "source", item->source);
    report_json_text(json, "figure", item->what);
    report_json_real(json, "predicted", item->predicted);
    report_json_real(json, "measured", item->measured);
    report_json_real(json, "error", item->error);
    report_json_bool(json, "agrees", item->agrees);
    report_json_bool(json, "fitted", item->is_fitted);
    report_json_text(json, "note", item->note);
    report_json_end_object(json);
}

static void put_group(struct report_json *json, const struct record_validation_group *group)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "group", group->name);
    report_json_text(json, "summary", group->summary);
    report_json_text(json, "basis", group->basis);
    report_json_text(json, "level", group->level);
    put_figures(json, &group->parts.at[0]);
    report_json_bool(json, "within_bounds", group->is_within);
    put_bounds(json, group);
    put_parts(json, group);
    report_json_begin_list(json, "cases");
    for (size_t i = 0; i < group->cases.count; i++)
        put_case(json, &group->cases.at[i]);
    report_json_end_list(json);
    report_json_end_object(json);
}

void report_validation_json(FILE *out, const struct record_validation *validation)
{
    struct report_json json;
    report_json_init(&json, out);
    report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < validation->groups.count; i++)
        put_group(&json, &validation->groups.at[i]);
    report_json_end_list(&json);
    report_json_finish(&json);
}
