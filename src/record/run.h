/*
 * run.h - a finished run as rows: what store writes, report prints and JSON shows. One table names every figure of
 * run_summary once, with unit, kind and meaning; schema, JSON keys and manual come from it.
 *
 * Ownership: a record_run owns an arena; every text and row lives in it until record_run_free().
 */
#ifndef KVSIM_RECORD_RUN_H
#define KVSIM_RECORD_RUN_H

#include "base/mem.h"
#include "record/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind { RECORD_NULL, RECORD_INTEGER, RECORD_REAL, RECORD_TEXT };

struct record_value {
    enum record_kind kind;
    int64_t integer;
    double real;
    const char *text;
};

/*
 * X(identifier, "column", kind, "unit", "help"). The order is the order of columns in run_summary and of keys in JSON.
 * Columns that live in run_host (created_at, wall_s) are not here; the view joins them in.
 */
#define RECORD_SUMMARY_TABLE(X)                                                                    \
    X(STATUS, "status", RECORD_TEXT, "", "done, not_settled, overloaded, stuck, engine_died")      \
    X(KVSIM_VERSION, "kvsim_version", RECORD_TEXT, "", "version that made the run")                \
    X(SCENARIO, "scenario", RECORD_TEXT, "", "the scenario's name")                                \
    X(SCENARIO_HASH, "scenario_hash", RECORD_TEXT, "", "fingerprint of the resolved scenario")     \
    X(MODEL, "model", RECORD_TEXT, "", "model")                                                    \
    X(HARDWARE, "hardware", RECORD_TEXT, "", "accelerator")                                        \
    X(ENGINE, "engine", RECORD_TEXT, "", "engine profile")                                         \
    X(COST_LEVEL, "cost_level", RECORD_TEXT, "", "datasheet, calibrated, affine, fixed, table")    \
    X(GPUS, "gpus", RECORD_INTEGER, "", "accelerators in all")                                     \
    X(TP, "tensor_parallel_size", RECORD_INTEGER, "", "tensor parallel ranks")                     \
    X(PP, "pipeline_parallel_size", RECORD_INTEGER, "", "pipeline stages")                         \
    X(DP, "data_parallel_size", RECORD_INTEGER, "", "data parallel ranks")                         \
    X(REPLICAS, "replicas", RECORD_INTEGER, "", "engine instances")                                \
    X(KV_CACHE_DTYPE, "kv_cache_dtype", RECORD_TEXT, "", "KV format")                              \
    X(BLOCK_SIZE, "block_size", RECORD_INTEGER, "tokens", "tokens per KV block")                   \
    X(SEED, "seed", RECORD_INTEGER, "", "master seed")                                             \
    X(REPLICATIONS, "replications", RECORD_INTEGER, "", "independent replications")                \
    X(REQUESTS, "requests", RECORD_REAL, "", "requests that arrived, mean per replication")        \
    X(COMPLETED, "completed", RECORD_REAL, "", "requests that ended well, mean per replication")   \
    X(FAILED, "failed", RECORD_REAL, "", "all others, mean per replication")                       \
    X(REJECTED, "rejected", RECORD_REAL, "", "refused on arrival")                                 \
    X(UNSERVABLE, "unservable", RECORD_REAL, "", "could never fit")                                \
    X(TIMED_OUT, "timed_out", RECORD_REAL, "", "given up by a client's timeout")                   \
    X(ABORTED, "aborted", RECORD_REAL, "", "aborted by client or engine")                          \
    X(DURATION_S, "duration_s", RECORD_REAL, "s", "simulated time, start to last event")           \
    X(WINDOW_S, "window_s", RECORD_REAL, "s", "measured window")                                   \
    X(STEPS, "steps", RECORD_REAL, "", "engine steps, mean per replication")                       \
    X(PROMPT_TOKENS, "prompt_tokens", RECORD_REAL, "tokens", "of requests that arrived")           \
    X(OUTPUT_TOKENS, "output_tokens", RECORD_REAL, "tokens", "delivered: of answers returned")     \
    X(COMPUTED_TOKENS, "computed_tokens", RECORD_REAL, "tokens", "computed by all steps")          \
    X(OFFERED_RATE, "offered_rate", RECORD_REAL, "1/s", "arrivals per second in the window")       \
    X(REQUEST_THROUGHPUT, "request_throughput", RECORD_REAL, "1/s",                                \
      "completed requests per second")                                                             \
    X(PROMPT_THROUGHPUT, "prompt_throughput", RECORD_REAL, "tokens/s",                             \
      "prompt tokens of completed requests")                                                       \
    X(OUTPUT_THROUGHPUT, "output_throughput", RECORD_REAL, "tokens/s",                             \
      "output tokens of completed requests")                                                       \
    X(TOTAL_TOKEN_THROUGHPUT, "total_token_throughput", RECORD_REAL, "tokens/s", "both")           \
    X(OUTPUT_THROUGHPUT_PER_GPU, "output_throughput_per_gpu", RECORD_REAL, "tokens/s",             \
      "output tokens per GPU")                                                                     \
    X(OUTPUT_THROUGHPUT_PER_USER, "output_throughput_per_user", RECORD_REAL, "tokens/s",           \
      "1 / mean tpot")                                                                             \
    X(REQUEST_GOODPUT, "request_goodput", RECORD_REAL, "1/s",                                      \
      "requests per second that meet all SLOs")                                                    \
    X(SLO_ATTAINMENT, "slo_attainment", RECORD_REAL, "",                                           \
      "share of requests that meet all request-level SLOs")                                        \
    X(SLO_MET, "slo_met", RECORD_INTEGER, "",                                                      \
      "1 when every SLO and require holds; NULL without any")                                      \
    X(TTFT_MEAN, "ttft_mean_ms", RECORD_REAL, "ms", "time to first token")                         \
    X(TTFT_P50, "ttft_p50_ms", RECORD_REAL, "ms", "")                                              \
    X(TTFT_P90, "ttft_p90_ms", RECORD_REAL, "ms", "")                                              \
    X(TTFT_P95, "ttft_p95_ms", RECORD_REAL, "ms", "")                                              \
    X(TTFT_P99, "ttft_p99_ms", RECORD_REAL, "ms", "")                                              \
    X(TPOT_MEAN, "tpot_mean_ms", RECORD_REAL, "ms",                                                \
      "time per output token: (e2e - ttft) / (outputs - 1)")                                       \
    X(TPOT_P50, "tpot_p50_ms", RECORD_REAL, "ms", "")                                              \
    X(TPOT_P90, "tpot_p90_ms", RECORD_REAL, "ms", "")                                              \
    X(TPOT_P95, "tpot_p95_ms", RECORD_REAL, "ms", "")                                              \
    X(TPOT_P99, "tpot_p99_ms", RECORD_REAL, "ms", "")                                              \
    X(ITL_MEAN, "itl_mean_ms", RECORD_REAL, "ms", "gaps between tokens, pooled")                   \
    X(ITL_P50, "itl_p50_ms", RECORD_REAL, "ms", "")                                                \
    X(ITL_P90, "itl_p90_ms", RECORD_REAL, "ms", "")                                                \
    X(ITL_P95, "itl_p95_ms", RECORD_REAL, "ms", "")                                                \
    X(ITL_P99, "itl_p99_ms", RECORD_REAL, "ms", "")                                                \
    X(E2E_MEAN, "e2e_mean_ms", RECORD_REAL, "ms", "arrival to last token")                         \
    X(E2E_P50, "e2e_p50_ms", RECORD_REAL, "ms", "")                                                \
    X(E2E_P90, "e2e_p90_ms", RECORD_REAL, "ms", "")                                                \
    X(E2E_P95, "e2e_p95_ms", RECORD_REAL, "ms", "")                                                \
    X(E2E_P99, "e2e_p99_ms", RECORD_REAL, "ms", "")                                                \
    X(QUEUE_MEAN, "queue_mean_ms", RECORD_REAL, "ms", "arrival to first scheduling")               \
    X(QUEUE_P50, "queue_p50_ms", RECORD_REAL, "ms", "")                                            \
    X(QUEUE_P90, "queue_p90_ms", RECORD_REAL, "ms", "")                                            \
    X(QUEUE_P95, "queue_p95_ms", RECORD_REAL, "ms", "")                                            \
    X(QUEUE_P99, "queue_p99_ms", RECORD_REAL, "ms", "")                                            \
    X(KV_POOL_BLOCKS, "kv_pool_blocks", RECORD_INTEGER, "blocks",                                  \
      "of one replica, as the engine prints them")                                                 \
    X(KV_POOL_TOKENS, "kv_pool_tokens", RECORD_INTEGER, "tokens",                                  \
      "of one replica, as the engine prints them")                                                 \
    X(KV_USABLE_TOKENS, "kv_usable_tokens", RECORD_INTEGER, "tokens",                              \
      "without null and reserved blocks")                                                          \
    X(KV_POOL_BYTES, "kv_pool_bytes", RECORD_INTEGER, "bytes", "all replicas, all GPUs")           \
    X(KV_REPLICATION, "kv_replication", RECORD_INTEGER, "", "copies per KV head or latent")        \
    X(LOWER_BOUND_BYTES_PER_TOKEN, "lower_bound_bytes_per_token", RECORD_INTEGER, "bytes",         \
      "2 L H_kv d_h b")                                                                            \
    X(KV_LOWER_BOUND_BYTES_MEAN, "kv_lower_bound_bytes_mean", RECORD_REAL, "bytes", "time mean")   \
    X(KV_LOWER_BOUND_BYTES_PEAK, "kv_lower_bound_bytes_peak", RECORD_REAL, "bytes",                \
      "when allocated is largest")                                                                 \
    X(KV_ALLOCATED_BYTES_MEAN, "kv_allocated_bytes_mean", RECORD_REAL, "bytes", "time mean")       \
    X(KV_ALLOCATED_BYTES_PEAK, "kv_allocated_bytes_peak", RECORD_REAL, "bytes", "largest")         \
    X(KV_USAGE_MEAN, "kv_usage_mean", RECORD_REAL, "", "allocated / usable pool")                  \
    X(KV_USAGE_PEAK, "kv_usage_peak", RECORD_REAL, "", "")                                         \
    X(USED_BLOCKS_PEAK, "used_blocks_peak", RECORD_REAL, "blocks", "largest, of one replica")      \
    X(PREEMPTIONS, "preemptions", RECORD_REAL, "", "mean per replication")                         \
    X(RECOMPUTED_TOKENS, "recomputed_tokens", RECORD_REAL, "tokens",                               \
      "computed again after preemption")                                                           \
    X(SWAPPED_BYTES, "swapped_bytes", RECORD_REAL, "bytes", "moved to and from the host")          \
    X(EVICTED_BLOCKS, "evicted_blocks", RECORD_REAL, "blocks", "cached blocks dropped")            \
    X(LOOKUP_TOKENS, "lookup_tokens", RECORD_REAL, "tokens", "asked of the prefix cache")          \
    X(PREFIX_HIT_RATE, "prefix_hit_rate", RECORD_REAL, "",                                         \
      "hit / asked tokens; NULL without a prefix cache")                                           \
    X(RUNNING_MEAN, "running_mean", RECORD_REAL, "",                                               \
      "requests that hold blocks, time mean, all replicas")                                        \
    X(RUNNING_PEAK, "running_peak", RECORD_REAL, "", "of one replica")                             \
    X(WAITING_MEAN, "waiting_mean", RECORD_REAL, "",                                               \
      "requests in the queue, time mean, all replicas")                                            \
    X(WAITING_PEAK, "waiting_peak", RECORD_REAL, "", "of one replica")                             \
    X(IN_FLIGHT_MEAN, "in_flight_mean", RECORD_REAL, "", "requests in the system, time mean")      \
    X(BUSY_FRACTION, "busy_fraction", RECORD_REAL, "", "share of time in which a step runs")       \
    X(PREFILL_TIME_FRACTION, "prefill_time_fraction", RECORD_REAL, "",                             \
      "share of busy time in steps with prefill")                                                  \
    X(BINDING_LIMIT, "binding_limit", RECORD_TEXT, "", "what limits: largest share of the window") \
    X(STABILITY, "stability", RECORD_TEXT, "", "stable, near_saturation, overloaded")              \
    X(SPARE_SHARE, "spare_share", RECORD_REAL, "",                                                 \
      "left of the fullest limit: seats, KV pool, tokens of a step; time mean")                    \
    X(CONCURRENCY_GUARANTEED, "concurrency_guaranteed", RECORD_REAL, "",                           \
      "sequences of max_model_len that are admitted at once, all replicas")                        \
    X(CONCURRENCY_EXPECTED, "concurrency_expected", RECORD_REAL, "",                               \
      "pool / mean blocks held, at most the seats")                                                \
    X(CONCURRENCY_WITHIN_SLO, "concurrency_within_slo", RECORD_REAL, "",                           \
      "mean in flight, if the SLOs are met")                                                       \
    X(USD_PER_MTOK_INPUT, "usd_per_mtok_input", RECORD_REAL, "usd",                                \
      "GPU cost / input tokens in millions")                                                       \
    X(USD_PER_MTOK_OUTPUT, "usd_per_mtok_output", RECORD_REAL, "usd",                              \
      "GPU cost / output tokens in millions")                                                      \
    X(USD_PER_MTOK_TOTAL, "usd_per_mtok_total", RECORD_REAL, "usd",                                \
      "GPU cost / all tokens in millions")                                                         \
    X(ENERGY_PER_OUTPUT_TOKEN_J, "energy_per_output_token_j", RECORD_REAL, "J",                    \
      "rated power x busy time")                                                                   \
    X(COPIED_BYTES, "copied_bytes", RECORD_REAL, "bytes",                                          \
      "rewritten by caches that grow by concatenation, moved by compaction, copied on write "      \
      "(V0); NULL elsewhere")                                                                      \
    X(PREFIX_HIT_TOKENS, "prefix_hit_tokens", RECORD_REAL, "tokens", "found in the prefix cache")  \
    X(PREFIX_LOOKUP_BLOCKS, "prefix_lookup_blocks", RECORD_REAL, "blocks",                         \
      "of the sequences admitted, partial ones included")                                          \
    X(PREFIX_HIT_BLOCKS, "prefix_hit_blocks", RECORD_REAL, "blocks", "of them found")              \
    X(PREFIX_LOST_BLOCKS, "prefix_lost_blocks", RECORD_REAL, "blocks",                             \
      "sent before, but evicted or not yet computed; NULL where that is not known")                \
    X(PREFIX_CUT_BLOCKS, "prefix_cut_blocks", RECORD_REAL, "blocks",                               \
      "begun by what was sent before: only whole blocks are found, and not the last")              \
    X(TIER_HIT_TOKENS, "tier_hit_tokens", RECORD_REAL, "tokens",                                   \
      "found in the tiers behind the pool; NULL without one")                                      \
    X(TIER_HIT_RATE, "tier_hit_rate", RECORD_REAL, "", "of the tokens that the pool did not have") \
    X(TIER_BYTES_IN, "tier_bytes_in", RECORD_REAL, "bytes", "stored from the pool")                \
    X(TIER_BYTES_OUT, "tier_bytes_out", RECORD_REAL, "bytes", "loaded to it")                      \
    X(TIER_LINK_BUSY, "tier_link_busy", RECORD_REAL, "",                                           \
      "share of time in which the busiest direction of a tier's link carries something")           \
    X(TIER_STALL_FRACTION, "tier_stall_fraction", RECORD_REAL, "",                                 \
      "share of time in which a step waits for a transfer")                                        \
    X(PREFIX_PENDING_BLOCKS, "prefix_pending_blocks", RECORD_REAL, "blocks",                       \
      "of prefix_lost_blocks: behind a block that another request was just computing")             \
    X(PREFIX_RECOMPUTED_BLOCKS, "prefix_recomputed_blocks", RECORD_REAL, "blocks",                 \
      "of prefix_lost_blocks: the request's own, evicted after its preemption")                    \
    X(UNFINISHED, "unfinished", RECORD_REAL, "", "still in the system when the run was ended")     \
    X(TIER_DECLINED_TOKENS, "tier_declined_tokens", RECORD_REAL, "tokens",                         \
      "found in a tier, but computed again, since that was faster")                                \
    X(GENERATED_TOKENS, "generated_tokens", RECORD_REAL, "tokens",                                 \
      "for answers, those that are not returned (best_of, beams) included")                        \
    X(ENGINE_REQUESTS, "engine_requests", RECORD_REAL, "",                                         \
      "sequences that engines were given: one for each answer, one for each token of a beam that " \
      "is searched outside")

#define RECORD_SUMMARY_ENUM(identifier, column, kind, unit, help) RECORD_##identifier,
enum record_summary { RECORD_SUMMARY_TABLE(RECORD_SUMMARY_ENUM) RECORD_SUMMARY_COUNT };
#undef RECORD_SUMMARY_ENUM

struct record_column {
    const char *name;
    enum record_kind kind;
    const char *unit;
    const char *help;
};
extern const struct record_column record_summary_columns[RECORD_SUMMARY_COUNT];

/* record_metric.method where all replications are one and the same trace, and an interval over them would say nothing. */
#define RECORD_METHOD_REPEATED "one_trace"

struct record_metric {
    /* run_summary's without statistic and unit: ttft, request_throughput, kv_usage */
    const char *name;
    const char *statistic;  /* mean, p50, p90, p95, p99, peak, value */
    const char *class_name; /* "" = all */
    const char *unit;
    double value, ci_low, ci_high; /* NaN -> NULL */
    int64_t n;
    const char *method, *claim, *basis;
};

struct record_replication_metric {
    uint32_t replication; /* from 1 */
    const char *name, *statistic, *class_name;
    double value;
    int64_t n;
};

struct record_ledger_row {
    uint32_t replica;
    const char *at; /* "mean", "peak" */
    const char *component;
    int64_t bytes;
    int64_t tokens; /* bytes / slot_bytes where that makes sense, else -1 */
    const char *claim;
};

struct record_waterfall_row {
    const char *line;
    int64_t bytes_per_gpu;
    const char *claim, *source;
};

struct record_limit_row {
    const char *kind;  /* bound | waiting */
    const char *phase; /* prefill | decode | all */
    const char *name;
    double share;
};

/*
 * Where content was found: the pool itself (`gpu`) and the tiers behind it, nearest first. Means of the replications,
 * whole runs, all replicas; NaN where a tier has no such thing.
 */
struct record_tier_row {
    const char *tier;
    double capacity_bytes;
    double hit_tokens, queried_tokens, hit_rate,
        hit_blocks;                          /* at admissions; queried: what those before lack */
    double bytes_in, bytes_out;              /* written to it from the memory above it, and read */
    double held_bytes;                       /* mean over time */
    double link_busy, read_busy, write_busy; /* shares of time; link: the busier direction */
    double evicted;                          /* blocks */
    double refused_stores;                   /* no chunk could go for them */
    double read_wait_ms,
        write_wait_ms; /* mean of a transfer's wait for those before it on its link */
    const char *claim;
};

struct record_tail_row {
    const char *metric, *cause;
    double share, ms;
};

struct record_caveat_row {
    const char *code, *text;
};

struct record_param_row {
    const char *key, *value, *unit, *origin, *claim, *source;
};

struct record_run {
    struct base_arena arena;
    int64_t run_id; /* given by store; 0 before */
    struct record_value summary[RECORD_SUMMARY_COUNT];
    struct {
        struct record_metric *at;
        size_t count, capacity;
    } metrics;
    struct {
        struct record_metric *at;
        size_t count, capacity;
    } metrics_by; /* dimension in class_name "replica:0", ... */
    struct {
        struct record_replication_metric *at;
        size_t count, capacity;
    } replication_metrics;
    struct {
        struct record_ledger_row *at;
        size_t count, capacity;
    } ledger;
    struct {
        struct record_waterfall_row *at;
        size_t count, capacity;
    } waterfall;
    struct {
        struct record_limit_row *at;
        size_t count, capacity;
    } limits;
    struct {
        struct record_tier_row *at;
        size_t count, capacity;
    } tiers; /* with a tier behind the pool */
    struct {
        struct record_tail_row *at;
        size_t count, capacity;
    } tails;
    struct {
        struct record_caveat_row *at;
        size_t count, capacity;
    } caveats;
    struct {
        struct record_param_row *at;
        size_t count, capacity;
    } params;
    struct {
        struct record_request *at;
        size_t count, capacity;
    } requests; /* of replication 1 unless asked for all */
    struct {
        struct record_sample *at;
        size_t count, capacity;
    } samples;
    struct {
        uint32_t *at;
        size_t count, capacity;
    } request_replications, sample_replications; /* beside the rows */
    struct {
        const char **at;
        size_t count, capacity;
    } slo_lines;               /* "ttft p99 <= 2 s: met (1.32 s)" */
    const char *scenario_yaml; /* the resolved scenario as canonical text */
    /* run_host */
    const char *created_at, *host;
    double wall_s;
    int64_t jobs;
};

void record_run_init(struct record_run *run);
void record_run_free(struct record_run *run);
void record_set_integer(struct record_run *run, enum record_summary column, int64_t value);
void record_set_real(struct record_run *run, enum record_summary column,
                     double value); /* NaN -> NULL */
void record_set_text(struct record_run *run, enum record_summary column,
                     const char *value); /* copied */

/* An integer as a double too; NaN for NULL and texts. The text, or "" for anything else. */
double record_value_real(const struct record_value *value); /* NaN: NULL or text */
double record_get_real(const struct record_run *run, enum record_summary column);
const char *record_get_text(const struct record_run *run, enum record_summary column);

/* The column of that name, or RECORD_SUMMARY_COUNT. */
enum record_summary record_summary_find(const char *column);

/*
 * The name that a column's figure has in run_metric, into `name`, and its statistic: ttft_p99_ms is "ttft" p99,
 * kv_allocated_bytes_peak is "kv_allocated" peak, duration_s is "duration" value, kv_pool_tokens is itself, value.
 */
const char *record_summary_metric(enum record_summary column, char *name, size_t bytes);

/* The row of run->metrics, or NULL. class_name "" = all requests. */
const struct record_metric *record_run_metric(const struct record_run *run, const char *name,
                                              const char *statistic, const char *class_name);

/* Copy a row with its texts into the run. A caveat that is there already is not added again. */
void record_run_add_request(struct record_run *run, uint32_t replication,
                            const struct record_request *row);
void record_run_add_sample(struct record_run *run, uint32_t replication,
                           const struct record_sample *row);
void record_run_add_caveat(struct record_run *run, const char *code, const char *text);

/*
 * A sink that keeps rows in a run: the first sink.request_limit requests and every sample; steps are dropped. The
 * caller sets the limits in `sink` after record_memory_init(). One run must not be filled from two threads at once.
 */
struct record_memory {
    struct record_sink sink; /* first, so that a pointer to it is one to the whole */
    struct record_run *run;
    uint32_t replication;
    uint64_t request_count; /* seen, kept or not */
};
void record_memory_init(struct record_memory *memory, struct record_run *run, uint32_t replication);

#endif
