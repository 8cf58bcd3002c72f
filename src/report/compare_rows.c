#include "report/compare.h"

#include "report/csv.h"
#include "report/json.h"

#include <string.h>

static void put_id(struct report_json *json, const char *key, int64_t run_id)
{
    if (run_id > 0)
        report_json_integer(json, key, run_id);
    else
        report_json_null(json, key);
}

static void put_side(struct report_json *json, const char *key, const struct record_side *side)
{
    report_json_begin_object(json, key);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        report_json_value(json, record_summary_columns[i].name, &side->summary[i]);
    report_json_end_object(json);
}

static void put_params(struct report_json *json, const struct record_comparison *comparison)
{
    report_json_begin_list(json, "params");
    for (size_t i = 0; i < comparison->params.count; i++) {
        const struct record_param_difference *row = &comparison->params.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "key", row->key);
        report_json_text(json, "a", row->a);
        report_json_text(json, "b", row->b);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_figure(struct report_json *json, const struct record_comparison *comparison,
                       const struct record_difference *row)
{
    report_json_begin_object(json, NULL);
    put_id(json, "run_a", comparison->a.run_id);
    put_id(json, "run_b", comparison->b.run_id);
    report_json_text(json, "name", row->name);
    report_json_text(json, "statistic", row->statistic);
    report_json_text(json, "class", row->class_name);
    report_json_text(json, "unit", row->unit);
    report_json_real(json, "a", row->a);
    report_json_real(json, "b", row->b);
    report_json_real(json, "difference", row->difference);
    report_json_real(json, "ci_low", row->ci_low);
    report_json_real(json, "ci_high", row->ci_high);
    report_json_real(json, "ratio", row->ratio);
    report_json_real(json, "ratio_ci_low", row->ratio_ci_low);
    report_json_real(json, "ratio_ci_high", row->ratio_ci_high);
    report_json_integer(json, "n", row->n);
    if (row->more_replications < 0)
        report_json_null(json, "more_replications");
    else
        report_json_integer(json, "more_replications", row->more_replications);
    report_json_text(json, "method", row->method);
    report_json_text(json, "verdict", record_verdict_name(row->verdict));
    report_json_end_object(json);
}

static void put_bytes(struct report_json *json, const char *key,
                      const struct record_comparison *comparison, bool is_waterfall)
{
    report_json_begin_list(json, key);
    for (size_t i = 0; i < comparison->bytes.count; i++) {
        const struct record_bytes_difference *row = &comparison->bytes.at[i];
        if ((strcmp(row->at, "waterfall") == 0) != is_waterfall)
            continue;
        report_json_begin_object(json, NULL);
        if (!is_waterfall)
            report_json_text(json, "at", row->at);
        report_json_text(json, is_waterfall ? "line" : "component", row->component);
        report_json_integer(json, "a", row->a);
        report_json_integer(json, "b", row->b);
        report_json_integer(json, "difference", row->b - row->a);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_shares(struct report_json *json, const char *key,
                       const struct record_comparison *comparison, bool is_tail)
{
    report_json_begin_list(json, key);
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        if ((strcmp(row->kind, "tail_ms") == 0) != is_tail)
            continue;
        report_json_begin_object(json, NULL);
        if (is_tail) {
            report_json_text(json, "metric", row->phase);
            report_json_text(json, "cause", row->name);
        } else {
            report_json_text(json, "kind", row->kind);
            report_json_text(json, "phase", row->phase);
            report_json_text(json, "name", row->name);
        }
        report_json_real(json, "a", row->a);
        report_json_real(json, "b", row->b);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

void report_compare_json(FILE *out, const struct record_comparison *comparison)
{
    struct report_json json;
    report_json_init(&json, out);
    report_json_begin_object(&json, NULL);
    put_id(&json, "run_a", comparison->a.run_id);
    put_id(&json, "run_b", comparison->b.run_id);
    report_json_bool(&json, "paired", comparison->is_paired);
    put_side(&json, "a", &comparison->a);
    put_side(&json, "b", &comparison->b);
    put_params(&json, comparison);
    report_json_begin_list(&json, "metrics");
    for (size_t i = 0; i < comparison->figures.count; i++)
        put_figure(&json, comparison, &comparison->figures.at[i]);
    report_json_end_list(&json);
    put_bytes(&json, "ledger", comparison, false);
    put_bytes(&json, "waterfall", comparison, true);
    put_shares(&json, "limits", comparison, false);
    put_shares(&json, "tail", comparison, true);
    report_json_end_object(&json);
    report_json_finish(&json);
}

static void put_csv_id(FILE *out, int64_t run_id)
{
    if (run_id > 0)
        fprintf(out, "%lld", (long long)run_id);
}

static void put_csv_row(FILE *out, const struct record_comparison *comparison,
                        const struct record_difference *row)
{
    const char *const texts[] = {row->name, row->statistic, row->class_name, row->unit};
    const double reals[] = {row->a,       row->b,     row->difference,   row->ci_low,
                            row->ci_high, row->ratio, row->ratio_ci_low, row->ratio_ci_high};
    put_csv_id(out, comparison->a.run_id);
    fputc(',', out);
    put_csv_id(out, comparison->b.run_id);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputc(',', out);
        report_csv_field(out, texts[i]);
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct record_value value = {.kind = RECORD_REAL, .real = reals[i]};
        fputc(',', out);
        report_csv_value(out, &value);
    }
    fprintf(out, ",%lld,", (long long)row->n);
    if (row->more_replications >= 0)
        fprintf(out, "%lld", (long long)row->more_replications);
    fprintf(out, ",%s,%s\n", row->method, record_verdict_name(row->verdict));
}

void report_compare_csv(FILE *out, const struct record_comparison *comparison)
{
    fputs("run_a,run_b,name,statistic,class,unit,a,b,difference,ci_low,ci_high,ratio,ratio_ci_low,"
          "ratio_ci_high,n,more_replications,method,verdict\n",
          out);
    for (size_t i = 0; i < comparison->figures.count; i++)
        put_csv_row(out, comparison, &comparison->figures.at[i]);
}
