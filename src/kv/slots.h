/*
 * slots.h - the slots of llama.cpp's server: so many sequences at most, each of which keeps what its last request left.
 *
 * A request takes a slot that waits: the one that keeps the longest beginning of its prompt, where that is more than a share
 * of the prompt (of equals the first), else the one whose last request ended first (of those that never had one the last).
 * What the slot keeps of the prompt is not computed again, what follows is given up. When the request has ended the slot keeps
 * prompt and answer. A cell is one token of every kind of layer (kv/cells.h). Either each slot has a stream of cells of its own,
 * so a sequence that is not longer than the stream always fits; or one stream is shared, and where cells run short waiting
 * slots lose what they keep, the first ones first, all of it.
 *
 * Layers with a ring of cells (windows) have only the end of what is kept, recurrent states only the very end: where a prompt
 * parts from it earlier than they reach, nothing is reused. How far a ring reaches back is counted as if it were filled in
 * order; in a shared stream a window is all that is counted on.
 *
 * Source: llama.cpp, tools/server/server-context.cpp (get_available_slot, update_slots, try_clear_idle_slots) and
 * src/llama-kv-cache.cpp (docs/sources.md). A row of cells, one by one, agrees (tests/reference/ref_slots.c).
 * Invariants: kept == sum over waiting slots; a busy slot keeps nothing, its sequence holds its cells.
 * Waiting slots stand in a list, the one that waits longest first, and in chains by the first token that they keep.
 * Cost: a choice walks the slots that keep the prompt's first token, all else but clearing is O(1), which walks the slots from
 * the first that may keep something.
 */
#ifndef KVSIM_KV_SLOTS_H
#define KVSIM_KV_SLOTS_H

#include "base/field.h"
#include "kv/cells.h"
#include "kv/content.h"
#include "kv/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_slot {
    bool is_busy;
    int64_t kept_tokens;       /* while it waits */
    int64_t first_token;       /* where its rings begin; 0: they have all of it */
    struct kv_content content; /* of what it keeps; empty where nobody looks for it */
    struct spec_token_run *runs;
    size_t run_capacity;
    struct kv_slot *older, *younger; /* while it waits */
    struct kv_slot *chain_next;      /* while it waits and its content is known */
};

struct kv_slots_options {
    bool is_shared;                  /* one stream for all */
    bool keeps_content;              /* prompts are found again */
    struct base_rational similarity; /* share of a prompt that must be found; den 0 = 0 */
};

struct kv_slots {
    struct kv_slots_options options;
    const struct kv_tables *tables;
    struct kv_slot *at;
    size_t count, busy_count;
    struct kv_slot *oldest, *youngest; /* of those that wait */
    struct kv_slot **chains;           /* by first token */
    size_t chain_count;
    size_t first_kept; /* none before it keeps something */
    int64_t cells;     /* of all streams */
    int64_t ring_cells,
        ring_window; /* of the widest window with a ring; 0: every layer has all cells */
    bool has_states;
    int64_t kept_tokens, kept_sequences;
    /* by window: of them those that the next query sees */
    int64_t kept_visible_tokens[KV_WINDOWS_MAX];
    int64_t lost_tokens; /* kept, and given up or cleared */
};

/* `tables` stays where it is. */
void kv_slots_init(struct kv_slots *slots, const struct kv_cells *cells,
                   const struct kv_tables *tables, const struct kv_slots_options *options);
void kv_slots_release(struct kv_slots *slots);

static inline bool kv_slots_has_room(const struct kv_slots *slots)
{
    return slots->busy_count < slots->count;
}

/* Cells without a token, `live_tokens` being those of sequences that are served. */
static inline int64_t kv_slots_empty_cells(const struct kv_slots *slots, int64_t live_tokens)
{
    return slots->cells - slots->kept_tokens - live_tokens;
}

/* The number of the slot that a prompt of `tokens` tokens takes; there is room. */
size_t kv_slots_choose(const struct kv_slots *slots, const struct kv_content *content,
                       int64_t tokens);
/* It is busy from now on. Returns how many leading tokens of the prompt its cells hold, fewer than `tokens`. */
int64_t kv_slots_take(struct kv_slots *slots, size_t number, const struct kv_content *content,
                      int64_t tokens);
/* It waits from now on, and keeps the first `tokens` of `content`, which it copies. */
void kv_slots_give(struct kv_slots *slots, size_t number, const struct kv_content *content,
                   int64_t tokens);
/* The first waiting slot that keeps something loses it; false when there is none. */
bool kv_slots_clear_one(struct kv_slots *slots);

#endif
