/*
 * tiers_int.h - what a scenario says of memory behind the pool, as it is read: `engine.kv_tiers` and `engine.kv_offload`.
 * Private to tiers_fields.c, which has the tables, and tiers_part.c.
 */
#ifndef KVSIM_SCENARIO_TIERS_INT_H
#define KVSIM_SCENARIO_TIERS_INT_H

#include <stdbool.h>
#include <stdint.h>

enum tier_link { LINK_PER_GPU, LINK_PER_HOST };
enum tier_load { LOAD_ASYNC, LOAD_SYNC, LOAD_LAYERWISE };
enum tier_fetch { FETCH_ALWAYS, FETCH_BY_COST };
enum tier_copy { COPY_THROUGH, COPY_BACK };

struct tier_opts {
    const char *name;
    int64_t capacity_bytes, latency_ns;
    double read_bytes_per_s, write_bytes_per_s;
    bool has_capacity, has_read, has_write, has_shared, has_store;
    int eviction, shared, store;
};

struct offload_opts {
    int64_t chunk_tokens, store_threshold;
    int64_t prefetch_threshold, prefetch_base_ns, prefetch_ns_per_1024_tokens, prefetch_most_ns;
    bool store_decode, has_chunk, has_threshold, has_decode;
    bool has_prefetch_threshold, has_prefetch_base, has_prefetch_per_tokens, has_prefetch_most;
    int store, load, fetch, prefetch;
};

#endif
