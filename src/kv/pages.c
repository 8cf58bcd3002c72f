#include "kv/pages.h"

#include "spec/kv.h"

#include <stddef.h>

static uint64_t div_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

static bool same_kind(const struct spec_kv_slot *slot, const struct kv_pages_kind *kind)
{
    return slot->kind == kind->kind && slot->window_tokens == kind->window_tokens;
}

static void add_kind(struct kv_pages *pages, const struct spec_kv_slot *slot)
{
    for (size_t i = 0; i < pages->kind_count; i++) {
        if (same_kind(slot, &pages->kinds[i])) {
            pages->kinds[i].layer_count += slot->layer_count_per_gpu;
            return;
        }
    }
    pages->kinds[pages->kind_count++] = (struct kv_pages_kind){
        .kind = slot->kind,
        .window_tokens = slot->window_tokens,
        .layer_count = slot->layer_count_per_gpu,
    };
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
        .kind = SPEC_KV_FULL, .layer_count = pages->page_layer_count, .table_count = 1};
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
        kind->table_count = (uint32_t)div_up(kind->layer_count, pages->page_layer_count);
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

/* The largest of each over the layers: what one page must hold. */
struct page_need {
    uint64_t token_bytes, state_bytes;
};

static enum kvsim_status find_need(const struct spec_kv_layout *layout, struct page_need *need,
                                   struct kvsim_error *err)
{
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (!takes_part(slot))
            continue;
        uint64_t bytes = slot->layer_slot_bytes_per_gpu;
        if (slot->kind == SPEC_KV_STATE) {
            uint64_t state = slot->layer_sequence_bytes_per_gpu;
            need->state_bytes = state > need->state_bytes ? state : need->state_bytes;
        } else if (need->token_bytes == 0) {
            need->token_bytes = bytes;
        } else if (need->token_bytes != bytes) {
            return unequal_pages(err, need->token_bytes, bytes);
        }
    }
    return need->token_bytes != 0 ? KVSIM_OK : unequal_pages(err, 0, need->state_bytes);
}

static enum kvsim_status make_hybrid(const struct spec_kv_layout *layout,
                                     const struct kv_pages_options *options, struct kv_pages *pages,
                                     struct kvsim_error *err)
{
    enum { USUAL_ALIGN_TOKENS = 16 };
    struct page_need need = {0, 0};
    enum kvsim_status status = find_need(layout, &need, err);
    if (status != KVSIM_OK)
        return status;

    make_tables(pages);
    uint64_t tokens = layout->block_tokens;
    uint64_t align =
        options->state_align_tokens != 0 ? options->state_align_tokens : USUAL_ALIGN_TOKENS;
    if (tokens * need.token_bytes < need.state_bytes)
        tokens = div_up(div_up(need.state_bytes, need.token_bytes), align) * align;
    pages->is_hybrid = true;
    pages->block_tokens = (uint32_t)tokens;
    pages->block_bytes_per_gpu = tokens * need.token_bytes * pages->page_layer_count;
    pages->block_bytes = pages->block_bytes_per_gpu * layout->gpu_count;
    return KVSIM_OK;
}

enum kvsim_status kv_pages_make(const struct spec_kv_layout *layout,
                                const struct kv_pages_options *options, struct kv_pages *out,
                                struct kvsim_error *err)
{
    *out = (struct kv_pages){
        .state_blocks_per_sequence =
            options->state_blocks_per_sequence != 0 ? options->state_blocks_per_sequence : 1,
        .window_extra_tokens = options->window_extra_tokens,
    };
    for (size_t i = 0; i < layout->group_count; i++) {
        if (takes_part(&layout->groups[i]))
            add_kind(out, &layout->groups[i]);
    }
    if (options->hybrid && out->kind_count > 1)
        return make_hybrid(layout, options, out, err);
    bool windowed = out->kind_count == 1 && out->kinds[0].window_tokens != 0;
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

static uint64_t table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                             int64_t tokens)
{
    uint64_t most = (uint64_t)tokens, extra = (uint64_t)pages->window_extra_tokens;
    uint64_t window = kind->window_tokens;
    switch (kind->kind) {
    case SPEC_KV_STATE:
        return pages->state_blocks_per_sequence;
    case SPEC_KV_SLIDING:
        // One block more: the window may begin inside a block.
        most = window - 1 + extra < most ? window - 1 + extra : most;
        return div_up(most, pages->block_tokens) + 1;
    case SPEC_KV_CHUNKED:
        most = window + extra < most ? window + extra : most;
        break;
    case SPEC_KV_FULL:
    case SPEC_KV_INDEX:
        break;
    }
    return div_up(most, pages->block_tokens);
}

int64_t kv_pages_sequence_blocks(const struct kv_pages *pages, int64_t tokens)
{
    base_require(tokens >= 0);
    uint64_t blocks = 0;
    for (size_t i = 0; i < pages->kind_count && tokens > 0; i++)
        blocks += pages->kinds[i].table_count * table_blocks(pages, &pages->kinds[i], tokens);
    return (int64_t)blocks;
}

int64_t kv_pages_table_entries(const struct kv_pages *pages, int64_t tokens)
{
    base_require(tokens >= 0);
    uint64_t entries = 0, growing = div_up((uint64_t)tokens, pages->block_tokens);
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        bool is_state = kind->kind == SPEC_KV_STATE;
        entries += kind->table_count * (is_state ? pages->state_blocks_per_sequence : growing);
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
