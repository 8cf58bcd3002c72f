/*
 * window.h - the measured window, warm-up, drift of the load, and timeline samples of a replication.
 *
 * Steady runs: the window opens with the first request that counts and closes with the last arrival, so that neither
 * filling nor draining dilutes rates and time means. Traces, profiles and finite batches: first dispatch to last event.
 */
#ifndef KVSIM_SERVE_WINDOW_H
#define KVSIM_SERVE_WINDOW_H

#include "serve/serve_int.h"

void serve_window_begin(struct serve *serve);
void serve_window_note_arrival(struct serve *serve, struct serve_request *request, base_i128 now);
void serve_window_note_end(struct serve *serve, const struct serve_request *request, base_i128 now,
                           bool is_completed, bool is_good, int64_t output_tokens);
void serve_window_close(struct serve *serve, base_i128 now);
void serve_window_sample(struct serve *serve, base_i128 now);
void serve_window_end(struct serve *serve, base_i128 now);

#endif
