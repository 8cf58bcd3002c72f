/*
 * serve_int.h - the service's own state, shared by the files of this room.
 */
#ifndef KVSIM_SERVE_SERVE_INT_H
#define KVSIM_SERVE_SERVE_INT_H

#include "base/mem.h"
#include "base/pool.h"
#include "serve/replica.h"
#include "serve/serve.h"

struct serve {
    const struct serve_config *config;
    const struct serve_run_options *options;
    struct serve_source source;
    struct workload_source *own_source;
    struct record_sink *sink;
    struct serve_result *result;
    struct kvsim_error *err;
    enum kvsim_status status; /* of the source; the run ends when it is not OK */

    struct base_arena arena;
    struct base_pool requests;
    struct serve_request *all; /* every request that is known and has not ended */
    struct serve_replica *replicas;
    struct des_heap external, boundary;
    struct des_event sample_event, close_event; /* both of sampling priority: they change nothing */

    uint64_t arrived, sample_count, rows_recorded;
    uint64_t sequences; /* that arrived: as many as requests, where each has one */
    int64_t in_flight;  /* arrived, not ended */
    base_i128 in_flight_since;
    struct serve_request *held_head, *held_tail; /* waiting for max_concurrency */
    bool source_is_dry;
    bool has_follow_ups;   /* the end of a request can bring another */
    bool arrivals_stopped; /* overload: the rest does not arrive */
    uint32_t next_replica; /* round robin */

    uint64_t warmup_requests;
    int64_t warmup_ns; /* by time; -1 = by requests */
    bool is_steady, window_is_open, window_is_closed;
    base_i128 window_start_ticks, in_flight_at_window_start;
    base_i128 sample_interval, last_sample;
    int64_t *sampled_prefill, *sampled_emitted; /* [replica]: totals at the last sample */
    base_i128 segment_start[SERVE_SPAN_COUNT], segment_totals[SERVE_SPAN_COUNT];
    int64_t segment_arrived;
    unsigned segment_shift; /* a segment has 2^shift arrivals */
    bool has_segment_hists;
    struct stats_hist *gaps_before; /* [class_count]: gaps at the last segment's end */
};

/* Tokens that a client has got. */
struct serve_delivered {
    int64_t all;       /* of all its answers */
    int64_t longest;   /* of the one that has most */
    int64_t first;     /* of the first: a session goes on with that one */
    int64_t generated; /* by the engine: with those of answers that are not returned */
};

/* Of a request for one answer. */
static inline struct serve_delivered serve_delivered_one(int64_t tokens)
{
    return (struct serve_delivered){tokens, tokens, tokens, tokens};
}

/* Called by replicas. */
void serve_first_token(struct serve *serve, struct serve_request *request);
void serve_gap(struct serve *serve, struct serve_request *request, base_i128 gap_ticks);
/* A sequence has delivered its whole answer; the request is given back, and its client's with it when it was the last. */
void serve_sequence_completed(struct serve *serve, struct serve_request *request, base_i128 now);
/* What the client sees: outcome, metrics, row; and what follows upon that. */
void serve_request_ended(struct serve *serve, struct serve_request *request, base_i128 now,
                         enum record_outcome outcome, const struct serve_delivered *delivered);
/* The engine has given a client's request up: there was no room for it, or it could never run. */
void serve_request_given_up(struct serve *serve, struct serve_request *request, base_i128 now,
                            enum record_outcome outcome);
/* A request that is known from now on, blank but for what was asked. */
struct serve_request *serve_request_new(struct serve *serve, const struct workload_request *asked);
/* Nothing will happen any more but engines that turn in circles. */
bool serve_is_over(const struct serve *serve);
/* Into its replica's queue, as a sequence of its own. */
void serve_sequence_enter(struct serve *serve, struct serve_request *request, base_i128 now);
/* Known to its replica, to come with the first one of its group. */
void serve_sequence_expect(struct serve *serve, struct serve_request *request, base_i128 now);

#endif
