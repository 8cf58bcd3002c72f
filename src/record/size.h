/*
 * size.h - the closed form of a configuration as rows: what `kvsim size` prints, as text, JSON, Markdown or CSV.
 *
 * Bytes are of one replica over all its GPUs unless the name ends in _per_gpu. Everything lies in the arena of whoever
 * filled it; a record_size owns nothing.
 */
#ifndef KVSIM_RECORD_SIZE_H
#define KVSIM_RECORD_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of the waterfall (per GPU), or of the ledger (all GPUs). */
struct record_size_line {
    const char *name;
    int64_t bytes;
    const char *claim, *source; /* ledger lines: NULL */
};

struct record_size_group {
    const char *kind;
    bool is_draft;       /* of a drafter beside the model */
    const char *formula; /* "2 x L 80 x H_kv 8 x d_h 128 x b 2", every symbol with its value */
    int64_t layers, block_size, block_bytes, window_tokens;
    int64_t bytes_per_token; /* lower bound, all layers of the group; 0 for states */
    int64_t slot_bytes;      /* what a token's slot takes: + replicated, scales, padded */
    /* states, and what a window holds at most; 0 where it grows for ever */
    int64_t bytes_per_sequence;
    int64_t blocks; /* of one sequence of max_model_len */
};

struct record_size_context {
    int64_t context_tokens, sequences;
    int64_t lower_bound_bytes, allocated_bytes, allocated_blocks;
    double kv_usage; /* NaN without a pool */
    bool fits;
    int64_t concurrency_guaranteed; /* sequences of this length that are admitted at once */
    const char *concurrency_limit;  /* what ends that: kv_pool, slots, max_num_seqs ... */
    int64_t concurrency_running;    /* that are held beside each other once they run */
    const char *running_limit;
    const struct record_size_line *ledger;
    size_t ledger_count;
};

struct record_size_change {
    const char *key, *value;
    int64_t kv_usable_tokens;
    double max_concurrency;
    bool fits_demand;
};

struct record_size_axis {
    const char *key, *value;
};

struct record_size_comparison {
    const char *baseline; /* what it is set against; NULL: nothing to compare */
    int64_t baseline_bytes_per_token;
    double ratio; /* baseline over this model */
};

struct record_size {
    const char *scenario, *model, *hardware, *engine, *attention;
    const char *kv_cache_dtype;
    int64_t gpus, tensor_parallel_size, pipeline_parallel_size, data_parallel_size;
    int64_t block_size, max_model_len, max_num_seqs, max_num_batched_tokens;

    const struct record_size_axis *axes; /* of a table over keys */
    size_t axis_count;

    int64_t lower_bound_bytes_per_token; /* the model's, groups that grow for ever */
    int64_t marginal_bytes_per_token;    /* allocated for one token more of a long sequence */
    int64_t fixed_bytes;                 /* of a long sequence: states and full windows */
    int64_t k_bytes, v_bytes; /* per token, lower bound; equal but for dtypes and latents */
    int64_t kv_replication;
    int64_t block_bytes, block_bytes_per_gpu, table_count;
    struct record_size_comparison comparison;

    const struct record_size_line *waterfall;
    size_t waterfall_count;
    int64_t driver_bytes_per_gpu; /* 0 = no hardware */
    int64_t weights_bytes;        /* over all GPUs; 0 = not known */

    int64_t kv_available_bytes, kv_available_bytes_per_gpu;
    int64_t kv_pool_bytes, kv_pool_bytes_per_gpu, kv_pool_blocks, kv_pool_tokens;
    int64_t kv_usable_blocks, kv_usable_tokens;
    int64_t state_slots, state_sequences; /* states with a share of their own; 0 = they have none */
    int64_t kv_window_tokens;             /* windowed layers' own pool; 0 = none */
    int64_t kv_pool_blocks_low, kv_pool_blocks_high;
    int64_t kv_slots, kv_slot_tokens; /* caches of cells only */
    int64_t swap_blocks;
    double max_concurrency, max_concurrency_total;
    int64_t concurrency_guaranteed;
    int64_t concurrency_in_memory; /* the same without an end of seats; -1: memory ends nothing */
    const char *concurrency_limit, *guaranteed_means; /* what ends it; what was divided by what */
    int64_t
        concurrency_running; /* more than those admitted at once where windows give blocks back */
    const char *running_limit, *running_means;   /* running_means NULL: as many */
    double concurrency_expected;                 /* NaN: expected_means says why */
    const char *expected_limit, *expected_means; /* expected_limit NULL where there is none */

    const struct record_size_group *groups;
    size_t group_count;
    const struct record_size_context *by_context;
    size_t context_count;
    bool contexts_stated; /* asked for, not the usual doubling */

    bool starts;
    const char *refusal_stage, *refusal_limit; /* NULL where it starts */
    int64_t needed_bytes, available_bytes, estimated_max_model_len;
    const struct record_size_change *changes;
    size_t change_count;
    const char *refusal_message; /* an axis value that cannot be resolved at all: why; else NULL */

    const char *const *engine_log; /* the lines that the engine would print at start */
    size_t engine_log_count;
    const char *const *notes; /* whole sentences: what was found */
    size_t note_count;
    const char *const *unsupported; /* whole sentences: what these figures do not support */
    size_t unsupported_count;
};

#endif
