#include "cli/refusal.h"

#include "base/units.h"
#include "report/csv.h"
#include "report/refusal.h"

#include <stdint.h>
#include <string.h>

enum { NUMBER_BYTES = 40 };

/* The texts of one refusal; everything in the arena. */
struct writer {
    struct base_arena arena;
    struct report_refusal refusal;
};

static const char *print_count(struct writer *writer, int64_t value)
{
    char text[NUMBER_BYTES];
    return base_arena_copy(&writer->arena, base_print_count((double)value, text, sizeof text));
}

static const char *print_bytes(struct writer *writer, double value_bytes)
{
    char text[NUMBER_BYTES];
    return base_arena_copy(&writer->arena, base_print_bytes(value_bytes, text, sizeof text));
}

/* "outside_utilization" as people write it. */
static const char *print_words(struct writer *writer, const char *name)
{
    char *text = base_arena_copy(&writer->arena, name);
    for (char *at = strchr(text, '_'); at != NULL; at = strchr(at, '_'))
        *at = ' ';
    return text;
}

static void add_rows(struct writer *writer, const struct kv_waterfall *waterfall)
{
    struct report_refusal_row *rows =
        base_arena_array(&writer->arena, waterfall->row_count + 1, sizeof *rows);
    for (size_t i = 0; i < waterfall->row_count; i++) {
        const struct kv_waterfall_row *row = &waterfall->rows[i];
        const char *name = kv_waterfall_line_name(row->line);
        rows[i] = (struct report_refusal_row){.label = print_words(writer, name),
                                              .line = name,
                                              .bytes = row->bytes_per_gpu,
                                              .claim = spec_claim_name(row->claim),
                                              .source = row->source == NULL ? "" : row->source};
    }
    writer->refusal.rows = rows;
    writer->refusal.row_count = waterfall->row_count;
}

static const char *print_effect(struct writer *writer, const struct kv_waterfall_change *change)
{
    return base_arena_printf(&writer->arena, "a pool of %s tokens, %.2f longest requests at once%s",
                             print_count(writer, change->kv_usable_tokens), change->max_concurrency,
                             change->fits_demand ? "" : "; still too small for the stated demand");
}

static void add_changes(struct writer *writer, const struct kv_waterfall_refusal *refusal)
{
    struct report_refusal_change *changes =
        base_arena_array(&writer->arena, refusal->change_count + 1, sizeof *changes);
    for (size_t i = 0; i < refusal->change_count; i++)
        changes[i] = (struct report_refusal_change){
            .key = base_arena_printf(&writer->arena, "engine.%s", refusal->changes[i].key),
            .value = refusal->changes[i].value,
            .effect = print_effect(writer, &refusal->changes[i])};
    writer->refusal.changes = changes;
    writer->refusal.change_count = refusal->change_count;
}

/* The lower bound of what is asked for, set against what the driver shows: the two are often taken for each other. */
static const char *explain_demand(struct writer *writer, const struct serve_config *config)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    double demand_bytes = (double)waterfall->demand_lower_bound_bytes;
    const struct kv_waterfall_row *driver = kv_waterfall_find(waterfall, KV_WF_DRIVER);
    if (driver == NULL)
        return NULL;
    double driver_bytes = (double)driver->bytes_per_gpu;
    return base_arena_printf(
        &writer->arena,
        "the lower bound of the KV that is asked for is %s bytes (%s), %s the %s that the driver "
        "shows "
        "of one GPU; weights take %s more over all GPUs",
        print_count(writer, (int64_t)waterfall->demand_lower_bound_bytes),
        print_bytes(writer, demand_bytes), demand_bytes > driver_bytes ? "more than" : "less than",
        print_bytes(writer, driver_bytes), print_bytes(writer, (double)waterfall->weights_bytes));
}

static void add_explanations(struct writer *writer, const struct serve_config *config)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    const char **sentences = base_arena_array(&writer->arena, 3, sizeof *sentences);
    size_t count = 0;
    if (waterfall->demand_lower_bound_bytes > 0)
        sentences[count] = explain_demand(writer, config);
    if (sentences[count] != NULL)
        count++;
    if (waterfall->memory_is_derived)
        sentences[count++] = base_arena_printf(
            &writer->arena,
            "the memory that the driver shows is assumed; over its interval the pool has %s to %s "
            "blocks",
            print_count(writer, waterfall->kv_pool_blocks_low),
            print_count(writer, waterfall->kv_pool_blocks_high));
    writer->refusal.explanations = sentences;
    writer->refusal.explanation_count = count;
}

static void writer_init(struct writer *writer, const struct serve_config *config)
{
    const struct kv_waterfall_refusal *refusal = &config->waterfall.refusal;
    *writer = (struct writer){0};
    base_arena_init(&writer->arena);
    writer->refusal = (struct report_refusal){
        .title = base_arena_printf(&writer->arena, "%s: %s on %u x %s cannot start", config->name,
                                   config->model_name, config->gpu_count_per_replica,
                                   config->hardware_name[0] == '\0' ? "unnamed hardware"
                                                                    : config->hardware_name),
        .stage = kv_waterfall_stage_name(refusal->stage),
        .limit = refusal->limit,
        .needed_bytes = refusal->needed_bytes,
        .available_bytes = refusal->available_bytes,
        .estimated_max_model_len =
            refusal->estimated_max_model_len > 0 ? refusal->estimated_max_model_len : -1};
    add_rows(writer, &config->waterfall);
    add_changes(writer, refusal);
    add_explanations(writer, config);
}

static void writer_release(struct writer *writer)
{
    base_arena_release(&writer->arena);
}

void cli_refusal_text(FILE *out, const struct serve_config *config)
{
    struct writer writer;
    writer_init(&writer, config);
    report_refusal_text(out, &writer.refusal);
    writer_release(&writer);
}

void cli_refusal_csv(FILE *out, const struct serve_config *config)
{
    struct writer writer;
    writer_init(&writer, config);
    fputs("line,bytes_per_gpu,claim,source\n", out);
    for (size_t i = 0; i < writer.refusal.row_count; i++) {
        const struct report_refusal_row *row = &writer.refusal.rows[i];
        fprintf(out, "%s,%lld,%s,", row->line, (long long)row->bytes, row->claim);
        report_csv_field(out, row->source);
        fputc('\n', out);
    }
    writer_release(&writer);
}

static void put_waterfall(struct report_json *json, const struct report_refusal *refusal)
{
    report_json_begin_list(json, "waterfall");
    for (size_t i = 0; i < refusal->row_count; i++) {
        report_json_begin_object(json, NULL);
        report_json_text(json, "line", refusal->rows[i].line);
        report_json_integer(json, "bytes_per_gpu", refusal->rows[i].bytes);
        report_json_text(json, "claim", refusal->rows[i].claim);
        report_json_text(json, "source", refusal->rows[i].source);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

void cli_refusal_json_object(struct report_json *json, const char *key,
                             const struct serve_config *config)
{
    struct writer writer;
    writer_init(&writer, config);
    report_json_begin_object(json, key);
    report_json_text(json, "scenario", config->name);
    report_json_text(json, "model", config->model_name);
    report_json_text(json, "hardware", config->hardware_name);
    report_json_text(json, "engine", config->engine_name);
    report_refusal_json_members(json, &writer.refusal);
    put_waterfall(json, &writer.refusal);
    report_json_end_object(json);
    writer_release(&writer);
}

void cli_refusal_error(const struct serve_config *config, struct kvsim_error *err)
{
    const struct kv_waterfall_refusal *refusal = &config->waterfall.refusal;
    char needed[NUMBER_BYTES], available[NUMBER_BYTES];
    base_fail(err, KVSIM_ERR_REFUSED,
              "the configuration cannot start (%s): %s needs %s on each GPU, there are %s",
              kv_waterfall_stage_name(refusal->stage), refusal->limit,
              base_print_bytes((double)refusal->needed_bytes, needed, sizeof needed),
              base_print_bytes((double)refusal->available_bytes, available, sizeof available));
    base_error_code(err, "cannot-start");
    if (refusal->change_count > 0)
        base_error_hint(err, "it would with --set engine.%s=%s", refusal->changes[0].key,
                        refusal->changes[0].value);
}
