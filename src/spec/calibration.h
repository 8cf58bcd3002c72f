/*
 * calibration.h - coefficients of the cost model that were fitted to measurements of one device.
 *
 * One table names every coefficient with its unit and the range in which a fitted value can be believed. The reader of
 * hardware files, the cost model and the fit go by the same table, so a coefficient is written once. A coefficient that
 * is not stated keeps the datasheet level's value.
 */
#ifndef KVSIM_SPEC_CALIBRATION_H
#define KVSIM_SPEC_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_coefficient {
    SPEC_GEMM_BF16, /* shares of the dense peak */
    SPEC_GEMM_FP8,
    SPEC_GEMM_START, /* of the inner dimension: a tile is filled and written in the time of so many */
    SPEC_WEIGHTS_BF16, /* shares of bandwidth */
    SPEC_WEIGHTS_FP8,
    SPEC_WEIGHTS_FIXED_BF16, /* seconds a kernel */
    SPEC_WEIGHTS_FIXED_FP8,
    SPEC_QUANTIZE_BYTES, /* bytes of traffic per activation element quantized before a product */
    SPEC_QUANTIZE_ROW,   /* seconds a row */
    SPEC_DECODE_BF16,    /* shares of bandwidth, by KV dtype */
    SPEC_DECODE_FP8,
    SPEC_DECODE_FIXED_BF16, /* seconds a kernel */
    SPEC_DECODE_FIXED_FP8,
    SPEC_DECODE_TILE_BYTES, /* a KV head of a sequence costs at least the time of so many bytes */
    SPEC_LATENT_COMPUTE,    /* share of the 16-bit peak, absorbed MLA decode */
    SPEC_PREFILL,           /* share of the 16-bit peak, long prompts */
    SPEC_PREFILL_ROW,       /* query-key pairs that each new token costs on top */
    SPEC_PREFILL_FIXED,     /* seconds a kernel */
    SPEC_MIXED_READS,       /* times that KV is read in a step with prefill */
    SPEC_ACTIVATIONS,       /* share of bandwidth of kernels that move activations */
    SPEC_LAUNCH,            /* seconds a kernel, by stream */
    SPEC_GRAPH_LAUNCH,      /* the same inside a graph */
    SPEC_HOST_STEP,         /* seconds a step */
    SPEC_HOST_SEQUENCE,     /* seconds a sequence in the step */
    SPEC_HOST_LAYER,        /* seconds a layer: engines that drive every layer from the host */
    SPEC_HOST_EXPOSED, /* seconds a step that nothing hides: waits and launches between two steps */
    SPEC_COEFFICIENT_COUNT
};

enum spec_coefficient_unit { SPEC_SHARE, SPEC_SECONDS, SPEC_BYTES, SPEC_TIMES };

struct spec_coefficient_row {
    const char *name; /* key in the hardware file's `calibration` */
    enum spec_coefficient_unit unit;
    double min, max; /* of a fit */
    const char *help;
};
extern const struct spec_coefficient_row spec_coefficients[SPEC_COEFFICIENT_COUNT];

/*
 * All-reduce among so many GPUs as the faster of two protocols, each a line in the bytes a ring moves, 2 (n-1)/n S:
 * one for small messages (low latency, part of the bandwidth), one in bulk. Source of the form: NVIDIA/nccl
 * src/graph/tuning.cc, which chooses protocols by such lines.
 */
struct spec_collective {
    uint32_t gpu_count;
    double latency_s, bytes_per_s;           /* small messages */
    double bulk_latency_s, bulk_bytes_per_s; /* 0: there is one protocol */
};
double spec_collective_s(const struct spec_collective *collective, double bytes);

enum { SPEC_COLLECTIVES_MAX = 6 };

struct spec_calibration {
    const char *source; /* file and date of the measurements */
    bool has[SPEC_COEFFICIENT_COUNT];
    double value[SPEC_COEFFICIENT_COUNT];
    size_t collective_count;
    struct spec_collective collectives[SPEC_COLLECTIVES_MAX];
};

#endif
