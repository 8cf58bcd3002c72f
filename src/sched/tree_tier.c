/*
 * tree_tier.c - host memory behind a radix tree: what comes back with the step that needs it, and what is copied there.
 *
 * As SGLang's HiCache does it (mem_cache/hiradix_cache.py, managers/cache_controller.py; docs/sources.md). What a request
 * finds in host memory alone comes back with its admission, all of it or nothing, in one transfer for all that a turn admits,
 * layer by layer while the step computes. What an entry into the tree has copied is one transfer, once the step that computed
 * it has run; what is copied as it leaves the pool is written before the step that takes its place. Until a transfer has
 * ended the paths that it reads from or writes to are locked.
 */
#include "sched/offload_int.h"

#include "base/error.h"

void sched_tree_tier_init(struct sched *sched)
{
    const struct sched_tier_options *options = &sched->options->tier;
    base_require(options->count == 1 && options->chunk_blocks == 1 && options->load_layers > 0 &&
                 !options->is_sync && !options->by_cost);
    bool at_eviction = options->store == SCHED_STORE_BACK;
    base_require(at_eviction || options->store == SCHED_STORE_THROUGH ||
                 options->store == SCHED_STORE_USES);
    int64_t uses = options->store == SCHED_STORE_USES ? options->store_threshold : 1;
    kv_radix_set_host(sched->pool->radix, at_eviction ? KV_BACKUP_AT_EVICTION : KV_BACKUP_AT_USE,
                      (int32_t)uses, options->at[0].capacity_chunks);
}

void sched_tree_take_over(struct sched *sched)
{
    const struct kv_radix *radix = sched->pool->radix;
    sched->pool->free_blocks = kv_radix_free_blocks(radix);
    sched->pool->loading_blocks = radix->pinned_blocks;
    sched_tier_note(&sched->offload.tier, radix->host.blocks, sched->offload.now);
}

/* ---- loads ---- */

int64_t sched_tree_loadable_tokens(const struct sched *sched)
{
    int64_t tokens = sched->found.host_blocks * sched->pool->block_tokens;
    return sched_has_tier(sched) && tokens >= sched->options->tier.load_threshold_tokens ? tokens
                                                                                         : 0;
}

void sched_tree_load(struct sched *sched, struct sched_seq *seq, int64_t blocks)
{
    struct sched_offload *offload = &sched->offload;
    kv_radix_load(sched->pool->radix, &seq->tree);
    if (offload->turn_load == NULL) {
        offload->turn_load = sched_offload_transfer_new(offload, &offload->loads);
    }
    offload->turn_load->blocks += blocks;
    base_vec_push(&offload->turn_load->nodes, seq->tree.last);
    kv_radix_pin(sched->pool->radix, seq->tree.last);
    offload->loaded_blocks += blocks;
    sched_tree_take_over(sched);
}

/* ---- stores ---- */

void sched_tree_store(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    struct kv_node *source;
    int64_t blocks = kv_radix_take_backup(sched->pool->radix, &source);
    if (blocks == 0) {
        return;
    }
    struct sched_transfer *store = sched_offload_store_new(offload, sched->entered_by);
    store->blocks = blocks;
    base_vec_push(&store->nodes, source);
    offload->stored_blocks += blocks;
}

void sched_tree_write_back(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    int64_t blocks = kv_radix_take_written(sched->pool->radix);
    sched_tree_take_over(sched); // room was made, perhaps in vain
    if (blocks == 0) {
        return;
    }
    struct sched_transfer *store = sched_offload_store_new(offload, sched->next_number);
    store->is_write_back = true;
    store->blocks = blocks;
    offload->stored_blocks += blocks;
    offload->flush = store->number;
}

void sched_tree_end_transfer(struct sched *sched, const struct sched_transfer *transfer)
{
    for (size_t i = 0; i < transfer->nodes.count; i++) {
        kv_radix_unpin(sched->pool->radix, transfer->nodes.at[i]);
    }
}
