#include "cost/rates.h"

/*
 * Medians over the devices of the reference table of efficiencies (achieved shares and fixed costs derived from the
 * public per-shape kernel tables of ai-dynamo/aiconfigurator, vLLM 0.14-0.24; streaming and launch figures from
 * te42kyfo/gpu-benches). The loader of hardware files fills in a device's own figures; these are for hardware that a
 * scenario states by its peaks alone. Integer formats have no rows of their own: they take those of the float of the
 * same width.
 *
 * Three constants model causes that the medians hide:
 * - quantize: dynamic 8-bit activations are read twice (largest value, then scaling) and written once, 5 bytes per
 *   element, at about 0.6 of the bandwidth, plus a per-row cost. With it 8-bit products reach the same share of peak
 *   as 16-bit ones; without it they look like 0.5 of peak, less for small k. Seen on H200 and B200 (fp8 GEMM, m >= 512).
 * - attention tile: in decode, one block of threads works on one KV head of one sequence and takes 2-4 us however short
 *   the context; over the whole GPU that is the time of about 96 kB. Seen on A100, H200, B200 at 16 cached tokens.
 * - mixed reads: FlashAttention-2, the kernel where FlashAttention-3 and the Blackwell kernels do not run, packs the
 *   query heads of a KV head only in steps of decodes alone. With a prefill in the step keys and values are read once
 *   per query head, the L2 cache giving a part back. 1.9-3.6 times on an RTX PRO 6000 with four query heads per KV head
 *   (vLLM 0.19, LLMServingSim's profile).
 *
 * Host: fitted figures of a public simulator (inference-sim, BLIS), vLLM on H100; assumed, to be calibrated. Sampler:
 * assumed from the passes of vLLM's sampler over the logits (16-bit read, fp32 write, softmax, draw).
 */
const struct cost_defaults cost_defaults = {
    .gemm_fraction = {[SPEC_FP32] = 0.78,
                      [SPEC_FP16] = 0.78,
                      [SPEC_BF16] = 0.78,
                      [SPEC_FP8] = 0.78,
                      [SPEC_INT8] = 0.78,
                      [SPEC_FP4] = 0.78,
                      [SPEC_INT4] = 0.78},
    .weight_stream = {[SPEC_FP32] = {3.25e-6, 0.79},
                      [SPEC_FP16] = {3.25e-6, 0.79},
                      [SPEC_BF16] = {3.25e-6, 0.79},
                      [SPEC_FP8] = {6.1e-6, 0.72},
                      [SPEC_INT8] = {6.1e-6, 0.72},
                      [SPEC_FP4] = {7.8e-6, 0.74},
                      [SPEC_INT4] = {7.8e-6, 0.74}},
    .decode_attention = {[SPEC_FP32] = {13.4e-6, 0.81},
                         [SPEC_FP16] = {13.4e-6, 0.81},
                         [SPEC_BF16] = {13.4e-6, 0.81},
                         [SPEC_FP8] = {16e-6, 0.73},
                         [SPEC_INT8] = {16e-6, 0.73},
                         [SPEC_FP4] = {16e-6, 0.73},
                         [SPEC_INT4] = {16e-6, 0.73}},
    .prefill_attention_long = 0.56,
    .prefill_attention_mid = 0.51,
    .prefill_attention_short = 0.33,
    .launch_s = 2.1e-6,
    .graph_launch_s = 1.3e-6,
    .stream_fraction = 0.89,
    .quantize_bytes_per_element = 5 / 0.6,
    .quantize_row_s = 2e-9,
    .attention_mixed_reads = 2.5,
    .attention_tile_bytes = 96e3,
    .expert_padding_rows = 32,
    .link_fraction =
        0.75, /* all-reduce bus bandwidth at 1 GiB over the link's rate, two and four GPUs */
    .pcie_fraction = 0.77,  /* two L40S */
    .link_latency_s = 5e-6, /* inside a captured graph, 4.3-7.4 us */
    .pcie_latency_s = 6.3e-6,
    .sampler_bytes_per_logit = 16,
    .sampler_kernel_count = 6,
    .host_per_step_s = 126e-6,
    .host_per_sequence_s = 4.4e-6,
};
