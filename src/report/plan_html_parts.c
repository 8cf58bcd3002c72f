/*
 * The sections of a plan's page with the figures behind the answer.
 */
#include "report/plan_html_int.h"

#include "base/mem.h"
#include "report/number.h"
#include "report/plan.h"
#include "report/plan_plots.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct record_candidate *best_of(const struct record_plan *plan)
{
    return &plan->candidates[0];
}

static void put_heads(struct report_html *html, const char *const *heads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_html_cell(html, heads[i]);
}

static void put_number(struct report_html *html, double value, int digits)
{
    char text[REPORT_NUMBER_BYTES];
    report_html_cell(html, report_print_rounded(value, digits, text, sizeof text));
}

static void put_usd(struct report_html *html, double usd)
{
    char text[REPORT_NUMBER_BYTES];
    report_html_cell(html, report_print_usd(usd, text, sizeof text));
}

static void put_count(struct report_html *html, int64_t count)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)count);
    report_html_cell(html, count > 0 ? text : "-");
}

static void put_share(struct report_html *html, double share)
{
    char text[REPORT_NUMBER_BYTES];
    report_html_cell(html, report_print_share(share, text, sizeof text));
}

/* "ttft p99, ms" of "ttft p99 <= 2 s" */
static void put_target_head(struct report_html *html, const char *target)
{
    char head[96];
    base_copy(head, sizeof head - 4, target);
    char *end = strstr(head, " <=");
    if (end != NULL)
        *end = '\0';
    strcat(head, ", ms");
    report_html_cell(html, head);
}

/* Targets that stand side by side: more make the table wider than a page. */
struct columns {
    size_t first, count;
    bool has_load; /* what the load does to the engine stands beside the first of them */
};
enum { TARGETS_ABREAST = 4 };

static const char *verdict_of(const struct record_probe *probe)
{
    return probe->is_short        ? "too short to tell"
           : probe->is_met_surely ? "met surely"
           : probe->is_met        ? "met"
           : probe->is_overloaded ? "overloaded"
                                  : "missed";
}

static void put_probe_row(struct report_html *html, const struct record_probe *probe,
                          const struct columns *columns)
{
    char text[REPORT_NUMBER_BYTES];
    put_number(html, probe->load, 4);
    put_count(html, probe->replicas);
    put_count(html, probe->replications);
    for (size_t i = columns->first; i < columns->first + columns->count; i++) {
        const struct record_target *target = &probe->targets[i];
        report_html_cell(html, probe->is_overloaded
                                   ? "grows"
                                   : report_print_interval(target->value_ms, target->ci_low_ms,
                                                           target->ci_high_ms, text, sizeof text));
    }
    if (columns->has_load) {
        put_number(html, record_value_real(&probe->summary[RECORD_OUTPUT_THROUGHPUT]), 4);
        put_share(html, record_value_real(&probe->summary[RECORD_KV_USAGE_PEAK]));
    }
    report_html_cell(html, verdict_of(probe));
}

static void put_curve_heads(struct report_html *html, const struct record_plan *plan,
                            const struct columns *columns)
{
    static const char *const counts[] = {"replicas", "replications"};
    static const char *const loads[] = {"output tokens/s", "KV used, peak"};
    report_html_cell(html, record_load_name(plan->load));
    put_heads(html, counts, COUNT_OF(counts));
    for (size_t i = columns->first; i < columns->first + columns->count; i++)
        put_target_head(html, best_of(plan)->probes.at[0].targets[i].text);
    put_heads(html, loads, columns->has_load ? COUNT_OF(loads) : 0);
    report_html_cell(html, "targets");
}

static void put_curve_table(struct report_html *html, const struct record_plan *plan,
                            const struct record_probe *const *sorted, const struct columns *columns)
{
    static const char aligns[] = "rrrrrrrrrl"; // all columns of the widest table
    const struct record_candidate *best = best_of(plan);
    size_t count = 4 + columns->count + (columns->has_load ? 2 : 0);
    char caption[120] = "Every run that was asked of this candidate, by load";
    if (!columns->has_load)
        base_copy(caption, sizeof caption, "The same runs, further targets");
    report_html_table(html, caption, "simulated", "assumed", aligns + (sizeof aligns - 1 - count));
    put_curve_heads(html, plan, columns);
    report_html_table_body(html);
    for (size_t i = 0; i < best->probes.count; i++)
        put_probe_row(html, sorted[i], columns);
    report_html_table_end(html);
}

static void put_curve_tables(struct report_html *html, const struct record_plan *plan)
{
    size_t targets = best_of(plan)->probes.at[0].target_count;
    const struct record_probe **sorted = report_plan_sort(best_of(plan));
    for (size_t first = 0; first == 0 || first < targets; first += TARGETS_ABREAST) {
        size_t left = targets - first;
        struct columns columns = {
            .first = first,
            .count = left < TARGETS_ABREAST ? left : TARGETS_ABREAST,
            .has_load = first == 0,
        };
        put_curve_table(html, plan, sorted, &columns);
    }
    base_free(sorted);
}

void report_html_curve(struct report_html *html, struct report_plotter *plotter,
                       const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    if (best->probes.count == 0)
        return;
    report_html_section(html, "curve", "The targets along the load");
    report_html_markup(html, "<div class=\"figures\">\n");
    for (size_t i = 0; i < best->probes.at[0].target_count; i++)
        report_figure_target(html, plotter, plan, i);
    report_html_markup(html, "</div>\n");
    put_curve_tables(html, plan);
    report_html_section_end(html);
}

void report_html_growth(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan)
{
    static const char *const heads[] = {"demand", "replicas", "GPUs", "$ an hour"};
    if (plan->forecast.count == 0)
        return;
    report_html_section(html, "growth", "How long it lasts");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_growth(html, plotter, plan);
    report_html_markup(html, "<div>\n");
    char each[REPORT_LOAD_BYTES], caption[REPORT_LOAD_BYTES + 64];
    const struct record_candidate *best = best_of(plan);
    snprintf(
        caption, sizeof caption, "What growth takes, where a replica carries %s%s",
        best->status == RECORD_CANDIDATE_NOT_REACHED ? "at least " : "",
        report_plan_load(plan, best->carried_load / (double)best->replicas, each, sizeof each));
    report_html_table(html, caption, "calculated", "assumed", "lrrrr");
    report_html_cell(html, plan->start.year == 0 ? "month" : "date");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < plan->forecast.count; i++) {
        const struct record_forecast *row = &plan->forecast.at[i];
        char text[RECORD_DATE_BYTES];
        if (plan->start.year == 0)
            snprintf(text, sizeof text, "%d", row->months);
        else
            record_date_print(record_date_after(plan->start, row->months), text, sizeof text);
        report_html_cell(html, text);
        put_number(html, row->demand, 4);
        put_count(html, row->replicas);
        put_count(html, row->gpus);
        put_usd(html, row->usd_per_hour);
    }
    report_html_table_end(html);
    report_html_markup(html, "</div>\n</div>\n");
    report_html_section_end(html);
}

static void put_input_row(struct report_html *html, const struct record_plan *plan,
                          const struct record_input *input)
{
    char spread[64];
    int digits = plan->load == RECORD_LOAD_CONCURRENCY ? 1 : 4;
    report_html_cell(html, input->key);
    report_html_cell(html, input->value[0] == '\0' ? "several" : input->value);
    report_html_cell(html, report_plan_spread(input, spread, sizeof spread));
    put_number(html, input->low.max_load, digits);
    put_number(html, input->high.max_load, digits);
    put_share(html, input->low.headroom);
    put_share(html, input->high.headroom);
}

static void put_odds(struct report_html *html, const struct record_plan *plan)
{
    const struct record_odds *odds = &plan->odds;
    char text[200];
    if (report_plan_odds(plan, text, sizeof text)[0] == '\0')
        return;
    report_html_markup(html, "<p><b>");
    report_html_printf(html, "Probability of meeting every target: %s.", text);
    report_html_markup(html, "</b> ");
    report_html_printf(html, "Each sample draws all inputs at once, independently of one another, "
                             "and runs the demand on its replicas. ");
    if (odds->undecided > 0)
        report_html_printf(html,
                           "%lld of them lie too near to a target for their own run to "
                           "decide; the interval holds both outcomes. ",
                           (long long)odds->undecided);
    if (odds->limit_count > 0)
        report_html_printf(html, "Missed most often: %s (%lld of %lld).", odds->limit,
                           (long long)odds->limit_count, (long long)odds->samples);
    report_html_markup(html, "</p>\n");
}

void report_html_inputs(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan)
{
    static const char *const heads[] = {
        "input",           "as stated",     "known within", "at its low end",
        "at its high end", "headroom, low", "high"};
    struct base_text stated = {0};
    if (plan->inputs.count == 0)
        return;
    report_html_section(html, "inputs", "What is not known exactly");
    put_odds(html, plan);
    report_plan_as_stated(plan, &stated);
    if (stated.count > 0)
        report_html_paragraph(html, "", "On the same random numbers, %s.", stated.at);
    base_text_free(&stated);
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_tornado(html, plotter, plan);
    report_html_markup(html, "</div>\n");
    report_html_table(html,
                      "The highest load within the targets with one input at an end, the "
                      "largest effect first",
                      "simulated", "assumed", "lllrrrr");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < plan->inputs.count; i++)
        put_input_row(html, plan, &plan->inputs.at[i]);
    report_html_table_end(html);
    report_html_section_end(html);
}

static void put_candidate_row(struct report_html *html, const struct record_plan *plan,
                              const struct record_candidate *candidate)
{
    char text[REPORT_NUMBER_BYTES];
    for (size_t i = 0; i < plan->axis_count; i++)
        report_html_cell(html, candidate->values[i]);
    bool is_bound = candidate->status == RECORD_CANDIDATE_NOT_REACHED;
    char number[REPORT_NUMBER_BYTES + 4];
    snprintf(number, sizeof number, "%s%s", is_bound ? "≥ " : "",
             report_print_rounded(candidate->max_load, 4, text, sizeof text));
    report_html_cell(html, candidate->max_load > 0 ? number : "-");
    snprintf(text, sizeof text, "%.4g to %.4g", candidate->ci_low, candidate->ci_high);
    report_html_cell(html, isnan(candidate->ci_low) ? "-" : text);
    put_count(html, candidate->replicas);
    put_count(html, candidate->gpus);
    put_usd(html, candidate->usd_per_hour);
    put_usd(html, candidate->usd_per_mtok_output);
    put_share(html, candidate->headroom);
    report_html_cell(html, report_plan_end(candidate));
}

static void put_refusals(struct report_html *html, const struct record_plan *plan)
{
    for (size_t i = 0; i < plan->candidate_count; i++) {
        const struct record_candidate *candidate = &plan->candidates[i];
        struct base_text values = {0};
        if (candidate->reason[0] == '\0')
            continue;
        report_plan_values(plan, candidate, &values);
        report_html_paragraph(html, "note", "%s: %s.", values.at == NULL ? "" : values.at,
                              candidate->reason);
        base_text_free(&values);
    }
}

void report_html_candidates(struct report_html *html, struct report_plotter *plotter,
                            const struct record_plan *plan)
{
    static const char *const heads[] = {
        "interval", "replicas",    "GPUs", "$ an hour", "$ per M output tokens",
        "headroom", "breaks first"};
    char align[RECORD_AXES_MAX + 16], head[40];
    if (plan->axis_count == 0)
        return;
    report_html_section(html, "candidates", "Candidates");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_candidates(html, plotter, plan);
    report_html_markup(html, "</div>\n");
    memset(align, 'l', plan->axis_count);
    memcpy(align + plan->axis_count, "rrrrrrrl", sizeof "rrrrrrrl");
    report_html_table(html, "The cheapest for the demand first", "simulated", "assumed", align);
    put_heads(html, plan->axes, plan->axis_count);
    snprintf(head, sizeof head, "highest %s", record_load_name(plan->load));
    report_html_cell(html, head);
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < plan->candidate_count; i++)
        put_candidate_row(html, plan, &plan->candidates[i]);
    report_html_table_end(html);
    put_refusals(html, plan);
    report_html_section_end(html);
}

void report_html_stages(struct report_html *html, struct report_plotter *plotter,
                        const struct record_plan *plan)
{
    char peak[48];
    snprintf(peak, sizeof peak, "peak %s", record_load_unit(plan->load));
    const char *const heads[] = {"stage", "hours", peak, "replicas"};
    if (plan->stages.count == 0)
        return;
    report_html_section(html, "profile", "Over the profile");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_stages(html, plotter, plan);
    report_html_markup(html, "<div>\n");
    report_html_table(html, "Each stage by its peak", "calculated", "assumed", "rrrr");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < plan->stages.count; i++) {
        const struct record_plan_stage *stage = &plan->stages.at[i];
        put_count(html, (int64_t)i + 1);
        put_number(html, stage->duration_s / 3600, 3);
        put_number(html, stage->peak_rate, 3);
        put_count(html, stage->replicas);
    }
    report_html_table_end(html);
    report_html_markup(html, "</div>\n</div>\n");
    report_html_section_end(html);
}
