/*
 * What a request is made of: its tokens, their hash chain, its blocks, its place among the
 * waiting; and the ledger, counted anew from all of them.
 */
#include "reference/ref_int.h"

#include <stdlib.h>

int64_t ref_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t ref_request_tokens(const struct ref_request *request)
{
    return request->in->prompt_tokens + request->outputs;
}

int64_t ref_request_in_flight(const struct ref_state *state, const struct ref_request *request)
{
    int64_t tokens = 0;
    for (int64_t b = 0; b < state->in_flight_count; b++) {
        const struct ref_batch *batch = &state->in_flight[b];
        for (int64_t i = 0; i < batch->count; i++) {
            const struct ref_batch_item *item = &batch->items[i];
            if (item->request == request->index && item->life == request->life) {
                tokens += item->tokens;
            }
        }
    }
    return tokens;
}

int64_t ref_first_answer(const struct ref_input *input, int64_t index)
{
    while (input->requests[index].is_sibling) {
        index--;
    }
    return index;
}

int64_t ref_end_of_answers(const struct ref_input *input, int64_t index)
{
    do {
        index++;
    } while (index < input->request_count && input->requests[index].is_sibling);
    return index;
}

/* ---- queue ---- */

bool ref_goes_before(const struct ref_request *a, const struct ref_request *b)
{
    if (a->in->priority != b->in->priority) {
        return a->in->priority < b->in->priority;
    }
    return a->out->arrival_order != b->out->arrival_order
               ? a->out->arrival_order < b->out->arrival_order
               : a->index < b->index;
}

void ref_waiting_put(struct ref_state *state, struct ref_request *request, bool front)
{
    int64_t place = front ? 0 : state->waiting.count;
    if (state->engine->policy == REF_PRIORITY) {
        place = 0;
        while (place < state->waiting.count &&
               ref_goes_before(&state->requests[state->waiting.at[place]], request)) {
            place++;
        }
    }
    ref_list_insert(&state->waiting, place, request->index);
    request->where = REF_WAITING;
}

void ref_waiting_remove(struct ref_state *state, const struct ref_request *request)
{
    struct ref_list *list =
        ref_list_find(&state->aside, request->index) >= 0 ? &state->aside : &state->waiting;
    ref_list_remove(list, ref_list_find(list, request->index));
}

/* ---- content ---- */

/* Prompts without stated content get negative ids. */
int64_t ref_request_token(const struct ref_state *state, const struct ref_request *request,
                          int64_t position)
{
    const struct ref_request_in *in = request->in;
    if (position >= in->prompt_tokens) {
        return 1000000000 + 100000 * request->index + (position - in->prompt_tokens);
    }
    for (int64_t i = 0; i < in->range_count; i++) {
        if (position < in->ranges[i].count) {
            return in->ranges[i].first + position;
        }
        position -= in->ranges[i].count;
    }
    return -1 - position - 1000000 * (ref_first_answer(state->input, request->index) + 1);
}

void ref_request_chain(struct ref_state *state, struct ref_request *request, int64_t count)
{
    const int64_t size = state->pool.block_size;
    int64_t *tokens = ref_alloc((size_t)size, sizeof(*tokens));
    while (request->links.count < count) {
        const int64_t block = request->links.count;
        for (int64_t i = 0; i < size; i++) {
            tokens[i] = ref_request_token(state, request, block * size + i);
        }
        const int64_t parent = block > 0 ? request->links.at[block - 1] : -1;
        ref_list_push(&request->links, ref_pool_link(&state->pool, parent, tokens));
    }
    free(tokens);
}

int64_t ref_blocks_of_link(const struct ref_state *state, int64_t t)
{
    return state->pool.block_size / ref_table_size(state->engine, &state->tables[t]);
}

bool ref_caches_states(const struct ref_state *state, int64_t t)
{
    return state->engine->caches_states && state->engine->enable_prefix_caching &&
           state->tables[t].kind == REF_TABLE_STATE;
}

/* Does a block of a table keep its content when it is given back? */
static bool is_retained(const struct ref_state *state, const struct ref_request *request, int64_t t,
                        int64_t block)
{
    const struct ref_table *table = &state->tables[t];
    const bool is_state = table->kind == REF_TABLE_STATE;
    const bool slides = table->kind == REF_TABLE_SLIDING && !table->keeps_all;
    if (!state->engine->is_sparse || (!slides && !is_state)) {
        return true;
    }
    const int64_t size = ref_table_size(state->engine, table);
    const int64_t needed = is_state ? 1 : ref_ceil_div(table->window - 1, size);
    const int64_t unit = state->pool.block_size, each = unit / size;
    const int64_t replay = (request->in->prompt_tokens - 1) / unit * each;
    const int64_t junction = request->junction / size;
    return (block < replay && block >= replay - needed) ||
           (block < junction && block >= junction - needed);
}

void ref_request_hash(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    if (!state->engine->enable_prefix_caching || state->engine->kind == REF_LLAMA_CPP) {
        return;
    }
    if (state->engine->is_radix) {
        request->hashed_tokens = tokens > request->hashed_tokens ? tokens : request->hashed_tokens;
        return;
    }
    const int64_t full = tokens / state->pool.block_size;
    ref_request_chain(state, request, full);
    for (int64_t t = 0; t < state->table_count; t++) {
        const bool is_state = state->tables[t].kind == REF_TABLE_STATE;
        const int64_t each = ref_blocks_of_link(state, t);
        const int64_t kept = is_state && !ref_caches_states(state, t) ? 0 : full * each;
        for (int64_t i = request->hashed_blocks * each; i < kept; i++) {
            const int64_t block = request->blocks[t].at[i];
            if (block != REF_NO_BLOCK && is_retained(state, request, t, i)) {
                ref_pool_hash(&state->pool, block, t, request->links.at[i / each], i % each, i,
                              request->in->priority);
                if (is_state) {
                    ref_list_push(&state->new_states, request->links.at[i]);
                }
            }
        }
    }
    request->hashed_blocks = full > request->hashed_blocks ? full : request->hashed_blocks;
}

int64_t ref_free_blocks(const struct ref_state *state)
{
    if (state->engine->kind == REF_LLAMA_CPP) {
        return ref_slots_kept(state);
    }
    return state->pool.free.count + ref_tree_idle(state);
}

void ref_request_release(struct ref_state *state, struct ref_request *request, bool has_ended)
{
    if (state->engine->kind == REF_LLAMA_CPP) {
        ref_slots_leave(state, request);
        return;
    }
    if (state->engine->is_radix) {
        ref_tree_leave(state, request, has_ended);
        return;
    }
    state->pool.releases++;
    for (int64_t t = 0; t < state->table_count; t++) {
        struct ref_list *blocks = &request->blocks[t];
        ref_pool_begin_drops(&state->pool);
        while (blocks->count > 0) {
            const int64_t block = blocks->at[--blocks->count];
            if (block != REF_NO_BLOCK) {
                ref_pool_drop(&state->pool, block);
            }
        }
    }
    request->hashed_blocks = 0;
    for (int64_t t = 0; t < REF_TABLES_MAX; t++) {
        request->last_state[t] = -1;
    }
}

static int64_t factor_of(const struct ref_table *table)
{
    return table->factor > 0 ? table->factor : 1;
}

/* Bytes of a token that any factor divides. */
static int64_t common_factor(const struct ref_engine *engine)
{
    int64_t common = 1;
    for (int64_t t = 0; t < engine->table_count; t++) {
        common *= common % factor_of(&engine->tables[t]) == 0 ? 1 : factor_of(&engine->tables[t]);
    }
    return common;
}

int64_t ref_table_size(const struct ref_engine *engine, const struct ref_table *table)
{
    return engine->block_size * factor_of(table);
}

int64_t ref_period(const struct ref_engine *engine)
{
    int64_t period = engine->block_size;
    for (int64_t t = 0; t < engine->table_count;) {
        t = period % ref_table_size(engine, &engine->tables[t]) == 0 ? t + 1 : 0;
        period += t == 0 ? engine->block_size : 0;
    }
    return period;
}

int64_t ref_slot_bytes(const struct ref_engine *engine, const struct ref_table *table)
{
    return common_factor(engine) / factor_of(table);
}

int64_t ref_block_bytes(const struct ref_engine *engine)
{
    return engine->block_size * common_factor(engine);
}

int64_t ref_engine_tables(const struct ref_engine *engine, struct ref_table tables[REF_TABLES_MAX])
{
    if (engine->table_count == 0) {
        tables[0] = (struct ref_table){.kind = engine->sliding_window > 0 ? REF_TABLE_SLIDING
                                                                          : REF_TABLE_FULL,
                                       .window = engine->sliding_window};
        return 1;
    }
    for (int64_t t = 0; t < engine->table_count; t++) {
        tables[t] = engine->tables[t];
    }
    return engine->table_count;
}

/* ---- ledger ---- */

/* The tokens of a request that a query of the batches in flight, or of the next step, can see. */
static int64_t visible_tokens(const struct ref_state *state, const struct ref_table *table,
                              const struct ref_request *request)
{
    const int64_t first = request->computed - ref_request_in_flight(state, request);
    int64_t unseen = 0;
    if (table->kind == REF_TABLE_SLIDING) {
        unseen = first - (table->window - 1);
    } else if (table->kind == REF_TABLE_CHUNKED) {
        unseen = first - first % table->window;
    }
    return request->computed - (unseen > 0 ? unseen : 0);
}

/* A request that something is loaded for: its hits are there, what comes is held back. */
static void ledger_add_loading(const struct ref_state *state, int64_t t,
                               const struct ref_request *request, int64_t lines[REF_LINES])
{
    const struct ref_list *blocks = &request->blocks[t];
    const struct ref_table *table = &state->tables[t];
    const int64_t size = state->pool.block_size, hits = request->computed / size;
    int64_t held = 0, unseen = 0;
    for (int64_t i = 0; i < blocks->count; i++) {
        held += blocks->at[i] != REF_NO_BLOCK && i < hits;
        lines[REF_HELD_BACK] += blocks->at[i] != REF_NO_BLOCK && i >= hits ? size : 0;
    }
    if (table->kind == REF_TABLE_STATE) {
        return;
    }
    if (table->kind == REF_TABLE_SLIDING) {
        unseen = request->load_to - (table->window - 1);
    } else if (table->kind == REF_TABLE_CHUNKED) {
        unseen = request->load_to - request->load_to % table->window;
    }
    const int64_t seen = request->computed - (unseen > 0 ? unseen : 0);
    lines[REF_LOWER_BOUND] += seen > 0 ? seen : 0;
    lines[REF_OUT_OF_WINDOW] += held * size - (seen > 0 ? seen : 0);
}

static void ledger_add_table(const struct ref_state *state, int64_t t,
                             const struct ref_request *request, int64_t lines[REF_LINES])
{
    const struct ref_list *blocks = &request->blocks[t];
    const int64_t size = ref_table_size(state->engine, &state->tables[t]);
    const int64_t slot = ref_slot_bytes(state->engine, &state->tables[t]);
    if (request->load == REF_LOADING) {
        ledger_add_loading(state, t, request, lines);
        return;
    }
    if (state->tables[t].kind == REF_TABLE_STATE) {
        const int64_t bytes = ref_block_bytes(state->engine);
        lines[REF_LOWER_BOUND] += bytes; // a state as large as a block
        for (int64_t i = 0; i + 1 < blocks->count && ref_caches_states(state, t); i++) {
            lines[REF_OUT_OF_WINDOW] += blocks->at[i] != REF_NO_BLOCK ? bytes : 0;
        }
        return;
    }
    int64_t held = 0;
    for (int64_t i = 0; i < blocks->count; i++) {
        held += blocks->at[i] != REF_NO_BLOCK;
    }
    const int64_t there = request->computed - (blocks->count - held) * size;
    const int64_t visible = visible_tokens(state, &state->tables[t], request);
    lines[REF_LOWER_BOUND] += visible * slot;
    lines[REF_OUT_OF_WINDOW] += (there - visible) * slot;
    lines[REF_BLOCK_ROUNDING] += (held * size - there) * slot;
}

void ref_ledger_count(const struct ref_state *state, int64_t lines[REF_LINES])
{
    if (state->engine->kind == REF_ORCA) {
        ref_orca_ledger(state, lines);
        return;
    }
    if (state->engine->kind == REF_LLAMA_CPP) {
        ref_slots_ledger(state, lines);
        return;
    }
    const struct ref_pool *pool = &state->pool;
    const int64_t bytes = ref_block_bytes(state->engine);
    for (int line = 0; line < REF_LINES; line++) {
        lines[line] = 0;
    }
    for (int64_t i = 0; i < state->running.count; i++) {
        for (int64_t t = 0; t < state->table_count; t++) {
            ledger_add_table(state, t, &state->requests[state->running.at[i]], lines);
        }
    }
    for (int64_t i = 0; i < state->input->request_count; i++) {
        for (int64_t t = 0; t < state->table_count && state->requests[i].load != REF_NOT_LOADED;
             t++) {
            ledger_add_table(state, t, &state->requests[i], lines);
        }
    }
    for (int64_t i = 0; i < pool->block_count; i++) {
        const int64_t holders = pool->blocks[i].holders;
        lines[REF_SHARED] += holders > 1 ? (holders - 1) * bytes : 0;
    }
    const int64_t idle = ref_pool_idle_cached(pool);
    lines[REF_CACHED] = (idle + ref_tree_idle(state)) * bytes;
    lines[REF_FREE] = (pool->free.count - idle) * bytes;
    lines[REF_HELD_BACK] += (1 + ref_tree_pinned(state)) * bytes;
    lines[REF_POOL] = (pool->block_count + 1) * bytes;
}
