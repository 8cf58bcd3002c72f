/*
 * explain.h - one step taken apart, operator by operator, for `kvsim step`. The same formulas as the engine's.
 */
#ifndef KVSIM_COST_EXPLAIN_H
#define KVSIM_COST_EXPLAIN_H

#include "cost/cost.h"
#include "spec/hardware.h"

/* Names and order are those of `kvsim step` and of the columns that `kvsim step --from` writes. */
enum cost_operator {
    COST_OP_EMBED,
    COST_OP_NORM,
    COST_OP_QKV,
    COST_OP_ROPE,
    COST_OP_KV_WRITE,
    COST_OP_ATTENTION_PREFILL,
    COST_OP_ATTENTION_DECODE,
    COST_OP_O,
    COST_OP_GATE_UP,
    COST_OP_ACT,
    COST_OP_DOWN,
    COST_OP_ROUTER,
    COST_OP_EXPERTS,
    COST_OP_ALL_REDUCE,
    COST_OP_ALL_TO_ALL,
    COST_OP_P2P,
    COST_OP_LM_HEAD,
    COST_OP_SAMPLER,
    COST_OP_LAUNCH,
    COST_OP_HOST,
    COST_OPERATOR_COUNT
};
const char *cost_operator_name(enum cost_operator op);

struct cost_operator_row {
    enum cost_operator op;
    /* one layer on one GPU, mean over layers where they differ; 0 for whole-step operators */
    double per_layer_s;
    uint32_t layer_count; /* 0 for whole-step operators */
    double total_s;
    double flops, bytes; /* per GPU, whole step */
    enum cost_bound bound;
};

struct cost_explanation {
    size_t row_count;
    struct cost_operator_row rows[COST_OPERATOR_COUNT];
    double device_s, launch_s, host_s;
    int64_t step_ticks;
    double layer_s;
    enum cost_bound bound;
    double flop_share, bandwidth_share; /* of the peaks, over the whole step */
};
/*
 * A pipeline of p stages with m steps in flight (vLLM: m = p, each with sequences of its own, none of which can go on
 * before its own step has ended): a step ends every max(slowest stage, whole step / m, host), since one host schedules all
 * of them, and a GPU idles for what its stage does not fill of that. Stages hold whole layers, the first one the embedding, the last one head and sampler.
 */
struct cost_pipeline {
    uint32_t stage_count, in_flight;
    double slowest_s;    /* the slowest stage */
    double interval_s;   /* between the ends of steps */
    double bubble_share; /* of the time of all GPUs */
};
void cost_pipeline_of(const struct cost_explanation *step, uint32_t stage_count, uint32_t in_flight,
                      struct cost_pipeline *out);

void cost_explain(struct cost *cost, const struct cost_shape *shape, struct cost_explanation *out);

/* One kernel alone on the GPU, without launch and host, in seconds (`kvsim step --operator`). 0 rows are errors. */
struct cost_kernel {
    enum { COST_KERNEL_GEMM, COST_KERNEL_ATTENTION, COST_KERNEL_MLA, COST_KERNEL_ALL_REDUCE } kind;
    int64_t m, n, k;
    enum spec_dtype dtype; /* GEMM; attention and MLA: the KV dtype */
    bool is_prefill;
    int64_t batch, seq_len, q_heads, kv_heads, head_dim, kv_lora_rank, qk_rope_head_dim;
    double message_bytes;
    uint32_t gpu_count;
};
/* The same with a device's rates as they are, for a fit that tries many. */
struct cost_rates;
enum kvsim_status cost_kernel_at(const struct cost_rates *rates, const struct cost_kernel *kernel,
                                 double *out_s, struct kvsim_error *err) KVSIM_MUST_CHECK;
enum kvsim_status cost_kernel_seconds(const struct spec_hardware *hardware,
                                      const struct cost_options *options,
                                      const struct cost_kernel *kernel, double *out_s,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
