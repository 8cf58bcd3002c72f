/*
 * One scheduling turn of vLLM V1: running requests in list order first, then, unless somebody was
 * thrown out, waiting ones from the head.
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

static void turn_add(struct ref_turn *turn, const struct ref_request *request, int64_t tokens)
{
    struct ref_batch *batch = &turn->batch;
    if (batch->count == batch->room) {
        batch->room = batch->room * 2 + 8;
        batch->items = ref_resize(batch->items, (size_t)batch->room, sizeof(*batch->items));
    }
    batch->items[batch->count++] =
        (struct ref_batch_item){.request = request->index, .tokens = tokens, .life = request->life};
    turn->budget -= tokens;
}

/* Takes a request out of the batch again. Returns its tokens, or 0 if it was not in it. */
static int64_t turn_remove(struct ref_turn *turn, const struct ref_request *request)
{
    struct ref_batch *batch = &turn->batch;
    for (int64_t i = 0; i < batch->count; i++) {
        if (batch->items[i].request == request->index) {
            const int64_t tokens = batch->items[i].tokens;
            batch->count--;
            for (; i < batch->count; i++) {
                batch->items[i] = batch->items[i + 1];
            }
            return tokens;
        }
    }
    return 0;
}

static int64_t cap_chunk(const struct ref_engine *engine, int64_t tokens)
{
    const int64_t threshold = engine->long_prefill_token_threshold;
    return threshold > 0 ? min64(tokens, threshold) : tokens;
}

/*
 * Where a chunk of `tokens` from `start` on is to end so that states lie at block borders: a chunk that does not reach the end
 * of what is known ends at one (or nowhere), unless no step is wide enough for a block; one that begins inside a block ends with
 * it; and none passes over the last border, or over the junction of a text that others have.
 */
static int64_t end_at_border(const struct ref_engine *engine, const struct ref_request *request,
                             int64_t start, int64_t tokens)
{
    const int64_t size = engine->block_size, known = ref_request_tokens(request);
    const int64_t prefill_end = max64(request->in->prompt_tokens, known - 1);
    if (!engine->caches_states || !engine->enable_prefix_caching || start >= prefill_end) {
        return tokens;
    }
    int64_t end = start + tokens;
    if (end < prefill_end) {
        const int64_t widest = cap_chunk(engine, engine->max_num_batched_tokens);
        const int64_t aligned = end - end % size;
        end = aligned > start || size <= widest ? aligned : end;
    }
    const int64_t stops[] = {start % size != 0 ? (start / size + 1) * size : 0,
                             known - known % size,
                             start < request->junction && request->junction < end
                                 ? start + (request->junction - start) / size * size
                                 : 0};
    int64_t least = end;
    for (int i = 0; i < 3; i++) {
        least = stops[i] > start && stops[i] < least ? stops[i] : least;
    }
    return max64(least - start, 0);
}

/* ---- windows ---- */

/* Leading blocks of a table that no token from position `computed` on can see. */
int64_t ref_blocks_out_of_window(const struct ref_engine *engine, const struct ref_table *table,
                                 int64_t computed)
{
    if (table->kind == REF_TABLE_STATE && engine->caches_states) {
        return computed > 0 ? (computed - 1) / engine->block_size : 0;
    }
    if (table->keeps_all) {
        return 0;
    }
    const int64_t size = ref_table_size(engine, table);
    if (table->kind == REF_TABLE_SLIDING) {
        return max64(computed - table->window + 1, 0) / size;
    }
    if (table->kind == REF_TABLE_CHUNKED) {
        return (computed - computed % table->window) / size;
    }
    return 0;
}

/* Frees what left the windows, table by table, from the newest of those blocks down. */
static void drop_out_of_window(struct ref_state *state, struct ref_request *request)
{
    const int64_t processed = request->computed - ref_request_in_flight(state, request);
    state->pool.releases++;
    for (int64_t t = 0; t < state->table_count; t++) {
        struct ref_list *blocks = &request->blocks[t];
        const int64_t out = ref_blocks_out_of_window(state->engine, &state->tables[t], processed);
        ref_pool_begin_drops(&state->pool);
        for (int64_t i = out - 1; i >= 0 && blocks->at[i] != REF_NO_BLOCK; i--) {
            ref_pool_drop(&state->pool, blocks->at[i]);
            blocks->at[i] = REF_NO_BLOCK;
        }
        // States of a prompt have gaps between them: the one before the newest is remembered by its place.
        const int64_t last = request->last_state[t];
        if (ref_caches_states(state, t) && last >= 0 &&
            last < ref_ceil_div(processed, state->engine->block_size) - 1 &&
            blocks->at[last] != REF_NO_BLOCK) {
            ref_pool_begin_drops(&state->pool);
            ref_pool_drop(&state->pool, blocks->at[last]);
            blocks->at[last] = REF_NO_BLOCK;
        }
    }
}

int64_t ref_admission_cap(const struct ref_engine *engine, const struct ref_table *table)
{
    const int64_t depth = engine->async_scheduling ? 2 : 1;
    const int64_t ahead = depth * engine->max_num_batched_tokens;
    const int64_t size = ref_table_size(engine, table);
    if (table->kind == REF_TABLE_SLIDING && !table->keeps_all) {
        const int64_t seen = min64(table->window - 1 + ahead, engine->max_model_len);
        return ref_ceil_div(seen, size) + 1;
    }
    if (table->kind == REF_TABLE_CHUNKED && !table->keeps_all) {
        return ref_ceil_div(min64(table->window + ahead, engine->max_model_len), size);
    }
    return INT64_MAX;
}

/* Blocks of a table for the first `tokens` tokens, as if none had been given back. */
static int64_t table_blocks(const struct ref_engine *engine, const struct ref_table *table,
                            int64_t tokens)
{
    const bool is_one = table->kind == REF_TABLE_STATE && !engine->caches_states;
    return is_one ? 1 : ref_ceil_div(tokens, ref_table_size(engine, table));
}

int64_t ref_longest_blocks(const struct ref_engine *engine)
{
    struct ref_table tables[REF_TABLES_MAX];
    const int64_t count = ref_engine_tables(engine, tables);
    int64_t blocks = 0;
    for (int64_t t = 0; t < count; t++) {
        if (tables[t].kind == REF_TABLE_STATE) {
            blocks += engine->caches_states ? 2 : 1;
            continue;
        }
        const int64_t cap = ref_admission_cap(engine, &tables[t]);
        // A window is counted with its cap, however short the longest request is.
        blocks += cap < INT64_MAX ? cap : table_blocks(engine, &tables[t], engine->max_model_len);
    }
    return blocks;
}

/* ---- running requests ---- */

int64_t ref_take_block(struct ref_state *state)
{
    if (state->engine->is_radix && state->pool.free.count == 0) {
        ref_tree_evict(state);
    }
    const int64_t block = ref_pool_take(&state->pool);
    ref_tier_reuse(state, block);
    ref_tier_dropped(state, state->pool.dropped_table, state->pool.dropped_link);
    return block;
}

/* A table of states takes one block, for the state behind the last token; the places before it stay empty. */
static void fill_table(struct ref_state *state, struct ref_request *request, int64_t t,
                       int64_t wanted)
{
    struct ref_list *blocks = &request->blocks[t];
    if (ref_caches_states(state, t) && blocks->count < wanted) {
        request->last_state[t] = blocks->count - 1;
        while (blocks->count < wanted - 1) {
            ref_list_push(blocks, REF_NO_BLOCK);
        }
    }
    while (blocks->count < wanted) {
        ref_list_push(blocks, ref_take_block(state));
    }
}

static bool grow(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    drop_out_of_window(state, request);
    const int64_t upto = min64(request->computed + tokens, state->engine->max_model_len);
    int64_t need = 0;
    for (int64_t t = 0; t < state->table_count; t++) {
        const int64_t more =
            table_blocks(state->engine, &state->tables[t], upto) - request->blocks[t].count;
        need += ref_caches_states(state, t) ? min64(more, 1) : more;
    }
    if (need > ref_free_blocks(state)) {
        return false;
    }
    for (int64_t t = 0; t < state->table_count; t++) {
        fill_table(state, request, t, table_blocks(state->engine, &state->tables[t], upto));
    }
    ref_request_hash(state, request,
                     min64(request->computed + tokens, ref_request_tokens(request)));
    return true;
}

static bool is_later_victim(const struct ref_state *state, int64_t place, int64_t than)
{
    const struct ref_request *a = &state->requests[state->running.at[place]];
    const struct ref_request *b = &state->requests[state->running.at[than]];
    if (a->in->priority != b->in->priority) {
        return a->in->priority > b->in->priority;
    }
    if (a->due_ticks != b->due_ticks) {
        return a->due_ticks > b->due_ticks;
    }
    return state->engine->priority_tie == REF_TIE_LATEST;
}

/* The place in the running list of the request to be thrown out. */
static int64_t pick_victim(const struct ref_state *state)
{
    if (state->engine->policy == REF_FCFS) {
        return state->running.count - 1;
    }
    int64_t victim = 0;
    for (int64_t place = 1; place < state->running.count; place++) {
        if (is_later_victim(state, place, victim)) {
            victim = place;
        }
    }
    return victim;
}

static void preempt(struct ref_state *state, int64_t place)
{
    struct ref_request *request = &state->requests[state->running.at[place]];
    ref_list_remove(&state->running, place);
    ref_request_release(state, request, false);
    request->computed = 0;
    request->placeholders = 0;
    request->life++;
    request->out->preemptions++;
    ref_waiting_put(state, request, true);
    ref_list_push(&state->preempted, request->index);
}

/* How many tokens the next step of a running request computes; 0 = it sits this one out. */
static int64_t running_want(const struct ref_state *state, const struct ref_turn *turn,
                            const struct ref_request *request)
{
    const int64_t last = request->in->prompt_tokens + request->in->max_tokens;
    if (request->placeholders > 0 && request->computed + 2 - request->placeholders >= last) {
        return 0; // the token in flight is its last
    }
    int64_t want = ref_request_tokens(request) + request->placeholders - request->computed;
    want = min64(cap_chunk(state->engine, want), turn->budget);
    want = max64(min64(want, state->engine->max_model_len - 1 - request->computed), 0);
    return want > 0 ? end_at_border(state->engine, request, request->computed, want) : 0;
}

/* Throws requests out until `request` has its blocks. False if it was thrown out itself. */
static bool grow_by_force(struct ref_state *state, struct ref_turn *turn,
                          struct ref_request *request, int64_t tokens, int64_t *place)
{
    while (!grow(state, request, tokens)) {
        const int64_t victim_place = pick_victim(state);
        struct ref_request *victim = &state->requests[state->running.at[victim_place]];
        turn->preempted_any = true;
        preempt(state, victim_place);
        const int64_t given_back = turn_remove(turn, victim);
        if (given_back > 0 && !state->engine->preempt_keeps_budget) {
            turn->budget += given_back;
            (*place)--;
        }
        // A victim before this place that is not in the batch (it sat out) moves everyone one
        // place forward all the same, so that the next running request misses this step: the
        // engine's own way.
        if (victim == request) {
            return false;
        }
    }
    return true;
}

static void schedule_running(struct ref_state *state, struct ref_turn *turn)
{
    int64_t place = 0;
    while (place < state->running.count && turn->budget > 0) {
        struct ref_request *request = &state->requests[state->running.at[place]];
        const int64_t want = running_want(state, turn, request);
        if (want > 0) {
            if (!grow_by_force(state, turn, request, want, &place)) {
                return;
            }
            turn_add(turn, request, want);
        }
        place++;
    }
}

/* ---- waiting requests ---- */

/* Is block `i` of a table of the request in the cache, in every table of the kind of table `t`? */
static bool is_cached(const struct ref_state *state, const struct ref_request *request, int64_t t,
                      int64_t i)
{
    const int64_t each = ref_blocks_of_link(state, t);
    for (int64_t other = 0; other < state->table_count; other++) {
        if (state->tables[other].kind == state->tables[t].kind &&
            state->tables[other].window == state->tables[t].window &&
            state->tables[other].factor == state->tables[t].factor &&
            ref_pool_find(&state->pool, other, request->links.at[i / each], i % each) ==
                REF_NO_BLOCK) {
            return false;
        }
    }
    return true;
}

static int64_t lookup_full(const struct ref_state *state, const struct ref_request *request,
                           int64_t t, int64_t most)
{
    const int64_t each = ref_blocks_of_link(state, t);
    int64_t i = 0;
    while (i < most * each && is_cached(state, request, t, i)) {
        i++;
    }
    return i / each;
}

/* The rightmost end of a link before which blocks cover a window; fewer are enough where they begin at block 0. */
static int64_t lookup_window(const struct ref_state *state, const struct ref_request *request,
                             int64_t t, int64_t most)
{
    const int64_t size = ref_table_size(state->engine, &state->tables[t]);
    const int64_t needed = max64(ref_ceil_div(state->tables[t].window - 1, size), 1);
    const int64_t each = ref_blocks_of_link(state, t);
    for (; most > 0; most--) {
        int64_t first = most * each;
        while (first > 0 && first > most * each - needed &&
               is_cached(state, request, t, first - 1)) {
            first--;
        }
        if (first == 0 || first == most * each - needed) {
            break;
        }
    }
    return most;
}

/* From the beginning of the chunk in which the next token would lie. */
static int64_t lookup_chunk(const struct ref_state *state, const struct ref_request *request,
                            int64_t t, int64_t most)
{
    const int64_t size = state->pool.block_size, window = state->tables[t].window;
    const int64_t each = ref_blocks_of_link(state, t);
    int64_t i = most * size / window * window / ref_table_size(state->engine, &state->tables[t]);
    while (i < most * each && is_cached(state, request, t, i)) {
        i++;
    }
    return i / each;
}

static int64_t lookup_table(const struct ref_state *state, const struct ref_request *request,
                            int64_t t, int64_t most)
{
    if (state->tables[t].kind == REF_TABLE_SLIDING && !state->tables[t].keeps_all) {
        return lookup_window(state, request, t, most);
    }
    if (state->tables[t].kind == REF_TABLE_CHUNKED && !state->tables[t].keeps_all) {
        return lookup_chunk(state, request, t, most);
    }
    if (state->tables[t].kind == REF_TABLE_STATE) {
        while (most > 0 && !is_cached(state, request, t, most - 1)) {
            most--; // any state will do, the last one is the best
        }
        return most;
    }
    return lookup_full(state, request, t, most);
}

/* Links that all tables find: each takes the others' answer as its limit until nobody says less. */
static int64_t lookup_hashed(struct ref_state *state, struct ref_request *request, int64_t most)
{
    ref_request_chain(state, request, most);
    int64_t longest = -1;
    for (int64_t before = -1; before != most;) {
        before = most;
        for (int64_t t = 0; t < state->table_count; t++) {
            most = lookup_table(state, request, t, most);
            longest = max64(longest, most);
        }
    }
    request->junction = longest > most ? longest * state->pool.block_size : 0;
    return most;
}

static int64_t lookup(struct ref_state *state, struct ref_request *request)
{
    if (!state->engine->enable_prefix_caching) {
        return 0;
    }
    const int64_t tokens = ref_request_tokens(request);
    int64_t most = (tokens - 1) / state->pool.block_size;
    most = state->engine->is_radix ? ref_tree_lookup(state, request, most)
                                   : lookup_hashed(state, request, most);
    if (state->engine->count_every_lookup) {
        state->output->totals.lookup_tokens += tokens;
    }
    return most;
}

/* Blocks of a table to be taken from the free list so that a new request holds `required`, its idle
 * hits included. */
static int64_t admission_need(const struct ref_state *state, const struct ref_request *request,
                              int64_t t, int64_t hits, int64_t start, int64_t required)
{
    const int64_t each = ref_blocks_of_link(state, t);
    const int64_t out = ref_blocks_out_of_window(state->engine, &state->tables[t], start);
    int64_t need = max64(required - max64(out, hits * each), 0);
    need = ref_caches_states(state, t) ? min64(need, 1) : need;
    if (state->engine->is_radix) {
        return need + request->found_idle;
    }
    for (int64_t i = out; i < hits * each; i++) {
        const int64_t block = ref_pool_find(&state->pool, t, request->links.at[i / each], i % each);
        need += state->pool.blocks[block].holders == 0;
    }
    return need;
}

static int64_t watermark_blocks(const struct ref_state *state)
{
    const struct ref_engine *engine = state->engine;
    if (engine->watermark_den == 0 || state->running.count == 0) {
        return 0;
    }
    return engine->num_blocks * engine->watermark_num / engine->watermark_den;
}

/* Tokens that this turn has given a running request. */
static int64_t tokens_in_turn(const struct ref_turn *turn, const struct ref_request *request)
{
    for (int64_t i = 0; i < turn->batch.count; i++) {
        if (turn->batch.items[i].request == request->index) {
            return turn->batch.items[i].tokens;
        }
    }
    return 0;
}

/* Blocks that unfinished prompts, loading ones included, have yet to take. */
static int64_t prefills_need(const struct ref_state *state, const struct ref_turn *turn)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < state->input->request_count; i++) {
        const struct ref_request *request = &state->requests[i];
        const int64_t tokens = ref_request_tokens(request) + request->placeholders;
        const bool is_prefill = request->where == REF_RUNNING &&
                                request->computed + tokens_in_turn(turn, request) < tokens;
        if (is_prefill || (request->where == REF_WAITING && request->load != REF_NOT_LOADED)) {
            for (int64_t t = 0; t < state->table_count; t++) {
                const int64_t whole =
                    ref_ceil_div(ref_request_tokens(request), state->engine->block_size);
                const int64_t most =
                    min64(whole, ref_admission_cap(state->engine, &state->tables[t]));
                const int64_t more = max64(most - request->blocks[t].count, 0);
                blocks += ref_caches_states(state, t) ? min64(more, 1) : more;
            }
        }
    }
    return blocks;
}

/* What a waiting request finds, and how far it gets in this turn. */
struct offer {
    int64_t hits;          /* blocks */
    int64_t cached_tokens; /* in the pool: hits, or what was loaded before */
    int64_t loaded_tokens; /* more of them, from the tier */
    int64_t end;           /* tokens that have blocks after this turn */
};

/* Tokens behind which it goes on: no window sees what lies too far before that. */
static int64_t start_of(const struct ref_state *state, const struct ref_request *request,
                        const struct offer *offer)
{
    return offer->hits * state->pool.block_size +
           (request->load == REF_NOT_LOADED ? offer->loaded_tokens : 0);
}

/* Blocks for `tokens` in all tables; `is_capped`: no table with more than a request ever holds. */
static int64_t needed_for(const struct ref_state *state, const struct ref_request *request,
                          const struct offer *offer, int64_t tokens, bool is_capped)
{
    int64_t need = 0;
    for (int64_t t = 0; t < state->table_count; t++) {
        const struct ref_table *table = &state->tables[t];
        int64_t required = table_blocks(state->engine, table, tokens);
        if (is_capped) {
            required = min64(required, ref_admission_cap(state->engine, table));
        }
        need += admission_need(state, request, t, offer->hits, start_of(state, request, offer),
                               required - request->blocks[t].count);
    }
    return need;
}

static bool can_admit(const struct ref_state *state, const struct ref_turn *turn,
                      const struct ref_request *request, const struct offer *offer)
{
    const struct ref_engine *engine = state->engine;
    int64_t usable = ref_free_blocks(state) - watermark_blocks(state);
    if (offer->loaded_tokens > 0 && !engine->tier.is_sync && engine->tier.reserves_for_prefills) {
        usable -= prefills_need(state, turn);
    }
    if (engine->caches_states && offer->hits > 0 &&
        ref_list_find(&state->new_states, request->links.at[offer->hits - 1]) >= 0) {
        return false; // this very step computes the state that it would start from
    }
    if (engine->scheduler_reserve_full_isl) {
        const int64_t whole = min64(ref_request_tokens(request), engine->max_model_len);
        if (needed_for(state, request, offer, whole, true) > usable) {
            return false;
        }
    }
    const int64_t after = min64(offer->end, engine->max_model_len);
    return needed_for(state, request, offer, after, false) <= usable;
}

static void take_blocks(struct ref_state *state, struct ref_request *request,
                        const struct offer *offer)
{
    if (state->engine->is_radix) {
        ref_tree_admit(state, request, offer->loaded_tokens > 0);
    }
    for (int64_t t = 0; t < state->table_count && !state->engine->is_radix; t++) {
        const int64_t out = ref_blocks_out_of_window(state->engine, &state->tables[t],
                                                     start_of(state, request, offer));
        const int64_t each = ref_blocks_of_link(state, t);
        for (int64_t i = 0; i < offer->hits * each; i++) {
            int64_t block = REF_NO_BLOCK;
            if (i >= out) {
                block = ref_pool_find(&state->pool, t, request->links.at[i / each], i % each);
                ref_pool_touch(&state->pool, block, request->in->priority);
            }
            ref_list_push(&request->blocks[t], block);
        }
        while (request->load == REF_NOT_LOADED && request->blocks[t].count < out) {
            ref_list_push(&request->blocks[t], REF_NO_BLOCK);
        }
    }
    for (int64_t t = 0; t < state->table_count; t++) {
        fill_table(state, request, t, table_blocks(state->engine, &state->tables[t], offer->end));
    }
    request->hashed_blocks = max64(request->hashed_blocks, offer->hits);
}

static void count_hits(struct ref_state *state, struct ref_request *request,
                       const struct offer *offer)
{
    const int64_t hit_tokens = offer->cached_tokens + offer->loaded_tokens;
    if (!request->was_admitted) {
        request->out->cached_tokens = hit_tokens;
    }
    request->was_admitted = true;
    request->out->cached_tokens_total += hit_tokens;
    request->highest = max64(request->highest, hit_tokens);
    if (state->engine->enable_prefix_caching && !state->engine->count_every_lookup) {
        state->output->totals.lookup_tokens += ref_request_tokens(request);
    }
    if (ref_tier_exists(state)) {
        ref_tier_taken(state, request, offer->cached_tokens, offer->loaded_tokens);
    }
}

enum admission { ADMITTED, TRY_NEXT, STOP };

static enum admission start_load(struct ref_state *state, const struct ref_turn *turn,
                                 struct ref_request *request, struct offer *offer)
{
    const int64_t to = offer->cached_tokens + offer->loaded_tokens;
    offer->end = to;
    if (!can_admit(state, turn, request, offer)) {
        return STOP;
    }
    ref_tier_load(state, request, offer->cached_tokens, to);
    take_blocks(state, request, offer);
    offer->loaded_tokens = min64(to, ref_request_tokens(request) - 1) - offer->cached_tokens;
    count_hits(state, request, offer);
    request->computed = offer->cached_tokens;
    request->load = REF_LOADING;
    request->load_is_done = false;
    request->load_to = offer->cached_tokens + offer->loaded_tokens;
    return TRY_NEXT;
}

static enum admission admit(struct ref_state *state, struct ref_turn *turn,
                            struct ref_request *request, struct offer *offer)
{
    const struct ref_engine *engine = state->engine;
    const int64_t to = offer->cached_tokens + offer->loaded_tokens;
    offer->loaded_tokens = min64(to, ref_request_tokens(request) - 1) - offer->cached_tokens;
    const int64_t from = offer->cached_tokens + offer->loaded_tokens;
    int64_t chunk = cap_chunk(engine, ref_request_tokens(request) - from);
    if (!engine->enable_chunked_prefill && chunk > turn->budget) {
        return engine->unchunked_misfit == REF_MISFIT_SKIP ? TRY_NEXT : STOP;
    }
    chunk = end_at_border(engine, request, from, min64(chunk, turn->budget));
    if (chunk == 0) {
        return STOP;
    }
    offer->end = from + chunk;
    if (!can_admit(state, turn, request, offer)) {
        return STOP;
    }
    if (request->load == REF_NOT_LOADED && offer->loaded_tokens > 0 && !engine->is_radix) {
        ref_tier_load(state, request, offer->cached_tokens, to);
    }
    take_blocks(state, request, offer);
    ref_request_hash(state, request, min64(offer->end, ref_request_tokens(request)));
    if (request->load == REF_NOT_LOADED) {
        count_hits(state, request, offer);
    }
    request->load = REF_NOT_LOADED;
    request->computed = from;
    ref_waiting_remove(state, request);
    request->where = REF_RUNNING;
    ref_list_push(&state->running, request->index);
    ref_list_push(&turn->admitted, request->index);
    turn_add(turn, request, chunk);
    return ADMITTED;
}

static enum admission try_admit(struct ref_state *state, struct ref_turn *turn,
                                struct ref_request *request, struct offer *offer)
{
    if (request->load == REF_LOADING && !request->load_is_done) {
        return TRY_NEXT;
    }
    if (request->load == REF_LOADING) {
        request->computed = request->load_to;
        request->load = REF_LOADED;
        ref_request_hash(state, request, request->computed);
    }
    if (request->load == REF_LOADED) {
        offer->cached_tokens = request->computed;
        return admit(state, turn, request, offer);
    }
    if (state->engine->is_radix && !ref_tree_end_prefetch(state, request)) {
        return TRY_NEXT;
    }
    offer->hits = lookup(state, request);
    offer->cached_tokens = offer->hits * state->pool.block_size;
    if (state->engine->is_radix) {
        const int64_t tokens = request->found_host * state->engine->block_size;
        const bool is_loaded =
            ref_tier_exists(state) &&
            ref_tier_loads_pages(state, request, offer->cached_tokens, request->found_host);
        offer->loaded_tokens = is_loaded ? tokens : 0;
        return admit(state, turn, request, offer);
    }
    if (ref_tier_exists(state)) {
        offer->loaded_tokens = ref_tier_ask(state, request, offer->hits);
        if (offer->loaded_tokens < 0) {
            return TRY_NEXT;
        }
    }
    return offer->loaded_tokens > 0 && !state->engine->tier.is_sync
               ? start_load(state, turn, request, offer)
               : admit(state, turn, request, offer);
}

/* Who is looked at next: those set aside come first (fcfs), or the most urgent of all; -1 when all were. */
static int64_t next_candidate(const struct ref_state *state, const struct ref_list *passed_over)
{
    int64_t best = -1;
    for (int64_t i = 0; i < state->aside.count + state->waiting.count; i++) {
        const int64_t index =
            i < state->aside.count ? state->aside.at[i] : state->waiting.at[i - state->aside.count];
        if (ref_list_find(passed_over, index) >= 0) {
            continue;
        }
        if (best < 0 || (state->engine->policy == REF_PRIORITY &&
                         ref_goes_before(&state->requests[index], &state->requests[best]))) {
            best = index;
        }
    }
    return best;
}

static void set_aside(struct ref_state *state, const struct ref_request *request)
{
    if (ref_list_find(&state->aside, request->index) < 0) {
        ref_waiting_remove(state, request);
        ref_list_push(&state->aside, request->index);
    }
}

/* Who has arrived since the queue was last looked at, in order of arrival. */
static void prefetch_new_ones(struct ref_state *state)
{
    if (state->engine->tier.prefetch == REF_PREFETCH_NONE || state->engine->tier.count < 2) {
        return;
    }
    for (int64_t order = 0; order < state->arrivals; order++) {
        for (int64_t i = 0; i < state->input->request_count; i++) {
            struct ref_request *request = &state->requests[i];
            if (request->out->arrival_order == order && request->where == REF_WAITING &&
                !request->was_prefetched) {
                request->was_prefetched = true;
                if (state->engine->is_radix) {
                    ref_tree_prefetch(state, request);
                } else {
                    ref_tier_prefetch(state, request, lookup(state, request));
                }
            }
        }
    }
}

static void schedule_waiting(struct ref_state *state, struct ref_turn *turn)
{
    struct ref_list passed_over = {0};
    int64_t head;
    prefetch_new_ones(state);
    while ((head = next_candidate(state, &passed_over)) >= 0 && turn->budget > 0 &&
           state->running.count < state->engine->max_num_seqs) {
        struct offer offer = {.loaded_tokens = 0};
        const enum admission answer = try_admit(state, turn, &state->requests[head], &offer);
        if (answer == STOP) {
            break;
        }
        if (answer == TRY_NEXT) {
            ref_list_push(&passed_over, head);
            if (ref_tier_exists(state)) {
                set_aside(state, &state->requests[head]);
            }
        }
    }
    // One by one to the front, so that several end up in reverse order (fcfs).
    for (int64_t i = 0; i < passed_over.count && !ref_tier_exists(state); i++) {
        ref_waiting_remove(state, &state->requests[passed_over.at[i]]);
        ref_waiting_put(state, &state->requests[passed_over.at[i]], true);
    }
    ref_list_free(&passed_over);
}

void ref_turn_decide(struct ref_state *state, struct ref_turn *turn)
{
    if (state->engine->kind == REF_ORCA) {
        ref_orca_decide(state, turn);
        return;
    }
    if (state->engine->kind == REF_LLAMA_CPP) {
        ref_slots_decide(state, turn);
        return;
    }
    *turn = (struct ref_turn){.budget = state->engine->max_num_batched_tokens};
    state->new_states.count = 0;
    if (state->engine->is_radix) {
        ref_tree_enter_all(state);
    }
    schedule_running(state, turn);
    if (!turn->preempted_any) {
        schedule_waiting(state, turn);
    }
}
