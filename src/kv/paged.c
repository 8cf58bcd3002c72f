#include "kv/paged.h"

#include "kv/cells_ledger.h"

#include <math.h>

void kv_paged_init(struct kv_paged *pool, const struct spec_kv_layout *layout, int64_t total_blocks,
                   int64_t held_back_blocks)
{
    base_require(total_blocks >= held_back_blocks && held_back_blocks >= 0);
    *pool = (struct kv_paged){.total_blocks = total_blocks,
                              .held_back_blocks = held_back_blocks,
                              .free_blocks = total_blocks - held_back_blocks,
                              .block_tokens = layout->block_tokens,
                              .layout = layout};
    kv_tables_plain(layout, &pool->tables);
}

void kv_paged_set_tables(struct kv_paged *pool, const struct kv_tables *tables)
{
    base_require(tables->growing_tables > 0 && tables->block_tokens > 0);
    pool->tables = *tables;
    pool->block_tokens = tables->block_tokens;
}

/* Numbers of a state and lines of a ledger, whole or means. 64 bits of mantissa: whole numbers stay exact. */
struct amounts {
    long double live, sequences, used, shared, cached, empty, fragmented, loading;
    long double visible[KV_WINDOWS_MAX], dropped[KV_WINDOWS_MAX], table[KV_WINDOWS_MAX];
    long double kept_sequences, kept_visible[KV_WINDOWS_MAX];
};
struct lines {
    long double of[KV_LEDGER_LINE_COUNT];
};

// Blocks of one table over all sequences, as if none had been given back, of those whose blocks are as short as any: what is
// left when the longer ones are taken away.
static long double short_blocks(const struct kv_tables *tables, const struct amounts *amounts)
{
    long double blocks =
        amounts->used + amounts->shared - amounts->sequences * (long double)tables->state_blocks;
    for (size_t w = 0; w < tables->window_count; w++) {
        blocks +=
            (amounts->dropped[w] - amounts->table[w]) * (long double)tables->windows[w].table_count;
    }
    return blocks / (long double)(tables->growing_tables - tables->long_tables);
}

// Slots of held blocks in one table that have no token, over all sequences: the same in every table of blocks as long, since
// what a window gives back is whole blocks of tokens.
static long double empty_slots(const struct kv_tables *tables, size_t window,
                               const struct amounts *amounts)
{
    bool is_long = window < tables->window_count && kv_window_is_long(tables, window);
    long double slots =
        is_long ? amounts->table[window] * (long double)tables->windows[window].block_tokens
                : short_blocks(tables, amounts) * (long double)tables->block_tokens;
    return slots - amounts->live - amounts->empty;
}

// Of every table of cached states: what is held beside the newest one.
static long double older_states(const struct kv_tables *tables, const struct amounts *amounts)
{
    return tables->caches_states
               ? short_blocks(tables, amounts) - amounts->dropped[tables->window_count - 1] -
                     amounts->sequences - amounts->kept_sequences
               : 0;
}

static void add_group(const struct kv_tables *tables, const struct spec_kv_slot *slot,
                      const struct amounts *amounts, struct lines *out)
{
    size_t w = kv_tables_place_of(tables, slot);
    bool sees_all = w == tables->window_count;
    long double visible = sees_all ? amounts->live : amounts->visible[w];
    long double held = amounts->live, rounding = empty_slots(tables, w, amounts);
    if (!sees_all && tables->windows[w].table_count > 0) {
        held -= amounts->dropped[w] * (long double)tables->windows[w].block_tokens;
    }
    long double slot_bytes = (long double)slot->slot_bytes;
    out->of[KV_LEDGER_LOWER_BOUND] += visible * (long double)slot->lower_bound_bytes;
    out->of[KV_LEDGER_REPLICATED] += visible * (long double)slot->replicated_bytes;
    out->of[KV_LEDGER_SCALES] += visible * (long double)slot->scale_bytes;
    out->of[KV_LEDGER_OUT_OF_WINDOW] += (held - visible) * slot_bytes;
    out->of[KV_LEDGER_RESERVED] += amounts->empty * slot_bytes;
    out->of[KV_LEDGER_BLOCK_ROUNDING] += rounding * slot_bytes;
}

// A token's own bytes stand in lower_bound, replicated, scales and padded; an empty slot is all rounding. A block with two
// holders has its tokens counted twice: `shared` takes the second count back. What is left of the blocks is padding:
// places of tables without a layer, pages larger than a state.
static void fill_lines(const struct kv_paged *pool, const struct amounts *amounts,
                       struct lines *out)
{
    const struct kv_tables *tables = &pool->tables;
    long double block_bytes = (long double)tables->block_bytes;
    *out = (struct lines){{0}};
    for (size_t i = 0; i < pool->layout->group_count; i++) {
        const struct spec_kv_slot *slot = &pool->layout->groups[i];
        if (slot->kind != SPEC_KV_STATE) {
            add_group(tables, slot, amounts, out);
        } else if (tables->holds_states) {
            out->of[KV_LEDGER_LOWER_BOUND] +=
                (amounts->sequences + amounts->kept_sequences) * (long double)slot->sequence_bytes;
            out->of[KV_LEDGER_OUT_OF_WINDOW] +=
                older_states(tables, amounts) * (long double)slot->sequence_bytes;
        }
    }
    out->of[KV_LEDGER_RESERVED] +=
        amounts->sequences * (long double)tables->spare_state_blocks * block_bytes;
    long double padded = (amounts->used + amounts->shared) * block_bytes;
    for (size_t line = 0; line < KV_LEDGER_SHARED; line++) {
        padded -= out->of[line];
    }
    out->of[KV_LEDGER_PADDED] = padded;
    out->of[KV_LEDGER_SHARED] = amounts->shared * block_bytes;
    out->of[KV_LEDGER_CACHED] = amounts->cached * block_bytes;
    out->of[KV_LEDGER_FRAGMENTED] = amounts->fragmented * block_bytes;
    out->of[KV_LEDGER_HELD_BACK] =
        ((long double)pool->held_back_blocks + amounts->loading) * block_bytes;
}

// Of slots and their cells.
static void fill_cell_lines(const struct kv_paged *pool, const struct amounts *amounts,
                            struct lines *out)
{
    struct kv_cells_content content = {.live_tokens = amounts->live,
                                       .sequences = amounts->sequences,
                                       .kept_tokens = amounts->cached,
                                       .kept_sequences = amounts->kept_sequences};
    for (size_t i = 0; i < pool->layout->group_count; i++) {
        size_t w = kv_tables_window_of(&pool->tables, &pool->layout->groups[i]);
        bool sees_all = w == pool->tables.window_count;
        content.seen_tokens[i] = sees_all ? amounts->live : amounts->visible[w];
        content.kept_seen_tokens[i] = sees_all ? amounts->cached : amounts->kept_visible[w];
    }
    kv_cells_lines(pool->cells, pool->layout, &content, out->of);
    out->of[KV_LEDGER_HELD_BACK] =
        (long double)pool->held_back_blocks * (long double)pool->tables.block_bytes;
}

static void fill(const struct kv_paged *pool, const struct amounts *amounts, struct lines *out)
{
    if (pool->cells != NULL) {
        fill_cell_lines(pool, amounts, out);
    } else {
        fill_lines(pool, amounts, out);
    }
}

static void round_lines(const struct kv_paged *pool, const struct lines *lines,
                        struct kv_ledger *out)
{
    *out = (struct kv_ledger){.pool_bytes = kv_paged_pool_bytes(pool)};
    int64_t taken = 0;
    for (size_t line = 0; line < KV_LEDGER_FREE; line++) {
        int64_t bytes = llroundl(lines->of[line]);
        kv_ledger_set_line(out, line, bytes);
        taken += kv_ledger_line_sign(line) * bytes;
    }
    out->free_bytes = out->pool_bytes - taken;
}

void kv_paged_ledger(const struct kv_paged *pool, const struct kv_paged_state *state,
                     struct kv_ledger *out)
{
    // What is promised and holds no token yet; all slots of held blocks beyond promises and tokens are rounding.
    int64_t empty_tokens =
        state->promised_tokens > 0 ? state->promised_tokens - state->live_tokens : 0;
    struct amounts amounts = {.live = (long double)state->live_tokens,
                              .sequences = (long double)state->sequences,
                              .used = (long double)state->used_blocks,
                              .shared = (long double)state->shared_blocks,
                              .cached = (long double)state->cached_blocks,
                              .empty = (long double)empty_tokens,
                              .fragmented = (long double)state->fragmented_blocks,
                              .loading = (long double)state->loading_blocks,
                              .kept_sequences = (long double)state->kept_sequences};
    amounts.empty += (long double)(state->blank_blocks * pool->block_tokens);
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        amounts.visible[w] = (long double)state->visible_tokens[w];
        amounts.dropped[w] = (long double)state->dropped_blocks[w];
        amounts.table[w] = (long double)state->table_blocks[w];
        amounts.kept_visible[w] = (long double)state->kept_visible_tokens[w];
    }
    struct lines lines;
    fill(pool, &amounts, &lines);
    round_lines(pool, &lines, out);
    base_assert(kv_ledger_is_exact(out));
}

void kv_paged_mean_ledger(const struct kv_paged *pool, const struct kv_paged_means *means,
                          struct kv_ledger *out)
{
    struct amounts amounts = {
        .live = means->live_tokens,
        .sequences = means->sequences,
        .used = means->used_blocks,
        .shared = means->shared_blocks,
        .cached = means->cached_blocks,
        .empty = fmax(0, means->promised_tokens - means->live_tokens), // 0: nothing is promised
        .fragmented = means->fragmented_blocks,
        .loading = means->loading_blocks,
        .kept_sequences = means->kept_sequences};
    amounts.empty += means->blank_blocks * (double)pool->block_tokens;
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        amounts.visible[w] = means->visible_tokens[w];
        amounts.dropped[w] = means->dropped_blocks[w];
        amounts.table[w] = means->table_blocks[w];
        amounts.kept_visible[w] = means->kept_visible_tokens[w];
    }
    struct lines lines;
    fill(pool, &amounts, &lines);
    for (size_t line = 0; line < KV_LEDGER_FREE; line++) {
        lines.of[line] = fmaxl(0, lines.of[line]); // what is 0 but for the last bit of a mean
    }
    round_lines(pool, &lines, out);
}

base_i128 kv_paged_lower_bound_bytes(const struct kv_paged *pool, base_i128 live_tokens,
                                     base_i128 sequences, base_i128 kept_sequences,
                                     const base_i128 *visible_tokens)
{
    const struct kv_tables *tables = &pool->tables;
    base_i128 bytes = 0;
    sequences += pool->cells == NULL ? kept_sequences : 0;
    for (size_t i = 0; i < pool->layout->group_count; i++) {
        const struct spec_kv_slot *slot = &pool->layout->groups[i];
        size_t w = kv_tables_window_of(tables, slot);
        if (slot->kind == SPEC_KV_STATE) {
            bool is_kept_here = tables->holds_states || pool->cells != NULL;
            bytes += is_kept_here ? sequences * (int64_t)slot->sequence_bytes : 0;
        } else {
            bytes += (w < tables->window_count ? visible_tokens[w] : live_tokens) *
                     (int64_t)slot->lower_bound_bytes;
        }
    }
    return bytes;
}
