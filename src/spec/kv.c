#include "spec/kv.h"

#include "base/count.h"

#include <math.h>
#include <stddef.h>

// The only geometry that fp8_ds_mla is defined for (DeepSeek-V3's): 512 latent elements in fp8 with four fp32 scales,
// 64 rotary ones in bf16.
enum { DS_MLA_LATENT = 512, DS_MLA_ROPE = 64, DS_MLA_SCALES = 16 };

// One fp8 index key and its fp32 scale per 128 elements, whatever the cache's dtype (DeepSeek-V3.2).
enum { INDEX_ELEMENTS_PER_SCALE = 128, INDEX_SCALE_BYTES = 4 };

// More ranks than this are a mistake.
enum { PARALLEL_MAX = 1 << 16 };

/* What one token of one layer takes on one rank that holds `heads` of its heads. */
struct token_bytes {
    uint64_t elements, scales, padded;
};

static uint64_t element_bytes(const struct spec_kv_format *format, uint64_t elements)
{
    return base_div_up_u64(elements * format->bits_per_element, 8);
}

static uint64_t scale_bytes(const struct spec_kv_format *format, uint64_t heads, uint64_t elements)
{
    if (elements == 0)
        return 0;
    uint64_t in_blocks = base_div_up_u64(elements * format->scale_bits_per_element_x1024, 8 * 1024);
    return in_blocks + heads * format->scale_bytes_per_head;
}

static struct token_bytes latent_bytes(const struct spec_kv_group *group, uint32_t value_elements,
                                       const struct spec_kv_layout *layout, uint32_t align_bytes)
{
    const struct spec_kv_format *format = &layout->k_format;
    struct token_bytes token = {0};
    if (format->latent_bytes != 0) {
        token.scales = DS_MLA_SCALES;
        token.elements = format->latent_bytes - DS_MLA_SCALES;
    } else {
        token.elements = element_bytes(format, group->k_dim);
        token.scales = scale_bytes(format, 1, group->k_dim);
    }
    // A second copy is held by choice of the engine, not needed: padding, as far as the ledger goes.
    token.padded = element_bytes(&layout->v_format, value_elements) +
                   scale_bytes(&layout->v_format, 1, value_elements);
    if (align_bytes != 0) {
        uint64_t bytes = token.elements + token.scales + token.padded;
        token.padded += base_div_up_u64(bytes, align_bytes) * align_bytes - bytes;
    }
    return token;
}

static struct token_bytes index_bytes(const struct spec_kv_group *group)
{
    struct token_bytes token = {.elements = group->k_dim};
    token.scales = base_div_up_u64(group->k_dim, INDEX_ELEMENTS_PER_SCALE) * INDEX_SCALE_BYTES;
    return token;
}

// K and V are stored each for itself, so each rounds up to whole bytes for itself.
static struct token_bytes head_bytes(const struct spec_kv_group *group, uint64_t heads,
                                     const struct spec_kv_layout *layout)
{
    uint64_t k = heads * group->k_dim, v = heads * group->v_dim;
    struct token_bytes token = {0};
    token.elements = element_bytes(&layout->k_format, k) + element_bytes(&layout->v_format, v);
    token.scales =
        scale_bytes(&layout->k_format, heads, k) + scale_bytes(&layout->v_format, heads, v);
    return token;
}

// Shares of a whole that is known in bytes only: they must be whole bytes.
static enum kvsim_status stated_bytes(const struct spec_kv_group *group, uint64_t heads,
                                      uint64_t all_heads, struct token_bytes *out,
                                      struct kvsim_error *err)
{
    double bytes = group->stated_bytes_per_token * (double)heads / (double)all_heads;
    if (!(bytes > 0) || bytes > 1e15 || bytes != floor(bytes)) {
        base_fail(err, KVSIM_ERR_SCENARIO,
                  "%g bytes per token and layer are not whole bytes on each rank", bytes);
        base_error_code(err, "kv-bytes");
        return KVSIM_ERR_SCENARIO;
    }
    *out = (struct token_bytes){.elements = (uint64_t)bytes};
    return KVSIM_OK;
}

/* How the heads of a group lie on the ranks of one stage. */
struct head_share {
    uint64_t all, per_rank, copies;
};

static enum kvsim_status share_heads(const struct spec_kv_group *group, uint32_t ranks,
                                     struct head_share *out, struct kvsim_error *err)
{
    // Latents, index keys and groups without a number of heads cannot be cut: every rank holds all.
    bool whole = group->is_latent || group->kind == SPEC_KV_INDEX || group->kv_head_count == 0;
    uint64_t heads = whole ? 1 : group->kv_head_count;
    if (heads >= ranks ? heads % ranks != 0 : ranks % heads != 0) {
        base_fail(err, KVSIM_ERR_SCENARIO,
                  "%u KV heads do not divide over %u tensor-parallel ranks", group->kv_head_count,
                  ranks);
        base_error_code(err, "tensor-parallel-heads");
        base_error_key(err, "engine.tensor_parallel_size");
        return KVSIM_ERR_SCENARIO;
    }
    out->all = heads;
    out->per_rank = heads >= ranks ? heads / ranks : 1;
    out->copies = heads >= ranks ? 1 : ranks / heads;
    return KVSIM_OK;
}

static enum kvsim_status check_latent_format(const struct spec_model *model,
                                             const struct spec_kv_group *group,
                                             const struct spec_kv_format *format,
                                             struct kvsim_error *err)
{
    if (format->latent_bytes == 0)
        return KVSIM_OK;
    bool fits = group->is_latent && model->kv_lora_rank == DS_MLA_LATENT &&
                model->qk_rope_dim == DS_MLA_ROPE;
    if (fits || group->kind == SPEC_KV_INDEX || group->kind == SPEC_KV_STATE)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "%s stores an MLA latent of %d + %d elements only",
              format->name, DS_MLA_LATENT, DS_MLA_ROPE);
    base_error_code(err, "kv-dtype");
    base_error_key(err, "engine.kv_cache_dtype");
    return KVSIM_ERR_SCENARIO;
}

static enum kvsim_status token_bytes_of(const struct spec_model *model,
                                        const struct spec_kv_group *group, uint64_t heads,
                                        const struct head_share *share,
                                        const struct spec_kv_layout *layout,
                                        const struct spec_kv_options *options,
                                        struct token_bytes *out, struct kvsim_error *err)
{
    if (group->stated_bytes_per_token != 0)
        return stated_bytes(group, heads, share->all, out, err);
    if (group->is_latent)
        *out = latent_bytes(group, options->latent_with_value ? model->kv_lora_rank : 0, layout,
                            options->latent_align_bytes);
    else if (group->kind == SPEC_KV_INDEX)
        *out = index_bytes(group);
    else
        *out = head_bytes(group, heads, layout);
    return KVSIM_OK;
}

// A group of attention layers: what a token needs once, and what the ranks hold of it together.
static enum kvsim_status make_token_slot(const struct spec_model *model,
                                         const struct spec_kv_group *group,
                                         const struct spec_kv_options *options,
                                         const struct spec_kv_layout *layout,
                                         struct spec_kv_slot *slot, struct kvsim_error *err)
{
    struct head_share share;
    struct token_bytes once, on_rank;
    enum kvsim_status status = check_latent_format(model, group, &layout->k_format, err);
    if (status == KVSIM_OK)
        status = share_heads(group, options->tensor_parallel, &share, err);
    if (status == KVSIM_OK)
        status = token_bytes_of(model, group, share.all, &share, layout, options, &once, err);
    if (status == KVSIM_OK)
        status =
            token_bytes_of(model, group, share.per_rank, &share, layout, options, &on_rank, err);
    if (status != KVSIM_OK)
        return status;

    uint64_t layers = group->layer_count, ranks = options->tensor_parallel;
    slot->lower_bound_bytes = layers * once.elements;
    // Heads that several ranks hold, and bytes that cutting an odd number of bits adds.
    slot->replicated_bytes = layers * (ranks * on_rank.elements - once.elements);
    slot->scale_bytes = layers * ranks * on_rank.scales;
    slot->padded_bytes = layers * ranks * on_rank.padded;
    slot->slot_bytes =
        slot->lower_bound_bytes + slot->replicated_bytes + slot->scale_bytes + slot->padded_bytes;
    slot->layer_slot_bytes_per_gpu = on_rank.elements + on_rank.scales + on_rank.padded;
    slot->block_bytes = slot->slot_bytes * slot->block_tokens;
    return KVSIM_OK;
}

// Convolution tails are kept in 2 bytes, the recurrent matrix in the state's dtype; heads and channels are cut over
// the ranks of a stage (reference README, linear_* columns).
static enum kvsim_status make_state_slot(const struct spec_kv_group *group,
                                         const struct spec_kv_options *options,
                                         struct spec_kv_slot *slot, struct kvsim_error *err)
{
    struct spec_kv_format format;
    const char *dtype = options->state_dtype != NULL ? options->state_dtype : "fp32";
    if (!spec_kv_format_find(dtype, &format) || format.bits_per_element < 16) {
        base_fail(err, KVSIM_ERR_SCENARIO, "a recurrent state is not kept in '%s'", dtype);
        base_error_code(err, "state-dtype");
        return KVSIM_ERR_SCENARIO;
    }
    uint64_t layer_bytes = group->stated_bytes_per_sequence;
    if (layer_bytes == 0)
        layer_bytes = 2 * group->state_elements_conv +
                      element_bytes(&format, group->state_elements_recurrent);
    uint64_t ranks = options->tensor_parallel;
    slot->layer_sequence_bytes_per_gpu = base_div_up_u64(layer_bytes, ranks);
    slot->sequence_bytes = slot->layer_sequence_bytes_per_gpu * ranks * group->layer_count;
    return KVSIM_OK;
}

static enum kvsim_status find_format(const char *name, struct spec_kv_format *out,
                                     struct kvsim_error *err)
{
    if (spec_kv_format_find(name, out))
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "unknown KV dtype '%s'", name);
    base_error_code(err, "kv-dtype");
    base_error_key(err, "engine.kv_cache_dtype");
    return KVSIM_ERR_SCENARIO;
}

uint64_t spec_kv_layers(const struct spec_model *model)
{
    uint64_t layers = model->layer_count;
    for (size_t i = 0; i < model->group_count && model->only_groups; i++)
        layers += model->groups[i].is_draft ? 0 : model->groups[i].layer_count;
    return layers;
}

static uint32_t layers_per_gpu(const struct spec_model *model, const struct spec_kv_group *group,
                               const struct spec_kv_options *options)
{
    uint64_t stages = options->pipeline_parallel;
    if (group->is_draft)
        return options->stage == 0 || options->stage == stages ? group->layer_count : 0;
    if (options->stage == 0)
        return (uint32_t)base_div_up_u64(group->layer_count, stages);
    return (uint32_t)spec_stage_share(group->layer_count, spec_kv_layers(model), stages,
                                      options->stage - 1);
}

static const char *own_dtype(const char *of_group, const char *of_kind)
{
    return of_group != NULL ? of_group : of_kind;
}

static enum kvsim_status make_slot(const struct spec_model *model,
                                   const struct spec_kv_group *group,
                                   const struct spec_kv_options *options,
                                   const struct spec_kv_layout *layout, struct spec_kv_slot *slot,
                                   struct kvsim_error *err)
{
    *slot = (struct spec_kv_slot){
        .kind = group->kind,
        .layer_count = group->layer_count,
        .window_tokens = group->window_tokens,
        .block_tokens = group->block_tokens != 0 ? group->block_tokens : options->block_tokens,
        .layer_count_per_gpu = layers_per_gpu(model, group, options),
        .is_draft = group->is_draft,
    };
    if (group->kind == SPEC_KV_STATE)
        return make_state_slot(group, options, slot, err);
    struct spec_kv_layout of_kind = *layout;
    const char *k = own_dtype(group->k_dtype, options->kind_k_dtype[group->kind]);
    const char *v = own_dtype(group->v_dtype, options->kind_v_dtype[group->kind]);
    enum kvsim_status status = KVSIM_OK;
    if (k != NULL)
        status = find_format(k, &of_kind.k_format, err);
    if (status == KVSIM_OK && v != NULL)
        status = find_format(v, &of_kind.v_format, err);
    slot->k_format = of_kind.k_format;
    slot->v_format = of_kind.v_format;
    if (status == KVSIM_OK)
        status = make_token_slot(model, group, options, &of_kind, slot, err);
    return status;
}

enum kvsim_status spec_kv_check_bytes(double bytes, const char *whose, const char *key,
                                      struct kvsim_error *err)
{
    if (bytes <= SPEC_KV_BYTES_MAX)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "%.3g bytes of %s are more than can be counted", bytes,
              whose);
    base_error_code(err, "uncountable-bytes");
    base_error_key(err, key);
    return KVSIM_ERR_SCENARIO;
}

// What the groups so far and this one take on all ranks: a block of each, or a sequence's states.
static enum kvsim_status check_slot(const struct spec_kv_slot *slot,
                                    const struct spec_kv_layout *layout, struct kvsim_error *err)
{
    double layers = (double)slot->layer_count * layout->gpu_count;
    double block = (double)slot->layer_slot_bytes_per_gpu * slot->block_tokens * layers;
    double state = (double)slot->layer_sequence_bytes_per_gpu * layers;
    return spec_kv_check_bytes((double)layout->block_bytes + (double)layout->sequence_bytes +
                                   block + state,
                               "one block or state", "model", err);
}

static void add_slot(struct spec_kv_layout *layout, const struct spec_kv_slot *slot)
{
    layout->groups[layout->group_count++] = *slot;
    layout->sequence_bytes += slot->sequence_bytes;
    layout->sequence_bytes_per_gpu +=
        slot->layer_sequence_bytes_per_gpu * slot->layer_count_per_gpu;
    layout->slot_bytes += slot->slot_bytes;
    layout->block_bytes += slot->block_bytes;
    layout->block_bytes_per_gpu +=
        slot->layer_slot_bytes_per_gpu * slot->layer_count_per_gpu * slot->block_tokens;
    if (slot->kind == SPEC_KV_FULL || slot->kind == SPEC_KV_INDEX)
        layout->lower_bound_bytes_per_token += slot->lower_bound_bytes;
}

static uint32_t replication(const struct spec_model *model, uint32_t ranks)
{
    for (size_t i = 0; i < model->group_count; i++) {
        const struct spec_kv_group *group = &model->groups[i];
        struct head_share share;
        if (group->kind != SPEC_KV_STATE && group->kind != SPEC_KV_INDEX &&
            share_heads(group, ranks, &share, NULL) == KVSIM_OK)
            return (uint32_t)share.copies;
    }
    return 1;
}

static enum kvsim_status check_query_heads(const struct spec_model *model, uint32_t ranks,
                                           struct kvsim_error *err)
{
    if (model->only_groups || model->q_head_count == 0 || model->q_head_count % ranks == 0)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "%u query heads do not divide over %u tensor-parallel ranks",
              model->q_head_count, ranks);
    base_error_code(err, "tensor-parallel-heads");
    base_error_key(err, "engine.tensor_parallel_size");
    return KVSIM_ERR_SCENARIO;
}

static enum kvsim_status check_stages(const struct spec_model *model, uint32_t stages,
                                      struct kvsim_error *err)
{
    uint64_t layers = spec_kv_layers(model);
    if (stages <= layers)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO, "%u pipeline stages for %llu layers", stages,
              (unsigned long long)layers);
    base_error_code(err, "pipeline-stages");
    base_error_key(err, "engine.pipeline_parallel_size");
    return KVSIM_ERR_SCENARIO;
}

enum kvsim_status spec_kv_layout_make(const struct spec_model *model,
                                      const struct spec_kv_options *options,
                                      struct spec_kv_layout *out, struct kvsim_error *err)
{
    base_require(options->tensor_parallel >= 1 && options->tensor_parallel <= PARALLEL_MAX);
    base_require(options->pipeline_parallel >= 1 && options->pipeline_parallel <= PARALLEL_MAX);
    base_require(options->block_tokens >= 1 && options->block_tokens <= SPEC_KV_BLOCK_TOKENS_MAX);
    base_require(model->group_count <= SPEC_KV_GROUPS_MAX);

    *out = (struct spec_kv_layout){
        .block_tokens = options->block_tokens,
        .gpu_count = options->tensor_parallel * options->pipeline_parallel,
    };
    enum kvsim_status status = find_format(options->k_dtype, &out->k_format, err);
    if (status == KVSIM_OK)
        status = find_format(options->v_dtype, &out->v_format, err);
    if (status == KVSIM_OK)
        status = check_query_heads(model, options->tensor_parallel, err);
    if (status == KVSIM_OK)
        status = check_stages(model, options->pipeline_parallel, err);
    for (size_t i = 0; status == KVSIM_OK && i < model->group_count; i++) {
        struct spec_kv_slot slot;
        status = make_slot(model, &model->groups[i], options, out, &slot, err);
        if (status == KVSIM_OK)
            status = check_slot(&slot, out, err);
        if (status == KVSIM_OK)
            add_slot(out, &slot);
    }
    if (status == KVSIM_OK)
        out->kv_replication = replication(model, options->tensor_parallel);
    return status;
}

// Tokens that the layer can still see when a sequence has `tokens`: the chunk that the last one lies in, the window
// that ends with it, or all.
static uint64_t visible_tokens(const struct spec_kv_slot *slot, uint64_t tokens)
{
    if (tokens == 0 || slot->window_tokens == 0)
        return tokens;
    if (slot->kind == SPEC_KV_CHUNKED)
        return (tokens - 1) % slot->window_tokens + 1;
    if (slot->kind == SPEC_KV_SLIDING && tokens > slot->window_tokens)
        return slot->window_tokens;
    return tokens;
}

uint64_t spec_kv_lower_bound_bytes(const struct spec_kv_layout *layout, uint64_t context_tokens)
{
    uint64_t bytes = context_tokens != 0 ? layout->sequence_bytes : 0;
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        bytes += slot->lower_bound_bytes * visible_tokens(slot, context_tokens);
    }
    return bytes;
}
