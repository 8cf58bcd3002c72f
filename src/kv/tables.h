/*
 * tables.h - the block tables of a sequence in a running pool, and how windows give blocks back.
 *
 * kv/pages.h says how an engine cuts its pool; this is what a simulation needs of it while sequences grow. Every growing
 * table takes a block each block_tokens tokens. Layers whose tokens take fewer bytes have blocks of as many bytes and more
 * tokens, whole multiples of block_tokens: tables of their own length, which stand among the windows, also where they see
 * everything. Otherwise a window is a kind of layer that sees the last tokens only: where it has
 * tables of its own (hybrid pages) the blocks that no later query sees come back, where it has none (engines without such
 * tables) its tokens stay in the blocks of the full layers and are out of the window. A state takes its blocks at admission.
 * With c tokens in the cache a sequence holds
 *   state_blocks + sum over growing tables of ceil(c / their block's tokens) - sum over windows of table_count * dropped blocks.
 * States that a prefix cache keeps (vLLM's align mode) are a window of two tokens: only the state behind the last token is
 * needed, and a sequence can start behind a block whose state is there. A chunk takes the block in which it ends; those that it
 * passes over are never there, and count as dropped.
 * Source: vLLM, vllm/v1/core/single_type_kv_cache_manager.py: remove_skipped_blocks, get_num_skipped_tokens and the
 * admission caps (docs/sources.md).
 */
#ifndef KVSIM_KV_TABLES_H
#define KVSIM_KV_TABLES_H

#include "base/error.h"
#include "kv/pages.h"
#include "spec/kv.h"

#include <stddef.h>
#include <stdint.h>

enum { KV_WINDOWS_MAX = 4 };
/* A window that nothing leaves: no context comes near it, and sums with it fit in 64 bits. */
#define KV_SEES_EVERYTHING (INT64_MAX / 4)

struct kv_window {
    /* sliding or chunked; full: tables that see everything, with blocks of their own length */
    enum spec_kv_kind kind;
    int64_t tokens;       /* of the window, or KV_SEES_EVERYTHING */
    int64_t table_count;  /* 0: its tokens are kept with those of the full layers */
    int64_t block_tokens; /* of its tables */
    /* of a layer's token on a GPU: which layers lie in the tables, where blocks are of several lengths */
    int64_t slot_bytes;
};

struct kv_tables {
    int64_t block_tokens, block_bytes; /* the shortest block's tokens */
    int64_t period_tokens;             /* the least common multiple of all blocks' tokens */
    int64_t growing_tables;            /* windows included */
    int64_t long_tables;               /* of them with blocks of more than block_tokens */
    int64_t full_tables;               /* of the others: without a window */
    int64_t state_blocks;              /* that a sequence holds from admission to its end */
    bool holds_states;                 /* recurrent states lie in the pool */
    bool caches_states;                /* as the last window; state_blocks is 0 then */
    int64_t spare_state_blocks;        /* of state_blocks: promised to the next checkpoint */
    /* a prefix cache keeps of a sliding window what the beginnings that come again need, see kv/prefix.h */
    bool is_sparse;
    size_t window_count;
    struct kv_window windows[KV_WINDOWS_MAX]; /* in the order of the layout's groups */
};

/* The tables of a layout cut into `pages`; KVSIM_ERR_SCENARIO where windows are more or other than can be told apart. */
enum kvsim_status kv_tables_make(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                                 struct kv_tables *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* From now on a prefix cache keeps the states, which are the last window. Tables that hold states only. */
enum kvsim_status kv_tables_cache_states(struct kv_tables *tables,
                                         struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Tables of cached states, or 0. */
static inline int64_t kv_tables_cached_states(const struct kv_tables *tables)
{
    return tables->caches_states ? tables->windows[tables->window_count - 1].table_count : 0;
}

/* One table, no window is looked at. */
void kv_tables_plain(const struct spec_kv_layout *layout, struct kv_tables *out);

/* The window of a group of layers, or window_count where they see everything. */
size_t kv_tables_window_of(const struct kv_tables *tables, const struct spec_kv_slot *slot);
/* The window in whose tables a group of layers lies, or window_count. */
size_t kv_tables_place_of(const struct kv_tables *tables, const struct spec_kv_slot *slot);

/* Tables whose blocks are longer than others. */
static inline bool kv_window_is_long(const struct kv_tables *tables, size_t window)
{
    return tables->windows[window].block_tokens > tables->block_tokens;
}

/* Blocks of all growing tables for `tokens` tokens, as if none had been given back. */
int64_t kv_tables_blocks(const struct kv_tables *tables, int64_t tokens);
/* Blocks that all growing tables take in a period. */
int64_t kv_tables_blocks_of_period(const struct kv_tables *tables);

/* Leading blocks that no query from position `processed` on sees. */
static inline int64_t kv_window_passed_blocks(const struct kv_window *window, int64_t processed)
{
    if (window->kind == SPEC_KV_CHUNKED) {
        return processed / window->tokens * window->tokens / window->block_tokens;
    }
    int64_t unseen = processed - window->tokens + 1;
    return unseen > 0 ? unseen / window->block_tokens : 0;
}

/* Blocks of a sliding window that somebody who starts at the beginning of a block needs of those before it. */
static inline int64_t kv_window_blocks_to_start(const struct kv_window *window)
{
    return (window->tokens - 1 + window->block_tokens - 1) / window->block_tokens;
}

/* Of `tokens` in the cache, those that the last `queries` of them see. */
static inline int64_t kv_window_visible_tokens(const struct kv_window *window, int64_t tokens,
                                               int64_t queries)
{
    if (window->kind == SPEC_KV_CHUNKED) {
        int64_t first = tokens - queries > 0 ? tokens - queries : 0;
        return tokens - first / window->tokens * window->tokens;
    }
    int64_t seen = window->tokens - 1 + queries;
    return tokens < seen ? tokens : seen;
}

/* Most blocks that one table of the window is counted with at admission; `extra_tokens` as in kv_pages. */
int64_t kv_window_admission_cap(const struct kv_window *window, int64_t extra_tokens,
                                int64_t longest_tokens);

#endif
