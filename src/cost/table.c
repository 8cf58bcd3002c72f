/*
 * table: layers x sum of measured operator times, looked up at the step's shape. The sum is taken in double and rounded
 * once to ticks, so a stretch of steps is cut into single ones where times change from step to step; under `ceil` they
 * stay the same up to the next grid point.
 */
#include "cost/table.h"

#include "cost/ops.h"

#include <math.h>

const char *const cost_axis_names[] = {
    "",  "batch_tokens", "decode_seqs", "mean_decode_context", "cached_tokens", "equivalent_chunk",
    NULL};

/* Index of the first grid point at or above `value`; `count` when there is none. */
static size_t point_above(const double *grid, size_t count, double value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (grid[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Between which grid points a value lies, and how far from the lower one; equal points under `ceil`. */
struct place {
    size_t low, high;
    double share;
};

static enum kvsim_status find_place(const struct cost_table *table,
                                    const struct cost_table_operator *op, enum cost_axis axis,
                                    const double *grid, size_t count, double value,
                                    struct place *out, struct kvsim_error *err)
{
    *out = (struct place){0};
    if (axis == COST_AXIS_NONE)
        return KVSIM_OK;
    size_t above = point_above(grid, count, value);
    bool is_below = value < grid[0] && table->lookup == COST_LOOKUP_INTERPOLATE;
    if (above == count || is_below)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "%.60s of %s: %s %.0f is beyond the grid, %.0f ... %.0f", op->name,
                         table->file, cost_axis_names[axis], value, grid[0], grid[count - 1]);
    out->low = out->high = above;
    if (table->lookup == COST_LOOKUP_INTERPOLATE && grid[above] > value) {
        out->low = above - 1;
        out->share = (value - grid[out->low]) / (grid[above] - grid[out->low]);
    }
    return KVSIM_OK;
}

static double mix(double low, double high, double share)
{
    return share > 0 ? low + (high - low) * share : low;
}

enum kvsim_status cost_table_ms(const struct cost_table *table,
                                const struct cost_table_operator *op, double x, double y,
                                double *out, struct kvsim_error *err)
{
    struct place at_x, at_y;
    enum kvsim_status status = find_place(table, op, op->x, op->xs, op->x_count, x, &at_x, err);
    if (status == KVSIM_OK)
        status = find_place(table, op, op->y, op->ys, op->y_count, y, &at_y, err);
    if (status != KVSIM_OK)
        return status;
    const double *low = op->ms + at_x.low * op->y_count, *high = op->ms + at_x.high * op->y_count;
    *out = mix(mix(low[at_y.low], low[at_y.high], at_y.share),
               mix(high[at_y.low], high[at_y.high], at_y.share), at_x.share);
    return KVSIM_OK;
}

int64_t cost_table_axis_step(const struct cost_table_operator *op, enum cost_axis axis)
{
    const double *grid = op->x == axis ? op->xs : op->ys;
    size_t count = op->x == axis ? op->x_count : op->y_count;
    if ((op->x != axis && op->y != axis) || count < 2)
        return 0;
    return (int64_t)llround(grid[1] - grid[0]);
}

static double axis_value(enum cost_axis axis, const struct cost_shape *shape)
{
    switch (axis) {
    case COST_AXIS_BATCH_TOKENS:
        return (double)shape->prefill_tokens + shape->decode_seq_count;
    case COST_AXIS_DECODE_SEQS:
        return shape->decode_seq_count;
    case COST_AXIS_MEAN_DECODE_CONTEXT:
        return (double)(shape->decode_context_tokens / (int64_t)shape->decode_seq_count);
    case COST_AXIS_CACHED_TOKENS:
        return (double)(shape->cached_step_tokens > 0 ? shape->prefill_cached_rounded
                                                      : shape->prefill_cached_tokens);
    case COST_AXIS_EQUIVALENT_CHUNK:
        return nearbyint(sqrt(base_i128_to_double(shape->prefill_chunk_squares)));
    case COST_AXIS_NONE:
        break;
    }
    return 0;
}

static bool is_prefill_axis(enum cost_axis axis)
{
    return axis == COST_AXIS_CACHED_TOKENS || axis == COST_AXIS_EQUIVALENT_CHUNK;
}

static bool is_decode_axis(enum cost_axis axis)
{
    return axis == COST_AXIS_DECODE_SEQS || axis == COST_AXIS_MEAN_DECODE_CONTEXT;
}

static bool has_work(const struct cost_table_operator *op, const struct cost_shape *shape)
{
    if (is_prefill_axis(op->x) || is_prefill_axis(op->y))
        return shape->prefill_seq_count > 0;
    if (is_decode_axis(op->x) || is_decode_axis(op->y))
        return shape->decode_seq_count > 0;
    return shape->prefill_tokens > 0 || shape->decode_seq_count > 0;
}

/* What an operator bounds a step by, told from its axes as a roofline would. */
static enum cost_bound bound_of(const struct cost_table_operator *op,
                                const struct cost_shape *shape)
{
    if (is_decode_axis(op->x) || is_decode_axis(op->y))
        return COST_KV_BANDWIDTH;
    return shape->prefill_tokens > 0 ? COST_COMPUTE : COST_WEIGHT_BANDWIDTH;
}

static void table_parts(struct cost *cost, const struct cost_shape *shape, struct cost_parts *parts)
{
    const struct cost_table *table = cost->config.options->table;
    uint32_t seq_count = shape->prefill_seq_count + shape->decode_seq_count;
    *parts = (struct cost_parts){.overlap = cost_host_overlap(&cost->config)};
    parts->host_s = cost_host_ns(&cost->config, 0, 0, seq_count) * 1e-9;
    parts->exposed_s = cost->config.options->host_exposed_ns * 1e-9;
    for (size_t i = 0; i < table->operator_count; i++) {
        const struct cost_table_operator *op = &table->operators[i];
        double ms = 0;
        if (!has_work(op, shape))
            continue;
        struct kvsim_error err;
        enum kvsim_status status =
            cost_table_ms(table, op, axis_value(op->x, shape), axis_value(op->y, shape), &ms, &err);
        if (status != KVSIM_OK && cost->fault.status == KVSIM_OK)
            cost->fault = err;
        if (shape->prefill_seq_count > 1)
            ms *= op->several;
        parts->class_s[bound_of(op, shape)] += (double)table->layer_count * ms * 1e-3;
    }
}

static struct cost_result table_step(struct cost *cost, const struct cost_shape *shape)
{
    struct cost_parts parts;
    table_parts(cost, shape, &parts);
    return cost_parts_result(&parts);
}

/* Steps from this mean context on that find the same grid points, at most `limit`. */
static int64_t steps_alike(const struct cost_table *table, int64_t mean_context, int64_t limit)
{
    for (size_t i = 0; i < table->operator_count; i++) {
        const struct cost_table_operator *op = &table->operators[i];
        const double *grid = op->x == COST_AXIS_MEAN_DECODE_CONTEXT ? op->xs : op->ys;
        size_t count = op->x == COST_AXIS_MEAN_DECODE_CONTEXT ? op->x_count : op->y_count;
        if (op->x != COST_AXIS_MEAN_DECODE_CONTEXT && op->y != COST_AXIS_MEAN_DECODE_CONTEXT)
            continue;
        size_t above = point_above(grid, count, (double)mean_context);
        if (table->lookup == COST_LOOKUP_INTERPOLATE || above == count)
            return 1;
        int64_t room = (int64_t)floor(grid[above]) - mean_context + 1;
        limit = room < limit ? room : limit;
    }
    return limit < 1 ? 1 : limit;
}

static void table_piece(struct cost *cost, const struct cost_ramp *ramp, int64_t max_steps,
                        struct cost_piece *out)
{
    const struct cost_shape shape = {.decode_seq_count = ramp->seq_count,
                                     .decode_context_tokens = ramp->context_tokens};
    struct cost_result result = table_step(cost, &shape);
    int64_t mean_context = ramp->context_tokens / (int64_t)ramp->seq_count;
    *out = (struct cost_piece){
        .step_count = steps_alike(cost->config.options->table, mean_context, max_steps),
        .first_ticks = result.ticks,
        .bound = result.bound};
}

static void table_explain(struct cost *cost, const struct cost_shape *shape,
                          struct cost_explanation *out)
{
    struct cost_parts parts;
    table_parts(cost, shape, &parts);
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        out->device_s += parts.class_s[i];
    out->host_s = parts.host_s + parts.exposed_s;
    out->layer_s = out->device_s / (double)cost->config.options->table->layer_count;
}

static enum kvsim_status table_init(struct cost *cost, struct kvsim_error *err)
{
    const struct cost_table *table = cost->config.options->table;
    if (table == NULL || table->operator_count == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level table needs a table of step times");
    return KVSIM_OK;
}

const struct cost_ops cost_ops_table = {
    .policy = {.name = "table", .summary = "measured step times, looked up by the step's shape"},
    .init = table_init,
    .step = table_step,
    .piece = table_piece,
    .explain = table_explain,
};
