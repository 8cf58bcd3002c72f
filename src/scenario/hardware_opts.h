/*
 * hardware_opts.h - the keys of a device as they are written, and what its files share. Private to the room.
 *
 * 0 (or NULL) = not stated. hardware_fields.c holds the tables that fill these structs; hardware.c makes a spec_hardware of them.
 */
#ifndef KVSIM_SCENARIO_HARDWARE_OPTS_H
#define KVSIM_SCENARIO_HARDWARE_OPTS_H

#include "scenario/scenario_int.h"

struct scenario_link_opts {
    const char *kind;
    double bandwidth_bytes_per_s, latency_ns, per_peer_bytes_per_s;
    int64_t gpu_count;
};

struct scenario_pcie_opts {
    double generation, bandwidth_bytes_per_s;
    int64_t lanes;
};

struct scenario_tflops_opts {
    double fp32, fp16, bf16, fp8, int8, fp4;
};

struct scenario_hardware_opts {
    const char *name, *vendor, *architecture, *form_factor, *notes;
    struct base_list aliases;
    int64_t launch_year, compute_units;
    double memory_bytes, memory_nominal_bytes, memory_bytes_per_s;
    double power_w, usd_per_hour, l2_bytes;
    struct scenario_tflops_opts tflops;
    struct scenario_link_opts link, host_link;
    struct scenario_pcie_opts pcie;
    const struct conf_node *memory_range, *all_reduce, *collectives, *efficiency, *calibration,
        *provenance;
};

/* hardware_efficiency.c: leaf by leaf from the device's own tree (NULL: none), its generation, or all devices. */
bool scenario_efficiency_read(struct scenario_reader *reader, const struct conf_node *own,
                              const struct conf_node *provenance, const char *architecture,
                              struct spec_efficiency *out);

#endif
