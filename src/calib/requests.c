#include "calib/requests.h"

#include "base/text.h"
#include "calib/calib_int.h"
#include "calib/fit.h"
#include "calib/served.h"
#include "conf/rows.h"
#include "cost/rates.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One request as measured and as simulated, ms; NaN where a time does not exist. */
struct request {
    double ttft, tpot, e2e;
};

struct requests {
    struct request *at;
    size_t count, capacity;
};

/* A run that is simulated again and again with other coefficients. */
struct run {
    struct record_sink sink; /* first: the sink is the run */
    struct scenario *scenario;
    struct serve_config config;
    struct cost_options options;
    struct spec_hardware hardware;
    struct requests measured;
    struct base_text trace;     /* path of its arrivals as a trace, when the file itself is none */
    struct base_text condition; /* what the file says of the run; may be empty */
    size_t failed_count;        /* requests that the server did not answer */
    struct request *simulated;  /* by index of arrival */
    size_t simulated_count;
    size_t first_count; /* requests that are fitted */
    enum kvsim_status status;
    struct kvsim_error err;
};

static const char *const columns[] = {"arrival_s", "input_tokens", "output_tokens",
                                      "ttft_ms",   "tpot_ms",      "latency_ms"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static bool columns_find(const struct conf_rows *rows, int found[COLUMNS])
{
    bool ok = true;
    for (size_t i = 0; i < COLUMNS; i++) {
        found[i] = conf_rows_column(rows, columns[i]);
        ok = ok && found[i] >= 0;
    }
    return ok;
}

bool calib_requests_knows(const char *path)
{
    struct conf_rows *rows;
    struct kvsim_error err;
    int found[COLUMNS];
    if (calib_served_knows(path))
        return true;
    if (conf_rows_open(path, &rows, &err) != KVSIM_OK)
        return false;
    bool ok = columns_find(rows, found);
    conf_rows_close(rows);
    return ok;
}

/* A scenario takes arrivals from a file alone: one that is removed with the run. */
static enum kvsim_status write_trace(const struct calib_served *served, struct base_text *path,
                                     struct kvsim_error *err)
{
    const char *folder = getenv("TMPDIR");
    struct base_text text = {0};
    base_text_printf(path, "%s/kvsim-arrivals-XXXXXX",
                     folder == NULL || folder[0] == '\0' ? "/tmp" : folder);
    int descriptor = mkstemp(path->at);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (file == NULL) {
        enum kvsim_status status =
            base_fail(err, KVSIM_ERR_IO, "cannot be written: %s", strerror(errno));
        base_error_at(err, path->at, 0, 0);
        base_text_free(path);
        return status;
    }
    calib_served_print_trace(served, &text);
    bool ok = fwrite(text.at, 1, text.count, file) == text.count;
    ok = fclose(file) == 0 && ok;
    base_text_free(&text);
    if (ok)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_IO, "cannot be written: %s", strerror(errno));
    base_error_at(err, path->at, 0, 0);
    return err->status;
}

static enum kvsim_status read_served(const char *path, struct run *run, struct kvsim_error *err)
{
    struct calib_served served;
    enum kvsim_status status = calib_served_read(path, &served, err);
    for (size_t i = 0; i < served.count && status == KVSIM_OK; i++) {
        const struct calib_served_request *at = &served.at[i];
        struct request request = {at->ttft_ms, at->tpot_ms, at->e2e_ms};
        base_vec_push(&run->measured, request);
    }
    if (status == KVSIM_OK)
        status = write_trace(&served, &run->trace, err);
    if (status == KVSIM_OK)
        base_text_add(&run->condition, served.condition.at);
    run->failed_count = served.failed_count;
    calib_served_free(&served);
    return status;
}

/* Times that a client can have seen; an answer of one token has no time between tokens, empty or 0. */
static enum kvsim_status read_row(const struct conf_rows *rows, const int found[COLUMNS],
                                  struct request *out, struct kvsim_error *err)
{
    double *const values[] = {&out->ttft, &out->tpot, &out->e2e};
    for (size_t i = 0; i < 3; i++) {
        int column = found[3 + i];
        const char *text = conf_rows_text(rows, column);
        bool is_tpot = values[i] == &out->tpot;
        *values[i] = NAN;
        if (text == NULL || text[0] == '\0')
            continue;
        enum kvsim_status status = conf_rows_real(rows, column, values[i], err);
        if (status != KVSIM_OK)
            return status;
        if (!(*values[i] > 0) && !(is_tpot && *values[i] == 0))
            return conf_rows_fail(rows, column, err, "out-of-range",
                                  "'%s' is %g ms: a time that was waited for is positive",
                                  columns[3 + i], *values[i]);
        if (*values[i] == 0)
            *values[i] = NAN;
    }
    if (out->ttft > out->e2e * 1.001)
        return conf_rows_fail(rows, found[5], err, "out-of-range",
                              "the first token came after %g ms and the last after %g ms",
                              out->ttft, out->e2e);
    return KVSIM_OK;
}

static enum kvsim_status read_rows(const char *path, struct requests *out, struct kvsim_error *err)
{
    struct conf_rows *rows;
    int found[COLUMNS];
    bool more = true;
    enum kvsim_status status = conf_rows_open(path, &rows, err);
    if (status != KVSIM_OK)
        return status;
    if (!columns_find(rows, found))
        status = conf_rows_fail(
            rows, -1, err, "missing-column",
            "requests have arrival_s, input_tokens, output_tokens, ttft_ms, tpot_ms, latency_ms");
    while (status == KVSIM_OK && (status = conf_rows_next(rows, &more, err)) == KVSIM_OK && more) {
        struct request request;
        status = read_row(rows, found, &request, err);
        if (status == KVSIM_OK)
            base_vec_push(out, request);
    }
    conf_rows_close(rows);
    return status;
}

static enum kvsim_status read_requests(const char *path, struct run *run, struct kvsim_error *err)
{
    return calib_served_knows(path) ? read_served(path, run, err)
                                    : read_rows(path, &run->measured, err);
}

static double ms_of(int64_t ns)
{
    return ns < 0 ? (double)NAN : 1e-6 * (double)ns;
}

static void take_request(struct record_sink *sink, const struct record_request *row)
{
    struct run *run = (struct run *)sink;
    if (row->index < run->simulated_count && row->outcome == RECORD_OUTCOME_COMPLETED)
        run->simulated[row->index] =
            (struct request){ms_of(row->ttft_ns), ms_of(row->tpot_ns), ms_of(row->e2e_ns)};
}

static const struct record_sink_ops run_ops = {.on_request = take_request};

static enum kvsim_status run_init(struct run *run, const char *scenario, const char *hardware,
                                  const char *file, double first_share, struct kvsim_error *err)
{
    *run = (struct run){.sink = {.ops = &run_ops, .request_limit = UINT64_MAX}};
    enum kvsim_status status = read_requests(file, run, err);
    if (status != KVSIM_OK)
        return status;
    const struct scenario_override overrides[] = {
        {"workload", "{arrival: {process: trace}}"},
        {"workload.arrival.file", run->trace.count > 0 ? run->trace.at : file},
        {"run", "{replications: 1}"},
        {"cost", "{level: datasheet}"},
        {"hardware", hardware},
    };
    const struct scenario_request request = {.path = scenario,
                                             .overrides = overrides,
                                             .override_count = hardware == NULL ? 4 : 5,
                                             .purpose = SCENARIO_FOR_RUN};
    struct kvsim_diags diags = {0};
    status = scenario_load(&request, &run->scenario, &diags);
    if (status != KVSIM_OK) {
        *err = diags.at[0];
        return status;
    }
    run->config = *scenario_config(run->scenario);
    if (run->config.hardware == NULL)
        return base_fail(err, KVSIM_ERR_SCENARIO, "%s names no hardware", scenario);
    if (!run->config.waterfall.starts)
        return base_fail(err, KVSIM_ERR_REFUSED,
                         "%s cannot start on %s, so no server was measured under it; 'kvsim size' "
                         "shows which bytes are missing",
                         scenario, run->config.hardware->name);
    run->hardware = *run->config.hardware;
    run->options = *run->config.cost.options;
    run->config.hardware = run->config.cost.hardware = &run->hardware;
    run->config.cost.options = &run->options;
    run->simulated_count = run->measured.count;
    run->simulated = base_alloc(base_mul_size(run->simulated_count + 1, sizeof *run->simulated));
    run->first_count = (size_t)floor(first_share * (double)run->measured.count + 0.5);
    return KVSIM_OK;
}

static void run_free(struct run *run)
{
    if (run->trace.count > 0)
        unlink(run->trace.at);
    base_text_free(&run->trace);
    base_text_free(&run->condition);
    base_vec_free(&run->measured);
    base_free(run->simulated);
    scenario_free(run->scenario);
}

static enum kvsim_status simulate(struct run *run, const struct spec_calibration *calibration)
{
    struct serve_result *result = base_alloc(sizeof *result);
    struct serve_run_options options = {.replication = 1, .mode = SERVE_JUMP, .sink = &run->sink};
    run->options.has_level = true;
    run->options.level = calibration == NULL ? COST_DATASHEET : COST_CALIBRATED;
    run->hardware.has_calibration = calibration != NULL;
    if (calibration != NULL)
        run->hardware.calibration = *calibration;
    for (size_t i = 0; i < run->simulated_count; i++)
        run->simulated[i] = (struct request){NAN, NAN, NAN};
    run->status = serve_run(&run->config, &options, result, &run->err);
    serve_result_release(result);
    base_free(result);
    return run->status;
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void mean_and_p99(double *values, size_t count, double *mean, double *p99)
{
    *mean = *p99 = NAN;
    if (count == 0)
        return;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    qsort(values, count, sizeof *values, compare);
    double at = 0.99 * (double)(count - 1);
    size_t low = (size_t)at;
    double high = low + 1 < count ? values[low + 1] : values[low];
    *mean = sum / (double)count;
    *p99 = values[low] + (at - (double)low) * (high - values[low]);
}

static void latencies_of(const struct request *requests, size_t first, size_t count,
                         struct calib_latencies *out)
{
    double *values = base_alloc(base_mul_size(count + 1, sizeof *values));
    double *const means[] = {&out->ttft_mean, &out->tpot_mean, &out->e2e_mean};
    double *const tails[] = {&out->ttft_p99, &out->tpot_p99, &out->e2e_p99};
    for (size_t metric = 0; metric < 3; metric++) {
        size_t kept = 0;
        for (size_t i = first; i < count; i++) {
            const double all[] = {requests[i].ttft, requests[i].tpot, requests[i].e2e};
            if (isfinite(all[metric]))
                values[kept++] = all[metric];
        }
        mean_and_p99(values, kept, means[metric], tails[metric]);
    }
    base_free(values);
}

enum kvsim_status calib_replay(const char *scenario, const char *hardware, const char *file,
                               const struct spec_calibration *calibration, double first_share,
                               struct calib_replay *out, struct kvsim_error *err)
{
    struct run *run = base_alloc(sizeof *run);
    *out = (struct calib_replay){0};
    enum kvsim_status status = run_init(run, scenario, hardware, file, first_share, err);
    if (status == KVSIM_OK && (status = simulate(run, calibration)) != KVSIM_OK)
        *err = run->err;
    if (status == KVSIM_OK) {
        size_t first = first_share < 1 ? run->first_count : 0;
        out->request_count = run->measured.count - first;
        latencies_of(run->measured.at, first, run->measured.count, &out->measured);
        latencies_of(run->simulated, first, run->measured.count, &out->predicted);
    }
    run_free(run);
    base_free(run);
    return status;
}

/* ---- the fit ---- */

static const enum spec_coefficient host_coefficients[] = {SPEC_HOST_STEP, SPEC_HOST_SEQUENCE,
                                                          SPEC_HOST_EXPOSED};
enum {
    HOST_COUNT = sizeof host_coefficients / sizeof host_coefficients[0],
    FIT_MAX = HOST_COUNT + 2
};

struct host_work {
    struct run *run;
    const struct spec_calibration *base;
};

/* The collective of the run's own number of GPUs: the base's, or a new one; NULL on one GPU. */
static struct spec_collective *collective_of(const struct run *run,
                                             struct spec_calibration *calibration)
{
    uint32_t gpu_count = run->config.tensor_parallel;
    for (size_t i = 0; i < calibration->collective_count; i++)
        if (calibration->collectives[i].gpu_count == gpu_count)
            return &calibration->collectives[i];
    if (gpu_count < 2 || calibration->collective_count == SPEC_COLLECTIVES_MAX)
        return NULL;
    struct spec_collective *made = &calibration->collectives[calibration->collective_count++];
    *made = (struct spec_collective){.gpu_count = gpu_count};
    return made;
}

/* `values`: the host's coefficients, then latency and bandwidth of the collective where there is one. */
static void calibration_of(const struct host_work *work, const double *values,
                           struct spec_calibration *out)
{
    *out = *work->base;
    for (size_t i = 0; i < HOST_COUNT; i++) {
        out->has[host_coefficients[i]] = true;
        out->value[host_coefficients[i]] = values[i];
    }
    struct spec_collective *collective = collective_of(work->run, out);
    if (collective != NULL)
        *collective = (struct spec_collective){collective->gpu_count, values[HOST_COUNT],
                                               values[HOST_COUNT + 1], 0, 0};
}

/* TPOT and TTFT of each fitted request, in turn. */
static void predict(void *context, const double *values, double *predicted)
{
    struct host_work *work = context;
    struct spec_calibration calibration;
    calibration_of(work, values, &calibration);
    enum kvsim_status status = simulate(work->run, &calibration);
    for (size_t i = 0; i < work->run->first_count; i++) {
        predicted[2 * i] = status == KVSIM_OK ? work->run->simulated[i].tpot : (double)NAN;
        predicted[2 * i + 1] = status == KVSIM_OK ? work->run->simulated[i].ttft : (double)NAN;
    }
}

static size_t add_parameters(const struct run *run, const struct calib_result *result,
                             struct calib_parameter parameters[FIT_MAX])
{
    const double small = 1e3, large = 32e6;
    struct cost_rates rates;
    struct kvsim_error err;
    static const double first[HOST_COUNT] = {300e-6, 10e-6, 200e-6};
    for (size_t i = 0; i < HOST_COUNT; i++) {
        const struct spec_coefficient_row *row = &spec_coefficients[host_coefficients[i]];
        parameters[i] = (struct calib_parameter){
            .name = row->name, .initial = first[i], .min = row->min, .max = row->max, .prior = 1.5};
        if (result->calibration.has[host_coefficients[i]])
            parameters[i].initial = result->calibration.value[host_coefficients[i]];
    }
    uint32_t gpu_count = run->config.tensor_parallel;
    if (gpu_count < 2 ||
        cost_rates_init(&rates, &run->hardware, COST_KERNELS_CURRENT, &err) != KVSIM_OK)
        return HOST_COUNT;
    cost_rates_calibrate(&rates, &result->calibration);
    double at_small = cost_all_reduce(&rates, gpu_count, small).s,
           at_large = cost_all_reduce(&rates, gpu_count, large).s;
    double rate = 2.0 * (gpu_count - 1.0) / gpu_count * large / (at_large - at_small);
    parameters[HOST_COUNT] = (struct calib_parameter){
        .name = "all_reduce latency", .initial = at_small, .min = 1e-7, .max = 1e-2, .prior = 1};
    parameters[HOST_COUNT + 1] = (struct calib_parameter){
        .name = "all_reduce bandwidth", .initial = rate, .min = 1e7, .max = 2e12, .prior = 1};
    return HOST_COUNT + 2;
}

static void keep_host(const struct host_work *work, struct calib_result *result,
                      const struct calib_parameter parameters[FIT_MAX])
{
    double values[FIT_MAX];
    struct spec_calibration all;
    for (size_t i = 0; i < FIT_MAX; i++)
        values[i] = parameters[i].value;
    calibration_of(work, values, &all);
    memcpy(result->calibration.collectives, all.collectives, sizeof all.collectives);
    result->calibration.collective_count = all.collective_count;
    if (result->coefficient_count == 0) {
        for (size_t i = 0; i < SPEC_COEFFICIENT_COUNT; i++)
            result->coefficients[i] = (struct calib_coefficient){.name = spec_coefficients[i].name,
                                                                 .unit = spec_coefficients[i].unit};
        result->coefficient_count = SPEC_COEFFICIENT_COUNT;
    }
    for (size_t i = 0; i < HOST_COUNT; i++) {
        enum spec_coefficient at = host_coefficients[i];
        result->coefficients[at].before = parameters[i].initial;
        result->coefficients[at].value = parameters[i].value;
        result->coefficients[at].spread = parameters[i].spread;
        result->coefficients[at].is_determined = parameters[i].is_determined;
        result->calibration.has[at] = parameters[i].is_determined;
        result->calibration.value[at] = parameters[i].value;
    }
}

/* Errors of the requests that were not fitted, or of all when all were. */
static void add_errors(struct run *run, const struct spec_calibration *calibration, bool is_before,
                       struct calib_result *result)
{
    static const char *const names[] = {"requests tpot", "requests ttft", "requests e2e"};
    if (simulate(run, calibration) != KVSIM_OK)
        return;
    size_t begin = run->first_count < run->measured.count ? run->first_count : 0;
    for (size_t metric = 0; metric < 3; metric++) {
        struct calib_error_list errors = {0};
        for (size_t i = begin; i < run->measured.count; i++) {
            const struct request *got = &run->simulated[i], *want = &run->measured.at[i];
            const double ratios[] = {got->tpot / want->tpot, got->ttft / want->ttft,
                                     got->e2e / want->e2e};
            if (isfinite(ratios[metric]))
                base_vec_push(&errors, ratios[metric] - 1);
        }
        struct calib_group_errors *group = &result->groups[result->group_count + metric];
        snprintf(group->name, sizeof group->name, "%s", names[metric]);
        calib_errors_of(errors.at, errors.count, is_before ? &group->before : &group->fitted);
        if (!is_before)
            group->crossed = group->fitted; // not fitted, where a part was left out
        base_vec_free(&errors);
    }
    if (!is_before)
        result->group_count += 3;
}

/* Times between tokens against the device's alone: hosts and queues only add to them. `simulated` must be filled. */
static enum kvsim_status check_scale(const struct run *run, struct kvsim_error *err)
{
    size_t count = 0;
    double *measured = base_alloc(base_mul_size(run->measured.count + 1, sizeof *measured));
    double *least = base_alloc(base_mul_size(run->measured.count + 1, sizeof *least));
    for (size_t i = 0; i < run->measured.count; i++) {
        if (!(run->measured.at[i].tpot > 0) || !(run->simulated[i].tpot > 0))
            continue;
        measured[count] = run->measured.at[i].tpot;
        least[count++] = run->simulated[i].tpot;
    }
    enum kvsim_status status =
        calib_check_scale(measured, least, count, "times between tokens", err);
    base_free(measured);
    base_free(least);
    return status;
}

/* What is half off after the fit was served by something else than the scenario says. */
static enum kvsim_status check_fitted(const struct calib_result *result, struct kvsim_error *err)
{
    const struct calib_errors *e2e = &result->groups[result->group_count - 1].fitted;
    if (e2e->median <= 0.5)
        return KVSIM_OK;
    return base_fail(err, KVSIM_ERR_SCENARIO,
                     "the requests do not follow the scenario: half of them are more than %.0f %% "
                     "off after the fit",
                     100 * e2e->median);
}

static enum kvsim_status fit_host(struct run *run, struct calib_result *result,
                                  struct kvsim_error *err)
{
    struct calib_parameter parameters[FIT_MAX] = {{.name = NULL}};
    struct spec_calibration before = result->calibration;
    struct host_work work = {run, &before};
    size_t rows = 2 * run->first_count;
    double *measured = base_alloc(base_mul_size(rows + 1, sizeof *measured));
    bool *is_left_out = base_alloc(base_mul_size(rows + 1, sizeof *is_left_out));
    for (size_t i = 0; i < run->first_count; i++) {
        measured[2 * i] = run->measured.at[i].tpot;
        measured[2 * i + 1] = run->measured.at[i].ttft;
    }
    for (size_t i = 0; i < rows; i++) {
        is_left_out[i] = !(measured[i] > 0) || !isfinite(measured[i]);
        measured[i] = is_left_out[i] ? 1 : measured[i];
    }
    enum kvsim_status status = check_scale(run, err);
    if (status != KVSIM_OK) {
        base_free(is_left_out);
        base_free(measured);
        return status;
    }
    size_t parameter_count = add_parameters(run, result, parameters);
    add_errors(run, &before, true, result);
    struct calib_problem problem = {.parameters = parameters,
                                    .parameter_count = parameter_count,
                                    .row_count = rows,
                                    .measured = measured,
                                    .is_left_out = is_left_out,
                                    .predict = predict,
                                    .context = &work,
                                    .is_rough = true};
    struct calib_fit found;
    status = calib_fit_run(&problem, &found, err);
    if (status == KVSIM_OK) {
        keep_host(&work, result, parameters);
        add_errors(run, &result->calibration, false, result);
        for (size_t i = 0; i < run->first_count; i++) {
            size_t times = (is_left_out[2 * i] ? 0U : 1U) + (is_left_out[2 * i + 1] ? 0U : 1U);
            result->row_count += times > 0;
            result->time_count += times;
        }
        status = check_fitted(result, err);
        result->outlier_count += found.outlier_count;
        result->untimed_count += run->failed_count;
        if (result->condition[0] == '\0' && run->condition.count > 0)
            result->condition = base_arena_copy(&result->arena, run->condition.at);
    }
    base_free(is_left_out);
    base_free(measured);
    return status;
}

enum kvsim_status calib_requests_fit(const struct calib_request *request, const char *file,
                                     struct calib_result *result, struct kvsim_error *err)
{
    enum { REQUESTS_LEAST = 10 };
    if (request->scenario == NULL)
        return base_fail(err, KVSIM_ERR_USAGE,
                         "%s holds a server's requests: --scenario must name what it ran", file);
    struct run *run = base_alloc(sizeof *run);
    enum kvsim_status status =
        run_init(run, request->scenario, request->hardware, file, request->first_share, err);
    if (status == KVSIM_OK && run->first_count < REQUESTS_LEAST)
        status = base_fail(err, KVSIM_ERR_SCENARIO, "%zu requests are too few to fit: at least %d",
                           run->first_count, (int)REQUESTS_LEAST);
    if (status == KVSIM_OK && (status = simulate(run, &result->calibration)) != KVSIM_OK)
        *err = run->err;
    if (status == KVSIM_OK)
        status = fit_host(run, result, err);
    run_free(run);
    base_free(run);
    return status;
}
