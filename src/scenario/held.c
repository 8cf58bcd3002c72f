/*
 * held.c - what a request of the workload holds of the pool, on average over the time that it is there: the denominator of
 * "expected" concurrency.
 *
 * Memory that grows is counted token by token, over all tables (kv/hold.h). Where it is reserved, or where the scheduler admits
 * by what a sequence will have grown to, a request has that much from its first token to its last. Of a batch that is formed
 * at once all are there at its beginning, so that long answers weigh no more than short ones.
 */
#include "scenario/parts.h"

#include "base/hash.h"
#include "catalog/catalog.h"
#include "kv/hold.h"
#include "kv/reserve.h"
#include "sched/sched.h"

/* ---- one request ---- */

struct holder {
    const struct kv_pages *pages;
    struct kv_paged pool;
    struct kv_space space; /* of buddies: their sizes alone are asked for */
    bool is_by_end;
    bool is_forked; /* several answers: their tables; else they find the prompt in a cache ... */
    int64_t shared_unit; /* ... in wholes of so many tokens */
    bool is_tree;
};

// Of a tensor that doubles, over lengths from `first` to `last`.
static base_i128 doubled_sum(const struct holder *holder, int64_t first, int64_t last)
{
    base_i128 sum = 0;
    while (first <= last) {
        int64_t length = kv_reserve_held_blocks(&holder->pool, first); // and so up to this length
        int64_t end = length < last && length < holder->pool.longest_tokens ? length : last;
        sum += (base_i128)(end - first + 1) * length;
        first = end + 1;
    }
    return sum;
}

static int64_t blocks_set_aside(const struct holder *holder, int64_t prompt, int64_t answer,
                                int64_t most)
{
    if (holder->is_by_end)
        return kv_reserve_held_blocks(&holder->pool, prompt + most);
    return kv_reserve_blocks(&holder->pool, kv_reserve_tokens(&holder->pool, prompt, answer));
}

static base_i128 sum_held(const void *context, int64_t prompt, int64_t answer, int64_t most)
{
    const struct holder *holder = context;
    if (holder->is_by_end || kv_policy_reserves(holder->pool.policy))
        return (base_i128)blocks_set_aside(holder, prompt, answer, most) * answer;
    if (holder->pool.policy == KV_CONCAT_DOUBLING)
        return doubled_sum(holder, prompt, prompt + answer - 1);
    return kv_hold_blocks_sum(holder->pages, prompt, prompt + answer - 1);
}

// A table is forked with its last block, which whoever writes to it first copies; in a tree what was computed twice is given up.
// In a prefix cache each finds whole blocks, and computes one token of the prompt at least.
static int64_t shared_tokens(const struct holder *holder, int64_t prompt)
{
    int64_t found = holder->is_forked || holder->is_tree ? prompt : prompt - 1;
    return found / holder->shared_unit * holder->shared_unit;
}

static base_i128 sum_shared(const void *context, int64_t prompt, int64_t answer)
{
    const struct holder *holder = context;
    int64_t first = prompt + (holder->is_tree ? 1 : 0); // a tree has a prompt when it is computed
    return kv_hold_leading_sum(holder->pages, shared_tokens(holder, prompt), first,
                               prompt + answer - 1);
}

/* Answers to one prompt hold its blocks together. */
static bool shares_prompts(const struct serve_config *config)
{
    bool forks = config->scheduler != NULL && config->scheduler->forks;
    bool grows = config->kv_policy == KV_PAGED || config->kv_policy == KV_RADIX;
    return grows && !config->held_by_end && (forks || config->sched.enable_prefix_caching);
}

/* Orca admits a tensor, TensorRT-LLM (GUARANTEED_NO_EVICT) a request, by what it will have grown to. */
static bool admits_by_end(const struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    bool has_tensors = kv_policy_concatenates(config->kv_policy);
    return (config->scheduler != NULL && config->scheduler->admits_by_end && has_tensors) ||
           catalog_admits_by_end(load->profile.scheduler);
}

static void init_holder(const struct serve_config *config, struct holder *holder)
{
    const struct kv_pages *pages = &config->waterfall.pages;
    *holder = (struct holder){.pages = pages,
                              .is_by_end = config->held_by_end,
                              .is_tree = config->kv_policy == KV_RADIX,
                              .is_forked = config->scheduler != NULL && config->scheduler->forks,
                              .shared_unit = kv_pages_common_tokens(pages)};
    serve_config_lengths(config, &holder->space, &holder->pool);
}

static enum kvsim_status find_mean(struct serve_config *config, struct kvsim_error *err)
{
    struct holder holder;
    init_holder(config, &holder);
    const struct workload_hold hold = {.sum = sum_held,
                                       .shared = shares_prompts(config) ? sum_shared : NULL,
                                       .context = &holder,
                                       .is_by_request = config->sched.static_batch};
    return workload_mean_held(&config->workload, config->seed, &hold, config->sched.max_model_len,
                              &config->held, err);
}

/* ---- of a scenario ---- */

bool scenario_held_find(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    struct kvsim_error err;
    if (config->waterfall.pages.kind_count == 0 || config->sched.max_model_len == 0)
        return true;
    config->held_by_end = admits_by_end(load);
    load->scenario->held_is_open = load->held_unwanted;
    if (load->held_unwanted || find_mean(config, &err) == KVSIM_OK)
        return true;
    return scenario_fail_error(load->reader, conf_get(load->root, "workload"), "workload", &err);
}

void scenario_complete(struct scenario *scenario)
{
    struct kvsim_error ignored;
    if (!scenario->held_is_open)
        return;
    scenario->held_is_open = false;
    if (find_mean(&scenario->config, &ignored) != KVSIM_OK)
        scenario->config.held = (struct workload_held){0};
}

/* How a sequence holds memory, by number. */
static void hash_holder(const struct serve_config *config, struct base_hash *hash)
{
    const struct kv_pages *pages = &config->waterfall.pages;
    const int64_t numbers[] = {
        config->kv_policy,    config->kv_placement,    config->sched.static_batch,
        config->held_by_end,  shares_prompts(config),  pages->state_blocks_per_sequence,
        pages->caches_states, pages->lookahead_tokens, pages->longest_tokens};
    base_hash_bytes(hash, numbers, sizeof numbers);
    for (size_t i = 0; i < pages->kind_count; i++) {
        const struct kv_pages_kind *kind = &pages->kinds[i];
        const int64_t of_kind[] = {kind->kind, kind->window_tokens, kind->table_count,
                                   kind->block_tokens};
        base_hash_bytes(hash, of_kind, sizeof of_kind);
    }
}

bool scenario_held_key(const struct scenario *scenario, char key[33])
{
    const struct serve_config *config = &scenario->config;
    const struct scenario_params *params = &scenario->params;
    struct base_hash hash;
    if (!scenario->held_is_open || config->workload.process == WORKLOAD_TRACE)
        return false;
    const int64_t others[] = {(int64_t)config->seed, config->sched.max_model_len,
                              workload_has_follow_ups(&config->workload)};
    base_hash_init(&hash);
    base_hash_bytes(&hash, others, sizeof others);
    hash_holder(config, &hash);
    // Of the arrivals only whether one request follows another, above.
    for (size_t i = 0; i < params->count; i++) {
        if (!base_starts_with(params->at[i].key, "workload.") ||
            base_starts_with(params->at[i].key, "workload.arrival."))
            continue;
        base_hash_text(&hash, params->at[i].key);
        base_hash_text(&hash, params->at[i].value);
    }
    base_hash_hex(&hash, key);
    return true;
}

void scenario_give_held(struct scenario *scenario, const struct workload_held *held)
{
    base_require(scenario->held_is_open);
    scenario->held_is_open = false;
    scenario->config.held = *held;
}
