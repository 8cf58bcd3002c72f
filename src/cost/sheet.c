#include "cost/sheet.h"

#include "base/field.h"

#include <math.h>

/* The row of efficiencies that a KV format belongs to. */
static enum spec_dtype kv_dtype_of(const struct spec_kv_format *format)
{
    if (format->bits_per_element >= 16)
        return SPEC_BF16;
    return format->bits_per_element == 8 ? SPEC_FP8 : SPEC_FP4;
}

static const struct cost_kv_dtype_options *kv_options_of(const struct cost_config *config)
{
    struct spec_kv_format format;
    for (size_t i = 0; i < config->options->kv_dtype_count; i++) {
        const struct cost_kv_dtype_options *options = &config->options->kv_dtypes[i];
        if (spec_kv_format_find(options->name, &format) &&
            format.name == config->layout->k_format.name)
            return options;
    }
    return NULL;
}

static void group_make_mla(struct cost_group *group, const struct cost_sheet *sheet, bool absorbed)
{
    const struct spec_model *model = sheet->model;
    double heads = sheet->q_heads, latent = model->kv_lora_rank, rope = model->qk_rope_dim;
    double expanded = (double)model->qk_nope_dim + model->v_head_dim;
    group->flops_per_pair = 2 * heads * (expanded + rope);
    group->up_projection_flops = 2 * latent * heads * expanded;
    group->decode.kv_heads = 1;
    if (absorbed) {
        group->decode.latent_heads = heads;
        group->decode.flops_per_token = 2 * heads * (2 * latent + rope);
        return;
    }
    group->decode.flops_per_token = group->flops_per_pair + group->up_projection_flops;
    group->decode.bytes_per_token +=
        2 * 2 * heads * (expanded + rope); // written by the projection, read back
}

static void group_make(struct cost_group *group, const struct cost *cost, size_t index)
{
    const struct cost_sheet *sheet = cost->state;
    const struct spec_model *model = sheet->model;
    const struct spec_kv_group *kv = &model->groups[index];
    const struct cost_kv_dtype_options *options = kv_options_of(&cost->config);
    bool windowed = kv->kind == SPEC_KV_SLIDING || kv->kind == SPEC_KV_CHUNKED;
    double head = kv->k_dim ? (double)kv->k_dim + kv->v_dim : 2.0 * model->head_dim;

    *group = (struct cost_group){.layer_count = kv->layer_count};
    group->sum =
        windowed ? COST_SUM_WINDOW + (uint32_t)cost_window_find(cost, kv) : COST_SUM_CONTEXT;
    group->bytes_per_token = (double)cost->config.layout->groups[index].layer_slot_bytes_per_gpu;
    group->decode.bytes_per_token = group->bytes_per_token;
    group->decode.kv_dtype = kv_dtype_of(&cost->config.layout->k_format);
    group->decode.read_fraction = options ? options->read_fraction : 0;
    group->decode.dequant_s_per_token = options ? options->dequant_ns_per_token * 1e-9 : 0;
    if (kv->is_latent) {
        group_make_mla(group, sheet, cost->config.mla_absorbed);
        return;
    }
    // Index keys are read whole; the attention that they thin out is still counted over the whole context.
    if (kv->kind == SPEC_KV_INDEX)
        return;
    double kv_heads = fmax(1, cost_per_gpu(kv->kv_head_count, sheet->tp));
    group->flops_per_pair = 2 * sheet->q_heads * head;
    group->decode.kv_heads = kv_heads;
    group->decode.flops_per_token = group->flops_per_pair;
}

/* Layers that attend but keep no cache of their own read another layer's: they are spread over the groups. */
static void groups_make(struct cost *cost)
{
    struct cost_sheet *sheet = cost->state;
    const struct spec_model *model = sheet->model;
    double caching_layers = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        if (model->groups[i].kind == SPEC_KV_STATE) {
            sheet->state_bytes +=
                (double)cost->config.layout->groups[i].layer_sequence_bytes_per_gpu *
                model->groups[i].layer_count;
            continue;
        }
        struct cost_group *group = &sheet->groups[sheet->group_count++];
        group_make(group, cost, i);
        sheet->kv_bytes_per_token += group->bytes_per_token * group->layer_count;
        if (model->groups[i].kind != SPEC_KV_INDEX)
            caching_layers += group->layer_count;
    }
    if (caching_layers > 0 && sheet->attention_layers > caching_layers)
        for (size_t i = 0; i < sheet->group_count; i++)
            sheet->groups[i].layer_count *= sheet->attention_layers / caching_layers;
}

/*
 * A format whose operands the device can multiply is computed in it, with activations quantized on the way; else the
 * weights are widened on the fly (weight-only kernels) and only their bytes are saved.
 */
static enum kvsim_status matrices_make(struct cost_sheet *sheet, const struct cost_config *config,
                                       struct kvsim_error *err)
{
    enum spec_dtype dtype;
    if (!spec_dtype_parse(config->dtype, &dtype) || spec_dtype_bytes(dtype) < 2)
        return base_fail(err, KVSIM_ERR_SCENARIO, "'%s' is not a dtype to compute in",
                         config->dtype);
    enum spec_dtype rate = cost_rates_dtype(&sheet->rates, dtype);
    sheet->plain = (struct cost_matrix){.weight_bytes = spec_dtype_bytes(dtype), .rate = rate};
    sheet->attention = sheet->dense = sheet->expert = sheet->head = sheet->plain;

    struct spec_weight_format format;
    enum spec_dtype named;
    if (!spec_weight_format_find(config->quantization, &format)) {
        bool none =
            base_key_equal(config->quantization, "none") ||
            (spec_dtype_parse(config->quantization, &named) && spec_dtype_bytes(named) >= 2);
        return none ? KVSIM_OK
                    : base_fail(err, KVSIM_ERR_SCENARIO, "unknown format of weights '%s'",
                                config->quantization);
    }
    struct cost_matrix quantized = {.weight_bytes = format.bytes_per_element, .rate = rate};
    if (!format.is_weight_only && sheet->rates.flop_per_s[format.compute] > 0) {
        quantized.rate = format.compute;
        quantized.quantizes = true;
    }
    sheet->expert = quantized;
    if (!format.is_experts_only)
        sheet->dense = quantized;
    if (!format.leaves_attention)
        sheet->attention = quantized;
    if (format.is_whole_model)
        sheet->head = quantized;
    return KVSIM_OK;
}

static void layers_make(struct cost_sheet *sheet, const struct cost_config *config,
                        struct base_arena *arena)
{
    const struct spec_model *model = config->model;
    sheet->tp = config->tensor_parallel ? config->tensor_parallel : 1;
    sheet->pp = config->pipeline_parallel ? config->pipeline_parallel : 1;
    sheet->dp = config->data_parallel ? config->data_parallel : 1;
    sheet->ep = config->expert_parallel && model->expert_count > 0 ? sheet->tp * sheet->dp : 1;
    if (sheet->ep > model->expert_count && sheet->ep > 1)
        sheet->ep = model->expert_count;
    sheet->q_heads = cost_per_gpu(model->q_head_count, sheet->tp);
    sheet->kv_heads = model->is_mla ? 1 : fmax(1, cost_per_gpu(model->kv_head_count, sheet->tp));
    sheet->attention_layers = model->attention_layer_count;
    sheet->linear_layers = model->linear_layer_count;
    sheet->moe_layers = model->moe_layer_count;
    if (sheet->moe_layers > 0)
        cost_moe_init(&sheet->moe, model->expert_count, model->experts_per_token, sheet->ep,
                      config->options->expert_skew, arena);
    sheet->dense_layers = spec_model_dense_layer_count(model);
}

enum kvsim_status cost_sheet_init(struct cost *cost, struct kvsim_error *err)
{
    const struct cost_config *config = &cost->config;
    struct cost_sheet *sheet = cost->state;
    if (!config->model || !config->hardware || !config->layout)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level %s needs a model and hardware",
                         cost_level_name(cost->level));
    sheet->model = config->model;
    if (sheet->model->only_groups || sheet->model->hidden == 0 || sheet->model->layer_count == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "cost level %s needs the geometry of model %s; "
                         "only its KV sizes are stated",
                         cost_level_name(cost->level), sheet->model->name);
    if (cost->level == COST_CALIBRATED && !config->hardware->has_calibration)
        return base_fail(err, KVSIM_ERR_SCENARIO, "%s has no calibration", config->hardware->name);
    enum kvsim_status status =
        cost_rates_init(&sheet->rates, config->hardware, config->options->kernels, err);
    if (status == KVSIM_OK && cost->level == COST_CALIBRATED)
        cost_rates_calibrate(&sheet->rates, &config->hardware->calibration);
    if (status == KVSIM_OK)
        status = matrices_make(sheet, config, err);
    if (status != KVSIM_OK)
        return status;
    layers_make(sheet, config, cost->arena);
    groups_make(cost);
    const struct cost_kv_dtype_options *options = kv_options_of(config);
    if (options)
        sheet->kv_write_s_per_token = options->write_ns_per_token * 1e-9 * sheet->attention_layers;
    // Absorbed rows and states of sequences make a body depend on more than its tokens.
    if (!sheet->model->is_mla && sheet->linear_layers == 0)
        sheet->bodies = base_arena_array(cost->arena, COST_BODIES, sizeof *sheet->bodies);
    return KVSIM_OK;
}
