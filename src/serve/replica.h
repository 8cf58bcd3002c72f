/*
 * replica.h - one engine instance: a scheduler, a pool, a cost model and the steps in flight.
 *
 * At a turn the scheduler decides the next step; with asynchronous scheduling a step is decided while the one before it
 * runs. A turn that decides nothing waits for the oldest step in flight. The service calls serve_replica_complete() at
 * the end of a step and serve_replica_turn() after everything else of that instant has happened; the replica calls back
 * when a request gets its first or last token.
 */
#ifndef KVSIM_SERVE_REPLICA_H
#define KVSIM_SERVE_REPLICA_H

#include "base/mem.h"
#include "cost/cost.h"
#include "des/heap.h"
#include "kv/paged.h"
#include "sched/sched.h"
#include "serve/config.h"
#include "serve/request.h"
#include "serve/stalls.h"
#include "serve/tally.h"

#include <stdbool.h>

/* A time that does not come. */
#define SERVE_NEVER ((base_i128)INT64_MAX << BASE_TICKS_SHIFT)

/* With asynchronous scheduling one step is decided while another runs. */
enum { SERVE_FLIGHTS = 2 };

/* Lists of a step's row. */
enum serve_list {
    SERVE_SCHEDULED,
    SERVE_ADMITTED,
    SERVE_PREEMPTED,
    SERVE_SWAPPED_OUT,
    SERVE_SWAPPED_IN,
    SERVE_FINISHED,
    SERVE_LIST_COUNT
};

/* A step in flight: decided, perhaps running. */
struct serve_flight {
    bool is_active;
    struct sched_plan plan;
    base_i128 sched_ticks, start_ticks, end_ticks; /* start and end once it runs */
    int64_t ticks;
    enum cost_bound bound;
    struct record_step row; /* with --steps: as of the turn */
    struct {
        struct record_list_item *at;
        size_t count, capacity;
    } lists[SERVE_LIST_COUNT];
    struct base_arena texts;
};

struct serve;

struct serve_replica {
    struct serve *serve;
    uint32_t number;
    struct kv_paged pool;
    struct kv_prefix prefix; /* pool.prefix points here when it is on */
    struct kv_radix radix;   /* or pool.radix here */
    struct kv_unique unique; /* or pool.unique */
    struct kv_slots slots;   /* or pool.slots here */
    struct kv_space space;   /* pool.space points here when reservations have addresses */
    struct sched sched;
    struct cost *cost;
    struct serve_flight flights[SERVE_FLIGHTS];
    struct serve_flight *running, *next;
    struct serve_tally tally;
    struct des_event boundary_event; /* the end of the running step */
    struct des_event turn_event;     /* a turn at this instant, after arrivals */
    struct serve_request *given_up;  /* to be taken out at the next turn */
    bool circles;                    /* its engine turns in circles, without a token since */
    int64_t in_flight;               /* clients' requests, for the router */
    uint64_t steps, requests, preemptions;
    struct serve_stalls stalls;
    /* With --steps: ids thrown out since the last row, turns that scheduled nothing included; and those swapped out. */
    struct serve_ids {
        struct record_list_item *at;
        size_t count, capacity;
    } thrown_out, swapped_out;
    struct base_arena thrown_out_texts;
    base_i128 stall_ticks;  /* steps waited for transfers */
    bool loads_follow;      /* loads decided without a step begin when the running one ends */
    uint64_t loads_flush;   /* and wait for this store */
    int64_t swapped_blocks; /* moved to the host and back */
    int64_t copied_blocks;  /* written to while others held them */
    int64_t copied_tokens;  /* in the cache before a step that rewrote or moved them */
    int64_t computed_tokens, prefill_tokens, emitted_tokens; /* emitted: by steps that have ended */
};

enum kvsim_status serve_replica_init(struct serve_replica *replica, struct serve *serve,
                                     uint32_t number, const struct serve_config *config,
                                     struct base_arena *arena,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;
void serve_replica_release(struct serve_replica *replica);

void serve_replica_enqueue(struct serve_replica *replica, struct serve_request *request,
                           base_i128 now);
/* A sequence that will run with the first one of its group, which is enqueued. */
void serve_replica_expect(const struct serve_replica *replica, struct serve_request *request,
                          base_i128 now);
/* The running step ends: its tokens are delivered. */
void serve_replica_complete(struct serve_replica *replica);
/* One turn (two when nothing is in flight and scheduling is asynchronous), at `now`; until when the next event of the
 * outside comes (no stretch goes beyond the first step that ends at or after it). */
void serve_replica_turn(struct serve_replica *replica, base_i128 now, base_i128 next_event_ticks);
/* A turn at `at`, or at the one before it that is pending. Replicas go by number where they meet: who began a stretch
 * first is no part of the result. */
void serve_replica_push_turn(struct serve_replica *replica, base_i128 at);
/* The client of the sequence `request` is gone; returns the outputs delivered so far. */
int64_t serve_replica_give_up(struct serve_replica *replica, struct serve_request *request,
                              base_i128 now);

static inline int64_t serve_replica_evicted_blocks(const struct serve_replica *replica)
{
    if (replica->pool.slots != NULL) {
        return replica->slots.lost_tokens;
    }
    if (replica->pool.radix != NULL) {
        return replica->radix.evicted_blocks;
    }
    if (replica->pool.unique != NULL) {
        return replica->unique.evicted_blocks;
    }
    return replica->pool.prefix != NULL ? replica->prefix.evicted_blocks : 0;
}

static inline bool serve_replica_is_idle(const struct serve_replica *replica)
{
    return replica->running == NULL;
}

#endif
