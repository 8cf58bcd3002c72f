#include "calib/measure.h"

#include "base/field.h"
#include "base/text.h"
#include "conf/rows.h"
#include "cost/fields.h"
#include "spec/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *calib_kind_name(enum calib_kind kind)
{
    static const char *const names[CALIB_KIND_COUNT] = {
        [CALIB_GEMM] = "gemm",     [CALIB_ATTENTION] = "attention",   [CALIB_MLA] = "mla",
        [CALIB_STREAM] = "stream", [CALIB_ALL_REDUCE] = "all_reduce", [CALIB_LAUNCH] = "launch",
        [CALIB_GRAPH] = "graph",   [CALIB_LAYER] = "layer",           [CALIB_STEP] = "step"};
    base_require((int)kind >= 0 && kind < CALIB_KIND_COUNT);
    return names[kind];
}

enum { SPELLINGS = 3 };

/* Columns, each with its other spellings. */
enum column {
    DEVICE,
    OP,
    MS,
    ITER_MS,
    M,
    N,
    K,
    DTYPE,
    PHASE,
    BATCH,
    SEQ_LEN,
    Q_HEADS,
    KV_HEADS,
    HEAD_DIM,
    KV_DTYPE,
    LORA_RANK,
    ROPE_DIM,
    BYTES,
    ELEMENTS,
    GPUS,
    MODEL,
    TP,
    PREFILL_CHUNK,
    KV_PREFILL,
    N_DECODE,
    KV_DECODE,
    ATTN_MS,
    OTHER_MS,
    HEAD_MS,
    WEIGHT_DTYPE,
    NEW_TOKENS,
    CONTEXT_LEN,
    QKV_MS,
    O_MS,
    GATE_UP_MS,
    DOWN_MS,
    ALL_REDUCE_MS,
    ELEMENT_MS,
    PREFILL_SEQS,
    GRAPHS,
    KERNEL,
    NOTE,
    KERNELS,
    COLUMN_COUNT
};

static const char *const spellings[COLUMN_COUNT][SPELLINGS] = {
    [DEVICE] = {"hardware", "gpu"},
    [OP] = {"op"},
    [MS] = {"ms"},
    [ITER_MS] = {"iter_ms"},
    [M] = {"m"},
    [N] = {"n"},
    [K] = {"k"},
    [DTYPE] = {"dtype"},
    [PHASE] = {"phase"},
    [BATCH] = {"batch", "batch_size"},
    [SEQ_LEN] = {"seq_len"},
    [Q_HEADS] = {"q_heads", "q_heads_per_gpu"},
    [KV_HEADS] = {"kv_heads"},
    [HEAD_DIM] = {"head_dim"},
    [KV_DTYPE] = {"kv_cache_dtype", "kv_dtype"},
    [LORA_RANK] = {"kv_lora_rank"},
    [ROPE_DIM] = {"qk_rope_head_dim"},
    [BYTES] = {"bytes"},
    [ELEMENTS] = {"elements_16bit"},
    [GPUS] = {"gpus", "num_gpus"},
    [MODEL] = {"model"},
    [TP] = {"tp"},
    [PREFILL_CHUNK] = {"prefill_chunk"},
    [KV_PREFILL] = {"kv_prefill"},
    [N_DECODE] = {"n_decode"},
    [KV_DECODE] = {"kv_decode"},
    [ATTN_MS] = {"attn_ms"},
    [OTHER_MS] = {"other_ops_ms"},
    [HEAD_MS] = {"embed_head_sampler_ms"},
    [WEIGHT_DTYPE] = {"weight_dtype", "quantization"},
    [NEW_TOKENS] = {"new_tokens_per_seq"},
    [CONTEXT_LEN] = {"context_len"},
    [QKV_MS] = {"qkv_ms"},
    [O_MS] = {"o_ms"},
    [GATE_UP_MS] = {"gate_up_ms"},
    [DOWN_MS] = {"down_ms"},
    [ALL_REDUCE_MS] = {"allreduce2_ms", "all_reduce_ms"},
    [ELEMENT_MS] = {"elementwise_ms"},
    [PREFILL_SEQS] = {"prefill_seqs"},
    [GRAPHS] = {"graphs"},
    [KERNEL] = {"kernel"},
    [NOTE] = {"note"},
    [KERNELS] = {"kernels"},
};

#define SEQUENCES_MOST (1 << 20)
#define GPUS_MOST 1024
#define SIZE_MOST (1 << 30)
#define TOKENS_MOST ((int64_t)1 << 40)
#define BYTES_MOST ((int64_t)1 << 50)

/* What whole numbers can be without being nonsense; the other columns are texts and times. */
static const struct {
    int64_t least, most;
} ranges[COLUMN_COUNT] = {
    [M] = {1, SIZE_MOST},
    [N] = {1, SIZE_MOST},
    [K] = {1, SIZE_MOST},
    [BATCH] = {1, SEQUENCES_MOST},
    [SEQ_LEN] = {1, TOKENS_MOST},
    [Q_HEADS] = {1, SIZE_MOST},
    [KV_HEADS] = {0, SIZE_MOST},
    [HEAD_DIM] = {1, SIZE_MOST},
    [LORA_RANK] = {1, SIZE_MOST},
    [ROPE_DIM] = {0, SIZE_MOST},
    [BYTES] = {0, BYTES_MOST},
    [ELEMENTS] = {0, BYTES_MOST},
    [GPUS] = {2, GPUS_MOST},
    [TP] = {1, GPUS_MOST},
    [PREFILL_CHUNK] = {0, TOKENS_MOST},
    [PREFILL_SEQS] = {0, SEQUENCES_MOST},
    [KV_PREFILL] = {0, TOKENS_MOST},
    [N_DECODE] = {0, SEQUENCES_MOST},
    [KV_DECODE] = {0, TOKENS_MOST},
    [NEW_TOKENS] = {1, TOKENS_MOST},
    [CONTEXT_LEN] = {0, TOKENS_MOST},
};

enum table_kind {
    TABLE_GEMM,
    TABLE_ATTENTION,
    TABLE_MLA,
    TABLE_ALL_REDUCE,
    TABLE_OPS,
    TABLE_STEPS,
    TABLE_LAYERS,
    TABLE_UNKNOWN
};

/* The first kind whose columns are all there; ended by COLUMN_COUNT. */
static const struct {
    enum table_kind kind;
    enum column needs[9];
} table_kinds[] = {
    {TABLE_OPS, {OP, MS, COLUMN_COUNT}},
    {TABLE_STEPS, {MODEL, PREFILL_CHUNK, KV_PREFILL, N_DECODE, KV_DECODE, ITER_MS, COLUMN_COUNT}},
    {TABLE_LAYERS,
     {MODEL, BATCH, NEW_TOKENS, CONTEXT_LEN, QKV_MS, ATTN_MS, O_MS, DOWN_MS, COLUMN_COUNT}},
    {TABLE_GEMM, {M, N, K, MS, COLUMN_COUNT}},
    {TABLE_ATTENTION, {PHASE, BATCH, SEQ_LEN, Q_HEADS, KV_HEADS, HEAD_DIM, MS, COLUMN_COUNT}},
    {TABLE_MLA, {PHASE, BATCH, SEQ_LEN, Q_HEADS, MS, COLUMN_COUNT}},
    {TABLE_ALL_REDUCE, {GPUS, MS, COLUMN_COUNT}},
};

struct reader {
    struct calib_measurements *table;
    struct conf_rows *rows;
    int columns[COLUMN_COUNT];
    enum table_kind kind;
    int file;
    bool (*is_wanted)(void *context, const char *device);
    void *context;
    struct kvsim_error *err;
};

void calib_measurements_init(struct calib_measurements *table)
{
    *table = (struct calib_measurements){.condition = "", .other = ""};
    base_arena_init(&table->arena);
}

void calib_measurements_free(struct calib_measurements *table)
{
    base_vec_free(&table->files);
    base_vec_free(&table->engines);
    base_vec_free(&table->rows);
    base_arena_release(&table->arena);
}

/* One spelling of each column: with two of them nobody knows which is meant. */
static enum kvsim_status columns_find(struct reader *reader)
{
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        reader->columns[c] = -1;
        for (size_t s = 0; s < SPELLINGS && spellings[c][s] != NULL; s++) {
            int column = conf_rows_column(reader->rows, spellings[c][s]);
            if (column >= 0 && reader->columns[c] >= 0)
                return conf_rows_fail(
                    reader->rows, column, reader->err, "duplicate-column",
                    "column '%s' says the same as column '%s'", spellings[c][s],
                    conf_rows_column_name(reader->rows, (size_t)reader->columns[c]));
            reader->columns[c] = column >= 0 ? column : reader->columns[c];
        }
    }
    return KVSIM_OK;
}

static enum table_kind kind_find(const struct reader *reader)
{
    for (size_t i = 0; i < sizeof table_kinds / sizeof table_kinds[0]; i++) {
        size_t n = 0;
        while (table_kinds[i].needs[n] != COLUMN_COUNT &&
               reader->columns[table_kinds[i].needs[n]] >= 0)
            n++;
        if (table_kinds[i].needs[n] == COLUMN_COUNT)
            return table_kinds[i].kind;
    }
    return TABLE_UNKNOWN;
}

static const char *text_at(const struct reader *reader, enum column column)
{
    const char *text =
        reader->columns[column] < 0 ? NULL : conf_rows_text(reader->rows, reader->columns[column]);
    return text == NULL ? "" : text;
}

static bool has(const struct reader *reader, enum column column)
{
    return text_at(reader, column)[0] != '\0';
}

/* A whole number within the column's range; `absent` where the file has none. */
static bool whole(const struct reader *reader, enum column column, int64_t absent, int64_t *out)
{
    long long value;
    *out = absent;
    if (!has(reader, column) && absent >= ranges[column].least)
        return true;
    if (conf_rows_int(reader->rows, reader->columns[column], &value, reader->err) != KVSIM_OK)
        return false;
    *out = value;
    if (value >= ranges[column].least && value <= ranges[column].most)
        return true;
    conf_rows_fail(reader->rows, reader->columns[column], reader->err, "out-of-range",
                   "'%s' is %lld, but must be from %lld to %lld", spellings[column][0], value,
                   (long long)ranges[column].least, (long long)ranges[column].most);
    return false;
}

/* Milliseconds to seconds. 0 without a value; an error unless a kernel or a step can take that long. */
static bool seconds(const struct reader *reader, enum column column, double *out)
{
    *out = 0;
    if (!has(reader, column))
        return true;
    if (conf_rows_real(reader->rows, reader->columns[column], out, reader->err) != KVSIM_OK)
        return false;
    const double least_ms = 1e-6, most_ms = 3.6e6;
    if (!(*out >= least_ms && *out <= most_ms)) {
        conf_rows_fail(reader->rows, reader->columns[column], reader->err, "out-of-range",
                       "a measured time is from a nanosecond to an hour, in ms");
        return false;
    }
    *out *= 1e-3;
    return true;
}

/* bfloat16, float16, auto and the names of kvsim; "" is the default. */
static bool dtype_at(const struct reader *reader, enum column column, enum spec_dtype *out)
{
    const char *text = text_at(reader, column);
    *out = SPEC_BF16;
    if (text[0] == '\0' || strcmp(text, "bfloat16") == 0 || strcmp(text, "auto") == 0)
        return true;
    if (strcmp(text, "float16") == 0) {
        *out = SPEC_FP16;
        return true;
    }
    if (spec_dtype_parse(text, out))
        return true;
    conf_rows_fail(reader->rows, reader->columns[column], reader->err, "unknown-name",
                   "unknown dtype '%.60s'", text);
    return false;
}

static void add_row(struct reader *reader, struct calib_row row)
{
    row.file = reader->file;
    row.line = conf_rows_line(reader->rows);
    row.device = base_arena_copy(&reader->table->arena, text_at(reader, DEVICE));
    if (row.measured_s > 0)
        base_vec_push(&reader->table->rows, row);
    else
        reader->table->untimed_count++;
}

static bool read_gemm(struct reader *reader, struct calib_row row)
{
    row.kind = CALIB_GEMM;
    row.kernel.kind = COST_KERNEL_GEMM;
    if (!whole(reader, M, 0, &row.kernel.m) || !whole(reader, N, 0, &row.kernel.n) ||
        !whole(reader, K, 0, &row.kernel.k) || !dtype_at(reader, DTYPE, &row.kernel.dtype))
        return false;
    row.is_decode = row.kernel.m <= 256;
    add_row(reader, row);
    return true;
}

static bool read_attention(struct reader *reader, struct calib_row row)
{
    struct cost_kernel *kernel = &row.kernel;
    row.kind =
        reader->columns[KV_HEADS] >= 0 && has(reader, KV_HEADS) ? CALIB_ATTENTION : CALIB_MLA;
    kernel->kind = row.kind == CALIB_MLA ? COST_KERNEL_MLA : COST_KERNEL_ATTENTION;
    kernel->is_prefill = base_key_equal(text_at(reader, PHASE), "prefill");
    if (!kernel->is_prefill && !base_key_equal(text_at(reader, PHASE), "decode")) {
        conf_rows_fail(reader->rows, reader->columns[PHASE], reader->err, "bad-choice",
                       "phase is prefill or decode");
        return false;
    }
    row.is_decode = !kernel->is_prefill;
    bool ok = whole(reader, BATCH, 0, &kernel->batch) &&
              whole(reader, SEQ_LEN, 0, &kernel->seq_len) &&
              whole(reader, Q_HEADS, 0, &kernel->q_heads) &&
              whole(reader, KV_HEADS, 0, &kernel->kv_heads) &&
              whole(reader, HEAD_DIM, 128, &kernel->head_dim) &&
              whole(reader, LORA_RANK, 512, &kernel->kv_lora_rank) &&
              whole(reader, ROPE_DIM, 64, &kernel->qk_rope_head_dim) &&
              dtype_at(reader, KV_DTYPE, &kernel->dtype);
    if (ok)
        add_row(reader, row);
    return ok;
}

static bool read_all_reduce(struct reader *reader, struct calib_row row)
{
    int64_t bytes, elements, gpus;
    row.kind = CALIB_ALL_REDUCE;
    row.kernel.kind = COST_KERNEL_ALL_REDUCE;
    if (!whole(reader, BYTES, 0, &bytes) || !whole(reader, ELEMENTS, 0, &elements) ||
        !whole(reader, GPUS, 0, &gpus))
        return false;
    row.kernel.message_bytes = bytes > 0 ? (double)bytes : 2 * (double)elements;
    row.kernel.gpu_count = (uint32_t)gpus;
    row.is_decode = row.kernel.message_bytes <= 1 << 20;
    add_row(reader, row);
    return true;
}

/* One row of kvsim-microbench; an `info` row says what the machine is. */
static bool read_op(struct reader *reader, struct calib_row row)
{
    static const struct {
        const char *op;
        enum calib_kind kind;
    } plain[] = {{"copy", CALIB_STREAM}, {"launch", CALIB_LAUNCH}, {"graph", CALIB_GRAPH}};
    const char *op = text_at(reader, OP);
    int64_t bytes;
    row.is_bound = strcmp(text_at(reader, KERNEL), "own") == 0;
    if (strcmp(op, "info") == 0) {
        reader->table->condition = base_arena_copy(&reader->table->arena, text_at(reader, NOTE));
        return true;
    }
    if (strcmp(op, "gemm") == 0)
        return read_gemm(reader, row);
    if (strcmp(op, "attention") == 0 || strcmp(op, "mla") == 0)
        return read_attention(reader, row);
    if (strcmp(op, "all_reduce") == 0)
        return read_all_reduce(reader, row);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(op, plain[i].op) != 0)
            continue;
        row.kind = plain[i].kind;
        if (!whole(reader, BYTES, 0, &bytes))
            return false;
        row.bytes = (double)bytes;
        add_row(reader, row);
        return true;
    }
    reader->table->untimed_count++; // measured for people: reads, gathers, copies to the host
    return true;
}

static size_t engine_find(struct reader *reader, struct calib_engine_key key)
{
    struct calib_measurements *table = reader->table;
    for (size_t i = 0; i < table->engines.count; i++) {
        const struct calib_engine_key *at = &table->engines.at[i];
        if (strcmp(at->model, key.model) == 0 && strcmp(at->quantization, key.quantization) == 0 &&
            strcmp(at->kv_cache_dtype, key.kv_cache_dtype) == 0 &&
            at->tensor_parallel == key.tensor_parallel && at->graphs == key.graphs)
            return i;
    }
    key.model = base_arena_copy(&table->arena, key.model);
    key.quantization = base_arena_copy(&table->arena, key.quantization);
    key.kv_cache_dtype = base_arena_copy(&table->arena, key.kv_cache_dtype);
    base_vec_push(&table->engines, key);
    return table->engines.count - 1;
}

static bool read_engine(struct reader *reader, bool graphs, struct calib_row *row)
{
    struct calib_engine_key key = {
        .model = text_at(reader, MODEL), .quantization = "none", .kv_cache_dtype = "auto"};
    const char *weights = text_at(reader, WEIGHT_DTYPE), *kv = text_at(reader, KV_DTYPE);
    if (weights[0] != '\0' && strcmp(weights, "bfloat16") != 0 && strcmp(weights, "float16") != 0)
        key.quantization = weights;
    if (kv[0] != '\0' && strcmp(kv, "float16") != 0)
        key.kv_cache_dtype = kv;
    key.graphs = has(reader, GRAPHS) ? base_key_equal(text_at(reader, GRAPHS), "true") : graphs;
    if (!whole(reader, TP, 1, &key.tensor_parallel))
        return false;
    row->engine = engine_find(reader, key);
    return true;
}

#define BIT(op) (1U << (op))

static const uint32_t attention_bits =
    BIT(COST_OP_ATTENTION_PREFILL) | BIT(COST_OP_ATTENTION_DECODE);
static const uint32_t other_bits = BIT(COST_OP_NORM) | BIT(COST_OP_QKV) | BIT(COST_OP_ROPE) |
                                   BIT(COST_OP_O) | BIT(COST_OP_GATE_UP) | BIT(COST_OP_ACT) |
                                   BIT(COST_OP_DOWN);
static const uint32_t head_bits = BIT(COST_OP_EMBED) | BIT(COST_OP_LM_HEAD) | BIT(COST_OP_SAMPLER);

static bool add_part(struct reader *reader, struct calib_row row, enum calib_kind kind,
                     enum column column, uint32_t operators)
{
    row.kind = kind;
    row.operators = operators;
    if (!seconds(reader, column, &row.measured_s))
        return false;
    if (row.measured_s > 0)
        add_row(reader, row);
    return true;
}

static bool read_step(struct reader *reader, struct calib_row row)
{
    struct calib_batch *batch = &row.batch;
    int64_t tp;
    if (!has(reader, ITER_MS)) {
        reader->table->untimed_count++;
        return true;
    }
    if (!whole(reader, PREFILL_CHUNK, 0, &batch->prefill_tokens) ||
        !whole(reader, PREFILL_SEQS, 1, &batch->prefill_seqs) ||
        !whole(reader, KV_PREFILL, 0, &batch->prefill_context) ||
        !whole(reader, N_DECODE, 0, &batch->decode_seqs) ||
        !whole(reader, KV_DECODE, 0, &batch->decode_context) || !whole(reader, TP, 1, &tp) ||
        !read_engine(reader, false, &row))
        return false;
    batch->prefill_seqs = batch->prefill_tokens > 0 ? batch->prefill_seqs : 0;
    row.is_decode = batch->prefill_seqs == 0;
    bool is_composed = has(reader, ATTN_MS) && has(reader, OTHER_MS) && has(reader, HEAD_MS);
    if (!is_composed)
        return add_part(reader, row, CALIB_STEP, ITER_MS, 0);
    return add_part(reader, row, CALIB_LAYER, ATTN_MS, attention_bits) &&
           add_part(reader, row, CALIB_LAYER, OTHER_MS, other_bits) &&
           (tp > 1 || add_part(reader, row, CALIB_STEP, HEAD_MS, head_bits)) &&
           (tp > 1 || add_part(reader, row, CALIB_STEP, ITER_MS, 0));
}

static bool read_layer(struct reader *reader, struct calib_row row)
{
    static const struct {
        enum column column;
        uint32_t operators;
    } parts[] = {
        {QKV_MS, BIT(COST_OP_QKV)},
        {ATTN_MS, BIT(COST_OP_ATTENTION_PREFILL) | BIT(COST_OP_ATTENTION_DECODE)},
        {O_MS, BIT(COST_OP_O)},
        {GATE_UP_MS, BIT(COST_OP_GATE_UP)},
        {DOWN_MS, BIT(COST_OP_DOWN)},
        {ELEMENT_MS, BIT(COST_OP_NORM) | BIT(COST_OP_ROPE) | BIT(COST_OP_ACT)},
    };
    int64_t batch, new_tokens, context;
    if (!whole(reader, BATCH, 0, &batch) || !whole(reader, NEW_TOKENS, 1, &new_tokens) ||
        !whole(reader, CONTEXT_LEN, 0, &context) || !read_engine(reader, true, &row))
        return false;
    row.is_decode = base_key_equal(text_at(reader, PHASE), "decode");
    if (row.is_decode)
        row.batch = (struct calib_batch){.decode_seqs = batch, .decode_context = context};
    else
        row.batch = (struct calib_batch){.prefill_seqs = batch, .prefill_tokens = new_tokens};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!add_part(reader, row, CALIB_LAYER, parts[i].column, parts[i].operators))
            return false;
    // 0 where there is one GPU.
    if (reader->table->engines.at[row.engine].tensor_parallel < 2)
        return true;
    return add_part(reader, row, CALIB_LAYER, ALL_REDUCE_MS, BIT(COST_OP_ALL_REDUCE));
}

static const struct base_choice *kernels_of(const char *text)
{
    const struct base_choice *choice = cost_kernels_choices;
    if (text[0] == '\0')
        return choice; // the first is the default
    while (choice->name != NULL && !base_key_equal(choice->name, text))
        choice++;
    return choice->name == NULL ? NULL : choice;
}

/* Coefficients of two generations of software are no one's: a fit is of one. */
static bool read_kernels(struct reader *reader)
{
    struct calib_measurements *table = reader->table;
    int column = reader->columns[KERNELS];
    const struct base_choice *choice = kernels_of(text_at(reader, KERNELS));
    if (choice == NULL) {
        conf_rows_fail(reader->rows, column, reader->err, "unknown-name",
                       "unknown generation of kernels '%.60s'", text_at(reader, KERNELS));
        base_error_hint(reader->err, "current or 2024: see 'kvsim explain cost.kernels'");
        return false;
    }
    if (table->has_kernels && (int)table->kernels != choice->value) {
        conf_rows_fail(reader->rows, column, reader->err, "mixed-kernels",
                       "kernels are '%s' in this row and of another generation before it",
                       choice->name);
        base_error_hint(reader->err, "calibrate each generation of software on its own");
        return false;
    }
    table->has_kernels = true;
    table->kernels = (enum cost_kernels)choice->value;
    return true;
}

static bool read_row(struct reader *reader)
{
    struct calib_row row = {0};
    if (!read_kernels(reader))
        return false;
    if (reader->kind != TABLE_STEPS && reader->kind != TABLE_LAYERS &&
        !seconds(reader, MS, &row.measured_s) && strcmp(text_at(reader, OP), "info") != 0)
        return false;
    switch (reader->kind) {
    case TABLE_GEMM:
        return read_gemm(reader, row);
    case TABLE_ATTENTION:
    case TABLE_MLA:
        return read_attention(reader, row);
    case TABLE_ALL_REDUCE:
        return read_all_reduce(reader, row);
    case TABLE_OPS:
        return read_op(reader, row);
    case TABLE_STEPS:
        return read_step(reader, row);
    case TABLE_LAYERS:
        return read_layer(reader, row);
    case TABLE_UNKNOWN:
        break;
    }
    return false;
}

static enum kvsim_status read_all(struct reader *reader)
{
    bool more = true;
    enum kvsim_status status = KVSIM_OK;
    while ((status = conf_rows_next(reader->rows, &more, reader->err)) == KVSIM_OK && more) {
        if (has(reader, DEVICE) && reader->is_wanted != NULL &&
            !reader->is_wanted(reader->context, text_at(reader, DEVICE))) {
            if (reader->table->other_count++ == 0)
                reader->table->other =
                    base_arena_copy(&reader->table->arena, text_at(reader, DEVICE));
            continue;
        }
        if (!read_row(reader))
            return reader->err->status == KVSIM_OK ? KVSIM_ERR_SCENARIO : reader->err->status;
    }
    return status;
}

enum kvsim_status calib_measurements_add(struct calib_measurements *table, const char *path,
                                         bool (*is_wanted)(void *context, const char *device),
                                         void *context, struct kvsim_error *err)
{
    struct reader reader = {.table = table, .is_wanted = is_wanted, .context = context, .err = err};
    enum kvsim_status status = conf_rows_open(path, &reader.rows, err);
    if (status != KVSIM_OK)
        return status;
    status = columns_find(&reader);
    reader.kind = kind_find(&reader);
    if (status != KVSIM_OK) {
        conf_rows_close(reader.rows);
        return status;
    }
    if (reader.kind == TABLE_UNKNOWN) {
        status = conf_rows_fail(
            reader.rows, -1, err, "missing-column",
            "these columns are of no table of measured times: kernels need ms and m,n,k or phase,"
            "batch,seq_len,q_heads or bytes,gpus; steps iter_ms and prefill_chunk,kv_prefill,"
            "n_decode,kv_decode");
    } else {
        reader.file = (int)table->files.count;
        base_vec_push(&table->files, base_arena_copy(&table->arena, path));
        status = read_all(&reader);
    }
    conf_rows_close(reader.rows);
    return status;
}
