/*
 * models.h - geometries of well-known models for tests, so that each test states no more than what it is about.
 * Source: the config.json of each model.
 */
#ifndef KVSIM_TESTS_MODELS_H
#define KVSIM_TESTS_MODELS_H

#include "spec/model.h"

static const struct spec_model model_llama_8b = {
    .name = "llama-3.1-8b",
    .layer_count = 32,
    .hidden = 4096,
    .vocabulary = 128256,
    .q_head_count = 32,
    .head_dim = 128,
    .kv_head_count = 8,
    .max_position_tokens = 131072,
    .weight_dtype = "bf16",
    .intermediate = 14336,
    .attention_layer_count = 32,
    .rotary_dim = 128,
    .group_count = 1,
    .groups = {{.layer_count = 32, .kv_head_count = 8, .k_dim = 128, .v_dim = 128}},
};

static const struct spec_model model_llama_70b = {
    .name = "llama-3.1-70b",
    .layer_count = 80,
    .hidden = 8192,
    .vocabulary = 128256,
    .q_head_count = 64,
    .head_dim = 128,
    .kv_head_count = 8,
    .max_position_tokens = 131072,
    .weight_dtype = "bf16",
    .intermediate = 28672,
    .attention_layer_count = 80,
    .rotary_dim = 128,
    .group_count = 1,
    .groups = {{.layer_count = 80, .kv_head_count = 8, .k_dim = 128, .v_dim = 128}},
};

static const struct spec_model model_deepseek_v3 = {
    .name = "deepseek-v3",
    .layer_count = 61,
    .hidden = 7168,
    .vocabulary = 129280,
    .q_head_count = 128,
    .max_position_tokens = 163840,
    .weight_dtype = "fp8",
    .is_mla = true,
    .kv_lora_rank = 512,
    .qk_rope_dim = 64,
    .qk_nope_dim = 128,
    .v_head_dim = 128,
    .q_lora_rank = 1536,
    .intermediate = 18432,
    .expert_count = 256,
    .experts_per_token = 8,
    .expert_intermediate = 2048,
    .shared_intermediate = 2048,
    .moe_layer_count = 58,
    .attention_layer_count = 61,
    .rotary_dim = 64,
    .group_count = 1,
    .groups = {{.layer_count = 61, .kv_head_count = 1, .k_dim = 576, .is_latent = true}},
};

static const struct spec_model model_opt_13b = {
    .name = "opt-13b",
    .layer_count = 40,
    .hidden = 5120,
    .vocabulary = 50272,
    .q_head_count = 40,
    .head_dim = 128,
    .kv_head_count = 40,
    .max_position_tokens = 2048,
    .tied_embeddings = true,
    .weight_dtype = "fp16",
    .mlp = SPEC_MLP_PLAIN,
    .intermediate = 20480,
    .attention_layer_count = 40,
    .learned_position_count = 2048,
    .group_count = 1,
    .groups = {{.layer_count = 40, .kv_head_count = 40, .k_dim = 128, .v_dim = 128}},
};

static const struct spec_model model_gemma3_27b = {
    .name = "gemma-3-27b",
    .layer_count = 62,
    .hidden = 5376,
    .vocabulary = 262208,
    .q_head_count = 32,
    .head_dim = 128,
    .kv_head_count = 16,
    .max_position_tokens = 131072,
    .tied_embeddings = true,
    .weight_dtype = "bf16",
    .intermediate = 21504,
    .attention_layer_count = 62,
    .rotary_dim = 128,
    .group_count = 2,
    .groups = {{.layer_count = 10, .kv_head_count = 16, .k_dim = 128, .v_dim = 128},
               {.kind = SPEC_KV_SLIDING,
                .layer_count = 52,
                .kv_head_count = 16,
                .k_dim = 128,
                .v_dim = 128,
                .window_tokens = 1024}},
};

static const struct spec_model model_qwen35_27b = {
    .name = "qwen3.5-27b",
    .layer_count = 64,
    .hidden = 5120,
    .vocabulary = 248320,
    .q_head_count = 24,
    .head_dim = 256,
    .kv_head_count = 4,
    .max_position_tokens = 262144,
    .weight_dtype = "bf16",
    .intermediate = 17408,
    .attention_layer_count = 16,
    .gated_attention = true,
    .linear_layer_count = 48,
    .linear_kind = SPEC_LINEAR_GATED_DELTANET,
    .linear_conv_dim = 10240,
    .linear_conv_kernel = 4,
    .linear_head_count = 48,
    .linear_head_dim = 128,
    .linear_state_dim = 128,
    .group_count = 2,
    .groups = {{.layer_count = 16, .kv_head_count = 4, .k_dim = 256, .v_dim = 256},
               {.kind = SPEC_KV_STATE,
                .layer_count = 48,
                .state_elements_conv = 30720,
                .state_elements_recurrent = 786432}},
};

#endif
