#include "spec/calibration.h"

const struct spec_coefficient_row spec_coefficients[SPEC_COEFFICIENT_COUNT] = {
    [SPEC_GEMM_BF16] = {"gemm_bf16", SPEC_SHARE, 0.05, 1, "products in 16 bits, of the dense peak"},
    [SPEC_GEMM_FP8] = {"gemm_fp8", SPEC_SHARE, 0.05, 1, "products in 8 bits, of the dense peak"},
    [SPEC_GEMM_START] = {"gemm_start", SPEC_TIMES, 1, 2048,
                         "a tile of a product starts and ends in the time of so many of its inner "
                         "dimension"},
    [SPEC_WEIGHTS_BF16] = {"weights_bf16", SPEC_SHARE, 0.05, 1,
                           "streaming 16-bit weights, of bandwidth"},
    [SPEC_WEIGHTS_FP8] = {"weights_fp8", SPEC_SHARE, 0.05, 1,
                          "streaming 8-bit weights, of bandwidth"},
    [SPEC_WEIGHTS_FIXED_BF16] = {"weights_fixed_bf16", SPEC_SECONDS, 1e-7, 1e-3,
                                 "fixed time of a product in 16 bits"},
    [SPEC_WEIGHTS_FIXED_FP8] = {"weights_fixed_fp8", SPEC_SECONDS, 1e-7, 1e-3,
                                "fixed time of a product in 8 bits"},
    [SPEC_QUANTIZE_BYTES] = {"quantize_bytes", SPEC_BYTES, 0.1, 100,
                             "traffic for each activation that is quantized before a product"},
    [SPEC_QUANTIZE_ROW] = {"quantize_row", SPEC_SECONDS, 1e-11, 1e-6,
                           "quantizing one row of activations"},
    [SPEC_DECODE_BF16] = {"decode_bf16", SPEC_SHARE, 0.05, 1,
                          "decode attention on 16-bit KV, of bandwidth"},
    [SPEC_DECODE_FP8] = {"decode_fp8", SPEC_SHARE, 0.05, 1,
                         "decode attention on 8-bit KV, of bandwidth"},
    [SPEC_DECODE_FIXED_BF16] = {"decode_fixed_bf16", SPEC_SECONDS, 1e-7, 1e-3,
                                "fixed time of decode attention on 16-bit KV"},
    [SPEC_DECODE_FIXED_FP8] = {"decode_fixed_fp8", SPEC_SECONDS, 1e-7, 1e-3,
                               "fixed time of decode attention on 8-bit KV"},
    [SPEC_DECODE_TILE_BYTES] = {"decode_tile", SPEC_BYTES, 1e3, 1e7,
                                "a KV head of a sequence costs at least the time of so many bytes"},
    [SPEC_LATENT_COMPUTE] = {"latent_compute", SPEC_SHARE, 0.01, 1,
                             "absorbed MLA decode, of the 16-bit peak"},
    [SPEC_PREFILL] = {"prefill", SPEC_SHARE, 0.05, 1,
                      "prefill attention of long prompts, of the 16-bit peak"},
    [SPEC_PREFILL_ROW] = {"prefill_row", SPEC_TIMES, 1, 1e4,
                          "query-key pairs that each new token costs on top"},
    [SPEC_PREFILL_FIXED] = {"prefill_fixed", SPEC_SECONDS, 1e-7, 1e-3,
                            "fixed time of prefill attention"},
    [SPEC_MIXED_READS] = {"mixed_reads", SPEC_TIMES, 1, 16,
                          "times that KV is read in a step with prefill"},
    [SPEC_ACTIVATIONS] = {"activations", SPEC_SHARE, 0.05, 1,
                          "kernels that move activations, of bandwidth"},
    [SPEC_LAUNCH] = {"launch", SPEC_SECONDS, 1e-7, 1e-3, "a kernel launched by the host"},
    [SPEC_GRAPH_LAUNCH] = {"graph_launch", SPEC_SECONDS, 1e-7, 1e-4, "a kernel inside a graph"},
    [SPEC_HOST_STEP] = {"host_step", SPEC_SECONDS, 1e-6, 1, "CPU work of a step"},
    [SPEC_HOST_SEQUENCE] = {"host_sequence", SPEC_SECONDS, 1e-8, 1e-2,
                            "CPU work of each sequence in a step"},
    [SPEC_HOST_EXPOSED] = {"host_exposed", SPEC_SECONDS, 1e-6, 1e-1,
                           "part of each step that nothing hides"},
    [SPEC_HOST_LAYER] = {"host_layer", SPEC_SECONDS, 1e-7, 1e-1,
                         "CPU work of each layer of a step"},
};

double spec_collective_s(const struct spec_collective *collective, double bytes)
{
    double moved = 2.0 * (collective->gpu_count - 1.0) / collective->gpu_count * bytes;
    double small_s = collective->latency_s + moved / collective->bytes_per_s;
    if (!(collective->bulk_bytes_per_s > 0))
        return small_s;
    double bulk_s = collective->bulk_latency_s + moved / collective->bulk_bytes_per_s;
    return bulk_s < small_s ? bulk_s : small_s;
}
