#include "spec/model.h"

#include "support/check_main.h"
#include "support/models.h"

#include <math.h>

// In millions, so that a rounded published figure can be compared.
static double millions(double parameters)
{
    return round(parameters / 1e6);
}

START_TEST(parameters_follow_from_the_geometry)
{
    ck_assert_double_eq(millions(spec_model_parameters(&model_llama_8b)), 8030);
    ck_assert_double_eq(millions(spec_model_parameters(&model_llama_70b)), 70552);
    ck_assert_double_eq(millions(spec_model_parameters(&model_deepseek_v3)), 671025);
    ck_assert_double_eq(millions(spec_model_parameters(&model_opt_13b)), 12851);
    ck_assert_double_eq(millions(spec_model_parameters(&model_gemma3_27b)), 27008);
    ck_assert_double_eq(millions(spec_model_parameters(&model_qwen35_27b)), 26895);
}
END_TEST

START_TEST(active_parameters_count_one_embedding_and_the_chosen_experts)
{
    ck_assert_double_eq(millions(spec_model_active_parameters(&model_llama_8b)), 7505);
    ck_assert_double_eq(millions(spec_model_active_parameters(&model_deepseek_v3)), 36625);
    ck_assert_double_eq(millions(spec_model_active_parameters(&model_opt_13b)), 12840);
    ck_assert_double_eq(millions(spec_model_active_parameters(&model_qwen35_27b)), 25624);
}
END_TEST

START_TEST(a_layer_has_its_matrices)
{
    // q and o 4096 x 4096, k and v 4096 x 1024; three matrices of 4096 x 14336.
    ck_assert_double_eq(spec_model_attention_weights(&model_llama_8b), 41943040);
    ck_assert_double_eq(spec_model_dense_mlp_weights(&model_llama_8b), 176160768);
    ck_assert_double_eq(spec_model_linear_weights(&model_llama_8b), 0);
    ck_assert_double_eq(spec_model_expert_weights(&model_deepseek_v3), 3 * 7168 * 2048);
    ck_assert_double_eq(spec_model_shared_expert_weights(&model_deepseek_v3), 3 * 7168 * 2048);
    ck_assert_double_eq(spec_model_router_weights(&model_deepseek_v3), 7168 * 256);
    // Plain: two matrices.
    ck_assert_double_eq(spec_model_dense_mlp_weights(&model_opt_13b), 2.0 * 5120 * 20480);
}
END_TEST

START_TEST(mla_without_a_query_latent_projects_straight)
{
    struct spec_model lite = model_deepseek_v3;
    lite.q_lora_rank = 0;
    double difference = 7168.0 * 128 * 192 - 1536.0 * (7168 + 128 * 192);
    ck_assert_double_eq(spec_model_attention_weights(&lite) -
                            spec_model_attention_weights(&model_deepseek_v3),
                        difference);
}
END_TEST

START_TEST(mamba_layers_have_their_projections)
{
    // Jamba-1.5-Mini: 4096 wide, 8192 channels, state 16, step rank 256.
    struct spec_model jamba = {.hidden = 4096,
                               .linear_kind = SPEC_LINEAR_MAMBA1,
                               .linear_conv_dim = 8192,
                               .linear_conv_kernel = 4,
                               .linear_state_dim = 16};
    double expected = 3.0 * 4096 * 8192 + 8192.0 * (2 * 256 + 2 * 16) + 8192.0 * (4 + 16 + 2);
    ck_assert_double_eq(spec_model_linear_weights(&jamba), expected);
    jamba.linear_dt_rank = 128;
    ck_assert_double_eq(spec_model_linear_weights(&jamba), expected - 8192.0 * 2 * 128);

    // Nemotron-H-8B: 128 heads of 64, eight groups of state 128.
    struct spec_model nemotron = {.hidden = 4096,
                                  .linear_kind = SPEC_LINEAR_MAMBA2,
                                  .linear_conv_dim = 10240,
                                  .linear_conv_kernel = 4,
                                  .linear_head_count = 128,
                                  .linear_head_dim = 64,
                                  .linear_state_dim = 128};
    expected = 4096.0 * (10240 + 8192 + 128) + 8192.0 * 4096 + 4.0 * 10240;
    ck_assert_double_eq(spec_model_linear_weights(&nemotron), expected);
}
END_TEST

START_TEST(dense_layers_are_those_without_experts)
{
    ck_assert_uint_eq(spec_model_dense_layer_count(&model_llama_8b), 32);
    ck_assert_uint_eq(spec_model_dense_layer_count(&model_deepseek_v3), 3);
    // Nemotron-H: attention, state and MLP stand in layers of their own.
    struct spec_model nemotron = {.layer_count = 52, .mlp_only_layer_count = 24};
    ck_assert_uint_eq(spec_model_dense_layer_count(&nemotron), 24);
}
END_TEST

START_TEST(a_stated_number_replaces_the_geometry)
{
    struct spec_model model = model_llama_8b;
    model.parameters_are_stated = true;
    model.published_parameters = 5.4e9;
    ck_assert_double_eq(spec_model_parameters(&model), 5.4e9);
}
END_TEST

CHECK_MAIN("spec.model", parameters_follow_from_the_geometry,
           active_parameters_count_one_embedding_and_the_chosen_experts, a_layer_has_its_matrices,
           mla_without_a_query_latent_projects_straight, mamba_layers_have_their_projections,
           dense_layers_are_those_without_experts, a_stated_number_replaces_the_geometry)
