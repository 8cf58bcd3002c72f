/*
 * What a run's figures say: did it settle, is it stable, are the targets met, and what must a reader know beside them.
 */
#include "study/run_int.h"

#include "stats/interval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- stability ---- */

struct drift {
    bool is_known;
    double per_arrival; /* growth of the requests in flight over the second half, by arrivals there */
    double p_value;
};

// The mean over replications of the load by segments; only where all have the same segments.
static struct drift drift_of(const struct study_replications *replications)
{
    struct drift drift = {0};
    const struct serve_result *first = &replications->at[0].result;
    double mean[SERVE_SEGMENTS] = {0};
    for (size_t i = 0; i < replications->count; i++) {
        const struct serve_result *result = &replications->at[i].result;
        if (result->segment_count != first->segment_count || result->segment_arrivals != first->segment_arrivals) {
            return drift;
        }
        for (size_t k = 0; k < result->segment_count; k++) {
            mean[k] += serve_segment_in_flight(&result->segments[k]) / (double)replications->count;
        }
    }
    size_t half = first->segment_count / 2, count = first->segment_count - half;
    if (count < 8) {
        return drift;
    }
    double slope;
    stats_trend(mean + half, count, &slope, &drift.p_value);
    drift.per_arrival = slope / (double)first->segment_arrivals;
    drift.is_known = true;
    return drift;
}

static double waiting_share(const struct record_run *run)
{
    double share = 0;
    for (size_t i = 0; i < run->limits.count; i++) {
        share += strcmp(run->limits.at[i].kind, "waiting") == 0 ? run->limits.at[i].share : 0;
    }
    return share;
}

static bool any_has_status(const struct study_replications *replications, enum serve_status status)
{
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].result.status == status) {
            return true;
        }
    }
    return false;
}

/*
 * overloaded: the load drifts up beyond chance by more than 1 % of the arrivals. near_saturation: it drifts less, or the
 * head of the queue waits for a limit of the engine in more than a tenth of the time. not_settled: a drift in a steady
 * run that is beyond chance although no overload.
 */
static void judge_stability(const struct study_replications *replications, struct record_run *out)
{
    const struct workload_spec *workload = &replications->config->workload;
    bool is_open_steady = workload_is_steady(workload) && workload->process != WORKLOAD_CLOSED_LOOP;
    struct drift drift = is_open_steady ? drift_of(replications) : (struct drift){0};
    bool is_overloaded = any_has_status(replications, SERVE_OVERLOADED);
    bool drifts = drift.is_known && drift.p_value < 0.001 && drift.per_arrival > 0;
    is_overloaded = is_overloaded || (drifts && drift.per_arrival > 0.01);
    bool is_near = drifts || waiting_share(out) > 0.1;
    record_set_text(out, RECORD_STABILITY,
                    is_overloaded ? "overloaded"
                    : is_near     ? "near_saturation"
                                  : "stable");
    record_set_text(out, RECORD_STATUS,
                    any_has_status(replications, SERVE_STUCK) ? "stuck"
                    : is_overloaded                           ? "overloaded"
                    : drifts                                  ? "not_settled"
                                                              : "done");
    if (is_overloaded) {
        record_run_add_caveat(out, "overloaded",
                              "more requests arrive than leave: latencies grow with the length of the run and have no "
                              "steady value");
    } else if (is_near) {
        record_run_add_caveat(out, "near_saturation",
                              "near saturation small errors in rates, lengths or step times become large ones in "
                              "latency");
    }
}

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
    const char *line = base_arena_printf(&out->arena, "%s: %s (%s)", slo->text, is_met ? "met" : "missed", found);
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
    const char *line =
        base_arena_printf(&out->arena, "%s: %s (%.6g)", require->text, is_met ? "met" : "missed", value);
    base_vec_push(&out->slo_lines, line);
    return is_met;
}

static void judge_targets(const struct serve_config *config, struct record_run *out)
{
    bool all_met = true;
    for (size_t i = 0; i < config->slo_count; i++) {
        all_met = judge_slo(&config->slos[i], out) && all_met;
    }
    // Latencies of an overloaded run grow on: a bound that they have not reached yet is missed all the same.
    bool is_overloaded = strcmp(record_get_text(out, RECORD_STABILITY), "overloaded") == 0;
    all_met = all_met && !(is_overloaded && config->slo_count > 0);
    if (config->slo_count > 0 && all_met) {
        record_set_real(out, RECORD_CONCURRENCY_WITHIN_SLO, record_get_real(out, RECORD_IN_FLIGHT_MEAN));
    }
    for (size_t i = 0; i < config->require_count; i++) {
        all_met = judge_require(&config->requires[i], out) && all_met;
    }
    if (config->slo_count + config->require_count > 0) {
        record_set_integer(out, RECORD_SLO_MET, all_met ? 1 : 0);
    }
}

/* ---- caveats ---- */

static void add_sample_caveats(const struct study_replications *replications, struct record_run *out)
{
    const struct record_metric *p99 = record_run_metric(out, "ttft", "p99", "");
    if (replications->count < 2) {
        record_run_add_caveat(out, "one_replication",
                              "one replication: figures have no confidence interval; a trace has no other one, for "
                              "drawn loads set run.replications");
    }
    if (p99 != NULL && strcmp(p99->method, "too_few_observations") == 0) {
        size_t needed = 0;
        stats_quantile_is_supported(0, 0.99, &needed);
        record_run_add_caveat(out, "short_run",
                              base_arena_printf(&out->arena,
                                                "too few requests for an interval of p99: it takes %zu measured ones "
                                                "a replication",
                                                needed));
    }
}

void study_gather_verdicts(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    judge_stability(replications, out);
    judge_targets(config, out);
    if (config->waterfall.memory_is_derived) {
        record_run_add_caveat(out, "memory_assumed",
                              "the memory that the driver shows is derived from the marketed number, not measured");
    }
    for (size_t i = 0; i < config->caveat_count; i++) {
        record_run_add_caveat(out, config->caveats[i].code, config->caveats[i].text);
    }
    if (any_has_status(replications, SERVE_STUCK)) {
        record_run_add_caveat(out, "stuck", "requests are left that the engine can never schedule");
    }
    add_sample_caveats(replications, out);
}
