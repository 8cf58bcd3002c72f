/*
 * Chunks of several tables behind the pool, as vLLM's offloading connector looks for them: table by table, those that see
 * everything first, then by the width of their window, again and again until none finds less than the others.
 */
#include "reference/ref_int.h"

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool ref_tables_matter(const struct ref_state *state)
{
    return !state->engine->is_radix &&
           (state->table_count > 1 ||
            (state->tables[0].kind != REF_TABLE_FULL && !state->tables[0].keeps_all));
}

int64_t ref_chunk_key(const struct ref_state *state, const struct ref_request *request, int64_t t,
                      int64_t chunk)
{
    return request->links.at[(chunk + 1) * state->engine->tier.chunk_blocks - 1] * REF_TABLES_MAX +
           t;
}

/* Chunks that the next token sees; 0: all. */
static int64_t width(const struct ref_state *state, int64_t t)
{
    const struct ref_table *table = &state->tables[t];
    if (table->kind == REF_TABLE_FULL || table->keeps_all) {
        return 0;
    }
    const int64_t size = state->engine->tier.chunk_blocks * state->engine->block_size;
    return table->kind == REF_TABLE_STATE ? 1 : ref_ceil_div(table->window, size);
}

int64_t ref_tables_touched_from(const struct ref_state *state, const struct ref_request *request,
                                int64_t t)
{
    const int64_t needed = width(state, t);
    return needed > 0 ? max64(request->hit_chunks - needed, 0) : 0;
}

enum presence { NO, YES, LATER };

static enum presence there(struct ref_state *state, int64_t key, enum ref_scope scope)
{
    const struct ref_tier *tier = &state->engine->tier;
    const struct ref_chunk *host = ref_level_find(&state->tier.levels[REF_HOST], key);
    const bool prefetches = tier->prefetch != REF_PREFETCH_NONE;
    if (host != NULL) {
        if (host->is_ready || scope == REF_SCOPE_PREFETCH) {
            return YES;
        }
        return prefetches ? NO : LATER;
    }
    if (scope == REF_SCOPE_HOST || tier->count < 2 || (prefetches && scope == REF_SCOPE_ALL)) {
        return NO;
    }
    const struct ref_chunk *disk = ref_level_find(&state->tier.levels[REF_DISK], key);
    if (disk == NULL) {
        return NO;
    }
    return disk->is_ready ? YES : scope == REF_SCOPE_PREFETCH ? NO : LATER;
}

/* Chunk up to which a table finds something of [first, end), -1: it has to wait. */
static int64_t find_in_table(struct ref_state *state, const struct ref_request *request, int64_t t,
                             int64_t first, int64_t end, enum ref_scope scope)
{
    const int64_t needed = width(state, t);
    bool later = false;
    if (needed == 0) {
        int64_t i = first;
        for (; i < end; i++) {
            const enum presence what = there(state, ref_chunk_key(state, request, t, i), scope);
            if (what == NO) {
                break;
            }
            later = later || what == LATER;
        }
        return later ? -1 : i;
    }
    for (int64_t i = end - 1, run = 0; i >= first; i--) {
        const enum presence what = there(state, ref_chunk_key(state, request, t, i), scope);
        later = later || what == LATER;
        run = what == NO ? 0 : run + 1;
        if (run == needed || (i == first && run > 0)) {
            return later ? -1 : i + run;
        }
    }
    return later ? -1 : first;
}

static bool is_being_read(struct ref_state *state, const struct ref_request *request,
                          int64_t hit_tokens, int64_t to)
{
    const int64_t size = state->engine->tier.chunk_blocks * state->engine->block_size;
    for (int64_t t = 0; t < state->table_count; t++) {
        const int64_t end = ref_ceil_div(to, size), needed = width(state, t);
        for (int64_t i = hit_tokens / size; i < end; i++) {
            const struct ref_chunk *chunk =
                ref_level_find(&state->tier.levels[REF_HOST], ref_chunk_key(state, request, t, i));
            if (chunk != NULL && chunk->readers > 0 && (needed == 0 || i >= end - needed)) {
                return true;
            }
        }
    }
    return false;
}

/* Tables as they are asked: `order`; returns how many of them see everything. */
static int64_t order_tables(const struct ref_state *state, int64_t order[REF_TABLES_MAX])
{
    int64_t count = 0, full;
    for (int64_t t = 0; t < state->table_count; t++) {
        if (width(state, t) == 0) {
            order[count++] = t;
        }
    }
    full = count;
    for (int64_t needed = INT64_MAX; count < state->table_count;) {
        int64_t widest = 0;
        for (int64_t t = 0; t < state->table_count; t++) {
            widest = width(state, t) < needed ? max64(widest, width(state, t)) : widest;
        }
        for (int64_t t = 0; t < state->table_count; t++) {
            if (width(state, t) == widest) {
                order[count++] = t;
            }
        }
        needed = widest;
    }
    return full;
}

int64_t ref_tables_find(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                        enum ref_scope scope, bool *not_yet)
{
    const int64_t size = state->engine->tier.chunk_blocks * state->engine->block_size;
    const int64_t chunks = ref_request_tokens(request) / size, first = hit_tokens / size;
    int64_t order[REF_TABLES_MAX];
    const int64_t full = order_tables(state, order);
    int64_t most = ref_request_tokens(request) - (full < state->table_count ? 1 : 0);
    if (state->engine->caches_states) {
        most = most / size * size;
    }
    bool again = true, with_full = true, later = false;
    int64_t found = 0;
    *not_yet = false;
    while (again) {
        const int64_t begin = with_full ? 0 : full;
        bool window_before = false;
        again = with_full = false;
        for (int64_t n = begin; n < state->table_count; n++) {
            most = min64(most, chunks * size);
            if (most - hit_tokens < size) {
                return hit_tokens;
            }
            const int64_t end = min64(ref_ceil_div(most, size), chunks);
            const int64_t here = find_in_table(state, request, order[n], first, end, scope);
            later = later || here < 0;
            most = here < 0 ? most : min64(most, here * size);
            if (most - hit_tokens < size) {
                return hit_tokens;
            }
            if (most - hit_tokens < found && later) {
                later = false;
                again = with_full = true;
            } else if (most - hit_tokens < found && window_before) {
                again = true;
            }
            window_before = window_before || n >= full;
            found = most - hit_tokens;
        }
    }
    const bool waits = state->engine->tier.prefetch == REF_PREFETCH_NONE;
    *not_yet = later || (waits && is_being_read(state, request, hit_tokens, most));
    return most;
}

int64_t ref_tables_wanted(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                          int64_t to, struct ref_list *keys)
{
    const int64_t size = state->engine->block_size, blocks = state->engine->tier.chunk_blocks;
    const int64_t end = ref_ceil_div(to, size);
    int64_t count = 0;
    for (int64_t t = 0; t < state->table_count; t++) {
        int64_t last_chunk = -1;
        const int64_t out = ref_blocks_out_of_window(state->engine, &state->tables[t], to);
        for (int64_t i = max64(hit_tokens / size, out); i < end; i++) {
            if (i / blocks != last_chunk) {
                last_chunk = i / blocks;
                ref_list_push(keys, ref_chunk_key(state, request, t, last_chunk));
            }
            count++;
        }
    }
    return count;
}
