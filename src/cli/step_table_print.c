/*
 * step_table_print.c - a priced table, written back row by row with what each costs.
 */
#include "cli/step_table.h"

#include "base/text.h"
#include "report/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kernel_column(int kernel)
{
    static const char *const names[] = {[CLI_GEMM] = "gemm_ms",
                                        [CLI_ATTENTION] = "attention_ms",
                                        [CLI_MLA] = "mla_ms",
                                        [CLI_ALL_REDUCE] = "all_reduce_ms"};
    return names[kernel];
}

static void add_field(struct base_text *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        base_text_add(out, text);
        return;
    }
    base_text_add(out, "\"");
    for (; *text != '\0'; text++)
        base_text_add_n(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    base_text_add(out, "\"");
}

/* Nine significant digits: finer than any input. */
static void add_ms(struct base_text *out, double ms)
{
    char text[40];
    snprintf(text, sizeof text, ",%.9g", ms);
    base_text_add(out, text);
}

static void add_csv_header(const struct cli_step_table *table, struct base_text *line)
{
    for (size_t i = 0; i < table->columns.count; i++) {
        base_text_add(line, i == 0 ? "" : ",");
        add_field(line, conf_rows_column_name(table->rows, i));
    }
    if (table->kernel > CLI_NO_KERNEL) {
        base_text_printf(line, ",%s\n", kernel_column(table->kernel));
        return;
    }
    base_text_add(line, ",step_ms,layer_ms,bound");
    for (int op = 0; op < COST_OPERATOR_COUNT; op++)
        base_text_printf(line, ",%s_ms", cost_operator_name((enum cost_operator)op));
    base_text_add(line, "\n");
}

static void add_csv_row(const struct cli_step_table *table, size_t row, struct base_text *line)
{
    size_t columns = table->columns.count;
    const struct cli_step_price *price = &table->prices.at[row];
    for (size_t i = 0; i < columns; i++) {
        base_text_add(line, i == 0 ? "" : ",");
        add_field(line, table->fields.at[row * columns + i]);
    }
    if (table->kernel > CLI_NO_KERNEL) {
        add_ms(line, price->kernel_ms);
    } else {
        add_ms(line, price->step_ms);
        add_ms(line, price->layer_ms);
        base_text_add(line, ",");
        base_text_add(line, cost_bound_name(price->bound));
        for (int op = 0; op < COST_OPERATOR_COUNT; op++)
            add_ms(line, price->operator_ms[op]);
    }
    base_text_add(line, "\n");
}

void cli_step_table_csv(const struct cli_step_table *table)
{
    struct base_text line = {0};
    add_csv_header(table, &line);
    cli_print(&line);
    for (size_t row = 0; row < table->prices.count; row++) {
        base_text_clear(&line);
        add_csv_row(table, row, &line);
        cli_print(&line);
    }
    base_text_free(&line);
}

/* A field as it was given: a number where the column holds numbers. */
static void put_field(struct report_json *json, const struct cli_step_column *kind,
                      const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (text[0] == '\0')
        report_json_null(json, kind->name);
    else if (kind->is_text || *end != '\0')
        report_json_text(json, kind->name, text);
    else
        report_json_integer(json, kind->name, value);
}

static void put_price(struct report_json *json, const struct cli_step_table *table,
                      const struct cli_step_price *price)
{
    if (table->kernel > CLI_NO_KERNEL) {
        report_json_real(json, kernel_column(table->kernel), price->kernel_ms);
        return;
    }
    report_json_real(json, "step_ms", price->step_ms);
    report_json_real(json, "layer_ms", price->layer_ms);
    report_json_text(json, "bound", cost_bound_name(price->bound));
    for (int op = 0; op < COST_OPERATOR_COUNT; op++) {
        char name[40];
        snprintf(name, sizeof name, "%s_ms", cost_operator_name((enum cost_operator)op));
        report_json_real(json, name, price->operator_ms[op]);
    }
}

void cli_step_table_json(const struct cli_step_table *table)
{
    struct report_json json;
    size_t columns = table->columns.count;
    report_json_init(&json, stdout);
    report_json_begin_list(&json, NULL);
    json.spread_depth = 1; // one line a row
    for (size_t row = 0; row < table->prices.count; row++) {
        report_json_begin_object(&json, NULL);
        for (size_t i = 0; i < columns; i++)
            put_field(&json, table->columns.at[i], table->fields.at[row * columns + i]);
        put_price(&json, table, &table->prices.at[row]);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}
