/*
 * team.h - a list of work done side by side, its results taken in order by the caller's thread.
 *
 * It is done by threads of this process, or by an executor, which asks others to do it: whoever has a list of work does not
 * know which, and the results are the same.
 *
 * Threads take the next item that nobody has begun; the caller gets finished items in the order of the list, as many at
 * once as are ready, so that what is written does not depend on the number of threads. At most `ahead` items are begun
 * beyond the first that has not been taken, so that results do not pile up behind a slow one.
 */
#ifndef KVSIM_STUDY_TEAM_H
#define KVSIM_STUDY_TEAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct base_text;
struct study_team_work;

/* Others who do work; see ranks.h. */
struct study_executor {
    enum kvsim_status (*run)(struct study_executor *executor, const struct study_team_work *work,
                             struct kvsim_error *err);
};

struct study_team_work {
    size_t count;
    unsigned jobs; /* 0 = as many as there are processors */
    size_t ahead;  /* 0 = no limit */
    void *context;
    /* On any thread; what fails is kept by the callee for take(). */
    void (*work)(void *context, size_t index);
    /* On the caller's thread, items first ... first + count - 1; may be NULL. A failure ends the team. */
    enum kvsim_status (*take)(void *context, size_t first, size_t count, struct kvsim_error *err);
    /* On the caller's thread, some times a second; may be NULL. */
    void (*idle)(void *context);

    /* With an executor; NULL: threads of this process. */
    struct study_executor *executor;
    /* On the caller's thread. The item as a request that any process can do; false: work() does it here, at once. */
    bool (*ask)(void *context, size_t index, struct base_text *request);
    /* On the caller's thread: what work() would have left. */
    void (*answer)(void *context, size_t index, const struct base_text *answer);
};

enum kvsim_status study_team_run(const struct study_team_work *work,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Threads for so much work: `jobs`, or the processors, but no more than items. At least 1. */
unsigned study_team_size(unsigned jobs, size_t count);

#endif
