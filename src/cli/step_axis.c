/*
 * step_axis.c - `kvsim step --axis KEY=LIST`: one step under each value, capacity and speed side by side.
 *
 * What a token's KV takes says how many fit; what attention and the whole step take says how fast they go. The first value is
 * what the others are set against.
 */
#include "cli/step.h"

#include "cli/input.h"

#include "report/csv.h"
#include "report/json.h"
#include "report/number.h"
#include "report/table.h"
#include "study/axes.h"
#include "study/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ms_per_tick = 1e-6 / (double)BASE_TICKS_PER_NS;

/* What becomes of the conversion of a narrow cache to what attention computes in. */
enum conversion { CONVERSION_NONE, CONVERSION_HIDDEN, CONVERSION_STATED };
static const char *const conversion_names[] = {"none", "hidden", "stated"};

struct row {
    const char *value, *model, *hardware, *kv_cache_dtype;
    int64_t lower_bound_bytes, slot_bytes; /* of a token, over all GPUs */
    double attention_ms, step_ms;
    const char *bound;
    enum conversion conversion;
};

static enum conversion conversion_of(const struct serve_config *config)
{
    const struct cost_options *options = config->cost.options;
    if (config->layout.k_format.bits_per_element >= 16)
        return CONVERSION_NONE;
    for (size_t i = 0; options != NULL && i < options->kv_dtype_count; i++) {
        if (options->kv_dtypes[i].dequant_ns_per_token > 0 &&
            strcmp(options->kv_dtypes[i].name, config->kv_cache_dtype) == 0)
            return CONVERSION_STATED;
    }
    return CONVERSION_HIDDEN;
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

static void fill_row(const struct study_step_engine *engine, const struct cost_explanation *step,
                     struct base_arena *arena, struct row *out)
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
                                 struct base_arena *arena, struct row *out, struct kvsim_error *err)
{
    static const char *const as_stated[STUDY_STEP_KEY_COUNT] = {NULL};
    struct study_step_engine *engine;
    struct cost_explanation step;
    enum study_step_key fault;
    enum kvsim_status status = study_steps_engine(steps, as_stated, &engine, &fault, err);
    if (status == KVSIM_OK)
        status = study_step_explain(engine, batch, &step, err);
    if (status == KVSIM_OK)
        fill_row(engine, &step, arena, out);
    return status;
}

static int explain_value(const struct cli_args *args, const struct study_axis *axis, size_t at,
                         const struct study_step_batch *batch, struct base_arena *arena,
                         struct row *out)
{
    struct scenario_request request;
    cli_step_request(args, false, &request);
    struct scenario_override *overrides =
        base_arena_array(arena, request.override_count + 1, sizeof *overrides);
    for (size_t i = 0; i < request.override_count; i++)
        overrides[i] = request.overrides[i];
    out->value = axis->values.at[at];
    overrides[request.override_count] = (struct scenario_override){axis->key, out->value};
    request.overrides = overrides;
    request.override_count++;
    struct study_steps steps;
    struct kvsim_error err;
    study_steps_init(&steps, &request);
    enum kvsim_status status = explain(&steps, batch, arena, out, &err);
    if (status == KVSIM_OK && !args->is_quiet)
        cli_warn_all(&steps.diags);
    int code = 0;
    if (status != KVSIM_OK)
        code = steps.diags.count > 0 ? cli_fail_all(&steps.diags, status) : cli_fail(&err);
    study_steps_free(&steps);
    return code;
}

/* ---- the table ---- */

static void cell_count(struct report_page *page, int64_t value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, base_print_count((double)value, text, sizeof text));
}

static void cell_ms(struct report_page *page, double value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, value > 0 ? report_print_rounded(value, 4, text, sizeof text) : "-");
}

static double times(double first, double value)
{
    return first > 0 && value > 0 ? first / value : (double)NAN;
}

static void cell_times(struct report_page *page, double first, double value)
{
    char text[REPORT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%.2f", times(first, value));
    report_page_cell(page, isfinite(times(first, value)) ? text : "-");
}

static bool is_alike(const struct row *rows, size_t count, size_t offset)
{
    for (size_t i = 1; i < count; i++) {
        const char *const *a = (const char *const *)(const void *)((const char *)&rows[0] + offset);
        const char *const *b = (const char *const *)(const void *)((const char *)&rows[i] + offset);
        if (strcmp(*a, *b) != 0)
            return false;
    }
    return true;
}

static void print_conditions(struct report_page *page, const struct row *rows, size_t count,
                             const struct study_step_batch *batch)
{
    if (is_alike(rows, count, offsetof(struct row, model)))
        report_page_line(page, "model %s", rows[0].model);
    if (is_alike(rows, count, offsetof(struct row, hardware)))
        report_page_line(page, "hardware %s", rows[0].hardware);
    if (batch->decode_seq_count > 0)
        report_page_line(page, "decode: %lld sequences, each with %lld tokens in the cache",
                         (long long)batch->decode_seq_count,
                         (long long)batch->decode_context_tokens);
    for (size_t i = 0; i < batch->chunk_count; i++)
        report_page_line(page, "prefill: %lld tokens on %lld in the cache",
                         (long long)batch->chunks[i].new_tokens,
                         (long long)batch->chunks[i].cached_tokens);
}

static void print_page(const char *key, const struct row *rows, size_t count,
                       const struct study_step_batch *batch, enum report_style style)
{
    static const char *const header[] = {"bound B/token", "held B/token", "capacity x",
                                         "attention ms",  "speed x",      "step ms",
                                         "speed x",       "conversion",   "step bound"};
    struct report_page page;
    report_page_init(&page, stdout, style);
    report_page_title(&page, "One step, capacity and speed apart");
    print_conditions(&page, rows, count, batch);
    report_page_table_begin(&page, "lrrrrrrrll");
    report_page_cell(&page, key);
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        report_page_cell(&page, header[i]);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        report_page_cell(&page, row->value);
        cell_count(&page, row->lower_bound_bytes);
        cell_count(&page, row->slot_bytes);
        cell_times(&page, (double)rows[0].slot_bytes, (double)row->slot_bytes);
        cell_ms(&page, row->attention_ms);
        cell_times(&page, rows[0].attention_ms, row->attention_ms);
        cell_ms(&page, row->step_ms);
        cell_times(&page, rows[0].step_ms, row->step_ms);
        report_page_cell(&page, conversion_names[row->conversion]);
        report_page_cell(&page, row->bound);
    }
    report_page_table_end(&page);
    report_page_line(&page, "held: with scales, padding and copies over all GPUs; x: of the first "
                            "row; no memory is checked");
    report_page_line(&page, "conversion to what attention computes in: hidden takes no time beside "
                            "the reads, so the speed is a bound; cost.kv_dtype.DTYPE.dequant_cost "
                            "states what it takes");
}

static void put_real(double value)
{
    struct record_value real = {.kind = isfinite(value) ? RECORD_REAL : RECORD_NULL, .real = value};
    putchar(',');
    report_csv_value(stdout, &real);
}

static void print_csv(const char *key, const struct row *rows, size_t count)
{
    printf("%s,model,hardware,kv_cache_dtype,lower_bound_bytes_per_token,slot_bytes_per_token,"
           "capacity_ratio,attention_ms,attention_speedup,step_ms,step_speedup,conversion,bound\n",
           key);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        const char *const texts[] = {row->value, row->model, row->hardware, row->kv_cache_dtype};
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            struct record_value text = {.kind = RECORD_TEXT, .text = texts[t]};
            fputs(t > 0 ? "," : "", stdout);
            report_csv_value(stdout, &text);
        }
        printf(",%lld,%lld", (long long)row->lower_bound_bytes, (long long)row->slot_bytes);
        put_real(times((double)rows[0].slot_bytes, (double)row->slot_bytes));
        put_real(row->attention_ms);
        put_real(times(rows[0].attention_ms, row->attention_ms));
        put_real(row->step_ms);
        put_real(times(rows[0].step_ms, row->step_ms));
        printf(",%s,%s\n", conversion_names[row->conversion], row->bound);
    }
}

static void print_json(const char *key, const struct row *rows, size_t count)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        report_json_begin_object(&json, NULL);
        report_json_text(&json, "key", key);
        report_json_text(&json, "value", row->value);
        report_json_text(&json, "model", row->model);
        report_json_text(&json, "hardware", row->hardware);
        report_json_text(&json, "kv_cache_dtype", row->kv_cache_dtype);
        report_json_integer(&json, "lower_bound_bytes_per_token", row->lower_bound_bytes);
        report_json_integer(&json, "slot_bytes_per_token", row->slot_bytes);
        report_json_real(&json, "capacity_ratio",
                         times((double)rows[0].slot_bytes, (double)row->slot_bytes));
        report_json_real(&json, "attention_ms", row->attention_ms);
        report_json_real(&json, "attention_speedup",
                         times(rows[0].attention_ms, row->attention_ms));
        report_json_real(&json, "step_ms", row->step_ms);
        report_json_real(&json, "step_speedup", times(rows[0].step_ms, row->step_ms));
        report_json_text(&json, "conversion", conversion_names[row->conversion]);
        report_json_text(&json, "bound", row->bound);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}

static void print(const struct cli_args *args, const char *key, const struct row *rows,
                  size_t count, const struct study_step_batch *batch)
{
    if (args->format == CLI_JSON)
        print_json(key, rows, count);
    else if (args->format == CLI_CSV)
        print_csv(key, rows, count);
    else
        print_page(key, rows, count, batch,
                   args->format == CLI_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT);
}

static enum kvsim_status read_axis(const struct cli_args *args, struct study_axes *axes,
                                   struct kvsim_error *err)
{
    if (args->axes.count > 1)
        return base_fail(err, KVSIM_ERR_USAGE, "one --axis at a time");
    enum kvsim_status status = study_axes_add(axes, args->axes.at[0], err);
    if (status == KVSIM_OK && axes->at[0].kind != STUDY_AXIS_KEY)
        return base_fail(err, KVSIM_ERR_USAGE,
                         "context and concurrency are no axes here: give --context and --batch");
    return status;
}

int cli_step_axis(const struct cli_args *args, const struct study_step_batch *batch)
{
    struct study_axes axes;
    struct kvsim_error err = {.status = KVSIM_OK};
    study_axes_init(&axes);
    int code = 0;
    if (read_axis(args, &axes, &err) == KVSIM_OK) {
        const struct study_axis *axis = &axes.at[0];
        struct row *rows = base_arena_array(&axes.arena, axis->values.count, sizeof *rows);
        for (size_t i = 0; i < axis->values.count && code == 0; i++)
            code = explain_value(args, axis, i, batch, &axes.arena, &rows[i]);
        if (code == 0)
            print(args, axis->key, rows, axis->values.count, batch);
    } else {
        if (err.file[0] == '\0')
            base_error_at(&err, "kvsim step", 0, 0);
        code = cli_fail(&err);
    }
    study_axes_free(&axes);
    return code;
}
