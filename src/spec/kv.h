/*
 * kv.h - bytes of KV cache in closed form: the lower bound 2 L H_kv d_h T b, and what an engine adds per token slot.
 *
 * A layout is a model's KV groups under one engine: tensor parallelism, KV dtype, block size. All bytes are of one
 * replica over all its GPUs, exact integers. For one token in a full-attention group:
 *   slot_bytes = lower_bound + replicated + scales + padded           (the four lines of the ledger, per token slot)
 * and a block is block_tokens slots of every layer of its group.
 * Source: vLLM, vllm/v1/kv_cache_interface.py: bytes per layer, rank and block (docs/sources.md).
 */
#ifndef KVSIM_SPEC_KV_H
#define KVSIM_SPEC_KV_H

#include "base/error.h"
#include "spec/dtype.h"
#include "spec/model.h"

#include <stdbool.h>

/* Bytes are 64-bit integers: whoever multiplies them refuses what exceeds this. A block of more tokens is a mistake. */
#define SPEC_KV_BYTES_MAX 4e18
enum { SPEC_KV_BLOCK_TOKENS_MAX = 1 << 24 };

/* KVSIM_ERR_SCENARIO at `key` when `bytes`, multiplied out in floating point, are more than can be counted: says whose. */
enum kvsim_status spec_kv_check_bytes(double bytes, const char *whose, const char *key,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/* How elements are stored: b bytes per element plus scales per token and head. */
struct spec_kv_format {
    /* auto is resolved before: bf16, fp16, fp8, fp8_per_token_head, int8, int4, nvfp4, ... */
    const char *name;
    uint32_t bits_per_element; /* 16, 8, 4: the lower bound's b */
    /* block scales, as 1024ths of a bit per element (nvfp4: 8 bits per 16 = 512) */
    uint32_t scale_bits_per_element_x1024;
    uint32_t scale_bytes_per_head; /* per token and head, K or V alone (fp32 scale: 4) */
    uint32_t latent_bytes; /* fp8_ds_mla: whole bytes per token and layer, 0 = by elements */
};
/* Finds a format by its YAML name ("fp8_e4m3", "int4", "q8_0", ...); false when unknown. "int4" has scales per token and
 * head, "int8" one per tensor (counted as none), "int8_per_token_head" the former. fp16 is also f16, half, float16. */
bool spec_kv_format_find(const char *name, struct spec_kv_format *out);

struct spec_kv_slot {
    enum spec_kv_kind kind;
    uint32_t layer_count;
    uint32_t window_tokens;
    uint32_t block_tokens;
    uint64_t lower_bound_bytes; /* per token, all layers of the group */
    uint64_t replicated_bytes;  /* the same token held again on other ranks */
    uint64_t scale_bytes;
    uint64_t padded_bytes;
    uint64_t slot_bytes;     /* the sum */
    uint64_t block_bytes;    /* slot_bytes * block_tokens (+ page padding) */
    uint64_t sequence_bytes; /* recurrent state per sequence */
    /* one token of one layer on one GPU that holds it; 0 for states */
    uint64_t layer_slot_bytes_per_gpu;
    uint64_t layer_sequence_bytes_per_gpu; /* states: one layer's on one GPU */
    uint32_t layer_count_per_gpu;          /* of the fullest pipeline stage */
    bool is_draft;                         /* as in spec_kv_group */
    struct spec_kv_format k_format, v_format;
};

struct spec_kv_layout {
    size_t group_count;
    struct spec_kv_slot groups[SPEC_KV_GROUPS_MAX];
    uint64_t lower_bound_bytes_per_token; /* full-attention and index groups */
    uint64_t slot_bytes;                  /* all groups: what one token slot takes, over all GPUs */
    uint64_t block_bytes; /* one block of every group (one pool, tables side by side) */
    uint64_t block_bytes_per_gpu;
    uint32_t block_tokens;
    uint32_t kv_replication; /* copies per KV head or latent */
    uint32_t gpu_count;      /* tp * pp */
    uint64_t sequence_bytes; /* states: one sequence, over all GPUs */
    uint64_t sequence_bytes_per_gpu;
    struct spec_kv_format k_format, v_format;
};

struct spec_kv_options {
    uint32_t tensor_parallel, pipeline_parallel;
    uint32_t stage; /* per_gpu figures are of this pipeline stage, from 1; 0 = of the fullest */
    uint32_t block_tokens;         /* of groups that don't state their own */
    const char *k_dtype, *v_dtype; /* resolved names, not "auto" */
    /* Layers of a kind stored otherwise, by enum spec_kv_kind; NULL: as k_dtype and v_dtype say. A group may state its own. */
    const char *kind_k_dtype[SPEC_KV_KIND_COUNT], *kind_v_dtype[SPEC_KV_KIND_COUNT];
    /* the latent is stored a second time as V (llama.cpp before its MLA cache) */
    bool latent_with_value;
    uint32_t latent_align_bytes; /* an MLA entry is padded to a multiple (vLLM V0: 256); 0 = none */
    const char *state_dtype;     /* of the recurrent part of states: fp32 (also NULL), bf16, fp16 */
};

/*
 * The layout, or KVSIM_ERR_SCENARIO that names what cannot be stored that way: an unknown dtype, heads that do not divide
 * over the ranks, a format made for another geometry, more stages than layers.
 * A group that states its bytes per token takes no scales; without a number of heads it is held whole on every rank.
 * Tensor parallelism t: each rank holds max(1, H_kv / t) heads, a latent and index keys whole. Pipeline stages share
 * layers as evenly as possible; per_gpu figures are of the fullest stage, kinds taken as spread evenly over the depth.
 */
enum kvsim_status spec_kv_layout_make(const struct spec_model *model,
                                      const struct spec_kv_options *options,
                                      struct spec_kv_layout *out,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Layers of the model, or of its groups where it states nothing else; without a drafter's. */
uint64_t spec_kv_layers(const struct spec_model *model);

/* Lower bound of one sequence of `context_tokens`: windows and states taken into account. Exact. */
uint64_t spec_kv_lower_bound_bytes(const struct spec_kv_layout *layout, uint64_t context_tokens);

/* Of `count` layers spread evenly over `layers`, those of a stage (from 0). The order of kinds within a model isn't known
 * here; the rounding keeps the total exact. */
uint64_t spec_stage_share(uint64_t count, uint64_t layers, uint64_t stages, uint64_t stage);

/* How an engine counts the memory of a tensor. PyTorch's caching allocator gives a large tensor (10 MiB) a segment of whole
 * 2 MiB; what is left over belongs to the tensor's block, unless it exceeds 1 MiB and can be split off. */
enum spec_weights_count {
    SPEC_WEIGHTS_BYTES,   /* its elements */
    SPEC_WEIGHTS_BLOCKS,  /* PyTorch's allocated bytes */
    SPEC_WEIGHTS_SEGMENTS /* what the device has less */
};

/* What an engine keeps of MLA's up-projections beside the matrices of the checkpoint, to decode in latent space. */
enum spec_latent_copies {
    SPEC_LATENT_NONE,
    SPEC_LATENT_DEQUANTIZED, /* W_UK and W_UV in the dtype, where the checkpoint has them quantized */
    SPEC_LATENT_ABSORBED     /* W_Q W_UK and W_UV W_O multiplied out, in the checkpoint's format */
};

/* Weights of one GPU in bytes (the fullest): by format, TP, PP, replicated parts (norms, biases, routers), embedding
 * and head unquantized where the format leaves them. */
struct spec_weights_options {
    uint32_t tensor_parallel, pipeline_parallel;
    uint32_t stage; /* from 1; 0 = the fullest */
    bool expert_parallel;
    uint32_t data_parallel; /* ranks that share the experts with those of TP; 0 = 1 */
    bool without_vision;    /* the engine leaves the tower to another file or does not know it */
    enum spec_weights_count count;
    enum spec_latent_copies latent_copies;
    uint32_t video_positions; /* times the context that a table of M-RoPE covers; 0 = 1 */
    /* A kernel's tiles: mxfp4 experts' width and hidden size are rounded up to multiples; 0 = not. */
    uint32_t mxfp4_width_multiple, mxfp4_hidden_multiple;
    const char *quantization; /* "none" or a format's name; the checkpoint's own when "auto" */
    const char *dtype;        /* of unquantized parts: bf16, fp16, fp32 */
    uint32_t group_size;      /* of group-wise formats; 0 = the format's default */
};
/* A quantized format of weights by name, for rooms that price matrix products; false for "none", dtypes and unknown
 * names. Aliases are resolved ("gptq_marlin", "bitsandbytes", "w8a8"). */
struct spec_weight_format {
    const char *name;
    /* with scales of groups at the default group size; per-channel ones not counted */
    double bytes_per_element;
    enum spec_dtype compute; /* operands of the product, unless is_weight_only: then the dtype's */
    bool is_weight_only;     /* dequantized on the fly: int4, awq, gptq, mxfp4, bnb, gguf */
    bool leaves_attention;   /* attention's projections stay in the dtype */
    bool is_experts_only;    /* mxfp4: attention, shared parts and head stay in the dtype */
    bool is_whole_model;     /* gguf: embedding and head too */
};
bool spec_weight_format_find(const char *name, struct spec_weight_format *out);

enum kvsim_status spec_weights_bytes_per_gpu(const struct spec_model *model,
                                             const struct spec_weights_options *options,
                                             uint64_t *out_bytes,
                                             struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
