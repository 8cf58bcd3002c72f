#include "report/sweep_html_int.h"

#include "report/number.h"
#include "report/run_plots.h"
#include "report/run_view.h"
#include "report/sweep.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
    CELL_UNITS = 26,     /* height of a row of a map */
    MAP_UNITS_MAX = 620, /* of a whole map */
    LABELLED_COLUMNS = 10,
    VALUE_BYTES = 96,
    LINES_MAX = REPORT_SCALE_COUNT,
};

const struct record_run *report_grid_run(const struct report_grid *grid,
                                         const struct record_point *point)
{
    return grid->runs == NULL ? NULL : grid->runs[point - grid->sweep->points];
}

/* ---- maps ---- */

struct map {
    const struct report_grid *grid;
    const struct record_point *rest;
    struct report_points rows, columns;
    struct report_plot plot;
};

static const struct record_point *cell(const struct map *map, size_t row, size_t column)
{
    if (row >= map->rows.count || column >= map->columns.count)
        return NULL;
    return report_sweep_find(map->grid->sweep, map->rows.at[row], map->columns.at[column],
                             map->rest);
}

static void add_values(struct map *map, const struct report_points *values, size_t axis)
{
    char text[VALUE_BYTES];
    // Every value has its tic while there is room for it.
    size_t every = axis == 1 ? values->count / 14 + 1 : values->count / 40 + 1;
    report_plot_add(&map->plot, axis == 1 ? "set xtics (" : "set ytics (");
    for (size_t i = 0; i < values->count; i += every) {
        report_plot_add(&map->plot, i == 0 ? "" : ", ");
        report_plot_tic(&map->plot, report_sweep_value(map->grid->sweep, values->at[i], axis, text,
                                                       sizeof text));
        report_plot_add(&map->plot, " %zu", i);
    }
    report_plot_add(&map->plot, ")\n");
}

static void add_axis_name(struct map *map, const char *which, const char *name, const char *offset)
{
    report_plot_add(&map->plot, "set %s ", which);
    report_plot_quote(&map->plot, name);
    report_plot_add(&map->plot, " offset %s textcolor ", offset);
    report_plot_colour(&map->plot, REPORT_MUTED);
    report_plot_add(&map->plot, "\n");
}

static void begin_map(struct map *map, const struct report_grid *grid,
                      const struct record_point *rest)
{
    *map = (struct map){.grid = grid, .rest = rest};
    report_sweep_values(grid->sweep, 0, &map->rows);
    report_sweep_values(grid->sweep, 1, &map->columns);
    size_t units = map->rows.count * CELL_UNITS;
    int height = (int)(units < MAP_UNITS_MAX ? units : MAP_UNITS_MAX) + 64;
    report_plot_begin(&map->plot, height);
    report_plot_add(&map->plot,
                    "unset grid\nset lmargin at screen 0.15\nset rmargin at screen 0.99\n"
                    "set tmargin at screen %.4f\nset bmargin at screen %.4f\n"
                    "set xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\n",
                    1.0 - 18.0 / height, 46.0 / height, map->columns.count - 1,
                    map->rows.count - 1);
    add_values(map, &map->rows, 0);
    add_values(map, &map->columns, 1);
    add_axis_name(map, "xlabel", grid->sweep->axes[1], "0,0.5");
    report_plot_add(&map->plot, "set label ");
    report_plot_quote(&map->plot, grid->sweep->axes[0]);
    report_plot_add(&map->plot, " at screen 0.005,%.4f left textcolor ", 1.0 - 8.0 / height);
    report_plot_colour(&map->plot, REPORT_MUTED);
    report_plot_add(&map->plot, "\n");
}

static void end_map(struct map *map)
{
    base_vec_free(&map->rows);
    base_vec_free(&map->columns);
}

/* Whether targets end between two cells: both are decided, and one of them alone meets them. */
static bool parts(const struct record_point *a, const struct record_point *b)
{
    bool are_decided =
        a != NULL && b != NULL && a->status != RECORD_POINT_OPEN && b->status != RECORD_POINT_OPEN;
    return are_decided && (a->status == RECORD_POINT_OK) != (b->status == RECORD_POINT_OK);
}

static void add_stroke(struct report_plot *plot, double x0, double y0, double x1, double y1)
{
    report_plot_add(plot, "set arrow from %.9g,%.9g to %.9g,%.9g nohead front lw 2.5 lc ", x0, y0,
                    x1, y1);
    report_plot_colour(plot, REPORT_BOUND);
    report_plot_add(plot, "\n");
}

/* A stroke wherever a cell that meets its targets lies beside one that does not; false when none does. */
static bool add_frontier(struct map *map)
{
    bool has_any = false;
    for (size_t r = 0; r < map->rows.count; r++) {
        for (size_t c = 0; c < map->columns.count; c++) {
            const struct record_point *here = cell(map, r, c), *right = cell(map, r, c + 1),
                                      *below = cell(map, r + 1, c);
            double x = (double)c, y = (double)r;
            has_any |= parts(here, right) || parts(here, below);
            if (parts(here, right))
                add_stroke(&map->plot, x + 0.5, y - 0.5, x + 0.5, y + 0.5);
            if (parts(here, below))
                add_stroke(&map->plot, x - 0.5, y + 0.5, x + 0.5, y + 0.5);
        }
    }
    return has_any;
}

static void add_cell_label(struct map *map, size_t row, size_t column, const char *text, int colour)
{
    if (map->columns.count > LABELLED_COLUMNS)
        return;
    report_plot_add(&map->plot, "set label ");
    report_plot_quote(&map->plot, text);
    report_plot_add(&map->plot, " at %zu,%zu center front textcolor ", column, row);
    report_plot_colour(&map->plot, colour);
    report_plot_add(&map->plot, "\n");
}

/* Three digits: 0.12, 4.56, 78.9, 123, 4.5k, 67k. */
static const char *print_short(double value, char *text, size_t bytes)
{
    double size = fabs(value);
    if (size >= 1e6)
        snprintf(text, bytes, "%.3gM", value / 1e6);
    else if (size >= 1e4)
        snprintf(text, bytes, "%.0fk", value / 1e3);
    else if (size >= 1e3)
        snprintf(text, bytes, "%.1fk", value / 1e3);
    else
        snprintf(text, bytes, "%.3g", value);
    return text;
}

/* The least and the most of the figure in this grid; false without two of them. */
static bool find_scale(const struct report_grid *grid, double scale[2])
{
    scale[0] = (double)NAN;
    scale[1] = (double)NAN;
    for (size_t i = 0; i < grid->sweep->point_count; i++) {
        double value = report_point_steady(&grid->sweep->points[i], grid->metric);
        scale[0] = fmin(scale[0], value);
        scale[1] = fmax(scale[1], value);
    }
    return scale[1] > scale[0];
}

/* What grows is beyond the scale. */
static int step_of(const double scale[2], double value)
{
    if (isnan(value))
        return REPORT_SCALE_COUNT - 1;
    int step = (int)((value - scale[0]) / (scale[1] - scale[0]) * REPORT_SCALE_COUNT);
    return step < REPORT_SCALE_COUNT ? step : REPORT_SCALE_COUNT - 1;
}

/* Cells of a colour each; the labels must have been set before. */
static void begin_cells(struct map *map)
{
    report_plot_add(&map->plot, "$cells << EOD\n");
}

static void add_cell(struct map *map, size_t row, size_t column, int colour)
{
    report_plot_add(&map->plot, "%zu %zu %d\n", column, row, colour);
}

static void end_cells(struct map *map)
{
    report_plot_add(&map->plot, "EOD\nplot $cells using 1:2:($1-0.48):($1+0.48):($2-0.46):"
                                "($2+0.46):3 with boxxyerror lc rgb variable\n");
}

/* "4.5k", "4.5k^" where the point is overloaded, "12?" where it has not settled: the frontier says what is missed. */
static const char *print_figure(const struct record_point *point, enum record_summary metric,
                                char *text, size_t bytes)
{
    double value = report_point_steady(point, metric);
    char number[REPORT_NUMBER_BYTES] = "grows";
    if (!isnan(value))
        print_short(value, number, sizeof number);
    snprintf(text, bytes, "%s%s", number,
             report_point_grows(point)          ? "^"
             : report_point_is_unsettled(point) ? "?"
                                                : "");
    return text;
}

static bool has_figure(const struct map *map, const struct record_point *point)
{
    return point != NULL && !isnan(record_point_real(point, map->grid->metric));
}

static void label_figures(struct map *map, const double scale[2])
{
    for (size_t r = 0; r < map->rows.count; r++) {
        for (size_t c = 0; c < map->columns.count; c++) {
            const struct record_point *point = cell(map, r, c);
            char text[REPORT_NUMBER_BYTES * 2];
            if (has_figure(map, point))
                add_cell_label(map, r, c, print_figure(point, map->grid->metric, text, sizeof text),
                               step_of(scale, report_point_steady(point, map->grid->metric)) >= 5
                                   ? REPORT_PAGE
                                   : REPORT_INK);
            else if (point != NULL && point->status == RECORD_POINT_REFUSED)
                add_cell_label(map, r, c, "–", REPORT_MUTED);
        }
    }
}

static void colour_figures(struct map *map, const double scale[2])
{
    begin_cells(map);
    for (size_t r = 0; r < map->rows.count; r++) {
        for (size_t c = 0; c < map->columns.count; c++) {
            const struct record_point *point = cell(map, r, c);
            if (has_figure(map, point))
                add_cell(map, r, c,
                         REPORT_SCALE +
                             step_of(scale, report_point_steady(point, map->grid->metric)));
        }
    }
    end_cells(map);
}

static void put_scale_legend(struct report_html *html, const double scale[2], bool has_frontier)
{
    char low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    report_figure_legend(html);
    report_figure_key(html, REPORT_SCALE, print_short(scale[0], low, sizeof low), "");
    for (int step = 2; step < REPORT_SCALE_COUNT - 1; step += 2)
        report_figure_key(html, REPORT_SCALE + step, "", "");
    report_figure_key(html, REPORT_SCALE + REPORT_SCALE_COUNT - 1,
                      print_short(scale[1], high, sizeof high), "");
    if (has_frontier)
        report_figure_key(html, REPORT_BOUND, "where the targets end", "");
    report_figure_legend_end(html);
}

static bool begin_map_figure(struct report_html *html, struct report_plotter *plotter,
                             struct map *map, const char *kind, size_t number, const char *title)
{
    char id[48];
    snprintf(id, sizeof id, "plot-%s-%zu", kind, number);
    bool is_drawn = report_figure_begin(html, plotter, &map->plot, id, title,
                                        "A grid of cells, the first axis down and the second "
                                        "across. The table has the same cells.");
    end_map(map);
    return is_drawn;
}

static void put_heat_caption(struct report_html *html, const struct record_sweep *sweep,
                             const char *help)
{
    char unsteady[240];
    struct base_text text = {0};
    report_sweep_explain_unsteady(sweep, true, unsteady, sizeof unsteady);
    base_text_printf(&text, "%s%s%s", help, help[0] == '\0' || unsteady[0] == '\0' ? "" : "; ",
                     unsteady);
    report_figure_end(html, text.at);
    base_text_free(&text);
}

bool report_figure_heat(struct report_html *html, struct report_plotter *plotter,
                        const struct report_grid *grid, const struct record_point *rest,
                        size_t number)
{
    double scale[2];
    if (!report_sweep_is_map(grid->sweep) || !find_scale(grid, scale))
        return false;
    const struct record_column *column = &record_summary_columns[grid->metric];
    char words[64], title[128];
    struct map map;
    begin_map(&map, grid, rest);
    bool has_frontier = add_frontier(&map);
    label_figures(&map, scale);
    colour_figures(&map, scale);
    report_words(column->name, words, sizeof words);
    words[0] = (char)(words[0] >= 'a' && words[0] <= 'z' ? words[0] - 'a' + 'A' : words[0]);
    snprintf(title, sizeof title, "%s%s%s", words, column->unit[0] == '\0' ? "" : ", ",
             column->unit);
    if (!begin_map_figure(html, plotter, &map, "heat", number, title))
        return false;
    put_scale_legend(html, scale, has_frontier);
    put_heat_caption(html, grid->sweep, column->help);
    return true;
}

static const struct {
    const char *name, *code;
} limit_codes[] = {
    {"kv_pool", "KV"},     {"max_num_seqs", "S"},  {"max_num_batched_tokens", "B"},
    {"link", "L"},         {"compute", "C"},       {"weight_bandwidth", "W"},
    {"kv_bandwidth", "R"}, {"communication", "X"}, {"host", "H"},
    {"arrival", "A"},
};

static size_t find_limit(const struct record_point *point)
{
    const char *limit = point == NULL ? "" : record_point_text(point, RECORD_BINDING_LIMIT);
    size_t at = 0;
    while (at < COUNT_OF(limit_codes) && strcmp(limit_codes[at].name, limit) != 0)
        at++;
    return at;
}

static void label_limits(struct map *map, bool is_used[COUNT_OF(limit_codes)])
{
    for (size_t r = 0; r < map->rows.count; r++) {
        for (size_t c = 0; c < map->columns.count; c++) {
            size_t limit = find_limit(cell(map, r, c));
            if (limit == COUNT_OF(limit_codes))
                continue;
            is_used[limit] = true;
            add_cell_label(map, r, c, limit_codes[limit].code, REPORT_PAGE);
        }
    }
}

static void colour_limits(struct map *map)
{
    begin_cells(map);
    for (size_t r = 0; r < map->rows.count; r++) {
        for (size_t c = 0; c < map->columns.count; c++) {
            size_t limit = find_limit(cell(map, r, c));
            if (limit < COUNT_OF(limit_codes))
                add_cell(map, r, c, report_limit_colour(limit_codes[limit].name));
        }
    }
    end_cells(map);
}

bool report_figure_binding(struct report_html *html, struct report_plotter *plotter,
                           const struct report_grid *grid, const struct record_point *rest,
                           size_t number)
{
    if (!report_sweep_is_map(grid->sweep) || grid->sweep->point_count == 0)
        return false;
    bool is_used[COUNT_OF(limit_codes)] = {false}, has_any = false;
    struct map map;
    begin_map(&map, grid, rest);
    add_frontier(&map);
    label_limits(&map, is_used);
    colour_limits(&map);
    for (size_t i = 0; i < COUNT_OF(limit_codes); i++)
        has_any |= is_used[i];
    if (!has_any) {
        end_map(&map);
        report_plot_release(&map.plot);
        return false;
    }
    if (!begin_map_figure(html, plotter, &map, "binding", number, "What binds"))
        return false;
    report_figure_legend(html);
    for (size_t i = 0; i < COUNT_OF(limit_codes); i++) {
        char words[64];
        if (is_used[i])
            report_figure_key(html, report_limit_colour(limit_codes[i].name), limit_codes[i].code,
                              report_words(limit_codes[i].name, words, sizeof words));
    }
    report_figure_legend_end(html);
    report_figure_end(html, "The limit with the largest share of each cell's time.");
    return true;
}

/* ---- latency along the first axis ---- */

struct along {
    const struct report_grid *grid;
    enum record_summary column;
    double bound_ms; /* of the SLO on this figure; NaN without */
    bool is_numeric, is_log;
    struct report_points values; /* of the first axis */
    double low, high;            /* ms over all points and the bound */
};

/* How far right a point stands: its number, or its place among names. */
static double place_of(const struct along *along, const struct record_point *point)
{
    if (along->is_numeric)
        return report_sweep_number(point);
    size_t at = 0;
    while (at < along->values.count &&
           strcmp(along->values.at[at]->values[0], point->values[0]) != 0)
        at++;
    return (double)at;
}

static void look_at_axis(struct along *along)
{
    double low = HUGE_VAL, high = 0.0;
    along->is_numeric = true;
    report_sweep_values(along->grid->sweep, 0, &along->values);
    for (size_t i = 0; i < along->values.count; i++) {
        double value = report_sweep_number(along->values.at[i]);
        along->is_numeric = along->is_numeric && !isnan(value);
        low = fmin(low, value);
        high = fmax(high, value);
    }
    along->is_log = along->is_numeric && low > 0.0 && high / low >= 30.0;
}

static void look_at_figures(struct along *along)
{
    along->low = HUGE_VAL;
    along->high = 0.0;
    for (size_t i = 0; i < along->grid->sweep->point_count; i++) {
        double value = report_point_steady(&along->grid->sweep->points[i], along->column);
        if (!(value > 0.0))
            continue;
        along->low = fmin(along->low, value);
        along->high = fmax(along->high, value);
    }
    if (along->high > 0.0 && !isnan(along->bound_ms)) {
        along->low = fmin(along->low, along->bound_ms);
        along->high = fmax(along->high, along->bound_ms);
    }
}

/* The SLO on the column's figure for all requests, of the first run. */
static double find_bound(const struct report_grid *grid, enum record_summary column)
{
    const struct record_metric *row =
        grid->base == NULL ? NULL : report_run_row(grid->base, column);
    for (size_t i = 0; row != NULL && i < grid->base->slo_lines.count; i++) {
        struct report_slo slo;
        report_slo_read(grid->base, i, &slo);
        if (slo.is_slo && slo.row == row)
            return (double)slo.slo.bound_ns / 1e6;
    }
    return (double)NAN;
}

static void add_along_axes(struct report_plot *plot, const struct along *along)
{
    report_plot_add(plot, "set lmargin at screen 0.15\nset rmargin at screen 0.97\n"
                          "set tmargin at screen 0.97\nset bmargin at screen 0.19\nset xlabel ");
    report_plot_quote(plot, along->grid->sweep->axes[0]);
    report_plot_add(plot, " offset 0,0.5 textcolor ");
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot, "\nset grid noxtics ytics\n");
    if (along->is_log)
        report_plot_add(plot, "set logscale x\n");
    if (along->high > 30.0 * along->low) {
        report_plot_add(plot,
                        "set logscale y\nset yrange [%.9g:%.9g]\nset ytics ('0.1 ms' 0.1, '1 ms' "
                        "1, '10 ms' 10, '100 ms' 100, '1 s' 1e3, '10 s' 1e4, '100 s' 1e5, "
                        "'1,000 s' 1e6)\n",
                        pow(10.0, floor(log10(along->low))), along->high * 1.6);
        return;
    }
    report_plot_add(plot, "set yrange [0:%.9g]\nset format y \"%%.10g ms\"\n", along->high * 1.12);
}

/* From the first value to the last, with some room, whether or not they have figures. */
static void add_along_range(struct report_plot *plot, const struct along *along)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < along->values.count; i++) {
        low = fmin(low, place_of(along, along->values.at[i]));
        high = fmax(high, place_of(along, along->values.at[i]));
    }
    double room = along->is_log ? pow(high / low, 0.03) : (high - low) * 0.03;
    report_plot_add(plot, "set xrange [%.9g:%.9g]\n", along->is_log ? low / room : low - room,
                    along->is_log ? high * room : high + room);
}

static void add_along_tics(struct report_plot *plot, const struct along *along)
{
    char text[VALUE_BYTES];
    add_along_range(plot, along);
    size_t every = along->values.count / 9 + 1;
    report_plot_add(plot, "set xtics (");
    for (size_t i = 0; i < along->values.count; i += every) {
        report_plot_add(plot, i == 0 ? "" : ", ");
        report_plot_tic(plot, report_sweep_value(along->grid->sweep, along->values.at[i], 0, text,
                                                 sizeof text));
        report_plot_add(plot, " %.9g", place_of(along, along->values.at[i]));
    }
    report_plot_add(plot, ")\n");
}

/* One row for each point of the line: place, value, interval. */
static void add_line_data(struct report_plot *plot, const struct along *along,
                          const struct report_points *line, size_t number)
{
    report_plot_add(plot, "$line%zu << EOD\n", number);
    for (size_t i = 0; i < line->count; i++) {
        double value = report_point_steady(line->at[i], along->column);
        const struct record_run *run = report_grid_run(along->grid, line->at[i]);
        double low = value, high = value;
        if (!(value > 0.0))
            continue;
        if (run != NULL && report_run_has_interval(run, along->column)) {
            low = fmax(report_run_row(run, along->column)->ci_low, value / 1000);
            high = report_run_row(run, along->column)->ci_high;
        }
        report_plot_add(plot, "%.9g %.9g %.9g %.9g\n", place_of(along, line->at[i]), value, low,
                        high);
    }
    report_plot_add(plot, "EOD\n");
}

static int line_colour(size_t number, size_t count)
{
    return count <= 1 ? REPORT_SERIES : REPORT_SERIES + (int)(number % 9);
}

static void add_bound_line(struct report_plot *plot, const struct along *along)
{
    if (isnan(along->bound_ms))
        return;
    report_plot_add(plot,
                    "set arrow from graph 0,first %.9g to graph 1,first %.9g nohead lw 1.8 "
                    "lc ",
                    along->bound_ms, along->bound_ms);
    report_plot_colour(plot, REPORT_BOUND);
    report_plot_add(plot, "\n");
}

/* Names have no order that a line could follow: they get dots alone. */
static void add_plot_command(struct report_plot *plot, const struct along *along,
                             const bool *has_data, size_t count)
{
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (!has_data[i])
            continue;
        report_plot_add(plot, is_first ? "plot " : ", ");
        if (along->is_numeric) {
            report_plot_add(plot, "$line%zu using 1:2 with lines lw 1.6 lc ", i);
            report_plot_colour(plot, line_colour(i, count));
            report_plot_add(plot, ", ");
        }
        report_plot_add(plot, "$line%zu using 1:2:3:4 with yerrorbars pt 7 ps 0.6 lw 1.4 lc ", i);
        report_plot_colour(plot, line_colour(i, count));
        is_first = false;
    }
    report_plot_add(plot, "\n");
}

static bool has_figures(const struct report_points *line, enum record_summary column)
{
    bool has_any = false;
    for (size_t i = 0; i < line->count; i++)
        has_any |= report_point_steady(line->at[i], column) > 0.0;
    return has_any;
}

/* The lines of the grid, as their first points, as many as can be told apart. */
static size_t find_lines(const struct record_sweep *sweep, const struct record_point **firsts)
{
    size_t count = 0;
    struct report_points line = {0};
    for (size_t i = 0; i < sweep->point_count && count < LINES_MAX; i++) {
        report_sweep_line(sweep, &sweep->points[i], &line);
        if (line.at[0] == &sweep->points[i])
            firsts[count++] = &sweep->points[i];
    }
    base_vec_free(&line);
    return count;
}

static bool plot_along(struct report_plot *plot, const struct along *along,
                       const struct record_point *const *firsts, size_t count)
{
    bool has_data[LINES_MAX] = {false}, has_any = false;
    struct report_points line = {0};
    report_plot_begin(plot, 270);
    add_along_axes(plot, along);
    add_along_tics(plot, along);
    add_bound_line(plot, along);
    for (size_t i = 0; i < count; i++) {
        report_sweep_line(along->grid->sweep, firsts[i], &line);
        has_data[i] = has_figures(&line, along->column);
        has_any |= has_data[i];
        if (has_data[i])
            add_line_data(plot, along, &line, i);
    }
    add_plot_command(plot, along, has_data, count);
    base_vec_free(&line);
    return has_any;
}

static void put_along_legend(struct report_html *html, const struct along *along,
                             const struct record_point *const *firsts, size_t count)
{
    report_figure_legend(html);
    for (size_t i = 0; i < count && along->grid->sweep->axis_count > 1; i++) {
        struct base_text text = {0};
        report_sweep_add_place(&text, along->grid->sweep, firsts[i], 1);
        report_figure_key(html, line_colour(i, count), text.at, "");
        base_text_free(&text);
    }
    if (!isnan(along->bound_ms))
        report_figure_key(html, REPORT_BOUND, "SLO", "");
    report_figure_legend_end(html);
}

static const char along_caption[] =
    "Whiskers are 95 % intervals; a dot without one has none, or the "
    "grid is too large to show them.";
static const char along_caption_growing[] =
    "Whiskers are 95 % intervals; a dot without one has none, or the grid is too large to show "
    "them. Overloaded points have no dot: their latencies grow with the length of the run.";

bool report_figure_along(struct report_html *html, struct report_plotter *plotter,
                         const struct report_grid *grid, enum record_summary column)
{
    const struct record_sweep *sweep = grid->sweep;
    struct along along = {.grid = grid, .column = column, .bound_ms = find_bound(grid, column)};
    if (sweep->axis_count == 0 || sweep->is_zipped)
        return false;
    const struct record_point *firsts[LINES_MAX];
    size_t count = find_lines(sweep, firsts);
    look_at_axis(&along);
    look_at_figures(&along);
    struct report_plot plot;
    char name[64], title[256], id[96];
    const char *statistic = record_summary_metric(column, name, sizeof name);
    snprintf(title, sizeof title, "%s %s along %s", name, statistic, sweep->axes[0]);
    snprintf(id, sizeof id, "plot-along-%s", name);
    bool can_draw =
        along.values.count >= 2 && along.high > 0.0 && plot_along(&plot, &along, firsts, count);
    if (along.values.count >= 2 && along.high > 0.0 && !can_draw)
        report_plot_release(&plot);
    bool is_drawn = can_draw && report_figure_begin(html, plotter, &plot, id, title,
                                                    "A line of latency in ms against the values "
                                                    "of the first axis; the table of points has "
                                                    "the same figures.");
    if (is_drawn) {
        put_along_legend(html, &along, firsts, count);
        report_figure_end(html, report_sweep_count_where(sweep, report_point_grows) == 0
                                    ? along_caption
                                    : along_caption_growing);
    }
    base_vec_free(&along.values);
    return is_drawn;
}

/* ---- Pareto ---- */

static void add_dots(struct report_plot *plot, const struct record_sweep *sweep)
{
    report_plot_add(plot, "$dots << EOD\n");
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *point = &sweep->points[i];
        double user = record_point_real(point, RECORD_OUTPUT_THROUGHPUT_PER_USER);
        double gpu = record_point_real(point, RECORD_OUTPUT_THROUGHPUT_PER_GPU);
        if (!isnan(user) && !isnan(gpu))
            report_plot_add(plot, "%.9g %.9g %d\n", user, gpu,
                            point->status == RECORD_POINT_OK && report_point_is_steady(point)
                                ? REPORT_SCALE + 3
                                : REPORT_FAINT);
    }
    report_plot_add(plot, "EOD\n");
}

/* Labels that would lie on one another are left out. */
static bool is_apart(const struct report_points *set, const struct record_point *from,
                     const struct record_point *to)
{
    double distance = 0.0;
    static const enum record_summary figures[] = {RECORD_OUTPUT_THROUGHPUT_PER_USER,
                                                  RECORD_OUTPUT_THROUGHPUT_PER_GPU};
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        double most = fmax(record_point_real(set->at[0], figures[i]),
                           record_point_real(set->at[set->count - 1], figures[i]));
        distance +=
            fabs(record_point_real(from, figures[i]) - record_point_real(to, figures[i])) / most;
    }
    return distance >= 0.08;
}

static void add_point_label(struct report_plot *plot, const struct record_sweep *sweep,
                            const struct record_point *point)
{
    struct base_text text = {0};
    report_sweep_add_values(&text, sweep, point, 0);
    report_plot_add(plot, "set label ");
    report_plot_quote(plot, text.at);
    report_plot_add(plot, " at %.9g,%.9g left offset 0.6,0.5 front textcolor ",
                    record_point_real(point, RECORD_OUTPUT_THROUGHPUT_PER_USER),
                    record_point_real(point, RECORD_OUTPUT_THROUGHPUT_PER_GPU));
    report_plot_colour(plot, REPORT_INK);
    report_plot_add(plot, "\n");
    base_text_free(&text);
}

static void add_set(struct report_plot *plot, const struct record_sweep *sweep,
                    const struct report_points *set)
{
    const struct record_point *labelled = NULL;
    for (size_t i = 0; i < set->count; i++) {
        if (labelled != NULL && !is_apart(set, labelled, set->at[i]))
            continue;
        labelled = set->at[i];
        add_point_label(plot, sweep, labelled);
    }
    report_plot_add(plot, "$set << EOD\n");
    for (size_t i = 0; i < set->count; i++)
        report_plot_add(plot, "%.9g %.9g\n",
                        record_point_real(set->at[i], RECORD_OUTPUT_THROUGHPUT_PER_USER),
                        record_point_real(set->at[i], RECORD_OUTPUT_THROUGHPUT_PER_GPU));
    report_plot_add(plot, "EOD\n");
}

static void plot_pareto(struct report_plot *plot, const struct record_sweep *sweep,
                        const struct report_points *set)
{
    report_plot_begin(plot, 300);
    report_plot_add(plot,
                    "set lmargin at screen 0.14\nset rmargin at screen 0.93\n"
                    "set tmargin at screen 0.92\nset bmargin at screen 0.17\n"
                    "set xrange [0:*]\nset yrange [0:*]\nset format y \"%%.10g\"\n"
                    "set grid xtics ytics\nset label 'tokens/s per GPU' at screen 0.01,0.965 left "
                    "textcolor rgb '#0000%02x'\nset xlabel 'tokens/s per user' offset 0,0.5 "
                    "textcolor rgb '#0000%02x'\n",
                    REPORT_MUTED, REPORT_MUTED);
    add_dots(plot, sweep);
    add_set(plot, sweep, set);
    report_plot_add(plot, "plot $dots using 1:2:3 with points pt 7 ps 0.6 lc rgb variable, "
                          "$set using 1:2 with linespoints pt 7 ps 0.8 lw 1.6 lc ");
    report_plot_colour(plot, REPORT_SERIES);
    report_plot_add(plot, "\n");
}

bool report_figure_pareto(struct report_html *html, struct report_plotter *plotter,
                          const struct report_grid *grid)
{
    struct report_points set = {0};
    char left_out[160];
    report_sweep_pareto_set(grid->sweep, &set);
    if (set.count == 0) {
        base_vec_free(&set);
        return false;
    }
    struct report_plot plot;
    plot_pareto(&plot, grid->sweep, &set);
    base_vec_free(&set);
    if (!report_figure_begin(html, plotter, &plot, "plot-pareto",
                             "Output per GPU against speed per user",
                             "Dots for all points; a line through those that no other one beats "
                             "in both. The table has the same figures."))
        return false;
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES, "Pareto set", "");
    report_figure_key(html, REPORT_SCALE + 3, "meets its targets", "");
    report_figure_key(html, REPORT_FAINT,
                      report_sweep_explain_left_out(grid->sweep, left_out, sizeof left_out)[0] ==
                              '\0'
                          ? "misses one"
                          : "misses one, or is not steady",
                      "");
    report_figure_legend_end(html);
    report_figure_end(html, "Right is faster for each user, up is more from each GPU.");
    return true;
}
