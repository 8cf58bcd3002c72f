/*
 * batch.h - one long run cut into batches of neighbouring segments, and whether a run has settled.
 *
 * Segments come in order of time, each the mean of equally many requests. Batches must be long enough to be independent of
 * each other: their number falls from STATS_BATCHES_MOST until neighbours show no correlation (von Neumann's ratio of mean
 * square successive difference, J. von Neumann, Ann. Math. Stat. 12 (1941) 367; Fishman, Management Science 24 (1978) 510).
 */
#ifndef KVSIM_STATS_BATCH_H
#define KVSIM_STATS_BATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { STATS_BATCHES_MOST = 10, STATS_BATCHES_LEAST = 6 };

/* Segments per batch, or 0 when even STATS_BATCHES_LEAST batches are correlated or there are too few segments. The
 * first `count % width` segments are to be left out. */
size_t stats_batch_width(const double *segments, size_t count);

/* True when neighbours resemble each other beyond chance (5 %, one-sided). */
bool stats_is_correlated(const double *values, size_t count);

/*
 * How many independent observations `count` batches are worth together: their number times the variance of one
 * observation over the variance of a batch's mean. At least about `count`; infinite when the batches are equal.
 */
double stats_effective_count(const double *batches, size_t count, double variance);

/*
 * MSER (White, Simulation 69 (1997) 323), on segments in place of batches of five: how many of the first segments to leave
 * out so that the standard error of the rest is smallest. At most half of them.
 */
size_t stats_mser(const double *segments, size_t count);

/*
 * How far a level rose from first to last of `count` equally spaced readings, and the standard error of such a rise for a
 * walk without drift: from the variance of single steps or of steps of four, whichever says more, so that neighbouring
 * steps that resemble each other do not make it look small.
 */
void stats_rise(const double *levels, size_t count, double *rise, double *error);

#endif
