/*
 * model_groups.c - layers that keep KV alike: as `kv_groups` states them, or from the kinds of the layers.
 */
#include "scenario/model_build.h"

#include "base/error.h"
#include "spec/kv.h"

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

static bool check_group(const struct scenario_model_build *b, const struct conf_node *node,
                        const char *path, const struct group_opts *opts)
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

static bool read_group(const struct scenario_model_build *b, struct conf_node *node, size_t index)
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

static bool read_groups(const struct scenario_model_build *b)
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

/* ---- groups from the layers ---- */

static void add_group(struct scenario_model_build *b, struct spec_kv_group group)
{
    if (group.layer_count > 0)
        b->out->groups[b->out->group_count++] = group;
}

static size_t count_kind(const struct scenario_model_build *b, enum scenario_layer kind)
{
    // The last layers may reuse the cache of earlier ones.
    size_t own = b->layers.count - (size_t)b->opts.num_kv_shared_layers, count = 0;
    for (size_t i = 0; i < own; i++)
        count += b->layers.kind[i] == kind;
    return count;
}

static struct spec_kv_group attention_group(const struct scenario_model_build *b,
                                            enum spec_kv_kind kind, size_t layers, int64_t window)
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

static bool derive_groups(struct scenario_model_build *b)
{
    const struct scenario_model_opts *o = &b->opts;
    if ((size_t)o->num_kv_shared_layers >= b->layers.count)
        return scenario_model_wrong(b, "num_kv_shared_layers",
                                    "'num_kv_shared_layers' must be below the number of layers");
    size_t full = count_kind(b, LAYER_FULL), sliding = count_kind(b, LAYER_SLIDING);
    size_t chunked = count_kind(b, LAYER_CHUNKED);
    if (sliding > 0 && b->layers.window_tokens == 0)
        return scenario_model_missing(b, "sliding_window", "layer_types has windowed layers");
    if (chunked > 0 && o->attention_chunk_size == 0)
        return scenario_model_missing(b, "attention_chunk_size", "layer_types has chunked layers");
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

bool scenario_model_groups(struct scenario_model_build *b)
{
    return b->opts.kv_groups != NULL ? read_groups(b) : derive_groups(b);
}
