/*
 * What a run's figures say: are the targets met, and what must a reader know beside them. Stability: settle.c.
 */
#include "base/text.h"
#include "study/intervals.h"
#include "study/rounds.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- targets ---- */

static double slo_figure_ms(const struct record_run *run, const struct spec_slo *slo)
{
    const struct record_metric *metric =
        record_run_metric(run, spec_metric_name(slo->metric), spec_statistic_name(slo->statistic),
                          slo->class_name != NULL ? slo->class_name : "");
    return metric != NULL ? metric->value : (double)NAN;
}

static bool judge_slo(const struct spec_slo *slo, struct record_run *out)
{
    double value_ms = slo_figure_ms(out, slo), bound_ms = (double)slo->bound_ns / 1e6;
    bool is_met = value_ms <= bound_ms;
    char found[48] = "no request to judge by";
    if (!isnan(value_ms)) {
        base_print_time(value_ms * 1e6, found, sizeof found);
    }
    const char *line =
        base_arena_printf(&out->arena, "%s: %s (%s)", slo->text, is_met ? "met" : "missed", found);
    base_vec_push(&out->slo_lines, line);
    return is_met;
}

static bool holds(double value, const struct serve_require *require)
{
    switch (require->relation) {
    case SERVE_LE:
        return value <= require->value;
    case SERVE_LT:
        return value < require->value;
    case SERVE_GE:
        return value >= require->value;
    case SERVE_GT:
        return value > require->value;
    case SERVE_EQ:
        return value == require->value;
    default:
        return value != require->value;
    }
}

static bool judge_require(const struct serve_require *require, struct record_run *out)
{
    enum record_summary column = record_summary_find(require->figure);
    double value = column < RECORD_SUMMARY_COUNT ? record_get_real(out, column) : (double)NAN;
    bool is_met = !isnan(value) && holds(value, require);
    char found[32] = "not known";
    if (!isnan(value)) {
        snprintf(found, sizeof found, "%.6g", value);
    }
    const char *line = base_arena_printf(&out->arena, "%s: %s (%s)", require->text,
                                         is_met ? "met" : "missed", found);
    base_vec_push(&out->slo_lines, line);
    return is_met;
}

/* Of all requests the share that the strictest target leaves out. */
static double left_out_by_targets(const struct serve_config *config)
{
    static const double left_out[SPEC_STATISTIC_COUNT] = {
        [SPEC_MEAN] = 0.01, [SPEC_P50] = 0.5,  [SPEC_P90] = 0.1,
        [SPEC_P95] = 0.05,  [SPEC_P99] = 0.01,
    };
    double least = 1;
    for (size_t i = 0; i < config->slo_count; i++) {
        least = fmin(least, left_out[config->slos[i].statistic]);
    }
    return least;
}

// Figures are those of requests that ended well; one that failed keeps no promise. More of them than a percentile leaves out
// miss it, whatever the others' latencies are; one in a hundred misses a mean.
static bool judge_failures(const struct serve_config *config, struct record_run *out)
{
    double share = record_get_real(out, RECORD_FAILED) / record_get_real(out, RECORD_REQUESTS);
    double most = left_out_by_targets(config);
    if (config->slo_count == 0 || isnan(share) || share <= most) {
        return true;
    }
    const char *line = base_arena_printf(&out->arena, STUDY_FAILED " <= %.3g %%: missed (%.3g %%)",
                                         100 * most, 100 * share);
    base_vec_push(&out->slo_lines, line);
    return false;
}

static void judge_targets(const struct serve_config *config, struct record_run *out)
{
    bool all_met = true;
    for (size_t i = 0; i < config->slo_count; i++) {
        all_met = judge_slo(&config->slos[i], out) && all_met;
    }
    all_met = judge_failures(config, out) && all_met;
    // Latencies of an overloaded run grow on: a bound that they have not reached yet is missed all the same.
    bool is_overloaded = strcmp(record_get_text(out, RECORD_STABILITY), "overloaded") == 0;
    all_met = all_met && !(is_overloaded && config->slo_count > 0);
    if (config->slo_count > 0 && all_met) {
        record_set_real(out, RECORD_CONCURRENCY_WITHIN_SLO,
                        record_get_real(out, RECORD_IN_FLIGHT_MEAN));
    }
    for (size_t i = 0; i < config->require_count; i++) {
        all_met = judge_require(&config->requires[i], out) && all_met;
    }
    if (config->slo_count + config->require_count > 0) {
        record_set_integer(out, RECORD_SLO_MET, all_met ? 1 : 0);
    }
}

/* ---- caveats ---- */

static void add_sample_caveats(const struct study_replications *replications,
                               struct record_run *out)
{
    const struct record_metric *p99 = record_run_metric(out, "ttft", "p99", "");
    const struct record_metric *mean = record_run_metric(out, "ttft", "mean", "");
    if (replications->count < 2 && (mean == NULL || isnan(mean->ci_low))) {
        record_run_add_caveat(
            out, "one_replication",
            "one replication: figures have no confidence interval; a trace has no other one, for "
            "drawn loads set run.replications");
    }
    if (p99 != NULL && base_starts_with(p99->method, STUDY_TOO_FEW)) {
        record_run_add_caveat(out, "short_run",
                              base_arena_printf(&out->arena,
                                                "too few requests for an interval of ttft p99%s",
                                                p99->method + strlen(STUDY_TOO_FEW)));
    }
}

/* Requests that had not ended count in no throughput, and a queue that had no time to fill in no percentile. */
static void add_length_caveat(const struct serve_config *config, struct record_run *out)
{
    bool is_overloaded = strcmp(record_get_text(out, RECORD_STABILITY), "overloaded") == 0;
    bool has_sessions = false;
    if (is_overloaded || !study_is_short(&config->workload, out)) {
        return;
    }
    for (size_t i = 0; i < config->workload.class_count; i++) {
        has_sessions = has_sessions || config->workload.classes[i].sessions != NULL;
    }
    const char *what =
        has_sessions && !workload_is_closed_loop(&config->workload) ? "session" : "request";
    record_run_add_caveat(
        out, "short_run",
        base_arena_printf(&out->arena,
                          "the measured time is %.1f times as long as a %s takes, and %d "
                          "times are needed for the load to build up; throughput and cost count "
                          "only requests that ended in it: set run.requests to more",
                          floor(study_rounds(&config->workload, out) * 10) / 10, what,
                          (int)STUDY_ROUNDS_LEAST));
}

void study_gather_verdicts(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    study_judge_stability(replications, out);
    judge_targets(config, out);
    if (config->waterfall.memory_is_derived) {
        record_run_add_caveat(
            out, "memory_assumed",
            "the memory that the driver shows is derived from the marketed number, not measured");
    }
    for (size_t i = 0; i < config->caveat_count; i++) {
        record_run_add_caveat(out, config->caveats[i].code, config->caveats[i].text);
    }
    if (study_any_has_status(replications, SERVE_STUCK)) {
        record_run_add_caveat(out, "stuck", "requests are left that the engine can never schedule");
    }
    if (study_any_has_status(replications, SERVE_ENGINE_DIED)) {
        record_run_add_caveat(out, "engine_died",
                              "a request of several sequences had to be swapped out and the host "
                              "had no room for it: vLLM V0 ends there (engine.swap_space)");
    }
    add_sample_caveats(replications, out);
    add_length_caveat(config, out);
}
