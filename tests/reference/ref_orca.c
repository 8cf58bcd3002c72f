/*
 * One scheduling turn of Orca and of FasterTransformer: everyone who runs has a token, then waiting ones from the head, whole,
 * as long as there are seats and each has the memory for all it will ever hold. Memory is a row of blocks, looked at one by
 * one.
 */
#include "reference/ref_int.h"

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t power_from(int64_t value)
{
    int64_t power = 1;
    while (power < value) {
        power *= 2;
    }
    return power;
}

/* ---- memory ---- */

static bool reserves(const struct ref_engine *engine)
{
    return engine->reservation == REF_RESERVE_MAX || engine->reservation == REF_RESERVE_POW2 ||
           engine->reservation == REF_RESERVE_EXACT;
}

/* The answer as it will be, and as it may become. */
static int64_t promised_tokens(const struct ref_engine *engine, const struct ref_request *request)
{
    const struct ref_request_in *in = request->in;
    const int64_t longest = engine->max_model_len;
    const int64_t answer = min64(in->output_tokens, in->max_tokens);
    switch (engine->reservation) {
    case REF_RESERVE_MAX:
        return longest;
    case REF_RESERVE_POW2:
        return min64(in->prompt_tokens + power_from(min64(answer, longest - in->prompt_tokens)),
                     longest);
    case REF_RESERVE_EXACT:
        return min64(in->prompt_tokens + answer, longest);
    case REF_GROW:
        return min64(in->prompt_tokens + in->max_tokens, longest);
    case REF_DOUBLE:
        return min64(power_from(min64(in->prompt_tokens + in->max_tokens, longest)), longest);
    default:
        return 0;
    }
}

static bool is_free(const struct ref_state *state, int64_t first, int64_t count)
{
    if (first + count > state->pool.block_count) {
        return false;
    }
    for (int64_t i = first; i < first + count; i++) {
        if (state->pool.blocks[i].holders > 0) {
            return false;
        }
    }
    return true;
}

/* A free hole of at least `count` blocks: the lowest, or the shortest. */
static int64_t find_hole(const struct ref_state *state, int64_t count, bool shortest)
{
    int64_t found = -1, length = INT64_MAX;
    for (int64_t first = 0; first < state->pool.block_count; first++) {
        if (!is_free(state, first, 1) || (first > 0 && is_free(state, first - 1, 1))) {
            continue;
        }
        int64_t here = 1;
        while (is_free(state, first + here, 1)) {
            here++;
        }
        if (here >= count && here < length) {
            found = first;
            length = here;
        }
        if (found >= 0 && !shortest) {
            return found;
        }
    }
    return found;
}

/* The lowest of the smallest free buddies; one whose other half is free too is part of a larger one. */
static int64_t find_buddy(const struct ref_state *state, int64_t count)
{
    for (int64_t size = power_from(count); size <= state->pool.block_count; size *= 2) {
        for (int64_t first = 0; first < state->pool.block_count; first += size) {
            if (is_free(state, first, size) &&
                !is_free(state, first / (2 * size) * (2 * size), 2 * size)) {
                return first;
            }
        }
    }
    return -1;
}

/* Where a reservation would begin, -1 = nowhere; with blocks that lie anywhere it is 0. */
static int64_t find_place(const struct ref_state *state, int64_t blocks)
{
    switch (state->engine->allocator) {
    case REF_ALLOC_FIRST_FIT:
        return find_hole(state, blocks, false);
    case REF_ALLOC_BEST_FIT:
        return find_hole(state, blocks, true);
    case REF_ALLOC_BUDDY:
        return find_buddy(state, blocks);
    default:
        return blocks <= state->pool.free.count ? 0 : -1;
    }
}

static int64_t blocks_of(const struct ref_state *state, int64_t tokens)
{
    return ref_ceil_div(tokens, state->engine->block_size);
}

/* Blocks that running requests will hold when all have become as long as they may. */
static int64_t blocks_at_the_end(const struct ref_state *state)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < state->running.count; i++) {
        const struct ref_request *request = &state->requests[state->running.at[i]];
        sum += blocks_of(state, promised_tokens(state->engine, request));
    }
    return sum;
}

static bool has_place(const struct ref_state *state, const struct ref_request *request)
{
    const int64_t blocks = blocks_of(state, promised_tokens(state->engine, request));
    if (reserves(state->engine)) {
        return find_place(state, blocks) >= 0 ||
               (state->engine->compacts && blocks <= state->pool.free.count);
    }
    return blocks + blocks_at_the_end(state) <= state->pool.block_count;
}

static void take_block(struct ref_state *state, struct ref_request *request, int64_t block)
{
    ref_pool_touch(&state->pool, block, 0);
    ref_list_push(&request->blocks[0], block);
}

/* The running request that holds a block, or NULL. */
static struct ref_request *holder_of(const struct ref_state *state, int64_t block)
{
    for (int64_t i = 0; i < state->running.count; i++) {
        struct ref_request *request = &state->requests[state->running.at[i]];
        if (ref_list_find(&request->blocks[0], block) >= 0) {
            return request;
        }
    }
    return NULL;
}

/* Moves a reservation to begin at `to`. Returns its length. */
static int64_t slide(struct ref_state *state, struct ref_turn *turn, struct ref_request *request,
                     int64_t to)
{
    const int64_t length = request->blocks[0].count;
    turn->moved_tokens += request->blocks[0].at[0] != to ? request->computed : 0;
    while (request->blocks[0].count > 0) {
        ref_pool_begin_drops(&state->pool);
        ref_pool_drop(&state->pool, request->blocks[0].at[--request->blocks[0].count]);
    }
    for (int64_t i = 0; i < length; i++) {
        take_block(state, request, to + i);
    }
    return length;
}

static void compact(struct ref_state *state, struct ref_turn *turn, int64_t blocks)
{
    int64_t end = 0;
    for (int64_t block = 0; block < state->pool.block_count; block++) {
        struct ref_request *request = holder_of(state, block);
        if (request == NULL) {
            continue;
        }
        if (block - end >= blocks) {
            return;
        }
        end += slide(state, turn, request, end);
        block = end - 1;
    }
}

static void reserve(struct ref_state *state, struct ref_turn *turn, struct ref_request *request)
{
    int64_t blocks = blocks_of(state, promised_tokens(state->engine, request));
    if (state->engine->compacts && find_place(state, blocks) < 0) {
        compact(state, turn, blocks);
    }
    const int64_t first = find_place(state, blocks);
    if (state->engine->allocator == REF_ALLOC_BUDDY) {
        blocks = power_from(blocks);
    }
    for (int64_t i = 0; i < blocks; i++) {
        const bool anywhere = state->engine->allocator == REF_ALLOC_BLOCKS;
        take_block(state, request, anywhere ? state->pool.free.at[0] : first + i);
    }
}

static void grow(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    int64_t slots = request->computed + tokens;
    if (state->engine->reservation == REF_DOUBLE) {
        slots = min64(power_from(slots), state->engine->max_model_len);
    }
    while (request->blocks[0].count * state->engine->block_size < slots) {
        take_block(state, request, state->pool.free.at[0]);
    }
}

/* ---- the turn ---- */

static void add(struct ref_state *state, struct ref_turn *turn, struct ref_request *request,
                int64_t tokens)
{
    struct ref_batch *batch = &turn->batch;
    if (state->engine->reservation == REF_GROW || state->engine->reservation == REF_DOUBLE) {
        grow(state, request, tokens);
    }
    if (batch->count == batch->room) {
        batch->room = batch->room * 2 + 8;
        batch->items = ref_resize(batch->items, (size_t)batch->room, sizeof(*batch->items));
    }
    batch->items[batch->count++] =
        (struct ref_batch_item){.request = request->index, .tokens = tokens, .life = request->life};
}

/* Its token in flight is its last. */
static bool is_drained(const struct ref_state *state, const struct ref_request *request)
{
    const int64_t longest =
        min64(request->in->prompt_tokens + request->in->max_tokens, state->engine->max_model_len);
    return ref_request_tokens(request) + request->placeholders >= longest;
}

static void schedule_running(struct ref_state *state, struct ref_turn *turn)
{
    for (int64_t i = 0; i < state->running.count; i++) {
        struct ref_request *request = &state->requests[state->running.at[i]];
        if (!is_drained(state, request)) {
            const int64_t known = ref_request_tokens(request) + request->placeholders;
            add(state, turn, request, known - request->computed);
        }
    }
}

static void admit(struct ref_state *state, struct ref_turn *turn, struct ref_request *request)
{
    if (reserves(state->engine)) {
        reserve(state, turn, request);
    }
    ref_list_remove(&state->waiting, 0);
    request->where = REF_RUNNING;
    ref_list_push(&state->running, request->index);
    ref_list_push(&turn->admitted, request->index);
    add(state, turn, request, ref_request_tokens(request));
}

void ref_orca_decide(struct ref_state *state, struct ref_turn *turn)
{
    *turn = (struct ref_turn){0};
    const bool is_closed = state->engine->is_static && state->running.count > 0;
    schedule_running(state, turn);
    while (state->waiting.count > 0 && !is_closed &&
           state->running.count < state->engine->max_num_seqs) {
        struct ref_request *head = &state->requests[state->waiting.at[0]];
        if (!has_place(state, head)) {
            break;
        }
        admit(state, turn, head);
    }
    const bool is_contiguous = reserves(state->engine) && !state->engine->compacts &&
                               state->engine->allocator != REF_ALLOC_BLOCKS;
    const bool is_stopped =
        state->waiting.count > 0 && !has_place(state, &state->requests[state->waiting.at[0]]);
    state->fragmented_blocks = is_contiguous && is_stopped ? state->pool.free.count : 0;
}

/* ---- the ledger ---- */

void ref_orca_ledger(const struct ref_state *state, int64_t lines[REF_LINES])
{
    const int64_t size = state->engine->block_size;
    for (int line = 0; line < REF_LINES; line++) {
        lines[line] = 0;
    }
    for (int64_t i = 0; i < state->running.count; i++) {
        const struct ref_request *request = &state->requests[state->running.at[i]];
        int64_t kept = request->computed;
        if (reserves(state->engine)) {
            kept = promised_tokens(state->engine, request);
        } else if (state->engine->reservation == REF_DOUBLE) {
            kept = request->blocks[0].count;
        }
        lines[REF_LOWER_BOUND] += request->computed;
        lines[REF_RESERVED] += kept - request->computed;
        lines[REF_BLOCK_ROUNDING] += request->blocks[0].count * size - kept;
    }
    lines[REF_FRAGMENTED] = state->fragmented_blocks * size;
    lines[REF_FREE] = state->pool.free.count * size - lines[REF_FRAGMENTED];
    lines[REF_POOL] = state->pool.block_count * size;
}

/* The longest sequence, in the memory that it would take. */
bool ref_orca_can_start(const struct ref_engine *engine)
{
    const int64_t blocks = ref_ceil_div(engine->max_model_len, engine->block_size);
    if (!reserves(engine) || engine->allocator != REF_ALLOC_BUDDY) {
        return blocks <= engine->num_blocks || engine->reservation == REF_KEEP_NOTHING;
    }
    return power_from(blocks) <= engine->num_blocks;
}
