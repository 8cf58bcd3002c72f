#include "report/sweep_view.h"

#include "base/units.h"
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
        snprintf(text, bytes, "%s: an SLO is missed, %s binds", value, limit);
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
