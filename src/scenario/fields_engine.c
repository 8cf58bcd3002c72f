/*
 * fields_engine.c - the keys of `engine`, in vLLM's own spelling.
 */
#include "scenario/parts.h"

#include "sched/options.h"

#define AT(member) .offset = offsetof(struct scenario_engine_opts, member)

static const struct base_choice policy_choices[] = {
    {"fcfs", SCHED_FCFS, "first come, first served"},
    {"priority", SCHED_PRIORITY, "low value first, then by arrival"},
    {0},
};
static const struct base_choice preemption_choices[] = {
    {"recompute", 0, "blocks are freed, the sequence is computed again"},
    {0},
};
static const struct base_choice kv_policy_choices[] = {
    {"paged", 0, "blocks of block_size tokens, taken as they are needed"},
    {0},
};

static const struct base_field engine_fields[] = {
    {.key = "profile", .type = BASE_TEXT, AT(profile), .def = "vllm",
     .help = "engine release: NAME, or NAME-X.Y[.Z] = the newest known one that is not newer"},
    {.key = "tensor_parallel_size", .type = BASE_INT, .unit = BASE_COUNT, AT(tensor_parallel), .min = 1, .max = 1024, .def = "1",
     .help = "GPUs that share each layer"},
    {.key = "pipeline_parallel_size", .type = BASE_INT, .unit = BASE_COUNT, AT(pipeline_parallel), .min = 1, .max = 1024, .def = "1",
     .help = "stages of layers, each on its own GPUs"},
    {.key = "data_parallel_size", .type = BASE_INT, .unit = BASE_COUNT, AT(data_parallel), .min = 1, .max = 1024, .def = "1",
     .help = "schedulers with own pools in one replica"},
    {.key = "enable_expert_parallel", .type = BASE_BOOL, AT(enable_expert_parallel), .def = "false",
     .help = "experts are spread over the GPUs instead of cut"},
    {.key = "max_model_len", .type = BASE_INT, .unit = BASE_TOKENS, AT(max_model_len), .min = 1, .max = 1e12,
     .help = "longest sequence, prompt and output; absent: the model's max_position_embeddings"},
    {.key = "max_num_seqs", .type = BASE_INT, .unit = BASE_COUNT, AT(max_num_seqs), .min = 1, .max = 1e6,
     .help = "sequences that run at once; absent: the profile's by memory"},
    {.key = "max_num_batched_tokens", .type = BASE_INT, .unit = BASE_TOKENS, AT(max_num_batched_tokens), .min = 1, .max = 1e9,
     .help = "tokens computed in a step; absent: the profile's by memory"},
    {.key = "block_size", .type = BASE_INT, .unit = BASE_TOKENS, AT(block_size), .min = 1, .max = 1e6, .help = "tokens per KV block"},
    {.key = "long_prefill_token_threshold", .type = BASE_INT, .unit = BASE_TOKENS, AT(long_prefill_token_threshold), .min = 0, .max = 1e9,
     .def = "0", .help = "cap on one request's chunk; 0 = none"},
    {.key = "enable_chunked_prefill", .type = BASE_BOOL, AT(enable_chunked_prefill), .help = "prompts may be computed over several steps"},
    {.key = "enable_prefix_caching", .type = BASE_BOOL, AT(enable_prefix_caching), .help = "blocks of earlier prompts are found again"},
    {.key = "async_scheduling", .type = BASE_BOOL, AT(async_scheduling), .help = "a step is scheduled while the one before runs"},
    {.key = "scheduling_policy", .type = BASE_CHOICE, AT(scheduling_policy), .choices = policy_choices, .help = "order of the queue"},
    {.key = "watermark", .type = BASE_RATIONAL, .unit = BASE_RATIO, AT(watermark), .min = 0, .max = 1, .def = "0",
     .help = "share of all blocks kept free at admission while others run"},
    {.key = "preemption", .type = BASE_CHOICE, AT(preemption), .choices = preemption_choices, .def = "recompute", .help = "what happens to a victim's blocks"},
    {.key = "kv_policy", .type = BASE_CHOICE, AT(kv_policy), .choices = kv_policy_choices, .def = "paged", .help = "how KV memory is allocated"},
    {.key = "enforce_eager", .type = BASE_BOOL, AT(enforce_eager), .def = "false", .help = "no CUDA graphs: each kernel is launched by the host"},

    {.key = "gpu_memory_utilization", .type = BASE_RATIONAL, .unit = BASE_RATIO, AT(gpu_memory_utilization), .max = 1, .min_open = true,
     .help = "share of the driver-visible memory that the engine may use"},
    {.key = "dtype", .type = BASE_TEXT, AT(dtype), .def = "auto", .help = "of unquantized weights and activations; auto = the checkpoint's"},
    {.key = "quantization", .type = BASE_TEXT, AT(quantization), .def = "auto",
     .help = "format of the weights: none, fp8, int8, awq, gptq, int4, nvfp4, mxfp4, bnb, gguf:q4_0, ...; auto = the checkpoint's"},
    {.key = "quantization_group_size", .type = BASE_INT, .unit = BASE_COUNT, AT(quantization_group_size), .min = 1, .max = 1e6,
     .help = "weights that share a scale; absent: the format's"},
    {.key = "kv_cache_dtype", .type = BASE_NODE, AT(kv_cache_dtype), .help = "a name, or {k: NAME, v: NAME}; auto = dtype"},
    {.key = "kv_cache_memory_bytes", .type = BASE_INT, .unit = BASE_PLAIN_BYTES, AT(kv_cache_memory_bytes), .min = 1, .max = 1e16,
     .help = "the pool said directly, per GPU"},
    {.key = "num_gpu_blocks_override", .type = BASE_INT, .unit = BASE_COUNT, AT(num_gpu_blocks_override), .min = 1, .max = 1e12,
     .help = "the pool said directly, in blocks, the null block included"},
    {.key = "kv_cache_tokens", .type = BASE_INT, .unit = BASE_TOKENS, AT(kv_cache_tokens), .min = 1, .max = 1e14,
     .help = "the pool said directly, in tokens as a server log prints them"},
    {.key = "reserved_blocks", .type = BASE_INT, .unit = BASE_COUNT, AT(reserved_blocks), .min = 0, .max = 1e12, .help = "blocks outside use (the null block)"},
    {.key = "ctx_size", .type = BASE_INT, .unit = BASE_TOKENS, AT(ctx_size), .min = 1, .max = 1e12, .used_by = "llama.cpp",
     .help = "cells of all sequences together; absent: max_model_len for each"},
    {.key = "kv_unified", .type = BASE_BOOL, AT(kv_unified), .used_by = "llama.cpp", .help = "all sequences share one stream of cells"},
    {.key = "swa_full", .type = BASE_BOOL, AT(swa_full), .used_by = "llama.cpp", .help = "windowed layers keep every cell"},
    {.key = "swap_space", .type = BASE_INT, .unit = BASE_PLAIN_BYTES, AT(swap_space_bytes), .max = 1e15, .used_by = "vllm",
     .help = "host memory for swapped blocks, per GPU"},
    {.key = "startup_check", .type = BASE_BOOL, AT(startup_check), .def = "true", .help = "false: start although one longest sequence does not fit"},
    {.key = "disable_hybrid_kv_cache_manager", .type = BASE_BOOL, AT(disable_hybrid_kv_cache_manager), .def = "false",
     .help = "windowed layers are kept in full"},
    {.key = "memory", .type = BASE_NODE, AT(memory), .help = "what is known of the memory beside the pool, per GPU"},
    {.key = "switch", .type = BASE_NODE, AT(switches), .help = "behaviour by which releases differ"},
    {0},
};

#define LATER(name, text) {.key = name, .type = BASE_NODE, .help = text}

static const struct base_field engine_later[] = {
    LATER("enable_dp_attention", "data-parallel attention is not simulated yet"),
    LATER("kv_eviction", "eviction belongs to prefix caching, which is not simulated yet"),
    LATER("victim", "the victim is the engine's own choice"),
    LATER("kv_placement", "contiguous allocation is not simulated yet"),
    LATER("kv_tiers", "offload tiers are not simulated yet"),
    LATER("max_loras", "LoRA is not simulated yet; its bytes can be stated in engine.memory.non_torch"),
    LATER("max_lora_rank", "LoRA is not simulated yet; its bytes can be stated in engine.memory.non_torch"),
    LATER("speculative_config", "speculative decoding is not simulated yet"),
    LATER("mem_fraction_static", "a key of SGLang, not of this engine profile"),
    LATER("page_size", "a key of SGLang, not of this engine profile"),
    LATER("max_total_tokens", "a key of SGLang, not of this engine profile"),
    LATER("chunked_prefill_size", "a key of SGLang, not of this engine profile"),
    LATER("swa_full_tokens_ratio", "a key of SGLang, not of this engine profile"),
    LATER("schedule_policy", "a key of SGLang, not of this engine profile"),
    LATER("schedule_conservativeness", "a key of SGLang, not of this engine profile"),
    LATER("max_running_requests", "a key of SGLang, not of this engine profile"),
    LATER("max_prefill_tokens", "a key of SGLang, not of this engine profile"),
    LATER("enable_mixed_chunk", "a key of SGLang, not of this engine profile"),
    LATER("capacity_scheduler_policy", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("context_chunking_policy", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("free_gpu_memory_fraction", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("tokens_per_block", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("max_num_tokens", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("max_batch_size", "a key of TensorRT-LLM, not of this engine profile"),
    LATER("parallel", "a key of llama.cpp, not of this engine profile"),
    LATER("cache_type_k", "a key of llama.cpp, not of this engine profile"),
    LATER("cache_type_v", "a key of llama.cpp, not of this engine profile"),
    LATER("ubatch_size", "a key of llama.cpp, not of this engine profile"),
    {0},
};

#define MEMORY(member) .offset = offsetof(struct scenario_memory_opts, member)
#define HAS_MEMORY(member) .has_offset = offsetof(struct scenario_memory_opts, member)

static const struct base_field memory_fields[] = {
    {.key = "weights", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, MEMORY(weights_bytes), HAS_MEMORY(has_weights), .max = 1e16,
     .help = "weights on one GPU; absent: from the model"},
    {.key = "activation", .type = BASE_NODE, MEMORY(activation), .help = "peak of a step: a size, {base, per_batched_token}, or sizes by max_num_batched_tokens"},
    {.key = "non_torch", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, MEMORY(non_torch_bytes), HAS_MEMORY(has_non_torch), .max = 1e16,
     .help = "context and communication buffers"},
    {.key = "graphs", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, MEMORY(graphs_bytes), HAS_MEMORY(has_graphs), .max = 1e16,
     .help = "captured CUDA graphs"},
    {.key = "in_use_before", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, MEMORY(in_use_before_bytes), HAS_MEMORY(has_in_use_before), .max = 1e16,
     .help = "taken by others before the engine starts"},
    {.key = "charge_graphs", .type = BASE_BOOL, MEMORY(charge_graphs), .def = "false", .help = "graphs are taken from the KV budget"},
    {0},
};

static const struct base_field activation_fields[] = {
    {.key = "base", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, .offset = offsetof(struct scenario_activation_opts, base_bytes), .max = 1e16, .def = "0",
     .help = "bytes whatever the batch"},
    {.key = "per_batched_token", .type = BASE_REAL, .unit = BASE_PLAIN_BYTES, .offset = offsetof(struct scenario_activation_opts, per_batched_token_bytes),
     .max = 1e16, .def = "0", .help = "bytes for each token of max_num_batched_tokens"},
    {0},
};

#define SWITCH(member) .offset = offsetof(struct scenario_switch_opts, member)

static const struct base_choice free_order_choices[] = {
    {"new", SCHED_FREE_NEW, "blocks with content to the tail, others to the head"},
    {"old", SCHED_FREE_OLD, "all to the tail, reversed"},
    {0},
};
static const struct base_choice misfit_choices[] = {
    {"stop", SCHED_MISFIT_STOP, "ends the pass"},
    {"skip", SCHED_MISFIT_SKIP, "is passed over"},
    {0},
};
static const struct base_choice tie_choices[] = {{"latest", 0, "by priority, arrival, place in running"}, {0}};
static const struct base_choice retention_choices[] = {
    {"all", 0, "every block of a windowed group stays cached"},
    {"sparse", 1, "some do"},
    {0},
};

static const struct base_field switch_fields[] = {
    {.key = "scheduler_reserve_full_isl", .type = BASE_BOOL, SWITCH(reserve_full_isl), .def = "true",
     .help = "at admission the whole sequence so far must fit, not only the first chunk"},
    {.key = "free_order", .type = BASE_CHOICE, SWITCH(free_order), .choices = free_order_choices, .def = "new", .help = "where freed blocks go"},
    {.key = "unchunked_misfit", .type = BASE_CHOICE, SWITCH(unchunked_misfit), .choices = misfit_choices, .def = "stop",
     .help = "without chunking, a prompt over the budget"},
    {.key = "preempted_budget_returned", .type = BASE_BOOL, SWITCH(preempted_budget_returned), .def = "true",
     .help = "priority preemption returns the victim's tokens to the step"},
    {.key = "count_every_lookup", .type = BASE_BOOL, SWITCH(count_every_lookup), .def = "false", .help = "prefix hits are counted at each lookup"},
    {.key = "priority_tie", .type = BASE_CHOICE, SWITCH(priority_tie), .choices = tie_choices, .def = "latest", .help = "victim among equals"},
    {.key = "window_retention", .type = BASE_CHOICE, SWITCH(window_retention), .choices = retention_choices, .def = "all",
     .help = "which blocks of windowed groups stay cached"},
    {.key = "reserve_for_loads", .type = BASE_BOOL, SWITCH(reserve_for_loads), .def = "false", .help = "admission leaves out blocks of transfers in flight"},
    {.key = "reject_over_length", .type = BASE_BOOL, SWITCH(reject_over_length), .def = "false",
     .help = "P > max_model_len - max_tokens is rejected, as the API server does"},
    {0},
};

static const struct base_field switch_later[] = {
    LATER("two_step_lookahead", "a switch of TensorRT-LLM, not of this engine profile"),
    LATER("static_batch", "static batching is not simulated yet"),
    {0},
};

const struct scenario_section scenario_engine_section = {"engine", engine_fields, engine_later, "one engine instance"};
const struct scenario_section scenario_memory_section = {"engine.memory", memory_fields, NULL, "memory beside the pool, per GPU"};
const struct scenario_section scenario_activation_section = {"engine.memory.activation", activation_fields, NULL, "peak of a step"};
const struct scenario_section scenario_switch_section = {"engine.switch", switch_fields, switch_later, "behaviour by which releases differ"};
