#include "calib/model.h"

#include "scenario/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 32 };

/* What is wrong with an engine is wrong where a file first names it. */
static void place_at_engine(const struct calib_measurements *table, size_t engine,
                            struct kvsim_error *err)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct calib_row *row = &table->rows.at[i];
        bool has_engine = row->kind == CALIB_LAYER || row->kind == CALIB_STEP;
        if (!has_engine || row->engine != engine)
            continue;
        base_error_at(err, table->files.at[row->file], row->line, 1);
        return;
    }
}

/* The engine of a table's rows, as `kvsim step --model ... --hardware ...` would make it. */
static enum kvsim_status load_engine(struct calib_model *model, size_t index,
                                     struct kvsim_error *err)
{
    const struct calib_engine_key *key = &model->table->engines.at[index];
    char tp[TEXT_MAX];
    snprintf(tp, sizeof tp, "%lld", (long long)key->tensor_parallel);
    const struct scenario_override overrides[] = {
        {"model", key->model},
        {"hardware", model->hardware_name},
        {"engine.tensor_parallel_size", tp},
        {"engine.quantization", key->quantization},
        {"engine.kv_cache_dtype", key->kv_cache_dtype},
        {"engine.enforce_eager", key->graphs ? "false" : "true"},
        {"cost.level", "datasheet"},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_STEP};
    struct calib_engine *engine = &model->engines[index];
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, &engine->scenario, &diags);
    if (status != KVSIM_OK) {
        *err = diags.at[0];
        place_at_engine(model->table, index, err);
        return status;
    }
    engine->config = scenario_config(engine->scenario)->cost;
    engine->config.hardware = &model->hardware;
    engine->config.options = &model->options;
    return KVSIM_OK;
}

static uint32_t decodes_max(const struct calib_measurements *table, size_t engine)
{
    int64_t most = 1;
    for (size_t i = 0; i < table->rows.count; i++) {
        const struct calib_row *row = &table->rows.at[i];
        if (row->engine == engine && row->batch.decode_seqs > most)
            most = row->batch.decode_seqs;
    }
    return (uint32_t)most;
}

enum kvsim_status calib_model_init(struct calib_model *model, const char *hardware_name,
                                   const struct calib_measurements *table, enum cost_level level,
                                   struct kvsim_error *err)
{
    *model = (struct calib_model){.table = table, .hardware_name = hardware_name};
    model->options =
        (struct cost_options){.level = level, .has_level = true, .kernels = table->kernels};
    base_arena_init(&model->arena);
    enum kvsim_status status =
        scenario_load_hardware(&model->arena, hardware_name, &model->hardware, err);
    if (status != KVSIM_OK)
        return status;
    if (level == COST_CALIBRATED)
        model->hardware.has_calibration = true;
    status = cost_rates_init(&model->rates, &model->hardware, table->kernels, err);
    if (status == KVSIM_OK && level == COST_CALIBRATED)
        cost_rates_calibrate(&model->rates, &model->hardware.calibration);
    model->engines =
        base_arena_array(&model->arena, table->engines.count + 1, sizeof *model->engines);
    for (size_t i = 0; i < table->engines.count && status == KVSIM_OK; i++) {
        base_arena_init(&model->engines[i].arena);
        model->engine_count = i + 1;
        status = load_engine(model, i, err);
        model->engines[i].config.max_decode_seqs = decodes_max(table, i);
    }
    return status;
}

void calib_model_free(struct calib_model *model)
{
    for (size_t i = 0; i < model->engine_count; i++) {
        base_arena_release(&model->engines[i].arena);
        scenario_free(model->engines[i].scenario);
    }
    base_arena_release(&model->arena);
}

/* The datasheet's shares are those of long inner dimensions and hold the start of a tile; a fit takes it apart from here. */
static const double gemm_start_first = 128;

double calib_model_initial(const struct calib_model *model, enum spec_coefficient coefficient)
{
    const struct spec_calibration nothing = {0};
    struct cost_rates rates;
    struct kvsim_error err;
    if (cost_rates_init(&rates, &model->hardware, model->options.kernels, &err) != KVSIM_OK)
        return NAN;
    cost_rates_calibrate(&rates, &nothing);
    const double values[SPEC_COEFFICIENT_COUNT] = {
        [SPEC_GEMM_BF16] = rates.gemm_fraction[SPEC_BF16],
        [SPEC_GEMM_FP8] = rates.gemm_fraction[SPEC_FP8],
        [SPEC_GEMM_START] = rates.gemm_start > 0 ? rates.gemm_start : gemm_start_first,
        [SPEC_WEIGHTS_BF16] = rates.weight_stream[SPEC_BF16].fraction,
        [SPEC_WEIGHTS_FP8] = rates.weight_stream[SPEC_FP8].fraction,
        [SPEC_WEIGHTS_FIXED_BF16] = rates.weight_stream[SPEC_BF16].fixed_s,
        [SPEC_WEIGHTS_FIXED_FP8] = rates.weight_stream[SPEC_FP8].fixed_s,
        [SPEC_QUANTIZE_BYTES] = rates.quantize_bytes_per_element,
        [SPEC_QUANTIZE_ROW] = rates.quantize_row_s,
        [SPEC_DECODE_BF16] = rates.decode_attention[SPEC_BF16].fraction,
        [SPEC_DECODE_FP8] = rates.decode_attention[SPEC_FP8].fraction,
        [SPEC_DECODE_FIXED_BF16] = rates.decode_attention[SPEC_BF16].fixed_s,
        [SPEC_DECODE_FIXED_FP8] = rates.decode_attention[SPEC_FP8].fixed_s,
        [SPEC_DECODE_TILE_BYTES] = rates.attention_tile_bytes,
        [SPEC_LATENT_COMPUTE] = rates.latent_fraction,
        [SPEC_PREFILL] = rates.attention_fraction,
        [SPEC_PREFILL_ROW] = rates.attention_row_tokens,
        [SPEC_PREFILL_FIXED] = cost_attention_prefill_fixed_s(&rates, SPEC_BF16),
        [SPEC_MIXED_READS] = rates.attention_mixed_reads,
        [SPEC_ACTIVATIONS] = rates.stream_fraction,
        [SPEC_LAUNCH] = rates.launch_s,
        [SPEC_GRAPH_LAUNCH] = rates.graph_launch_s,
        [SPEC_HOST_STEP] = rates.host_per_step_s,
        [SPEC_HOST_SEQUENCE] = rates.host_per_sequence_s,
        [SPEC_HOST_LAYER] = rates.host_per_layer_s,
        [SPEC_HOST_EXPOSED] = rates.host_exposed_s,
    };
    return values[coefficient];
}

void calib_model_set(struct calib_model *model, const struct spec_calibration *calibration)
{
    struct kvsim_error err;
    model->hardware.calibration = *calibration;
    enum kvsim_status status =
        cost_rates_init(&model->rates, &model->hardware, model->options.kernels, &err);
    base_require(status == KVSIM_OK); // it was, at the start
    cost_rates_calibrate(&model->rates, &model->hardware.calibration);
    for (size_t i = 0; i < model->engine_count; i++)
        model->engines[i].cost = NULL;
}

static struct cost *engine_cost(struct calib_engine *engine)
{
    struct kvsim_error err;
    if (engine->cost == NULL) {
        base_arena_release(&engine->arena);
        base_arena_init(&engine->arena);
        if (cost_new(&engine->config, &engine->arena, &engine->cost, &err) != KVSIM_OK)
            engine->cost = NULL;
    }
    return engine->cost;
}

static void shape_of(const struct calib_batch *batch, const struct cost *cost,
                     struct cost_shape *out)
{
    int64_t context = batch->decode_context + 1;
    *out = (struct cost_shape){.decode_seq_count = (uint32_t)batch->decode_seqs,
                               .decode_context_tokens = batch->decode_seqs * context,
                               .emitting_count = (uint32_t)batch->prefill_seqs};
    cost_shape_add_prefill(out, batch->prefill_seqs, batch->prefill_tokens, batch->prefill_context);
    for (size_t w = 0; w < cost_window_count(cost); w++) {
        const struct cost_window *window = cost_window_at(cost, w);
        out->decode_window_tokens[w] = batch->decode_seqs * cost_window_keys(window, context);
        out->prefill_window_area[w] =
            batch->prefill_seqs *
            cost_window_area(window, batch->prefill_tokens, batch->prefill_context);
    }
}

static double predict_step(struct calib_model *model, const struct calib_row *row)
{
    struct cost *cost = engine_cost(&model->engines[row->engine]);
    struct cost_shape shape;
    struct cost_explanation explanation;
    if (cost == NULL)
        return NAN;
    shape_of(&row->batch, cost, &shape);
    cost_explain(cost, &shape, &explanation);
    if (row->operators == 0)
        return (double)explanation.step_ticks / (1e9 * (double)BASE_TICKS_PER_NS);
    double s = 0;
    for (size_t i = 0; i < explanation.row_count; i++)
        if (row->operators & (1U << explanation.rows[i].op))
            s += row->kind == CALIB_LAYER ? explanation.rows[i].per_layer_s
                                          : explanation.rows[i].total_s;
    return s;
}

double calib_model_predict(struct calib_model *model, const struct calib_row *row)
{
    struct kvsim_error err;
    double s = NAN;
    switch (row->kind) {
    case CALIB_GEMM:
    case CALIB_ATTENTION:
    case CALIB_MLA:
    case CALIB_ALL_REDUCE:
        return cost_kernel_at(&model->rates, &row->kernel, &s, &err) == KVSIM_OK ? s : (double)NAN;
    case CALIB_STREAM:
        return cost_stream(&model->rates, row->bytes, COST_WEIGHT_BANDWIDTH).s;
    case CALIB_LAUNCH:
        return model->rates.launch_s;
    case CALIB_GRAPH:
        return model->rates.graph_launch_s;
    case CALIB_LAYER:
    case CALIB_STEP:
        return predict_step(model, row);
    case CALIB_KIND_COUNT:
        break;
    }
    return NAN;
}
