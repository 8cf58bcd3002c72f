/*
 * rates.h - what a device achieves: its peaks, its efficiencies with the gaps filled, and the time of one kernel.
 *
 * Everything here is a pure function of the hardware file. A kernel's time is
 *   fixed + max(bytes / (share of bandwidth), FLOPs / (share of the dense peak)),
 * the roofline (Williams, Waterman, Patterson, CACM 2009) with an affine memory side: one efficiency number misses small
 * matrices by a factor of two. A kernel's fixed part belongs to the kernel, never to `launch`.
 */
#ifndef KVSIM_COST_RATES_H
#define KVSIM_COST_RATES_H

#include "base/error.h"
#include "cost/cost.h"
#include "spec/hardware.h"

/* Constants for what a hardware file does not say. Sources: defaults.c. */
struct cost_defaults {
    double gemm_fraction[SPEC_DTYPE_COUNT];
    struct spec_affine weight_stream[SPEC_DTYPE_COUNT];
    struct spec_affine decode_attention[SPEC_DTYPE_COUNT];
    double prefill_attention_long, prefill_attention_mid, prefill_attention_short;
    double prefill_fixed_share; /* of the fixed time of decode attention, with FlashAttention-2 */
    double latent_fraction;     /* of the 16-bit peak: absorbed MLA decode */
    double latent_unsplit_s, latent_unsplit_fraction, latent_unsplit_heads;
    double launch_s, graph_launch_s;
    double wave_share;      /* of what tiles do not fill that is lost */
    double stream_fraction; /* of bandwidth: kernels that read and write activations */
    double old_gemm_fraction, old_stream_fraction, old_stream_s; /* of kernels of 2024 */
    double quantize_bytes_per_element,
        quantize_row_s;             /* activations before a product in 8 or 4 bits */
    double attention_mixed_reads;   /* of KV in steps with prefill, where heads are not packed */
    double attention_mixed_l2;      /* KV of a layer in L2 sizes at which half of that is reached */
    double attention_unsplit_rows;  /* query rows of a tile */
    double attention_unsplit_start; /* keys in whose time a further wave of blocks starts */
    /* a KV head of a sequence costs at least the time of these bytes */
    double attention_tile_bytes;
    double expert_padding_rows; /* rows lost per expert that is touched: half a block */
    double link_fraction, pcie_fraction, link_latency_s;
    double exchange_s; /* of an all-to-all, each way */
    double pcie_hop_s, pcie_bulk_hop_s, pcie_small_share, pcie_crowding;
    double sampler_bytes_per_logit, sampler_kernel_count;
    double host_per_step_s, host_per_sequence_s;
};
extern const struct cost_defaults cost_defaults;

struct cost_rates {
    const struct spec_hardware *hardware;
    double bytes_per_s;
    double flop_per_s[SPEC_DTYPE_COUNT]; /* 0 = the device cannot */
    double gemm_fraction[SPEC_DTYPE_COUNT];
    double gemm_start; /* of k: a tile's start and end; 0 where the share holds them */
    struct spec_affine weight_stream[SPEC_DTYPE_COUNT], decode_attention[SPEC_DTYPE_COUNT];
    double attention_fraction;   /* of the 16-bit peak, for long sequences */
    double attention_row_tokens; /* query-key pairs that each query row costs on top */
    double prefill_fixed_s;      /* of a prefill attention kernel; 0: the share below of decode's */
    double prefill_fixed_share;
    bool copies_in_bulk; /* products overlap their loads nearly wholly */
    /* FlashAttention-2: one block of threads walks all keys of a tile of query rows */
    bool is_unsplit;
    double attention_mixed_reads; /* at most; never above query heads per KV head */
    double attention_tile_bytes;
    double latent_fraction;  /* of the 16-bit peak, absorbed MLA decode */
    double latent_unsplit_s; /* of a token of context where a sequence is not split; 0 = it is */
    double stream_fraction, stream_fixed_s;
    bool adds_apart; /* residuals are added in kernels of their own */
    double quantize_bytes_per_element, quantize_row_s;
    double launch_s, graph_launch_s;
    double host_per_step_s, host_per_sequence_s, host_per_layer_s, host_exposed_s;
    const struct spec_calibration *calibration; /* NULL: level datasheet */
};

/* KVSIM_ERR_SCENARIO when bandwidth or every 16- and 32-bit rate is unknown. */
enum kvsim_status cost_rates_init(struct cost_rates *rates, const struct spec_hardware *hardware,
                                  enum cost_kernels kernels,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Puts fitted coefficients in the place of the datasheet's; those that are not stated stay. */
void cost_rates_calibrate(struct cost_rates *rates, const struct spec_calibration *calibration);

/* The dtype in whose peak a product of 16-bit operands runs: `wanted`, else the other 16-bit type, else fp32. */
enum spec_dtype cost_rates_dtype(const struct cost_rates *rates, enum spec_dtype wanted);

/* Time of one kernel, or of several alike. */
struct cost_time {
    double s, flops, bytes;
    double kernel_count;
    enum cost_bound bound;
};

/* How a weight matrix is held and multiplied. */
struct cost_matrix {
    double weight_bytes;  /* per element, scales included */
    enum spec_dtype rate; /* operands of the product, and the row of efficiencies */
    bool quantizes;       /* activations come in 16 bits and are quantized before the product */
};

/* m rows times k x n. */
struct cost_time cost_gemm(const struct cost_rates *rates, const struct cost_matrix *matrix,
                           double m, double n, double k);

/* Grouped products of a MoE layer on one GPU: `rows` token-expert pairs over `touched` experts of `weights` elements
 * each, in `kernel_count` kernels; `row_elements` activations read and written per pair. */
struct cost_time cost_gemm_grouped(const struct cost_rates *rates, const struct cost_matrix *matrix,
                                   double rows, double touched, double weights, double row_elements,
                                   double kernel_count);

/* A kernel that only moves activations. */
struct cost_time cost_stream(const struct cost_rates *rates, double bytes, enum cost_bound bound);

/* Attention of new tokens over a causal area of query-key pairs. */
struct cost_attention_prefill {
    double pairs, tokens, sequences;
    double q_heads; /* 0: tiles are not counted */
    double flops_per_pair;
    double kv_bytes; /* keys and values read once */
    enum spec_dtype kv_dtype;
};
double cost_attention_prefill_fixed_s(const struct cost_rates *rates, enum spec_dtype kv_dtype);
struct cost_time cost_attention_prefill(const struct cost_rates *rates,
                                        const struct cost_attention_prefill *work);

/*
 * Attention of one new token per sequence, as a maximum of lines alpha + beta * (sum of contexts):
 *   floor    fixed + sequences * heads * (least time of a KV head)
 *   memory   fixed + contexts * bytes / (share of bandwidth)
 *   compute  fixed + contexts * FLOPs / (share of the 16-bit peak)
 *   sequential  fixed + mean context * (time of a token), where a kernel does not split a sequence over the GPU
 */
struct cost_attention_decode {
    double sequences, kv_heads;
    double bytes_per_token, flops_per_token; /* of context, all heads of this GPU, one layer */
    double reads;                            /* of each key and value; 0 = 1 */
    double read_fraction;                    /* 0 = the device's */
    double dequant_s_per_token;              /* of context */
    double latent_heads; /* query heads that share a latent; 0 = keys and values of their own */
    /* query heads that are served one by one, in steps with prefill; 0 = none */
    double unpacked_heads;
    enum spec_dtype kv_dtype;
};
enum {
    COST_DECODE_FLOOR,
    COST_DECODE_MEMORY,
    COST_DECODE_COMPUTE,
    COST_DECODE_SEQUENTIAL,
    COST_DECODE_LINES
};
struct cost_decode_lines {
    double alpha_s[COST_DECODE_LINES], beta_s[COST_DECODE_LINES];
};
/* How often keys and values are read in a step with prefill, for the bytes of a layer and query heads per KV head. */
double cost_attention_mixed_reads(const struct cost_rates *rates, double kv_bytes,
                                  double heads_per_kv_head);
extern const enum cost_bound cost_decode_bounds[COST_DECODE_LINES];
void cost_attention_decode_lines(const struct cost_rates *rates,
                                 const struct cost_attention_decode *work,
                                 struct cost_decode_lines *out);
struct cost_time cost_attention_decode_at(const struct cost_decode_lines *lines,
                                          const struct cost_attention_decode *work,
                                          double contexts);

/* What is stated, or `fallback` where it is unknown (0). */
static inline double cost_known(double value, double fallback)
{
    return value > 0 ? value : fallback;
}

/* links.c: all-reduce of `bytes` on each of `gpu_count` GPUs; 0 for one GPU. */
struct cost_time cost_all_reduce(const struct cost_rates *rates, uint32_t gpu_count, double bytes);
/* One message from a GPU to another. */
struct cost_time cost_link_move(const struct cost_rates *rates, double bytes);
/* An all-to-all in which no GPU gets more than `bytes`. */
struct cost_time cost_exchange(const struct cost_rates *rates, double bytes);

#endif
