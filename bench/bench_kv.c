/*
 * bench_kv - how fast the ways of keeping KV are simulated, on one core.
 *
 *   bench_kv SCENARIOS_FOLDER [REQUESTS]
 *
 * 1. Conversations that share system prompts (agent-sessions.yaml), found in the prefix cache (hashed blocks, or a radix tree),
 *    by the length of their contexts and by order of eviction: requests a second. The pool holds a twentieth of what all sessions send, so blocks are evicted all
 *    the time.
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

/* Turns are the same at every length; what grows is what they begin with. */
static struct bench_figures conversations(const char *path, int64_t context, const char *policy,
                                          const char *order, uint64_t requests)
{
    struct bench bench;
    bench_begin(&bench, path, requests);
    bench_set(&bench, "engine.enable_prefix_caching", "true");
    bench_set(&bench, "engine.kv_policy", policy);
    bench_set(&bench, "engine.kv_eviction", order);
    bench_set(&bench, "model", "{base: llama-3.1-8b, max_position_embeddings: 1000000}");
    set_number(&bench, "engine.max_model_len", 2 * context + 32768);
    set_number(&bench, "engine.num_gpu_blocks_override", (40 * context + 4000000) / 16);
    set_number(&bench, "workload.shared_prefix.system_prompt_len", context);
    bench_set(&bench, "cost", "{level: fixed, step: 10ms}");
    return bench_run(&bench, SERVE_JUMP);
}

static void print_conversations(const char *folder, const char *policy, uint64_t requests)
{
    static const int64_t contexts[] = {1000, 4000, 16000, 64000, 128000};
    enum { CONTEXTS = sizeof contexts / sizeof contexts[0] };
    char path[512];
    snprintf(path, sizeof path, "%s/agent-sessions.yaml", folder);
    printf("\nconversations with shared system prompts, %s, requests simulated a second; of tokens "
           "found\n",
           policy);
    printf("  %-10s", "eviction");
    for (size_t i = 0; i < CONTEXTS; i++) {
        printf("  %9" PRId64 " tokens   ", contexts[i]);
    }
    printf("\n");
    for (size_t order = 0; kv_eviction_choices[order].name != NULL; order++) {
        printf("  %-10s", kv_eviction_choices[order].name);
        for (size_t i = 0; i < CONTEXTS; i++) {
            struct bench_figures figures =
                conversations(path, contexts[i], policy, kv_eviction_choices[order].name, requests);
            printf("  %9.0f %6.2f %% %s", (double)figures.requests / figures.cpu_s,
                   100.0 * (double)figures.found / (double)figures.looked_up,
                   figures.evicted > 0 ? "e" : " ");
            fflush(stdout);
        }
        printf("\n");
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
    print_conversations(argv[1], "paged", requests);
    print_conversations(argv[1], "radix", requests);
    print_ways(argv[1], requests);
    return 0;
}
