/*
 * sweep_along.c - a latency along the first axis, with its intervals: a line for each combination of the other axes.
 */
#include "report/sweep_html_int.h"

#include "report/run_view.h"
#include "report/sweep.h"

#include <math.h>
#include <string.h>

enum { VALUE_BYTES = 96, LINES_MAX = REPORT_SCALE_COUNT };

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
