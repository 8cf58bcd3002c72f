#include "calib/moe_blocks.h"

#include "calib/case_rows.h"
#include "cost/rates.h"
#include "scenario/scenario.h"
#include "spec/model.h"

#include <string.h>

enum column { HARDWARE, MODEL, TOKENS, EXPERTS, MS, SOURCE, COLUMNS };
static const char *const columns[COLUMNS] = {"hardware", "model", "tokens",
                                             "experts",  "ms",    "source"};

struct block {
    const char *hardware_name, *model_name, *source;
    long long tokens, experts;
    double measured_s;
};

/* Both products of the experts that are touched, and the activation between them. */
static double block_s(const struct cost_rates *rates, const struct spec_model *model,
                      const struct block *block)
{
    const struct cost_matrix matrix = {.weight_bytes = 2,
                                       .rate = cost_rates_dtype(rates, SPEC_BF16)};
    double hidden = model->hidden, width = model->expert_intermediate;
    double inputs = model->mlp == SPEC_MLP_GATED ? 2 : 1;
    double rows = (double)block->tokens * model->experts_per_token;
    double s =
        cost_gemm_grouped(rates, &matrix, rows, (double)block->experts,
                          (inputs + 1) * hidden * width, 2 * hidden + (inputs + 1) * width, 2)
            .s;
    return s + cost_stream(rates, 2 * (inputs + 1) * rows * width, COST_WEIGHT_BANDWIDTH).s;
}

static enum kvsim_status predict(const struct block *block, struct base_arena *arena, double *out_s,
                                 struct kvsim_error *err)
{
    struct spec_hardware hardware;
    struct spec_model model;
    struct cost_rates rates;
    enum kvsim_status status = scenario_load_hardware(arena, block->hardware_name, &hardware, err);
    if (status == KVSIM_OK)
        status = scenario_load_model(arena, block->model_name, &model, err);
    if (status == KVSIM_OK)
        status = cost_rates_init(&rates, &hardware, COST_KERNELS_CURRENT, err);
    if (status == KVSIM_OK)
        *out_s = block_s(&rates, &model, block);
    return status;
}

static enum kvsim_status read_block(const struct calib_case_row *row, struct block *out,
                                    struct kvsim_error *err)
{
    enum { MOST = 1 << 30 };
    *out = (struct block){.hardware_name = row->texts[HARDWARE],
                          .model_name = row->texts[MODEL],
                          .source = row->texts[SOURCE]};
    enum kvsim_status status = calib_case_count(row, TOKENS, MOST, &out->tokens, err);
    if (status == KVSIM_OK)
        status = calib_case_count(row, EXPERTS, MOST, &out->experts, err);
    if (status == KVSIM_OK)
        status = calib_case_positive(row, MS, &out->measured_s, err);
    out->measured_s /= 1e3;
    return status;
}

static enum kvsim_status add_case(const struct calib_case_row *row, void *context,
                                  struct kvsim_error *err)
{
    struct block block;
    (void)context;
    double s = 0;
    enum kvsim_status status = read_block(row, &block, err);
    if (status == KVSIM_OK)
        status = predict(&block, row->arena, &s, err);
    if (status != KVSIM_OK)
        return status;
    struct record_validation_case found = {
        .id = base_arena_printf(row->arena, "%s %lld tokens, %lld experts", block.model_name,
                                block.tokens, block.experts),
        .family = base_arena_printf(row->arena, "%s %s", block.hardware_name, block.model_name),
        .source = block.source,
        .what = "block_ms",
        .device = block.hardware_name,
        .predicted = s * 1e3,
        .measured = block.measured_s * 1e3,
        .error = s / block.measured_s - 1,
        .agrees = true,
        .note = ""};
    base_vec_push(row->out, found);
    return KVSIM_OK;
}

enum kvsim_status calib_moe_blocks(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err)
{
    const struct calib_case_table table = {"blocks of experts", columns, COLUMNS};
    return calib_case_rows_each(path, &table, add_case, NULL, arena, out, err);
}
