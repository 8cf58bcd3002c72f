/*
 * model_layers.c - what each layer keeps: a list says it, or the family's rule. What is not clear is refused by name.
 */
#include "scenario/model_opts.h"

#include "base/error.h"

#include <string.h>

static bool read_index(struct scenario_reader *reader, const struct conf_node *node,
                       const char *key, int64_t *out)
{
    const struct base_field field = {
        .key = key, .type = BASE_INT, .unit = BASE_COUNT, .min = 0, .max = 1e9};
    return scenario_read_value(reader, node, &field, key, out);
}

static bool layer_word(const char *word, unsigned char *kind)
{
    static const struct {
        const char *word;
        enum scenario_layer kind;
    } words[] = {
        {"full_attention", LAYER_FULL},
        {"attention", LAYER_FULL},
        {"global_attention", LAYER_FULL},
        {"sliding_attention", LAYER_SLIDING},
        {"local_attention", LAYER_SLIDING},
        {"chunked_attention", LAYER_CHUNKED},
        {"linear_attention", LAYER_LINEAR},
        {"mamba", LAYER_MAMBA},
        {"mamba2", LAYER_MAMBA},
        {"mlp", LAYER_MLP},
        {"moe", LAYER_EXPERTS},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (base_key_equal(words[i].word, word)) {
            *kind = (unsigned char)words[i].kind;
            return true;
        }
    }
    return false;
}

static bool from_list(struct scenario_reader *reader, const struct conf_node *list,
                      struct scenario_layers *out)
{
    if (list->kind != CONF_LIST)
        return scenario_fail(reader, list, "model.layer_types", "wrong-type",
                             "'layer_types' must be a list");
    if (list->count != out->count)
        return scenario_fail(reader, list, "model.layer_types", "out-of-range",
                             "'layer_types' has %zu items, but there are %zu layers", list->count,
                             out->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct conf_node *item = list->items[i];
        if (item->kind != CONF_SCALAR || !layer_word(item->text, &out->kind[i]))
            return scenario_fail(
                reader, item, "model.layer_types", "bad-choice",
                "'%.40s' is no known kind of layer (full_attention, sliding_attention, "
                "chunked_attention, linear_attention, mamba, mlp or moe)",
                item->kind == CONF_SCALAR ? item->text : "");
    }
    return true;
}

static bool from_letters(struct scenario_reader *reader, const struct conf_node *tree,
                         const char *letters, struct scenario_layers *out)
{
    const struct conf_node *node = conf_get(tree, "hybrid_override_pattern");
    if (strlen(letters) != out->count)
        return scenario_fail(reader, node, "model.hybrid_override_pattern", "out-of-range",
                             "'hybrid_override_pattern' has %zu letters, but there are %zu layers",
                             strlen(letters), out->count);
    for (size_t i = 0; i < out->count; i++) {
        static const char known[] = "M*-E";
        static const unsigned char kinds[] = {LAYER_MAMBA, LAYER_FULL, LAYER_MLP, LAYER_EXPERTS};
        const char *at = strchr(known, letters[i]);
        if (at == NULL)
            return scenario_fail(reader, node, "model.hybrid_override_pattern", "bad-choice",
                                 "'%c' is no known kind of layer (M, *, - or E)", letters[i]);
        out->kind[i] = kinds[at - known];
    }
    return true;
}

static void from_interval(struct scenario_layers *out, int64_t interval, enum scenario_layer other)
{
    for (size_t i = 0; i < out->count; i++)
        out->kind[i] = (unsigned char)((i + 1) % (size_t)interval == 0 ? LAYER_FULL : other);
}

static void from_period(struct scenario_layers *out, int64_t period, int64_t offset)
{
    for (size_t i = 0; i < out->count; i++)
        out->kind[i] = (unsigned char)((int64_t)i % period == offset ? LAYER_FULL : LAYER_MAMBA);
}

static bool from_no_rope(struct scenario_reader *reader, const struct conf_node *list,
                         struct scenario_layers *out)
{
    if (list->kind != CONF_LIST || list->count != out->count)
        return scenario_fail(reader, list, "model.no_rope_layers", "out-of-range",
                             "'no_rope_layers' must have one item for each of %zu layers",
                             out->count);
    for (size_t i = 0; i < list->count; i++) {
        int64_t rotary;
        if (!read_index(reader, list->items[i], "no_rope_layers", &rotary))
            return false;
        out->kind[i] = (unsigned char)(rotary != 0 ? LAYER_CHUNKED : LAYER_FULL);
    }
    return true;
}

/* "LLLG", or every n-th layer full. */
static bool from_window_pattern(struct scenario_reader *reader, const struct conf_node *node,
                                struct scenario_layers *out)
{
    size_t length = node->kind == CONF_SCALAR ? strlen(node->text) : 0;
    if (length > 0 && strspn(node->text, "LG") == length) {
        for (size_t i = 0; i < out->count; i++)
            out->kind[i] =
                (unsigned char)(node->text[i % length] == 'L' ? LAYER_SLIDING : LAYER_FULL);
        return true;
    }
    int64_t interval;
    if (!read_index(reader, node, "sliding_window_pattern", &interval))
        return false;
    if (interval < 1)
        return scenario_fail(reader, node, "model.sliding_window_pattern", "out-of-range",
                             "'sliding_window_pattern' must be at least 1");
    from_interval(out, interval, LAYER_SLIDING);
    return true;
}

static bool from_window(struct scenario_reader *reader, const struct scenario_model_opts *opts,
                        const struct scenario_family *family, struct scenario_layers *out)
{
    bool used = opts->has_use_sliding ? opts->use_sliding_window
                                      : family == NULL || !family->window_is_opt_in;
    if (!used)
        return true;
    if (opts->sliding_window_pattern != NULL)
        return from_window_pattern(reader, opts->sliding_window_pattern, out);
    if (family != NULL && family->window_pattern != 0) {
        from_interval(out, family->window_pattern, LAYER_SLIDING);
        return true;
    }
    if (opts->has_max_window) {
        for (size_t i = 0; i < out->count; i++)
            out->kind[i] =
                (unsigned char)((int64_t)i >= opts->max_window_layers ? LAYER_SLIDING : LAYER_FULL);
        return true;
    }
    if (family != NULL && (family->windows_everywhere || family->window_is_opt_in)) {
        memset(out->kind, LAYER_SLIDING, out->count);
        return true;
    }
    return scenario_fail_hint(
        reader, opts->sliding_window, "model.layer_types", "missing-key",
        "state layer_types (one word a layer), or sliding_window: null if no layer has it",
        "'sliding_window' is given, but not which layers have it");
}

static bool find_kinds(struct scenario_reader *reader, const struct conf_node *tree,
                       const struct scenario_model_opts *opts, const struct scenario_family *family,
                       struct scenario_layers *out)
{
    if (opts->layer_types != NULL)
        return from_list(reader, opts->layer_types, out);
    if (opts->hybrid_override_pattern != NULL)
        return from_letters(reader, tree, opts->hybrid_override_pattern, out);
    if (opts->attn_layer_period != 0) {
        from_period(out, opts->attn_layer_period, opts->attn_layer_offset);
        return true;
    }
    if (opts->full_attention_interval != 0) {
        from_interval(out, opts->full_attention_interval, LAYER_LINEAR);
        return true;
    }
    if (opts->attention_chunk_size != 0) {
        if (opts->no_rope_layers != NULL && opts->no_rope_layers->count > 0)
            return from_no_rope(reader, opts->no_rope_layers, out);
        from_interval(out, opts->no_rope_layer_interval != 0 ? opts->no_rope_layer_interval : 4,
                      LAYER_CHUNKED);
        return true;
    }
    return out->window_tokens == 0 || from_window(reader, opts, family, out);
}

/* A window as long as the longest context hides nothing. */
static bool find_window(struct scenario_reader *reader, const struct scenario_model_opts *opts,
                        struct scenario_layers *out)
{
    static const struct base_field field = {
        .key = "sliding_window", .type = BASE_INT, .unit = BASE_TOKENS, .min = 1, .max = 1e9};
    if (opts->sliding_window == NULL)
        return true;
    if (!scenario_read_value(reader, opts->sliding_window, &field, "model.sliding_window",
                             &out->window_tokens))
        return false;
    if (opts->layer_types == NULL && opts->max_position_embeddings != 0 &&
        out->window_tokens >= opts->max_position_embeddings)
        out->window_tokens = 0;
    return true;
}

/* ---- experts ---- */

static bool mark_listed(struct scenario_reader *reader, const struct conf_node *list,
                        const char *key, bool value, struct scenario_layers *out)
{
    if (list->kind != CONF_LIST)
        return scenario_fail(reader, list, key, "wrong-type",
                             "'%s' must be a list of layer numbers", key);
    for (size_t i = 0; i < list->count; i++) {
        int64_t layer;
        if (!read_index(reader, list->items[i], key, &layer))
            return false;
        if ((uint64_t)layer >= out->count)
            return scenario_fail(reader, list->items[i], key, "out-of-range",
                                 "there is no layer %lld", (long long)layer);
        out->has_experts[layer] = value;
    }
    return true;
}

static bool by_frequency(struct scenario_reader *reader, const struct scenario_model_opts *opts,
                         struct scenario_layers *out)
{
    const struct conf_node *node = opts->moe_layer_freq;
    if (node->kind == CONF_LIST) {
        if (node->count != out->count)
            return scenario_fail(reader, node, "model.moe_layer_freq", "out-of-range",
                                 "'moe_layer_freq' must have one item for each of %zu layers",
                                 out->count);
        for (size_t i = 0; i < out->count; i++) {
            int64_t on;
            if (!read_index(reader, node->items[i], "moe_layer_freq", &on))
                return false;
            out->has_experts[i] = on != 0;
        }
        return true;
    }
    int64_t step;
    if (!read_index(reader, node, "moe_layer_freq", &step))
        return false;
    for (size_t i = 0; step > 1 && i < out->count; i++)
        out->has_experts[i] = out->has_experts[i] && i % (size_t)step == 0;
    return true;
}

static bool layer_follows_step(const struct scenario_model_opts *opts, size_t i)
{
    int64_t at = (int64_t)i;
    if (opts->has_first_k && at < opts->first_k_dense_replace)
        return false;
    if (opts->interleave_moe_layer_step > 1 && (at + 1) % opts->interleave_moe_layer_step != 0)
        return false;
    if (opts->decoder_sparse_step > 1 && (at + 1) % opts->decoder_sparse_step != 0)
        return false;
    return opts->expert_layer_period == 0 ||
           at % opts->expert_layer_period == opts->expert_layer_offset;
}

static bool find_experts(struct scenario_reader *reader, const struct scenario_model_opts *opts,
                         struct scenario_layers *out)
{
    bool stated = false;
    for (size_t i = 0; i < out->count; i++)
        stated = stated || out->kind[i] == LAYER_EXPERTS;
    for (size_t i = 0; i < out->count; i++) {
        if (stated)
            out->has_experts[i] = out->kind[i] == LAYER_EXPERTS;
        else
            out->has_experts[i] = out->kind[i] != LAYER_MLP && layer_follows_step(opts, i);
    }
    if (stated)
        return true;
    if (opts->moe_layers != NULL && opts->moe_layers->count > 0) {
        memset(out->has_experts, 0, sizeof out->has_experts);
        return mark_listed(reader, opts->moe_layers, "moe_layers", true, out);
    }
    if (opts->moe_layer_freq != NULL && !by_frequency(reader, opts, out))
        return false;
    return opts->mlp_only_layers == NULL ||
           mark_listed(reader, opts->mlp_only_layers, "mlp_only_layers", false, out);
}

bool scenario_layers_find(struct scenario_reader *reader, const struct conf_node *tree,
                          const struct scenario_model_opts *opts,
                          const struct scenario_family *family, struct scenario_layers *out)
{
    memset(out, 0, sizeof *out);
    if (opts->num_hidden_layers > SCENARIO_LAYERS_MAX)
        return scenario_fail(reader, conf_get(tree, "num_hidden_layers"), "model.num_hidden_layers",
                             "out-of-range", "more than %d layers", (int)SCENARIO_LAYERS_MAX);
    out->count = (size_t)opts->num_hidden_layers;
    if (!find_window(reader, opts, out) || !find_kinds(reader, tree, opts, family, out))
        return false;
    return opts->num_experts == 0 || find_experts(reader, opts, out);
}
