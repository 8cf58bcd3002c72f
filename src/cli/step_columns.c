/*
 * step_columns.c - what the columns of a table of steps are called, and their fields as numbers and names.
 */
#include "cli/step_table.h"

#include "base/text.h"
#include "spec/dtype.h"

#include <string.h>

#define KEY_COLUMN(name, key)                                  \
    {                                                          \
        name, (enum cli_step_meaning)(MEANS_KEY + (key)), true \
    }
#define RANK_COLUMN(name, key)                                  \
    {                                                           \
        name, (enum cli_step_meaning)(MEANS_KEY + (key)), false \
    }

static const struct cli_step_column step_columns[] = {
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

static const struct cli_step_column gemm_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"m", MEANS_M, false},
    {"n", MEANS_N, false},
    {"k", MEANS_K, false},
    {"dtype", MEANS_DTYPE, true},
    KEY_COLUMN("kernels", STUDY_STEP_KERNELS),
    {NULL, MEANING_COUNT, false},
};

static const struct cli_step_column attention_columns[] = {
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

static const struct cli_step_column mla_columns[] = {
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

static const struct cli_step_column all_reduce_columns[] = {
    KEY_COLUMN("hardware", STUDY_STEP_HARDWARE),
    {"bytes", MEANS_BYTES, false},
    {"gpus", MEANS_GPUS, false},
    {NULL, MEANING_COUNT, false},
};

const struct cli_step_column *cli_step_columns(int kernel)
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

static const struct cli_step_column *find_kind(const struct cli_step_column *kinds,
                                               const char *name)
{
    for (; kinds->name != NULL; kinds++)
        if (base_key_equal(kinds->name, name))
            return kinds;
    return NULL;
}

static enum kvsim_status fail_column(const struct cli_step_table *table, int column,
                                     const char *name, struct kvsim_error *err)
{
    const char *names[16] = {NULL};
    size_t count = 0;
    for (const struct cli_step_column *kind = table->kinds; kind->name != NULL; kind++)
        names[count++] = kind->name;
    enum kvsim_status status =
        conf_rows_fail(table->rows, column, err, "unknown-column", "unknown column '%s'", name);
    const char *near = base_name_nearest(names, name);
    if (near != NULL)
        base_error_hint(err, "did you mean '%s'?", near);
    return status;
}

enum kvsim_status cli_step_header(struct cli_step_table *table, struct kvsim_error *err)
{
    for (size_t i = 0; i < MEANING_COUNT; i++)
        table->column_of[i] = -1;
    for (size_t i = 0; i < conf_rows_column_count(table->rows); i++) {
        const char *name = conf_rows_column_name(table->rows, i);
        const struct cli_step_column *kind = find_kind(table->kinds, name);
        if (kind == NULL)
            return fail_column(table, (int)i, name, err);
        base_vec_push(&table->columns, kind);
        table->column_of[kind->means] = (int)i;
    }
    return KVSIM_OK;
}

const char *cli_step_text(const struct cli_step_table *table, enum cli_step_meaning means)
{
    int column = table->column_of[means];
    const char *text = column < 0 ? NULL : conf_rows_text(table->rows, column);
    return text == NULL || text[0] == '\0' ? NULL : text;
}

enum kvsim_status cli_step_number(const struct cli_step_table *table, enum cli_step_meaning means,
                                  int64_t missing, int64_t *out, struct kvsim_error *err)
{
    *out = missing;
    if (cli_step_text(table, means) == NULL)
        return KVSIM_OK;
    long long value;
    enum kvsim_status status = conf_rows_int(table->rows, table->column_of[means], &value, err);
    *out = value;
    if (status == KVSIM_OK && value < 0)
        status = conf_rows_fail(table->rows, table->column_of[means], err, "negative",
                                "a negative number");
    return status;
}

enum kvsim_status cli_step_dtype(const struct cli_step_table *table, enum cli_step_meaning means,
                                 enum spec_dtype *out, struct kvsim_error *err)
{
    const char *text = cli_step_text(table, means);
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

enum kvsim_status cli_step_phase(const struct cli_step_table *table, bool *is_prefill,
                                 struct kvsim_error *err)
{
    const char *text = cli_step_text(table, MEANS_PHASE);
    *is_prefill = text != NULL && strcmp(text, "prefill") == 0;
    if (*is_prefill || (text != NULL && strcmp(text, "decode") == 0))
        return KVSIM_OK;
    return conf_rows_fail(table->rows, table->column_of[MEANS_PHASE], err, "unknown-name",
                          "phase is '%s', not prefill or decode", text == NULL ? "" : text);
}

/* A number that the kernel cannot do without. */
static enum kvsim_status size_of(const struct cli_step_table *table, enum cli_step_meaning means,
                                 int64_t *out, struct kvsim_error *err)
{
    enum { SIZE_BITS = 48 };
    enum kvsim_status status = cli_step_number(table, means, 0, out, err);
    if (status != KVSIM_OK || (*out > 0 && *out <= (int64_t)1 << SIZE_BITS))
        return status;
    const char *name = "";
    for (const struct cli_step_column *kind = table->kinds; kind->name != NULL; kind++)
        if (kind->means == means)
            name = kind->name;
    return conf_rows_fail(table->rows, table->column_of[means], err, "out-of-range",
                          "%s must be between 1 and 2^48", name);
}

enum kvsim_status cli_step_sizes(const struct cli_step_table *table,
                                 const enum cli_step_meaning *means, int64_t *const *targets,
                                 size_t count, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < count && status == KVSIM_OK; i++)
        status = size_of(table, means[i], targets[i], err);
    return status;
}
