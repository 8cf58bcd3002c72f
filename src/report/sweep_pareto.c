/*
 * sweep_pareto.c - output per GPU against speed per user: every point, and the line through those that none beats.
 */
#include "report/sweep_html_int.h"

#include "report/sweep.h"

#include <math.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

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
