/*
 * model.h - the geometry of a language model, as plain validated data.
 *
 * Filled by scenario from a model file or a Hugging Face config.json; everything here is per whole model, before any
 * parallelism. Sizes in elements unless the name says otherwise.
 */
#ifndef KVSIM_SPEC_MODEL_H
#define KVSIM_SPEC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_claim { SPEC_CALCULATED, SPEC_SIMULATED, SPEC_MEASURED, SPEC_VENDOR, SPEC_ASSUMED };
const char *spec_claim_name(enum spec_claim claim);
/* The weaker of two bases: measured > vendor > assumed; calculated and simulated do not weaken. */
enum spec_claim spec_claim_weaker(enum spec_claim a, enum spec_claim b);

enum spec_kv_kind {
    SPEC_KV_FULL,    /* every token is kept */
    SPEC_KV_SLIDING, /* the last `window_tokens` are seen */
    SPEC_KV_CHUNKED, /* attention within chunks of `window_tokens` */
    SPEC_KV_STATE,   /* recurrent state: constant bytes per sequence */
    SPEC_KV_INDEX,   /* index keys of sparse attention */
};
enum { SPEC_KV_KIND_COUNT = SPEC_KV_INDEX + 1 };
const char *spec_kv_kind_name(enum spec_kv_kind kind);

enum { SPEC_KV_GROUPS_MAX = 16 };

/* Layers that keep KV alike. A layer whose cache is shared with another one keeps none and is in no group. */
struct spec_kv_group {
    enum spec_kv_kind kind;
    uint32_t layer_count;
    uint32_t kv_head_count;        /* MLA: 1 */
    uint32_t k_dim, v_dim;         /* elements per head and token; MLA: latent + rope, 0 */
    bool is_latent;                /* MLA: one vector for all heads, replicated on every TP rank */
    uint32_t window_tokens;        /* sliding, chunked */
    uint32_t block_tokens;         /* stated by kv_groups; 0 = the engine's */
    double stated_bytes_per_token; /* per layer; 0 = from geometry and dtype */
    uint64_t stated_bytes_per_sequence;                     /* per layer: states */
    uint64_t state_elements_conv, state_elements_recurrent; /* per layer: states */
    const char *k_dtype, *v_dtype; /* of this group; NULL = as the engine stores its kind */
    bool is_draft; /* of a drafter beside the model: all on the last pipeline stage */
};

enum spec_mlp { SPEC_MLP_GATED, SPEC_MLP_PLAIN };

/* Recurrent layers, by the shape of their projections. */
enum spec_linear {
    SPEC_LINEAR_NONE,
    SPEC_LINEAR_MAMBA1,
    SPEC_LINEAR_MAMBA2,
    SPEC_LINEAR_GATED_DELTANET
};

/* The tower that turns images and video into tokens, its projector included. */
struct spec_vision {
    double parameters; /* 0: the model sees nothing */
    uint32_t hidden, intermediate;
    int64_t output;            /* elements that it hands to the text model for each token */
    int64_t patch_values;      /* numbers of one patch */
    int64_t patches_per_token; /* before they are merged */
    int64_t item_tokens;       /* of the largest image or video */
    bool has_rotary;           /* positions are turned into its queries and keys, in fp32 */
};

struct spec_model {
    const char *name;  /* file name or scenario's own */
    const char *hf_id; /* or "" */
    const char *model_type;

    uint32_t layer_count, hidden, vocabulary;
    uint32_t q_head_count, head_dim; /* MHA, GQA, MQA */
    uint32_t kv_head_count;
    uint64_t max_position_tokens; /* 0 = not stated */
    bool tied_embeddings;
    const char *weight_dtype; /* the checkpoint's own: bf16, fp16, fp8, mxfp4, ... */

    bool is_mla; /* then: */
    uint32_t kv_lora_rank, qk_rope_dim, qk_nope_dim, v_head_dim, q_lora_rank;

    enum spec_mlp mlp;
    uint32_t intermediate; /* dense MLP width; 0 when every layer is MoE */
    uint32_t expert_count, experts_per_token, expert_intermediate; /* routed; 0 = dense model */
    uint32_t shared_intermediate; /* total width of shared experts */
    uint32_t moe_layer_count;     /* the other layers are dense */

    /* layers with attention of any kind (a linear or state layer is not one) */
    uint32_t attention_layer_count;
    bool gated_attention; /* the query projection is doubled by an output gate (Qwen3-Next) */
    uint32_t linear_layer_count; /* layers with a recurrent state instead of attention; then: */
    enum spec_linear linear_kind;
    uint32_t linear_conv_dim, linear_conv_kernel; /* channels and taps of the short convolution */
    uint32_t linear_head_count, linear_head_dim;  /* value heads; 0 for Mamba-1 */
    uint32_t linear_state_dim;
    uint32_t linear_dt_rank; /* Mamba-1; 0 = hidden / 16 rounded up, the class default */
    /* layers that are an MLP or experts and nothing else (Nemotron-H); 0 elsewhere */
    uint32_t mlp_only_layer_count;
    /* rows of a learned position embedding (OPT, GPT, StarCoder); 0 = none */
    uint32_t learned_position_count;
    /* width of the rotary table that engines keep beside the weights; 0 = none */
    uint32_t rotary_dim;
    /* full-attention layers have a table of their own, so many times as long; 0 = none */
    uint32_t rotary_stretch;
    bool has_video_positions; /* text positions have a time and two places (M-RoPE) */
    /* the geometry does not describe all weights: their number is published_parameters */
    bool parameters_are_stated;

    struct spec_vision vision;

    size_t group_count;
    struct spec_kv_group groups[SPEC_KV_GROUPS_MAX];

    double parameters;           /* total, computed from the geometry */
    double active_parameters;    /* per token, one embedding matrix counted */
    double published_parameters; /* 0 = not stated */
    bool only_groups;            /* a bare `kv_groups` model: KV sizes are known, nothing else */
    enum spec_claim claim;
    const char *source;
};

/*
 * Parameter counts from the geometry: embedding, attention, MLP, experts, routers, recurrent layers; norms and biases
 * are left out (below 0.1 %). parameters_are_stated: the published number. Active: the experts of one token, one
 * embedding matrix, no position embedding.
 */
double spec_model_parameters(const struct spec_model *model);
double spec_model_active_parameters(const struct spec_model *model);

/* Elements of the weight matrices of one layer, whole model (before TP); exact whole numbers below 2^53. */
double spec_model_attention_weights(const struct spec_model *model);
double spec_model_dense_mlp_weights(const struct spec_model *model);
double spec_model_expert_weights(const struct spec_model *model); /* one routed expert */
double spec_model_shared_expert_weights(const struct spec_model *model);
double spec_model_linear_weights(const struct spec_model *model);      /* one recurrent layer */
double spec_model_router_weights(const struct spec_model *model);      /* of one MoE layer */
uint32_t spec_model_dense_layer_count(const struct spec_model *model); /* layers with a dense MLP */

#endif
