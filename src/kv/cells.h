/*
 * cells.h - the cache of llama.cpp: so many cells as the context was said to have, no blocks, allocated at start.
 *
 *   not unified: `parallel` streams of pad(ctx / parallel) cells;  unified: one stream of pad(ctx) cells for all
 *   windowed layers: min(cells, pad(window * (unified ? parallel : 1) + ubatch)) cells, unless swa_full
 *   bytes = cells * streams * layers * bytes of a row of K and of V
 *
 * Exact to the byte against start-up logs (validation/kv-logs). Recurrent states have one cell a sequence. Source:
 * ggml-org/llama.cpp, llama-kv-cache*.cpp as reported in logs; older releases pad to 32 and keep windowed layers whole.
 */
#ifndef KVSIM_KV_CELLS_H
#define KVSIM_KV_CELLS_H

#include "spec/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_cells_options {
    int64_t ctx_tokens;     /* of all sequences together, as ctx_size */
    uint32_t parallel;      /* sequences; 0 = 1 */
    bool unified;           /* all sequences share one stream */
    bool swa_full;          /* windowed layers keep every cell */
    uint32_t ubatch_tokens; /* 0 = 512 */
    uint32_t pad_tokens;    /* 0 = 256 */
};

/* Layers of one kind: one cache of its own. */
struct kv_cells_group {
    enum spec_kv_kind kind;
    uint32_t layer_count, window_tokens;
    int64_t cells; /* of one stream */
    uint32_t streams;
    int64_t row_bytes; /* one cell of all the layers, K and V */
    int64_t bytes;
};

struct kv_cells {
    size_t group_count;
    struct kv_cells_group groups[SPEC_KV_GROUPS_MAX];
    uint32_t slots;       /* kv_slots */
    int64_t slot_tokens;  /* kv_slot_tokens: the longest sequence */
    int64_t stream_cells; /* of layers without a window */
    uint32_t streams;
    int64_t bytes;
    int64_t pool_bytes; /* of what they lie in; as made: theirs */
};

void kv_cells_make(const struct spec_kv_layout *layout, const struct kv_cells_options *options,
                   struct kv_cells *out);

#endif
