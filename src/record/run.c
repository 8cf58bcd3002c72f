#include "record/run.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define COLUMN(identifier, column, kind, unit, help) {column, kind, unit, help},
const struct record_column record_summary_columns[RECORD_SUMMARY_COUNT] = {
    RECORD_SUMMARY_TABLE(COLUMN)};
#undef COLUMN

void record_run_init(struct record_run *run)
{
    *run = (struct record_run){.created_at = "", .host = "", .scenario_yaml = ""};
    base_arena_init(&run->arena);
}

void record_run_free(struct record_run *run)
{
    base_vec_free(&run->metrics);
    base_vec_free(&run->metrics_by);
    base_vec_free(&run->replication_metrics);
    base_vec_free(&run->ledger);
    base_vec_free(&run->waterfall);
    base_vec_free(&run->limits);
    base_vec_free(&run->tiers);
    base_vec_free(&run->tails);
    base_vec_free(&run->caveats);
    base_vec_free(&run->params);
    base_vec_free(&run->requests);
    base_vec_free(&run->samples);
    base_vec_free(&run->request_replications);
    base_vec_free(&run->sample_replications);
    base_vec_free(&run->slo_lines);
    base_arena_release(&run->arena);
    *run = (struct record_run){0};
}

static struct record_value *summary_value(struct record_run *run, enum record_summary column,
                                          enum record_kind kind)
{
    base_require((unsigned)column < RECORD_SUMMARY_COUNT);
    base_require(record_summary_columns[column].kind == kind);
    return &run->summary[column];
}

void record_set_integer(struct record_run *run, enum record_summary column, int64_t value)
{
    *summary_value(run, column, RECORD_INTEGER) =
        (struct record_value){.kind = RECORD_INTEGER, .integer = value};
}

void record_set_real(struct record_run *run, enum record_summary column, double value)
{
    struct record_value *to = summary_value(run, column, RECORD_REAL);
    *to = isnan(value) ? (struct record_value){.kind = RECORD_NULL}
                       : (struct record_value){.kind = RECORD_REAL, .real = value};
}

void record_set_text(struct record_run *run, enum record_summary column, const char *value)
{
    struct record_value *to = summary_value(run, column, RECORD_TEXT);
    *to = value == NULL ? (struct record_value){.kind = RECORD_NULL}
                        : (struct record_value){.kind = RECORD_TEXT,
                                                .text = base_arena_copy(&run->arena, value)};
}

double record_value_real(const struct record_value *value)
{
    if (value->kind == RECORD_REAL)
        return value->real;
    return value->kind == RECORD_INTEGER ? (double)value->integer : (double)NAN;
}

double record_get_real(const struct record_run *run, enum record_summary column)
{
    return record_value_real(&run->summary[column]);
}

const char *record_get_text(const struct record_run *run, enum record_summary column)
{
    const struct record_value *value = &run->summary[column];
    return value->kind == RECORD_TEXT ? value->text : "";
}

enum record_summary record_summary_find(const char *column)
{
    size_t at = 0;
    while (at < RECORD_SUMMARY_COUNT && strcmp(record_summary_columns[at].name, column) != 0)
        at++;
    return (enum record_summary)at;
}

/* Cuts `end` off `text` when it stands there and something is left. */
static bool cut_end(char *text, const char *end)
{
    if (!base_ends_with(text, end) || strlen(text) == strlen(end))
        return false;
    text[strlen(text) - strlen(end)] = '\0';
    return true;
}

const char *record_summary_metric(enum record_summary column, char *name, size_t bytes)
{
    static const char *const statistics[] = {"mean", "p50", "p90", "p95", "p99", "peak"};
    base_require((unsigned)column < RECORD_SUMMARY_COUNT);
    base_require(base_copy(name, bytes, record_summary_columns[column].name));

    // A unit of time or energy always ends the name; bytes only where a statistic follows them, since
    // kv_pool_bytes, kv_pool_blocks and kv_pool_tokens differ in nothing else.
    if (!cut_end(name, "_ms") && !cut_end(name, "_s"))
        cut_end(name, "_j");
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        char end[8] = "_";
        base_copy(end + 1, sizeof end - 1, statistics[i]);
        if (cut_end(name, end)) {
            cut_end(name, "_bytes");
            return statistics[i];
        }
    }
    return "value";
}

const struct record_metric *record_run_metric(const struct record_run *run, const char *name,
                                              const char *statistic, const char *class_name)
{
    for (size_t i = 0; i < run->metrics.count; i++) {
        const struct record_metric *row = &run->metrics.at[i];
        if (strcmp(row->name, name) == 0 && strcmp(row->statistic, statistic) == 0 &&
            strcmp(row->class_name, class_name) == 0)
            return row;
    }
    return NULL;
}

/* Most requests have the class of the one before; its text is then used again. */
static const char *copy_class(struct record_run *run, const char *class_name)
{
    if (class_name == NULL || class_name[0] == '\0')
        return "";
    if (run->requests.count > 0) {
        const char *last = run->requests.at[run->requests.count - 1].class_name;
        if (strcmp(last, class_name) == 0)
            return last;
    }
    return base_arena_copy(&run->arena, class_name);
}

void record_run_add_request(struct record_run *run, uint32_t replication,
                            const struct record_request *row)
{
    struct record_request copy = *row;
    copy.id = base_arena_copy(&run->arena, row->id);
    copy.class_name = copy_class(run, row->class_name);
    base_vec_push(&run->requests, copy);
    base_vec_push(&run->request_replications, replication);
}

void record_run_add_sample(struct record_run *run, uint32_t replication,
                           const struct record_sample *row)
{
    base_vec_push(&run->samples, *row);
    base_vec_push(&run->sample_replications, replication);
}

void record_run_add_caveat(struct record_run *run, const char *code, const char *text)
{
    for (size_t i = 0; i < run->caveats.count; i++) {
        if (strcmp(run->caveats.at[i].code, code) == 0 &&
            strcmp(run->caveats.at[i].text, text) == 0)
            return;
    }
    struct record_caveat_row row = {.code = base_arena_copy(&run->arena, code),
                                    .text = base_arena_copy(&run->arena, text)};
    base_vec_push(&run->caveats, row);
}

static void keep_request(struct record_sink *sink, const struct record_request *row)
{
    struct record_memory *memory = (struct record_memory *)sink;
    uint64_t limit = memory->sink.request_limit;
    if (memory->request_count++ < limit)
        record_run_add_request(memory->run, memory->replication, row);
}

static void ignore_step(struct record_sink *sink, const struct record_step *row)
{
    (void)sink;
    (void)row;
}

static void keep_sample(struct record_sink *sink, const struct record_sample *row)
{
    struct record_memory *memory = (struct record_memory *)sink;
    record_run_add_sample(memory->run, memory->replication, row);
}

static const struct record_sink_ops memory_ops = {
    .on_request = keep_request, .on_step = ignore_step, .on_sample = keep_sample};

void record_memory_init(struct record_memory *memory, struct record_run *run, uint32_t replication)
{
    *memory = (struct record_memory){
        .sink = {.ops = &memory_ops}, .run = run, .replication = replication};
}
