#include "kv/pages.h"

#include "base/count.h"

#include "spec/kv.h"

#include <stddef.h>

static uint64_t page_slot_bytes(const struct spec_kv_slot *slot)
{
    return slot->kind == SPEC_KV_STATE ? 0 : slot->layer_slot_bytes_per_gpu;
}

static bool same_attention(const struct kv_pages_kind *a, const struct kv_pages_kind *b)
{
    return a->kind == b->kind && a->window_tokens == b->window_tokens;
}

static void add_kind(struct kv_pages *pages, const struct spec_kv_slot *slot)
{
    const struct kv_pages_kind wanted = {.kind = slot->kind,
                                         .window_tokens = slot->window_tokens,
                                         .layer_count = slot->layer_count_per_gpu,
                                         .slot_bytes = page_slot_bytes(slot)};
    for (size_t i = 0; i < pages->kind_count; i++) {
        struct kv_pages_kind *kind = &pages->kinds[i];
        if (same_attention(kind, &wanted) && kind->slot_bytes == wanted.slot_bytes) {
            kind->layer_count += wanted.layer_count;
            return;
        }
    }
    pages->kinds[pages->kind_count++] = wanted;
}

const struct kv_pages_kind *kv_pages_kind_of(const struct kv_pages *pages,
                                             const struct spec_kv_slot *slot)
{
    for (size_t i = 0; pages->is_hybrid && i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        if (kind->kind == slot->kind && kind->window_tokens == slot->window_tokens &&
            kind->slot_bytes == page_slot_bytes(slot))
            return kind;
    }
    return &pages->kinds[0];
}

// Index keys belong to the full-attention layers whose tokens they describe: one table serves both.
static bool takes_part(const struct spec_kv_slot *slot)
{
    return slot->layer_count_per_gpu != 0 && slot->kind != SPEC_KV_INDEX;
}

static void make_plain(const struct spec_kv_layout *layout, struct kv_pages *pages)
{
    pages->table_count = 1;
    pages->block_tokens = layout->block_tokens;
    pages->block_bytes_per_gpu = layout->block_bytes_per_gpu;
    pages->block_bytes = layout->block_bytes;
    pages->state_bytes_per_gpu = layout->sequence_bytes_per_gpu;
    for (size_t i = 0; i < layout->group_count; i++)
        pages->page_layer_count += layout->groups[i].layer_count_per_gpu;
    pages->kind_count = 1;
    pages->kinds[0] = (struct kv_pages_kind){
        .kind = SPEC_KV_FULL,
        .layer_count = pages->page_layer_count,
        .table_count = 1,
        .block_tokens = pages->block_tokens,
    };
}

// The fewest layers of any kind, or the most when they are nearly as many (vLLM: below 1.5 times).
static uint32_t choose_page_layers(const struct kv_pages *pages)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < pages->kind_count; i++) {
        uint32_t layers = pages->kinds[i].layer_count;
        least = layers < least ? layers : least;
        most = layers > most ? layers : most;
    }
    return (uint64_t)most * 2 < (uint64_t)least * 3 ? most : least;
}

static void make_tables(struct kv_pages *pages)
{
    pages->page_layer_count = choose_page_layers(pages);
    for (size_t i = 0; i < pages->kind_count; i++) {
        struct kv_pages_kind *kind = &pages->kinds[i];
        kind->table_count = (uint32_t)base_div_up_u64(kind->layer_count, pages->page_layer_count);
        pages->table_count += kind->table_count;
        pages->padded_layer_count +=
            kind->table_count * pages->page_layer_count - kind->layer_count;
    }
}

static enum kvsim_status unequal_pages(struct kvsim_error *err, uint64_t a, uint64_t b)
{
    base_fail(err, KVSIM_ERR_SCENARIO,
              "layers of %llu and %llu bytes per token cannot share blocks of one size",
              (unsigned long long)a, (unsigned long long)b);
    base_error_code(err, "unequal-pages");
    return KVSIM_ERR_SCENARIO;
}

/* What one page must hold: a state, or a block of the layers with the widest tokens. Blocks grow for states by the tokens
 * of the model's own layers; a drafter's follow. */
struct page_need {
    uint64_t token_bytes, own_token_bytes, state_bytes;
};

static struct page_need find_need(const struct spec_kv_layout *layout)
{
    struct page_need need = {0};
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (!takes_part(slot))
            continue;
        if (slot->kind == SPEC_KV_STATE) {
            need.state_bytes = base_max_u64(need.state_bytes, slot->layer_sequence_bytes_per_gpu);
            continue;
        }
        need.token_bytes = base_max_u64(need.token_bytes, slot->layer_slot_bytes_per_gpu);
        if (!slot->is_draft)
            need.own_token_bytes =
                base_max_u64(need.own_token_bytes, slot->layer_slot_bytes_per_gpu);
    }
    return need;
}

static uint64_t grown_tokens(const struct page_need *need, uint64_t block_tokens,
                             const struct kv_pages_options *options)
{
    enum { USUAL_ALIGN_TOKENS = 16 };
    uint64_t own = need->own_token_bytes;
    uint64_t align =
        options->state_align_tokens != 0 ? options->state_align_tokens : USUAL_ALIGN_TOKENS;
    if (own == 0 || block_tokens * own >= need->state_bytes)
        return block_tokens;
    return base_div_up_u64(base_div_up_u64(need->state_bytes, own), align) * align;
}

static enum kvsim_status check_block_tokens(double tokens, struct kvsim_error *err)
{
    if (tokens <= SPEC_KV_BLOCK_TOKENS_MAX)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO,
              "blocks of one size in bytes would hold %.0f tokens of some layers, more than %d",
              tokens, SPEC_KV_BLOCK_TOKENS_MAX);
    base_error_code(err, "block-tokens");
    base_error_key(err, "model");
    return KVSIM_ERR_SCENARIO;
}

// Blocks of one size in bytes: longer ones for layers with fewer bytes per token.
static enum kvsim_status set_block_tokens(struct kv_pages *pages, uint64_t token_bytes,
                                          enum kv_unequal_pages unequal, struct kvsim_error *err)
{
    for (size_t i = 0; i < pages->kind_count; i++) {
        struct kv_pages_kind *kind = &pages->kinds[i];
        bool is_longer = kind->slot_bytes != 0 && token_bytes % kind->slot_bytes == 0;
        bool is_equal = kind->kind == SPEC_KV_STATE || kind->slot_bytes == token_bytes;
        if (!is_equal &&
            (unequal == KV_UNEQUAL_REFUSED || (unequal == KV_UNEQUAL_LONGER && !is_longer)))
            return unequal_pages(err, token_bytes, kind->slot_bytes);
        kind->block_tokens = pages->block_tokens;
        if (is_equal || !is_longer)
            continue;
        uint64_t factor = token_bytes / kind->slot_bytes;
        enum kvsim_status status =
            check_block_tokens((double)pages->block_tokens * (double)factor, err);
        if (status != KVSIM_OK)
            return status;
        kind->block_tokens *= (uint32_t)factor;
    }
    return KVSIM_OK;
}

static enum kvsim_status make_hybrid(const struct spec_kv_layout *layout,
                                     const struct kv_pages_options *options, struct kv_pages *pages,
                                     struct kvsim_error *err)
{
    struct page_need need = find_need(layout);
    if (need.token_bytes == 0)
        return unequal_pages(err, 0, need.state_bytes);
    make_tables(pages);
    pages->is_hybrid = true;
    uint64_t tokens = grown_tokens(&need, layout->block_tokens, options);
    enum kvsim_status status = check_block_tokens((double)tokens, err);
    double page_bytes = (double)tokens * (double)need.token_bytes;
    if (status == KVSIM_OK)
        status = spec_kv_check_bytes(page_bytes * pages->page_layer_count * layout->gpu_count,
                                     "one block", "model", err);
    if (status != KVSIM_OK)
        return status;
    pages->block_tokens = (uint32_t)tokens;
    pages->block_bytes_per_gpu = pages->block_tokens * need.token_bytes * pages->page_layer_count;
    pages->block_bytes = pages->block_bytes_per_gpu * layout->gpu_count;
    return set_block_tokens(pages, need.token_bytes, options->unequal, err);
}

// Layers that all see the same lie in one table, each with its own bytes.
static bool is_of_one_kind(const struct kv_pages *pages)
{
    for (size_t i = 1; i < pages->kind_count; i++) {
        if (!same_attention(&pages->kinds[0], &pages->kinds[i]))
            return false;
    }
    return true;
}

enum kvsim_status kv_pages_make(const struct spec_kv_layout *layout,
                                const struct kv_pages_options *options, struct kv_pages *out,
                                struct kvsim_error *err)
{
    *out = (struct kv_pages){
        .state_blocks_per_sequence =
            options->state_blocks_per_sequence != 0 ? options->state_blocks_per_sequence : 1,
        .caches_states = options->caches_states && options->state_blocks_per_sequence >= 2,
        .window_extra_tokens = options->window_extra_tokens,
        .lookahead_tokens = options->lookahead_tokens,
        .longest_tokens = options->longest_tokens,
    };
    for (size_t i = 0; i < layout->group_count; i++) {
        if (takes_part(&layout->groups[i]))
            add_kind(out, &layout->groups[i]);
    }
    bool is_one_kind = is_of_one_kind(out);
    if (options->hybrid && !is_one_kind)
        return make_hybrid(layout, options, out, err);
    if (options->hybrid && out->kind_count > 1 && options->unequal == KV_UNEQUAL_REFUSED)
        return unequal_pages(err, out->kinds[0].slot_bytes, out->kinds[1].slot_bytes);
    bool windowed = is_one_kind && out->kind_count > 0 && out->kinds[0].window_tokens != 0;
    struct kv_pages_kind only = out->kinds[0];
    make_plain(layout, out);
    out->transient_bytes_per_token = options->transient_bytes_per_token;
    out->block_bytes_per_gpu += options->transient_bytes_per_token * out->block_tokens;
    out->block_bytes += options->transient_bytes_per_token * out->block_tokens * layout->gpu_count;
    if (options->hybrid && windowed) {
        // Every layer has the same window: still one table, but its blocks come back.
        out->kinds[0].kind = only.kind;
        out->kinds[0].window_tokens = only.window_tokens;
    }
    return KVSIM_OK;
}

int64_t kv_pages_common_tokens(const struct kv_pages *pages)
{
    int64_t common = 1;
    for (size_t i = 0; i < pages->kind_count; i++) {
        int64_t a = common, b = pages->kinds[i].block_tokens;
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        common = common / a * pages->kinds[i].block_tokens;
    }
    return common;
}

int64_t kv_pages_lookahead(const struct kv_pages *pages, int64_t tokens)
{
    int64_t room = pages->longest_tokens - tokens;
    if (pages->longest_tokens == 0 || room > pages->lookahead_tokens)
        return pages->lookahead_tokens;
    return room > 0 ? room : 0;
}

static uint64_t table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                             int64_t tokens)
{
    uint64_t most = (uint64_t)(tokens + kv_pages_lookahead(pages, tokens)),
             extra = (uint64_t)pages->window_extra_tokens;
    uint64_t window = kind->window_tokens;
    switch (kind->kind) {
    case SPEC_KV_STATE:
        return pages->state_blocks_per_sequence;
    case SPEC_KV_SLIDING:
        // One block more: the window may begin inside a block.
        most = window - 1 + extra < most ? window - 1 + extra : most;
        return base_div_up_u64(most, kind->block_tokens) + 1;
    case SPEC_KV_CHUNKED:
        most = window + extra < most ? window + extra : most;
        break;
    case SPEC_KV_FULL:
    case SPEC_KV_INDEX:
        break;
    }
    return base_div_up_u64(most, kind->block_tokens);
}

int64_t kv_pages_sequence_blocks(const struct kv_pages *pages, int64_t tokens)
{
    base_require(tokens >= 0);
    uint64_t blocks = 0;
    for (size_t i = 0; i < pages->kind_count && tokens > 0; i++)
        blocks += pages->kinds[i].table_count * table_blocks(pages, &pages->kinds[i], tokens);
    return (int64_t)blocks;
}

int64_t kv_pages_asked_blocks(const struct kv_pages *pages, int64_t tokens)
{
    base_require(tokens >= 0);
    uint64_t blocks = 0;
    for (size_t i = 0; i < pages->kind_count && tokens > 0; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        uint64_t most = table_blocks(pages, kind, tokens);
        if (kind->kind != SPEC_KV_STATE) {
            uint64_t filled = base_div_up_u64(
                (uint64_t)(tokens + kv_pages_lookahead(pages, tokens)), kind->block_tokens);
            most = filled < most ? filled : most;
        }
        blocks += kind->table_count * most;
    }
    return (int64_t)blocks;
}

int64_t kv_pages_table_entries(const struct kv_pages *pages, int64_t tokens)
{
    base_require(tokens >= 0);
    uint64_t entries = 0;
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        uint64_t blocks = kind->kind == SPEC_KV_STATE
                              ? pages->state_blocks_per_sequence
                              : base_div_up_u64((uint64_t)tokens, kind->block_tokens);
        entries += kind->table_count * blocks;
    }
    return (int64_t)entries;
}

int64_t kv_pages_longest_sequence(const struct kv_pages *pages, int64_t blocks,
                                  int64_t limit_tokens)
{
    int64_t fits = 0, above = limit_tokens + 1;
    while (above - fits > 1) {
        int64_t middle = fits + (above - fits) / 2;
        if (kv_pages_sequence_blocks(pages, middle) <= blocks)
            fits = middle;
        else
            above = middle;
    }
    return fits;
}
