#include "report/csv.h"
#include "report/size.h"

#include <math.h>

static void put_integer(FILE *out, int64_t value)
{
    struct record_value field = {.kind = RECORD_INTEGER, .integer = value};
    fputc(',', out);
    report_csv_value(out, &field);
}

static void put_text(FILE *out, const char *text)
{
    struct record_value field = {.kind = RECORD_TEXT, .text = text};
    report_csv_value(out, &field);
}

static void put_real(FILE *out, double value)
{
    struct record_value field = {.kind = isfinite(value) ? RECORD_REAL : RECORD_NULL,
                                 .real = value};
    fputc(',', out);
    report_csv_value(out, &field);
}

static void put_header(FILE *out, const struct record_size *size)
{
    for (size_t i = 0; i < size->axis_count; i++) {
        put_text(out, size->axes[i].key);
        fputc(',', out);
    }
    fputs("model,hardware,engine,kv_cache_dtype,starts,kv_pool_bytes,kv_pool_blocks,kv_pool_tokens,"
          "max_concurrency,context_tokens,sequences,lower_bound_bytes,allocated_bytes,"
          "allocated_blocks,kv_usage,fits,concurrency_guaranteed,concurrency_limit,"
          "concurrency_running,concurrency_running_limit",
          out);
    for (size_t i = 0; size->context_count > 0 && i < size->by_context[0].ledger_count; i++)
        fprintf(out, ",%s", size->by_context[0].ledger[i].name);
    fputs(",refusal_stage,refusal_limit,needed_bytes,available_bytes,change\n", out);
}

/* The first change that holds what is asked for, or else the first that starts it. */
static const struct record_size_change *best_change(const struct record_size *size)
{
    for (size_t i = 0; i < size->change_count; i++) {
        if (size->changes[i].fits_demand)
            return &size->changes[i];
    }
    return size->change_count != 0 ? &size->changes[0] : NULL;
}

/* Why it does not start; empty where it does. */
static void put_refusal(FILE *out, const struct record_size *size)
{
    const struct record_size_change *change = best_change(size);
    if (size->refusal_stage == NULL) {
        fputs(",,,,,", out);
        return;
    }
    fputc(',', out);
    put_text(out, size->refusal_stage);
    fputc(',', out);
    put_text(out, size->refusal_limit);
    put_integer(out, size->needed_bytes);
    put_integer(out, size->available_bytes);
    fputc(',', out);
    if (change != NULL)
        fprintf(out, "%s=%s", change->key, change->value);
}

static void put_row(FILE *out, const struct record_size *size,
                    const struct record_size_context *row)
{
    for (size_t i = 0; i < size->axis_count; i++) {
        put_text(out, size->axes[i].value);
        fputc(',', out);
    }
    put_text(out, size->model);
    fputc(',', out);
    put_text(out, size->hardware);
    fputc(',', out);
    put_text(out, size->engine);
    fputc(',', out);
    put_text(out, size->kv_cache_dtype);
    fprintf(out, ",%s", size->starts ? "true" : "false");
    put_integer(out, size->kv_pool_bytes);
    put_integer(out, size->kv_pool_blocks);
    put_integer(out, size->kv_pool_tokens);
    put_real(out, size->max_concurrency);
    put_integer(out, row->context_tokens);
    put_integer(out, row->sequences);
    put_integer(out, row->lower_bound_bytes);
    put_integer(out, row->allocated_bytes);
    put_integer(out, row->allocated_blocks);
    put_real(out, row->kv_usage);
    fprintf(out, ",%s", row->fits ? "true" : "false");
    put_integer(out, row->concurrency_guaranteed);
    fprintf(out, ",%s", row->concurrency_limit);
    put_integer(out, row->concurrency_running);
    fprintf(out, ",%s", row->running_limit);
    for (size_t i = 0; i < row->ledger_count; i++)
        put_integer(out, row->ledger[i].bytes);
    put_refusal(out, size);
    fputc('\n', out);
}

/* A cell without a configuration has its axes and what is wrong with it. */
static void put_invalid(FILE *out, const struct record_size *size, size_t ledger_count)
{
    enum { COLUMNS = 20, AFTER_STARTS = 5 };
    for (size_t i = 0; i < size->axis_count; i++) {
        put_text(out, size->axes[i].value);
        fputc(',', out);
    }
    fputs(",,,,invalid", out);
    for (size_t i = AFTER_STARTS; i < COLUMNS + ledger_count; i++)
        fputc(',', out);
    fputs(",configuration,", out);
    put_text(out, size->refusal_message);
    fputs(",,,\n", out);
}

void report_sizes_csv(FILE *out, const struct record_size *sizes, size_t count)
{
    const struct record_size *first = &sizes[0];
    for (size_t i = 0; i < count && first->context_count == 0; i++)
        first = &sizes[i];
    size_t ledger_count = first->context_count > 0 ? first->by_context[0].ledger_count : 0;
    put_header(out, first);
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].refusal_message != NULL)
            put_invalid(out, &sizes[i], ledger_count);
        for (size_t j = 0; j < sizes[i].context_count; j++)
            put_row(out, &sizes[i], &sizes[i].by_context[j]);
    }
}
