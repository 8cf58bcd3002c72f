/*
 * The words of a plan that its pages share.
 */
#include "report/plan.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

const char *report_plan_load(const struct record_plan *plan, double load, char *text, size_t bytes)
{
    char number[REPORT_NUMBER_BYTES];
    report_print_rounded(load, plan->load == RECORD_LOAD_CONCURRENCY ? 1 : 4, number,
                         sizeof number);
    snprintf(text, bytes, "%s %s", number, record_load_unit(plan->load));
    return text;
}

void report_plan_values(const struct record_plan *plan, const struct record_candidate *candidate,
                        struct base_text *out)
{
    for (size_t i = 0; i < plan->axis_count; i++)
        base_text_printf(out, "%s%s %s", i == 0 ? "" : ", ", plan->axes[i], candidate->values[i]);
}

/* From below, from above where a run misses a target, or not at all. */
static void put_bounds(const struct record_plan *plan, const struct record_candidate *candidate,
                       struct base_text *out)
{
    char least[REPORT_LOAD_BYTES], below[REPORT_LOAD_BYTES];
    report_plan_load(plan, candidate->max_load, least, sizeof least);
    report_plan_load(plan, candidate->missed_load, below, sizeof below);
    bool has_least = candidate->max_load > 0, has_below = !isnan(candidate->missed_load);
    if (!has_below)
        base_text_printf(out, has_least ? "not reached: at least %s" : "not reached", least);
    else if (has_least)
        base_text_printf(out, "at least %s, below %s", least, below);
    else
        base_text_printf(out, "below %s", below);
}

void report_plan_highest(const struct record_plan *plan, const struct record_candidate *candidate,
                         struct base_text *out)
{
    char load[REPORT_LOAD_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    int digits = plan->load == RECORD_LOAD_CONCURRENCY ? 1 : 4;
    report_plan_load(plan, candidate->max_load, load, sizeof load);
    if (candidate->status == RECORD_CANDIDATE_NOT_REACHED)
        put_bounds(plan, candidate, out);
    else if (isnan(candidate->ci_low))
        base_text_printf(out, "%s (no interval: %s)", load, candidate->no_interval);
    else
        base_text_printf(out, "%s (%.4g %% interval %s to %s)", load, plan->confidence * 100,
                         report_print_rounded(candidate->ci_low, digits, low, sizeof low),
                         report_print_rounded(candidate->ci_high, digits, high, sizeof high));
}

const char *report_plan_end(const struct record_candidate *candidate)
{
    if (candidate->status == RECORD_CANDIDATE_REFUSED)
        return "refused";
    if (candidate->status == RECORD_CANDIDATE_NOT_REACHED)
        return isnan(candidate->missed_load) ? "not reached" : "not found";
    return candidate->limit;
}

const char *report_plan_longer(const struct record_plan *plan,
                               const struct record_candidate *candidate, char *text, size_t bytes)
{
    char load[REPORT_LOAD_BYTES], requests[REPORT_NUMBER_BYTES];
    text[0] = '\0';
    if (!isnan(candidate->longer_root))
        snprintf(
            text, bytes,
            "longer runs, of %s requests, just meet the targets at %s; the interval holds what "
            "runs without end would say",
            report_print_rounded((double)candidate->longer_requests, 4, requests, sizeof requests),
            report_plan_load(plan, candidate->longer_root, load, sizeof load));
    return text;
}

const char *report_plan_imprecise(const struct record_plan *plan,
                                  const struct record_candidate *candidate, char *text,
                                  size_t bytes)
{
    text[0] = '\0';
    if (!record_candidate_is_precise(plan, candidate))
        snprintf(
            text, bytes,
            "the interval is \xC2\xB1 %.2g %% wide, and \xC2\xB1 %.2g %% was asked for: %lld "
            "replications were not enough; longer runs (run.requests) or more run.replications "
            "narrow it",
            candidate->half_width * 100, plan->half_width * 100,
            (long long)candidate->replications);
    return text;
}

void report_plan_none_found(const struct record_plan *plan, const struct record_candidate *best,
                            struct base_text *out)
{
    double per_replica = best->counted_load / (double)best->base_replicas;
    base_text_add(out, "no number of replicas was found");
    if (best->missed_from > 0)
        base_text_printf(out,
                         "; %lld to %lld were simulated, and none meets the targets at the stated "
                         "confidence",
                         (long long)best->missed_from, (long long)best->missed_to);
    else if (best->counted_load > 0 && plan->demand / per_replica > RECORD_REPLICAS_MAX)
        base_text_printf(out, ": it takes more than %d", (int)RECORD_REPLICAS_MAX);
    else if (best->max_load > 0)
        base_text_printf(out, ": no load was shown to be met at %.4g %% confidence",
                         plan->confidence * 100);
}

const char *report_plan_headroom(const struct record_plan *plan,
                                 const struct record_candidate *candidate, char *text, size_t bytes)
{
    char middle[REPORT_NUMBER_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    report_print_share(candidate->headroom, middle, sizeof middle);
    if (candidate->status == RECORD_CANDIDATE_NOT_REACHED)
        snprintf(text, bytes, "at least %s", middle);
    else if (isnan(candidate->headroom_low))
        snprintf(text, bytes, "%s", middle);
    else
        snprintf(text, bytes, "%s (%.4g %% interval %s to %s)", middle, plan->confidence * 100,
                 report_print_share(candidate->headroom_low, low, sizeof low),
                 report_print_share(candidate->headroom_high, high, sizeof high));
    return text;
}

bool report_plan_is_bound(const struct record_candidate *candidate)
{
    return candidate->status == RECORD_CANDIDATE_NOT_REACHED && !candidate->is_verified;
}

const char *report_plan_when(const struct record_plan *plan, double months, char *text,
                             size_t bytes)
{
    if (plan->start.year == 0 || !(months < REPORT_MONTHS_MAX))
        snprintf(text, bytes, "%.1f months", months);
    else
        record_date_print(record_date_after(plan->start, months), text, bytes);
    return text;
}

const char *report_plan_breach(const struct record_plan *plan, char *text, size_t bytes)
{
    const struct record_candidate *best = &plan->candidates[0];
    char when[40], low[40], high[40];
    text[0] = '\0';
    if (isnan(best->months_to_breach))
        return text;
    bool is_day = plan->start.year != 0 && best->months_to_breach < REPORT_MONTHS_MAX;
    snprintf(text, bytes, "%s%s %s",
             best->status == RECORD_CANDIDATE_NOT_REACHED ? "at the earliest " : "",
             is_day ? "on" : "after",
             report_plan_when(plan, best->months_to_breach, when, sizeof when));
    if (is_day)
        snprintf(text + strlen(text), bytes - strlen(text), ", after %.1f months",
                 best->months_to_breach);
    if (!isnan(best->months_low))
        snprintf(text + strlen(text), bytes - strlen(text), " (%.4g %% interval %s to %s)",
                 plan->confidence * 100, report_plan_when(plan, best->months_low, low, sizeof low),
                 report_plan_when(plan, best->months_high, high, sizeof high));
    return text;
}

const char *report_plan_odds(const struct record_plan *plan, char *text, size_t bytes)
{
    const struct record_odds *odds = &plan->odds;
    char share[REPORT_NUMBER_BYTES], low[REPORT_NUMBER_BYTES], high[REPORT_NUMBER_BYTES];
    text[0] = '\0';
    if (odds->samples > 0)
        snprintf(text, bytes, "%s (%.4g %% interval %s to %s, %lld samples)",
                 report_print_share(odds->probability, share, sizeof share), plan->confidence * 100,
                 report_print_share(odds->ci_low, low, sizeof low),
                 report_print_share(odds->ci_high, high, sizeof high), (long long)odds->samples);
    return text;
}

const char *report_plan_spread(const struct record_input *input, char *text, size_t bytes)
{
    bool is_normal = input->distribution == RECORD_SPREAD_NORMAL;
    snprintf(text, bytes, "\xC2\xB1 %.4g %%, %s", input->spread * 100,
             is_normal ? "normal (95 % within)" : "uniform");
    return text;
}

void report_plan_as_stated(const struct record_plan *plan, struct base_text *out)
{
    const struct record_candidate *best = &plan->candidates[0];
    char load[REPORT_LOAD_BYTES], headroom[REPORT_NUMBER_BYTES];
    if (isnan(best->root))
        return;
    base_text_printf(out, "with every input as stated the targets are just met at %s",
                     report_plan_load(plan, best->root, load, sizeof load));
    if (!isnan(plan->headroom_as_stated))
        base_text_printf(out, ", headroom %s",
                         report_print_share(plan->headroom_as_stated, headroom, sizeof headroom));
}
