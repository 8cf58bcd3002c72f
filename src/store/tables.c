#include "store/store_int.h"

#include <string.h>

static const char *cause_name(size_t element)
{
    return record_cause_name((enum record_cause)element);
}

#define FIELD(type, member, name, kind)                          \
    {                                                            \
        name, kind, offsetof(struct type, member), 0, NULL, NULL \
    }
#define ARRAY(type, member, count, names, end)                              \
    {                                                                       \
        NULL, STORE_INT64, offsetof(struct type, member), count, names, end \
    }
#define END                                 \
    {                                       \
        NULL, STORE_INT64, 0, 0, NULL, NULL \
    }

static const struct store_column metric_columns[] = {
    FIELD(record_metric, name, "name", STORE_TEXT),
    FIELD(record_metric, statistic, "statistic", STORE_TEXT),
    FIELD(record_metric, class_name, "class", STORE_TEXT),
    FIELD(record_metric, unit, "unit", STORE_TEXT),
    FIELD(record_metric, value, "value", STORE_REAL),
    FIELD(record_metric, ci_low, "ci_low", STORE_REAL),
    FIELD(record_metric, ci_high, "ci_high", STORE_REAL),
    FIELD(record_metric, n, "n", STORE_INT64),
    FIELD(record_metric, method, "method", STORE_TEXT),
    FIELD(record_metric, claim, "claim", STORE_TEXT),
    FIELD(record_metric, basis, "basis", STORE_TEXT),
    END};

static const struct store_column metric_replication_columns[] = {
    FIELD(record_replication_metric, replication, "replication", STORE_UINT32),
    FIELD(record_replication_metric, name, "name", STORE_TEXT),
    FIELD(record_replication_metric, statistic, "statistic", STORE_TEXT),
    FIELD(record_replication_metric, class_name, "class", STORE_TEXT),
    FIELD(record_replication_metric, value, "value", STORE_REAL),
    FIELD(record_replication_metric, n, "n", STORE_INT64),
    END};

static const struct store_column ledger_columns[] = {
    FIELD(record_ledger_row, replica, "replica", STORE_UINT32),
    FIELD(record_ledger_row, at, "at", STORE_TEXT),
    FIELD(record_ledger_row, component, "component", STORE_TEXT),
    FIELD(record_ledger_row, bytes, "bytes", STORE_INT64),
    FIELD(record_ledger_row, tokens, "tokens", STORE_OPTIONAL),
    FIELD(record_ledger_row, claim, "claim", STORE_TEXT),
    END};

static const struct store_column waterfall_columns[] = {
    FIELD(record_waterfall_row, line, "line", STORE_TEXT),
    FIELD(record_waterfall_row, bytes_per_gpu, "bytes_per_gpu", STORE_INT64),
    FIELD(record_waterfall_row, claim, "claim", STORE_TEXT),
    FIELD(record_waterfall_row, source, "source", STORE_TEXT), END};

static const struct store_column limit_columns[] = {
    FIELD(record_limit_row, kind, "kind", STORE_TEXT),
    FIELD(record_limit_row, phase, "phase", STORE_TEXT),
    FIELD(record_limit_row, name, "name", STORE_TEXT),
    FIELD(record_limit_row, share, "share", STORE_REAL), END};

static const struct store_column tier_columns[] = {
    FIELD(record_tier_row, tier, "tier", STORE_TEXT),
    FIELD(record_tier_row, capacity_bytes, "capacity_bytes", STORE_REAL),
    FIELD(record_tier_row, hit_tokens, "hit_tokens", STORE_REAL),
    FIELD(record_tier_row, queried_tokens, "queried_tokens", STORE_REAL),
    FIELD(record_tier_row, hit_rate, "hit_rate", STORE_REAL),
    FIELD(record_tier_row, hit_blocks, "hit_blocks", STORE_REAL),
    FIELD(record_tier_row, bytes_in, "bytes_in", STORE_REAL),
    FIELD(record_tier_row, bytes_out, "bytes_out", STORE_REAL),
    FIELD(record_tier_row, link_busy, "link_busy", STORE_REAL),
    FIELD(record_tier_row, read_busy, "read_busy", STORE_REAL),
    FIELD(record_tier_row, write_busy, "write_busy", STORE_REAL),
    FIELD(record_tier_row, evicted, "evicted", STORE_REAL),
    FIELD(record_tier_row, refused_stores, "refused_stores", STORE_REAL),
    FIELD(record_tier_row, claim, "claim", STORE_TEXT),
    FIELD(record_tier_row, held_bytes, "held_bytes", STORE_REAL),
    FIELD(record_tier_row, read_wait_ms, "read_wait_ms", STORE_REAL),
    FIELD(record_tier_row, write_wait_ms, "write_wait_ms", STORE_REAL),
    END};

static const struct store_column tail_columns[] = {
    FIELD(record_tail_row, metric, "metric", STORE_TEXT),
    FIELD(record_tail_row, cause, "cause", STORE_TEXT),
    FIELD(record_tail_row, share, "share", STORE_REAL),
    FIELD(record_tail_row, ms, "ms", STORE_REAL), END};

static const struct store_column caveat_columns[] = {
    FIELD(record_caveat_row, code, "code", STORE_TEXT),
    FIELD(record_caveat_row, text, "text", STORE_TEXT), END};

static const struct store_column param_columns[] = {
    FIELD(record_param_row, key, "key", STORE_TEXT),
    FIELD(record_param_row, value, "value", STORE_TEXT),
    FIELD(record_param_row, unit, "unit", STORE_TEXT),
    FIELD(record_param_row, origin, "origin", STORE_TEXT),
    FIELD(record_param_row, claim, "claim", STORE_TEXT),
    FIELD(record_param_row, source, "source", STORE_TEXT),
    END};

/* The items of slo_lines are texts themselves. */
static const struct store_column slo_columns[] = {{"text", STORE_TEXT, 0, 0, NULL, NULL}, END};

static const struct store_column request_columns[] = {
    FIELD(record_request, index, "request_index", STORE_INT64),
    FIELD(record_request, id, "request_id", STORE_TEXT),
    FIELD(record_request, class_name, "class", STORE_TEXT),
    FIELD(record_request, replica, "replica", STORE_UINT32),
    FIELD(record_request, arrival_ns, "arrival_ns", STORE_INT64),
    FIELD(record_request, finish_ns, "finish_ns", STORE_OPTIONAL),
    FIELD(record_request, prompt_tokens, "prompt_tokens", STORE_INT64),
    FIELD(record_request, output_tokens, "output_tokens", STORE_INT64),
    FIELD(record_request, cached_tokens, "cached_tokens", STORE_INT64),
    FIELD(record_request, cached_tokens_total, "cached_tokens_total", STORE_INT64),
    FIELD(record_request, computed_tokens, "computed_tokens", STORE_INT64),
    FIELD(record_request, recomputed_tokens, "recomputed_tokens", STORE_INT64),
    FIELD(record_request, queue_ns, "queue_ns", STORE_OPTIONAL),
    FIELD(record_request, ttft_ns, "ttft_ns", STORE_OPTIONAL),
    FIELD(record_request, tpot_ns, "tpot_ns", STORE_OPTIONAL),
    FIELD(record_request, e2e_ns, "e2e_ns", STORE_OPTIONAL),
    FIELD(record_request, preemptions, "preemptions", STORE_UINT32),
    FIELD(record_request, outcome, "outcome", STORE_OUTCOME),
    FIELD(record_request, finish_reason, "finish_reason", STORE_FINISH),
    FIELD(record_request, is_counted, "counted", STORE_BOOL),
    FIELD(record_request, is_good, "good", STORE_BOOL),
    ARRAY(record_request, cause_ns, RECORD_CAUSE_COUNT, cause_name, "_ns"),
    END};

static const struct store_column sample_columns[] = {
    FIELD(record_sample, replica, "replica", STORE_UINT32),
    FIELD(record_sample, t_ns, "t_ns", STORE_INT64),
    FIELD(record_sample, running, "running", STORE_INT64),
    FIELD(record_sample, waiting, "waiting", STORE_INT64),
    FIELD(record_sample, kv_usage, "kv_usage", STORE_REAL),
    FIELD(record_sample, prompt_throughput, "prompt_throughput", STORE_REAL),
    FIELD(record_sample, output_throughput, "output_throughput", STORE_REAL),
    ARRAY(record_sample, ledger_bytes, RECORD_LEDGER_LINES, record_ledger_name, "_bytes"),
    END};

#define LIST(member) offsetof(struct record_run, member)

const struct store_table store_tables[] = {
    {"metric", "position", metric_columns, LIST(metrics), sizeof(struct record_metric), 0},
    {"metric_by", "position", metric_columns, LIST(metrics_by), sizeof(struct record_metric), 0},
    {"metric_replication", "replication, name, statistic, class", metric_replication_columns,
     LIST(replication_metrics), sizeof(struct record_replication_metric), 0},
    {"ledger", "position", ledger_columns, LIST(ledger), sizeof(struct record_ledger_row), 0},
    {"waterfall", "position", waterfall_columns, LIST(waterfall),
     sizeof(struct record_waterfall_row), 0},
    {"limit_share", "position", limit_columns, LIST(limits), sizeof(struct record_limit_row), 0},
    {"tier", "position", tier_columns, LIST(tiers), sizeof(struct record_tier_row), 0},
    {"tail_share", "position", tail_columns, LIST(tails), sizeof(struct record_tail_row), 0},
    {"caveat", "position", caveat_columns, LIST(caveats), sizeof(struct record_caveat_row), 0},
    {"param", "position", param_columns, LIST(params), sizeof(struct record_param_row), 0},
    {"slo", "position", slo_columns, LIST(slo_lines), sizeof(const char *), 0},
    {"request", "replication, request_index", request_columns, LIST(requests),
     sizeof(struct record_request), LIST(request_replications)},
    {"sample", "replication, replica, t_ns", sample_columns, LIST(samples),
     sizeof(struct record_sample), LIST(sample_replications)},
};
const size_t store_table_count = sizeof store_tables / sizeof *store_tables;

bool store_column_is_last(const struct store_column *column)
{
    return column->name == NULL && column->element_count == 0;
}

size_t store_column_element_count(const struct store_column *column)
{
    return column->name == NULL ? column->element_count : 1;
}

void store_column_add_name(struct base_text *sql, const struct store_column *column, size_t element)
{
    if (column->name != NULL)
        base_text_add(sql, column->name);
    else
        base_text_printf(sql, "%s%s", column->element_name(element), column->suffix);
}

bool store_table_has_position(const struct store_table *table)
{
    return strcmp(table->key, "position") == 0;
}

void store_table_add_names(struct base_text *sql, const struct store_table *table)
{
    if (store_table_has_position(table))
        base_text_add(sql, ", position");
    if (table->replications_offset != 0)
        base_text_add(sql, ", replication");
    for (const struct store_column *column = table->columns; !store_column_is_last(column);
         column++) {
        for (size_t element = 0; element < store_column_element_count(column); element++) {
            base_text_add(sql, ", ");
            store_column_add_name(sql, column, element);
        }
    }
}
