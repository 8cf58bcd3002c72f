/*
 * model.c - a model file, a config.json or a mapping to spec_model: attention, recurrent layers, MLP, positions.
 */
#include "scenario/model_build.h"

#include "base/error.h"
#include "spec/kv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool scenario_model_missing(const struct scenario_model_build *b, const char *key, const char *hint)
{
    return scenario_fail_hint(b->reader, b->tree, scenario_join(b->reader->arena, b->path, key),
                              "missing-key", hint, "'%s' of the model is missing", key);
}

bool scenario_model_wrong(const struct scenario_model_build *b, const char *key,
                          const char *message)
{
    const struct conf_node *node = conf_get(b->tree, key);
    return scenario_fail(b->reader, node == NULL ? b->tree : node,
                         scenario_join(b->reader->arena, b->path, key), "out-of-range", "%s",
                         message);
}

/* ---- attention ---- */

/* Falcon: with the old decoder `multi_query` alone counts, whatever num_kv_heads says. */
static void find_kv_heads(struct scenario_model_build *b)
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

static bool fill_mla(struct scenario_model_build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->qk_rope_head_dim == 0)
        return scenario_model_missing(b, "qk_rope_head_dim", NULL);
    if (o->qk_nope_head_dim == 0)
        return scenario_model_missing(b, "qk_nope_head_dim", NULL);
    if (o->v_head_dim == 0)
        return scenario_model_missing(b, "v_head_dim", NULL);
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

static bool fill_attention(struct scenario_model_build *b)
{
    struct scenario_model_opts *o = &b->opts;
    if (o->num_attention_heads == 0 && b->family != NULL)
        o->num_attention_heads = b->family->heads;
    if (o->num_attention_heads == 0)
        return scenario_model_missing(b, "num_attention_heads", NULL);
    b->out->q_head_count = (uint32_t)o->num_attention_heads;
    if (o->kv_lora_rank != 0)
        return fill_mla(b);
    find_kv_heads(b);
    if (o->head_dim == 0 && b->family != NULL)
        o->head_dim = b->family->head_dim;
    if (o->head_dim == 0) {
        if (o->hidden_size % o->num_attention_heads != 0)
            return scenario_model_missing(b, "head_dim",
                                          "hidden_size is no multiple of num_attention_heads");
        o->head_dim = o->hidden_size / o->num_attention_heads;
    }
    if (o->num_key_value_heads > o->num_attention_heads ||
        o->num_attention_heads % o->num_key_value_heads != 0)
        return scenario_model_wrong(b, "num_key_value_heads",
                                    "'num_key_value_heads' must divide 'num_attention_heads'");
    b->out->kv_head_count = (uint32_t)o->num_key_value_heads;
    b->out->head_dim = (uint32_t)o->head_dim;
    b->out->gated_attention =
        o->has_output_gate ? o->attn_output_gate : b->family != NULL && b->family->gated_attention;
    return true;
}

/* ---- recurrent layers ---- */

static bool fill_delta_net(struct scenario_model_build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->linear_num_value_heads == 0 || o->linear_num_key_heads == 0 ||
        o->linear_key_head_dim == 0 || o->linear_value_head_dim == 0 ||
        o->linear_conv_kernel_dim == 0)
        return scenario_model_missing(
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

static bool fill_mamba(struct scenario_model_build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if (o->mamba_num_heads != 0) {
        int64_t kernel = o->conv_kernel != 0 ? o->conv_kernel : o->mamba_d_conv;
        int64_t state = o->ssm_state_size != 0 ? o->ssm_state_size : o->mamba_d_state;
        if (o->mamba_head_dim == 0 || state == 0 || kernel == 0)
            return scenario_model_missing(
                b, "mamba_head_dim",
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
        return scenario_model_missing(
            b, "mamba_d_state",
            "Mamba layers need mamba_d_state, mamba_d_conv and mamba_expand, or mamba_num_heads");
    b->out->linear_kind = SPEC_LINEAR_MAMBA1;
    b->out->linear_state_dim = (uint32_t)o->mamba_d_state;
    b->out->linear_conv_kernel = (uint32_t)o->mamba_d_conv;
    b->out->linear_conv_dim = (uint32_t)(o->mamba_expand * o->hidden_size);
    b->out->linear_dt_rank = (uint32_t)o->mamba_dt_rank;
    return true;
}

static bool fill_linear(struct scenario_model_build *b)
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

static void count_layers(struct scenario_model_build *b)
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
static bool read_width(struct scenario_model_build *b, int64_t *out)
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
            return scenario_model_wrong(b, "intermediate_size",
                                        "layers of different 'intermediate_size' are not modelled");
        *out = width;
    }
    return true;
}

static bool missing_mlp_type(struct scenario_model_build *b)
{
    const char *type = b->opts.model_type;
    const char *near = type != NULL ? scenario_family_nearest(type) : NULL;
    const struct conf_node *node = conf_get(b->tree, "model_type");
    static const char stated[] = "state mlp_type: gated (three matrices) or plain (two)";
    if (type == NULL)
        return scenario_model_missing(b, "mlp_type", stated);
    return scenario_fail_hint(
        b->reader, node != NULL ? node : b->tree,
        scenario_join(b->reader->arena, b->path, "mlp_type"), "missing-key",
        near == NULL ? stated
                     : base_arena_printf(b->reader->arena, "did you mean model_type '%s'? Else %s",
                                         near, stated),
        "model_type '%.60s' is not known, so that 'mlp_type' must be stated: it follows from the "
        "type, and hidden_act does not tell it",
        type);
}

static bool fill_mlp_kind(struct scenario_model_build *b)
{
    static const char *const gated_acts[] = {"silu", "swiglu", "gelu_pytorch_tanh", "swish"};
    const struct scenario_model_opts *o = &b->opts;
    if (o->mlp_type != NULL) {
        bool gated = base_key_equal(o->mlp_type, "gated");
        if (!gated && !base_key_equal(o->mlp_type, "plain"))
            return scenario_model_wrong(b, "mlp_type", "'mlp_type' must be gated or plain");
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
    return missing_mlp_type(b);
}

static bool fill_experts(struct scenario_model_build *b, int64_t width)
{
    const struct scenario_model_opts *o = &b->opts;
    struct spec_model *m = b->out;
    if (o->num_experts_per_tok == 0)
        return scenario_model_missing(b, "num_experts_per_tok", NULL);
    if (o->num_experts_per_tok > o->num_experts)
        return scenario_model_wrong(b, "num_experts_per_tok",
                                    "'num_experts_per_tok' is above the number of experts");
    m->expert_count = (uint32_t)o->num_experts;
    m->experts_per_token = (uint32_t)o->num_experts_per_tok;
    m->expert_intermediate =
        (uint32_t)(o->moe_intermediate_size != 0 ? o->moe_intermediate_size : width);
    if (m->expert_intermediate == 0)
        return scenario_model_missing(b, "moe_intermediate_size", NULL);
    int64_t shared = o->n_shared_experts;
    if (shared == 0 && b->family != NULL && b->family->one_shared_expert)
        shared = 1;
    m->shared_intermediate = (uint32_t)(o->shared_expert_intermediate_size != 0
                                            ? o->shared_expert_intermediate_size
                                            : shared * (int64_t)m->expert_intermediate);
    return true;
}

static bool fill_mlp(struct scenario_model_build *b)
{
    int64_t width;
    if (!fill_mlp_kind(b) || !read_width(b, &width))
        return false;
    if (b->opts.num_experts != 0 && !fill_experts(b, width))
        return false;
    int64_t dense = b->opts.intermediate_size_mlp != 0 ? b->opts.intermediate_size_mlp : width;
    bool has_dense = spec_model_dense_layer_count(b->out) > 0;
    if (has_dense && dense == 0)
        return scenario_model_missing(b, "intermediate_size", NULL);
    b->out->intermediate = has_dense ? (uint32_t)dense : 0;
    return true;
}

/* ---- vocabulary and positions ---- */

/* YaRN and linear scaling stretch the context that the file states (as vLLM derives max_model_len). */
static bool stretch_positions(struct scenario_model_build *b)
{
    const struct conf_node *scaling = b->opts.rope_scaling;
    const char *type = conf_get_text(scaling, "rope_type");
    if (type == NULL)
        type = conf_get_text(scaling, "type");
    // Gemma 3 states its context after the stretch, and engines stretch the table of its full-attention layers from there once
    // more (vLLM, rotary_embedding/linear_scaling_rope.py: max_position_embeddings x factor).
    bool is_stretched =
        b->opts.model_type != NULL && base_starts_with(b->opts.model_type, "gemma3");
    bool linear = type != NULL && strcmp(type, "linear") == 0;
    if (type == NULL || (is_stretched && !linear))
        return true;
    bool yarn = strcmp(type, "yarn") == 0 || strcmp(type, "deepseek_yarn") == 0;
    if (!yarn && !linear && strcmp(type, "dynamic") != 0)
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
    if (is_stretched) {
        b->out->rotary_stretch = (uint32_t)ceil(factor);
        return true;
    }
    if (yarn && !conf_is_null(base_node) &&
        !scenario_read_value(b->reader, base_node, &base_field,
                             "model.rope_scaling.original_max_position_embeddings", &base))
        return false;
    b->opts.max_position_embeddings = (int64_t)floor((double)base * factor);
    return true;
}

/* Newer configurations state the share of a head beside the other rotary keys. */
static bool find_rotary_share(struct scenario_model_build *b, double *share)
{
    static const struct base_field field = {
        .key = "partial_rotary_factor", .type = BASE_REAL, .min = 0, .max = 1};
    const struct conf_node *node = conf_get(b->opts.rope_scaling, field.key);
    *share = b->opts.partial_rotary_factor > 0 ? b->opts.partial_rotary_factor : 1;
    return conf_is_null(node) ||
           scenario_read_value(b->reader, node, &field, "model.rope_scaling.partial_rotary_factor",
                               share);
}

static bool fill_rotary(struct scenario_model_build *b)
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

static bool fill_vocabulary(struct scenario_model_build *b)
{
    struct scenario_model_opts *o = &b->opts;
    if (o->vocab_size == 0 && b->family != NULL)
        o->vocab_size = b->family->vocab;
    if (o->max_position_embeddings == 0 && b->family != NULL)
        o->max_position_embeddings = b->family->positions;
    if (o->vocab_size == 0)
        return scenario_model_missing(b, "vocab_size", NULL);
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

static bool build_geometry(struct scenario_model_build *b)
{
    struct spec_model *m = b->out;
    const struct scenario_model_opts *o = &b->opts;
    if (o->num_hidden_layers == 0)
        return scenario_model_missing(b, "num_hidden_layers", NULL);
    if (o->hidden_size == 0)
        return scenario_model_missing(b, "hidden_size", NULL);
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

static void fill_names(struct scenario_model_build *b)
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
    struct scenario_model_build b = {
        .reader = &quiet, .path = path, .out = out, .is_config = lenient};
    b.tree = lenient ? scenario_config_flatten(&quiet, tree) : tree;
    bool ok = lenient ? scenario_config_read(&quiet, b.tree, path, &b.opts)
                      : scenario_read_map(&quiet, b.tree, &scenario_model_section, path, &b.opts);
    if (!ok)
        return false;
    b.family = scenario_family_find(b.opts.model_type);
    fill_names(&b);
    if (!scenario_model_format(&b))
        return false;
    out->only_groups = b.opts.kv_groups != NULL && b.opts.num_hidden_layers == 0;
    if (!out->only_groups && !build_geometry(&b))
        return false;
    out->max_position_tokens = (uint64_t)b.opts.max_position_embeddings;
    return scenario_model_groups(&b);
}
