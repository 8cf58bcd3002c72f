#include "cost/rates.h"

/*
 * Medians over the devices of the reference table of efficiencies (achieved shares and fixed costs derived from the
 * public per-shape kernel tables of ai-dynamo/aiconfigurator, vLLM 0.14-0.24; streaming and launch figures from
 * te42kyfo/gpu-benches). The loader of hardware files fills in a device's own figures; these are for hardware that a
 * scenario states by its peaks alone. Integer formats have no rows of their own: they take those of the float of the
 * same width.
 *
 * These constants model causes that the medians hide:
 * - quantize: dynamic 8-bit activations are read twice (largest value, then scaling) and written once, 5 bytes per
 *   element, at about 0.6 of the bandwidth, plus a per-row cost. With it 8-bit products reach the same share of peak
 *   as 16-bit ones; without it they look like 0.5 of peak, less for small k. Seen on H200 and B200 (fp8 GEMM, m >= 512).
 * - attention tile: in decode, one block of threads works on one KV head of one sequence and takes 2-4 us however short
 *   the context; over the whole GPU that is the time of about 96 kB. Seen on A100, H200, B200 at 16 cached tokens.
 * - mixed reads: FlashAttention-2, the kernel where FlashAttention-3 and the Blackwell kernels do not run, packs the
 *   query heads of a KV head only in steps of decodes alone. With a prefill in the step keys and values are read once
 *   per query head; the L2 cache gives back less the more KV a layer has: 1.0, 1.6, 2.1, 2.0-2.4, 3.0-3.8 times for 0.3,
 *   0.5, 1.1, 2.1, 4.3 GB on an RTX PRO 6000 (128 MB of L2) with four query heads per KV head (vLLM 0.19,
 *   LLMServingSim's profile). It has no 8-bit keys and values: those go to kernels that run a step's decodes apart.
 * - not split: the same kernel gives 64 query rows of one head to one block of threads, which walks all keys. A chunk of
 *   16 tokens on 16,384 cached ones takes as long as one of 270 (0.37 ms, the same profile: 22 ns a key and tile, the
 *   compute unit's share of the rate), 410 tokens need a second wave of blocks and twice the time. Each further wave
 *   costs about 6 us more, the time of 270 keys (64 and 128 decodes of 512 tokens beside a chunk).
 * - prefill's fixed part: FlashAttention-2 splits the keys of a decode and combines the parts, a prefill it does not:
 *   0.6 of the fixed time (A100). FlashAttention-3 and the Blackwell kernels cost the same fixed time in both.
 * - waves: a product is cut into tiles, here 64 x 128, and the last wave of tiles fills the chip only in part. A kernel
 *   that splits the inner dimension wins most of that back: a quarter of what is not filled is lost. Least error over
 *   the bf16 GEMM tables of A100, H200 and B200 together, for few and for many rows.
 * - overlap: a product loads weights while it multiplies. Where copies are the threads' own work (before Hopper, and the
 *   kernels of Ada and of Blackwell's RTX parts), the two cover each other in part only: p = 2 has the least error on the
 *   bf16 GEMM tables of A100 (p 2-2.5) and on products of 2023-24 of A100, A40 and H100 (vidur's profiles). With bulk
 *   copies and warps of their own for them (Hopper's and Blackwell's tensor memory accelerator) p = 4 has (H200, B200).
 * - kernels of 2024: 16-bit products of PyTorch 2.0-2.4 (CUDA 11.8-12.1) reach 0.71-0.77 of peak for large shapes on
 *   A100, H100 and A40 alike, elementwise kernels 0.5-0.6 of the bandwidth (A40 0.7) and no less than 2.3-3.5 us each, and
 *   residuals are added in kernels of their own (microsoft/vidur data/profiling/compute). H100's bulk copies were not
 *   used yet: p = 2.
 * - latents: FlashMLA reaches 0.54 (H800) to 0.65 (H200) of the 16-bit peak with 128 heads. Where it does not run
 *   (before Hopper) the kernel of TensorRT-LLM gives a whole sequence to one block of threads for each 64 heads: 115-123
 *   ns for every token of context, however few sequences there are, and 0.36 of the bandwidth when they are many.
 * - PCIe: NCCL sends small messages by LL (low latency, half the bandwidth) and large ones by Simple, over 2 (n-1) hops
 *   (NVIDIA/nccl src/graph/tuning.cc: 1 us and 5.7 us a hop; 2 us seen on L40S and RTX PRO 6000 with LL). The more GPUs
 *   share the host's root ports, the less of a slot's rate each gets: 37, 29 and 24 GB/s for 2, 4 and 8 RTX PRO 6000.
 * - exchange: eight H800 send 128 tokens each to 8 of 256 experts in 77 us (fp8) and back in 114 us (bf16). At the rate of
 *   large exchanges, 134-138 GB/s between GPUs, the copies for other GPUs' experts (6.6 and 12.8 MB) explain all but 28 and
 *   21 us (deepseek-ai/DeepEP docs/legacy.md).
 *
 * Host: fitted figures of a public simulator (inference-sim, BLIS), vLLM on H100; assumed, to be calibrated. Sampler:
 * 7 bytes a logit while the logits fit the L2, 12 beyond (vLLM 0.19 on an RTX PRO 6000, LLMServingSim's profile).
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
    .prefill_fixed_share = 0.6,
    .latent_fraction = 0.6,
    .latent_unsplit_s = 120e-9,
    .latent_unsplit_fraction = 0.36,
    .latent_unsplit_heads = 64,
    .launch_s = 2.1e-6,
    .graph_launch_s = 1.3e-6,
    .wave_share = 0.25,
    .stream_fraction = 0.89,
    .old_gemm_fraction = 0.75,
    .old_stream_fraction = 0.58,
    .old_stream_s = 3e-6,
    .quantize_bytes_per_element = 5 / 0.6,
    .quantize_row_s = 2e-9,
    .attention_mixed_reads = 4,
    .attention_mixed_l2 = 20,
    .attention_unsplit_rows = 64,
    .attention_unsplit_start = 270,
    .attention_tile_bytes = 96e3,
    .expert_padding_rows = 32,
    .link_fraction =
        0.75, /* all-reduce bus bandwidth at 1 GiB over the link's rate, two and four GPUs */
    .exchange_s = 25e-6,
    .pcie_fraction = 0.74,  /* two L40S */
    .link_latency_s = 5e-6, /* inside a captured graph, 4.3-7.4 us */
    .pcie_hop_s = 2.0e-6,
    .pcie_bulk_hop_s = 5.7e-6,
    .pcie_small_share = 0.5,
    .pcie_crowding = 0.33,
    .sampler_bytes_per_logit = 10,
    .sampler_kernel_count = 6,
    .host_per_step_s = 126e-6,
    .host_per_sequence_s = 4.4e-6,
};
