/*
 * model_opts.h - the keys of a model as they are written, before they become a geometry. Private to the room.
 *
 * 0 (or NULL) = not stated. Names are those of Hugging Face's config.json; the table in model_fields.c holds all spellings.
 */
#ifndef KVSIM_SCENARIO_MODEL_OPTS_H
#define KVSIM_SCENARIO_MODEL_OPTS_H

#include "scenario/scenario_int.h"

struct scenario_model_opts {
    const char *name, *model_type, *torch_dtype, *mlp_type, *hidden_act, *hybrid_override_pattern,
        *notes, *mamba_ssm_dtype, *mamba_ssm_cache_dtype;
    struct base_list aliases;
    double parameters, active_parameters, partial_rotary_factor;
    int64_t num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim,
        vocab_size, max_position_embeddings;
    int64_t kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim, v_head_dim, q_lora_rank;
    int64_t index_n_heads, index_head_dim, index_topk;
    int64_t linear_conv_kernel_dim, linear_num_key_heads, linear_num_value_heads,
        linear_key_head_dim, linear_value_head_dim;
    int64_t mamba_d_state, mamba_d_conv, mamba_expand, mamba_dt_rank;
    int64_t mamba_num_heads, mamba_head_dim, ssm_state_size, n_groups, conv_kernel;
    int64_t intermediate_size_mlp, num_experts, num_experts_per_tok, moe_intermediate_size,
        n_shared_experts, shared_expert_intermediate_size;
    int64_t first_k_dense_replace, interleave_moe_layer_step, decoder_sparse_step,
        expert_layer_period, expert_layer_offset, full_attention_interval, attn_layer_period,
        attn_layer_offset, no_rope_layer_interval;
    int64_t attention_chunk_size, num_kv_shared_layers, max_window_layers;
    bool has_first_k, has_expert_offset, has_attn_offset, has_tied, has_use_sliding, has_max_window,
        has_multi_query, has_output_gate, has_heads;
    bool tie_word_embeddings, use_sliding_window, multi_query, new_decoder_architecture,
        attn_output_gate;
    const struct conf_node *intermediate_size, *sliding_window, *sliding_window_pattern,
        *layer_types, *quantization_config, *no_rope_layers, *moe_layers, *mlp_only_layers,
        *moe_layer_freq, *rope_scaling, *kv_groups, *vision, *provenance;
};

extern const struct base_field scenario_model_fields[];

/* What a model_type says without a key: transformers' class defaults and the shape of its code. */
struct scenario_family {
    const char *model_type;
    bool plain_mlp;         /* two matrices */
    bool tied;              /* tie_word_embeddings when absent */
    bool learned_positions; /* a table of max_position_embeddings rows */
    bool no_rope;
    bool windows_everywhere; /* sliding_window holds for every layer */
    bool window_is_opt_in;   /* only with use_sliding_window */
    bool gated_attention;
    bool video_positions; /* M-RoPE */
    bool wide_states;     /* recurrent states are fp32 under every engine; released files say so */
    bool one_shared_expert;  /* Llama 4: as wide as a routed one */
    bool mlp_is_four_hidden; /* intermediate_size when absent */
    int extra_positions;     /* rows of the table beyond the positions */
    int window_pattern;      /* every n-th layer is full; 0 = none known */
    bool falcon_heads;       /* multi_query and num_kv_heads as in Falcon */
    int64_t heads, kv_heads, head_dim, vocab, positions; /* class defaults that files leave out */
};
/* NULL for a type that is not known. */
const struct scenario_family *scenario_family_find(const char *model_type);
/* The known model_type nearest to this one by spelling, or NULL. */
const char *scenario_family_nearest(const char *model_type);

enum scenario_layer {
    LAYER_FULL,
    LAYER_SLIDING,
    LAYER_CHUNKED,
    LAYER_LINEAR,
    LAYER_MAMBA,
    LAYER_MLP,
    LAYER_EXPERTS
};

enum { SCENARIO_LAYERS_MAX = 2000 };

struct scenario_layers {
    size_t count;
    unsigned char kind[SCENARIO_LAYERS_MAX]; /* enum scenario_layer */
    bool has_experts[SCENARIO_LAYERS_MAX];
    int64_t window_tokens;
};

/* model_layers.c: the kind of each layer, from a list or from the family's rule. */
bool scenario_layers_find(struct scenario_reader *reader, const struct conf_node *tree,
                          const struct scenario_model_opts *opts,
                          const struct scenario_family *family, struct scenario_layers *out);

/* model_config.c: keys of a config.json, all spellings, nested text_config. */
bool scenario_config_read(struct scenario_reader *reader, struct conf_node *tree, const char *path,
                          struct scenario_model_opts *out);
bool scenario_config_rows(struct scenario_reader *reader, const struct conf_node *tree,
                          const struct base_field *fields, const char *path, void *out);
/* model_vision.c: into model->vision, whose text model is known by now; `whole` is the mapping that holds `tree`. */
bool scenario_vision_read(struct scenario_reader *reader, struct conf_node *whole,
                          struct conf_node *tree, bool as_config, const char *path,
                          struct spec_model *model);
/* The mapping that holds the text model: `text_config` and the like laid on the rest, where there is one. */
struct conf_node *scenario_config_flatten(struct scenario_reader *reader, struct conf_node *tree);

#endif
