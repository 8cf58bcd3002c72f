/*
 * weights.c - bytes of weights on one GPU, in closed form.
 *
 * What an engine prints after loading is its parameters, their quantization scales, and the rotary table, which every
 * layer shares and every rank holds, in the allocator's units. Checked against start-up logs: Llama-3.1-8B 14.9888 GiB, Llama-3.1-405B over eight
 * ranks 95.5194 GiB (with the 16 KV heads of its first checkpoint), an int8 70B 67.7229 GiB.
 *
 * Sharding as in Megatron-LM (Shoeybi et al., 2019) and in vLLM's parallel layers: projections are cut over the ranks
 * by heads or by width, KV projections at least one head wide; norms, routers, latent down-projections and position
 * tables are whole on each rank. Pipeline stages: vLLM's rule, remaining layers to the later stages but the last.
 *
 * Query, key and value are one tensor, as are gate and up, and each projection of all experts: that matters to the
 * allocator's rounding (c10/cuda/CUDACachingAllocator.cpp), 2 MiB a layer of Qwen2.5-7B.
 */
#include "spec/kv.h"

#include "base/count.h"
#include "base/field.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* A storage format of weight matrices. */
struct weight_format {
    const char *name;
    uint32_t bits_x1024;      /* per element, block scales of fixed groups included */
    uint32_t group_elements;  /* default group along the input dimension; 0 = none */
    uint32_t group_bits;      /* scale and zero point of one group */
    uint32_t row_scale_bytes; /* per output channel */
    enum spec_dtype compute;  /* operands of the matrix product; weight_only: the dtype's */
    bool weight_only;
    bool square_groups; /* groups are blocks of group x group elements */
    bool whole_model;   /* embedding and head too */
    unsigned leaves;    /* parts that stay in the dtype */
};

enum {
    LEAVES_ATTENTION = 1,
    LEAVES_MLP = 2,       /* dense ones, and experts that all tokens share */
    LEAVES_RECURRENT = 4, /* layers of states */
    LEAVES_OUTER = 8,     /* the first and the last layer */
    EXPERTS_ONLY = LEAVES_ATTENTION | LEAVES_MLP | LEAVES_RECURRENT
};

enum { BIT = 1024 };

/*
 * Sources: compressed-tensors (fp8 and int8 with fp32 scales per channel), DeepSeek-V3 (fp8, fp32 per 128 x 128), AWQ
 * and GPTQ (4 bits, fp16 scale and 4-bit zero point per 128), NVFP4 (e4m3 per 16; what llm-compressor and ModelOpt leave
 * out: issue 40252 of vllm-project/vllm, pull 22618 of sgl-project/sglang), OCP MX (e8m0 per 32), bitsandbytes
 * NF4 (fp32 per 64), llama.cpp's ggml-common.h (bytes per 32 or 256 elements; the _m and _s mixes by their mean). FBGEMM's
 * fp8 as Meta released Llama 3.1 405B: feed-forward layers but the outer ones ("The Llama 3 Herd of Models", section 6.2).
 * int4_experts as Kimi-K2 was released from Thinking on: routed experts, groups of 32 (recipes/Kimi-K2.5.md of ROCm/ATOM).
 */
enum { FP8, FP8_BLOCK };
static const struct weight_format formats[] = {
    [FP8] = {.name = "fp8", .compute = SPEC_FP8, .bits_x1024 = 8 * BIT, .row_scale_bytes = 4},
    [FP8_BLOCK] = {.name = "fp8_block",
                   .compute = SPEC_FP8,
                   .bits_x1024 = 8 * BIT,
                   .group_elements = 128,
                   .group_bits = 32,
                   .square_groups = true},
    {.name = "fbgemm_fp8",
     .compute = SPEC_FP8,
     .bits_x1024 = 8 * BIT,
     .row_scale_bytes = 4,
     .leaves = LEAVES_ATTENTION | LEAVES_RECURRENT | LEAVES_OUTER},
    {.name = "int8", .compute = SPEC_INT8, .bits_x1024 = 8 * BIT, .row_scale_bytes = 4},
    {.name = "awq",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 128,
     .group_bits = 20},
    {.name = "gptq",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 128,
     .group_bits = 20},
    {.name = "int4",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 128,
     .group_bits = 16},
    {.name = "int4_experts",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 32,
     .group_bits = 16,
     .leaves = EXPERTS_ONLY},
    {.name = "nvfp4",
     .compute = SPEC_FP4,
     .bits_x1024 = 4 * BIT,
     .group_elements = 16,
     .group_bits = 8,
     .leaves = LEAVES_RECURRENT},
    {.name = "mxfp4",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 32,
     .group_bits = 8,
     .leaves = EXPERTS_ONLY},
    {.name = "bnb",
     .weight_only = true,
     .bits_x1024 = 4 * BIT,
     .group_elements = 64,
     .group_bits = 32},
    {.name = "gguf:q8_0",
     .weight_only = true,
     .bits_x1024 = 8 * BIT + BIT / 2,
     .whole_model = true},
    {.name = "gguf:q6_k", .weight_only = true, .bits_x1024 = 6720, .whole_model = true},
    {.name = "gguf:q5_k",
     .weight_only = true,
     .bits_x1024 = 5 * BIT + BIT / 2,
     .whole_model = true},
    {.name = "gguf:q5_1", .weight_only = true, .bits_x1024 = 6 * BIT, .whole_model = true},
    {.name = "gguf:q5_0",
     .weight_only = true,
     .bits_x1024 = 5 * BIT + BIT / 2,
     .whole_model = true},
    {.name = "gguf:q4_k_m", .weight_only = true, .bits_x1024 = 4966, .whole_model = true},
    {.name = "gguf:q4_k",
     .weight_only = true,
     .bits_x1024 = 4 * BIT + BIT / 2,
     .whole_model = true},
    {.name = "gguf:q4_1", .weight_only = true, .bits_x1024 = 5 * BIT, .whole_model = true},
    {.name = "gguf:q4_0",
     .weight_only = true,
     .bits_x1024 = 4 * BIT + BIT / 2,
     .whole_model = true},
    {.name = "gguf:q3_k", .weight_only = true, .bits_x1024 = 3520, .whole_model = true},
    {.name = "gguf:q2_k", .weight_only = true, .bits_x1024 = 2688, .whole_model = true},
};

// Names of the same bytes: kernels of vLLM, spellings of checkpoints.
static const char *const aliases[][2] = {
    {"fp8_e4m3", "fp8"},       {"float8_e4m3fn", "fp8"}, {"w8a8", "int8"},
    {"awq_marlin", "awq"},     {"gptq_marlin", "gptq"},  {"bitsandbytes", "bnb"},
    {"modelopt_fp4", "nvfp4"}, {"fp4", "nvfp4"},         {"w4a16", "int4"},
};

struct weights {
    const struct spec_model *model;
    const struct weight_format *format; /* NULL: everything in the dtype */
    uint64_t dtype_bytes, ranks;
    uint32_t group_elements;
    bool expert_parallel, without_vision;
    uint64_t expert_ranks; /* of tensor and data parallelism together */
    enum spec_weights_count count;
    enum spec_latent_copies latent_copies;
    uint64_t expert_width_multiple, expert_hidden_multiple; /* what experts are padded to */
    uint64_t position_spans; /* times the context that the rotary table covers */
};

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return base_div_up_u64(value, to) * to;
}

// A tensor as the engine counts it.
static uint64_t tensor_bytes(const struct weights *w, uint64_t bytes)
{
    enum { UNIT = 512, MIB = 1 << 20, LARGE = 10 * MIB, SEGMENT = 2 * MIB, SPLIT_ABOVE = MIB };
    // GGUF's tensors stay apart, each in its own type.
    bool is_apart = w->format != NULL && w->format->whole_model;
    if (w->count == SPEC_WEIGHTS_BYTES || is_apart)
        return bytes;
    uint64_t segment = round_up(bytes, SEGMENT);
    bool is_split = w->count == SPEC_WEIGHTS_BLOCKS && segment - bytes > SPLIT_ABOVE;
    return bytes < LARGE || is_split ? round_up(bytes, UNIT) : segment;
}

// A tensor in the dtype: norms, routers, embeddings, whatever a format leaves alone.
static uint64_t plain_bytes(const struct weights *w, uint64_t elements)
{
    return tensor_bytes(w, elements * w->dtype_bytes);
}

// `count` matrices of `rows` output channels and `columns` inputs each as one tensor, in the quantized format.
static uint64_t matrices_bytes(const struct weights *w, uint64_t count, uint64_t rows,
                               uint64_t columns)
{
    const struct weight_format *format = w->format;
    uint64_t elements = count * rows * columns;
    if (format == NULL)
        return plain_bytes(w, elements);
    // Elements x bits stays below 2^63: 10^12 elements x 2^14.
    uint64_t bytes = tensor_bytes(w, base_div_up_u64(elements * format->bits_x1024, 8 * BIT)) +
                     tensor_bytes(w, count * rows * format->row_scale_bytes);
    if (w->group_elements != 0 && elements != 0) {
        uint64_t groups_per_row = base_div_up_u64(columns, w->group_elements);
        uint64_t group_rows =
            format->square_groups ? base_div_up_u64(rows, w->group_elements) : rows;
        bytes += tensor_bytes(
            w, base_div_up_u64(count * group_rows * groups_per_row * format->group_bits, 8));
    }
    return bytes;
}

static uint64_t matrix_bytes(const struct weights *w, uint64_t rows, uint64_t columns)
{
    return matrices_bytes(w, 1, rows, columns);
}

static bool leaves(const struct weights *w, unsigned part)
{
    return w->format != NULL && (w->format->leaves & part) != 0;
}

// The same of a part that some formats leave in the dtype.
static uint64_t part_bytes(const struct weights *w, unsigned part, uint64_t rows, uint64_t columns)
{
    return leaves(w, part) ? plain_bytes(w, rows * columns) : matrix_bytes(w, rows, columns);
}

static uint64_t attention_bytes(const struct weights *w, uint64_t rows, uint64_t columns)
{
    return part_bytes(w, LEAVES_ATTENTION, rows, columns);
}

/* vLLM 0.7 (MLACommonImpl, perform_matrix_absorption) keeps the products; later releases keep W_UK and W_UV as they come out
 * of the dequantization. */
static uint64_t latent_copy_bytes(const struct weights *w, uint64_t heads)
{
    const struct spec_model *m = w->model;
    uint64_t latent = m->kv_lora_rank;
    if (w->latent_copies == SPEC_LATENT_ABSORBED) {
        uint64_t q_columns = m->q_lora_rank != 0 ? m->q_lora_rank : m->hidden;
        return matrix_bytes(w, heads * latent, q_columns) +
               matrix_bytes(w, heads * m->qk_rope_dim, q_columns) +
               matrix_bytes(w, m->hidden, heads * latent);
    }
    bool is_quantized = w->format != NULL && !leaves(w, LEAVES_ATTENTION);
    if (w->latent_copies == SPEC_LATENT_DEQUANTIZED && is_quantized)
        return plain_bytes(w, heads * (m->qk_nope_dim + m->v_head_dim) * latent);
    return 0;
}

static uint64_t mla_layer_bytes(const struct weights *w)
{
    const struct spec_model *m = w->model;
    uint64_t heads = base_div_up_u64(m->q_head_count, w->ranks);
    uint64_t q_rows = heads * (m->qk_nope_dim + m->qk_rope_dim);
    uint64_t latent = m->kv_lora_rank, q_latent = m->q_lora_rank;
    uint64_t bytes = attention_bytes(w, latent + m->qk_rope_dim, m->hidden);
    if (q_latent != 0)
        bytes += attention_bytes(w, q_latent, m->hidden);
    bytes += attention_bytes(w, q_rows, q_latent != 0 ? q_latent : m->hidden);
    bytes += attention_bytes(w, heads * (m->qk_nope_dim + m->v_head_dim), latent);
    bytes += latent_copy_bytes(w, heads);
    return bytes + attention_bytes(w, m->hidden, heads * m->v_head_dim);
}

static uint64_t attention_layer_bytes(const struct weights *w)
{
    const struct spec_model *m = w->model;
    if (m->is_mla)
        return mla_layer_bytes(w);
    uint64_t q_heads = base_div_up_u64(m->q_head_count, w->ranks);
    uint64_t kv_heads = base_max_u64(1, base_div_up_u64(m->kv_head_count, w->ranks));
    uint64_t in_heads = q_heads * (m->gated_attention ? 2 : 1) + 2 * kv_heads;
    return attention_bytes(w, in_heads * m->head_dim, m->hidden) +
           attention_bytes(w, m->hidden, q_heads * m->head_dim);
}

static uint64_t linear_layer_bytes(const struct weights *w)
{
    uint64_t elements = (uint64_t)spec_model_linear_weights(w->model);
    if (leaves(w, LEAVES_RECURRENT))
        return plain_bytes(w, base_div_up_u64(elements, w->ranks));
    return matrix_bytes(w, base_div_up_u64(base_div_up_u64(elements, w->ranks), w->model->hidden),
                        w->model->hidden);
}

static uint64_t mlp_in_rows(const struct weights *w, uint64_t width)
{
    return width * (w->model->mlp == SPEC_MLP_GATED ? 2 : 1);
}

// An MLP whose width on this rank is `width`.
static uint64_t mlp_bytes(const struct weights *w, uint64_t width)
{
    uint64_t hidden = w->model->hidden;
    return part_bytes(w, LEAVES_MLP, mlp_in_rows(w, width), hidden) +
           part_bytes(w, LEAVES_MLP, hidden, width);
}

static uint64_t expert_bytes(const struct weights *w, uint64_t experts, uint64_t width)
{
    uint64_t hidden = round_up(w->model->hidden, w->expert_hidden_multiple);
    width = round_up(width, w->expert_width_multiple);
    return matrices_bytes(w, experts, mlp_in_rows(w, width), hidden) +
           matrices_bytes(w, experts, hidden, width);
}

static uint64_t dense_layer_bytes(const struct weights *w)
{
    return mlp_bytes(w, base_div_up_u64(w->model->intermediate, w->ranks));
}

// What a format adds that leaves the first and the last layer alone: their feed-forward parts in the dtype.
static uint64_t outer_layer_bytes(const struct weights *w)
{
    if (!leaves(w, LEAVES_OUTER) || spec_model_dense_layer_count(w->model) == 0)
        return 0;
    uint64_t width = base_div_up_u64(w->model->intermediate, w->ranks), hidden = w->model->hidden;
    uint64_t plain =
        plain_bytes(w, mlp_in_rows(w, width) * hidden) + plain_bytes(w, hidden * width);
    uint64_t quantized = dense_layer_bytes(w);
    return plain > quantized ? plain - quantized : 0;
}

// Tensor parallelism cuts every expert, expert parallelism deals whole ones out; over data-parallel ranks too, which hold
// everything else whole (vLLM, FusedMoEParallelConfig: tp_size = dp_size * tp_size).
static uint64_t moe_layer_bytes(const struct weights *w)
{
    const struct spec_model *m = w->model;
    uint64_t experts = m->expert_count, width = m->expert_intermediate;
    if (w->expert_parallel)
        experts = base_div_up_u64(experts, w->expert_ranks);
    else
        width = base_div_up_u64(width, w->expert_ranks);
    return expert_bytes(w, experts, width) +
           mlp_bytes(w, base_div_up_u64(m->shared_intermediate, w->ranks)) +
           plain_bytes(w, (uint64_t)m->hidden * m->expert_count);
}

// Rows of the vocabulary on one rank; engines pad it to a multiple of 64 and cut it evenly.
static uint64_t vocabulary_bytes(const struct weights *w)
{
    enum { VOCABULARY_MULTIPLE = 64 };
    uint64_t padded =
        base_div_up_u64(w->model->vocabulary, VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE;
    uint64_t rows = base_div_up_u64(padded, w->ranks);
    if (w->format != NULL && w->format->whole_model)
        return matrix_bytes(w, rows, w->model->hidden);
    return plain_bytes(w, rows * w->model->hidden);
}

// Layers of a pipeline stage (from 0): vLLM gives every stage layers / stages, what remains to the last stages but the
// very last.
static uint64_t stage_layer_count(uint64_t layers, uint64_t stages, uint64_t stage)
{
    uint64_t extra = layers % stages;
    bool takes_extra = stage + 1 < stages && stage + 1 + extra >= stages;
    return layers / stages + (takes_extra ? 1 : 0);
}

static uint64_t count_before(uint64_t count, uint64_t layers, uint64_t upto)
{
    return layers == 0 ? 0 : count * upto / layers;
}

uint64_t spec_stage_share(uint64_t count, uint64_t layers, uint64_t stages, uint64_t stage)
{
    uint64_t first = 0;
    for (uint64_t i = 0; i < stage; i++)
        first += stage_layer_count(layers, stages, i);
    uint64_t end = first + stage_layer_count(layers, stages, stage);
    return count_before(count, layers, end) - count_before(count, layers, first);
}

static uint64_t stage_bytes(const struct weights *w, uint64_t stages, uint64_t stage)
{
    const struct spec_model *m = w->model;
    const struct {
        uint64_t layers, layer_bytes;
    } parts[] = {
        {m->attention_layer_count, attention_layer_bytes(w)},
        {m->linear_layer_count, m->linear_layer_count != 0 ? linear_layer_bytes(w) : 0},
        {spec_model_dense_layer_count(m), dense_layer_bytes(w)},
        {m->moe_layer_count, m->moe_layer_count != 0 ? moe_layer_bytes(w) : 0},
        {m->layer_count, plain_bytes(w, 2 * (uint64_t)m->hidden)}, // two norms
    };
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bytes +=
            spec_stage_share(parts[i].layers, m->layer_count, stages, stage) * parts[i].layer_bytes;
    }
    return bytes;
}

// Quantized checkpoints leave the tower alone; its projections are cut as those of the text model are.
static uint64_t vision_bytes(const struct weights *w)
{
    if (w->without_vision)
        return 0;
    return base_div_up_u64((uint64_t)llround(w->model->vision.parameters), w->ranks) *
           w->dtype_bytes;
}

// What lies outside the layers: tower, embedding and positions on the first stage, last norm and head on the last; a tied
// head needs its own copy of the embedding only when it lies on another stage.
static uint64_t edge_bytes(const struct weights *w, uint64_t stages, uint64_t stage)
{
    const struct spec_model *m = w->model;
    uint64_t bytes = plain_bytes(w, m->max_position_tokens * w->position_spans * m->rotary_dim);
    bytes += plain_bytes(w, m->max_position_tokens * m->rotary_stretch * m->rotary_dim);
    if (stage == 0)
        bytes += vision_bytes(w) + vocabulary_bytes(w) + outer_layer_bytes(w) +
                 plain_bytes(w, (uint64_t)m->learned_position_count * m->hidden);
    if (stage + 1 == stages) {
        bytes += plain_bytes(w, m->hidden) + outer_layer_bytes(w);
        if (!m->tied_embeddings || stages > 1)
            bytes += vocabulary_bytes(w);
    }
    return bytes;
}

static const struct weight_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (base_key_equal(aliases[i][0], name))
            name = aliases[i][1];
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (base_key_equal(formats[i].name, name))
            return &formats[i];
    }
    return NULL;
}

bool spec_weight_format_find(const char *name, struct spec_weight_format *out)
{
    const struct weight_format *format = find_format(name);
    if (format == NULL)
        return false;
    double bits = format->bits_x1024 / (double)BIT;
    if (format->group_elements != 0) {
        double across = format->square_groups ? format->group_elements : 1;
        bits += format->group_bits / (format->group_elements * across);
    }
    *out = (struct spec_weight_format){
        .name = format->name,
        .bytes_per_element = bits / 8,
        .compute = format->compute,
        .is_weight_only = format->weight_only,
        .is_experts_only = (format->leaves & EXPERTS_ONLY) == EXPERTS_ONLY,
        .leaves_attention = (format->leaves & LEAVES_ATTENTION) != 0,
        .is_whole_model = format->whole_model,
    };
    return true;
}

// "auto" and NULL are the checkpoint's own format; a dtype such as bf16 is no quantization.
static enum kvsim_status resolve_format(const struct spec_model *model,
                                        const struct spec_weights_options *options,
                                        const struct weight_format **out, struct kvsim_error *err)
{
    const char *name = options->quantization;
    bool own = name == NULL || base_key_equal(name, "auto");
    if (own)
        name = model->weight_dtype != NULL ? model->weight_dtype : "none";
    enum spec_dtype dtype;
    *out = find_format(name);
    // A stated group makes fp8's scales those of blocks, as in DeepSeek-V3's checkpoint.
    if (*out == &formats[FP8] && options->group_size != 0)
        *out = &formats[FP8_BLOCK];
    bool plain = base_key_equal(name, "none") ||
                 (spec_dtype_parse(name, &dtype) && spec_dtype_bytes(dtype) >= 2);
    if (*out != NULL || plain)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "unknown format of weights '%s'", name);
    base_error_code(err, "quantization");
    base_error_key(err, "engine.quantization");
    return KVSIM_ERR_SCENARIO;
}

static enum kvsim_status resolve(const struct spec_model *model,
                                 const struct spec_weights_options *options, struct weights *out,
                                 struct kvsim_error *err)
{
    enum spec_dtype dtype;
    if (!spec_dtype_parse(options->dtype, &dtype) || spec_dtype_bytes(dtype) < 2) {
        base_fail(err, KVSIM_ERR_SCENARIO, "weights are not kept in '%s'", options->dtype);
        base_error_code(err, "dtype");
        base_error_key(err, "engine.dtype");
        return KVSIM_ERR_SCENARIO;
    }
    *out = (struct weights){
        .model = model,
        .dtype_bytes = (uint64_t)spec_dtype_bytes(dtype),
        .ranks = options->tensor_parallel,
        .expert_parallel = options->expert_parallel,
        .expert_ranks = (uint64_t)options->tensor_parallel *
                        (options->data_parallel != 0 ? options->data_parallel : 1),
        .without_vision = options->without_vision,
        .count = options->count,
        .latent_copies = options->latent_copies,
        .position_spans = model->has_video_positions && options->video_positions != 0
                              ? options->video_positions
                              : 1,
    };
    out->expert_width_multiple = out->expert_hidden_multiple = 1;
    enum kvsim_status status = resolve_format(model, options, &out->format, err);
    if (status == KVSIM_OK && out->format != NULL && strcmp(out->format->name, "mxfp4") == 0) {
        out->expert_width_multiple = base_max_u64(1, options->mxfp4_width_multiple);
        out->expert_hidden_multiple = base_max_u64(1, options->mxfp4_hidden_multiple);
    }
    if (status == KVSIM_OK && out->format != NULL && out->format->group_elements != 0)
        out->group_elements =
            options->group_size != 0 ? options->group_size : out->format->group_elements;
    return status;
}

// Only the number of parameters is known: all of them in one format, cut evenly.
static uint64_t stated_bytes(const struct weights *w, uint64_t gpu_count)
{
    enum { ROW = 4096 }; // a usual width, for the scales
    uint64_t elements = (uint64_t)llround(w->model->published_parameters);
    return base_div_up_u64(matrix_bytes(w, base_div_up_u64(elements, ROW), ROW), gpu_count);
}

enum kvsim_status spec_weights_bytes_per_gpu(const struct spec_model *model,
                                             const struct spec_weights_options *options,
                                             uint64_t *out_bytes, struct kvsim_error *err)
{
    base_require(options->tensor_parallel >= 1 && options->pipeline_parallel >= 1);
    *out_bytes = 0;
    if (model->only_groups) {
        base_fail(err, KVSIM_ERR_SCENARIO,
                  "the model states its KV groups only, so its weights are not known");
        base_error_code(err, "no-weights");
        base_error_key(err, "model");
        return KVSIM_ERR_SCENARIO;
    }
    struct weights weights;
    enum kvsim_status status = resolve(model, options, &weights, err);
    if (status != KVSIM_OK)
        return status;

    uint64_t stages = options->pipeline_parallel;
    if (model->parameters_are_stated) {
        *out_bytes = stated_bytes(&weights, stages * weights.ranks);
        return KVSIM_OK;
    }
    base_require(options->stage <= stages);
    for (uint64_t stage = 0; stage < stages; stage++) {
        if (options->stage != 0 && stage + 1 != options->stage)
            continue;
        uint64_t bytes = stage_bytes(&weights, stages, stage) + edge_bytes(&weights, stages, stage);
        *out_bytes = base_max_u64(*out_bytes, bytes);
    }
    return KVSIM_OK;
}
