/*
 * tiers_fields.c - the keys of `engine.kv_tiers` and `engine.kv_offload`: units, ranges, defaults, help.
 */
#include "scenario/parts.h"

#include "sched/sched.h"
#include "scenario/tiers_int.h"

#include <stddef.h>

static const struct base_choice eviction_choices[] = {
    {"lru", KV_TIER_LRU, "the chunk that was asked for or stored longest ago"},
    {"arc", KV_TIER_ARC, "adaptive: between those asked for once and those asked for again"},
    {0},
};
static const struct base_choice shared_choices[] = {
    {"per_gpu", LINK_PER_GPU, "each GPU has a link of its own"},
    {"per_host", LINK_PER_HOST, "all GPUs of a replica share one"},
    {0},
};
static const struct base_choice store_choices[] = {
    {"write_through", SCHED_STORE_THROUGH, "each chunk once a step has filled it"},
    {"selective", SCHED_STORE_LOOKUPS,
     "so, but only chunks that the tier was asked for store_threshold times, as vLLM"},
    {"write_through_selective", SCHED_STORE_USES,
     "so, but only at a chunk's store_threshold-th use, found in the pool or computed, as HiCache"},
    {"write_back", SCHED_STORE_BACK,
     "each block that the pool drops; the step that takes its place waits for that"},
    {0},
};
static const struct base_choice copy_choices[] = {
    {"write_through", COPY_THROUGH, "each chunk once the tier above has it"},
    {"write_back", COPY_BACK, "chunks that the tier above drops"},
    {0},
};
static const struct base_choice fetch_choices[] = {
    {"always", FETCH_ALWAYS, "whatever is found"},
    {"by_cost", FETCH_BY_COST,
     "what takes less time than the prefill that it saves, queues of the links included"},
    {0},
};
static const struct base_choice prefetch_choices[] = {
    {"none", SCHED_PREFETCH_NONE,
     "read up when a request is looked at, which then waits for all of it"},
    {"best_effort", SCHED_PREFETCH_BEST_EFFORT,
     "read up at arrival; what is there when the request is looked at is used"},
    {"wait_complete", SCHED_PREFETCH_WAIT,
     "read up at arrival; the request is passed over until it is there"},
    {"timeout", SCHED_PREFETCH_TIMEOUT, "so, but no longer than prefetch_timeout and its kin"},
    {0},
};
static const struct base_choice load_choices[] = {
    {"async", LOAD_ASYNC,
     "between steps, as vLLM's own connector: the request waits aside, and chunks that are still "
     "being stored put it off"},
    {"sync", LOAD_SYNC, "within the step, as LMCache: steps wait for their loads and stores"},
    {"layerwise", LOAD_LAYERWISE,
     "within the step, each layer of which waits for its part, as HiCache; with kv_policy radix, "
     "and the only way there"},
    {0},
};

#define TIER(member) .offset = offsetof(struct tier_opts, member)
#define HAS_TIER(member) .has_offset = offsetof(struct tier_opts, member)

static const struct base_field tier_fields[] = {
    {.key = "name", .type = BASE_TEXT, TIER(name), .def = "host", .help = "for reports"},
    {.key = "capacity",
     .type = BASE_INT,
     .unit = BASE_BYTES,
     TIER(capacity_bytes),
     HAS_TIER(has_capacity),
     .min = 1,
     .max = 1e16,
     .help = "of one replica, over all its GPUs; may be absent for host memory behind a radix "
             "tree: twice the pool's"},
    {.key = "read_bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     TIER(read_bytes_per_s),
     HAS_TIER(has_read),
     .min = 1e6,
     .max = 1e15,
     .help = "to the memory above it, of one link, 1 MB/s or more; absent for the first tier: the "
             "hardware's host link"},
    {.key = "write_bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     TIER(write_bytes_per_s),
     HAS_TIER(has_write),
     .min = 1e6,
     .max = 1e15,
     .help = "from the memory above it, 1 MB/s or more; absent: read_bandwidth"},
    {.key = "latency",
     .type = BASE_INT,
     .unit = BASE_TIME,
     TIER(latency_ns),
     .min = 0,
     .max = 1e12,
     .def = "10us",
     .help = "of each transfer, beside its bytes"},
    {.key = "eviction",
     .type = BASE_CHOICE,
     TIER(eviction),
     .choices = eviction_choices,
     .def = "lru",
     .help = "which chunk goes first; behind a radix tree host memory has the tree's order"},
    {.key = "shared",
     .type = BASE_CHOICE,
     TIER(shared),
     HAS_TIER(has_shared),
     .choices = shared_choices,
     .help = "who shares the link; absent: per_gpu, below the first tier per_host"},
    {.key = "store",
     .type = BASE_CHOICE,
     TIER(store),
     HAS_TIER(has_store),
     .choices = copy_choices,
     .help = "below the first tier: what is written to it; absent: write_through"},
    {0},
};

#define OFFLOAD(member) .offset = offsetof(struct offload_opts, member)
#define HAS_OFFLOAD(member) .has_offset = offsetof(struct offload_opts, member)

static const struct base_field offload_fields[] = {
    {.key = "chunk_tokens",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     OFFLOAD(chunk_tokens),
     HAS_OFFLOAD(has_chunk),
     .min = 1,
     .max = 1e6,
     .help = "stored and loaded together, whole blocks; absent: block_size"},
    {.key = "store",
     .type = BASE_CHOICE,
     OFFLOAD(store),
     .choices = store_choices,
     .def = "write_through",
     .help = "what is stored"},
    {.key = "store_threshold",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     OFFLOAD(store_threshold),
     HAS_OFFLOAD(has_threshold),
     .min = 2,
     .max = 1e6,
     .def = "2",
     .help = "of the selective ways to store: how often a chunk must have been asked for, or used"},
    {.key = "store_decode",
     .type = BASE_BOOL,
     OFFLOAD(store_decode),
     HAS_OFFLOAD(has_decode),
     .def = "true",
     .help = "answers are stored as well as prompts"},
    {.key = "load",
     .type = BASE_CHOICE,
     OFFLOAD(load),
     .choices = load_choices,
     .def = "async",
     .help = "who waits for a load"},
    {.key = "fetch",
     .type = BASE_CHOICE,
     OFFLOAD(fetch),
     .choices = fetch_choices,
     .def = "always",
     .help = "what is loaded of that which is found"},
    {.key = "prefetch",
     .type = BASE_CHOICE,
     OFFLOAD(prefetch),
     .choices = prefetch_choices,
     .def = "none",
     .help = "when what only a second tier has is read up into the first"},
    {.key = "prefetch_threshold",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     OFFLOAD(prefetch_threshold),
     HAS_OFFLOAD(has_prefetch_threshold),
     .min = 1,
     .max = 1e9,
     .def = "256",
     .help = "fewer tokens are not read up"},
    {.key = "prefetch_timeout",
     .type = BASE_INT,
     .unit = BASE_TIME,
     OFFLOAD(prefetch_base_ns),
     HAS_OFFLOAD(has_prefetch_base),
     .min = 0,
     .max = 1e12,
     .def = "2s",
     .help = "prefetch: timeout; how long a request waits, and"},
    {.key = "prefetch_timeout_per_1k",
     .type = BASE_INT,
     .unit = BASE_TIME,
     OFFLOAD(prefetch_ns_per_1024_tokens),
     HAS_OFFLOAD(has_prefetch_per_tokens),
     .min = 0,
     .max = 1e12,
     .def = "100ms",
     .help = "longer for each 1,024 tokens that are read up, and"},
    {.key = "prefetch_timeout_max",
     .type = BASE_INT,
     .unit = BASE_TIME,
     OFFLOAD(prefetch_most_ns),
     HAS_OFFLOAD(has_prefetch_most),
     .min = 0,
     .max = 1e12,
     .def = "30s",
     .help = "at most"},
    {0},
};

const struct scenario_section scenario_tier_section = {"engine.kv_tiers[]", tier_fields, NULL,
                                                       "memory behind the pool"};
const struct scenario_section scenario_offload_section = {"engine.kv_offload", offload_fields, NULL,
                                                          "what goes to the tier and comes back"};
