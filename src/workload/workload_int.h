/*
 * workload_int.h - what the sources of workload share: exact rates, gaps, draws of class and
 * lengths, rows of a trace.
 */
#ifndef KVSIM_WORKLOAD_WORKLOAD_INT_H
#define KVSIM_WORKLOAD_WORKLOAD_INT_H

#include "rng/rng.h"
#include "workload/arrivals.h"

#include <math.h>

#define WORKLOAD_NS_PER_S 1e9

/* What an arrival process leaves open in a request, for the source to fill in; output_tokens 0 =
 * lengths are drawn. */
#define WORKLOAD_PRIORITY_NONE INT32_MIN
#define WORKLOAD_CLASS_NONE UINT32_MAX

/* A fraction that reads as `value` (0.1 is 1/10, not the nearest binary fraction): the first
 * convergent of its continued fraction that rounds to it. value within [1e-9, 1e15]. */
struct base_rational workload_rational(double value);

/* round(count * 1e9 * den / num), half up: the time of the count-th event at num/den per second.
 * Error beyond int64. */
enum kvsim_status workload_time_at_rate(uint64_t count, struct base_rational rate, int64_t *at_ns,
                                        struct kvsim_error *err);

/* *at_ns += gap_ns, rounded to the nearest; an error beyond 292 years. */
enum kvsim_status workload_add_gap(int64_t *at_ns, double gap_ns, struct kvsim_error *err);

enum kvsim_status workload_fail_key(struct kvsim_error *err, const char *key, const char *code,
                                    const char *message);

/* Range of a finite rate, shared by every process. */
enum kvsim_status workload_check_rate(double rate_per_s, const char *key, struct kvsim_error *err);

/* The key that every process with one rate has. */
#define WORKLOAD_RATE_FIELD(HELP)                                                              \
    {                                                                                          \
        .key = "rate", .type = BASE_REAL, .unit = BASE_RATE,                                   \
        .offset = offsetof(struct workload_arrival_opts, rate_per_s), .max = (double)INFINITY, \
        .min_open = true, .required = true, .help = (HELP)                                     \
    }

/* gaps.c: arrivals whose gaps are independent draws from one distribution, gap i at address i. */
struct workload_gaps {
    uint64_t key;
    struct rng_dist gap_ns;
    int64_t at_ns;
};
/* `shape` is the distribution of the gaps but for its mean, which the spec's rate gives. */
enum kvsim_status workload_gaps_init(struct workload_gaps *gaps,
                                     const struct workload_arrival_context *context,
                                     struct rng_dist_options shape, struct kvsim_error *err);
enum kvsim_status workload_gaps_next(struct workload_gaps *gaps, struct workload_request *request,
                                     struct kvsim_error *err);

/* A unit exponential at its address. */
double workload_exponential(uint64_t key, uint64_t index);

/* Classes and lengths of requests, by address. */
struct workload_draws {
    const struct workload_spec *spec;
    uint64_t class_key;
    double total_weight;
    uint64_t prompt_keys[WORKLOAD_CLASSES_MAX], output_keys[WORKLOAD_CLASSES_MAX],
        max_keys[WORKLOAD_CLASSES_MAX];
    uint64_t seed;
    uint32_t replication;
};
void workload_draws_init(struct workload_draws *draws, const struct workload_spec *spec,
                         uint64_t seed, uint32_t replication);
uint32_t workload_draws_class(const struct workload_draws *draws, uint64_t address);
/* Lengths of a request of class_index. */
void workload_draws_lengths(const struct workload_draws *draws, uint64_t address,
                            struct workload_request *request);
/* max_tokens alone, for a trace row that states none; output_tokens is set. */
void workload_draws_max_tokens(const struct workload_draws *draws, uint64_t address,
                               struct workload_request *request);

/* The request's sequences, how many of them are given to the client, and what beams need. sequence_count is what a trace said
 * of its answers, or 0. */
void workload_draws_sequences(const struct workload_draws *draws, uint64_t address,
                              struct workload_request *request);
/* Room for the lengths of answers. Zeroed = none; base_vec_free() releases it. */
struct workload_lengths {
    int64_t *at;
    size_t count, capacity;
};
/* Several answers to a request that workload_draws_lengths() has filled, into `room`, which it then points to: the first has
 * output_tokens, the others are drawn as that one was, by themselves. Where nothing is said of max_tokens the client allows the
 * longest. Beams, and answers that are as long as they may get, are alike: nothing is done. */
void workload_draws_answers(const struct workload_draws *draws, uint64_t address,
                            struct workload_request *request, struct workload_lengths *room);

/* Where the random numbers of a client's or session's turn lie. */
static inline uint64_t workload_address(uint32_t client, uint64_t turn)
{
    return ((uint64_t)client << 32) + turn;
}

/*
 * prompts.c: the content of prompts that begin with shared texts, and of sessions. `runs` has room for WORKLOAD_RUNS runs,
 * which the request then points to.
 */
enum { WORKLOAD_RUNS = 4 };
/* A request that follows no other: its prompt's length and content. The class and the answer are drawn; the length of
 * prompt_tokens too. */
void workload_draws_beginning(const struct workload_draws *draws, uint64_t address,
                              struct workload_request *request, struct spec_token_run *runs);
/* How many leading tokens of a beginning's prompt earlier ones have had; `longest` has the length of each text so far. */
int64_t workload_seen_texts(const struct workload_request *request, int64_t *longest);
/* The next turn of a session: what grows and when it comes. Class, client, turn, session_turn and beginning are set. */
void workload_draws_turn(const struct workload_draws *draws, uint64_t address,
                         const struct workload_ended *ended, struct workload_request *request,
                         struct spec_token_run *runs);
/* How many turns the session of a request has that began at `address`, and the time before the turn at `address`. */
uint64_t workload_draws_turn_count(const struct workload_draws *draws, uint32_t class_index,
                                   uint64_t address);
double workload_draws_gap_s(const struct workload_draws *draws, uint32_t class_index,
                            uint64_t address);

/* Longest prompt or answer, and the most tokens that one of a trace's hash ids stands for. */
#define WORKLOAD_LENGTH_MAX (INT64_C(1) << 40)
#define WORKLOAD_HASH_BLOCK_MAX 65536

/* Content as it is put together, run by run. Zeroed = empty; base_vec_free() releases it. */
struct workload_runs {
    struct spec_token_run *at;
    size_t count, capacity;
};

/*
 * content.c: what a trace states of a prompt, appended to `out`; false when the text is no such list.
 * "[[first, count], ...]": *tokens is the sum. "[id, ...]": a full block of `block_tokens` each, the
 * same ids the same tokens, in a range that no other content uses.
 */
bool workload_runs_of_ranges(const char *text, struct workload_runs *out, int64_t *tokens);
bool workload_runs_of_ids(const char *text, int64_t block_tokens, struct workload_runs *out);
/* Makes runs that continue each other one; returns how many are left. */
size_t workload_runs_join(struct spec_token_run *at, size_t count);

/* Blocks of hash ids that some row has had, by the first token's id (never 0). Zeroed = none; base_free(at) releases it. */
struct workload_seen {
    int64_t *at; /* open addressing; 0 = empty place */
    size_t capacity, count;
};
/* True when the block was not there before. */
bool workload_seen_add(struct workload_seen *seen, int64_t first);

/* One row of a trace, checked. Texts and runs are valid until the next row; NULL where the file has
 * none. */
struct workload_row {
    uint64_t number; /* from 0, rows of failed requests counted too */
    int64_t at_ns;
    int64_t prompt_tokens, output_tokens;
    int64_t max_tokens;      /* 0 = not stated */
    uint32_t sequence_count; /* 0 = not stated */
    int32_t priority;        /* or WORKLOAD_PRIORITY_NONE */
    const char *id, *class_name;
    struct spec_token_run *runs; /* content of the prompt */
    size_t run_count;            /* 0: not stated */
    int64_t hash_block_tokens;   /* content by hash ids: one run a block; else 0 */
};

struct workload_trace;
enum kvsim_status workload_trace_open(const char *path, struct workload_trace **out,
                                      struct kvsim_error *err);
enum kvsim_status workload_trace_next(struct workload_trace *trace, struct workload_row *row,
                                      bool *more, struct kvsim_error *err);
void workload_trace_close(struct workload_trace *trace);
/* How many tokens one of the file's hash ids stands for, where it has no column of that; the format's own before. */
void workload_trace_set_hash_block(struct workload_trace *trace, int64_t tokens);
/* An error at the current row's class. */
enum kvsim_status workload_trace_fail_class(const struct workload_trace *trace,
                                            struct kvsim_error *err);
uint64_t workload_trace_skipped(const struct workload_trace *trace);
bool workload_trace_has_class(const struct workload_trace *trace);
bool workload_trace_has_session(const struct workload_trace *trace);
bool workload_trace_has_content(const struct workload_trace *trace);

#endif
