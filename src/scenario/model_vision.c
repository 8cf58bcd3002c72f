/*
 * model_vision.c - the tower of a multimodal model, from a model file's `vision` or a config.json's `vision_config`.
 *
 * Parameters follow from the geometry: depth x (4 h^2 + 2 or 3 h i), the embedding of patches, and a projector for the last
 * layer and for each layer handed over beside it. How large an image may be is not in config.json but in the
 * preprocessor's file, so that it comes from the family: Qwen's towers take up to 16,384 tokens an item, others a
 * picture of fixed size.
 */
#include "scenario/model_opts.h"

#include <math.h>

struct vision_opts {
    const char *model_type;
    double parameters, mlp_ratio;
    int64_t depth, hidden_size, embed_dim, intermediate_size, out_hidden_size;
    int64_t patch_size, temporal_patch_size, in_channels, image_size, spatial_merge_size,
        tokens_per_item, patches_per_token;
    const struct conf_node *deepstack_visual_indexes;
    bool has_parameters;
};

#define AT(member) .offset = offsetof(struct vision_opts, member)
// Far beyond any tower, and so small that what is computed from them stays exact or is refused.
#define MAX_WIDTH 1e6
#define MAX_FEW 64
#define MAX_PATCH 4096
#define MAX_MERGE 1024
#define MAX_PARAMETERS 1e13

#define COUNT(name, most, other, text)                                                       \
    {                                                                                        \
        .key = #name, .type = BASE_INT, .unit = BASE_COUNT, AT(name), .min = 1, .max = most, \
        .also = other, .help = text                                                          \
    }

static const struct base_field vision_fields[] = {
    {.key = "model_type",
     .type = BASE_TEXT,
     AT(model_type),
     .help = "family of the tower; absent: the model's"},
    {.key = "parameters",
     .type = BASE_REAL,
     .unit = BASE_COUNT,
     AT(parameters),
     .has_offset = offsetof(struct vision_opts, has_parameters),
     .max = MAX_PARAMETERS,
     .help = "tower and projector; absent: from the geometry; 0: the engine does not load it"},
    COUNT(depth, 1e5, "num_hidden_layers layers", "layers"),
    COUNT(hidden_size, MAX_WIDTH, "width",
          "width; with embed_dim: what a token of the text model gets"),
    COUNT(embed_dim, MAX_WIDTH, NULL, "width (Qwen2-VL)"),
    COUNT(intermediate_size, MAX_WIDTH, NULL, "width of the MLP"),
    {.key = "mlp_ratio",
     .type = BASE_REAL,
     AT(mlp_ratio),
     .max = MAX_FEW,
     .help = "the same over the width"},
    COUNT(out_hidden_size, MAX_WIDTH, "projection_dim", "what a token of the text model gets"),
    COUNT(patch_size, MAX_PATCH, "spatial_patch_size", "edge of a patch in pixels"),
    COUNT(temporal_patch_size, MAX_FEW, NULL, "frames of a patch"),
    COUNT(in_channels, MAX_FEW, "in_chans num_channels", "colours"),
    COUNT(image_size, 1e6, NULL, "edge of the picture in pixels, where it is fixed"),
    COUNT(spatial_merge_size, MAX_MERGE, NULL, "patches merged into a token, along an edge"),
    COUNT(patches_per_token, MAX_MERGE *MAX_MERGE, NULL, "patches merged into a token"),
    COUNT(tokens_per_item, 1e9, NULL, "tokens of the largest image or video"),
    {.key = "deepstack_visual_indexes",
     .type = BASE_NODE,
     AT(deepstack_visual_indexes),
     .help = "layers that are handed to the text model as well"},
    {0},
};

const struct scenario_section scenario_vision_section = {"model.vision", vision_fields, NULL,
                                                         "the tower for images and video"};

static bool is_type(const char *type, const char *start)
{
    return type != NULL && base_starts_with(type, start);
}

static double square(double value)
{
    return value * value;
}

static int64_t at_least_one(double count)
{
    return count > 1 ? (int64_t)count : 1;
}

/* Qwen's and Pixtral's towers turn positions into queries and keys; gated MLPs are those of Qwen2.5-VL and Pixtral. */
static void fill_family(const struct vision_opts *o, const char *type, struct spec_vision *out)
{
    enum { QWEN_ITEM_TOKENS = 16384 };
    bool is_qwen = is_type(type, "qwen");
    out->has_rotary = is_qwen || is_type(type, "pixtral") || is_type(type, "mistral3");
    int64_t merge = o->spatial_merge_size != 0 ? o->spatial_merge_size : is_qwen ? 2 : 1;
    out->patches_per_token = o->patches_per_token != 0 ? o->patches_per_token : merge * merge;
    double edge = o->patch_size != 0 ? floor((double)o->image_size / (double)o->patch_size) : 0;
    out->item_tokens = QWEN_ITEM_TOKENS;
    if (!is_qwen)
        out->item_tokens =
            edge > 0 ? at_least_one(square(edge) / (double)out->patches_per_token) : 0;
    if (o->tokens_per_item != 0) {
        out->item_tokens = o->tokens_per_item;
        if (!is_qwen && edge > 0 && o->patches_per_token == 0)
            out->patches_per_token = at_least_one(square(edge) / (double)o->tokens_per_item);
    }
}

static double geometry_parameters(const struct vision_opts *o, const char *type,
                                  uint32_t text_hidden, double projectors,
                                  const struct spec_vision *vision)
{
    bool is_gated = is_type(type, "qwen2_5") || is_type(type, "pixtral");
    bool is_qwen = is_type(type, "qwen");
    double h = vision->hidden, merged = h * (is_qwen ? (double)vision->patches_per_token : 1);
    double layer = 4 * square(h) + (is_gated ? 3 : 2) * h * vision->intermediate;
    double projector = merged * text_hidden + (is_qwen ? square(merged) : 0);
    return (double)o->depth * layer + h * (double)vision->patch_values + projectors * projector;
}

static bool check_parameters(struct scenario_reader *reader, const struct conf_node *tree,
                             const char *path, const struct spec_vision *vision)
{
    return vision->parameters <= MAX_PARAMETERS ||
           scenario_fail_hint(reader, tree, path, "out-of-range", "vision: {parameters: 1e9}",
                              "'vision' has a geometry of %.3g parameters, more than %.3g",
                              vision->parameters, MAX_PARAMETERS);
}

static void fill(const struct vision_opts *o, const char *type, const struct spec_model *model,
                 struct spec_vision *out)
{
    const struct conf_node *stacked = o->deepstack_visual_indexes;
    double projectors =
        1 + (stacked != NULL && stacked->kind == CONF_LIST ? (double)stacked->count : 0);
    int64_t hidden = o->embed_dim != 0 ? o->embed_dim : o->hidden_size;
    out->hidden = (uint32_t)hidden;
    out->intermediate = (uint32_t)(o->intermediate_size != 0 ? (double)o->intermediate_size
                                   : o->mlp_ratio > 0        ? o->mlp_ratio * (double)hidden
                                                             : 4.0 * (double)hidden);
    int64_t frames = o->temporal_patch_size != 0 ? o->temporal_patch_size : 1;
    int64_t colours = o->in_channels != 0 ? o->in_channels : 3;
    out->patch_values = frames * colours * o->patch_size * o->patch_size;
    fill_family(o, type, out);
    out->output = (int64_t)(projectors * model->hidden);
    out->parameters = o->has_parameters
                          ? o->parameters
                          : geometry_parameters(o, type, model->hidden, projectors, out);
}

/* Gemma 3 says beside the tower how many tokens a picture becomes. */
static bool read_item_tokens(struct scenario_reader *reader, const struct conf_node *whole,
                             const char *path, struct vision_opts *opts)
{
    static const struct base_field tokens[] = {
        COUNT(tokens_per_item, 1e9, "mm_tokens_per_image image_seq_length", "tokens of a picture"),
        {0}};
    return opts->tokens_per_item != 0 || scenario_config_rows(reader, whole, tokens, path, opts);
}

bool scenario_vision_read(struct scenario_reader *reader, struct conf_node *whole,
                          struct conf_node *tree, bool as_config, const char *path,
                          struct spec_model *model)
{
    struct vision_opts opts = {0};
    if (conf_is_null(tree))
        return true;
    path = scenario_join(reader->arena, path, "vision");
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, path, "wrong-type", "'vision' must be a mapping");
    bool ok = as_config ? scenario_config_rows(reader, tree, vision_fields, path, &opts) &&
                              read_item_tokens(reader, whole, path, &opts)
                        : scenario_read_map(reader, tree, &scenario_vision_section, path, &opts);
    // Qwen's text models turn positions along time, height and width, whether the tower is loaded or not.
    if (ok && is_type(opts.model_type, "qwen"))
        model->has_video_positions = true;
    bool is_left_out = opts.has_parameters && opts.parameters <= 0;
    if (!ok || is_left_out || (opts.depth == 0 && !opts.has_parameters))
        return ok;
    fill(&opts, opts.model_type != NULL ? opts.model_type : model->model_type, model,
         &model->vision);
    return check_parameters(reader, tree, path, &model->vision);
}
