/*
 * ended.h - a request's end: outcome, metrics, row; and what its tokens add on the way.
 */
#ifndef KVSIM_SERVE_ENDED_H
#define KVSIM_SERVE_ENDED_H

#include "serve/serve_int.h"

/* In a closed loop the client's next request follows. */
void serve_follow_up(struct serve *serve, const struct serve_request *request, base_i128 now,
                     bool is_completed, int64_t output_tokens);
/* Queues the event of the client's next limit, if it has one. */
void serve_push_limit(struct serve *serve, struct serve_request *request);

#endif
