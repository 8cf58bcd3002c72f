/*
 * Two readings of a grid: the frontier, where SLO, KV and start-up end along each line; and the Pareto set of throughput
 * per GPU against speed per user.
 */
#include "report/sweep.h"

#include "base/text.h"
#include "report/number.h"

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
    if (is_tokens && value.kind == RECORD_INTEGER && value.integer >= 1024 &&
        value.integer % 1024 == 0)
        snprintf(text, bytes, "%lldk", (long long)(value.integer / 1024));
    return text;
}

/* The values on the axes from `first_axis` on, "16, 8k". */
static void add_values(struct base_text *out, const struct record_sweep *sweep,
                       const struct record_point *point, size_t first_axis)
{
    char value[96];
    for (size_t i = first_axis; i < sweep->axis_count; i++)
        base_text_printf(out, "%s%s", i == first_axis ? "" : ", ",
                         report_sweep_value(sweep, point, i, value, sizeof value));
}

/* ---- the frontier ---- */

/* One line of the grid: the points that differ on the first axis alone, in its order. */
struct line {
    const struct record_point **at;
    size_t count, capacity;
};

static bool shares_line(const struct record_sweep *sweep, const struct record_point *a,
                        const struct record_point *b)
{
    for (size_t i = 1; i < sweep->axis_count; i++) {
        if (strcmp(a->values[i], b->values[i]) != 0)
            return false;
    }
    return true;
}

static void find_line(const struct record_sweep *sweep, const struct record_point *first,
                      struct line *out)
{
    out->count = 0;
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (shares_line(sweep, first, &sweep->points[i]))
            base_vec_push(out, &sweep->points[i]);
    }
}

static bool starts(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK || point->status == RECORD_POINT_SLO_MISSED;
}

static bool meets_slo(const struct record_point *point)
{
    return point->status == RECORD_POINT_OK;
}

/* Nobody is thrown out for want of blocks, and the head of the queue does not mostly wait for them. */
static bool kv_holds(const struct record_point *point)
{
    return starts(point) && !(record_point_real(point, RECORD_PREEMPTIONS) > 0) &&
           strcmp(record_point_text(point, RECORD_BINDING_LIMIT), "kv_pool") != 0;
}

/* How many points from the beginning hold. */
static size_t holding(const struct line *line, bool (*holds)(const struct record_point *point))
{
    size_t count = 0;
    while (count < line->count && holds(line->at[count]))
        count++;
    return count;
}

static void put_last(struct report_page *page, const struct record_sweep *sweep,
                     const struct line *line, size_t count)
{
    char value[96];
    report_page_cell(
        page, count == 0 ? "none"
                         : report_sweep_value(sweep, line->at[count - 1], 0, value, sizeof value));
}

/* What the first point beyond the SLO says. */
static void describe_end(const struct record_sweep *sweep, const struct line *line, size_t met,
                         char *text, size_t bytes)
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

static void put_line(struct report_page *page, const struct record_sweep *sweep,
                     const struct line *line)
{
    struct base_text place = {0};
    add_values(&place, sweep, line->at[0], 1);
    size_t met = holding(line, meets_slo);
    char end[240];
    describe_end(sweep, line, met, end, sizeof end);
    report_page_cell(page, place.at);
    put_last(page, sweep, line, met);
    put_last(page, sweep, line, holding(line, kv_holds));
    put_last(page, sweep, line, holding(line, starts));
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
    struct line line = {0};
    struct base_text heading = {0};
    base_text_printf(&heading, "WHERE IT ENDS, along %s", sweep->axes[0]);
    report_page_heading(page, heading.at);
    base_text_free(&heading);
    report_page_table_begin(page, "rrrrl");
    put_frontier_head(page, sweep);
    size_t shown = 0;
    for (size_t i = 0; i < sweep->point_count && shown < LINES_MAX; i++) {
        find_line(sweep, &sweep->points[i], &line);
        if (line.at[0] != &sweep->points[i])
            continue; // not the first of its line
        put_line(page, sweep, &line);
        shown++;
    }
    report_page_table_end(page);
    base_vec_free(&line);
}

/* ---- the Pareto set ---- */

bool report_sweep_is_pareto(const struct record_sweep *sweep, size_t point, enum record_summary a,
                            enum record_summary b)
{
    const struct record_point *own = &sweep->points[point];
    double own_a = record_point_real(own, a), own_b = record_point_real(own, b);
    if (own->status != RECORD_POINT_OK || isnan(own_a) || isnan(own_b))
        return false;
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *other = &sweep->points[i];
        double other_a = record_point_real(other, a), other_b = record_point_real(other, b);
        bool is_as_good = other->status == RECORD_POINT_OK && other_a >= own_a && other_b >= own_b;
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
    add_values(&place, sweep, point, 0);
    report_page_cell(page, place.at);
    base_text_free(&place);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_page_cell(page, report_print_rounded(record_point_real(point, columns[i]), 3, number,
                                                    sizeof number));
    report_page_cell(page, record_point_text(point, RECORD_BINDING_LIMIT));
}

/* Indices of the set's points, fastest per user first. */
struct indices {
    size_t *at;
    size_t count, capacity;
};

static void insert_sorted(const struct record_sweep *sweep, struct indices *set, size_t point)
{
    base_vec_push(set, point);
    for (size_t i = set->count - 1; i > 0; i--) {
        double here =
            record_point_real(&sweep->points[set->at[i]], RECORD_OUTPUT_THROUGHPUT_PER_USER);
        double before =
            record_point_real(&sweep->points[set->at[i - 1]], RECORD_OUTPUT_THROUGHPUT_PER_USER);
        if (!(here > before))
            break;
        size_t moved = set->at[i];
        set->at[i] = set->at[i - 1];
        set->at[i - 1] = moved;
    }
}

void report_sweep_pareto(struct report_page *page, const struct record_sweep *sweep)
{
    struct indices set = {0};
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (report_sweep_is_pareto(sweep, i, RECORD_OUTPUT_THROUGHPUT_PER_GPU,
                                   RECORD_OUTPUT_THROUGHPUT_PER_USER))
            insert_sorted(sweep, &set, i);
    }
    if (set.count == 0 || sweep->axis_count == 0) {
        base_vec_free(&set);
        return;
    }
    struct base_text names = {0};
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", sweep->axes[i]);
    report_page_heading(page, "PARETO SET of the points that meet their targets: no other one is "
                              "faster per GPU and per user");
    report_page_table_begin(page, "lrrrrrl");
    static const char *const heads[] = {"tok/s/GPU",   "tok/s/user", "ttft p99 ms",
                                        "tpot p99 ms", "$/Mtok out", "limit"};
    report_page_cell(page, names.at);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < set.count; i++)
        put_pareto_row(page, sweep, &sweep->points[set.at[i]]);
    report_page_table_end(page);
    base_text_free(&names);
    base_vec_free(&set);
}
