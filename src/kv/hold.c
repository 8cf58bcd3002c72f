#include "kv/hold.h"

#include "base/error.h"

static int64_t div_up(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

// Tokens below the ones that the last query sees.
static int64_t passed_tokens(enum spec_kv_kind kind, uint32_t window_tokens, int64_t tokens)
{
    int64_t window = window_tokens;
    if (tokens == 0 || window == 0)
        return 0;
    if (kind == SPEC_KV_CHUNKED)
        return (tokens - 1) / window * window;
    if (kind == SPEC_KV_SLIDING && tokens > window)
        return tokens - window;
    return 0;
}

// The first block that is still held.
static int64_t first_block(const struct kv_pages_kind *kind, int64_t tokens)
{
    return passed_tokens(kind->kind, kind->window_tokens, tokens) / kind->block_tokens;
}

int64_t kv_hold_table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                             int64_t tokens)
{
    base_require(tokens >= 0);
    if (tokens == 0)
        return 0;
    if (kind->kind == SPEC_KV_STATE)
        return pages->state_blocks_per_sequence;
    return div_up(tokens + kv_pages_lookahead(pages, tokens), kind->block_tokens) -
           first_block(kind, tokens);
}

int64_t kv_hold_blocks(const struct kv_pages *pages, int64_t tokens)
{
    int64_t blocks = 0;
    for (size_t i = 0; i < pages->kind_count; i++)
        blocks +=
            pages->kinds[i].table_count * kv_hold_table_blocks(pages, &pages->kinds[i], tokens);
    return blocks;
}

static void add_tokens(const struct kv_pages *pages, const struct spec_kv_slot *slot,
                       int64_t tokens, struct kv_ledger *out)
{
    const struct kv_pages_kind *kind = kv_pages_kind_of(pages, slot);
    int64_t held_slots = kv_hold_table_blocks(pages, kind, tokens) * kind->block_tokens;
    int64_t held_tokens = tokens - first_block(kind, tokens) * kind->block_tokens;
    int64_t promised = kv_pages_lookahead(pages, tokens);
    int64_t visible = tokens - passed_tokens(slot->kind, slot->window_tokens, tokens);
    int64_t slot_bytes = (int64_t)slot->slot_bytes;
    out->lower_bound_bytes += visible * (int64_t)slot->lower_bound_bytes;
    out->replicated_bytes += visible * (int64_t)slot->replicated_bytes;
    out->scales_bytes += visible * (int64_t)slot->scale_bytes;
    out->padded_bytes += visible * (int64_t)slot->padded_bytes;
    out->out_of_window_bytes += (held_tokens - visible) * slot_bytes;
    out->reserved_bytes += promised * slot_bytes;
    out->block_rounding_bytes += (held_slots - held_tokens - promised) * slot_bytes;
}

// A state that is kept in two places: the second one is promised to the next checkpoint.
static void add_state(const struct kv_pages *pages, const struct spec_kv_slot *slot,
                      struct kv_ledger *out)
{
    out->lower_bound_bytes += (int64_t)slot->sequence_bytes;
    if (!pages->is_hybrid)
        return;
    const struct kv_pages_kind *kind = kv_pages_kind_of(pages, slot);
    out->reserved_bytes += (int64_t)(pages->state_blocks_per_sequence - 1) * kind->table_count *
                           (int64_t)pages->block_bytes;
}

static void scale_lines(struct kv_ledger *ledger, int64_t sequences)
{
    for (size_t line = 0; line < kv_ledger_line_count(); line++)
        kv_ledger_set_line(ledger, line, kv_ledger_line_bytes(ledger, line) * sequences);
}

void kv_hold_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                    int64_t tokens, int64_t sequences, struct kv_ledger *out)
{
    *out = (struct kv_ledger){0};
    int64_t total = kv_hold_blocks(pages, tokens) * (int64_t)pages->block_bytes;
    for (size_t i = 0; tokens > 0 && i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (slot->kind == SPEC_KV_STATE)
            add_state(pages, slot, out);
        else
            add_tokens(pages, slot, tokens, out);
    }
    if (!pages->is_hybrid && tokens > 0)
        total += (int64_t)layout->sequence_bytes;
    // Copies of what the cache holds already.
    out->replicated_bytes +=
        tokens * (int64_t)(pages->transient_bytes_per_token * layout->gpu_count);
    // Places of tables without a layer, pages larger than a state, stages with fewer layers than the fullest.
    out->padded_bytes += total - kv_ledger_allocated_bytes(out);
    scale_lines(out, sequences);
    base_assert(out->padded_bytes >= 0);
}
