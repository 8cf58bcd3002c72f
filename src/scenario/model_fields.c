/*
 * model_fields.c - the keys of a model file or config.json, with the spellings of other families.
 */
#include "scenario/model_opts.h"

#define AT(member) .offset = offsetof(struct scenario_model_opts, member)
#define COUNT(name, text) {.key = #name, .type = BASE_INT, .unit = BASE_COUNT, AT(name), .min = 1, .max = 1e9, .help = text}
#define COUNT_ALSO(name, other, text) \
    {.key = #name, .type = BASE_INT, .unit = BASE_COUNT, AT(name), .min = 1, .max = 1e9, .also = other, .help = text}
#define NODE(name, text) {.key = #name, .type = BASE_NODE, AT(name), .help = text}

const struct base_field scenario_model_fields[] = {
    {.key = "name", .type = BASE_TEXT, AT(name), .help = "what results call the model"},
    {.key = "aliases", .type = BASE_TEXTS, AT(aliases), .help = "other names, the full id first; each belongs to one file"},
    {.key = "model_type", .type = BASE_TEXT, AT(model_type), .help = "family; decides what absent keys mean"},
    {.key = "parameters", .type = BASE_REAL, .unit = BASE_COUNT, AT(parameters), .min_open = true, .max = 1e16, .help = "published size"},
    {.key = "active_parameters", .type = BASE_REAL, .unit = BASE_COUNT, AT(active_parameters), .min_open = true, .max = 1e16,
     .help = "published size of the part that one token uses"},
    {.key = "torch_dtype", .type = BASE_TEXT, AT(torch_dtype), .also = "dtype", .help = "dtype of the released weights"},
    {.key = "quantization_config", .type = BASE_NODE, AT(quantization_config), .also = "compression_config",
     .help = "format of the released weights: {quant_method, weight_block_size, ...}"},

    COUNT_ALSO(num_hidden_layers, "n_layer num_layers n_layers", "layers"),
    COUNT_ALSO(hidden_size, "n_embd n_embed d_model", "width of the residual stream"),
    {.key = "num_attention_heads", .type = BASE_INT, .unit = BASE_COUNT, AT(num_attention_heads),
     .has_offset = offsetof(struct scenario_model_opts, has_heads), .min = 1, .max = 1e6, .also = "n_head num_heads n_heads", .help = "query heads"},
    COUNT_ALSO(num_key_value_heads, "num_kv_heads n_head_kv n_kv_heads multi_query_group_num kv_n_heads", "KV heads; absent: as many as query heads"),
    COUNT_ALSO(head_dim, "kv_channels attention_head_dim", "elements per head; absent: hidden_size / num_attention_heads"),
    {.key = "multi_query", .type = BASE_BOOL, AT(multi_query), .has_offset = offsetof(struct scenario_model_opts, has_multi_query),
     .also = "multi_query_attention", .help = "one KV head for all query heads"},
    {.key = "new_decoder_architecture", .type = BASE_BOOL, AT(new_decoder_architecture), .help = "Falcon: num_kv_heads counts"},
    {.key = "attn_output_gate", .type = BASE_BOOL, AT(attn_output_gate), .has_offset = offsetof(struct scenario_model_opts, has_output_gate),
     .help = "the query projection is doubled by a gate"},

    COUNT(kv_lora_rank, "width of the KV latent (MLA)"),
    COUNT(qk_rope_head_dim, "width of the rotary key beside the latent"),
    COUNT(qk_nope_head_dim, "width of a head's key without rotary part"),
    COUNT(v_head_dim, "width of a head's value"),
    COUNT(q_lora_rank, "width of the query latent; absent: queries are not compressed"),
    COUNT(index_n_heads, "heads of the sparse-attention indexer"),
    COUNT(index_head_dim, "width of an index key"),
    COUNT(index_topk, "tokens that a query attends to under sparse attention"),

    COUNT(linear_conv_kernel_dim, "taps of the short convolution (gated delta net)"),
    COUNT(linear_num_key_heads, "key heads (gated delta net)"),
    COUNT(linear_num_value_heads, "value heads (gated delta net)"),
    COUNT(linear_key_head_dim, "width of a key head (gated delta net)"),
    COUNT(linear_value_head_dim, "width of a value head (gated delta net)"),
    {.key = "mamba_ssm_dtype", .type = BASE_TEXT, AT(mamba_ssm_dtype), .help = "dtype of the recurrent state"},
    {.key = "mamba_ssm_cache_dtype", .type = BASE_TEXT, AT(mamba_ssm_cache_dtype), .help = "dtype of the recurrent state"},
    COUNT(mamba_d_state, "state size (Mamba-1)"),
    COUNT(mamba_d_conv, "taps of the convolution (Mamba-1)"),
    COUNT(mamba_expand, "channels over hidden_size (Mamba-1)"),
    COUNT(mamba_dt_rank, "rank of the step projection (Mamba-1)"),
    COUNT_ALSO(mamba_num_heads, "mamba_n_heads", "heads (Mamba-2)"),
    COUNT_ALSO(mamba_head_dim, "mamba_d_head", "width of a head (Mamba-2)"),
    COUNT(ssm_state_size, "state size (Mamba-2)"),
    COUNT_ALSO(n_groups, "mamba_n_groups", "groups (Mamba-2)"),
    COUNT(conv_kernel, "taps of the convolution (Mamba-2)"),

    {.key = "mlp_type", .type = BASE_TEXT, AT(mlp_type), .help = "gated (three matrices) or plain (two)"},
    {.key = "hidden_act", .type = BASE_TEXT, AT(hidden_act), .also = "hidden_activation activation_function", .help = "activation"},
    {.key = "intermediate_size", .type = BASE_NODE, AT(intermediate_size), .also = "n_inner ffn_dim ffn_hidden_size inner_dim",
     .help = "width of the MLP, or of an expert where moe_intermediate_size is absent"},
    COUNT(intermediate_size_mlp, "width of the dense layers (Llama 4)"),
    COUNT_ALSO(num_experts, "num_local_experts n_routed_experts moe_num_experts", "routed experts"),
    COUNT_ALSO(num_experts_per_tok, "experts_per_token moe_topk moe_k num_selected_experts moe_top_k", "experts that a token uses"),
    COUNT_ALSO(moe_intermediate_size, "expert_intermediate_size", "width of an expert"),
    {.key = "n_shared_experts", .type = BASE_INT, .unit = BASE_COUNT, AT(n_shared_experts), .min = 0, .max = 1e6, .also = "num_shared_experts",
     .help = "experts that every token uses, each as wide as a routed one"},
    {.key = "shared_expert_intermediate_size", .type = BASE_INT, .unit = BASE_COUNT, AT(shared_expert_intermediate_size), .min = 0, .max = 1e9,
     .also = "moe_shared_expert_intermediate_size", .help = "total width of the shared experts"},
    {.key = "first_k_dense_replace", .type = BASE_INT, .unit = BASE_COUNT, AT(first_k_dense_replace), .min = 0, .max = 1e6,
     .has_offset = offsetof(struct scenario_model_opts, has_first_k), .help = "leading layers without experts"},
    COUNT(interleave_moe_layer_step, "every n-th layer has experts (Llama 4)"),
    {.key = "decoder_sparse_step", .type = BASE_INT, .unit = BASE_COUNT, AT(decoder_sparse_step), .min = 0, .max = 1e6,
     .help = "every n-th layer has experts (Qwen)"},
    COUNT(expert_layer_period, "layers with experts recur with this period (Jamba)"),
    {.key = "expert_layer_offset", .type = BASE_INT, .unit = BASE_COUNT, AT(expert_layer_offset), .min = 0, .max = 1e6,
     .has_offset = offsetof(struct scenario_model_opts, has_expert_offset), .help = "first layer with experts (Jamba)"},
    NODE(moe_layers, "indices of the layers with experts"),
    NODE(mlp_only_layers, "indices of layers without experts"),
    NODE(moe_layer_freq, "every n-th layer has experts, or a list of 0 and 1"),

    COUNT_ALSO(vocab_size, "padded_vocab_size", "rows of the embedding"),
    {.key = "tie_word_embeddings", .type = BASE_BOOL, AT(tie_word_embeddings), .has_offset = offsetof(struct scenario_model_opts, has_tied),
     .help = "the output head shares the embedding"},
    {.key = "max_position_embeddings", .type = BASE_INT, .unit = BASE_TOKENS, AT(max_position_embeddings), .min = 1, .max = 1e12,
     .also = "n_positions seq_length max_seq_len max_sequence_length n_ctx", .help = "longest context"},
    NODE(rope_scaling, "how the context was stretched"),
    {.key = "partial_rotary_factor", .type = BASE_REAL, AT(partial_rotary_factor), .min = 0, .max = 1, .also = "rotary_pct",
     .help = "share of a head that is rotated"},

    {.key = "sliding_window", .type = BASE_NODE, AT(sliding_window), .help = "tokens that a windowed layer sees"},
    {.key = "use_sliding_window", .type = BASE_BOOL, AT(use_sliding_window), .has_offset = offsetof(struct scenario_model_opts, has_use_sliding),
     .help = "false: no layer has a window"},
    {.key = "max_window_layers", .type = BASE_INT, .unit = BASE_COUNT, AT(max_window_layers), .min = 0, .max = 1e6,
     .has_offset = offsetof(struct scenario_model_opts, has_max_window), .help = "leading layers without a window (Qwen)"},
    {.key = "sliding_window_pattern", .type = BASE_NODE, AT(sliding_window_pattern), .also = "_sliding_window_pattern",
     .help = "every n-th layer is full, or a word of L and G"},
    {.key = "attention_chunk_size", .type = BASE_INT, .unit = BASE_TOKENS, AT(attention_chunk_size), .min = 1, .max = 1e9,
     .help = "chunked layers see their own chunk only (Llama 4)"},
    NODE(no_rope_layers, "1 = rotary and chunked, 0 = full (Llama 4)"),
    COUNT(no_rope_layer_interval, "every n-th layer is full (Llama 4)"),
    {.key = "num_kv_shared_layers", .type = BASE_INT, .unit = BASE_COUNT, AT(num_kv_shared_layers), .min = 0, .max = 1e6,
     .help = "the last n layers reuse earlier KV and keep none"},
    {.key = "layer_types", .type = BASE_NODE, AT(layer_types), .also = "layers_block_type block_types",
     .help = "full_attention, sliding_attention, chunked_attention, linear_attention, mamba, mlp or moe for each layer"},
    {.key = "hybrid_override_pattern", .type = BASE_TEXT, AT(hybrid_override_pattern), .help = "M mamba, * attention, - MLP, E experts, a letter a layer"},
    COUNT(full_attention_interval, "every n-th layer is full, the others linear"),
    COUNT(attn_layer_period, "attention layers recur with this period (Jamba)"),
    {.key = "attn_layer_offset", .type = BASE_INT, .unit = BASE_COUNT, AT(attn_layer_offset), .min = 0, .max = 1e6,
     .has_offset = offsetof(struct scenario_model_opts, has_attn_offset), .help = "first attention layer (Jamba)"},
    {.key = "kv_groups", .type = BASE_NODE, AT(kv_groups), .help = "stated groups of layers in place of those derived"},
    {.key = "provenance", .type = BASE_NODE, AT(provenance), .help = "claim and source of each figure"},
    {.key = "notes", .type = BASE_TEXT, AT(notes), .help = "free text"},
    {0},
};

const struct scenario_section scenario_model_section = {
    "model", scenario_model_fields, NULL,
    "a language model: a name, a path, {hf_config: PATH}, {base: NAME, changes} or these keys"};

/*
 * Sources: configuration_*.py and modeling_*.py of huggingface/transformers for each type. `plain_mlp`: two matrices
 * (fc1, fc2). Positions: OPT keeps two rows more than it has positions.
 */
static const struct scenario_family families[] = {
    {.model_type = "llama"},
    {.model_type = "mistral", .windows_everywhere = true},
    {.model_type = "ministral", .windows_everywhere = true},
    {.model_type = "mixtral", .windows_everywhere = true},
    {.model_type = "qwen2", .window_is_opt_in = true},
    {.model_type = "qwen2_moe", .window_is_opt_in = true},
    {.model_type = "qwen2_5_vl_text", .window_is_opt_in = true},
    {.model_type = "qwen3", .window_is_opt_in = true},
    {.model_type = "qwen3_moe", .window_is_opt_in = true},
    {.model_type = "qwen3_vl_text", .window_is_opt_in = true},
    {.model_type = "qwen3_vl_moe_text", .window_is_opt_in = true},
    {.model_type = "qwen3_next", .gated_attention = true, .window_is_opt_in = true},
    {.model_type = "qwen3_5_text", .gated_attention = true, .window_is_opt_in = true},
    {.model_type = "qwen3_5_moe_text", .gated_attention = true, .window_is_opt_in = true},
    {.model_type = "gemma", .tied = true},
    {.model_type = "gemma2", .tied = true, .window_pattern = 2},
    {.model_type = "gemma3_text", .tied = true, .window_pattern = 6, .heads = 8, .kv_heads = 4, .head_dim = 256, .vocab = 262208, .positions = 131072},
    {.model_type = "gemma3n_text", .tied = true, .window_pattern = 5, .heads = 8, .kv_heads = 2, .head_dim = 256, .vocab = 262400, .positions = 32768},
    {.model_type = "phi3", .windows_everywhere = true},
    {.model_type = "phi", .plain_mlp = true},
    {.model_type = "phimoe", .windows_everywhere = true},
    {.model_type = "cohere", .tied = true},
    {.model_type = "cohere2", .tied = true, .window_pattern = 4},
    {.model_type = "deepseek_v2"},
    {.model_type = "deepseek_v3"},
    {.model_type = "deepseek_v32"},
    {.model_type = "kimi_k2"},
    {.model_type = "glm"},
    {.model_type = "glm4"},
    {.model_type = "chatglm"},
    {.model_type = "glm4_moe"},
    {.model_type = "glm_moe_dsa"},
    {.model_type = "gpt_oss", .window_pattern = 2},
    {.model_type = "jamba", .no_rope = true},
    {.model_type = "nemotron", .plain_mlp = true},
    {.model_type = "nemotron_h", .plain_mlp = true, .no_rope = true},
    {.model_type = "llama4_text", .one_shared_expert = true},
    {.model_type = "minimax_m2"},
    {.model_type = "olmo"},
    {.model_type = "olmo2"},
    {.model_type = "granite"},
    {.model_type = "internlm2"},
    {.model_type = "internlm3"},
    {.model_type = "baichuan"},
    {.model_type = "exaone"},
    {.model_type = "stablelm"},
    {.model_type = "seed_oss"},
    {.model_type = "opt", .plain_mlp = true, .tied = true, .learned_positions = true, .extra_positions = 2, .no_rope = true},
    {.model_type = "gpt2", .plain_mlp = true, .tied = true, .learned_positions = true, .no_rope = true, .mlp_is_four_hidden = true},
    {.model_type = "gpt_bigcode", .plain_mlp = true, .tied = true, .learned_positions = true, .no_rope = true, .mlp_is_four_hidden = true},
    {.model_type = "gpt_neox", .plain_mlp = true},
    {.model_type = "gptj", .plain_mlp = true, .mlp_is_four_hidden = true},
    {.model_type = "bloom", .plain_mlp = true, .tied = true, .no_rope = true, .mlp_is_four_hidden = true},
    {.model_type = "falcon", .plain_mlp = true, .tied = true, .mlp_is_four_hidden = true, .falcon_heads = true},
    {.model_type = "starcoder2", .plain_mlp = true, .tied = true, .windows_everywhere = true},
};

const struct scenario_family *scenario_family_find(const char *model_type)
{
    for (size_t i = 0; model_type != NULL && i < sizeof families / sizeof families[0]; i++) {
        if (base_key_equal(families[i].model_type, model_type))
            return &families[i];
    }
    return NULL;
}
