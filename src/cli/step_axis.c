/*
 * step_axis.c - `kvsim step --axis KEY=LIST`: one step under each value, capacity and speed side by side (study/step_axis.h). The
 * first value is what the others are set against.
 */
#include "cli/step.h"

#include "cli/input.h"

#include "report/csv.h"
#include "report/json.h"
#include "report/number.h"
#include "report/table.h"
#include "study/step_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one value ---- */

static int explain_value(const struct cli_args *args, const struct study_axis *axis, size_t at,
                         const struct study_step_batch *batch, struct base_arena *arena,
                         struct study_step_value *out)
{
    struct scenario_request request;
    struct kvsim_diags diags;
    struct kvsim_error err;
    cli_step_request(args, false, &request);
    enum kvsim_status status = study_step_at(&request, axis, at, batch, arena, out, &diags, &err);
    if (status != KVSIM_OK)
        return diags.count > 0 ? cli_fail_all(&diags, status) : cli_fail(&err);
    if (!args->is_quiet)
        cli_warn_all(&diags);
    return 0;
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

static void cell_times(struct report_page *page, double first, double value)
{
    char text[REPORT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%.2f", study_step_times(first, value));
    report_page_cell(page, isfinite(study_step_times(first, value)) ? text : "-");
}

static bool is_alike(const struct study_step_value *rows, size_t count, size_t offset)
{
    for (size_t i = 1; i < count; i++) {
        const char *const *a = (const char *const *)(const void *)((const char *)&rows[0] + offset);
        const char *const *b = (const char *const *)(const void *)((const char *)&rows[i] + offset);
        if (strcmp(*a, *b) != 0)
            return false;
    }
    return true;
}

static void print_conditions(struct report_page *page, const struct study_step_value *rows,
                             size_t count, const struct study_step_batch *batch)
{
    if (is_alike(rows, count, offsetof(struct study_step_value, model)))
        report_page_line(page, "model %s", rows[0].model);
    if (is_alike(rows, count, offsetof(struct study_step_value, hardware)))
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

static void print_page(const char *key, const struct study_step_value *rows, size_t count,
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
        const struct study_step_value *row = &rows[i];
        report_page_cell(&page, row->value);
        cell_count(&page, row->lower_bound_bytes);
        cell_count(&page, row->slot_bytes);
        cell_times(&page, (double)rows[0].slot_bytes, (double)row->slot_bytes);
        cell_ms(&page, row->attention_ms);
        cell_times(&page, rows[0].attention_ms, row->attention_ms);
        cell_ms(&page, row->step_ms);
        cell_times(&page, rows[0].step_ms, row->step_ms);
        report_page_cell(&page, study_conversion_name(row->conversion));
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

static void print_csv(const char *key, const struct study_step_value *rows, size_t count)
{
    printf("%s,model,hardware,kv_cache_dtype,lower_bound_bytes_per_token,slot_bytes_per_token,"
           "capacity_ratio,attention_ms,attention_speedup,step_ms,step_speedup,conversion,bound\n",
           key);
    for (size_t i = 0; i < count; i++) {
        const struct study_step_value *row = &rows[i];
        const char *const texts[] = {row->value, row->model, row->hardware, row->kv_cache_dtype};
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            struct record_value text = {.kind = RECORD_TEXT, .text = texts[t]};
            fputs(t > 0 ? "," : "", stdout);
            report_csv_value(stdout, &text);
        }
        printf(",%lld,%lld", (long long)row->lower_bound_bytes, (long long)row->slot_bytes);
        put_real(study_step_times((double)rows[0].slot_bytes, (double)row->slot_bytes));
        put_real(row->attention_ms);
        put_real(study_step_times(rows[0].attention_ms, row->attention_ms));
        put_real(row->step_ms);
        put_real(study_step_times(rows[0].step_ms, row->step_ms));
        printf(",%s,%s\n", study_conversion_name(row->conversion), row->bound);
    }
}

static void print_json(const char *key, const struct study_step_value *rows, size_t count)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct study_step_value *row = &rows[i];
        report_json_begin_object(&json, NULL);
        report_json_text(&json, "key", key);
        report_json_text(&json, "value", row->value);
        report_json_text(&json, "model", row->model);
        report_json_text(&json, "hardware", row->hardware);
        report_json_text(&json, "kv_cache_dtype", row->kv_cache_dtype);
        report_json_integer(&json, "lower_bound_bytes_per_token", row->lower_bound_bytes);
        report_json_integer(&json, "slot_bytes_per_token", row->slot_bytes);
        report_json_real(&json, "capacity_ratio",
                         study_step_times((double)rows[0].slot_bytes, (double)row->slot_bytes));
        report_json_real(&json, "attention_ms", row->attention_ms);
        report_json_real(&json, "attention_speedup",
                         study_step_times(rows[0].attention_ms, row->attention_ms));
        report_json_real(&json, "step_ms", row->step_ms);
        report_json_real(&json, "step_speedup", study_step_times(rows[0].step_ms, row->step_ms));
        report_json_text(&json, "conversion", study_conversion_name(row->conversion));
        report_json_text(&json, "bound", row->bound);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}

static void print(const struct cli_args *args, const char *key, const struct study_step_value *rows,
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
        struct study_step_value *rows =
            base_arena_array(&axes.arena, axis->values.count, sizeof *rows);
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
