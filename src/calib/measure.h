/*
 * measure.h - tables of measured times, known by their columns, as rows that the cost model can predict.
 *
 * Kinds of tables (each column's other spellings are accepted too; `gpu` or `hardware` names the device):
 *   gemm          m, n, k, dtype, ms
 *   attention     phase, batch, seq_len, q_heads, kv_heads, head_dim, kv_cache_dtype, ms
 *   mla           phase, batch, seq_len, q_heads, kv_cache_dtype, ms [kv_lora_rank 512, qk_rope_head_dim 64]
 *   all_reduce    bytes or elements_16bit, gpus, ms
 *   measurements  op, ms and any of the columns above: what kvsim-microbench writes; where its `kernel` is "own" a row
 *                 bounds the time of the engines' kernels from above and is no measurement of them
 *   steps         model, tp, phase, prefill_chunk, kv_prefill, n_decode, kv_decode, iter_ms [prefill_seqs 1]
 *                 [attn_ms, other_ops_ms, embed_head_sampler_ms: then iter_ms is made of these, without communication]
 *   layers        model, tp, batch_size, new_tokens_per_seq, context_len, phase, qkv_ms ... down_ms, allreduce2_ms
 *                 [elementwise_ms: norms, rope and activation]
 * `kernels` says what software ran, as cost.kernels does (current unless stated): all rows of a table, over all its files,
 * are of one generation.
 * Rows of other devices are left out and counted, as are rows without a time.
 */
#ifndef KVSIM_CALIB_MEASURE_H
#define KVSIM_CALIB_MEASURE_H

#include "base/error.h"
#include "base/mem.h"
#include "cost/cost.h"
#include "cost/explain.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calib_kind {
    CALIB_GEMM,
    CALIB_ATTENTION,
    CALIB_MLA,
    CALIB_ALL_REDUCE,
    CALIB_STREAM, /* bytes moved through memory by one kernel */
    CALIB_LAUNCH, /* period of empty kernels */
    CALIB_GRAPH,  /* the same inside a graph */
    CALIB_LAYER,  /* operators of one layer */
    CALIB_STEP,   /* operators of a whole step, or all of it */
    CALIB_KIND_COUNT
};
const char *calib_kind_name(enum calib_kind kind);

/* An engine of steps and layers. */
struct calib_engine_key {
    const char *model, *quantization, *kv_cache_dtype;
    int64_t tensor_parallel;
    bool graphs;
};

struct calib_batch {
    int64_t prefill_seqs, prefill_tokens, prefill_context; /* tokens of each sequence */
    int64_t decode_seqs, decode_context;                   /* in the cache before the step */
};

struct calib_row {
    enum calib_kind kind;
    double measured_s;
    struct cost_kernel kernel; /* gemm ... all_reduce */
    double bytes;              /* stream */
    size_t engine;             /* index into the table's engines: layer, step */
    struct calib_batch batch;
    uint32_t operators; /* bits 1 << cost_operator that the time covers; 0 = the whole step */
    bool is_decode;
    bool is_bound;      /* of kvsim's own kernels: what an engine uses takes at most as long */
    const char *device; /* as the file names it; "" where it does not */
    int file, line;     /* index into files */
};

struct calib_measurements {
    struct base_arena arena;
    struct {
        const char **at;
        size_t count, capacity;
    } files;
    struct {
        struct calib_engine_key *at;
        size_t count, capacity;
    } engines;
    struct {
        struct calib_row *at;
        size_t count, capacity;
    } rows;
    size_t other_count;   /* rows of other devices */
    const char *other;    /* the first of them; "" */
    size_t untimed_count; /* rows without a time */
    bool has_kernels;
    enum cost_kernels kernels; /* of the rows read so far */
    /* what a file of kvsim-microbench says of its machine; "" unless one did */
    const char *condition;
};

void calib_measurements_init(struct calib_measurements *table);
void calib_measurements_free(struct calib_measurements *table);

/*
 * Adds a file's rows; `is_wanted` (NULL: every row) says which device names are the one to be fitted.
 * KVSIM_ERR_IO, or KVSIM_ERR_SCENARIO with the place: unknown columns, a bad value, a time that is not positive.
 */
enum kvsim_status calib_measurements_add(struct calib_measurements *table, const char *path,
                                         bool (*is_wanted)(void *context, const char *device),
                                         void *context, struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
