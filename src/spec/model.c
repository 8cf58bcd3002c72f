#include "spec/model.h"

#include "base/error.h"

// Matrices of an MLP: gate, up and down, or up and down.
static double mlp_matrices(const struct spec_model *model)
{
    return model->mlp == SPEC_MLP_GATED ? 3 : 2;
}

static double mlp_weights(const struct spec_model *model, double width)
{
    return mlp_matrices(model) * model->hidden * width;
}

/*
 * DeepSeek-V2, section 2.1: the query goes through a latent (q_lora_rank) or straight; keys and values come from one
 * latent of kv_lora_rank plus a rotary part that all heads share.
 */
static double mla_weights(const struct spec_model *model)
{
    double hidden = model->hidden, heads = model->q_head_count;
    double q_dim = (double)model->qk_nope_dim + model->qk_rope_dim;
    double q = model->q_lora_rank != 0 ? model->q_lora_rank * (hidden + heads * q_dim)
                                       : hidden * heads * q_dim;
    double kv_down = hidden * ((double)model->kv_lora_rank + model->qk_rope_dim);
    double kv_up = model->kv_lora_rank * heads * ((double)model->qk_nope_dim + model->v_head_dim);
    double o = heads * model->v_head_dim * hidden;
    return q + kv_down + kv_up + o;
}

double spec_model_attention_weights(const struct spec_model *model)
{
    if (model->is_mla)
        return mla_weights(model);
    double q_matrices = model->gated_attention ? 3 : 2; // query, its gate, output
    double heads = q_matrices * model->q_head_count + 2.0 * model->kv_head_count;
    return (double)model->hidden * model->head_dim * heads;
}

double spec_model_dense_mlp_weights(const struct spec_model *model)
{
    return mlp_weights(model, model->intermediate);
}

double spec_model_expert_weights(const struct spec_model *model)
{
    return mlp_weights(model, model->expert_intermediate);
}

double spec_model_shared_expert_weights(const struct spec_model *model)
{
    return mlp_weights(model, model->shared_intermediate);
}

double spec_model_router_weights(const struct spec_model *model)
{
    return (double)model->hidden * model->expert_count;
}

// Input projection to twice the channels, output, x and dt projections, convolution, A, D and the step's bias
// (Gu and Dao, Mamba, 2023, section 3.4).
static double mamba1_weights(const struct spec_model *model)
{
    double hidden = model->hidden, channels = model->linear_conv_dim;
    double state = model->linear_state_dim;
    double rank =
        model->linear_dt_rank != 0 ? model->linear_dt_rank : (double)((model->hidden + 15) / 16);
    double projections = 3 * hidden * channels + channels * (2 * rank + 2 * state);
    return projections + channels * (model->linear_conv_kernel + state + 2);
}

// One input projection gives the convolved channels, the gate (as wide as the values) and per-head scalars:
// a step for Mamba-2, two (beta and decay) for the gated delta net.
static double headed_linear_weights(const struct spec_model *model, double scalars_per_head)
{
    double hidden = model->hidden, channels = model->linear_conv_dim;
    double values = (double)model->linear_head_count * model->linear_head_dim;
    double input = hidden * (channels + values + scalars_per_head * model->linear_head_count);
    return input + values * hidden + channels * model->linear_conv_kernel;
}

double spec_model_linear_weights(const struct spec_model *model)
{
    switch (model->linear_kind) {
    case SPEC_LINEAR_MAMBA1:
        return mamba1_weights(model);
    case SPEC_LINEAR_MAMBA2:
        return headed_linear_weights(model, 1);
    case SPEC_LINEAR_GATED_DELTANET:
        return headed_linear_weights(model, 2);
    case SPEC_LINEAR_NONE:
        break;
    }
    return 0;
}

uint32_t spec_model_dense_layer_count(const struct spec_model *model)
{
    uint32_t with_mlp =
        model->mlp_only_layer_count != 0 ? model->mlp_only_layer_count : model->layer_count;
    base_assert(model->moe_layer_count <= with_mlp);
    return with_mlp - model->moe_layer_count;
}

static double moe_weights(const struct spec_model *model, double experts)
{
    return experts * spec_model_expert_weights(model) + spec_model_shared_expert_weights(model) +
           spec_model_router_weights(model);
}

// Every layer, with `experts` of the routed ones in each MoE layer.
static double layer_weights(const struct spec_model *model, double experts)
{
    double sum = model->attention_layer_count * spec_model_attention_weights(model);
    sum += model->linear_layer_count * spec_model_linear_weights(model);
    sum += spec_model_dense_layer_count(model) * spec_model_dense_mlp_weights(model);
    if (model->moe_layer_count != 0)
        sum += model->moe_layer_count * moe_weights(model, experts);
    return sum;
}

double spec_model_parameters(const struct spec_model *model)
{
    if (model->parameters_are_stated)
        return model->published_parameters;
    double embedding = (double)model->vocabulary * model->hidden;
    double positions = (double)model->learned_position_count * model->hidden;
    return layer_weights(model, model->expert_count) +
           embedding * (model->tied_embeddings ? 1 : 2) + positions;
}

double spec_model_active_parameters(const struct spec_model *model)
{
    double embedding = (double)model->vocabulary * model->hidden;
    return layer_weights(model, model->experts_per_token) + embedding;
}
