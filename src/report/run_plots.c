#include "report/run_plots.h"

#include "report/number.h"
#include "report/run_view.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { ROW_UNITS = 32, AXIS_UNITS = 50, SHARES_MAX = 160, SLOS_MAX = 64 };

/* Latency: a row for each metric, a dot with its interval for each statistic. */

static const struct {
    const char *name;
    enum record_summary mean;
} latency_rows[] = {{"ttft", RECORD_TTFT_MEAN},
                    {"tpot", RECORD_TPOT_MEAN},
                    {"itl", RECORD_ITL_MEAN},
                    {"e2e", RECORD_E2E_MEAN},
                    {"queue", RECORD_QUEUE_MEAN}};
static const char *const latency_statistics[] = {"mean", "p50", "p90", "p95", "p99"};
static const int latency_colours[] = {REPORT_FAINT, REPORT_SCALE + 3, REPORT_SCALE + 4,
                                      REPORT_SCALE + 5, REPORT_SCALE + 7};

static size_t latency_row(enum spec_metric metric)
{
    size_t row = 0;
    while (row + 1 < COUNT_OF(latency_rows) &&
           strcmp(latency_rows[row].name, spec_metric_name(metric)) != 0)
        row++;
    return row;
}

static void widen(double range[2], double value)
{
    if (!(value > 0.0) || isinf(value))
        return;
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* The decades that hold every figure and bound; false when there is no figure. */
static bool find_latency_range(const struct record_run *run, double range[2])
{
    range[0] = HUGE_VAL;
    range[1] = 0.0;
    for (size_t row = 0; row < COUNT_OF(latency_rows); row++) {
        for (int i = 0; i < (int)COUNT_OF(latency_statistics); i++)
            widen(range,
                  record_get_real(run, (enum record_summary)((int)latency_rows[row].mean + i)));
    }
    bool has_figures = range[1] > 0.0;
    for (size_t i = 0; i < run->slo_lines.count && has_figures; i++) {
        struct report_slo slo;
        report_slo_read(run, i, &slo);
        if (slo.is_slo)
            widen(range, (double)slo.slo.bound_ns / 1e6);
    }
    // Four decades are enough: what lies lower is as good as nothing.
    range[0] = fmax(pow(10.0, floor(log10(range[0]))), range[1] / 1e5);
    range[1] *= 2.0;
    return has_figures;
}

static void add_latency_row(struct report_plot *plot, const struct record_run *run, size_t row)
{
    for (int i = 0; i < (int)COUNT_OF(latency_statistics); i++) {
        enum record_summary column = (enum record_summary)((int)latency_rows[row].mean + i);
        double value = record_get_real(run, column);
        const struct record_metric *metric = report_run_row(run, column);
        if (!(value > 0.0))
            continue;
        double low = value, high = value;
        if (report_run_has_interval(run, column)) {
            low = fmax(metric->ci_low, value / 100);
            high = metric->ci_high;
        }
        report_plot_add(plot, "%.9g %zu %.9g %.9g %d\n", value, row, low, high, latency_colours[i]);
    }
}

/* A stroke across the row where the bound lies, and the bound in words beside it, where there is room. */
static void add_bound(struct report_plot *plot, const struct report_slo *slo, const double range[2],
                      size_t before)
{
    double bound_ms = (double)slo->slo.bound_ns / 1e6;
    double row = (double)latency_row(slo->slo.metric);
    bool is_far_right = log(bound_ms / range[0]) > 0.72 * log(range[1] / range[0]);
    char label[80];
    snprintf(label, sizeof label, "%s ≤ %s", spec_statistic_name(slo->slo.statistic), slo->bound);
    report_plot_add(plot, "set arrow from %.9g,%.9g to %.9g,%.9g nohead lw 2 lc ", bound_ms,
                    row - 0.36, bound_ms, row + 0.36);
    report_plot_colour(plot, REPORT_BOUND);
    report_plot_add(plot, "\nset label ");
    report_plot_quote(plot, label);
    report_plot_add(plot, " at %.9g,%.9g %s textcolor ", bound_ms,
                    before % 2 == 0 ? row - 0.22 : row + 0.3,
                    is_far_right ? "right offset -0.7,0" : "left offset 0.7,0");
    report_plot_colour(plot, REPORT_BOUND);
    report_plot_add(plot, "\n");
}

static void add_bounds(struct report_plot *plot, const struct record_run *run,
                       const double range[2])
{
    // Labels of one row stand above and below in turn.
    size_t before[SPEC_METRIC_COUNT] = {0};
    for (size_t i = 0; i < run->slo_lines.count && i < SLOS_MAX; i++) {
        struct report_slo slo;
        report_slo_read(run, i, &slo);
        if (slo.is_slo)
            add_bound(plot, &slo, range, before[slo.slo.metric]++);
    }
}

static void plot_latency(struct report_plot *plot, const struct record_run *run,
                         const double range[2])
{
    report_plot_begin(plot, (int)COUNT_OF(latency_rows) * 36 + 34);
    report_plot_add(plot,
                    "set logscale x\nset xrange [%.9g:%.9g]\nset yrange [4.6:-0.6]\n"
                    "set grid noytics xtics\n"
                    "set lmargin at screen 0.12\nset rmargin at screen 0.97\n"
                    "set tmargin at screen 0.99\nset bmargin at screen %.4f\n"
                    "set xtics ('1 µs' 1e-3, '10 µs' 1e-2, '0.1 ms' 0.1, '1 ms' 1, '10 ms' 10, "
                    "'100 ms' 100, '1 s' 1e3, '10 s' 1e4, '100 s' 1e5, '1,000 s' 1e6)\n"
                    "set ytics (",
                    range[0], range[1], 30.0 / plot->height);
    for (size_t row = 0; row < COUNT_OF(latency_rows); row++)
        report_plot_add(plot, "%s'%s' %zu", row == 0 ? "" : ", ", latency_rows[row].name, row);
    report_plot_add(plot, ")\n");
    add_bounds(plot, run, range);
    report_plot_add(plot, "$figures << EOD\n");
    for (size_t row = 0; row < COUNT_OF(latency_rows); row++)
        add_latency_row(plot, run, row);
    report_plot_add(plot, "EOD\nplot $figures using 1:2:3:4:5 with xerrorbars pt 7 ps 0.7 lw 1.5 "
                          "lc rgb variable\n");
}

bool report_figure_latency(struct report_html *html, struct report_plotter *plotter,
                           const struct record_run *run)
{
    double range[2];
    struct report_plot plot;
    if (!find_latency_range(run, range))
        return false;
    plot_latency(&plot, run, range);
    if (!report_figure_begin(html, plotter, &plot, "plot-latency", "Latency against the SLOs",
                             "Dots for mean and percentiles of each latency on a logarithmic axis, "
                             "with their intervals; strokes mark the SLOs. The table has the "
                             "same figures."))
        return false;
    report_figure_legend(html);
    for (size_t i = 0; i < COUNT_OF(latency_statistics); i++)
        report_figure_key(html, latency_colours[i], latency_statistics[i], "");
    report_figure_key(html, REPORT_BOUND, "SLO", "");
    report_figure_legend_end(html);
    report_figure_end(html, "Logarithmic axis. A whisker is the 95 % interval; most are narrower "
                            "than their dot.");
    return true;
}

/* Over time. */

/* A time axis in seconds, minutes or hours. */
static double add_time_axis(struct report_plot *plot, const struct report_timeline *timeline)
{
    double last_s = timeline->at[timeline->count - 1].t_s;
    double unit_s = last_s > 3 * 3600 ? 3600 : last_s > 600 ? 60 : 1;
    const char *name = unit_s > 60 ? "hours" : unit_s > 1 ? "minutes" : "seconds";
    report_plot_add(plot, "set xlabel 'simulated %s' offset 0,0.5 textcolor ", name);
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot,
                    "\nset xrange [%.9g:%.9g]\nset lmargin at screen 0.115\n"
                    "set rmargin at screen 0.89\nset tmargin at screen 0.90\n"
                    "set bmargin at screen 0.20\nset grid noxtics ytics\n",
                    timeline->at[0].t_s / unit_s, last_s / unit_s);
    return unit_s;
}

static const int ledger_colours[RECORD_LEDGER_LINES] = {16, 17, 20, 23, 19, 24, 22,
                                                        0,  18, 26, 28, 0,  0};

static double line_peak(const struct report_timeline *timeline, size_t line)
{
    double peak = 0.0;
    for (size_t i = 0; i < timeline->count; i++)
        peak = fmax(peak, timeline->at[i].ledger_bytes[line]);
    return peak;
}

/* What of a line is drawn: shared slots stand in the lower bound once for each holder, and are drawn once. */
static double drawn_bytes(const struct report_moment *moment, size_t line)
{
    double bytes = moment->ledger_bytes[line];
    if (line == 0)
        bytes = fmax(0.0, bytes - moment->ledger_bytes[RECORD_LEDGER_SHARED]);
    return bytes;
}

/* Lines that are drawn, from the bottom. */
static size_t drawn_lines(const struct report_timeline *timeline, size_t lines[RECORD_LEDGER_LINES])
{
    size_t count = 0;
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
        if (ledger_colours[line] != 0 && (line == 0 || line_peak(timeline, line) > 0.0))
            lines[count++] = line;
    }
    return count;
}

/* Time, then the height of the stack up to each line. */
static void add_stack(struct report_plot *plot, const struct report_timeline *timeline,
                      const size_t *lines, size_t count, double unit_s)
{
    report_plot_add(plot, "$stack << EOD\n");
    for (size_t i = 0; i < timeline->count; i++) {
        double sum = 0.0;
        report_plot_add(plot, "%.6g 0", timeline->at[i].t_s / unit_s);
        for (size_t k = 0; k < count; k++) {
            sum += drawn_bytes(&timeline->at[i], lines[k]);
            report_plot_add(plot, " %.6g", sum / 1073741824.0);
        }
        report_plot_add(plot, "\n");
    }
    report_plot_add(plot, "EOD\nplot ");
    for (size_t k = 0; k < count; k++) {
        report_plot_add(plot, "%s$stack using 1:%zu:%zu with filledcurves lc ", k == 0 ? "" : ", ",
                        k + 2, k + 3);
        report_plot_colour(plot, ledger_colours[lines[k]]);
    }
    report_plot_add(plot, "\n");
}

static void plot_ledger(struct report_plot *plot, const struct report_timeline *timeline,
                        const size_t *lines, size_t count)
{
    report_plot_begin(plot, 260);
    double unit_s = add_time_axis(plot, timeline);
    double pool_gib = timeline->pool_bytes / 1073741824.0;
    report_plot_add(plot,
                    "set yrange [0:%.9g]\nset y2range [0:1.06]\nset y2tics ('0 %%%%' 0, '25 %%%%' "
                    "0.25, '50 %%%%' 0.5, '75 %%%%' 0.75, '100 %%%%' 1)\nset label 'GiB' at screen "
                    "0.105,0.965 right front textcolor ",
                    pool_gib * 1.06);
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot,
                    "\nset arrow from graph 0,first %.9g to graph 1,first %.9g nohead front "
                    "lw 1.5 lc ",
                    pool_gib, pool_gib);
    report_plot_colour(plot, REPORT_INK);
    report_plot_add(plot, "\n");
    add_stack(plot, timeline, lines, count, unit_s);
}

bool report_figure_ledger(struct report_html *html, struct report_plotter *plotter,
                          const struct report_timeline *timeline)
{
    if (timeline->count < 2 || !(timeline->pool_bytes > 0.0))
        return false;
    size_t lines[RECORD_LEDGER_LINES], count = drawn_lines(timeline, lines);
    struct report_plot plot;
    plot_ledger(&plot, timeline, lines, count);
    if (!report_figure_begin(html, plotter, &plot, "plot-ledger", "KV memory over time",
                             "Stacked areas of the ledger's lines over simulated time, below a "
                             "line for the whole pool; the right axis is the share of the pool."))
        return false;
    report_figure_legend(html);
    bool has_shared = line_peak(timeline, RECORD_LEDGER_SHARED) > 0.0;
    for (size_t k = 0; k < count; k++) {
        char words[64];
        report_figure_key(html, ledger_colours[lines[k]],
                          report_words(record_ledger_name(lines[k]), words, sizeof words),
                          lines[k] == 0 && has_shared ? "− shared" : "");
    }
    report_figure_key(html, REPORT_INK, "pool", "");
    report_figure_legend_end(html);
    char caption[200];
    snprintf(caption, sizeof caption,
             "First replication, %zu samples of the pool in %zu spans; the rest up to the pool is "
             "free.",
             timeline->samples, timeline->count);
    report_figure_end(html, caption);
    return true;
}

static void plot_requests(struct report_plot *plot, const struct report_timeline *timeline)
{
    report_plot_begin(plot, 260);
    double unit_s = add_time_axis(plot, timeline);
    report_plot_add(plot,
                    "set yrange [0:*]\nset format y \"%%.0f\"\nset label 'requests' at screen "
                    "0.005,0.965 left front textcolor ");
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot, "\n$requests << EOD\n");
    for (size_t i = 0; i < timeline->count; i++)
        report_plot_add(plot, "%.6g %.6g %.6g\n", timeline->at[i].t_s / unit_s,
                        timeline->at[i].running, timeline->at[i].waiting);
    report_plot_add(plot, "EOD\nplot $requests using 1:2 with lines lw 1.3 lc ");
    report_plot_colour(plot, REPORT_SERIES);
    report_plot_add(plot, ", $requests using 1:3 with lines lw 1.3 lc ");
    report_plot_colour(plot, REPORT_SERIES + 1);
    report_plot_add(plot, "\n");
}

bool report_figure_requests(struct report_html *html, struct report_plotter *plotter,
                            const struct report_timeline *timeline)
{
    if (timeline->count < 2)
        return false;
    struct report_plot plot;
    plot_requests(&plot, timeline);
    if (!report_figure_begin(html, plotter, &plot, "plot-requests",
                             "Requests running and waiting over time",
                             "Two lines over simulated time: requests that hold KV blocks, and "
                             "requests in the queue."))
        return false;
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES, "running", "");
    report_figure_key(html, REPORT_SERIES + 1, "waiting", "");
    report_figure_legend_end(html);
    report_figure_end(html, "All replicas of the first replication; each point is the mean of "
                            "its span.");
    return true;
}

/* Memory. */

static int waterfall_colour(const char *line)
{
    if (strcmp(line, "nominal") == 0 || strcmp(line, "driver") == 0)
        return REPORT_FAINT;
    return strcmp(line, "kv_pool") == 0 ? REPORT_SERIES : REPORT_SERIES + 13;
}

/* Each line takes from where the one before ended; what is left stands at the bottom. */
static size_t fill_waterfall(const struct record_run *run, struct report_bar *bars,
                             const char **rows, char (*labels)[32])
{
    size_t count = 0;
    double left = 0.0;
    for (size_t i = 0; i < run->waterfall.count && i < SHARES_MAX; i++) {
        const struct record_waterfall_row *row = &run->waterfall.at[i];
        double gib = (double)row->bytes_per_gpu / 1073741824.0;
        bool takes = strcmp(report_waterfall_sign(row->line), "−") == 0;
        double high = takes ? left : gib;
        double low = takes ? fmax(0.0, left - gib) : 0.0;
        left = takes ? low : gib;
        report_print_gib((double)row->bytes_per_gpu, labels[i], sizeof *labels);
        rows[i] = row->line;
        bars[count++] = (struct report_bar){.row = i,
                                            .low = low,
                                            .high = fmax(high, low),
                                            .colour = waterfall_colour(row->line),
                                            .label = labels[i]};
    }
    return count;
}

bool report_figure_waterfall(struct report_html *html, struct report_plotter *plotter,
                             const struct record_run *run)
{
    struct report_bar bars[SHARES_MAX];
    const char *rows[SHARES_MAX];
    char labels[SHARES_MAX][32];
    size_t count = fill_waterfall(run, bars, rows, labels);
    if (count == 0)
        return false;
    double high = 0.0;
    for (size_t i = 0; i < count; i++)
        high = fmax(high, bars[i].high);
    if (!(high > 0.0))
        return false;
    struct report_plot plot;
    report_plot_begin(&plot, (int)count * 24 + AXIS_UNITS);
    report_plot_bars(&plot, rows, count, bars, count, high * 1.12, "GiB of one GPU");
    if (!report_figure_begin(html, plotter, &plot, "plot-waterfall",
                             "From the marketed memory to the KV pool",
                             "Horizontal bars: the card's memory, what each part takes from it, "
                             "and the pool that is left. The table has the same figures."))
        return false;
    report_figure_end(html, "One GPU, the fullest. Each bar begins where the one above has left "
                            "off.");
    return true;
}

/* Shares: limits and tails are rows of parts that have a name, a colour and a share. */

struct named_colour {
    const char *name;
    int colour;
};

static const struct named_colour limit_colours[] = {
    {"kv_pool", 23},      {"max_num_seqs", 17},  {"max_num_batched_tokens", 28},
    {"link", 22},         {"compute", 16},       {"weight_bandwidth", 18},
    {"kv_bandwidth", 20}, {"communication", 19}, {"host", 21},
    {"arrival", 29},
};
static const struct named_colour cause_colours[] = {
    {"wait_kv_pool", 23},        {"wait_seats", 17},
    {"wait_budget", 28},         {"wait_link", 22},
    {"wait_step", 29},           {"prefill", 16},
    {"preempted", 24},           {"others_prefill", 21},
    {"decode_compute", 27},      {"decode_weight_bandwidth", 18},
    {"decode_kv_bandwidth", 20}, {"decode_communication", 19},
    {"decode_host", 26},
};

static int find_colour(const struct named_colour *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) == 0)
            return table[i].colour;
    }
    return REPORT_FAINT;
}

int report_limit_colour(const char *limit)
{
    return find_colour(limit_colours, COUNT_OF(limit_colours), limit);
}

struct shares {
    struct report_bar bars[SHARES_MAX];
    const char *rows[SHARES_MAX];
    double ends[SHARES_MAX]; /* where the last part of each row ended */
    size_t bar_count, row_count;
    bool is_used[REPORT_COLOUR_COUNT];
};

/* Adds a part to the row of that name, in percent. */
static void add_part(struct shares *shares, const char *row_name, int colour, double share)
{
    size_t row = 0;
    while (row < shares->row_count && strcmp(shares->rows[row], row_name) != 0)
        row++;
    if (shares->bar_count >= SHARES_MAX || row >= SHARES_MAX || !(share > 0.0))
        return;
    if (row == shares->row_count) {
        shares->rows[shares->row_count++] = row_name;
        shares->ends[row] = 0.0;
    }
    double low = shares->ends[row];
    shares->ends[row] = low + share * 100.0;
    shares->is_used[colour] |= share >= 0.0005;
    shares->bars[shares->bar_count++] =
        (struct report_bar){.row = row, .low = low, .high = shares->ends[row], .colour = colour};
}

static bool draw_shares(struct report_html *html, struct report_plotter *plotter,
                        const struct shares *shares, const struct named_colour *colours,
                        size_t colour_count, const char *id, const char *title, const char *axis,
                        const char *caption)
{
    struct report_plot plot;
    report_plot_begin(&plot, (int)shares->row_count * ROW_UNITS + AXIS_UNITS);
    report_plot_add(&plot, "set format x \"%%g %%%%\"\n");
    report_plot_bars(&plot, shares->rows, shares->row_count, shares->bars, shares->bar_count, 100.0,
                     axis);
    if (!report_figure_begin(html, plotter, &plot, id, title,
                             "Horizontal bars of parts that add up. The table has the same "
                             "shares."))
        return false;
    report_figure_legend(html);
    for (size_t i = 0; i < colour_count; i++) {
        char words[64];
        if (shares->is_used[colours[i].colour])
            report_figure_key(html, colours[i].colour,
                              report_words(colours[i].name, words, sizeof words), "");
    }
    report_figure_legend_end(html);
    report_figure_end(html, caption);
    return true;
}

/* Which bar of the figure a row of run_limit belongs to. */
static const char *limit_row_name(const struct record_limit_row *row)
{
    if (strcmp(row->phase, "prefill") == 0)
        return "steps with prefill";
    return strcmp(row->phase, "decode") == 0 ? "decode only" : "all of the time";
}

bool report_figure_limits(struct report_html *html, struct report_plotter *plotter,
                          const struct record_run *run)
{
    struct shares shares = {.row_count = 0};
    for (size_t i = 0; i < run->limits.count; i++)
        add_part(&shares, limit_row_name(&run->limits.at[i]),
                 find_colour(limit_colours, COUNT_OF(limit_colours), run->limits.at[i].name),
                 run->limits.at[i].share);
    if (shares.bar_count == 0)
        return false;
    return draw_shares(html, plotter, &shares, limit_colours, COUNT_OF(limit_colours),
                       "plot-limits", "What limits, by share of the time",
                       "share of the measured time",
                       "While a request waits at the head of the queue, its reason counts; else "
                       "what bounds the step that runs; else the lack of arrivals.");
}

bool report_figure_tail(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run)
{
    struct shares shares = {.row_count = 0};
    for (size_t i = 0; i < run->tails.count; i++)
        add_part(&shares, run->tails.at[i].metric,
                 find_colour(cause_colours, COUNT_OF(cause_colours), run->tails.at[i].cause),
                 run->tails.at[i].share);
    if (shares.bar_count == 0)
        return false;
    return draw_shares(html, plotter, &shares, cause_colours, COUNT_OF(cause_colours), "plot-tail",
                       "Where the slowest 1 % spend their time", "share of their time",
                       "Requests beyond the P99 of the metric, all replications.");
}
