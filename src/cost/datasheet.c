/*
 * datasheet: a roofline operator by operator, from vendor peaks and default efficiencies.
 *
 * Every figure is of one GPU of the replica: its heads, its share of the matrices, all layers in a row (pipeline stages
 * follow one another, so that a step of a pipeline is the sum of its stages plus the hand-overs; bubbles are not here).
 *
 * FLOPs: 2 m n k per product (all), 4 H_q d per query-key pair of MHA and GQA, 2 H_q (d_nope + d_rope + d_v) of MLA; MLA
 * decode absorbed 2 H_q (2 r + d_rope) per token of context (DeepSeek-V2, section 2.1), unabsorbed the up-projection
 * 2 r H_q (d_nope + d_v) of every token of context on top. Experts: moe.h.
 */
#include "cost/ops.h"
#include "cost/rates.h"
#include "cost/sheet.h"

#include <math.h>

/* Keys seen by the prefilling sequences in a layer with a window: at most the window and the chunk of each. */
static double prefill_keys(const struct cost_shape *shape, const struct cost *cost,
                           const struct cost_group *group)
{
    double keys = (double)shape->prefill_cached_tokens;
    if (group->sum != COST_SUM_CONTEXT)
        keys = fmin(keys, (double)shape->prefill_seq_count *
                              (double)cost->windows[group->sum - COST_SUM_WINDOW].tokens);
    return keys + (double)shape->prefill_tokens;
}

static void add_prefill_attention(struct cost_work *work, const struct cost *cost,
                                  const struct cost_shape *shape)
{
    const struct cost_sheet *sheet = work->sheet;
    if (shape->prefill_tokens == 0)
        return;
    for (size_t i = 0; i < sheet->group_count; i++) {
        const struct cost_group *group = &sheet->groups[i];
        base_i128 pairs = group->sum == COST_SUM_CONTEXT
                              ? shape->prefill_area
                              : shape->prefill_window_area[group->sum - COST_SUM_WINDOW];
        double keys = prefill_keys(shape, cost, group);
        struct cost_attention_prefill attention = {
            .pairs = base_i128_to_double(pairs),
            .tokens = (double)shape->prefill_tokens,
            .sequences = shape->prefill_seq_count,
            .q_heads = sheet->q_heads,
            .flops_per_pair = group->flops_per_pair,
            .kv_bytes = keys * group->bytes_per_token,
            .kv_dtype = group->decode.kv_dtype,
        };
        struct cost_time time = cost_attention_prefill(&sheet->rates, &attention);
        // Chunks attend to keys and values that are made again from the latents of the whole context.
        if (sheet->model->is_mla) {
            double flops = keys * group->up_projection_flops;
            time.s += flops / (sheet->rates.gemm_fraction[sheet->plain.rate] *
                               sheet->rates.flop_per_s[sheet->plain.rate]);
            time.flops += flops;
        }
        // One kernel serves prefill and decode: its fixed part is paid once.
        if (shape->decode_seq_count > 0) {
            time.s -= cost_attention_prefill_fixed_s(&sheet->rates, group->decode.kv_dtype);
            time.kernel_count = 0;
        }
        cost_work_add_layers(work, COST_OP_ATTENTION_PREFILL, time, group->layer_count);
    }
}

static void add_decode_attention(struct cost_work *work, const struct cost_shape *shape)
{
    const struct cost_sheet *sheet = work->sheet;
    if (shape->decode_seq_count == 0)
        return;
    for (size_t i = 0; i < sheet->group_count; i++) {
        const struct cost_group *group = &sheet->groups[i];
        struct cost_attention_decode decode = group->decode;
        decode.sequences = shape->decode_seq_count;
        int64_t contexts = group->sum == COST_SUM_CONTEXT
                               ? shape->decode_context_tokens
                               : shape->decode_window_tokens[group->sum - COST_SUM_WINDOW];
        // 8-bit keys and values are no matter of FlashAttention-2 (defaults.c).
        if (shape->prefill_tokens > 0 && decode.latent_heads <= 0 && decode.kv_heads > 0 &&
            decode.kv_dtype == SPEC_BF16) {
            decode.reads =
                cost_attention_mixed_reads(&sheet->rates, (double)contexts * decode.bytes_per_token,
                                           sheet->q_heads / decode.kv_heads);
            decode.unpacked_heads = sheet->q_heads;
        }
        struct cost_decode_lines lines;
        cost_attention_decode_lines(&sheet->rates, &decode, &lines);
        cost_work_add_layers(work, COST_OP_ATTENTION_DECODE,
                             cost_attention_decode_at(&lines, &decode, (double)contexts),
                             group->layer_count);
    }
}

static void add_overheads(struct cost_work *work, const struct cost *cost, uint32_t seq_count,
                          bool pure_decode)
{
    const struct cost_rates *rates = &work->sheet->rates;
    double layer_s = cost->config.options->has_host_per_layer ? 0 : rates->host_per_layer_s;
    double step_ns = 1e9 * (rates->host_per_step_s + layer_s * work->sheet->model->layer_count);
    double host_ns =
        cost_host_ns(&cost->config, step_ns, rates->host_per_sequence_s * 1e9, seq_count);
    bool replays = pure_decode && cost->config.cuda_graphs;
    // A replayed graph starts its kernels itself, one per period; eagerly each is launched by the host.
    work->parts.launch_s = replays ? rates->launch_s + work->kernel_count * rates->graph_launch_s
                                   : work->kernel_count * rates->launch_s;
    work->parts.host_s = host_ns * 1e-9;
    work->parts.exposed_s = cost->config.options->has_host_exposed
                                ? cost->config.options->host_exposed_ns * 1e-9
                                : rates->host_exposed_s;
    work->parts.overlap = cost_host_overlap(&cost->config);
    if (work->rows == NULL)
        return;
    struct cost_operator_row *rows = work->rows->of;
    rows[COST_OP_LAUNCH].total_s = work->parts.launch_s;
    rows[COST_OP_LAUNCH].bound = COST_HOST;
    rows[COST_OP_HOST].total_s = work->parts.host_s + work->parts.exposed_s;
    rows[COST_OP_HOST].bound = COST_HOST;
}

/* Attention of decodes is left to the caller's lines when `decode_lines` is set; its kernels are counted all the same. */
static void work_step(struct cost_work *work, const struct cost *cost,
                      const struct cost_shape *shape, bool decode_lines,
                      struct cost_work_rows *rows)
{
    const struct cost_sheet *sheet = cost->state;
    *work = (struct cost_work){.sheet = sheet, .rows = rows};
    uint32_t seq_count = shape->prefill_seq_count + shape->decode_seq_count;
    bool pure_decode = cost_shape_is_decode(shape);
    struct cost_demand demand = {
        .tokens = (double)shape->prefill_tokens + shape->decode_seq_count,
        .emitting_rows = (double)shape->emitting_count + shape->decode_seq_count,
        .sequences = seq_count,
        .absorbed_rows = cost->config.mla_absorbed ? shape->decode_seq_count : 0,
    };
    cost_work_add_body(work, &demand);
    cost_work_add_head(work, demand.emitting_rows);
    add_prefill_attention(work, cost, shape);
    if (!decode_lines)
        add_decode_attention(work, shape);
    else
        for (size_t i = 0; i < sheet->group_count; i++)
            work->kernel_count += sheet->groups[i].layer_count;
    add_overheads(work, cost, seq_count, pure_decode);
}

static struct cost_result datasheet_step(struct cost *cost, const struct cost_shape *shape)
{
    struct cost_work work;
    work_step(&work, cost, shape, false, NULL);
    return cost_parts_result(&work.parts);
}

static void curve_make(const struct cost_sheet *sheet, const struct cost_group *group,
                       uint32_t seq_count, struct cost_curve *out)
{
    struct cost_attention_decode decode = group->decode;
    struct cost_decode_lines lines;
    decode.sequences = seq_count;
    cost_attention_decode_lines(&sheet->rates, &decode, &lines);
    out->sum = group->sum;
    out->line_count = COST_DECODE_LINES;
    for (int i = 0; i < COST_DECODE_LINES; i++)
        out->lines[i] = (struct cost_line){cost_ticks_from_s(group->layer_count * lines.alpha_s[i]),
                                           cost_ticks_from_s(group->layer_count * lines.beta_s[i]),
                                           cost_decode_bounds[i]};
}

static void datasheet_ramp(struct cost *cost, uint32_t seq_count, struct cost_lines *lines)
{
    const struct cost_sheet *sheet = cost->state;
    const struct cost_shape shape = {.decode_seq_count = seq_count};
    struct cost_work work;
    work_step(&work, cost, &shape, true, NULL);
    *lines = (struct cost_lines){.overlap = work.parts.overlap};
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        lines->class_ticks[i] = cost_ticks_from_s(work.parts.class_s[i]);
    lines->launch_ticks = cost_ticks_from_s(work.parts.launch_s);
    lines->host_ticks = cost_ticks_from_s(work.parts.host_s);
    lines->exposed_ticks = cost_ticks_from_s(work.parts.exposed_s);
    lines->curve_count = (uint32_t)sheet->group_count;
    lines->curves = base_arena_array(cost->arena, sheet->group_count + 1, sizeof *lines->curves);
    for (size_t i = 0; i < sheet->group_count; i++)
        curve_make(sheet, &sheet->groups[i], seq_count, &lines->curves[i]);
}

static bool is_in_layers(enum cost_operator op)
{
    return op != COST_OP_EMBED && op != COST_OP_LM_HEAD && op != COST_OP_SAMPLER &&
           op != COST_OP_LAUNCH && op != COST_OP_HOST;
}

static void datasheet_explain(struct cost *cost, const struct cost_shape *shape,
                              struct cost_explanation *out)
{
    const struct cost_sheet *sheet = cost->state;
    struct cost_work work;
    struct cost_work_rows rows = {0};
    work_step(&work, cost, shape, false, &rows);
    double flops = 0, bytes = 0;
    for (int i = 0; i < COST_OPERATOR_COUNT; i++) {
        struct cost_operator_row *row = &out->rows[i];
        *row = rows.of[i];
        row->op = (enum cost_operator)i;
        if (is_in_layers(row->op)) {
            row->layer_count = sheet->model->layer_count;
            row->per_layer_s = row->total_s / row->layer_count;
            out->layer_s += row->per_layer_s;
        }
        if (row->bound != COST_COMMUNICATION) {
            flops += row->flops;
            bytes += row->bytes;
        }
    }
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        out->device_s += work.parts.class_s[i];
    out->launch_s = work.parts.launch_s;
    out->host_s = work.parts.host_s + work.parts.exposed_s;
    double step_s = fmax(out->device_s, out->launch_s);
    step_s = work.parts.overlap ? fmax(step_s, work.parts.host_s) : step_s + work.parts.host_s;
    step_s += work.parts.exposed_s;
    out->flop_share = flops / (step_s * sheet->rates.flop_per_s[sheet->dense.rate]);
    out->bandwidth_share = bytes / (step_s * sheet->rates.bytes_per_s);
}

const struct cost_ops cost_ops_datasheet = {
    .policy = {.name = "datasheet",
               .summary = "roofline by operator: vendor peaks and default efficiencies",
               .state_bytes = sizeof(struct cost_sheet)},
    .init = cost_sheet_init,
    .step = datasheet_step,
    .ramp = datasheet_ramp,
    .explain = datasheet_explain,
};

const struct cost_ops cost_ops_calibrated = {
    .policy = {.name = "calibrated",
               .summary =
                   "the same roofline with coefficients fitted to measurements of this device",
               .state_bytes = sizeof(struct cost_sheet)},
    .init = cost_sheet_init,
    .step = datasheet_step,
    .ramp = datasheet_ramp,
    .explain = datasheet_explain,
};
