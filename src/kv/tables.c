#include "kv/tables.h"

static int64_t div_up(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

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

// The tables that these pages give to a kind of layers; 0 where they make no difference between kinds.
static int64_t tables_of_window(const struct kv_pages *pages, const struct kv_window *window)
{
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        if (kind->kind == window->kind && kind->window_tokens == window->tokens) {
            return kind->table_count;
        }
    }
    return 0;
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
    for (size_t i = 0; i < tables->window_count; i++) {
        if (tables->windows[i].tokens == slot->window_tokens) {
            base_fail(err, KVSIM_ERR_SCENARIO,
                      "sliding and chunked layers of the same %u tokens are not told apart",
                      slot->window_tokens);
            return KVSIM_ERR_SCENARIO;
        }
    }
    if (tables->window_count == KV_WINDOWS_MAX) {
        return too_many_windows(err);
    }
    struct kv_window *window = &tables->windows[tables->window_count++];
    *window = (struct kv_window){.kind = slot->kind, .tokens = slot->window_tokens};
    window->table_count = tables_of_window(pages, window);
    return KVSIM_OK;
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
            tables->growing_tables += kind->table_count;
            tables->full_tables += kind->kind == SPEC_KV_FULL ? kind->table_count : 0;
        }
    }
    tables->holds_states = tables->state_blocks > 0;
}

// A running pool counts all tables by one length of block.
static enum kvsim_status check_blocks(const struct kv_pages *pages, struct kvsim_error *err)
{
    for (size_t i = 0; i < pages->kind_count; i++) {
        if (pages->kinds[i].block_tokens == pages->block_tokens)
            continue;
        base_fail(err, KVSIM_ERR_SCENARIO,
                  "layers with blocks of %u and of %u tokens are not simulated in one pool; "
                  "kvsim size knows them",
                  pages->block_tokens, pages->kinds[i].block_tokens);
        base_error_code(err, "unequal-pages");
        return KVSIM_ERR_SCENARIO;
    }
    return KVSIM_OK;
}

enum kvsim_status kv_tables_make(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                                 struct kv_tables *out, struct kvsim_error *err)
{
    *out = (struct kv_tables){.block_tokens = pages->block_tokens,
                              .block_bytes = (int64_t)pages->block_bytes};
    enum kvsim_status status = check_blocks(pages, err);
    for (size_t i = 0; status == KVSIM_OK && i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        if (is_windowed(slot) && kv_tables_window_of(out, slot) == out->window_count) {
            status = add_window(slot, pages, out, err);
        }
    }
    count_tables(pages, out);
    return status;
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
        (struct kv_window){SPEC_KV_STATE, LAST_TOKEN_AND_NEXT, count};
    tables->growing_tables += count;
    tables->state_blocks = tables->spare_state_blocks = 0;
    tables->caches_states = true;
    return KVSIM_OK;
}

void kv_tables_plain(const struct spec_kv_layout *layout, struct kv_tables *out)
{
    *out = (struct kv_tables){.block_tokens = layout->block_tokens,
                              .block_bytes = (int64_t)layout->block_bytes,
                              .growing_tables = 1,
                              .full_tables = 1};
}

int64_t kv_window_admission_cap(const struct kv_window *window, int64_t extra_tokens,
                                int64_t longest_tokens, int64_t block_tokens)
{
    bool slides = window->kind == SPEC_KV_SLIDING;
    int64_t own = window->tokens - (slides ? 1 : 0);
    // Without a budget the extra tokens are next to INT64_MAX.
    int64_t most = extra_tokens < longest_tokens - own ? own + extra_tokens : longest_tokens;
    // A sliding window may begin inside a block.
    return div_up(most, block_tokens) + (slides ? 1 : 0);
}
