/*
 * search.h - a beam search outside the engine: a loop of requests for one token each, as vLLM has it since 0.6.3.
 *
 * The server asks the engine for one token behind the prompt, with the logarithms of the likeliest 2 W, and takes the W best as
 * the first beams. Then, token by token, it sends W requests at once, one for each beam: the prompt and the beam's tokens so
 * far, one token wanted. When the last of them has answered, the best W of their continuations are the next beams. It goes on
 * until the beams have as many tokens as the client allows (or max_model_len leaves): a beam that has ended before competes at
 * the end, and stops nothing. The engine knows nothing of it. Its requests are ordinary ones, in order of the beams, without
 * priority, in the queue of the replica that the client's request was routed to: the loop runs inside that server.
 *
 * What beams have in common is in their content: a token has an id of its own, a beam that goes on from another takes over that
 * one's path. So a prefix cache finds what is there of it by whole blocks, and a step computes the rest of each beam, at least
 * its last token; without a cache, or once it was evicted, all of it. Which beams go on is drawn as for a search inside the
 * engine (sched/beams.h): the same stream, the same tree. Where a session goes on with the first answer, the path that
 * ends as the first beam has that answer's ids, found by going through the draws backwards at the start.
 *
 * Here is the loop's own state alone: how far it is, and what the next requests ask for. Who sends them and waits for them are
 * the sequences of the client's request (sequences.h). Cost: O(runs of its content) a request, O(W) a token.
 */
#ifndef KVSIM_SERVE_SEARCH_H
#define KVSIM_SERVE_SEARCH_H

#include "serve/config.h"
#include "workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

struct serve_search;

/* The search that `asked` wants, before its first step. */
struct serve_search *serve_search_new(const struct serve_config *config,
                                      const struct workload_request *asked);
void serve_search_free(struct serve_search *search);

/* How many requests the next step sends. */
uint32_t serve_search_width(const struct serve_search *search);
/* What the one for beam `number` asks for, behind the prompt of `asked`; its runs are valid until the next call. */
struct workload_request serve_search_ask(struct serve_search *search,
                                         const struct workload_request *asked, uint32_t number);
/* All of them have answered: each beam has a token more. */
void serve_search_advance(struct serve_search *search);

/* Tokens of each beam, so far and at the end. */
int64_t serve_search_tokens(const struct serve_search *search);
int64_t serve_search_end(const struct serve_search *search);

/* Ids of a prompt that nobody shares, of the request with this number; the same for an answer, by number of its sequence. The
 * upper half of a prompt's is for beams. Far below the ids of any trace. */
static inline int64_t serve_own_ids(uint64_t number, bool is_answer)
{
    return INT64_MIN + ((int64_t)number * 2 + (is_answer ? 1 : 0)) * (2 * SERVE_SEARCH_IDS_MAX);
}

#endif
