#include "report/plan_html.h"

#include "report/figure.h"
#include "report/number.h"
#include "report/plan.h"
#include "report/plan_html_int.h"
#include "report/run_answer.h"
#include "report/run_html_int.h"
#include "report/run_view.h"

#include <kvsim/version.h>

#include <math.h>
#include <string.h>

static const struct record_candidate *best_of(const struct record_plan *plan)
{
    return &plan->candidates[0];
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static bool has_targets(const struct record_plan *plan)
{
    return best_of(plan)->probes.count == 0 || best_of(plan)->probes.at[0].target_count > 0;
}

/* Whether the demand is the question, and not how much there could be of it. */
static bool is_sizing(const struct record_plan *plan)
{
    return plan->demand > 0 &&
           (plan->axis_count > 0 || plan->stages.count > 0 || plan->growth_per_month > 0 ||
            plan->spare_replicas > 0 || plan->inputs.count > 0 ||
            (best_of(plan)->replicas != best_of(plan)->base_replicas &&
             best_of(plan)->max_load > 0));
}

static const char *hardware_of(const struct record_candidate *candidate)
{
    return candidate->hardware[0] == '\0' ? "GPUs" : candidate->hardware;
}

/* ---- what is said first ---- */

static void write_question(const struct record_plan *plan, struct base_text *out)
{
    const struct record_candidate *best = best_of(plan);
    const char *within = has_targets(plan) ? " within its SLOs" : " without overload";
    char load[REPORT_LOAD_BYTES];
    if (is_sizing(plan))
        base_text_printf(out, "What does it take to carry %s of %s%s?",
                         report_plan_load(plan, plan->demand, load, sizeof load), plan->scenario,
                         within);
    else
        base_text_printf(out, "How much load does %s on %lld × %s carry%s?", best->model,
                         (long long)(best->base_replicas * best->gpus_per_replica),
                         hardware_of(best), within);
}

static bool is_reached(const struct record_candidate *candidate)
{
    return candidate->status != RECORD_CANDIDATE_NOT_REACHED;
}

/* How sure the highest load is, and what is missing. */
static void put_sureness(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    char load[REPORT_LOAD_BYTES], longer[400], imprecise[400];
    if (!is_reached(best))
        report_html_paragraph(html, "", "The limit was not %s: %s.",
                              isnan(best->missed_load) ? "reached" : "found", best->reason);
    if (report_plan_longer(plan, best, longer, sizeof longer)[0] != '\0')
        report_html_paragraph(html, "", "Beside it: %s.", longer);
    if (best->sure_load > 0)
        report_html_paragraph(html, "", "Met at %.4g %% confidence: %s.", plan->confidence * 100,
                              report_plan_load(plan, best->sure_load, load, sizeof load));
    if (report_plan_imprecise(plan, best, imprecise, sizeof imprecise)[0] != '\0')
        report_html_paragraph(html, "", "Not as precise as asked: %s.", imprecise);
}

static void put_capacity(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    struct base_text text = {0};
    report_plan_highest(plan, best, &text);
    report_html_paragraph(html, "", "Highest load of %lld × %s within the targets: %s.",
                          (long long)(best->base_replicas * best->gpus_per_replica),
                          hardware_of(best), text.at);
    base_text_free(&text);
    put_sureness(html, plan);
}

static void put_headroom(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    char demand[REPORT_LOAD_BYTES], headroom[REPORT_HEADROOM_BYTES], breach[200], odds[200];
    if (best->replicas == 0)
        return;
    report_html_paragraph(html, "", "For %s: %s%lld replica%s%s (%s), headroom %s.",
                          report_plan_load(plan, plan->demand, demand, sizeof demand),
                          report_plan_is_bound(best) ? "at most " : "", (long long)best->replicas,
                          plural(best->replicas),
                          plan->spare_replicas > 0 ? " and spare ones for failures" : "",
                          best->is_verified ? "simulated" : "calculated from one",
                          report_plan_headroom(plan, best, headroom, sizeof headroom));
    if (report_plan_breach(plan, breach, sizeof breach)[0] != '\0')
        report_html_paragraph(html, "", "At %.3g %% more a month they no longer suffice %s.",
                              plan->growth_per_month * 100, breach);
    if (report_plan_odds(plan, odds, sizeof odds)[0] != '\0')
        report_html_paragraph(html, "",
                              "With inputs as uncertain as stated the targets are met "
                              "with a probability of %s.",
                              odds);
}

/* yes; no where nothing carries it; open where the uncertainty of the inputs leaves it so. */
static const char *tone_of(const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    if (best->status == RECORD_CANDIDATE_NONE || (is_sizing(plan) && best->replicas == 0))
        return "no";
    if (!is_reached(best) && !(is_sizing(plan) && best->is_verified))
        return "open";
    return plan->odds.samples > 0 && plan->odds.probability < plan->confidence ? "open" : "yes";
}

static void write_answer(const struct record_plan *plan, struct base_text *out)
{
    const struct record_candidate *best = best_of(plan);
    char hour[REPORT_NUMBER_BYTES];
    if (best->status == RECORD_CANDIDATE_NONE) {
        base_text_add(out, "No load meets the targets.");
    } else if (!is_sizing(plan)) {
        base_text_add(out, is_reached(best) ? "Up to " : "Limit ");
        report_plan_highest(plan, best, out);
        base_text_add(out, ".");
    } else if (best->replicas == 0) {
        struct base_text why = {0};
        report_plan_none_found(plan, best, &why);
        base_text_printf(out, "N%s.", why.at + 1); // its first letter
        base_text_free(&why);
    } else {
        base_text_printf(out, "%s%lld × %s", report_plan_is_bound(best) ? "At most " : "",
                         (long long)best->gpus, hardware_of(best));
        if (!isnan(best->usd_per_hour))
            base_text_printf(out, ", $%s an hour",
                             report_print_usd(best->usd_per_hour, hour, sizeof hour));
        base_text_add(out, ".");
    }
}

static void put_grounds(struct report_html *html, const struct record_plan *plan)
{
    const struct record_metric *row =
        plan->has_run ? record_run_metric(&plan->run, "request_throughput", "value", "") : NULL;
    report_html_markup(html, "<p class=\"note\">");
    report_html_claim(html, row == NULL ? "simulated" : row->claim,
                      row == NULL ? NULL : row->basis);
    report_html_printf(html,
                       " %zu runs, all with the same random numbers; intervals are over the "
                       "replications of a run.",
                       plan->runs_simulated + plan->runs_taken_up);
    report_html_markup(html, "</p>\n");
}

static void put_answer(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    struct base_text text = {0}, values = {0};
    write_answer(plan, &text);
    fprintf(html->out, "<div class=\"answer %s\">\n<strong>", tone_of(plan));
    report_html_text(html, text.at);
    report_html_markup(html, "</strong>\n");
    report_plan_values(plan, best, &values);
    if (values.count > 0)
        report_html_paragraph(html, "", "The best of %zu candidates: %s.", plan->candidate_count,
                              values.at);
    if (is_sizing(plan))
        put_headroom(html, plan);
    if (best->status == RECORD_CANDIDATE_NONE)
        report_html_paragraph(html, "", "Missed even at the lowest: %s.", best->limit);
    else if (is_sizing(plan))
        put_capacity(html, plan);
    else
        put_sureness(html, plan);
    if (!is_sizing(plan))
        put_headroom(html, plan);
    put_grounds(html, plan);
    report_html_markup(html, "</div>\n");
    base_text_free(&text);
    base_text_free(&values);
}

static void put_binding(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    report_html_markup(html, "<div>\n<h2>What binds</h2>\n<p><b>");
    if (best->limit[0] == '\0')
        report_html_text(html, "No load that was tried misses a target.");
    else
        report_html_printf(html, "First to break: %s.", best->limit);
    report_html_markup(html, "</b> ");
    if (best->binding_limit[0] != '\0')
        report_html_printf(html, "Just beyond the highest load binds: %s. %s",
                           report_limit_title(best->binding_limit),
                           report_limit_meaning(best->binding_limit));
    report_html_markup(html, "</p>\n</div>\n");
}

static void put_levers(struct report_html *html, const struct record_plan *plan)
{
    struct report_lever levers[REPORT_LEVERS_MAX];
    const char *limit = best_of(plan)->binding_limit;
    size_t count = plan->has_run ? report_levers_against(&plan->run, limit, levers) : 0;
    report_html_markup(html, "<div>\n<h2>What to change</h2>\n");
    if (!is_reached(best_of(plan))) {
        report_html_paragraph(html, "",
                              "Nothing binds yet. What a run must have to reach the limit is said "
                              "above.");
        report_html_markup(html, "</div>\n");
        return;
    }
    report_html_paragraph(html, "", "%s",
                          count > 0 ? "Against that limit, each to be tried with --set, or as a "
                                      "candidate with --axis:"
                                    : "No single setting is known to lift that limit.");
    report_html_levers(html, levers, count);
    report_html_markup(html, count > 0 ? "<p class=\"note\">Their effect was not simulated here."
                                         "</p>\n"
                                       : "");
    report_html_markup(html, "</div>\n");
}

static void put_cost(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    char text[REPORT_NUMBER_BYTES];
    report_html_markup(html, "<div>\n<h2>What it costs</h2>\n");
    if (best->gpus > 0)
        report_html_paragraph(
            html, "", "%lld GPU%s: %lld replica%s of %lld%s.", (long long)best->gpus,
            plural(best->gpus), (long long)(best->replicas + plan->spare_replicas),
            plural(best->replicas + plan->spare_replicas), (long long)best->gpus_per_replica,
            plan->spare_replicas == 0 ? "" : ", spare ones included");
    if (isnan(best->usd_per_gpu_hour)) {
        report_html_paragraph(html, "", "No price was stated (price.usd_per_gpu_hour).");
    } else if (!isnan(best->usd_per_hour)) {
        report_html_markup(html, "<p><b>");
        report_html_printf(html, "$%s an hour",
                           report_print_usd(best->usd_per_hour, text, sizeof text));
        report_html_markup(html, "</b>");
        if (!isnan(best->usd_per_mtok_output))
            report_html_printf(html, ", $%s per million output tokens%s",
                               report_print_usd(best->usd_per_mtok_output, text, sizeof text),
                               isnan(best->gpu_hours_static) ? "" : " over the profile");
        report_html_printf(html, ", at $%s per GPU and hour. ",
                           report_print_usd(best->usd_per_gpu_hour, text, sizeof text));
        report_html_claim(html, "assumed", NULL);
        report_html_markup(html, "</p>\n");
    }
    if (!isnan(best->gpu_hours_elastic)) {
        char fixed[REPORT_NUMBER_BYTES];
        report_html_paragraph(
            html, "",
            "Over the profile: %s GPU-hours if replicas follow the stages, %s if all "
            "run all the time.",
            report_print_rounded(best->gpu_hours_elastic, 4, text, sizeof text),
            report_print_rounded(best->gpu_hours_static, 4, fixed, sizeof fixed));
    }
    report_html_markup(html, "</div>\n");
}

static void put_front(struct report_html *html, const struct record_plan *plan,
                      const char *question)
{
    report_html_markup(html, "<header>\n");
    report_html_paragraph(html, "over", "Capacity report · plan of %s · kvsim %s", plan->scenario,
                          KVSIM_VERSION);
    report_html_markup(html, "<h1>");
    report_html_words(html, question);
    report_html_markup(html, "</h1>\n");
    put_answer(html, plan);
    report_html_markup(html, "<div class=\"brief\">\n");
    put_binding(html, plan);
    put_levers(html, plan);
    put_cost(html, plan);
    report_html_markup(html, "</div>\n</header>\n");
}

/* ---- the end ---- */

static void put_item(struct report_html *html, bool is_true, const char *text)
{
    if (!is_true)
        return;
    report_html_markup(html, "<li>");
    report_html_text(html, text);
    report_html_markup(html, "</li>\n");
}

static void put_caveats(struct report_html *html, const struct record_plan *plan)
{
    const struct record_candidate *best = best_of(plan);
    report_html_section(html, "caveats", "What these figures do not support");
    report_html_markup(html, "<ul>\n");
    put_item(html, !plan->has_run,
             "The run behind the answer was not read: its assumptions and "
             "caveats are missing here.");
    put_item(html, best->replicas > 0 && !best->is_verified,
             "The number of replicas is calculated from what one carries; so many were not "
             "simulated together.");
    put_item(html, !is_reached(best) && isnan(best->missed_load),
             "The highest load: no run could tell where the targets break, only how far they are "
             "met.");
    put_item(html, !is_reached(best) && !isnan(best->missed_load),
             "The highest load: the runs between the highest that is met and the lowest that "
             "misses a target are too short to tell.");
    put_item(
        html, plan->stages.count > 0,
        "Each stage of the profile is carried as a steady Poisson stream at its peak; how fast "
        "replicas start is not looked at.");
    put_item(html, plan->forecast.count > 0,
             "Growth is compounded at one rate, and the mix of requests stays as it is.");
    put_item(html, plan->inputs.count > 0,
             "Inputs are drawn independently of one another, and those that were not named are "
             "taken as exact.");
    put_item(html, plan->spare_replicas > 0,
             "Spare replicas are counted, not simulated: requests that a failure cuts off are not "
             "part of the latencies.");
    if (plan->has_run)
        report_html_caveat_items(html, &plan->run);
    put_item(html, true,
             "Any other load, model, accelerator, engine release or setting than the "
             "ones stated here.");
    report_html_markup(html, "</ul>\n");
    report_html_section_end(html);
}

static void put_again(struct report_html *html, const struct record_plan *plan)
{
    report_html_section(html, "again", "How to get these figures again");
    report_html_paragraph(
        html, "",
        "The same scenario with kvsim %s gives every figure again, on any machine "
        "and with any number of jobs.",
        KVSIM_VERSION);
    if (plan->command[0] != '\0') {
        report_html_markup(html, "<pre><code>");
        report_html_text(html, plan->command);
        report_html_markup(html, "</code></pre>\n");
    }
    if (plan->has_run) {
        report_html_paragraph(html, "note", "Fingerprint of the run behind the answer: %s.",
                              record_get_text(&plan->run, RECORD_SCENARIO_HASH));
        report_html_scenario(html, &plan->run);
    }
    report_html_section_end(html);
}

void report_plan_html(FILE *out, const struct record_plan *plan, const char *gnuplot)
{
    struct report_html html;
    struct report_plotter plotter = {.program = gnuplot};
    struct base_text question = {0}, title = {0};
    write_question(plan, &question);
    base_text_printf(&title, "%s: %s", plan->scenario, question.at);
    report_html_begin(&html, out, title.at);
    put_front(&html, plan, question.at);
    report_html_plot_note(&html, &plotter);
    report_html_candidates(&html, &plotter, plan);
    report_html_curve(&html, &plotter, plan);
    report_html_growth(&html, &plotter, plan);
    report_html_inputs(&html, &plotter, plan);
    report_html_stages(&html, &plotter, plan);
    if (plan->has_run)
        report_html_assumptions(&html, &plan->run);
    put_caveats(&html, plan);
    put_again(&html, plan);
    report_html_end(&html);
    base_text_free(&question);
    base_text_free(&title);
}
