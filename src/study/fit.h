/*
 * fit.h - how many requests fit one replica at once: all of them of one length, and those of the stated workload; what ends
 * the number, and what was divided by what.
 *
 * Each way of allocating memory is asked as its scheduler asks it at admission (kv/reserve.h, sched): blocks of a sequence,
 * what is reserved for it, slots, or nothing at all. Seats are an end of their own. A figure that does not exist is left out,
 * with the reason. tests/property/test_fit_against_engine.c lets the engine admit as many.
 */
#ifndef KVSIM_STUDY_FIT_H
#define KVSIM_STUDY_FIT_H

#include "base/mem.h"
#include "kv/hold.h"
#include "serve/config.h"

/* What ends the number: "kv_pool", "state_pool", "window_pool", "slots", "max_num_seqs" or "max_model_len". */
struct study_fit {
    int64_t sequences; /* that are admitted at once */
    int64_t in_memory; /* that the memory alone holds; -1: it ends nothing */
    const char *limit;
    /* That run beside each other once they are in: more where windows give blocks back that admission asks for. The last one
     * finds the room that it asks for while all others are at their largest. */
    int64_t running;
    const char *running_limit;
};

/* Sequences of `tokens` tokens at their end, however they are divided into prompt and answer. */
void study_fit_of_length(const struct serve_config *config, int64_t tokens, struct study_fit *out);

/* The same of max_model_len, or of a whole slot where that is shorter. */
void study_fit_of_longest(const struct serve_config *config, struct study_fit *out);

struct study_fit_expected {
    double requests; /* NaN: see why_none */
    const char *limit;
    const char *why_none;
};

/* Requests of the workload, each with all its answers: what these share counts once, each has a seat while it grows. */
void study_fit_of_workload(const struct serve_config *config, struct study_fit_expected *out);

/* What was divided by what: "pool / one request of max_model_len". */
const char *study_fit_guaranteed_means(const struct serve_config *config,
                                       const struct study_fit *fit, struct base_arena *arena);
/* The same of those that run; NULL where they are as many as are admitted at once. */
const char *study_fit_running_means(const struct serve_config *config, const struct study_fit *fit,
                                    struct base_arena *arena);
const char *study_fit_expected_means(const struct serve_config *config,
                                     const struct study_fit_expected *fit,
                                     struct base_arena *arena);

/*
 * Where the number of seats is the engine's default, is assumed and decides one of these figures: a sentence that says so;
 * else NULL. Seats end the number of requests, or make the logits that the activation peak counts.
 */
const char *study_fit_assumed_seats(const struct serve_config *config, struct base_arena *arena);

/* What is set aside for a sequence of `tokens` so far, at most; zeroed where its memory grows with it. */
void study_fit_share(const struct serve_config *config, int64_t tokens, struct kv_hold_share *out);

/* The cells that slots share or have; NULL: no slots. */
const struct kv_cells *study_fit_cells(const struct serve_config *config);

#endif
