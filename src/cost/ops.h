/*
 * ops.h - what a level of the cost model has to give, and the lines that a stretch of decode steps is priced by.
 *
 * A level is a policy: datasheet, calibrated, table, affine, fixed. It prices any step (`step`), gives the lines of pure
 * decode for one batch size (`ramp`), and takes a step apart (`explain`). Everything that must be exact (rounding to
 * ticks, crossings, the outer maximum with launch and host) is done here once, for all levels.
 *
 * Invariant: an alpha or beta is rounded to ticks exactly once and never negative, so steps grow with contexts.
 */
#ifndef KVSIM_COST_OPS_H
#define KVSIM_COST_OPS_H

#include "base/error.h"
#include "base/mem.h"
#include "base/policy.h"
#include "cost/cost.h"
#include "cost/explain.h"
#include "spec/hardware.h"
#include "spec/kv.h"
#include "spec/model.h"

/* alpha + beta * S ticks, S one of the running sums. */
struct cost_line {
    int64_t alpha, beta;
    enum cost_bound bound;
};

enum { COST_LINES_PER_CURVE = 4 };          /* floor, bandwidth, compute, one sequence */
enum { COST_SUM_CONTEXT, COST_SUM_WINDOW }; /* COST_SUM_WINDOW + w for window w */

/* One operator whose time depends on a running sum: the maximum of its lines; the first of equal ones bounds it. */
struct cost_curve {
    uint32_t sum;
    uint32_t line_count;
    struct cost_line lines[COST_LINES_PER_CURVE];
};

/* A range of context sums on which a step lasts first + delta (S - from) ticks and one class bounds it. */
struct cost_segment {
    int64_t from, first_ticks, delta_ticks;
    enum cost_bound bound;
};

enum { COST_SEGMENTS_MAX = 16 };

/* A pure decode step of one batch size. */
struct cost_lines {
    bool ready;
    /* The whole step by context sum, when no operator depends on a window and the ranges are few; else count 0. */
    uint32_t segment_count;
    struct cost_segment *segments;
    bool overlap; /* step = max(device, launch, host), else max(device, launch) + host */
    /* operators that depend on no sum, by what bounds them */
    int64_t class_ticks[COST_BOUND_COUNT];
    int64_t launch_ticks, host_ticks;
    int64_t exposed_ticks; /* added to every step, whatever hides the rest */
    uint32_t curve_count;
    struct cost_curve *curves;
};

/* Seconds of a step, before rounding. */
struct cost_parts {
    double class_s[COST_BOUND_COUNT]; /* device, by what bounds each operator */
    double launch_s, host_s, exposed_s;
    bool overlap;
};

struct cost_ops {
    struct base_policy policy;
    enum kvsim_status (*init)(struct cost *cost, struct kvsim_error *err);
    struct cost_result (*step)(struct cost *cost, const struct cost_shape *shape);
    /* One of the two: lines by batch size, or the pieces themselves where times follow no lines. */
    void (*ramp)(struct cost *cost, uint32_t seq_count, struct cost_lines *lines);
    void (*piece)(struct cost *cost, const struct cost_ramp *ramp, int64_t max_steps,
                  struct cost_piece *out);
    void (*explain)(struct cost *cost, const struct cost_shape *shape,
                    struct cost_explanation *out);
};

extern const struct cost_ops cost_ops_datasheet, cost_ops_calibrated, cost_ops_affine,
    cost_ops_fixed, cost_ops_table;

struct cost {
    const struct cost_ops *ops;
    struct cost_config config;
    enum cost_level level;
    struct kvsim_error fault; /* the first step that could not be priced; status OK: none */
    struct base_arena *arena;
    void *state;              /* ops->policy.state_bytes */
    struct cost_lines *lines; /* by batch size, 0 ... max_decode_seqs */
    size_t window_count;
    struct cost_window windows[COST_WINDOWS_MAX];
};

/* Seconds to ticks, the only rounding: nearest, ties to even, held within [0, COST_TICKS_MAX]. */
int64_t cost_ticks_from_s(double seconds);
int64_t cost_ticks_from_ns(double ns);

/* The outer maximum, rounded once. */
struct cost_result cost_parts_result(const struct cost_parts *parts);
/* A step that is all constants. */
struct cost_result cost_lines_result(const struct cost_lines *lines);
void cost_lines_piece(const struct cost_lines *lines, const struct cost_ramp *ramp,
                      int64_t max_steps, struct cost_piece *out);

bool cost_shape_is_decode(const struct cost_shape *shape);
void cost_ramp_from_shape(const struct cost_shape *shape, struct cost_ramp *ramp);

/* What `cost.host` states, ns; a value that is not stated is the default given. */
double cost_host_ns(const struct cost_config *config, double per_step_ns, double per_sequence_ns,
                    uint32_t seq_count);
bool cost_host_overlap(const struct cost_config *config);

/* Index of the window of a group of layers among cost->windows, or window_count. */
size_t cost_window_find(const struct cost *cost, const struct spec_kv_group *group);

/* The explanation of a level without operators: totals alone. */
void cost_explain_lines(const struct cost_lines *lines, struct cost_explanation *out);

#endif
