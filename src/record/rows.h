/*
 * rows.h - what a replication reports while it runs: one row per request, step and timeline sample.
 *
 * Times are integer ns of simulated time (floor of the exact clock), bytes are of one replica over all its GPUs. A sink
 * receives rows in a fixed order (requests by end, ties by place in the running list; steps by schedule; samples by
 * time); texts are valid only during the call. Ownership: the caller owns every row.
 */
#ifndef KVSIM_RECORD_ROWS_H
#define KVSIM_RECORD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a request's time went; the parts add up to e2e (within 1 ns each). */
enum record_cause {
    RECORD_WAIT_KV_POOL,   /* the head of the queue waited for blocks */
    RECORD_WAIT_SEATS,     /* ... for max_num_seqs */
    RECORD_WAIT_BUDGET,    /* ... for max_num_batched_tokens */
    RECORD_WAIT_LINK,      /* ... for a transfer */
    RECORD_WAIT_STEP,      /* nothing but the end of the steps already scheduled */
    RECORD_PREFILL,        /* first scheduling to first token */
    RECORD_PREEMPTED,      /* thrown out, waiting again and recomputing */
    RECORD_OTHERS_PREFILL, /* decoding in steps that also prefilled others */
    RECORD_DECODE_COMPUTE,
    RECORD_DECODE_WEIGHT_BANDWIDTH,
    RECORD_DECODE_KV_BANDWIDTH,
    RECORD_DECODE_COMMUNICATION,
    RECORD_DECODE_HOST, /* decoding in pure decode steps, by what bound them */
    RECORD_CAUSE_COUNT
};
const char *record_cause_name(
    enum record_cause cause); /* wait_kv_pool, ... snake_case, also column names + _ms */

enum record_outcome {
    RECORD_OUTCOME_COMPLETED,
    RECORD_OUTCOME_REJECTED,
    RECORD_OUTCOME_UNSERVABLE,
    RECORD_OUTCOME_TIMED_OUT,
    RECORD_OUTCOME_ABORTED,
    RECORD_OUTCOME_UNFINISHED,
    RECORD_OUTCOME_COUNT
};
const char *record_outcome_name(enum record_outcome outcome);

enum record_finish {
    RECORD_FINISH_NONE,
    RECORD_FINISH_STOP,
    RECORD_FINISH_LENGTH,
    RECORD_FINISH_ABORT
};
const char *record_finish_name(enum record_finish reason); /* "", "stop", "length", "abort" */

struct record_request {
    uint64_t index;         /* its own within a replication, in order of arrival */
    const char *id;         /* the trace's own, else the index in decimal */
    const char *class_name; /* "" when the workload has no classes */
    uint32_t replica;
    int64_t arrival_ns;
    int64_t prompt_tokens,
        output_tokens; /* delivered; of several answers, by the one that has most */
    /* by all sequences, returned or not; this and their number are not stored */
    int64_t generated_tokens;
    uint32_t sequences; /* 1 unless the engine makes several answers */
    int64_t cached_tokens, cached_tokens_total, computed_tokens, recomputed_tokens;
    int64_t queue_ns, ttft_ns, tpot_ns, e2e_ns; /* -1: does not exist */
    int64_t finish_ns;                          /* absolute */
    uint32_t preemptions;
    enum record_outcome outcome;
    enum record_finish finish_reason;
    bool is_counted; /* false: warm-up */
    bool is_good;    /* met every request-level SLO */
    int64_t cause_ns[RECORD_CAUSE_COUNT];
};

/* The ledger of a pool in the order of kv/ledger.h, the pool last; `allocated` follows from the lines. */
enum { RECORD_LEDGER_SHARED = 7, RECORD_LEDGER_POOL = 12, RECORD_LEDGER_LINES = 13 };
const char *
record_ledger_name(size_t line); /* "lower_bound" ... "free", "pool": as in kv/ledger.h */
int64_t record_ledger_allocated(const int64_t ledger_bytes[RECORD_LEDGER_LINES]);

struct record_list_item {
    const char *id;
    int64_t tokens;
};

struct record_step {
    uint32_t replication; /* from 1; 0 while nobody has said which one it is */
    uint32_t replica;
    uint64_t step; /* from 1 */
    int64_t sched_ns, start_ns, end_ns;
    int64_t prefill_tokens, decode_seqs, context_tokens;
    int64_t running, waiting, free_blocks, used_blocks, cached_blocks;
    int64_t ledger_bytes[RECORD_LEDGER_LINES];
    /* lists, in scheduling order */
    size_t scheduled_count, admitted_count, preempted_count, finished_count;
    const struct record_list_item *scheduled, *admitted, *preempted, *finished;
    size_t swapped_out_count, swapped_in_count;
    const struct record_list_item *swapped_out, *swapped_in;
    int64_t running_end, free_blocks_end;
};

/* At most one for a replica at one time. */
struct record_sample {
    uint32_t replica;
    int64_t t_ns;
    int64_t running, waiting;
    double kv_usage;
    double prompt_throughput, output_throughput; /* tokens/s since the sample before */
    int64_t ledger_bytes[RECORD_LEDGER_LINES];
};

/*
 * With sample_ns = -1 there are at most RECORD_SAMPLES_MAX samples a replica: when that many have come, the sink drops the
 * 1st, 3rd, 5th ... of them, and samples go on at twice the interval.
 */
enum { RECORD_SAMPLES_MAX = 1000 };

struct record_sink;

/* A function may be NULL where the sink asks for no such rows. */
struct record_sink_ops {
    void (*on_request)(struct record_sink *sink, const struct record_request *row);
    void (*on_step)(struct record_sink *sink, const struct record_step *row);
    void (*on_sample)(struct record_sink *sink, const struct record_sample *row);
};

struct record_sink {
    const struct record_sink_ops *ops;
    uint64_t request_limit; /* rows wanted; 0 = none, UINT64_MAX = all */
    bool wants_steps;       /* --steps */
    /* timeline interval; 0 = none, -1 = at most 1,000 points, the interval doubles */
    int64_t sample_ns;
};

#endif
