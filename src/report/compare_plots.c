#include "report/compare_plots.h"

#include "report/compare.h"
#include "report/figure.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

enum { ROWS_MAX = 32, NAME_BYTES = 120 };

/* Beyond twice or nothing an axis tells no more of the others. */
#define RELATIVE_MAX 200.0

/* ---- differences ---- */

static int colour_of(enum record_verdict verdict)
{
    switch (verdict) {
    case RECORD_BETTER:
        return REPORT_SERIES + 2;
    case RECORD_WORSE:
        return REPORT_SERIES + 7;
    case RECORD_MORE:
    case RECORD_LESS:
        return REPORT_SERIES;
    default:
        return REPORT_SERIES + 13;
    }
}

struct relative {
    const struct record_difference *row;
    double value, low, high; /* in per cent */
};

static bool read_relative(const struct record_difference *row, struct relative *out)
{
    if (row == NULL || isnan(row->ratio) || row->verdict == RECORD_EQUAL)
        return false;
    bool has_interval = !isnan(row->ratio_ci_low);
    *out = (struct relative){.row = row,
                             .value = (row->ratio - 1) * 100,
                             .low = ((has_interval ? row->ratio_ci_low : row->ratio) - 1) * 100,
                             .high = ((has_interval ? row->ratio_ci_high : row->ratio) - 1) * 100};
    return true;
}

static size_t find_relatives(const struct record_comparison *comparison, struct relative *out,
                             double *low, double *high)
{
    size_t count = 0;
    *low = *high = 0;
    for (size_t i = 0; i < report_compare_count() && count < ROWS_MAX; i++) {
        if (!read_relative(report_compare_row(comparison, i), &out[count]))
            continue;
        *low = fmax(fmin(*low, out[count].low), -RELATIVE_MAX);
        *high = fmin(fmax(*high, out[count].high), RELATIVE_MAX);
        count++;
    }
    return count;
}

static void add_relative_rows(struct report_plot *plot, const struct relative *rows, size_t count)
{
    char name[NAME_BYTES], words[NAME_BYTES];
    report_plot_add(plot, "set ytics (");
    for (size_t i = 0; i < count; i++) {
        report_compare_name(rows[i].row, name, sizeof name);
        report_plot_add(plot, i == 0 ? "" : ", ");
        report_plot_tic(plot, report_words(name, words, sizeof words));
        report_plot_add(plot, " %zu", i);
    }
    report_plot_add(plot, ")\nset yrange [%zu.6:-0.6]\n$rows << EOD\n", count - 1);
    for (size_t i = 0; i < count; i++)
        report_plot_add(plot, "%.9g %zu %.9g %.9g %d\n", rows[i].value, i, rows[i].low,
                        rows[i].high, colour_of(rows[i].row->verdict));
    report_plot_add(plot, "EOD\n");
}

bool report_figure_differences(struct report_html *html, struct report_plotter *plotter,
                               const struct record_comparison *comparison)
{
    struct relative rows[ROWS_MAX];
    struct report_plot plot;
    double low, high;
    size_t count = find_relatives(comparison, rows, &low, &high);
    if (count == 0)
        return false;
    double room = fmax((high - low) * 0.06, 0.5);
    report_plot_begin(&plot, 60 + 22 * (int)count);
    report_plot_add(&plot,
                    "set grid noytics xtics\nset lmargin at screen 0.34\n"
                    "set rmargin at screen 0.96\nset tmargin at screen 0.99\n"
                    "set bmargin at screen %.4f\nset xrange [%.9g:%.9g]\n"
                    "set xtics %.9g\nset format x \"%%+.10g %%%%\"\nset arrow from first "
                    "0,graph 0 to first 0,graph 1 nohead lw 1.2 lc ",
                    48.0 / plot.height, low - room, high + room,
                    report_plot_step(high - low + 2 * room));
    report_plot_colour(&plot, REPORT_INK);
    report_plot_add(&plot, "\n");
    add_relative_rows(&plot, rows, count);
    report_plot_add(&plot, "plot $rows using 1:2:3:4:5 with xerrorbars pt 7 ps 0.7 lw 1.6 lc rgb "
                           "variable\n");
    if (!report_figure_begin(html, plotter, &plot, "plot-differences", "B against A",
                             "A dot with its interval for each figure, in per cent of A; the table "
                             "has the same figures."))
        return false;
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES + 2, "better", "");
    report_figure_key(html, REPORT_SERIES + 7, "worse", "");
    report_figure_key(html, REPORT_SERIES, "more or less, neither good nor bad", "");
    report_figure_key(html, REPORT_SERIES + 13, "no difference shown", "");
    report_figure_legend_end(html);
    report_figure_end(html, "Whiskers are 95 % intervals of the relative difference.");
    return true;
}

/* ---- bytes ---- */

static bool is_moved_line(const struct record_bytes_difference *row)
{
    return strcmp(row->at, "mean") == 0 && row->a != row->b &&
           strcmp(row->component, "pool") != 0 && strcmp(row->component, "allocated") != 0;
}

bool report_figure_moved_bytes(struct report_html *html, struct report_plotter *plotter,
                               const struct record_comparison *comparison)
{
    const struct record_bytes_difference *rows[ROWS_MAX];
    struct report_plot plot;
    size_t count = 0;
    double low = 0, high = 0;
    for (size_t i = 0; i < comparison->bytes.count && count < ROWS_MAX; i++) {
        const struct record_bytes_difference *row = &comparison->bytes.at[i];
        if (!is_moved_line(row))
            continue;
        low = fmin(low, (double)(row->b - row->a) / 0x1p30);
        high = fmax(high, (double)(row->b - row->a) / 0x1p30);
        rows[count++] = row;
    }
    if (count == 0)
        return false;
    double room = fmax((high - low) * 0.08, 0.01);
    report_plot_begin(&plot, 60 + 26 * (int)count);
    report_plot_add(&plot, "set ytics (");
    for (size_t i = 0; i < count; i++) {
        char words[NAME_BYTES];
        report_plot_add(&plot, i == 0 ? "" : ", ");
        report_plot_tic(&plot, report_words(rows[i]->component, words, sizeof words));
        report_plot_add(&plot, " %zu", i);
    }
    report_plot_add(&plot,
                    ")\nset yrange [%zu.6:-0.6]\nset grid noytics xtics\n"
                    "set lmargin at screen 0.26\nset rmargin at screen 0.96\n"
                    "set tmargin at screen 0.99\nset bmargin at screen %.4f\n"
                    "set xrange [%.9g:%.9g]\nset xtics %.9g\nset format x \"%%+.10g GiB\"\n"
                    "set arrow from first 0,graph 0 to first 0,graph 1 nohead lw 1.2 lc ",
                    count - 1, 48.0 / plot.height, low - room, high + room,
                    report_plot_step(high - low + 2 * room));
    report_plot_colour(&plot, REPORT_INK);
    report_plot_add(&plot, "\n$bars << EOD\n");
    for (size_t i = 0; i < count; i++) {
        double moved = (double)(rows[i]->b - rows[i]->a) / 0x1p30;
        report_plot_add(&plot, "%.9g %zu %.9g %.9g %d\n", moved / 2, i, fmin(moved, 0),
                        fmax(moved, 0), REPORT_SERIES + (moved < 0 ? 0 : 1));
    }
    report_plot_add(&plot, "EOD\nplot $bars using 1:2:3:4:($2-0.32):($2+0.32):5 with boxxyerror "
                           "lc rgb variable\n");
    if (!report_figure_begin(html, plotter, &plot, "plot-bytes", "KV bytes that moved, time mean",
                             "A bar for each line of the ledger that differs, B minus A in GiB; "
                             "the table has the bytes."))
        return false;
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES, "less in B", "");
    report_figure_key(html, REPORT_SERIES + 1, "more in B", "");
    report_figure_legend_end(html);
    report_figure_end(html, "All replicas together. What one line loses, others gain.");
    return true;
}

/* ---- the tail ---- */

struct causes {
    const struct record_share_difference *at[REPORT_SERIES_COUNT];
    size_t count;
    double a, b; /* sums */
};

static void find_causes(const struct record_comparison *comparison, const char *metric,
                        struct causes *out)
{
    *out = (struct causes){.count = 0};
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        bool is_cause = strcmp(row->kind, "tail_ms") == 0 && strcmp(row->phase, metric) == 0 &&
                        (row->a > 0 || row->b > 0);
        if (!is_cause || out->count == REPORT_SERIES_COUNT)
            continue;
        out->at[out->count++] = row;
        out->a += row->a;
        out->b += row->b;
    }
}

bool report_figure_moved_tail(struct report_html *html, struct report_plotter *plotter,
                              const struct record_comparison *comparison, const char *metric)
{
    static const char *const names[] = {"A", "B"};
    struct report_bar bars[2 * REPORT_SERIES_COUNT];
    struct causes causes;
    struct report_plot plot;
    char title[96], id[64], words[NAME_BYTES];
    double at[2] = {0, 0};
    size_t count = 0;
    find_causes(comparison, metric, &causes);
    double most = fmax(causes.a, causes.b);
    if (!(most > 0))
        return false;
    for (size_t i = 0; i < causes.count; i++) {
        const double parts[] = {causes.at[i]->a, causes.at[i]->b};
        for (size_t k = 0; k < 2; k++) {
            bars[count++] = (struct report_bar){
                .row = k, .low = at[k], .high = at[k] + parts[k], .colour = REPORT_SERIES + (int)i};
            at[k] += parts[k];
        }
    }
    report_plot_begin(&plot, 130);
    report_plot_bars(&plot, names, 2, bars, count, most * 1.05, "ms");
    snprintf(title, sizeof title, "Where the slowest 1 %% of %s goes", metric);
    snprintf(id, sizeof id, "plot-tail-%s", metric);
    if (!report_figure_begin(html, plotter, &plot, id, title,
                             "A bar of causes in ms for A and one for B; the table has the same "
                             "figures."))
        return false;
    report_figure_legend(html);
    for (size_t i = 0; i < causes.count; i++)
        report_figure_key(html, REPORT_SERIES + (int)i,
                          report_words(causes.at[i]->name, words, sizeof words), "");
    report_figure_legend_end(html);
    report_figure_end(html,
                      "Mean milliseconds of the slowest percent, by what they were spent on.");
    return true;
}
