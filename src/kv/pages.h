/*
 * pages.h - how an engine cuts its pool into blocks, and how many of them a request takes at most.
 *
 * Plain: one block holds block_tokens tokens of every layer, one table per request; layers with a window keep all
 * tokens, recurrent states lie outside the pool. Hybrid (vLLM V1's hybrid KV cache manager): layers of equal kind form
 * tables of `page_layer_count` layers, all tables draw equal blocks from one pool, a window's blocks come back when it
 * has moved on, a recurrent state takes whole blocks. Attention blocks then grow until a state fits in one page. Layers
 * whose tokens take fewer bytes than the largest (another dtype, narrower heads, a drafter) get longer blocks of as many
 * bytes, where those divide; else their pages are padded, or the engine refuses (kv_unequal_pages, by release).
 * Source: vLLM, vllm/v1/core/kv_cache_utils.py (docs/sources.md); exact on logged starts of gemma-3-27b,
 * gpt-oss-120b and Qwen3.6/3.8.
 */
#ifndef KVSIM_KV_PAGES_H
#define KVSIM_KV_PAGES_H

#include "base/error.h"
#include "spec/model.h"

#include <stdbool.h>
#include <stdint.h>

struct spec_kv_layout; /* spec/kv.h */
struct spec_kv_slot;

/* Hybrid: what becomes of layers whose tokens do not all take the same bytes. */
enum kv_unequal_pages {
    KV_UNEQUAL_REFUSED, /* vLLM to 0.10 */
    KV_UNEQUAL_LONGER,  /* longer blocks where the bytes divide, else refused: from 0.11 */
    KV_UNEQUAL_PADDED   /* and padded where they do not: mid-2026 */
};

struct kv_pages_options {
    bool hybrid; /* tables per kind of layer; has no effect on a model of one kind */
    /* hybrid: blocks that one state takes in each of its tables; 0 = 1 */
    uint32_t state_blocks_per_sequence;
    /* hybrid: the last of a state's blocks is the next checkpoint, held around a block's border alone */
    bool caches_states;
    uint32_t state_align_tokens; /* hybrid: attention blocks grow in steps of this; 0 = 16 */
    /* tokens a step may add before a window lets blocks go: depth x batched tokens */
    int64_t window_extra_tokens;
    enum kv_unequal_pages unequal;
    int64_t lookahead_tokens; /* slots that a sequence holds for tokens to be drafted ... */
    int64_t longest_tokens;   /* ... up to this length; 0 = without end */
    /* plain: what a step holds beside the cache for each token (concatenation) */
    uint64_t transient_bytes_per_token;
};

/* Layers that share block tables of one kind. */
struct kv_pages_kind {
    enum spec_kv_kind kind;
    uint32_t window_tokens;
    uint32_t layer_count; /* on the fullest GPU */
    uint32_t table_count; /* tables of page_layer_count layers; the last one may be padded */
    uint64_t slot_bytes;  /* hybrid: one token of one layer on one GPU; 0 for states */
    uint32_t block_tokens;
};

struct kv_pages {
    bool is_hybrid;
    uint32_t page_layer_count; /* layers in a block; plain: all */
    uint32_t table_count;      /* of a request */
    uint32_t block_tokens;     /* after growing for states: the shortest of the kinds */
    uint64_t block_bytes_per_gpu;
    uint64_t block_bytes;        /* over all GPUs of the replica */
    uint32_t padded_layer_count; /* empty places in tables */
    size_t kind_count;
    struct kv_pages_kind kinds[SPEC_KV_GROUPS_MAX];
    uint64_t state_bytes_per_gpu;       /* plain: states of one sequence, outside the pool */
    uint32_t state_blocks_per_sequence; /* at most */
    bool caches_states;
    int64_t window_extra_tokens;
    int64_t lookahead_tokens, longest_tokens;
    uint64_t transient_bytes_per_token; /* in block_bytes */
};

/* KVSIM_ERR_SCENARIO when the layers' pages can't be made equal (hybrid only): state it with the kinds at fault. */
enum kvsim_status kv_pages_make(const struct spec_kv_layout *layout,
                                const struct kv_pages_options *options, struct kv_pages *out,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The tables in which a group's layers lie; plain pages have one for all. */
const struct kv_pages_kind *kv_pages_kind_of(const struct kv_pages *pages,
                                             const struct spec_kv_slot *slot);

/* Tokens that are whole blocks of every kind, the least of them. */
int64_t kv_pages_common_tokens(const struct kv_pages *pages);

/* Slots beyond its `tokens` that a sequence holds for tokens to be drafted. */
int64_t kv_pages_lookahead(const struct kv_pages *pages, int64_t tokens);

/* The most blocks that one sequence of `tokens` holds at once, over all its tables. Rises with tokens. */
int64_t kv_pages_sequence_blocks(const struct kv_pages *pages, int64_t tokens);

/* The same as admission asks for it: no table has more blocks than its tokens fill. At most kv_pages_sequence_blocks(), which
 * is what the engine prints. */
int64_t kv_pages_asked_blocks(const struct kv_pages *pages, int64_t tokens);

/* Entries of one sequence's block tables when it may get `tokens` long: what a window has given back keeps its place. */
int64_t kv_pages_table_entries(const struct kv_pages *pages, int64_t tokens);

/* The longest sequence that `blocks` hold, 0 when none, at most `limit_tokens`. */
int64_t kv_pages_longest_sequence(const struct kv_pages *pages, int64_t blocks,
                                  int64_t limit_tokens);

#endif
