#include "kv/hold.h"

#include "base/count.h"
#include "base/error.h"

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

// Of cached states the one before is still held by the step that begins a block.
static bool has_older_state(const struct kv_pages *pages, int64_t tokens)
{
    return pages->caches_states && tokens > 1 && (tokens - 1) % pages->block_tokens == 0;
}

static int64_t state_blocks(const struct kv_pages *pages, int64_t tokens)
{
    bool is_whole = !pages->caches_states || has_older_state(pages, tokens);
    return (int64_t)pages->state_blocks_per_sequence - (is_whole ? 0 : 1);
}

int64_t kv_hold_table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                             int64_t tokens)
{
    base_require(tokens >= 0);
    if (tokens == 0)
        return 0;
    if (kind->kind == SPEC_KV_STATE)
        return state_blocks(pages, tokens);
    return base_div_up(tokens + kv_pages_lookahead(pages, tokens), kind->block_tokens) -
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

// Blocks that `span` neighbouring tokens lie in at most.
static int64_t spanned_blocks(int64_t span, int64_t block_tokens)
{
    return span > 1 ? base_div_up(span - 1, block_tokens) + 1 : span;
}

// Of one table, a token a step.
static int64_t most_table_blocks(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                                 int64_t tokens, int64_t steps)
{
    int64_t ahead = kv_pages_lookahead(pages, tokens), window = kind->window_tokens;
    int64_t filled = base_div_up(tokens + ahead, kind->block_tokens);
    int64_t span = window + steps - 1 + pages->lookahead_tokens;
    if (kind->kind == SPEC_KV_STATE)
        return pages->state_blocks_per_sequence;
    if (window == 0 || (kind->kind != SPEC_KV_SLIDING && kind->kind != SPEC_KV_CHUNKED))
        return filled;
    bool begins_with_block = kind->kind == SPEC_KV_CHUNKED && window % kind->block_tokens == 0;
    int64_t most = begins_with_block ? base_div_up(span, kind->block_tokens)
                                     : spanned_blocks(span, kind->block_tokens);
    return base_min(filled, most);
}

int64_t kv_hold_most_blocks(const struct kv_pages *pages, int64_t tokens, int64_t steps)
{
    base_require(tokens >= 0 && steps >= 1);
    int64_t blocks = 0;
    for (size_t i = 0; i < pages->kind_count && tokens > 0; i++)
        blocks +=
            pages->kinds[i].table_count * most_table_blocks(pages, &pages->kinds[i], tokens, steps);
    return base_min(blocks, kv_pages_asked_blocks(pages, tokens));
}

/* ---- sums ---- */

// ceil(1/B) + ceil(2/B) + ... + ceil(n/B).
static base_i128 ceil_sum(int64_t n, int64_t by)
{
    base_i128 whole = n / by, rest = n % by;
    return by * whole * (whole + 1) / 2 + rest * (whole + 1);
}

// floor(1/B) + ... + floor(n/B).
static base_i128 floor_sum(int64_t n, int64_t by)
{
    return n <= 0 ? 0 : ceil_sum(n + 1, by) - (n + 1);
}

// ceil of 1 ... `last` tokens and the slots behind them, over the block.
static base_i128 filled_sum(const struct kv_pages *pages, int64_t last, int64_t block_tokens)
{
    int64_t ahead = pages->lookahead_tokens, longest = pages->longest_tokens;
    // Up to here the slots are all there; behind it their end is the longest sequence's, then the tokens' own.
    int64_t whole = longest == 0 || last + ahead <= longest ? last
                    : longest > ahead                       ? longest - ahead
                                                            : 0;
    base_i128 sum = ceil_sum(whole + ahead, block_tokens) - ceil_sum(ahead, block_tokens);
    int64_t at_end = last < longest ? last : longest;
    if (last > whole)
        sum += (base_i128)(at_end - whole) * base_div_up(longest, block_tokens);
    if (last > whole && last > longest)
        sum += ceil_sum(last, block_tokens) - ceil_sum(longest, block_tokens);
    return sum;
}

// Blocks that windows have given back, over 1 ... `last` tokens.
static base_i128 passed_sum(const struct kv_pages_kind *kind, int64_t last)
{
    int64_t window = kind->window_tokens, block = kind->block_tokens;
    if (window == 0 || last == 0)
        return 0;
    if (kind->kind == SPEC_KV_SLIDING)
        return floor_sum(last - window, block);
    if (kind->kind != SPEC_KV_CHUNKED)
        return 0;
    base_i128 sum = 0;
    for (int64_t chunk = 1; chunk * window < last; chunk++) {
        int64_t length = last - chunk * window < window ? last - chunk * window : window;
        sum += (base_i128)length * (chunk * window / block);
    }
    return sum;
}

static base_i128 table_sum(const struct kv_pages *pages, const struct kv_pages_kind *kind,
                           int64_t last)
{
    if (kind->kind != SPEC_KV_STATE)
        return filled_sum(pages, last, kind->block_tokens) - passed_sum(kind, last);
    base_i128 sum = (base_i128)last * pages->state_blocks_per_sequence;
    if (pages->caches_states && last > 0)
        sum -= last - (last - 1) / pages->block_tokens;
    return sum;
}

base_i128 kv_hold_blocks_sum(const struct kv_pages *pages, int64_t first, int64_t last)
{
    base_require(first >= 1 && last >= first - 1);
    base_i128 sum = 0;
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        sum +=
            kind->table_count * (table_sum(pages, kind, last) - table_sum(pages, kind, first - 1));
    }
    return sum;
}

// The longest sequence of which something of `blocks` leading ones is still there; at most `last`.
static int64_t last_with_leading(const struct kv_pages_kind *kind, int64_t blocks, int64_t last)
{
    int64_t window = kind->window_tokens, leading = blocks * kind->block_tokens;
    if (window == 0)
        return last;
    if (kind->kind == SPEC_KV_SLIDING)
        return base_min(last, leading + window - 1);
    return kind->kind == SPEC_KV_CHUNKED ? base_min(last, base_div_up(leading, window) * window)
                                         : last;
}

static base_i128 leading_sum(const struct kv_pages_kind *kind, int64_t leading, int64_t first,
                             int64_t last)
{
    int64_t blocks = leading / kind->block_tokens;
    int64_t end = last_with_leading(kind, blocks, last);
    if (kind->kind == SPEC_KV_STATE || blocks == 0 || end < first)
        return 0;
    return (base_i128)blocks * (end - first + 1) -
           (passed_sum(kind, end) - passed_sum(kind, first - 1));
}

base_i128 kv_hold_leading_sum(const struct kv_pages *pages, int64_t leading, int64_t first,
                              int64_t last)
{
    base_require(first >= 1 && last >= first - 1 && leading <= first);
    base_i128 sum = 0;
    for (size_t i = 0; i < pages->kind_count; i++)
        sum += pages->kinds[i].table_count * leading_sum(&pages->kinds[i], leading, first, last);
    return sum;
}

/* ---- the ledger ---- */

static void add_tokens(const struct kv_pages *pages, const struct spec_kv_slot *slot,
                       const struct kv_pages_kind *kind, const struct kv_hold_share *share,
                       int64_t tokens, struct kv_ledger *out)
{
    int64_t blocks = share->blocks > 0 ? share->blocks : kv_hold_table_blocks(pages, kind, tokens);
    int64_t held_slots = blocks * kind->block_tokens;
    int64_t held_tokens = tokens - first_block(kind, tokens) * kind->block_tokens;
    int64_t promised =
        share->blocks > 0 ? share->tokens - tokens : kv_pages_lookahead(pages, tokens);
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

// A state that is kept in two places: the second one is promised to the next checkpoint, or it is the last one.
static void add_state(const struct kv_pages *pages, const struct spec_kv_slot *slot, int64_t tokens,
                      struct kv_ledger *out)
{
    out->lower_bound_bytes += (int64_t)slot->sequence_bytes;
    if (!pages->is_hybrid)
        return;
    const struct kv_pages_kind *kind = kv_pages_kind_of(pages, slot);
    int64_t promised = (int64_t)pages->state_blocks_per_sequence - (pages->caches_states ? 2 : 1);
    out->reserved_bytes += promised * kind->table_count * (int64_t)pages->block_bytes;
    if (has_older_state(pages, tokens))
        out->out_of_window_bytes += (int64_t)slot->sequence_bytes;
}

static void scale_lines(struct kv_ledger *ledger, int64_t sequences)
{
    for (size_t line = 0; line < kv_ledger_line_count(); line++)
        kv_ledger_set_line(ledger, line, kv_ledger_line_bytes(ledger, line) * sequences);
}

void kv_hold_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                    int64_t tokens, int64_t sequences, struct kv_ledger *out)
{
    const struct kv_hold_share nothing = {0};
    kv_hold_share_ledger(layout, pages, &nothing, tokens, sequences, out);
}

void kv_hold_share_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                          const struct kv_hold_share *share, int64_t tokens, int64_t sequences,
                          struct kv_ledger *out)
{
    *out = (struct kv_ledger){0};
    base_require(share->blocks == 0 || (pages->table_count == 1 && tokens > 0));
    int64_t total = (share->blocks > 0 ? share->blocks : kv_hold_blocks(pages, tokens)) *
                    (int64_t)pages->block_bytes;
    for (size_t i = 0; tokens > 0 && i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (slot->kind == SPEC_KV_STATE)
            add_state(pages, slot, tokens, out);
        else
            add_tokens(pages, slot, kv_pages_kind_of(pages, slot), share, tokens, out);
    }
    if (!pages->is_hybrid && tokens > 0)
        total += (int64_t)layout->sequence_bytes;
    // Copies of what the cache holds already, or will.
    int64_t transient_bytes = (int64_t)(pages->transient_bytes_per_token * layout->gpu_count);
    out->replicated_bytes += tokens * transient_bytes;
    if (share->blocks > 0)
        out->reserved_bytes += (share->tokens - tokens) * transient_bytes;
    // Places of tables without a layer, pages larger than a state, stages with fewer layers than the fullest.
    out->padded_bytes += total - kv_ledger_allocated_bytes(out);
    scale_lines(out, sequences);
    base_assert(out->padded_bytes >= 0);
}

static struct kv_pages_kind kind_of_its_own(const struct kv_pages *pages,
                                            const struct spec_kv_slot *slot)
{
    return (struct kv_pages_kind){.kind = slot->kind,
                                  .window_tokens = slot->window_tokens,
                                  .block_tokens = pages->block_tokens,
                                  .table_count = 1};
}

int64_t kv_hold_pool_blocks(const struct kv_pages *pages, const struct spec_kv_slot *slot,
                            int64_t tokens)
{
    const struct kv_pages_kind kind = kind_of_its_own(pages, slot);
    return kv_hold_table_blocks(pages, &kind, tokens);
}

void kv_hold_pools_ledger(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                          int64_t tokens, int64_t sequences, struct kv_ledger *out)
{
    const struct kv_hold_share nothing = {0};
    base_require(!pages->is_hybrid);
    *out = (struct kv_ledger){0};
    for (size_t i = 0; tokens > 0 && i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        const struct kv_pages_kind kind = kind_of_its_own(pages, slot);
        if (slot->kind == SPEC_KV_STATE)
            add_state(pages, slot, tokens, out);
        else
            add_tokens(pages, slot, &kind, &nothing, tokens, out);
    }
    scale_lines(out, sequences);
}
