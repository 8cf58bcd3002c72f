/*
 * fit.h - how many requests fit one replica's memory at once: all at their longest, and those of the stated workload.
 *
 * Slots are an end of their own. Where a request holds what it reserved at admission, its mean length says little: only room
 * for the longest sequence is as well known as what grows. A figure that would be wrong is left out, with the reason.
 */
#ifndef KVSIM_STUDY_FIT_H
#define KVSIM_STUDY_FIT_H

#include "serve/config.h"

struct study_fit_pool {
    int64_t usable_blocks;
    int64_t longest_blocks; /* of one sequence of max_model_len */
    int64_t fitting;        /* such sequences, as the blocks count */
};

struct study_fit {
    int64_t guaranteed;
    double expected;      /* NaN: no workload, or `why_none` */
    const char *why_none; /* NULL: nothing is wrong with `expected` */
};

void study_fit_make(const struct serve_config *config, const struct study_fit_pool *pool,
                    struct study_fit *out);

#endif
