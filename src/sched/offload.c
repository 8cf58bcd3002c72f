#include "sched/offload.h"

#include "base/error.h"
#include "sched/sched_int.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void sched_offload_init(struct sched *sched, struct base_arena *arena)
{
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_offload *offload = &sched->offload;
    base_require(sched->pool->prefix != NULL && sched->options->block_size > 1);
    const struct sched_tier_option *first = &options->at[0];
    sched_tier_init(&offload->tier, first);
    sched_lower_init(&offload->lower, options);
    offload->load_link = (struct kv_link){.latency_ticks = first->latency_ticks,
                                          .ticks_per_block = first->read_ticks_per_block};
    offload->store_link = (struct kv_link){.latency_ticks = first->latency_ticks,
                                           .ticks_per_block = first->write_ticks_per_block};
    base_pool_init(&offload->transfers, sizeof(struct sched_transfer));
    offload->chunk_tokens = options->chunk_blocks * sched->options->block_size;
    offload->filling =
        base_arena_array(arena, (size_t)offload->chunk_tokens, sizeof *offload->filling);
    sched->pool->prefix->on_reuse = sched_offload_note_reuse;
    if (options->store == SCHED_STORE_BACK) {
        base_require(options->chunk_blocks == 1);
        sched->pool->prefix->on_evict = sched_offload_note_evict;
    }
}

/* ---- transfers ---- */

static struct sched_transfer *transfer_new(struct sched_offload *offload,
                                           struct sched_transfers *list)
{
    struct sched_transfer *transfer = base_pool_take(&offload->transfers);
    *(list->tail != NULL ? &list->tail->next : &list->head) = transfer;
    list->tail = transfer;
    list->unsent = list->unsent != NULL ? list->unsent : transfer;
    offload->has_orders = true;
    return transfer;
}

static void transfer_drop_head(struct sched_offload *offload, struct sched_transfers *list)
{
    struct sched_transfer *transfer = list->head;
    list->head = transfer->next;
    list->tail = list->head == NULL ? NULL : list->tail;
    base_vec_free(&transfer->chunks);
    base_vec_free(&transfer->sources);
    base_pool_give(&offload->transfers, transfer);
}

void sched_offload_release(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    while (offload->loads.head != NULL) {
        transfer_drop_head(offload, &offload->loads);
    }
    while (offload->stores.head != NULL) {
        transfer_drop_head(offload, &offload->stores);
    }
    base_pool_release(&offload->transfers);
    base_free(offload->by_number);
    sched_lower_release(&offload->lower);
    kv_tier_release(&offload->tier.chunks);
    base_vec_free(&offload->fresh);
    base_vec_free(&offload->gone);
    base_vec_free(&offload->due);
    base_vec_free(&offload->found);
    base_vec_free(&offload->places);
}

/* ---- stores by their number ---- */

static struct sched_transfer **slot_of(const struct sched_offload *offload, uint64_t number)
{
    return &offload->by_number[number & (offload->by_number_capacity - 1)];
}

// NULL: it has ended.
static struct sched_transfer *store_by_number(const struct sched_offload *offload, uint64_t number)
{
    bool is_open = offload->stores.head != NULL && number >= offload->stores.head->number &&
                   number <= offload->store_count;
    return is_open ? *slot_of(offload, number) : NULL;
}

static void by_number_grow(struct sched_offload *offload)
{
    offload->by_number_capacity =
        offload->by_number_capacity == 0 ? 64 : offload->by_number_capacity * 2;
    offload->by_number =
        base_realloc(offload->by_number,
                     base_mul_size(offload->by_number_capacity, sizeof(struct sched_transfer *)));
    for (struct sched_transfer *store = offload->stores.head; store != NULL; store = store->next) {
        *slot_of(offload, store->number) = store;
    }
}

static struct sched_transfer *store_new(struct sched_offload *offload, uint64_t plan)
{
    struct sched_transfer *store = transfer_new(offload, &offload->stores);
    store->number = ++offload->store_count;
    store->plan = plan;
    if (++offload->stores_open > offload->by_number_capacity) {
        by_number_grow(offload);
    }
    *slot_of(offload, store->number) = store;
    return store;
}

// A piece of a copy, or the one that it was cut from, was read by `store` before: by which one before that?
static uint64_t store_before(const struct sched_transfer *store, const struct kv_source *source)
{
    uint64_t before = store->number;
    for (size_t i = 0; i < store->sources.count; i++) {
        const struct kv_source *read = &store->sources.at[i];
        if (read->copy == source->copy && read->piece_lo < source->hi &&
            read->piece_hi >= source->hi && read->last_store < before) {
            before = read->last_store;
        }
    }
    base_require(before < store->number);
    return before;
}

static bool store_reads(const struct sched_transfer *store, const struct kv_source *source)
{
    for (size_t i = 0; i < store->sources.count; i++) {
        const struct kv_source *read = &store->sources.at[i];
        if (read->copy == source->copy && read->lo < source->hi && read->hi > source->lo) {
            return true;
        }
    }
    return false;
}

static void wait_for_store(struct sched_offload *offload, uint64_t number)
{
    offload->flush = number > offload->flush ? number : offload->flush;
    offload->has_orders = true;
}

// The last store that still reads some of the blocks: those before it end before it.
void sched_offload_note_reuse(void *context, const struct kv_source *source)
{
    struct sched *sched = context;
    struct sched_offload *offload = &sched->offload;
    uint64_t number = source->last_store;
    const struct sched_transfer *store;
    while ((store = store_by_number(offload, number)) != NULL) {
        if (store_reads(store, source)) {
            wait_for_store(offload, number);
            return;
        }
        number = store_before(store, source);
    }
}

// What the last offer to the first tier has dropped goes down; returns when that is written.
static base_i128 demote(struct sched_offload *offload)
{
    if (!offload->lower.exists || !offload->lower.on_eviction) {
        return 0;
    }
    return sched_lower_demote(&offload->lower, &offload->tier.chunks, offload->now);
}

static struct sched_transfer *write_back_of_turn(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    if (offload->write_back == NULL) {
        offload->write_back = store_new(offload, sched->next_number);
        offload->write_back->is_write_back = true;
        wait_for_store(offload, offload->write_back->number);
    }
    return offload->write_back;
}

void sched_offload_note_evict(void *context, const struct base_hash *keys, int64_t count)
{
    struct sched *sched = context;
    struct sched_offload *offload = &sched->offload;
    for (int64_t i = count - 1; i >= 0; i--) {
        if (!sched_tier_offer(&offload->tier, &keys[i], 1, 0, offload->now, &offload->found,
                              &offload->places) ||
            offload->found.count == 0) {
            continue;
        }
        struct kv_chunk *chunk = offload->found.at[0];
        base_i128 free_at = demote(offload);
        struct sched_transfer *store = write_back_of_turn(sched);
        base_vec_push(&store->chunks, chunk);
        store->blocks++;
        offload->stored_blocks++;
        if (free_at > store->not_before_ticks) {
            store->not_before_ticks = free_at;
        }
    }
}

base_i128 sched_offload_store_end(const struct sched *sched, uint64_t number, base_i128 at)
{
    const struct sched_transfer *store = store_by_number(&sched->offload, number);
    return store != NULL && store->end_ticks > at ? store->end_ticks : at;
}

/* ---- time ---- */

static bool has_ended(const struct sched_transfers *list, base_i128 now)
{
    return list->head != NULL && list->head != list->unsent && list->head->end_ticks <= now;
}

// The first that is not sent yet; returns when it ends.
static base_i128 send_next(struct sched_transfers *list, struct kv_link *link, base_i128 at)
{
    struct sched_transfer *transfer = list->unsent;
    list->unsent = transfer->next;
    kv_link_send(link, transfer->not_before_ticks > at ? transfer->not_before_ticks : at,
                 transfer->blocks);
    transfer->end_ticks = link->free_ticks;
    return transfer->end_ticks;
}

void sched_offload_send_back(struct sched *sched, base_i128 at)
{
    struct sched_transfers *stores = &sched->offload.stores;
    while (stores->unsent != NULL && stores->unsent->is_write_back) {
        send_next(stores, &sched->offload.store_link, at);
    }
}

base_i128 sched_offload_send(struct sched *sched, bool loads, uint64_t plan, base_i128 at)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_transfers *list = loads ? &offload->loads : &offload->stores;
    struct kv_link *link = loads ? &offload->load_link : &offload->store_link;
    base_i128 last = at;
    while (list->unsent != NULL && list->unsent->plan <= plan) {
        last = send_next(list, link, at);
        offload->load_ticks += loads ? last - at : 0;
    }
    if (loads) {
        offload->unsent_load_ticks = 0;
    }
    return last;
}

static void end_load(struct sched *sched, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    offload->loading_count--;
    seq->offload.load_is_done = true;
    if (seq->state == SCHED_GONE) {
        sched_free_aside(sched, seq);
        base_vec_push(&offload->gone, seq);
    }
}

static void end_head_load(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_transfer *load = offload->loads.head;
    for (size_t i = 0; i < load->chunks.count; i++) {
        kv_tier_unpin(&offload->tier.chunks, load->chunks.at[i]);
    }
    if (load->seq != NULL) {
        end_load(sched, load->seq);
    }
    transfer_drop_head(offload, &offload->loads);
}

static void end_head_store(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_transfer *store = offload->stores.head;
    for (size_t i = 0; i < store->chunks.count; i++) {
        kv_tier_set_ready(&offload->tier.chunks, store->chunks.at[i]);
    }
    if (offload->lower.exists && !offload->lower.on_eviction) {
        sched_lower_write_through(&offload->lower, &offload->tier.chunks, &store->chunks,
                                  store->end_ticks);
    }
    sched->pool->prefix->stores_done = store->number;
    offload->stores_open--;
    transfer_drop_head(offload, &offload->stores);
}

// What ends is seen in the order of time; at one instant loads, chunks from and to below, stores.
static bool settle_next(struct sched *sched, base_i128 now)
{
    struct sched_offload *offload = &sched->offload;
    bool load = has_ended(&offload->loads, now), store = has_ended(&offload->stores, now);
    base_i128 load_at = load ? offload->loads.head->end_ticks : 0;
    base_i128 store_at = store ? offload->stores.head->end_ticks : 0, copy_at = 0;
    bool copy = sched_lower_next(&offload->lower, &copy_at) && copy_at <= now;
    if (load && (!copy || load_at <= copy_at) && (!store || load_at <= store_at)) {
        end_head_load(sched);
    } else if (copy && (!store || copy_at <= store_at)) {
        sched_lower_arrive(&offload->lower, &offload->tier.chunks);
    } else if (store) {
        end_head_store(sched);
    }
    return load || copy || store;
}

void sched_offload_settle(struct sched *sched, base_i128 now)
{
    sched->offload.now = now;
    while (settle_next(sched, now)) {
    }
}

static void take_earlier(bool exists, base_i128 at, bool *any, base_i128 *first)
{
    if (exists && (!*any || at < *first)) {
        *first = at;
        *any = true;
    }
}

bool sched_offload_next_end(const struct sched *sched, bool is_idle, base_i128 *at)
{
    const struct sched_offload *offload = &sched->offload;
    const struct sched_transfers *loads = &offload->loads, *stores = &offload->stores;
    bool any = false;
    if (loads->head != NULL && loads->head != loads->unsent) {
        take_earlier(true, loads->head->end_ticks, &any, at);
    }
    if (!is_idle || sched_waiting_count(sched) == 0) {
        return any;
    }
    if (stores->head != NULL && stores->head != stores->unsent) {
        take_earlier(true, stores->head->end_ticks, &any, at);
    }
    base_i128 copy;
    bool copies = sched_lower_next_end(&offload->lower, &copy);
    take_earlier(copies, copies ? copy : 0, &any, at);
    for (const struct sched_seq *seq = offload->aside.head;
         seq != NULL && sched->options->tier.prefetch != SCHED_PREFETCH_NONE; seq = seq->next) {
        take_earlier(seq->offload.prefetch_until_ticks > offload->now,
                     seq->offload.prefetch_until_ticks, &any, at);
    }
    return any;
}

/* ---- asking and loading ---- */

// The keys of the first `count` chunks; they are worked out once.
static const struct base_hash *keys_of(const struct sched *sched, struct sched_seq *seq,
                                       int64_t count)
{
    struct sched_seq_offload *own = &seq->offload;
    if ((int64_t)own->keys.count < count) {
        struct kv_cursor cursor = kv_cursor_at(
            &seq->cache.content, (int64_t)own->keys.count * sched->offload.chunk_tokens);
        struct base_hash hash = {0, 0};
        if (own->keys.count > 0) {
            hash = own->keys.at[own->keys.count - 1];
        }
        while ((int64_t)own->keys.count < count) {
            kv_cursor_hash(&cursor, sched->offload.chunk_tokens, &hash);
            base_vec_push(&own->keys, hash);
        }
    }
    return own->keys.at;
}

// Of the chunks from `first` on: up to which they are found, and what has to be done for that.
struct reach {
    int64_t first, end;
    int64_t upper_end;   /* up to which the first tier has them */
    int64_t below_count; /* only the tier below has them */
    bool is_put_off;
};

// A look at one chunk: is it part of what is found?
static bool is_reached(const struct sched *sched, const struct base_hash *key, struct reach *reach)
{
    const struct sched_tier_options *options = &sched->options->tier;
    const struct sched_offload *offload = &sched->offload;
    bool waits = !options->is_sync && options->prefetch == SCHED_PREFETCH_NONE;
    const struct kv_chunk *chunk = kv_tier_find(&offload->tier.chunks, key);
    if (chunk != NULL) {
        reach->is_put_off =
            reach->is_put_off || (waits && (!chunk->is_ready || chunk->readers > 0));
        reach->upper_end += reach->below_count == 0 && (waits || chunk->is_ready) ? 1 : 0;
        return waits || chunk->is_ready;
    }
    if (!offload->lower.exists || options->prefetch != SCHED_PREFETCH_NONE) {
        return false;
    }
    chunk = kv_tier_find(&offload->lower.tier.chunks, key);
    if (chunk == NULL || (!waits && !chunk->is_ready)) {
        return false;
    }
    reach->is_put_off = reach->is_put_off || !chunk->is_ready;
    reach->below_count++;
    return true;
}

static struct reach reach_of(const struct sched *sched, const struct base_hash *keys, int64_t first,
                             int64_t count)
{
    struct reach reach = {.first = first, .end = first, .upper_end = first};
    while (reach.end < count && is_reached(sched, &keys[reach.end], &reach)) {
        reach.end++;
    }
    return reach;
}

/* ---- fetch or recompute ---- */

// Time until chunks up to `end` are loaded, if that is decided now.
static base_i128 fetch_ticks(const struct sched *sched, int64_t hit_tokens, int64_t end,
                             int64_t below_count)
{
    const struct sched_offload *offload = &sched->offload;
    const struct sched_lower *lower = &offload->lower;
    int64_t blocks = (end * offload->chunk_tokens - hit_tokens) / sched->pool->block_tokens;
    base_i128 wait =
        kv_link_queue_ticks(&offload->load_link, offload->now) + offload->unsent_load_ticks;
    if (below_count > 0) {
        base_i128 read = kv_link_queue_ticks(&lower->read_link, offload->now) +
                         kv_link_ticks(&lower->read_link, below_count * lower->chunk_blocks);
        wait = read > wait ? read : wait;
    }
    return wait + kv_link_ticks(&offload->load_link, blocks);
}

// Time of the steps that would compute the sequence's known tokens from `from` on, alone.
static base_i128 prefill_ticks(const struct sched *sched, const struct sched_seq *seq, int64_t from)
{
    const struct sched_offload *offload = &sched->offload;
    int64_t known = sched_seq_known_tokens(seq), most = known;
    if (sched->options->enable_chunked_prefill) {
        most = sched->options->max_num_batched_tokens;
    }
    base_i128 ticks = 0;
    for (int64_t at = from, tokens; at < known; at += tokens) {
        tokens = least(known - at, most);
        ticks += offload->prefill_ticks(offload->prefill_context, at, tokens, at + tokens == known);
    }
    return ticks;
}

// By how much loading up to `end` is faster than computing that.
static base_i128 gain_of(const struct sched *sched, const struct sched_seq *seq, int64_t hit_tokens,
                         int64_t end, int64_t below_count)
{
    int64_t to = least(end * sched->offload.chunk_tokens, sched_seq_known_tokens(seq) - 1);
    if (to <= hit_tokens) {
        return 0;
    }
    return prefill_ticks(sched, seq, hit_tokens) - prefill_ticks(sched, seq, to) -
           fetch_ticks(sched, hit_tokens, end, below_count);
}

// All that is found, what the first tier has of it, or nothing: whichever saves most time.
static int64_t worth_loading(const struct sched *sched, const struct sched_seq *seq,
                             int64_t hit_tokens, const struct reach *reach)
{
    int64_t end = reach->first;
    base_i128 best = gain_of(sched, seq, hit_tokens, reach->upper_end, 0);
    if (best > 0) {
        end = reach->upper_end;
    }
    best = best > 0 ? best : 0;
    bool takes_all = reach->below_count > 0 &&
                     gain_of(sched, seq, hit_tokens, reach->end, reach->below_count) > best;
    return takes_all ? reach->end : end;
}

/* ---- reading up from below ---- */

// Those of the chunks that only the tier below has and has ready; they cannot go any more.
static void pin_below(struct sched_offload *offload, const struct base_hash *keys, int64_t first,
                      int64_t end)
{
    struct sched_lower *lower = &offload->lower;
    lower->found.count = lower->keys.count = 0;
    for (int64_t i = first; i < end; i++) {
        if (kv_tier_find(&offload->tier.chunks, &keys[i]) == NULL) {
            struct kv_chunk *chunk = kv_tier_find(&lower->tier.chunks, &keys[i]);
            kv_tier_pin(&lower->tier.chunks, chunk);
            base_vec_push(&lower->found, chunk);
        }
    }
}

// Up into the first tier. False when there is no room for them.
static bool read_up(struct sched_offload *offload, const struct base_hash *keys, int64_t first,
                    int64_t end, base_i128 *end_ticks)
{
    pin_below(offload, keys, first, end);
    struct kv_chunks below = offload->lower.found;
    offload->lower.found = (struct kv_chunks){0};
    bool fits = sched_tier_offer(&offload->tier, keys + first, end - first, 0, offload->now,
                                 &offload->found, &offload->places);
    base_i128 at = fits ? demote(offload) : 0;
    base_vec_free(&offload->lower.found);
    offload->lower.found = below;
    if (!fits) {
        offload->refused_reads++;
        for (size_t i = 0; i < below.count; i++) {
            kv_tier_unpin(&offload->lower.tier.chunks, below.at[i]);
        }
        return false;
    }
    offload->has_orders = true;
    *end_ticks =
        sched_lower_read(&offload->lower, &offload->found, at > offload->now ? at : offload->now);
    return true;
}

/* ---- prefetch ---- */

void sched_offload_arrived(struct sched *sched, struct sched_seq *seq)
{
    if (sched->options->tier.prefetch != SCHED_PREFETCH_NONE && sched->offload.lower.exists) {
        seq->offload.is_fresh = true;
        base_vec_push(&sched->offload.fresh, seq);
    }
}

void sched_offload_left_queue(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seqs *fresh = &sched->offload.fresh;
    if (!seq->offload.is_fresh) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < fresh->count; i++) {
        if (fresh->at[i] != seq) {
            fresh->at[kept++] = fresh->at[i];
        }
    }
    fresh->count = kept;
    seq->offload.is_fresh = false;
}

static void prefetch(struct sched *sched, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_seq_offload *own = &seq->offload;
    kv_prefix_lookup(sched->pool->prefix, &seq->cache.content,
                     (sched_seq_known_tokens(seq) - 1) / sched->pool->block_tokens, &sched->hits);
    int64_t size = offload->chunk_tokens, count = sched_seq_known_tokens(seq) / size;
    int64_t first = sched->hits.blocks * sched->pool->block_tokens / size, end = first, below = 0;
    const struct base_hash *keys = keys_of(sched, seq, count);
    for (; end < count; end++) {
        if (kv_tier_find(&offload->tier.chunks, &keys[end]) != NULL) {
            continue;
        }
        const struct kv_chunk *chunk = kv_tier_find(&offload->lower.tier.chunks, &keys[end]);
        if (chunk == NULL || !chunk->is_ready) {
            break;
        }
        below++;
    }
    base_i128 done = 0;
    if (below * size < options->prefetch_threshold_tokens || below == 0 ||
        !read_up(offload, keys, first, end, &done)) {
        return;
    }
    own->below_tokens = below * size;
    base_i128 most = options->prefetch_base_ticks +
                     (base_i128)options->prefetch_ticks_per_1024_tokens * own->below_tokens / 1024;
    most = most < options->prefetch_most_ticks ? most : options->prefetch_most_ticks;
    if (options->prefetch == SCHED_PREFETCH_WAIT) {
        own->prefetch_until_ticks = done;
    } else if (options->prefetch == SCHED_PREFETCH_TIMEOUT) {
        own->prefetch_until_ticks = done < offload->now + most ? done : offload->now + most;
    }
}

void sched_offload_prefetch(struct sched *sched)
{
    struct sched_seqs *fresh = &sched->offload.fresh;
    for (size_t i = 0; i < fresh->count; i++) {
        fresh->at[i]->offload.is_fresh = false;
        prefetch(sched, fresh->at[i]);
    }
    fresh->count = 0;
}

/* ---- asking ---- */

static void touch_all(struct sched_offload *offload, const struct base_hash *keys, int64_t count)
{
    kv_tier_touch(&offload->tier.chunks, keys, count);
    if (offload->lower.exists) {
        kv_tier_touch(&offload->lower.tier.chunks, keys, count);
    }
}

// Less than a chunk is not worth a transfer.
static int64_t loadable_tokens(const struct sched *sched, int64_t hit_tokens, int64_t end)
{
    int64_t size = sched->offload.chunk_tokens, tokens = end * size - hit_tokens;
    return tokens >= size ? tokens : 0;
}

int64_t sched_offload_ask(struct sched *sched, struct sched_seq *seq, int64_t hit_blocks)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_seq_offload *own = &seq->offload;
    int64_t size = offload->chunk_tokens, hit_tokens = hit_blocks * sched->pool->block_tokens;
    int64_t count = sched_seq_known_tokens(seq) / size, first = hit_tokens / size;
    const struct base_hash *keys = keys_of(sched, seq, count);
    own->declined_tokens = 0;
    touch_all(offload, keys, count);
    if (count * size - hit_tokens < size) {
        return 0;
    }
    if (options->store == SCHED_STORE_LOOKUPS) {
        kv_tier_count_asked(&offload->tier.chunks, keys + first, count - first);
    }
    if (own->prefetch_until_ticks > offload->now) {
        return -1;
    }
    struct reach reach = reach_of(sched, keys, first, count);
    if (options->by_cost && loadable_tokens(sched, hit_tokens, reach.end) > 0) {
        int64_t end = worth_loading(sched, seq, hit_tokens, &reach);
        own->declined_tokens = (reach.end - end) * size;
        reach = reach_of(sched, keys, first, end);
    }
    if (reach.is_put_off) {
        return -1;
    }
    if (reach.below_count > 0 && loadable_tokens(sched, hit_tokens, reach.end) > 0) {
        base_i128 done;
        if (options->is_sync) {
            own->below_tokens = reach.below_count * size;
        } else if (read_up(offload, keys, first, reach.end, &done)) {
            own->below_tokens += reach.below_count * size;
            return -1;
        } else {
            reach.end = reach.upper_end;
        }
    }
    return loadable_tokens(sched, hit_tokens, reach.end);
}

void sched_offload_count(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                         int64_t loaded_tokens)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_seq_offload *own = &seq->offload;
    offload->asked_tokens += sched_seq_known_tokens(seq) - hit_tokens;
    offload->hit_tokens += loaded_tokens;
    offload->below_tokens += least(own->below_tokens, loaded_tokens);
    offload->declined_tokens += own->declined_tokens;
    offload->declined_count += own->declined_tokens > 0 ? 1 : 0;
    own->below_tokens = own->declined_tokens = 0;
}

// A synchronous engine reads through the first tier, which keeps what it has room for.
static base_i128 read_through(struct sched_offload *offload, const struct base_hash *keys,
                              int64_t first, int64_t end)
{
    pin_below(offload, keys, first, end);
    struct kv_chunks below = offload->lower.found;
    if (below.count == 0) {
        return 0;
    }
    offload->lower.found = (struct kv_chunks){0};
    base_i128 at = offload->now;
    if (sched_tier_offer(&offload->tier, keys + first, end - first, 0, offload->now,
                         &offload->found, &offload->places)) {
        base_i128 written = demote(offload);
        at = written > at ? written : at;
    } else {
        offload->refused_reads++;
        offload->found.count = 0;
    }
    base_vec_free(&offload->lower.found);
    offload->lower.found = below;
    return sched_lower_read(&offload->lower, &offload->found, at);
}

void sched_offload_load(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_transfer *load = transfer_new(offload, &offload->loads);
    load->seq = sched->options->tier.is_sync ? NULL : seq;
    load->blocks = (to - from) / sched->pool->block_tokens;
    int64_t first = from / offload->chunk_tokens, end = to / offload->chunk_tokens;
    const struct base_hash *keys = keys_of(sched, seq, end);
    for (int64_t i = first; i < end; i++) {
        struct kv_chunk *chunk = kv_tier_find(&offload->tier.chunks, &keys[i]);
        if (chunk != NULL) {
            kv_tier_pin(&offload->tier.chunks, chunk);
            base_vec_push(&load->chunks, chunk);
        }
    }
    if ((int64_t)load->chunks.count < end - first) {
        load->not_before_ticks = read_through(offload, keys, first, end);
    }
    offload->unsent_load_ticks += kv_link_ticks(&offload->load_link, load->blocks);
    offload->loaded_blocks += load->blocks;
    offload->loading_count += load->seq != NULL ? 1 : 0;
    seq->offload.stored_chunks =
        end > seq->offload.stored_chunks ? end : seq->offload.stored_chunks;
}

void sched_offload_take_up(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seq_offload *own = &seq->offload;
    sched->pool->loading_blocks -= own->load_blocks;
    own->load_blocks = 0;
    sched->outside_front_tokens += own->load_to - seq->computed;
    seq->computed = seq->hashed_tokens = own->load_to;
    seq->state = SCHED_LOADED;
    if (seq->cache.is_contended) {
        kv_prefix_commit(sched->pool->prefix, &seq->cache,
                         seq->hashed_tokens / sched->pool->block_tokens);
    }
}

static int64_t missing_to_the_end(const struct sched *sched, const struct sched_seq *seq,
                                  int64_t held)
{
    int64_t whole = kv_paged_blocks_for(sched->pool, sched_seq_known_tokens(seq));
    return whole > held ? whole - held : 0;
}

int64_t sched_offload_prefills_need(const struct sched *sched)
{
    int64_t blocks = 0;
    for (size_t i = 0; i < sched->loose.count; i++) {
        const struct sched_seq *seq = sched->loose.at[i];
        if (seq->computed < sched_seq_known_tokens(seq)) {
            blocks +=
                missing_to_the_end(sched, seq, kv_paged_blocks_for(sched->pool, seq->computed));
        }
    }
    for (const struct sched_seq *seq = sched->offload.aside.head; seq != NULL; seq = seq->next) {
        if (seq->state == SCHED_LOADING || seq->state == SCHED_LOADED) {
            blocks += missing_to_the_end(sched, seq, sched_blocks_aside(sched, seq));
        }
    }
    return blocks;
}

/* ---- storing ---- */

static void set_behind(struct sched *sched, struct sched_seq *seq, bool is_behind)
{
    sched->offload.behind_count += (is_behind ? 1 : 0) - (seq->offload.is_behind ? 1 : 0);
    seq->offload.is_behind = is_behind;
}

static int64_t storable_tokens(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t tokens = seq->state == SCHED_FRONT ? sched_front_hashed_tokens(sched, seq, true)
                                               : seq->hashed_tokens;
    return sched->options->tier.prompt_only ? least(tokens, seq->prompt_tokens) : tokens;
}

static int64_t options_threshold(const struct sched *sched)
{
    const struct sched_tier_options *options = &sched->options->tier;
    bool counts = options->store == SCHED_STORE_LOOKUPS || options->store == SCHED_STORE_USES;
    return counts ? options->store_threshold : 0;
}

static void add_store(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq,
                      int64_t first)
{
    struct sched_offload *offload = &sched->offload;
    int64_t blocks = sched->options->tier.chunk_blocks;
    struct sched_transfer *store = store_new(offload, plan->number);
    store->not_before_ticks = demote(offload);
    store->blocks = (int64_t)offload->found.count * blocks;
    for (size_t i = 0; i < offload->found.count; i++) {
        base_vec_push(&store->chunks, offload->found.at[i]);
        int64_t chunk = first + offload->places.at[i];
        kv_prefix_note_store(&seq->cache, chunk * blocks, (chunk + 1) * blocks, store->number,
                             &store->sources);
    }
    offload->stored_blocks += store->blocks;
}

static void count_uses(struct sched_offload *offload, struct sched_seq *seq,
                       const struct base_hash *keys, int64_t full)
{
    struct sched_seq_offload *own = &seq->offload;
    int64_t from = own->used_chunks > own->stored_chunks ? own->used_chunks : own->stored_chunks;
    if (from < full) {
        kv_tier_count_asked(&offload->tier.chunks, keys + from, full - from);
        own->used_chunks = full;
    }
}

static void store_seq(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    int64_t full = storable_tokens(sched, seq) / offload->chunk_tokens;
    int64_t first = seq->offload.stored_chunks;
    if (full <= first) {
        return;
    }
    const struct base_hash *keys = keys_of(sched, seq, full);
    if (sched->options->tier.store == SCHED_STORE_USES) {
        count_uses(offload, seq, keys, full);
    }
    bool fits =
        sched_tier_offer(&offload->tier, keys + first, full - first, options_threshold(sched),
                         offload->now, &offload->found, &offload->places);
    set_behind(sched, seq, !fits);
    if (!fits) {
        return;
    }
    seq->offload.stored_chunks = full;
    if (offload->found.count > 0) {
        add_store(sched, plan, seq, first);
        kv_tier_touch(&offload->tier.chunks, keys, full);
    }
}

static void add_due(struct sched_seqs *due, struct sched_seq *seq)
{
    base_vec_push(due, seq);
    size_t i = due->count - 1;
    for (; i > 0 && due->at[i - 1]->place > seq->place; i--) {
        due->at[i] = due->at[i - 1];
    }
    due->at[i] = seq;
}

// Residue of a member's base modulo the chunk, for the step at which its stored tokens end with a chunk.
static size_t filling_now(const struct sched *sched, uint64_t step)
{
    int64_t size = sched->offload.chunk_tokens;
    int64_t ahead = sched->options->async_scheduling ? 0 : 1;
    return (size_t)((size - ((int64_t)(step % (uint64_t)size) + ahead) % size) % size);
}

static size_t residue_of(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t size = sched->offload.chunk_tokens, residue = seq->front_base % size;
    return (size_t)(residue < 0 ? residue + size : residue);
}

static bool is_scheduled(const struct sched_seq *seq, const struct sched_plan *plan)
{
    return seq->state == SCHED_FRONT ||
           (seq->state == SCHED_LOOSE && seq->scheduled_step == plan->number);
}

static void collect_all(struct sched *sched, const struct sched_plan *plan)
{
    for (struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        if (is_scheduled(seq, plan)) {
            base_vec_push(&sched->offload.due, seq);
        }
    }
}

// Who may have filled a chunk with this step, in running order.
static void collect_due(struct sched *sched, const struct sched_plan *plan)
{
    struct sched_offload *offload = &sched->offload;
    offload->due.count = 0;
    // An asynchronous engine's first step knows one token more than those that follow it.
    if (offload->behind_count > 0 || (sched->options->async_scheduling && !sched->in_flight)) {
        collect_all(sched, plan);
        return;
    }
    for (size_t i = 0; i < sched->loose.count; i++) {
        if (is_scheduled(sched->loose.at[i], plan)) {
            add_due(&offload->due, sched->loose.at[i]);
        }
    }
    struct sched_seq *seq = offload->filling[filling_now(sched, sched->front.step)];
    for (; seq != NULL; seq = seq->offload.fill_next) {
        add_due(&offload->due, seq);
    }
}

static bool is_admitted(const struct sched_plan *plan, const struct sched_seq *seq)
{
    for (size_t i = 0; i < plan->admitted.count; i++) {
        if (plan->admitted.at[i] == seq) {
            return true;
        }
    }
    return false;
}

static void store_admitted(struct sched *sched, const struct sched_plan *plan, bool resumed)
{
    for (size_t i = 0; i < plan->admitted.count; i++) {
        struct sched_seq *seq = plan->admitted.at[i];
        if ((seq->preemptions > 0) == resumed) {
            store_seq(sched, plan, seq);
        }
    }
}

// The engine's order: those new to it, those that ran before, those that resume.
void sched_offload_store(struct sched *sched, const struct sched_plan *plan)
{
    if (sched->options->tier.store == SCHED_STORE_BACK) {
        return;
    }
    store_admitted(sched, plan, false);
    collect_due(sched, plan);
    for (size_t i = 0; i < sched->offload.due.count; i++) {
        if (!is_admitted(plan, sched->offload.due.at[i])) {
            store_seq(sched, plan, sched->offload.due.at[i]);
        }
    }
    store_admitted(sched, plan, true);
}

bool sched_offload_minds_eviction(const struct sched *sched)
{
    return sched->offload.stores.head != NULL || sched->options->tier.store == SCHED_STORE_BACK;
}

int64_t sched_offload_runway(const struct sched *sched, int64_t limit)
{
    const struct sched_offload *offload = &sched->offload;
    if (offload->behind_count > 0) {
        return 0;
    }
    if (sched->options->tier.prompt_only || sched->options->tier.store == SCHED_STORE_BACK) {
        return limit;
    }
    int64_t steps = 0;
    while (steps < limit && steps < offload->chunk_tokens &&
           offload->filling[filling_now(sched, sched->front.step + (uint64_t)steps)] == NULL) {
        steps++;
    }
    return steps;
}

/* ---- members of the front by when they fill a chunk ---- */

void sched_offload_joined_front(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seq **head = &sched->offload.filling[residue_of(sched, seq)];
    seq->offload.fill_prev = NULL;
    seq->offload.fill_next = *head;
    if (*head != NULL) {
        (*head)->offload.fill_prev = seq;
    }
    *head = seq;
}

void sched_offload_left_front(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seq_offload *own = &seq->offload;
    *(own->fill_prev != NULL ? &own->fill_prev->offload.fill_next
                             : &sched->offload.filling[residue_of(sched, seq)]) = own->fill_next;
    if (own->fill_next != NULL) {
        own->fill_next->offload.fill_prev = own->fill_prev;
    }
    own->fill_next = own->fill_prev = NULL;
}

void sched_offload_left_running(struct sched *sched, struct sched_seq *seq)
{
    set_behind(sched, seq, false);
}
