/*
 * Figures of a replication, and their means and intervals over replications. One table names the function behind every
 * column of run_summary that is a number of the simulation.
 */
#include "study/intervals.h"

#include "kv/reserve.h"
#include "stats/interval.h"

#include <math.h>
#include <string.h>

static double seconds_of(base_i128 ticks)
{
    return base_i128_to_double(ticks) / (1e9 * (double)BASE_TICKS_PER_NS);
}

// Sums over replicas of a replication's window, as doubles of seconds x unit.
static double window_seconds(const struct serve_result *result)
{
    return seconds_of(result->window_ticks);
}

/* ---- sums over replicas and classes ---- */

typedef base_i128 integral_of(const struct serve_integrals *integrals);

static base_i128 of_used(const struct serve_integrals *i)
{
    return i->used_blocks;
}
static base_i128 of_live(const struct serve_integrals *i)
{
    return i->live_tokens;
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
    return result->window_ticks > 0
               ? base_i128_to_double(sum) / base_i128_to_double(result->window_ticks)
               : (double)NAN;
}

static double per_window_s(const struct serve_result *result, double count)
{
    double seconds = window_seconds(result);
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

static double lower_bound_of(const struct serve_config *config, base_i128 live, base_i128 running,
                             base_i128 kept, const base_i128 *visible)
{
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    return base_i128_to_double(kv_paged_lower_bound_bytes(&pool, live, running, kept, visible));
}

// Time mean over the window, summed over replicas.
static double lower_bound_mean(const struct serve_config *config, const struct serve_result *result)
{
    double bytes = 0;
    for (size_t i = 0; i < result->replica_count; i++) {
        const struct serve_integrals *sums = &result->replicas[i].window;
        bytes += lower_bound_of(config, sums->live_tokens, sums->running, sums->kept_sequences,
                                sums->visible_tokens);
    }
    return result->window_ticks > 0 ? bytes / base_i128_to_double(result->window_ticks)
                                    : (double)NAN;
}

static double lower_bound_peak(const struct serve_config *config, const struct serve_result *result)
{
    double bytes = 0;
    for (size_t i = 0; i < result->replica_count; i++) {
        const struct kv_paged_state *peak = &result->replicas[i].peak;
        base_i128 visible[KV_WINDOWS_MAX];
        for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
            visible[w] = peak->visible_tokens[w];
        }
        bytes += lower_bound_of(config, peak->live_tokens, peak->sequences, peak->kept_sequences,
                                visible);
    }
    return bytes;
}

static double block_bytes(const struct serve_config *config)
{
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    return (double)pool.tables.block_bytes;
}

#define FIGURE(name, expression)                                                   \
    static double name(const struct serve_config *c, const struct serve_result *r) \
    {                                                                              \
        (void)c;                                                                   \
        return (expression);                                                       \
    }

#define SUM_REPLICAS(name, expression)                                             \
    static double name(const struct serve_config *c, const struct serve_result *r) \
    {                                                                              \
        (void)c;                                                                   \
        double sum = 0;                                                            \
        for (size_t i = 0; i < r->replica_count; i++) {                            \
            const struct serve_replica_result *replica = &r->replicas[i];          \
            sum += (double)(expression);                                           \
        }                                                                          \
        return sum;                                                                \
    }

#define MAX_REPLICAS(name, expression)                                             \
    static double name(const struct serve_config *c, const struct serve_result *r) \
    {                                                                              \
        (void)c;                                                                   \
        double most = 0;                                                           \
        for (size_t i = 0; i < r->replica_count; i++) {                            \
            const struct serve_replica_result *replica = &r->replicas[i];          \
            most = fmax(most, (double)(expression));                               \
        }                                                                          \
        return most;                                                               \
    }

FIGURE(requests, (double)r->arrived)
FIGURE(completed, (double)r->outcomes[RECORD_OUTCOME_COMPLETED])
FIGURE(failed, sum_failed(r))
FIGURE(rejected, (double)r->outcomes[RECORD_OUTCOME_REJECTED])
FIGURE(unservable, (double)r->outcomes[RECORD_OUTCOME_UNSERVABLE])
FIGURE(timed_out, (double)r->outcomes[RECORD_OUTCOME_TIMED_OUT])
FIGURE(aborted, (double)r->outcomes[RECORD_OUTCOME_ABORTED])
FIGURE(unfinished, (double)r->outcomes[RECORD_OUTCOME_UNFINISHED])
FIGURE(duration_s, seconds_of(r->end_ticks))
FIGURE(window_s, window_seconds(r))
FIGURE(prompt_tokens, (double)r->prompt_tokens)
FIGURE(output_tokens, (double)r->output_tokens)
FIGURE(generated_tokens, (double)r->generated_tokens)
FIGURE(engine_requests, (double)r->engine_requests)
FIGURE(recomputed_tokens, (double)r->recomputed_tokens)
FIGURE(offered_rate, per_window_s(r, (double)r->window_arrived))
FIGURE(request_throughput, per_window_s(r, (double)r->window_completed))
FIGURE(prompt_throughput, per_window_s(r, (double)r->window_prompt_tokens))
FIGURE(output_throughput, per_window_s(r, (double)r->window_output_tokens))
FIGURE(total_throughput,
       per_window_s(r, (double)(r->window_prompt_tokens + r->window_output_tokens)))
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

// Of slots: layers with a window have fewer cells than others, so bytes are no multiple of cells.
static double slots_allocated_mean(const struct serve_config *config,
                                   const struct serve_result *result)
{
    double bytes = 0;
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    for (size_t i = 0; i < result->replica_count; i++) {
        struct kv_paged_means means = {.live_tokens = 0};
        struct kv_ledger ledger;
        study_add_means(&result->replicas[i].window, base_i128_to_double(result->window_ticks),
                        &means);
        kv_paged_mean_ledger(&pool, &means, &ledger);
        bytes += (double)kv_ledger_allocated_bytes(&ledger);
    }
    return result->window_ticks > 0 ? bytes : (double)NAN;
}

static double slots_allocated_peak(const struct serve_config *config,
                                   const struct serve_result *result)
{
    double bytes = 0;
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    for (size_t i = 0; i < result->replica_count; i++) {
        struct kv_ledger ledger;
        kv_paged_ledger(&pool, &result->replicas[i].peak, &ledger);
        bytes += (double)kv_ledger_allocated_bytes(&ledger);
    }
    return bytes;
}

FIGURE(allocated_mean, kv_policy_has_slots(c->kv_policy) ? slots_allocated_mean(c, r)
                                                         : window_mean(r, of_used) * block_bytes(c))
SUM_REPLICAS(swapped_blocks, replica->swapped_blocks)
SUM_REPLICAS(copied_blocks, replica->copied_blocks)
FIGURE(swapped_bytes, swapped_blocks(c, r) * block_bytes(c))
SUM_REPLICAS(copied_tokens, replica->copied_tokens)
FIGURE(copied_bytes, kv_policy_concatenates(c->kv_policy) || c->kv_compaction
                         ? copied_tokens(c, r) * (double)c->layout.lower_bound_bytes_per_token
                     : c->sched.swap_blocks > 0 ? copied_blocks(c, r) * block_bytes(c)
                                                : (double)NAN)
SUM_REPLICAS(evicted_blocks, replica->evicted_blocks)
SUM_REPLICAS(lookup_tokens, replica->lookup_tokens)
SUM_REPLICAS(hit_tokens, replica->hit_tokens)
FIGURE(hit_rate, lookup_tokens(c, r) > 0 ? hit_tokens(c, r) / lookup_tokens(c, r) : (double)NAN)
SUM_REPLICAS(sum_lookup_blocks, replica->reuse.lookup_blocks)
SUM_REPLICAS(sum_hit_blocks, replica->reuse.hit_blocks)
SUM_REPLICAS(sum_lost_blocks, replica->reuse.lost_blocks)
SUM_REPLICAS(sum_pending_blocks, replica->reuse.lost_pending_blocks)
SUM_REPLICAS(sum_own_blocks, replica->reuse.lost_own_blocks)
SUM_REPLICAS(sum_cut_blocks, replica->reuse.cut_blocks)
SUM_REPLICAS(unknown_reuse, replica->reuse.is_unknown ? 1 : 0)
FIGURE(prefix_hit_tokens, c->sched.enable_prefix_caching ? hit_tokens(c, r) : (double)NAN)
FIGURE(lookup_blocks, c->sched.enable_prefix_caching ? sum_lookup_blocks(c, r) : (double)NAN)
FIGURE(hit_blocks, c->sched.enable_prefix_caching ? sum_hit_blocks(c, r) : (double)NAN)
FIGURE(lost_blocks, c->sched.enable_prefix_caching &&unknown_reuse(c, r) <= 0
                        ? sum_lost_blocks(c, r)
                        : (double)NAN)
FIGURE(cut_blocks, c->sched.enable_prefix_caching &&unknown_reuse(c, r) <= 0 ? sum_cut_blocks(c, r)
                                                                             : (double)NAN)
SUM_REPLICAS(sum_tier_hits, replica->tiers[0].hit_tokens + replica->tiers[1].hit_tokens)
SUM_REPLICAS(sum_tier_asked, replica->tiers[0].asked_tokens)
SUM_REPLICAS(sum_declined, replica->declined_tokens)
SUM_REPLICAS(sum_stored_blocks, replica->tiers[0].written_blocks)
SUM_REPLICAS(sum_loaded_blocks, replica->tiers[0].read_blocks)
SUM_REPLICAS(load_ticks, base_i128_to_double(replica->tiers[0].read_ticks))
SUM_REPLICAS(store_ticks, base_i128_to_double(replica->tiers[0].write_ticks))
SUM_REPLICAS(lower_read_ticks, base_i128_to_double(replica->tiers[1].read_ticks))
SUM_REPLICAS(lower_write_ticks, base_i128_to_double(replica->tiers[1].write_ticks))
SUM_REPLICAS(stall_ticks, base_i128_to_double(replica->stall_ticks))
FIGURE(tier_hit_tokens, c->tiers[0].name != NULL ? sum_tier_hits(c, r) : (double)NAN)
FIGURE(tier_declined_tokens, c->tiers[0].name != NULL ? sum_declined(c, r) : (double)NAN)
FIGURE(tier_hit_rate,
       sum_tier_asked(c, r) > 0 ? sum_tier_hits(c, r) / sum_tier_asked(c, r) : (double)NAN)
FIGURE(tier_bytes_in,
       c->tiers[0].name != NULL ? sum_stored_blocks(c, r) * block_bytes(c) : (double)NAN)
FIGURE(tier_bytes_out,
       c->tiers[0].name != NULL ? sum_loaded_blocks(c, r) * block_bytes(c) : (double)NAN)

static double share_of_run(const struct serve_config *c, const struct serve_result *r, double ticks)
{
    double whole = base_i128_to_double(r->end_ticks) * c->replica_count;
    return c->tiers[0].name != NULL && whole > 0 ? ticks / whole : (double)NAN;
}

FIGURE(tier_link_busy, share_of_run(c, r,
                                    fmax(fmax(load_ticks(c, r), store_ticks(c, r)),
                                         fmax(lower_read_ticks(c, r), lower_write_ticks(c, r)))))
FIGURE(tier_stall_fraction, share_of_run(c, r, stall_ticks(c, r)))
FIGURE(pending_blocks, isnan(lost_blocks(c, r)) ? (double)NAN : sum_pending_blocks(c, r))
FIGURE(recomputed_blocks, isnan(lost_blocks(c, r)) ? (double)NAN : sum_own_blocks(c, r))
SUM_REPLICAS(steps, replica->steps)
SUM_REPLICAS(computed_tokens, replica->computed_tokens)
SUM_REPLICAS(preemptions, replica->preemptions)
SUM_REPLICAS(peak_used, replica->peak.used_blocks)
MAX_REPLICAS(used_blocks_peak, replica->peak.used_blocks)
MAX_REPLICAS(running_peak, replica->peak_running)
MAX_REPLICAS(waiting_peak, replica->peak_waiting)
FIGURE(usage_peak, used_blocks_peak(c, r) / usable_blocks(c))
FIGURE(allocated_peak, kv_policy_has_slots(c->kv_policy) ? slots_allocated_peak(c, r)
                                                         : peak_used(c, r) * block_bytes(c))

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
    return count > 0 && sum > 0 ? (double)count / seconds_of(sum) : (double)NAN;
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

// Slots take all memory from the start: what fills is the cells.
static double memory_share(const struct serve_config *c, const struct serve_result *r)
{
    if (!kv_policy_has_slots(c->kv_policy)) {
        return usage_mean(c, r);
    }
    return window_mean(r, of_live) / (usable_blocks(c) * c->replica_count);
}

// What is left on average of the limit that is used most: seats, KV pool, or tokens of a step.
static double spare_share(const struct serve_config *c, const struct serve_result *r)
{
    double seats = running_mean(c, r) * serve_seats_each(c) /
                   ((double)c->sched.max_num_seqs * c->replica_count);
    seats = fmin(seats, 1); // sequences of a group end one by one
    double tokens = computed_tokens(c, r) / (steps(c, r) * (double)c->sched.max_num_batched_tokens);
    return 1 - fmax(fmax(seats, memory_share(c, r)), tokens);
}

struct figure {
    enum record_summary column;
    double (*of)(const struct serve_config *config, const struct serve_result *result);
    bool is_skewed;         /* a queue's length: see stats_interval_skewed() */
    struct study_span span; /* the same as a ratio of a single run's sums */
};

#define PER_TIME(term) .span = {SERVE_SPAN_##term, SERVE_SPAN_COUNT, SERVE_SPAN_TICKS, true}
#define RATIO(above, below) .span = {SERVE_SPAN_##above, SERVE_SPAN_COUNT, SERVE_SPAN_##below, true}

static const struct figure figures[] = {
    {.column = RECORD_REQUESTS, .of = requests},
    {.column = RECORD_COMPLETED, .of = completed},
    {.column = RECORD_FAILED, .of = failed},
    {.column = RECORD_REJECTED, .of = rejected},
    {.column = RECORD_UNSERVABLE, .of = unservable},
    {.column = RECORD_TIMED_OUT, .of = timed_out},
    {.column = RECORD_ABORTED, .of = aborted},
    {.column = RECORD_DURATION_S, .of = duration_s},
    {.column = RECORD_WINDOW_S, .of = window_s},
    {.column = RECORD_STEPS, .of = steps},
    {.column = RECORD_PROMPT_TOKENS, .of = prompt_tokens},
    {.column = RECORD_OUTPUT_TOKENS, .of = output_tokens},
    {.column = RECORD_COMPUTED_TOKENS, .of = computed_tokens},
    {.column = RECORD_OFFERED_RATE, .of = offered_rate, PER_TIME(ARRIVED)},
    {.column = RECORD_REQUEST_THROUGHPUT, .of = request_throughput, PER_TIME(COMPLETED)},
    {.column = RECORD_PROMPT_THROUGHPUT, .of = prompt_throughput, PER_TIME(PROMPT_TOKENS)},
    {.column = RECORD_OUTPUT_THROUGHPUT, .of = output_throughput, PER_TIME(OUTPUT_TOKENS)},
    {.column = RECORD_TOTAL_TOKEN_THROUGHPUT,
     .of = total_throughput,
     .span = {SERVE_SPAN_PROMPT_TOKENS, SERVE_SPAN_OUTPUT_TOKENS, SERVE_SPAN_TICKS, true}},
    {.column = RECORD_OUTPUT_THROUGHPUT_PER_GPU, .of = output_per_gpu, PER_TIME(OUTPUT_TOKENS)},
    {.column = RECORD_OUTPUT_THROUGHPUT_PER_USER, .of = output_per_user},
    {.column = RECORD_REQUEST_GOODPUT, .of = goodput, PER_TIME(GOOD)},
    {.column = RECORD_SLO_ATTAINMENT, .of = slo_attainment, RATIO(GOOD, COMPLETED)},
    {.column = RECORD_KV_LOWER_BOUND_BYTES_MEAN,
     .of = lower_bound_mean,
     PER_TIME(LOWER_BOUND_BYTES)},
    {.column = RECORD_KV_LOWER_BOUND_BYTES_PEAK, .of = lower_bound_peak},
    {.column = RECORD_KV_ALLOCATED_BYTES_MEAN, .of = allocated_mean, PER_TIME(USED_BLOCKS)},
    {.column = RECORD_KV_ALLOCATED_BYTES_PEAK, .of = allocated_peak},
    {.column = RECORD_KV_USAGE_MEAN, .of = usage_mean, PER_TIME(USED_BLOCKS)},
    {.column = RECORD_KV_USAGE_PEAK, .of = usage_peak},
    {.column = RECORD_USED_BLOCKS_PEAK, .of = used_blocks_peak},
    {.column = RECORD_PREEMPTIONS, .of = preemptions},
    {.column = RECORD_RECOMPUTED_TOKENS, .of = recomputed_tokens},
    {.column = RECORD_SWAPPED_BYTES, .of = swapped_bytes},
    {.column = RECORD_EVICTED_BLOCKS, .of = evicted_blocks},
    {.column = RECORD_LOOKUP_TOKENS, .of = lookup_tokens},
    {.column = RECORD_PREFIX_HIT_RATE, .of = hit_rate},
    {.column = RECORD_RUNNING_MEAN, .of = running_mean, PER_TIME(RUNNING)},
    {.column = RECORD_RUNNING_PEAK, .of = running_peak},
    {.column = RECORD_WAITING_MEAN, .of = waiting_mean, .is_skewed = true, PER_TIME(WAITING)},
    {.column = RECORD_WAITING_PEAK, .of = waiting_peak},
    {.column = RECORD_IN_FLIGHT_MEAN, .of = in_flight_mean, .is_skewed = true, PER_TIME(IN_FLIGHT)},
    {.column = RECORD_BUSY_FRACTION, .of = busy_fraction, PER_TIME(BUSY)},
    {.column = RECORD_SPARE_SHARE, .of = spare_share},
    {.column = RECORD_PREFILL_TIME_FRACTION, .of = prefill_fraction, RATIO(PREFILL_BUSY, BUSY)},
    {.column = RECORD_USD_PER_MTOK_INPUT, .of = usd_input},
    {.column = RECORD_USD_PER_MTOK_OUTPUT, .of = usd_output},
    {.column = RECORD_USD_PER_MTOK_TOTAL, .of = usd_total},
    {.column = RECORD_ENERGY_PER_OUTPUT_TOKEN_J, .of = energy_per_token},
    {.column = RECORD_COPIED_BYTES, .of = copied_bytes},
    {.column = RECORD_PREFIX_HIT_TOKENS, .of = prefix_hit_tokens},
    {.column = RECORD_PREFIX_LOOKUP_BLOCKS, .of = lookup_blocks},
    {.column = RECORD_PREFIX_HIT_BLOCKS, .of = hit_blocks},
    {.column = RECORD_PREFIX_LOST_BLOCKS, .of = lost_blocks},
    {.column = RECORD_PREFIX_CUT_BLOCKS, .of = cut_blocks},
    {.column = RECORD_TIER_HIT_TOKENS, .of = tier_hit_tokens},
    {.column = RECORD_TIER_HIT_RATE, .of = tier_hit_rate},
    {.column = RECORD_TIER_BYTES_IN, .of = tier_bytes_in},
    {.column = RECORD_TIER_BYTES_OUT, .of = tier_bytes_out},
    {.column = RECORD_TIER_LINK_BUSY, .of = tier_link_busy},
    {.column = RECORD_TIER_STALL_FRACTION, .of = tier_stall_fraction},
    {.column = RECORD_TIER_DECLINED_TOKENS, .of = tier_declined_tokens},
    {.column = RECORD_PREFIX_PENDING_BLOCKS, .of = pending_blocks},
    {.column = RECORD_PREFIX_RECOMPUTED_BLOCKS, .of = recomputed_blocks},
    {.column = RECORD_UNFINISHED, .of = unfinished},
    {.column = RECORD_GENERATED_TOKENS, .of = generated_tokens},
    {.column = RECORD_ENGINE_REQUESTS, .of = engine_requests},
};

/* ---- from replications to a value with an interval ---- */

/* Values of one figure by replication, and how to state it. */
struct series {
    const char *name, *statistic, *class_name, *unit;
    double *values;
    int64_t *counts; /* observations behind each value */
    struct study_interval interval;
};

// Mean over the replications that have a value; NaN without any.
static double mean_of(const double *values, size_t count)
{
    return stats_interval_t(values, count, 0.95, 0).value;
}

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
    struct record_metric metric = {
        .name = series->name,
        .statistic = series->statistic,
        .class_name = series->class_name,
        .unit = series->unit,
        .value = mean_of(series->values, count),
        .ci_low = series->interval.low,
        .ci_high = series->interval.high,
        .n = observations,
        .method = series->interval.method,
        .claim = spec_claim_name(SPEC_SIMULATED),
        // The weakest input: host times and efficiencies are assumed at every level without a calibration.
        .basis = spec_claim_name(SPEC_ASSUMED),
    };
    base_vec_push(&out->metrics, metric);
    return metric.value;
}

static void add_figures(const struct study_replications *replications, double *values,
                        int64_t *counts, struct record_run *out)
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
                                .counts = counts,
                                .interval = study_interval_of_figure(
                                    replications, values, figures[f].is_skewed, &figures[f].span)};
        record_set_real(out, figures[f].column, add_series(replications, &series, out));
    }
}

/* ---- latencies ---- */

static double latency_ms(const struct stats_hist *hist, enum spec_statistic statistic)
{
    double ns = statistic == SPEC_MEAN
                    ? stats_hist_mean_ns(hist)
                    : stats_hist_quantile_ns(hist, spec_statistic_quantile(statistic));
    return ns / 1e6;
}

static void add_latency(const struct study_latency *latency, enum spec_statistic statistic,
                        const char *class_name, double *values, int64_t *counts,
                        struct record_run *out)
{
    const struct study_replications *replications = latency->replications;
    for (size_t i = 0; i < replications->count; i++) {
        values[i] = latency_ms(&latency->hists[i], statistic);
        counts[i] = (int64_t)latency->hists[i].count;
    }
    struct series series = {.name = spec_metric_name(latency->metric),
                            .statistic = spec_statistic_name(statistic),
                            .class_name = class_name,
                            .unit = "ms",
                            .values = values,
                            .counts = counts,
                            .interval =
                                study_interval_of_latency(latency, statistic, values, &out->arena)};
    double value = add_series(replications, &series, out);
    if (latency->is_all) {
        unsigned column = (unsigned)RECORD_TTFT_MEAN +
                          (unsigned)latency->metric * SPEC_STATISTIC_COUNT + (unsigned)statistic;
        record_set_real(out, (enum record_summary)column, value);
    }
}

// One class, or (class == class_count) all of them together.
static void add_latencies_of(const struct study_replications *replications, size_t class_index,
                             double *values, int64_t *counts, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    size_t class_count = config->workload.class_count;
    bool is_all = class_index == class_count;
    const char *class_name =
        is_all ? "" : base_arena_copy(&out->arena, config->workload.classes[class_index].name);
    struct stats_hist *hists = base_alloc(base_mul_size(replications->count, sizeof *hists));
    for (unsigned m = 0; m < SPEC_METRIC_COUNT; m++) {
        struct stats_hist pooled;
        stats_hist_init(&pooled);
        for (size_t i = 0; i < replications->count; i++) {
            stats_hist_init(&hists[i]);
            for (size_t k = is_all ? 0 : class_index; k < (is_all ? class_count : class_index + 1);
                 k++) {
                stats_hist_merge(&hists[i], &replications->at[i].result.classes[k].metric[m]);
            }
            stats_hist_sort(&hists[i]);
            stats_hist_merge(&pooled, &hists[i]);
        }
        stats_hist_sort(&pooled);
        struct study_latency latency = {.replications = replications,
                                        .hists = hists,
                                        .pooled = &pooled,
                                        .metric = (enum spec_metric)m,
                                        .is_all = is_all};
        for (unsigned s = 0; s < SPEC_STATISTIC_COUNT; s++) {
            add_latency(&latency, (enum spec_statistic)s, class_name, values, counts, out);
        }
        stats_hist_release(&pooled);
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
