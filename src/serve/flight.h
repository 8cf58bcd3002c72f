/*
 * flight.h - a step's row for --steps: taken at its turn, completed when its results are in.
 */
#ifndef KVSIM_SERVE_FLIGHT_H
#define KVSIM_SERVE_FLIGHT_H

#include "serve/replica.h"

void serve_flight_release(struct serve_flight *flight);
void serve_flight_begin_row(struct serve_replica *replica, struct serve_flight *flight);
void serve_flight_note_finished(struct serve_flight *flight);
void serve_flight_write_row(struct serve_replica *replica, struct serve_flight *flight);

#endif
