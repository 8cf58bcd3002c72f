/*
 * front_window.h - windows of the decode front: what its members see of their contexts, and which blocks come back.
 *
 * One token a step and member: until a member has filled a window its visible tokens grow, from then on they stand still
 * and a block comes back each block_tokens steps (sliding); or they start again with each chunk, whose blocks come back at
 * once (chunked). So a step is a few numbers, as in front.h: sums, how many members still grow, and how many give a block
 * back at each step of a period. Tables with longer blocks than others count their blocks as well, since the pool's number does
 * not tell how many of which there are. What changes these numbers is an event of one member: the calendar (a heap by front
 * step) has one entry per member and window. With a prefix cache it matters whose block comes back and in which order, so
 * there members stand in lists by the step at which they give one back, and of a stretch the blocks that do not become free,
 * since others hold them, are told apart (`kept`).
 *
 * Two counts differ by the steps in flight f (0, asynchronous 1). Cost: keys that one query sees. Ledger: tokens that any
 * query in flight sees, and blocks that are freed by what has been processed. With c tokens before the step, sliding:
 *   cost min(c + 1, W), ledger min(c + 1, W + f), blocks given back floor((c - f - W + 1) / block_tokens).
 * Invariant: between steps the sums equal those formulas, summed over members; a member joins only when they are true of
 * it (sched_window_can_join).
 */
#ifndef KVSIM_SCHED_FRONT_WINDOW_H
#define KVSIM_SCHED_FRONT_WINDOW_H

#include "base/mem.h"
#include "kv/tables.h"
#include "sched/rhythm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched_seq;
struct sched_front;

/* What comes next for one member and window. */
enum sched_window_phase {
    SCHED_WINDOW_COST,   /* cost's count reaches the window, or the end of a chunk */
    SCHED_WINDOW_LEDGER, /* the ledger's does */
    SCHED_WINDOW_FULL,   /* the window slides: nothing */
};

/* Of a sequence. */
struct sched_seq_window {
    /* of one table, the first ones; rests while the sequence is in the front */
    int64_t dropped_blocks;
    uint64_t event_step;
    uint32_t heap_index;
    enum sched_window_phase phase;
};

struct sched_front_window {
    int64_t cost_tokens, cost_growing; /* sum over members; members that gain one in a step */
    int64_t visible_tokens, visible_growing;
    int64_t dropped_blocks; /* of one table */
    sched_rhythm *drop;     /* members that give a block back when scheduling step s */
    int64_t table_blocks;   /* of one table of longer blocks, as if none had been given back */
    /* members that need one when scheduling step s; NULL: no longer than others */
    sched_rhythm *take;
};

struct sched_window_event {
    struct sched_seq *seq;
    size_t window;
};

struct sched_window_events {
    struct sched_window_event *at;
    size_t count, capacity;
};

/* Blocks that came back `ahead` steps after the front's next one and that somebody else holds. */
struct sched_window_kept {
    int64_t ahead, blocks;
};

struct sched_front_windows {
    const struct kv_tables *tables;
    int64_t in_flight_tokens; /* f */
    struct sched_front_window at[KV_WINDOWS_MAX];
    struct sched_window_event *events; /* heap, by step and place */
    size_t event_count, event_capacity;
    bool tells_drops; /* a prefix cache must know whose block comes back; then: */
    struct sched_window_events *counted; /* [period_tokens]: who is counted in `drop`, by place */
    int64_t counted_count;
    struct sched_window_events due; /* who gives blocks back in this step, by place */
    struct {
        struct sched_window_kept *at;
        size_t count, capacity;
    } kept;              /* of the steps of a stretch that were asked for last */
    int64_t given_steps; /* of the coming ones, whose blocks have come back already */
};

void sched_front_windows_init(struct sched_front_windows *windows, const struct kv_tables *tables,
                              bool is_async, bool tells_drops, struct base_arena *arena);
void sched_front_windows_release(struct sched_front_windows *windows);

/* The sequence's last steps leave it as if it had been a member for long. `number`: the plan being closed; `in_flight`: the
 * plan before it is. */
bool sched_window_can_join(const struct sched_front *front, const struct sched_seq *seq,
                           uint64_t number, bool in_flight);
/* seq->computed and front->step are as of the joining or leaving; leaving writes the sequence's dropped blocks. */
void sched_front_windows_join(struct sched_front *front, struct sched_seq *seq);
void sched_front_windows_leave(struct sched_front *front, struct sched_seq *seq);

/* The step front->step begins for all members: its events happen. Returns the blocks that all tables give back in it. */
int64_t sched_front_windows_begin_step(struct sched_front *front);
/* Blocks that all tables give back in `steps` further steps without events. */
int64_t sched_front_windows_drop(struct sched_front *front, int64_t steps);
/* Tokens of `steps` steps; no events beyond the first, which has begun. */
void sched_front_windows_grow(struct sched_front *front, int64_t steps);
/* With a prefix cache, who gives a block back in the step that comes `ahead` >= 0 steps after the next one, without an event;
 * by place. */
const struct sched_window_events *sched_front_windows_counted(const struct sched_front *front,
                                                              int64_t ahead);
/* Steps before the first one in which somebody gives a block back without an event, at most `limit`; with a prefix cache. */
int64_t sched_front_windows_steps_to_drop(const struct sched_front *front, int64_t limit);
/* Blocks that one member gives back in the step front->step, as in begin_step. */
int64_t sched_front_windows_drop_of(const struct sched_front *front, const struct sched_seq *seq);
/* Of one table of a window, once the step has begun that comes `ahead` steps after front->step; and before front->step. */
int64_t sched_front_window_passed(const struct sched_front *front, const struct sched_seq *seq,
                                  size_t window, int64_t ahead);
int64_t sched_front_window_passed_before(const struct sched_front *front,
                                         const struct sched_seq *seq, size_t window);
/* Blocks of all tables that a member has given back so far. */
int64_t sched_front_windows_dropped_of(const struct sched_front *front,
                                       const struct sched_seq *seq);
/* Steps from front->step on before the next event, UINT64_MAX when there is none. */
uint64_t sched_front_windows_quiet_steps(const struct sched_front *front);

/*
 * For how many steps without events, at most `limit`, the pool surely has the blocks of all members when they are taken
 * before any comes back, and is left with fewer than `enough` free ones after the drops of a step (INT64_MAX: no matter).
 */
int64_t sched_front_windows_runway(const struct sched_front *front, int64_t free_blocks,
                                   int64_t enough, int64_t limit);

/* All tables: blocks that come back in a step without events, by its place in `boundary`. */
int64_t sched_front_windows_drop_at(const struct sched_front *front, int64_t place);

#endif
