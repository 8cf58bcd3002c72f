#include "report/sweep_html_int.h"

#include "report/command.h"
#include "report/number.h"
#include "report/run_html_int.h"
#include "report/run_view.h"
#include "report/sweep.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
    MAPS_MAX = 6,
    TABLE_COLUMNS_MAX = 24,
    POINTS_MAX = 300,
    REASONS_MAX = 12,
    LINES_MAX = 60,
    VALUE_BYTES = 96
};

static void put_cells(struct report_html *html, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_html_cell(html, cells[i]);
}

/* The claim and basis of the grid's figures, from its first run. */
static const struct record_metric *grid_row(const struct report_grid *grid)
{
    return grid->base == NULL ? NULL
                              : record_run_metric(grid->base, "request_throughput", "value", "");
}

static const char *grid_claim(const struct report_grid *grid)
{
    const struct record_metric *row = grid_row(grid);
    return row == NULL ? "simulated" : row->claim;
}

static const char *grid_basis(const struct report_grid *grid)
{
    const struct record_metric *row = grid_row(grid);
    return row == NULL ? NULL : row->basis;
}

/* ---- maps ---- */

/* "1,234", "1,234 !" where a target is missed, "grows !^", "refused", "" where nothing is decided. */
static void print_map_cell(const struct report_grid *grid, const struct record_point *point,
                           char *text, size_t bytes)
{
    text[0] = '\0';
    if (point == NULL || point->status == RECORD_POINT_OPEN)
        return;
    char number[REPORT_NUMBER_BYTES], marks[REPORT_MARKS_BYTES];
    report_point_marks(point, marks);
    if (isnan(record_point_real(point, grid->metric)))
        snprintf(text, bytes, "%s", record_point_status_name(point->status));
    else
        snprintf(text, bytes, "%s%s%s",
                 report_point_figure(point, grid->metric, number, sizeof number),
                 marks[0] == '\0' ? "" : " ", marks);
}

static void put_map_head(struct report_html *html, const struct report_grid *grid,
                         const struct report_points *columns)
{
    char text[VALUE_BYTES * 2];
    snprintf(text, sizeof text, "%s \\ %s", grid->sweep->axes[0], grid->sweep->axes[1]);
    report_html_cell(html, text);
    for (size_t c = 0; c < columns->count; c++)
        report_html_cell(html,
                         report_sweep_value(grid->sweep, columns->at[c], 1, text, sizeof text));
    report_html_table_body(html);
}

static void put_map_table(struct report_html *html, const struct report_grid *grid,
                          const struct record_point *rest)
{
    static const char align[TABLE_COLUMNS_MAX + 2] = "rrrrrrrrrrrrrrrrrrrrrrrrr";
    struct report_points rows = {0}, columns = {0};
    char text[VALUE_BYTES], caption[480], unsteady[240];
    report_sweep_explain_unsteady(grid->sweep, true, unsteady, sizeof unsteady);
    report_sweep_values(grid->sweep, 0, &rows);
    report_sweep_values(grid->sweep, 1, &columns);
    if (columns.count > TABLE_COLUMNS_MAX)
        columns.count = TABLE_COLUMNS_MAX;
    snprintf(caption, sizeof caption, "%s%s%s; ! misses a target%s%s",
             record_summary_columns[grid->metric].name,
             record_summary_columns[grid->metric].unit[0] == '\0' ? "" : ", ",
             record_summary_columns[grid->metric].unit, unsteady[0] == '\0' ? "" : "; ", unsteady);
    report_html_table(html, caption, grid_claim(grid), grid_basis(grid),
                      align + TABLE_COLUMNS_MAX - columns.count);
    put_map_head(html, grid, &columns);
    for (size_t r = 0; r < rows.count; r++) {
        report_html_cell(html, report_sweep_value(grid->sweep, rows.at[r], 0, text, sizeof text));
        for (size_t c = 0; c < columns.count; c++) {
            print_map_cell(grid, report_sweep_find(grid->sweep, rows.at[r], columns.at[c], rest),
                           text, sizeof text);
            report_html_cell(html, text);
        }
    }
    report_html_table_end(html);
    base_vec_free(&rows);
    base_vec_free(&columns);
}

static void put_map(struct report_html *html, struct report_plotter *plotter,
                    const struct report_grid *grid, const struct record_point *rest, size_t number)
{
    if (grid->sweep->axis_count > 2) {
        struct base_text place = {0};
        report_sweep_add_place(&place, grid->sweep, rest, 2);
        report_html_markup(html, "<h3>");
        report_html_text(html, place.at);
        report_html_markup(html, "</h3>\n");
        base_text_free(&place);
    }
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_heat(html, plotter, grid, rest, number);
    report_figure_binding(html, plotter, grid, rest, number);
    report_html_markup(html, "</div>\n");
    put_map_table(html, grid, rest);
}

void report_grid_maps(struct report_html *html, struct report_plotter *plotter,
                      const struct report_grid *grid)
{
    if (!report_sweep_is_map(grid->sweep) || grid->sweep->point_count == 0)
        return;
    struct report_points rests = {0};
    report_sweep_rests(grid->sweep, &rests);
    report_html_section(html, "map", "The map");
    for (size_t i = 0; i < rests.count && i < MAPS_MAX; i++)
        put_map(html, plotter, grid, rests.at[i], i + 1);
    if (rests.count > MAPS_MAX)
        report_html_paragraph(html, "note",
                              "%zu more maps are not shown; --format csv has every "
                              "point.",
                              rests.count - MAPS_MAX);
    report_html_section_end(html);
    base_vec_free(&rests);
}

/* ---- latency ---- */

/* The statistic of an SLO on the metric, else P99. */
static enum record_summary judged_column(const struct report_grid *grid, enum spec_metric metric,
                                         enum record_summary mean)
{
    enum record_summary column = (enum record_summary)((int)mean + SPEC_P99);
    for (size_t i = 0; grid->base != NULL && i < grid->base->slo_lines.count; i++) {
        struct report_slo slo;
        report_slo_read(grid->base, i, &slo);
        if (slo.is_slo && slo.slo.metric == metric && slo.slo.class_name == NULL)
            column = (enum record_summary)((int)mean + (int)slo.slo.statistic);
    }
    return column;
}

void report_grid_latency(struct report_html *html, struct report_plotter *plotter,
                         const struct report_grid *grid)
{
    if (plotter->program == NULL || plotter->failure[0] != '\0' || grid->sweep->is_zipped ||
        grid->sweep->axis_count == 0)
        return;
    report_html_section(html, "latency", "Latency");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_along(html, plotter, grid, judged_column(grid, SPEC_TTFT, RECORD_TTFT_MEAN));
    report_figure_along(html, plotter, grid, judged_column(grid, SPEC_TPOT, RECORD_TPOT_MEAN));
    report_html_markup(html, "</div>\n<p class=\"note\">");
    report_html_claim(html, grid_claim(grid), grid_basis(grid));
    report_html_text(html, " The figures stand in the table of points.");
    report_html_markup(html, "</p>\n");
    report_html_section_end(html);
}

/* ---- frontier ---- */

static void put_last_cell(struct report_html *html, const struct report_grid *grid,
                          const struct report_points *line, size_t count)
{
    char text[VALUE_BYTES];
    report_html_cell(html, count == 0 ? "none"
                                      : report_sweep_value(grid->sweep, line->at[count - 1], 0,
                                                           text, sizeof text));
}

static void put_frontier_row(struct report_html *html, const struct report_grid *grid,
                             const struct report_points *line)
{
    struct base_text place = {0};
    char end[240];
    size_t met = report_sweep_holding(line, report_point_meets_slo);
    report_sweep_add_values(&place, grid->sweep, line->at[0], 1);
    report_sweep_describe_end(grid->sweep, line, met, end, sizeof end);
    report_html_cell(html, place.count == 0 ? "all" : place.at);
    put_last_cell(html, grid, line, met);
    put_last_cell(html, grid, line, report_sweep_holding(line, report_point_kv_holds));
    put_last_cell(html, grid, line, report_sweep_holding(line, report_point_starts));
    report_html_cell(html, end);
    base_text_free(&place);
}

static void put_frontier_head(struct report_html *html, const struct report_grid *grid)
{
    static const char *const header[] = {"targets met to", "KV holds to", "starts to", "then"};
    struct base_text names = {0};
    char caption[VALUE_BYTES + 64];
    snprintf(caption, sizeof caption, "Along %s, from its first value on", grid->sweep->axes[0]);
    for (size_t i = 1; i < grid->sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 1 ? "" : ", ", grid->sweep->axes[i]);
    report_html_table(html, caption, grid_claim(grid), grid_basis(grid), "rrrrl");
    report_html_cell(html, names.count == 0 ? "" : names.at);
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    base_text_free(&names);
}

void report_grid_frontier(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    if (!report_sweep_is_ordered(sweep))
        return;
    struct report_points line = {0};
    size_t shown = 0;
    report_html_section(html, "frontier", "Where it ends");
    put_frontier_head(html, grid);
    for (size_t i = 0; i < sweep->point_count && shown < LINES_MAX; i++) {
        report_sweep_line(sweep, &sweep->points[i], &line);
        if (line.at[0] != &sweep->points[i])
            continue;
        put_frontier_row(html, grid, &line);
        shown++;
    }
    report_html_table_end(html);
    report_html_section_end(html);
    base_vec_free(&line);
}

/* ---- rows of points: the Pareto set, and all ---- */

static const struct {
    const char *head;
    enum record_summary column;
    enum { PLAIN, SHARE, INTERVAL } form;
} point_columns[] = {
    {"requests/s", RECORD_REQUEST_THROUGHPUT, INTERVAL},
    {"tokens/s per GPU", RECORD_OUTPUT_THROUGHPUT_PER_GPU, INTERVAL},
    {"per user", RECORD_OUTPUT_THROUGHPUT_PER_USER, INTERVAL},
    {"ttft p99, ms", RECORD_TTFT_P99, INTERVAL},
    {"tpot p99, ms", RECORD_TPOT_P99, INTERVAL},
    {"KV peak", RECORD_KV_USAGE_PEAK, SHARE},
    {"preempted", RECORD_PREEMPTIONS, INTERVAL},
    {"$ per M output", RECORD_USD_PER_MTOK_OUTPUT, PLAIN},
};

static void begin_points(struct report_html *html, const struct report_grid *grid,
                         const char *caption)
{
    struct base_text names = {0};
    for (size_t i = 0; i < grid->sweep->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", grid->sweep->axes[i]);
    report_html_table(html, caption, grid_claim(grid), grid_basis(grid), "lrrrrrrrrll");
    report_html_cell(html, names.count == 0 ? "point" : names.at);
    for (size_t i = 0; i < COUNT_OF(point_columns); i++)
        report_html_cell(html, point_columns[i].head);
    report_html_cell(html, "limit");
    report_html_cell(html, "status");
    report_html_table_body(html);
    base_text_free(&names);
}

static void put_point(struct report_html *html, const struct report_grid *grid,
                      const struct record_point *point)
{
    struct base_text place = {0};
    const struct record_run *run = report_grid_run(grid, point);
    report_sweep_add_values(&place, grid->sweep, point, 0);
    report_html_cell(html, place.count == 0 ? "1" : place.at);
    base_text_free(&place);
    for (size_t i = 0; i < COUNT_OF(point_columns); i++) {
        char text[REPORT_NUMBER_BYTES];
        enum record_summary column = point_columns[i].column;
        bool has_interval = run != NULL && point_columns[i].form == INTERVAL;
        if (point_columns[i].form == SHARE)
            report_print_share(record_point_real(point, column), text, sizeof text);
        else if (has_interval && !report_point_grows(point))
            report_run_figure(run, column, text, sizeof text);
        else
            report_point_figure(point, column, text, sizeof text);
        report_html_cell(html, text);
    }
    char words[64];
    report_html_cell(
        html, report_words(record_point_text(point, RECORD_BINDING_LIMIT), words, sizeof words));
    report_html_cell(html, report_point_words(point, words, sizeof words));
}

/* What the words "overloaded" and "not settled" in the table above mean. */
static void put_unsteady(struct report_html *html, const struct report_grid *grid)
{
    char words[240];
    if (report_sweep_explain_unsteady(grid->sweep, false, words, sizeof words)[0] != '\0')
        report_html_paragraph(html, "note", "%c%s.", words[0] - 'a' + 'A', words + 1);
}

static void put_pareto_set(struct report_html *html, struct report_plotter *plotter,
                           const struct report_grid *grid, const struct report_points *set)
{
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_pareto(html, plotter, grid);
    report_html_markup(html, "</div>\n");
    begin_points(html, grid,
                 "Points that meet their targets and that no other one beats in both figures");
    for (size_t i = 0; i < set->count; i++)
        put_point(html, grid, set->at[i]);
    report_html_table_end(html);
}

void report_grid_pareto(struct report_html *html, struct report_plotter *plotter,
                        const struct report_grid *grid)
{
    struct report_points set = {0};
    char left_out[160];
    report_sweep_pareto_set(grid->sweep, &set);
    report_sweep_explain_left_out(grid->sweep, left_out, sizeof left_out);
    if (grid->sweep->axis_count > 0 && (set.count > 0 || left_out[0] != '\0')) {
        report_html_section(html, "pareto", "The best of both: per GPU and per user");
        if (set.count > 0)
            put_pareto_set(html, plotter, grid, &set);
        if (left_out[0] != '\0')
            report_html_paragraph(html, "note", "%s.", left_out);
        report_html_section_end(html);
    }
    base_vec_free(&set);
}

void report_grid_points(struct report_html *html, const struct report_grid *grid)
{
    size_t shown = 0, left = 0;
    report_html_section(html, "points", "Every point");
    begin_points(html, grid,
                 grid->runs == NULL ? "Points in the order of the grid"
                                    : "Points in the order of the grid, ± half of a "
                                      "95 % interval");
    for (size_t i = 0; i < grid->sweep->point_count; i++) {
        if (grid->sweep->points[i].status == RECORD_POINT_OPEN)
            continue;
        if (shown == POINTS_MAX) {
            left++;
            continue;
        }
        put_point(html, grid, &grid->sweep->points[i]);
        shown++;
    }
    report_html_table_end(html);
    put_unsteady(html, grid);
    if (left > 0)
        report_html_paragraph(html, "note",
                              "%zu more points are not shown; --format csv has them "
                              "all.",
                              left);
    report_html_section_end(html);
}

/* ---- refusals ---- */

/* How many points have this reason, and whether one before has it. */
static size_t count_reason(const struct record_sweep *sweep, size_t at, bool *is_known)
{
    size_t count = 0;
    *is_known = false;
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (strcmp(sweep->points[i].reason, sweep->points[at].reason) != 0)
            continue;
        count++;
        *is_known = *is_known || i < at;
    }
    return count;
}

void report_grid_refusals(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    if (report_sweep_count(sweep, RECORD_POINT_REFUSED) +
            report_sweep_count(sweep, RECORD_POINT_FAILED) ==
        0)
        return;
    size_t shown = 0;
    report_html_section(html, "refused", "Points that could not run");
    report_html_markup(html, "<ul>\n");
    for (size_t i = 0; i < sweep->point_count && shown < REASONS_MAX; i++) {
        bool is_known;
        size_t count = count_reason(sweep, i, &is_known);
        if (sweep->points[i].reason[0] == '\0' || is_known)
            continue;
        struct base_text place = {0};
        report_sweep_add_place(&place, sweep, &sweep->points[i], 0);
        report_html_markup(html, "<li>");
        report_html_printf(html, "%s (%s%s)", sweep->points[i].reason,
                           place.count == 0 ? "" : place.at, count > 1 ? ", and others" : "");
        report_html_markup(html, "</li>\n");
        base_text_free(&place);
        shown++;
    }
    report_html_markup(html, "</ul>\n");
    report_html_section_end(html);
}

/* ---- how to get it again ---- */

static bool has_axis(const struct record_sweep *sweep, const char *key)
{
    bool found = false;
    for (size_t i = 0; i < sweep->axis_count; i++)
        found |= strcmp(sweep->axes[i], key) == 0;
    return found;
}

/* Whether an axis, and not the command's --set, gave the parameter its value. */
static bool is_of_axis(const struct record_sweep *sweep, const char *key)
{
    static const char *const of_context[] = {"workload.max_tokens", "workload.output_tokens",
                                             "workload.prompt_tokens", "engine.max_model_len"};
    if (has_axis(sweep, "concurrency") && base_starts_with(key, "workload.arrival."))
        return true;
    for (size_t i = 0; i < COUNT_OF(of_context) && has_axis(sweep, "context"); i++) {
        if (strcmp(of_context[i], key) == 0)
            return true;
    }
    return has_axis(sweep, key);
}

static void add_axis(struct base_text *command, const struct record_sweep *sweep, size_t axis)
{
    struct report_points values = {0};
    struct base_text word = {0};
    if (!sweep->is_zipped)
        report_sweep_values(sweep, axis, &values);
    for (size_t i = 0; sweep->is_zipped && i < sweep->point_count; i++)
        base_vec_push(&values, &sweep->points[i]);
    base_text_printf(&word, "%s=", sweep->axes[axis]);
    for (size_t i = 0; i < values.count; i++) {
        char text[VALUE_BYTES];
        bool is_rate = base_ends_with(sweep->axes[axis], "rate");
        base_text_printf(&word, "%s%s", i == 0 ? "" : ",",
                         is_rate ? report_sweep_value(sweep, values.at[i], axis, text, sizeof text)
                                 : values.at[i]->values[axis]);
    }
    base_text_add(command, " --axis");
    report_command_word(command, word.at);
    base_text_free(&word);
    base_vec_free(&values);
}

static void put_command(struct report_html *html, const struct report_grid *grid)
{
    const struct record_sweep *sweep = grid->sweep;
    struct base_text command = {0}, file = {0};
    base_text_printf(&file, "%s.yaml", sweep->scenario);
    base_text_add(&command, "kvsim sweep");
    report_command_word(&command, file.at);
    for (size_t i = 0; i < sweep->axis_count; i++)
        add_axis(&command, sweep, i);
    base_text_add(&command, sweep->is_zipped ? " --zip" : "");
    for (size_t i = 0; grid->base != NULL && i < grid->base->params.count; i++) {
        const struct record_param_row *row = &grid->base->params.at[i];
        if (strcmp(row->origin, "set") == 0 && !is_of_axis(sweep, row->key))
            report_command_set(&command, row);
    }
    report_html_markup(html, "<pre><code>");
    report_html_text(html, command.at);
    report_html_markup(html, "</code></pre>\n");
    base_text_free(&file);
    base_text_free(&command);
}

void report_grid_again(struct report_html *html, const struct report_grid *grid)
{
    char seed[32] = "";
    report_html_section(html, "again", "How to get these figures again");
    report_html_paragraph(html, "",
                          "With the same scenario and kvsim %s every figure comes out the same, on "
                          "any machine and with any number of jobs; the sweep's identity says that "
                          "it is the same.",
                          grid->sweep->kvsim_version);
    put_command(html, grid);
    if (grid->base != NULL)
        snprintf(seed, sizeof seed, "%lld", (long long)grid->base->summary[RECORD_SEED].integer);
    const char *const rows[][2] = {{"scenario", grid->sweep->scenario},
                                   {"sweep", grid->sweep->sweep_id},
                                   {"seed", seed},
                                   {"kvsim", grid->sweep->kvsim_version}};
    report_html_table(html, "What identifies this sweep", NULL, NULL, "ll");
    report_html_cell(html, "");
    report_html_cell(html, "value");
    report_html_table_body(html);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        report_html_cell(html, rows[i][0]);
        report_html_cell(html, rows[i][1]);
    }
    report_html_table_end(html);
    report_html_section_end(html);
}
