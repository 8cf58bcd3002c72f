/*
 * ranks.h - the ranks of an MPI job: rank 0 deals work out and takes the answers, the others do errands.
 *
 * Rank 0 runs the command as ever, and is the only one that touches the database; its lists of work go through the executor
 * below. An item goes to the rank that has the fewest in hand, as ranks become free. A rank that was silent for long is
 * lost: what it had is dealt again, and when nobody is left rank 0 does the rest itself. A rank that speaks again is dealt
 * to again. Whoever did an item, and however often, the answer is the same.
 */
#ifndef KVSIM_STUDY_RANKS_H
#define KVSIM_STUDY_RANKS_H

#include "base/error.h"
#include "study/team.h"

#include <stdbool.h>
#include <stddef.h>

struct study_ranks;

/* What the launcher's environment says: how many processes were started together, and the number of this one. 1 and 0
 * where nobody says so. */
size_t study_ranks_launched(size_t *number);

/*
 * Joins the others. `command` is what all of them must have been asked for. `tell` (may be NULL) hears of ranks that are
 * lost, on rank 0. NULL in `out`: this program was built without MPI.
 */
enum kvsim_status study_ranks_join(const char *command, void (*tell)(const char *text),
                                   struct study_ranks **out,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;

/* On rank 0. NULL where there are no others. */
struct study_executor *study_ranks_executor(struct study_ranks *ranks);

/* On all but rank 0: does errands until rank 0 ends or is gone; the exit status with which the process must end at once, by
 * _exit(): threads may still be at work. */
int study_ranks_serve(struct study_ranks *ranks);

/* On rank 0: sends the others home. False: somebody is lost, and the process must end by _exit(). */
bool study_ranks_leave(struct study_ranks *ranks) KVSIM_MUST_CHECK;

#endif
