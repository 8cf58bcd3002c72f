/*
 * Two readings of a grid: the frontier, where SLO, KV and start-up end along each line; and the Pareto set of throughput
 * per GPU against speed per user.
 */
#include "report/sweep.h"

#include "base/text.h"
#include "report/number.h"
#include "report/sweep_view.h"

#include <math.h>
#include <string.h>

const char *report_sweep_value(const struct record_sweep *sweep, const struct record_point *point,
                               size_t axis, char *text, size_t bytes)
{
    const char *key = sweep->axes[axis];
    struct record_value value = record_point_value(point, axis);
    bool is_tokens = strcmp(key, "context") == 0 || base_ends_with(key, "_tokens") ||
                     base_ends_with(key, "_len");
    base_copy(text, bytes, point->values[axis]);
    if (value.kind != RECORD_TEXT && base_ends_with(key, "rate"))
        snprintf(text, bytes, "%.10g/s",
                 value.kind == RECORD_REAL ? value.real : (double)value.integer);
    if (is_tokens && value.kind == RECORD_INTEGER && value.integer >= 1024 &&
        value.integer % 1024 == 0)
        snprintf(text, bytes, "%lldk", (long long)(value.integer / 1024));
    return text;
}

/* ---- the frontier ---- */

static void put_last(struct report_page *page, const struct record_sweep *sweep,
                     const struct report_points *line, size_t count)
{
    char value[96];
    report_page_cell(
        page, count == 0 ? "none"
                         : report_sweep_value(sweep, line->at[count - 1], 0, value, sizeof value));
}

static void put_line(struct report_page *page, const struct record_sweep *sweep,
                     const struct report_points *line)
{
    struct base_text place = {0};
    report_sweep_add_values(&place, sweep, line->at[0], 1);
    size_t met = report_sweep_holding(line, report_point_meets_slo);
    char end[240];
    report_sweep_describe_end(sweep, line, met, end, sizeof end);
    report_page_cell(page, place.at);
    put_last(page, sweep, line, met);
    put_last(page, sweep, line, report_sweep_holding(line, report_point_kv_holds));
    put_last(page, sweep, line, report_sweep_holding(line, report_point_starts));
    report_page_cell(page, end);
    base_text_free(&place);
}

static void put_frontier_head(struct report_page *page, const struct record_sweep *sweep)
{
    struct base_text names = {0};
    for (size_t i = 1; i < sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 1 ? "" : ", ", sweep->axes[i]);
    report_page_cell(page, names.at);
    base_text_free(&names);
    report_page_cell(page, "targets met to");
    report_page_cell(page, "KV holds to");
    report_page_cell(page, "starts to");
    report_page_cell(page, "then");
}

void report_sweep_frontier(struct report_page *page, const struct record_sweep *sweep)
{
    enum { LINES_MAX = 60 };
    struct report_points line = {0};
    struct base_text heading = {0};
    base_text_printf(&heading, "WHERE IT ENDS, along %s", sweep->axes[0]);
    report_page_heading(page, heading.at);
    base_text_free(&heading);
    report_page_table_begin(page, "rrrrl");
    put_frontier_head(page, sweep);
    size_t shown = 0;
    for (size_t i = 0; i < sweep->point_count && shown < LINES_MAX; i++) {
        report_sweep_line(sweep, &sweep->points[i], &line);
        if (line.at[0] != &sweep->points[i])
            continue; // not the first of its line
        put_line(page, sweep, &line);
        shown++;
    }
    report_page_table_end(page);
    base_vec_free(&line);
}

/* ---- the Pareto set ---- */

/* What cannot be sustained, or was cut too early to say, beats nothing. */
static bool is_candidate(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK && report_point_is_steady(point);
}

bool report_sweep_is_pareto(const struct record_sweep *sweep, size_t point, enum record_summary a,
                            enum record_summary b)
{
    const struct record_point *own = &sweep->points[point];
    double own_a = record_point_real(own, a), own_b = record_point_real(own, b);
    if (!is_candidate(own) || isnan(own_a) || isnan(own_b))
        return false;
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *other = &sweep->points[i];
        double other_a = record_point_real(other, a), other_b = record_point_real(other, b);
        bool is_as_good = is_candidate(other) && other_a >= own_a && other_b >= own_b;
        bool is_better = other_a > own_a || other_b > own_b;
        // Of equal points the first stands for all.
        bool is_equal_before = is_as_good && !is_better && i < point;
        if ((is_as_good && is_better) || is_equal_before)
            return false;
    }
    return true;
}

static void put_pareto_row(struct report_page *page, const struct record_sweep *sweep,
                           const struct record_point *point)
{
    static const enum record_summary columns[] = {
        RECORD_OUTPUT_THROUGHPUT_PER_GPU, RECORD_OUTPUT_THROUGHPUT_PER_USER, RECORD_TTFT_P99,
        RECORD_TPOT_P99, RECORD_USD_PER_MTOK_OUTPUT};
    char number[REPORT_NUMBER_BYTES];
    struct base_text place = {0};
    report_sweep_add_values(&place, sweep, point, 0);
    report_page_cell(page, place.at);
    base_text_free(&place);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_page_cell(page, report_point_figure(point, columns[i], number, sizeof number));
    report_page_cell(page, record_point_text(point, RECORD_BINDING_LIMIT));
}

static void put_pareto_table(struct report_page *page, const struct record_sweep *sweep,
                             const struct report_points *set)
{
    struct base_text names = {0};
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", sweep->axes[i]);
    report_page_table_begin(page, "lrrrrrl");
    static const char *const heads[] = {"tok/s/GPU",   "tok/s/user", "ttft p99 ms",
                                        "tpot p99 ms", "$/Mtok out", "limit"};
    report_page_cell(page, names.at);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < set->count; i++)
        put_pareto_row(page, sweep, set->at[i]);
    report_page_table_end(page);
    base_text_free(&names);
}

void report_sweep_pareto(struct report_page *page, const struct record_sweep *sweep)
{
    struct report_points set = {0};
    char left_out[160];
    report_sweep_pareto_set(sweep, &set);
    report_sweep_explain_left_out(sweep, left_out, sizeof left_out);
    if (sweep->axis_count > 0 && (set.count > 0 || left_out[0] != '\0')) {
        report_page_heading(page, "PARETO SET of the points that meet their targets: no other one "
                                  "is faster per GPU and per user");
        if (set.count > 0)
            put_pareto_table(page, sweep, &set);
        if (left_out[0] != '\0')
            report_page_line(page, "%s", left_out);
    }
    base_vec_free(&set);
}
