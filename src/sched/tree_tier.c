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

#include "base/count.h"
#include "base/error.h"

void sched_tree_tier_init(struct sched *sched)
{
    const struct sched_tier_options *options = &sched->options->tier;
    base_require(options->chunk_blocks == 1 && options->load_layers > 0 && !options->is_sync &&
                 options->read_batch_blocks > 0);
    bool at_eviction = options->store == SCHED_STORE_BACK;
    base_require(options->count == 1 ||
                 (!options->at[1].on_eviction && options->prefetch != SCHED_PREFETCH_NONE));
    base_require(at_eviction || options->store == SCHED_STORE_THROUGH ||
                 options->store == SCHED_STORE_USES);
    int64_t uses = options->store == SCHED_STORE_USES ? options->store_threshold : 1;
    kv_radix_set_host(sched->pool->radix, at_eviction ? KV_BACKUP_AT_EVICTION : KV_BACKUP_AT_USE,
                      (int32_t)uses, options->at[0].capacity_chunks, options->count > 1);
}

void sched_tree_take_over(struct sched *sched)
{
    const struct kv_radix *radix = sched->pool->radix;
    sched->pool->free_blocks = kv_radix_free_blocks(radix);
    sched->pool->loading_blocks = radix->pinned_blocks;
    sched_tier_note(&sched->offload.tier, radix->host.blocks, sched->offload.now);
}

/* ---- loads ---- */

// A load that passes under a step which computes the rest takes less time than computing all of it; alone, but for the link's
// queue and what the turn loads already.
static bool is_worth_loading(const struct sched *sched, const struct sched_seq *seq,
                             int64_t hit_tokens, int64_t tokens)
{
    const struct sched_offload *offload = &sched->offload;
    const struct kv_link *link = &offload->load_link;
    int64_t layers = sched->options->tier.load_layers;
    int64_t blocks =
        sched->found.host_blocks + (offload->turn_load != NULL ? offload->turn_load->blocks : 0);
    int64_t to = base_min(hit_tokens + tokens, sched_seq_known_tokens(seq) - 1);
    base_i128 moving = (base_i128)blocks * link->ticks_per_block;
    base_i128 loaded = kv_link_queue_ticks(link, offload->now) + kv_link_ticks(link, blocks);
    base_i128 rest = sched_offload_prefill_ticks(sched, seq, to);
    base_i128 by_first = loaded - moving + moving / layers + rest;
    base_i128 by_last = loaded + rest / layers;
    return (by_first > by_last ? by_first : by_last) <
           sched_offload_prefill_ticks(sched, seq, hit_tokens);
}

int64_t sched_tree_loadable_tokens(const struct sched *sched, struct sched_seq *seq,
                                   int64_t hit_tokens)
{
    const struct sched_tier_options *options = &sched->options->tier;
    int64_t tokens = sched->found.host_blocks * sched->pool->block_tokens;
    seq->offload.declined_tokens = 0;
    if (!sched_has_tier(sched) || tokens < options->load_threshold_tokens) {
        return 0;
    }
    if (options->by_cost && !is_worth_loading(sched, seq, hit_tokens, tokens)) {
        seq->offload.declined_tokens = tokens;
        return 0;
    }
    return tokens;
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
    sched_tree_take_over(sched);
}

/* ---- stores ---- */

// The last blocks of a content down to a pin are copied to the tier below when the store has ended.
static void add_piece(struct sched_offload *offload, struct sched_transfer *store,
                      const struct kv_content *content, struct kv_radix_piece piece)
{
    int64_t end = piece.pin->end;
    struct kv_path path = kv_stock_make(&offload->stock, content, end);
    struct kv_piece chunks = kv_path_piece(&path, 0, end - piece.blocks, end);
    kv_pieces_keep(&store->chunks, &chunks);
    base_vec_push(&store->pieces, piece);
}

void sched_tree_store(struct sched *sched, struct sched_seq *seq)
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
    if (offload->lower.exists) {
        // What an entry copies are the last blocks down to that node: what lies above them had copies.
        struct kv_radix_pin *pin = kv_radix_pin_host(sched->pool->radix, source, source->end);
        add_piece(offload, store, &seq->cache.content, (struct kv_radix_piece){pin, blocks});
    }
}

void sched_tree_write_back(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    struct kv_radix *radix = sched->pool->radix;
    struct kv_radix_pieces pieces = {0};
    int64_t blocks = kv_radix_take_written(radix, &pieces);
    sched_tree_take_over(sched); // room was made, perhaps in vain
    if (blocks == 0) {
        return;
    }
    struct sched_transfer *store = sched_offload_store_new(offload, sched->next_number);
    store->is_write_back = true;
    store->blocks = blocks;
    offload->flush = store->number;
    for (size_t i = 0; i < pieces.count; i++) {
        struct kv_content content = kv_radix_content(radix, pieces.at[i].pin);
        add_piece(offload, store, &content, pieces.at[i]);
    }
    base_vec_free(&pieces);
}

/* ---- the tier below ---- */

void sched_tree_write_down(struct sched *sched, const struct sched_transfer *store)
{
    for (size_t i = 0; i < store->pieces.count; i++) {
        struct kv_radix_pin *pin = store->pieces.at[i].pin;
        const struct kv_pieces chunks = {.at = &store->chunks.at[i], .count = 1};
        struct sched_copy *copy = NULL;
        if (pin->node != NULL) {
            copy = sched_lower_write(&sched->offload.lower, &chunks, store->end_ticks);
        }
        if (copy != NULL) {
            copy->pin = pin;
        } else {
            kv_radix_unpin_host(sched->pool->radix, pin);
        }
    }
}

// Of the blocks from `from` on those that the tier below has, in a row, to `pinned`; they are most recent now.
static int64_t find_below(struct sched_lower *lower, const struct kv_path *path, int64_t from,
                          int64_t end)
{
    int64_t at = from;
    while (at < end) {
        struct kv_alike alike = kv_tier_look(&lower->tier.chunks, path, 0, at, end);
        if (alike.strand == NULL || !alike.strand->is_ready) {
            break;
        }
        at = alike.hi;
    }
    kv_tier_touch(&lower->tier.chunks, path, 0, from, at);
    lower->pinned.count = 0;
    if (at > from) {
        base_vec_push(&lower->pinned, kv_path_piece(path, 0, from, at));
    }
    return at - from;
}

// The engine takes room for all that is missing before it knows what there is below.
void sched_tree_prefetch(struct sched *sched, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_seq_offload *own = &seq->offload;
    struct kv_radix *radix = sched->pool->radix;
    int64_t size = sched->pool->block_tokens, known = sched_seq_known_tokens(seq);
    int64_t threshold = sched->options->tier.prefetch_threshold_tokens;
    kv_radix_match(radix, &seq->cache.content, (known - 1) / size, &sched->found);
    struct kv_node *last = sched->found.last;
    int64_t missing = known / size - last->end;
    if (!kv_radix_has_copy(last) || missing <= 0 || missing * size < threshold) {
        return;
    }
    struct kv_radix_pin *pin = kv_radix_pin_host(radix, last, last->end);
    if (!kv_radix_take_room(radix, missing)) {
        kv_radix_unpin_host(radix, pin);
        offload->refused_reads++;
        sched_tree_take_over(sched);
        return;
    }
    struct kv_path path = kv_stock_find(&offload->stock, &seq->cache.content, known / size);
    int64_t found = find_below(&offload->lower, &path, last->end, known / size);
    kv_radix_give_room(radix, found > 0 && found * size >= threshold ? missing - found : missing);
    if (found == 0 || found * size < threshold) {
        kv_radix_unpin_host(radix, pin);
        sched_tree_take_over(sched);
        return;
    }
    kv_tier_pin(&offload->lower.tier.chunks, &offload->lower.pinned.at[0]);
    static const struct kv_pieces none = {0};
    base_i128 done = sched_lower_read(&offload->lower, &none, offload->now);
    own->prefetch_behind = pin;
    own->prefetch_blocks = found;
    own->prefetch_arrived = 0;
    own->prefetch_copy = offload->lower.reads.tail;
    own->prefetch_copy->reader = own;
    own->below_tokens = found * size;
    sched_offload_set_patience(sched, seq, done);
    sched_tree_take_over(sched);
}

// What still comes goes nowhere; `entered` blocks have found a place in the tree.
static void end_prefetch(struct sched *sched, struct sched_seq *seq, int64_t entered)
{
    struct sched_seq_offload *own = &seq->offload;
    kv_radix_give_room(sched->pool->radix, own->prefetch_blocks - entered);
    kv_radix_unpin_host(sched->pool->radix, own->prefetch_behind);
    if (own->prefetch_copy != NULL) {
        own->prefetch_copy->reader = NULL;
        sched_lower_give_up(&sched->offload.lower, own->prefetch_copy,
                            sched->options->tier.read_batch_blocks, sched->offload.now);
        own->prefetch_copy = NULL;
    }
    own->prefetch_behind = NULL;
    own->below_tokens = entered * sched->pool->block_tokens;
    sched_tree_take_over(sched);
}

void sched_tree_drop_prefetch(struct sched *sched, struct sched_seq *seq)
{
    end_prefetch(sched, seq, 0);
}

bool sched_tree_waits_for_prefetch(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seq_offload *own = &seq->offload;
    if (own->prefetch_behind == NULL) {
        return false;
    }
    if (own->prefetch_until_ticks > sched->offload.now) {
        return true;
    }
    int64_t entered = 0;
    const struct kv_radix_pin *behind = own->prefetch_behind;
    if (own->prefetch_arrived > 0 && behind->node != NULL) {
        entered = kv_radix_enter_host(sched->pool->radix, behind->node, &seq->cache.content,
                                      behind->end + own->prefetch_arrived);
    }
    end_prefetch(sched, seq, entered);
    return false;
}

void sched_tree_end_transfer(struct sched *sched, const struct sched_transfer *transfer)
{
    for (size_t i = 0; i < transfer->nodes.count; i++) {
        kv_radix_unpin(sched->pool->radix, transfer->nodes.at[i]);
    }
}
