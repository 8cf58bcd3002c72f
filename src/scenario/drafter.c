/*
 * drafter.c - engine.speculative_config: what a drafter adds to the KV pool and to the weights.
 *
 * The layers of an MTP module, an EAGLE head or a draft model keep KV of their own for every token, in the blocks of the
 * model that they draft for (vLLM, vllm/v1/core/kv_cache_utils.py: layers of the drafter are layers of the pool; V0 divides the
 * pool by the bytes of both). A sequence holds a slot for each token that may be drafted; a recurrent state a block for each.
 * Weights are those of as many layers, with the projection that feeds them; embedding and head are the model's own.
 */
#include "scenario/parts.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

enum method { METHOD_MTP, METHOD_EAGLE, METHOD_EAGLE3, METHOD_DRAFT_MODEL, METHOD_NGRAM };

struct speculative_opts {
    int method;
    int64_t tokens;
    const struct conf_node *model;
};

#define SPECULATIVE(member) .offset = offsetof(struct speculative_opts, member)

static const struct base_choice method_choices[] = {
    {"mtp", METHOD_MTP, "the checkpoint's own module for further tokens"},
    {"eagle", METHOD_EAGLE, "a head of one layer on the last hidden state"},
    {"eagle3", METHOD_EAGLE3, "a head of one layer on three hidden states"},
    {"draft_model", METHOD_DRAFT_MODEL, "a smaller model"},
    {"ngram", METHOD_NGRAM, "tokens that stand in the text already"},
    {0},
};

static const struct base_field speculative_fields[] = {
    {.key = "method",
     .type = BASE_CHOICE,
     SPECULATIVE(method),
     .choices = method_choices,
     .required = true,
     .help = "who drafts"},
    {.key = "num_speculative_tokens",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     SPECULATIVE(tokens),
     .min = 1,
     .max = 1024,
     .def = "1",
     .help = "drafted at a time"},
    {.key = "model",
     .type = BASE_NODE,
     SPECULATIVE(model),
     .help =
         "the drafter, by name or geometry; absent: one layer like the model's own full attention"},
    {0},
};

const struct scenario_section scenario_speculative_section = {
    "engine.speculative_config", speculative_fields, NULL, "a drafter, known to kvsim size"};

#define KEY "engine.speculative_config"

/* ---- the drafter's geometry ---- */

/* Modules that a config.json names; -1: it says nothing. */
static int64_t module_count(const struct scenario_load *load)
{
    static const char *const keys[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                       "num_mtp_modules"};
    static const struct base_field field = {
        .key = "num_nextn_predict_layers", .type = BASE_INT, .unit = BASE_COUNT, .max = 64};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct conf_node *node = conf_get(load->model_tree, keys[i]);
        int64_t count;
        if (!conf_is_null(node) && node->kind == CONF_SCALAR &&
            scenario_read_value(load->reader, node, &field, "model", &count))
            return count;
    }
    return -1;
}

/* Families whose checkpoints come with one module. */
static bool has_module(const struct spec_model *model)
{
    static const char *const types[] = {"deepseek_v3", "deepseek_v32", "glm4_moe",  "glm_moe_dsa",
                                        "qwen3_next",  "qwen3_5",      "minimax_m2"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (model->model_type != NULL && base_starts_with(model->model_type, types[i]))
            return true;
    }
    return false;
}

static bool fail_drafter(struct scenario_load *load, const char *code, const char *what)
{
    return scenario_fail_hint(
        load->reader, load->opts.speculative, KEY, code,
        "state speculative_config.model: a name, or {num_hidden_layers: 1, hidden_size: ...}",
        "%s %s", load->scenario->model.name, what);
}

/* Layers of the target's shape, without what it shares with the target. */
static bool like_target(struct scenario_load *load, enum method method, struct spec_model *out)
{
    const struct spec_model *target = &load->scenario->model;
    int64_t modules = method == METHOD_MTP ? module_count(load) : 1;
    if (method == METHOD_MTP && modules < 0 && has_module(target))
        modules = 1;
    if (modules <= 0)
        return fail_drafter(load, "no-drafter", "has no MTP module that is known");
    bool is_moe = method == METHOD_MTP && target->expert_count != 0;
    if (!target->only_groups && !is_moe && target->intermediate == 0)
        return fail_drafter(load, "missing-key", "does not say how wide a dense layer would be");
    *out = *target;
    out->layer_count = out->attention_layer_count = (uint32_t)modules;
    out->moe_layer_count = is_moe ? out->layer_count : 0;
    out->expert_count = is_moe ? target->expert_count : 0;
    out->linear_layer_count = out->mlp_only_layer_count = 0;
    out->group_count = 0;
    for (size_t i = 0; i < target->group_count; i++) {
        const struct spec_kv_group *group = &target->groups[i];
        if ((group->kind != SPEC_KV_FULL && group->kind != SPEC_KV_INDEX) || group->is_draft)
            continue;
        out->groups[out->group_count] = *group;
        out->groups[out->group_count++].layer_count = out->layer_count;
        if (out->groups[out->group_count - 1].kind == SPEC_KV_INDEX)
            break;
    }
    // A model of windows alone: its drafter sees everything.
    if (out->group_count == 0) {
        out->groups[0] = target->groups[0];
        out->groups[0].kind = SPEC_KV_FULL;
        out->groups[0].window_tokens = 0;
        out->groups[0].layer_count = out->layer_count;
        out->group_count = 1;
    }
    return true;
}

static bool stated_drafter(struct scenario_load *load, const struct conf_node *node,
                           struct spec_model *out)
{
    struct scenario_reader quiet = *load->reader;
    struct conf_node *root = conf_new_map(load->reader->arena), *tree;
    quiet.params = NULL;
    conf_put(load->reader->arena, root, "model", conf_copy(load->reader->arena, node));
    return scenario_model_load(&quiet, root, out, &tree);
}

static bool find_drafter(struct scenario_load *load, const struct speculative_opts *opts,
                         struct spec_model *out)
{
    enum method method = (enum method)opts->method;
    if (!conf_is_null(opts->model))
        return stated_drafter(load, opts->model, out);
    if (method == METHOD_DRAFT_MODEL)
        return fail_drafter(load, "missing-key", "does not say which model drafts for it");
    return like_target(load, method, out);
}

/* ---- what it adds ---- */

static bool add_groups(struct scenario_load *load, const struct spec_model *drafter)
{
    struct spec_model *model = &load->scenario->model;
    for (size_t i = 0; i < drafter->group_count; i++) {
        if (drafter->groups[i].kind == SPEC_KV_STATE)
            continue;
        if (model->group_count == SPEC_KV_GROUPS_MAX)
            return fail_drafter(load, "too-many-groups",
                                "and its drafter have too many kinds of layer");
        model->groups[model->group_count] = drafter->groups[i];
        model->groups[model->group_count++].is_draft = true;
    }
    return true;
}

/* The projection of hidden states into the first layer, and the head that EAGLE-3 has of its own. */
static int64_t joint_bytes(const struct spec_model *drafter, enum method method, int64_t ranks)
{
    enum { ELEMENT_BYTES = 2, STATES = 2, EAGLE3_STATES = 3, EAGLE3_VOCABULARY = 32000 };
    int64_t hidden = drafter->hidden, vocabulary = drafter->vocabulary;
    if (method == METHOD_DRAFT_MODEL)
        return 0;
    if (method != METHOD_EAGLE3)
        return STATES * hidden * hidden * drafter->layer_count * ELEMENT_BYTES;
    int64_t heads = drafter->q_head_count + 2 * (int64_t)drafter->kv_head_count;
    int64_t head_rows = vocabulary < EAGLE3_VOCABULARY ? vocabulary : EAGLE3_VOCABULARY;
    return ELEMENT_BYTES * hidden *
           (EAGLE3_STATES * hidden + (heads * drafter->head_dim + head_rows) / ranks);
}

static bool weigh(struct scenario_load *load, const struct kv_waterfall_inputs *inputs,
                  const struct spec_model *drafter, const struct speculative_opts *opts,
                  struct kv_waterfall_bytes *out)
{
    enum method method = (enum method)opts->method;
    struct spec_model layers = *drafter;
    struct spec_weights_options options = inputs->weights;
    struct kvsim_error err = {.status = KVSIM_OK};
    uint64_t bytes;
    if (drafter->only_groups || load->scenario->model.only_groups)
        return true;
    options.tensor_parallel = inputs->kv.tensor_parallel;
    options.pipeline_parallel = 1;
    if (method != METHOD_DRAFT_MODEL) {
        layers.vocabulary = layers.rotary_dim = layers.learned_position_count = 0;
        layers.parameters_are_stated = false;
    }
    layers.vision.parameters = 0;
    if (!conf_is_null(opts->model)) // a checkpoint of its own
        options.quantization = "auto";
    if (spec_weights_bytes_per_gpu(&layers, &options, &bytes, &err) != KVSIM_OK)
        return scenario_fail_error(load->reader, load->opts.speculative, KEY, &err);
    *out = (struct kv_waterfall_bytes){
        .is_set = true,
        .bytes = (int64_t)bytes + joint_bytes(drafter, method, options.tensor_parallel),
        .claim = SPEC_CALCULATED,
        .source = "layers of the drafter and their projection",
    };
    return true;
}

// The short convolution keeps as many more columns as tokens may be taken back (vLLM, mamba_utils.py: kernel - 1 + num_spec;
// Mamba-1 has no speculation there).
static void widen_states(struct scenario_load *load, int64_t tokens)
{
    struct spec_model *model = &load->scenario->model;
    for (size_t i = 0; i < model->group_count; i++) {
        struct spec_kv_group *group = &model->groups[i];
        if (group->kind == SPEC_KV_STATE && group->state_elements_conv != 0 &&
            model->linear_kind != SPEC_LINEAR_MAMBA1)
            group->state_elements_conv += (uint64_t)model->linear_conv_dim * (uint64_t)tokens;
    }
}

static bool check_purpose(struct scenario_load *load)
{
    if (load->purpose == SCENARIO_FOR_SIZE)
        return true;
    return scenario_fail(load->reader, load->opts.speculative, KEY, "unsupported-key",
                         "speculative decoding is not simulated yet; kvsim size knows what it "
                         "takes of the memory");
}

bool scenario_drafter_resolve(struct scenario_load *load, struct kv_waterfall_inputs *inputs)
{
    const struct scenario_memory_opts *memory = &load->opts.memory_opts;
    struct speculative_opts opts = {0};
    struct spec_model drafter;
    if (conf_is_null(load->opts.speculative))
        return true;
    struct conf_node *map =
        scenario_child(load->reader, load->engine, "engine", "speculative_config");
    if (map == NULL || !check_purpose(load) ||
        !scenario_read_map(load->reader, map, &scenario_speculative_section, KEY, &opts))
        return false;
    inputs->pages.state_blocks_per_sequence += (uint32_t)opts.tokens;
    widen_states(load, opts.tokens);
    if (opts.method == METHOD_NGRAM)
        return true;
    inputs->pages.lookahead_tokens = opts.tokens;
    if (!find_drafter(load, &opts, &drafter) || !add_groups(load, &drafter))
        return false;
    return memory->has_draft || weigh(load, inputs, &drafter, &opts, &inputs->draft);
}
