/*
 * settle.c - did the runs settle, do their queues grow, and how far are they from saturation?
 */
#include "study/intervals.h"

#include "stats/batch.h"
#include "stats/interval.h"
#include "study/rounds.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool study_any_has_status(const struct study_replications *replications, enum serve_status status)
{
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].result.status == status) {
            return true;
        }
    }
    return false;
}

/* Standard errors that the queue's growth must be worth for the verdict; a difference that matters, and how seldom chance may
 * give it; what is left of the fullest limit near saturation, and while the queue waits for a limit of the engine. */
enum { ERRORS_OVERLOADED = 4, ERRORS_NEAR = 3 };
static const double matters = 0.01, chance_of_error = 0.001;
static const double spare_near = 0.1, spare_near_waiting = 0.4, waiting_much = 0.1;

static bool is_open_and_steady(const struct serve_config *config)
{
    return workload_is_steady(&config->workload) &&
           config->workload.process != WORKLOAD_CLOSED_LOOP;
}

/* ---- growth of the queue ---- */

/* Rises of the queues over the second half of every replication, together. */
struct growth {
    double per_arrival;
    double errors; /* standard errors of a walk without drift that the rise is worth */
};

static struct growth growth_of(const struct study_replications *replications)
{
    double arrivals = 0, rise = 0, variance = 0;
    for (size_t i = 0; i < replications->count; i++) {
        double one_rise, one_error;
        arrivals += serve_result_queue_rise(&replications->at[i].result, &one_rise, &one_error);
        rise += one_rise;
        variance += one_error * one_error;
    }
    struct growth growth = {0};
    if (arrivals > 0 && rise > 0) {
        growth.per_arrival = rise / arrivals;
        growth.errors = variance > 0 ? rise / sqrt(variance) : (double)INFINITY;
    }
    return growth;
}

static bool is_growing(const struct study_replications *replications, double errors)
{
    if (!is_open_and_steady(replications->config)) {
        return false;
    }
    struct growth growth = growth_of(replications);
    return growth.per_arrival > SERVE_GROWTH_SHARE && growth.errors > errors;
}

bool study_is_overloaded(const struct study_replications *replications)
{
    return study_any_has_status(replications, SERVE_OVERLOADED) ||
           is_growing(replications, ERRORS_OVERLOADED);
}

/* ---- warm-up and trend of the time that requests take ---- */

/* Mean time of the requests of each segment: of one replication, and of all together. */
static bool segment_means(const struct serve_result *result, size_t count, double *out)
{
    for (size_t k = 0; k < count; k++) {
        double values = (double)result->segments[k].value_count[SPEC_E2E];
        if (!(values > 0)) {
            return false;
        }
        out[k] = base_i128_to_double(result->segments[k].value_sum_ns[SPEC_E2E]) / values;
    }
    return true;
}

struct settling {
    size_t replications, segments,
        warm; /* warm: segments that the warm-up covers, in part or whole */
    int64_t segment_arrivals;
    double *means; /* [replication][segment] */
};

static bool settling_make(const struct study_replications *replications, struct settling *out)
{
    enum { LEAST_REPLICATIONS = 3, LEAST_SEGMENTS = 16 };
    const struct serve_result *first = &replications->at[0].result;
    size_t count = replications->count, segments = first->segment_count;
    bool is_known = workload_is_steady(&replications->config->workload) &&
                    count >= LEAST_REPLICATIONS && segments >= LEAST_SEGMENTS &&
                    first->first_counted != UINT64_MAX;
    *out = (struct settling){
        .replications = count, .segments = segments, .segment_arrivals = first->segment_arrivals};
    if (!is_known) {
        return false;
    }
    out->warm = (size_t)((first->first_counted + (uint64_t)out->segment_arrivals - 1) /
                         (uint64_t)out->segment_arrivals);
    out->means = base_alloc(base_mul_size(base_mul_size(count, segments), sizeof *out->means));
    for (size_t i = 0; i < count && is_known; i++) {
        const struct serve_result *result = &replications->at[i].result;
        is_known = result->segment_count == segments &&
                   result->segment_arrivals == out->segment_arrivals &&
                   segment_means(result, segments, out->means + i * segments);
    }
    if (!is_known) {
        base_free(out->means);
    }
    return is_known;
}

// Are the values, one a replication, beyond chance different from 0? Two-sided Student t.
static bool differs_from_zero(const double *values, size_t count, double chance)
{
    struct stats_interval interval = stats_interval_t(values, count, 1 - chance, 0);
    return !interval.is_withheld && (interval.low > 0 || interval.high < 0);
}

static double mean_of_segments(const struct settling *of, size_t replication, size_t from,
                               size_t to)
{
    return stats_sum(of->means + replication * of->segments + from, to - from) /
           (double)(to - from);
}

/* Segments at the start that MSER would leave out, if they lie beyond the warm-up and differ from the rest in all
 * replications alike; else 0. */
static size_t unsettled_segments(const struct settling *of)
{
    double *together = base_alloc(base_mul_size(of->segments + of->replications, sizeof *together));
    double *differences = together + of->segments, rest = 0, off = 0;
    for (size_t i = 0; i < of->replications; i++) {
        for (size_t k = 0; k < of->segments; k++) {
            together[k] += of->means[i * of->segments + k] / (double)of->replications;
        }
    }
    size_t cut = stats_mser(together, of->segments);
    bool is_short = cut > of->warm;
    for (size_t i = 0; is_short && i < of->replications; i++) {
        double later = mean_of_segments(of, i, cut, of->segments);
        differences[i] = mean_of_segments(of, i, of->warm, cut) - later;
        rest += later;
        off += differences[i];
    }
    is_short = is_short && fabs(off) > matters * rest &&
               differs_from_zero(differences, of->replications, chance_of_error);
    base_free(together);
    return is_short ? cut : 0;
}

// A line through the second half of each replication: do their slopes agree on a change of more than 1 %?
static bool drifts(const struct settling *of)
{
    double *changes = base_alloc(base_mul_size(of->replications, sizeof *changes)), sum = 0,
           level = 0;
    size_t half = of->segments / 2, count = of->segments - half;
    for (size_t i = 0; i < of->replications; i++) {
        double slope, unused;
        stats_trend(of->means + i * of->segments + half, count, &slope, &unused);
        changes[i] = slope * (double)count;
        sum += changes[i];
        level += mean_of_segments(of, i, half, of->segments);
    }
    bool answer = fabs(sum) > matters * level &&
                  differs_from_zero(changes, of->replications, chance_of_error);
    base_free(changes);
    return answer;
}

static bool judge_settling(const struct study_replications *replications, struct record_run *out)
{
    struct settling settling;
    if (!settling_make(replications, &settling)) {
        return true;
    }
    size_t unsettled = unsettled_segments(&settling);
    bool is_drifting = unsettled == 0 && drifts(&settling);
    if (unsettled > 0) {
        record_run_add_caveat(
            out, "not_settled",
            base_arena_printf(
                &out->arena,
                "requests after the warm-up still differ from the later ones up to request %" PRId64
                ": set run.warmup: {requests: %" PRId64 "} and run.requests to ten times that",
                (int64_t)unsettled * settling.segment_arrivals,
                (int64_t)unsettled * settling.segment_arrivals));
    } else if (is_drifting) {
        record_run_add_caveat(
            out, "not_settled",
            base_arena_printf(
                &out->arena,
                "the time that requests take still changes over the second half of the "
                "run: set run.requests to %" PRId64 " or more",
                4 * (int64_t)settling.segments * settling.segment_arrivals));
    }
    base_free(settling.means);
    return unsettled == 0 && !is_drifting;
}

/* ---- distance to saturation ---- */

static double share_of_seats(const struct serve_config *config, const struct record_run *out)
{
    return record_get_real(out, RECORD_RUNNING_MEAN) /
           ((double)config->sched.max_num_seqs * config->replica_count);
}

// The limit of which least is left, on average over the measured window.
static const char *fullest_limit(const struct serve_config *config, const struct record_run *out)
{
    double seats = share_of_seats(config, out), pool = record_get_real(out, RECORD_KV_USAGE_MEAN);
    double fullest = 1 - record_get_real(out, RECORD_SPARE_SHARE);
    if (seats >= fullest - 1e-9) {
        return "max_num_seqs";
    }
    return pool >= fullest - 1e-9 ? "the KV pool" : "max_num_batched_tokens";
}

static double waiting_share(const struct record_run *run)
{
    double share = 0;
    for (size_t i = 0; i < run->limits.count; i++) {
        share += strcmp(run->limits.at[i].kind, "waiting") == 0 ? run->limits.at[i].share : 0;
    }
    return share;
}

static void caution_near(const struct serve_config *config, double waiting, struct record_run *out)
{
    record_run_add_caveat(out, "near_saturation",
                          base_arena_printf(&out->arena,
                                            "%.0f %% of %s is left on average, and the head of the "
                                            "queue waits for a limit of the engine "
                                            "%.0f %% of the time: here small errors in rates, "
                                            "lengths or step times become large ones in "
                                            "latency",
                                            100 * fmax(record_get_real(out, RECORD_SPARE_SHARE), 0),
                                            fullest_limit(config, out), 100 * waiting));
}

/*
 * overloaded: the queue grows beyond chance, by more than 1 % of the arrivals, or the engine has died or is stuck. near_saturation: it seems to grow; or less
 * than a tenth of the fullest limit is left; or less than two fifths, and the head of the queue waits for a limit more than
 * a tenth of the time. not_settled: a steady run whose warm-up was too short, that still changes, or that has
 * too few rounds (study/rounds.h).
 */
void study_judge_stability(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    double spare = record_get_real(out, RECORD_SPARE_SHARE), waiting = waiting_share(out);
    bool is_overloaded = study_is_overloaded(replications);
    bool is_near = is_growing(replications, ERRORS_NEAR) || spare < spare_near ||
                   (waiting > waiting_much && spare < spare_near_waiting);
    bool is_stuck = study_any_has_status(replications, SERVE_STUCK);
    bool is_dead = study_any_has_status(replications, SERVE_ENGINE_DIED);
    bool has_verdict = is_overloaded || is_stuck || is_dead;
    bool is_settled = has_verdict || (judge_settling(replications, out) &&
                                      !study_is_short(&config->workload, out));
    // An engine that answers nobody any more has whatever still comes in its queue.
    record_set_text(out, RECORD_STABILITY,
                    has_verdict ? "overloaded"
                    : is_near   ? "near_saturation"
                                : "stable");
    record_set_text(out, RECORD_STATUS,
                    is_dead         ? "engine_died"
                    : is_stuck      ? "stuck"
                    : is_overloaded ? "overloaded"
                    : !is_settled   ? "not_settled"
                                    : "done");
    if (is_overloaded) {
        struct growth growth = growth_of(replications);
        record_run_add_caveat(
            out, "overloaded",
            base_arena_printf(&out->arena,
                              "more requests arrive than leave: of a hundred that come, the queue "
                              "keeps %.1f; latencies grow with the length of the run and have no "
                              "steady value",
                              100 * growth.per_arrival));
    } else if (is_near) {
        caution_near(config, waiting, out);
    }
}
