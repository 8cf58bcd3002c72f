/*
 * model.c - a model file, a config.json or a mapping to spec_model: geometry, KV groups, format of the weights.
 */
#include "scenario/model_opts.h"

#include "base/error.h"
#include "spec/hardware.h"
#include "spec/kv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one call works on. */
struct build {
    struct scenario_reader *reader;
    struct conf_node *tree;
    const char *path;
    bool is_config;
    struct scenario_model_opts opts;
    const struct scenario_family *family; /* NULL: not known */
    struct scenario_layers layers;
    struct spec_model *out;
};

static bool fail_missing(const struct build *b, const char *key, const char *hint)
{
    return scenario_fail_hint(b->reader, b->tree, scenario_join(b->reader->arena, b->path, key),
                              "missing-key", hint, "'%s' of the model is missing", key);
}

static bool fail_value(const struct build *b, const char *key, const char *message)
{
    const struct conf_node *node = conf_get(b->tree, key);
    return scenario_fail(b->reader, node == NULL ? b->tree : node,
                         scenario_join(b->reader->arena, b->path, key), "out-of-range", "%s",
                         message);
}

/* ---- stated groups ---- */

struct group_opts {
    int kind;
    int64_t layers, kv_heads, head_dim, window_tokens, block_tokens, bytes_per_sequence;
    double bytes_per_token;
    const char *kv_dtype;
};

static const struct base_choice kind_choices[] = {
    {"full", SPEC_KV_FULL, "every token is kept"},
    {"sliding", SPEC_KV_SLIDING, "the last `window` tokens are seen"},
    {"chunked", SPEC_KV_CHUNKED, "attention within chunks of `window` tokens"},
    {"state", SPEC_KV_STATE, "recurrent state of constant size"},
    {"index", SPEC_KV_INDEX, "index keys of sparse attention"},
    {0},
};

#define GROUP(member) .offset = offsetof(struct group_opts, member)
static const struct base_field group_fields[] = {
    {.key = "kind",
     .type = BASE_CHOICE,
     GROUP(kind),
     .choices = kind_choices,
     .required = true,
     .help = "what its layers keep"},
    {.key = "layers",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     GROUP(layers),
     .min = 1,
     .max = 1e6,
     .required = true,
     .help = "layers of the group"},
    {.key = "num_key_value_heads",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     GROUP(kv_heads),
     .min = 1,
     .max = 1e6,
     .help = "KV heads"},
    {.key = "head_dim",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     GROUP(head_dim),
     .min = 1,
     .max = 1e6,
     .help = "elements per head"},
    {.key = "window",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     GROUP(window_tokens),
     .min = 1,
     .max = 1e9,
     .help = "of sliding and chunked groups"},
    {.key = "block_size",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     GROUP(block_tokens),
     .min = 1,
     .max = 1e6,
     .help = "its own tokens per block"},
    {.key = "bytes_per_token",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     GROUP(bytes_per_token),
     .min_open = true,
     .max = 1e12,
     .help = "per layer, in place of heads, head_dim and dtype"},
    {.key = "kv_cache_dtype",
     .type = BASE_TEXT,
     GROUP(kv_dtype),
     .help = "of this group; absent: the engine's"},
    {.key = "bytes_per_sequence",
     .type = BASE_INT,
     .unit = BASE_PLAIN_BYTES,
     GROUP(bytes_per_sequence),
     .min = 1,
     .max = 1e15,
     .help = "per layer, of a state"},
    {0},
};
const struct scenario_section scenario_group_section = {"model.kv_groups[]", group_fields, NULL,
                                                        "layers that keep KV alike, stated"};

static bool check_group(const struct build *b, const struct conf_node *node, const char *path,
                        const struct group_opts *opts)
{
    bool windowed = opts->kind == SPEC_KV_SLIDING || opts->kind == SPEC_KV_CHUNKED;
    bool by_geometry = opts->kv_heads != 0 && opts->head_dim != 0;
    bool is_state = opts->kind == SPEC_KV_STATE;
    if (windowed != (opts->window_tokens != 0))
        return scenario_fail(b->reader, node, path, windowed ? "missing-key" : "unused-key",
                             windowed ? "a windowed group needs its 'window'"
                                      : "'window' is not used by this kind");
    if (is_state && opts->bytes_per_sequence == 0)
        return scenario_fail(b->reader, node, path, "missing-key",
                             "a state needs its 'bytes_per_sequence'");
    struct spec_kv_format format;
    if (opts->kv_dtype != NULL &&
        (is_state || opts->bytes_per_token != 0 || !spec_kv_format_find(opts->kv_dtype, &format)))
        return scenario_fail(b->reader, node, path, "bad-choice",
                             "'%.40s' is no KV dtype for this group: its heads and head_dim are "
                             "stored as bf16, fp8, int4, ...",
                             opts->kv_dtype);
    if (!is_state && opts->bytes_per_token == 0 && !by_geometry)
        return scenario_fail(
            b->reader, node, path, "missing-key",
            "a group needs 'bytes_per_token', or 'num_key_value_heads' and 'head_dim'");
    return true;
}

static bool read_group(const struct build *b, struct conf_node *node, size_t index)
{
    const char *path = base_arena_printf(b->reader->arena, "%s.kv_groups.%zu", b->path, index);
    struct scenario_reader quiet = *b->reader;
    struct group_opts opts = {0};
    quiet.params = NULL;
    if (node->kind != CONF_MAP)
        return scenario_fail(b->reader, node, path, "wrong-type",
                             "an item of 'kv_groups' must be a mapping");
    if (!scenario_read_map(&quiet, node, &scenario_group_section, path, &opts) ||
        !check_group(b, node, path, &opts))
        return false;
    struct spec_kv_group *group = &b->out->groups[index];
    *group = (struct spec_kv_group){
        .kind = (enum spec_kv_kind)opts.kind,
        .layer_count = (uint32_t)opts.layers,
        .kv_head_count = (uint32_t)opts.kv_heads,
        .k_dim = (uint32_t)opts.head_dim,
        .v_dim = opts.kind == SPEC_KV_INDEX ? 0 : (uint32_t)opts.head_dim,
        .window_tokens = (uint32_t)opts.window_tokens,
        .block_tokens = (uint32_t)opts.block_tokens,
        .stated_bytes_per_token = opts.bytes_per_token,
        .k_dtype = opts.kv_dtype,
        .v_dtype = opts.kv_dtype,
        .stated_bytes_per_sequence = (uint64_t)opts.bytes_per_sequence,
    };
    return true;
}

static bool read_groups(const struct build *b)
{
    const struct conf_node *list = b->opts.kv_groups;
    if (list->kind != CONF_LIST || list->count == 0 || list->count > SPEC_KV_GROUPS_MAX)
        return scenario_fail(b->reader, list, "model.kv_groups", "wrong-type",
                             "'kv_groups' must be a list of 1 to %d groups",
                             (int)SPEC_KV_GROUPS_MAX);
    bool ok = true;
    for (size_t i = 0; i < list->count; i++)
        ok = read_group(b, list->items[i], i) && ok;
    b->out->group_count = list->count;
    return ok;
}

/* ---- attention ---- */

/* Falcon: with the old decoder `multi_query` alone counts, whatever num_kv_heads says. */
static void find_kv_heads(struct build *b)
{
    struct scenario_model_opts *o = &b->opts;
    bool falcon = b->family != NULL && b->family->falcon_heads;
    if (o->num_key_value_heads == 0 && !o->has_heads && b->family != NULL)
        o->num_key_value_heads = b->family->kv_heads;
    if (o->has_multi_query && o->multi_query && !o->new_decoder_architecture &&
        (falcon || o->num_key_value_heads == 0))
        o->num_key_value_heads = 1;
    if (falcon && o->has_multi_query && !o->multi_query && !o->new_decoder_architecture)
        o->num_key_value_heads = o->num_attention_heads;
    if (o->num_key_value_heads == 0)
        o->num_key_value_heads = o->num_attention_heads;
}

static bool fill_mla(struct build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->qk_rope_head_dim == 0)
        return fail_missing(b, "qk_rope_head_dim", NULL);
    if (o->qk_nope_head_dim == 0)
        return fail_missing(b, "qk_nope_head_dim", NULL);
    if (o->v_head_dim == 0)
        return fail_missing(b, "v_head_dim", NULL);
    b->out->is_mla = true;
    b->out->kv_lora_rank = (uint32_t)o->kv_lora_rank;
    b->out->qk_rope_dim = (uint32_t)o->qk_rope_head_dim;
    b->out->qk_nope_dim = (uint32_t)o->qk_nope_head_dim;
    b->out->v_head_dim = (uint32_t)o->v_head_dim;
    b->out->q_lora_rank = (uint32_t)o->q_lora_rank;
    b->out->kv_head_count = 1;
    b->out->head_dim = (uint32_t)(o->qk_nope_head_dim + o->qk_rope_head_dim);
    return true;
}

static bool fill_attention(struct build *b)
{
    struct scenario_model_opts *o = &b->opts;
    if (o->num_attention_heads == 0 && b->family != NULL)
        o->num_attention_heads = b->family->heads;
    if (o->num_attention_heads == 0)
        return fail_missing(b, "num_attention_heads", NULL);
    b->out->q_head_count = (uint32_t)o->num_attention_heads;
    if (o->kv_lora_rank != 0)
        return fill_mla(b);
    find_kv_heads(b);
    if (o->head_dim == 0 && b->family != NULL)
        o->head_dim = b->family->head_dim;
    if (o->head_dim == 0) {
        if (o->hidden_size % o->num_attention_heads != 0)
            return fail_missing(b, "head_dim", "hidden_size is no multiple of num_attention_heads");
        o->head_dim = o->hidden_size / o->num_attention_heads;
    }
    if (o->num_key_value_heads > o->num_attention_heads ||
        o->num_attention_heads % o->num_key_value_heads != 0)
        return fail_value(b, "num_key_value_heads",
                          "'num_key_value_heads' must divide 'num_attention_heads'");
    b->out->kv_head_count = (uint32_t)o->num_key_value_heads;
    b->out->head_dim = (uint32_t)o->head_dim;
    b->out->gated_attention =
        o->has_output_gate ? o->attn_output_gate : b->family != NULL && b->family->gated_attention;
    return true;
}

/* ---- recurrent layers ---- */

static bool fill_delta_net(struct build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->linear_num_value_heads == 0 || o->linear_num_key_heads == 0 ||
        o->linear_key_head_dim == 0 || o->linear_value_head_dim == 0 ||
        o->linear_conv_kernel_dim == 0)
        return fail_missing(
            b, "linear_num_value_heads",
            "linear layers need linear_num_key_heads, linear_num_value_heads, linear_key_head_dim, "
            "linear_value_head_dim and linear_conv_kernel_dim");
    b->out->linear_kind = SPEC_LINEAR_GATED_DELTANET;
    b->out->linear_head_count = (uint32_t)o->linear_num_value_heads;
    b->out->linear_head_dim = (uint32_t)o->linear_value_head_dim;
    b->out->linear_state_dim = (uint32_t)o->linear_key_head_dim;
    b->out->linear_conv_kernel = (uint32_t)o->linear_conv_kernel_dim;
    b->out->linear_conv_dim = (uint32_t)(2 * o->linear_num_key_heads * o->linear_key_head_dim +
                                         o->linear_num_value_heads * o->linear_value_head_dim);
    return true;
}

static bool fill_mamba(struct build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->mamba_num_heads != 0) {
        int64_t kernel = o->conv_kernel != 0 ? o->conv_kernel : o->mamba_d_conv;
        int64_t state = o->ssm_state_size != 0 ? o->ssm_state_size : o->mamba_d_state;
        if (o->mamba_head_dim == 0 || state == 0 || kernel == 0)
            return fail_missing(b, "mamba_head_dim",
                                "Mamba-2 layers need mamba_head_dim, ssm_state_size, conv_kernel");
        b->out->linear_kind = SPEC_LINEAR_MAMBA2;
        b->out->linear_head_count = (uint32_t)o->mamba_num_heads;
        b->out->linear_head_dim = (uint32_t)o->mamba_head_dim;
        b->out->linear_state_dim = (uint32_t)state;
        b->out->linear_conv_kernel = (uint32_t)kernel;
        int64_t groups = o->n_groups != 0 ? o->n_groups : 1;
        b->out->linear_conv_dim =
            (uint32_t)(o->mamba_num_heads * o->mamba_head_dim + 2 * groups * state);
        return true;
    }
    if (o->mamba_d_state == 0 || o->mamba_d_conv == 0 || o->mamba_expand == 0)
        return fail_missing(
            b, "mamba_d_state",
            "Mamba layers need mamba_d_state, mamba_d_conv and mamba_expand, or mamba_num_heads");
    b->out->linear_kind = SPEC_LINEAR_MAMBA1;
    b->out->linear_state_dim = (uint32_t)o->mamba_d_state;
    b->out->linear_conv_kernel = (uint32_t)o->mamba_d_conv;
    b->out->linear_conv_dim = (uint32_t)(o->mamba_expand * o->hidden_size);
    b->out->linear_dt_rank = (uint32_t)o->mamba_dt_rank;
    return true;
}

static bool fill_linear(struct build *b)
{
    size_t linear = 0, mamba = 0;
    for (size_t i = 0; i < b->layers.count; i++) {
        linear += b->layers.kind[i] == LAYER_LINEAR;
        mamba += b->layers.kind[i] == LAYER_MAMBA;
    }
    b->out->linear_layer_count = (uint32_t)(linear + mamba);
    if (linear > 0)
        return fill_delta_net(b);
    return mamba == 0 || fill_mamba(b);
}

/* ---- groups from the layers ---- */

static void add_group(struct build *b, struct spec_kv_group group)
{
    if (group.layer_count > 0)
        b->out->groups[b->out->group_count++] = group;
}

static size_t count_kind(const struct build *b, enum scenario_layer kind)
{
    // The last layers may reuse the cache of earlier ones.
    size_t own = b->layers.count - (size_t)b->opts.num_kv_shared_layers, count = 0;
    for (size_t i = 0; i < own; i++)
        count += b->layers.kind[i] == kind;
    return count;
}

static struct spec_kv_group attention_group(const struct build *b, enum spec_kv_kind kind,
                                            size_t layers, int64_t window)
{
    const struct spec_model *m = b->out;
    return (struct spec_kv_group){
        .kind = kind,
        .layer_count = (uint32_t)layers,
        .kv_head_count = m->kv_head_count,
        .k_dim = m->is_mla ? m->kv_lora_rank + m->qk_rope_dim : m->head_dim,
        .v_dim = m->is_mla ? 0 : m->head_dim,
        .is_latent = m->is_mla,
        .window_tokens = (uint32_t)window,
    };
}

static bool derive_groups(struct build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if ((size_t)o->num_kv_shared_layers >= b->layers.count)
        return fail_value(b, "num_kv_shared_layers",
                          "'num_kv_shared_layers' must be below the number of layers");
    size_t full = count_kind(b, LAYER_FULL), sliding = count_kind(b, LAYER_SLIDING);
    size_t chunked = count_kind(b, LAYER_CHUNKED);
    if (sliding > 0 && b->layers.window_tokens == 0)
        return fail_missing(b, "sliding_window", "layer_types has windowed layers");
    if (chunked > 0 && o->attention_chunk_size == 0)
        return fail_missing(b, "attention_chunk_size", "layer_types has chunked layers");
    add_group(b, attention_group(b, SPEC_KV_FULL, full, 0));
    add_group(b, attention_group(b, SPEC_KV_SLIDING, sliding, b->layers.window_tokens));
    add_group(b, attention_group(b, SPEC_KV_CHUNKED, chunked, o->attention_chunk_size));
    const struct spec_model *m = b->out;
    uint64_t recurrent =
        m->linear_kind == SPEC_LINEAR_MAMBA1
            ? (uint64_t)m->linear_conv_dim * m->linear_state_dim
            : (uint64_t)m->linear_head_count * m->linear_head_dim * m->linear_state_dim;
    add_group(
        b, (struct spec_kv_group){
               .kind = SPEC_KV_STATE,
               .layer_count = m->linear_layer_count,
               .state_elements_conv = (uint64_t)m->linear_conv_dim *
                                      (m->linear_conv_kernel > 0 ? m->linear_conv_kernel - 1 : 0),
               .state_elements_recurrent = recurrent,
           });
    if (o->index_head_dim != 0)
        add_group(b, (struct spec_kv_group){.kind = SPEC_KV_INDEX,
                                            .layer_count = (uint32_t)full,
                                            .kv_head_count = 1,
                                            .k_dim = (uint32_t)o->index_head_dim});
    return true;
}

static void count_layers(struct build *b)
{
    for (size_t i = 0; i < b->layers.count; i++) {
        unsigned char kind = b->layers.kind[i];
        b->out->attention_layer_count +=
            kind == LAYER_FULL || kind == LAYER_SLIDING || kind == LAYER_CHUNKED;
        b->out->mlp_only_layer_count += kind == LAYER_MLP || kind == LAYER_EXPERTS;
        b->out->moe_layer_count += b->layers.has_experts[i];
    }
}

/* ---- MLP and experts ---- */

/* One width, or a list of equal ones. */
static bool read_width(struct build *b, int64_t *out)
{
    static const struct base_field field = {
        .key = "intermediate_size", .type = BASE_INT, .unit = BASE_COUNT, .min = 1, .max = 1e9};
    const struct conf_node *node = b->opts.intermediate_size;
    *out = 0;
    if (node == NULL) {
        if (b->family != NULL && b->family->mlp_is_four_hidden)
            *out = 4 * b->opts.hidden_size;
        return true;
    }
    if (node->kind != CONF_LIST)
        return scenario_read_value(b->reader, node, &field, "model.intermediate_size", out);
    for (size_t i = 0; i < node->count; i++) {
        int64_t width;
        if (!scenario_read_value(b->reader, node->items[i], &field, "model.intermediate_size",
                                 &width))
            return false;
        if (i > 0 && width != *out)
            return fail_value(b, "intermediate_size",
                              "layers of different 'intermediate_size' are not modelled");
        *out = width;
    }
    return true;
}

static bool fill_mlp_kind(struct build *b)
{
    static const char *const gated_acts[] = {"silu", "swiglu", "gelu_pytorch_tanh", "swish"};
    const struct scenario_model_opts *o = &b->opts;
    if (o->mlp_type != NULL) {
        bool gated = base_key_equal(o->mlp_type, "gated");
        if (!gated && !base_key_equal(o->mlp_type, "plain"))
            return fail_value(b, "mlp_type", "'mlp_type' must be gated or plain");
        b->out->mlp = gated ? SPEC_MLP_GATED : SPEC_MLP_PLAIN;
        return true;
    }
    if (b->family != NULL) {
        b->out->mlp = b->family->plain_mlp ? SPEC_MLP_PLAIN : SPEC_MLP_GATED;
        return true;
    }
    for (size_t i = 0; o->hidden_act != NULL && i < sizeof gated_acts / sizeof gated_acts[0]; i++) {
        if (strcmp(gated_acts[i], o->hidden_act) == 0) {
            b->out->mlp = SPEC_MLP_GATED;
            return true;
        }
    }
    return fail_missing(b, "mlp_type", "state mlp_type: gated (three matrices) or plain (two)");
}

static bool fill_experts(struct build *b, int64_t width)
{
    const struct scenario_model_opts *o = &b->opts;
    struct spec_model *m = b->out;
    if (o->num_experts_per_tok == 0)
        return fail_missing(b, "num_experts_per_tok", NULL);
    if (o->num_experts_per_tok > o->num_experts)
        return fail_value(b, "num_experts_per_tok",
                          "'num_experts_per_tok' is above the number of experts");
    m->expert_count = (uint32_t)o->num_experts;
    m->experts_per_token = (uint32_t)o->num_experts_per_tok;
    m->expert_intermediate =
        (uint32_t)(o->moe_intermediate_size != 0 ? o->moe_intermediate_size : width);
    if (m->expert_intermediate == 0)
        return fail_missing(b, "moe_intermediate_size", NULL);
    int64_t shared = o->n_shared_experts;
    if (shared == 0 && b->family != NULL && b->family->one_shared_expert)
        shared = 1;
    m->shared_intermediate = (uint32_t)(o->shared_expert_intermediate_size != 0
                                            ? o->shared_expert_intermediate_size
                                            : shared * (int64_t)m->expert_intermediate);
    return true;
}

static bool fill_mlp(struct build *b)
{
    int64_t width;
    if (!fill_mlp_kind(b) || !read_width(b, &width))
        return false;
    if (b->opts.num_experts != 0 && !fill_experts(b, width))
        return false;
    int64_t dense = b->opts.intermediate_size_mlp != 0 ? b->opts.intermediate_size_mlp : width;
    bool has_dense = spec_model_dense_layer_count(b->out) > 0;
    if (has_dense && dense == 0)
        return fail_missing(b, "intermediate_size", NULL);
    b->out->intermediate = has_dense ? (uint32_t)dense : 0;
    return true;
}

/* ---- formats ---- */

static const char *text_of(const struct conf_node *map, const char *key)
{
    const struct conf_node *node = conf_get(map, key);
    return node != NULL && node->kind == CONF_SCALAR ? node->text : NULL;
}

/* compressed-tensors: bits and type of the first group's weights. */
static const char *compressed_format(const struct conf_node *config)
{
    const struct conf_node *groups = conf_get(config, "config_groups");
    if (groups == NULL || groups->kind != CONF_MAP || groups->count == 0)
        return NULL;
    const struct conf_node *weights = conf_get(groups->items[0], "weights");
    const char *bits = text_of(weights, "num_bits"), *type = text_of(weights, "type");
    if (bits == NULL || type == NULL)
        return NULL;
    if (strcmp(bits, "8") == 0)
        return strcmp(type, "float") == 0 ? "fp8" : "int8";
    if (strcmp(bits, "4") == 0)
        return strcmp(type, "float") == 0 ? "nvfp4" : "int4";
    return NULL;
}

static const char *quantized_format(const struct conf_node *config)
{
    const char *method = text_of(config, "quant_method"), *algo = text_of(config, "quant_algo");
    if (algo != NULL)
        return base_key_equal(algo, "NVFP4") ? "nvfp4" : base_key_equal(algo, "FP8") ? "fp8" : NULL;
    if (method == NULL)
        return NULL;
    if (strcmp(method, "compressed-tensors") == 0)
        return compressed_format(config);
    if (strcmp(method, "fp8") == 0)
        return conf_is_null(conf_get(config, "weight_block_size")) ? "fp8" : "fp8_block";
    struct spec_weight_format format;
    return spec_weight_format_find(method, &format) ? method : NULL;
}

static bool fill_dtype(struct build *b)
{
    const struct conf_node *config = b->opts.quantization_config;
    enum spec_dtype dtype;
    if (config != NULL) {
        const char *format = config->kind == CONF_MAP ? quantized_format(config) : NULL;
        if (format == NULL)
            return scenario_fail_hint(
                b->reader, config, scenario_join(b->reader->arena, b->path, "quantization_config"),
                "unknown-format",
                "known methods: fp8, awq, gptq, mxfp4, compressed-tensors, modelopt",
                "the format of the released weights is not known");
        b->out->weight_dtype = format;
        return true;
    }
    if (b->opts.torch_dtype == NULL) {
        b->out->weight_dtype = "bf16";
        return true;
    }
    if (!spec_dtype_parse(b->opts.torch_dtype, &dtype))
        return fail_value(b, "torch_dtype", "'torch_dtype' is no known dtype");
    b->out->weight_dtype = spec_dtype_name(dtype);
    return true;
}

/* YaRN and linear scaling stretch the context that the file states (as vLLM derives max_model_len). */
static bool stretch_positions(struct build *b)
{
    const struct conf_node *scaling = b->opts.rope_scaling;
    const char *type = text_of(scaling, "rope_type");
    if (type == NULL)
        type = text_of(scaling, "type");
    // Gemma 3 states its context after the stretch.
    bool is_stretched =
        b->opts.model_type != NULL && base_starts_with(b->opts.model_type, "gemma3");
    if (type == NULL || is_stretched)
        return true;
    bool yarn = strcmp(type, "yarn") == 0 || strcmp(type, "deepseek_yarn") == 0;
    if (!yarn && strcmp(type, "linear") != 0 && strcmp(type, "dynamic") != 0)
        return true;
    static const struct base_field factor_field = {
        .key = "factor", .type = BASE_REAL, .min = 1, .max = 1e6};
    static const struct base_field base_field = {.key = "original_max_position_embeddings",
                                                 .type = BASE_INT,
                                                 .unit = BASE_TOKENS,
                                                 .min = 1,
                                                 .max = 1e12};
    const struct conf_node *factor_node = conf_get(scaling, "factor");
    const struct conf_node *base_node = conf_get(scaling, "original_max_position_embeddings");
    double factor = 1;
    int64_t base = b->opts.max_position_embeddings;
    if (!conf_is_null(factor_node) && !scenario_read_value(b->reader, factor_node, &factor_field,
                                                           "model.rope_scaling.factor", &factor))
        return false;
    if (yarn && !conf_is_null(base_node) &&
        !scenario_read_value(b->reader, base_node, &base_field,
                             "model.rope_scaling.original_max_position_embeddings", &base))
        return false;
    b->opts.max_position_embeddings = (int64_t)floor((double)base * factor);
    return true;
}

/* Newer configurations state the share of a head beside the other rotary keys. */
static bool find_rotary_share(struct build *b, double *share)
{
    static const struct base_field field = {
        .key = "partial_rotary_factor", .type = BASE_REAL, .min = 0, .max = 1};
    const struct conf_node *node = conf_get(b->opts.rope_scaling, field.key);
    *share = b->opts.partial_rotary_factor > 0 ? b->opts.partial_rotary_factor : 1;
    return conf_is_null(node) ||
           scenario_read_value(b->reader, node, &field, "model.rope_scaling.partial_rotary_factor",
                               share);
}

static bool fill_rotary(struct build *b)
{
    struct spec_model *m = b->out;
    const struct scenario_family *family = b->family;
    bool rotary = family == NULL || !family->no_rope;
    double share;
    if (!find_rotary_share(b, &share))
        return false;
    double width = m->is_mla ? m->qk_rope_dim : share * m->head_dim;
    m->rotary_dim = rotary ? (uint32_t)llround(width) : 0;
    m->has_video_positions = (family != NULL && family->video_positions) ||
                             !conf_is_null(conf_get(b->opts.rope_scaling, "mrope_section"));
    return true;
}

static bool fill_vocabulary(struct build *b)
{
    struct scenario_model_opts *o = &b->opts;
    if (o->vocab_size == 0 && b->family != NULL)
        o->vocab_size = b->family->vocab;
    if (o->max_position_embeddings == 0 && b->family != NULL)
        o->max_position_embeddings = b->family->positions;
    if (o->vocab_size == 0)
        return fail_missing(b, "vocab_size", NULL);
    if (!stretch_positions(b))
        return false;
    struct spec_model *m = b->out;
    m->vocabulary = (uint32_t)o->vocab_size;
    m->max_position_tokens = (uint64_t)o->max_position_embeddings;
    m->tied_embeddings =
        o->has_tied ? o->tie_word_embeddings : b->family != NULL && b->family->tied;
    if (b->family != NULL && b->family->learned_positions)
        m->learned_position_count =
            (uint32_t)(o->max_position_embeddings + b->family->extra_positions);
    return fill_rotary(b);
}

/* ---- all of it ---- */

static bool is_config(const struct conf_node *tree)
{
    return !conf_is_null(conf_get(tree, "architectures")) ||
           !conf_is_null(conf_get(tree, "transformers_version"));
}

static bool build_geometry(struct build *b)
{
    struct spec_model *m = b->out;
    const struct scenario_model_opts *o = &b->opts;
    if (o->num_hidden_layers == 0)
        return fail_missing(b, "num_hidden_layers", NULL);
    if (o->hidden_size == 0)
        return fail_missing(b, "hidden_size", NULL);
    m->layer_count = (uint32_t)o->num_hidden_layers;
    m->hidden = (uint32_t)o->hidden_size;
    if (!fill_attention(b) || !fill_vocabulary(b) ||
        !scenario_layers_find(b->reader, b->tree, o, b->family, &b->layers))
        return false;
    count_layers(b);
    if (!fill_linear(b) || !fill_mlp(b))
        return false;
    // Per-layer embeddings are most of Gemma 3n's weights and not part of this geometry.
    m->parameters_are_stated =
        o->model_type != NULL && base_starts_with(o->model_type, "gemma3n") && o->parameters > 0;
    struct conf_node *vision = o->vision == NULL ? NULL : conf_copy(b->reader->arena, o->vision);
    if (!scenario_vision_read(b->reader, b->tree, vision, b->is_config, b->path, m))
        return false;
    m->parameters = spec_model_parameters(m);
    m->active_parameters = spec_model_active_parameters(m);
    return true;
}

static void fill_names(struct build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    struct spec_model *m = b->out;
    const struct conf_node *aliases = conf_get(b->tree, "aliases");
    m->name = o->name == NULL ? "model" : o->name;
    m->hf_id = aliases != NULL && aliases->kind == CONF_LIST && aliases->count > 0
                   ? aliases->items[0]->text
                   : "";
    m->model_type = o->model_type == NULL ? "" : o->model_type;
    m->published_parameters = o->parameters;
    m->claim = SPEC_ASSUMED;
    m->source = "";
    scenario_provenance_find(o->provenance, "num_hidden_layers", &m->claim, &m->source);
}

bool scenario_model_read(struct scenario_reader *reader, struct conf_node *tree, const char *path,
                         bool as_config, struct spec_model *out)
{
    struct scenario_reader quiet = *reader; // the tree's own rows are recorded with their sources
    quiet.params = NULL;
    *out = (struct spec_model){0};
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, path, "wrong-type", "a model must be a mapping");
    bool lenient = as_config || is_config(tree);
    struct build b = {.reader = &quiet, .path = path, .out = out, .is_config = lenient};
    b.tree = lenient ? scenario_config_flatten(&quiet, tree) : tree;
    bool ok = lenient ? scenario_config_read(&quiet, b.tree, path, &b.opts)
                      : scenario_read_map(&quiet, b.tree, &scenario_model_section, path, &b.opts);
    if (!ok)
        return false;
    b.family = scenario_family_find(b.opts.model_type);
    fill_names(&b);
    if (!fill_dtype(&b))
        return false;
    out->only_groups = b.opts.kv_groups != NULL && b.opts.num_hidden_layers == 0;
    if (!out->only_groups && !build_geometry(&b))
        return false;
    out->max_position_tokens = (uint64_t)b.opts.max_position_embeddings;
    return b.opts.kv_groups != NULL ? read_groups(&b) : derive_groups(&b);
}

/* {hf_config: PATH, changes}: the file's tree with the changes laid on it. */
static bool load_config(struct scenario_reader *reader, struct conf_node *entry,
                        struct conf_node **tree)
{
    const struct conf_node *file = conf_get(entry, "hf_config");
    struct kvsim_error err;
    if (file->kind != CONF_SCALAR)
        return scenario_fail(reader, file, "model.hf_config", "wrong-type",
                             "'hf_config' must be the path of a file");
    const char *path = scenario_find_file(reader, file, "model.hf_config", file->text);
    struct conf_node *config;
    if (path == NULL)
        return false;
    if (conf_read_file(reader->arena, path, &config, &err) != KVSIM_OK)
        return scenario_fail_error(reader, file, "model.hf_config", &err);
    if (config->kind != CONF_MAP)
        return scenario_fail(reader, config, "model.hf_config", "wrong-type",
                             "a config must be a mapping");
    conf_set_origin(config, CONF_ORIGIN_PROFILE);
    *tree = conf_overlay(reader->arena, scenario_config_flatten(reader, config), entry);
    scenario_drop(*tree, "hf_config");
    return true;
}

/* A config.json has no name of its own but for the id it was saved under. */
static void name_config(struct scenario_reader *reader, struct conf_node *tree,
                        const struct conf_node *entry)
{
    if (!conf_is_null(conf_get(tree, "name")))
        return;
    const struct conf_node *id = conf_get(tree, "_name_or_path"),
                           *file = conf_get(entry, "hf_config");
    const char *name = id != NULL && id->kind == CONF_SCALAR && id->text[0] != '\0'
                           ? scenario_base_name(id->text)
                           : scenario_base_name(file->text);
    struct conf_node *node = conf_new_scalar(reader->arena, name);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(reader->arena, tree, "name", node);
}

bool scenario_model_load(struct scenario_reader *reader, struct conf_node *root,
                         struct spec_model *out, struct conf_node **tree)
{
    struct conf_node *entry = conf_get(root, "model");
    bool from_config = entry->kind == CONF_MAP && !conf_is_null(conf_get(entry, "hf_config"));
    if (from_config) {
        if (!load_config(reader, entry, tree))
            return false;
        name_config(reader, *tree, entry);
    } else if (!scenario_entry_load(reader, SCENARIO_MODEL, entry, "model", tree)) {
        return false;
    }
    bool as_config =
        from_config || (entry->kind == CONF_SCALAR && base_ends_with(entry->text, ".json"));
    if (!scenario_model_read(reader, *tree, "model", as_config, out))
        return false;
    scenario_param_tree(reader, "model", *tree);
    return true;
}
