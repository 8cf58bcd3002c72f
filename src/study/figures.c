/*
 * Figures of a replication, and their means and intervals over replications. One table names the function behind every
 * column of run_summary that is a number of the simulation.
 */
#include "study/run_int.h"

#include "stats/interval.h"

#include <math.h>
#include <string.h>

double study_seconds(base_i128 ticks)
{
    return base_i128_to_double(ticks) / (1e9 * (double)BASE_TICKS_PER_NS);
}

double study_window_s(const struct serve_result *result)
{
    return study_seconds(result->window_ticks);
}

/* ---- sums over replicas and classes ---- */

typedef base_i128 integral_of(const struct serve_integrals *integrals);

static base_i128 of_live(const struct serve_integrals *i)
{
    return i->live_tokens;
}
static base_i128 of_used(const struct serve_integrals *i)
{
    return i->used_blocks;
}
static base_i128 of_running(const struct serve_integrals *i)
{
    return i->running;
}
static base_i128 of_waiting(const struct serve_integrals *i)
{
    return i->waiting;
}
static base_i128 of_busy(const struct serve_integrals *i)
{
    return i->busy;
}
static base_i128 of_prefill(const struct serve_integrals *i)
{
    return i->prefill_busy;
}

// Time mean over the window, summed over replicas.
static double window_mean(const struct serve_result *result, integral_of *of)
{
    base_i128 sum = 0;
    for (size_t i = 0; i < result->replica_count; i++) {
        sum += of(&result->replicas[i].window);
    }
    return result->window_ticks > 0 ? base_i128_to_double(sum) / base_i128_to_double(result->window_ticks) : (double)NAN;
}

static double per_window_s(const struct serve_result *result, double count)
{
    double seconds = study_window_s(result);
    return seconds > 0 ? count / seconds : (double)NAN;
}

static double all_gpus(const struct serve_config *config)
{
    return (double)config->gpu_count_per_replica * config->replica_count;
}

static double usable_blocks(const struct serve_config *config)
{
    return (double)(config->pool_blocks - config->reserved_blocks);
}

static double sum_failed(const struct serve_result *result)
{
    double failed = 0;
    for (size_t i = 0; i < result->class_count; i++) {
        failed += (double)result->classes[i].failed;
    }
    return failed;
}

#define FIGURE(name, expression)                                                                                    \
    static double name(const struct serve_config *c, const struct serve_result *r)                                  \
    {                                                                                                               \
        (void)c;                                                                                                    \
        return (expression);                                                                                        \
    }

#define SUM_REPLICAS(name, expression)                                                                              \
    static double name(const struct serve_config *c, const struct serve_result *r)                                  \
    {                                                                                                               \
        (void)c;                                                                                                    \
        double sum = 0;                                                                                             \
        for (size_t i = 0; i < r->replica_count; i++) {                                                             \
            const struct serve_replica_result *replica = &r->replicas[i];                                           \
            sum += (double)(expression);                                                                            \
        }                                                                                                           \
        return sum;                                                                                                 \
    }

#define MAX_REPLICAS(name, expression)                                                                              \
    static double name(const struct serve_config *c, const struct serve_result *r)                                  \
    {                                                                                                               \
        (void)c;                                                                                                    \
        double most = 0;                                                                                            \
        for (size_t i = 0; i < r->replica_count; i++) {                                                             \
            const struct serve_replica_result *replica = &r->replicas[i];                                           \
            most = fmax(most, (double)(expression));                                                                \
        }                                                                                                           \
        return most;                                                                                                \
    }

FIGURE(requests, (double)r->arrived)
FIGURE(completed, (double)r->outcomes[RECORD_OUTCOME_COMPLETED])
FIGURE(failed, sum_failed(r))
FIGURE(rejected, (double)r->outcomes[RECORD_OUTCOME_REJECTED])
FIGURE(unservable, (double)r->outcomes[RECORD_OUTCOME_UNSERVABLE])
FIGURE(timed_out, (double)r->outcomes[RECORD_OUTCOME_TIMED_OUT])
FIGURE(aborted, (double)r->outcomes[RECORD_OUTCOME_ABORTED])
FIGURE(duration_s, study_seconds(r->end_ticks))
FIGURE(window_s, study_window_s(r))
FIGURE(prompt_tokens, (double)r->prompt_tokens)
FIGURE(output_tokens, (double)r->output_tokens)
FIGURE(recomputed_tokens, (double)r->recomputed_tokens)
FIGURE(offered_rate, per_window_s(r, (double)r->window_arrived))
FIGURE(request_throughput, per_window_s(r, (double)r->window_completed))
FIGURE(prompt_throughput, per_window_s(r, (double)r->window_prompt_tokens))
FIGURE(output_throughput, per_window_s(r, (double)r->window_output_tokens))
FIGURE(total_throughput, per_window_s(r, (double)(r->window_prompt_tokens + r->window_output_tokens)))
FIGURE(output_per_gpu, output_throughput(c, r) / all_gpus(c))
FIGURE(goodput, per_window_s(r, (double)r->window_good))
FIGURE(running_mean, window_mean(r, of_running))
FIGURE(waiting_mean, window_mean(r, of_waiting))
FIGURE(in_flight_mean, r->window_ticks > 0 ? base_i128_to_double(r->window_in_flight_ticks) /
                                                 base_i128_to_double(r->window_ticks)
                                           : (double)NAN)
FIGURE(busy_fraction, window_mean(r, of_busy) / c->replica_count)
FIGURE(prefill_fraction, window_mean(r, of_prefill) / window_mean(r, of_busy))
FIGURE(usage_mean, window_mean(r, of_used) / (usable_blocks(c) * c->replica_count))
FIGURE(allocated_mean, window_mean(r, of_used) * (double)c->layout.block_bytes)
FIGURE(lower_bound_mean, window_mean(r, of_live) * (double)c->layout.lower_bound_bytes_per_token)
FIGURE(no_swap, 0.0 * (double)r->arrived)
SUM_REPLICAS(evicted_blocks, replica->evicted_blocks)
SUM_REPLICAS(lookup_tokens, replica->lookup_tokens)
SUM_REPLICAS(hit_tokens, replica->hit_tokens)
FIGURE(hit_rate, lookup_tokens(c, r) > 0 ? hit_tokens(c, r) / lookup_tokens(c, r) : (double)NAN)
SUM_REPLICAS(steps, replica->steps)
SUM_REPLICAS(computed_tokens, replica->computed_tokens)
SUM_REPLICAS(preemptions, replica->preemptions)
SUM_REPLICAS(peak_used, replica->peak_used_blocks)
SUM_REPLICAS(peak_live, replica->peak_live_tokens)
MAX_REPLICAS(used_blocks_peak, replica->peak_used_blocks)
MAX_REPLICAS(running_peak, replica->peak_running)
MAX_REPLICAS(waiting_peak, replica->peak_waiting)
FIGURE(usage_peak, used_blocks_peak(c, r) / usable_blocks(c))
FIGURE(allocated_peak, peak_used(c, r) * (double)c->layout.block_bytes)
FIGURE(lower_bound_peak, peak_live(c, r) * (double)c->layout.lower_bound_bytes_per_token)

static double slo_attainment(const struct serve_config *c, const struct serve_result *r)
{
    uint64_t counted = 0, good = 0;
    for (size_t i = 0; i < r->class_count; i++) {
        counted += r->classes[i].counted;
        good += r->classes[i].good;
    }
    return c->slo_count > 0 && counted > 0 ? (double)good / (double)counted : (double)NAN;
}

static double output_per_user(const struct serve_config *c, const struct serve_result *r)
{
    (void)c;
    base_i128 sum = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < r->class_count; i++) {
        sum += r->classes[i].metric[SPEC_TPOT].sum_ticks;
        count += r->classes[i].metric[SPEC_TPOT].count;
    }
    return count > 0 && sum > 0 ? (double)count / study_seconds(sum) : (double)NAN;
}

static double usd_per_mtok(const struct serve_config *c, double tokens_per_s)
{
    if (c->usd_per_gpu_hour <= 0 || !(tokens_per_s > 0)) {
        return (double)NAN;
    }
    double usd_per_s = c->usd_per_gpu_hour * all_gpus(c) / 3600;
    return usd_per_s / (tokens_per_s * c->price_utilization) * 1e6;
}

FIGURE(usd_input, usd_per_mtok(c, prompt_throughput(c, r)))
FIGURE(usd_output, usd_per_mtok(c, output_throughput(c, r)))
FIGURE(usd_total, usd_per_mtok(c, total_throughput(c, r)))

// Rated power while a step runs; idle power is not counted.
static double energy_per_token(const struct serve_config *c, const struct serve_result *r)
{
    double tokens_per_s = output_throughput(c, r);
    if (c->hardware == NULL || c->hardware->power_w <= 0 || !(tokens_per_s > 0)) {
        return (double)NAN;
    }
    return c->hardware->power_w * all_gpus(c) * busy_fraction(c, r) / tokens_per_s;
}

struct figure {
    enum record_summary column;
    double (*of)(const struct serve_config *config, const struct serve_result *result);
};

static const struct figure figures[] = {
    {RECORD_REQUESTS, requests},
    {RECORD_COMPLETED, completed},
    {RECORD_FAILED, failed},
    {RECORD_REJECTED, rejected},
    {RECORD_UNSERVABLE, unservable},
    {RECORD_TIMED_OUT, timed_out},
    {RECORD_ABORTED, aborted},
    {RECORD_DURATION_S, duration_s},
    {RECORD_WINDOW_S, window_s},
    {RECORD_STEPS, steps},
    {RECORD_PROMPT_TOKENS, prompt_tokens},
    {RECORD_OUTPUT_TOKENS, output_tokens},
    {RECORD_COMPUTED_TOKENS, computed_tokens},
    {RECORD_OFFERED_RATE, offered_rate},
    {RECORD_REQUEST_THROUGHPUT, request_throughput},
    {RECORD_PROMPT_THROUGHPUT, prompt_throughput},
    {RECORD_OUTPUT_THROUGHPUT, output_throughput},
    {RECORD_TOTAL_TOKEN_THROUGHPUT, total_throughput},
    {RECORD_OUTPUT_THROUGHPUT_PER_GPU, output_per_gpu},
    {RECORD_OUTPUT_THROUGHPUT_PER_USER, output_per_user},
    {RECORD_REQUEST_GOODPUT, goodput},
    {RECORD_SLO_ATTAINMENT, slo_attainment},
    {RECORD_KV_LOWER_BOUND_BYTES_MEAN, lower_bound_mean},
    {RECORD_KV_LOWER_BOUND_BYTES_PEAK, lower_bound_peak},
    {RECORD_KV_ALLOCATED_BYTES_MEAN, allocated_mean},
    {RECORD_KV_ALLOCATED_BYTES_PEAK, allocated_peak},
    {RECORD_KV_USAGE_MEAN, usage_mean},
    {RECORD_KV_USAGE_PEAK, usage_peak},
    {RECORD_USED_BLOCKS_PEAK, used_blocks_peak},
    {RECORD_PREEMPTIONS, preemptions},
    {RECORD_RECOMPUTED_TOKENS, recomputed_tokens},
    {RECORD_SWAPPED_BYTES, no_swap},
    {RECORD_EVICTED_BLOCKS, evicted_blocks},
    {RECORD_LOOKUP_TOKENS, lookup_tokens},
    {RECORD_PREFIX_HIT_RATE, hit_rate},
    {RECORD_RUNNING_MEAN, running_mean},
    {RECORD_RUNNING_PEAK, running_peak},
    {RECORD_WAITING_MEAN, waiting_mean},
    {RECORD_WAITING_PEAK, waiting_peak},
    {RECORD_IN_FLIGHT_MEAN, in_flight_mean},
    {RECORD_BUSY_FRACTION, busy_fraction},
    {RECORD_PREFILL_TIME_FRACTION, prefill_fraction},
    {RECORD_USD_PER_MTOK_INPUT, usd_input},
    {RECORD_USD_PER_MTOK_OUTPUT, usd_output},
    {RECORD_USD_PER_MTOK_TOTAL, usd_total},
    {RECORD_ENERGY_PER_OUTPUT_TOKEN_J, energy_per_token},
};

/* ---- from replications to a value with an interval ---- */

/* Values of one figure by replication, and how to state it. */
struct series {
    const char *name, *statistic, *class_name, *unit;
    double *values;
    int64_t *counts;       /* observations behind each value */
    double resolution;     /* relative; of histogram percentiles */
    bool is_unsupported;   /* too few observations for an interval */
    bool is_growing;       /* latencies of an overloaded run */
};

static double add_series(const struct study_replications *replications, const struct series *series,
                         struct record_run *out)
{
    size_t count = replications->count;
    int64_t observations = 0;
    for (size_t i = 0; i < count; i++) {
        struct record_replication_metric row = {.replication = (uint32_t)i + 1,
                                                .name = series->name,
                                                .statistic = series->statistic,
                                                .class_name = series->class_name,
                                                .value = series->values[i],
                                                .n = series->counts[i]};
        base_vec_push(&out->replication_metrics, row);
        observations += series->counts[i];
    }
    struct stats_interval interval = stats_interval_t(series->values, count, 0.95, series->resolution);
    bool is_withheld = interval.is_withheld || series->is_unsupported || series->is_growing;
    struct record_metric metric = {
        .name = series->name,
        .statistic = series->statistic,
        .class_name = series->class_name,
        .unit = series->unit,
        .value = interval.value,
        .ci_low = is_withheld ? (double)NAN : interval.low,
        .ci_high = is_withheld ? (double)NAN : interval.high,
        .n = observations,
        .method = series->is_growing       ? "growing"
                  : series->is_unsupported ? "too_few_observations"
                                           : interval.method,
        .claim = spec_claim_name(SPEC_SIMULATED),
        // The weakest input: host times and efficiencies are assumed at every level without a calibration.
        .basis = spec_claim_name(SPEC_ASSUMED),
    };
    base_vec_push(&out->metrics, metric);
    return interval.value;
}

static void add_figures(const struct study_replications *replications, double *values, int64_t *counts,
                        struct record_run *out)
{
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        for (size_t i = 0; i < replications->count; i++) {
            const struct serve_result *result = &replications->at[i].result;
            values[i] = figures[f].of(replications->config, result);
            counts[i] = (int64_t)result->arrived;
        }
        char name[64];
        const char *statistic = record_summary_metric(figures[f].column, name, sizeof name);
        struct series series = {.name = base_arena_copy(&out->arena, name),
                                .statistic = statistic,
                                .class_name = "",
                                .unit = record_summary_columns[figures[f].column].unit,
                                .values = values,
                                .counts = counts};
        record_set_real(out, figures[f].column, add_series(replications, &series, out));
    }
}

/* ---- latencies ---- */

static double latency_ms(const struct stats_hist *hist, enum spec_statistic statistic)
{
    double ns = statistic == SPEC_MEAN ? stats_hist_mean_ns(hist)
                                       : stats_hist_quantile_ns(hist, spec_statistic_quantile(statistic));
    return ns / 1e6;
}

static void add_latency(const struct study_replications *replications, const struct stats_hist *hists,
                        enum spec_metric metric, enum spec_statistic statistic, const char *class_name,
                        double *values, int64_t *counts, struct record_run *out)
{
    bool is_overloaded = false, is_unsupported = false, is_exact = true;
    for (size_t i = 0; i < replications->count; i++) {
        values[i] = latency_ms(&hists[i], statistic);
        counts[i] = (int64_t)hists[i].count;
        is_overloaded = is_overloaded || replications->at[i].result.status == SERVE_OVERLOADED;
        is_exact = is_exact && stats_hist_is_exact(&hists[i]);
        size_t needed;
        is_unsupported = is_unsupported || (statistic != SPEC_MEAN &&
                                            !stats_quantile_is_supported(
                                                hists[i].count, spec_statistic_quantile(statistic), &needed));
    }
    struct series series = {.name = spec_metric_name(metric),
                            .statistic = spec_statistic_name(statistic),
                            .class_name = class_name,
                            .unit = "ms",
                            .values = values,
                            .counts = counts,
                            .resolution = is_exact || statistic == SPEC_MEAN ? 0 : 0.005,
                            .is_unsupported = is_unsupported,
                            .is_growing = is_overloaded};
    double value = add_series(replications, &series, out);
    if (class_name[0] == '\0') {
        unsigned column = (unsigned)RECORD_TTFT_MEAN + (unsigned)metric * SPEC_STATISTIC_COUNT + (unsigned)statistic;
        record_set_real(out, (enum record_summary)column, value);
    }
}

// One class, or (class == class_count) all of them together.
static void add_latencies_of(const struct study_replications *replications, size_t class_index, double *values,
                             int64_t *counts, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    size_t class_count = config->workload.class_count;
    bool is_all = class_index == class_count;
    const char *class_name = is_all ? "" : base_arena_copy(&out->arena, config->workload.classes[class_index].name);
    struct stats_hist *hists = base_alloc(base_mul_size(replications->count, sizeof *hists));
    for (unsigned m = 0; m < SPEC_METRIC_COUNT; m++) {
        for (size_t i = 0; i < replications->count; i++) {
            stats_hist_init(&hists[i]);
            for (size_t k = is_all ? 0 : class_index; k < (is_all ? class_count : class_index + 1); k++) {
                stats_hist_merge(&hists[i], &replications->at[i].result.classes[k].metric[m]);
            }
        }
        for (unsigned s = 0; s < SPEC_STATISTIC_COUNT; s++) {
            add_latency(replications, hists, (enum spec_metric)m, (enum spec_statistic)s, class_name, values, counts,
                        out);
        }
        for (size_t i = 0; i < replications->count; i++) {
            stats_hist_release(&hists[i]);
        }
    }
    base_free(hists);
}

void study_gather_figures(const struct study_replications *replications, struct record_run *out)
{
    double *values = base_alloc(base_mul_size(replications->count, sizeof *values));
    int64_t *counts = base_alloc(base_mul_size(replications->count, sizeof *counts));
    size_t class_count = replications->config->workload.class_count;
    add_latencies_of(replications, class_count, values, counts, out);
    add_figures(replications, values, counts, out);
    for (size_t k = 0; class_count > 1 && k < class_count; k++) {
        add_latencies_of(replications, k, values, counts, out);
    }
    base_free(values);
    base_free(counts);
}
