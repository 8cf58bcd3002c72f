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
#include "base/field.h"
#include "cost/moe.h"
#include "cost/ops.h"
#include "cost/rates.h"

#include <math.h>
#include <string.h>

enum { GROUPS_MAX = SPEC_KV_GROUPS_MAX };

/* Attention layers of one kind. */
struct group {
    uint32_t sum; /* COST_SUM_CONTEXT or a window */
    double layer_count;
    double flops_per_pair;               /* prefill */
    double bytes_per_token;              /* KV of one layer on one GPU */
    double up_projection_flops;          /* MLA without absorption: per token of context */
    struct cost_attention_decode decode; /* but for the number of sequences */
};

struct sheet {
    struct cost_rates rates;
    const struct spec_model *model;
    struct cost_matrix plain, dense, expert, head;
    double tp, pp, ep, dp;
    double q_heads, kv_heads; /* of one GPU */
    double attention_layers, linear_layers, dense_layers, moe_layers;
    struct cost_moe moe;
    double kv_bytes_per_token;   /* written per new token, all layers */
    double state_bytes;          /* recurrent state of a sequence, all layers on one GPU */
    double kv_write_s_per_token; /* stated by cost.kv_dtype, all layers */
    size_t group_count;
    struct group groups[GROUPS_MAX];
    struct body *bodies; /* [BODIES], by tokens; NULL where a body depends on more than tokens */
};

/*
 * What of a step depends on its number of tokens alone, kept from the last step of as many tokens. Adding it first gives
 * the very sums that adding its operators one by one gives.
 */
struct body {
    double tokens; /* 0: empty */
    double class_s[COST_BOUND_COUNT];
    double kernel_count;
};

enum { BODIES = 4096 };

/* A step being added up. */
struct work {
    const struct sheet *sheet;
    struct cost_parts parts;
    double kernel_count;
    struct work_rows *rows; /* NULL: nobody asks for operators */
};

struct work_rows {
    double largest_s[COST_OPERATOR_COUNT];
    struct cost_operator_row of[COST_OPERATOR_COUNT];
};

/* What a step asks of the operators. */
struct demand {
    double tokens, emitting_rows, sequences;
    double absorbed_rows; /* decodes of MLA with absorption */
};

static double per_gpu(double whole, double gpus)
{
    return ceil(whole / gpus);
}

static void work_add_times(struct work *work, enum cost_operator op, struct cost_time time,
                           double times, double stages)
{
    double s = times * time.s;
    work->parts.class_s[time.bound] += s;
    work->kernel_count += times * time.kernel_count;
    if (work->rows == NULL)
        return;
    struct cost_operator_row *row = &work->rows->of[op];
    row->total_s += s;
    row->flops += times * time.flops / stages;
    row->bytes += times * time.bytes / stages;
    if (s > work->rows->largest_s[op]) {
        work->rows->largest_s[op] = s;
        row->bound = time.bound;
    }
}

/* An operator of `layers` layers, spread over the pipeline's stages. */
static void work_add_layers(struct work *work, enum cost_operator op, struct cost_time time,
                            double layers)
{
    work_add_times(work, op, time, layers, work->sheet->pp);
}

static void work_add(struct work *work, enum cost_operator op, struct cost_time time)
{
    work_add_times(work, op, time, 1, 1);
}

/* Activations are 16 bits wide; a kernel that moves only them counts as bandwidth that is not KV's. */
static struct cost_time activations(const struct sheet *sheet, double elements)
{
    return cost_stream(&sheet->rates, 2 * elements, COST_WEIGHT_BANDWIDTH);
}

static void add_embedding(struct work *work, const struct demand *demand)
{
    const struct sheet *sheet = work->sheet;
    double elements = demand->tokens * sheet->model->hidden;
    work_add(work, COST_OP_EMBED, activations(sheet, 2 * elements));
    // The table is cut by vocabulary: ranks add up what each found.
    work_add(work, COST_OP_EMBED,
             cost_all_reduce(&sheet->rates, (uint32_t)sheet->tp, 2 * elements));
}

static void add_mla_projections(struct work *work, double tokens, double absorbed_rows)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    const struct cost_rates *rates = &sheet->rates;
    double hidden = model->hidden, heads = sheet->q_heads, latent = model->kv_lora_rank;
    double q_width = heads * ((double)model->qk_nope_dim + model->qk_rope_dim);
    double down = latent + model->qk_rope_dim + model->q_lora_rank;
    work_add_layers(work, COST_OP_QKV, cost_gemm(rates, &sheet->dense, tokens, down, hidden),
                    sheet->attention_layers);
    double q_input = model->q_lora_rank ? model->q_lora_rank : hidden;
    work_add_layers(work, COST_OP_QKV, cost_gemm(rates, &sheet->dense, tokens, q_width, q_input),
                    sheet->attention_layers);
    // W_UK folded into the query and W_UV into the output, head by head: the weights of all heads are read.
    double nope = model->qk_nope_dim, value = model->v_head_dim;
    work_add_layers(work, COST_OP_QKV,
                    cost_gemm(rates, &sheet->plain, absorbed_rows, heads * latent, nope),
                    sheet->attention_layers);
    work_add_layers(work, COST_OP_O,
                    cost_gemm(rates, &sheet->plain, absorbed_rows, heads * value, latent),
                    sheet->attention_layers);
    work_add_layers(work, COST_OP_O,
                    cost_gemm(rates, &sheet->dense, tokens, hidden, heads * model->v_head_dim),
                    sheet->attention_layers);
}

static void add_projections(struct work *work, double tokens)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double hidden = model->hidden, head = model->head_dim;
    double q_width = sheet->q_heads * head * (model->gated_attention ? 2 : 1);
    double width = q_width + 2 * sheet->kv_heads * head;
    work_add_layers(work, COST_OP_QKV,
                    cost_gemm(&sheet->rates, &sheet->dense, tokens, width, hidden),
                    sheet->attention_layers);
    work_add_layers(work, COST_OP_O,
                    cost_gemm(&sheet->rates, &sheet->dense, tokens, hidden, sheet->q_heads * head),
                    sheet->attention_layers);
}

/* Recurrent layers: all their projections as one product, and the state of every sequence read and written. */
static void add_linear_layers(struct work *work, const struct demand *demand)
{
    const struct sheet *sheet = work->sheet;
    if (!(sheet->linear_layers > 0))
        return;
    double hidden = sheet->model->hidden;
    double width = spec_model_linear_weights(sheet->model) / hidden / sheet->tp;
    work_add_layers(work, COST_OP_QKV,
                    cost_gemm(&sheet->rates, &sheet->dense, demand->tokens, width, hidden),
                    sheet->linear_layers);
    struct cost_time state = cost_stream(
        &sheet->rates, 2 * demand->sequences * sheet->state_bytes / sheet->linear_layers,
        COST_KV_BANDWIDTH);
    work_add_layers(work, COST_OP_ATTENTION_DECODE, state, sheet->linear_layers);
}

static void add_attention_sides(struct work *work, const struct demand *demand)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    if (sheet->attention_layers > 0) {
        if (model->is_mla)
            add_mla_projections(work, demand->tokens, demand->absorbed_rows);
        else
            add_projections(work, demand->tokens);
        double rotated = model->is_mla ? (sheet->q_heads + 1) * model->qk_rope_dim
                                       : (sheet->q_heads + sheet->kv_heads) * model->head_dim;
        work_add_layers(work, COST_OP_ROPE, activations(sheet, 2 * demand->tokens * rotated),
                        sheet->attention_layers);
        double written = model->is_mla ? (double)model->kv_lora_rank + model->qk_rope_dim
                                       : 2 * sheet->kv_heads * model->head_dim;
        double bytes =
            demand->tokens * (2 * written + sheet->kv_bytes_per_token / sheet->attention_layers);
        struct cost_time write = cost_stream(&sheet->rates, bytes, COST_KV_BANDWIDTH);
        write.s += demand->tokens * sheet->kv_write_s_per_token / sheet->attention_layers;
        work_add_layers(work, COST_OP_KV_WRITE, write, sheet->attention_layers);
    }
    add_linear_layers(work, demand);
}

/* Gated MLPs read gate and up and write one width, plain ones read and write one. */
static double mlp_inputs(const struct sheet *sheet)
{
    return sheet->model->mlp == SPEC_MLP_GATED ? 2 : 1;
}

static void add_mlp(struct work *work, double tokens)
{
    const struct sheet *sheet = work->sheet;
    double hidden = sheet->model->hidden, width = per_gpu(sheet->model->intermediate, sheet->tp);
    double inputs = mlp_inputs(sheet);
    if (!(sheet->dense_layers > 0))
        return;
    work_add_layers(work, COST_OP_GATE_UP,
                    cost_gemm(&sheet->rates, &sheet->dense, tokens, inputs * width, hidden),
                    sheet->dense_layers);
    work_add_layers(work, COST_OP_ACT, activations(sheet, (inputs + 1) * tokens * width),
                    sheet->dense_layers);
    work_add_layers(work, COST_OP_DOWN,
                    cost_gemm(&sheet->rates, &sheet->dense, tokens, hidden, width),
                    sheet->dense_layers);
}

/*
 * With expert parallelism the experts lie whole on tp * dp GPUs and each serves all replicas' tokens; without it every
 * GPU holds a slice of each expert. Time is that of the busiest rank (moe.h); `expert_padding_rows` stands for what
 * blocks waste.
 */
static void add_experts(struct work *work, double tokens)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double hidden = model->hidden, inputs = mlp_inputs(sheet);
    double served = sheet->ep > 1 ? tokens * sheet->dp : tokens;
    double width =
        sheet->ep > 1 ? model->expert_intermediate : per_gpu(model->expert_intermediate, sheet->tp);
    struct cost_moe_load load = cost_moe_busiest(&sheet->moe, served);
    double weights = (inputs + 1) * hidden * width;
    struct cost_time experts =
        cost_gemm_grouped(&sheet->rates, &sheet->expert, load.rows, load.touched, weights,
                          2 * hidden + (inputs + 1) * width, 2);
    work_add_layers(work, COST_OP_ROUTER,
                    cost_gemm(&sheet->rates, &sheet->plain, tokens, model->expert_count, hidden),
                    sheet->moe_layers);
    // Choosing the best k and sorting tokens by expert.
    work_add_layers(work, COST_OP_ROUTER, activations(sheet, 2 * tokens * model->expert_count),
                    sheet->moe_layers);
    work_add_layers(work, COST_OP_EXPERTS, experts, sheet->moe_layers);
    work_add_layers(work, COST_OP_ACT, activations(sheet, (inputs + 1) * load.rows * width),
                    sheet->moe_layers);
    if (model->shared_intermediate > 0) {
        double shared = per_gpu(model->shared_intermediate, sheet->tp);
        work_add_layers(work, COST_OP_EXPERTS,
                        cost_gemm(&sheet->rates, &sheet->dense, tokens, inputs * shared, hidden),
                        sheet->moe_layers);
        work_add_layers(work, COST_OP_EXPERTS,
                        cost_gemm(&sheet->rates, &sheet->dense, tokens, hidden, shared),
                        sheet->moe_layers);
    }
}

/* Copies of tokens that the busiest GPU gets in an exchange: more than it sends. */
static double exchanged_copies(const struct sheet *sheet, double tokens)
{
    double sent = tokens / sheet->tp * cost_moe_targets(&sheet->moe);
    double mean = tokens * sheet->dp * sheet->model->experts_per_token / sheet->ep;
    return sent * cost_moe_busiest(&sheet->moe, tokens * sheet->dp).rows / mean;
}

/*
 * Tensor parallelism: the outputs of attention and of the MLP are added up over the ranks (Megatron-LM, Shoeybi et al.,
 * 2019). Data-parallel attention with expert parallelism sends each token to its experts' GPUs and back instead: out as the
 * experts' products take it (quantized before, where activations are: DeepEP, vLLM), back in 16 bits.
 */
static void add_communication(struct work *work, double tokens)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double message = 2 * tokens * model->hidden;
    bool exchanges = sheet->ep > 1 && sheet->dp > 1;
    double reductions = sheet->attention_layers + sheet->linear_layers + sheet->dense_layers +
                        (exchanges ? 0 : sheet->moe_layers);
    work_add_layers(work, COST_OP_ALL_REDUCE,
                    cost_all_reduce(&sheet->rates, (uint32_t)sheet->tp, message), reductions);
    if (exchanges) {
        double copies = exchanged_copies(sheet, tokens);
        double out_bytes = sheet->expert.quantizes ? spec_dtype_bytes(sheet->expert.rate) : 2;
        for (int way = 0; way < 2; way++) {
            double bytes = copies * model->hidden * (way == 0 ? out_bytes : 2);
            work_add_layers(work, COST_OP_ALL_TO_ALL, cost_exchange(&sheet->rates, bytes),
                            sheet->moe_layers);
        }
    }
    if (sheet->pp > 1)
        work_add_times(work, COST_OP_P2P, cost_link_move(&sheet->rates, message / sheet->tp),
                       sheet->pp - 1, sheet->pp - 1);
}

/* The last layer's rows that are sampled: logits over the vocabulary's slice, gathered, then the sampler's passes. */
static void add_head(struct work *work, double rows)
{
    const struct sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    if (!(rows > 0))
        return;
    double slice = per_gpu(model->vocabulary, sheet->tp);
    work_add(work, COST_OP_LM_HEAD,
             cost_gemm(&sheet->rates, &sheet->head, rows, slice, model->hidden));
    if (sheet->tp > 1)
        work_add(work, COST_OP_LM_HEAD,
                 cost_link_move(&sheet->rates, 2 * rows * slice * (sheet->tp - 1)));
    struct cost_time sampler =
        cost_stream(&sheet->rates, rows * model->vocabulary * cost_defaults.sampler_bytes_per_logit,
                    COST_WEIGHT_BANDWIDTH);
    sampler.s += (cost_defaults.sampler_kernel_count - 1) * sheet->rates.graph_launch_s;
    work_add(work, COST_OP_SAMPLER, sampler);
}

/* Residual added and normalized in one kernel: two rows read, two written; apart: a row more. */
static void add_norms(struct work *work, double tokens)
{
    const struct sheet *sheet = work->sheet;
    double row = tokens * sheet->model->hidden;
    double count =
        sheet->attention_layers + sheet->linear_layers + sheet->dense_layers + sheet->moe_layers;
    struct cost_time norm = activations(sheet, (sheet->rates.adds_apart ? 2 : 4) * row);
    work_add_layers(work, COST_OP_NORM, norm, count);
    if (sheet->rates.adds_apart)
        work_add_layers(work, COST_OP_NORM, activations(sheet, 3 * row), count);
    work_add(work, COST_OP_NORM, norm);
}

/* Everything that depends neither on contexts nor on how many tokens are sampled. */
static void add_body(struct work *work, const struct demand *demand)
{
    const struct sheet *sheet = work->sheet;
    add_embedding(work, demand);
    add_attention_sides(work, demand);
    add_mlp(work, demand->tokens);
    if (sheet->moe_layers > 0)
        add_experts(work, demand->tokens);
    add_norms(work, demand->tokens);
    add_communication(work, demand->tokens);
}

static void add_known_body(struct work *work, const struct demand *demand)
{
    struct body *body = &work->sheet->bodies[(uint64_t)demand->tokens % BODIES];
    if (body->tokens != demand->tokens) {
        add_body(work, demand);
        body->tokens = demand->tokens;
        memcpy(body->class_s, work->parts.class_s, sizeof body->class_s);
        body->kernel_count = work->kernel_count;
        return;
    }
    memcpy(work->parts.class_s, body->class_s, sizeof body->class_s);
    work->kernel_count = body->kernel_count;
}

/* Keys seen by the prefilling sequences in a layer with a window: at most the window and the chunk of each. */
static double prefill_keys(const struct cost_shape *shape, const struct cost *cost,
                           const struct group *group)
{
    double keys = (double)shape->prefill_cached_tokens;
    if (group->sum != COST_SUM_CONTEXT)
        keys = fmin(keys, (double)shape->prefill_seq_count *
                              (double)cost->window_tokens[group->sum - COST_SUM_WINDOW]);
    return keys + (double)shape->prefill_tokens;
}

static void add_prefill_attention(struct work *work, const struct cost *cost,
                                  const struct cost_shape *shape)
{
    const struct sheet *sheet = work->sheet;
    if (shape->prefill_tokens == 0)
        return;
    for (size_t i = 0; i < sheet->group_count; i++) {
        const struct group *group = &sheet->groups[i];
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
        work_add_layers(work, COST_OP_ATTENTION_PREFILL, time, group->layer_count);
    }
}

static void add_decode_attention(struct work *work, const struct cost_shape *shape)
{
    const struct sheet *sheet = work->sheet;
    if (shape->decode_seq_count == 0)
        return;
    for (size_t i = 0; i < sheet->group_count; i++) {
        const struct group *group = &sheet->groups[i];
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
        work_add_layers(work, COST_OP_ATTENTION_DECODE,
                        cost_attention_decode_at(&lines, &decode, (double)contexts),
                        group->layer_count);
    }
}

static void add_overheads(struct work *work, const struct cost *cost, uint32_t seq_count,
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
static void work_step(struct work *work, const struct cost *cost, const struct cost_shape *shape,
                      bool decode_lines, struct work_rows *rows)
{
    const struct sheet *sheet = cost->state;
    *work = (struct work){.sheet = sheet, .rows = rows};
    uint32_t seq_count = shape->prefill_seq_count + shape->decode_seq_count;
    bool pure_decode = cost_shape_is_decode(shape);
    struct demand demand = {
        .tokens = (double)shape->prefill_tokens + shape->decode_seq_count,
        .emitting_rows = (double)shape->emitting_count + shape->decode_seq_count,
        .sequences = seq_count,
        .absorbed_rows = cost->config.mla_absorbed ? shape->decode_seq_count : 0,
    };
    if (rows != NULL || sheet->bodies == NULL)
        add_body(work, &demand);
    else
        add_known_body(work, &demand);
    add_head(work, demand.emitting_rows);
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
    struct work work;
    work_step(&work, cost, shape, false, NULL);
    return cost_parts_result(&work.parts);
}

static void curve_make(const struct sheet *sheet, const struct group *group, uint32_t seq_count,
                       struct cost_curve *out)
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
    const struct sheet *sheet = cost->state;
    const struct cost_shape shape = {.decode_seq_count = seq_count};
    struct work work;
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
    const struct sheet *sheet = cost->state;
    struct work work;
    struct work_rows rows = {0};
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

/* The row of efficiencies that a KV format belongs to. */
static enum spec_dtype kv_dtype_of(const struct spec_kv_format *format)
{
    if (format->bits_per_element >= 16)
        return SPEC_BF16;
    return format->bits_per_element == 8 ? SPEC_FP8 : SPEC_FP4;
}

static const struct cost_kv_dtype_options *kv_options_of(const struct cost_config *config)
{
    struct spec_kv_format format;
    for (size_t i = 0; i < config->options->kv_dtype_count; i++) {
        const struct cost_kv_dtype_options *options = &config->options->kv_dtypes[i];
        if (spec_kv_format_find(options->name, &format) &&
            format.name == config->layout->k_format.name)
            return options;
    }
    return NULL;
}

static void group_make_mla(struct group *group, const struct sheet *sheet, bool absorbed)
{
    const struct spec_model *model = sheet->model;
    double heads = sheet->q_heads, latent = model->kv_lora_rank, rope = model->qk_rope_dim;
    double expanded = (double)model->qk_nope_dim + model->v_head_dim;
    group->flops_per_pair = 2 * heads * (expanded + rope);
    group->up_projection_flops = 2 * latent * heads * expanded;
    group->decode.kv_heads = 1;
    if (absorbed) {
        group->decode.latent_heads = heads;
        group->decode.flops_per_token = 2 * heads * (2 * latent + rope);
        return;
    }
    group->decode.flops_per_token = group->flops_per_pair + group->up_projection_flops;
    group->decode.bytes_per_token +=
        2 * 2 * heads * (expanded + rope); // written by the projection, read back
}

static void group_make(struct group *group, const struct cost *cost, size_t index)
{
    const struct sheet *sheet = cost->state;
    const struct spec_model *model = sheet->model;
    const struct spec_kv_group *kv = &model->groups[index];
    const struct cost_kv_dtype_options *options = kv_options_of(&cost->config);
    bool windowed = kv->kind == SPEC_KV_SLIDING || kv->kind == SPEC_KV_CHUNKED;
    double head = kv->k_dim ? (double)kv->k_dim + kv->v_dim : 2.0 * model->head_dim;

    *group = (struct group){.layer_count = kv->layer_count};
    group->sum = windowed ? COST_SUM_WINDOW + (uint32_t)cost_window_find(cost, kv->window_tokens)
                          : COST_SUM_CONTEXT;
    group->bytes_per_token = (double)cost->config.layout->groups[index].layer_slot_bytes_per_gpu;
    group->decode.bytes_per_token = group->bytes_per_token;
    group->decode.kv_dtype = kv_dtype_of(&cost->config.layout->k_format);
    group->decode.read_fraction = options ? options->read_fraction : 0;
    group->decode.dequant_s_per_token = options ? options->dequant_ns_per_token * 1e-9 : 0;
    if (kv->is_latent) {
        group_make_mla(group, sheet, cost->config.mla_absorbed);
        return;
    }
    // Index keys are read whole; the attention that they thin out is still counted over the whole context.
    if (kv->kind == SPEC_KV_INDEX)
        return;
    double kv_heads = fmax(1, per_gpu(kv->kv_head_count, sheet->tp));
    group->flops_per_pair = 2 * sheet->q_heads * head;
    group->decode.kv_heads = kv_heads;
    group->decode.flops_per_token = group->flops_per_pair;
}

/* Layers that attend but keep no cache of their own read another layer's: they are spread over the groups. */
static void groups_make(struct cost *cost)
{
    struct sheet *sheet = cost->state;
    const struct spec_model *model = sheet->model;
    double caching_layers = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        if (model->groups[i].kind == SPEC_KV_STATE) {
            sheet->state_bytes +=
                (double)cost->config.layout->groups[i].layer_sequence_bytes_per_gpu *
                model->groups[i].layer_count;
            continue;
        }
        struct group *group = &sheet->groups[sheet->group_count++];
        group_make(group, cost, i);
        sheet->kv_bytes_per_token += group->bytes_per_token * group->layer_count;
        if (model->groups[i].kind != SPEC_KV_INDEX)
            caching_layers += group->layer_count;
    }
    if (caching_layers > 0 && sheet->attention_layers > caching_layers)
        for (size_t i = 0; i < sheet->group_count; i++)
            sheet->groups[i].layer_count *= sheet->attention_layers / caching_layers;
}

/*
 * A format whose operands the device can multiply is computed in it, with activations quantized on the way; else the
 * weights are widened on the fly (weight-only kernels) and only their bytes are saved.
 */
static enum kvsim_status matrices_make(struct sheet *sheet, const struct cost_config *config,
                                       struct kvsim_error *err)
{
    enum spec_dtype dtype;
    if (!spec_dtype_parse(config->dtype, &dtype) || spec_dtype_bytes(dtype) < 2)
        return base_fail(err, KVSIM_ERR_SCENARIO, "'%s' is not a dtype to compute in",
                         config->dtype);
    enum spec_dtype rate = cost_rates_dtype(&sheet->rates, dtype);
    sheet->plain = (struct cost_matrix){.weight_bytes = spec_dtype_bytes(dtype), .rate = rate};
    sheet->dense = sheet->expert = sheet->head = sheet->plain;

    struct spec_weight_format format;
    enum spec_dtype named;
    if (!spec_weight_format_find(config->quantization, &format)) {
        bool none =
            base_key_equal(config->quantization, "none") ||
            (spec_dtype_parse(config->quantization, &named) && spec_dtype_bytes(named) >= 2);
        return none ? KVSIM_OK
                    : base_fail(err, KVSIM_ERR_SCENARIO, "unknown format of weights '%s'",
                                config->quantization);
    }
    struct cost_matrix quantized = {.weight_bytes = format.bytes_per_element, .rate = rate};
    if (!format.is_weight_only && sheet->rates.flop_per_s[format.compute] > 0) {
        quantized.rate = format.compute;
        quantized.quantizes = true;
    }
    sheet->expert = quantized;
    if (!format.is_experts_only)
        sheet->dense = quantized;
    if (format.is_whole_model)
        sheet->head = quantized;
    return KVSIM_OK;
}

static void layers_make(struct sheet *sheet, const struct cost_config *config,
                        struct base_arena *arena)
{
    const struct spec_model *model = config->model;
    sheet->tp = config->tensor_parallel ? config->tensor_parallel : 1;
    sheet->pp = config->pipeline_parallel ? config->pipeline_parallel : 1;
    sheet->dp = config->data_parallel ? config->data_parallel : 1;
    sheet->ep = config->expert_parallel && model->expert_count > 0 ? sheet->tp * sheet->dp : 1;
    if (sheet->ep > model->expert_count && sheet->ep > 1)
        sheet->ep = model->expert_count;
    sheet->q_heads = per_gpu(model->q_head_count, sheet->tp);
    sheet->kv_heads = model->is_mla ? 1 : fmax(1, per_gpu(model->kv_head_count, sheet->tp));
    sheet->attention_layers = model->attention_layer_count;
    sheet->linear_layers = model->linear_layer_count;
    sheet->moe_layers = model->moe_layer_count;
    if (sheet->moe_layers > 0)
        cost_moe_init(&sheet->moe, model->expert_count, model->experts_per_token, sheet->ep,
                      config->options->expert_skew, arena);
    sheet->dense_layers = spec_model_dense_layer_count(model);
}

static enum kvsim_status datasheet_init(struct cost *cost, struct kvsim_error *err)
{
    const struct cost_config *config = &cost->config;
    struct sheet *sheet = cost->state;
    if (!config->model || !config->hardware || !config->layout)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level %s needs a model and hardware",
                         cost_level_name(cost->level));
    sheet->model = config->model;
    if (sheet->model->only_groups || sheet->model->hidden == 0 || sheet->model->layer_count == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "cost level %s needs the geometry of model %s; "
                         "only its KV sizes are stated",
                         cost_level_name(cost->level), sheet->model->name);
    if (cost->level == COST_CALIBRATED && !config->hardware->has_calibration)
        return base_fail(err, KVSIM_ERR_SCENARIO, "%s has no calibration", config->hardware->name);
    enum kvsim_status status =
        cost_rates_init(&sheet->rates, config->hardware, config->options->kernels, err);
    if (status == KVSIM_OK && cost->level == COST_CALIBRATED)
        cost_rates_calibrate(&sheet->rates, &config->hardware->calibration);
    if (status == KVSIM_OK)
        status = matrices_make(sheet, config, err);
    if (status != KVSIM_OK)
        return status;
    layers_make(sheet, config, cost->arena);
    groups_make(cost);
    const struct cost_kv_dtype_options *options = kv_options_of(config);
    if (options)
        sheet->kv_write_s_per_token = options->write_ns_per_token * 1e-9 * sheet->attention_layers;
    // Absorbed rows and states of sequences make a body depend on more than its tokens.
    if (!sheet->model->is_mla && sheet->linear_layers == 0)
        sheet->bodies = base_arena_array(cost->arena, BODIES, sizeof *sheet->bodies);
    return KVSIM_OK;
}

const struct cost_ops cost_ops_datasheet = {
    .policy = {.name = "datasheet",
               .summary = "roofline by operator: vendor peaks and default efficiencies",
               .state_bytes = sizeof(struct sheet)},
    .init = datasheet_init,
    .step = datasheet_step,
    .ramp = datasheet_ramp,
    .explain = datasheet_explain,
};

const struct cost_ops cost_ops_calibrated = {
    .policy = {.name = "calibrated",
               .summary =
                   "the same roofline with coefficients fitted to measurements of this device",
               .state_bytes = sizeof(struct sheet)},
    .init = datasheet_init,
    .step = datasheet_step,
    .ramp = datasheet_ramp,
    .explain = datasheet_explain,
};
