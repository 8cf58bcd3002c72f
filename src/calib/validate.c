#include "calib/validate.h"

#include "calib/errors.h"
#include "calib/kv_logs.h"
#include "calib/kv_shares.h"
#include "calib/throughput.h"
#include "calib/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct calib_group calib_groups[] = {
    {.name = "kv-logs-printed",
     .summary =
         "blocks, tokens, concurrency and cells from the KV memory that a start-up log prints",
     .is_exact = true,
     .bounds = {.disagreeing = 0.05},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_printed},
    {.name = "kv-logs-verdicts",
     .summary = "started or refused, from the printed memory and max_model_len",
     .is_exact = true,
     .bounds = {.disagreeing = 0},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_verdicts},
    {.name = "kv-logs-weights",
     .summary = "weights of one GPU, from geometry and format",
     .bounds = {.median = 0.01, .p90 = 0.10},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_weights},
    {.name = "kv-logs-modelled",
     .summary = "memory left for KV, from card, model and flags alone: text models, flags stated",
     .bounds = {.median = 0.011, .p90 = 0.12},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_modelled},
    {.name = "kv-logs-predicted",
     .summary = "the same for every row, those with a known cause that is not modelled included",
     .bounds = {.median = 0.02, .p90 = 0.45},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_predicted},
    {.name = "gemm",
     .summary = "matrix products alone on the GPU, vLLM's kernels",
     .level = "datasheet",
     .bounds = {.median = 0.09, .mean = 0.14},
     .file = "times/gemm.csv",
     .run = calib_times_kernels},
    {.name = "attention",
     .summary = "attention of one layer, prefill and decode, bf16 and fp8 KV",
     .level = "datasheet",
     .bounds = {.median = 0.12, .mean = 0.17},
     .file = "times/attention.csv",
     .run = calib_times_kernels},
    {.name = "attention-long",
     .summary = "decode attention at 64 MB of KV and more, another library on a GPU without rows "
                "of its own",
     .level = "datasheet",
     .bounds = {.median = 0.20},
     .file = "times/attention-h800.csv",
     .run = calib_times_kernels},
    {.name = "mla",
     .summary = "latent attention of one layer",
     .level = "datasheet",
     .bounds = {.median = 0.15, .mean = 0.20},
     .file = "times/mla.csv",
     .run = calib_times_kernels},
    {.name = "all-reduce",
     .summary = "all-reduce inside a captured graph",
     .level = "datasheet",
     .bounds = {.median = 0.05, .mean = 0.12},
     .file = "times/all-reduce.csv",
     .run = calib_times_kernels},
    {.name = "layers",
     .summary = "layers composed of measured kernels and all-reduces",
     .level = "datasheet",
     .bounds = {.mean = 0.10, .bias = 0.05},
     .file = "times/layers.csv",
     .run = calib_times_layers},
    {.name = "layers-left-out",
     .summary =
         "the same from coefficients pooled over all other GPUs, no figure of the predicted one",
     .level = "datasheet",
     .bounds = {.mean = 0.15},
     .file = "times/layers.csv",
     .run = calib_times_layers_left_out},
    {.name = "layers-calibrated",
     .summary = "the same, fitted to half of each GPU's rows, scored on the other half",
     .level = "calibrated",
     .bounds = {.mean = 0.07, .bias = 0.03},
     .file = "times/layers.csv",
     .run = calib_times_layers_calibrated},
    {.name = "layers-no-attention",
     .summary = "four products and elementwise kernels of a layer, PyTorch of 2024",
     .level = "datasheet",
     .bounds = {.median = 0.15},
     .file = "times/layers-no-attention.csv",
     .run = calib_times_layers},
    {.name = "steps",
     .summary = "whole steps of vLLM 0.19, eager: pure prefill, pure decode and mixed",
     .level = "datasheet",
     .bounds = {.mean = 0.20},
     .file = "times/steps.csv",
     .run = calib_times_steps},
    {.name = "steps-calibrated",
     .summary = "the same, fitted to a fifth of the rows, scored on the others",
     .level = "calibrated",
     .bounds = {.mean = 0.08},
     .file = "times/steps.csv",
     .run = calib_times_steps_calibrated},
    {.name = "server-iterations",
     .summary =
         "prompt and token times of a host-bound server of 2023, fitted to a fifth of the rows",
     .level = "calibrated",
     .bounds = {.tau = 0.85},
     .file = "times/server-iterations.csv",
     .run = calib_times_steps_calibrated},
    {.name = "kv-shares",
     .summary =
         "share of KV memory that holds tokens, by allocation policy: OPT-13B on an A100-40GB",
     .bounds = {.mean = 0.10, .worst = 0.25},
     .file = "kv-shares/shares.csv",
     .run = calib_kv_shares},
    {.name = "throughput",
     .summary = "offline output tokens/s of TensorRT-LLM, all requests at once, under vLLM 0.19's "
                "scheduler",
     .level = "datasheet",
     .bounds = {.median = 0.30, .tau = 0.80},
     .file = "throughput/trtllm.csv",
     .run = calib_throughput},
    {.name = "fp8-kv-slope",
     .summary = "time per token of context of a lone request: fp8 KV over bf16 KV, vLLM",
     .level = "datasheet",
     .bounds = {.mean = 0.15},
     .file = "throughput/fp8-kv.csv",
     .run = calib_fp8_slope},
    {.name = NULL},
};

static void fill_errors(struct calib_group_result *result)
{
    const struct calib_cases *cases = &result->cases;
    if (cases->count == 0)
        return;
    size_t bytes = base_mul_size(cases->count, sizeof(double));
    double *errors = base_alloc(bytes), *predicted = base_alloc(bytes),
           *measured = base_alloc(bytes);
    struct calib_errors found;
    for (size_t i = 0; i < cases->count; i++) {
        errors[i] = cases->at[i].error;
        predicted[i] = cases->at[i].predicted;
        measured[i] = cases->at[i].measured;
        result->agreeing += cases->at[i].agrees ? 1 : 0;
    }
    calib_errors_of(errors, cases->count, &found);
    result->median = found.median;
    result->mean = found.mean;
    result->p90 = found.p90;
    result->bias = found.bias;
    result->worst = found.worst;
    result->worst_id = cases->at[found.worst_index].id;
    result->tau = calib_kendall_tau(predicted, measured, cases->count);
    base_free(errors);
    base_free(predicted);
    base_free(measured);
}

static bool bound_holds(double figure, double bound)
{
    return bound <= 0 || figure <= bound;
}

static bool is_within(const struct calib_group_result *result)
{
    const struct calib_bounds *bounds = &result->group->bounds;
    size_t count = result->cases.count;
    if (count == 0)
        return false;
    if (result->group->is_exact)
        return (double)(count - result->agreeing) <= bounds->disagreeing * (double)count;
    return bound_holds(result->median, bounds->median) && bound_holds(result->p90, bounds->p90) &&
           bound_holds(fabs(result->worst), bounds->worst) &&
           bound_holds(result->mean, bounds->mean) &&
           bound_holds(fabs(result->bias), bounds->bias) &&
           (bounds->tau <= 0 || result->tau >= bounds->tau);
}

enum kvsim_status calib_group_run(const struct calib_group *group, const char *folder,
                                  struct base_arena *arena, struct calib_group_result *out,
                                  struct kvsim_error *err)
{
    *out = (struct calib_group_result){.group = group};
    const char *path = base_arena_printf(arena, "%s/%s", folder, group->file);
    enum kvsim_status status = group->run(path, arena, &out->cases, err);
    if (status != KVSIM_OK)
        return status;
    fill_errors(out);
    out->within = is_within(out);
    return KVSIM_OK;
}

void calib_group_result_free(struct calib_group_result *result)
{
    base_vec_free(&result->cases);
}
