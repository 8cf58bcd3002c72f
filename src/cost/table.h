/*
 * table.h - measured step times on a grid, for level `table`: operators, each over one or two axes of the step's shape.
 *
 * A step = layers x sum over operators of their time at the step's point, in ms as the file has them. The grid of an
 * operator is rectangular: every combination of its x and y. A table is plain data, made by whoever reads the file, and
 * outlives the cost instance.
 */
#ifndef KVSIM_COST_TABLE_H
#define KVSIM_COST_TABLE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* What an axis of the grid counts. */
enum cost_axis {
    COST_AXIS_NONE,
    COST_AXIS_BATCH_TOKENS, /* computed in the step */
    COST_AXIS_DECODE_SEQS,
    COST_AXIS_MEAN_DECODE_CONTEXT, /* after the step, over decodes, rounded down */
    COST_AXIS_CACHED_TOKENS, /* before the step, sum over prefilling sequences; `ceil`: each to a grid step */
    COST_AXIS_EQUIVALENT_CHUNK /* root of the sum of chunk^2, to the nearest whole number */
};
extern const char *const cost_axis_names[]; /* by enum cost_axis; ended by NULL */

enum cost_lookup { COST_LOOKUP_INTERPOLATE, COST_LOOKUP_CEIL };

struct cost_table_operator {
    const char *name;
    enum cost_axis x, y;
    double several; /* factor when two or more sequences prefill; 1 = none */
    size_t x_count, y_count;
    const double *xs, *ys; /* rising; y_count 1 and ys {0} for one axis */
    const double *ms;      /* [x][y], row by row */
};

struct cost_table {
    const char *file;
    int64_t layer_count; /* times are per layer; 1: per step */
    enum cost_lookup lookup;
    size_t operator_count;
    const struct cost_table_operator *operators;
};

struct cost_shape;

/*
 * The operator's time at a step, ms, before `several`; 0 when it has no work. KVSIM_ERR_SCENARIO names a point that lies
 * beyond the grid. `cached_ceil` is the sum over prefilling sequences of their cached tokens, each rounded up to the
 * grid's step (the same as the plain sum under `interpolate`).
 */
enum kvsim_status cost_table_ms(const struct cost_table *table,
                                const struct cost_table_operator *op, double x, double y,
                                double *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The distance of the first two grid points of an axis: the step to which cached tokens are rounded under `ceil`. */
int64_t cost_table_axis_step(const struct cost_table_operator *op, enum cost_axis axis);

#endif
