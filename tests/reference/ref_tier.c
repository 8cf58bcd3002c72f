/*
 * Host memory behind the pool: which chunks it holds, in which order it drops them, the transfers and the two links.
 */
#include "reference/ref_int.h"

#include <stdlib.h>

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool ref_tier_exists(const struct ref_state *state)
{
    return state->engine->tier.chunk_blocks > 0;
}

static int64_t chunk_tokens(const struct ref_state *state)
{
    return state->engine->tier.chunk_blocks * state->engine->block_size;
}

void ref_tier_release(struct ref_state *state)
{
    struct ref_tier_state *tier = &state->tier;
    for (int64_t i = 0; i < tier->transfer_count; i++) {
        ref_list_free(&tier->transfers[i].links);
        ref_list_free(&tier->transfers[i].blocks);
    }
    free(tier->transfers);
    free(tier->chunks);
    ref_list_free(&tier->recent);
    ref_list_free(&tier->frequent);
    ref_list_free(&tier->recent_ghosts);
    ref_list_free(&tier->frequent_ghosts);
    ref_list_free(&tier->asked);
}

/* ---- chunks ---- */

static struct ref_chunk *find_chunk(const struct ref_tier_state *tier, int64_t link)
{
    for (int64_t i = 0; i < tier->chunk_count; i++) {
        if (tier->chunks[i].link == link) {
            return &tier->chunks[i];
        }
    }
    return NULL;
}

static int64_t link_of(const struct ref_state *state, const struct ref_request *request,
                       int64_t chunk)
{
    return request->links.at[(chunk + 1) * state->engine->tier.chunk_blocks - 1];
}

static bool list_take_out(struct ref_list *list, int64_t value)
{
    const int64_t place = ref_list_find(list, value);
    if (place < 0) {
        return false;
    }
    ref_list_remove(list, place);
    return true;
}

static bool move_to_end(struct ref_list *list, int64_t value)
{
    const bool was_there = list_take_out(list, value);
    if (was_there) {
        ref_list_push(list, value);
    }
    return was_there;
}

static double at_least_one(double ratio)
{
    return ratio > 1 ? ratio : 1;
}

static void touch(struct ref_state *state, int64_t link)
{
    struct ref_tier_state *tier = &state->tier;
    const double recent = (double)tier->recent_ghosts.count;
    const double frequent = (double)tier->frequent_ghosts.count;
    const double capacity = (double)state->engine->tier.capacity_chunks;
    if (state->engine->tier.order == REF_TIER_LRU) {
        move_to_end(&tier->recent, link);
    } else if (ref_list_find(&tier->recent, link) >= 0) {
        list_take_out(&tier->recent, link);
        ref_list_push(find_chunk(tier, link)->is_ready ? &tier->frequent : &tier->recent, link);
    } else if (move_to_end(&tier->frequent, link)) {
        return;
    } else if (move_to_end(&tier->recent_ghosts, link)) {
        const double target = tier->recent_target + at_least_one(frequent / recent);
        tier->recent_target = target < capacity ? target : capacity;
    } else if (move_to_end(&tier->frequent_ghosts, link)) {
        const double target = tier->recent_target - at_least_one(recent / frequent);
        tier->recent_target = target > 0 ? target : 0;
    }
}

/* The last one first, so that the beginning is the most recent. */
static void touch_chunks(struct ref_state *state, const struct ref_request *request, int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        touch(state, link_of(state, request, i));
    }
}

/* ---- eviction ---- */

static bool is_evictable(const struct ref_tier_state *tier, int64_t link,
                         const struct ref_list *spared)
{
    const struct ref_chunk *chunk = find_chunk(tier, link);
    return chunk->is_ready && chunk->readers == 0 && ref_list_find(spared, link) < 0;
}

/* The first of a list that may go and was not chosen already, or -1. */
static int64_t first_evictable(const struct ref_tier_state *tier, const struct ref_list *list,
                               const struct ref_list *spared, const struct ref_list *chosen)
{
    for (int64_t i = 0; i < list->count; i++) {
        if (is_evictable(tier, list->at[i], spared) && ref_list_find(chosen, list->at[i]) < 0) {
            return list->at[i];
        }
    }
    return -1;
}

static void drop_chunk(struct ref_state *state, int64_t link)
{
    struct ref_tier_state *tier = &state->tier;
    struct ref_chunk *chunk = find_chunk(tier, link);
    tier->chunk_count--;
    *chunk = tier->chunks[tier->chunk_count];
    if (list_take_out(&tier->recent, link)) {
        ref_list_push(&tier->recent_ghosts, link);
    } else {
        list_take_out(&tier->frequent, link);
        ref_list_push(&tier->frequent_ghosts, link);
    }
    state->output->totals.tier_evicted_chunks++;
}

static void trim(struct ref_list *ghosts, int64_t capacity)
{
    while (ghosts->count > capacity) {
        ref_list_remove(ghosts, 0);
    }
}

/* All `count` or none. */
static bool evict(struct ref_state *state, int64_t count, const struct ref_list *spared)
{
    struct ref_tier_state *tier = &state->tier;
    const bool is_lru = state->engine->tier.order == REF_TIER_LRU;
    struct ref_list chosen = {0};
    int64_t recent = tier->recent.count;
    bool found = true;
    while (found && chosen.count < count) {
        int64_t link = -1;
        if (is_lru || recent >= (int64_t)tier->recent_target) {
            link = first_evictable(tier, &tier->recent, spared, &chosen);
            recent -= link >= 0;
        }
        if (link < 0 && !is_lru) {
            link = first_evictable(tier, &tier->frequent, spared, &chosen);
        }
        found = link >= 0;
        if (found) {
            ref_list_push(&chosen, link);
        }
    }
    for (int64_t i = 0; found && i < chosen.count; i++) {
        drop_chunk(state, chosen.at[i]);
    }
    trim(&tier->recent_ghosts, is_lru ? 0 : state->engine->tier.capacity_chunks);
    trim(&tier->frequent_ghosts, is_lru ? 0 : state->engine->tier.capacity_chunks);
    ref_list_free(&chosen);
    return found;
}

/* ---- asking ---- */

static int64_t times_asked(const struct ref_tier_state *tier, int64_t link)
{
    int64_t times = 0;
    for (int64_t i = 0; i < tier->asked.count; i++) {
        times += tier->asked.at[i] == link;
    }
    return times;
}

int64_t ref_tier_ask(struct ref_state *state, struct ref_request *request, int64_t hit_blocks)
{
    struct ref_tier_state *tier = &state->tier;
    const int64_t size = chunk_tokens(state);
    const int64_t hit_tokens = hit_blocks * state->engine->block_size;
    const int64_t count = ref_request_tokens(request) / size;
    ref_request_chain(state, request, count * state->engine->tier.chunk_blocks);
    touch_chunks(state, request, count);
    if (count * size - hit_tokens < size) {
        return 0;
    }
    for (int64_t i = hit_tokens / size; i < count; i++) {
        ref_list_push(&tier->asked, link_of(state, request, i));
    }
    int64_t end = hit_tokens / size;
    bool later = false;
    for (; end < count; end++) {
        const struct ref_chunk *chunk = find_chunk(tier, link_of(state, request, end));
        const bool is_sync = state->engine->tier.is_sync;
        if (chunk == NULL || (is_sync && !chunk->is_ready)) {
            break;
        }
        later = later || (!is_sync && (!chunk->is_ready || chunk->readers > 0));
    }
    if (end * size - hit_tokens < size) {
        return later && end > hit_tokens / size ? -1 : 0;
    }
    return later ? -1 : end * size - hit_tokens;
}

/* ---- transfers ---- */

static struct ref_transfer *new_transfer(struct ref_state *state, const struct ref_request *request,
                                         bool is_load)
{
    struct ref_tier_state *tier = &state->tier;
    tier->transfers =
        ref_resize(tier->transfers, (size_t)tier->transfer_count + 1, sizeof(*tier->transfers));
    struct ref_transfer *transfer = &tier->transfers[tier->transfer_count++];
    *transfer = (struct ref_transfer){.is_load = is_load, .request = request->index};
    return transfer;
}

void ref_tier_load(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                   int64_t end)
{
    struct ref_transfer *transfer = new_transfer(state, request, true);
    for (int64_t i = hit_tokens / chunk_tokens(state); i < end / chunk_tokens(state); i++) {
        const int64_t link = link_of(state, request, i);
        find_chunk(&state->tier, link)->readers++;
        ref_list_push(&transfer->links, link);
    }
    transfer->block_count = (end - hit_tokens) / state->engine->block_size;
    state->output->totals.tier_loaded_blocks += transfer->block_count;
    request->stored_chunks = max64(request->stored_chunks, end / chunk_tokens(state));
}

void ref_tier_reuse(struct ref_state *state, int64_t block)
{
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        if (!transfer->is_done && !transfer->is_load &&
            ref_list_find(&transfer->blocks, block) >= 0) {
            state->tier.flush = max64(state->tier.flush, i);
        }
    }
}

static int64_t storable_tokens(const struct ref_state *state, const struct ref_request *request,
                               int64_t tokens)
{
    const int64_t known =
        state->engine->tier.prompt_only ? request->in->prompt_tokens : ref_request_tokens(request);
    return min64(request->computed + tokens, known);
}

static void store_request(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    struct ref_tier_state *tier = &state->tier;
    const int64_t blocks = state->engine->tier.chunk_blocks;
    const int64_t full = storable_tokens(state, request, tokens) / chunk_tokens(state);
    if (full <= request->stored_chunks) {
        return;
    }
    struct ref_list offered = {0}, missing = {0};
    ref_request_chain(state, request, full * blocks);
    for (int64_t i = request->stored_chunks; i < full; i++) {
        const int64_t link = link_of(state, request, i);
        if (state->engine->tier.store_threshold > 1 &&
            times_asked(tier, link) < state->engine->tier.store_threshold) {
            continue;
        }
        ref_list_push(&offered, link);
        if (find_chunk(tier, link) == NULL) {
            ref_list_push(&missing, i);
        }
    }
    const int64_t excess = tier->chunk_count + missing.count - state->engine->tier.capacity_chunks;
    if (missing.count > 0 && excess > 0 && !evict(state, excess, &offered)) {
        state->output->totals.tier_refused_stores++;
    } else {
        request->stored_chunks = full;
        if (missing.count > 0) {
            struct ref_transfer *transfer = new_transfer(state, request, false);
            for (int64_t i = 0; i < missing.count; i++) {
                const int64_t link = link_of(state, request, missing.at[i]);
                tier->chunks =
                    ref_resize(tier->chunks, (size_t)tier->chunk_count + 1, sizeof(*tier->chunks));
                tier->chunks[tier->chunk_count++] = (struct ref_chunk){.link = link};
                ref_list_push(&tier->recent, link);
                list_take_out(&tier->recent_ghosts, link);
                list_take_out(&tier->frequent_ghosts, link);
                ref_list_push(&transfer->links, link);
                for (int64_t b = 0; b < blocks; b++) {
                    ref_list_push(&transfer->blocks,
                                  request->blocks[0].at[missing.at[i] * blocks + b]);
                }
            }
            transfer->block_count = transfer->blocks.count;
            state->output->totals.tier_stored_blocks += transfer->block_count;
            touch_chunks(state, request, full);
        }
    }
    ref_list_free(&offered);
    ref_list_free(&missing);
}

enum kind { NEW, RUNNING, RESUMED };

static enum kind kind_of(const struct ref_state *state, const struct ref_turn *turn,
                         int64_t request)
{
    if (ref_list_find(&turn->admitted, request) < 0) {
        return RUNNING;
    }
    return state->requests[request].out->preemptions > 0 ? RESUMED : NEW;
}

void ref_tier_store(struct ref_state *state, const struct ref_turn *turn)
{
    if (!ref_tier_exists(state)) {
        return;
    }
    for (int kind = NEW; kind <= RESUMED; kind++) {
        for (int64_t i = 0; i < turn->batch.count; i++) {
            const struct ref_batch_item *item = &turn->batch.items[i];
            if (kind_of(state, turn, item->request) == (enum kind)kind) {
                store_request(state, &state->requests[item->request], item->tokens);
            }
        }
    }
}

/* ---- links ---- */

static ref_i128 later_of(ref_i128 a, ref_i128 b)
{
    return a > b ? a : b;
}

/* All that is not on a link yet, of one direction; returns when the last of it ends, or `at`. */
static ref_i128 submit(struct ref_state *state, bool loads, ref_i128 at)
{
    struct ref_tier_state *tier = &state->tier;
    const struct ref_tier *speed = &state->engine->tier;
    ref_i128 last = at;
    for (int64_t i = 0; i < tier->transfer_count; i++) {
        struct ref_transfer *transfer = &tier->transfers[i];
        if (transfer->is_load != loads || transfer->is_submitted) {
            continue;
        }
        ref_i128 *free_at = loads ? &tier->load_free_at : &tier->store_free_at;
        ref_i128 *busy =
            loads ? &state->output->totals.load_ticks : &state->output->totals.store_ticks;
        const ref_i128 ticks =
            speed->latency_ticks +
            transfer->block_count * (loads ? speed->read_ticks : speed->write_ticks);
        transfer->is_submitted = true;
        transfer->end_ticks = later_of(*free_at, at) + ticks;
        *free_at = transfer->end_ticks;
        *busy += ticks;
        last = transfer->end_ticks;
    }
    return last;
}

/* When what the coming step must wait for has ended. */
static ref_i128 flushed_at(struct ref_state *state, ref_i128 start)
{
    const int64_t flush = state->tier.flush;
    state->tier.flush = -1;
    return flush < 0 ? start : later_of(start, state->tier.transfers[flush].end_ticks);
}

ref_i128 ref_tier_launch(struct ref_state *state, ref_i128 start, int64_t ticks)
{
    if (!ref_tier_exists(state)) {
        return start + ticks;
    }
    const ref_i128 begin = flushed_at(state, start);
    const ref_i128 loaded = submit(state, true, begin);
    const bool is_sync = state->engine->tier.is_sync;
    const ref_i128 computed = (is_sync ? loaded : begin) + ticks;
    const ref_i128 stored = submit(state, false, computed);
    const ref_i128 end = is_sync ? stored : computed;
    state->output->totals.stall_ticks += end - start - ticks;
    return end;
}

void ref_tier_launch_nothing(struct ref_state *state)
{
    if (ref_tier_exists(state)) {
        submit(state, true, flushed_at(state, later_of(state->now, state->last_end)));
    }
}

void ref_tier_settle(struct ref_state *state)
{
    struct ref_tier_state *tier = &state->tier;
    for (int64_t i = 0; i < tier->transfer_count; i++) {
        struct ref_transfer *transfer = &tier->transfers[i];
        if (transfer->is_done || !transfer->is_submitted || transfer->end_ticks > state->now) {
            continue;
        }
        transfer->is_done = true;
        for (int64_t c = 0; c < transfer->links.count; c++) {
            struct ref_chunk *chunk = find_chunk(tier, transfer->links.at[c]);
            chunk->is_ready = true;
            chunk->readers -= transfer->is_load;
        }
        struct ref_request *request = &state->requests[transfer->request];
        if (transfer->is_load && request->load == REF_LOADING) {
            request->load_is_done = true;
            if (request->where == REF_OVER) { // its client had gone
                request->load = REF_NOT_LOADED;
                ref_request_release(state, request, true);
            }
        }
    }
}

bool ref_tier_next(const struct ref_state *state, ref_i128 *at)
{
    bool any = false;
    for (int64_t i = 0; state->in_flight_count == 0 && i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        const bool matters = transfer->is_load || state->waiting.count + state->aside.count > 0;
        if (matters && !transfer->is_done && (!any || transfer->end_ticks < *at)) {
            *at = transfer->end_ticks;
            any = true;
        }
    }
    return any;
}

int64_t ref_tier_loading_blocks(const struct ref_state *state)
{
    int64_t count = 0;
    for (int64_t i = 0; i < state->input->request_count; i++) {
        const struct ref_request *request = &state->requests[i];
        if (request->load == REF_LOADING) {
            count += request->blocks[0].count - request->computed / state->engine->block_size;
        }
    }
    return count;
}
