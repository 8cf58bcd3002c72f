/*
 * config.h - everything a simulated service needs, resolved and immutable: the border between scenario and run.
 *
 * scenario makes one serve_config a point; many replications on many threads read it at once. All units SI: ns, bytes,
 * tokens. Ownership: the scenario's arena owns it and all it points to.
 */
#ifndef KVSIM_SERVE_CONFIG_H
#define KVSIM_SERVE_CONFIG_H

#include "cost/cost.h"
#include "kv/ledger.h"
#include "kv/paged.h"
#include "kv/reserve.h"
#include "kv/space.h"
#include "kv/waterfall.h"
#include "sched/options.h"
#include "spec/hardware.h"
#include "spec/kv.h"
#include "spec/model.h"
#include "spec/slo.h"
#include "workload/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What copying costs a step where caches grow by concatenation or reservations are moved, in ticks (2^-20 ns) per token. */
struct serve_copy_ticks {
    int64_t per_cached_token;  /* copied: read and written */
    int64_t per_context_token; /* after the step: K and V repeated to all query heads */
};

/* Memory behind the pool, for reports: what it holds and does stands in sched_options.tier. */
struct serve_tier {
    const char *name;       /* NULL: there is none */
    int64_t capacity_bytes; /* over all GPUs of a replica */
};

/* Beams times tokens that a search outside the engine has ids for: more is refused. */
#define SERVE_SEARCH_IDS_MAX ((int64_t)1 << 31)

/* How the engine is walked: the same results by arithmetic (jumping) or step by step (for tests and --steps). */
enum serve_mode { SERVE_JUMP, SERVE_STEP };

enum serve_router { SERVE_ROUND_ROBIN, SERVE_LEAST_OUTSTANDING };

struct serve_warmup {
    enum {
        SERVE_WARMUP_DEFAULT,
        SERVE_WARMUP_SHARE,
        SERVE_WARMUP_REQUESTS,
        SERVE_WARMUP_TIME
    } kind;
    double share; /* of the requests of a replication */
    int64_t requests;
    int64_t time_ns;
};

/* Replications are added in rounds until a figure's interval is narrow: run.until. */
struct serve_until {
    const char *column;         /* of run_summary: ttft_p99_ms; NULL: no such wish */
    double relative_half_width; /* half the interval over the value */
    int64_t max_replications;
};

/* A figure of run_summary against a number: require: ["preemptions == 0"]. */
struct serve_require {
    const char *text;
    const char *figure;
    enum { SERVE_LE, SERVE_LT, SERVE_GE, SERVE_GT, SERVE_EQ, SERVE_NE } relation;
    double value; /* in the figure's own unit */
};

/* A parameter as it was resolved, for run_param. */
struct serve_param {
    const char *key, *value, *unit, *origin, *claim, *source;
};

/* Something a reader of the result must know: run_caveat. */
struct serve_caveat {
    const char *code, *text;
};

struct sched_ops;

struct serve_config {
    const char *name; /* the scenario's */
    char hash[33];    /* fingerprint of the resolved scenario (its run.seed included) */
    const char *yaml; /* the resolved scenario as canonical text */

    const struct spec_model *model;
    /* NULL when the scenario names none (pool and cost stated) */
    const struct spec_hardware *hardware;
    const char *model_name, *hardware_name, *engine_name, *kv_cache_dtype;
    uint32_t tensor_parallel, pipeline_parallel, data_parallel, gpu_count_per_replica;

    struct spec_kv_layout layout;
    struct kv_waterfall waterfall; /* rows, pool blocks, or the refusal */
    int64_t pool_blocks;           /* of one replica, null block included */
    int64_t reserved_blocks;       /* null block and others outside use */
    struct kv_tables tables;       /* of a sequence; zeroed: one, as the layout has it */

    struct sched_options sched;
    const struct sched_ops *scheduler; /* NULL: vllm_v1 */
    enum kv_policy kv_policy;
    enum kv_placement kv_placement; /* of reservations */
    bool kv_compaction;             /* of a space; first fit and best fit only */
    enum kv_eviction kv_eviction;   /* of a prefix cache; other than lru with free_order new only */
    bool search_outside;            /* beams are a loop of requests, not a group of the engine */
    struct serve_copy_ticks copy;   /* concatenation, compaction, forks that are written to */
    int64_t swap_ticks_per_block;   /* to the host or back, before the step */
    struct kv_cells cells;          /* of slots; no groups: there are none */
    struct base_rational slot_prompt_similarity;
    struct serve_tier tiers[SCHED_TIERS_MAX]; /* nearest first */
    struct cost_config cost;
    struct workload_spec workload;

    uint32_t replica_count;
    enum serve_router router;

    int64_t replications;
    uint64_t seed;
    struct serve_warmup warmup;
    bool stop_when_overloaded;
    struct serve_until until;

    const struct spec_slo *slos;
    size_t slo_count;
    const struct serve_require *requires;
    size_t require_count;
    double usd_per_gpu_hour;  /* 0 = unknown */
    double price_utilization; /* 1 unless stated */

    uint64_t record_requests; /* rows of replication 1 (UINT64_MAX: of all replications) */
    int64_t record_sample_ns; /* see record_sink.sample_ns */

    struct workload_held held; /* of a request, for "expected" concurrency; 0 blocks = unknown */
    bool held_by_end;          /* it is what a request ends with: the scheduler admits by that */
    double prompt_mean,
        output_mean; /* resulting means after truncation, for the report; 0 = unknown */

    const struct serve_param *params;
    size_t param_count;
    const struct serve_caveat *caveats;
    size_t caveat_count;
};

/* The pool of a replica, empty. */
static inline void serve_config_pool(const struct serve_config *config, struct kv_paged *pool)
{
    kv_paged_init(pool, &config->layout, config->pool_blocks, config->reserved_blocks);
    if (config->tables.growing_tables > 0) {
        kv_paged_set_tables(pool, &config->tables);
    }
    if (config->cells.group_count > 0) {
        pool->cells = &config->cells;
    }
}

/* A pool that is asked for lengths alone: what its policy gives or promises a sequence. Of buddies, whose sizes are asked for,
 * `space` stays with it. */
static inline void serve_config_lengths(const struct serve_config *config, struct kv_space *space,
                                        struct kv_paged *out)
{
    *out = (struct kv_paged){.block_tokens = config->waterfall.pages.block_tokens,
                             .policy = config->kv_policy,
                             .longest_tokens = config->sched.max_model_len};
    if (kv_policy_reserves(config->kv_policy) && config->kv_placement == KV_BUDDY) {
        *space = (struct kv_space){.placement = KV_BUDDY};
        out->space = space;
    }
}

/* `scheduler`, or what NULL stands for. */
const struct sched_ops *serve_scheduler(const struct serve_config *config);
/* Blocks that admission keeps free once `running` sequences are there. */
int64_t serve_watermark_blocks(const struct serve_config *config, int64_t running);

/* Seats that one of the running takes, on average: a group that forks has one for each of its sequences. */
double serve_seats_each(const struct serve_config *config);

/* Of one block of a table, over all GPUs of a replica: what tiers count in. */
static inline int64_t serve_config_block_bytes(const struct serve_config *config)
{
    return config->tables.growing_tables > 0 ? config->tables.block_bytes
                                             : (int64_t)config->layout.block_bytes;
}

#endif
