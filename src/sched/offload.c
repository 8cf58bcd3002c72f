#include "sched/offload.h"

#include "base/count.h"
#include "base/error.h"
#include "sched/offload_int.h"

/* ---- transfers ---- */

struct sched_transfer *sched_offload_transfer_new(struct sched_offload *offload,
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
    kv_pieces_forget(&offload->stock, &transfer->chunks);
    base_vec_free(&transfer->chunks);
    base_vec_free(&transfer->sources);
    base_vec_free(&transfer->nodes);
    base_vec_free(&transfer->pieces);
    base_pool_give(&offload->transfers, transfer);
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

struct sched_transfer *sched_offload_store_new(struct sched_offload *offload, uint64_t plan)
{
    struct sched_transfer *store = sched_offload_transfer_new(offload, &offload->stores);
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
static void note_reuse(void *context, const struct kv_source *source)
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

static void note_blank_reuse(void *context, uint64_t last_store)
{
    struct sched *sched = context;
    wait_for_store(&sched->offload, last_store);
}

base_i128 sched_offload_demote(struct sched_offload *offload)
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
        offload->write_back = sched_offload_store_new(offload, sched->next_number);
        offload->write_back->is_write_back = true;
        wait_for_store(offload, offload->write_back->number);
    }
    return offload->write_back;
}

static void write_back(struct sched *sched, const struct kv_piece *piece)
{
    struct sched_offload *offload = &sched->offload;
    offload->wanted.count = 0;
    base_vec_push(&offload->wanted, *piece);
    if (!sched_tier_offer(&offload->tier, &offload->wanted, 0, offload->now, &offload->found)) {
        return;
    }
    base_i128 free_at = sched_offload_demote(offload);
    struct sched_transfer *store = write_back_of_turn(sched);
    for (size_t i = 0; i < offload->found.count; i++) {
        kv_pieces_keep(&store->chunks, &offload->found.at[i]);
    }
    store->blocks += piece->hi - piece->lo;
    if (free_at > store->not_before_ticks) {
        store->not_before_ticks = free_at;
    }
}

// Blocks that the tier lacks, one after the other: each makes room for itself, and is not stored if there is none. Together is the
// same where the next to go does not depend on what has come, and what goes is not sent on.
static void write_back_missing(struct sched *sched, const struct kv_path *path, uint32_t table,
                               int64_t lo, int64_t hi)
{
    struct sched_offload *offload = &sched->offload;
    struct kv_tier *tier = &offload->tier.chunks;
    bool one_by_one =
        tier->order != KV_TIER_LRU || (offload->lower.exists && offload->lower.on_eviction);
    while (lo < hi) {
        int64_t fit = base_min(hi - lo, kv_tier_room(tier));
        if (fit == 0) {
            tier->refused_stores += hi - lo;
            return;
        }
        fit = one_by_one ? 1 : fit;
        struct kv_piece piece = kv_path_piece(path, table, hi - fit, hi);
        piece.is_falling = true;
        write_back(sched, &piece);
        hi -= fit;
    }
}

static void note_evict(void *context, uint32_t table, const struct kv_node *node, int64_t lo,
                       int64_t hi)
{
    struct sched *sched = context;
    struct sched_offload *offload = &sched->offload;
    struct kv_content content = kv_tree_content(node, &offload->evicted);
    struct kv_path path = kv_stock_make(&offload->stock, &content, hi);
    kv_stock_hold(path.last);
    while (lo < hi) {
        struct kv_alike alike = kv_tier_look_back(&offload->tier.chunks, &path, table, hi, lo);
        if (alike.strand == NULL) {
            write_back_missing(sched, &path, table, alike.lo, hi);
        }
        hi = alike.lo;
    }
    kv_stock_unhold(&offload->stock, path.last);
}

base_i128 sched_offload_store_end(const struct sched *sched, uint64_t number, base_i128 at)
{
    const struct sched_transfer *store = store_by_number(&sched->offload, number);
    return store != NULL && store->end_ticks > at ? store->end_ticks : at;
}

/* ---- life ---- */

void sched_offload_init(struct sched *sched, struct base_arena *arena)
{
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_offload *offload = &sched->offload;
    const struct sched_tier_option *first = &options->at[0];
    offload->chunk_tokens = options->chunk_blocks * sched->options->block_size;
    uint32_t tables = sched->pool->prefix != NULL ? sched->pool->prefix->table_count : 1;
    kv_stock_init(&offload->stock, offload->chunk_tokens, 2 * kv_tier_planes(tables));
    sched_tier_init(&offload->tier, first, &offload->stock, tables, 0);
    sched_lower_init(&offload->lower, options, &offload->stock, tables);
    offload->load_link = (struct kv_link){.latency_ticks = first->latency_ticks,
                                          .ticks_per_block = first->read_ticks_per_block};
    offload->store_link = (struct kv_link){.latency_ticks = first->latency_ticks,
                                           .ticks_per_block = first->write_ticks_per_block};
    base_pool_init(&offload->transfers, sizeof(struct sched_transfer));
    offload->filling =
        base_arena_array(arena, (size_t)offload->chunk_tokens, sizeof *offload->filling);
    if (sched->pool->radix != NULL) {
        sched_tree_tier_init(sched);
        return;
    }
    base_require(sched->pool->prefix != NULL && sched->options->block_size > 1);
    sched_offload_init_tables(sched);
    sched->pool->prefix->on_reuse = note_reuse;
    if (sched->pool->prefix->is_sparse) {
        base_require(!sched->pool->prefix->is_old_order);
        sched->pool->prefix->on_blank_reuse = note_blank_reuse;
    }
    if (options->store == SCHED_STORE_BACK) {
        base_require(options->chunk_blocks == 1);
        sched->pool->prefix->on_evict = note_evict;
    }
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
    base_vec_free(&offload->wanted);
    base_vec_free(&offload->evicted);
    kv_stock_release(&offload->stock);
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
        kv_tier_unpin(&offload->tier.chunks, &load->chunks.at[i]);
    }
    if (load->seq != NULL) {
        end_load(sched, load->seq);
    }
    sched_tree_end_transfer(sched, load);
    transfer_drop_head(offload, &offload->loads);
}

static void end_store(struct sched_offload *offload, const struct sched_transfer *store)
{
    for (size_t i = 0; i < store->chunks.count; i++) {
        kv_tier_set_ready(&offload->tier.chunks, &store->chunks.at[i]);
    }
    if (offload->lower.exists && !offload->lower.on_eviction) {
        sched_lower_write_through(&offload->lower, &offload->tier.chunks, &store->chunks,
                                  store->end_ticks);
    }
}

static void end_head_store(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_transfer *store = offload->stores.head;
    if (sched->pool->radix != NULL) {
        sched_tree_write_down(sched, store);
    } else {
        end_store(offload, store);
    }
    if (sched->pool->prefix != NULL) {
        sched->pool->prefix->stores_done = store->number;
    }
    sched_tree_end_transfer(sched, store);
    offload->stores_open--;
    transfer_drop_head(offload, &offload->stores);
}

static void end_copies(struct sched *sched, base_i128 until)
{
    struct sched_offload *offload = &sched->offload;
    struct kv_radix_pin *written =
        sched_lower_arrive(&offload->lower, &offload->tier.chunks, until);
    if (written != NULL) {
        kv_radix_unpin_host(sched->pool->radix, written);
    }
}

// What ends is seen in the order of time; at one instant loads, chunks from and to below, stores.
static bool settle_next(struct sched *sched, base_i128 now)
{
    struct sched_offload *offload = &sched->offload;
    bool load = has_ended(&offload->loads, now), store = has_ended(&offload->stores, now);
    base_i128 load_at = load ? offload->loads.head->end_ticks : now + 1;
    base_i128 store_at = store ? offload->stores.head->end_ticks : now, copy_at = now;
    bool copy = sched_lower_next(&offload->lower, &copy_at) && copy_at <= now;
    if (load && (!copy || load_at <= copy_at) && (!store || load_at <= store_at)) {
        end_head_load(sched);
    } else if (copy && copy_at <= store_at) {
        end_copies(sched, load_at - 1 < store_at ? load_at - 1 : store_at);
    } else if (store) {
        end_head_store(sched);
    }
    return load || copy || store;
}

void sched_offload_begin_turn(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    offload->flush = 0;
    offload->write_back = offload->turn_load = NULL;
    // Of a tree: what has entered since the last turn is sent when the step that runs has ended.
    offload->has_orders = sched->pool->radix != NULL && offload->stores.unsent != NULL;
}

void sched_offload_reach(struct sched *sched, base_i128 now)
{
    sched->offload.now = now;
}

void sched_offload_settle(struct sched *sched, base_i128 now)
{
    sched->offload.now = now;
    while (settle_next(sched, now)) {
    }
    if (sched->pool->radix != NULL) {
        sched_tree_take_over(sched);
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
    // What ends of a tree's transfers changes the pool: a stretch of steps goes up to there.
    bool changes_pool = !is_idle && sched->pool->radix != NULL;
    if (!changes_pool && (!is_idle || sched_waiting_count(sched) == 0)) {
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
