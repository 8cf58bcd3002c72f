/*
 * sequences.h - a request for several answers (`n`): as many sequences of the engine, alike in prompt, priority and arrival,
 * each with an answer of its own.
 *
 * A scheduler that forks (vLLM V0) gets them as one group: the first one stands in its queue, the others begin when the
 * prompt is computed. Else, as in vLLM V1, the scheduler knows nothing of it: sequences are admitted, thrown out and ended one by one, and share the blocks of
 * their prompt where a prefix cache finds them, else not at all. The client has one request: its first token is the first
 * of any sequence, it ends when the last of them has, and when it goes away all of them go. One limit, one place under
 * max_concurrency and for the router, one row; tokens, hits and preemptions are summed, its time by cause is that of the
 * sequence that ended last (up to the first token: of the one that had it).
 *
 * A beam search outside the engine (search.h) sends its sequences step by step: one behind the prompt, then one a beam, each for
 * one token; the next step begins when the last one of the step has ended. Of the client it is one request all the same, to one
 * replica. Its first token is that of the first step; gaps between tokens are the times of the further requests; its time by
 * cause is, step by step, that of the sequence that ended last. A step that is cut off adds nothing to what was generated. When
 * the client goes, the step's requests go, and there is no further one.
 *
 * Ownership: the client's request owns what is kept here and is given back after the last sequence; a sequence that was
 * given up no longer knows it. Cost: a request for one answer has nothing of this.
 */
#ifndef KVSIM_SERVE_SEQUENCES_H
#define KVSIM_SERVE_SEQUENCES_H

#include "serve/serve_int.h"

/* Keeps what was asked for each answer; asked.sequence_count is above 1. */
void serve_sequences_keep(struct serve_request *request);
void serve_sequences_free(struct serve_request *request);
/* All sequences into the queue of the request's replica, in order; of a search outside the engine those of the next step. */
void serve_sequences_enter(struct serve *serve, struct serve_request *request, base_i128 now);
/* True when it is the client's first token, too. */
bool serve_sequences_note_first_token(const struct serve_request *sequence);
/* A sequence has delivered its whole answer; with the last one the client's request ends and is given back, or a search goes on
 * at once. */
void serve_sequences_note_completed(struct serve *serve, struct serve_request *sequence,
                                    base_i128 now);
/* The client is gone: all sequences that have not ended go. Sums up what was delivered. */
void serve_sequences_give_up(struct serve_request *request, base_i128 now,
                             struct serve_delivered *out);
/* How many of a client's sequences have not ended; more than there are where a search will send others. */
uint32_t serve_sequences_left(const struct serve_request *request);

#endif
