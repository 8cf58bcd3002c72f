#include "support/random_service.h"

#include "kv/reserve.h"
#include "sched/sched.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014), apart from the simulator's own streams. */
struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int64_t between(struct dice *dice, int64_t low, int64_t high)
{
    return low + (int64_t)(roll(dice) % (uint64_t)(high - low + 1));
}

static bool one_in(struct dice *dice, int64_t n)
{
    return between(dice, 1, n) == 1;
}

static int64_t one_of(struct dice *dice, const int64_t *values, size_t count)
{
    return values[between(dice, 0, (int64_t)count - 1)];
}

#define ONE_OF(dice, ...)                          \
    one_of((dice), (const int64_t[]){__VA_ARGS__}, \
           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* ---- the engine ---- */

static void roll_scheduler(struct dice *dice, struct service *service)
{
    struct sched_options *sched = &service->config.sched;
    sched->max_num_seqs = ONE_OF(dice, 1, 3, 8, 16, 64);
    sched->max_num_batched_tokens = ONE_OF(dice, 7, 16, 64, 256, 2048);
    sched->max_model_len = ONE_OF(dice, 200, 500, 1000);
    sched->long_prefill_token_threshold = one_in(dice, 4) ? between(dice, 1, 40) : 0;
    sched->enable_chunked_prefill =
        !one_in(dice, 5) || sched->max_num_batched_tokens < sched->max_model_len;
    sched->unchunked_misfit = one_in(dice, 2) ? SCHED_MISFIT_STOP : SCHED_MISFIT_SKIP;
    sched->order = one_in(dice, 4) ? SCHED_PRIORITY : SCHED_FCFS;
    sched->watermark = (struct base_rational){one_in(dice, 3) ? between(dice, 1, 10) : 0, 100};
    sched->reserve_full_isl = one_in(dice, 3);
    sched->preempted_budget_returned = !one_in(dice, 4);
    sched->reject_over_length = one_in(dice, 4);
    sched->enable_prefix_caching = one_in(dice, 2);
    sched->free_order = one_in(dice, 2) ? SCHED_FREE_OLD : SCHED_FREE_NEW;
    sched->count_every_lookup = one_in(dice, 4);
    if (sched->free_order == SCHED_FREE_NEW && one_in(dice, 2)) {
        service->config.kv_eviction = (enum kv_eviction)between(dice, KV_EVICT_FIFO, KV_EVICT_SLRU);
    }
    service->config.cost.max_decode_seqs = (uint32_t)sched->max_num_seqs;
    service_set_async(service, one_in(dice, 2));
}

// Room for one longest request and the watermark; seldom for all that run.
static void roll_pool(struct dice *dice, struct service *service)
{
    int64_t block = ONE_OF(dice, 1, 4, 16, 32);
    int64_t one = (service->config.sched.max_model_len + block - 1) / block;
    int64_t blocks = 1 + one + one * between(dice, 0, one_in(dice, 4) ? 800 : 120) / 100;
    service_set_pool(service, blocks + blocks / 5, block);
}

static void roll_cost(struct dice *dice, struct service *service)
{
    struct cost_options *cost = &service->cost;
    switch (between(dice, 0, 2)) {
    case 0:
        // Whole milliseconds: many things happen at one instant.
        *cost = (struct cost_options){.level = COST_FIXED,
                                      .has_level = true,
                                      .fixed_step_ns = between(dice, 1, 20) * 1000000};
        break;
    case 1:
        *cost = (struct cost_options){.level = COST_AFFINE, .has_level = true};
        cost->affine.base_ns = (double)between(dice, 1, 8000000) / 3;
        cost->affine.per_prefill_token_ns = (double)between(dice, 0, 100000) / 7;
        cost->affine.per_decode_seq_ns = (double)between(dice, 0, 400000) / 7;
        cost->affine.per_context_token_ns = (double)between(dice, 0, 10000) / 9;
        break;
    default:
        service_set_llama_8b(service, service->config.sched.async_scheduling);
        service->config.sched.max_model_len = ONE_OF(dice, 200, 500, 1000);
        break;
    }
}

static void roll_cluster(struct dice *dice, struct serve_config *config)
{
    config->replica_count = one_in(dice, 2) ? 1 : (uint32_t)between(dice, 2, 3);
    config->router = one_in(dice, 2) ? SERVE_ROUND_ROBIN : SERVE_LEAST_OUTSTANDING;
}

/* ---- the workload ---- */

static void roll_class(struct dice *dice, struct random_service *random, size_t index, size_t count)
{
    struct service *service = &random->service;
    struct workload_class *class = &service->config.workload.classes[index];
    char *name = random->class_names[index];
    snprintf(name, sizeof random->class_names[index], "%s", "");
    if (count > 1) {
        snprintf(name, sizeof random->class_names[index], "class%zu", index);
    }
    struct rng_dist_options prompt = {.kind = RNG_LOGNORMAL,
                                      .has_mean = true,
                                      .has_cv = true,
                                      .has_min = true,
                                      .has_max = true,
                                      .mean = (double)between(dice, 5, 150),
                                      .cv = 1,
                                      .min = 1,
                                      .max = 600};
    struct rng_dist_options output = {.kind = RNG_GEOMETRIC,
                                      .has_mean = true,
                                      .has_max = true,
                                      .mean = (double)between(dice, 2, 150),
                                      .max = 600};
    *class = (struct workload_class){.name = name,
                                     .weight = (double)between(dice, 1, 3),
                                     .priority = (int32_t)between(dice, 0, 2),
                                     .prompt = service_dist(service, &prompt, true),
                                     .output = service_dist(service, &output, true),
                                     .correlation = one_in(dice, 3) ? 0.5 : 0};
    if (one_in(dice, 3)) {
        class->has_max_tokens = true;
        class->max_tokens = service_fixed((double)between(dice, 1, 100));
    }
    int64_t patience_ms = one_in(dice, 2) ? between(dice, 20, 3000) : 0;
    switch (between(dice, 0, 2)) {
    case 0:
        class->abort_after_ns = patience_ms * 1000000;
        break;
    case 1:
        class->timeout_first_ns = patience_ms * 1000000;
        break;
    default:
        class->timeout_total_ns = patience_ms * 1000000;
        break;
    }
}

// Prompts that begin alike and contexts that grow, with a cache that finds them or without.
static void roll_content(struct dice *dice, struct random_service *random)
{
    struct service *service = &random->service;
    struct workload_spec *workload = &service->config.workload;
    struct rng_dist_options popularity = {
        .kind = RNG_ZIPF, .has_s = true, .has_min = true, .has_max = true, .s = 1, .min = 1};
    struct rng_dist_options turns = {.kind = RNG_GEOMETRIC, .has_mean = true, .mean = 3};
    random->shared =
        (struct workload_shared){.group_count = (uint32_t)between(dice, 1, 6),
                                 .few_shot_count = (uint32_t)between(dice, 0, 2),
                                 .prompts_per_group = (uint32_t)between(dice, 0, 3),
                                 .has_question = true,
                                 .system_prompt = service_fixed((double)between(dice, 1, 80)),
                                 .few_shot = service_fixed((double)between(dice, 1, 30)),
                                 .question = service_fixed((double)between(dice, 1, 40)),
                                 .order = one_in(dice, 3) ? WORKLOAD_CYCLIC : WORKLOAD_RANDOM};
    popularity.max = random->shared.group_count;
    random->shared.popularity = service_dist(service, &popularity, true);
    struct rng_dist_options gap = {.kind = RNG_EXPONENTIAL, .has_mean = true, .mean = 0.02};
    random->sessions =
        (struct workload_sessions){.turns = service_dist(service, &turns, true),
                                   .growth = service_fixed((double)between(dice, 1, 40)),
                                   .think = service_dist(service, &gap, false),
                                   .tool = service_dist(service, &gap, false),
                                   .has_think = one_in(dice, 2),
                                   .has_tool = one_in(dice, 2),
                                   .tool_share = 0.5,
                                   .end = one_in(dice, 4) ? WORKLOAD_END_SEND : WORKLOAD_END_STOP};
    workload->max_context_tokens = service->config.sched.max_model_len;
    for (size_t i = 0; i < workload->class_count; i++) {
        workload->classes[i].shared = one_in(dice, 2) ? &random->shared : NULL;
        workload->classes[i].sessions = one_in(dice, 3) ? &random->sessions : NULL;
    }
}

static void roll_process(struct dice *dice, struct random_service *random)
{
    struct workload_spec *workload = &random->service.config.workload;
    double rate = (double)ONE_OF(dice, 4, 15, 50, 200, 1000);
    workload->process =
        (enum workload_process)between(dice, WORKLOAD_POISSON, WORKLOAD_CLOSED_LOOP);
    workload->rate_per_s = rate;
    workload->burstiness = (double)ONE_OF(dice, 1, 4);
    workload->cv = 2;
    workload->interval_ns = (int64_t)(1e9 / rate);
    random->states[0] = (struct workload_mmpp_state){rate, 1};
    random->states[1] = (struct workload_mmpp_state){rate / 10, 2};
    workload->states = random->states;
    workload->state_count = 2;
    random->stages[0] = (struct workload_stage){.rate_per_s = rate, .duration_ns = 2000000000};
    random->stages[1] = (struct workload_stage){.rate_per_s = rate,
                                                .rate_end_per_s = rate / 4,
                                                .duration_ns = 4000000000,
                                                .deterministic = one_in(dice, 2)};
    workload->stages = random->stages;
    workload->stage_count = 2;
    workload->concurrency = (uint32_t)ONE_OF(dice, 1, 3, 20, 80);
    workload->has_think = one_in(dice, 2);
    struct rng_dist_options think = {.kind = RNG_EXPONENTIAL, .has_mean = true, .mean = 0.05};
    workload->think = service_dist(&random->service, &think, false);
    workload->max_concurrency = one_in(dice, 4) ? (uint64_t)between(dice, 1, 30) : 0;
    workload->ignore_eos = one_in(dice, 3);
    workload->request_limit = (uint64_t)between(dice, 50, 300);
    if (one_in(dice, 8)) {
        workload->duration_ns = between(dice, 500, 5000) * 1000000;
    }
}

// Several answers to a prompt, of one class or of all.
static void roll_sequences(struct dice *dice, struct service *service)
{
    struct workload_spec *workload = &service->config.workload;
    struct rng_dist_options uniform = {
        .kind = RNG_UNIFORM, .has_min = true, .has_max = true, .min = 1, .max = 5};
    for (size_t i = 0; i < workload->class_count; i++) {
        workload->classes[i].has_sequences = one_in(dice, 2);
        workload->classes[i].sequences = one_in(dice, 2)
                                             ? service_dist(service, &uniform, true)
                                             : service_fixed((double)between(dice, 1, 4));
    }
}

// More sequences than answers, under a scheduler that forks also the beams of a search.
static void roll_candidates(struct dice *dice, struct service *service)
{
    struct workload_spec *workload = &service->config.workload;
    bool forks = service->config.scheduler != NULL && service->config.scheduler->forks;
    for (size_t i = 0; i < workload->class_count; i++) {
        struct workload_class *class = &workload->classes[i];
        class->candidates = one_in(dice, 2) ? (uint32_t)between(dice, 5, 7) : 0;
        class->is_beam = class->candidates > 0 && forks && one_in(dice, 2);
        class->beam_switch = one_in(dice, 2) ? 1 : (double)between(dice, 0, 10) / 10;
    }
}

// Searches outside the engine, of short answers: each token is a request.
static void roll_searches(struct dice *dice, struct service *service)
{
    struct workload_spec *workload = &service->config.workload;
    service->config.search_outside = true;
    workload->request_limit = (uint64_t)between(dice, 20, 100);
    for (size_t i = 0; i < workload->class_count; i++) {
        struct workload_class *class = &workload->classes[i];
        class->is_beam = i == 0 || one_in(dice, 2);
        class->candidates = class->is_beam ? (uint32_t)between(dice, 2, 5) : 0;
        class->has_sequences = one_in(dice, 2);
        class->sequences = service_fixed((double)between(dice, 1, 2));
        class->beam_switch = one_in(dice, 2) ? 1 : (double)between(dice, 0, 10) / 10;
        class->output = service_fixed((double)between(dice, 1, 24));
        class->max_tokens = service_fixed((double)between(dice, 1, 30));
    }
}

static void roll_workload(struct dice *dice, struct random_service *random)
{
    struct workload_spec *workload = &random->service.config.workload;
    workload->class_count = one_in(dice, 2) ? 1 : (size_t)between(dice, 2, 3);
    for (size_t i = 0; i < workload->class_count; i++) {
        roll_class(dice, random, i, workload->class_count);
    }
    roll_process(dice, random);
    if (one_in(dice, 2)) {
        roll_content(dice, random);
    }
}

static void roll_statistics(struct dice *dice, struct random_service *random)
{
    struct serve_config *config = &random->service.config;
    const int64_t kind = ONE_OF(dice, SERVE_WARMUP_DEFAULT, SERVE_WARMUP_SHARE,
                                SERVE_WARMUP_REQUESTS, SERVE_WARMUP_TIME);
    config->warmup.kind = (unsigned)kind;
    config->warmup.share = 0.2;
    config->warmup.requests = between(dice, 0, 40);
    config->warmup.time_ns = between(dice, 0, 2000) * 1000000;
    config->stop_when_overloaded = one_in(dice, 2);
    random->slo = (struct spec_slo){.metric = one_in(dice, 2) ? SPEC_TTFT : SPEC_TPOT,
                                    .statistic = SPEC_P99,
                                    .bound_ns = between(dice, 5, 500) * 1000000,
                                    .text = ""};
    config->slos = &random->slo;
    config->slo_count = 1;
}

// Another way of keeping memory, at times under Orca's scheduler; the pool grows to what one longest request takes.
static void roll_policy(struct dice *dice, struct service *service)
{
    static const enum kv_policy policies[] = {KV_RESERVED_MAX,    KV_RESERVED_POW2,
                                              KV_RESERVED_EXACT,  KV_CONCAT,
                                              KV_CONCAT_DOUBLING, KV_NO_CACHE};
    struct serve_config *config = &service->config;
    if (!one_in(dice, 3)) {
        return;
    }
    config->kv_policy = policies[between(dice, 0, 5)];
    config->kv_placement = (enum kv_placement)between(dice, KV_ANY_BLOCKS, KV_BUDDY);
    config->sched.enable_prefix_caching = false;
    if (config->kv_policy == KV_NO_CACHE || one_in(dice, 2)) {
        config->scheduler = &sched_orca;
        config->sched.max_num_batched_tokens = INT64_MAX / 2; // there is no budget
        config->sched.static_batch = one_in(dice, 3);
    }
    if (config->kv_policy == KV_NO_CACHE) {
        service_set_async(service, false);
    }
    if (kv_policy_concatenates(config->kv_policy)) {
        config->copy = (struct serve_copy_ticks){between(dice, 0, 5000), between(dice, 0, 2) * 700};
        service_set_pool(service, config->pool_blocks * config->sched.block_size, 1);
    }
    int64_t one =
        (config->sched.max_model_len + config->sched.block_size - 1) / config->sched.block_size;
    if (config->pool_blocks < 3 * one) {
        service_set_pool(service, 3 * one,
                         config->sched.block_size); // a buddy of the next power of two
    }
}

// llama.cpp's slots, with cells of their own or sharing them.
static void roll_slots(struct dice *dice, struct service *service)
{
    struct serve_config *config = &service->config;
    struct sched_options *sched = &config->sched;
    if (config->kv_policy != KV_PAGED || !one_in(dice, 4)) {
        return;
    }
    int64_t usable = (config->pool_blocks - config->reserved_blocks) * sched->block_size;
    int64_t longest = sched->max_model_len;
    usable = usable > 2 * longest ? usable : 2 * longest;
    bool is_shared = one_in(dice, 2);
    int64_t slots = is_shared ? between(dice, 1, 16) : between(dice, 1, usable / longest);
    service_set_async(service, false);
    service_set_pool(service, usable + config->reserved_blocks, 1);
    config->scheduler = &sched_llama_cpp;
    config->kv_policy = is_shared ? KV_CELLS : KV_SLOTS;
    config->slot_prompt_similarity = (struct base_rational){between(dice, 0, 5), 10};
    sched->enable_prefix_caching = one_in(dice, 2);
    sched->order = SCHED_FCFS;
    sched->max_num_seqs = slots;
    config->cost.max_decode_seqs = (uint32_t)slots;
    if (sched->max_num_batched_tokens < slots) {
        sched->max_num_batched_tokens = slots; // answers are in every batch, more of them or not
    }
    sched->pass_tokens = one_in(dice, 2) ? 0 : between(dice, slots, slots + 600);
    kv_cells_make(&config->layout,
                  &(struct kv_cells_options){.ctx_tokens = is_shared ? usable : slots * longest,
                                             .parallel = (uint32_t)slots,
                                             .unified = is_shared,
                                             .swa_full = true,
                                             .ubatch_tokens = 1,
                                             .pad_tokens = 1},
                  &config->cells);
    config->cells.pool_bytes = config->pool_blocks * (int64_t)config->layout.block_bytes;
}

// A radix tree in place of hashed blocks, with any order of eviction.
static void roll_tree(struct dice *dice, struct serve_config *config)
{
    if (config->kv_policy == KV_PAGED && config->sched.enable_prefix_caching && one_in(dice, 3)) {
        config->kv_policy = KV_RADIX;
        config->sched.free_order = SCHED_FREE_NEW;
        config->kv_eviction = (enum kv_eviction)between(dice, KV_EVICT_LRU, KV_EVICT_SLRU);
    }
}

// Host memory behind a tree.
static void roll_tree_tier(struct dice *dice, struct serve_config *config)
{
    struct sched_options *sched = &config->sched;
    if (config->kv_policy != KV_RADIX || !one_in(dice, 2)) {
        return;
    }
    sched->unchunked_misfit = SCHED_MISFIT_STOP;
    sched->tier = (struct sched_tier_options){
        .chunk_blocks = 1,
        .count = 1,
        .store =
            (enum sched_store)ONE_OF(dice, SCHED_STORE_THROUGH, SCHED_STORE_USES, SCHED_STORE_BACK),
        .store_threshold = 2,
        .load_layers = ONE_OF(dice, 1, 32),
        .load_threshold_tokens = 10,
        .read_batch_blocks = between(dice, 1, 40),
        .at = {{.capacity_chunks = between(dice, 1, 800),
                .latency_ticks = between(dice, 1, 1 << 30),
                .read_ticks_per_block = between(dice, 0, 1 << 30),
                .write_ticks_per_block = between(dice, 0, 1 << 30)}}};
    config->tiers[0] = (struct serve_tier){.name = "host", .capacity_bytes = 1};
    if (one_in(dice, 2)) {
        sched->tier.count = 2;
        sched->tier.prefetch =
            (enum sched_prefetch)between(dice, SCHED_PREFETCH_BEST_EFFORT, SCHED_PREFETCH_TIMEOUT);
        sched->tier.prefetch_threshold_tokens = between(dice, 1, 64);
        sched->tier.prefetch_base_ticks = between(dice, 0, INT64_C(1) << 40);
        sched->tier.prefetch_most_ticks = between(dice, 0, INT64_C(1) << 42);
        sched->tier.at[1] = sched->tier.at[0];
        sched->tier.at[1].capacity_chunks = between(dice, 1, 4000);
        config->tiers[1] = (struct serve_tier){.name = "disk", .capacity_bytes = 1};
    }
}

// Memory behind the pool where there is a cache of hashed blocks, much or little of it.
static void roll_tier(struct dice *dice, struct serve_config *config)
{
    struct sched_options *sched = &config->sched;
    if (!sched->enable_prefix_caching || config->kv_policy == KV_RADIX || sched->block_size == 1 ||
        !one_in(dice, 2)) {
        return;
    }
    sched->unchunked_misfit = SCHED_MISFIT_STOP;
    sched->tier = (struct sched_tier_options){
        .chunk_blocks = between(dice, 1, 3),
        .count = (size_t)between(dice, 1, SCHED_TIERS_MAX),
        .store = (enum sched_store)between(dice, SCHED_STORE_THROUGH, SCHED_STORE_USES),
        .store_threshold = between(dice, 0, 2),
        .prompt_only = one_in(dice, 3),
        .is_sync = one_in(dice, 3),
        .reserves_for_prefills = one_in(dice, 2),
        .by_cost = one_in(dice, 3),
        .prefetch = (enum sched_prefetch)between(dice, SCHED_PREFETCH_NONE, SCHED_PREFETCH_TIMEOUT),
        .prefetch_threshold_tokens = between(dice, 1, 256),
        .prefetch_base_ticks = between(dice, 0, INT64_C(1) << 40),
        .prefetch_ticks_per_1024_tokens = between(dice, 0, INT64_C(1) << 38),
        .prefetch_most_ticks = between(dice, 0, INT64_C(1) << 42)};
    if (one_in(dice, 3)) {
        sched->tier.store = SCHED_STORE_BACK;
        sched->tier.chunk_blocks = 1;
    }
    for (size_t i = 0; i < sched->tier.count; i++) {
        sched->tier.at[i] =
            (struct sched_tier_option){.capacity_chunks = between(dice, 1, 400),
                                       .order = one_in(dice, 2) ? KV_TIER_ARC : KV_TIER_LRU,
                                       .latency_ticks = between(dice, 1, 1 << 30),
                                       .read_ticks_per_block = between(dice, 0, 1 << 30),
                                       .write_ticks_per_block = between(dice, 0, 1 << 30),
                                       .on_eviction = one_in(dice, 2)};
        config->tiers[i] =
            (struct serve_tier){.name = i == 0 ? "host" : "disk", .capacity_bytes = 1};
    }
}

// Layers that see the last tokens only, under pages that make no difference between kinds; prompts are longer or not.
static void roll_window(struct dice *dice, struct random_service *random)
{
    struct serve_config *config = &random->service.config;
    bool has_slots = kv_policy_has_slots(config->kv_policy);
    if ((config->sched.enable_prefix_caching && !has_slots) || !one_in(dice, 2)) {
        return;
    }
    int64_t tokens = between(dice, 2, 150);
    enum spec_kv_kind kind = one_in(dice, 3) ? SPEC_KV_CHUNKED : SPEC_KV_SLIDING;
    config->layout.groups[0].kind = kind;
    config->layout.groups[0].window_tokens = (uint32_t)tokens;
    struct kv_pages *pages = &config->waterfall.pages;
    struct kv_pages_options options = {.hybrid = false};
    struct kvsim_error err = {0};
    if (kv_pages_make(&config->layout, &options, pages, &err) != KVSIM_OK ||
        kv_tables_make(&config->layout, pages, &config->tables, &err) != KVSIM_OK) {
        abort();
    }
    if (has_slots) {
        config->cells.groups[0].kind = kind;
        config->cells.groups[0].window_tokens = (uint32_t)tokens;
    }
    if (config->model != NULL) {
        random->windowed = *config->model;
        random->windowed.groups[0].kind = kind;
        random->windowed.groups[0].window_tokens = (uint32_t)tokens;
        config->model = config->cost.model = &random->windowed;
    }
}

void random_service_init(struct random_service *random, uint64_t seed)
{
    struct dice dice = {seed * UINT64_C(0x2545f4914f6cdd1d)};
    service_init(&random->service);
    random->service.config.seed = seed;
    roll_scheduler(&dice, &random->service);
    roll_cost(&dice, &random->service);
    roll_pool(&dice, &random->service);
    roll_cluster(&dice, &random->service.config);
    roll_workload(&dice, random);
    roll_statistics(&dice, random);
    roll_policy(&dice, &random->service);
    roll_slots(&dice, &random->service);
    roll_tree(&dice, &random->service.config);
    roll_tier(&dice, &random->service.config);
    roll_tree_tier(&dice, &random->service.config);
    if (one_in(&dice, 3)) {
        roll_sequences(&dice, &random->service);
    }
    if (one_in(&dice, 8)) {
        roll_candidates(&dice, &random->service);
    }
    roll_window(&dice, random);
}

// The V0 scheduler in a pool that is tight for what one longest request of several sequences takes.
static void roll_v0(struct dice *dice, struct service *service)
{
    struct serve_config *config = &service->config;
    struct sched_options *sched = &config->sched;
    config->scheduler = &sched_vllm_v0;
    service_set_async(service, false);
    sched->order = SCHED_FCFS;
    sched->enable_prefix_caching = false;
    config->kv_eviction = KV_EVICT_LRU;
    sched->watermark = (struct base_rational){one_in(dice, 3) ? between(dice, 0, 10) : 1, 100};
    sched->enable_chunked_prefill = one_in(dice, 2);
    if (sched->max_num_batched_tokens < sched->max_num_seqs) {
        sched->max_num_batched_tokens = sched->max_num_seqs;
    }
    if (!sched->enable_chunked_prefill && !one_in(dice, 4)) {
        sched->max_num_batched_tokens = sched->max_model_len;
    }
    sched->preemption = one_in(dice, 3) ? SCHED_PREEMPT_SWAP : SCHED_PREEMPT_AS_FITS;
    sched->swap_blocks = one_in(dice, 6) ? between(dice, 1, 60) : INT64_MAX;
    config->swap_ticks_per_block = between(dice, 0, 1) * 77777777777;
    config->copy.per_cached_token = between(dice, 0, 1) * 1234567;
}

// By priority: one answer each, computed again.
static void roll_v0_priority(struct serve_config *config)
{
    config->sched.order = SCHED_PRIORITY;
    config->sched.preemption = SCHED_PREEMPT_AS_FITS;
    for (size_t i = 0; i < config->workload.class_count; i++) {
        config->workload.classes[i].has_sequences = false;
        config->workload.classes[i].candidates = 0;
        config->workload.classes[i].is_beam = false;
    }
}

void random_service_init_v0(struct random_service *random, uint64_t seed)
{
    struct dice dice = {seed * UINT64_C(0x9e6c63d0876a9a47)};
    service_init(&random->service);
    random->service.config.seed = seed;
    roll_scheduler(&dice, &random->service);
    roll_cost(&dice, &random->service);
    roll_pool(&dice, &random->service);
    roll_cluster(&dice, &random->service.config);
    roll_workload(&dice, random);
    roll_statistics(&dice, random);
    roll_v0(&dice, &random->service);
    if (!one_in(&dice, 3)) {
        roll_sequences(&dice, &random->service);
    }
    if (one_in(&dice, 2)) {
        roll_candidates(&dice, &random->service);
    }
    roll_window(&dice, random);
    if (!random->service.config.sched.enable_chunked_prefill && one_in(&dice, 2)) {
        roll_v0_priority(&random->service.config);
    }
}

void random_service_init_search(struct random_service *random, uint64_t seed)
{
    struct dice dice = {seed * UINT64_C(0xd1342543de82ef95)};
    if (one_in(&dice, 4)) {
        random_service_init_v0(random, seed);
    } else {
        random_service_init(random, seed);
    }
    roll_searches(&dice, &random->service);
}

void random_service_release(struct random_service *random)
{
    service_release(&random->service);
}
