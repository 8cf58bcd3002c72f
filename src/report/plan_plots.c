#include "report/plan_plots.h"

#include "base/mem.h"
#include "report/figure.h"
#include "report/number.h"
#include "report/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 16, NAME_COLUMNS = 21 };

static const char *axis_of(const struct record_plan *plan)
{
    return plan->load == RECORD_LOAD_SPEEDUP ? "speed of the trace" : record_load_unit(plan->load);
}

static void add_axis(struct report_plot *plot, const char *name)
{
    report_plot_add(plot, "set xlabel ");
    report_plot_quote(plot, name);
    report_plot_add(plot, " offset 0,0.5 textcolor ");
    report_plot_colour(plot, REPORT_MUTED);
    report_plot_add(plot, "\n");
}

static void add_margins(struct report_plot *plot, double left, double bottom)
{
    report_plot_add(plot,
                    "set lmargin at screen %.3g\nset rmargin at screen 0.96\n"
                    "set tmargin at screen 0.96\nset bmargin at screen %.3g\n",
                    left, bottom);
}

/* A straight line over the whole height or width. */
static void add_line(struct report_plot *plot, bool is_upright, double at, double width, int colour)
{
    if (is_upright)
        report_plot_add(plot, "set arrow from first %.9g,graph 0 to first %.9g,graph 1", at, at);
    else
        report_plot_add(plot, "set arrow from graph 0,first %.9g to graph 1,first %.9g", at, at);
    report_plot_add(plot, " nohead lw %.3g lc ", width);
    report_plot_colour(plot, colour);
    report_plot_add(plot, "\n");
}

/* ---- a target along the load ---- */

struct along {
    const struct record_candidate *best;
    size_t target;
    double low, high; /* of the axis */
    double most_ms;   /* beyond it the figure is cut off */
    struct {
        const struct record_probe **at; /* by rising load */
        size_t count, capacity;
    } probes;
};

/* Of several runs at one load the one with the most replications tells. */
static bool is_told_better(const struct record_candidate *best, const struct record_probe *probe)
{
    for (size_t i = 0; i < best->probes.count; i++) {
        const struct record_probe *other = &best->probes.at[i];
        bool is_same = !(other->load < probe->load) && !(other->load > probe->load) &&
                       other->replicas == probe->replicas;
        if (is_same && other->replications > probe->replications)
            return true;
    }
    return false;
}

/* An overloaded run has no steady latency; other replicas have another curve. */
static bool is_shown(const struct along *along, const struct record_probe *probe)
{
    return probe->replicas == along->best->base_replicas && !probe->is_overloaded &&
           along->target < probe->target_count && probe->load >= along->low &&
           probe->load <= along->high && !isnan(probe->targets[along->target].value_ms) &&
           !is_told_better(along->best, probe);
}

static int compare_loads(const void *left, const void *right)
{
    const struct record_probe *const *a = left, *const *b = right;
    return ((*a)->load > (*b)->load) - ((*a)->load < (*b)->load);
}

static void look_along(struct along *along)
{
    along->low = along->best->max_load * 0.55;
    along->high = along->best->max_load * 1.2;
    for (size_t i = 0; i < along->best->probes.count; i++) {
        const struct record_probe *probe = &along->best->probes.at[i];
        if (!is_shown(along, probe))
            continue;
        const struct record_target *target = &probe->targets[along->target];
        base_vec_push(&along->probes, probe);
        along->most_ms = fmax(along->most_ms, fmax(target->value_ms, target->bound_ms) * 1.15);
        along->most_ms = fmin(along->most_ms, target->bound_ms * 2.2);
    }
    if (along->probes.count > 1)
        qsort(along->probes.at, along->probes.count, sizeof *along->probes.at, compare_loads);
}

static void add_along_data(struct report_plot *plot, const struct along *along)
{
    report_plot_add(plot, "$band << EOD\n%.9g %.9g 0 %.9g\nEOD\n$points << EOD\n",
                    along->best->ci_low, along->best->ci_high, along->most_ms);
    for (size_t i = 0; i < along->probes.count; i++) {
        const struct record_target *target = &along->probes.at[i]->targets[along->target];
        bool has_interval = !isnan(target->ci_low_ms);
        report_plot_add(plot, "%.9g %.9g %.9g %.9g\n", along->probes.at[i]->load, target->value_ms,
                        has_interval ? fmax(0, target->ci_low_ms) : target->value_ms,
                        has_interval ? target->ci_high_ms : target->value_ms);
    }
    report_plot_add(plot, "EOD\n");
}

static void plot_target(struct report_plot *plot, const struct record_plan *plan,
                        const struct along *along)
{
    report_plot_begin(plot, 250);
    add_margins(plot, 0.16, 0.20);
    report_plot_add(plot,
                    "set grid noxtics ytics\nset format y \"%%.10g ms\"\n"
                    "set xrange [%.9g:%.9g]\nset yrange [0:%.9g]\n",
                    along->low, along->high, along->most_ms);
    add_axis(plot, axis_of(plan));
    add_line(plot, false, along->probes.at[0]->targets[along->target].bound_ms, 1.8, REPORT_BOUND);
    add_along_data(plot, along);
    report_plot_add(plot, "plot ");
    if (!isnan(along->best->ci_low)) {
        report_plot_add(plot, "$band using (($1+$2)/2):4:1:2:3:4 with boxxyerror lc ");
        report_plot_colour(plot, REPORT_SCALE + 2);
        report_plot_add(plot, ", ");
    }
    report_plot_add(plot, "$points using 1:2 with lines lw 1.6 lc ");
    report_plot_colour(plot, REPORT_SERIES);
    report_plot_add(plot, ", $points using 1:2:3:4 with yerrorbars pt 7 ps 0.6 lw 1.4 lc ");
    report_plot_colour(plot, REPORT_SERIES);
    report_plot_add(plot, "\n");
}

bool report_figure_target(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan, size_t target)
{
    struct along along = {.best = &plan->candidates[0], .target = target};
    struct report_plot plot;
    char id[40];
    look_along(&along);
    bool is_drawn = along.probes.count >= 2;
    if (is_drawn) {
        plot_target(&plot, plan, &along);
        snprintf(id, sizeof id, "plot-target-%zu", target + 1);
        is_drawn =
            report_figure_begin(html, plotter, &plot, id, along.probes.at[0]->targets[target].text,
                                "The target's figure in ms against the load; the table of "
                                "the curve has the figures.");
    }
    if (is_drawn) {
        report_figure_legend(html);
        report_figure_key(html, REPORT_BOUND, "the target", "");
        if (!isnan(along.best->ci_low))
            report_figure_key(html, REPORT_SCALE + 2, "interval of the highest load", "");
        report_figure_legend_end(html);
        report_figure_end(html, "Whiskers are intervals over the replications of each run.");
    }
    base_vec_free(&along.probes);
    return is_drawn;
}

/* ---- what is not known exactly ---- */

/* The end of a long key: "output_tokens". */
static const char *short_name(const char *key)
{
    const char *dot;
    while (strlen(key) > NAME_COLUMNS && (dot = strchr(key, '.')) != NULL)
        key = dot + 1;
    return key;
}

struct tornado {
    const struct record_plan *plan;
    bool is_headroom;
    double base, low, high; /* of the answer */
};

static double answer_of(const struct tornado *tornado, const struct record_input_end *end)
{
    return tornado->is_headroom ? end->headroom * 100 : end->max_load;
}

static void look_at_inputs(struct tornado *tornado)
{
    const struct record_candidate *best = &tornado->plan->candidates[0];
    tornado->is_headroom = !isnan(tornado->plan->inputs.at[0].low.headroom);
    tornado->base = tornado->is_headroom ? tornado->plan->headroom_as_stated * 100 : best->root;
    tornado->low = tornado->high = tornado->base;
    for (size_t i = 0; i < tornado->plan->inputs.count; i++) {
        const struct record_input *input = &tornado->plan->inputs.at[i];
        double low = answer_of(tornado, &input->low), high = answer_of(tornado, &input->high);
        tornado->low = fmin(tornado->low, fmin(low, high));
        tornado->high = fmax(tornado->high, fmax(low, high));
    }
}

static void add_tornado_rows(struct report_plot *plot, const struct tornado *tornado, size_t count)
{
    report_plot_add(plot, "set ytics (");
    for (size_t i = 0; i < count; i++) {
        report_plot_add(plot, i == 0 ? "" : ", ");
        report_plot_tic(plot, short_name(tornado->plan->inputs.at[i].key));
        report_plot_add(plot, " %zu", i);
    }
    report_plot_add(plot, ")\nset yrange [%zu.6:-0.6]\n$bars << EOD\n", count - 1);
    for (size_t i = 0; i < count; i++) {
        const struct record_input *input = &tornado->plan->inputs.at[i];
        const double values[] = {answer_of(tornado, &input->low), answer_of(tornado, &input->high)};
        for (int k = 0; k < 2; k++) {
            if (!isnan(values[k]))
                report_plot_add(plot, "%.9g %zu %.9g %.9g %d\n", (values[k] + tornado->base) / 2, i,
                                fmin(values[k], tornado->base), fmax(values[k], tornado->base),
                                REPORT_SERIES + k);
        }
    }
    report_plot_add(plot, "EOD\n");
}

static void plot_tornado(struct report_plot *plot, const struct tornado *tornado)
{
    size_t count = tornado->plan->inputs.count < ROWS_MAX ? tornado->plan->inputs.count : ROWS_MAX;
    double room = fmax((tornado->high - tornado->low) * 0.08, 1e-9);
    report_plot_begin(plot, 70 + 30 * (int)count);
    add_margins(plot, 0.34, 50.0 / plot->height);
    report_plot_add(plot, "set grid noytics xtics\nset xrange [%.9g:%.9g]\n", tornado->low - room,
                    tornado->high + room);
    if (tornado->is_headroom)
        report_plot_add(plot, "set format x \"%%.10g %%%%\"\n");
    add_axis(plot,
             tornado->is_headroom ? "headroom over the demand" : "highest load within the targets");
    add_line(plot, true, tornado->base, 1.2, REPORT_INK);
    if (tornado->is_headroom && tornado->low < 0)
        add_line(plot, true, 0, 1.8, REPORT_BOUND);
    add_tornado_rows(plot, tornado, count);
    report_plot_add(plot, "plot $bars using 1:2:3:4:($2-0.32):($2+0.32):5 with boxxyerror "
                          "lc rgb variable\n");
}

bool report_figure_tornado(struct report_html *html, struct report_plotter *plotter,
                           const struct record_plan *plan)
{
    struct tornado tornado = {.plan = plan};
    struct report_plot plot;
    if (plan->inputs.count == 0 || plan->candidates[0].status != RECORD_CANDIDATE_OK)
        return false;
    look_at_inputs(&tornado);
    plot_tornado(&plot, &tornado);
    if (!report_figure_begin(html, plotter, &plot, "plot-tornado",
                             "What each input does to the answer",
                             "A bar for each input from the answer at its low end to that at its "
                             "high end; the table has the figures."))
        return false;
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES, "the input at its low end", "");
    report_figure_key(html, REPORT_SERIES + 1, "at its high end", "");
    if (tornado.is_headroom && tornado.low < 0)
        report_figure_key(html, REPORT_BOUND, "below: the targets are missed", "");
    report_figure_legend_end(html);
    report_figure_end(html,
                      plan->inputs.count <= ROWS_MAX
                          ? "One input at a time, the others as stated, on the same random "
                            "numbers; the black line is the answer as stated."
                          : "The sixteen of the largest effect, one at a time, the others as "
                            "stated, on the same random numbers; the black line is the answer as "
                            "stated.");
    return true;
}

/* ---- candidates ---- */

static size_t count_serving(const struct record_plan *plan)
{
    size_t count = 0;
    while (count < plan->candidate_count && count < ROWS_MAX &&
           plan->candidates[count].replicas > 0)
        count++;
    return count;
}

/* "8 GPUs" beside the bar; with a price "$16.00, 8 GPUs", the dollars of an hour. */
static const char *candidate_label(const struct record_candidate *candidate, bool is_priced,
                                   struct base_arena *arena)
{
    char cost[REPORT_NUMBER_BYTES];
    const char *gpus = base_arena_printf(arena, "%lld GPU%s", (long long)candidate->gpus,
                                         candidate->gpus == 1 ? "" : "s");
    if (!is_priced)
        return gpus;
    report_print_usd(candidate->usd_per_hour, cost, sizeof cost);
    return base_arena_printf(arena, "$%s, %s", cost, gpus);
}

static const char *candidate_name(const struct record_plan *plan,
                                  const struct record_candidate *candidate,
                                  struct base_arena *arena)
{
    struct base_text text = {0};
    for (size_t i = 0; i < plan->axis_count; i++)
        base_text_printf(&text, "%s%s", i == 0 ? "" : ", ", candidate->values[i]);
    if (text.count > NAME_COLUMNS + 3) {
        text.count = NAME_COLUMNS + 1;
        while (text.count > 0 && ((unsigned char)text.at[text.count] & 0xC0) == 0x80)
            text.count--; // whole characters of UTF-8
        text.at[text.count] = '\0';
        base_text_add(&text, "...");
    }
    const char *name = base_arena_copy(arena, text.count == 0 ? plan->scenario : text.at);
    base_text_free(&text);
    return name;
}

bool report_figure_candidates(struct report_html *html, struct report_plotter *plotter,
                              const struct record_plan *plan)
{
    struct report_bar bars[ROWS_MAX];
    const char *names[ROWS_MAX];
    struct report_plot plot;
    struct base_arena arena;
    size_t count = count_serving(plan);
    double most = 0;
    if (plan->axis_count == 0 || count < 2)
        return false;
    base_arena_init(&arena);
    bool is_priced = !isnan(plan->candidates[count - 1].usd_per_hour);
    for (size_t i = 0; i < count; i++) {
        const struct record_candidate *candidate = &plan->candidates[i];
        names[i] = candidate_name(plan, candidate, &arena);
        bars[i] = (struct report_bar){.row = i,
                                      .high = is_priced ? candidate->usd_per_hour
                                                        : (double)candidate->gpus,
                                      .colour = i == 0 ? REPORT_SERIES + 2 : REPORT_SERIES,
                                      .label = candidate_label(candidate, is_priced, &arena)};
        most = fmax(most, bars[i].high);
    }
    report_plot_begin(&plot, 60 + 26 * (int)count);
    report_plot_bars(&plot, names, count, bars, count, most * 1.45,
                     is_priced ? "$ per hour" : "GPUs");
    bool is_drawn =
        report_figure_begin(html, plotter, &plot, "plot-candidates",
                            is_priced ? "What each candidate costs" : "GPUs of each candidate",
                            "A bar for each candidate that carries the demand, the cheapest first; "
                            "the table has the figures.");
    if (is_drawn)
        report_figure_end(html, count < ROWS_MAX
                                    ? "For the whole demand, spare replicas included."
                                    : "For the whole demand, spare replicas included; at most the "
                                      "first sixteen are drawn.");
    base_arena_release(&arena);
    return is_drawn;
}

/* ---- growth ---- */

static double demand_at(const struct record_plan *plan, double months)
{
    return plan->demand * pow(1 + plan->growth_per_month, months);
}

static double carried_by(const struct record_plan *plan, int64_t replicas)
{
    const struct record_candidate *best = &plan->candidates[0];
    return best->carried_load / (double)best->replicas * (double)replicas;
}

static void plot_growth(struct report_plot *plot, const struct record_plan *plan, double months)
{
    enum { PARTS = 60 };
    const struct record_candidate *best = &plan->candidates[0];
    double most = fmax(demand_at(plan, months), carried_by(plan, best->replicas)) * 1.1;
    report_plot_begin(plot, 250);
    add_margins(plot, 0.13, 0.20);
    report_plot_add(plot,
                    "set grid noxtics ytics\nset format y \"%%.10g\"\n"
                    "set xrange [0:%.9g]\nset yrange [0:%.9g]\n",
                    months, most);
    add_axis(plot, "months");
    for (int64_t n = best->replicas; n < best->replicas + 8 && carried_by(plan, n) < most; n++) {
        bool is_planned = n == best->replicas;
        add_line(plot, false, carried_by(plan, n), is_planned ? 1.8 : 1,
                 is_planned ? REPORT_BOUND : REPORT_FAINT);
        report_plot_add(plot,
                        "set label '%lld replica%s' at graph 0.99,first %.9g right offset "
                        "0,0.6 textcolor ",
                        (long long)n, n == 1 ? "" : "s", carried_by(plan, n));
        report_plot_colour(plot, REPORT_MUTED);
        report_plot_add(plot, "\n");
    }
    if (best->months_to_breach < months)
        add_line(plot, true, best->months_to_breach, 1, REPORT_INK);
    report_plot_add(plot, "$demand << EOD\n");
    for (int i = 0; i <= PARTS; i++)
        report_plot_add(plot, "%.9g %.9g\n", months * i / PARTS,
                        demand_at(plan, months * i / PARTS));
    report_plot_add(plot, "EOD\nplot $demand using 1:2 with lines lw 2 lc ");
    report_plot_colour(plot, REPORT_SERIES);
    report_plot_add(plot, "\n");
}

bool report_figure_growth(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan)
{
    const struct record_candidate *best = &plan->candidates[0];
    struct report_plot plot;
    if (plan->forecast.count == 0 || isnan(best->months_to_breach))
        return false;
    plot_growth(&plot, plan, fmin(fmax(best->months_to_breach * 1.5, 12), 36));
    if (!report_figure_begin(html, plotter, &plot, "plot-growth", "The demand as it grows",
                             "The demand over the months, and horizontal lines at what so many "
                             "replicas carry; the table has the figures."))
        return false;
    char text[64];
    snprintf(text, sizeof text, "what %lld replica%s carr%s", (long long)best->replicas,
             best->replicas == 1 ? "" : "s", best->replicas == 1 ? "ies" : "y");
    report_figure_legend(html);
    report_figure_key(html, REPORT_SERIES, "demand,", axis_of(plan));
    report_figure_key(html, REPORT_BOUND, text, "");
    report_figure_legend_end(html);
    report_figure_end(html, "Growth is compounded month by month; the mix of requests stays as it "
                            "is.");
    return true;
}

/* ---- a profile ---- */

bool report_figure_stages(struct report_html *html, struct report_plotter *plotter,
                          const struct record_plan *plan)
{
    struct report_plot plot;
    double at_h = 0;
    int64_t most = 0;
    if (plan->stages.count < 2)
        return false;
    report_plot_begin(&plot, 220);
    add_margins(&plot, 0.10, 0.22);
    report_plot_add(&plot, "$stages << EOD\n");
    for (size_t i = 0; i < plan->stages.count; i++) {
        const struct record_plan_stage *stage = &plan->stages.at[i];
        double end_h = at_h + stage->duration_s / 3600;
        report_plot_add(&plot, "%.9g %lld %.9g\n", at_h, (long long)stage->replicas, end_h);
        most = stage->replicas > most ? stage->replicas : most;
        at_h = end_h;
    }
    report_plot_add(&plot,
                    "EOD\nset grid noxtics ytics\nset xrange [0:%.9g]\nset yrange [0:%.9g]\n"
                    "set format y \"%%.0f\"\n",
                    at_h, (double)most * 1.15);
    if (most < 8)
        report_plot_add(&plot, "set ytics 1\n");
    add_axis(&plot, "hours");
    report_plot_add(&plot, "plot $stages using (($1+$3)/2):2:1:3:(0):2 with boxxyerror lc ");
    report_plot_colour(&plot, REPORT_SERIES);
    report_plot_add(&plot, "\n");
    if (!report_figure_begin(html, plotter, &plot, "plot-stages", "Replicas over the profile",
                             "A bar for each stage; the table has the figures."))
        return false;
    report_figure_end(html, "What each stage takes at its peak, without spare replicas.");
    return true;
}
