#include "calib/calibrate.h"

#include "calib/calib_int.h"
#include "calib/collectives.h"
#include "calib/fit.h"
#include "calib/requests.h"
#include "scenario/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names of devices ---- */

struct device {
    const char *name, *aliases;
};

static bool is_device(void *context, const char *text)
{
    const struct device *device = context;
    return calib_device_is(text, device->name, device->aliases);
}

static void find_device(struct calib_result *result, const char *name, struct device *out)
{
    struct scenario_entries entries = {0};
    scenario_list_data(SCENARIO_HARDWARE, "", &entries);
    *out = (struct device){name, ""};
    for (size_t i = 0; i < entries.count; i++)
        if (calib_device_is(name, entries.at[i].name, entries.at[i].aliases) &&
            (strcmp(entries.at[i].name, result->base) == 0))
            *out = (struct device){result->base,
                                   base_arena_copy(&result->arena, entries.at[i].aliases)};
    scenario_entries_free(&entries);
}

/* ---- parameters and the calibration they stand for ---- */

static void calibration_of(const struct calib_work *work, const double *values,
                           struct spec_calibration *out)
{
    *out = (struct spec_calibration){.source = "", .collective_count = work->collective_count};
    for (size_t i = 0; i < work->coefficient_count; i++) {
        out->has[work->coefficients[i]] = true;
        out->value[work->coefficients[i]] = values[i];
    }
    for (size_t i = 0; i < work->collective_count; i++) {
        const double *at = values + work->coefficient_count + COLLECTIVE_TERMS * i;
        out->collectives[i] =
            (struct spec_collective){work->collective_gpus[i], at[0], at[1], at[2], at[3]};
    }
}

static void predict_all(struct calib_work *work, const struct spec_calibration *calibration,
                        double *predicted)
{
    calib_model_set(&work->model, calibration);
    for (size_t i = 0; i < work->table->rows.count; i++)
        predicted[i] = calib_model_predict(&work->model, &work->table->rows.at[i]);
}

static void predict(void *context, const double *values, double *predicted)
{
    struct calib_work *work = context;
    struct spec_calibration calibration;
    calibration_of(work, values, &calibration);
    predict_all(work, &calibration, predicted);
}

static struct calib_parameter *add_parameter(struct calib_work *work, const char *name,
                                             double initial, double min, double max, double prior)
{
    struct calib_parameter *parameter = &work->parameters[work->parameter_count++];
    double first = fmin(fmax(initial, min * 1.02), max * 0.98);
    *parameter = (struct calib_parameter){
        .name = name, .initial = first, .min = min, .max = max, .prior = prior, .value = first};
    return parameter;
}

/* Whether a tenth more of a coefficient changes any row. */
static bool matters(struct calib_work *work, enum spec_coefficient coefficient, double value)
{
    struct spec_calibration calibration = {.source = ""};
    calibration.has[coefficient] = true;
    calibration.value[coefficient] = value;
    predict_all(work, &calibration, work->fitted);
    calibration.value[coefficient] = 1.1 * value;
    predict_all(work, &calibration, work->predicted);
    for (size_t i = 0; i < work->table->rows.count; i++)
        if (fabs(work->predicted[i] - work->fitted[i]) > 1e-4 * work->fitted[i])
            return true;
    return false;
}

static void add_coefficients(struct calib_work *work, struct calib_result *result)
{
    for (int i = 0; i < SPEC_COEFFICIENT_COUNT; i++) {
        enum spec_coefficient coefficient = (enum spec_coefficient)i;
        const struct spec_coefficient_row *row = &spec_coefficients[i];
        double before = calib_model_initial(&work->model, coefficient);
        double first = fmin(fmax(before, row->min * 1.02), row->max * 0.98);
        struct calib_coefficient *out = &result->coefficients[result->coefficient_count++];
        *out = (struct calib_coefficient){
            .name = row->name, .unit = row->unit, .before = before, .value = before};
        if (!matters(work, coefficient, first))
            continue;
        work->coefficients[work->coefficient_count++] = coefficient;
        add_parameter(work, row->name, first, row->min, row->max,
                      row->unit == SPEC_SHARE ? 0.4 : 1.0);
    }
}

static void add_collective(struct calib_work *work, uint32_t gpu_count)
{
    struct spec_collective start = calib_collectives_start(work, gpu_count);
    add_parameter(work, "all_reduce latency", start.latency_s, 1e-7, 1e-2, 1.0);
    add_parameter(work, "all_reduce bandwidth", start.bytes_per_s, 1e7, 2e12, 1.0);
    add_parameter(work, "all_reduce bulk latency", start.bulk_latency_s, 1e-7, 1e-1, 1.0);
    add_parameter(work, "all_reduce bulk bandwidth", start.bulk_bytes_per_s, 1e7, 2e12, 1.0);
}

static void add_collectives(struct calib_work *work)
{
    const struct spec_calibration nothing = {.source = ""};
    calib_collectives_find(work);
    calib_model_set(&work->model, &nothing);
    for (size_t i = 0; i < work->collective_count; i++)
        add_collective(work, work->collective_gpus[i]);
}

/* ---- fits ---- */

static void relative_of(const struct calib_work *work, const double *predicted, double *out)
{
    for (size_t i = 0; i < work->table->rows.count; i++)
        out[i] = predicted[i] / work->measured[i] - 1;
}

static enum kvsim_status fit(struct calib_work *work, const bool *is_left_out,
                             struct calib_fit *out, struct kvsim_error *err)
{
    struct calib_problem problem = {.parameters = work->parameters,
                                    .parameter_count = work->parameter_count,
                                    .row_count = work->table->rows.count,
                                    .measured = work->measured,
                                    .is_left_out = is_left_out,
                                    .is_bound = work->is_bound,
                                    .predict = predict,
                                    .context = work};
    return calib_fit_run(&problem, out, err);
}

static void predict_parameters(struct calib_work *work, double *predicted)
{
    double values[PARAMETERS_MAX];
    for (size_t i = 0; i < work->parameter_count; i++)
        values[i] = work->parameters[i].value;
    predict(work, values, predicted);
}

/* Parts of one row of a file stay together. */
static size_t fold_of(const struct calib_row *row)
{
    return (size_t)(((uint32_t)row->line * 2654435761U) >> 16) % CALIB_FOLDS;
}

static enum kvsim_status cross_by_rows(struct calib_work *work, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    size_t count = work->table->rows.count;
    for (size_t fold = 0; fold < CALIB_FOLDS && status == KVSIM_OK; fold++) {
        struct calib_fit crossed;
        size_t left_count = 0;
        for (size_t i = 0; i < count; i++) {
            work->is_left_out[i] = fold_of(&work->table->rows.at[i]) == fold;
            left_count += work->is_left_out[i] ? 1 : 0;
        }
        if (left_count == 0 || left_count == count)
            continue;
        status = fit(work, work->is_left_out, &crossed, err);
        predict_parameters(work, work->predicted);
        for (size_t i = 0; i < count; i++)
            if (work->is_left_out[i])
                work->crossed[i] = work->predicted[i] / work->measured[i] - 1;
    }
    return status;
}

static const char *model_of(const struct calib_work *work, size_t row)
{
    const struct calib_row *at = &work->table->rows.at[row];
    if (at->kind != CALIB_LAYER && at->kind != CALIB_STEP)
        return "";
    return work->table->engines.at[at->engine].model;
}

/* Every model from a fit to all rows but its own. */
static enum kvsim_status cross_by_models(struct calib_work *work, struct calib_result *result,
                                         struct kvsim_error *err)
{
    size_t count = work->table->rows.count;
    struct calib_error_list errors = {0};
    enum kvsim_status status = KVSIM_OK;
    for (size_t e = 0; e < work->table->engines.count && status == KVSIM_OK; e++) {
        const char *model = work->table->engines.at[e].model;
        bool is_new = true;
        for (size_t before = 0; before < e; before++)
            is_new = is_new && strcmp(work->table->engines.at[before].model, model) != 0;
        size_t left_count = 0;
        for (size_t i = 0; i < count; i++) {
            work->is_left_out[i] = strcmp(model_of(work, i), model) == 0;
            left_count += work->is_left_out[i] ? 1 : 0;
        }
        struct calib_fit crossed;
        if (!is_new || left_count == 0 || left_count == count)
            continue;
        status = fit(work, work->is_left_out, &crossed, err);
        predict_parameters(work, work->predicted);
        for (size_t i = 0; i < count; i++)
            if (work->is_left_out[i])
                base_vec_push(&errors, work->predicted[i] / work->measured[i] - 1);
    }
    calib_errors_of(errors.at, errors.count, &result->by_model);
    base_vec_free(&errors);
    return status;
}

/* Coefficients that the rows did not determine leave the fit, so that none of the others leans on them. */
static bool drop_undetermined(struct calib_work *work)
{
    size_t kept = 0, count = work->coefficient_count;
    for (size_t i = 0; i < work->parameter_count; i++) {
        if (i < count && !work->parameters[i].is_determined)
            continue;
        if (i < count)
            work->coefficients[kept] = work->coefficients[i];
        work->parameters[kept++] = work->parameters[i];
    }
    size_t dropped = work->parameter_count - kept;
    work->parameter_count = kept;
    work->coefficient_count = count - dropped;
    return dropped > 0 && work->coefficient_count > 0;
}

static enum kvsim_status fit_determined(struct calib_work *work, const bool *is_left_out,
                                        struct calib_fit *out, struct kvsim_error *err)
{
    enum kvsim_status status = fit(work, is_left_out, out, err);
    if (status == KVSIM_OK && drop_undetermined(work))
        status = fit(work, is_left_out, out, err);
    return status;
}

/* What the rows determined goes into the calibration. */
static void keep_determined(const struct calib_work *work, struct calib_result *result)
{
    double values[PARAMETERS_MAX];
    struct spec_calibration all;
    for (size_t i = 0; i < work->parameter_count; i++)
        values[i] = work->parameters[i].value;
    calibration_of(work, values, &all);
    result->calibration = all;
    for (size_t i = 0; i < work->coefficient_count; i++) {
        const struct calib_parameter *parameter = &work->parameters[i];
        struct calib_coefficient *out = &result->coefficients[work->coefficients[i]];
        out->value = parameter->value;
        out->spread = parameter->spread;
        out->is_determined = parameter->is_determined;
        result->calibration.has[work->coefficients[i]] = parameter->is_determined;
    }
}

static bool has_any(const struct spec_calibration *calibration)
{
    bool any = calibration->collective_count > 0;
    for (int i = 0; i < SPEC_COEFFICIENT_COUNT; i++)
        any = any || calibration->has[i];
    return any;
}

/* A row of a file may hold the times of several operators. */
static size_t count_lines(const struct calib_work *work)
{
    const struct calib_row *before = NULL;
    size_t count = 0;
    for (size_t i = 0; i < work->table->rows.count; i++) {
        const struct calib_row *row = &work->table->rows.at[i];
        if (work->is_bound[i])
            continue;
        count += before == NULL || row->line != before->line || row->file != before->file;
        before = row;
    }
    return count;
}

static enum kvsim_status fit_rows(struct calib_work *work, struct calib_result *result,
                                  struct kvsim_error *err)
{
    struct calib_fit found;
    size_t count = work->table->rows.count;
    const struct spec_calibration nothing = {.source = ""};
    predict_all(work, &nothing, work->before);
    enum kvsim_status status = calib_check_rows(work, result, err);
    if (status != KVSIM_OK)
        return status;
    add_coefficients(work, result);
    add_collectives(work);
    calib_collectives_list_unsized(work, result);
    status = cross_by_rows(work, err);
    if (status == KVSIM_OK)
        status = cross_by_models(work, result, err);
    if (status == KVSIM_OK)
        status = fit_determined(work, NULL, &found, err);
    if (status != KVSIM_OK)
        return status;
    keep_determined(work, result);
    if (!has_any(&result->calibration))
        return base_fail(err, KVSIM_ERR_SCENARIO, "these rows determine no coefficient of %s",
                         result->base);
    predict_all(work, &result->calibration, work->predicted);
    relative_of(work, work->predicted, work->fitted);
    for (size_t i = 0; i < count; i++)
        work->before[i] = work->before[i] / work->measured[i] - 1;
    result->outlier_count = found.outlier_count;
    result->noise = found.noise;
    result->row_count = count_lines(work);
    result->time_count = count - work->bound_count;
    result->bound_count = work->bound_count;
    for (size_t i = 0; i < count; i++)
        result->bound_broken_count += work->is_bound[i] && work->fitted[i] > 0.05;
    calib_add_groups(work, result);
    const struct calib_errors *fitted = &result->groups[result->group_count - 1].fitted;
    if (fitted->median > 0.5)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "the rows do not follow the model: half of them are more than %.0f %% off "
                         "after the fit",
                         100 * fitted->median);
    return KVSIM_OK;
}

static void work_init(struct calib_work *work, const struct calib_measurements *table)
{
    size_t count = table->rows.count + 1;
    work->table = table;
    double **arrays[] = {&work->measured, &work->predicted, &work->before, &work->fitted,
                         &work->crossed};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        *arrays[i] = base_alloc(base_mul_size(count, sizeof(double)));
    work->is_left_out = base_alloc(base_mul_size(count, sizeof(bool)));
    work->is_bound = base_alloc(base_mul_size(count, sizeof(bool)));
    for (size_t i = 0; i < table->rows.count; i++) {
        work->measured[i] = table->rows.at[i].measured_s;
        work->is_bound[i] = table->rows.at[i].is_bound;
        work->bound_count += work->is_bound[i] ? 1 : 0;
    }
}

static void work_free(struct calib_work *work)
{
    base_free(work->measured);
    base_free(work->predicted);
    base_free(work->before);
    base_free(work->fitted);
    base_free(work->crossed);
    base_free(work->is_left_out);
    base_free(work->is_bound);
    calib_model_free(&work->model);
}

static enum kvsim_status calibrate_rows(struct calib_result *result,
                                        const struct calib_measurements *table,
                                        struct kvsim_error *err)
{
    struct calib_work *work = base_alloc(sizeof *work);
    work_init(work, table);
    enum kvsim_status status =
        calib_model_init(&work->model, result->hardware, table, COST_CALIBRATED, err);
    if (status == KVSIM_OK)
        status = fit_rows(work, result, err);
    work_free(work);
    base_free(work);
    return status;
}

enum kvsim_status calib_fit_rows(const char *hardware, const struct calib_measurements *table,
                                 const bool *is_left_out, struct spec_calibration *out,
                                 struct kvsim_error *err)
{
    struct calib_work *work = base_alloc(sizeof *work);
    struct calib_result *result = base_alloc(sizeof *result);
    struct calib_fit found;
    base_arena_init(&result->arena);
    work_init(work, table);
    enum kvsim_status status =
        calib_model_init(&work->model, hardware, table, COST_CALIBRATED, err);
    if (status == KVSIM_OK) {
        add_coefficients(work, result);
        add_collectives(work);
        status = fit_determined(work, is_left_out, &found, err);
    }
    if (status == KVSIM_OK) {
        keep_determined(work, result);
        *out = result->calibration;
    }
    calib_result_free(result);
    base_free(result);
    work_free(work);
    base_free(work);
    return status;
}

/* ---- all of it ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static enum kvsim_status read_files(const struct calib_request *request,
                                    struct calib_result *result, struct calib_measurements *table,
                                    const char **requests, struct kvsim_error *err)
{
    struct device device;
    enum kvsim_status status = KVSIM_OK;
    find_device(result, result->base, &device);
    result->file_names =
        base_arena_array(&result->arena, request->file_count, sizeof *result->file_names);
    *requests = NULL;
    for (size_t i = 0; i < request->file_count && status == KVSIM_OK; i++) {
        const char *path = request->files[i];
        result->file_names[result->file_count++] = base_arena_copy(&result->arena, file_name(path));
        if (!calib_requests_knows(path)) {
            status = calib_measurements_add(table, path, is_device, &device, err);
        } else if (*requests != NULL) {
            status = base_fail(err, KVSIM_ERR_SCENARIO, "one file of requests at a time: %s and %s",
                               *requests, path);
        } else {
            *requests = path;
        }
    }
    result->other_count = table->other_count;
    result->untimed_count = table->untimed_count;
    result->condition = base_arena_copy(&result->arena, table->condition);
    result->kernels = table->kernels;
    return status;
}

enum kvsim_status calib_calibrate(const struct calib_request *request, struct calib_result *out,
                                  struct kvsim_error *err)
{
    struct calib_measurements table;
    struct spec_hardware *hardware;
    const char *requests;
    *out = (struct calib_result){
        .hardware = request->hardware, .condition = "", .worst = "", .unsized = ""};
    base_arena_init(&out->arena);
    calib_measurements_init(&table);
    hardware = base_arena_take(&out->arena, sizeof *hardware);
    enum kvsim_status status =
        scenario_load_hardware(&out->arena, request->hardware, hardware, err);
    if (status == KVSIM_OK) {
        out->base = hardware->name;
        out->calibration = hardware->calibration;
        status = read_files(request, out, &table, &requests, err);
    }
    if (status == KVSIM_OK && (table.rows.count > 0 || requests == NULL))
        status = calibrate_rows(out, &table, err);
    if (status == KVSIM_OK && requests != NULL)
        status = calib_requests_fit(request, requests, out, err);
    calib_measurements_free(&table);
    return status;
}

void calib_result_free(struct calib_result *result)
{
    base_arena_release(&result->arena);
}
