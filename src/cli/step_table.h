/*
 * step_table.h - a table of steps or kernels on its way: its columns, the row at hand, and what the rows so far cost.
 *
 * The kinds of table (steps, and the kernels of --operator) differ in their columns, which one list each names.
 */
#ifndef KVSIM_CLI_STEP_TABLE_H
#define KVSIM_CLI_STEP_TABLE_H

#include "cli/cli_int.h"
#include "conf/rows.h"
#include "cost/explain.h"
#include "study/step.h"

/* What a column means: the first are the keys of an engine. */
enum cli_step_meaning {
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

struct cli_step_column {
    const char *name; /* NULL ends a list */
    enum cli_step_meaning means;
    bool is_text; /* in JSON */
};

/* What a row costs. A kernel has `kernel_ms` alone. */
struct cli_step_price {
    double step_ms, layer_ms, kernel_ms;
    enum cost_bound bound;
    double operator_ms[COST_OPERATOR_COUNT];
};

struct cli_step_table {
    const struct cli_args *args;
    const struct cli_step_column *kinds;
    int kernel; /* enum cli_kernel */
    struct conf_rows *rows;
    int column_of[MEANING_COUNT]; /* -1 where the file lacks it */
    struct study_steps steps;
    struct base_arena arena;
    struct {
        const struct cli_step_column **at;
        size_t count, capacity;
    } columns; /* of the file, in its order */
    struct {
        const char **at;
        size_t count, capacity;
    } fields; /* row by row */
    struct {
        struct cli_step_price *at;
        size_t count, capacity;
    } prices;
};

/* step_columns.c: the columns that a table may have; `kernel` as in the table. */
const struct cli_step_column *cli_step_columns(int kernel);
/* Which column of the file means what. */
enum kvsim_status cli_step_header(struct cli_step_table *table, struct kvsim_error *err);

/* Fields of the row at hand. The text, or NULL where the file has none in this row. */
const char *cli_step_text(const struct cli_step_table *table, enum cli_step_meaning means);
/* A whole number; `missing` where the row lacks it. */
enum kvsim_status cli_step_number(const struct cli_step_table *table, enum cli_step_meaning means,
                                  int64_t missing, int64_t *out, struct kvsim_error *err);
/* Numbers that a kernel cannot do without. */
enum kvsim_status cli_step_sizes(const struct cli_step_table *table,
                                 const enum cli_step_meaning *means, int64_t *const *targets,
                                 size_t count, struct kvsim_error *err);
enum kvsim_status cli_step_dtype(const struct cli_step_table *table, enum cli_step_meaning means,
                                 enum spec_dtype *out, struct kvsim_error *err);
enum kvsim_status cli_step_phase(const struct cli_step_table *table, bool *is_prefill,
                                 struct kvsim_error *err);

/* step_table_print.c: to stdout. */
void cli_step_table_csv(const struct cli_step_table *table);
void cli_step_table_json(const struct cli_step_table *table);

#endif
