/*
 * bench_kv - how fast the ways of keeping KV are simulated, on one core.
 *
 *   bench_kv SCENARIOS_FOLDER [REQUESTS]
 *
 * 1. Conversations that share system prompts (agent-sessions.yaml), found in the prefix cache (hashed blocks, or a radix
 *    tree), by the length of their contexts and by order of eviction, then by model (windows, layers of several kinds): requests
 *    a second. The pool holds a twentieth of what all sessions send, so blocks are evicted all the time.
 * 2. One load (chat-8k.yaml), every policy of allocation: time per request as a multiple of that of paged blocks.
 * 3. Conversations that come back (chat-host-tier.yaml), every kind of memory behind the pool: as a multiple of the pool alone,
 *    in one block table and in six.
 *
 * Time is that of the process: what else the machine does counts less, its caches still do.
 */
#include "bench.h"

#include "kv/evict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void set_number(struct bench *bench, const char *key, int64_t value)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, value);
    bench_set(bench, key, number);
}

struct cache {
    const char *model, *policy, *eviction;
};

/* Turns are the same at every length; what grows is what they begin with. */
static struct bench_figures conversations(const char *path, int64_t context, struct cache cache,
                                          uint64_t requests)
{
    struct bench bench;
    char longer[128];
    snprintf(longer, sizeof longer, "{base: %s, max_position_embeddings: 1000000}", cache.model);
    bench_begin(&bench, path, requests);
    bench_set(&bench, "engine.enable_prefix_caching", "true");
    bench_set(&bench, "engine.kv_policy", cache.policy);
    bench_set(&bench, "engine.kv_eviction", cache.eviction);
    bench_set(&bench, "model", longer);
    set_number(&bench, "engine.max_model_len", 2 * context + 32768);
    set_number(&bench, "engine.num_gpu_blocks_override", (40 * context + 4000000) / 16);
    set_number(&bench, "workload.shared_prefix.system_prompt_len", context);
    bench_set(&bench, "cost", "{level: fixed, step: 10ms}");
    return bench_run(&bench, SERVE_JUMP);
}

enum { CONTEXTS = 5 };
static const int64_t contexts[CONTEXTS] = {1000, 4000, 16000, 64000, 128000};

static void print_heading(const char *what)
{
    printf("  %-16s", what);
    for (size_t i = 0; i < CONTEXTS; i++) {
        printf("  %9" PRId64 " tokens   ", contexts[i]);
    }
    printf("\n");
}

static void print_row(const char *path, const char *title, struct cache cache, uint64_t requests)
{
    printf("  %-16s", title);
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct bench_figures figures = conversations(path, contexts[i], cache, requests);
        printf("  %9.0f %6.2f %% %s", (double)figures.requests / figures.cpu_s,
               100.0 * (double)figures.found / (double)figures.looked_up,
               figures.evicted > 0 ? "e" : " ");
        fflush(stdout);
    }
    printf("\n");
}

static void print_conversations(const char *folder, uint64_t requests)
{
    static const char *const policies[] = {"paged", "radix"};
    static const char *const models[] = {"mistral-7b", "gpt-oss-20b", "gemma-3-12b"};
    char path[512];
    snprintf(path, sizeof path, "%s/agent-sessions.yaml", folder);
    printf("\nconversations with shared system prompts, requests simulated a second; of tokens "
           "found\n");
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        print_heading(policies[p]);
        for (size_t order = 0; kv_eviction_choices[order].name != NULL; order++) {
            const char *name = kv_eviction_choices[order].name;
            print_row(path, name, (struct cache){"llama-3.1-8b", policies[p], name}, requests);
        }
    }
    print_heading("paged, lru");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        print_row(path, models[i], (struct cache){models[i], "paged", "lru"}, requests);
    }
}

enum { SETTINGS = 5 };

struct way {
    const char *title, *settings[SETTINGS][2];
};

static const struct way ways[] = {
    {"paged", {{"engine.kv_policy", "paged"}}},
    {"paged, prefix cache", {{"engine.enable_prefix_caching", "true"}}},
    {"radix", {{"engine.kv_policy", "radix"}, {"engine.enable_prefix_caching", "true"}}},
    {"unlimited", {{"engine.kv_policy", "unlimited"}}},
    {"slots", {{"engine.kv_policy", "slots"}}},
    {"cells", {{"engine.kv_policy", "cells"}}},
    {"reserved_max", {{"engine.kv_policy", "reserved_max"}}},
    {"reserved_pow2", {{"engine.kv_policy", "reserved_pow2"}}},
    {"reserved_exact", {{"engine.kv_policy", "reserved_exact"}}},
    {"reserved_exact, buddies",
     {{"engine.kv_policy", "reserved_exact"}, {"engine.kv_placement", "buddy"}}},
    {"reserved_exact, first fit",
     {{"engine.kv_policy", "reserved_exact"}, {"engine.kv_placement", "first_fit"}}},
    {"reserved_exact, best fit",
     {{"engine.kv_policy", "reserved_exact"}, {"engine.kv_placement", "best_fit"}}},
    {"reserved_exact, compacting",
     {{"engine.kv_policy", "reserved_exact"},
      {"engine.kv_placement", "first_fit"},
      {"engine.kv_compaction", "true"}}},
    {"concat", {{"engine.kv_policy", "concat"}}},
    {"concat_doubling", {{"engine.kv_policy", "concat_doubling"}}},
    {"no_cache", {{"engine.kv_policy", "no_cache"}}},
    {"a window of 4,096 tokens", {{"model", "mistral-7b-v0.1"}, {"engine.max_model_len", "8192"}}},
};

static const char small_host[] = "[{name: host, capacity: 8GiB}]";
static const char large_host[] = "[{name: host, capacity: 64GiB}]";
static const char host_and_disk[] = "[{name: host, capacity: 8GiB}, {name: disk, capacity: 64GiB, "
                                    "read_bandwidth: 6GB/s, write_bandwidth: 3GB/s}]";

static const struct way tiers[] = {
    {"the pool alone", {{"engine.kv_tiers", "null"}}},
    {"host, chunks of 16 tokens", {{"engine.kv_tiers", large_host}}},
    {"chunks of 64", {{"engine.kv_tiers", large_host}, {"engine.kv_offload.chunk_tokens", "64"}}},
    {"chunks of 256", {{"engine.kv_tiers", large_host}, {"engine.kv_offload.chunk_tokens", "256"}}},
    {"a small one", {{"engine.kv_tiers", small_host}}},
    {"small, arc", {{"engine.kv_tiers", small_host}, {"engine.kv_tiers.0.eviction", "arc"}}},
    {"small, selective",
     {{"engine.kv_tiers", small_host}, {"engine.kv_offload.store", "selective"}}},
    {"small, write_back",
     {{"engine.kv_tiers", small_host}, {"engine.kv_offload.store", "write_back"}}},
    {"small, by_cost", {{"engine.kv_tiers", small_host}, {"engine.kv_offload.fetch", "by_cost"}}},
    {"host and disk", {{"engine.kv_tiers", host_and_disk}}},
};

static const struct way tree_tiers[] = {
    {"the pool alone", {{"engine.kv_tiers", "null"}}},
    {"host", {{"engine.kv_tiers", large_host}}},
    {"host and disk", {{"engine.kv_tiers", host_and_disk}}},
};

/* Ways to keep the KV of one load, each as a multiple of the first. */
struct load {
    const char *title, *scenario, *settings[SETTINGS][2];
    const struct way *ways;
    size_t count;
};

#define WAYS(list) (list), sizeof(list) / sizeof *(list)

static const struct load loads[] = {
    {"ways of keeping KV", "chat-8k", {{NULL, NULL}}, WAYS(ways)},
    {"memory behind the pool",
     "chat-host-tier",
     {{"engine.enable_prefix_caching", "true"}},
     WAYS(tiers)},
    {"memory behind a radix tree",
     "chat-host-tier",
     {{"engine.enable_prefix_caching", "true"}, {"engine.kv_policy", "radix"}},
     WAYS(tree_tiers)},
    {"memory behind a pool of six block tables",
     "chat-host-tier",
     {{"engine.enable_prefix_caching", "true"},
      {"model", "gemma-3-12b"},
      {"engine.profile", "vllm-0.21"},
      {"hardware", "h100-sxm5-80gb"},
      {"workload.arrival.rate", "0.3/s"}},
     WAYS(tiers)},
};

static void set_all(struct bench *bench, const char *const settings[SETTINGS][2])
{
    for (size_t i = 0; i < SETTINGS && settings[i][0] != NULL; i++) {
        bench_set(bench, settings[i][0], settings[i][1]);
    }
}

static void print_load(const char *folder, const struct load *load, uint64_t requests)
{
    char path[512];
    double first = 0;
    snprintf(path, sizeof path, "%s/%s.yaml", folder, load->scenario);
    printf("\n%s, the load of %s\n  %-28s  ns/request  first = 1  steps a request\n", load->title,
           load->scenario, "");
    for (size_t i = 0; i < load->count; i++) {
        struct bench bench;
        bench_begin(&bench, path, requests);
        set_all(&bench, load->settings);
        set_all(&bench, load->ways[i].settings);
        struct bench_figures figures = bench_run(&bench, SERVE_JUMP);
        double ns = 1e9 * figures.cpu_s / (double)figures.requests;
        first = i == 0 ? ns : first;
        printf("  %-28s  %10.0f  %9.2f  %15.1f\n", load->ways[i].title, ns, ns / first,
               (double)figures.steps / (double)figures.requests);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_kv SCENARIOS_FOLDER [REQUESTS]\n");
        return 2;
    }
    uint64_t requests = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
    bench_print_machine();
    print_conversations(argv[1], requests);
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        print_load(argv[1], &loads[i], requests);
    }
    return 0;
}
