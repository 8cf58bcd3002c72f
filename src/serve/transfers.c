#include "serve/transfers.h"

#include "base/error.h"
#include "serve/serve_int.h"

static base_i128 later_of(base_i128 a, base_i128 b)
{
    return a > b ? a : b;
}

void serve_transfers_settle(struct serve_replica *replica, base_i128 now)
{
    if (!sched_has_tier(&replica->sched)) {
        return;
    }
    sched_offload_settle(&replica->sched, now);
    struct sched_seqs *gone = &replica->sched.offload.gone;
    for (size_t i = 0; i < gone->count; i++) {
        serve_request_free(replica->serve, serve_request_of(gone->at[i]));
    }
    gone->count = 0;
}

// Everything of a list that is on no link yet, stores up to those of `plan`; returns when the last of it ends, or `at`.
static base_i128 submit(struct serve_replica *replica, bool is_load, uint64_t plan, base_i128 at)
{
    const struct serve_tier *tier = &replica->serve->config->tier;
    struct sched_offload *offload = &replica->sched.offload;
    struct serve_link *link = is_load ? &replica->load_link : &replica->store_link;
    int64_t per_block = is_load ? tier->read_ticks_per_block : tier->write_ticks_per_block;
    base_i128 last = at;
    struct sched_transfer *transfer = is_load ? offload->loads.head : offload->stores.head;
    for (; transfer != NULL && transfer->plan <= plan; transfer = transfer->next) {
        if (transfer->is_submitted) {
            continue;
        }
        base_i128 ticks = tier->latency_ticks + (base_i128)transfer->blocks * per_block;
        transfer->is_submitted = true;
        transfer->end_ticks = later_of(link->free_ticks, at) + ticks;
        link->free_ticks = last = transfer->end_ticks;
        link->busy_ticks += ticks;
    }
    return last;
}

static base_i128 flushed_at(const struct serve_replica *replica, uint64_t flush, base_i128 start)
{
    const struct sched_transfer *store = replica->sched.offload.stores.head;
    while (store != NULL && store->number < flush) {
        store = store->next;
    }
    if (flush == 0 || store == NULL || store->number != flush) {
        return start;
    }
    base_require(store->is_submitted);
    return later_of(start, store->end_ticks);
}

void serve_transfers_without_step(struct serve_replica *replica, const struct sched_plan *plan,
                                  base_i128 now)
{
    if (!sched_has_tier(&replica->sched)) {
        return;
    }
    if (replica->running == NULL) {
        submit(replica, true, UINT64_MAX, flushed_at(replica, plan->flush, now));
        return;
    }
    replica->loads_follow = true;
    replica->loads_flush = plan->flush;
}

int64_t serve_transfers_step_ticks(struct serve_replica *replica, const struct sched_plan *plan,
                                   base_i128 start, int64_t ticks)
{
    if (!sched_has_tier(&replica->sched)) {
        return ticks;
    }
    bool is_sync = replica->sched.options->tier.is_sync;
    base_i128 begin = flushed_at(replica, plan->flush, start);
    base_i128 loaded = submit(replica, true, UINT64_MAX, begin);
    base_i128 end = (is_sync ? loaded : begin) + ticks;
    if (is_sync) {
        end = submit(replica, false, plan->number, end);
    }
    replica->stall_ticks += end - start - ticks;
    // A link that can't keep up makes steps wait ever longer: no answer comes of that.
    int64_t lasts = end - start < COST_TICKS_MAX ? (int64_t)(end - start) : COST_TICKS_MAX;
    cost_note_held(replica->cost, lasts);
    return lasts;
}

void serve_transfers_step_ended(struct serve_replica *replica, const struct sched_plan *plan,
                                base_i128 now)
{
    if (!sched_has_tier(&replica->sched)) {
        return;
    }
    submit(replica, false, plan->number, now);
    if (replica->loads_follow) {
        replica->loads_follow = false;
        submit(replica, true, UINT64_MAX, flushed_at(replica, replica->loads_flush, now));
    }
}

base_i128 serve_transfers_next_end(const struct serve_replica *replica, bool is_idle)
{
    base_i128 next = SERVE_NEVER;
    if (!sched_has_tier(&replica->sched)) {
        return next;
    }
    const struct sched_transfer *load = replica->sched.offload.loads.head;
    const struct sched_transfer *store = replica->sched.offload.stores.head;
    if (load != NULL && load->is_submitted) {
        next = load->end_ticks;
    }
    bool stores_matter = is_idle && sched_waiting_count(&replica->sched) > 0;
    if (stores_matter && store != NULL && store->is_submitted && store->end_ticks < next) {
        next = store->end_ticks;
    }
    return next;
}
