/*
 * llama.cpp's server, cell by cell: slots, batches, and a row of cells of which each is empty or holds one token of a slot.
 *
 * Which cells a slot's tokens lie in makes no difference but for their number, so the first empty one is taken. A window with
 * a ring is a list of the positions that it still has for each slot, filled in order: the lowest goes when it is full.
 */
#include "reference/ref_int.h"

#include <stdlib.h>

/* ---- cells ---- */

static int64_t first_cell(const struct ref_state *state, int64_t slot)
{
    const struct ref_slots *slots = &state->slots;
    return state->engine->shares_cells ? 0 : slots->cell_count / slots->count * slot;
}

static int64_t end_cell(const struct ref_state *state, int64_t slot)
{
    const struct ref_slots *slots = &state->slots;
    return state->engine->shares_cells ? slots->cell_count
                                       : slots->cell_count / slots->count * (slot + 1);
}

static int64_t tokens_in(const struct ref_state *state, int64_t slot)
{
    int64_t count = 0;
    for (int64_t i = 0; i < state->slots.cell_count; i++) {
        count += state->slots.cells[i].slot == slot;
    }
    return count;
}

static int64_t empty_cells(const struct ref_state *state)
{
    return tokens_in(state, REF_NO_SLOT);
}

/* Where the token at a position lies, or NULL. */
static const struct ref_cell *find_cell(const struct ref_state *state, int64_t slot,
                                        int64_t position)
{
    for (int64_t i = 0; i < state->slots.cell_count; i++) {
        const struct ref_cell *cell = &state->slots.cells[i];
        if (cell->slot == slot && cell->position == position) {
            return cell;
        }
    }
    return NULL;
}

static int64_t ring_room(const struct ref_state *state)
{
    const struct ref_engine *engine = state->engine;
    return engine->shares_cells ? engine->sliding_window : engine->ring_cells;
}

static void put_token(struct ref_state *state, int64_t slot, int64_t position, int64_t token)
{
    int64_t at = first_cell(state, slot);
    while (state->slots.cells[at].slot != REF_NO_SLOT) {
        at++;
        if (at == end_cell(state, slot)) {
            abort(); // there was room
        }
    }
    state->slots.cells[at] = (struct ref_cell){slot, position, token};
    if (state->engine->ring_cells == 0) {
        return;
    }
    struct ref_list *ring = &state->slots.at[slot].ring;
    ref_list_push(ring, position);
    while (ring->count > ring_room(state)) {
        ref_list_remove(ring, 0);
    }
}

/* Empties the cells of a slot from a position on. Returns how many. */
static int64_t cut(struct ref_state *state, int64_t slot, int64_t from)
{
    int64_t count = 0;
    for (int64_t i = 0; i < state->slots.cell_count; i++) {
        struct ref_cell *cell = &state->slots.cells[i];
        if (cell->slot == slot && cell->position >= from) {
            cell->slot = REF_NO_SLOT;
            count++;
        }
    }
    struct ref_list *ring = &state->slots.at[slot].ring;
    while (ring->count > 0 && ring->at[ring->count - 1] >= from) {
        ref_list_remove(ring, ring->count - 1);
    }
    return count;
}

/* ---- slots ---- */

static bool is_busy(const struct ref_state *state, int64_t slot)
{
    return state->slots.at[slot].request != REF_NO_SLOT;
}

static int64_t common_tokens(const struct ref_state *state, int64_t slot,
                             const struct ref_request *request)
{
    if (!state->engine->enable_prefix_caching) {
        return 0;
    }
    for (int64_t p = 0; p < request->in->prompt_tokens; p++) {
        const struct ref_cell *cell = find_cell(state, slot, p);
        if (cell == NULL || cell->token != ref_request_token(state, request, p)) {
            return p;
        }
    }
    return request->in->prompt_tokens;
}

/* The ring still has all that the token behind `common` sees. */
static bool ring_has(const struct ref_state *state, int64_t slot, int64_t common)
{
    const struct ref_list *ring = &state->slots.at[slot].ring;
    const int64_t window = state->engine->sliding_window;
    for (int64_t p = common > window ? common - window : 0; p < common; p++) {
        if (ref_list_find(ring, p) < 0) {
            return false;
        }
    }
    return true;
}

static int64_t reusable_tokens(const struct ref_state *state, int64_t slot,
                               const struct ref_request *request)
{
    const int64_t common = common_tokens(state, slot, request);
    const bool parts = common < tokens_in(state, slot);
    if (parts && state->engine->ring_cells > 0 && !ring_has(state, slot, common)) {
        return 0;
    }
    return common == request->in->prompt_tokens ? common - 1 : common;
}

static int64_t choose(const struct ref_state *state, const struct ref_request *request)
{
    const struct ref_engine *engine = state->engine;
    int64_t similar = REF_NO_SLOT, most = 0, oldest = REF_NO_SLOT;
    for (int64_t s = 0; s < state->slots.count; s++) {
        if (is_busy(state, s)) {
            continue;
        }
        const int64_t common = common_tokens(state, s, request);
        const bool enough =
            common * engine->similarity_den > request->in->prompt_tokens * engine->similarity_num;
        if (engine->similarity_num > 0 && enough && common > most) {
            most = common;
            similar = s;
        }
        if (oldest == REF_NO_SLOT ||
            state->slots.at[s].last_release <= state->slots.at[oldest].last_release) {
            oldest = s;
        }
    }
    return similar != REF_NO_SLOT ? similar : oldest;
}

static bool any_waits(const struct ref_state *state)
{
    for (int64_t s = 0; s < state->slots.count; s++) {
        if (!is_busy(state, s)) {
            return true;
        }
    }
    return false;
}

/* Into the running list, by slot. */
static void run(struct ref_state *state, struct ref_request *request)
{
    int64_t place = 0;
    while (place < state->running.count &&
           state->requests[state->running.at[place]].slot < request->slot) {
        place++;
    }
    ref_list_insert(&state->running, place, request->index);
    request->where = REF_RUNNING;
}

static void take_slot(struct ref_state *state, struct ref_turn *turn, struct ref_request *request)
{
    request->slot = choose(state, request);
    const int64_t found = reusable_tokens(state, request->slot, request);
    state->pool.evicted += cut(state, request->slot, found);
    state->slots.at[request->slot].request = request->index;
    request->computed = request->highest = found;
    request->out->cached_tokens = request->out->cached_tokens_total = found;
    request->out->first_scheduled_ticks = state->now;
    request->out->first_scheduled_ns = (int64_t)(state->now / REF_TICKS_PER_NS);
    if (state->engine->enable_prefix_caching) {
        state->output->totals.lookup_tokens += request->in->prompt_tokens;
    }
    ref_list_push(&turn->admitted, request->index);
    run(state, request);
}

void ref_slots_leave(struct ref_state *state, struct ref_request *request)
{
    if (request->slot == REF_NO_SLOT) {
        return;
    }
    state->slots.at[request->slot].request = REF_NO_SLOT;
    state->slots.at[request->slot].last_release = ++state->slots.releases;
    request->slot = REF_NO_SLOT;
}

static bool clear_one(struct ref_state *state)
{
    for (int64_t s = 0; s < state->slots.count; s++) {
        if (!is_busy(state, s) && tokens_in(state, s) > 0) {
            state->pool.evicted += cut(state, s, 0);
            return true;
        }
    }
    return false;
}

/* ---- the turn ---- */

static bool is_answer(const struct ref_request *request)
{
    return request->computed >= request->in->prompt_tokens;
}

/* Tokens of each running request: all answers one, then prompts in the order of their slots. */
static int64_t deal_out(const struct ref_state *state, int64_t *tokens)
{
    int64_t left = state->engine->max_num_batched_tokens, sum = 0;
    for (int64_t i = 0; i < state->running.count; i++) {
        tokens[i] = is_answer(&state->requests[state->running.at[i]]);
        left -= tokens[i];
        sum += tokens[i];
    }
    for (int64_t i = 0; i < state->running.count; i++) {
        const struct ref_request *request = &state->requests[state->running.at[i]];
        while (!is_answer(request) && left > 0 &&
               request->computed + tokens[i] < request->in->prompt_tokens) {
            tokens[i]++;
            left--;
            sum++;
        }
    }
    return sum;
}

static void add(struct ref_turn *turn, const struct ref_request *request, int64_t tokens)
{
    struct ref_batch *batch = &turn->batch;
    if (batch->count == batch->room) {
        batch->room = batch->room * 2 + 8;
        batch->items = ref_resize(batch->items, (size_t)batch->room, sizeof(*batch->items));
    }
    batch->items[batch->count++] =
        (struct ref_batch_item){.request = request->index, .tokens = tokens, .life = request->life};
}

/* Nobody who is served comes back. */
static void fail(struct ref_state *state, struct ref_turn *turn)
{
    while (state->running.count > 0) {
        struct ref_request *request = &state->requests[state->running.at[0]];
        ref_list_remove(&state->running, 0);
        ref_list_push(&turn->failed, request->index);
        ref_slots_leave(state, request);
        request->where = REF_OVER;
    }
    while (clear_one(state)) {
    }
}

void ref_slots_decide(struct ref_state *state, struct ref_turn *turn)
{
    *turn = (struct ref_turn){0};
    while (state->waiting.count > 0 && any_waits(state)) {
        struct ref_request *head = &state->requests[state->waiting.at[0]];
        ref_list_remove(&state->waiting, 0);
        take_slot(state, turn, head);
    }
    int64_t *tokens = ref_alloc((size_t)state->running.count + 1, sizeof(*tokens));
    const int64_t all = deal_out(state, tokens);
    bool fits = !state->engine->shares_cells || all <= empty_cells(state);
    while (!fits && clear_one(state)) {
        fits = all <= empty_cells(state);
    }
    if (!fits) {
        fail(state, turn);
    }
    for (int64_t i = 0; i < state->running.count; i++) {
        const struct ref_request *request = &state->requests[state->running.at[i]];
        for (int64_t t = 0; t < tokens[i]; t++) {
            const int64_t position = request->computed + t;
            put_token(state, request->slot, position, ref_request_token(state, request, position));
        }
        if (tokens[i] > 0) {
            add(turn, request, tokens[i]);
        }
    }
    free(tokens);
}

/* ---- passes ---- */

struct passes {
    const struct ref_input *input;
    struct ref_shape shape; /* of the pass that is being filled */
    int64_t ticks;
};

static void end_pass(struct passes *passes)
{
    if (passes->shape.scheduled_tokens > 0) {
        passes->ticks += ref_step_ticks(passes->input, &passes->shape);
    }
    passes->shape = (struct ref_shape){0};
}

/* One token at a time; a sequence's context is counted in each pass that it has a token in. */
static void add_tokens(const struct ref_state *state, const struct ref_batch_item *item,
                       struct passes *passes)
{
    const struct ref_request *request = &state->requests[item->request];
    const int64_t before = request->computed - item->tokens;
    const int64_t limit = state->engine->pass_tokens;
    bool is_new = true;
    for (int64_t t = 1; t <= item->tokens; t++) {
        if (limit > 0 && passes->shape.scheduled_tokens == limit) {
            end_pass(passes);
            is_new = true;
        }
        passes->shape.context_tokens += is_new ? before + t : 1;
        passes->shape.scheduled_tokens++;
        if (before >= request->in->prompt_tokens) {
            passes->shape.decode_seqs++;
        } else {
            passes->shape.prefill_tokens++;
        }
        is_new = false;
    }
}

int64_t ref_slots_ticks(const struct ref_state *state, const struct ref_batch *batch)
{
    struct passes passes = {.input = state->input};
    for (int answers = 1; answers >= 0; answers--) {
        for (int64_t i = 0; i < batch->count; i++) {
            const struct ref_batch_item *item = &batch->items[i];
            const struct ref_request *request = &state->requests[item->request];
            const bool is_one = request->computed - item->tokens >= request->in->prompt_tokens;
            if (is_one == (answers == 1)) {
                add_tokens(state, item, &passes);
            }
        }
        if (!state->engine->shares_cells && state->engine->pass_tokens > 0) {
            end_pass(&passes);
        }
    }
    end_pass(&passes);
    return passes.ticks;
}

/* ---- the ledger ---- */

int64_t ref_slots_kept(const struct ref_state *state)
{
    int64_t kept = 0;
    for (int64_t s = 0; s < state->slots.count; s++) {
        kept += is_busy(state, s) ? 0 : tokens_in(state, s);
    }
    return kept;
}

/* Layers that see everything, and where there is a window as many that have it; a byte a token each. */
void ref_slots_ledger(const struct ref_state *state, int64_t lines[REF_LINES])
{
    const struct ref_engine *engine = state->engine;
    const int64_t window = engine->sliding_window,
                  streams = engine->shares_cells ? 1 : state->slots.count;
    for (int line = 0; line < REF_LINES; line++) {
        lines[line] = 0;
    }
    for (int64_t s = 0; s < state->slots.count; s++) {
        const int64_t tokens = tokens_in(state, s), seen = tokens < window ? tokens : window;
        const int64_t held = engine->ring_cells > 0 || window == 0 ? seen : tokens;
        if (is_busy(state, s)) {
            lines[REF_LOWER_BOUND] += tokens + seen;
            lines[REF_OUT_OF_WINDOW] += held - seen;
        } else {
            lines[REF_CACHED] += tokens + held;
        }
    }
    lines[REF_POOL] = state->slots.cell_count;
    if (window > 0) {
        lines[REF_POOL] +=
            engine->ring_cells > 0 ? engine->ring_cells * streams : state->slots.cell_count;
    }
    lines[REF_RESERVED] =
        lines[REF_POOL] - lines[REF_LOWER_BOUND] - lines[REF_OUT_OF_WINDOW] - lines[REF_CACHED];
}

/* ---- begin and end ---- */

void ref_slots_begin(struct ref_state *state)
{
    struct ref_slots *slots = &state->slots;
    slots->count = state->engine->kind == REF_LLAMA_CPP ? state->engine->max_num_seqs : 0;
    slots->cell_count = slots->count > 0 ? state->engine->num_blocks : 0;
    slots->at = ref_alloc((size_t)slots->count + 1, sizeof(*slots->at));
    slots->cells = ref_alloc((size_t)slots->cell_count + 1, sizeof(*slots->cells));
    for (int64_t i = 0; i < slots->cell_count; i++) {
        slots->cells[i].slot = REF_NO_SLOT;
    }
    for (int64_t s = 0; s < slots->count; s++) {
        slots->at[s].request = REF_NO_SLOT;
    }
}

void ref_slots_release(struct ref_state *state)
{
    for (int64_t s = 0; s < state->slots.count; s++) {
        ref_list_free(&state->slots.at[s].ring);
    }
    free(state->slots.at);
    free(state->slots.cells);
}
