#include "report/json.h"
#include "report/size.h"

#include <string.h>

static void put_axes(struct report_json *json, const struct record_size *size)
{
    if (size->axis_count == 0)
        return;
    report_json_begin_object(json, "axis");
    for (size_t i = 0; i < size->axis_count; i++)
        report_json_text(json, size->axes[i].key, size->axes[i].value);
    report_json_end_object(json);
}

static void put_setting(struct report_json *json, const struct record_size *size)
{
    report_json_text(json, "scenario", size->scenario);
    report_json_text(json, "model", size->model);
    report_json_text(json, "hardware", size->hardware);
    report_json_text(json, "engine", size->engine);
    report_json_integer(json, "gpus", size->gpus);
    report_json_integer(json, "tensor_parallel_size", size->tensor_parallel_size);
    report_json_integer(json, "pipeline_parallel_size", size->pipeline_parallel_size);
    report_json_integer(json, "data_parallel_size", size->data_parallel_size);
    report_json_text(json, "attention", size->attention);
    report_json_text(json, "kv_cache_dtype", size->kv_cache_dtype);
    report_json_integer(json, "block_size", size->block_size);
    report_json_integer(json, "max_model_len", size->max_model_len);
    report_json_integer(json, "max_num_seqs", size->max_num_seqs);
    report_json_integer(json, "max_num_batched_tokens", size->max_num_batched_tokens);
    report_json_text(json, "claim", "calculated");
}

static void put_bytes(struct report_json *json, const struct record_size *size)
{
    report_json_integer(json, "lower_bound_bytes_per_token", size->lower_bound_bytes_per_token);
    report_json_integer(json, "k_bytes", size->k_bytes);
    report_json_integer(json, "v_bytes", size->v_bytes);
    report_json_integer(json, "fixed_bytes", size->fixed_bytes);
    report_json_integer(json, "marginal_bytes_per_token", size->marginal_bytes_per_token);
    report_json_integer(json, "kv_replication", size->kv_replication);
    report_json_integer(json, "block_bytes", size->block_bytes);
    report_json_integer(json, "block_bytes_per_gpu", size->block_bytes_per_gpu);
    report_json_integer(json, "tables", size->table_count);
    if (size->comparison.baseline == NULL)
        return;
    report_json_begin_object(json, "comparison");
    report_json_text(json, "baseline", size->comparison.baseline);
    report_json_integer(json, "baseline_bytes_per_token",
                        size->comparison.baseline_bytes_per_token);
    report_json_real(json, "ratio", size->comparison.ratio);
    report_json_end_object(json);
}

static void put_groups(struct report_json *json, const struct record_size *size)
{
    report_json_begin_list(json, "groups");
    for (size_t i = 0; i < size->group_count; i++) {
        const struct record_size_group *group = &size->groups[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "kind", group->kind);
        report_json_bool(json, "is_draft", group->is_draft);
        report_json_integer(json, "layers", group->layers);
        report_json_integer(json, "block_size", group->block_size);
        report_json_integer(json, "block_bytes", group->block_bytes);
        report_json_integer(json, "bytes_per_token", group->bytes_per_token);
        report_json_integer(json, "slot_bytes", group->slot_bytes);
        report_json_integer(json, "bytes_per_sequence", group->bytes_per_sequence);
        report_json_integer(json, "window", group->window_tokens);
        report_json_integer(json, "blocks", group->blocks);
        report_json_text(json, "formula", group->formula);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_waterfall(struct report_json *json, const struct record_size *size)
{
    report_json_begin_list(json, "waterfall");
    for (size_t i = 0; i < size->waterfall_count; i++) {
        const struct record_size_line *line = &size->waterfall[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "line", line->name);
        report_json_integer(json, "bytes_per_gpu", line->bytes);
        report_json_text(json, "claim", line->claim);
        report_json_text(json, "source", line->source);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_pool(struct report_json *json, const struct record_size *size)
{
    report_json_integer(json, "weights_bytes", size->weights_bytes);
    report_json_integer(json, "kv_available_bytes", size->kv_available_bytes);
    report_json_integer(json, "kv_available_bytes_per_gpu", size->kv_available_bytes_per_gpu);
    report_json_integer(json, "kv_pool_bytes", size->kv_pool_bytes);
    report_json_integer(json, "kv_pool_bytes_per_gpu", size->kv_pool_bytes_per_gpu);
    report_json_integer(json, "kv_pool_blocks", size->kv_pool_blocks);
    report_json_integer(json, "kv_pool_blocks_low", size->kv_pool_blocks_low);
    report_json_integer(json, "kv_pool_blocks_high", size->kv_pool_blocks_high);
    report_json_integer(json, "kv_pool_tokens", size->kv_pool_tokens);
    report_json_integer(json, "kv_usable_blocks", size->kv_usable_blocks);
    report_json_integer(json, "kv_usable_tokens", size->kv_usable_tokens);
    if (size->state_slots != 0) {
        report_json_integer(json, "state_slots", size->state_slots);
        report_json_integer(json, "state_sequences", size->state_sequences);
    }
    if (size->kv_window_tokens != 0)
        report_json_integer(json, "kv_window_tokens", size->kv_window_tokens);
    if (size->kv_slots != 0) {
        report_json_integer(json, "kv_slots", size->kv_slots);
        report_json_integer(json, "kv_slot_tokens", size->kv_slot_tokens);
    }
    report_json_integer(json, "swap_blocks", size->swap_blocks);
    report_json_real(json, "max_concurrency", size->max_concurrency);
    report_json_real(json, "max_concurrency_total", size->max_concurrency_total);
    report_json_integer(json, "concurrency_guaranteed", size->concurrency_guaranteed);
    report_json_text(json, "concurrency_limit", size->concurrency_limit);
    if (size->concurrency_in_memory >= 0)
        report_json_integer(json, "concurrency_in_memory", size->concurrency_in_memory);
    report_json_text(json, "concurrency_guaranteed_means", size->guaranteed_means);
    report_json_integer(json, "concurrency_running", size->concurrency_running);
    report_json_text(json, "concurrency_running_limit", size->running_limit);
    if (size->running_means != NULL)
        report_json_text(json, "concurrency_running_means", size->running_means);
    report_json_real(json, "concurrency_expected", size->concurrency_expected);
    if (size->expected_limit != NULL)
        report_json_text(json, "concurrency_expected_limit", size->expected_limit);
    report_json_text(json, "concurrency_expected_means", size->expected_means);
}

static void put_context(struct report_json *json, const struct record_size_context *row)
{
    report_json_begin_object(json, NULL);
    report_json_integer(json, "context_tokens", row->context_tokens);
    report_json_integer(json, "sequences", row->sequences);
    report_json_integer(json, "lower_bound_bytes", row->lower_bound_bytes);
    report_json_integer(json, "allocated_bytes", row->allocated_bytes);
    report_json_integer(json, "allocated_blocks", row->allocated_blocks);
    report_json_real(json, "kv_usage", row->kv_usage);
    report_json_bool(json, "fits", row->fits);
    report_json_integer(json, "concurrency_guaranteed", row->concurrency_guaranteed);
    report_json_text(json, "concurrency_limit", row->concurrency_limit);
    report_json_integer(json, "concurrency_running", row->concurrency_running);
    report_json_text(json, "concurrency_running_limit", row->running_limit);
    report_json_begin_object(json, "ledger");
    for (size_t i = 0; i < row->ledger_count; i++)
        report_json_integer(json, row->ledger[i].name, row->ledger[i].bytes);
    report_json_end_object(json);
    report_json_end_object(json);
}

static void put_refusal(struct report_json *json, const struct record_size *size)
{
    report_json_bool(json, "starts", size->starts);
    if (size->refusal_stage == NULL)
        return;
    report_json_begin_object(json, "refusal");
    report_json_text(json, "stage", size->refusal_stage);
    report_json_text(json, "limit", size->refusal_limit);
    report_json_integer(json, "needed_bytes", size->needed_bytes);
    report_json_integer(json, "available_bytes", size->available_bytes);
    report_json_integer(json, "estimated_max_model_len", size->estimated_max_model_len);
    report_json_begin_list(json, "changes");
    for (size_t i = 0; i < size->change_count; i++) {
        const struct record_size_change *change = &size->changes[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "key", change->key);
        report_json_text(json, "value", change->value);
        report_json_integer(json, "kv_usable_tokens", change->kv_usable_tokens);
        report_json_real(json, "max_concurrency", change->max_concurrency);
        report_json_bool(json, "fits_demand", change->fits_demand);
        report_json_end_object(json);
    }
    report_json_end_list(json);
    report_json_end_object(json);
}

static void put_texts(struct report_json *json, const char *key, const char *const *texts,
                      size_t count)
{
    report_json_begin_list(json, key);
    for (size_t i = 0; i < count; i++)
        report_json_text(json, NULL, texts[i]);
    report_json_end_list(json);
}

static void put_size(struct report_json *json, const struct record_size *size)
{
    report_json_begin_object(json, NULL);
    put_axes(json, size);
    if (size->refusal_message != NULL) {
        report_json_bool(json, "starts", false);
        report_json_text(json, "invalid", size->refusal_message);
        report_json_end_object(json);
        return;
    }
    put_setting(json, size);
    put_bytes(json, size);
    put_groups(json, size);
    put_waterfall(json, size);
    put_pool(json, size);
    report_json_begin_list(json, "by_context");
    for (size_t i = 0; i < size->context_count; i++)
        put_context(json, &size->by_context[i]);
    report_json_end_list(json);
    put_refusal(json, size);
    put_texts(json, "engine_log", size->engine_log, size->engine_log_count);
    put_texts(json, "notes", size->notes, size->note_count);
    put_texts(json, "unsupported", size->unsupported, size->unsupported_count);
    report_json_end_object(json);
}

void report_sizes_json(FILE *out, const struct record_size *sizes, size_t count, bool is_list)
{
    struct report_json json;
    report_json_init(&json, out);
    if (is_list)
        report_json_begin_list(&json, NULL);
    for (size_t i = 0; i < count; i++)
        put_size(&json, &sizes[i]);
    if (is_list)
        report_json_end_list(&json);
    report_json_finish(&json);
}
