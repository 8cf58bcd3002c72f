/*
 * The page of a plan: the answer with its interval first, what breaks it, what the demand takes; then the curve and the
 * candidates.
 */
#include "report/plan.h"

#include "base/mem.h"
#include "base/text.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

/* ---- the answer ---- */

static void put_load(struct report_page *page, const struct record_plan *plan,
                     const struct record_candidate *best)
{
    char text[400], sure[REPORT_LOAD_BYTES];
    struct base_text highest = {0};
    report_plan_highest(plan, best, &highest);
    report_page_line(page, "highest load within the targets: %s", highest.at);
    base_text_free(&highest);
    if (best->status == RECORD_CANDIDATE_NOT_REACHED)
        report_page_line(page, "why: %s", best->reason);
    if (report_plan_imprecise(plan, best, text, sizeof text)[0] != '\0')
        report_page_line(page, "%s", text);
    if (report_plan_longer(plan, best, text, sizeof text)[0] != '\0')
        report_page_line(page, "%s", text);
    if (best->sure_load > 0)
        report_page_line(page, "met at %.4g %% confidence: %s", plan->confidence * 100,
                         report_plan_load(plan, best->sure_load, sure, sizeof sure));
    if (plan->load != RECORD_LOAD_RATE && best->max_rate > 0)
        report_page_line(page, "that is %s requests/s",
                         report_print_rounded(best->max_rate, 4, sure, sizeof sure));
    if (best->limit[0] != '\0')
        report_page_line(page, "breaks first: %s%s%s", best->limit,
                         best->binding_limit[0] == '\0' ? "" : "; there binds ",
                         best->binding_limit);
}

static void put_money(struct report_page *page, const struct record_candidate *best)
{
    char hour[REPORT_NUMBER_BYTES], tokens[REPORT_NUMBER_BYTES];
    if (isnan(best->usd_per_hour))
        return;
    report_print_usd(best->usd_per_hour, hour, sizeof hour);
    report_print_usd(best->usd_per_mtok_output, tokens, sizeof tokens);
    report_page_line(page, "cost: $ %s per hour, $ %s per million output tokens%s", hour, tokens,
                     isnan(best->gpu_hours_static) ? "" : " over the profile");
}

static void put_demand(struct report_page *page, const struct record_plan *plan,
                       const struct record_candidate *best)
{
    char demand[REPORT_LOAD_BYTES], headroom[REPORT_HEADROOM_BYTES];
    if (!(plan->demand > 0))
        return;
    report_plan_load(plan, plan->demand, demand, sizeof demand);
    if (best->replicas == 0) {
        struct base_text text = {0};
        report_plan_none_found(plan, best, &text);
        report_page_line(page, "demand of %s: %s", demand, text.at);
        base_text_free(&text);
        return;
    }
    report_page_line(page, "demand of %s: %s%lld replica%s%s, %lld GPU%s in all (%s), headroom %s",
                     demand, report_plan_is_bound(best) ? "at most " : "",
                     (long long)best->replicas, best->replicas == 1 ? "" : "s",
                     plan->spare_replicas > 0 ? " and spare ones for failures" : "",
                     (long long)best->gpus, best->gpus == 1 ? "" : "s",
                     best->is_verified ? "simulated" : "calculated from one replica",
                     report_plan_headroom(plan, best, headroom, sizeof headroom));
    put_money(page, best);
}

/* ---- growth ---- */

static void put_growth(struct report_page *page, const struct record_plan *plan)
{
    static const char *const heads[] = {"replicas", "GPUs", "$/h"};
    char breach[200], text[REPORT_NUMBER_BYTES];
    if (report_plan_breach(plan, breach, sizeof breach)[0] == '\0')
        return;
    char each[REPORT_LOAD_BYTES], heading[REPORT_LOAD_BYTES + 64];
    const struct record_candidate *best = &plan->candidates[0];
    snprintf(
        heading, sizeof heading, "GROWTH (calculated: a replica carries %s%s)",
        best->status == RECORD_CANDIDATE_NOT_REACHED ? "at least " : "",
        report_plan_load(plan, best->carried_load / (double)best->replicas, each, sizeof each));
    report_page_heading(page, heading);
    report_page_line(page, "at %.3g %% more a month the targets break %s",
                     plan->growth_per_month * 100, breach);
    report_page_table_begin(page, "lrrrr");
    report_page_cell(page, plan->start.year == 0 ? "month" : "date");
    report_page_cell(page, "demand");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < plan->forecast.count; i++) {
        const struct record_forecast *row = &plan->forecast.at[i];
        if (plan->start.year == 0)
            snprintf(text, sizeof text, "%d", row->months);
        else
            report_plan_when(plan, row->months, text, sizeof text);
        report_page_cell(page, text);
        report_page_cell(page, report_print_rounded(row->demand, 4, text, sizeof text));
        report_page_cell(page, report_print_rounded((double)row->replicas, 1, text, sizeof text));
        report_page_cell(page, report_print_rounded((double)row->gpus, 1, text, sizeof text));
        report_page_cell(page, report_print_usd(row->usd_per_hour, text, sizeof text));
    }
    report_page_table_end(page);
}

/* ---- what is not known exactly ---- */

static void put_odds(struct report_page *page, const struct record_plan *plan)
{
    const struct record_odds *odds = &plan->odds;
    char text[200];
    if (report_plan_odds(plan, text, sizeof text)[0] == '\0')
        return;
    report_page_line(page, "the targets are met with a probability of %s, all inputs drawn at once",
                     text);
    if (odds->undecided > 0)
        report_page_line(page,
                         "%lld of the samples lie too near to the target for their own run to "
                         "decide; the interval holds both outcomes",
                         (long long)odds->undecided);
    if (odds->limit_count > 0)
        report_page_line(page, "missed most often: %s (%lld of %lld samples)", odds->limit,
                         (long long)odds->limit_count, (long long)odds->samples);
}

static void put_input_row(struct report_page *page, const struct record_plan *plan,
                          const struct record_input *input, bool has_headroom)
{
    const struct record_input_end *ends[] = {&input->low, &input->high};
    char text[REPORT_NUMBER_BYTES + 24];
    report_page_cell(page, input->key);
    report_page_cell(page, input->value[0] == '\0' ? "several" : input->value);
    report_page_cell(page, report_plan_spread(input, text, sizeof text));
    for (size_t i = 0; i < 2; i++)
        report_page_cell(page, report_print_rounded(ends[i]->max_load,
                                                    plan->load == RECORD_LOAD_CONCURRENCY ? 1 : 4,
                                                    text, sizeof text));
    for (size_t i = 0; i < 2 && has_headroom; i++)
        report_page_cell(page, report_print_share(ends[i]->headroom, text, sizeof text));
}

static void put_inputs(struct report_page *page, const struct record_plan *plan)
{
    char head[48];
    struct base_text stated = {0};
    bool has_headroom = plan->inputs.count > 0 && !isnan(plan->inputs.at[0].low.headroom);
    if (plan->inputs.count == 0)
        return;
    report_page_heading(page, "WHAT IS NOT KNOWN EXACTLY (the largest effect first)");
    put_odds(page, plan);
    report_plan_as_stated(plan, &stated);
    if (stated.count > 0)
        report_page_line(page, "%s", stated.at);
    base_text_free(&stated);
    report_page_table_begin(page, has_headroom ? "llrrrrr" : "llrrr");
    report_page_cell(page, "input");
    report_page_cell(page, "as stated");
    report_page_cell(page, "known within");
    snprintf(head, sizeof head, "max %s at low", record_load_name(plan->load));
    report_page_cell(page, head);
    report_page_cell(page, "at high");
    if (has_headroom) {
        report_page_cell(page, "headroom at low");
        report_page_cell(page, "at high");
    }
    for (size_t i = 0; i < plan->inputs.count; i++)
        put_input_row(page, plan, &plan->inputs.at[i], has_headroom);
    report_page_table_end(page);
}

static void put_profile(struct report_page *page, const struct record_plan *plan,
                        const struct record_candidate *best)
{
    char elastic[REPORT_NUMBER_BYTES], fixed[REPORT_NUMBER_BYTES], text[REPORT_NUMBER_BYTES];
    if (plan->stages.count == 0)
        return;
    report_print_rounded(best->gpu_hours_elastic, 4, elastic, sizeof elastic);
    report_print_rounded(best->gpu_hours_static, 4, fixed, sizeof fixed);
    report_page_heading(page, "OVER THE PROFILE");
    report_page_line(page,
                     "%s GPU-hours with replicas that follow the stages, %s with all of them all "
                     "the time",
                     elastic, fixed);
    report_page_table_begin(page, "rrr");
    snprintf(text, sizeof text, "peak %s", record_load_unit(plan->load));
    report_page_cell(page, text);
    report_page_cell(page, "seconds");
    report_page_cell(page, "replicas");
    for (size_t i = 0; i < plan->stages.count; i++) {
        const struct record_plan_stage *stage = &plan->stages.at[i];
        report_page_cell(page, report_print_rounded(stage->peak_rate, 3, text, sizeof text));
        report_page_cell(page, report_print_rounded(stage->duration_s, 3, text, sizeof text));
        report_page_cell(page, report_print_rounded((double)stage->replicas, 1, text, sizeof text));
    }
    report_page_table_end(page);
}

static void put_answer(struct report_page *page, const struct record_plan *plan,
                       const struct record_candidate *best)
{
    if (plan->axis_count > 0) {
        struct base_text values = {0};
        report_plan_values(plan, best, &values);
        report_page_line(page, "best of %zu candidates: %s", plan->candidate_count, values.at);
        base_text_free(&values);
    }
    report_page_line(page, "%s on %lld x %s a replica", best->model,
                     (long long)best->gpus_per_replica,
                     best->hardware[0] == '\0' ? "unnamed hardware" : best->hardware);
    if (best->status == RECORD_CANDIDATE_NONE)
        report_page_line(page, "no load meets the targets; missed even then: %s", best->limit);
    else
        put_load(page, plan, best);
    put_demand(page, plan, best);
}

/* ---- the curve ---- */

static void put_probe_row(struct report_page *page, const struct record_probe *probe)
{
    static const enum record_summary columns[] = {RECORD_TTFT_P99, RECORD_TPOT_P99,
                                                  RECORD_OUTPUT_THROUGHPUT, RECORD_KV_USAGE_PEAK};
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, report_print_rounded(probe->load, 4, text, sizeof text));
    snprintf(text, sizeof text, "%lld", (long long)probe->replicas);
    report_page_cell(page, text);
    snprintf(text, sizeof text, "%lld", (long long)probe->replications);
    report_page_cell(page, text);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct record_value *value = &probe->summary[columns[i]];
        double number = value->kind == RECORD_REAL ? value->real : (double)NAN;
        report_page_cell(page, columns[i] == RECORD_KV_USAGE_PEAK
                                   ? report_print_share(number, text, sizeof text)
                                   : report_print_rounded(number, 3, text, sizeof text));
    }
    report_page_cell(page, probe->summary[RECORD_BINDING_LIMIT].kind == RECORD_TEXT
                               ? probe->summary[RECORD_BINDING_LIMIT].text
                               : "");
    report_page_cell(page, probe->is_short        ? "too short to tell"
                           : probe->is_met_surely ? "met surely"
                           : probe->is_met        ? "met"
                                                  : probe->worst);
}

/* By rising load, first with the scenario's replicas, then with others. */
static bool goes_before(const struct record_probe *a, const struct record_probe *b)
{
    if (a->replicas != b->replicas)
        return a->replicas < b->replicas;
    if (a->load < b->load || a->load > b->load)
        return a->load < b->load;
    return a->replications < b->replications;
}

const struct record_probe **report_plan_sort(const struct record_candidate *candidate)
{
    const struct record_probe **sorted =
        base_alloc(base_mul_size(candidate->probes.count + 1, sizeof *sorted));
    for (size_t i = 0; i < candidate->probes.count; i++) {
        size_t at = i;
        for (; at > 0 && goes_before(&candidate->probes.at[i], sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &candidate->probes.at[i];
    }
    return sorted;
}

static void put_curve(struct report_page *page, const struct record_plan *plan,
                      const struct record_candidate *best)
{
    const struct record_probe **sorted = report_plan_sort(best);
    report_page_heading(page, "THE CURVE (every run that was asked)");
    report_page_table_begin(page, "rrrrrrrll");
    static const char *const heads[] = {"replicas",  "repl.",   "ttft p99 ms", "tpot p99 ms",
                                        "out tok/s", "kv peak", "limit",       "targets"};
    report_page_cell(page, record_load_name(plan->load));
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < best->probes.count; i++)
        put_probe_row(page, sorted[i]);
    report_page_table_end(page);
    base_free(sorted);
}

/* ---- candidates ---- */

static void put_candidate_row(struct report_page *page, const struct record_plan *plan,
                              const struct record_candidate *candidate)
{
    char text[REPORT_NUMBER_BYTES];
    struct base_text values = {0};
    for (size_t i = 0; i < plan->axis_count; i++)
        base_text_printf(&values, "%s%s", i == 0 ? "" : ", ", candidate->values[i]);
    report_page_cell(page, values.at);
    base_text_free(&values);
    bool has_load = candidate->max_load > 0;
    bool is_bound = candidate->status == RECORD_CANDIDATE_NOT_REACHED;
    char load[REPORT_NUMBER_BYTES + 4];
    snprintf(load, sizeof load, "%s%s", is_bound ? ">= " : "",
             report_print_rounded(candidate->max_load, 4, text, sizeof text));
    report_page_cell(page, !has_load ? "-" : load);
    if (isnan(candidate->ci_low))
        base_copy(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.4g to %.4g", candidate->ci_low, candidate->ci_high);
    report_page_cell(page, text);
    if (candidate->replicas > 0)
        snprintf(text, sizeof text, "%lld", (long long)candidate->replicas);
    report_page_cell(page, candidate->replicas > 0 ? text : "-");
    if (candidate->gpus > 0)
        snprintf(text, sizeof text, "%lld", (long long)candidate->gpus);
    report_page_cell(page, candidate->gpus > 0 ? text : "-");
    report_page_cell(page, report_print_usd(candidate->usd_per_hour, text, sizeof text));
    report_page_cell(page, report_print_usd(candidate->usd_per_mtok_output, text, sizeof text));
    report_page_cell(page, report_print_share(candidate->headroom, text, sizeof text));
    report_page_cell(page, report_plan_end(candidate));
}

static void put_candidates(struct report_page *page, const struct record_plan *plan)
{
    static const char *const heads[] = {"interval",   "replicas", "GPUs",        "$/h",
                                        "$/Mtok out", "headroom", "breaks first"};
    if (plan->axis_count == 0)
        return;
    struct base_text names = {0};
    for (size_t i = 0; i < plan->axis_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", plan->axes[i]);
    report_page_heading(page,
                        "CANDIDATES (the cheapest for the demand first, then the fewest GPUs)");
    report_page_table_begin(page, "lrrrrrrrl");
    report_page_cell(page, names.at);
    base_text_free(&names);
    char head[40];
    snprintf(head, sizeof head, "max %s", record_load_name(plan->load));
    report_page_cell(page, head);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < plan->candidate_count; i++)
        put_candidate_row(page, plan, &plan->candidates[i]);
    report_page_table_end(page);
    for (size_t i = 0; i < plan->candidate_count; i++) {
        struct base_text values = {0};
        if (plan->candidates[i].reason[0] == '\0')
            continue;
        report_plan_values(plan, &plan->candidates[i], &values);
        report_page_line(page, "%s: %s", values.at, plan->candidates[i].reason);
        base_text_free(&values);
    }
}

void report_plan_page(FILE *out, enum report_style style, const struct record_plan *plan)
{
    struct report_page page;
    char title[200];
    const struct record_candidate *best = &plan->candidates[0];
    report_page_init(&page, out, style);
    snprintf(title, sizeof title, "%s: how much it carries, and what the demand takes",
             plan->scenario);
    report_page_title(&page, title);
    put_answer(&page, plan, best);
    put_growth(&page, plan);
    put_inputs(&page, plan);
    put_profile(&page, plan, best);
    put_candidates(&page, plan);
    put_curve(&page, plan, best);
    report_page_line(&page, "%zu runs simulated, %zu taken from the database", plan->runs_simulated,
                     plan->runs_taken_up);
}
