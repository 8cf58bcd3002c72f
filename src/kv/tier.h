/*
 * tier.h - memory behind the pool: which chunks of content it holds, and which of them go first.
 *
 * A chunk is a few blocks of one sequence, known by a 128-bit hash of its tokens and all before them, as the engine knows
 * it: contents that differ are taken for one with a probability below 10^-20 in any run. Chunks are kept one by one, so
 * an operation costs by chunks. A chunk is pending from the decision to store it until that transfer has ended, then
 * ready; while it is pending, read or copied to the tier below it cannot go.
 *
 *   lru   one list; asking for a chunk or offering it makes it the most recent, a sequence's first chunk last of all
 *   arc   recent (asked for once) and frequent ones, each with a list of ghosts: keys of chunks that went. A ghost that is
 *         asked for moves the target size of `recent`.
 *
 * Source: vLLM, vllm/v1/kv_offload (docs/sources.md); Megiddo, Modha: ARC, FAST 2003. It knows no time: serve/transfers.h.
 * Invariant: chunks in recent and frequent <= capacity, ghosts of either kind <= capacity.
 */
#ifndef KVSIM_KV_TIER_H
#define KVSIM_KV_TIER_H

#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kv_tier_order { KV_TIER_LRU, KV_TIER_ARC };

enum kv_tier_list {
    KV_TIER_RECENT,
    KV_TIER_FREQUENT,
    KV_TIER_RECENT_GHOST,
    KV_TIER_FREQUENT_GHOST,
    KV_TIER_ASKED, /* keys that were asked for, with how often: where storing waits for that */
    KV_TIER_LIST_COUNT
};

struct kv_chunk {
    struct base_hash key;
    struct kv_chunk *map_next;
    struct kv_chunk *older, *younger;
    enum kv_tier_list list;
    bool is_ready;
    int32_t readers, copiers; /* transfers to the memory above, and to the tier below */
    int64_t asked;
    uint64_t spared; /* scratch of one eviction */
    uint64_t run;    /* of whose last touch it is; 0 = of nobody's any more */
};

struct kv_chunks {
    struct kv_chunk **at;
    size_t count, capacity;
};

struct kv_keys {
    struct base_hash *at;
    size_t count, capacity;
};

struct kv_places {
    int64_t *at;
    size_t count, capacity;
};

struct kv_chunk_list {
    struct kv_chunk *oldest, *youngest;
    int64_t count;
};

/* Touches that are remembered; who has been forgotten is touched chunk by chunk again. */
enum { KV_TIER_RUNS = 1024 };

/*
 * What the last touch of a sequence has left in an lru list: its chunks in a row, as long as nobody has moved one of them
 * since. A sequence that is asked for again and again is touched in one piece then. Zeroed = none.
 */
struct kv_run {
    uint64_t stamp;
    struct kv_chunk *first,
        *last; /* from the oldest on, the sequence's last chunk; NULL: none was there */
    int64_t keys;
    struct kv_places missing; /* of the keys, the last first; owned */
};

struct kv_tier {
    enum kv_tier_order order;
    int64_t capacity;
    struct kv_chunk_list lists[KV_TIER_LIST_COUNT];
    double recent_target;
    int64_t evictable; /* ready, nobody reads or copies */
    int64_t added_chunks, evicted_chunks, refused_stores;
    struct kv_keys dropped; /* keys of the chunks that went for the last offer, in order */
    /* two entries of one key at most: a chunk or ghost, and its count in ASKED */
    struct kv_chunk **map;
    size_t map_capacity, entry_count;
    struct base_pool entries;
    uint64_t stamp;
    uint64_t run_count, runs[KV_TIER_RUNS]; /* stamps of runs that are whole, at their number */
    struct kv_chunks victims;               /* scratch */
};

void kv_tier_init(struct kv_tier *tier, enum kv_tier_order order, int64_t capacity);
void kv_tier_release(struct kv_tier *tier);

static inline int64_t kv_tier_chunk_count(const struct kv_tier *tier)
{
    return tier->lists[KV_TIER_RECENT].count + tier->lists[KV_TIER_FREQUENT].count;
}

/* The chunk, pending ones included, or NULL. */
struct kv_chunk *kv_tier_find(const struct kv_tier *tier, const struct base_hash *key);
/* A sequence is asked for with these keys, its first chunk first. */
void kv_tier_touch(struct kv_tier *tier, const struct base_hash *keys, int64_t count);
/* The same for a sequence that may be asked for again soon. */
void kv_tier_touch_run(struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                       struct kv_run *run);
/* Nobody has moved a chunk of it since. */
bool kv_tier_run_is_whole(const struct kv_tier *tier, const struct kv_run *run);
void kv_run_release(struct kv_run *run);
/* Counts for the threshold of an offer. */
void kv_tier_count_asked(struct kv_tier *tier, const struct base_hash *keys, int64_t count);
/*
 * To store these keys: makes room for those that are missing (and were counted `threshold` times, where that is above 1) and
 * adds them as pending to `out`, their places among the keys to `places`. False, with nothing changed but `dropped` empty,
 * when not enough chunks can go.
 */
bool kv_tier_offer(struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                   int64_t threshold, struct kv_chunks *out, struct kv_places *places);
void kv_tier_set_ready(struct kv_tier *tier, struct kv_chunk *chunk);
void kv_tier_pin(struct kv_tier *tier, struct kv_chunk *chunk);
void kv_tier_unpin(struct kv_tier *tier, struct kv_chunk *chunk);
/* The same for a copy to the tier below. */
void kv_tier_begin_copy(struct kv_tier *tier, struct kv_chunk *chunk);
void kv_tier_end_copy(struct kv_tier *tier, struct kv_chunk *chunk);

#endif
