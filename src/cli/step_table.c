/*
 * step_table.c - `kvsim step --from`: rows of a CSV file priced one by one, written back with what they cost.
 *
 * Every row is priced before the first one is written: a table with a mistake in it writes nothing. The kinds of table
 * (steps, and the kernels of --operator) differ in their columns, which one list each names.
 */
#include "base/text.h"
#include "cli/step.h"
#include "conf/rows.h"
#include "report/json.h"
#include "study/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a column means: the first are the keys of an engine. */
enum meaning {
    MEANS_KEY, /* MEANS_KEY + enum study_step_key */
    MEANS_PREFILL_SEQS = STUDY_STEP_KEY_COUNT,
    MEANS_PREFILL_TOKENS,
    MEANS_PREFILL_CONTEXT,
    MEANS_DECODE_SEQS,
    MEANS_DECODE_CONTEXT,
    MEANS_M,
    MEANS_N,
    MEANS_K,
    MEANS_DTYPE,
    MEANS_PHASE,
    MEANS_BATCH,
    MEANS_SEQ_LEN,
    MEANS_Q_HEADS,
    MEANS_KV_HEADS,
    MEANS_HEAD_DIM,
    MEANS_LORA_RANK,
    MEANS_ROPE_DIM,
    MEANS_KERNEL_KV_DTYPE,
    MEANS_BYTES,
    MEANS_GPUS,
    MEANING_COUNT
};

struct column_kind {
    const char *name; /* NULL ends a list */
    enum meaning means;
    bool is_text; /* in JSON */
};

#define KEY_COLUMN(name, key)                         \
    {                                                 \
        name, (enum meaning)(MEANS_KEY + (key)), true \
    }
#define RANK_COLUMN(name, key)                         \
    {                                                  \
        name, (enum meaning)(MEANS_KEY + (key)), false \
    }

static const struct column_kind step_columns[] = {
    KEY_COLUMN("model", STUDY_STEP_MODEL),
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    RANK_COLUMN("tp", STUDY_STEP_TP),
    RANK_COLUMN("pp", STUDY_STEP_PP),
    RANK_COLUMN("dp", STUDY_STEP_DP),
    RANK_COLUMN("ep", STUDY_STEP_EP),
    KEY_COLUMN("quantization", STUDY_STEP_QUANTIZATION),
    KEY_COLUMN("kv_cache_dtype", STUDY_STEP_KV_CACHE_DTYPE),
    KEY_COLUMN("graphs", STUDY_STEP_GRAPHS),
    KEY_COLUMN("kernels", STUDY_STEP_KERNELS),
    {"prefill_seqs", MEANS_PREFILL_SEQS, false},
    {"prefill_tokens", MEANS_PREFILL_TOKENS, false},
    {"prefill_context", MEANS_PREFILL_CONTEXT, false},
    {"decode_seqs", MEANS_DECODE_SEQS, false},
    {"decode_context", MEANS_DECODE_CONTEXT, false},
    {NULL, MEANING_COUNT, false},
};

static const struct column_kind gemm_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"m", MEANS_M, false},
    {"n", MEANS_N, false},
    {"k", MEANS_K, false},
    {"dtype", MEANS_DTYPE, true},
    KEY_COLUMN("kernels", STUDY_STEP_KERNELS),
    {NULL, MEANING_COUNT, false},
};

static const struct column_kind attention_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"phase", MEANS_PHASE, true},
    {"batch", MEANS_BATCH, false},
    {"seq_len", MEANS_SEQ_LEN, false},
    {"q_heads", MEANS_Q_HEADS, false},
    {"kv_heads", MEANS_KV_HEADS, false},
    {"head_dim", MEANS_HEAD_DIM, false},
    {"kv_cache_dtype", MEANS_KERNEL_KV_DTYPE, true},
    {NULL, MEANING_COUNT, false},
};

static const struct column_kind mla_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"phase", MEANS_PHASE, true},
    {"batch", MEANS_BATCH, false},
    {"seq_len", MEANS_SEQ_LEN, false},
    {"q_heads", MEANS_Q_HEADS, false},
    {"kv_lora_rank", MEANS_LORA_RANK, false},
    {"qk_rope_head_dim", MEANS_ROPE_DIM, false},
    {"kv_cache_dtype", MEANS_KERNEL_KV_DTYPE, true},
    {NULL, MEANING_COUNT, false},
};

static const struct column_kind all_reduce_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"bytes", MEANS_BYTES, false},
    {"gpus", MEANS_GPUS, false},
    {NULL, MEANING_COUNT, false},
};

/* What a row costs. A kernel has `kernel_ms` alone. */
struct price {
    double step_ms, layer_ms, kernel_ms;
    enum cost_bound bound;
    double operator_ms[COST_OPERATOR_COUNT];
};

struct table {
    const struct cli_args *args;
    const struct column_kind *kinds;
    int kernel; /* enum cli_kernel */
    struct conf_rows *rows;
    int column_of[MEANING_COUNT]; /* -1 where the file lacks it */
    struct study_steps steps;
    struct base_arena arena;
    struct {
        const struct column_kind **at;
        size_t count, capacity;
    } columns; /* of the file, in its order */
    struct {
        const char **at;
        size_t count, capacity;
    } fields; /* row by row */
    struct {
        struct price *at;
        size_t count, capacity;
    } prices;
};

static const struct column_kind *kinds_of(int kernel)
{
    switch (kernel) {
    case CLI_GEMM:
        return gemm_columns;
    case CLI_ATTENTION:
        return attention_columns;
    case CLI_MLA:
        return mla_columns;
    case CLI_ALL_REDUCE:
        return all_reduce_columns;
    default:
        return step_columns;
    }
}

static const struct column_kind *find_kind(const struct column_kind *kinds, const char *name)
{
    for (; kinds->name != NULL; kinds++)
        if (base_key_equal(kinds->name, name))
            return kinds;
    return NULL;
}

static enum kvsim_status fail_column(const struct table *table, int column, const char *name,
                                     struct kvsim_error *err)
{
    const char *names[16] = {NULL};
    size_t count = 0;
    for (const struct column_kind *kind = table->kinds; kind->name != NULL; kind++)
        names[count++] = kind->name;
    enum kvsim_status status =
        conf_rows_fail(table->rows, column, err, "unknown-column", "unknown column '%s'", name);
    const char *near = base_name_nearest(names, name);
    if (near != NULL)
        base_error_hint(err, "did you mean '%s'?", near);
    return status;
}

static enum kvsim_status read_header(struct table *table, struct kvsim_error *err)
{
    for (size_t i = 0; i < MEANING_COUNT; i++)
        table->column_of[i] = -1;
    for (size_t i = 0; i < conf_rows_column_count(table->rows); i++) {
        const char *name = conf_rows_column_name(table->rows, i);
        const struct column_kind *kind = find_kind(table->kinds, name);
        if (kind == NULL)
            return fail_column(table, (int)i, name, err);
        base_vec_push(&table->columns, kind);
        table->column_of[kind->means] = (int)i;
    }
    return KVSIM_OK;
}

/* The field's text, or NULL where the file has none in this row. */
static const char *text_of(const struct table *table, enum meaning means)
{
    int column = table->column_of[means];
    const char *text = column < 0 ? NULL : conf_rows_text(table->rows, column);
    return text == NULL || text[0] == '\0' ? NULL : text;
}

/* A whole number; `missing` where the row lacks it. */
static enum kvsim_status number_of(const struct table *table, enum meaning means, int64_t missing,
                                   int64_t *out, struct kvsim_error *err)
{
    *out = missing;
    if (text_of(table, means) == NULL)
        return KVSIM_OK;
    long long value;
    enum kvsim_status status = conf_rows_int(table->rows, table->column_of[means], &value, err);
    *out = value;
    if (status == KVSIM_OK && value < 0)
        status = conf_rows_fail(table->rows, table->column_of[means], err, "negative",
                                "a negative number");
    return status;
}

static enum kvsim_status engine_of(struct table *table, struct study_step_engine **out,
                                   struct kvsim_error *err)
{
    const char *values[STUDY_STEP_KEY_COUNT];
    for (int i = 0; i < STUDY_STEP_KEY_COUNT; i++)
        values[i] = text_of(table, (enum meaning)(MEANS_KEY + i));
    enum study_step_key fault;
    size_t known = table->steps.engines.count;
    enum kvsim_status status = study_steps_engine(&table->steps, values, out, &fault, err);
    if (status == KVSIM_OK) {
        if (table->steps.engines.count > known && !table->args->is_quiet)
            cli_warn_all(&table->steps.diags);
        return KVSIM_OK;
    }
    int column = fault == STUDY_STEP_KEY_COUNT ? -1 : table->column_of[MEANS_KEY + (int)fault];
    // A fault of the scenario itself, or of an option, keeps the place that it has.
    if (column < 0 && err->file[0] != '\0')
        return status;
    struct kvsim_error cause = *err;
    status = conf_rows_fail(table->rows, column, err, cause.code, "%s", cause.message);
    if (cause.hint[0] != '\0')
        base_error_hint(err, "%s", cause.hint);
    return status;
}

static enum kvsim_status fail_row(const struct table *table, struct kvsim_error *err)
{
    struct kvsim_error cause = *err;
    return conf_rows_fail(table->rows, -1, err, cause.code, "%s", cause.message);
}

/* The chunks of a row: its own columns, each missing one as --prefill says. */
static enum kvsim_status chunks_of(const struct table *table, struct study_step_chunk *chunks,
                                   size_t *count, struct kvsim_error *err)
{
    const struct cli_args *args = table->args;
    bool has_seqs = text_of(table, MEANS_PREFILL_SEQS) != NULL;
    bool has_tokens = text_of(table, MEANS_PREFILL_TOKENS) != NULL;
    bool has_context = text_of(table, MEANS_PREFILL_CONTEXT) != NULL;
    if (!has_seqs && !has_tokens && !has_context) {
        for (*count = 0; *count < args->chunks.count; (*count)++)
            chunks[*count] =
                (struct study_step_chunk){.seq_count = 1,
                                          .new_tokens = args->chunks.at[*count].new_tokens,
                                          .cached_tokens = args->chunks.at[*count].cached_tokens};
        return KVSIM_OK;
    }
    struct cli_chunk stated = args->chunks.count > 0 ? args->chunks.at[0] : (struct cli_chunk){0};
    struct study_step_chunk *chunk = &chunks[0];
    int64_t seqs = args->chunks.count > 0 ? (int64_t)args->chunks.count : has_tokens ? 1 : 0;
    *count = 1;
    enum kvsim_status status =
        number_of(table, MEANS_PREFILL_TOKENS, stated.new_tokens, &chunk->new_tokens, err);
    if (status == KVSIM_OK)
        status = number_of(table, MEANS_PREFILL_CONTEXT, stated.cached_tokens,
                           &chunk->cached_tokens, err);
    if (!has_seqs && has_tokens && chunk->new_tokens == 0)
        seqs = 0;
    if (status == KVSIM_OK)
        status = number_of(table, MEANS_PREFILL_SEQS, seqs, &chunk->seq_count, err);
    return status;
}

static enum kvsim_status batch_of(const struct table *table, struct study_step_chunk *chunks,
                                  struct study_step_batch *batch, struct kvsim_error *err)
{
    const struct cli_args *args = table->args;
    *batch = (struct study_step_batch){.chunks = chunks};
    bool has_context =
        text_of(table, MEANS_DECODE_CONTEXT) != NULL || args->context_tokens != CLI_UNSET;
    int64_t seqs = args->batch != CLI_UNSET ? args->batch : has_context ? 1 : 0;
    enum kvsim_status status = chunks_of(table, chunks, &batch->chunk_count, err);
    if (status == KVSIM_OK)
        status = number_of(table, MEANS_DECODE_SEQS, seqs, &batch->decode_seq_count, err);
    if (status == KVSIM_OK)
        status = number_of(table, MEANS_DECODE_CONTEXT,
                           args->context_tokens == CLI_UNSET ? 0 : args->context_tokens,
                           &batch->decode_context_tokens, err);
    if (status == KVSIM_OK && batch->decode_seq_count > 0 && !has_context)
        status = conf_rows_fail(table->rows, table->column_of[MEANS_DECODE_SEQS], err,
                                "missing-value", "decode_seqs without decode_context");
    return status;
}

static void price_of(const struct cost_explanation *step, struct price *out)
{
    *out = (struct price){.step_ms = (double)step->step_ticks / (double)BASE_TICKS_PER_NS * 1e-6,
                          .layer_ms = step->layer_s * 1e3,
                          .bound = step->bound};
    for (size_t i = 0; i < step->row_count; i++) {
        const struct cost_operator_row *row = &step->rows[i];
        double s = row->layer_count > 0 ? row->per_layer_s : row->total_s;
        out->operator_ms[row->op] = s * 1e3;
    }
}

static enum kvsim_status price_step(struct table *table, struct study_step_chunk *chunks,
                                    struct price *out, struct kvsim_error *err)
{
    struct study_step_engine *engine;
    struct study_step_batch batch;
    struct cost_explanation step;
    enum kvsim_status status = engine_of(table, &engine, err);
    if (status == KVSIM_OK)
        status = batch_of(table, chunks, &batch, err);
    if (status != KVSIM_OK)
        return status;
    status = study_step_explain(engine, &batch, &step, err);
    if (status != KVSIM_OK)
        return fail_row(table, err);
    price_of(&step, out);
    return KVSIM_OK;
}

static enum kvsim_status dtype_of(const struct table *table, enum meaning means,
                                  enum spec_dtype *out, struct kvsim_error *err)
{
    const char *text = text_of(table, means);
    if (text == NULL)
        return conf_rows_fail(table->rows, table->column_of[means], err, "missing-value",
                              "the dtype is missing");
    if (spec_dtype_parse(text, out))
        return KVSIM_OK;
    enum kvsim_status status = conf_rows_fail(table->rows, table->column_of[means], err,
                                              "unknown-name", "unknown dtype '%s'", text);
    base_error_hint(err, "fp32, bf16, fp16, fp8, int8, int4");
    return status;
}

static enum kvsim_status phase_of(const struct table *table, bool *is_prefill,
                                  struct kvsim_error *err)
{
    const char *text = text_of(table, MEANS_PHASE);
    *is_prefill = text != NULL && strcmp(text, "prefill") == 0;
    if (*is_prefill || (text != NULL && strcmp(text, "decode") == 0))
        return KVSIM_OK;
    return conf_rows_fail(table->rows, table->column_of[MEANS_PHASE], err, "unknown-name",
                          "phase is '%s', not prefill or decode", text == NULL ? "" : text);
}

/* A number that the kernel cannot do without. */
static enum kvsim_status size_of(const struct table *table, enum meaning means, int64_t *out,
                                 struct kvsim_error *err)
{
    enum { SIZE_BITS = 48 };
    enum kvsim_status status = number_of(table, means, 0, out, err);
    if (status != KVSIM_OK || (*out > 0 && *out <= (int64_t)1 << SIZE_BITS))
        return status;
    const char *name = "";
    for (const struct column_kind *kind = table->kinds; kind->name != NULL; kind++)
        if (kind->means == means)
            name = kind->name;
    return conf_rows_fail(table->rows, table->column_of[means], err, "out-of-range",
                          "%s must be between 1 and 2^48", name);
}

static enum kvsim_status sizes_of(const struct table *table, const enum meaning *means,
                                  int64_t *const *targets, size_t count, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < count && status == KVSIM_OK; i++)
        status = size_of(table, means[i], targets[i], err);
    return status;
}

static enum kvsim_status read_gemm(const struct table *table, struct cost_kernel *kernel,
                                   struct kvsim_error *err)
{
    static const enum meaning means[] = {MEANS_M, MEANS_N, MEANS_K};
    int64_t *const targets[] = {&kernel->m, &kernel->n, &kernel->k};
    kernel->kind = COST_KERNEL_GEMM;
    enum kvsim_status status = sizes_of(table, means, targets, 3, err);
    return status == KVSIM_OK ? dtype_of(table, MEANS_DTYPE, &kernel->dtype, err) : status;
}

static enum kvsim_status read_heads(const struct table *table, struct cost_kernel *kernel,
                                    struct kvsim_error *err)
{
    static const enum meaning attention[] = {MEANS_BATCH, MEANS_SEQ_LEN, MEANS_Q_HEADS,
                                             MEANS_KV_HEADS, MEANS_HEAD_DIM};
    static const enum meaning mla[] = {MEANS_BATCH, MEANS_SEQ_LEN, MEANS_Q_HEADS, MEANS_LORA_RANK,
                                       MEANS_ROPE_DIM};
    bool is_mla = table->kernel == CLI_MLA;
    int64_t *const targets[] = {&kernel->batch, &kernel->seq_len, &kernel->q_heads,
                                is_mla ? &kernel->kv_lora_rank : &kernel->kv_heads,
                                is_mla ? &kernel->qk_rope_head_dim : &kernel->head_dim};
    kernel->kind = is_mla ? COST_KERNEL_MLA : COST_KERNEL_ATTENTION;
    enum kvsim_status status = phase_of(table, &kernel->is_prefill, err);
    if (status == KVSIM_OK)
        status = sizes_of(table, is_mla ? mla : attention, targets, 5, err);
    return status == KVSIM_OK ? dtype_of(table, MEANS_KERNEL_KV_DTYPE, &kernel->dtype, err)
                              : status;
}

static enum kvsim_status read_all_reduce(const struct table *table, struct cost_kernel *kernel,
                                         struct kvsim_error *err)
{
    static const enum meaning means[] = {MEANS_BYTES, MEANS_GPUS};
    int64_t bytes = 0, gpus = 0;
    int64_t *const targets[] = {&bytes, &gpus};
    enum kvsim_status status = sizes_of(table, means, targets, 2, err);
    kernel->kind = COST_KERNEL_ALL_REDUCE;
    kernel->message_bytes = (double)bytes;
    kernel->gpu_count = gpus > UINT32_MAX ? UINT32_MAX : (uint32_t)gpus;
    return status;
}

static enum kvsim_status read_kernel(const struct table *table, struct cost_kernel *kernel,
                                     struct kvsim_error *err)
{
    *kernel = (struct cost_kernel){0};
    switch (table->kernel) {
    case CLI_GEMM:
        return read_gemm(table, kernel, err);
    case CLI_ALL_REDUCE:
        return read_all_reduce(table, kernel, err);
    default:
        return read_heads(table, kernel, err);
    }
}

static enum kvsim_status price_kernel(struct table *table, struct price *out,
                                      struct kvsim_error *err)
{
    struct study_step_engine *engine;
    struct cost_kernel kernel;
    double seconds = 0;
    *out = (struct price){0};
    enum kvsim_status status = engine_of(table, &engine, err);
    if (status == KVSIM_OK)
        status = read_kernel(table, &kernel, err);
    if (status != KVSIM_OK)
        return status;
    status = cost_kernel_seconds(engine->config->hardware, engine->config->cost.options, &kernel,
                                 &seconds, err);
    if (status != KVSIM_OK)
        return fail_row(table, err);
    out->kernel_ms = seconds * 1e3;
    return KVSIM_OK;
}

static void keep_fields(struct table *table)
{
    for (size_t i = 0; i < table->columns.count; i++) {
        const char *text = conf_rows_text(table->rows, (int)i);
        base_vec_push(&table->fields, base_arena_copy(&table->arena, text == NULL ? "" : text));
    }
}

static enum kvsim_status price_all(struct table *table, struct kvsim_error *err)
{
    struct study_step_chunk *chunks =
        base_alloc(base_mul_size(table->args->chunks.count + 1, sizeof *chunks));
    bool more = true;
    enum kvsim_status status = read_header(table, err);
    while (status == KVSIM_OK) {
        status = conf_rows_next(table->rows, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        struct price price;
        status = table->kernel > CLI_NO_KERNEL ? price_kernel(table, &price, err)
                                               : price_step(table, chunks, &price, err);
        if (status == KVSIM_OK) {
            keep_fields(table);
            base_vec_push(&table->prices, price);
        }
    }
    base_free(chunks);
    return status;
}

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

static void add_csv_header(const struct table *table, struct base_text *line)
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

static void add_csv_row(const struct table *table, size_t row, struct base_text *line)
{
    size_t columns = table->columns.count;
    const struct price *price = &table->prices.at[row];
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

static void print_csv(const struct table *table)
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
static void put_field(struct report_json *json, const struct column_kind *kind, const char *text)
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

static void put_price(struct report_json *json, const struct table *table,
                      const struct price *price)
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

static void print_json(const struct table *table)
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

static void table_free(struct table *table)
{
    study_steps_free(&table->steps);
    conf_rows_close(table->rows);
    base_vec_free(&table->columns);
    base_vec_free(&table->fields);
    base_vec_free(&table->prices);
    base_arena_release(&table->arena);
}

int cli_step_table(const struct cli_args *args)
{
    int kernel = args->kernel == CLI_UNSET ? CLI_NO_KERNEL : args->kernel;
    struct table table = {.args = args, .kernel = kernel, .kinds = kinds_of(kernel)};
    struct scenario_request request;
    cli_step_request(args, kernel > CLI_NO_KERNEL, &request);
    base_arena_init(&table.arena);
    study_steps_init(&table.steps, &request);
    const char *path = strcmp(args->table_path, "-") == 0 ? "/dev/stdin" : args->table_path;
    struct kvsim_error err;
    enum kvsim_status status = conf_rows_open(path, &table.rows, &err);
    if (status == KVSIM_OK)
        status = price_all(&table, &err);
    if (status == KVSIM_OK && args->format == CLI_JSON)
        print_json(&table);
    else if (status == KVSIM_OK)
        print_csv(&table);
    table_free(&table);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}
