#include "serve/transfers.h"

#include "base/error.h"
#include "serve/serve_int.h"

static int64_t prefill_ticks(void *context, int64_t cached, int64_t tokens, bool emits)
{
    const struct serve_replica *replica = context;
    struct cost_shape shape = {.cached_step_tokens = replica->sched.options->cached_step_tokens,
                               .emitting_count = emits ? 1 : 0};
    cost_shape_add_prefill(&shape, 1, tokens, cached);
    sched_add_prefill_windows(&replica->sched, &shape, cached, tokens);
    return cost_step(replica->cost, &shape).ticks;
}

void serve_transfers_init(struct serve_replica *replica)
{
    replica->sched.offload.prefill_ticks = prefill_ticks;
    replica->sched.offload.prefill_context = replica;
}

void serve_transfers_reach(struct serve_replica *replica, base_i128 now)
{
    if (sched_has_tier(&replica->sched)) {
        sched_offload_reach(&replica->sched, now);
    }
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

// All loads, behind the store that the turn's blocks wait for.
static void send_loads(struct serve_replica *replica, uint64_t flush, base_i128 at)
{
    struct sched *sched = &replica->sched;
    sched_offload_send_back(sched, at);
    sched_offload_send(sched, true, UINT64_MAX, sched_offload_store_end(sched, flush, at));
}

// What an entry into a tree has copied was computed by former steps, which have ended.
static void send_entered(struct sched *sched, const struct sched_plan *plan, base_i128 at)
{
    if (sched->pool->radix != NULL) {
        sched_offload_send(sched, false, plan->number - 1, at);
    }
}

void serve_transfers_without_step(struct serve_replica *replica, const struct sched_plan *plan,
                                  base_i128 now)
{
    if (!sched_has_tier(&replica->sched)) {
        return;
    }
    if (replica->running == NULL) {
        send_loads(replica, plan->flush, now);
        send_entered(&replica->sched, plan, now);
        return;
    }
    replica->loads_follow = true;
    replica->loads_flush = plan->flush;
}

// With a radix tree a layer is computed once it is there: the first after its part of the load, the last after all of it.
static base_i128 end_by_layer(struct sched *sched, base_i128 begin, int64_t ticks)
{
    const struct sched_offload *offload = &sched->offload;
    const struct sched_transfer *load = offload->loads.unsent;
    if (load == NULL) {
        return begin + ticks;
    }
    int64_t layers = sched->options->tier.load_layers;
    base_i128 moving = (base_i128)load->blocks * offload->load_link.ticks_per_block;
    base_i128 loaded = sched_offload_send(sched, true, UINT64_MAX, begin);
    base_i128 by_first = loaded - moving + moving / layers + ticks;
    base_i128 by_last = loaded + ticks / layers;
    return by_first > by_last ? by_first : by_last;
}

int64_t serve_transfers_step_ticks(struct serve_replica *replica, const struct sched_plan *plan,
                                   base_i128 start, int64_t ticks)
{
    struct sched *sched = &replica->sched;
    if (!sched_has_tier(sched)) {
        return ticks;
    }
    bool is_sync = sched->options->tier.is_sync;
    sched_offload_send_back(sched, start);
    send_entered(sched, plan, start);
    base_i128 begin = sched_offload_store_end(sched, plan->flush, start), end;
    if (sched->pool->radix != NULL) {
        end = end_by_layer(sched, begin, ticks);
    } else {
        base_i128 loaded = sched_offload_send(sched, true, UINT64_MAX, begin);
        end = (is_sync ? loaded : begin) + ticks;
    }
    if (is_sync) {
        end = sched_offload_send(sched, false, plan->number, end);
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
    sched_offload_send(&replica->sched, false, plan->number, now);
    if (replica->loads_follow) {
        replica->loads_follow = false;
        send_loads(replica, replica->loads_flush, now);
    }
}

base_i128 serve_transfers_next_end(const struct serve_replica *replica, bool is_idle)
{
    base_i128 next;
    bool any =
        sched_has_tier(&replica->sched) && sched_offload_next_end(&replica->sched, is_idle, &next);
    return any ? next : SERVE_NEVER;
}

/* ---- the end of a run ---- */

static void fill_tier(const struct sched_tier *tier, const struct kv_link *read,
                      const struct kv_link *write, base_i128 now, struct serve_tier_result *out)
{
    *out = (struct serve_tier_result){.read_blocks = read->blocks,
                                      .written_blocks = write->blocks,
                                      .reads = read->transfers,
                                      .writes = write->transfers,
                                      .added_chunks = tier->chunks.added_chunks,
                                      .evicted_chunks = tier->chunks.evicted_chunks,
                                      .held_chunks = tier->held_chunks,
                                      .refused_stores = tier->chunks.refused_stores,
                                      .peak_chunks = tier->held_peak,
                                      .held_chunk_ticks = sched_tier_held(tier, now),
                                      .read_ticks = read->busy_ticks,
                                      .write_ticks = write->busy_ticks,
                                      .read_wait_ticks = read->wait_ticks,
                                      .write_wait_ticks = write->wait_ticks};
}

static void fill_host(const struct kv_radix_host *host, struct serve_tier_result *out)
{
    out->added_chunks = host->added_blocks;
    out->evicted_chunks = host->evicted_blocks;
    out->refused_stores = host->refused;
    out->peak_chunks = host->peak_blocks;
}

void serve_transfers_result(const struct serve_replica *replica, base_i128 now,
                            struct serve_replica_result *out)
{
    const struct sched_offload *offload = &replica->sched.offload;
    const struct sched_lower *lower = &offload->lower;
    if (!sched_has_tier(&replica->sched)) {
        return;
    }
    fill_tier(&offload->tier, &offload->load_link, &offload->store_link, now, &out->tiers[0]);
    if (replica->pool.radix != NULL) {
        fill_host(&replica->radix.host, &out->tiers[0]);
    }
    out->tiers[0].asked_tokens = offload->asked_tokens;
    out->tiers[0].hit_tokens = offload->hit_tokens - offload->below_tokens;
    if (lower->exists) {
        fill_tier(&lower->tier, &lower->read_link, &lower->write_link, now, &out->tiers[1]);
        out->tiers[1].asked_tokens = offload->asked_tokens - out->tiers[0].hit_tokens;
        out->tiers[1].hit_tokens = offload->below_tokens;
        out->tiers[1].refused_reads = offload->refused_reads;
    }
    out->declined_tokens = offload->declined_tokens;
    out->declined_count = offload->declined_count;
    out->load_wait_ticks = offload->load_ticks;
    out->stall_ticks = replica->stall_ticks;
}
