/*
 * step_table.c - `kvsim step --from`: rows of a CSV file priced one by one, written back with what they cost.
 *
 * Every row is priced before the first one is written: a table with a mistake in it writes nothing.
 */
#include "cli/step_table.h"

#include "cli/step.h"

#include <string.h>

static enum kvsim_status engine_of(struct cli_step_table *table, struct study_step_engine **out,
                                   struct kvsim_error *err)
{
    const char *values[STUDY_STEP_KEY_COUNT];
    for (int i = 0; i < STUDY_STEP_KEY_COUNT; i++)
        values[i] = cli_step_text(table, (enum cli_step_meaning)(MEANS_KEY + i));
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

static enum kvsim_status fail_row(const struct cli_step_table *table, struct kvsim_error *err)
{
    struct kvsim_error cause = *err;
    return conf_rows_fail(table->rows, -1, err, cause.code, "%s", cause.message);
}

/* The chunks of a row: its own columns, each missing one as --prefill says. */
static enum kvsim_status chunks_of(const struct cli_step_table *table,
                                   struct study_step_chunk *chunks, size_t *count,
                                   struct kvsim_error *err)
{
    const struct cli_args *args = table->args;
    bool has_seqs = cli_step_text(table, MEANS_PREFILL_SEQS) != NULL;
    bool has_tokens = cli_step_text(table, MEANS_PREFILL_TOKENS) != NULL;
    bool has_context = cli_step_text(table, MEANS_PREFILL_CONTEXT) != NULL;
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
        cli_step_number(table, MEANS_PREFILL_TOKENS, stated.new_tokens, &chunk->new_tokens, err);
    if (status == KVSIM_OK)
        status = cli_step_number(table, MEANS_PREFILL_CONTEXT, stated.cached_tokens,
                                 &chunk->cached_tokens, err);
    if (!has_seqs && has_tokens && chunk->new_tokens == 0)
        seqs = 0;
    if (status == KVSIM_OK)
        status = cli_step_number(table, MEANS_PREFILL_SEQS, seqs, &chunk->seq_count, err);
    return status;
}

static enum kvsim_status batch_of(const struct cli_step_table *table,
                                  struct study_step_chunk *chunks, struct study_step_batch *batch,
                                  struct kvsim_error *err)
{
    const struct cli_args *args = table->args;
    *batch = (struct study_step_batch){.chunks = chunks};
    bool has_context =
        cli_step_text(table, MEANS_DECODE_CONTEXT) != NULL || args->context_tokens != CLI_UNSET;
    int64_t seqs = args->batch != CLI_UNSET ? args->batch : has_context ? 1 : 0;
    enum kvsim_status status = chunks_of(table, chunks, &batch->chunk_count, err);
    if (status == KVSIM_OK)
        status = cli_step_number(table, MEANS_DECODE_SEQS, seqs, &batch->decode_seq_count, err);
    if (status == KVSIM_OK)
        status = cli_step_number(table, MEANS_DECODE_CONTEXT,
                                 args->context_tokens == CLI_UNSET ? 0 : args->context_tokens,
                                 &batch->decode_context_tokens, err);
    if (status == KVSIM_OK && batch->decode_seq_count > 0 && !has_context)
        status = conf_rows_fail(table->rows, table->column_of[MEANS_DECODE_SEQS], err,
                                "missing-value", "decode_seqs without decode_context");
    return status;
}

static void price_of(const struct cost_explanation *step, struct cli_step_price *out)
{
    *out = (struct cli_step_price){.step_ms =
                                       (double)step->step_ticks / (double)BASE_TICKS_PER_NS * 1e-6,
                                   .layer_ms = step->layer_s * 1e3,
                                   .bound = step->bound};
    for (size_t i = 0; i < step->row_count; i++) {
        const struct cost_operator_row *row = &step->rows[i];
        double s = row->layer_count > 0 ? row->per_layer_s : row->total_s;
        out->operator_ms[row->op] = s * 1e3;
    }
}

static enum kvsim_status price_step(struct cli_step_table *table, struct study_step_chunk *chunks,
                                    struct cli_step_price *out, struct kvsim_error *err)
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

static enum kvsim_status read_gemm(const struct cli_step_table *table, struct cost_kernel *kernel,
                                   struct kvsim_error *err)
{
    static const enum cli_step_meaning means[] = {MEANS_M, MEANS_N, MEANS_K};
    int64_t *const targets[] = {&kernel->m, &kernel->n, &kernel->k};
    kernel->kind = COST_KERNEL_GEMM;
    enum kvsim_status status = cli_step_sizes(table, means, targets, 3, err);
    return status == KVSIM_OK ? cli_step_dtype(table, MEANS_DTYPE, &kernel->dtype, err) : status;
}

static enum kvsim_status read_heads(const struct cli_step_table *table, struct cost_kernel *kernel,
                                    struct kvsim_error *err)
{
    static const enum cli_step_meaning attention[] = {MEANS_BATCH, MEANS_SEQ_LEN, MEANS_Q_HEADS,
                                                      MEANS_KV_HEADS, MEANS_HEAD_DIM};
    static const enum cli_step_meaning mla[] = {MEANS_BATCH, MEANS_SEQ_LEN, MEANS_Q_HEADS,
                                                MEANS_LORA_RANK, MEANS_ROPE_DIM};
    bool is_mla = table->kernel == CLI_MLA;
    int64_t *const targets[] = {&kernel->batch, &kernel->seq_len, &kernel->q_heads,
                                is_mla ? &kernel->kv_lora_rank : &kernel->kv_heads,
                                is_mla ? &kernel->qk_rope_head_dim : &kernel->head_dim};
    kernel->kind = is_mla ? COST_KERNEL_MLA : COST_KERNEL_ATTENTION;
    enum kvsim_status status = cli_step_phase(table, &kernel->is_prefill, err);
    if (status == KVSIM_OK)
        status = cli_step_sizes(table, is_mla ? mla : attention, targets, 5, err);
    return status == KVSIM_OK ? cli_step_dtype(table, MEANS_KERNEL_KV_DTYPE, &kernel->dtype, err)
                              : status;
}

static enum kvsim_status read_all_reduce(const struct cli_step_table *table,
                                         struct cost_kernel *kernel, struct kvsim_error *err)
{
    static const enum cli_step_meaning means[] = {MEANS_BYTES, MEANS_GPUS};
    int64_t bytes = 0, gpus = 0;
    int64_t *const targets[] = {&bytes, &gpus};
    enum kvsim_status status = cli_step_sizes(table, means, targets, 2, err);
    kernel->kind = COST_KERNEL_ALL_REDUCE;
    kernel->message_bytes = (double)bytes;
    kernel->gpu_count = gpus > UINT32_MAX ? UINT32_MAX : (uint32_t)gpus;
    return status;
}

static enum kvsim_status read_kernel(const struct cli_step_table *table, struct cost_kernel *kernel,
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

static enum kvsim_status price_kernel(struct cli_step_table *table, struct cli_step_price *out,
                                      struct kvsim_error *err)
{
    struct study_step_engine *engine;
    struct cost_kernel kernel;
    double seconds = 0;
    *out = (struct cli_step_price){0};
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

static void keep_fields(struct cli_step_table *table)
{
    for (size_t i = 0; i < table->columns.count; i++) {
        const char *text = conf_rows_text(table->rows, (int)i);
        base_vec_push(&table->fields, base_arena_copy(&table->arena, text == NULL ? "" : text));
    }
}

static enum kvsim_status price_all(struct cli_step_table *table, struct kvsim_error *err)
{
    struct study_step_chunk *chunks =
        base_alloc(base_mul_size(table->args->chunks.count + 1, sizeof *chunks));
    bool more = true;
    enum kvsim_status status = cli_step_header(table, err);
    while (status == KVSIM_OK) {
        status = conf_rows_next(table->rows, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        struct cli_step_price price;
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

static void table_free(struct cli_step_table *table)
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
    struct cli_step_table table = {
        .args = args, .kernel = kernel, .kinds = cli_step_columns(kernel)};
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
        cli_step_table_json(&table);
    else if (status == KVSIM_OK)
        cli_step_table_csv(&table);
    table_free(&table);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}
