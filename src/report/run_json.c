#include "report/run.h"

#include "base/text.h"

#include <string.h>

static void put_optional(struct report_json *json, const char *key, int64_t value)
{
    if (value < 0)
        report_json_null(json, key);
    else
        report_json_integer(json, key, value);
}

static void put_summary(struct report_json *json, const struct record_run *run)
{
    if (run->run_id > 0)
        report_json_integer(json, "run_id", run->run_id);
    else
        report_json_null(json, "run_id");
    report_json_text(json, "created_at", run->created_at);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        report_json_value(json, record_summary_columns[i].name, &run->summary[i]);
    report_json_real(json, "wall_s", run->wall_s);
}

static void put_slo(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "slo");
    for (size_t i = 0; i < run->slo_lines.count; i++)
        report_json_text(json, NULL, run->slo_lines.at[i]);
    report_json_end_list(json);
}

static void put_metrics(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "metrics");
    for (size_t i = 0; i < run->metrics.count; i++) {
        const struct record_metric *row = &run->metrics.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "name", row->name);
        report_json_text(json, "statistic", row->statistic);
        report_json_text(json, "class", row->class_name);
        report_json_text(json, "unit", row->unit);
        report_json_real(json, "value", row->value);
        report_json_real(json, "ci_low", row->ci_low);
        report_json_real(json, "ci_high", row->ci_high);
        report_json_integer(json, "n", row->n);
        report_json_text(json, "method", row->method);
        report_json_text(json, "claim", row->claim);
        report_json_text(json, "basis", row->basis);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_metric_by(struct report_json *json, const char *dimension, const char *group,
                          const struct record_metric *row)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, dimension, group);
    report_json_text(json, "group_name", group);
    report_json_text(json, "name", row->name);
    report_json_text(json, "statistic", row->statistic);
    report_json_text(json, "unit", row->unit);
    report_json_real(json, "value", row->value);
    report_json_real(json, "ci_low", row->ci_low);
    report_json_real(json, "ci_high", row->ci_high);
    report_json_integer(json, "n", row->n);
    report_json_end_object(json);
}

/* The group of a row of metrics_by ("replica:0" of "replica" is "0"), or NULL when it has another dimension. */
static const char *group_of(const struct record_metric *row, const char *dimension)
{
    size_t length = strlen(dimension);
    bool is_of = strncmp(row->class_name, dimension, length) == 0 && row->class_name[length] == ':';
    return is_of ? row->class_name + length + 1 : NULL;
}

static bool has_dimension(const struct record_run *run, const char *dimension)
{
    for (size_t i = 0; i < run->metrics_by.count; i++) {
        if (group_of(&run->metrics_by.at[i], dimension) != NULL)
            return true;
    }
    return false;
}

/* The same rows as the view run_metric_by: those of metrics_by, and for classes those of metrics. */
static void put_dimension(struct report_json *json, const struct record_run *run,
                          const char *dimension)
{
    bool is_own = has_dimension(run, dimension), is_class = strcmp(dimension, "class") == 0;
    if (!is_own && !is_class)
        return;
    char key[32] = "by_";
    base_copy(key + 3, sizeof key - 3, dimension);
    report_json_begin_list(json, key);
    for (size_t i = 0; i < run->metrics_by.count; i++) {
        const char *group = group_of(&run->metrics_by.at[i], dimension);
        if (group != NULL)
            put_metric_by(json, dimension, group, &run->metrics_by.at[i]);
    }
    for (size_t i = 0; i < run->metrics.count && !is_own; i++) {
        const struct record_metric *row = &run->metrics.at[i];
        if (row->class_name[0] != '\0')
            put_metric_by(json, dimension, row->class_name, row);
    }
    report_json_end_list(json);
}

static void put_ledger(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "ledger");
    for (size_t i = 0; i < run->ledger.count; i++) {
        const struct record_ledger_row *row = &run->ledger.at[i];
        report_json_begin_object(json, NULL);
        report_json_integer(json, "replica", row->replica);
        report_json_text(json, "at", row->at);
        report_json_text(json, "component", row->component);
        report_json_integer(json, "bytes", row->bytes);
        put_optional(json, "tokens", row->tokens);
        report_json_text(json, "claim", row->claim);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_waterfall(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "waterfall");
    for (size_t i = 0; i < run->waterfall.count; i++) {
        const struct record_waterfall_row *row = &run->waterfall.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "line", row->line);
        report_json_integer(json, "bytes_per_gpu", row->bytes_per_gpu);
        report_json_text(json, "claim", row->claim);
        report_json_text(json, "source", row->source);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_limits(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "limits");
    for (size_t i = 0; i < run->limits.count; i++) {
        const struct record_limit_row *row = &run->limits.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "kind", row->kind);
        report_json_text(json, "phase", row->phase);
        report_json_text(json, "name", row->name);
        report_json_real(json, "share", row->share);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_tiers(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "tiers");
    for (size_t i = 0; i < run->tiers.count; i++) {
        const struct record_tier_row *row = &run->tiers.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "tier", row->tier);
        report_json_real(json, "capacity_bytes", row->capacity_bytes);
        report_json_real(json, "hit_tokens", row->hit_tokens);
        report_json_real(json, "queried_tokens", row->queried_tokens);
        report_json_real(json, "hit_rate", row->hit_rate);
        report_json_real(json, "hit_blocks", row->hit_blocks);
        report_json_real(json, "bytes_in", row->bytes_in);
        report_json_real(json, "bytes_out", row->bytes_out);
        report_json_real(json, "link_busy", row->link_busy);
        report_json_real(json, "read_busy", row->read_busy);
        report_json_real(json, "write_busy", row->write_busy);
        report_json_real(json, "evicted", row->evicted);
        report_json_real(json, "refused_stores", row->refused_stores);
        report_json_real(json, "held_bytes", row->held_bytes);
        report_json_real(json, "read_wait_ms", row->read_wait_ms);
        report_json_real(json, "write_wait_ms", row->write_wait_ms);
        report_json_text(json, "claim", row->claim);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_tail(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "tail");
    for (size_t i = 0; i < run->tails.count; i++) {
        const struct record_tail_row *row = &run->tails.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "metric", row->metric);
        report_json_text(json, "cause", row->cause);
        report_json_real(json, "share", row->share);
        report_json_real(json, "ms", row->ms);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_caveats(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "caveats");
    for (size_t i = 0; i < run->caveats.count; i++) {
        report_json_begin_object(json, NULL);
        report_json_text(json, "code", run->caveats.at[i].code);
        report_json_text(json, "text", run->caveats.at[i].text);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_params(struct report_json *json, const struct record_run *run)
{
    report_json_begin_list(json, "params");
    for (size_t i = 0; i < run->params.count; i++) {
        const struct record_param_row *row = &run->params.at[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "key", row->key);
        report_json_text(json, "value", row->value);
        report_json_text(json, "unit", row->unit);
        report_json_text(json, "origin", row->origin);
        report_json_text(json, "claim", row->claim);
        report_json_text(json, "source", row->source);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

void report_run_json_object(struct report_json *json, const char *key, const struct record_run *run)
{
    static const char *const dimensions[] = {"class", "stage", "replica", "role", "turn"};
    report_json_begin_object(json, key);
    put_summary(json, run);
    put_slo(json, run);
    put_metrics(json, run);
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
        put_dimension(json, run, dimensions[i]);
    put_ledger(json, run);
    put_waterfall(json, run);
    put_limits(json, run);
    put_tiers(json, run);
    put_tail(json, run);
    put_caveats(json, run);
    put_params(json, run);
    report_json_end_object(json);
}

void report_run_json(FILE *out, const struct record_run *run)
{
    struct report_json json;
    report_json_init(&json, out);
    report_run_json_object(&json, NULL, run);
    report_json_finish(&json);
}

void report_json_list_begin(struct report_json *json, FILE *out)
{
    report_json_init(json, out);
    report_json_begin_list(json, NULL);
}

void report_json_list_end(struct report_json *json)
{
    report_json_end_list(json);
    report_json_finish(json);
}
