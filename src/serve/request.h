/*
 * request.h - a request on its way through the service.
 */
#ifndef KVSIM_SERVE_REQUEST_H
#define KVSIM_SERVE_REQUEST_H

#include "des/heap.h"
#include "record/rows.h"
#include "sched/seq.h"
#include "workload/workload.h"

#include <stddef.h>

struct serve_replica;
struct serve_sequences;

/* Where its time goes at the moment. */
enum serve_phase { SERVE_QUEUED, SERVE_PREFILLING, SERVE_DECODING, SERVE_THROWN_OUT };

/* Causes of waiting and of decoding, in the order of enum record_cause. */
enum { SERVE_WAIT_STEP = RECORD_WAIT_STEP - RECORD_WAIT_KV_POOL, SERVE_WAIT_CAUSES };
enum { SERVE_DECODE_CAUSES = RECORD_CAUSE_COUNT - RECORD_OTHERS_PREFILL };

/*
 * A client's request, and as a rule the one sequence that the engine makes of it. A request for several answers stands for
 * its client alone: the engine has one of these for each answer, its `parent` the client's (sequences.h).
 */
struct serve_request {
    struct sched_seq seq;              /* first: the scheduler's handle is the request */
    struct serve_request *parent;      /* of one answer among several; else NULL */
    struct serve_sequences *sequences; /* of a request for several; else NULL; owned */
    struct serve_replica *replica;
    struct serve_request *all_prev, *all_next; /* every request that is known and has not ended */
    /* in a list of its own: held back by max_concurrency, or to be removed */
    struct serve_request *next;
    base_i128 arrival_ticks, mark_ticks; /* mark: since when it is in its phase */
    base_i128 first_token_ticks, last_token_ticks;
    bool has_first_token, given_up;
    enum serve_phase phase;
    int64_t first_scheduled_ns;     /* -1 before */
    struct des_event arrival_event; /* then, of a search outside the engine, its next step */
    struct des_event limit_event;   /* the client's next limit: first token, total, abort */
    int64_t wait_before_ns[SERVE_WAIT_CAUSES];     /* the replica's totals when it was queued */
    int64_t decode_before_ns[SERVE_DECODE_CAUSES]; /* ... when its decoding phase began */
    int64_t cause_ns[RECORD_CAUSE_COUNT];
    int64_t ttft_cause_ns[RECORD_CAUSE_COUNT];
    struct workload_request asked;
    struct spec_token_run *content_runs; /* with a prefix cache: prompt and answer; owned */
};

struct serve;
/* Gives the request back, and its memory beside it: its content and what it held. */
void serve_request_free(struct serve *serve, struct serve_request *request);

static inline struct serve_request *serve_request_of(struct sched_seq *seq)
{
    return (struct serve_request *)(void *)((char *)seq - offsetof(struct serve_request, seq));
}

static inline struct serve_request *serve_request_of_limit(struct des_event *event)
{
    return (struct serve_request *)(void *)((char *)event -
                                            offsetof(struct serve_request, limit_event));
}

static inline struct serve_request *serve_request_of_arrival(struct des_event *event)
{
    return (struct serve_request *)(void *)((char *)event -
                                            offsetof(struct serve_request, arrival_event));
}

#endif
