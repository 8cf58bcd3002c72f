#include "kv/tables.h"

#include "base/count.h"

enum { PERIOD_TOKENS_MAX = 1 << 16 }; /* of blocks of several lengths */

static bool is_windowed(const struct spec_kv_slot *slot)
{
    return (slot->kind == SPEC_KV_SLIDING || slot->kind == SPEC_KV_CHUNKED) &&
           slot->window_tokens > 0;
}

size_t kv_tables_window_of(const struct kv_tables *tables, const struct spec_kv_slot *slot)
{
    size_t i = is_windowed(slot) ? 0 : tables->window_count;
    while (i < tables->window_count && (tables->windows[i].kind != slot->kind ||
                                        tables->windows[i].tokens != slot->window_tokens)) {
        i++;
    }
    return i;
}

size_t kv_tables_place_of(const struct kv_tables *tables, const struct spec_kv_slot *slot)
{
    enum spec_kv_kind kind = is_windowed(slot) ? slot->kind : SPEC_KV_FULL;
    int64_t tokens = is_windowed(slot) ? slot->window_tokens : KV_SEES_EVERYTHING;
    size_t i = 0;
    while (i < tables->window_count &&
           (tables->windows[i].kind != kind || tables->windows[i].tokens != tokens ||
            tables->windows[i].slot_bytes != (int64_t)slot->layer_slot_bytes_per_gpu)) {
        i++;
    }
    return i < tables->window_count ? i : kv_tables_window_of(tables, slot);
}

// The pages of layers that keep tokens and see this much, of the kind in which this group lies.
static const struct kv_pages_kind *pages_of(const struct kv_pages *pages,
                                            const struct spec_kv_slot *slot)
{
    const struct kv_pages_kind *kind = kv_pages_kind_of(pages, slot);
    bool is_theirs = kind->kind == slot->kind && kind->window_tokens == slot->window_tokens;
    return is_theirs ? kind : NULL; // NULL: these pages make no difference between kinds
}

static enum kvsim_status too_many_windows(struct kvsim_error *err)
{
    base_fail(err, KVSIM_ERR_SCENARIO, "the model has more than %d different windows",
              KV_WINDOWS_MAX);
    return KVSIM_ERR_SCENARIO;
}

static enum kvsim_status add_window(const struct spec_kv_slot *slot, const struct kv_pages *pages,
                                    struct kv_tables *tables, struct kvsim_error *err)
{
    bool is_window = is_windowed(slot);
    for (size_t i = 0; i < tables->window_count; i++) {
        const struct kv_window *other = &tables->windows[i];
        if (is_window && other->tokens == slot->window_tokens && other->kind != slot->kind) {
            base_fail(err, KVSIM_ERR_SCENARIO,
                      "sliding and chunked layers of the same %u tokens are not told apart",
                      slot->window_tokens);
            return KVSIM_ERR_SCENARIO;
        }
    }
    if (tables->window_count == KV_WINDOWS_MAX) {
        return too_many_windows(err);
    }
    const struct kv_pages_kind *kind = pages_of(pages, slot);
    tables->windows[tables->window_count++] =
        (struct kv_window){.kind = is_window ? slot->kind : SPEC_KV_FULL,
                           .tokens = is_window ? slot->window_tokens : KV_SEES_EVERYTHING,
                           .table_count = kind != NULL ? kind->table_count : 0,
                           .block_tokens = kind != NULL ? kind->block_tokens : pages->block_tokens,
                           .slot_bytes = (int64_t)slot->layer_slot_bytes_per_gpu};
    return KVSIM_OK;
}

// Tables of their own that no window stands for yet: of longer blocks, or of layers that see no more than others do and whose
// tokens take other bytes.
static bool has_own_tables(const struct kv_tables *tables, const struct kv_pages *pages,
                           const struct spec_kv_slot *slot)
{
    const struct kv_pages_kind *kind = pages->is_hybrid ? pages_of(pages, slot) : NULL;
    if (kind == NULL || slot->kind == SPEC_KV_STATE || slot->kind == SPEC_KV_INDEX) {
        return false;
    }
    size_t w = kv_tables_place_of(tables, slot);
    bool is_there = w < tables->window_count &&
                    tables->windows[w].slot_bytes == (int64_t)slot->layer_slot_bytes_per_gpu;
    return !is_there && (is_windowed(slot) || kind->block_tokens != pages->block_tokens);
}

// What is seen comes first, in the order in which it is priced.
static enum kvsim_status add_windows(const struct spec_kv_layout *layout,
                                     const struct kv_pages *pages, struct kv_tables *tables,
                                     struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; status == KVSIM_OK && i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (is_windowed(slot) && kv_tables_window_of(tables, slot) == tables->window_count) {
            status = add_window(slot, pages, tables, err);
        }
    }
    for (size_t i = 0; status == KVSIM_OK && i < layout->group_count; i++) {
        if (has_own_tables(tables, pages, &layout->groups[i])) {
            status = add_window(&layout->groups[i], pages, tables, err);
        }
    }
    return status;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t larger = a, smaller = b;
    while (smaller != 0) {
        int64_t rest = larger % smaller;
        larger = smaller;
        smaller = rest;
    }
    return a / larger * b;
}

static void count_tables(const struct kv_pages *pages, struct kv_tables *tables)
{
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        if (kind->kind == SPEC_KV_STATE) {
            int64_t blocks = (int64_t)kind->table_count * pages->state_blocks_per_sequence;
            tables->state_blocks += blocks;
            tables->spare_state_blocks += blocks - kind->table_count;
        } else {
            bool is_long = kind->block_tokens != pages->block_tokens;
            tables->growing_tables += kind->table_count;
            tables->long_tables += is_long ? kind->table_count : 0;
            tables->full_tables += kind->kind == SPEC_KV_FULL && !is_long ? kind->table_count : 0;
            tables->period_tokens = common_multiple(tables->period_tokens, kind->block_tokens);
        }
    }
    tables->holds_states = tables->state_blocks > 0;
}

// The rhythm in which tables grow is kept step by step.
static enum kvsim_status check_period(const struct kv_tables *tables, struct kvsim_error *err)
{
    if (tables->long_tables == 0 || tables->period_tokens <= PERIOD_TOKENS_MAX) {
        return KVSIM_OK;
    }
    base_fail(err, KVSIM_ERR_SCENARIO,
              "layers whose blocks begin together every %lld tokens only, more than %d, are not "
              "simulated in one pool; kvsim size knows them",
              (long long)tables->period_tokens, PERIOD_TOKENS_MAX);
    base_error_code(err, "unequal-pages");
    return KVSIM_ERR_SCENARIO;
}

enum kvsim_status kv_tables_make(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                                 struct kv_tables *out, struct kvsim_error *err)
{
    *out = (struct kv_tables){.block_tokens = pages->block_tokens,
                              .block_bytes = (int64_t)pages->block_bytes,
                              .period_tokens = pages->block_tokens};
    count_tables(pages, out);
    enum kvsim_status status = check_period(out, err);
    return status == KVSIM_OK ? add_windows(layout, pages, out, err) : status;
}

enum kvsim_status kv_tables_cache_states(struct kv_tables *tables, struct kvsim_error *err)
{
    enum { LAST_TOKEN_AND_NEXT = 2 };
    base_require(tables->holds_states && !tables->caches_states);
    if (tables->window_count == KV_WINDOWS_MAX) {
        return too_many_windows(err);
    }
    int64_t count = tables->state_blocks - tables->spare_state_blocks;
    tables->windows[tables->window_count++] =
        (struct kv_window){.kind = SPEC_KV_STATE,
                           .tokens = LAST_TOKEN_AND_NEXT,
                           .table_count = count,
                           .block_tokens = tables->block_tokens};
    tables->growing_tables += count;
    tables->state_blocks = tables->spare_state_blocks = 0;
    tables->caches_states = true;
    return KVSIM_OK;
}

void kv_tables_plain(const struct spec_kv_layout *layout, struct kv_tables *out)
{
    *out = (struct kv_tables){.block_tokens = layout->block_tokens,
                              .block_bytes = (int64_t)layout->block_bytes,
                              .period_tokens = layout->block_tokens,
                              .growing_tables = 1,
                              .full_tables = 1};
}

int64_t kv_tables_blocks(const struct kv_tables *tables, int64_t tokens)
{
    int64_t short_tables = tables->growing_tables - tables->long_tables;
    int64_t blocks = short_tables * base_div_up(tokens, tables->block_tokens);
    for (size_t w = 0; tables->long_tables > 0 && w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        blocks += kv_window_is_long(tables, w)
                      ? window->table_count * base_div_up(tokens, window->block_tokens)
                      : 0;
    }
    return blocks;
}

int64_t kv_tables_blocks_of_period(const struct kv_tables *tables)
{
    return kv_tables_blocks(tables, tables->period_tokens);
}

int64_t kv_window_admission_cap(const struct kv_window *window, int64_t extra_tokens,
                                int64_t longest_tokens)
{
    if (window->kind == SPEC_KV_FULL) {
        return base_div_up(longest_tokens, window->block_tokens);
    }
    bool slides = window->kind == SPEC_KV_SLIDING;
    int64_t own = window->tokens - (slides ? 1 : 0);
    // Without a budget the extra tokens are next to INT64_MAX.
    int64_t most = extra_tokens < longest_tokens - own ? own + extra_tokens : longest_tokens;
    // A sliding window may begin inside a block.
    return base_div_up(most, window->block_tokens) + (slides ? 1 : 0);
}
