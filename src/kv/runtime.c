#include "kv/runtime.h"

#include "base/count.h"

#include <math.h>

enum { ELEMENT_BYTES = 2 };

static double min_real(double a, double b)
{
    return a < b ? a : b;
}

static double max_real(double a, double b)
{
    return a > b ? a : b;
}

// Elements that a token needs beside its hidden states in each kind of layer, over the ranks of a stage.
static double attention_width(const struct spec_model *model)
{
    if (model->is_mla) {
        double q = model->qk_nope_dim + model->qk_rope_dim, v = model->v_head_dim;
        return model->q_head_count * (2 * q + 2 * v) + model->kv_lora_rank;
    }
    double q = (double)model->q_head_count * model->head_dim;
    double kv = (double)model->kv_head_count * model->head_dim;
    return (model->gated_attention ? 3 : 2) * q + 2 * kv;
}

// Elements of a token on one rank while a dense MLP runs; none in a model whose every layer has experts.
static double dense_width(const struct kv_runtime_rule *rule, const struct spec_model *model,
                          double ranks)
{
    if (spec_model_dense_layer_count(model) == 0)
        return 0;
    double own = (model->mlp == SPEC_MLP_GATED ? 3.0 : 2.0) * model->intermediate;
    return own / ranks + rule->mlp_copies * model->hidden;
}

static double linear_width(const struct spec_model *model)
{
    enum { COPIES = 4 }; // projections, convolution in and out, output of the recurrence
    return model->linear_layer_count == 0 ? 0 : (double)COPIES * model->linear_conv_dim;
}

// Routed experts: gate and up, their product, and the outputs before they are summed; vLLM reuses the first for the
// last (fused_moe's intermediate caches 1 and 3).
static double expert_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                           double tokens, double ranks)
{
    if (model->expert_count == 0)
        return 0;
    double at_once =
        rule->moe_chunk_tokens != 0 ? min_real(tokens, (double)rule->moe_chunk_tokens) : tokens;
    double width = model->expert_intermediate / ranks;
    double gate_up = (model->mlp == SPEC_MLP_GATED ? 2 : 1) * width;
    double per_token = model->experts_per_token * (max_real(gate_up, model->hidden) + width);
    return at_once * per_token * ELEMENT_BYTES;
}

// torch keeps the input of an all-reduce on another stream until that stream is done, unless it is told not to.
static double kept_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                         const struct kv_runtime_shape *shape)
{
    if (shape->tensor_parallel == 1)
        return 0;
    return rule->kept_reductions * model->layer_count * (double)shape->max_num_batched_tokens *
           model->hidden * ELEMENT_BYTES;
}

static double layer_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                          const struct kv_runtime_shape *shape)
{
    double tokens = (double)shape->max_num_batched_tokens, ranks = shape->tensor_parallel;
    double width = max_real(max_real(attention_width(model), linear_width(model)) / ranks,
                            dense_width(rule, model, ranks));
    double widest =
        max_real(tokens * width * ELEMENT_BYTES, expert_bytes(rule, model, tokens, ranks));
    return widest + tokens * rule->hidden_copies * model->hidden * ELEMENT_BYTES +
           kept_bytes(rule, model, shape);
}

/* ---- towers ---- */

static bool tower_runs(const struct kv_runtime_rule *rule, const struct spec_model *model)
{
    return rule->encoder != KV_ENCODER_NONE && model->vision.parameters > 0 &&
           model->vision.item_tokens > 0;
}

// V0 refuses items beyond the prompt, so that whoever starts it has made them smaller.
static int64_t item_tokens(const struct kv_runtime_rule *rule, const struct spec_model *model,
                           const struct kv_runtime_shape *shape)
{
    int64_t tokens = model->vision.item_tokens;
    return rule->encoder == KV_ENCODER_PROMPT ? base_min(tokens, shape->max_num_batched_tokens)
                                              : tokens;
}

static int64_t item_count(const struct kv_runtime_rule *rule, const struct spec_model *model,
                          const struct kv_runtime_shape *shape)
{
    int64_t items = base_max(1, shape->max_num_batched_tokens / item_tokens(rule, model, shape));
    return rule->encoder == KV_ENCODER_BUDGET ? base_min(items, shape->max_num_seqs) : items;
}

static double encoder_tokens(const struct kv_runtime_rule *rule, const struct spec_model *model,
                             const struct kv_runtime_shape *shape)
{
    return (double)item_count(rule, model, shape) * (double)item_tokens(rule, model, shape);
}

static double tower_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                          const struct kv_runtime_shape *shape)
{
    enum { TOGETHER = 16, IN_TURN = 10, PLAIN = 5, STREAM_COPIES = 2, MLP_COPIES = 2 };
    const struct spec_vision *vision = &model->vision;
    double hidden = vision->hidden, ranks = shape->tensor_parallel;
    int rotary = rule->encoder == KV_ENCODER_PROMPT ? IN_TURN : TOGETHER;
    double attention = (vision->has_rotary ? rotary : PLAIN) * hidden;
    double widest = max_real(attention, MLP_COPIES * (double)vision->intermediate) / ranks;
    double patches = encoder_tokens(rule, model, shape) * (double)vision->patches_per_token;
    return patches * ELEMENT_BYTES *
           ((double)vision->patch_values + STREAM_COPIES * hidden + widest);
}

/* ---- sampler ---- */

// Every rank gathers the whole vocabulary's logits.
static double logit_count(const struct kv_runtime_rule *rule, const struct spec_model *model,
                          const struct kv_runtime_shape *shape)
{
    int64_t rows = rule->logit_rows == KV_LOGITS_OF_TOKENS
                       ? shape->max_num_batched_tokens
                       : base_min(shape->max_num_seqs, shape->max_num_batched_tokens);
    if (tower_runs(rule, model) && rule->encoder == KV_ENCODER_PROMPT)
        rows = base_min(rows, item_count(rule, model, shape));
    return (double)rows * model->vocabulary;
}

// The hidden states of all tokens are still there.
static double sampler_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                            const struct kv_runtime_shape *shape)
{
    return logit_count(rule, model, shape) * rule->logit_bytes +
           (double)shape->max_num_batched_tokens * model->hidden * ELEMENT_BYTES;
}

int64_t kv_runtime_capture_sizes(int64_t max_batch)
{
    enum { FINE_STEP = 8, FINE_MAX = 256, COARSE_STEP = 16 };
    if (max_batch < FINE_STEP)
        return max_batch >= 4 ? 3 : max_batch >= 2 ? 2 : max_batch;
    int64_t fine = (max_batch < FINE_MAX ? max_batch : FINE_MAX) / FINE_STEP;
    int64_t coarse = max_batch > FINE_MAX ? (max_batch - FINE_MAX) / COARSE_STEP : 0;
    return 3 + fine + coarse;
}

static double graphs_bytes(const struct kv_runtime_rule *rule, const struct spec_model *model,
                           const struct kv_runtime_shape *shape)
{
    if (shape->enforce_eager)
        return 0;
    int64_t seats = shape->max_num_seqs * base_max(1, rule->graph_seats);
    int64_t most = base_min(seats, rule->graph_max_batch);
    uint32_t stages = shape->pipeline_parallel;
    double layers = (model->layer_count + stages - 1) / stages;
    double bytes = layers * (double)kv_runtime_capture_sizes(most) * (double)rule->graph_bytes;
    bool estimated = shape->graphs_are_charged && rule->graph_charged_share > 0;
    return estimated ? bytes * rule->graph_charged_share : bytes;
}

/* ---- memory outside PyTorch ---- */

static void predict_non_torch(const struct kv_runtime_rule *rule,
                              const struct kv_runtime_shape *shape, struct kv_runtime *out)
{
    enum { MULTICAST_MIN_RANKS = 3 };
    int64_t ranks = shape->tensor_parallel;
    bool rocm = shape->is_rocm && rule->context_rocm_bytes != 0;
    out->further_ranks = ranks - 1;
    out->context_bytes = rocm ? rule->context_rocm_bytes : rule->context_bytes;
    out->collective_bytes = rule->collective_bytes[shape->links];
    out->once_bytes = ranks > 1 ? rule->once_bytes[shape->links] : 0;
    int64_t linked = shape->linked_ranks == 0 ? ranks : base_min(ranks, shape->linked_ranks);
    if (shape->links == KV_LINKS_MULTICAST && linked >= MULTICAST_MIN_RANKS)
        out->multicast_bytes = rule->multicast_more_bytes + linked * rule->multicast_rank_bytes;
    out->non_torch_bytes = out->context_bytes + out->once_bytes +
                           out->further_ranks * out->collective_bytes + out->multicast_bytes;
}

// Of a tower of any geometry: beyond an exabyte no device is larger, and sums still fit.
static int64_t whole_bytes(double bytes)
{
    const double most = 1e18;
    return llround(bytes < most ? bytes : most);
}

void kv_runtime_predict(const struct kv_runtime_rule *rule, const struct spec_model *model,
                        const struct kv_runtime_shape *shape, struct kv_runtime *out)
{
    *out = (struct kv_runtime){.rule = *rule};
    predict_non_torch(rule, shape, out);
    if (model->only_groups)
        return;
    out->layer_bytes = llround(layer_bytes(rule, model, shape));
    out->logit_count = logit_count(rule, model, shape);
    out->sampler_bytes = llround(sampler_bytes(rule, model, shape));
    if (tower_runs(rule, model)) {
        out->tower_bytes = whole_bytes(tower_bytes(rule, model, shape));
        out->embedding_bytes = whole_bytes(encoder_tokens(rule, model, shape) * ELEMENT_BYTES *
                                           (double)model->vision.output);
    }
    out->activation_bytes = base_max(
        out->tower_bytes, out->embedding_bytes + base_max(out->layer_bytes, out->sampler_bytes));
    out->graphs_bytes = llround(graphs_bytes(rule, model, shape));
}
