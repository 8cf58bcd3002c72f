#include "report/sweep_html.h"

#include "report/number.h"
#include "report/run_answer.h"
#include "report/run_html_int.h"
#include "report/run_view.h"
#include "report/sweep.h"
#include "report/sweep_html_int.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { VALUE_BYTES = 96 };

const struct record_run *report_grid_run(const struct report_grid *grid,
                                         const struct record_point *point)
{
    return grid->runs == NULL ? NULL : grid->runs[point - grid->sweep->points];
}

/* ---- what is said first ---- */

static void add_axes(struct base_text *text, const struct record_sweep *sweep)
{
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(text, "%s%s",
                         i == 0             ? ""
                         : sweep->is_zipped ? " with "
                                            : " × ",
                         sweep->axes[i]);
}

/* "llama-3.1-8b on 1 × h100-sxm5-80gb", or the scenario where no run says more or an axis changes it. */
static void add_service(struct base_text *text, const struct report_grid *grid)
{
    const struct record_run *run = grid->base;
    bool is_varied = false;
    for (size_t i = 0; i < grid->sweep->axis_count; i++)
        is_varied |= strcmp(grid->sweep->axes[i], "model") == 0 ||
                     strcmp(grid->sweep->axes[i], "hardware") == 0 ||
                     strstr(grid->sweep->axes[i], "parallel") != NULL ||
                     strstr(grid->sweep->axes[i], "replicas") != NULL;
    if (run == NULL || is_varied)
        base_text_add(text, grid->sweep->scenario);
    else
        base_text_printf(text, "%s on %lld × %s", record_get_text(run, RECORD_MODEL),
                         (long long)run->summary[RECORD_GPUS].integer,
                         record_get_text(run, RECORD_HARDWARE));
}

static bool has_targets(const struct report_grid *grid)
{
    return grid->base == NULL || grid->base->summary[RECORD_SLO_MET].kind != RECORD_NULL;
}

static void write_question(const struct report_grid *grid, struct base_text *text)
{
    base_text_add(text, has_targets(grid) ? "Where does " : "What does ");
    add_service(text, grid);
    base_text_add(text, has_targets(grid) ? " meet its SLOs along " : " give along ");
    add_axes(text, grid->sweep);
    base_text_add(text, "?");
}

/* The one line of a grid with one axis of numbers; empty for others. */
static void find_only_line(const struct report_grid *grid, struct report_points *line)
{
    if (grid->sweep->axis_count == 1 && report_sweep_is_ordered(grid->sweep))
        report_sweep_line(grid->sweep, &grid->sweep->points[0], line);
}

/* The first point that does not meet its targets, in the order of the grid; NULL when all do. */
static const struct record_point *find_first_miss(const struct record_sweep *sweep)
{
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (sweep->points[i].status == RECORD_POINT_SLO_MISSED)
            return &sweep->points[i];
    }
    return NULL;
}

/* Among the steady points that meet their targets, the one with the most (or least) of a figure. */
static const struct record_point *find_best(const struct record_sweep *sweep,
                                            enum record_summary column, bool least)
{
    const struct record_point *best = NULL;
    for (size_t i = 0; i < sweep->point_count; i++) {
        const struct record_point *point = &sweep->points[i];
        double value = record_point_real(point, column);
        if (point->status != RECORD_POINT_OK || !report_point_is_steady(point) || isnan(value))
            continue;
        double known = best == NULL ? (double)NAN : record_point_real(best, column);
        if (best == NULL || (least ? value < known : value > known))
            best = point;
    }
    return best;
}

/* The figure that decides at a point, with its interval. */
static void put_decision(struct report_html *html, const struct report_grid *grid,
                         const struct record_point *point)
{
    const struct record_run *run = report_grid_run(grid, point);
    struct report_answer answer;
    if (run == NULL)
        return;
    report_answer_read(run, &answer);
    if (answer.tightest[0] != '\0')
        report_html_paragraph(html, "", "The tightest promise there: %s.", answer.tightest);
}

static void put_line_answer(struct report_html *html, const struct report_grid *grid,
                            const struct report_points *line)
{
    size_t met = report_sweep_holding(line, report_point_meets_slo);
    char value[VALUE_BYTES], end[240];
    report_sweep_describe_end(grid->sweep, line, met, end, sizeof end);
    report_html_markup(html, met == 0 ? "<div class=\"answer no\">\n<strong>"
                                      : "<div class=\"answer yes\">\n<strong>");
    if (met == 0)
        report_html_printf(html, "Nowhere from %s on: the first value misses.",
                           report_sweep_value(grid->sweep, line->at[0], 0, value, sizeof value));
    else
        report_html_printf(
            html, "Up to %s %s.", grid->sweep->axes[0],
            report_sweep_value(grid->sweep, line->at[met - 1], 0, value, sizeof value));
    report_html_markup(html, "</strong>\n");
    if (met > 0)
        put_decision(html, grid, line->at[met - 1]);
    if (met > 0 && report_point_is_unsettled(line->at[met - 1]))
        report_html_paragraph(html, "",
                              "Its run had not settled: the figures depend on where it was cut.");
    if (met < line->count)
        report_html_paragraph(html, "",
                              "At %s. The limit lies between the two; a finer axis "
                              "narrows it.",
                              end);
    else
        report_html_paragraph(html, "", "The end is not reached on this axis.");
}

static void put_map_answer(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    size_t met = report_sweep_count(sweep, RECORD_POINT_OK);
    const struct record_point *best = find_best(sweep, RECORD_OUTPUT_THROUGHPUT, false);
    fprintf(html->out, "<div class=\"answer %s\">\n<strong>",
            met == 0                    ? "no"
            : met == sweep->total_count ? "yes"
                                        : "open");
    report_html_printf(html, "%zu of %zu points %s.", met, sweep->total_count,
                       has_targets(grid) ? "meet their targets" : "ran; no SLO was stated");
    report_html_markup(html, "</strong>\n");
    if (best != NULL) {
        struct base_text place = {0};
        char number[REPORT_NUMBER_BYTES];
        report_sweep_add_place(&place, sweep, best, 0);
        report_html_paragraph(
            html, "", "The most output among them is %s tokens/s at %s.",
            report_print_rounded(record_point_real(best, RECORD_OUTPUT_THROUGHPUT), 3, number,
                                 sizeof number),
            place.at);
        base_text_free(&place);
        put_decision(html, grid, best);
    }
}

static void put_counts(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    size_t open =
        report_sweep_count(sweep, RECORD_POINT_OPEN) + sweep->total_count - sweep->point_count;
    const struct record_metric *row =
        grid->base == NULL ? NULL
                           : record_run_metric(grid->base, "request_throughput", "value", "");
    report_html_markup(html, "<p class=\"note\">");
    report_html_claim(html, row == NULL ? "simulated" : row->claim,
                      row == NULL ? NULL : row->basis);
    report_html_printf(html, " %zu points", sweep->total_count);
    if (has_targets(grid))
        report_html_printf(html, ": %zu meet their targets, %zu miss one",
                           report_sweep_count(sweep, RECORD_POINT_OK),
                           report_sweep_count(sweep, RECORD_POINT_SLO_MISSED));
    report_html_printf(html, ", %zu cannot start", report_sweep_count(sweep, RECORD_POINT_REFUSED));
    if (report_sweep_count(sweep, RECORD_POINT_FAILED) > 0)
        report_html_printf(html, ", %zu failed", report_sweep_count(sweep, RECORD_POINT_FAILED));
    struct base_text unsteady = {0};
    report_sweep_add_unsteady(&unsteady, sweep);
    report_html_text(html, unsteady.count == 0 ? "" : unsteady.at);
    base_text_free(&unsteady);
    if (open > 0)
        report_html_printf(html, ", %zu are not decided yet", open);
    report_html_markup(html, "</p>\n</div>\n");
}

/* ---- what binds, what is best, what to change ---- */

/* How many points of this status a limit binds. */
static size_t count_limit(const struct record_sweep *sweep, const char *limit,
                          enum record_point_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->point_count; i++)
        count += sweep->points[i].status == status &&
                 strcmp(record_point_text(&sweep->points[i], RECORD_BINDING_LIMIT), limit) == 0;
    return count;
}

/* A limit's title within a sentence: "KV memory", "compute". */
static const char *limit_words(const char *limit, char *text, size_t bytes)
{
    base_copy(text, bytes, report_limit_title(limit));
    bool is_word = text[0] != '\0' && text[1] >= 'a' && text[1] <= 'z';
    if (is_word && text[0] >= 'A' && text[0] <= 'Z')
        text[0] = (char)(text[0] - 'A' + 'a');
    return text;
}

/* "KV memory (9)" for every limit, the first point of each leading. */
static void put_limit_counts(struct report_html *html, const struct record_sweep *sweep,
                             enum record_point_status status, const char *lead)
{
    bool is_first = true;
    char words[128];
    for (size_t i = 0; i < sweep->point_count; i++) {
        const char *limit = record_point_text(&sweep->points[i], RECORD_BINDING_LIMIT);
        bool is_known = sweep->points[i].status != status || limit[0] == '\0';
        for (size_t k = 0; k < i && !is_known; k++)
            is_known =
                sweep->points[k].status == status &&
                strcmp(record_point_text(&sweep->points[k], RECORD_BINDING_LIMIT), limit) == 0;
        if (is_known)
            continue;
        report_html_markup(html, is_first ? "<p>" : "");
        report_html_printf(html, "%s%s (%zu)", is_first ? lead : ", ",
                           limit_words(limit, words, sizeof words),
                           count_limit(sweep, limit, status));
        is_first = false;
    }
    report_html_markup(html, is_first ? "" : ".</p>\n");
}

static void put_binding(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    report_html_markup(html, "<div>\n<h2>What binds</h2>\n");
    put_limit_counts(html, sweep, RECORD_POINT_SLO_MISSED, "Where targets are missed: ");
    put_limit_counts(html, sweep, RECORD_POINT_OK,
                     has_targets(grid) ? "Where they are met: " : "Over the grid: ");
    report_html_markup(html, "<p class=\"note\">In brackets: points.</p>\n</div>\n");
}

static void put_levers(struct report_html *html, const struct report_grid *grid)
{
    struct report_lever levers[REPORT_LEVERS_MAX];
    char words[128];
    const struct record_point *miss = find_first_miss(grid->sweep);
    const struct record_run *run = miss == NULL ? NULL : report_grid_run(grid, miss);
    size_t count = run == NULL ? 0 : report_levers_find(run, levers);
    report_html_markup(html, "<div>\n<h2>What to change</h2>\n");
    if (miss == NULL)
        report_html_paragraph(html, "", "%s",
                              has_targets(grid) ? "No target is missed on this grid."
                                                : "No SLO was stated, so nothing has to change.");
    else if (run == NULL)
        report_html_paragraph(html, "", "The run of the first miss was not read.");
    else if (count == 0)
        report_html_paragraph(html, "", "No single setting is known to lift what binds first.");
    else
        report_html_paragraph(
            html, "",
            "Against %s, which binds at the first miss, each to be "
            "tried with --set:",
            limit_words(record_point_text(miss, RECORD_BINDING_LIMIT), words, sizeof words));
    report_html_levers(html, levers, count);
    report_html_markup(html, "</div>\n");
}

static void put_bests(struct report_html *html, const struct report_grid *grid)
{
    static const struct {
        const char *lead, *unit;
        enum record_summary column;
        bool least;
    } bests[] = {
        {"Most per GPU: ", " tokens/s", RECORD_OUTPUT_THROUGHPUT_PER_GPU, false},
        {"Fastest per user: ", " tokens/s", RECORD_OUTPUT_THROUGHPUT_PER_USER, false},
        {"Cheapest: $", " per million output tokens", RECORD_USD_PER_MTOK_OUTPUT, true},
    };
    report_html_markup(html, has_targets(grid) ? "<div>\n<h2>The best within the targets</h2>\n"
                                               : "<div>\n<h2>The best points</h2>\n");
    for (size_t i = 0; i < COUNT_OF(bests); i++) {
        const struct record_point *best = find_best(grid->sweep, bests[i].column, bests[i].least);
        if (best == NULL)
            continue;
        struct base_text place = {0};
        char number[REPORT_NUMBER_BYTES];
        report_sweep_add_place(&place, grid->sweep, best, 0);
        report_print_rounded(record_point_real(best, bests[i].column), 3, number, sizeof number);
        report_html_markup(html, "<p><b>");
        report_html_printf(html, "%s%s%s", bests[i].lead, number, bests[i].unit);
        report_html_markup(html, "</b> ");
        report_html_printf(html, "at %s.", place.count == 0 ? "the only point" : place.at);
        report_html_markup(html, "</p>\n");
        base_text_free(&place);
    }
    if (report_sweep_count(grid->sweep, RECORD_POINT_OK) == 0)
        report_html_paragraph(html, "", "No point meets its targets.");
    char left_out[160];
    if (report_sweep_explain_left_out(grid->sweep, left_out, sizeof left_out)[0] != '\0')
        report_html_paragraph(html, "note", "%s.", left_out);
    report_html_markup(html, "</div>\n");
}

static void put_front(struct report_html *html, const struct report_grid *grid,
                      const char *question)
{
    struct report_points line = {0};
    find_only_line(grid, &line);
    report_html_markup(html, "<header>\n");
    report_html_paragraph(html, "over", "Capacity report · sweep of %s · kvsim %s",
                          grid->sweep->scenario, grid->sweep->kvsim_version);
    report_html_markup(html, "<h1>");
    report_html_words(html, question);
    report_html_markup(html, "</h1>\n");
    if (line.count > 0 && has_targets(grid))
        put_line_answer(html, grid, &line);
    else
        put_map_answer(html, grid);
    put_counts(html, grid);
    report_html_markup(html, "<div class=\"brief\">\n");
    put_binding(html, grid);
    put_levers(html, grid);
    put_bests(html, grid);
    report_html_markup(html, "</div>\n</header>\n");
    base_vec_free(&line);
}

/* ---- inputs that all points share ---- */

static bool is_shared(const struct report_grid *grid, const struct record_param_row *row)
{
    for (size_t i = 0; grid->runs != NULL && i < grid->sweep->point_count; i++) {
        const struct record_run *run = grid->runs[i];
        const struct record_param_row *other = run == NULL ? NULL : report_run_param(run, row->key);
        if (run != NULL && (other == NULL || strcmp(other->value, row->value) != 0))
            return false;
    }
    return true;
}

static void put_assumptions(struct report_html *html, const struct report_grid *grid)
{
    struct record_run shared;
    if (grid->base == NULL)
        return;
    record_run_init(&shared);
    for (size_t i = 0; i < grid->base->params.count; i++) {
        if (is_shared(grid, &grid->base->params.at[i]))
            base_vec_push(&shared.params, grid->base->params.at[i]);
    }
    report_html_assumptions(html, &shared);
    record_run_free(&shared);
}

/* The only line that differs between equal sweeps. */
static void put_place(struct report_html *html, const char *db_path)
{
    report_html_markup(html, "<footer><p>");
    report_html_printf(html, "Read from %s.", db_path == NULL ? "memory" : db_path);
    report_html_markup(html, "</p></footer>\n");
}

void report_sweep_html(FILE *out, const struct record_sweep *sweep,
                       const struct record_run *const *runs, enum record_summary metric,
                       const char *db_path, const char *gnuplot)
{
    struct report_html html;
    struct report_plotter plotter = {.program = gnuplot};
    struct report_grid grid = {.sweep = sweep, .runs = runs, .metric = metric};
    struct base_text question = {0}, title = {0};
    for (size_t i = 0; runs != NULL && i < sweep->point_count && grid.base == NULL; i++)
        grid.base = runs[i];
    write_question(&grid, &question);
    base_text_printf(&title, "%s: %s", sweep->scenario, question.at);
    report_html_begin(&html, out, title.at);
    put_front(&html, &grid, question.at);
    report_html_plot_note(&html, &plotter);
    report_grid_maps(&html, &plotter, &grid);
    report_grid_latency(&html, &plotter, &grid);
    report_grid_frontier(&html, &grid);
    report_grid_pareto(&html, &plotter, &grid);
    report_grid_points(&html, &grid);
    report_grid_refusals(&html, &grid);
    put_assumptions(&html, &grid);
    report_grid_caveats(&html, &grid);
    report_grid_again(&html, &grid);
    put_place(&html, db_path);
    report_html_end(&html);
    base_text_free(&question);
    base_text_free(&title);
}
