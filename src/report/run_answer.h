/*
 * run_answer.h - what a capacity report says first: the question, the answer, what binds, and what to change.
 *
 * Everything is derived from the run's rows; nothing is simulated here, and levers say so.
 */
#ifndef KVSIM_REPORT_RUN_ANSWER_H
#define KVSIM_REPORT_RUN_ANSWER_H

#include "record/run.h"

#include <stddef.h>

enum report_tone { REPORT_YES, REPORT_NO, REPORT_OPEN };

struct report_answer {
    enum report_tone tone;
    char question[320], answer[160], detail[480];
    /* The promise with the least headroom: "tpot p99 is 14.7 ± 0.4 ms against 50 ms"; "" without one. */
    char tightest[256];
};
void report_answer_read(const struct record_run *run, struct report_answer *out);

/* "memory bandwidth, spent on reading the weights", and what that means. */
const char *report_limit_title(const char *limit);
const char *report_limit_meaning(const char *limit);
/* The share of the measured time in which it binds; NaN when it is not known. */
double report_limit_share(const struct record_run *run, const char *limit);

/* Something to try against the binding limit: a setting, and what it does. */
struct report_lever {
    char setting[96]; /* engine.kv_cache_dtype=fp8 */
    const char *effect;
};
enum { REPORT_LEVERS_MAX = 4 };
size_t report_levers_find(const struct record_run *run,
                          struct report_lever levers[REPORT_LEVERS_MAX]);
/* Against a limit that the run itself may not have met, the number of replicas as it is. */
size_t report_levers_against(const struct record_run *run, const char *limit,
                             struct report_lever levers[REPORT_LEVERS_MAX]);

#endif
