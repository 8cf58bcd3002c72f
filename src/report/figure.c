#include "report/figure.h"

#include "base/text.h"

#include <math.h>

char *report_words(const char *name, char *text, size_t bytes)
{
    base_copy(text, bytes, name);
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '_')
            *at = ' ';
    }
    return text;
}

bool report_figure_begin(struct report_html *html, struct report_plotter *plotter,
                         struct report_plot *plot, const char *id, const char *title,
                         const char *alternative)
{
    struct base_text svg = {0};
    bool is_drawn = report_plot_draw(plotter, plot, &svg);
    if (is_drawn) {
        fprintf(html->out, "<figure>\n<h3 id=\"%s\">", id);
        report_html_text(html, title);
        fprintf(html->out,
                "</h3>\n<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" "
                "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s\" "
                "aria-describedby=\"%s-says\">\n<desc id=\"%s-says\">",
                (int)REPORT_PLOT_WIDTH, plot->height, id, id, id);
        report_html_text(html, alternative);
        report_html_markup(html, "</desc>\n");
        fwrite(svg.at, 1, svg.count, html->out);
        report_html_markup(html, "</svg>\n");
    }
    base_text_free(&svg);
    report_plot_release(plot);
    return is_drawn;
}

void report_figure_legend(struct report_html *html)
{
    report_html_markup(html, "<ul class=\"legend\">\n");
}

void report_figure_key(struct report_html *html, int colour, const char *name, const char *value)
{
    fprintf(html->out, "<li><span class=\"swatch k%d\"></span><span>", colour);
    report_html_printf(html, value[0] == '\0' ? "%s%s" : "%s %s", name, value);
    report_html_markup(html, "</span></li>\n");
}

void report_figure_legend_end(struct report_html *html)
{
    report_html_markup(html, "</ul>\n");
}

void report_figure_end(struct report_html *html, const char *caption)
{
    report_html_markup(html, "<figcaption>");
    report_html_text(html, caption);
    report_html_markup(html, "</figcaption>\n</figure>\n");
}

double report_plot_step(double span)
{
    enum { MARKS = 5 };
    static const double steps[] = {1, 2, 5, 10};
    double unit = pow(10, floor(log10(span / MARKS)));
    size_t at = 0;
    while (at < 3 && span > MARKS * steps[at] * unit)
        at++;
    return steps[at] * unit;
}

static void add_rows(struct report_plot *plot, const char *const *rows, size_t count)
{
    report_plot_add(plot, "set ytics (");
    for (size_t i = 0; i < count; i++) {
        char words[96];
        report_plot_add(plot, i == 0 ? "" : ", ");
        report_plot_tic(plot, report_words(rows[i], words, sizeof words));
        report_plot_add(plot, " %zu", i);
    }
    report_plot_add(plot, ")\nset yrange [%zu.55:-0.55]\n", count - 1);
}

static void add_labels(struct report_plot *plot, const struct report_bar *bars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bars[i].label == NULL)
            continue;
        report_plot_add(plot, "set label ");
        report_plot_quote(plot, bars[i].label);
        report_plot_add(plot, " at %.9g,%zu left offset 0.5,0 textcolor ", bars[i].high,
                        bars[i].row);
        report_plot_colour(plot, REPORT_INK);
        report_plot_add(plot, "\n");
    }
}

void report_plot_bars(struct report_plot *plot, const char *const *rows, size_t row_count,
                      const struct report_bar *bars, size_t bar_count, double high,
                      const char *axis)
{
    add_rows(plot, rows, row_count);
    add_labels(plot, bars, bar_count);
    report_plot_add(plot,
                    "set grid noytics xtics\nset lmargin at screen 0.30\n"
                    "set rmargin at screen 0.95\nset tmargin at screen 0.99\n"
                    "set bmargin at screen %.4f\nset xrange [0:%.9g]\nset xlabel ",
                    48.0 / plot->height, high);
    report_plot_quote(plot, axis);
    report_plot_add(plot, " offset 0,0.6 textcolor ");
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot, "\n$bars << EOD\n");
    for (size_t i = 0; i < bar_count; i++)
        report_plot_add(plot, "%.9g %zu %.9g %.9g %d\n", (bars[i].low + bars[i].high) / 2,
                        bars[i].row, bars[i].low, bars[i].high, bars[i].colour);
    report_plot_add(plot, "EOD\n");
    report_plot_add(plot, "plot $bars using 1:2:3:4:($2-0.32):($2+0.32):5 with boxxyerror "
                          "lc rgb variable\n");
}

void report_html_plot_note(struct report_html *html, struct report_plotter *plotter)
{
    if (plotter->program == NULL) {
        report_html_paragraph(html, "note", "Plots are left out; the tables have the figures.");
        return;
    }
    struct report_plot probe;
    struct base_text svg = {0};
    report_plot_begin(&probe, 40);
    report_plot_add(&probe, "plot [0:1][0:1] x\n");
    if (!report_plot_draw(plotter, &probe, &svg))
        report_html_paragraph(html, "note",
                              "There are no plots, since gnuplot could not draw them: %s. The "
                              "tables have the figures.",
                              plotter->failure);
    base_text_free(&svg);
    report_plot_release(&probe);
}
