/*
 * flight.h - a step's row for --steps: taken at its turn, completed when its results are in.
 */
#ifndef KVSIM_SERVE_FLIGHT_H
#define KVSIM_SERVE_FLIGHT_H

#include "serve/replica.h"

void serve_flight_release(struct serve_flight *flight);
/* Notes whom a turn threw out: they stand in the row of the next step. Called after each turn, before anyone can end. */
void serve_flight_note_thrown_out(struct serve_replica *replica, const struct sched_plan *plan);
void serve_flight_begin_row(struct serve_replica *replica, struct serve_flight *flight);
void serve_flight_note_finished(struct serve_flight *flight);
void serve_flight_write_row(struct serve_replica *replica, struct serve_flight *flight);

#endif
