/*
 * waterfall.h - from a card's label to whole KV blocks, as vLLM V1 sizes its pool, and what to change where it can't.
 *
 *   budget    = ceil(driver-visible memory * gpu_memory_utilization)
 *   available = budget - weights - activation peak - non-torch - graphs (where the release charges them)
 *   blocks    = floor(available / block bytes per GPU)
 *   starts    when blocks - reserved >= blocks of one sequence of max_model_len
 *
 * All rows are per GPU, of the fullest stage. Where the pool isn't stated, every row below `driver` is a part of it:
 *   driver = outside_utilization + weights + activation + non_torch + graphs + state_pool + remainder + kv_pool
 * to the byte. A part may exceed what is left; then `remainder` is negative, kv_pool is 0 and it does not start.
 * A pool that is stated (bytes, blocks, tokens) isn't checked against the card: only nominal, driver, remainder and
 * kv_pool are rows then, and they don't add up to anything.
 * Source: vLLM, vllm/v1/core/kv_cache_utils.py (docs/sources.md), and its own start-up lines.
 */
#ifndef KVSIM_KV_WATERFALL_H
#define KVSIM_KV_WATERFALL_H

#include "base/error.h"
#include "base/field.h"
#include "kv/cells.h"
#include "kv/pages.h"
#include "kv/runtime.h"
#include "spec/hardware.h"
#include "spec/kv.h"
#include "spec/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kv_waterfall_line {
    KV_WF_NOMINAL,
    KV_WF_DRIVER,
    KV_WF_OUTSIDE_UTILIZATION,
    KV_WF_WEIGHTS,
    KV_WF_ACTIVATION,
    KV_WF_NON_TORCH,
    KV_WF_GRAPHS,
    KV_WF_BLOCK_TABLES,
    KV_WF_REQUEST_TABLES,
    KV_WF_STATE_POOL,
    KV_WF_DRAFT,
    KV_WF_LORA,
    KV_WF_STAGE_REMAINDER,
    KV_WF_REMAINDER,
    KV_WF_KV_POOL,
    KV_WF_LINE_COUNT
};
const char *kv_waterfall_line_name(enum kv_waterfall_line line); /* "nominal" ... "kv_pool" */

struct kv_waterfall_row {
    enum kv_waterfall_line line;
    int64_t bytes_per_gpu;
    enum spec_claim claim;
    const char *source; /* of the caller's inputs, or static */
};

/* Bytes per GPU with where they come from; what isn't set is derived, or taken as 0 and `assumed`. */
struct kv_waterfall_bytes {
    bool is_set;
    int64_t bytes;
    enum spec_claim claim;
    const char *source;
};

/* Activation peak of the profile run: base + per_batched_token * max_num_batched_tokens. */
struct kv_waterfall_activation {
    bool is_set;
    int64_t base_bytes;
    double bytes_per_batched_token;
    enum spec_claim claim;
    const char *source;
};

/* What lies on the card beside the pool. */
enum kv_part {
    KV_PART_WEIGHTS,
    KV_PART_ACTIVATION,
    KV_PART_NON_TORCH,
    KV_PART_GRAPHS,
    KV_PART_BLOCK_TABLES,
    KV_PART_REQUEST_TABLES,
    KV_PART_STATE_POOL,
    KV_PART_DRAFT,
    KV_PART_LORA,
    KV_PART_COUNT
};

/* Where an engine's rule takes a part from: budget = fraction * (memory - what comes before), available = budget - what
 * comes after; what stands beside must fit the share that the fraction leaves. */
enum kv_place { KV_PLACE_AFTER, KV_PLACE_BEFORE, KV_PLACE_BESIDE };

/*
 * How an engine turns memory into a pool; all zero is vLLM's rule. The fraction itself is gpu_memory_utilization:
 *   vLLM          everything after                     fraction of the card
 *   SGLang        non_torch before, activation and graphs beside    mem_fraction_static of what is free at start
 *   TensorRT-LLM  weights, activation, non_torch before             free_gpu_memory_fraction of what is free after load
 *   TGI           the same, 0.95 of it
 *   llama.cpp     KV_POOL_CELLS: no fraction at all
 * Sources: docs/sources.md, and start-up logs (validation/kv-logs).
 */
struct kv_sizing {
    enum kv_place place[KV_PART_COUNT]; /* of graphs: with charge_graphs false they stand beside */
    /* kv_pool_tokens = floor(max_concurrency * max_model_len), as newer vLLM prints */
    bool tokens_by_concurrency;
    /* max_concurrency = tokens / max_model_len, not by whole blocks of a sequence */
    bool concurrency_by_tokens;
    bool clamps_length;    /* a max_model_len above the pool is shortened, not refused */
    bool has_spare_page;   /* one page is allocated on top of the pool (SGLang's page 0) */
    bool rounds_blocks_up; /* tokens that do not fill a block get one (TensorRT-LLM) */
    /* Windowed layers have so many tokens for one of the others, in a pool of their own; den 0: they have as many. */
    struct base_rational window_share;
    /* States outside the pool take so many bytes for one of the tokens' pool; den 0: one for each of max_num_seqs. */
    struct base_rational state_share;
    int64_t state_slots;              /* so many in place of a share; 0 = the share */
    int64_t state_slots_per_sequence; /* of such a share: running sequences need so many; 0 = 1 */
    enum {
        KV_POOL_BLOCKS, /* what is available, in whole blocks */
        KV_POOL_CELLS,  /* llama.cpp: what the contexts were said to be; it fits or does not */
    } pool;
    struct kv_cells_options cells; /* ctx_tokens 0: max_model_len */
    enum kv_log {
        KV_LOG_VLLM_V1,
        KV_LOG_VLLM_V0,
        KV_LOG_SGLANG,
        KV_LOG_TRTLLM,
        KV_LOG_LLAMA_CPP,
        KV_LOG_NONE
    } log; /* how the engine words its start-up lines; has no effect on a figure */
};

struct kv_waterfall_inputs {
    const struct spec_model *model;
    const struct spec_hardware *hardware; /* NULL only where the pool is stated */
    struct spec_kv_options kv;            /* block size, KV dtypes, TP and PP */
    struct spec_weights_options weights;  /* its TP and PP are taken from `kv` */
    struct kv_pages_options pages;

    struct base_rational gpu_memory_utilization; /* 0 ... 1, exact */
    int64_t max_model_len, max_num_batched_tokens, max_num_seqs;
    int64_t reserved_blocks; /* outside use: vLLM's null block is 1 */
    bool charge_graphs;      /* the release subtracts its graph estimate from the budget */
    bool startup_check;      /* false: start although one longest sequence does not fit */
    struct kv_sizing sizing;

    struct kv_waterfall_bytes weights_bytes, non_torch, graphs, in_use_before;
    struct kv_waterfall_bytes draft, lora, request_tables; /* further residents */
    /* of each block that a sequence may have; 0 = no such tables */
    int64_t block_table_entry_bytes;
    struct kv_waterfall_activation activation;
    /* Predicts activation, non_torch and graphs where they are not set; NULL: not known, taken as 0. */
    const struct kv_runtime_rule *runtime;
    const char *runtime_source; /* of the rule's constants */
    bool enforce_eager;         /* no graphs */

    int64_t swap_bytes_per_gpu; /* on the host, for swapped blocks; 0 = none */

    /* The pool said directly; at most one is non-zero. */
    int64_t kv_cache_memory_bytes; /* per GPU */
    int64_t num_gpu_blocks_override;
    int64_t kv_cache_tokens; /* as a server log prints them */

    /* What the user wants to hold at once, for the refusal and the three answers; 0 = not stated. */
    int64_t demand_sequences, demand_tokens;

    uint32_t max_tensor_parallel; /* how far to look for a change: 0 = 8 */
};

/* What stops it, in the order in which the engine would notice. */
enum kv_waterfall_stage {
    KV_STAGE_NONE,
    KV_STAGE_FREE_MEMORY, /* what others use leaves less than the budget */
    KV_STAGE_WEIGHTS,     /* the weights exceed the budget */
    KV_STAGE_PROFILE,     /* weights and run-time memory leave nothing for KV */
    KV_STAGE_KV_CACHE, /* one sequence of max_model_len does not fit the pool, or its state its share */
    KV_STAGE_GRAPHS /* graphs that are not charged don't fit beside the budget */
};
const char *kv_waterfall_stage_name(enum kv_waterfall_stage stage); /* "weights", "kv_cache", ... */

/* One single change with which it starts, verified by computing the waterfall again. */
struct kv_waterfall_change {
    const char *key;          /* gpu_memory_utilization, max_model_len, tensor_parallel_size, ... */
    char value[24];           /* as a scenario writes it */
    int64_t kv_usable_tokens; /* with the change */
    double max_concurrency;
    bool fits_demand; /* the stated demand too; true where none is stated */
};

enum { KV_WF_CHANGES_MAX = 8 };

struct kv_waterfall_refusal {
    enum kv_waterfall_stage stage;
    /* the quantity that is exceeded: "gpu_memory", "gpu_memory_utilization", "kv_pool" */
    const char *limit;
    int64_t needed_bytes, available_bytes; /* per GPU, of that limit; available may be negative */
    int64_t estimated_max_model_len;       /* longest that fits the pool as it is; 0 when none */
    size_t change_count;
    struct kv_waterfall_change changes[KV_WF_CHANGES_MAX];
};

struct kv_waterfall {
    size_t row_count;
    struct kv_waterfall_row rows[KV_WF_LINE_COUNT];
    struct spec_kv_layout layout;
    struct kv_pages pages;

    /* what the rule predicts, also of what is stated; zeros without a rule */
    struct kv_runtime runtime;
    struct kv_cells cells; /* KV_POOL_CELLS only */
    enum kv_log log;
    bool pool_is_stated;
    bool memory_is_derived;                 /* the driver's figure is assumed: see the interval */
    int64_t budget_bytes_per_gpu;           /* memory x utilization */
    int64_t kv_available_bytes_per_gpu;     /* before whole blocks; may be negative */
    int64_t kv_available_bytes;             /* the same over all GPUs */
    int64_t kv_pool_blocks, kv_pool_tokens; /* as the engine prints them */
    int64_t kv_usable_blocks, kv_usable_tokens; /* without reserved blocks */
    bool has_state_slots;    /* states have a share of the memory: how many fit is counted apart */
    int64_t state_slots;     /* the share in whole states; of the stage with the fewest */
    int64_t state_sequences; /* that may run with so many states */
    int64_t state_share_bytes; /* the share, per GPU */
    int64_t kv_window_tokens;  /* of windowed layers, where they have a pool of their own; else 0 */
    int64_t kv_pool_bytes, kv_pool_bytes_per_gpu;
    int64_t kv_pool_blocks_low,
        kv_pool_blocks_high;        /* over the interval of the memory; equal when it is known */
    int64_t swap_blocks;            /* on the host, of swap_bytes_per_gpu */
    int64_t sequence_blocks;        /* of one sequence of max_model_len */
    double max_concurrency;         /* kv_pool_blocks / sequence_blocks, as vLLM prints it */
    int64_t concurrency_guaranteed; /* whole sequences of max_model_len in the usable blocks */

    /* other stages' memory that the smallest stage's blocks leave unused */
    int64_t stage_remainder_bytes;
    int64_t weights_bytes;             /* over all GPUs, 0 where not known */
    uint64_t demand_lower_bound_bytes; /* demand_sequences x lower bound of demand_tokens */
    int64_t demand_blocks; /* both at their largest number when more than can be counted */
    bool fits_demand;      /* demand_blocks <= kv_usable_blocks */

    bool starts;
    bool startup_check_skipped;          /* would have been refused at KV_STAGE_KV_CACHE: warn */
    struct kv_waterfall_refusal refusal; /* filled when !starts or startup_check_skipped */
};

/*
 * KVSIM_OK also when it cannot start (out->starts says so, the figures are filled as far as they go). Errors are for
 * inputs that have no answer: a layout that can't exist, a card without known memory, a model without weights.
 */
enum kvsim_status kv_waterfall_make(const struct kv_waterfall_inputs *inputs,
                                    struct kv_waterfall *out,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Sequences of `tokens` that the windowed layers' own pool holds; kv_window_tokens > 0. */
int64_t kv_window_pool_sequences(const struct kv_waterfall *out, int64_t tokens);

/* What sequences can use of both pools, over all GPUs. */
int64_t kv_window_pool_bytes(const struct kv_waterfall *out);

/* The row of a line, or NULL when it isn't there. */
const struct kv_waterfall_row *kv_waterfall_find(const struct kv_waterfall *waterfall,
                                                 enum kv_waterfall_line line);

#endif
