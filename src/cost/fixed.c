/*
 * fixed: every step lasts the same. It exists so that everything else can be tested against queueing theory. Nothing
 * bounds such a step; `compute` stands for it.
 */
#include "cost/ops.h"

static enum kvsim_status fixed_init(struct cost *cost, struct kvsim_error *err)
{
    if (cost->config.options->fixed_step_ns < 1)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level fixed needs a step of at least 1 ns");
    return KVSIM_OK;
}

static void fixed_lines(const struct cost *cost, uint32_t seq_count, struct cost_lines *lines)
{
    *lines = (struct cost_lines){.ready = true, .overlap = cost_host_overlap(&cost->config)};
    lines->class_ticks[COST_COMPUTE] =
        cost_ticks_from_ns((double)cost->config.options->fixed_step_ns);
    lines->host_ticks = cost_ticks_from_ns(cost_host_ns(&cost->config, 0, 0, seq_count));
    lines->exposed_ticks = cost_ticks_from_ns(cost->config.options->host_exposed_ns);
}

static struct cost_result fixed_step(struct cost *cost, const struct cost_shape *shape)
{
    struct cost_lines lines;
    fixed_lines(cost, shape->prefill_seq_count + shape->decode_seq_count, &lines);
    return cost_lines_result(&lines);
}

static void fixed_ramp(struct cost *cost, uint32_t seq_count, struct cost_lines *lines)
{
    fixed_lines(cost, seq_count, lines);
}

static void fixed_explain(struct cost *cost, const struct cost_shape *shape,
                          struct cost_explanation *out)
{
    struct cost_lines lines;
    fixed_lines(cost, shape->prefill_seq_count + shape->decode_seq_count, &lines);
    cost_explain_lines(&lines, out);
}

const struct cost_ops cost_ops_fixed = {
    .policy =
        {
            .name = "fixed",
            .summary = "every step lasts the same",
        },
    .init = fixed_init,
    .step = fixed_step,
    .ramp = fixed_ramp,
    .explain = fixed_explain,
};
