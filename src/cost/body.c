#include "cost/sheet.h"

#include <math.h>
#include <string.h>

double cost_per_gpu(double whole, double gpus)
{
    return ceil(whole / gpus);
}

static void work_add_times(struct cost_work *work, enum cost_operator op, struct cost_time time,
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
void cost_work_add_layers(struct cost_work *work, enum cost_operator op, struct cost_time time,
                          double layers)
{
    work_add_times(work, op, time, layers, work->sheet->pp);
}

static void cost_work_add(struct cost_work *work, enum cost_operator op, struct cost_time time)
{
    work_add_times(work, op, time, 1, 1);
}

/* Activations are 16 bits wide; a kernel that moves only them counts as bandwidth that is not KV's. */
static struct cost_time activations(const struct cost_sheet *sheet, double elements)
{
    return cost_stream(&sheet->rates, 2 * elements, COST_WEIGHT_BANDWIDTH);
}

static void add_embedding(struct cost_work *work, const struct cost_demand *demand)
{
    const struct cost_sheet *sheet = work->sheet;
    double elements = demand->tokens * sheet->model->hidden;
    cost_work_add(work, COST_OP_EMBED, activations(sheet, 2 * elements));
    // The table is cut by vocabulary: ranks add up what each found.
    cost_work_add(work, COST_OP_EMBED,
                  cost_all_reduce(&sheet->rates, (uint32_t)sheet->tp, 2 * elements));
}

static void add_mla_projections(struct cost_work *work, double tokens, double absorbed_rows)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    const struct cost_rates *rates = &sheet->rates;
    double hidden = model->hidden, heads = sheet->q_heads, latent = model->kv_lora_rank;
    double q_width = heads * ((double)model->qk_nope_dim + model->qk_rope_dim);
    double down = latent + model->qk_rope_dim + model->q_lora_rank;
    cost_work_add_layers(work, COST_OP_QKV,
                         cost_gemm(rates, &sheet->attention, tokens, down, hidden),
                         sheet->attention_layers);
    double q_input = model->q_lora_rank ? model->q_lora_rank : hidden;
    cost_work_add_layers(work, COST_OP_QKV,
                         cost_gemm(rates, &sheet->attention, tokens, q_width, q_input),
                         sheet->attention_layers);
    // W_UK folded into the query and W_UV into the output, head by head: the weights of all heads are read.
    double nope = model->qk_nope_dim, value = model->v_head_dim;
    cost_work_add_layers(work, COST_OP_QKV,
                         cost_gemm(rates, &sheet->plain, absorbed_rows, heads * latent, nope),
                         sheet->attention_layers);
    cost_work_add_layers(work, COST_OP_O,
                         cost_gemm(rates, &sheet->plain, absorbed_rows, heads * value, latent),
                         sheet->attention_layers);
    cost_work_add_layers(
        work, COST_OP_O,
        cost_gemm(rates, &sheet->attention, tokens, hidden, heads * model->v_head_dim),
        sheet->attention_layers);
}

static void add_projections(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double hidden = model->hidden, head = model->head_dim;
    double q_width = sheet->q_heads * head * (model->gated_attention ? 2 : 1);
    double width = q_width + 2 * sheet->kv_heads * head;
    cost_work_add_layers(work, COST_OP_QKV,
                         cost_gemm(&sheet->rates, &sheet->attention, tokens, width, hidden),
                         sheet->attention_layers);
    cost_work_add_layers(
        work, COST_OP_O,
        cost_gemm(&sheet->rates, &sheet->attention, tokens, hidden, sheet->q_heads * head),
        sheet->attention_layers);
}

/* Recurrent layers: all their projections as one product, and the state of every sequence read and written. */
static void add_linear_layers(struct cost_work *work, const struct cost_demand *demand)
{
    const struct cost_sheet *sheet = work->sheet;
    if (!(sheet->linear_layers > 0))
        return;
    double hidden = sheet->model->hidden;
    double width = spec_model_linear_weights(sheet->model) / hidden / sheet->tp;
    cost_work_add_layers(work, COST_OP_QKV,
                         cost_gemm(&sheet->rates, &sheet->dense, demand->tokens, width, hidden),
                         sheet->linear_layers);
    struct cost_time state = cost_stream(
        &sheet->rates, 2 * demand->sequences * sheet->state_bytes / sheet->linear_layers,
        COST_KV_BANDWIDTH);
    cost_work_add_layers(work, COST_OP_ATTENTION_DECODE, state, sheet->linear_layers);
}

static void add_attention_sides(struct cost_work *work, const struct cost_demand *demand)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    if (sheet->attention_layers > 0) {
        if (model->is_mla)
            add_mla_projections(work, demand->tokens, demand->absorbed_rows);
        else
            add_projections(work, demand->tokens);
        double rotated = model->is_mla ? (sheet->q_heads + 1) * model->qk_rope_dim
                                       : (sheet->q_heads + sheet->kv_heads) * model->head_dim;
        cost_work_add_layers(work, COST_OP_ROPE, activations(sheet, 2 * demand->tokens * rotated),
                             sheet->attention_layers);
        double written = model->is_mla ? (double)model->kv_lora_rank + model->qk_rope_dim
                                       : 2 * sheet->kv_heads * model->head_dim;
        double bytes =
            demand->tokens * (2 * written + sheet->kv_bytes_per_token / sheet->attention_layers);
        struct cost_time write = cost_stream(&sheet->rates, bytes, COST_KV_BANDWIDTH);
        write.s += demand->tokens * sheet->kv_write_s_per_token / sheet->attention_layers;
        cost_work_add_layers(work, COST_OP_KV_WRITE, write, sheet->attention_layers);
    }
    add_linear_layers(work, demand);
}

/* Gated MLPs read gate and up and write one width, plain ones read and write one. */
static double mlp_inputs(const struct cost_sheet *sheet)
{
    return sheet->model->mlp == SPEC_MLP_GATED ? 2 : 1;
}

static void add_mlp(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    double hidden = sheet->model->hidden,
           width = cost_per_gpu(sheet->model->intermediate, sheet->tp);
    double inputs = mlp_inputs(sheet);
    if (!(sheet->dense_layers > 0))
        return;
    cost_work_add_layers(work, COST_OP_GATE_UP,
                         cost_gemm(&sheet->rates, &sheet->dense, tokens, inputs * width, hidden),
                         sheet->dense_layers);
    cost_work_add_layers(work, COST_OP_ACT, activations(sheet, (inputs + 1) * tokens * width),
                         sheet->dense_layers);
    cost_work_add_layers(work, COST_OP_DOWN,
                         cost_gemm(&sheet->rates, &sheet->dense, tokens, hidden, width),
                         sheet->dense_layers);
}

/*
 * Experts are shared by tp * dp GPUs, each of which serves the tokens of all data-parallel ranks: with expert parallelism
 * they lie whole on one of them, without it every GPU holds a slice of each (vLLM, FusedMoEParallelConfig). Time is that of
 * the busiest rank (moe.h); `expert_padding_rows` stands for what blocks waste.
 */
static void add_experts(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double hidden = model->hidden, inputs = mlp_inputs(sheet);
    double served = tokens * sheet->dp;
    double width = sheet->ep > 1 ? model->expert_intermediate
                                 : cost_per_gpu(model->expert_intermediate, sheet->tp * sheet->dp);
    struct cost_moe_load load = cost_moe_busiest(&sheet->moe, served);
    double weights = (inputs + 1) * hidden * width;
    struct cost_time experts =
        cost_gemm_grouped(&sheet->rates, &sheet->expert, load.rows, load.touched, weights,
                          2 * hidden + (inputs + 1) * width, 2);
    cost_work_add_layers(
        work, COST_OP_ROUTER,
        cost_gemm(&sheet->rates, &sheet->plain, tokens, model->expert_count, hidden),
        sheet->moe_layers);
    // Choosing the best k and sorting tokens by expert.
    cost_work_add_layers(work, COST_OP_ROUTER, activations(sheet, 2 * tokens * model->expert_count),
                         sheet->moe_layers);
    cost_work_add_layers(work, COST_OP_EXPERTS, experts, sheet->moe_layers);
    cost_work_add_layers(work, COST_OP_ACT, activations(sheet, (inputs + 1) * load.rows * width),
                         sheet->moe_layers);
    if (model->shared_intermediate > 0) {
        double shared = cost_per_gpu(model->shared_intermediate, sheet->tp);
        cost_work_add_layers(
            work, COST_OP_EXPERTS,
            cost_gemm(&sheet->rates, &sheet->dense, tokens, inputs * shared, hidden),
            sheet->moe_layers);
        cost_work_add_layers(work, COST_OP_EXPERTS,
                             cost_gemm(&sheet->rates, &sheet->dense, tokens, hidden, shared),
                             sheet->moe_layers);
    }
}

/* Copies of tokens that the busiest GPU gets in an exchange: more than it sends. */
static double exchanged_copies(const struct cost_sheet *sheet, double tokens)
{
    double sent = tokens / sheet->tp * cost_moe_targets(&sheet->moe);
    double mean = tokens * sheet->dp * sheet->model->experts_per_token / sheet->ep;
    return sent * cost_moe_busiest(&sheet->moe, tokens * sheet->dp).rows / mean;
}

static void add_exchange(struct cost_work *work, double bytes)
{
    const struct cost_sheet *sheet = work->sheet;
    cost_work_add_layers(work, COST_OP_ALL_TO_ALL, cost_exchange(&sheet->rates, bytes),
                         sheet->moe_layers);
}

/* Each token to its experts' GPUs and back: out as the experts' products take it (quantized before, where activations
 * are: DeepEP, vLLM), back in 16 bits. */
static void exchange_with_experts(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    double elements = exchanged_copies(sheet, tokens) * sheet->model->hidden;
    double out_bytes = sheet->expert.quantizes ? spec_dtype_bytes(sheet->expert.rate) : 2;
    add_exchange(work, elements * out_bytes);
    add_exchange(work, elements * 2);
}

/* Slices of experts: a rank gets the tokens of all others (all-gather) and gives their sums back (reduce-scatter), in 16
 * bits; those of its own tensor-parallel group are added up by an all-reduce as ever. */
static void exchange_with_slices(struct cost_work *work, double message)
{
    double others = (work->sheet->dp - 1) * message;
    add_exchange(work, others);
    add_exchange(work, others);
}

/*
 * Tensor parallelism: the outputs of attention and of the MLP are added up over the ranks (Megatron-LM, Shoeybi et al.,
 * 2019). Data-parallel attention with expert parallelism exchanges tokens instead.
 */
static void add_communication(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    double message = 2 * tokens * model->hidden;
    bool exchanges = sheet->ep > 1 && sheet->dp > 1;
    double reductions = sheet->attention_layers + sheet->linear_layers + sheet->dense_layers +
                        (exchanges ? 0 : sheet->moe_layers);
    cost_work_add_layers(work, COST_OP_ALL_REDUCE,
                         cost_all_reduce(&sheet->rates, (uint32_t)sheet->tp, message), reductions);
    if (exchanges)
        exchange_with_experts(work, tokens);
    else if (sheet->dp > 1 && sheet->moe_layers > 0)
        exchange_with_slices(work, message);
    if (sheet->pp > 1)
        work_add_times(work, COST_OP_P2P, cost_link_move(&sheet->rates, message / sheet->tp),
                       sheet->pp - 1, sheet->pp - 1);
}

/* The last layer's rows that are sampled: logits over the vocabulary's slice, gathered, then the sampler's passes. */
void cost_work_add_head(struct cost_work *work, double rows)
{
    const struct cost_sheet *sheet = work->sheet;
    const struct spec_model *model = sheet->model;
    if (!(rows > 0))
        return;
    double slice = cost_per_gpu(model->vocabulary, sheet->tp);
    cost_work_add(work, COST_OP_LM_HEAD,
                  cost_gemm(&sheet->rates, &sheet->head, rows, slice, model->hidden));
    if (sheet->tp > 1)
        cost_work_add(work, COST_OP_LM_HEAD,
                      cost_link_move(&sheet->rates, 2 * rows * slice * (sheet->tp - 1)));
    struct cost_time sampler =
        cost_stream(&sheet->rates, rows * model->vocabulary * cost_defaults.sampler_bytes_per_logit,
                    COST_WEIGHT_BANDWIDTH);
    sampler.s += (cost_defaults.sampler_kernel_count - 1) * sheet->rates.graph_launch_s;
    cost_work_add(work, COST_OP_SAMPLER, sampler);
}

/* Residual added and normalized in one kernel: two rows read, two written; apart: a row more. */
static void add_norms(struct cost_work *work, double tokens)
{
    const struct cost_sheet *sheet = work->sheet;
    double row = tokens * sheet->model->hidden;
    double count =
        sheet->attention_layers + sheet->linear_layers + sheet->dense_layers + sheet->moe_layers;
    struct cost_time norm = activations(sheet, (sheet->rates.adds_apart ? 2 : 4) * row);
    cost_work_add_layers(work, COST_OP_NORM, norm, count);
    if (sheet->rates.adds_apart)
        cost_work_add_layers(work, COST_OP_NORM, activations(sheet, 3 * row), count);
    cost_work_add(work, COST_OP_NORM, norm);
}

/* Everything that depends neither on contexts nor on how many tokens are sampled. */
static void add_body(struct cost_work *work, const struct cost_demand *demand)
{
    const struct cost_sheet *sheet = work->sheet;
    add_embedding(work, demand);
    add_attention_sides(work, demand);
    add_mlp(work, demand->tokens);
    if (sheet->moe_layers > 0)
        add_experts(work, demand->tokens);
    add_norms(work, demand->tokens);
    add_communication(work, demand->tokens);
}

static void add_known_body(struct cost_work *work, const struct cost_demand *demand)
{
    struct cost_body *body = &work->sheet->bodies[(uint64_t)demand->tokens % COST_BODIES];
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

void cost_work_add_body(struct cost_work *work, const struct cost_demand *demand)
{
    if (work->rows != NULL || work->sheet->bodies == NULL)
        add_body(work, demand);
    else
        add_known_body(work, demand);
}
