/*
 * transfers.h - the links between a replica's pool and the tier behind it: when transfers begin and end.
 *
 * One link a direction and GPU (kv/link.h), all GPUs alike: transfers go in the order in which they were decided. A load begins with the step that was decided with it (what the GPU computes
 * before must have ended), a store when the step that computes its blocks has. What ends is seen at the next turn.
 */
#ifndef KVSIM_SERVE_TRANSFERS_H
#define KVSIM_SERVE_TRANSFERS_H

#include "serve/replica.h"

void serve_transfers_init(struct serve_replica *replica);
/* Results come in: what enters a tree with them does so now. */
void serve_transfers_reach(struct serve_replica *replica, base_i128 now);
/* At a turn, before anything is decided: what has ended by now is seen. */
void serve_transfers_settle(struct serve_replica *replica, base_i128 now);
/* The turn decided nothing to compute: its loads begin when the running step has ended, or now. */
void serve_transfers_without_step(struct serve_replica *replica, const struct sched_plan *plan,
                                  base_i128 now);
/* A step of `ticks` can begin at `start`: how long it takes with what it waits for. */
int64_t serve_transfers_step_ticks(struct serve_replica *replica, const struct sched_plan *plan,
                                   base_i128 start, int64_t ticks);
/* The step of `plan` has ended. */
void serve_transfers_step_ended(struct serve_replica *replica, const struct sched_plan *plan,
                                base_i128 now);
/* What the tiers held and moved until the run's end. */
void serve_transfers_result(const struct serve_replica *replica, base_i128 now,
                            struct serve_replica_result *out);
/* When a transfer ends that somebody here waits for; `is_idle`: no step runs. SERVE_NEVER when there is none. */
base_i128 serve_transfers_next_end(const struct serve_replica *replica, bool is_idle);

#endif
