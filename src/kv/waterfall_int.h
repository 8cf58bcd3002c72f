/*
 * waterfall_int.h - the computation itself, without the search for changes, for waterfall.c, changes.c, countable.c, parts.c
 * and window_pool.c.
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

/* parts.c: the parts of a budget, with overrides and derived figures resolved. */
struct kv_parts {
    struct kv_waterfall_bytes of[KV_PART_COUNT];
    struct kv_runtime runtime;
};
enum kv_place kv_parts_place(const struct kv_waterfall_inputs *inputs, enum kv_part part);
int64_t kv_parts_placed_bytes(const struct kv_waterfall_inputs *inputs,
                              const struct kv_parts *parts, enum kv_place place);
enum kvsim_status kv_parts_find(const struct kv_waterfall_inputs *inputs,
                                const struct kv_pages *pages, struct kv_parts *parts,
                                struct kvsim_error *err);
/* The fraction of what the parts before it leave of the memory. */
int64_t kv_parts_share_bytes(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                             uint64_t memory_bytes);
/* States of a share that a running sequence needs, at least one. */
int64_t kv_parts_slots_per_sequence(const struct kv_waterfall_inputs *inputs);
/* Of what is left for both, tokens and states by their share, in whole states. */
void kv_parts_share_with_states(const struct kv_waterfall_inputs *inputs, struct kv_parts *parts,
                                struct kv_waterfall *out);

/* countable.c: KVSIM_ERR_SCENARIO with the key of what is too much; the layout and the pages of `out` are made. */
enum kvsim_status kv_countable_check_inputs(const struct kv_waterfall_inputs *inputs,
                                            const struct kv_waterfall *out,
                                            struct kvsim_error *err) KVSIM_MUST_CHECK;
enum kvsim_status kv_countable_check_parts(const struct kv_parts *parts,
                                           const struct kv_waterfall *out,
                                           struct kvsim_error *err) KVSIM_MUST_CHECK;

/* window_pool.c: blocks of the full layers' pool out of `blocks` of all layers; `blocks` where there is one kind. */
int64_t kv_window_pool_split(const struct kv_waterfall_inputs *inputs,
                             const struct kv_waterfall *out, int64_t blocks);
/* Bytes and tokens of the two pools, of `blocks` of full layers; changes nothing where there is one kind. */
void kv_window_pool_set(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out,
                        int64_t blocks);
/* Sequences of `tokens` in the windowed layers' pool: each takes its window, and all of it while it is shorter. */

#endif
