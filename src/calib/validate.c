#include "calib/validate.h"

#include "calib/claims.h"
#include "calib/errors.h"
#include "calib/exchanges.h"
#include "calib/kv_logs.h"
#include "calib/kv_shares.h"
#include "calib/loads.h"
#include "calib/moe_blocks.h"
#include "calib/pipelines.h"
#include "calib/throughput.h"
#include "calib/times.h"

#include <math.h>
#include <string.h>

#define HELD_OUT_BASIS                                                                            \
    "nothing; but forms and bytes per logit were mended with these starts in view, so that only " \
    "first_gib is out of sample"

#define HELD_OUT_2_BASIS                                                                           \
    "nothing of these starts when first_gib was predicted; what is mended later may have them in " \
    "view"

const struct calib_group calib_groups[] = {
    {.name = "kv-logs-printed",
     .basis = "formulas of the engines; nothing is fitted",
     .summary =
         "blocks, tokens, concurrency and cells from the KV memory that a start-up log prints",
     .is_exact = true,
     .bounds = {.disagreeing = 0.05},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_printed},
    {.name = "kv-logs-verdicts",
     .basis = "formulas of the engines; nothing is fitted",
     .summary = "started or refused, from the printed memory and max_model_len",
     .is_exact = true,
     .bounds = {.disagreeing = 0},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_verdicts},
    {.name = "kv-logs-weights",
     .basis = "geometry and formats; nothing is fitted",
     .summary = "weights of one GPU, from geometry and format",
     .bounds = {.median = 0.003, .p90 = 0.03},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_weights},
    {.name = "kv-logs-modelled",
     .basis = "constants of activation, non-torch and graph memory come from such logs, these "
              "among them",
     .summary =
         "memory left for KV, from card, model and flags alone: releases, flags not contradicted",
     .bounds = {.median = 0.01, .p90 = 0.04},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_modelled},
    {.name = "kv-logs-left-out",
     .basis = "the constants are fitted anew to the families of models but the row's own",
     .summary = "those rows with their family left out of the fit of run-time memory",
     .bounds = {.median = 0.02},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_left_out},
    {.name = "kv-logs-predicted",
     .basis = "constants of activation, non-torch and graph memory come from such logs, these "
              "among them",
     .summary = "the same for every row, the release's default where a log does not state a flag",
     .bounds = {.median = 0.011, .p90 = 0.10},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_predicted},
    {.name = "held-out-printed",
     .basis = HELD_OUT_BASIS,
     .summary = "starts that were not in view: blocks, tokens, concurrency and cells from the "
                "memory printed",
     .is_exact = true,
     .bounds = {.disagreeing = 0.04},
     .file = "kv-logs/held_out_printed.csv",
     .run = calib_kv_logs_printed},
    {.name = "held-out-verdicts",
     .basis = HELD_OUT_BASIS,
     .summary = "starts that were not in view: started or refused, from the printed memory",
     .is_exact = true,
     .bounds = {.disagreeing = 0.02},
     .file = "kv-logs/held_out_printed.csv",
     .run = calib_kv_logs_verdicts},
    {.name = "held-out-weights",
     .basis = HELD_OUT_BASIS,
     .summary = "starts that were not in view: weights of one GPU",
     .bounds = {.median = 0.003, .p90 = 0.02},
     .file = "kv-logs/held_out_predicted.csv",
     .run = calib_kv_logs_weights},
    {.name = "held-out-predicted",
     .basis = HELD_OUT_BASIS,
     .summary =
         "starts that were not in view: memory left for KV, from card, model and flags alone",
     .bounds = {.median = 0.005, .p90 = 0.10},
     .file = "kv-logs/held_out_predicted.csv",
     .run = calib_kv_logs_predicted},
    {.name = "held-out-starts",
     .basis = HELD_OUT_BASIS,
     .summary =
         "starts that were not in view: started or refused, from card, model and flags alone",
     .is_exact = true,
     .bounds = {.disagreeing = 0.07},
     .file = "kv-logs/held_out_predicted.csv",
     .run = calib_kv_logs_starts},
    {.name = "held-out-2-printed",
     .basis = HELD_OUT_2_BASIS,
     .summary = "a second set of starts that were not in view: blocks, tokens, concurrency and "
                "cells from the memory printed",
     .is_exact = true,
     .bounds = {.disagreeing = 0.03},
     .file = "kv-logs/held_out2_printed.csv",
     .run = calib_kv_logs_printed},
    {.name = "held-out-2-verdicts",
     .basis = HELD_OUT_2_BASIS,
     .summary = "the second set: started or refused, from the printed memory",
     .is_exact = true,
     .bounds = {.disagreeing = 0},
     .file = "kv-logs/held_out2_printed.csv",
     .run = calib_kv_logs_verdicts},
    {.name = "held-out-2-weights",
     .basis = HELD_OUT_2_BASIS,
     .summary = "the second set: weights of one GPU",
     .bounds = {.median = 0.003, .p90 = 0.04},
     .file = "kv-logs/held_out2_predicted.csv",
     .run = calib_kv_logs_weights},
    {.name = "held-out-2-predicted",
     .basis = HELD_OUT_2_BASIS,
     .summary = "the second set: memory left for KV, from card, model and flags alone",
     .bounds = {.median = 0.025, .p90 = 0.20},
     .file = "kv-logs/held_out2_predicted.csv",
     .run = calib_kv_logs_predicted},
    {.name = "held-out-2-starts",
     .basis = HELD_OUT_2_BASIS,
     .summary = "the second set: started or refused, from card, model and flags alone",
     .is_exact = true,
     .bounds = {.disagreeing = 0.07},
     .file = "kv-logs/held_out2_predicted.csv",
     .run = calib_kv_logs_starts},
    {.name = "claims",
     .basis = "formulas; nothing is fitted",
     .summary = "sizes that papers and posts state, to the digits they print; one is known to be "
                "misprinted",
     .is_exact = true,
     .bounds = {.disagreeing = 0.12},
     .file = "claims/sizes.csv",
     .run = calib_claims},
    {.name = "gemm",
     .basis = "each device's shares are medians over the tables that these rows are from",
     .summary = "matrix products alone on the GPU, vLLM's kernels",
     .level = "datasheet",
     .bounds = {.median = 0.09, .mean = 0.14},
     .file = "times/gemm.csv",
     .run = calib_times_kernels},
    {.name = "attention",
     .basis = "each device's shares are medians over the tables that these rows are from",
     .summary = "attention of one layer, prefill and decode, bf16 and fp8 KV",
     .level = "datasheet",
     .bounds = {.median = 0.12, .mean = 0.17},
     .file = "times/attention.csv",
     .run = calib_times_kernels},
    {.name = "attention-long",
     .basis = "nothing of these cases",
     .summary = "decode attention at 64 MB of KV and more, another library on a GPU without rows "
                "of its own",
     .level = "datasheet",
     .bounds = {.median = 0.20},
     .file = "times/attention-h800.csv",
     .run = calib_times_kernels},
    {.name = "mla",
     .basis = "two constants of the kernels (FlashMLA, TensorRT-LLM) were read off these tables",
     .summary = "latent attention of one layer",
     .level = "datasheet",
     .bounds = {.median = 0.15, .mean = 0.20},
     .file = "times/mla.csv",
     .run = calib_times_kernels},
    {.name = "moe-blocks",
     .basis = "nothing of these cases",
     .summary = "one block of experts on one GPU, by tokens and distinct experts",
     .level = "datasheet",
     .bounds = {.median = 0.12, .tau = 0.9},
     .file = "times/moe-blocks.csv",
     .run = calib_moe_blocks},
    {.name = "exchanges",
     .basis = "an exchange's fixed time was read off the decode case",
     .summary = "tokens to their experts' GPUs and back, a layer of DeepSeek-V3 on eight GPUs",
     .level = "datasheet",
     .bounds = {.median = 0.15, .worst = 0.35},
     .file = "times/exchanges.csv",
     .run = calib_exchanges},
    {.name = "all-reduce",
     .basis = "each device's curve was read off these tables",
     .summary = "all-reduce inside a captured graph",
     .level = "datasheet",
     .bounds = {.median = 0.05, .mean = 0.12},
     .file = "times/all-reduce.csv",
     .run = calib_times_kernels},
    {.name = "layers",
     .basis = "each device's shares are medians over the kernels that these layers are composed of",
     .summary = "layers composed of measured kernels and all-reduces",
     .level = "datasheet",
     .bounds = {.mean = 0.10, .bias = 0.05},
     .file = "times/layers.csv",
     .run = calib_times_layers},
    {.name = "layers-left-out",
     .basis = "the rows of all other devices; of the predicted one nothing",
     .summary =
         "the same from coefficients pooled over all other GPUs, no figure of the predicted one",
     .level = "datasheet",
     .bounds = {.mean = 0.15, .device_mean = 0.25},
     .file = "times/layers.csv",
     .run = calib_times_layers_left_out},
    {.name = "layers-calibrated",
     .basis = "every other row of the device",
     .summary = "the same, fitted to half of each GPU's rows, scored on the other half",
     .level = "calibrated",
     .bounds = {.mean = 0.07, .bias = 0.03, .device_mean = 0.10, .phase_bias = 0.03},
     .file = "times/layers.csv",
     .run = calib_times_layers_calibrated},
    {.name = "layers-no-attention",
     .basis = "two shares and a floor were read off these devices' tables",
     .summary = "four products and elementwise kernels of a layer: PyTorch 2.0-2.4, as the rows "
                "state (cost.kernels: 2024)",
     .level = "datasheet",
     .bounds = {.median = 0.08, .bias = 0.08},
     .file = "times/layers-no-attention.csv",
     .run = calib_times_layers},
    {.name = "layers-no-attention-left-out",
     .basis = "the rows of the other two devices; of the predicted one nothing",
     .summary = "the same, shares of products and elementwise kernels pooled over the other GPUs",
     .level = "datasheet",
     .bounds = {.median = 0.10, .device_mean = 0.12},
     .file = "times/layers-no-attention.csv",
     .run = calib_times_products_left_out},
    {.name = "layers-no-attention-unstated",
     .basis = "nothing of these cases",
     .summary = "the same as if today's kernels had run: what leaving out that condition costs",
     .level = "datasheet",
     .bounds = {.median = 0.15},
     .file = "times/layers-no-attention.csv",
     .run = calib_times_layers_unconditional},
    {.name = "steps",
     .basis =
         "constants of mixed steps were seen on this device; its shares are not from these rows",
     .summary = "whole steps of vLLM 0.19, eager: pure prefill, pure decode and mixed",
     .level = "datasheet",
     .bounds = {.mean = 0.20},
     .file = "times/steps.csv",
     .run = calib_times_steps},
    {.name = "steps-calibrated",
     .basis = "every fifth row",
     .summary = "the same, fitted to a fifth of the rows, scored on the others",
     .level = "calibrated",
     .bounds = {.mean = 0.08},
     .file = "times/steps.csv",
     .run = calib_times_steps_calibrated},
    {.name = "server-iterations",
     .basis = "every fifth row",
     .summary =
         "prompt and token times of a host-bound server of 2023, fitted to a fifth of the rows",
     .level = "calibrated",
     .bounds = {.tau = 0.9},
     .file = "times/server-iterations.csv",
     .run = calib_times_steps_calibrated},
    {.name = "kv-shares",
     .basis = "nothing of these cases",
     .summary =
         "share of KV memory that holds tokens, by allocation policy: OPT-13B on an A100-40GB",
     .bounds = {.mean = 0.10, .worst = 0.25},
     .file = "kv-shares/shares.csv",
     .run = calib_kv_shares},
    {.name = "throughput",
     .basis = "nothing of these cases",
     .summary = "offline output tokens/s of TensorRT-LLM, all requests at once, under vLLM 0.19's "
                "scheduler",
     .level = "datasheet",
     .bounds = {.median = 0.30, .tau = 0.80},
     .file = "throughput/trtllm.csv",
     .run = calib_throughput},
    {.name = "kv-starved",
     .basis = "nothing of these cases",
     .summary =
         "the same for Llama-3.1-70B in fp8 on one H100, whose KV cache holds a few requests, "
         "and on two",
     .level = "datasheet",
     .bounds = {.median = 0.30, .tau = 0.85},
     .file = "throughput/kv-starved.csv",
     .run = calib_throughput},
    {.name = "pipelines",
     .basis = "nothing of these cases",
     .summary = "output tokens/s of pipelines of 2, 4 and 8 GPUs over those of one, offline, "
                "TensorRT-LLM",
     .level = "datasheet",
     .bounds = {.median = 0.30, .tau = 0.6},
     .file = "throughput/pipelines.csv",
     .run = calib_pipelines},
    {.name = "mlperf-offline",
     .basis = "nothing of these cases; prompt lengths are assumed",
     .summary = "output tokens/s of MLPerf Inference submissions, offline, medians over submitters",
     .level = "datasheet",
     .bounds = {.median = 0.25, .tau = 0.6},
     .file = "throughput/mlperf.csv",
     .run = calib_loads_throughput},
    {.name = "online-itl",
     .basis = "nothing of these cases",
     .summary = "mean time between tokens of TensorRT-LLM by offered rate",
     .level = "datasheet",
     .bounds = {.median = 0.25, .tau = 0.8},
     .file = "throughput/online.csv",
     .run = calib_loads_itl},
    {.name = "online-ttft",
     .basis = "nothing of these cases",
     .summary = "mean time to the first token of the same runs",
     .level = "datasheet",
     .bounds = {.median = 0.40, .tau = 0.8},
     .file = "throughput/online.csv",
     .run = calib_loads_ttft},
    {.name = "online-throughput",
     .basis = "nothing of these cases",
     .summary = "output tokens/s of the same runs",
     .level = "datasheet",
     .bounds = {.median = 0.10, .tau = 0.9},
     .file = "throughput/online.csv",
     .run = calib_loads_throughput},
    {.name = "vllm-itl",
     .basis = "nothing of these cases",
     .summary = "mean time between tokens of vLLM servers on H100 at constant rates",
     .level = "datasheet",
     .bounds = {.median = 0.25, .tau = 0.8},
     .file = "throughput/vllm-served.csv",
     .run = calib_loads_itl},
    {.name = "vllm-ttft",
     .basis = "nothing of these cases",
     .summary = "mean time to the first token of the same servers",
     .level = "datasheet",
     .bounds = {.median = 0.40, .tau = 0.6},
     .file = "throughput/vllm-served.csv",
     .run = calib_loads_ttft},
    {.name = "fp8-kv-slope",
     .basis = "nothing of these cases",
     .summary = "time per token of context of a lone request: fp8 KV over bf16 KV, vLLM",
     .level = "datasheet",
     .bounds = {.mean = 0.15},
     .file = "throughput/fp8-kv.csv",
     .run = calib_fp8_slope},
    {.name = NULL},
};

/* ---- figures of a part ---- */

static bool is_in(const struct record_validation_part *part,
                  const struct record_validation_case *item)
{
    switch (part->kind) {
    case RECORD_VALIDATION_FITTED:
        return item->is_fitted;
    case RECORD_VALIDATION_DEVICE:
        return !item->is_fitted && item->device != NULL && strcmp(item->device, part->name) == 0;
    case RECORD_VALIDATION_PHASE:
        return !item->is_fitted && item->phase != NULL && strcmp(item->phase, part->name) == 0;
    default:
        return !item->is_fitted;
    }
}

static void part_fill(struct record_validation_part *part,
                      const struct record_validation_cases *cases)
{
    size_t bytes = base_mul_size(cases->count + 1, sizeof(double));
    double *errors = base_alloc(bytes), *predicted = base_alloc(bytes),
           *measured = base_alloc(bytes);
    size_t *places = base_alloc(base_mul_size(cases->count + 1, sizeof *places));
    struct calib_errors found;
    for (size_t i = 0; i < cases->count; i++) {
        const struct record_validation_case *item = &cases->at[i];
        if (!is_in(part, item))
            continue;
        errors[part->count] = item->error;
        predicted[part->count] = item->predicted;
        measured[part->count] = item->measured;
        places[part->count++] = i;
        part->agreeing += item->agrees ? 1 : 0;
    }
    calib_errors_of(errors, part->count, &found);
    part->median = found.median;
    part->mean = found.mean;
    part->p90 = found.p90;
    part->bias = found.bias;
    part->worst = found.worst;
    part->worst_case = part->count > 0 ? cases->at[places[found.worst_index]].id : "";
    part->tau = calib_kendall_tau(predicted, measured, part->count);
    base_free(errors);
    base_free(predicted);
    base_free(measured);
    base_free(places);
}

static void part_add(struct record_validation_group *group, enum record_validation_kind kind,
                     const char *name)
{
    struct record_validation_part part = {.kind = kind, .name = name};
    for (size_t i = 0; i < group->parts.count; i++)
        if (name == NULL ||
            (group->parts.at[i].kind == kind && strcmp(group->parts.at[i].name, name) == 0))
            return;
    part_fill(&part, &group->cases);
    if (part.count > 0 || kind == RECORD_VALIDATION_ALL)
        base_vec_push(&group->parts, part);
}

/* The whole, then devices and phases in order of their first cases, then what was fitted. */
static void parts_make(struct record_validation_group *group)
{
    part_add(group, RECORD_VALIDATION_ALL, "");
    for (size_t i = 0; i < group->cases.count; i++)
        part_add(group, RECORD_VALIDATION_DEVICE, group->cases.at[i].device);
    for (size_t i = 0; i < group->cases.count; i++)
        part_add(group, RECORD_VALIDATION_PHASE, group->cases.at[i].phase);
    part_add(group, RECORD_VALIDATION_FITTED, "");
}

/* ---- bounds ---- */

static void bound_add(struct record_validation_group *group, const char *figure, const char *part,
                      double bound, double value)
{
    struct record_validation_bound row = {figure, part, bound, value, !(value <= bound)};
    if (bound > 0)
        base_vec_push(&group->bounds, row);
}

static double absolute_bias(const struct record_validation_part *part)
{
    return fabs(part->bias);
}

static double mean(const struct record_validation_part *part)
{
    return part->mean;
}

static void bound_add_parts(struct record_validation_group *group, const char *figure,
                            enum record_validation_kind kind, double bound,
                            double (*value_of)(const struct record_validation_part *part))
{
    const struct record_validation_part *worst = NULL;
    for (size_t i = 0; i < group->parts.count; i++) {
        const struct record_validation_part *part = &group->parts.at[i];
        if (part->kind == kind && (worst == NULL || value_of(part) > value_of(worst)))
            worst = part;
    }
    if (worst != NULL)
        bound_add(group, figure, worst->name, bound, value_of(worst));
}

static void bounds_make(struct record_validation_group *group, const struct calib_bounds *bounds)
{
    const struct record_validation_part *all = &group->parts.at[0];
    if (group->is_exact) {
        double count = (double)all->count;
        double value = count > 0 ? (count - (double)all->agreeing) / count : 1;
        struct record_validation_bound row = {"disagreeing", "", bounds->disagreeing, value,
                                              !(value <= bounds->disagreeing)};
        base_vec_push(&group->bounds, row);
        return;
    }
    bound_add(group, "median_error", "", bounds->median, all->median);
    bound_add(group, "mean_error", "", bounds->mean, all->mean);
    bound_add(group, "p90_error", "", bounds->p90, all->p90);
    bound_add(group, "bias", "", bounds->bias, fabs(all->bias));
    bound_add(group, "worst_error", "", bounds->worst, fabs(all->worst));
    bound_add_parts(group, "mean_error", RECORD_VALIDATION_DEVICE, bounds->device_mean, mean);
    bound_add_parts(group, "bias", RECORD_VALIDATION_PHASE, bounds->phase_bias, absolute_bias);
    if (bounds->tau > 0) {
        // A constant series has no order: not a number, and beyond the bound.
        struct record_validation_bound row = {"kendall_tau", "", bounds->tau, all->tau,
                                              !(all->tau >= bounds->tau)};
        base_vec_push(&group->bounds, row);
    }
}

static bool is_within(const struct record_validation_group *group)
{
    for (size_t i = 0; i < group->bounds.count; i++)
        if (group->bounds.at[i].is_exceeded)
            return false;
    return group->parts.at[0].count > 0;
}

enum kvsim_status calib_group_run(const struct calib_group *group, const char *folder,
                                  struct base_arena *arena, struct record_validation_group *out,
                                  struct kvsim_error *err)
{
    *out = (struct record_validation_group){.name = group->name,
                                            .summary = group->summary,
                                            .level = group->level,
                                            .basis = group->basis,
                                            .is_exact = group->is_exact};
    const char *path = base_arena_printf(arena, "%s/%s", folder, group->file);
    enum kvsim_status status = group->run(path, arena, &out->cases, err);
    if (status != KVSIM_OK)
        return status;
    parts_make(out);
    bounds_make(out, &group->bounds);
    out->is_within = is_within(out);
    return KVSIM_OK;
}
