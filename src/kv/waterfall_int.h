/*
 * waterfall_int.h - the computation itself, without the search for changes, for waterfall.c and changes.c.
 */
#ifndef KVSIM_KV_WATERFALL_INT_H
#define KVSIM_KV_WATERFALL_INT_H

#include "kv/waterfall.h"

/* Everything but refusal.changes. */
enum kvsim_status kv_waterfall_compute(const struct kv_waterfall_inputs *inputs,
                                       struct kv_waterfall *out,
                                       struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Fills refusal.changes of a waterfall that does not start. */
void kv_waterfall_find_changes(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out);

#endif
