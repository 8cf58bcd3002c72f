#include "report/sweep_view.h"

#include "base/error.h"
#include "base/units.h"
#include "report/figure.h"
#include "report/number.h"
#include "report/sweep.h"

#include <math.h>
#include <string.h>

bool report_sweep_is_map(const struct record_sweep *sweep)
{
    return sweep->axis_count >= 2 && !sweep->is_zipped;
}

size_t report_sweep_count(const struct record_sweep *sweep, enum record_point_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->point_count; i++)
        count += sweep->points[i].status == status;
    return count;
}

double report_sweep_number(const struct record_point *point)
{
    static const enum base_unit units[] = {BASE_NONE,  BASE_RATE, BASE_TOKENS,
                                           BASE_BYTES, BASE_TIME, BASE_RATIO};
    double value = (double)NAN;
    struct kvsim_error ignored;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (base_parse_real(point->values[0], units[i], &value, &ignored) == KVSIM_OK &&
            isfinite(value))
            return value;
    }
    return (double)NAN;
}

static bool is_same(const struct record_point *a, const struct record_point *b, size_t axis)
{
    return strcmp(a->values[axis], b->values[axis]) == 0;
}

void report_sweep_values(const struct record_sweep *sweep, size_t axis, struct report_points *out)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < out->count && !is_known; k++)
            is_known = is_same(out->at[k], &sweep->points[i], axis);
        if (!is_known)
            base_vec_push(out, &sweep->points[i]);
    }
}

void report_sweep_rests(const struct record_sweep *sweep, struct report_points *out)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < out->count && !is_known; k++) {
            is_known = true;
            for (size_t axis = 2; axis < sweep->axis_count; axis++)
                is_known = is_known && is_same(out->at[k], &sweep->points[i], axis);
        }
        if (!is_known)
            base_vec_push(out, &sweep->points[i]);
    }
}

const struct record_point *report_sweep_find(const struct record_sweep *sweep,
                                             const struct record_point *row,
                                             const struct record_point *column,
                                             const struct record_point *rest)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *point = &sweep->points[i];
        bool fits = is_same(point, row, 0) && is_same(point, column, 1);
        for (size_t k = 2; k < sweep->axis_count && fits; k++)
            fits = is_same(point, rest, k);
        if (fits)
            return point;
    }
    return NULL;
}

enum { VALUE_BYTES = 96 };

void report_sweep_add_place(struct base_text *text, const struct record_sweep *sweep,
                            const struct record_point *point, size_t first_axis)
{
    char value[VALUE_BYTES];
    for (size_t i = first_axis; i < sweep->axis_count; i++)
        base_text_printf(text, "%s%s %s", i == first_axis ? "" : ", ", sweep->axes[i],
                         report_sweep_value(sweep, point, i, value, sizeof value));
}

void report_sweep_add_values(struct base_text *text, const struct record_sweep *sweep,
                             const struct record_point *point, size_t first_axis)
{
    char value[VALUE_BYTES];
    for (size_t i = first_axis; i < sweep->axis_count; i++)
        base_text_printf(text, "%s%s", i == first_axis ? "" : ", ",
                         report_sweep_value(sweep, point, i, value, sizeof value));
}

bool report_sweep_is_ordered(const struct record_sweep *sweep)
{
    bool is_ordered = sweep->axis_count > 0 && !sweep->is_zipped && sweep->point_count > 0;
    for (size_t i = 0; i < sweep->point_count && is_ordered; i++)
        is_ordered = !isnan(report_sweep_number(&sweep->points[i]));
    return is_ordered;
}

static bool shares_line(const struct record_sweep *sweep, const struct record_point *a,
                        const struct record_point *b)
{
    for (size_t i = 1; i < sweep->axis_count; i++) {
        if (!is_same(a, b, i))
            return false;
    }
    return true;
}

void report_sweep_line(const struct record_sweep *sweep, const struct record_point *first,
                       struct report_points *out)
{
    out->count = 0;
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (shares_line(sweep, first, &sweep->points[i]))
            base_vec_push(out, &sweep->points[i]);
    }
}

size_t report_sweep_holding(const struct report_points *line,
                            bool (*holds)(const struct record_point *point))
{
    size_t count = 0;
    while (count < line->count && holds(line->at[count]))
        count++;
    return count;
}

bool report_point_starts(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK || point->status == RECORD_POINT_SLO_MISSED;
}

bool report_point_grows(const struct record_point *point)
{
    return strcmp(record_point_text(point, RECORD_STABILITY), "overloaded") == 0;
}

bool report_point_is_unsettled(const struct record_point *point)
{
    return strcmp(record_point_text(point, RECORD_STATUS), "not_settled") == 0;
}

bool report_point_is_steady(const struct record_point *point)
{
    return !report_point_grows(point) && !report_point_is_unsettled(point);
}

static bool is_growing_latency(const struct record_point *point, enum record_summary column)
{
    return report_point_grows(point) && strcmp(record_summary_columns[column].unit, "ms") == 0;
}

double report_point_steady(const struct record_point *point, enum record_summary column)
{
    return is_growing_latency(point, column) ? (double)NAN : record_point_real(point, column);
}

const char *report_point_figure(const struct record_point *point, enum record_summary column,
                                char *text, size_t bytes)
{
    if (!is_growing_latency(point, column))
        return report_print_rounded(record_point_real(point, column), 3, text, bytes);
    base_copy(text, bytes, "grows");
    return text;
}

const char *report_point_words(const struct record_point *point, char *text, size_t bytes)
{
    const char *status = record_point_text(point, RECORD_STATUS);
    report_words(record_point_status_name(point->status), text, bytes);
    if (status[0] == '\0' || strcmp(status, "done") == 0)
        return text;
    char run[64];
    size_t length = strlen(text);
    snprintf(text + length, bytes - length, ", %s", report_words(status, run, sizeof run));
    return text;
}

const char *report_point_marks(const struct record_point *point, char marks[REPORT_MARKS_BYTES])
{
    snprintf(marks, REPORT_MARKS_BYTES, "%s%s%s",
             point->status == RECORD_POINT_SLO_MISSED ? "!" : "",
             report_point_grows(point) ? "^" : "", report_point_is_unsettled(point) ? "?" : "");
    return marks;
}

size_t report_sweep_count_where(const struct record_sweep *sweep,
                                bool (*is_so)(const struct record_point *point))
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->point_count; i++)
        count += is_so(&sweep->points[i]);
    return count;
}

void report_sweep_add_unsteady(struct base_text *text, const struct record_sweep *sweep)
{
    size_t growing = report_sweep_count_where(sweep, report_point_grows);
    size_t unsettled = report_sweep_count_where(sweep, report_point_is_unsettled);
    if (growing > 0)
        base_text_printf(text, ", %zu overloaded", growing);
    if (unsettled > 0)
        base_text_printf(text, ", %zu not settled", unsettled);
}

const char *report_sweep_explain_unsteady(const struct record_sweep *sweep, bool with_marks,
                                          char *text, size_t bytes)
{
    bool has_growing = report_sweep_count_where(sweep, report_point_grows) > 0;
    bool has_unsettled = report_sweep_count_where(sweep, report_point_is_unsettled) > 0;
    snprintf(text, bytes, "%s%s%s%s%s", has_growing && with_marks ? "^ " : "",
             has_growing ? "overloaded: the queue grows without end, and latencies with the length "
                           "of the run"
                         : "",
             has_growing && has_unsettled ? "; " : "", has_unsettled && with_marks ? "? " : "",
             has_unsettled ? "not settled: the figures depend on where the run was cut" : "");
    return text;
}

static bool is_left_out(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK && !report_point_is_steady(point);
}

const char *report_sweep_explain_left_out(const struct record_sweep *sweep, char *text,
                                          size_t bytes)
{
    size_t count = report_sweep_count_where(sweep, is_left_out);
    text[0] = '\0';
    if (count > 0)
        snprintf(text, bytes, "%zu %s left out: overloaded, or not settled", count,
                 count == 1 ? "point that meets its targets is"
                            : "points that meet their targets are");
    return text;
}

bool report_point_meets_slo(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK;
}

bool report_point_kv_holds(const struct record_point *point)
{
    return report_point_starts(point) && !(record_point_real(point, RECORD_PREEMPTIONS) > 0) &&
           strcmp(record_point_text(point, RECORD_BINDING_LIMIT), "kv_pool") != 0;
}

void report_sweep_describe_end(const struct record_sweep *sweep, const struct report_points *line,
                               size_t met, char *text, size_t bytes)
{
    char value[96];
    if (met == line->count) {
        base_copy(text, bytes, "not reached");
        return;
    }
    const struct record_point *beyond = line->at[met];
    const char *limit = record_point_text(beyond, RECORD_BINDING_LIMIT);
    report_sweep_value(sweep, beyond, 0, value, sizeof value);
    if (beyond->status == RECORD_POINT_SLO_MISSED)
        snprintf(text, bytes, "%s: an SLO is missed%s%s%s%s", value,
                 report_point_grows(beyond) ? ", the queue grows" : "",
                 limit[0] == '\0' ? "" : ", ", limit, limit[0] == '\0' ? "" : " binds");
    else if (beyond->status == RECORD_POINT_REFUSED)
        snprintf(text, bytes, "%s: refused", value);
    else
        snprintf(text, bytes, "%s: not decided", value);
}

static void insert_sorted(struct report_points *set, const struct record_point *point)
{
    base_vec_push(set, point);
    for (size_t i = set->count - 1; i > 0; i--) {
        double here = record_point_real(set->at[i], RECORD_OUTPUT_THROUGHPUT_PER_USER);
        double before = record_point_real(set->at[i - 1], RECORD_OUTPUT_THROUGHPUT_PER_USER);
        if (!(here > before))
            break;
        const struct record_point *moved = set->at[i];
        set->at[i] = set->at[i - 1];
        set->at[i - 1] = moved;
    }
}

void report_sweep_pareto_set(const struct record_sweep *sweep, struct report_points *out)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (report_sweep_is_pareto(sweep, i, RECORD_OUTPUT_THROUGHPUT_PER_GPU,
                                   RECORD_OUTPUT_THROUGHPUT_PER_USER))
            insert_sorted(out, &sweep->points[i]);
    }
}
