/*
 * result.h - what one replication found: counts, histograms, exact integrals. Everything here is integer or derived from
 * integers in a fixed order, so it is the same for jumping and stepping, on any machine and with any number of threads.
 */
#ifndef KVSIM_SERVE_RESULT_H
#define KVSIM_SERVE_RESULT_H

#include "base/i128.h"
#include "cost/cost.h"
#include "kv/paged.h"
#include "record/rows.h"
#include "sched/options.h"
#include "sched/reuse.h"
#include "spec/slo.h"
#include "stats/hist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What limits at an instant, in the order of `binding_limit`'s ties. */
enum serve_limit {
    SERVE_LIMIT_KV_POOL,
    SERVE_LIMIT_SEATS,
    SERVE_LIMIT_BUDGET,
    SERVE_LIMIT_LINK,
    SERVE_LIMIT_COMPUTE,
    SERVE_LIMIT_WEIGHT_BANDWIDTH,
    SERVE_LIMIT_KV_BANDWIDTH,
    SERVE_LIMIT_COMMUNICATION,
    SERVE_LIMIT_HOST,
    SERVE_LIMIT_ARRIVAL,
    SERVE_LIMIT_COUNT
};
const char *serve_limit_name(enum serve_limit limit);

/* Integrals over time, in ticks (2^-20 ns) times the unit; exact. */
struct serve_integrals {
    base_i128 live_tokens; /* tokens in the cache of running sequences */
    base_i128 visible_tokens[KV_WINDOWS_MAX], dropped_blocks[KV_WINDOWS_MAX],
        table_blocks[KV_WINDOWS_MAX]; /* as kv_paged_state */
    base_i128 used_blocks;
    base_i128 shared_blocks;     /* holders beyond the first, over held blocks */
    base_i128 cached_blocks;     /* idle, with content */
    base_i128 promised_tokens;   /* reserved, used or not */
    base_i128 fragmented_blocks; /* free, but no place for the head of the queue */
    base_i128 loading_blocks;    /* held back by transfers */
    base_i128 kept_sequences;    /* see kv_paged_state */
    /* by window: of it, what a next query would see */
    base_i128 kept_visible_tokens[KV_WINDOWS_MAX];
    base_i128 blank_blocks; /* held, without a token yet */
    base_i128 running;
    base_i128 waiting;
    base_i128 busy;         /* a step runs */
    base_i128 prefill_busy; /* a step with prefill tokens runs */
    base_i128 limit[SERVE_LIMIT_COUNT];
    base_i128 bound[2][COST_BOUND_COUNT]; /* [0] steps with prefill, [1] pure decode */
};

/* Of a tier behind the pool. Tokens asked for: beyond what is nearer, at admissions. */
struct serve_tier_result {
    int64_t asked_tokens, hit_tokens;
    int64_t read_blocks, written_blocks, reads, writes; /* over its links; transfers */
    int64_t added_chunks, evicted_chunks, held_chunks;  /* held at the end */
    int64_t refused_stores,
        refused_reads; /* no room for what was offered; above, for what is below */
    int64_t peak_chunks;
    base_i128 held_chunk_ticks;                  /* integral over the run */
    base_i128 read_ticks, write_ticks;           /* its links were busy */
    base_i128 read_wait_ticks, write_wait_ticks; /* transfers that waited for those before them */
};

struct serve_replica_result {
    struct serve_integrals whole;  /* time 0 to the end of the run */
    struct serve_integrals window; /* the measured window */
    /* at the first instant when used is largest; of slots: live tokens */
    struct kv_paged_state peak;
    int64_t peak_running, peak_waiting;
    uint64_t steps;
    int64_t computed_tokens, prefill_tokens;
    /* rewritten by caches that grow by concatenation, or moved by compaction */
    int64_t copied_tokens;
    int64_t swapped_blocks; /* moved to the host and back */
    int64_t copied_blocks;  /* written to while others held them */
    uint64_t preemptions;
    uint64_t requests;                                 /* routed here */
    int64_t lookup_tokens, hit_tokens, evicted_blocks; /* of the prefix cache */
    struct sched_reuse reuse;
    struct serve_tier_result tiers[SCHED_TIERS_MAX]; /* nearest first */
    int64_t declined_tokens, declined_count; /* found in a tier, and computed again all the same */
    base_i128 load_wait_ticks; /* sum over loads, from when each could begin to its end */
    base_i128 stall_ticks;     /* steps waited for transfers */
};

struct serve_class_result {
    uint64_t arrived, completed, failed, counted, good; /* counted, good: outside the warm-up */
    /* completed, outside the warm-up; ITL: delivered gaps */
    struct stats_hist metric[SPEC_METRIC_COUNT];
};

/*
 * A replication in at most 64 segments of equally many arrivals; when the 64th is full, neighbours are merged and segments
 * are twice as long, so memory does not grow. `span` sums what happened between a segment's first arrival and the next
 * segment's; `value_...` what became of the requests that arrived in it, warm-up included.
 */
enum { SERVE_SEGMENTS = 64 };

enum serve_span {
    SERVE_SPAN_TICKS, /* its length; the integrals below are in ticks times the unit, over all replicas */
    SERVE_SPAN_IN_FLIGHT,
    SERVE_SPAN_RUNNING,
    SERVE_SPAN_WAITING,
    SERVE_SPAN_BUSY,
    SERVE_SPAN_PREFILL_BUSY,
    SERVE_SPAN_LOWER_BOUND_BYTES,
    SERVE_SPAN_USED_BLOCKS,
    SERVE_SPAN_ARRIVED,
    SERVE_SPAN_COMPLETED,
    SERVE_SPAN_GOOD, /* counts */
    SERVE_SPAN_PROMPT_TOKENS,
    SERVE_SPAN_OUTPUT_TOKENS, /* of requests completed */
    SERVE_SPAN_COUNT
};

struct serve_segment {
    uint64_t value_count[SPEC_METRIC_COUNT]; /* completed; no ITL */
    base_i128 value_sum_ns[SPEC_METRIC_COUNT];
    base_i128 span[SERVE_SPAN_COUNT];
    int64_t end_waiting; /* requests in the queues when it ended */
    /* [SPEC_METRIC_COUNT], buckets alone, ITL by time; NULL but in a single run */
    struct stats_hist *hists;
};

enum serve_status { SERVE_DONE, SERVE_OVERLOADED, SERVE_STUCK, SERVE_ENGINE_DIED };

struct serve_result {
    enum serve_status status;
    size_t class_count, replica_count;
    struct serve_class_result *classes;
    struct serve_replica_result *replicas;
    struct stats_cohort ttft_cohort, e2e_cohort; /* shares by record_cause */
    uint64_t outcomes[RECORD_OUTCOME_COUNT];
    uint64_t arrived;
    uint64_t engine_requests; /* sequences: of several answers each one, of a search each step's */
    int64_t prompt_tokens;    /* of all that arrived */
    int64_t output_tokens;    /* delivered to anyone */
    int64_t generated_tokens; /* for answers, those that nobody was given included */
    int64_t recomputed_tokens;
    uint64_t window_arrived, window_completed, window_good;
    int64_t window_prompt_tokens, window_output_tokens; /* of requests completed in the window */
    base_i128 window_ticks;                             /* its length */
    base_i128 end_ticks;                                /* the last event */
    base_i128 sojourn_ticks; /* sum over ended requests of end - arrival */
    /* integral of requests in flight: equals sojourn_ticks once all have ended */
    base_i128 in_flight_ticks;
    base_i128 window_in_flight_ticks;
    struct serve_segment segments[SERVE_SEGMENTS];
    size_t segment_count;     /* that are full */
    int64_t segment_arrivals; /* per segment */
    uint64_t first_counted;   /* arrivals before the warm-up was over; UINT64_MAX: it never was */
};

void serve_result_init(struct serve_result *result, size_t class_count, size_t replica_count);
void serve_result_release(struct serve_result *result);

struct base_pack;
/* To and from another process (base/pack.h); what is read is released as any other. */
void serve_result_pack(struct base_pack *pack, struct serve_result *result);

/* A queue that keeps more than this share of what arrives, beyond chance, grows without end. */
#define SERVE_GROWTH_SHARE 0.01

/* How far the queue rose over the second half of the full segments, and the standard error of such a rise were there no
 * drift (stats_rise()). Returns the arrivals of that half; 0 and no rise where there are fewer than 16 segments. */
double serve_result_queue_rise(const struct serve_result *result, double *rise, double *error);

#endif
