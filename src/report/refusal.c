#include "report/refusal.h"

#include "base/text.h"
#include "base/units.h"
#include "report/number.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>

/* A long source ends in dots, so that the row stays a line; JSON has it whole. */
static const char *print_source(const char *source, char *text, size_t bytes)
{
    if (!base_copy(text, bytes, source))
        base_copy(text + bytes - 4, 4, "...");
    return text;
}

static void print_rows(struct report_page *page, const struct report_refusal *refusal)
{
    report_page_heading(page, "MEMORY OF ONE GPU");
    report_page_table_begin(page, "lrrll");
    static const char *const header[] = {"", "GiB", "bytes", "claim", "source"};
    for (size_t c = 0; c < sizeof header / sizeof *header; c++)
        report_page_cell(page, header[c]);
    for (size_t i = 0; i < refusal->row_count; i++) {
        const struct report_refusal_row *row = &refusal->rows[i];
        char gib[REPORT_NUMBER_BYTES], bytes[REPORT_NUMBER_BYTES];
        report_page_cell(page, row->label);
        report_page_cell(page, report_print_gib((double)row->bytes, gib, sizeof gib));
        report_page_cell(page, base_print_count((double)row->bytes, bytes, sizeof bytes));
        char source[44];
        report_page_cell(page, row->claim);
        report_page_cell(page, print_source(row->source, source, sizeof source));
    }
    report_page_table_end(page);
}

static void print_changes(struct report_page *page, const struct report_refusal *refusal)
{
    report_page_heading(page, "ANY ONE OF THESE CHANGES STARTS THE ENGINE");
    report_page_table_begin(page, "ll");
    for (size_t i = 0; i < refusal->change_count; i++) {
        const struct report_refusal_change *change = &refusal->changes[i];
        char option[256];
        snprintf(option, sizeof option, "--set %s=%s", change->key, change->value);
        report_page_cell(page, option);
        report_page_cell(page, change->effect);
    }
    report_page_table_end(page);
}

void report_refusal_text(FILE *out, const struct report_refusal *refusal)
{
    char needed[REPORT_NUMBER_BYTES], available[REPORT_NUMBER_BYTES];
    struct report_page page;
    report_page_init(&page, out, REPORT_TEXT);
    report_page_title(&page, refusal->title);
    base_print_bytes((double)refusal->needed_bytes, needed, sizeof needed);
    base_print_bytes((double)refusal->available_bytes, available, sizeof available);
    report_page_line(&page, "cannot start: %s needs %s (%lld bytes), there are %s (%lld bytes)",
                     refusal->limit, needed, (long long)refusal->needed_bytes, available,
                     (long long)refusal->available_bytes);
    for (size_t i = 0; i < refusal->explanation_count; i++)
        report_page_line(&page, "%s", refusal->explanations[i]);
    if (refusal->estimated_max_model_len >= 0)
        report_page_line(&page, "the longest max_model_len that would fit is %lld tokens",
                         (long long)refusal->estimated_max_model_len);
    if (refusal->row_count > 0)
        print_rows(&page, refusal);
    if (refusal->change_count > 0)
        print_changes(&page, refusal);
}

/* A value that is a number is one in JSON too. */
static void put_change_value(struct report_json *json, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    if (end != value && *end == '\0' && isfinite(number))
        report_json_real(json, "value", number);
    else
        report_json_text(json, "value", value);
}

static void put_changes(struct report_json *json, const struct report_refusal *refusal)
{
    report_json_begin_list(json, "changes");
    for (size_t i = 0; i < refusal->change_count; i++) {
        report_json_begin_object(json, NULL);
        report_json_text(json, "key", refusal->changes[i].key);
        put_change_value(json, refusal->changes[i].value);
        report_json_text(json, "effect", refusal->changes[i].effect);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

void report_refusal_json_members(struct report_json *json, const struct report_refusal *refusal)
{
    report_json_bool(json, "starts", false);
    report_json_begin_object(json, "refusal");
    report_json_text(json, "stage", refusal->stage);
    report_json_text(json, "limit", refusal->limit);
    report_json_integer(json, "needed_bytes", refusal->needed_bytes);
    report_json_integer(json, "available_bytes", refusal->available_bytes);
    if (refusal->estimated_max_model_len >= 0)
        report_json_integer(json, "estimated_max_model_len", refusal->estimated_max_model_len);
    else
        report_json_null(json, "estimated_max_model_len");
    put_changes(json, refusal);
    report_json_begin_list(json, "explanations");
    for (size_t i = 0; i < refusal->explanation_count; i++)
        report_json_text(json, NULL, refusal->explanations[i]);
    report_json_end_list(json);
    report_json_end_object(json);
}

static void put_waterfall(struct report_json *json, const struct report_refusal *refusal)
{
    report_json_begin_list(json, "waterfall");
    for (size_t i = 0; i < refusal->row_count; i++) {
        const struct report_refusal_row *row = &refusal->rows[i];
        if (row->line == NULL)
            continue;
        report_json_begin_object(json, NULL);
        report_json_text(json, "line", row->line);
        report_json_integer(json, "bytes_per_gpu", row->bytes);
        report_json_text(json, "claim", row->claim);
        report_json_text(json, "source", row->source);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

void report_refusal_json(FILE *out, const struct report_refusal *refusal)
{
    struct report_json json;
    report_json_init(&json, out);
    report_json_begin_object(&json, NULL);
    report_refusal_json_members(&json, refusal);
    put_waterfall(&json, refusal);
    report_json_end_object(&json);
    report_json_finish(&json);
}
