/*
 * sweep_maps.c - the first axis down, the second across: a heat map of a figure, and what binds in each cell.
 */
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
};

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
            else if (point != NULL && report_point_starts(point))
                add_cell_label(map, r, c, "none", REPORT_MUTED);
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
