/*
 * parts.h - the sections of a scenario as they are read, and the load that puts them together. Private to the room.
 */
#ifndef KVSIM_SCENARIO_PARTS_H
#define KVSIM_SCENARIO_PARTS_H

#include "scenario/scenario_int.h"

struct scenario_top_opts {
    const char *name, *description;
    const struct conf_node *model, *hardware, *engine, *cluster, *workload, *run, *slo, *require,
        *price, *cost, *record;
};

/* `cost`: what goes to the cost model as it is, and what level table is made from. */
struct scenario_cost_opts {
    struct cost_options cost; /* first: its fields' offsets are those of the whole */
    const char *file;
    double swap_ns;
    bool has_swap;
    int64_t layers;
    int lookup; /* enum cost_lookup */
    const struct conf_node *operators, *kv_dtype;
};

struct scenario_memory_opts {
    double weights_bytes, non_torch_bytes, graphs_bytes, draft_bytes, in_use_before_bytes;
    bool has_weights, has_non_torch, has_graphs, has_draft, has_in_use_before;
    bool charge_graphs;
    const struct conf_node *activation;
};

struct scenario_activation_opts {
    double base_bytes, per_batched_token_bytes;
};

/* engine.switch.state_caching */
enum { SCENARIO_STATES_NONE, SCENARIO_STATES_ASKED, SCENARIO_STATES_DEFAULT };

/* engine.switch.offload_tables: each knows those before it as well */
enum {
    SCENARIO_OFFLOAD_FULL,
    SCENARIO_OFFLOAD_WINDOWS,
    SCENARIO_OFFLOAD_STATES,
    SCENARIO_OFFLOAD_ALL
};

/* engine.switch.beam_search */
enum { SCENARIO_BEAMS_NONE, SCENARIO_BEAMS_CORE, SCENARIO_BEAMS_LOOP };

struct scenario_switch_opts {
    bool reserve_full_isl, preempted_budget_returned, count_every_lookup, reserve_for_loads,
        reject_over_length, static_batch, best_of, content_blocks;
    int beam_search, free_order, unchunked_misfit, priority_tie, window_retention, state_caching,
        offload_tables;
};

struct scenario_engine_opts {
    const char *profile, *quantization, *dtype;
    int64_t tensor_parallel, pipeline_parallel, data_parallel;
    int64_t max_model_len, max_num_seqs, max_num_batched_tokens, block_size,
        long_prefill_token_threshold;
    int64_t quantization_group_size;
    int64_t kv_cache_memory_bytes, num_gpu_blocks_override, kv_cache_tokens, reserved_blocks,
        ctx_size, batch_size, swap_space_bytes;
    struct base_rational gpu_memory_utilization, watermark, swa_full_tokens_ratio,
        slot_prompt_similarity;
    bool enable_chunked_prefill, enable_prefix_caching, async_scheduling, enforce_eager,
        startup_check, disable_hybrid_kv_cache_manager, enable_expert_parallel, kv_unified,
        swa_full;
    bool kv_compaction;
    int64_t max_mamba_cache_size;
    int scheduling_policy, preemption, kv_policy, kv_placement, kv_eviction,
        mamba_scheduler_strategy;
    const struct conf_node *kv_cache_dtype, *memory, *switches, *kv_tiers, *kv_offload,
        *speculative;
    struct scenario_memory_opts memory_opts;
    struct scenario_switch_opts switch_opts;
};

/* engine.mamba_scheduler_strategy */
enum { SCENARIO_STATES_NO_BUFFER, SCENARIO_STATES_EXTRA_BUFFER };

/* `sizing` and `runtime` of an engine profile. */
struct scenario_reserve_opts {
    double base, per_token, per_gpu, per_captured, least, least_from;
    int64_t least_tokens;
    const struct conf_node *by_gpus;
};

struct scenario_sizing_opts {
    int pool, printed, log, weights_counted, latent_copies, unequal;
    struct base_list before, beside;
    bool windows, loads_vision, states_in_dtype, spare_page, latent_with_value, by_tokens, clamps,
        rounds_up;
    int64_t state_blocks, state_blocks_cached, request_table_bytes, block_table_bytes, latent_block,
        index_block, latent_align, cell_padding, chunked_above, video_positions, mxfp4_width,
        mxfp4_hidden, state_slots_per_sequence;
    struct base_rational wiggle, window_share, state_share;
    struct scenario_reserve_opts reserve;
};

struct scenario_runtime_opts {
    double logit, copies, mlp_copies, context, context_rocm, collective, collective_pcie,
        collective_switch, collective_multicast, switch_once, multicast_once, multicast_more,
        multicast_rank, kept_reductions, graph, graph_share;
    int64_t moe_chunk, graph_batch, graph_seats;
    int encoder, logit_rows;
};

/* `best_of`, `beam_width`, `beam_switch`, of the workload or a class; 0 and false: not stated. */
struct scenario_candidate_opts {
    int64_t best_of, beam_width;
    double beam_switch;
    bool has_beam_switch;
};

struct scenario_workload_opts {
    const struct conf_node *arrival, *prompt_tokens, *output_tokens, *max_tokens, *n, *classes,
        *timeout, *shared_prefix, *sessions;
    double correlation;
    int64_t abort_after_ns;
    bool ignore_eos;
    struct scenario_candidate_opts candidates;
};

struct scenario_class_opts {
    const char *name;
    double weight, correlation;
    int64_t priority, abort_after_ns;
    bool has_correlation, has_abort;
    const struct conf_node *prompt_tokens, *output_tokens, *max_tokens, *n, *timeout, *slo,
        *shared_prefix, *sessions;
    struct scenario_candidate_opts candidates;
};

struct scenario_shared_opts {
    int64_t num_groups, num_prompts_per_group, few_shot_groups;
    const struct conf_node *system_prompt_len, *few_shot_len, *question_len, *popularity;
    int order;
    bool has_order;
};

struct scenario_popularity_opts {
    int distribution;
    double s;
    bool has_s;
};

struct scenario_sessions_opts {
    const struct conf_node *turns, *think_time, *tool_time, *prompt_growth;
    double tool_share;
    bool has_tool_share;
    int end;
};

struct scenario_timeout_opts {
    int64_t first_token_ns, total_ns;
};

struct scenario_length_opts {
    int distribution;
    double value, mean, cv, sd, median, p95, s, min, max;
    bool has_value, has_mean, has_cv, has_sd, has_median, has_p95, has_s, has_min, has_max;
    const struct conf_node *bins, *cdf;
    const char *file;
};

struct scenario_run_opts {
    int64_t requests, duration_ns, replications, seed;
    const struct conf_node *warmup, *until;
    bool stop_when_overloaded;
};

struct scenario_price_opts {
    double usd_per_gpu_hour, usd_per_instance_hour, utilization;
};

struct scenario_record_opts {
    const char *requests, *timeline;
};

struct scenario_cluster_opts {
    int64_t replicas;
    const struct conf_node *router;
};

/* A scenario and all it owns. */
struct scenario {
    struct base_arena arena;
    struct serve_config config;
    struct spec_model model;
    struct spec_hardware hardware;
    struct cost_options cost;
    bool has_model, has_hardware, has_workload;
    bool held_is_open; /* serve_config.held is still to be found */
    struct scenario_params params;
    struct scenario_caveats caveats;
    struct base_list slos; /* struct spec_slo */
};

/* What one load works on. */
struct scenario_load {
    struct scenario_reader *reader;
    struct scenario *scenario;
    enum scenario_purpose purpose;
    int64_t demand_sequences, demand_tokens;
    struct conf_node *root;
    struct conf_node *model_tree, *hardware_tree,
        *engine; /* engine: with the profile's defaults under it */
    struct scenario_profile profile;
    struct scenario_engine_opts opts;
    struct scenario_cost_opts cost_opts;
    struct scenario_sizing_opts sizing;
    struct scenario_runtime_opts runtime;
    struct kv_sizing sizing_rule;
    bool has_runtime;
    const char *trace_path;
    uint32_t trace_sequences; /* the largest `n` of a row */
    const char *model_dtype;  /* of the unquantized parts: bf16, fp16 */
    bool pool_is_stated;
    bool held_unwanted;
    uint64_t shared_count, shared_texts; /* descriptions of shared texts, and texts, so far */
};

/* A run is asked for, or what one would say. */
static inline bool scenario_is_run(const struct scenario_load *load)
{
    return load->purpose == SCENARIO_FOR_RUN || load->purpose == SCENARIO_FOR_CHECK;
}
/* A scenario is asked what it says, whatever is then made of it: mistakes are told. */
static inline bool scenario_is_whole(const struct scenario_load *load)
{
    return scenario_is_run(load) || load->purpose == SCENARIO_FOR_SIZE;
}

/* engine.c: what does not need the model, then what does. */
bool scenario_engine_read(struct scenario_load *load);
bool scenario_engine_resolve(struct scenario_load *load);
/* kv_policy.c: allocation policy and scheduler: before the pool is known, into the scheduler's options, after it. */
/* Before anything counts cells: whether slots share them. */
bool scenario_kv_policy_streams(struct scenario_load *load);
bool scenario_kv_policy_resolve(struct scenario_load *load);
void scenario_kv_policy_options(const struct scenario_load *load, struct sched_options *options);
bool scenario_kv_policy_pool(struct scenario_load *load);
/* tiers_part.c: memory behind the pool, once a block's bytes are known. */
bool scenario_tiers_exist(const struct scenario_load *load);
bool scenario_tiers_resolve(struct scenario_load *load);
/* sizing.c: what the profile says of memory; own spellings of the engine's keys; into the waterfall's inputs. */
bool scenario_sizing_read(struct scenario_load *load);
void scenario_sizing_chunking(struct scenario_load *load);
void scenario_sizing_block(struct scenario_load *load);
void scenario_sizing_share(struct scenario_load *load);
bool scenario_sizing_respell(struct scenario_load *load, struct conf_node *engine);
void scenario_sizing_fill(struct scenario_load *load, struct kv_waterfall_inputs *inputs);
/* drafter.c: groups, slots and weights of engine.speculative_config, into the model and the inputs. */
bool scenario_drafter_resolve(struct scenario_load *load, struct kv_waterfall_inputs *inputs);
/* lint.c: mistakes of catalogs, for `kvsim check` alone. */
bool scenario_lint_model(struct scenario_reader *reader, const struct conf_node *tree,
                         const struct spec_model *model);
bool scenario_lint_hardware(struct scenario_reader *reader, const struct conf_node *tree,
                            const struct spec_hardware *hardware);
/* pool.c: layout, waterfall, blocks. */
bool scenario_pool_make(struct scenario_load *load);
/* tables.c: block tables of a run, after the pool. */
bool scenario_tables_make(struct scenario_load *load);
/* Windowed layers have tables of their own in a prefix cache, so it matters which of their blocks it keeps. */
bool scenario_retention_matters(const struct scenario_load *load);
/* The model has recurrent states in the pool, so it matters whether a prefix cache keeps them. */
bool scenario_state_caching_matters(const struct scenario_load *load);
bool scenario_offload_tables_matter(const struct scenario_load *load);
/* cost_part.c */
bool scenario_cost_read(struct scenario_load *load);
bool scenario_cost_resolve(struct scenario_load *load);
/* cost_table.c: cost.file by cost.operators, to scenario->cost.table. */
bool scenario_cost_table_read(struct scenario_load *load, struct scenario_cost_opts *opts);
/* workload_part.c, lengths.c */
bool scenario_workload_read(struct scenario_load *load);
bool scenario_workload_resolve(struct scenario_load *load);
bool scenario_states_are_cached(
    const struct scenario_load *load);               /* in the pool, by the prefix cache */
bool scenario_held_find(struct scenario_load *load); /* last of it */
/* The most answers that a request asks the engine for at once: beams that are searched outside come one by one. */
double scenario_most_sequences(const struct scenario_load *load);
double scenario_group_sequences(const struct scenario_load *load,
                                const struct workload_class *class);
/* All of one class; the mapping that says it, and under which path: `n`, `best_of` or `beam_width`. */
double scenario_class_sequences(const struct workload_class *class);
const struct conf_node *scenario_sequences_map(struct scenario_load *load, size_t class_index,
                                               const char *key, const char **path);
const char *scenario_sequences_key(const struct workload_class *class);
/* `best_of` and beams (candidates.c): what a mapping states, into a class; then whether the engine has such a thing, and
 * whether no more answers are returned than generated. */
bool scenario_candidates_read(struct scenario_load *load, struct conf_node *map, const char *path,
                              const struct scenario_candidate_opts *opts,
                              struct workload_class *out);
bool scenario_candidates_check(struct scenario_load *load);
/* swap_part.c: what only vLLM V0 has, once pool and workload are known. */
bool scenario_swap_resolve(struct scenario_load *load);
/* content_part.c: shared_prefix and sessions of the workload or of a class; what they do not state stays as it is. */
bool scenario_content_read(struct scenario_load *load, struct conf_node *map, const char *path,
                           struct workload_class *out);
/* With block and pool known. */
void scenario_content_caveats(struct scenario_load *load);
/* lengths.c: a number or a distribution, in tokens, in seconds or of things. */
enum scenario_measure { SCENARIO_TOKENS, SCENARIO_SECONDS, SCENARIO_COUNT };
bool scenario_length_read(struct scenario_reader *reader, struct conf_node *parent, const char *key,
                          const char *path, enum scenario_measure measure, struct rng_dist *out);
/* run_part.c: run, slo, require, price, record, cluster. */
bool scenario_run_read(struct scenario_load *load);
bool scenario_slo_add(struct scenario_reader *reader, const struct conf_node *list,
                      const char *path, const char *class_name, struct base_list *out);
bool scenario_figure_is_known(const char *name, const char **near);
/* idle_keys.c: warnings of stated keys that what else is stated leaves nothing to do; after all else. */
void scenario_warn_idle(struct scenario_load *load);
/* fingerprint.c */
void scenario_fingerprint(struct scenario_load *load);
/* usage.c: a key that the row's `used_by` leaves out is an error. */
bool scenario_check_used(struct scenario_reader *reader, struct conf_node *map, const char *path,
                         const struct base_field *fields, const char *word, const char *what);

#endif
