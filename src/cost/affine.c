/*
 * affine: base + per_prefill_token * new prefill tokens + per_prefill_token_context * query-key pairs of the prefill
 * (sum of q c + q (q + 1) / 2) + per_decode_seq * decodes + per_context_token * tokens in the cache after the step, over
 * all scheduled sequences (a prefilling one counts c + q).
 *
 * Each coefficient is rounded to ticks once, so the time is an exact integer for any step. What bounds a step is read
 * off the terms as a roofline would name them: base = weights are read, tokens = compute, contexts = KV is read.
 */
#include "cost/ops.h"

struct affine {
    int64_t base, per_prefill_token, per_prefill_token_context, per_decode_seq,
        per_context_token; /* ticks */
};

static enum kvsim_status affine_init(struct cost *cost, struct kvsim_error *err)
{
    (void)err;
    const struct cost_affine_options *options = &cost->config.options->affine;
    struct affine *affine = cost->state;
    affine->base = cost_ticks_from_ns(options->base_ns);
    affine->per_prefill_token =
        cost_ticks_from_ns(options->has_prefill_rate ? 1e9 / options->prefill_rate_per_s
                                                     : options->per_prefill_token_ns);
    affine->per_prefill_token_context = cost_ticks_from_ns(options->per_prefill_token_context_ns);
    affine->per_decode_seq = cost_ticks_from_ns(options->per_decode_seq_ns);
    affine->per_context_token = cost_ticks_from_ns(options->per_context_token_ns);
    return KVSIM_OK;
}

/* coefficient * count, held at the longest step. */
static int64_t term(int64_t ticks, base_i128 count)
{
    if (ticks > 0 && count > COST_TICKS_MAX / ticks)
        return COST_TICKS_MAX;
    return ticks * (int64_t)count;
}

static int64_t add(int64_t a, int64_t b)
{
    return a > COST_TICKS_MAX - b ? COST_TICKS_MAX : a + b;
}

static void affine_host(const struct cost *cost, uint32_t seq_count, struct cost_lines *lines)
{
    lines->overlap = cost_host_overlap(&cost->config);
    lines->host_ticks = cost_ticks_from_ns(cost_host_ns(&cost->config, 0, 0, seq_count));
    lines->exposed_ticks = cost_ticks_from_ns(cost->config.options->host_exposed_ns);
}

static void affine_constants(const struct cost *cost, const struct cost_shape *shape,
                             struct cost_lines *lines)
{
    const struct affine *affine = cost->state;
    int64_t context =
        shape->prefill_cached_tokens + shape->prefill_tokens + shape->decode_context_tokens;
    *lines = (struct cost_lines){.ready = true};
    lines->class_ticks[COST_WEIGHT_BANDWIDTH] = affine->base;
    lines->class_ticks[COST_COMPUTE] =
        add(add(term(affine->per_prefill_token, shape->prefill_tokens),
                term(affine->per_prefill_token_context, shape->prefill_area)),
            term(affine->per_decode_seq, shape->decode_seq_count));
    lines->class_ticks[COST_KV_BANDWIDTH] = term(affine->per_context_token, context);
    affine_host(cost, shape->prefill_seq_count + shape->decode_seq_count, lines);
}

static struct cost_result affine_step(struct cost *cost, const struct cost_shape *shape)
{
    struct cost_lines lines;
    affine_constants(cost, shape, &lines);
    return cost_lines_result(&lines);
}

static void affine_ramp(struct cost *cost, uint32_t seq_count, struct cost_lines *lines)
{
    const struct affine *affine = cost->state;
    const struct cost_shape shape = {.decode_seq_count = seq_count};
    affine_constants(cost, &shape, lines);
    lines->curve_count = 1;
    lines->curves = base_arena_array(cost->arena, 1, sizeof *lines->curves);
    lines->curves[0] = (struct cost_curve){
        .sum = COST_SUM_CONTEXT,
        .line_count = 1,
        .lines = {{.beta = affine->per_context_token, .bound = COST_KV_BANDWIDTH}},
    };
}

static void affine_explain(struct cost *cost, const struct cost_shape *shape,
                           struct cost_explanation *out)
{
    struct cost_lines lines;
    affine_constants(cost, shape, &lines);
    cost_explain_lines(&lines, out);
}

const struct cost_ops cost_ops_affine = {
    .policy = {.name = "affine",
               .summary = "a linear function of the step's tokens, sequences and contexts",
               .state_bytes = sizeof(struct affine)},
    .init = affine_init,
    .step = affine_step,
    .ramp = affine_ramp,
    .explain = affine_explain,
};
