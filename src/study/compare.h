/*
 * compare.h - two finished runs against each other, figure by figure, on common random numbers where they have them.
 */
#ifndef KVSIM_STUDY_COMPARE_H
#define KVSIM_STUDY_COMPARE_H

#include "record/comparison.h"

/* Fills `out`, which the caller has initialized and frees. */
void study_compare(const struct record_run *a, const struct record_run *b,
                   struct record_comparison *out);

#endif
