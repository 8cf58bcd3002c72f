#include "calib/times.h"

#include "calib/calibrate.h"
#include "calib/fit.h"
#include "calib/model.h"

#include <math.h>
#include <string.h>

/* The rows of one device, and what they are predicted with. */
struct part {
    const char *device;
    struct calib_measurements table;
    struct calib_model model;
    bool has_model;
};

struct parts {
    struct part *at;
    size_t count, capacity;
};

static bool is_same(void *context, const char *device)
{
    return strcmp(context, device) == 0;
}

static void parts_free(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->at[i].has_model)
            calib_model_free(&parts->at[i].model);
        calib_measurements_free(&parts->at[i].table);
    }
    base_vec_free(parts);
}

/* One part for each device of the file, in order of first rows. */
static enum kvsim_status parts_read(struct parts *parts, const char *path, struct base_arena *arena,
                                    struct kvsim_error *err)
{
    struct calib_measurements all;
    calib_measurements_init(&all);
    enum kvsim_status status = calib_measurements_add(&all, path, NULL, NULL, err);
    for (size_t i = 0; i < all.rows.count && status == KVSIM_OK; i++) {
        size_t at = 0;
        while (at < parts->count && strcmp(parts->at[at].device, all.rows.at[i].device) != 0)
            at++;
        if (at < parts->count)
            continue;
        char *device = base_arena_copy(arena, all.rows.at[i].device);
        struct part part = {.device = device};
        calib_measurements_init(&part.table);
        base_vec_push(parts, part);
        status = calib_measurements_add(&parts->at[at].table, path, is_same, device, err);
    }
    calib_measurements_free(&all);
    return status;
}

static enum kvsim_status model_make(struct part *part, enum cost_level level,
                                    struct kvsim_error *err)
{
    enum kvsim_status status =
        calib_model_init(&part->model, part->device, &part->table, level, err);
    part->has_model = true;
    return status;
}

/* ---- cases ---- */

static bool counts_always(const struct calib_row *row)
{
    (void)row;
    return true;
}

static bool counts_in_layer(const struct calib_row *row)
{
    return row->kind == CALIB_LAYER;
}

static bool counts_in_step(const struct calib_row *row)
{
    return row->kind == CALIB_STEP && row->operators == 0;
}

struct counting {
    bool (*counts)(const struct calib_row *row);
    bool (*is_scored)(const struct calib_row *row);
    const char *what;
    bool is_unconditional; /* the kernels that the rows state are taken for today's */
};

static const char *family_of(const struct part *part, const struct calib_row *row,
                             struct base_arena *arena)
{
    const char *phase = row->is_decode ? "decode" : "prefill";
    if (row->kind != CALIB_LAYER && row->kind != CALIB_STEP)
        return base_arena_printf(arena, "%s %s %s", part->device, calib_kind_name(row->kind),
                                 phase);
    const struct calib_engine_key *engine = &part->table.engines.at[row->engine];
    return base_arena_printf(arena, "%s %s tp%lld %s", part->device, engine->model,
                             (long long)engine->tensor_parallel, phase);
}

/* One case for the rows of each line of the file: parts of a layer are added up. */
static void cases_add(struct part *part, const struct counting *counting, struct base_arena *arena,
                      struct record_validation_cases *out)
{
    const struct calib_measurements *table = &part->table;
    for (size_t i = 0; i < table->rows.count;) {
        const struct calib_row *first = &table->rows.at[i];
        double predicted = 0, measured = 0;
        for (; i < table->rows.count && table->rows.at[i].line == first->line; i++) {
            if (!counting->counts(&table->rows.at[i]))
                continue;
            predicted += calib_model_predict(&part->model, &table->rows.at[i]);
            measured += table->rows.at[i].measured_s;
        }
        if (!(measured > 0))
            continue;
        struct record_validation_case found = {
            .id = base_arena_printf(arena, "%s:%d", part->device, first->line),
            .family = family_of(part, first, arena),
            .source = table->files.at[first->file],
            .what = counting->what,
            .device = part->device,
            .phase = first->is_decode ? "decode" : "prefill",
            .is_fitted = !counting->is_scored(first),
            .predicted = predicted * 1e3,
            .measured = measured * 1e3,
            .error = predicted / measured - 1,
            .agrees = true,
            .note = ""};
        found.source = base_arena_copy(arena, found.source);
        base_vec_push(out, found);
    }
}

static enum kvsim_status plain(const char *path, struct base_arena *arena,
                               const struct counting *counting, struct record_validation_cases *out,
                               struct kvsim_error *err)
{
    struct parts parts = {0};
    enum kvsim_status status = parts_read(&parts, path, arena, err);
    for (size_t i = 0; i < parts.count && status == KVSIM_OK; i++) {
        if (counting->is_unconditional)
            parts.at[i].table.kernels = COST_KERNELS_CURRENT;
        status = model_make(&parts.at[i], COST_DATASHEET, err);
        if (status == KVSIM_OK)
            cases_add(&parts.at[i], counting, arena, out);
    }
    parts_free(&parts);
    return status;
}

/* ---- fitted to some rows of each device ---- */

static bool is_second(const struct calib_row *row)
{
    return row->line % 2 == 1;
}

static bool is_not_fifth(const struct calib_row *row)
{
    return row->line % 5 != 0;
}

static enum kvsim_status fit_part(struct part *part, bool (*is_scored)(const struct calib_row *row),
                                  struct kvsim_error *err)
{
    struct spec_calibration calibration;
    size_t count = part->table.rows.count;
    bool *is_left_out = base_alloc(base_mul_size(count + 1, sizeof *is_left_out));
    for (size_t i = 0; i < count; i++)
        is_left_out[i] = is_scored(&part->table.rows.at[i]);
    enum kvsim_status status =
        calib_fit_rows(part->device, &part->table, is_left_out, &calibration, err);
    base_free(is_left_out);
    if (status == KVSIM_OK)
        status = model_make(part, COST_CALIBRATED, err);
    if (status == KVSIM_OK)
        calib_model_set(&part->model, &calibration);
    return status;
}

static enum kvsim_status fitted(const char *path, struct base_arena *arena,
                                const struct counting *counting,
                                struct record_validation_cases *out, struct kvsim_error *err)
{
    struct parts parts = {0};
    enum kvsim_status status = parts_read(&parts, path, arena, err);
    for (size_t i = 0; i < parts.count && status == KVSIM_OK; i++) {
        status = fit_part(&parts.at[i], counting->is_scored, err);
        if (status == KVSIM_OK)
            cases_add(&parts.at[i], counting, arena, out);
    }
    parts_free(&parts);
    return status;
}

/* ---- one device left out ---- */

enum { POOLED_MAX = SPEC_COEFFICIENT_COUNT };

struct pool {
    struct parts *parts;
    size_t left_out;
    size_t coefficient_count;
    enum spec_coefficient coefficients[POOLED_MAX];
};

static void pool_calibration(const struct pool *pool, const double *values,
                             struct spec_calibration *out)
{
    *out = (struct spec_calibration){.source = ""};
    for (size_t i = 0; i < pool->coefficient_count; i++) {
        out->has[pool->coefficients[i]] = true;
        out->value[pool->coefficients[i]] = values[i];
    }
}

static void pool_predict(void *context, const double *values, double *predicted)
{
    struct pool *pool = context;
    struct spec_calibration calibration;
    size_t at = 0;
    pool_calibration(pool, values, &calibration);
    for (size_t p = 0; p < pool->parts->count; p++) {
        struct part *part = &pool->parts->at[p];
        calib_model_set(&part->model, &calibration);
        for (size_t i = 0; i < part->table.rows.count; i++, at++)
            predicted[at] = p == pool->left_out
                                ? part->table.rows.at[i].measured_s
                                : calib_model_predict(&part->model, &part->table.rows.at[i]);
    }
}

/* What no file says of a device: its own efficiencies and collectives are taken away. */
static void strip(struct calib_model *model)
{
    model->hardware.efficiency = (struct spec_efficiency){0};
    model->hardware.allreduce_count = 0;
    model->hardware.link_latency_s = 0;
}

static enum kvsim_status pool_fit(struct pool *pool, struct calib_parameter *parameters,
                                  struct kvsim_error *err)
{
    size_t count = 0, at = 0;
    for (size_t p = 0; p < pool->parts->count; p++)
        count += pool->parts->at[p].table.rows.count;
    double *measured = base_alloc(base_mul_size(count + 1, sizeof *measured));
    bool *is_left_out = base_alloc(base_mul_size(count + 1, sizeof *is_left_out));
    for (size_t p = 0; p < pool->parts->count; p++) {
        const struct calib_measurements *table = &pool->parts->at[p].table;
        for (size_t i = 0; i < table->rows.count; i++, at++) {
            measured[at] = table->rows.at[i].measured_s;
            // Collectives follow from the link's rate: not fitted, but counted in the result.
            is_left_out[at] =
                p == pool->left_out || table->rows.at[i].operators == 1U << COST_OP_ALL_REDUCE;
        }
    }
    struct calib_problem problem = {.parameters = parameters,
                                    .parameter_count = pool->coefficient_count,
                                    .row_count = count,
                                    .measured = measured,
                                    .is_left_out = is_left_out,
                                    .predict = pool_predict,
                                    .context = pool};
    struct calib_fit found;
    enum kvsim_status status = calib_fit_run(&problem, &found, err);
    base_free(is_left_out);
    base_free(measured);
    return status;
}

struct coefficients {
    const enum spec_coefficient *at;
    size_t count;
};

static void pool_init(struct pool *pool, struct parts *parts, size_t left_out,
                      const struct coefficients *fitted, struct calib_parameter *parameters)
{
    *pool = (struct pool){.parts = parts, .left_out = left_out};
    for (size_t i = 0; i < fitted->count; i++) {
        const struct spec_coefficient_row *row = &spec_coefficients[fitted->at[i]];
        double first = calib_model_initial(&parts->at[left_out].model, fitted->at[i]);
        pool->coefficients[pool->coefficient_count] = fitted->at[i];
        parameters[pool->coefficient_count++] = (struct calib_parameter){
            .name = row->name, .initial = first, .min = row->min, .max = row->max, .prior = 1};
    }
}

static enum kvsim_status leave_out(struct parts *parts, size_t left_out,
                                   const struct counting *counting,
                                   const struct coefficients *fitted, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err)
{
    struct calib_parameter parameters[POOLED_MAX];
    struct spec_calibration calibration;
    struct pool pool;
    double values[POOLED_MAX];
    pool_init(&pool, parts, left_out, fitted, parameters);
    enum kvsim_status status = pool_fit(&pool, parameters, err);
    if (status != KVSIM_OK)
        return status;
    for (size_t i = 0; i < pool.coefficient_count; i++)
        values[i] = parameters[i].value;
    pool_calibration(&pool, values, &calibration);
    calib_model_set(&parts->at[left_out].model, &calibration);
    cases_add(&parts->at[left_out], counting, arena, out);
    return KVSIM_OK;
}

/* ---- the groups ---- */

enum kvsim_status calib_times_kernels(const char *path, struct base_arena *arena,
                                      struct record_validation_cases *out, struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_always, .is_scored = counts_always, .what = "kernel_ms"};
    return plain(path, arena, &counting, out, err);
}

enum kvsim_status calib_times_layers(const char *path, struct base_arena *arena,
                                     struct record_validation_cases *out, struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_layer, .is_scored = counts_always, .what = "layer_ms"};
    return plain(path, arena, &counting, out, err);
}

static enum kvsim_status left_out(const char *path, struct base_arena *arena,
                                  const struct counting *counting,
                                  const struct coefficients *coefficients,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    struct parts parts = {0};
    enum kvsim_status status = parts_read(&parts, path, arena, err);
    for (size_t i = 0; i < parts.count && status == KVSIM_OK; i++) {
        status = model_make(&parts.at[i], COST_CALIBRATED, err);
        if (status == KVSIM_OK)
            strip(&parts.at[i].model);
    }
    for (size_t i = 0; i < parts.count && status == KVSIM_OK; i++)
        status = leave_out(&parts, i, counting, coefficients, arena, out, err);
    parts_free(&parts);
    return status;
}

/* Coefficients of kernels that layers of dense models have. */
enum kvsim_status calib_times_layers_left_out(const char *path, struct base_arena *arena,
                                              struct record_validation_cases *out,
                                              struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_layer, .is_scored = counts_always, .what = "layer_ms"};
    static const enum spec_coefficient kernels[] = {
        SPEC_GEMM_BF16,         SPEC_GEMM_FP8,           SPEC_WEIGHTS_BF16,
        SPEC_WEIGHTS_FP8,       SPEC_WEIGHTS_FIXED_BF16, SPEC_WEIGHTS_FIXED_FP8,
        SPEC_DECODE_BF16,       SPEC_DECODE_FP8,         SPEC_PREFILL,
        SPEC_DECODE_FIXED_BF16, SPEC_DECODE_FIXED_FP8,   SPEC_DECODE_TILE_BYTES,
        SPEC_PREFILL_ROW,       SPEC_PREFILL_FIXED};
    static const struct coefficients fitted = {kernels, sizeof kernels / sizeof kernels[0]};
    return left_out(path, arena, &counting, &fitted, out, err);
}

enum kvsim_status calib_times_layers_unconditional(const char *path, struct base_arena *arena,
                                                   struct record_validation_cases *out,
                                                   struct kvsim_error *err)
{
    static const struct counting counting = {.counts = counts_in_layer,
                                             .is_scored = counts_always,
                                             .what = "layer_ms",
                                             .is_unconditional = true};
    return plain(path, arena, &counting, out, err);
}

enum kvsim_status calib_times_products_left_out(const char *path, struct base_arena *arena,
                                                struct record_validation_cases *out,
                                                struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_layer, .is_scored = counts_always, .what = "layer_ms"};
    static const enum spec_coefficient products[] = {SPEC_GEMM_BF16, SPEC_WEIGHTS_BF16,
                                                     SPEC_WEIGHTS_FIXED_BF16, SPEC_ACTIVATIONS};
    static const struct coefficients fitted = {products, sizeof products / sizeof products[0]};
    return left_out(path, arena, &counting, &fitted, out, err);
}

enum kvsim_status calib_times_layers_calibrated(const char *path, struct base_arena *arena,
                                                struct record_validation_cases *out,
                                                struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_layer, .is_scored = is_second, .what = "layer_ms"};
    return fitted(path, arena, &counting, out, err);
}

enum kvsim_status calib_times_steps(const char *path, struct base_arena *arena,
                                    struct record_validation_cases *out, struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_step, .is_scored = counts_always, .what = "step_ms"};
    return plain(path, arena, &counting, out, err);
}

enum kvsim_status calib_times_steps_calibrated(const char *path, struct base_arena *arena,
                                               struct record_validation_cases *out,
                                               struct kvsim_error *err)
{
    static const struct counting counting = {
        .counts = counts_in_step, .is_scored = is_not_fifth, .what = "step_ms"};
    return fitted(path, arena, &counting, out, err);
}
