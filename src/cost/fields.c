/*
 * fields.c - the keys of `cost:`.
 */
#include "cost/cost.h"
#include "cost/ops.h"

static const struct base_field host_fields[] = {
    {.key = "per_step",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct cost_options, host_per_step_ns),
     .has_offset = offsetof(struct cost_options, has_host_per_step),
     .max = 1e12,
     .help = "host work of every step: scheduling, preparing inputs, handling outputs"},
    {.key = "per_sequence",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct cost_options, host_per_sequence_ns),
     .has_offset = offsetof(struct cost_options, has_host_per_sequence),
     .max = 1e12,
     .help = "host work per scheduled sequence"},
    {.key = "overlap",
     .type = BASE_BOOL,
     .offset = offsetof(struct cost_options, host_overlap),
     .has_offset = offsetof(struct cost_options, has_host_overlap),
     .help = "a step is the maximum of device and host (true) or their sum (false); absent: true "
             "with asynchronous scheduling"},
    {0},
};

const struct base_field cost_kv_dtype_fields[] = {
    {.key = "read_efficiency",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     .offset = offsetof(struct cost_kv_dtype_options, read_fraction),
     .max = 1,
     .min_open = true,
     .used_by = "datasheet",
     .help = "share of bandwidth that decode attention reaches on this cache"},
    {.key = "write_cost",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct cost_kv_dtype_options, write_ns_per_token),
     .max = 1e9,
     .used_by = "datasheet",
     .help = "time to quantize the keys and values of a new token, per layer"},
    {.key = "dequant_cost",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct cost_kv_dtype_options, dequant_ns_per_token),
     .max = 1e9,
     .used_by = "datasheet",
     .help = "time to widen a token of context in decode attention, per layer"},
    {0},
};

const struct base_field cost_fields[] = {
    {.key = "level",
     .type = BASE_CHOICE,
     .offset = offsetof(struct cost_options, level),
     .has_offset = offsetof(struct cost_options, has_level),
     .choices = cost_level_choices,
     .help = "how steps are priced; absent: calibrated where the hardware file holds a "
             "calibration, else datasheet"},
    {.key = "fixed",
     .type = BASE_SUB,
     .offset = offsetof(struct cost_options, fixed_step_ns),
     .sub = cost_fixed_fields,
     .used_by = "fixed",
     .help = "every step lasts the same"},
    {.key = "affine",
     .type = BASE_SUB,
     .offset = offsetof(struct cost_options, affine),
     .sub = cost_affine_fields,
     .used_by = "affine",
     .help = "time per unit of work; what is not written is 0"},
    {.key = "host", .type = BASE_SUB, .sub = host_fields, .help = "work of the host"},
    {.key = "swap_per_block",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct cost_options, swap_per_block_ns),
     .has_offset = offsetof(struct cost_options, has_swap_per_block),
     .max = 1e12,
     .help = "time to copy one block to or from the host, before the step and part of it; absent: "
             "its bytes over the host link"},
    {0},
};
