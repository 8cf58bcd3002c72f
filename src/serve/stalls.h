/*
 * stalls.h - how long members of the decode front have sat out, for the gap before their next token.
 *
 * An engine that computes prompts alone lets whoever decodes wait, several steps perhaps, and others join meanwhile. All
 * that joined between two such steps have waited equally long: they are one cohort, known by the last plan before which
 * its members had joined. With the front's next step all cohorts end. Cost: a step that stalls the front takes time
 * proportional to the cohorts, at most one for each stalled step since the last one of the front.
 */
#ifndef KVSIM_SERVE_STALLS_H
#define KVSIM_SERVE_STALLS_H

#include "base/i128.h"
#include "base/mem.h"
#include "sched/sched.h"

struct serve_stall {
    uint64_t last_plan; /* members joined the front before or with it */
    base_i128 ticks;    /* that they have sat out: a front may starve behind prompts for hours */
    int64_t total;      /* members whose gaps are recorded, and the same by class */
    int64_t *counted;
};

struct serve_stalls {
    size_t class_count;
    struct serve_stall *at;       /* oldest first */
    size_t count, capacity, made; /* made: of them with an array */
};

void serve_stalls_release(struct serve_stalls *stalls);
/* The step of `plan`, which the front sat out, has taken `ticks`. */
void serve_stalls_note(struct serve_stalls *stalls, const struct sched_plan *plan, int64_t ticks);
/* A member leaves before the front's next step: it is no more of a cohort. Returns how long it has sat out. */
base_i128 serve_stalls_drop(struct serve_stalls *stalls, const struct sched_seq *seq);

static inline bool serve_stalls_exist(const struct serve_stalls *stalls)
{
    return stalls->count > 0;
}

#endif
