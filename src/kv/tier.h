/*
 * tier.h - memory behind the pool: which chunks of content it holds, and which of them go first.
 *
 * A chunk is a few blocks of one sequence in one table, told from others by its tokens and all before them. Chunks that are
 * alike are dealt with together, as strands (kv/stock.h). A chunk is pending from the decision to store it until that
 * transfer has ended, then ready; while it is pending, read or copied to the tier below it cannot go.
 *
 *   lru   one list; asking for a chunk or offering it makes it the most recent, a sequence's first chunk last of all
 *   arc   recent (asked for once) and frequent ones, each with a list of ghosts: chunks that went. A ghost that is
 *         asked for moves the target size of `recent`.
 *
 * Source: vLLM, vllm/v1/kv_offload (docs/sources.md); Megiddo, Modha: ARC, FAST 2003. It knows no time: serve/transfers.h.
 * Invariant: chunks in recent and frequent <= capacity, ghosts of either kind <= capacity.
 */
#ifndef KVSIM_KV_TIER_H
#define KVSIM_KV_TIER_H

#include "kv/stock.h"

enum kv_tier_order { KV_TIER_LRU, KV_TIER_ARC };

enum kv_tier_list {
    KV_TIER_RECENT,
    KV_TIER_FREQUENT,
    KV_TIER_RECENT_GHOST,
    KV_TIER_FREQUENT_GHOST,
    KV_TIER_ASKED, /* that were asked for, with how often: where storing waits for that */
    KV_TIER_LIST_COUNT
};

struct kv_victim {
    struct kv_strand *strand;
    int64_t chunks; /* its oldest */
};

struct kv_tier {
    enum kv_tier_order order;
    int64_t capacity;
    struct kv_stock *stock;
    uint32_t tables,
        plane; /* planes from there on: chunks and ghosts, a table each; then those asked for */
    struct kv_strand_list lists[KV_TIER_LIST_COUNT];
    double recent_target;
    int64_t evictable; /* ready, nobody reads or copies */
    int64_t added_chunks, evicted_chunks, refused_stores;
    struct kv_pieces dropped; /* what went for the last offer, in order; its nodes are held */
    uint64_t stamp;
    struct kv_pieces missing; /* scratch, as the next one */
    struct {
        struct kv_victim *at;
        size_t count, capacity;
    } victims;
};

/* Planes of the stock that a tier takes for so many tables. */
static inline uint32_t kv_tier_planes(uint32_t tables)
{
    return 2 * tables;
}

/* `plane`: its first one. */
void kv_tier_init(struct kv_tier *tier, struct kv_stock *stock, uint32_t tables, uint32_t plane,
                  enum kv_tier_order order, int64_t capacity);
void kv_tier_release(struct kv_tier *tier);

static inline int64_t kv_tier_chunk_count(const struct kv_tier *tier)
{
    return tier->lists[KV_TIER_RECENT].count + tier->lists[KV_TIER_FREQUENT].count;
}

/* Chunks that an offer of nothing else can add. */
static inline int64_t kv_tier_room(const struct kv_tier *tier)
{
    return tier->capacity - kv_tier_chunk_count(tier) + tier->evictable;
}

/* Chunks from `at` on, or up to `at`, that are alike, no further than `limit`; pending ones included, NULL: it has none of them. */
struct kv_alike kv_tier_look(const struct kv_tier *tier, const struct kv_path *path, uint32_t table,
                             int64_t at, int64_t limit);
struct kv_alike kv_tier_look_back(const struct kv_tier *tier, const struct kv_path *path,
                                  uint32_t table, int64_t at, int64_t limit);
/* How many chunks of a piece it has. */
int64_t kv_tier_count_held(const struct kv_tier *tier, const struct kv_piece *piece);
/* A sequence is asked for with these chunks of its path. */
void kv_tier_touch(struct kv_tier *tier, const struct kv_path *path, uint32_t table, int64_t lo,
                   int64_t hi);
/* Counts for the threshold of an offer; the path is as long. */
void kv_tier_count_asked(struct kv_tier *tier, const struct kv_path *path, uint32_t table,
                         int64_t lo, int64_t hi);
/*
 * To store these pieces: makes room for the chunks that are missing (and were counted `threshold` times, where that is above 1)
 * and adds them as pending, in order, those of `out`. False, with nothing changed but `dropped` and `out` empty, when not
 * enough chunks can go.
 */
bool kv_tier_offer(struct kv_tier *tier, const struct kv_pieces *offered, int64_t threshold,
                   struct kv_pieces *out);
/* All chunks of a piece, which it has: what was pending is ready; */
void kv_tier_set_ready(struct kv_tier *tier, const struct kv_piece *piece);
/* they are read, and are not any more; */
void kv_tier_pin(struct kv_tier *tier, const struct kv_piece *piece);
void kv_tier_unpin(struct kv_tier *tier, const struct kv_piece *piece);
/* the same for a copy to the tier below. */
void kv_tier_begin_copy(struct kv_tier *tier, const struct kv_piece *piece);
void kv_tier_end_copy(struct kv_tier *tier, const struct kv_piece *piece);

#endif
