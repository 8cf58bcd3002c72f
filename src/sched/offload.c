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
    kv_tier_init(&offload->tier, options->order, options->capacity_chunks,
                 options->store_threshold);
    base_pool_init(&offload->transfers, sizeof(struct sched_transfer));
    offload->chunk_tokens = options->chunk_blocks * sched->options->block_size;
    offload->filling =
        base_arena_array(arena, (size_t)offload->chunk_tokens, sizeof *offload->filling);
    sched->pool->prefix->on_reuse = sched_offload_note_reuse;
}

/* ---- transfers ---- */

static struct sched_transfer *transfer_new(struct sched_offload *offload,
                                           struct sched_transfers *list)
{
    struct sched_transfer *transfer = base_pool_take(&offload->transfers);
    *(list->tail != NULL ? &list->tail->next : &list->head) = transfer;
    list->tail = transfer;
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
    kv_tier_release(&offload->tier);
    base_vec_free(&offload->gone);
    base_vec_free(&offload->due);
    base_vec_free(&offload->found);
    base_vec_free(&offload->places);
}

void sched_offload_note_reuse(void *context, const struct kv_source *source)
{
    struct sched *sched = context;
    struct sched_offload *offload = &sched->offload;
    for (const struct sched_transfer *store = offload->stores.head; store != NULL;
         store = store->next) {
        for (size_t i = 0; i < store->sources.count; i++) {
            const struct kv_source *read = &store->sources.at[i];
            if (read->copy == source->copy && read->lo < source->hi && read->hi > source->lo) {
                offload->flush = store->number > offload->flush ? store->number : offload->flush;
                offload->has_orders = true;
            }
        }
    }
}

static bool has_ended(const struct sched_transfer *transfer, base_i128 now)
{
    return transfer != NULL && transfer->is_submitted && transfer->end_ticks <= now;
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

void sched_offload_settle(struct sched *sched, base_i128 now)
{
    struct sched_offload *offload = &sched->offload;
    for (struct sched_transfer *load; has_ended(load = offload->loads.head, now);) {
        for (size_t i = 0; i < load->chunks.count; i++) {
            kv_tier_unpin(&offload->tier, load->chunks.at[i]);
        }
        if (load->seq != NULL) {
            end_load(sched, load->seq);
        }
        transfer_drop_head(offload, &offload->loads);
    }
    for (struct sched_transfer *store; has_ended(store = offload->stores.head, now);) {
        for (size_t i = 0; i < store->chunks.count; i++) {
            kv_tier_set_ready(&offload->tier, store->chunks.at[i]);
        }
        sched->pool->prefix->stores_done = store->number;
        transfer_drop_head(offload, &offload->stores);
    }
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

int64_t sched_offload_ask(struct sched *sched, struct sched_seq *seq, int64_t hit_blocks)
{
    struct sched_offload *offload = &sched->offload;
    int64_t size = offload->chunk_tokens, hit_tokens = hit_blocks * sched->pool->block_tokens;
    int64_t count = sched_seq_known_tokens(seq) / size, first = hit_tokens / size;
    const struct base_hash *keys = keys_of(sched, seq, count);
    kv_tier_touch(&offload->tier, keys, count);
    if (count * size - hit_tokens < size) {
        return 0;
    }
    kv_tier_count_asked(&offload->tier, keys + first, count - first);
    bool is_sync = sched->options->tier.is_sync, later = false;
    int64_t end = first;
    for (; end < count; end++) {
        const struct kv_chunk *chunk = kv_tier_find(&offload->tier, &keys[end]);
        if (chunk == NULL || (is_sync && !chunk->is_ready)) {
            break;
        }
        later = later || (!is_sync && (!chunk->is_ready || chunk->readers > 0));
    }
    if (later) {
        return -1;
    }
    int64_t tokens = end * size - hit_tokens;
    return tokens >= size ? tokens : 0; // less than a chunk is not worth a transfer
}

void sched_offload_load(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_transfer *load = transfer_new(offload, &offload->loads);
    load->seq = sched->options->tier.is_sync ? NULL : seq;
    load->blocks = (to - from) / sched->pool->block_tokens;
    int64_t end = to / offload->chunk_tokens;
    const struct base_hash *keys = keys_of(sched, seq, end);
    for (int64_t i = from / offload->chunk_tokens; i < end; i++) {
        struct kv_chunk *chunk = kv_tier_find(&offload->tier, &keys[i]);
        kv_tier_pin(&offload->tier, chunk);
        base_vec_push(&load->chunks, chunk);
    }
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

static void add_store(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq,
                      int64_t first)
{
    struct sched_offload *offload = &sched->offload;
    int64_t blocks = sched->options->tier.chunk_blocks;
    struct sched_transfer *store = transfer_new(offload, &offload->stores);
    store->number = ++offload->store_count;
    store->plan = plan->number;
    store->blocks = (int64_t)offload->found.count * blocks;
    for (size_t i = 0; i < offload->found.count; i++) {
        base_vec_push(&store->chunks, offload->found.at[i]);
        int64_t chunk = first + offload->places.at[i];
        kv_prefix_note_store(&seq->cache, chunk * blocks, (chunk + 1) * blocks, store->number,
                             &store->sources);
    }
    offload->stored_blocks += store->blocks;
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
    bool fits = kv_tier_offer(&offload->tier, keys + first, full - first, &offload->found,
                              &offload->places);
    set_behind(sched, seq, !fits);
    if (!fits) {
        return;
    }
    seq->offload.stored_chunks = full;
    if (offload->found.count > 0) {
        add_store(sched, plan, seq, first);
        kv_tier_touch(&offload->tier, keys, full);
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
    store_admitted(sched, plan, false);
    collect_due(sched, plan);
    for (size_t i = 0; i < sched->offload.due.count; i++) {
        if (!is_admitted(plan, sched->offload.due.at[i])) {
            store_seq(sched, plan, sched->offload.due.at[i]);
        }
    }
    store_admitted(sched, plan, true);
}

int64_t sched_offload_runway(const struct sched *sched, int64_t limit)
{
    const struct sched_offload *offload = &sched->offload;
    if (offload->behind_count > 0) {
        return 0;
    }
    bool evicts = false;
    kv_prefix_uniform_blocks(sched->pool->prefix, &evicts);
    if (evicts && offload->stores.head != NULL) {
        return 0; // a block that is taken may still be read
    }
    if (sched->options->tier.prompt_only) {
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
