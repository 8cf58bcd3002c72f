#include "serve/flight.h"

#include "serve/sequences.h"
#include "serve/serve_int.h"

#include <inttypes.h>
#include <string.h>

void serve_flight_release(struct serve_flight *flight)
{
    for (size_t i = 0; i < SERVE_LIST_COUNT; i++) {
        base_vec_free(&flight->lists[i]);
    }
    base_arena_release(&flight->texts);
}

static struct record_list_item item_of(struct base_arena *texts, struct sched_seq *seq,
                                       int64_t tokens)
{
    const struct workload_request *asked = &serve_request_of(seq)->asked;
    const char *id = asked->id[0] != '\0' ? base_arena_copy(texts, asked->id)
                                          : base_arena_printf(texts, "%" PRIu64, asked->index);
    return (struct record_list_item){id, tokens};
}

// A request for several answers stands in a list once, its tokens summed.
static bool was_merged(struct sched_seq *seq, struct record_list_item *items, size_t count,
                       const struct record_list_item *item)
{
    bool has_siblings = serve_request_of(seq)->parent != NULL;
    for (size_t i = 0; has_siblings && i < count; i++) {
        if (strcmp(items[i].id, item->id) == 0) {
            items[i].tokens += item->tokens;
            return true;
        }
    }
    return false;
}

static void list_add(struct serve_flight *flight, enum serve_list list, struct sched_seq *seq,
                     int64_t tokens)
{
    struct record_list_item item = item_of(&flight->texts, seq, tokens);
    if (!was_merged(seq, flight->lists[list].at, flight->lists[list].count, &item)) {
        base_vec_push(&flight->lists[list], item);
    }
}

static void note_ids(struct serve_replica *replica, const struct sched_seqs *seqs,
                     struct serve_ids *ids)
{
    for (size_t i = 0; i < seqs->count; i++) {
        struct sched_seq *seq = seqs->at[i];
        struct record_list_item item = item_of(&replica->thrown_out_texts, seq, 0);
        if (!was_merged(seq, ids->at, ids->count, &item)) {
            base_vec_push(ids, item);
        }
    }
}

void serve_flight_note_thrown_out(struct serve_replica *replica, const struct sched_plan *plan)
{
    note_ids(replica, &plan->victims, &replica->thrown_out);
    note_ids(replica, &plan->swapped_out, &replica->swapped_out);
}

static void list_ids(struct serve_flight *flight, enum serve_list list, struct serve_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        struct record_list_item item = ids->at[i];
        item.id = base_arena_copy(&flight->texts, item.id);
        base_vec_push(&flight->lists[list], item);
    }
    ids->count = 0;
}

static void list_all(struct serve_flight *flight, enum serve_list list,
                     const struct sched_seqs *seqs)
{
    for (size_t i = 0; i < seqs->count; i++) {
        list_add(flight, list, seqs->at[i], 0);
    }
}

// Tokens of a running sequence in this plan: front members have one, but for those that joined with this very plan.
static int64_t tokens_in_plan(const struct sched_seq *seq, const struct sched_plan *plan)
{
    if (seq->scheduled_step == plan->number) {
        return seq->scheduled_tokens;
    }
    return sched_seq_was_in_front(seq, plan) ? 1 : 0;
}

static void list_scheduled(struct serve_replica *replica, struct serve_flight *flight,
                           struct sched_seq *seq)
{
    int64_t tokens = tokens_in_plan(seq, &flight->plan);
    if (tokens > 0) {
        list_add(flight, SERVE_SCHEDULED, seq, tokens);
        // Without a cache what the step has computed is gone again.
        int64_t computed = sched_seq_computed(&replica->sched, seq);
        flight->row.context_tokens += computed > tokens ? computed : tokens;
    }
}

// In the order in which they were scheduled: that of the list, or prompts first, new ones before all.
static void fill_scheduled(struct serve_replica *replica, struct serve_flight *flight)
{
    static const enum sched_role order[] = {SCHED_NEWCOMER, SCHED_PREFILL, SCHED_SWAPPED_IN_PREFILL,
                                            SCHED_DECODE, SCHED_SWAPPED_IN_DECODE};
    const struct sched_plan *plan = &flight->plan;
    size_t rounds = plan->is_by_role ? sizeof order / sizeof *order : 1;
    for (size_t i = 0; i < rounds; i++) {
        struct sched_seq *seq = replica->sched.running.head;
        for (; seq != NULL; seq = seq->next) {
            if (!plan->is_by_role || sched_role_of(seq, plan) == order[i]) {
                list_scheduled(replica, flight, seq);
            }
        }
    }
}

void serve_flight_begin_row(struct serve_replica *replica, struct serve_flight *flight)
{
    const struct sched_plan *plan = &flight->plan;
    for (size_t i = 0; i < SERVE_LIST_COUNT; i++) {
        flight->lists[i].count = 0;
    }
    base_arena_release(&flight->texts);
    base_arena_init(&flight->texts);
    flight->row = (struct record_step){
        .replication = replica->serve->options->replication,
        .replica = replica->number,
        .step = plan->number,
        .sched_ns = base_ticks_floor_ns(flight->sched_ticks),
        .prefill_tokens = plan->shape.prefill_tokens,
        .decode_seqs = plan->shape.decode_seq_count,
        .running = sched_running_count(&replica->sched),
        .waiting = sched_waiting_count(&replica->sched),
        .free_blocks = replica->pool.free_blocks,
        .used_blocks = kv_paged_used_blocks(&replica->pool),
    };
    struct kv_ledger ledger;
    flight->row.cached_blocks = replica->tally.state.kv.cached_blocks;
    kv_paged_ledger(&replica->pool, &replica->tally.state.kv, &ledger);
    for (size_t i = 0; i < KV_LEDGER_LINE_COUNT; i++) {
        flight->row.ledger_bytes[i] = kv_ledger_line_bytes(&ledger, i);
    }
    flight->row.ledger_bytes[KV_LEDGER_LINE_COUNT] = ledger.pool_bytes;
    fill_scheduled(replica, flight);
    list_all(flight, SERVE_ADMITTED, &plan->admitted);
    list_all(flight, SERVE_SWAPPED_IN, &plan->swapped_in);
    list_ids(flight, SERVE_PREEMPTED, &replica->thrown_out);
    list_ids(flight, SERVE_SWAPPED_OUT, &replica->swapped_out);
    base_arena_release(&replica->thrown_out_texts);
    base_arena_init(&replica->thrown_out_texts);
}

// True when no sequence of its client is left after this one of the step's last tokens.
static bool ends_its_request(const struct sched_seqs *finals, size_t at)
{
    const struct serve_request *parent = serve_request_of(finals->at[at])->parent;
    if (parent == NULL) {
        return true;
    }
    uint32_t ended = 0;
    for (size_t i = 0; i <= at; i++) {
        ended += serve_request_of(finals->at[i])->parent == parent ? 1 : 0;
    }
    return ended == serve_sequences_left(parent);
}

void serve_flight_note_finished(struct serve_flight *flight)
{
    const struct sched_seqs *finals = &flight->plan.finals;
    for (size_t i = 0; i < finals->count; i++) {
        if (ends_its_request(finals, i)) {
            list_add(flight, SERVE_FINISHED, finals->at[i], 0);
        }
    }
}

void serve_flight_write_row(struct serve_replica *replica, struct serve_flight *flight)
{
    struct record_step *row = &flight->row;
    row->start_ns = base_ticks_floor_ns(flight->start_ticks);
    row->end_ns = base_ticks_floor_ns(flight->end_ticks);
    row->scheduled = flight->lists[SERVE_SCHEDULED].at;
    row->scheduled_count = flight->lists[SERVE_SCHEDULED].count;
    row->admitted = flight->lists[SERVE_ADMITTED].at;
    row->admitted_count = flight->lists[SERVE_ADMITTED].count;
    row->preempted = flight->lists[SERVE_PREEMPTED].at;
    row->preempted_count = flight->lists[SERVE_PREEMPTED].count;
    row->swapped_out = flight->lists[SERVE_SWAPPED_OUT].at;
    row->swapped_out_count = flight->lists[SERVE_SWAPPED_OUT].count;
    row->swapped_in = flight->lists[SERVE_SWAPPED_IN].at;
    row->swapped_in_count = flight->lists[SERVE_SWAPPED_IN].count;
    row->finished = flight->lists[SERVE_FINISHED].at;
    row->finished_count = flight->lists[SERVE_FINISHED].count;
    row->running_end = sched_running_count(&replica->sched);
    row->free_blocks_end = replica->pool.free_blocks;
    struct record_sink *sink = replica->serve->sink;
    sink->ops->on_step(sink, row);
}
