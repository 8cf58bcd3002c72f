#include "cost/explain.h"
#include "cost/ops.h"

#include <math.h>

static const double ticks_per_s = 1e9 * (double)BASE_TICKS_PER_NS;

const char *cost_operator_name(enum cost_operator op)
{
    static const char *const names[COST_OPERATOR_COUNT] = {
        [COST_OP_EMBED] = "embed",
        [COST_OP_NORM] = "norm",
        [COST_OP_QKV] = "qkv",
        [COST_OP_ROPE] = "rope",
        [COST_OP_KV_WRITE] = "kv_write",
        [COST_OP_ATTENTION_PREFILL] = "attention_prefill",
        [COST_OP_ATTENTION_DECODE] = "attention_decode",
        [COST_OP_O] = "o",
        [COST_OP_GATE_UP] = "gate_up",
        [COST_OP_ACT] = "act",
        [COST_OP_DOWN] = "down",
        [COST_OP_ROUTER] = "router",
        [COST_OP_EXPERTS] = "experts",
        [COST_OP_ALL_REDUCE] = "all_reduce",
        [COST_OP_ALL_TO_ALL] = "all_to_all",
        [COST_OP_P2P] = "p2p",
        [COST_OP_LM_HEAD] = "lm_head",
        [COST_OP_SAMPLER] = "sampler",
        [COST_OP_LAUNCH] = "launch",
        [COST_OP_HOST] = "host",
    };
    base_require((int)op >= 0 && op < COST_OPERATOR_COUNT);
    return names[op];
}

void cost_explain_lines(const struct cost_lines *lines, struct cost_explanation *out)
{
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        out->device_s += (double)lines->class_ticks[i] / ticks_per_s;
    out->launch_s = (double)lines->launch_ticks / ticks_per_s;
    out->host_s = (double)(lines->host_ticks + lines->exposed_ticks) / ticks_per_s;
}

/* Every operator has its row, with zeros where the step or the level lacks it. */
static void explain_init(struct cost_explanation *out)
{
    *out = (struct cost_explanation){.row_count = COST_OPERATOR_COUNT};
    for (int i = 0; i < COST_OPERATOR_COUNT; i++)
        out->rows[i].op = (enum cost_operator)i;
}

void cost_explain(struct cost *cost, const struct cost_shape *shape, struct cost_explanation *out)
{
    explain_init(out);
    cost->ops->explain(cost, shape, out);
    struct cost_result result = cost_step(cost, shape);
    out->step_ticks = result.ticks;
    out->bound = result.bound;
}

void cost_pipeline_of(const struct cost_explanation *step, uint32_t stage_count, uint32_t in_flight,
                      struct cost_pipeline *out)
{
    double first_s = step->rows[COST_OP_EMBED].total_s;
    double last_s = step->rows[COST_OP_LM_HEAD].total_s + step->rows[COST_OP_SAMPLER].total_s;
    double step_s = (double)step->step_ticks / ticks_per_s, layers_s = 0;
    uint32_t layer_count = 0;
    base_require(stage_count > 0 && in_flight > 0);
    for (size_t i = 0; i < step->row_count; i++) {
        if (step->rows[i].layer_count == 0 || step->rows[i].op == COST_OP_P2P)
            continue;
        layers_s += step->rows[i].total_s;
        layer_count = step->rows[i].layer_count;
    }
    // What a layer takes holds for the smaller stages, too; those that are left over go to stages in the middle.
    double layer_s = layer_count > 0 ? layers_s / layer_count : 0;
    double fewest = floor((double)layer_count / stage_count);
    bool has_middle = stage_count > 2;
    double most = ceil((double)layer_count / stage_count);
    double ends_s = (has_middle ? fewest : most) * layer_s + fmax(first_s, last_s);
    *out = (struct cost_pipeline){.stage_count = stage_count, .in_flight = in_flight};
    out->slowest_s = fmin(step_s, fmax(most * layer_s, ends_s));
    out->interval_s = fmax(fmax(out->slowest_s, step_s / in_flight), step->host_s);
    out->bubble_share = 1 - (layers_s + first_s + last_s) / (stage_count * out->interval_s);
}
