/*
 * rounds.h - whether a run was long enough for its load to build up.
 */
#ifndef KVSIM_STUDY_ROUNDS_H
#define KVSIM_STUDY_ROUNDS_H

#include "record/run.h"
#include "serve/config.h"

/* A run should last so many times as long as a request takes. */
enum { STUDY_ROUNDS_LEAST = 10 };

/*
 * The measured time over what a request takes, of sessions over what a session takes, thinking included; at most the number of
 * requests. The clients of a closed loop are there from the start; sessions come one by one. A run in which no request ended
 * has not seen a single round: 0.
 */
double study_rounds(const struct workload_spec *workload, const struct record_run *run);
/* Requests come at a steady rate, some were answered, and the run has fewer rounds than it should have. */
bool study_is_short(const struct workload_spec *workload, const struct record_run *run);

#endif
