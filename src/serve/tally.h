/*
 * tally.h - exact integrals over time of one replica's state, taken interval by interval.
 *
 * The state between two scheduling turns is constant. A replica accounts an interval as soon as it is known how long it
 * lasts, so the integrals may lie ahead of the clock; tally_at() reads them at any instant of the last interval. The queue
 * changes with every arrival and is kept apart, always up to the last change. A stretch of decode steps is added in closed
 * form: durations are a line in the step number, tokens a line, blocks a sum of steps by residue.
 */
#ifndef KVSIM_SERVE_TALLY_H
#define KVSIM_SERVE_TALLY_H

#include "sched/front.h"
#include "sched/sched.h"
#include "serve/request.h"
#include "serve/result.h"

#include <stdbool.h>

struct serve_state {
    struct kv_paged_state kv;   /* promised and fragmented: constant between turns */
    size_t window_count;        /* of account in it */
    struct kv_queue_walk queue; /* what the blocks hold that are taken next */
    bool keeps_content;         /* what a window gives back stays cached */
    bool peak_is_by_tokens;     /* all memory is taken from the start */
    bool is_busy, has_prefill;
    enum cost_bound bound;
    enum sched_wait wait; /* of the head of the queue, as of the last turn */
};

struct serve_tally {
    struct serve_integrals sum; /* up to since_ticks; waiting up to waiting_since_ticks */
    struct serve_state state;
    base_i128 since_ticks;
    int64_t waiting;
    base_i128 waiting_since_ticks;
    size_t wait_cause; /* what the queue waits for now; set right after set_waiting */
    base_i128 wait_ticks[SERVE_WAIT_CAUSES];     /* time by what the queue waited for */
    base_i128 decode_ticks[SERVE_DECODE_CAUSES]; /* time of steps by what they were */
    /* at the first instant of the most used blocks, or of the most live tokens */
    struct kv_paged_state peak;
    int64_t peak_running, peak_waiting;
    struct serve_integrals window_start;
};

/* Brings the state's integrals to `now` when they lie behind (an idle replica). */
void serve_tally_settle(struct serve_tally *tally, base_i128 now);
/* One interval of `ticks` in the present state, from since_ticks on. */
void serve_tally_interval(struct serve_tally *tally, base_i128 ticks);
/* `count` intervals of a piece; the state describes the first one; afterwards it describes the last. The step after the
 * first interval comes `ahead` steps after the front's next one. */
void serve_tally_stretch(struct serve_tally *tally, const struct cost_piece *piece, int64_t count,
                         const struct sched_front *front, int64_t ahead);
void serve_tally_set_waiting(struct serve_tally *tally, base_i128 now, int64_t waiting);
/* Time of steps of one decode cause up to `now`, which may lie inside the last interval. */
base_i128 serve_tally_decode_ticks(const struct serve_tally *tally, size_t cause, base_i128 now);
void serve_tally_note_peak(struct serve_tally *tally);
/* Integrals from time 0 to `now`. */
void serve_tally_at(const struct serve_tally *tally, base_i128 now, struct serve_integrals *out);
void serve_integrals_subtract(struct serve_integrals *from, const struct serve_integrals *part);

#endif
