/*
 * kernel.c - one kernel alone on the GPU, for `kvsim step --operator`: the operators of the cost model, one layer each.
 */
#include "cost/explain.h"
#include "cost/rates.h"

static enum kvsim_status positive(int64_t value, const char *name, struct kvsim_error *err)
{
    if (value > 0)
        return KVSIM_OK;
    return base_fail(err, KVSIM_ERR_SCENARIO, "%s must be at least 1", name);
}

static enum kvsim_status gemm_s(const struct cost_rates *rates, const struct cost_kernel *kernel,
                                double *out_s, struct kvsim_error *err)
{
    enum kvsim_status status = positive(kernel->m, "m", err);
    if (status == KVSIM_OK)
        status = positive(kernel->n, "n", err);
    if (status == KVSIM_OK)
        status = positive(kernel->k, "k", err);
    if (status != KVSIM_OK)
        return status;
    double bytes = spec_dtype_bytes(kernel->dtype);
    struct cost_matrix matrix = {.weight_bytes = bytes,
                                 .rate = cost_rates_dtype(rates, kernel->dtype)};
    matrix.quantizes = bytes < 2 && matrix.rate == kernel->dtype;
    *out_s = cost_gemm(rates, &matrix, (double)kernel->m, (double)kernel->n, (double)kernel->k).s;
    return KVSIM_OK;
}

/* One layer's attention: what differs between heads and latents. */
struct shape {
    double flops_per_pair, flops_per_token, bytes_per_token, kv_heads, latent_heads;
};

static double attention_shape_s(const struct cost_rates *rates, const struct cost_kernel *kernel,
                                const struct shape *shape)
{
    double batch = (double)kernel->batch, length = (double)kernel->seq_len;
    if (kernel->is_prefill) {
        struct cost_attention_prefill prefill = {
            .pairs = batch * length * (length + 1) / 2,
            .tokens = batch * length,
            .sequences = batch,
            .q_heads = shape->latent_heads > 0 ? 0 : (double)kernel->q_heads,
            .flops_per_pair = shape->flops_per_pair,
            .kv_bytes = batch * length * shape->bytes_per_token,
            .kv_dtype = kernel->dtype,
        };
        return cost_attention_prefill(rates, &prefill).s;
    }
    struct cost_attention_decode decode = {
        .sequences = batch,
        .kv_heads = shape->kv_heads,
        .bytes_per_token = shape->bytes_per_token,
        .flops_per_token = shape->flops_per_token,
        .latent_heads = shape->latent_heads,
        .kv_dtype = kernel->dtype,
    };
    struct cost_decode_lines lines;
    cost_attention_decode_lines(rates, &decode, &lines);
    return cost_attention_decode_at(&lines, &decode, batch * length).s;
}

static enum kvsim_status sequences_check(const struct cost_kernel *kernel, struct kvsim_error *err)
{
    enum kvsim_status status = positive(kernel->batch, "batch", err);
    if (status == KVSIM_OK)
        status = positive(kernel->seq_len, "seq_len", err);
    return status == KVSIM_OK ? positive(kernel->q_heads, "q_heads", err) : status;
}

static enum kvsim_status attention_s(const struct cost_rates *rates,
                                     const struct cost_kernel *kernel, double *out_s,
                                     struct kvsim_error *err)
{
    enum kvsim_status status = sequences_check(kernel, err);
    if (status == KVSIM_OK)
        status = positive(kernel->kv_heads, "kv_heads", err);
    if (status == KVSIM_OK)
        status = positive(kernel->head_dim, "head_dim", err);
    if (status != KVSIM_OK)
        return status;
    double pair = 4.0 * (double)kernel->q_heads * (double)kernel->head_dim;
    struct shape shape = {
        .flops_per_pair = pair,
        .flops_per_token = pair,
        .bytes_per_token = 2.0 * (double)kernel->kv_heads * (double)kernel->head_dim *
                           spec_dtype_bytes(kernel->dtype),
        .kv_heads = (double)kernel->kv_heads,
    };
    *out_s = attention_shape_s(rates, kernel, &shape);
    return KVSIM_OK;
}

/* The kernel's columns name no head widths; d_nope = d_v = r / 4, as in DeepSeek-V2, -V3 and their descendants. */
static enum kvsim_status mla_s(const struct cost_rates *rates, const struct cost_kernel *kernel,
                               double *out_s, struct kvsim_error *err)
{
    enum kvsim_status status = sequences_check(kernel, err);
    if (status == KVSIM_OK)
        status = positive(kernel->kv_lora_rank, "kv_lora_rank", err);
    if (status == KVSIM_OK)
        status = positive(kernel->qk_rope_head_dim, "qk_rope_head_dim", err);
    if (status != KVSIM_OK)
        return status;
    double heads = (double)kernel->q_heads, latent = (double)kernel->kv_lora_rank;
    double rope = (double)kernel->qk_rope_head_dim;
    struct shape shape = {
        .flops_per_pair = 2 * heads * (latent / 2 + rope),
        .flops_per_token = 2 * heads * (2 * latent + rope),
        .bytes_per_token = (latent + rope) * spec_dtype_bytes(kernel->dtype),
        .kv_heads = 1,
        .latent_heads = heads,
    };
    *out_s = attention_shape_s(rates, kernel, &shape);
    return KVSIM_OK;
}

static enum kvsim_status all_reduce_s(const struct cost_rates *rates,
                                      const struct cost_kernel *kernel, double *out_s,
                                      struct kvsim_error *err)
{
    if (!(kernel->message_bytes > 0))
        return base_fail(err, KVSIM_ERR_SCENARIO, "bytes must be positive");
    if (kernel->gpu_count < 2)
        return base_fail(err, KVSIM_ERR_SCENARIO, "gpus must be at least 2");
    *out_s = cost_all_reduce(rates, kernel->gpu_count, kernel->message_bytes).s;
    return KVSIM_OK;
}

enum kvsim_status cost_kernel_at(const struct cost_rates *rates, const struct cost_kernel *kernel,
                                 double *out_s, struct kvsim_error *err)
{
    switch (kernel->kind) {
    case COST_KERNEL_GEMM:
        return gemm_s(rates, kernel, out_s, err);
    case COST_KERNEL_ATTENTION:
        return attention_s(rates, kernel, out_s, err);
    case COST_KERNEL_MLA:
        return mla_s(rates, kernel, out_s, err);
    case COST_KERNEL_ALL_REDUCE:
        return all_reduce_s(rates, kernel, out_s, err);
    }
    return base_fail(err, KVSIM_ERR_DEFECT, "kernel of unknown kind %d", (int)kernel->kind);
}

enum kvsim_status cost_kernel_seconds(const struct spec_hardware *hardware,
                                      const struct cost_options *options,
                                      const struct cost_kernel *kernel, double *out_s,
                                      struct kvsim_error *err)
{
    enum cost_level level = cost_level_resolve(options, hardware);
    if (level != COST_DATASHEET && level != COST_CALIBRATED)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level %s knows no kernels",
                         cost_level_name(level));
    struct cost_rates rates;
    if (level == COST_CALIBRATED && !hardware->has_calibration)
        return base_fail(err, KVSIM_ERR_SCENARIO, "%s has no calibration", hardware->name);
    enum kvsim_status status = cost_rates_init(&rates, hardware, options->kernels, err);
    if (status != KVSIM_OK)
        return status;
    if (level == COST_CALIBRATED)
        cost_rates_calibrate(&rates, &hardware->calibration);
    return cost_kernel_at(&rates, kernel, out_s, err);
}
