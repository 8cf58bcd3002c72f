/*
 * cells_ledger.h - where the bytes of a cache of cells go (kv/cells.h), cause by cause.
 *
 * All cells are there from the start. What holds a token of a sequence that is served counts as its tokens do: seen, or
 * out of a window whose layers keep every cell. What a waiting slot keeps is `cached`. All else is `reserved`, for the
 * slot's next tokens or whoever comes. Layers whose ring of cells is shorter than a stream hold what the next query sees;
 * a cell behind that is anybody's to take, so it counts as reserved.
 */
#ifndef KVSIM_KV_CELLS_LEDGER_H
#define KVSIM_KV_CELLS_LEDGER_H

#include "kv/cells.h"
#include "kv/ledger.h"

/* What the cells hold: numbers of an instant, or means over a time. */
struct kv_cells_content {
    long double live_tokens, sequences;      /* of sequences that are served */
    long double kept_tokens, kept_sequences; /* of slots that wait and keep something */
    /* Of them those that the next query sees, by group of layers; all where there is no window. */
    long double seen_tokens[SPEC_KV_GROUPS_MAX], kept_seen_tokens[SPEC_KV_GROUPS_MAX];
};

/* All lines; `free` is what of the pool no cell takes, held back or not. Linear in the numbers. */
void kv_cells_lines(const struct kv_cells *cells, const struct spec_kv_layout *layout,
                    const struct kv_cells_content *content,
                    long double lines[KV_LEDGER_LINE_COUNT]);

#endif
