/*
 * hardware.h - one accelerator as a schedulable device, as plain validated data. Rates are dense, bandwidths one way.
 */
#ifndef KVSIM_SPEC_HARDWARE_H
#define KVSIM_SPEC_HARDWARE_H

#include "spec/calibration.h"
#include "spec/dtype.h"
#include "spec/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Achieved share of a peak, affine in bytes or saturating in size; every set has its source. */
struct spec_affine {
    double fixed_s;  /* added once per kernel */
    double fraction; /* of the peak rate */
};

struct spec_efficiency {
    bool present;
    const char *source;
    enum spec_claim claim;
    double gemm_prefill[SPEC_DTYPE_COUNT]; /* fraction of dense peak, rows >= 2048; 0 = unknown */
    double gemm_chunk[SPEC_DTYPE_COUNT];   /* rows 512..1024 */
    /* few rows: t = fixed + bytes / (fraction * bandwidth) */
    struct spec_affine weight_stream[SPEC_DTYPE_COUNT];
    struct spec_affine decode_attention[SPEC_DTYPE_COUNT]; /* by KV dtype */
    double prefill_attention_long, prefill_attention_mid,
        prefill_attention_short;     /* >=8192, 2048.., 512.. tokens */
    double launch_s, graph_launch_s; /* kernel period by stream and inside a graph */
};

enum { SPEC_BUSBW_POINTS_MAX = 8, SPEC_ALLREDUCE_MAX = 6 };

/* One measured all-reduce: bus bandwidth by message bytes for a number of GPUs. */
struct spec_allreduce {
    uint32_t gpu_count;
    double latency_s;
    size_t point_count;
    double message_bytes[SPEC_BUSBW_POINTS_MAX], busbw_bytes_per_s[SPEC_BUSBW_POINTS_MAX];
    const char *source;
};

struct spec_hardware {
    const char *name, *vendor, *architecture;
    uint64_t memory_bytes; /* driver-visible; derived from nominal x ratio when memory_is_derived */
    uint64_t memory_low_bytes, memory_high_bytes; /* interval when derived or a range is known */
    bool memory_is_derived;
    uint64_t memory_nominal_bytes;       /* the marketed number read as GiB */
    double memory_bytes_per_s;           /* 0 = unknown */
    double flop_per_s[SPEC_DTYPE_COUNT]; /* dense; 0 = the device lacks it or it is unknown */
    double link_bytes_per_s;             /* GPU to GPU, one direction, all links; 0 = PCIe only */
    double link_latency_s;
    const char *link_kind;        /* "" = not stated */
    uint32_t link_gpus;           /* that it joins at most; 0 = not stated */
    double pcie_bytes_per_s;      /* host to device, usable, one direction */
    double power_w, usd_per_hour; /* 0 = unknown */
    double l2_bytes;
    uint32_t compute_unit_count;
    int launch_year;
    /* the device's own, else its generation's, else the global fallback */
    struct spec_efficiency efficiency;
    size_t allreduce_count;
    struct spec_allreduce allreduce[SPEC_ALLREDUCE_MAX];
    bool has_calibration;
    struct spec_calibration calibration;
    enum spec_claim memory_claim, rate_claim;
    const char *memory_source, *rate_source;
};

/* Driver-visible memory over the marketed number read as GiB, with the range seen. */
struct spec_memory_ratio {
    double typical, low, high;
};
extern const struct spec_memory_ratio
    spec_memory_ratio_unknown; /* 0.98, 0.93 ... 1.00: no group fits */

/* Fills memory_bytes and its interval from the marketed size where the driver's figure is not known (claim `assumed`);
 * a known figure is left alone. False when neither is known. Source: what runtimes print (memory_range in hardware/). */
bool spec_hardware_derive_memory(struct spec_hardware *hardware,
                                 const struct spec_memory_ratio *ratio);

#endif
