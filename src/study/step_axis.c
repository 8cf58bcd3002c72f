#include "study/step_axis.h"

#include <math.h>
#include <string.h>

static const double ms_per_tick = 1e-6 / (double)BASE_TICKS_PER_NS;

const char *study_conversion_name(enum study_conversion conversion)
{
    static const char *const names[] = {"none", "hidden", "stated"};
    return names[conversion];
}

double study_step_times(double first, double value)
{
    return first > 0 && value > 0 ? first / value : (double)NAN;
}

/* ---- what a step says ---- */

static enum study_conversion conversion_of(const struct serve_config *config)
{
    const struct cost_options *options = config->cost.options;
    if (config->layout.k_format.bits_per_element >= 16)
        return STUDY_CONVERSION_NONE;
    for (size_t i = 0; options != NULL && i < options->kv_dtype_count; i++) {
        if (options->kv_dtypes[i].dequant_ns_per_token > 0 &&
            strcmp(options->kv_dtypes[i].name, config->kv_cache_dtype) == 0)
            return STUDY_CONVERSION_STATED;
    }
    return STUDY_CONVERSION_HIDDEN;
}

static double attention_ms(const struct cost_explanation *step)
{
    double seconds = 0;
    for (size_t i = 0; i < step->row_count; i++) {
        bool is_attention = step->rows[i].op == COST_OP_ATTENTION_DECODE ||
                            step->rows[i].op == COST_OP_ATTENTION_PREFILL;
        seconds += is_attention ? step->rows[i].total_s : 0;
    }
    return seconds * 1e3;
}

static void fill_value(const struct study_step_engine *engine, const struct cost_explanation *step,
                       struct base_arena *arena, struct study_step_value *out)
{
    const struct serve_config *config = engine->config;
    out->model = base_arena_copy(arena, config->model_name);
    out->hardware = base_arena_copy(arena, config->hardware_name);
    out->kv_cache_dtype = base_arena_copy(arena, config->kv_cache_dtype);
    out->lower_bound_bytes = (int64_t)config->layout.lower_bound_bytes_per_token;
    out->slot_bytes = (int64_t)config->layout.slot_bytes;
    out->attention_ms = attention_ms(step);
    out->step_ms = (double)step->step_ticks * ms_per_tick;
    out->bound = cost_bound_name(step->bound);
    out->conversion = conversion_of(config);
}

/* ---- one value ---- */

static enum kvsim_status explain(struct study_steps *steps, const struct study_step_batch *batch,
                                 struct base_arena *arena, struct study_step_value *out,
                                 struct kvsim_error *err)
{
    static const char *const as_stated[STUDY_STEP_KEY_COUNT] = {NULL};
    struct study_step_engine *engine;
    struct cost_explanation step;
    enum study_step_key fault;
    enum kvsim_status status = study_steps_engine(steps, as_stated, &engine, &fault, err);
    if (status == KVSIM_OK)
        status = study_step_explain(engine, batch, &step, err);
    if (status == KVSIM_OK)
        fill_value(engine, &step, arena, out);
    return status;
}

enum kvsim_status study_step_at(const struct scenario_request *request,
                                const struct study_axis *axis, size_t at,
                                const struct study_step_batch *batch, struct base_arena *arena,
                                struct study_step_value *out, struct kvsim_diags *diags,
                                struct kvsim_error *err)
{
    struct scenario_request with = *request;
    struct scenario_override *overrides =
        base_arena_array(arena, request->override_count + 1, sizeof *overrides);
    for (size_t i = 0; i < request->override_count; i++)
        overrides[i] = request->overrides[i];
    out->value = axis->values.at[at];
    overrides[with.override_count++] = (struct scenario_override){axis->key, out->value};
    with.overrides = overrides;
    with.axis_count = 1;
    struct study_steps steps;
    study_steps_init(&steps, &with);
    enum kvsim_status status = explain(&steps, batch, arena, out, err);
    *diags = steps.diags;
    study_steps_free(&steps);
    return status;
}
