/*
 * bench_kv - how fast the ways of keeping KV are simulated, on one core.
 *
 *   bench_kv SCENARIOS_FOLDER [REQUESTS]
 *
 * 1. Conversations that share system prompts (agent-sessions.yaml), found in the prefix cache (hashed blocks, or a radix
 *    tree), by the length of their contexts and by order of eviction, then by model (windows, layers of several kinds): requests
 *    a second. The pool holds a twentieth of what all sessions send, so blocks are evicted all the time.
 * 2. One load (chat-8k.yaml), every policy of allocation: time per request as a multiple of that of paged blocks.
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

struct way {
    const char *title, *settings[4][2];
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

static void print_ways(const char *folder, uint64_t requests)
{
    char path[512];
    double paged = 0;
    snprintf(path, sizeof path, "%s/chat-8k.yaml", folder);
    printf("\nways of keeping KV, the load of chat-8k\n  %-28s  ns/request  paged = 1  steps a "
           "request\n",
           "");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct bench bench;
        bench_begin(&bench, path, requests);
        for (size_t k = 0; k < 4 && ways[i].settings[k][0] != NULL; k++) {
            bench_set(&bench, ways[i].settings[k][0], ways[i].settings[k][1]);
        }
        struct bench_figures figures = bench_run(&bench, SERVE_JUMP);
        double ns = 1e9 * figures.cpu_s / (double)figures.requests;
        paged = i == 0 ? ns : paged;
        printf("  %-28s  %10.0f  %9.2f  %15.1f\n", ways[i].title, ns, ns / paged,
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
    print_ways(argv[1], requests);
    return 0;
}
