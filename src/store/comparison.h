/*
 * comparison.h - the figures of two stored runs against each other, kept for SQL.
 */
#ifndef KVSIM_STORE_COMPARISON_H
#define KVSIM_STORE_COMPARISON_H

#include "record/comparison.h"
#include "store/store.h"

/* Both runs must be stored. Writing the same comparison again changes nothing. */
enum kvsim_status store_write_comparison(struct store *store,
                                         const struct record_comparison *comparison,
                                         struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
