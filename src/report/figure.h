/*
 * figure.h - a plot with its title, legend and caption on a page; and the plot that many figures are, bars of parts.
 */
#ifndef KVSIM_REPORT_FIGURE_H
#define KVSIM_REPORT_FIGURE_H

#include "report/html.h"
#include "report/plot.h"

#include <stddef.h>

/*
 * Draws the plot, releases it and writes the figure: `title` above, `alternative` for those who cannot see it. False, and
 * nothing written, when it cannot be drawn. Legend and caption follow, then report_figure_end().
 */
bool report_figure_begin(struct report_html *html, struct report_plotter *plotter,
                         struct report_plot *plot, const char *id, const char *title,
                         const char *alternative);
void report_figure_legend(struct report_html *html);
/* One entry: a swatch of the colour and a text; `value` may be "". */
void report_figure_key(struct report_html *html, int colour, const char *name, const char *value);
void report_figure_legend_end(struct report_html *html);
void report_figure_end(struct report_html *html, const char *caption);

/* A paragraph that says why there will be no plots; nothing when gnuplot draws. */
void report_html_plot_note(struct report_html *html, struct report_plotter *plotter);

/* Part of a horizontal bar, from `low` to `high`. */
struct report_bar {
    size_t row; /* from the top */
    double low, high;
    int colour;
    const char *label; /* right of the bar; NULL = none */
};
/* The rows' names at the left; `axis` describes the numbers. `high` = where the axis ends. */
void report_plot_bars(struct report_plot *plot, const char *const *rows, size_t row_count,
                      const struct report_bar *bars, size_t bar_count, double high,
                      const char *axis);

/* How far apart the marks of an axis over such a span lie, so that their labels find room: 1, 2 or 5 times a power of ten. */
double report_plot_step(double span);

/* "weight_bandwidth" as words: "weight bandwidth". Returns text. */
char *report_words(const char *name, char *text, size_t bytes);

#endif
