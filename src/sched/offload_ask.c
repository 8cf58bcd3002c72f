/*
 * What a sequence finds in the tiers behind the pool, whether that is worth loading, and loading it.
 */
#include "sched/offload_int.h"

#include "base/count.h"
#include "base/error.h"

struct kv_path sched_offload_path(const struct sched *sched, struct sched_seq *seq, int64_t chunks)
{
    const struct kv_stock *stock = &sched->offload.stock;
    struct sched_seq_offload *own = &seq->offload;
    bool is_known =
        own->path.last != NULL && own->path_chunks == chunks && own->path_changes == stock->changes;
    if (!is_known) {
        own->path = kv_stock_find(stock, &seq->cache.content, chunks);
        own->path_chunks = chunks;
        own->path_changes = stock->changes;
    }
    return own->path;
}

// Of the chunks from `first` on: up to which they are found, and what has to be done for that.
struct reach {
    int64_t first, end;
    int64_t upper_end;   /* up to which the first tier has them */
    int64_t below_count; /* only the tier below has them */
    bool is_put_off;
};

// The next chunks that are alike in both tiers: are they part of what is found?
static bool reaches_further(const struct sched *sched, const struct kv_path *path, int64_t count,
                            struct reach *reach)
{
    const struct sched_tier_options *options = &sched->options->tier;
    const struct sched_offload *offload = &sched->offload;
    bool waits = !options->is_sync && options->prefetch == SCHED_PREFETCH_NONE;
    struct kv_alike alike = kv_tier_look(&offload->tier.chunks, path, 0, reach->end, count);
    if (alike.strand != NULL) {
        bool is_there = alike.strand->is_ready && alike.strand->readers == 0;
        if (!waits && !alike.strand->is_ready) {
            return false;
        }
        reach->is_put_off = reach->is_put_off || (waits && !is_there);
        reach->upper_end = reach->below_count == 0 ? alike.hi : reach->upper_end;
        reach->end = alike.hi;
        return true;
    }
    if (!offload->lower.exists || options->prefetch != SCHED_PREFETCH_NONE) {
        return false;
    }
    alike = kv_tier_look(&offload->lower.tier.chunks, path, 0, alike.lo, alike.hi);
    if (alike.strand == NULL || (!waits && !alike.strand->is_ready)) {
        return false;
    }
    reach->is_put_off = reach->is_put_off || !alike.strand->is_ready;
    reach->below_count += alike.hi - alike.lo;
    reach->end = alike.hi;
    return true;
}

static struct reach reach_of(const struct sched *sched, const struct kv_path *path, int64_t first,
                             int64_t count)
{
    struct reach reach = {.first = first, .end = first, .upper_end = first};
    while (reach.end < count && reaches_further(sched, path, count, &reach)) {
    }
    return reach;
}

/* ---- fetch or recompute ---- */

// Time until they are loaded, if that is decided now.
static base_i128 fetch_ticks(const struct sched *sched, int64_t blocks, int64_t below_count)
{
    const struct sched_offload *offload = &sched->offload;
    const struct sched_lower *lower = &offload->lower;
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
base_i128 sched_offload_prefill_ticks(const struct sched *sched, const struct sched_seq *seq,
                                      int64_t from)
{
    const struct sched_offload *offload = &sched->offload;
    int64_t known = sched_seq_known_tokens(seq), most = known;
    if (sched->options->enable_chunked_prefill) {
        most = sched->options->max_num_batched_tokens;
    }
    base_i128 ticks = 0;
    for (int64_t at = from, tokens; at < known; at += tokens) {
        tokens = base_min(known - at, most);
        ticks += offload->prefill_ticks(offload->prefill_context, at, tokens, at + tokens == known);
    }
    return ticks;
}

base_i128 sched_offload_gain(const struct sched *sched, const struct sched_seq *seq,
                             int64_t hit_tokens, int64_t to, int64_t blocks, int64_t below_chunks)
{
    if (to <= hit_tokens) {
        return 0;
    }
    return sched_offload_prefill_ticks(sched, seq, hit_tokens) -
           sched_offload_prefill_ticks(sched, seq, to) - fetch_ticks(sched, blocks, below_chunks);
}

// By how much loading chunks up to `end` is faster than computing them.
static base_i128 gain_of(const struct sched *sched, const struct sched_seq *seq, int64_t hit_tokens,
                         int64_t end, int64_t below_count)
{
    int64_t to = end * sched->offload.chunk_tokens;
    return sched_offload_gain(sched, seq, hit_tokens, base_min(to, sched_seq_known_tokens(seq) - 1),
                              (to - hit_tokens) / sched->pool->block_tokens, below_count);
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

// Of the pieces, the chunks that only the tier below has, and has ready, to `pinned`: they cannot go any more.
static void pin_below(struct sched_offload *offload, const struct kv_pieces *wanted)
{
    struct sched_lower *lower = &offload->lower;
    lower->pinned.count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const struct kv_piece *piece = &wanted->at[i];
        struct kv_path path = {piece->node, piece->hi};
        for (int64_t at = piece->lo; at < piece->hi;) {
            struct kv_alike alike =
                kv_tier_look(&offload->tier.chunks, &path, piece->table, at, piece->hi);
            if (alike.strand == NULL) {
                struct kv_piece below = kv_path_piece(&path, piece->table, at, alike.hi);
                kv_tier_pin(&lower->tier.chunks, &below);
                base_vec_push(&lower->pinned, below);
            }
            at = alike.hi;
        }
    }
}

// The first tier takes in what it lacks of the pieces. Returns when their places there are free; -1: there is no room.
static base_i128 make_places(struct sched_offload *offload, const struct kv_pieces *wanted)
{
    if (!sched_tier_offer(&offload->tier, wanted, 0, offload->now, &offload->found)) {
        offload->refused_reads++;
        return -1;
    }
    base_i128 written = sched_offload_demote(offload);
    return written > offload->now ? written : offload->now;
}

bool sched_offload_read_up(struct sched_offload *offload, const struct kv_pieces *wanted,
                           base_i128 *end_ticks)
{
    pin_below(offload, wanted);
    base_i128 at = make_places(offload, wanted);
    if (at < 0) {
        for (size_t i = 0; i < offload->lower.pinned.count; i++) {
            kv_tier_unpin(&offload->lower.tier.chunks, &offload->lower.pinned.at[i]);
        }
        return false;
    }
    offload->has_orders = true;
    offload->begun_reads++;
    *end_ticks = sched_lower_read(&offload->lower, &offload->found, at);
    return true;
}

// A piece of the one table that there is, as what is wanted.
static const struct kv_pieces *want(struct sched_offload *offload, const struct kv_path *path,
                                    int64_t first, int64_t end)
{
    offload->wanted.count = 0;
    base_vec_push(&offload->wanted, kv_path_piece(path, 0, first, end));
    return &offload->wanted;
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
    if (seq->offload.prefetch_behind != NULL) {
        sched_tree_drop_prefetch(sched, seq);
    }
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

void sched_offload_set_patience(const struct sched *sched, struct sched_seq *seq, base_i128 done)
{
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_seq_offload *own = &seq->offload;
    base_i128 now = sched->offload.now;
    base_i128 most = options->prefetch_base_ticks +
                     (base_i128)options->prefetch_ticks_per_1024_tokens * own->below_tokens / 1024;
    most = most < options->prefetch_most_ticks ? most : options->prefetch_most_ticks;
    if (options->prefetch == SCHED_PREFETCH_WAIT) {
        own->prefetch_until_ticks = done;
    } else if (options->prefetch == SCHED_PREFETCH_TIMEOUT) {
        own->prefetch_until_ticks = done < now + most ? done : now + most;
    }
}

static void prefetch(struct sched *sched, struct sched_seq *seq)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_seq_offload *own = &seq->offload;
    kv_prefix_lookup(sched->pool->prefix, &seq->cache.content,
                     (sched_seq_known_tokens(seq) - 1) / sched->pool->block_tokens, &sched->hits);
    if (offload->has_tables) {
        sched_offload_prefetch_tables(sched, seq, sched->hits.blocks * sched->pool->block_tokens);
        return;
    }
    int64_t size = offload->chunk_tokens, count = sched_seq_known_tokens(seq) / size;
    int64_t first = sched->hits.blocks * sched->pool->block_tokens / size, end = first, below = 0;
    struct kv_path path = sched_offload_path(sched, seq, count);
    while (end < count) {
        struct kv_alike alike = kv_tier_look(&offload->tier.chunks, &path, 0, end, count);
        if (alike.strand == NULL) {
            alike = kv_tier_look(&offload->lower.tier.chunks, &path, 0, end, alike.hi);
            if (alike.strand == NULL || !alike.strand->is_ready) {
                break;
            }
            below += alike.hi - alike.lo;
        }
        end = alike.hi;
    }
    base_i128 done = 0;
    if (below * size < options->prefetch_threshold_tokens || below == 0 ||
        !sched_offload_read_up(offload, want(offload, &path, first, end), &done)) {
        return;
    }
    own->below_tokens = below * size;
    sched_offload_set_patience(sched, seq, done);
}

void sched_offload_prefetch(struct sched *sched)
{
    struct sched_seqs *fresh = &sched->offload.fresh;
    for (size_t i = 0; i < fresh->count; i++) {
        fresh->at[i]->offload.is_fresh = false;
        if (sched->pool->radix != NULL) {
            sched_tree_prefetch(sched, fresh->at[i]);
        } else {
            prefetch(sched, fresh->at[i]);
        }
    }
    fresh->count = 0;
}

/* ---- asking ---- */

static void touch_tiers(struct sched_offload *offload, const struct kv_path *path)
{
    kv_tier_touch(&offload->tier.chunks, path, 0, 0, path->end);
    if (offload->lower.exists) {
        kv_tier_touch(&offload->lower.tier.chunks, path, 0, 0, path->end);
    }
}

static void count_asked(struct sched_offload *offload, const struct sched_seq *seq, int64_t first,
                        int64_t count)
{
    struct kv_path path = kv_stock_make(&offload->stock, &seq->cache.content, count);
    kv_tier_count_asked(&offload->tier.chunks, &path, 0, first, count);
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
    if (offload->has_tables) {
        return sched_offload_ask_tables(sched, seq, hit_tokens);
    }
    int64_t count = sched_seq_known_tokens(seq) / size, first = hit_tokens / size;
    struct kv_path path = sched_offload_path(sched, seq, count);
    own->declined_tokens = 0;
    touch_tiers(offload, &path);
    if (count * size - hit_tokens < size) {
        return 0;
    }
    if (options->store == SCHED_STORE_LOOKUPS) {
        count_asked(offload, seq, first, count);
        path = sched_offload_path(sched, seq, count);
    }
    if (own->prefetch_until_ticks > offload->now) {
        return -1;
    }
    struct reach reach = reach_of(sched, &path, first, count);
    if (options->by_cost && loadable_tokens(sched, hit_tokens, reach.end) > 0) {
        int64_t end = worth_loading(sched, seq, hit_tokens, &reach);
        own->declined_tokens = (reach.end - end) * size;
        reach = reach_of(sched, &path, first, end);
    }
    if (reach.is_put_off) {
        return -1;
    }
    if (reach.below_count > 0 && loadable_tokens(sched, hit_tokens, reach.end) > 0) {
        base_i128 done;
        if (options->is_sync) {
            own->below_tokens = reach.below_count * size;
        } else if (sched_offload_read_up(offload, want(offload, &path, first, reach.end), &done)) {
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
    offload->below_tokens += base_min(own->below_tokens, loaded_tokens);
    offload->declined_tokens += own->declined_tokens;
    offload->declined_count += own->declined_tokens > 0 ? 1 : 0;
    own->below_tokens = own->declined_tokens = 0;
}

// A synchronous engine reads through the first tier, which keeps what it has room for.
static base_i128 read_through(struct sched_offload *offload, const struct kv_pieces *wanted)
{
    pin_below(offload, wanted);
    if (offload->lower.pinned.count == 0) {
        return 0;
    }
    base_i128 at = make_places(offload, wanted);
    return sched_lower_read(&offload->lower, &offload->found, at < 0 ? offload->now : at);
}

// Of the one table that there is.
static void pin_chunks(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to,
                       struct sched_transfer *load)
{
    struct sched_offload *offload = &sched->offload;
    int64_t first = from / offload->chunk_tokens, end = to / offload->chunk_tokens;
    load->blocks = (to - from) / sched->pool->block_tokens;
    struct kv_path path = sched_offload_path(sched, seq, end);
    for (int64_t at = first; at < end;) {
        struct kv_alike alike = kv_tier_look(&offload->tier.chunks, &path, 0, at, end);
        if (alike.strand != NULL) {
            struct kv_piece piece = kv_path_piece(&path, 0, at, alike.hi);
            kv_tier_pin(&offload->tier.chunks, &piece);
            kv_pieces_keep(&load->chunks, &piece);
        }
        at = alike.hi;
    }
    if (kv_pieces_chunks(&load->chunks) < end - first) {
        load->not_before_ticks = read_through(offload, want(offload, &path, first, end));
    }
}

void sched_offload_load(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to)
{
    struct sched_offload *offload = &sched->offload;
    struct sched_transfer *load = sched_offload_transfer_new(offload, &offload->loads);
    load->seq = sched->options->tier.is_sync ? NULL : seq;
    if (offload->has_tables) {
        sched_offload_pin_tables(sched, seq, from, to, load);
    } else {
        pin_chunks(sched, seq, from, to, load);
    }
    int64_t end = (to + offload->chunk_tokens - 1) / offload->chunk_tokens;
    offload->unsent_load_ticks += kv_link_ticks(&offload->load_link, load->blocks);
    seq->offload.stored_chunks =
        end > seq->offload.stored_chunks ? end : seq->offload.stored_chunks;
}

void sched_offload_take_up(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seq_offload *own = &seq->offload;
    sched_offload_count_aside(sched, seq, -1);
    sched->pool->loading_blocks -= own->load_blocks;
    own->load_blocks = 0;
    own->is_loading = false;
    sched->outside_front_tokens += own->load_to - seq->computed;
    seq->hashed_before = seq->hashed_tokens;
    seq->computed = seq->hashed_tokens = own->load_to;
    seq->state = SCHED_LOADED;
    sched_offload_count_aside(sched, seq, 1);
    // A state that was loaded is as new as one that this turn computes.
    if (seq->cache.is_contended || sched->pool->tables.caches_states) {
        kv_prefix_commit(sched->pool->prefix, &seq->cache,
                         seq->hashed_tokens / sched->pool->block_tokens);
    }
    seq->hashed_before = seq->hashed_tokens;
}

static int64_t missing_to_the_end(const struct sched *sched, const struct sched_seq *seq,
                                  int64_t held)
{
    const struct kv_tables *tables = &sched->pool->tables;
    int64_t whole = kv_paged_blocks_for(sched->pool, sched_seq_known_tokens(seq));
    int64_t blocks = whole > held ? (whole - held) * tables->full_tables : 0;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        int64_t most = window->kind == SPEC_KV_STATE ? base_min(whole, held + 1)
                                                     : base_min(whole, sched->window_caps[w]);
        blocks += most > held ? (most - held) * window->table_count : 0;
    }
    return blocks;
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
