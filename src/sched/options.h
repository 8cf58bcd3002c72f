/*
 * options.h - what a scheduler is told: limits and the switches by which engine releases differ.
 *
 * Spelling and meaning are vLLM's. Where releases differ there is a switch, which the engine's profile sets.
 */
#ifndef KVSIM_SCHED_OPTIONS_H
#define KVSIM_SCHED_OPTIONS_H

#include "base/field.h"
#include "kv/tier.h"

#include <stdbool.h>
#include <stdint.h>

enum sched_order { SCHED_FCFS, SCHED_PRIORITY };
enum sched_misfit { SCHED_MISFIT_STOP, SCHED_MISFIT_SKIP };
enum sched_preemption { SCHED_PREEMPT_AS_FITS, SCHED_PREEMPT_RECOMPUTE, SCHED_PREEMPT_SWAP };
enum sched_free_order { SCHED_FREE_NEW, SCHED_FREE_OLD };

/* When a chunk of the pool goes to the tier behind it. */
enum sched_store {
    SCHED_STORE_THROUGH, /* once a step has filled it */
    SCHED_STORE_LOOKUPS, /* so, if the tier was asked for it `store_threshold` times */
    SCHED_STORE_USES,    /* so, or found in the pool, at its `store_threshold`th use */
    SCHED_STORE_BACK     /* when the pool drops it */
};

/* What is read up from below the first tier, and who waits for it. */
enum sched_prefetch {
    SCHED_PREFETCH_NONE,        /* what a look finds, and the request waits */
    SCHED_PREFETCH_BEST_EFFORT, /* at arrival; a look takes what is there */
    SCHED_PREFETCH_WAIT,        /* at arrival; the request waits until all of it is there */
    SCHED_PREFETCH_TIMEOUT      /* or for so long */
};

enum { SCHED_TIERS_MAX = 2 };

struct sched_tier_option {
    int64_t capacity_chunks;
    enum kv_tier_order order;
    int64_t latency_ticks, read_ticks_per_block, write_ticks_per_block; /* of its links */
    bool on_eviction; /* of a lower one: holds what the upper one drops, not all that it stores */
};

/* Memory behind the pool; see sched/offload.h. */
struct sched_tier_options {
    int64_t chunk_blocks; /* blocks that are stored and loaded together; 0 = no tier */
    size_t count;
    struct sched_tier_option at[SCHED_TIERS_MAX];
    enum sched_store store;
    int64_t store_threshold;
    bool prompt_only;           /* answers are not stored */
    bool is_sync;               /* steps wait for their loads and stores */
    bool reserves_for_prefills; /* a load leaves the blocks that unfinished prompts still need */
    bool by_cost;               /* loads only what takes less time than computing it again */
    /* Behind a radix tree: a step waits for its loads layer by layer, of which there are so many; less is not loaded. What is read
     * up and given up goes on to the end of a batch of so many blocks. */
    int64_t load_layers, load_threshold_tokens, read_batch_blocks;
    enum sched_prefetch prefetch;
    int64_t prefetch_threshold_tokens; /* less is not read up */
    int64_t prefetch_base_ticks, prefetch_ticks_per_1024_tokens, prefetch_most_ticks; /* TIMEOUT */
};

struct sched_options {
    int64_t max_num_seqs;
    int64_t max_num_batched_tokens;
    int64_t max_model_len;
    int64_t long_prefill_token_threshold; /* 0 = none */
    int64_t block_size;
    bool enable_chunked_prefill;
    bool async_scheduling;
    bool enable_prefix_caching;
    enum sched_order order;     /* scheduling_policy */
    int64_t cached_step_tokens; /* cost_cached_step_tokens(): for the shapes of steps; 0 = none */
    struct sched_tier_options tier;
    /* vllm_v0; as it fits: recompute one sequence, swap several */
    enum sched_preemption preemption;
    int64_t swap_blocks;            /* room on the host */
    struct base_rational watermark; /* share of all blocks kept free at admission */
    int64_t pass_tokens; /* llama_cpp: a batch is computed so many tokens at a time; 0 = at once */

    /* switches */
    bool reserve_full_isl; /* scheduler_reserve_full_isl: the whole prompt must fit */
    /* without chunking: a prompt over the budget stops the pass or is skipped */
    enum sched_misfit unchunked_misfit;
    enum sched_free_order free_order; /* where freed blocks go (matters with a prefix cache only) */
    /* priority preemption gives a victim's tokens back to the step's budget */
    bool preempted_budget_returned;
    /* by priority, among those of one urgency and arrival: the one that has run longest goes, as max() in the engine's code has it,
     * not the last to run */
    bool first_of_equals_goes;
    bool count_every_lookup; /* v0.10 counts a lookup whether or not the request is admitted */
    bool static_batch;       /* orca: admit only when nothing runs */
    bool reject_over_length; /* the API's check: P > max_model_len - max_tokens is rejected */
};

#endif
