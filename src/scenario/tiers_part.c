/*
 * tiers_part.c - `engine.kv_tiers` and `engine.kv_offload`: memory behind the pool, its links, what is stored and loaded.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum tier_link { LINK_PER_GPU, LINK_PER_HOST };
enum tier_store { STORE_WRITE_THROUGH, STORE_SELECTIVE };
enum tier_load { LOAD_ASYNC, LOAD_SYNC };

/* ---- tables ---- */

struct tier_opts {
    const char *name;
    int64_t capacity_bytes, latency_ns;
    double read_bytes_per_s, write_bytes_per_s;
    bool has_read, has_write;
    int eviction, shared;
};

struct offload_opts {
    int64_t chunk_tokens, store_threshold;
    bool store_decode, has_chunk, has_threshold;
    int store, load;
};

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
    {"write_through", STORE_WRITE_THROUGH, "each chunk once a step has filled it"},
    {"selective", STORE_SELECTIVE, "chunks that were asked for store_threshold times"},
    {0},
};
static const struct base_choice load_choices[] = {
    {"async", LOAD_ASYNC,
     "between steps, as vLLM's own connector: the request waits aside, and chunks that are still "
     "being stored put it off"},
    {"sync", LOAD_SYNC, "within the step, as LMCache: steps wait for their loads and stores"},
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
     .min = 1,
     .max = 1e16,
     .required = true,
     .help = "of one replica, over all its GPUs"},
    {.key = "read_bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     TIER(read_bytes_per_s),
     HAS_TIER(has_read),
     .min = 1e6,
     .max = 1e15,
     .help = "to the GPU, of one link, 1 MB/s or more; absent: the hardware's host link"},
    {.key = "write_bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     TIER(write_bytes_per_s),
     HAS_TIER(has_write),
     .min = 1e6,
     .max = 1e15,
     .help = "from the GPU, 1 MB/s or more; absent: read_bandwidth"},
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
     .help = "which chunk goes first"},
    {.key = "shared",
     .type = BASE_CHOICE,
     TIER(shared),
     .choices = shared_choices,
     .def = "per_gpu",
     .help = "who shares the link"},
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
     .help = "store: selective; how often a chunk must have been asked for"},
    {.key = "store_decode",
     .type = BASE_BOOL,
     OFFLOAD(store_decode),
     .def = "true",
     .help = "answers are stored as well as prompts"},
    {.key = "load",
     .type = BASE_CHOICE,
     OFFLOAD(load),
     .choices = load_choices,
     .def = "async",
     .help = "who waits for a load"},
    {0},
};

const struct scenario_section scenario_tier_section = {"engine.kv_tiers[]", tier_fields, NULL,
                                                       "memory behind the pool"};
const struct scenario_section scenario_offload_section = {"engine.kv_offload", offload_fields, NULL,
                                                          "what goes to the tier and comes back"};

/* ---- reading ---- */

#define FIRST_TIER "engine.kv_tiers.0"

static bool fail_tiers(struct scenario_load *load, const char *hint, const char *what)
{
    return scenario_fail_hint(load->reader, conf_get(load->engine, "kv_tiers"), "engine.kv_tiers",
                              "conflict", hint, "'engine.kv_tiers' %s", what);
}

static bool read_tier(struct scenario_load *load, struct tier_opts *out)
{
    const struct conf_node *list = conf_get(load->engine, "kv_tiers");
    if (list->kind != CONF_LIST || list->count == 0)
        return scenario_fail(load->reader, list, "engine.kv_tiers", "wrong-type",
                             "'kv_tiers' must be a list: [{name: host, capacity: 64GiB}]");
    if (list->count > 1)
        return scenario_fail_hint(load->reader, list->items[1], "engine.kv_tiers.1",
                                  "unsupported-key", "one tier, as large as both",
                                  "a second tier is not simulated by this version");
    if (list->items[0]->kind != CONF_MAP)
        return scenario_fail(load->reader, list->items[0], FIRST_TIER, "wrong-type",
                             "a tier must be a mapping: {name: host, capacity: 64GiB}");
    if (!scenario_read_map(load->reader, list->items[0], &scenario_tier_section, FIRST_TIER, out))
        return false;
    if (out->name[0] == '\0' || strcmp(out->name, "gpu") == 0)
        return scenario_fail_hint(load->reader, conf_get(list->items[0], "name"),
                                  FIRST_TIER ".name", "out-of-range", "host",
                                  "a tier needs a name other than the pool's, 'gpu'");
    return true;
}

static bool read_offload(struct scenario_load *load, struct offload_opts *out)
{
    struct conf_node *node = scenario_child(load->reader, load->engine, "engine", "kv_offload");
    if (node == NULL ||
        !scenario_read_map(load->reader, node, &scenario_offload_section, "engine.kv_offload", out))
        return false;
    if (out->has_threshold && out->store != STORE_SELECTIVE)
        return scenario_fail_hint(load->reader, conf_key(node, "store_threshold"),
                                  "engine.kv_offload.store_threshold", "unused-key",
                                  "store: selective",
                                  "'store_threshold' is not used by store 'write_through'");
    return true;
}

bool scenario_tiers_exist(const struct scenario_load *load)
{
    return !conf_is_null(conf_get(load->engine, "kv_tiers"));
}

static bool check_alone(struct scenario_load *load)
{
    const struct conf_node *node = scenario_stated(load->engine, "kv_offload");
    if (node == NULL)
        return true;
    return scenario_fail_hint(load->reader, node, "engine.kv_offload", "unused-key",
                              "engine.kv_tiers: [{name: host, capacity: 64GiB}]",
                              "'engine.kv_offload' has no effect without 'engine.kv_tiers'");
}

/* ---- what goes together ---- */

static bool check_engine(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    if (config->scheduler != NULL && config->scheduler != &sched_vllm_v1)
        return fail_tiers(load, "a profile of vLLM V1",
                          "is simulated for the scheduler 'vllm_v1' only");
    if (!config->sched.enable_prefix_caching)
        return fail_tiers(load, "enable_prefix_caching: true",
                          "holds what the prefix cache has found, and that is off");
    if (config->kv_policy == KV_RADIX)
        return fail_tiers(load, "kv_policy: paged",
                          "is not simulated behind a radix tree by this version");
    if (config->tables.window_count > 0 || config->tables.holds_states)
        return fail_tiers(load, "a model with full attention",
                          "is not simulated for windowed layers by this version");
    if (config->sched.unchunked_misfit == SCHED_MISFIT_SKIP)
        return fail_tiers(load, "engine.profile: vllm-0.13 or newer",
                          "belongs to releases that do not pass over unchunked prompts");
    if (config->sched.block_size == 1)
        return fail_tiers(load, "a larger block_size", "needs blocks of more than one token");
    return true;
}

/* ---- into the config ---- */

static int64_t ticks_per_block(double bytes, double bytes_per_s)
{
    return llround(bytes / bytes_per_s * 1e9 * (double)BASE_TICKS_PER_NS);
}

static bool find_bandwidths(struct scenario_load *load, struct tier_opts *opts)
{
    const struct scenario *scenario = load->scenario;
    if (!opts->has_read) {
        if (!scenario->has_hardware || scenario->hardware.pcie_bytes_per_s <= 0)
            return scenario_fail(load->reader, conf_get(load->engine, "kv_tiers"),
                                 FIRST_TIER ".read_bandwidth", "missing-key",
                                 "'read_bandwidth' is missing, and the hardware does not say how "
                                 "fast its host link is");
        opts->read_bytes_per_s = scenario->hardware.pcie_bytes_per_s;
        scenario_param_derived(
            load->reader, FIRST_TIER ".read_bandwidth.used",
            base_arena_printf(load->reader->arena, "%.6g", opts->read_bytes_per_s), "bytes/s",
            SPEC_VENDOR, "the hardware's host link");
    }
    if (!opts->has_write)
        opts->write_bytes_per_s = opts->read_bytes_per_s;
    return true;
}

static bool fill_chunks(struct scenario_load *load, const struct tier_opts *tier,
                        const struct offload_opts *offload)
{
    struct serve_config *config = &load->scenario->config;
    int64_t block = config->sched.block_size;
    int64_t tokens = offload->has_chunk ? offload->chunk_tokens : block;
    if (tokens % block != 0)
        return scenario_fail_hint(
            load->reader, conf_get(conf_get(load->engine, "kv_offload"), "chunk_tokens"),
            "engine.kv_offload.chunk_tokens", "out-of-range",
            base_arena_printf(load->reader->arena, "%" PRId64,
                              (tokens / block > 0 ? tokens / block : 1) * block),
            "'chunk_tokens' %" PRId64 " is no multiple of the block size %" PRId64, tokens, block);
    int64_t chunk_bytes = tokens / block * (int64_t)config->layout.block_bytes;
    struct sched_tier_options *out = &config->sched.tier;
    *out = (struct sched_tier_options){
        .chunk_blocks = tokens / block,
        .capacity_chunks = tier->capacity_bytes / chunk_bytes,
        .order = (enum kv_tier_order)tier->eviction,
        .store_threshold = offload->store == STORE_SELECTIVE ? offload->store_threshold : 0,
        .prompt_only = !offload->store_decode,
        .is_sync = offload->load == LOAD_SYNC,
        .reserves_for_prefills = load->opts.switch_opts.reserve_for_loads};
    if (out->capacity_chunks > 0)
        return true;
    return scenario_fail(load->reader, conf_get(load->engine, "kv_tiers"), FIRST_TIER ".capacity",
                         "out-of-range",
                         "'capacity' %" PRId64 " bytes holds no chunk of %" PRId64 " bytes",
                         tier->capacity_bytes, chunk_bytes);
}

static void fill_links(struct scenario_load *load, const struct tier_opts *tier)
{
    struct serve_config *config = &load->scenario->config;
    double gpus = tier->shared == LINK_PER_GPU ? (double)config->layout.gpu_count : 1;
    double bytes = (double)config->layout.block_bytes / gpus;
    config->tier = (struct serve_tier){
        .name = tier->name,
        .capacity_bytes = tier->capacity_bytes,
        .block_bytes = (int64_t)config->layout.block_bytes,
        .latency_ticks = tier->latency_ns * (int64_t)BASE_TICKS_PER_NS,
        .read_ticks_per_block = ticks_per_block(bytes, tier->read_bytes_per_s),
        .write_ticks_per_block = ticks_per_block(bytes, tier->write_bytes_per_s)};
}

// Written through, the least recently used first, a small tier holds what was computed last: the pool has that.
static void warn_of_size(struct scenario_load *load, const struct tier_opts *tier)
{
    const struct serve_config *config = &load->scenario->config;
    int64_t pool_bytes = config->pool_blocks * (int64_t)config->layout.block_bytes;
    if (tier->capacity_bytes <= pool_bytes)
        scenario_caveat(load->reader, "tier_smaller_than_pool",
                        "the tier '%s' of %" PRId64 " bytes is no larger than the pool of %" PRId64
                        ": most of what it holds the pool holds as well",
                        tier->name, tier->capacity_bytes, pool_bytes);
}

bool scenario_tiers_resolve(struct scenario_load *load)
{
    struct tier_opts tier = {0};
    struct offload_opts offload = {0};
    if (!scenario_tiers_exist(load))
        return check_alone(load);
    if (!read_tier(load, &tier) || !read_offload(load, &offload))
        return false;
    if (load->purpose != SCENARIO_FOR_RUN && load->purpose != SCENARIO_FOR_CHECK)
        return true;
    if (!check_engine(load) || !find_bandwidths(load, &tier) || !fill_chunks(load, &tier, &offload))
        return false;
    fill_links(load, &tier);
    warn_of_size(load, &tier);
    return true;
}
