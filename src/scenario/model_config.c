/*
 * model_config.c - a Hugging Face config.json as it is: nested text models, all spellings, keys that do not matter here.
 *
 * A key that is not known but looks as if it shaped the model is named in a warning; where the model's type is not known
 * either it is an error, since the geometry would be a guess.
 */
#include "scenario/model_opts.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

/* Text models of multimodal checkpoints, and blocks of keys of older families. */
struct conf_node *scenario_config_flatten(struct scenario_reader *reader, struct conf_node *tree)
{
    static const char *const nested[] = {"text_config",    "llm_config",  "language_config",
                                         "language_model", "attn_config", "ffn_config"};
    struct conf_node *flat = tree;
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++) {
        struct conf_node *inner = conf_get(tree, nested[i]);
        if (inner == NULL || inner->kind != CONF_MAP)
            continue;
        struct conf_node *rest = conf_copy(reader->arena, flat);
        scenario_drop(rest, nested[i]);
        flat = conf_overlay(reader->arena, rest, inner);
    }
    return flat;
}

static bool has_word(const char *list, const char *key, size_t *at)
{
    const char *next = list;
    for (*at = 1; next != NULL && *next != '\0'; (*at)++) {
        size_t length = strcspn(next, " ");
        if (strlen(key) == length && strncmp(next, key, length) == 0)
            return true;
        next += length;
        next += strspn(next, " ");
    }
    return false;
}

/* The value of a row under its own name, else under the first other spelling that is there. */
static const struct conf_node *find_spelling(const struct conf_node *tree,
                                             const struct base_field *field)
{
    const struct conf_node *best = conf_get(tree, field->key);
    size_t best_at = conf_is_null(best) ? (size_t)-1 : 0;
    for (size_t i = 0; i < tree->count && field->also != NULL; i++) {
        size_t at;
        if (conf_is_null(tree->items[i]) || !has_word(field->also, tree->keys[i]->text, &at) ||
            at >= best_at)
            continue;
        best = tree->items[i];
        best_at = at;
    }
    return conf_is_null(best) ? NULL : best;
}

static bool read_row(struct scenario_reader *reader, const struct conf_node *node,
                     const struct base_field *field, const char *path, void *out)
{
    char *at = (char *)out + field->offset;
    if (field->type == BASE_NODE) {
        *(const struct conf_node **)(void *)at = node;
        return true;
    }
    if (field->type == BASE_TEXTS)
        return true; // aliases of a file: not needed here
    // A zero in a config ("q_lora_rank": 0, "num_kv_shared_layers": 0) is its way to say none.
    if (field->type == BASE_INT && node->kind == CONF_SCALAR && strcmp(node->text, "0") == 0)
        return true;
    if (field->has_offset != 0)
        *(bool *)((char *)out + field->has_offset) = true;
    return scenario_read_value(reader, node, field, scenario_join(reader->arena, path, field->key),
                               at);
}

/* Words in the names of keys that shape a model or its cache. */
static bool looks_relevant(const char *key)
{
    static const char *const words[] = {
        "layer",  "head",  "expert", "moe",    "window", "attn",  "attention",
        "mamba",  "ssm",   "conv",   "lora",   "sparse", "_rank", "pattern",
        "linear", "chunk", "share",  "hybrid", "block",  "state", "kv_"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(key, words[i]) != NULL)
            return true;
    }
    return false;
}

/* Keys with such words that change neither sizes nor the cache. */
static bool is_harmless(const char *key)
{
    static const char *const endings[] = {
        "_dropout", "_bias",    "_eps", "_coef",   "_alpha", "_std",    "_dropout_prob",
        "_norm",    "_epsilon", "_act", "_method", "_func",  "_weight", "_id"};
    static const char *const keys[] = {"attention_dropout",
                                       "attention_bias",
                                       "attn_logit_softcapping",
                                       "final_logit_softcapping",
                                       "attn_pdrop",
                                       "attn_temperature_tuning",
                                       "attn_scale",
                                       "floor_scale",
                                       "layer_norm_eps",
                                       "layer_norm_elementwise_affine",
                                       "layernorm_epsilon",
                                       "layernorm_embedding",
                                       "attention_softmax_in_fp32",
                                       "query_pre_attn_scalar",
                                       "output_attentions",
                                       "output_hidden_states",
                                       "output_router_logits",
                                       "router_aux_loss_coef",
                                       "topk_group",
                                       "n_group",
                                       "num_expert_group",
                                       "norm_topk_prob",
                                       "routed_scaling_factor",
                                       "scoring_func",
                                       "topk_method",
                                       "num_nextn_predict_layers",
                                       "ep_size",
                                       "seq_aux",
                                       "aux_loss_alpha",
                                       "pretraining_tp",
                                       "qk_layernorm",
                                       "apply_residual_connection_post_layernorm",
                                       "hidden_dropout",
                                       "parallel_attn",
                                       "num_ln_in_parallel_attn",
                                       "alibi",
                                       "cross_attention_hidden_size",
                                       "add_cross_attention",
                                       "num_labels",
                                       "problem_type",
                                       "is_decoder",
                                       "pruned_heads",
                                       "chunk_size_feed_forward",
                                       "tie_encoder_decoder",
                                       "scale_attention_softmax_in_fp32",
                                       "scale_attn_weights",
                                       "scale_attn_by_inverse_layer_idx",
                                       "reorder_and_upcast_attn",
                                       "attention_type",
                                       "use_qk_norm",
                                       "qk_norm",
                                       "attention_multiplier",
                                       "mamba_proj_bias",
                                       "mamba_conv_bias",
                                       "mamba_inner_layernorms",
                                       "use_mamba_kernels",
                                       "mamba_hidden_act",
                                       "mamba_ssm_dtype",
                                       "chunk_size",
                                       "rescale_prenorm_residual",
                                       "residual_in_fp32",
                                       "use_conv_bias",
                                       "expand",
                                       "time_step_floor",
                                       "num_logits_to_keep",
                                       "use_mem_rope",
                                       "num_memory_blocks",
                                       "_attn_implementation",
                                       "_attn_implementation_autoset",
                                       "attn_implementation",
                                       "initial_context_length",
                                       "swiglu_limit",
                                       "shared_attn_layers",
                                       "num_mtp_modules",
                                       "mtp_transformer_layers",
                                       "use_mtp",
                                       "mamba_chunk_size",
                                       "mamba_conv_bias",
                                       "qk_head_dim",
                                       "is_hybrid",
                                       "head_dtype",
                                       "attn_type_list",
                                       "rotary_dim",
                                       "use_cache",
                                       "layer_scale",
                                       "aux_loss_free_bias",
                                       "moe_router_use_sigmoid"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (base_ends_with(key, endings[i]))
            return true;
    }
    return false;
}

static bool check_strange_keys(struct scenario_reader *reader, const struct conf_node *tree,
                               const char *type, bool type_is_known)
{
    bool ok = true;
    for (size_t i = 0; i < tree->count; i++) {
        const struct conf_node *key = tree->keys[i];
        bool nested = tree->items[i]->kind == CONF_MAP;
        if (base_field_find(scenario_model_fields, key->text) != NULL ||
            conf_is_null(tree->items[i]) || nested || !looks_relevant(key->text) ||
            is_harmless(key->text))
            continue;
        if (type_is_known)
            scenario_warn(reader, key, "model", "unknown-model-key",
                          "'%.60s' of the config is not taken into account", key->text);
        else
            ok = scenario_fail_hint(
                reader, key, "model", "unknown-model-key",
                "state what matters by {hf_config: PATH, kv_groups: [...]} or drop the key",
                "the model's type%s%.60s%s is not known, and '%.60s' may shape it",
                type != NULL ? " '" : "", type != NULL ? type : "", type != NULL ? "'" : "",
                key->text);
    }
    return ok;
}

bool scenario_config_rows(struct scenario_reader *reader, const struct conf_node *tree,
                          const struct base_field *fields, const char *path, void *out)
{
    bool ok = true;
    for (const struct base_field *field = fields; field->key != NULL; field++) {
        const struct conf_node *node = find_spelling(tree, field);
        if (node != NULL)
            ok = read_row(reader, node, field, path, out) && ok;
    }
    return ok;
}

bool scenario_config_read(struct scenario_reader *reader, struct conf_node *tree, const char *path,
                          struct scenario_model_opts *out)
{
    bool ok = scenario_config_rows(reader, tree, scenario_model_fields, path, out);
    bool stated_groups = out->kv_groups != NULL;
    bool known = scenario_family_find(out->model_type) != NULL;
    return check_strange_keys(reader, tree, out->model_type, known || stated_groups) && ok;
}
