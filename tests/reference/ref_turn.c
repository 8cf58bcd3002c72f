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

/* ---- sliding window ---- */

/* Leading blocks that no token from position `computed` on can see. */
static int64_t blocks_out_of_window(const struct ref_engine *engine, int64_t computed)
{
    if (engine->sliding_window == 0) {
        return 0;
    }
    return max64(computed - engine->sliding_window + 1, 0) / engine->block_size;
}

/* Frees what left the window, from the newest of those blocks down. */
static void drop_out_of_window(struct ref_state *state, struct ref_request *request)
{
    const int64_t processed = request->computed - ref_request_in_flight(state, request);
    state->pool.releases++;
    for (int64_t i = blocks_out_of_window(state->engine, processed) - 1; i >= 0; i--) {
        if (request->blocks.at[i] == REF_NO_BLOCK) {
            return;
        }
        ref_pool_drop(&state->pool, request->blocks.at[i]);
        request->blocks.at[i] = REF_NO_BLOCK;
    }
}

int64_t ref_admission_cap(const struct ref_engine *engine)
{
    if (engine->sliding_window == 0) {
        return INT64_MAX;
    }
    const int64_t depth = engine->async_scheduling ? 2 : 1;
    const int64_t seen = engine->sliding_window - 1 + depth * engine->max_num_batched_tokens;
    return ref_ceil_div(min64(seen, engine->max_model_len), engine->block_size) + 1;
}

/* ---- running requests ---- */

static int64_t take_block(struct ref_state *state)
{
    const int64_t block = ref_pool_take(&state->pool);
    ref_tier_reuse(state, block);
    return block;
}

static bool grow(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    drop_out_of_window(state, request);
    const int64_t upto = min64(request->computed + tokens, state->engine->max_model_len);
    const int64_t need = ref_ceil_div(upto, state->engine->block_size) - request->blocks.count;
    if (need > state->pool.free.count) {
        return false;
    }
    for (int64_t i = 0; i < need; i++) {
        ref_list_push(&request->blocks, take_block(state));
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
    ref_request_release(state, request);
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
    return max64(min64(want, state->engine->max_model_len - 1 - request->computed), 0);
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

/* Blocks found in the cache: entries from block 0 on, REF_NO_BLOCK below the window. */
static void lookup_full(struct ref_state *state, const struct ref_request *request, int64_t most,
                        struct ref_list *hits)
{
    for (int64_t i = 0; i < most; i++) {
        const int64_t block = ref_pool_find(&state->pool, request->links.at[i]);
        if (block == REF_NO_BLOCK) {
            return;
        }
        ref_list_push(hits, block);
    }
}

/* The rightmost run of blocks that covers a window; a shorter run counts where it begins at block
 * 0. */
static void lookup_window(struct ref_state *state, const struct ref_request *request, int64_t most,
                          struct ref_list *hits)
{
    const int64_t needed = ref_ceil_div(state->engine->sliding_window - 1, state->pool.block_size);
    int64_t run = 0;
    int64_t first = most;
    while (first > 0 && !(run > 0 && run >= needed)) {
        first--;
        run = ref_pool_find(&state->pool, request->links.at[first]) == REF_NO_BLOCK ? 0 : run + 1;
    }
    if (run < needed && first > 0) {
        return;
    }
    for (int64_t i = 0; i < first + run; i++) {
        ref_list_push(hits,
                      i < first ? REF_NO_BLOCK : ref_pool_find(&state->pool, request->links.at[i]));
    }
}

static void lookup(struct ref_state *state, struct ref_request *request, struct ref_list *hits)
{
    if (!state->engine->enable_prefix_caching) {
        return;
    }
    const int64_t tokens = ref_request_tokens(request);
    const int64_t most = (tokens - 1) / state->engine->block_size;
    ref_request_chain(state, request, most);
    if (state->engine->sliding_window > 0) {
        lookup_window(state, request, most, hits);
    } else {
        lookup_full(state, request, most, hits);
    }
    if (state->engine->count_every_lookup) {
        state->output->totals.lookup_tokens += tokens;
    }
}

/* Blocks to be taken from the free list so that a new request holds `required`, its idle hits
 * included. */
static int64_t admission_need(const struct ref_state *state, const struct ref_list *hits,
                              int64_t required)
{
    const int64_t hit_tokens = hits->count * state->engine->block_size;
    const int64_t out = blocks_out_of_window(state->engine, hit_tokens);
    int64_t need = max64(required - max64(out, hits->count), 0);
    for (int64_t i = out; i < hits->count; i++) {
        need += hits->at[i] != REF_NO_BLOCK && state->pool.blocks[hits->at[i]].holders == 0;
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
            blocks += max64(ref_ceil_div(ref_request_tokens(request), state->engine->block_size) -
                                request->blocks.count,
                            0);
        }
    }
    return blocks;
}

/* What a waiting request finds, and how far it gets in this turn. */
struct offer {
    struct ref_list hits;
    int64_t cached_tokens; /* in the pool: hits, or what was loaded before */
    int64_t loaded_tokens; /* more of them, from the tier */
    int64_t end;           /* tokens that have blocks after this turn */
};

static bool can_admit(const struct ref_state *state, const struct ref_turn *turn,
                      const struct ref_request *request, const struct offer *offer)
{
    const struct ref_engine *engine = state->engine;
    int64_t usable = state->pool.free.count - watermark_blocks(state);
    if (offer->loaded_tokens > 0 && !engine->tier.is_sync && engine->tier.reserves_for_prefills) {
        usable -= prefills_need(state, turn);
    }
    const int64_t held = request->blocks.count;
    if (engine->scheduler_reserve_full_isl) {
        const int64_t whole = min64(ref_request_tokens(request), engine->max_model_len);
        const int64_t required =
            min64(ref_ceil_div(whole, engine->block_size), ref_admission_cap(engine));
        if (admission_need(state, &offer->hits, required - held) > usable) {
            return false;
        }
    }
    const int64_t required =
        ref_ceil_div(min64(offer->end, engine->max_model_len), engine->block_size);
    return admission_need(state, &offer->hits, required - held) <= usable;
}

static void take_blocks(struct ref_state *state, struct ref_request *request,
                        const struct offer *offer)
{
    const struct ref_list *hits = &offer->hits;
    const int64_t out =
        blocks_out_of_window(state->engine, hits->count * state->engine->block_size);
    for (int64_t i = 0; i < hits->count; i++) {
        const int64_t block = i < out ? REF_NO_BLOCK : hits->at[i];
        if (block != REF_NO_BLOCK) {
            ref_pool_touch(&state->pool, block, request->in->priority);
        }
        ref_list_push(&request->blocks, block);
    }
    while (request->blocks.count * state->engine->block_size < offer->end) {
        ref_list_push(&request->blocks, take_block(state));
    }
    request->hashed_blocks = max64(request->hashed_blocks, hits->count);
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
        state->output->totals.tier_asked_tokens +=
            ref_request_tokens(request) - offer->cached_tokens;
        state->output->totals.tier_hit_tokens += offer->loaded_tokens;
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
    take_blocks(state, request, offer);
    ref_tier_load(state, request, offer->cached_tokens, to);
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
    chunk = min64(chunk, turn->budget);
    offer->end = from + chunk;
    if (!can_admit(state, turn, request, offer)) {
        return STOP;
    }
    take_blocks(state, request, offer);
    ref_request_hash(state, request, min64(offer->end, ref_request_tokens(request)));
    if (request->load == REF_NOT_LOADED) {
        if (offer->loaded_tokens > 0) {
            ref_tier_load(state, request, offer->cached_tokens, to);
        }
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
    lookup(state, request, &offer->hits);
    offer->cached_tokens = offer->hits.count * state->engine->block_size;
    if (ref_tier_exists(state)) {
        offer->loaded_tokens = ref_tier_ask(state, request, offer->hits.count);
        if (offer->loaded_tokens < 0) {
            return TRY_NEXT;
        }
    }
    return offer->loaded_tokens > 0 && !state->engine->tier.is_sync
               ? start_load(state, turn, request, offer)
               : admit(state, turn, request, offer);
}

static bool is_better(const struct ref_request *a, const struct ref_request *b)
{
    return a->in->priority != b->in->priority ? a->in->priority < b->in->priority
                                              : a->out->arrival_order < b->out->arrival_order;
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
                         is_better(&state->requests[index], &state->requests[best]))) {
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

static void schedule_waiting(struct ref_state *state, struct ref_turn *turn)
{
    struct ref_list passed_over = {0};
    int64_t head;
    while ((head = next_candidate(state, &passed_over)) >= 0 && turn->budget > 0 &&
           state->running.count < state->engine->max_num_seqs) {
        struct offer offer = {.loaded_tokens = 0};
        const enum admission answer = try_admit(state, turn, &state->requests[head], &offer);
        ref_list_free(&offer.hits);
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
    *turn = (struct ref_turn){.budget = state->engine->max_num_batched_tokens};
    schedule_running(state, turn);
    if (!turn->preempted_any) {
        schedule_waiting(state, turn);
    }
}
