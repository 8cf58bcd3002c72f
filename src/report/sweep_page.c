/*
 * The page of a sweep: what was asked, heat maps of the chosen figure and of what binds, the frontier, the Pareto set.
 *
 * A map has the first axis down and the second across; with more axes there is one map for each combination of the rest.
 * A grid that is no map (one axis, zipped axes) is a table of points.
 */
#include "report/sweep.h"

#include "base/error.h"
#include "base/text.h"
#include "report/number.h"
#include "report/sweep_kv.h"
#include "report/sweep_view.h"

#include <math.h>
#include <string.h>

/* A larger grid is for programs: the maps would take the square of its points. */
enum {
    SHOWN_POINTS_MAX = 5000,
    MAP_COLUMNS = 9,
    MAPS_MAX = 12,
    ROWS_MAX = 200,
    CELL_BYTES = 96,
    EXPLAINED_BYTES = 240
};

/* ---- cells ---- */

struct scale {
    enum record_summary metric;
    double low, high; /* over all points; NaN without any */
    int marks_width;  /* of the longest marks beside a figure */
};

static struct scale make_scale(const struct record_sweep *sweep, enum record_summary metric)
{
    struct scale scale = {metric, (double)NAN, (double)NAN, 1};
    for (size_t i = 0; i < sweep->point_count; i++) {
        double value = report_point_steady(&sweep->points[i], metric);
        char marks[REPORT_MARKS_BYTES];
        int width = (int)strlen(report_point_marks(&sweep->points[i], marks));
        scale.marks_width = width > scale.marks_width ? width : scale.marks_width;
        scale.low = fmin(scale.low, value);
        scale.high = fmax(scale.high, value);
    }
    return scale;
}

/* Dark is much: five steps between the least and the most. What grows is beyond them. */
static const char *shade(const struct scale *scale, double value)
{
    static const char *const shades[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
    if (!(scale->high > scale->low))
        return " ";
    double share = isnan(value) ? 1 : (value - scale->low) / (scale->high - scale->low);
    size_t step = (size_t)(share * 5);
    return shades[step > 4 ? 4 : step];
}

/* Of a point without the figure: not asked yet, failed, without a run, or with a run that has none, such as a latency of no
 * request. */
static void print_absent(const struct record_point *point, char *text, size_t bytes)
{
    char marks[REPORT_MARKS_BYTES];
    if (point == NULL || point->status == RECORD_POINT_OPEN)
        base_copy(text, bytes, "");
    else if (report_point_starts(point))
        snprintf(text, bytes, "none%s", report_point_marks(point, marks));
    else
        base_copy(text, bytes, point->status == RECORD_POINT_FAILED ? "failed" : "-");
}

static void print_figure(enum report_style style, const struct scale *scale,
                         const struct record_point *point, char *text, size_t bytes)
{
    char number[REPORT_NUMBER_BYTES], marks[REPORT_MARKS_BYTES];
    if (point == NULL || isnan(record_point_real(point, scale->metric))) {
        print_absent(point, text, bytes);
        return;
    }
    report_point_figure(point, scale->metric, number, sizeof number);
    report_point_marks(point, marks);
    if (style == REPORT_TEXT)
        snprintf(text, bytes, "%s%s%-*s", shade(scale, report_point_steady(point, scale->metric)),
                 number, scale->marks_width, marks);
    else
        snprintf(text, bytes, "%s%s", number, marks);
}

/* Short enough for a column of a map. */
static const char *short_limit(const char *limit)
{
    static const char *const names[][2] = {
        {"max_num_seqs", "seats"},       {"max_num_batched_tokens", "budget"},
        {"weight_bandwidth", "weights"}, {"kv_bandwidth", "kv read"},
        {"communication", "comm"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i][0], limit) == 0)
            return names[i][1];
    }
    return limit;
}

static void print_limit(const struct record_point *point, char *text, size_t bytes)
{
    const char *limit = point == NULL ? "" : record_point_text(point, RECORD_BINDING_LIMIT);
    char marks[REPORT_MARKS_BYTES];
    if (limit[0] == '\0')
        print_absent(point, text, bytes);
    else
        snprintf(text, bytes, "%s%s", short_limit(limit), report_point_marks(point, marks));
}

/* ---- maps ---- */

struct map {
    struct report_page *page;
    const struct record_sweep *sweep;
    struct report_points rows, columns;
    const struct record_point *rest; /* the axes from the third on */
    const struct scale *scale;       /* NULL: what binds */
};

static void put_map_columns(const struct map *map, size_t first, size_t count)
{
    static const char align[] = "rrrrrrrrrr";
    char text[CELL_BYTES];
    struct base_text corner = {0};
    base_text_printf(&corner, "%s \\ %s", map->sweep->axes[0], map->sweep->axes[1]);
    report_page_table_begin(map->page, align + sizeof align - 2 - count);
    report_page_cell(map->page, corner.at);
    base_text_free(&corner);
    for (size_t c = first; c < first + count; c++)
        report_page_cell(map->page,
                         report_sweep_value(map->sweep, map->columns.at[c], 1, text, sizeof text));
    for (size_t r = 0; r < map->rows.count; r++) {
        report_page_cell(map->page,
                         report_sweep_value(map->sweep, map->rows.at[r], 0, text, sizeof text));
        for (size_t c = first; c < first + count; c++) {
            const struct record_point *point =
                report_sweep_find(map->sweep, map->rows.at[r], map->columns.at[c], map->rest);
            if (map->scale != NULL)
                print_figure(map->page->style, map->scale, point, text, sizeof text);
            else
                print_limit(point, text, sizeof text);
            report_page_cell(map->page, text);
        }
    }
    report_page_table_end(map->page);
}

static void put_map(const struct map *map)
{
    if (map->sweep->axis_count > 2) {
        struct base_text place = {0};
        report_sweep_add_place(&place, map->sweep, map->rest, 2);
        report_page_line(map->page, "%s:", place.at);
        base_text_free(&place);
    }
    for (size_t first = 0; first < map->columns.count; first += MAP_COLUMNS) {
        size_t left = map->columns.count - first;
        put_map_columns(map, first, left < MAP_COLUMNS ? left : MAP_COLUMNS);
    }
}

static void put_maps(struct report_page *page, const struct record_sweep *sweep,
                     const struct scale *scale)
{
    struct map map = {.page = page, .sweep = sweep, .scale = scale};
    struct report_points rests = {0};
    report_sweep_values(sweep, 0, &map.rows);
    report_sweep_values(sweep, 1, &map.columns);
    report_sweep_rests(sweep, &rests);
    for (size_t i = 0; i < rests.count && i < MAPS_MAX; i++) {
        map.rest = rests.at[i];
        put_map(&map);
    }
    if (rests.count > MAPS_MAX)
        report_page_line(page, "%zu more maps are not shown: --format csv has every point",
                         rests.count - MAPS_MAX);
    base_vec_free(&rests);
    base_vec_free(&map.rows);
    base_vec_free(&map.columns);
}

/* ---- a table of points ---- */

static void put_points_head(struct report_page *page, const struct record_sweep *sweep,
                            enum record_summary metric)
{
    struct base_text names = {0};
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", sweep->axes[i]);
    report_page_cell(page, names.count == 0 ? "point" : names.at);
    base_text_free(&names);
    report_page_cell(page, record_summary_columns[metric].name);
    static const char *const heads[] = {"ttft p99 ms", "tpot p99 ms", "kv peak",
                                        "preempted",   "limit",       "status"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
}

static void put_number(struct report_page *page, const struct record_point *point,
                       enum record_summary column, bool is_share)
{
    char text[REPORT_NUMBER_BYTES];
    if (is_share)
        report_print_share(record_point_real(point, column), text, sizeof text);
    else
        report_point_figure(point, column, text, sizeof text);
    report_page_cell(page, text);
}

static void put_point_row(struct report_page *page, const struct record_sweep *sweep,
                          const struct record_point *point, enum record_summary metric)
{
    struct base_text place = {0};
    char value[CELL_BYTES];
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(&place, "%s%s", i == 0 ? "" : ", ",
                         report_sweep_value(sweep, point, i, value, sizeof value));
    report_page_cell(page, place.count == 0 ? "1" : place.at);
    base_text_free(&place);
    put_number(page, point, metric, false);
    put_number(page, point, RECORD_TTFT_P99, false);
    put_number(page, point, RECORD_TPOT_P99, false);
    put_number(page, point, RECORD_KV_USAGE_PEAK, true);
    put_number(page, point, RECORD_PREEMPTIONS, false);
    report_page_cell(page, record_point_text(point, RECORD_BINDING_LIMIT));
    report_page_cell(page, report_point_words(point, value, sizeof value));
}

// Stored runs of several replications.
static bool has_intervals(const struct record_sweep *sweep)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *point = &sweep->points[i];
        if (point->run_id > 0 && record_point_real(point, RECORD_REPLICATIONS) > 1)
            return true;
    }
    return false;
}

static void put_points(struct report_page *page, const struct record_sweep *sweep,
                       enum record_summary metric)
{
    report_page_table_begin(page, "lrrrrrll");
    put_points_head(page, sweep, metric);
    size_t shown = 0;
    for (size_t i = 0; i < sweep->point_count && shown < ROWS_MAX; i++) {
        if (sweep->points[i].status == RECORD_POINT_OPEN)
            continue;
        put_point_row(page, sweep, &sweep->points[i], metric);
        shown++;
    }
    report_page_table_end(page);
    char words[EXPLAINED_BYTES];
    if (report_sweep_explain_unsteady(sweep, false, words, sizeof words)[0] != '\0')
        report_page_line(page, "%s", words);
    if (shown == ROWS_MAX)
        report_page_line(page, "further points are not shown: --format csv has them all");
    if (has_intervals(sweep))
        report_page_line(page, "with intervals: kvsim report %s --format html", sweep->sweep_id);
}

/* ---- the page ---- */

static void put_title(struct report_page *page, const struct record_sweep *sweep)
{
    struct base_text title = {0};
    base_text_printf(&title, "%s: ", sweep->scenario);
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(&title, "%s%s",
                         i == 0             ? ""
                         : sweep->is_zipped ? " with "
                                            : " \u00d7 ",
                         sweep->axes[i]);
    base_text_printf(&title, " (%s)", sweep->sweep_id);
    report_page_title(page, title.at);
    base_text_free(&title);
}

static void put_counts(struct report_page *page, const struct record_sweep *sweep)
{
    struct base_text text = {0};
    size_t open =
        report_sweep_count(sweep, RECORD_POINT_OPEN) + sweep->total_count - sweep->point_count;
    base_text_printf(&text, "%zu points: %zu ok, %zu miss an SLO, %zu refused", sweep->total_count,
                     report_sweep_count(sweep, RECORD_POINT_OK),
                     report_sweep_count(sweep, RECORD_POINT_SLO_MISSED),
                     report_sweep_count(sweep, RECORD_POINT_REFUSED));
    if (report_sweep_count(sweep, RECORD_POINT_FAILED) > 0)
        base_text_printf(&text, ", %zu failed", report_sweep_count(sweep, RECORD_POINT_FAILED));
    report_sweep_add_unsteady(&text, sweep);
    if (open > 0)
        base_text_printf(&text, "; %zu are open", open);
    report_page_line(page, "%s", text.at);
    base_text_free(&text);
}

/* Each reason once, with how many points it holds for. */
static void put_reasons(struct report_page *page, const struct record_sweep *sweep)
{
    enum { REASONS_MAX = 8 };
    size_t shown = 0;
    for (size_t i = 0; i < sweep->point_count && shown < REASONS_MAX; i++) {
        const char *reason = sweep->points[i].reason;
        size_t same = 0, before = 0;
        for (size_t k = 0; k < sweep->point_count && reason[0] != '\0'; k++) {
            bool is_equal = strcmp(sweep->points[k].reason, reason) == 0;
            same += is_equal;
            before += is_equal && k < i;
        }
        if (same == 0 || before > 0)
            continue;
        struct base_text place = {0};
        report_sweep_add_place(&place, sweep, &sweep->points[i], 0);
        report_page_line(page, "%s (%s%s)", reason, place.at, same > 1 ? ", and others" : "");
        base_text_free(&place);
        shown++;
    }
}

static void put_legend(struct report_page *page, const struct record_sweep *sweep,
                       enum record_summary metric)
{
    char words[EXPLAINED_BYTES];
    bool has_none = false;
    report_sweep_explain_unsteady(sweep, true, words, sizeof words);
    for (size_t i = 0; i < sweep->point_count; i++)
        has_none |= report_point_starts(&sweep->points[i]) &&
                    isnan(record_point_real(&sweep->points[i], metric));
    report_page_line(page,
                     "! misses an SLO or a requirement%s%s%s; - cannot start or is out of the "
                     "model's reach%s",
                     words[0] == '\0' ? "" : "; ", words,
                     has_none ? "; none: it ran, and there is no such figure" : "",
                     report_sweep_is_map(sweep) && page->style == REPORT_TEXT ? "; dark is much"
                                                                              : "");
}

void report_sweep_page(FILE *out, enum report_style style, const struct record_sweep *sweep,
                       enum record_summary metric)
{
    struct report_page page;
    report_page_init(&page, out, style);
    put_title(&page, sweep);
    put_counts(&page, sweep);
    if (sweep->point_count > SHOWN_POINTS_MAX) {
        report_page_line(
            &page, "too many points for a page: --format csv and the view sweep_grid have them");
        return;
    }
    if (report_sweep_is_map(sweep)) {
        struct scale scale = make_scale(sweep, metric);
        struct base_text heading = {0};
        base_text_printf(&heading, "%s%s%s: %s", record_summary_columns[metric].name,
                         record_summary_columns[metric].unit[0] == '\0' ? "" : ", ",
                         record_summary_columns[metric].unit, record_summary_columns[metric].help);
        report_page_heading(&page, heading.at);
        base_text_free(&heading);
        put_maps(&page, sweep, &scale);
        put_legend(&page, sweep, metric);
        report_page_heading(&page, "WHAT BINDS");
        put_maps(&page, sweep, NULL);
        report_sweep_frontier(&page, sweep);
    } else {
        report_page_heading(&page, "POINTS");
        put_points(&page, sweep, metric);
    }
    if (report_sweep_compares_allocators(sweep))
        report_sweep_allocators(&page, sweep);
    report_sweep_pareto(&page, sweep);
    if (report_sweep_count(sweep, RECORD_POINT_REFUSED) +
            report_sweep_count(sweep, RECORD_POINT_FAILED) >
        0) {
        report_page_heading(&page, "WHY NOT");
        put_reasons(&page, sweep);
    }
}
