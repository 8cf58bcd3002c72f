#include "study/run_int.h"

#include "kv/ledger.h"
#include "kv/paged.h"
#include "kv/reserve.h"
#include "study/fit.h"

#include <math.h>
#include <string.h>

#include <kvsim/version.h>

/* ---- what the run was ---- */

static const char *copy(struct record_run *out, const char *text)
{
    return base_arena_copy(&out->arena, text != NULL ? text : "");
}

static void gather_identity(const struct serve_config *config, struct record_run *out)
{
    record_set_text(out, RECORD_KVSIM_VERSION, KVSIM_VERSION);
    record_set_text(out, RECORD_SCENARIO, config->name);
    record_set_text(out, RECORD_SCENARIO_HASH, config->hash);
    record_set_text(out, RECORD_MODEL, config->model_name);
    if (config->hardware_name != NULL) {
        record_set_text(out, RECORD_HARDWARE, config->hardware_name);
    }
    record_set_text(out, RECORD_ENGINE, config->engine_name);
    record_set_text(
        out, RECORD_COST_LEVEL,
        cost_level_name(cost_level_resolve(config->cost.options, config->cost.hardware)));
    record_set_integer(out, RECORD_GPUS,
                       (int64_t)config->gpu_count_per_replica * config->replica_count);
    record_set_integer(out, RECORD_TP, config->tensor_parallel);
    record_set_integer(out, RECORD_PP, config->pipeline_parallel);
    record_set_integer(out, RECORD_DP, config->data_parallel);
    record_set_integer(out, RECORD_REPLICAS, config->replica_count);
    record_set_text(out, RECORD_KV_CACHE_DTYPE, config->kv_cache_dtype);
    record_set_integer(out, RECORD_BLOCK_SIZE, config->sched.block_size);
    record_set_integer(out, RECORD_SEED, (int64_t)config->seed);
    record_set_integer(out, RECORD_REPLICATIONS, config->replications);
    out->scenario_yaml = copy(out, config->yaml);
    for (size_t i = 0; i < config->param_count; i++) {
        const struct serve_param *param = &config->params[i];
        struct record_param_row row = {copy(out, param->key),   copy(out, param->value),
                                       copy(out, param->unit),  copy(out, param->origin),
                                       copy(out, param->claim), copy(out, param->source)};
        base_vec_push(&out->params, row);
    }
}

// Tables among which the engine divides its pool when it prints tokens: those of states too.
static int64_t tables_of(const struct kv_paged *pool)
{
    return pool->tables.growing_tables + pool->tables.state_blocks -
           pool->tables.spare_state_blocks;
}

static void add_means(struct record_run *out, const char *key, const char *means)
{
    struct record_param_row row = {copy(out, key),
                                   means,
                                   copy(out, ""),
                                   copy(out, "derived"),
                                   copy(out, spec_claim_name(SPEC_CALCULATED)),
                                   copy(out, "what was divided by what")};
    base_vec_push(&out->params, row);
}

// Of one replica, whose pool is its own.
static const char *guaranteed_means(const struct serve_config *config, const struct study_fit *fit,
                                    struct record_run *out)
{
    const char *means = study_fit_guaranteed_means(config, fit, &out->arena);
    return fit->running > fit->sequences
               ? base_arena_printf(&out->arena,
                                   "%s, admitted at once; %lld a replica are held when running",
                                   means, (long long)fit->running)
               : means;
}

static void gather_fit(const struct serve_config *config, struct record_run *out)
{
    struct study_fit fit;
    struct study_fit_expected expected;
    study_fit_of_longest(config, &fit);
    study_fit_of_workload(config, &expected);
    record_set_real(out, RECORD_CONCURRENCY_GUARANTEED,
                    (double)(fit.sequences * config->replica_count));
    if (isfinite(expected.requests)) {
        record_set_real(out, RECORD_CONCURRENCY_EXPECTED,
                        expected.requests * config->replica_count);
    }
    const char *assumed = study_fit_assumed_seats(config, &out->arena);
    if (assumed != NULL) {
        record_run_add_caveat(out, "seats_assumed", assumed);
    }
    add_means(out, "concurrency_guaranteed.means", guaranteed_means(config, &fit, out));
    add_means(out, "concurrency_expected.means",
              study_fit_expected_means(config, &expected, &out->arena));
}

// As the engine prints them, where the pool is the one that the engine would make (it is not where memory has no end).
static void gather_pool_tokens(const struct serve_config *config, const struct kv_paged *pool,
                               struct record_run *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    bool is_printed =
        waterfall->pages.kind_count > 0 && config->pool_blocks == waterfall->kv_pool_blocks;
    int64_t tables = tables_of(pool), usable = config->pool_blocks - config->reserved_blocks;
    record_set_integer(out, RECORD_KV_POOL_TOKENS,
                       is_printed ? waterfall->kv_pool_tokens
                                  : config->pool_blocks / tables * pool->block_tokens);
    record_set_integer(out, RECORD_KV_USABLE_TOKENS,
                       is_printed ? waterfall->kv_usable_tokens
                                  : usable / tables * pool->block_tokens);
}

static void gather_pool(const struct serve_config *config, struct record_run *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    record_set_integer(out, RECORD_KV_POOL_BLOCKS, config->pool_blocks);
    gather_pool_tokens(config, &pool, out);
    record_set_integer(out, RECORD_KV_POOL_BYTES,
                       kv_paged_pool_bytes(&pool) * config->replica_count);
    record_set_integer(out, RECORD_KV_REPLICATION, config->layout.kv_replication);
    record_set_integer(out, RECORD_LOWER_BOUND_BYTES_PER_TOKEN,
                       (int64_t)config->layout.lower_bound_bytes_per_token);
    gather_fit(config, out);
    for (size_t i = 0; i < waterfall->row_count; i++) {
        const struct kv_waterfall_row *from = &waterfall->rows[i];
        struct record_waterfall_row row = {kv_waterfall_line_name(from->line), from->bytes_per_gpu,
                                           spec_claim_name(from->claim), copy(out, from->source)};
        base_vec_push(&out->waterfall, row);
    }
}

/* ---- the ledger ---- */

static void add_ledger_row(struct record_run *out, uint32_t replica, const char *at,
                           const char *component, int64_t bytes, int64_t slot_bytes)
{
    struct record_ledger_row row = {.replica = replica,
                                    .at = at,
                                    .component = component,
                                    .bytes = bytes,
                                    .tokens = slot_bytes > 0 ? bytes / slot_bytes : -1,
                                    .claim = spec_claim_name(SPEC_SIMULATED)};
    base_vec_push(&out->ledger, row);
}

// `ledger` as rows; tokens where a line counts whole token slots.
static void add_ledger(const struct serve_config *config, uint32_t replica, const char *at,
                       const struct kv_ledger *ledger, struct record_run *out)
{
    int64_t slot = (int64_t)config->layout.slot_bytes;
    for (size_t i = 0; i < KV_LEDGER_LINE_COUNT; i++) {
        bool counts_slots = i == KV_LEDGER_BLOCK_ROUNDING || i == KV_LEDGER_HELD_BACK ||
                            i == KV_LEDGER_FREE || i == KV_LEDGER_CACHED ||
                            i == KV_LEDGER_RESERVED || i == KV_LEDGER_FRAGMENTED;
        int64_t unit = i == KV_LEDGER_LOWER_BOUND
                           ? (int64_t)config->layout.lower_bound_bytes_per_token
                       : counts_slots ? slot
                                      : 0;
        add_ledger_row(out, replica, at, kv_ledger_line_name(i), kv_ledger_line_bytes(ledger, i),
                       unit);
    }
    add_ledger_row(out, replica, at, "allocated", kv_ledger_allocated_bytes(ledger), slot);
    add_ledger_row(out, replica, at, "pool", ledger->pool_bytes, slot);
}

// In a pool that is always full the rounded lines may be some bytes more than it: they give those back.
static void round_within_pool(struct kv_ledger *ledger)
{
    int64_t *const lines[] = {&ledger->block_rounding_bytes, &ledger->reserved_bytes,
                              &ledger->cached_bytes, &ledger->fragmented_bytes,
                              &ledger->lower_bound_bytes};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && ledger->free_bytes < 0; i++) {
        int64_t over = -ledger->free_bytes < *lines[i] ? -ledger->free_bytes : *lines[i];
        *lines[i] -= over;
        ledger->free_bytes += over;
    }
}

void study_add_means(const struct serve_integrals *window, double ticks,
                     struct kv_paged_means *means)
{
    means->live_tokens += base_i128_to_double(window->live_tokens) / ticks;
    means->sequences += base_i128_to_double(window->running) / ticks;
    means->used_blocks += base_i128_to_double(window->used_blocks) / ticks;
    means->shared_blocks += base_i128_to_double(window->shared_blocks) / ticks;
    means->cached_blocks += base_i128_to_double(window->cached_blocks) / ticks;
    means->promised_tokens += base_i128_to_double(window->promised_tokens) / ticks;
    means->fragmented_blocks += base_i128_to_double(window->fragmented_blocks) / ticks;
    means->loading_blocks += base_i128_to_double(window->loading_blocks) / ticks;
    means->blank_blocks += base_i128_to_double(window->blank_blocks) / ticks;
    means->kept_sequences += base_i128_to_double(window->kept_sequences) / ticks;
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        means->visible_tokens[w] += base_i128_to_double(window->visible_tokens[w]) / ticks;
        means->dropped_blocks[w] += base_i128_to_double(window->dropped_blocks[w]) / ticks;
        means->table_blocks[w] += base_i128_to_double(window->table_blocks[w]) / ticks;
        means->kept_visible_tokens[w] +=
            base_i128_to_double(window->kept_visible_tokens[w]) / ticks;
    }
}

// A mean ledger: each line rounded, free takes the rest, so that the mean adds up too.
static void mean_ledger(const struct study_replications *replications, size_t replica,
                        struct kv_ledger *out)
{
    const struct serve_config *config = replications->config;
    struct kv_paged_means means = {.live_tokens = 0};
    for (size_t i = 0; i < replications->count; i++) {
        const struct serve_result *result = &replications->at[i].result;
        double ticks = base_i128_to_double(result->window_ticks) * (double)replications->count;
        if (ticks > 0) {
            study_add_means(&result->replicas[replica].window, ticks, &means);
        }
    }
    struct kv_paged pool;
    serve_config_pool(config, &pool);
    kv_paged_mean_ledger(&pool, &means, out);
    round_within_pool(out);
}

// As a replication notes its own peak.
static bool is_higher(const struct serve_config *config, const struct kv_paged_state *a,
                      const struct kv_paged_state *b)
{
    return kv_policy_has_slots(config->kv_policy) ? a->live_tokens > b->live_tokens
                                                  : a->used_blocks > b->used_blocks;
}

static void gather_ledger(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    for (uint32_t r = 0; r < config->replica_count; r++) {
        struct kv_ledger ledger;
        mean_ledger(replications, r, &ledger);
        add_ledger(config, r, "mean", &ledger, out);
        // The peak is one instant: that of the replication in which the replica held most.
        const struct serve_replica_result *most = &replications->at[0].result.replicas[r];
        for (size_t i = 1; i < replications->count; i++) {
            const struct serve_replica_result *other = &replications->at[i].result.replicas[r];
            most = is_higher(config, &other->peak, &most->peak) ? other : most;
        }
        struct kv_paged pool;
        serve_config_pool(config, &pool);
        kv_paged_ledger(&pool, &most->peak, &ledger);
        add_ledger(config, r, "peak", &ledger, out);
    }
}

/* ---- limits ---- */

static void add_limit(struct record_run *out, const char *kind, const char *phase, const char *name,
                      double share)
{
    struct record_limit_row row = {kind, phase, name, share};
    base_vec_push(&out->limits, row);
}

static void sum_windows(const struct study_replications *replications, struct serve_integrals *sum,
                        base_i128 *ticks)
{
    *sum = (struct serve_integrals){0};
    *ticks = 0;
    for (size_t i = 0; i < replications->count; i++) {
        const struct serve_result *result = &replications->at[i].result;
        for (size_t r = 0; r < result->replica_count; r++) {
            const struct serve_integrals *window = &result->replicas[r].window;
            *ticks += result->window_ticks;
            for (size_t k = 0; k < SERVE_LIMIT_COUNT; k++) {
                sum->limit[k] += window->limit[k];
            }
            for (size_t k = 0; k < COST_BOUND_COUNT; k++) {
                sum->bound[0][k] += window->bound[0][k];
                sum->bound[1][k] += window->bound[1][k];
            }
        }
    }
}

static void gather_limits(const struct study_replications *replications, struct record_run *out)
{
    struct serve_integrals sum;
    base_i128 ticks;
    sum_windows(replications, &sum, &ticks);
    if (ticks <= 0) {
        return;
    }
    double whole = base_i128_to_double(ticks);
    size_t largest = 0;
    for (size_t k = 0; k < SERVE_LIMIT_COUNT; k++) {
        const char *name = serve_limit_name((enum serve_limit)k);
        add_limit(out, k < SERVE_LIMIT_COMPUTE ? "waiting" : "bound", "all", name,
                  base_i128_to_double(sum.limit[k]) / whole);
        largest = sum.limit[k] > sum.limit[largest] ? k : largest;
    }
    for (size_t phase = 0; phase < 2; phase++) {
        for (size_t k = 0; k < COST_BOUND_COUNT; k++) {
            add_limit(out, "bound", phase == 0 ? "prefill" : "decode",
                      cost_bound_name((enum cost_bound)k),
                      base_i128_to_double(sum.bound[phase][k]) / whole);
        }
    }
    record_set_text(out, RECORD_BINDING_LIMIT, serve_limit_name((enum serve_limit)largest));
}

/* ---- where content was found ---- */

// Sums over replicas, weighted by replication; waits are sums of transfers until they are divided by their number.
struct tier_sum {
    struct record_tier_row row;
    double reads, writes;
};

static void add_pool(const struct serve_replica_result *from, double weight,
                     struct record_tier_row *row)
{
    row->hit_tokens += weight * (double)from->hit_tokens;
    row->queried_tokens += weight * (double)from->lookup_tokens;
    row->hit_blocks += weight * (double)from->reuse.hit_blocks;
    row->evicted += weight * (double)from->evicted_blocks;
}

static void add_tier(const struct serve_config *config, const struct serve_result *result,
                     const struct serve_tier_result *from, double weight, struct tier_sum *sum)
{
    struct record_tier_row *row = &sum->row;
    double block_bytes = (double)serve_config_block_bytes(config);
    double chunk_blocks = (double)config->sched.tier.chunk_blocks;
    double end = base_i128_to_double(result->end_ticks), share = weight / end;
    row->hit_tokens += weight * (double)from->hit_tokens;
    row->queried_tokens += weight * (double)from->asked_tokens;
    row->hit_blocks += weight * (double)from->read_blocks;
    row->bytes_in += weight * (double)from->written_blocks * block_bytes;
    row->bytes_out += weight * (double)from->read_blocks * block_bytes;
    row->held_bytes +=
        share * base_i128_to_double(from->held_chunk_ticks) * chunk_blocks * block_bytes;
    row->evicted += weight * (double)from->evicted_chunks * chunk_blocks;
    row->refused_stores += weight * (double)from->refused_stores;
    row->read_busy += share / config->replica_count * base_i128_to_double(from->read_ticks);
    row->write_busy += share / config->replica_count * base_i128_to_double(from->write_ticks);
    row->read_wait_ms += weight * base_i128_to_double(from->read_wait_ticks);
    row->write_wait_ms += weight * base_i128_to_double(from->write_wait_ticks);
    sum->reads += weight * (double)from->reads;
    sum->writes += weight * (double)from->writes;
}

static double ratio_or_none(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

static double busier_share(const struct serve_config *config, const struct serve_result *result,
                           size_t tier)
{
    double read = 0, write = 0;
    for (size_t r = 0; r < config->replica_count; r++) {
        read += base_i128_to_double(result->replicas[r].tiers[tier].read_ticks);
        write += base_i128_to_double(result->replicas[r].tiers[tier].write_ticks);
    }
    return fmax(read, write) / (base_i128_to_double(result->end_ticks) * config->replica_count);
}

static void push_tier(struct record_run *out, struct tier_sum *sum)
{
    struct record_tier_row *row = &sum->row;
    const double ticks_per_ms = 1e6 * (double)BASE_TICKS_PER_NS;
    row->hit_rate = ratio_or_none(row->hit_tokens, row->queried_tokens);
    row->read_wait_ms = ratio_or_none(row->read_wait_ms / ticks_per_ms, sum->reads);
    row->write_wait_ms = ratio_or_none(row->write_wait_ms / ticks_per_ms, sum->writes);
    row->claim = spec_claim_name(SPEC_SIMULATED);
    base_vec_push(&out->tiers, *row);
}

static void gather_pool_as_tier(const struct study_replications *replications, double weight,
                                struct record_run *out)
{
    const struct serve_config *config = replications->config;
    const double none = (double)NAN;
    struct tier_sum gpu = {.row = {.tier = "gpu",
                                   .capacity_bytes = (double)config->pool_blocks *
                                                     (double)serve_config_block_bytes(config) *
                                                     config->replica_count,
                                   .bytes_in = none,
                                   .bytes_out = none,
                                   .held_bytes = none,
                                   .link_busy = none,
                                   .read_busy = none,
                                   .write_busy = none,
                                   .refused_stores = none}};
    for (size_t i = 0; i < replications->count; i++) {
        for (size_t r = 0; r < config->replica_count; r++) {
            add_pool(&replications->at[i].result.replicas[r], weight, &gpu.row);
        }
    }
    push_tier(out, &gpu);
}

static void gather_tiers(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    double weight = 1.0 / (double)replications->count;
    if (config->tiers[0].name == NULL) {
        return;
    }
    gather_pool_as_tier(replications, weight, out);
    for (size_t t = 0; t < config->sched.tier.count; t++) {
        struct tier_sum sum = {.row = {.tier = base_arena_copy(&out->arena, config->tiers[t].name),
                                       .capacity_bytes = (double)config->tiers[t].capacity_bytes *
                                                         config->replica_count}};
        for (size_t i = 0; i < replications->count; i++) {
            const struct serve_result *result = &replications->at[i].result;
            sum.row.link_busy += weight * busier_share(config, result, t);
            for (size_t r = 0; r < config->replica_count; r++) {
                add_tier(config, result, &result->replicas[r].tiers[t], weight, &sum);
            }
        }
        if (config->sched.tier.count == 1) {
            sum.row.link_busy = record_get_real(out, RECORD_TIER_LINK_BUSY); // to the last bit
        }
        push_tier(out, &sum);
    }
}

/* ---- where the slowest percent spends its time ---- */

static void gather_tail(const struct study_replications *replications, enum spec_metric metric,
                        struct record_run *out)
{
    struct stats_hist hist;
    struct stats_cohort cohort;
    stats_hist_init(&hist);
    stats_cohort_init(&cohort, RECORD_CAUSE_COUNT);
    for (size_t i = 0; i < replications->count; i++) {
        const struct serve_result *result = &replications->at[i].result;
        for (size_t k = 0; k < result->class_count; k++) {
            stats_hist_merge(&hist, &result->classes[k].metric[metric]);
        }
        stats_cohort_merge(&cohort,
                           metric == SPEC_TTFT ? &result->ttft_cohort : &result->e2e_cohort);
    }
    if (hist.count > 0) {
        double sums[RECORD_CAUSE_COUNT], total = 0;
        int64_t from_ns = (int64_t)stats_hist_quantile_ns(&hist, 0.99);
        uint64_t count = stats_cohort_beyond(&cohort, from_ns, sums);
        for (size_t c = 0; c < RECORD_CAUSE_COUNT; c++) {
            total += sums[c];
        }
        for (size_t c = 0; c < RECORD_CAUSE_COUNT && count > 0; c++) {
            struct record_tail_row row = {
                spec_metric_name(metric), record_cause_name((enum record_cause)c),
                total > 0 ? sums[c] / total : 0, sums[c] / (double)count / 1e6};
            base_vec_push(&out->tails, row);
        }
    }
    stats_hist_release(&hist);
    stats_cohort_release(&cohort);
}

/* ---- rows ---- */

static void gather_rows(const struct study_replications *replications, struct record_run *out)
{
    for (size_t i = 0; i < replications->count; i++) {
        const struct study_collector *collector = &replications->at[i].collector;
        for (size_t k = 0; k < collector->requests.count; k++) {
            record_run_add_request(out, (uint32_t)i + 1, &collector->requests.at[k]);
        }
        for (size_t k = 0; k < collector->samples.count; k++) {
            record_run_add_sample(out, (uint32_t)i + 1, &collector->samples.at[k]);
        }
    }
}

static struct record_metric replica_row(const struct study_replications *replications,
                                        const char *group)
{
    return (struct record_metric){.statistic = "mean",
                                  .class_name = group,
                                  .unit = "",
                                  .ci_low = (double)NAN,
                                  .ci_high = (double)NAN,
                                  .n = (int64_t)replications->count,
                                  .method = "none",
                                  .claim = spec_claim_name(SPEC_SIMULATED),
                                  .basis = spec_claim_name(SPEC_ASSUMED)};
}

// How evenly replicas are loaded: one row each of a few figures, and the fullest against the mean.
static void gather_replicas(const struct study_replications *replications, struct record_run *out)
{
    const struct serve_config *config = replications->config;
    if (config->replica_count < 2) {
        return;
    }
    double sum = 0, most = 0;
    for (uint32_t r = 0; r < config->replica_count; r++) {
        double running = 0, requests = 0;
        for (size_t i = 0; i < replications->count; i++) {
            const struct serve_result *result = &replications->at[i].result;
            double ticks = base_i128_to_double(result->window_ticks);
            running +=
                ticks > 0 ? base_i128_to_double(result->replicas[r].window.running) / ticks : 0;
            requests += (double)result->replicas[r].requests;
        }
        struct record_metric row =
            replica_row(replications, base_arena_printf(&out->arena, "replica:%u", (unsigned)r));
        row.name = "running";
        row.value = running / (double)replications->count;
        sum += row.value;
        most = row.value > most ? row.value : most;
        base_vec_push(&out->metrics_by, row);
        row.name = "requests";
        row.statistic = "value";
        row.value = requests / (double)replications->count;
        base_vec_push(&out->metrics_by, row);
    }
    struct record_metric row = replica_row(replications, "replica:all");
    row.name = "running";
    row.statistic = "max_over_mean";
    row.value = sum > 0 ? most * config->replica_count / sum : (double)NAN;
    base_vec_push(&out->metrics_by, row);
}

void study_gather(const struct study_replications *replications, struct record_run *out)
{
    gather_identity(replications->config, out);
    gather_pool(replications->config, out);
    study_gather_figures(replications, out);
    gather_ledger(replications, out);
    gather_limits(replications, out);
    gather_tiers(replications, out);
    gather_tail(replications, SPEC_TTFT, out);
    gather_tail(replications, SPEC_E2E, out);
    gather_replicas(replications, out);
    gather_rows(replications, out);
    study_gather_verdicts(replications, out);
}
