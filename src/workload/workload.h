/*
 * workload.h - requests as they come: who, when, how long.
 *
 * workload_spec is immutable, made once from the scenario; a workload_source is one replication's
 * walk through it. The i-th request (or the i-th turn of client c in a closed loop) has the same
 * lengths in every sweep point. Open processes and traces are pulled with workload_next() in order
 * of time; a closed loop gives its first requests at once and one more whenever workload_done()
 * says that a client's request has ended. Memory does not grow with the requests.
 */
#ifndef KVSIM_WORKLOAD_WORKLOAD_H
#define KVSIM_WORKLOAD_WORKLOAD_H

#include "base/error.h"
#include "base/field.h"
#include "base/i128.h"
#include "base/mem.h"
#include "base/policy.h"
#include "rng/rng.h"
#include "spec/slo.h"
#include "spec/tokens.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKLOAD_ID_BYTES = 40, WORKLOAD_CLASSES_MAX = 64, WORKLOAD_SEQUENCES_MAX = 1024 };

struct workload_request {
    uint64_t index; /* 0, 1, ... in order of arrival */
    int64_t arrival_ns;
    int64_t prompt_tokens;   /* 0 is possible in a trace: the engine rejects it */
    int64_t output_tokens;   /* what the model would write before it stops by itself */
    int64_t max_tokens;      /* what the client allows; == output_tokens by default */
    int32_t priority;        /* low first */
    uint32_t sequence_count; /* answers to the one prompt, each a sequence of its own; 0 is 1 */
    /* `n`: of them, by number, those that the client is given; 0: all, as they come */
    uint32_t answer_count;
    bool is_beam;      /* its sequences are the beams of a search, perhaps one, all of one length */
    uint64_t beam_key; /* its stream: which beams go on from which */
    uint32_t class_index;
    uint32_t client;       /* closed loop: which client; open sessions: which session; else 0 */
    uint64_t turn;         /* closed loop: its how-manieth request; open sessions: session_turn */
    uint32_t session_turn; /* sessions: 0 for the first request of one */
    /* which of the run's beginnings (requests that follow no other) it belongs to */
    uint64_t beginning;
    int64_t abort_after_ns, timeout_first_ns, timeout_total_ns; /* after arrival; 0 = none */
    char id[WORKLOAD_ID_BYTES];                                 /* the trace's own, or "" */
    /* output_tokens of each of several sequences, the first one's first, valid until the next call; NULL: all the same. */
    const int64_t *sequence_outputs;
    /* Content of the prompt where it is known: runs of token ids, valid until the next call; NULL: shared with nobody. */
    const struct spec_token_run *runs;
    size_t run_count;
    /* id of the first output token, the others follow it; 0 = ids of its own */
    int64_t answer_first;
    /* Leading tokens of the prompt that earlier requests had or were answered: what a cache that forgets nothing could know.
     * -1 = not known (prompt_ranges). */
    int64_t seen_tokens;
};

/*
 * Prompts that begin with one of few texts: a system prompt, then (where there are any) one of its sets of examples, then a
 * question, which may be one of few too. Same text, same token ids.
 */
enum workload_order { WORKLOAD_RANDOM, WORKLOAD_CYCLIC };

struct workload_shared {
    uint64_t number;            /* among the workload's: names its streams */
    uint64_t first_text;        /* its texts have the numbers from here on */
    uint32_t group_count;       /* system prompts */
    uint32_t few_shot_count;    /* sets of examples of each; 0 = none */
    uint32_t prompts_per_group; /* questions of each; 0 = every request asks one of its own */
    struct rng_dist system_prompt, few_shot, question; /* lengths, drawn once a text */
    bool has_question;          /* false: prompt_tokens says how long the whole is */
    struct rng_dist popularity; /* random: rank of the group, 1 the first */
    enum workload_order order;
};

/* How many texts it has, for the next one's first_text. */
uint64_t workload_shared_texts(const struct workload_shared *shared);
enum { WORKLOAD_TEXTS_MAX = 1 << 30 };

/*
 * Conversations: the next prompt is the former prompt, the former answer and `growth` new tokens; it comes a think time (of
 * a user) or a tool time (of a tool that the model has called) after the answer. A session ends with its turns, with a
 * request that is not completed, or when the next prompt would reach max_context_tokens.
 */
enum workload_session_end { WORKLOAD_END_STOP, WORKLOAD_END_SEND };

struct workload_sessions {
    struct rng_dist turns, growth;
    struct rng_dist think, tool; /* seconds */
    bool has_think, has_tool;
    double tool_share;             /* of the gaps that are a tool's */
    enum workload_session_end end; /* no room for another turn: none, or it is sent all the same */
};

struct workload_class {
    const char *name;
    double weight;
    int32_t priority;
    struct rng_dist prompt, output, max_tokens, sequences;
    bool has_max_tokens; /* false: same as output */
    bool has_sequences;  /* false: one answer each */
    uint32_t
        candidates; /* best_of, beam_width: sequences of a request, of which `sequences` says how
                          * many are given to the client; 0 = those */
    bool is_beam;   /* they are beams */
    double beam_switch; /* of beams: chance that one goes on from any of them, not from itself */
    double correlation; /* Gaussian copula between prompt and output */
    int64_t abort_after_ns, timeout_first_ns, timeout_total_ns; /* 0 = none */
    const struct workload_shared *shared;                       /* NULL: prompts share nothing */
    const struct workload_sessions *sessions; /* NULL: every request stands alone */
};

enum workload_process {
    WORKLOAD_POISSON,
    WORKLOAD_GAMMA,
    WORKLOAD_WEIBULL,
    WORKLOAD_DETERMINISTIC,
    WORKLOAD_MMPP,
    WORKLOAD_PROFILE,
    WORKLOAD_ALL_AT_ONCE,
    WORKLOAD_CLOSED_LOOP,
    WORKLOAD_TRACE
};
extern const struct base_choice workload_process_choices[];

/* A stage of a rate profile: constant (rate), a ramp (rate to rate_end) or a sinus day (mean,
 * amplitude, period). */
struct workload_stage {
    double rate_per_s, rate_end_per_s; /* rate_end 0 = constant */
    double amplitude;                  /* relative, 0 = none */
    int64_t period_ns;
    int64_t duration_ns;
    bool deterministic;
};

struct workload_mmpp_state {
    double rate_per_s;
    double mean_dwell_s;
};

struct workload_spec {
    enum workload_process process;
    double rate_per_s;   /* may be INFINITY */
    double burstiness;   /* gamma: shape; INFINITY = constant */
    double cv;           /* weibull */
    int64_t interval_ns; /* deterministic: 1/rate rounded to ns */
    const struct workload_stage *stages;
    size_t stage_count;
    const struct workload_mmpp_state *states;
    size_t state_count;
    uint32_t concurrency;  /* closed loop */
    struct rng_dist think; /* seconds; closed loop */
    bool has_think;
    const char *trace_path;    /* resolved */
    double speedup;            /* trace: arrival times divided by it */
    int64_t hash_block_tokens; /* trace: tokens of a hash id; 0 = as the file or its format says */
    uint64_t max_concurrency;  /* 0 = none; enforced by serve */
    bool ignore_eos;
    struct workload_class classes[WORKLOAD_CLASSES_MAX];
    size_t class_count;         /* at least 1; a workload without classes has one, named "" */
    int64_t max_context_tokens; /* the engine's max_model_len, where sessions end; 0 = none */
    uint64_t request_limit;     /* run.requests; 0 = by duration or the trace's end */
    int64_t duration_ns;        /* run.duration; 0 = none: no arrival after it */
};

struct workload_source;

enum kvsim_status workload_source_open(const struct workload_spec *spec, uint64_t seed,
                                       uint32_t replication, struct workload_source **out,
                                       struct kvsim_error *err) KVSIM_MUST_CHECK;
void workload_source_close(struct workload_source *source);

/* The next arrival in time; *more = false when there is none (for now: a closed loop may have
 * more after a done). */
enum kvsim_status workload_next(struct workload_source *source, struct workload_request *out,
                                bool *more, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* What became of a request. */
struct workload_ended {
    const struct workload_request *request;
    int64_t at_ns, output_tokens; /* when, and what its client has got */
    bool is_completed;
};

/* A request has ended: the next one of its session or (closed loop) of its client arrives a think time later. *more = false
 * when there is none, or the run's requests are used up. */
enum kvsim_status workload_done(struct workload_source *source, const struct workload_ended *ended,
                                struct workload_request *out, bool *more,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;

/* True when the end of a request can bring another one. */
bool workload_has_follow_ups(const struct workload_spec *spec);
bool workload_is_closed_loop(const struct workload_spec *spec);
bool workload_is_steady(
    const struct workload_spec *spec); /* constant rate or closed loop: warm-up applies */

/* How many requests a trace has and what they look like, read once in a streaming pass (for
 * defaults, checks, reports). */
struct workload_trace_info {
    uint64_t row_count; /* requests; failed rows of BurstGPT are left out and counted apart */
    uint64_t skipped_count;
    int64_t first_ns, last_ns;
    double prompt_mean, output_mean;
    int64_t prompt_max, output_max;
    bool has_class, has_session, has_content;
    uint32_t sequences_max; /* the largest `n` of a row */
    /* Of rows with hash_ids: ids in all, and those of a leading run of ids that earlier rows have
     * had: what a cache that forgets nothing and keeps partial blocks too would find. */
    int64_t id_count, seen_id_count, distinct_id_count;
};
/* hash_block_tokens 0 = as the file or its format says. */
enum kvsim_status workload_trace_scan(const char *path, int64_t hash_block_tokens,
                                      struct workload_trace_info *out,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/*
 * What a sequence holds while its answer of `answer` tokens grows behind `prompt` tokens, summed over the steps: token j + 1 of
 * the answer is computed with prompt + j tokens in the cache, j = 0 ... answer - 1. `most` is how long the answer may get.
 * `shared`: what of it every other answer to the same prompt holds as well; NULL: nothing.
 */
struct workload_hold {
    base_i128 (*sum)(const void *context, int64_t prompt, int64_t answer, int64_t most);
    base_i128 (*shared)(const void *context, int64_t prompt, int64_t answer);
    const void *context;
    bool is_by_request; /* the mean over requests, not over the time that they are there */
};

/* Of a request, all its answers together; what they share counts once. A request is there until its longest answer ends. */
struct workload_held {
    double blocks, sequences;
};

/*
 * The means of that for "expected" concurrency: E[sum] / E[O] over the joint distribution from 262,144 addressed draws; a trace:
 * over its rows. O is cut by max_tokens and max_model_tokens - P (max_model_tokens 0 = no limit); what is refused on arrival is
 * left out. An error when no request is left. Beams are counted as answers of one length: they share more than their prompt.
 */
enum kvsim_status workload_mean_held(const struct workload_spec *spec, uint64_t seed,
                                     const struct workload_hold *hold, int64_t max_model_tokens,
                                     struct workload_held *out,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Means over the requests of an undisturbed run (every answer complete), from 262,144 addressed draws: with sessions and
 * shared texts lengths follow from several distributions. */
void workload_mean_lengths(const struct workload_spec *spec, uint64_t seed, double *prompt_tokens,
                           double *output_tokens);

#endif
