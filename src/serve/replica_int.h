/*
 * replica_int.h - what the files behind a replica's turn share: its prices and its stretches.
 */
#ifndef KVSIM_SERVE_REPLICA_INT_H
#define KVSIM_SERVE_REPLICA_INT_H

#include "serve/replica.h"

/* Tokens in the cache that a step rewrites: all of them where caches grow by concatenation, else what compaction moved. */
int64_t serve_copied_tokens(const struct serve_replica *replica, const struct sched_plan *plan);
/* Fills start, ticks, end and bound of a step that begins at `start`. */
void serve_price_step(struct serve_replica *replica, struct serve_flight *flight, base_i128 start);
/* The next piece of a ramp of decode steps, copies of `copied` tokens in the first one included: they grow along a line as
 * well. */
void serve_price_piece(struct serve_replica *replica, const struct cost_ramp *ramp, int64_t copied,
                       int64_t max_steps, struct cost_piece *piece);

/* Gaps between tokens of `count` steps of a plan, the first of so many ticks and each further one longer by `delta`. */
void serve_replica_add_gaps(struct serve_replica *replica, const struct sched_plan *plan,
                            int64_t first_ticks, int64_t delta_ticks, int64_t count);

/* The plan in flight and the one just decided are decode steps of the same members, and may be taken on. */
bool serve_replica_can_stretch(const struct serve_replica *replica,
                               const struct serve_flight *newest);
/* Takes as many of them at once as hold, up to the first that ends at or after the next event. */
void serve_replica_take_stretch(struct serve_replica *replica, struct serve_flight *newest,
                                base_i128 next_event);

#endif
