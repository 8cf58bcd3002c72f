/*
 * Memory behind the pool: what is asked of it, the transfers and the links. One chunk, one transfer at a time.
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

static ref_i128 later_of(ref_i128 a, ref_i128 b)
{
    return a > b ? a : b;
}

bool ref_tier_exists(const struct ref_state *state)
{
    return state->engine->tier.chunk_blocks > 0;
}

static bool has_disk(const struct ref_state *state)
{
    return state->engine->tier.count > 1;
}

static int64_t chunk_tokens(const struct ref_state *state)
{
    return state->engine->tier.chunk_blocks * state->engine->block_size;
}

static struct ref_level_state *host_of(struct ref_state *state)
{
    return &state->tier.levels[REF_HOST];
}

static struct ref_level_state *disk_of(struct ref_state *state)
{
    return &state->tier.levels[REF_DISK];
}

void ref_tier_begin(struct ref_state *state)
{
    for (int level = 0; level < 2; level++) {
        state->tier.levels[level].engine = &state->engine->tier.levels[level];
        state->tier.levels[level].totals = &state->output->totals.levels[level];
    }
}

void ref_tier_end(struct ref_state *state)
{
    ref_level_count(host_of(state), state->now);
    ref_level_count(disk_of(state), state->now);
}

void ref_tier_release(struct ref_state *state)
{
    struct ref_tier_state *tier = &state->tier;
    for (int64_t i = 0; i < tier->transfer_count; i++) {
        ref_list_free(&tier->transfers[i].links);
        ref_list_free(&tier->transfers[i].blocks);
        free(tier->transfers[i].nodes);
        ref_list_free(&tier->transfers[i].node_links);
    }
    free(tier->transfers);
    ref_level_release(host_of(state));
    ref_level_release(disk_of(state));
    ref_list_free(&tier->asked);
}

/* A chunk of the one table that there is. */
static int64_t link_of(const struct ref_state *state, const struct ref_request *request,
                       int64_t chunk)
{
    return ref_chunk_key(state, request, 0, chunk);
}

/* The last one first, so that the beginning is the most recent. */
static void touch_chunks(struct ref_state *state, int level, const struct ref_request *request,
                         int64_t count)
{
    for (int64_t t = 0; t < state->table_count; t++) {
        for (int64_t i = count - 1; i >= ref_tables_touched_from(state, request, t); i--) {
            ref_level_touch(&state->tier.levels[level], ref_chunk_key(state, request, t, i));
        }
    }
}

static int64_t times_asked(const struct ref_tier_state *tier, int64_t link)
{
    int64_t times = 0;
    for (int64_t i = 0; i < tier->asked.count; i++) {
        times += tier->asked.at[i] == link;
    }
    return times;
}

/* ---- links ---- */

static struct ref_transfer *new_transfer(struct ref_state *state, enum ref_transfer_kind kind,
                                         int64_t request)
{
    struct ref_tier_state *tier = &state->tier;
    tier->transfers =
        ref_resize(tier->transfers, (size_t)tier->transfer_count + 1, sizeof(*tier->transfers));
    struct ref_transfer *transfer = &tier->transfers[tier->transfer_count++];
    *transfer = (struct ref_transfer){.kind = kind, .request = request};
    return transfer;
}

static int64_t ticks_per_block(const struct ref_state *state, enum ref_transfer_kind kind)
{
    const struct ref_level *level = &state->engine->tier.levels[kind == REF_UP || kind == REF_DOWN];
    return kind == REF_UP || kind == REF_LOAD ? level->read_ticks : level->write_ticks;
}

static int64_t transfer_ticks(const struct ref_state *state, enum ref_transfer_kind kind,
                              int64_t blocks)
{
    const struct ref_level *level = &state->engine->tier.levels[kind == REF_UP || kind == REF_DOWN];
    return level->latency_ticks + blocks * ticks_per_block(state, kind);
}

static ref_i128 *free_at(struct ref_state *state, enum ref_transfer_kind kind)
{
    struct ref_level_state *level = &state->tier.levels[kind == REF_UP || kind == REF_DOWN];
    return kind == REF_UP || kind == REF_LOAD ? &level->read_free_at : &level->write_free_at;
}

/* What a transfer is counted as, or is not any more (-1). */
static void count_on_link(struct ref_state *state, const struct ref_transfer *transfer,
                          int64_t sign)
{
    const enum ref_transfer_kind kind = transfer->kind;
    struct ref_level_totals *totals = state->tier.levels[kind == REF_UP || kind == REF_DOWN].totals;
    const ref_i128 ticks = transfer->end_ticks - transfer->begin_ticks;
    const ref_i128 wait = transfer->begin_ticks - transfer->could_ticks;
    if (kind == REF_LOAD || kind == REF_UP) {
        totals->reads += sign;
        totals->read_blocks += sign * transfer->block_count;
        totals->read_ticks += sign * ticks;
        totals->read_wait_ticks += sign * wait;
    } else {
        totals->writes += sign;
        totals->written_blocks += sign * transfer->block_count;
        totals->write_ticks += sign * ticks;
        totals->write_wait_ticks += sign * wait;
    }
}

static void put_on_link(struct ref_state *state, struct ref_transfer *transfer)
{
    const enum ref_transfer_kind kind = transfer->kind;
    transfer->begin_ticks = later_of(*free_at(state, kind), transfer->could_ticks);
    transfer->end_ticks =
        transfer->begin_ticks + transfer_ticks(state, kind, transfer->block_count);
    *free_at(state, kind) = transfer->end_ticks;
    count_on_link(state, transfer, 1);
}

/* A transfer goes on its link: it could begin at `at`. */
static void submit(struct ref_state *state, struct ref_transfer *transfer, ref_i128 at)
{
    const enum ref_transfer_kind kind = transfer->kind;
    transfer->could_ticks = later_of(at, transfer->not_before);
    transfer->is_submitted = true;
    put_on_link(state, transfer);
    if (kind == REF_LOAD) {
        state->output->totals.load_wait_ticks += transfer->end_ticks - at;
    }
}

/* All loads or stores that are not on their link yet; returns when the last of them ends, or `at`. */
static ref_i128 submit_all(struct ref_state *state, enum ref_transfer_kind kind, ref_i128 at)
{
    ref_i128 last = at;
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        struct ref_transfer *transfer = &state->tier.transfers[i];
        if (transfer->kind == kind && !transfer->is_submitted) {
            submit(state, transfer, at);
            last = transfer->end_ticks;
        }
    }
    return last;
}

/* ---- between the levels ---- */

/* What the host has dropped goes to the disk; returns when it is there. */
static ref_i128 demote(struct ref_state *state)
{
    if (!has_disk(state) || !disk_of(state)->engine->on_eviction) {
        return 0;
    }
    struct ref_list added = {0};
    ref_i128 end = 0;
    ref_level_offer(disk_of(state), &host_of(state)->dropped, state->now, &added);
    if (added.count > 0) {
        struct ref_transfer *down = new_transfer(state, REF_DOWN, -1);
        down->block_count = added.count * state->engine->tier.chunk_blocks;
        down->links = added;
        submit(state, down, state->now);
        end = down->end_ticks;
    } else {
        ref_list_free(&added);
    }
    return end;
}

static void write_through(struct ref_state *state, const struct ref_list *stored, ref_i128 at)
{
    struct ref_list added = {0};
    ref_level_offer(disk_of(state), stored, at, &added);
    if (added.count == 0) {
        ref_list_free(&added);
        return;
    }
    for (int64_t i = 0; i < added.count; i++) {
        ref_level_find(host_of(state), added.at[i])->copiers++;
    }
    struct ref_transfer *down = new_transfer(state, REF_DOWN, -1);
    down->block_count = added.count * state->engine->tier.chunk_blocks;
    down->links = added;
    down->in_host = true;
    submit(state, down, at);
}

/*
 * Of the wanted chunks of a request those that only the disk has are read up. Without room for them in the host
 * nothing is done, unless `anyway`. Returns how many chunks; `done`: when the last of them is there.
 */
static int64_t read_up_wanted(struct ref_state *state, const struct ref_request *request,
                              const struct ref_list *wanted, bool anyway, ref_i128 *done)
{
    struct ref_list below = {0}, added = {0};
    for (int64_t i = 0; i < wanted->count; i++) {
        const int64_t link = wanted->at[i];
        if (ref_level_find(host_of(state), link) == NULL) {
            ref_level_find(disk_of(state), link)->readers++;
            ref_list_push(&below, link);
        }
    }
    const bool fits = ref_level_offer(host_of(state), wanted, state->now, &added);
    const ref_i128 room = fits ? demote(state) : 0;
    int64_t count = below.count;
    ref_list_free(&added);
    state->output->totals.refused_reads += !fits;
    if (!fits && !anyway) {
        for (int64_t i = 0; i < below.count; i++) {
            ref_level_find(disk_of(state), below.at[i])->readers--;
        }
        ref_list_free(&below);
        return 0;
    }
    struct ref_transfer *up = new_transfer(state, REF_UP, request->index);
    up->block_count = below.count * state->engine->tier.chunk_blocks;
    up->links = below;
    up->in_host = fits;
    submit(state, up, later_of(state->now, room));
    *done = up->end_ticks;
    return count;
}

/* The same of a request's chunks from `first` to `end`. */
static int64_t read_up(struct ref_state *state, const struct ref_request *request, int64_t first,
                       int64_t end, bool anyway, ref_i128 *done)
{
    struct ref_list wanted = {0};
    for (int64_t i = first; i < end; i++) {
        ref_list_push(&wanted, link_of(state, request, i));
    }
    const int64_t count = read_up_wanted(state, request, &wanted, anyway, done);
    ref_list_free(&wanted);
    return count;
}

/* ---- fetch or compute ---- */

static ref_i128 prefill_ticks(const struct ref_state *state, const struct ref_request *request,
                              int64_t from)
{
    const int64_t known = ref_request_tokens(request);
    const int64_t most =
        state->engine->enable_chunked_prefill ? state->engine->max_num_batched_tokens : known;
    ref_i128 ticks = 0;
    while (from < known) {
        const int64_t tokens = min64(known - from, most);
        from += tokens;
        const struct ref_shape shape = {.prefill_tokens = tokens,
                                        .prefill_seqs = 1,
                                        .context_tokens = from,
                                        .scheduled_tokens = tokens};
        ticks += ref_step_ticks(state->input, &shape);
    }
    return ticks;
}

static ref_i128 queue_of(struct ref_state *state, enum ref_transfer_kind kind)
{
    ref_i128 queue = later_of(*free_at(state, kind) - state->now, 0);
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        if (transfer->kind == kind && !transfer->is_submitted) {
            queue += transfer_ticks(state, kind, transfer->block_count);
        }
    }
    return queue;
}

/* Ticks saved by loading `blocks`, up to token `usable`, of which `below` chunks are on disk alone. */
static ref_i128 gain_of(struct ref_state *state, const struct ref_request *request,
                        int64_t hit_tokens, int64_t usable, int64_t blocks, int64_t below)
{
    if (usable <= hit_tokens) {
        return 0;
    }
    ref_i128 wait = queue_of(state, REF_LOAD);
    if (below > 0) {
        wait = later_of(
            wait, queue_of(state, REF_UP) +
                      transfer_ticks(state, REF_UP, below * state->engine->tier.chunk_blocks));
    }
    return prefill_ticks(state, request, hit_tokens) - prefill_ticks(state, request, usable) -
           wait - transfer_ticks(state, REF_LOAD, blocks);
}

/* The same up to chunk `end`. */
static ref_i128 gain(struct ref_state *state, const struct ref_request *request, int64_t hit_tokens,
                     int64_t end, int64_t below)
{
    const int64_t to = end * chunk_tokens(state);
    return gain_of(state, request, hit_tokens, min64(to, ref_request_tokens(request) - 1),
                   (to - hit_tokens) / state->engine->block_size, below);
}

/* ---- asking ---- */

enum place { NOWHERE, IN_HOST, NOT_YET, ON_DISK };

/* Where a chunk can be had from; NOT_YET: whoever wants it waits. */
static enum place place_of(struct ref_state *state, int64_t link)
{
    const struct ref_tier *tier = &state->engine->tier;
    const struct ref_chunk *host = ref_level_find(host_of(state), link);
    const bool waits = !tier->is_sync && tier->prefetch == REF_PREFETCH_NONE;
    if (host != NULL) {
        if (waits) {
            return host->is_ready && host->readers == 0 ? IN_HOST : NOT_YET;
        }
        return host->is_ready ? IN_HOST : NOWHERE;
    }
    const struct ref_chunk *disk = has_disk(state) && tier->prefetch == REF_PREFETCH_NONE
                                       ? ref_level_find(disk_of(state), link)
                                       : NULL;
    if (disk == NULL) {
        return NOWHERE;
    }
    return disk->is_ready ? ON_DISK : waits ? NOT_YET : NOWHERE;
}

static bool is_in_host(struct ref_state *state, int64_t link)
{
    return ref_level_find(host_of(state), link) != NULL;
}

struct found {
    int64_t end, host_end, below;
    bool not_yet;
};

static struct found find(struct ref_state *state, const struct ref_request *request, int64_t first,
                         int64_t count)
{
    struct found found = {.end = first, .host_end = first};
    for (; found.end < count; found.end++) {
        const int64_t link = link_of(state, request, found.end);
        const enum place place = place_of(state, link);
        if (place == NOWHERE) {
            break;
        }
        // A chunk on its way to the disk, which the host has dropped, is below as well.
        found.below += !is_in_host(state, link);
        found.not_yet = found.not_yet || place == NOT_YET;
        found.host_end += found.below == 0;
    }
    return found;
}

/* ---- asking of several tables ---- */

static bool is_below(struct ref_state *state, int64_t key)
{
    return ref_level_find(host_of(state), key) == NULL;
}

static int64_t count_below(struct ref_state *state, const struct ref_list *keys)
{
    int64_t below = 0;
    for (int64_t i = 0; i < keys->count; i++) {
        below += is_below(state, keys->at[i]);
    }
    return below;
}

/* In the table that has most of them there. */
static int64_t tokens_below(struct ref_state *state, const struct ref_list *keys)
{
    int64_t chunks = 0;
    for (int64_t t = 0; t < state->table_count; t++) {
        int64_t here = 0;
        for (int64_t i = 0; i < keys->count; i++) {
            here += keys->at[i] % REF_TABLES_MAX == t && is_below(state, keys->at[i]);
        }
        chunks = max64(chunks, here);
    }
    return chunks * chunk_tokens(state);
}

/* By cost: what of the host alone, of both or of neither saves most time. */
static int64_t choose(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                      int64_t all, bool *not_yet)
{
    bool host_not_yet = false;
    const int64_t host = ref_tables_find(state, request, hit_tokens, REF_SCOPE_HOST, &host_not_yet);
    struct ref_list keys = {0};
    int64_t blocks = ref_tables_wanted(state, request, hit_tokens, host, &keys);
    const ref_i128 of_host = gain_of(state, request, hit_tokens, host, blocks, 0);
    keys.count = 0;
    blocks = ref_tables_wanted(state, request, hit_tokens, all, &keys);
    const int64_t below = count_below(state, &keys);
    ref_list_free(&keys);
    const ref_i128 of_all =
        below > 0 ? gain_of(state, request, hit_tokens, all, blocks, below) : of_host;
    if (of_all > 0 && of_all > of_host) {
        return all;
    }
    *not_yet = of_host > 0 && host_not_yet;
    return of_host > 0 ? host : hit_tokens;
}

static int64_t ask_tables(struct ref_state *state, struct ref_request *request, int64_t hit_tokens)
{
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t size = chunk_tokens(state), count = ref_request_tokens(request) / size;
    ref_request_chain(state, request, count * tier->chunk_blocks);
    request->declined_tokens = 0;
    for (int64_t t = 0; t < state->table_count && count * size - hit_tokens >= size; t++) {
        for (int64_t i = hit_tokens / size; tier->store == REF_STORE_ASKED && i < count; i++) {
            ref_list_push(&state->tier.asked, ref_chunk_key(state, request, t, i));
        }
    }
    bool not_yet = request->prefetch_until > state->now;
    int64_t end = hit_tokens;
    if (!not_yet) {
        end = ref_tables_find(state, request, hit_tokens, REF_SCOPE_ALL, &not_yet);
    }
    if (tier->by_cost && end > hit_tokens) {
        const int64_t found = end;
        end = choose(state, request, hit_tokens, found, &not_yet);
        request->declined_tokens = found - end;
    }
    request->hit_chunks = (not_yet ? hit_tokens : end) / size;
    touch_chunks(state, REF_HOST, request, count);
    touch_chunks(state, REF_DISK, request, has_disk(state) ? count : 0);
    if (not_yet) {
        return -1;
    }
    struct ref_list keys = {0};
    ref_tables_wanted(state, request, hit_tokens, end, &keys);
    if (count_below(state, &keys) > 0) {
        const int64_t below = tokens_below(state, &keys);
        ref_i128 done;
        if (read_up_wanted(state, request, &keys, false, &done) > 0) {
            request->below_tokens += below;
            not_yet = true;
        } else {
            end = ref_tables_find(state, request, hit_tokens, REF_SCOPE_HOST, &not_yet);
        }
    }
    ref_list_free(&keys);
    return not_yet ? -1 : end - hit_tokens;
}

static void set_patience(const struct ref_state *state, struct ref_request *request, ref_i128 done)
{
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t patience = min64(tier->prefetch_most_ticks,
                                   tier->prefetch_base_ticks + tier->prefetch_ticks_per_1024 *
                                                                   request->below_tokens / 1024);
    if (tier->prefetch == REF_PREFETCH_WAIT) {
        request->prefetch_until = done;
    } else if (tier->prefetch == REF_PREFETCH_TIME) {
        request->prefetch_until = done < state->now + patience ? done : state->now + patience;
    }
}

static void prefetch_tables(struct ref_state *state, struct ref_request *request,
                            int64_t hit_tokens)
{
    bool not_yet = false;
    ref_request_chain(state, request,
                      ref_request_tokens(request) / chunk_tokens(state) *
                          state->engine->tier.chunk_blocks);
    const int64_t end = ref_tables_find(state, request, hit_tokens, REF_SCOPE_PREFETCH, &not_yet);
    struct ref_list keys = {0};
    ref_tables_wanted(state, request, hit_tokens, end, &keys);
    const int64_t below = tokens_below(state, &keys);
    ref_i128 done;
    if (end > hit_tokens && below > 0 && below >= state->engine->tier.prefetch_threshold &&
        read_up_wanted(state, request, &keys, false, &done) > 0) {
        request->below_tokens = below;
        set_patience(state, request, done);
    }
    ref_list_free(&keys);
}

int64_t ref_tier_ask(struct ref_state *state, struct ref_request *request, int64_t hit_blocks)
{
    if (ref_tables_matter(state)) {
        return ask_tables(state, request, hit_blocks * state->engine->block_size);
    }
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t size = chunk_tokens(state);
    const int64_t hit_tokens = hit_blocks * state->engine->block_size;
    const int64_t count = ref_request_tokens(request) / size, first = hit_tokens / size;
    ref_request_chain(state, request, count * tier->chunk_blocks);
    touch_chunks(state, REF_HOST, request, count);
    touch_chunks(state, REF_DISK, request, has_disk(state) ? count : 0);
    request->declined_tokens = 0;
    if (count * size - hit_tokens < size) {
        return 0;
    }
    for (int64_t i = first; tier->store == REF_STORE_ASKED && i < count; i++) {
        ref_list_push(&state->tier.asked, link_of(state, request, i));
    }
    if (request->prefetch_until > state->now) {
        return -1;
    }
    struct found found = find(state, request, first, count);
    if (tier->by_cost && found.end * size - hit_tokens >= size) {
        const ref_i128 host = gain(state, request, hit_tokens, found.host_end, 0);
        const ref_i128 all =
            found.below > 0 ? gain(state, request, hit_tokens, found.end, found.below) : host;
        int64_t end = host > 0 ? found.host_end : first;
        end = all > 0 && all > host ? found.end : end;
        request->declined_tokens = (found.end - end) * size;
        found = find(state, request, first, end);
    }
    if (found.not_yet) {
        return -1;
    }
    if (found.below > 0 && found.end * size - hit_tokens >= size) {
        ref_i128 done;
        if (tier->is_sync) {
            request->below_tokens = found.below * size;
        } else if (read_up(state, request, first, found.end, false, &done) > 0) {
            request->below_tokens += found.below * size;
            return -1;
        } else {
            found.end = found.host_end;
        }
    }
    return found.end * size - hit_tokens >= size ? found.end * size - hit_tokens : 0;
}

void ref_tier_prefetch(struct ref_state *state, struct ref_request *request, int64_t hit_blocks)
{
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t size = chunk_tokens(state), count = ref_request_tokens(request) / size;
    const int64_t first = hit_blocks * state->engine->block_size / size;
    int64_t end = first, below = 0;
    if (ref_tables_matter(state)) {
        prefetch_tables(state, request, hit_blocks * state->engine->block_size);
        return;
    }
    ref_request_chain(state, request, count * tier->chunk_blocks);
    for (; end < count; end++) {
        const int64_t link = link_of(state, request, end);
        const struct ref_chunk *disk = ref_level_find(disk_of(state), link);
        if (!is_in_host(state, link) && (disk == NULL || !disk->is_ready)) {
            break;
        }
        below += !is_in_host(state, link);
    }
    ref_i128 done;
    if (below == 0 || below * size < tier->prefetch_threshold ||
        read_up(state, request, first, end, false, &done) == 0) {
        return;
    }
    request->below_tokens = below * size;
    set_patience(state, request, done);
}

void ref_tier_taken(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                    int64_t loaded_tokens)
{
    struct ref_totals *totals = &state->output->totals;
    totals->tier_asked_tokens += ref_request_tokens(request) - hit_tokens;
    totals->tier_hit_tokens += loaded_tokens;
    totals->tier_below_tokens += min64(request->below_tokens, loaded_tokens);
    totals->declined_tokens += request->declined_tokens;
    totals->declined_count += request->declined_tokens > 0;
    request->below_tokens = request->declined_tokens = 0;
}

/* ---- loads and stores ---- */

void ref_tier_load(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                   int64_t end)
{
    const int64_t first = hit_tokens / chunk_tokens(state), last = end / chunk_tokens(state);
    struct ref_list links = {0};
    if (ref_tables_matter(state)) {
        struct ref_transfer *load = new_transfer(state, REF_LOAD, request->index);
        load->block_count = ref_tables_wanted(state, request, hit_tokens, end, &load->links);
        for (int64_t i = 0; i < load->links.count; i++) {
            ref_level_find(host_of(state), load->links.at[i])->readers++;
        }
        request->stored_chunks =
            max64(request->stored_chunks, ref_ceil_div(end, chunk_tokens(state)));
        return;
    }
    for (int64_t i = first; i < last; i++) {
        const int64_t link = link_of(state, request, i);
        if (is_in_host(state, link)) {
            ref_level_find(host_of(state), link)->readers++;
            ref_list_push(&links, link);
        }
    }
    ref_i128 read = 0;
    if (links.count < last - first) {
        read_up(state, request, first, last, true, &read);
    }
    struct ref_transfer *load = new_transfer(state, REF_LOAD, request->index);
    load->links = links;
    load->not_before = read;
    load->block_count = (end - hit_tokens) / state->engine->block_size;
    request->stored_chunks = max64(request->stored_chunks, last);
}

void ref_tier_reuse(struct ref_state *state, int64_t block)
{
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        if (!transfer->is_done && transfer->kind == REF_STORE &&
            ref_list_find(&transfer->blocks, block) >= 0) {
            state->tier.flush = max64(state->tier.flush, i);
        }
    }
}

void ref_tier_dropped(struct ref_state *state, int64_t table, int64_t dropped)
{
    const int64_t link = dropped < 0 ? -1 : dropped * REF_TABLES_MAX + table;
    struct ref_tier_state *tier = &state->tier;
    struct ref_list offered = {0}, added = {0};
    if (!ref_tier_exists(state) || state->engine->tier.store != REF_STORE_DROPPED || link < 0) {
        return;
    }
    ref_list_push(&offered, link);
    ref_level_offer(host_of(state), &offered, state->now, &added);
    if (added.count > 0) {
        const ref_i128 room = demote(state);
        int64_t open = -1;
        for (int64_t i = 0; i < tier->transfer_count; i++) {
            const struct ref_transfer *transfer = &tier->transfers[i];
            open = transfer->is_write_back && !transfer->is_submitted ? i : open;
        }
        if (open < 0) {
            new_transfer(state, REF_STORE, -1)->is_write_back = true;
            open = tier->transfer_count - 1;
        }
        struct ref_transfer *back = &tier->transfers[open];
        ref_list_push(&back->links, link);
        back->block_count++;
        back->not_before = later_of(back->not_before, room);
        tier->flush = max64(tier->flush, open);
    }
    ref_list_free(&offered);
    ref_list_free(&added);
}

/* ---- behind a tree ---- */

static void lock_for(struct ref_transfer *transfer, struct ref_node *node)
{
    transfer->nodes =
        ref_resize(transfer->nodes, (size_t)transfer->node_count + 1, sizeof(*transfer->nodes));
    transfer->nodes[transfer->node_count++] = node;
}

void ref_tier_store_pages(struct ref_state *state, struct ref_request *request, ref_i128 at)
{
    if (state->tree.copied > 0) {
        struct ref_transfer *store = new_transfer(state, REF_STORE, -1);
        store->block_count = state->tree.copied;
        lock_for(store, state->tree.source);
        const int64_t end = ref_tree_depth(state, state->tree.source);
        ref_request_chain(state, request, end);
        for (int64_t i = end - state->tree.copied; i < end; i++) {
            ref_list_push(&store->links, request->links.at[i]);
        }
        submit(state, store, at);
    }
    state->tree.copied = 0;
    state->tree.source = NULL;
}

/* The one of the turn that is not on its link, made when there is none. */
static struct ref_transfer *open_transfer(struct ref_state *state, enum ref_transfer_kind kind)
{
    struct ref_tier_state *tier = &state->tier;
    for (int64_t i = 0; i < tier->transfer_count; i++) {
        if (tier->transfers[i].kind == kind && !tier->transfers[i].is_submitted) {
            return &tier->transfers[i];
        }
    }
    return new_transfer(state, kind, -1);
}

bool ref_tier_loads_pages(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                          int64_t pages)
{
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t tokens = pages * state->engine->block_size;
    request->declined_tokens = 0;
    if (tokens < tier->load_threshold) {
        return false;
    }
    for (int64_t i = 0; i < state->tier.transfer_count; i++) { // it comes with what the turn loads
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        const bool is_open = transfer->kind == REF_LOAD && !transfer->is_submitted;
        pages += is_open ? transfer->block_count : 0;
    }
    const ref_i128 each = ticks_per_block(state, REF_LOAD), layers = tier->load_layers;
    const ref_i128 begin =
        later_of(*free_at(state, REF_LOAD) - state->now, 0) + tier->levels[REF_HOST].latency_ticks;
    const ref_i128 rest =
        prefill_ticks(state, request, min64(hit_tokens + tokens, ref_request_tokens(request) - 1));
    const ref_i128 with =
        later_of(begin + pages * each / layers + rest, begin + pages * each + rest / layers);
    if (tier->by_cost && with >= prefill_ticks(state, request, hit_tokens)) {
        request->declined_tokens = tokens;
        return false;
    }
    return true;
}

void ref_tier_load_pages(struct ref_state *state, struct ref_node *node, int64_t pages)
{
    struct ref_transfer *load = open_transfer(state, REF_LOAD);
    load->block_count += pages;
    lock_for(load, node);
}

void ref_tier_write_pages(struct ref_state *state, struct ref_node *node, int64_t pages)
{
    struct ref_transfer *back = open_transfer(state, REF_STORE);
    back->is_write_back = true;
    back->block_count += pages;
    state->tier.flush = back - state->tier.transfers;
    if (has_disk(state)) {
        ref_tree_links(state, node, &back->links);
        ref_list_push(&back->node_links, pages);
        lock_for(back, node);
        ref_tree_pin_host(node);
    }
}

void ref_tier_forget_node(struct ref_state *state, const struct ref_node *node)
{
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        for (int64_t n = 0; n < transfer->node_count; n++) {
            if (transfer->nodes[n] == node) {
                transfer->nodes[n] = NULL;
            }
        }
    }
    for (int64_t i = 0; i < state->input->request_count; i++) {
        struct ref_request *request = &state->requests[i];
        request->fetch_is_lost = request->fetch_is_lost || request->fetch_behind == node;
    }
}

static void hold_pages(struct ref_state *state, int64_t change)
{
    struct ref_level_state *host = host_of(state);
    ref_level_count(host, state->now);
    host->chunk_count += change;
}

void ref_tier_lose_pages(struct ref_state *state, int64_t pages)
{
    hold_pages(state, -pages);
    host_of(state)->totals->evicted_chunks += pages;
}

bool ref_tier_take_room(struct ref_state *state, int64_t pages,
                        int64_t (*evict)(struct ref_state *state))
{
    struct ref_level_state *host = host_of(state);
    const int64_t capacity = host->engine->capacity_chunks;
    int64_t evicted = 0, gone;
    if (host->chunk_count + pages > capacity) {
        while (evicted < pages && (gone = evict(state)) > 0) {
            evicted += gone;
            hold_pages(state, -gone);
        }
        host->totals->evicted_chunks += evicted;
    }
    if (host->chunk_count + pages > capacity) {
        host->totals->refused_stores++;
        return false;
    }
    hold_pages(state, pages);
    host->totals->added_chunks += pages;
    host->totals->peak_chunks = max64(host->totals->peak_chunks, host->chunk_count);
    return true;
}

void ref_tier_give_room(struct ref_state *state, int64_t pages)
{
    hold_pages(state, -pages);
    host_of(state)->totals->added_chunks -= pages;
}

int64_t ref_tier_read_pages(struct ref_state *state, struct ref_request *request, int64_t first,
                            int64_t end)
{
    const struct ref_tier *tier = &state->engine->tier;
    const int64_t size = state->engine->block_size;
    struct ref_list links = {0};
    ref_request_chain(state, request, end);
    for (int64_t i = first; i < end; i++) {
        const struct ref_chunk *chunk = ref_level_find(disk_of(state), request->links.at[i]);
        if (chunk == NULL || !chunk->is_ready) {
            break;
        }
        ref_list_push(&links, request->links.at[i]);
    }
    for (int64_t i = links.count - 1; i >= 0; i--) {
        ref_level_touch(disk_of(state), links.at[i]);
    }
    const int64_t pages = links.count;
    if (pages == 0 || pages * size < tier->prefetch_threshold) {
        ref_list_free(&links);
        return 0;
    }
    for (int64_t i = 0; i < pages; i++) {
        ref_level_find(disk_of(state), links.at[i])->readers++;
    }
    struct ref_transfer *up = new_transfer(state, REF_UP, request->index);
    up->block_count = pages;
    up->links = links;
    submit(state, up, state->now);
    request->fetch_transfer = state->tier.transfer_count - 1;
    const int64_t patience =
        min64(tier->prefetch_most_ticks,
              tier->prefetch_base_ticks + tier->prefetch_ticks_per_1024 * pages * size / 1024);
    if (tier->prefetch == REF_PREFETCH_WAIT) {
        request->prefetch_until = up->end_ticks;
    } else if (tier->prefetch == REF_PREFETCH_TIME) {
        request->prefetch_until =
            up->end_ticks < state->now + patience ? up->end_ticks : state->now + patience;
    }
    return pages;
}

/* Pages of a read that is given up that are read all the same. */
static int64_t read_in_vain(const struct ref_state *state, const struct ref_transfer *up)
{
    const int64_t batch = state->engine->tier.read_batch;
    int64_t arrived = 0, pages = 0;
    if (up->begin_ticks >= state->now) {
        return 0;
    }
    while (arrived < up->block_count &&
           up->begin_ticks + transfer_ticks(state, REF_UP, arrived + 1) <= state->now) {
        arrived++;
    }
    while (pages <= arrived) {
        pages += batch;
    }
    return min64(pages, up->block_count);
}

/* It and all behind it are put on the link anew. */
void ref_tier_give_up(struct ref_state *state, int64_t index)
{
    struct ref_transfer *transfers = state->tier.transfers, *up = &transfers[index];
    if (up->is_done) {
        return;
    }
    const int64_t pages = read_in_vain(state, up);
    ref_i128 free = 0;
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        if (transfers[i].kind == REF_UP && i < index && transfers[i].block_count > 0) {
            free = transfers[i].end_ticks;
        } else if (transfers[i].kind == REF_UP && i >= index && transfers[i].block_count > 0) {
            count_on_link(state, &transfers[i], -1);
        }
    }
    for (int64_t i = pages; i < up->links.count; i++) {
        ref_level_find(disk_of(state), up->links.at[i])->readers--;
    }
    up->links.count = up->block_count = pages;
    up->is_done = pages == 0;
    *free_at(state, REF_UP) = free;
    for (int64_t i = index; i < state->tier.transfer_count; i++) {
        if (transfers[i].kind != REF_UP || transfers[i].block_count == 0) {
            continue;
        }
        put_on_link(state, &transfers[i]);
        struct ref_request *request = &state->requests[transfers[i].request];
        if (request->fetch_behind != NULL && request->fetch_transfer == i &&
            request->prefetch_until > transfers[i].end_ticks) {
            request->prefetch_until = transfers[i].end_ticks;
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

static void store_chunks(struct ref_state *state, struct ref_request *request, int64_t full,
                         struct ref_list *added)
{
    const int64_t blocks = state->engine->tier.chunk_blocks;
    const ref_i128 room = demote(state);
    struct ref_transfer *transfer = new_transfer(state, REF_STORE, request->index);
    for (int64_t n = 0; n < full * state->table_count; n++) {
        const int64_t t = n / full, i = n % full;
        const bool is_added = ref_list_find(added, ref_chunk_key(state, request, t, i)) >= 0;
        for (int64_t b = 0; b < blocks && is_added; b++) {
            if (request->blocks[t].at[i * blocks + b] != REF_NO_BLOCK) {
                ref_list_push(&transfer->blocks, request->blocks[t].at[i * blocks + b]);
            }
        }
    }
    transfer->links = *added;
    transfer->block_count = transfer->blocks.count;
    transfer->not_before = room;
    touch_chunks(state, REF_HOST, request, full);
}

/* Has a request the last block of a chunk in a table? */
static bool has_chunk(const struct ref_state *state, const struct ref_request *request, int64_t t,
                      int64_t chunk)
{
    const int64_t blocks = state->engine->tier.chunk_blocks;
    return request->blocks[t].at[(chunk + 1) * blocks - 1] != REF_NO_BLOCK;
}

static void store_request(struct ref_state *state, struct ref_request *request, int64_t tokens)
{
    struct ref_tier_state *tier = &state->tier;
    const struct ref_tier *engine = &state->engine->tier;
    const int64_t full = storable_tokens(state, request, tokens) / chunk_tokens(state);
    if (full <= request->stored_chunks) {
        return;
    }
    struct ref_list offered = {0}, added = {0};
    ref_request_chain(state, request, full * engine->chunk_blocks);
    const int64_t unused = max64(request->used_chunks, request->stored_chunks);
    for (int64_t t = 0; t < state->table_count && engine->store == REF_STORE_USED; t++) {
        for (int64_t i = unused; i < full; i++) {
            if (has_chunk(state, request, t, i)) {
                ref_list_push(&tier->asked, ref_chunk_key(state, request, t, i));
            }
        }
        request->used_chunks = max64(unused, full);
    }
    for (int64_t t = 0; t < state->table_count; t++) {
        for (int64_t i = request->stored_chunks; i < full; i++) {
            const int64_t link = ref_chunk_key(state, request, t, i);
            if (has_chunk(state, request, t, i) &&
                (engine->store == REF_STORE_FILLED || engine->store_threshold < 2 ||
                 times_asked(tier, link) >= engine->store_threshold)) {
                ref_list_push(&offered, link);
            }
        }
    }
    if (ref_level_offer(host_of(state), &offered, state->now, &added)) {
        request->stored_chunks = full;
        if (added.count > 0) {
            store_chunks(state, request, full, &added);
            added = (struct ref_list){0};
        }
    }
    ref_list_free(&offered);
    ref_list_free(&added);
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
    if (!ref_tier_exists(state) || state->engine->tier.store == REF_STORE_DROPPED ||
        state->engine->is_radix) {
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

/* ---- time ---- */

static void submit_write_backs(struct ref_state *state, ref_i128 at)
{
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        if (state->tier.transfers[i].is_write_back && !state->tier.transfers[i].is_submitted) {
            submit(state, &state->tier.transfers[i], at);
        }
    }
}

/* When what the coming step must wait for has ended. */
static ref_i128 flushed_at(struct ref_state *state, ref_i128 start)
{
    const int64_t flush = state->tier.flush;
    state->tier.flush = -1;
    return flush < 0 ? start : later_of(start, state->tier.transfers[flush].end_ticks);
}

/* Each layer is computed once it is there and the one before it is computed. */
static ref_i128 by_layer(struct ref_state *state, ref_i128 begin, int64_t ticks)
{
    const int64_t layers = state->engine->tier.load_layers;
    const struct ref_transfer *load = NULL;
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        load = transfer->kind == REF_LOAD && !transfer->is_submitted ? transfer : load;
    }
    if (load == NULL) {
        return begin + ticks;
    }
    const ref_i128 loaded = submit_all(state, REF_LOAD, begin);
    const ref_i128 moving = (ref_i128)load->block_count * ticks_per_block(state, REF_LOAD);
    return later_of(loaded - moving + moving / layers + ticks, loaded + ticks / layers);
}

ref_i128 ref_tier_launch(struct ref_state *state, ref_i128 start, int64_t ticks)
{
    if (!ref_tier_exists(state)) {
        return start + ticks;
    }
    submit_write_backs(state, start);
    const ref_i128 begin = flushed_at(state, start);
    if (state->engine->is_radix) {
        const ref_i128 end = by_layer(state, begin, ticks);
        state->output->totals.stall_ticks += end - start - ticks;
        return end;
    }
    const ref_i128 loaded = submit_all(state, REF_LOAD, begin);
    const bool is_sync = state->engine->tier.is_sync;
    const ref_i128 computed = (is_sync ? loaded : begin) + ticks;
    const ref_i128 stored = submit_all(state, REF_STORE, computed);
    const ref_i128 end = is_sync ? stored : computed;
    state->output->totals.stall_ticks += end - start - ticks;
    return end;
}

void ref_tier_launch_nothing(struct ref_state *state)
{
    if (ref_tier_exists(state)) {
        const ref_i128 start = later_of(state->now, state->last_end);
        submit_write_backs(state, start);
        submit_all(state, REF_LOAD, flushed_at(state, start));
    }
}

/* When something of it has come to pass; loads and stores at their end, copies chunk by chunk. */
static ref_i128 next_of(const struct ref_state *state, const struct ref_transfer *transfer)
{
    if (transfer->kind == REF_LOAD || transfer->kind == REF_STORE) {
        return transfer->end_ticks;
    }
    const int64_t blocks = (transfer->arrived + 1) * state->engine->tier.chunk_blocks;
    return transfer->begin_ticks + transfer_ticks(state, transfer->kind, blocks);
}

static void unpin(const struct ref_transfer *transfer)
{
    for (int64_t i = 0; i < transfer->node_count; i++) {
        ref_tree_unpin(transfer->nodes[i]);
    }
}

static void end_load(struct ref_state *state, struct ref_transfer *load)
{
    load->is_done = true;
    for (int64_t c = 0; c < load->links.count; c++) {
        ref_level_find(host_of(state), load->links.at[c])->readers--;
    }
    if (state->engine->is_radix) {
        unpin(load);
        return;
    }
    struct ref_request *request = &state->requests[load->request];
    if (request->load == REF_LOADING) {
        request->load_is_done = true;
        if (request->where == REF_OVER) { // its client had gone
            request->load = REF_NOT_LOADED;
            ref_request_release(state, request, true);
        }
    }
}

/* What a tree's store has brought of a node goes further down, and stays until it is there. */
static void write_node_down(struct ref_state *state, struct ref_node *node,
                            const struct ref_list *links, ref_i128 at)
{
    struct ref_list added = {0};
    ref_level_offer(disk_of(state), links, at, &added);
    if (added.count == 0) {
        ref_list_free(&added);
        return;
    }
    struct ref_transfer *down = new_transfer(state, REF_DOWN, -1);
    down->block_count = added.count;
    down->links = added;
    lock_for(down, node);
    ref_tree_pin_host(node);
    submit(state, down, at);
}

/* The nodes that left the pool one by one, with their share of the links; those that have gone since not. */
static void write_nodes_down(struct ref_state *state, int64_t index)
{
    int64_t first = 0;
    for (int64_t n = 0; n < state->tier.transfers[index].node_count; n++) {
        const struct ref_transfer *back = &state->tier.transfers[index]; // the array may move
        const int64_t count = back->node_links.at[n];
        struct ref_node *node = back->nodes[n];
        const struct ref_list links = {.at = &back->links.at[first], .count = count};
        if (node != NULL) {
            write_node_down(state, node, &links, back->end_ticks);
            ref_tree_unpin_host(node);
        }
        first += count;
    }
}

static void end_store(struct ref_state *state, int64_t index)
{
    struct ref_transfer *store = &state->tier.transfers[index];
    store->is_done = true;
    if (!store->is_write_back) {
        unpin(store);
    }
    for (int64_t c = 0; c < store->links.count && !state->engine->is_radix; c++) {
        ref_level_find(host_of(state), store->links.at[c])->is_ready = true;
    }
    if (state->engine->is_radix && has_disk(state)) {
        if (store->is_write_back) {
            write_nodes_down(state, index);
        } else if (store->links.count > 0) {
            const struct ref_list links = store->links;
            write_node_down(state, store->nodes[0], &links, store->end_ticks);
        }
    }
    if (state->engine->is_radix) {
        return;
    }
    if (has_disk(state) && !disk_of(state)->engine->on_eviction) {
        struct ref_list links = store->links; // the array of transfers may move
        write_through(state, &links, store->end_ticks);
    }
}

static void arrive(struct ref_state *state, struct ref_transfer *copy)
{
    const int64_t link = copy->links.at[copy->arrived++];
    copy->is_done = copy->arrived == copy->links.count;
    struct ref_chunk *disk = ref_level_find(disk_of(state), link);
    if (copy->kind == REF_UP) {
        disk->readers--;
        if (copy->in_host) {
            ref_level_find(host_of(state), link)->is_ready = true;
        }
    } else {
        disk->is_ready = true;
        for (int64_t i = 0; copy->is_done && i < copy->node_count; i++) {
            if (copy->nodes[i] != NULL) {
                ref_tree_unpin_host(copy->nodes[i]);
            }
        }
        if (copy->in_host) {
            ref_level_find(host_of(state), link)->copiers--;
        }
    }
}

/* What comes to pass first, by now; -1: nothing. At one instant by kind. */
static int64_t first_to_pass(const struct ref_state *state)
{
    int64_t first = -1;
    for (int64_t i = 0; i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        if (transfer->is_done || !transfer->is_submitted || next_of(state, transfer) > state->now) {
            continue;
        }
        const struct ref_transfer *best = first >= 0 ? &state->tier.transfers[first] : NULL;
        const ref_i128 at = next_of(state, transfer);
        if (best == NULL || at < next_of(state, best) ||
            (at == next_of(state, best) && transfer->kind < best->kind)) {
            first = i;
        }
    }
    return first;
}

void ref_tier_settle(struct ref_state *state)
{
    int64_t index;
    while ((index = first_to_pass(state)) >= 0) {
        struct ref_transfer *transfer = &state->tier.transfers[index];
        if (transfer->kind == REF_LOAD) {
            end_load(state, transfer);
        } else if (transfer->kind == REF_STORE) {
            end_store(state, index);
        } else {
            arrive(state, transfer);
        }
    }
}

bool ref_tier_next(const struct ref_state *state, ref_i128 *at)
{
    bool any = false;
    const bool someone_waits = state->waiting.count + state->aside.count > 0;
    for (int64_t i = 0; state->in_flight_count == 0 && i < state->tier.transfer_count; i++) {
        const struct ref_transfer *transfer = &state->tier.transfers[i];
        const bool matters = transfer->kind == REF_LOAD || someone_waits;
        if (matters && !transfer->is_done && (!any || transfer->end_ticks < *at)) {
            *at = transfer->end_ticks;
            any = true;
        }
    }
    for (int64_t i = 0; state->in_flight_count == 0 && i < state->aside.count; i++) {
        const struct ref_request *request = &state->requests[state->aside.at[i]];
        if (request->prefetch_until > state->now && (!any || request->prefetch_until < *at)) {
            *at = request->prefetch_until;
            any = true;
        }
    }
    return any;
}

int64_t ref_tier_loading_blocks(const struct ref_state *state)
{
    int64_t count = ref_tree_pinned(state);
    for (int64_t i = 0; i < state->input->request_count; i++) {
        const struct ref_request *request = &state->requests[i];
        for (int64_t t = 0; t < state->table_count && request->load == REF_LOADING; t++) {
            const int64_t hits = request->computed / state->engine->block_size;
            for (int64_t b = hits; b < request->blocks[t].count; b++) {
                count += request->blocks[t].at[b] != REF_NO_BLOCK;
            }
        }
    }
    return count;
}
