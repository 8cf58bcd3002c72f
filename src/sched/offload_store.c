/*
 * What of a step goes to the tier behind the pool, and when the next such step comes.
 */
#include "sched/offload_int.h"

#include "base/count.h"
#include "base/error.h"

#include <stdlib.h>

static void set_behind(struct sched *sched, struct sched_seq *seq, bool is_behind)
{
    sched->offload.behind_count += (is_behind ? 1 : 0) - (seq->offload.is_behind ? 1 : 0);
    seq->offload.is_behind = is_behind;
}

static int64_t storable_tokens(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t tokens = seq->state == SCHED_FRONT ? sched_front_hashed_tokens(sched, seq, true)
                                               : seq->hashed_tokens;
    return sched->options->tier.prompt_only ? base_min(tokens, seq->prompt_tokens) : tokens;
}

static int64_t options_threshold(const struct sched *sched)
{
    const struct sched_tier_options *options = &sched->options->tier;
    bool counts = options->store == SCHED_STORE_LOOKUPS || options->store == SCHED_STORE_USES;
    return counts ? options->store_threshold : 0;
}

// What the offer has added is stored with the step: of windows and states there may be some blocks of a chunk only.
static void add_store(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    int64_t blocks = sched->options->tier.chunk_blocks;
    struct sched_transfer *store = sched_offload_store_new(offload, plan->number);
    for (size_t i = 0; i < offload->found.count; i++) {
        const struct kv_piece *piece = &offload->found.at[i];
        kv_pieces_keep(&store->chunks, piece);
        store->blocks += kv_prefix_note_store(&seq->cache, piece->table, piece->lo * blocks,
                                              piece->hi * blocks, store->number, &store->sources);
    }
    store->not_before_ticks = sched_offload_demote(offload);
}

// The chunks from `first` to `full` that there are of the sequence.
static void list_chunks(struct sched *sched, const struct sched_seq *seq,
                        const struct kv_path *path, int64_t first, int64_t full)
{
    if (sched->offload.has_tables) {
        sched_offload_list_held(sched, seq, path, first, full);
        return;
    }
    sched->offload.wanted.count = 0;
    base_vec_push(&sched->offload.wanted, kv_path_piece(path, 0, first, full));
}

// Each chunk once, when it is offered first.
static void count_uses(struct sched *sched, struct sched_seq *seq, const struct kv_path *path,
                       int64_t full)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_seq_offload *own = &seq->offload;
    int64_t from = base_max(own->used_chunks, own->stored_chunks);
    if (from >= full) {
        return;
    }
    list_chunks(sched, seq, path, from, full);
    for (size_t i = 0; i < offload->wanted.count; i++) {
        const struct kv_piece *piece = &offload->wanted.at[i];
        kv_tier_count_asked(&offload->tier.chunks, path, piece->table, piece->lo, piece->hi);
    }
    own->used_chunks = full;
}

static void touch_stored(struct sched *sched, struct sched_seq *seq, const struct kv_path *path,
                         int64_t full)
{
    struct kv_tier *tier = &sched->offload.tier.chunks;
    if (sched->offload.has_tables) {
        sched_offload_touch_tables(sched, tier, seq, path, full);
    } else {
        kv_tier_touch(tier, path, 0, 0, full);
    }
}

static void offer_chunks(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq,
                         const struct kv_path *path, int64_t full)
{
    struct sched_offload *offload = &sched->offload;
    if (sched->options->tier.store == SCHED_STORE_USES) {
        count_uses(sched, seq, path, full);
    }
    list_chunks(sched, seq, path, seq->offload.stored_chunks, full);
    bool fits = sched_tier_offer(&offload->tier, &offload->wanted, options_threshold(sched),
                                 offload->now, &offload->found);
    set_behind(sched, seq, !fits);
    if (!fits) {
        return;
    }
    seq->offload.stored_chunks = full;
    if (offload->found.count > 0) {
        add_store(sched, plan, seq);
        touch_stored(sched, seq, path, full);
    }
}

static void store_seq(struct sched *sched, const struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    int64_t full = storable_tokens(sched, seq) / offload->chunk_tokens;
    if (full <= seq->offload.stored_chunks) {
        return;
    }
    struct kv_path path = kv_stock_make(&offload->stock, &seq->cache.content, full);
    kv_stock_hold(path.last);
    offer_chunks(sched, plan, seq, &path, full);
    kv_stock_unhold(&offload->stock, path.last);
}

static int by_place(const void *a, const void *b)
{
    uint64_t left = (*(struct sched_seq *const *)a)->place;
    uint64_t right = (*(struct sched_seq *const *)b)->place;
    return (left > right) - (left < right);
}

// Into running order; those outside the front are in it already, and mostly alone.
static void sort_due(struct sched_seqs *due)
{
    for (size_t i = 1; i < due->count; i++) {
        if (due->at[i - 1]->place > due->at[i]->place) {
            qsort(due->at, due->count, sizeof *due->at, by_place);
            return;
        }
    }
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
            base_vec_push(&offload->due, sched->loose.at[i]);
        }
    }
    struct sched_seq *seq = offload->filling[filling_now(sched, sched->front.step)];
    for (; seq != NULL; seq = seq->offload.fill_next) {
        base_vec_push(&offload->due, seq);
    }
    sort_due(&offload->due);
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
    if (sched->options->tier.store == SCHED_STORE_BACK || sched->pool->radix != NULL) {
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
    if (sched->pool->radix != NULL || sched->options->tier.prompt_only ||
        sched->options->tier.store == SCHED_STORE_BACK) {
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
