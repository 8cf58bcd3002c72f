/*
 * How many sequences fit, as `kvsim size` says it in closed form, against what the engine admits: more requests of one length
 * than fit arrive at once, with a budget for all their prompts, and the first step shows how many were taken before the first
 * was refused. For every way of allocating memory, every scheduler, and layouts of one table and of several. Where every layer
 * sees all tokens the ledger of that step is the closed one, line by line.
 */
#include "base/count.h"
#include "base/hash.h"
#include "kv/pages.h"
#include "rng/rng.h"
#include "scenario/scenario.h"
#include "study/fit.h"
#include "study/size.h"

#include "support/check_main.h"
#include "support/engine_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 512, KEYS_MAX = 24, TEXT = 48 };

/* ---- a scenario of few keys ---- */

struct asked {
    struct scenario_override at[KEYS_MAX];
    char texts[KEYS_MAX][TEXT];
    size_t count;
};

static void set(struct asked *asked, const char *key, const char *value)
{
    ck_assert_uint_lt(asked->count, KEYS_MAX);
    snprintf(asked->texts[asked->count], TEXT, "%s", value);
    asked->at[asked->count] = (struct scenario_override){key, asked->texts[asked->count]};
    asked->count++;
}

static void set_number(struct asked *asked, const char *key, int64_t value)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%lld", (long long)value);
    set(asked, key, text);
}

static void copy(const struct asked *from, struct asked *to)
{
    *to = *from;
    for (size_t i = 0; i < to->count; i++)
        to->at[i].value = to->texts[i];
}

struct way {
    const char *profile, *policy, *placement; /* NULL: as usual */
};

struct pool {
    const char *model;
    int64_t blocks, seats;
};

static void ask(struct asked *asked, const struct way *way, const struct pool *pool)
{
    *asked = (struct asked){.count = 0};
    set(asked, "model", pool->model);
    set(asked, "engine.profile", way->profile);
    set(asked, "engine.kv_policy", way->policy);
    if (way->placement != NULL)
        set(asked, "engine.kv_placement", way->placement);
    set_number(asked, "engine.max_model_len", LONGEST);
    set_number(asked, "engine.max_num_seqs", pool->seats);
    set(asked, "engine.max_num_batched_tokens", "100000");
    if (strcmp(way->policy, "unlimited") != 0)
        set_number(asked, "engine.num_gpu_blocks_override", pool->blocks);
    else
        set(asked, "hardware", "h200-sxm");
    if (strcmp(way->policy, "radix") != 0)
        set(asked, "engine.enable_prefix_caching", "false");
    set(asked, "cost.level", "fixed");
    set(asked, "cost.step", "1 ms");
    set(asked, "workload.arrival.process", "all_at_once");
}

static struct scenario *load(const struct asked *asked, enum scenario_purpose purpose)
{
    struct kvsim_diags diags = {0};
    struct scenario *scenario;
    struct scenario_request request = {.overrides = asked->at,
                                       .override_count = asked->count,
                                       .purpose = purpose,
                                       .held_unwanted = true};
    enum kvsim_status status = scenario_load(&request, &scenario, &diags);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", asked->at[2].value, diags.at[0].message);
    return scenario;
}

/* ---- lengths ---- */

struct lengths {
    int64_t prompt, output, tokens; /* tokens: what the closed form is asked */
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

// Admission of memory that grows looks at the prompt, else at the whole length, divided in the way that takes most.
static struct lengths divide(const struct way *way, int64_t tokens)
{
    bool grows = is(way->policy, "paged") || is(way->policy, "radix");
    int64_t output = 1;
    if (is(way->policy, "reserved_pow2")) {
        while (output * 2 + 1 <= tokens - 1)
            output *= 2;
        output = output + 1 < tokens ? output + 1 : output;
    }
    int64_t prompt = grows && tokens < LONGEST ? tokens : tokens - output;
    return (struct lengths){prompt, output, grows ? prompt : tokens};
}

/* ---- what the engine does ---- */

struct outcome {
    int64_t admitted, aborted;
    int64_t ledger_bytes[RECORD_LEDGER_LINES]; /* of the first step */
};

static struct outcome run_all(const struct asked *base, const struct lengths *lengths,
                              int64_t requests)
{
    struct outcome outcome = {0};
    struct asked asked;
    copy(base, &asked);
    set_number(&asked, "workload.prompt_tokens", lengths->prompt);
    set_number(&asked, "workload.output_tokens", lengths->output);
    set_number(&asked, "run.requests", requests);
    set(&asked, "run.replications", "1");
    set(&asked, "run.warmup", "{requests: 0}");
    struct scenario *scenario = load(&asked, SCENARIO_FOR_RUN);
    struct engine_options wanted = {
        .mode = SERVE_STEP, .request_rows = (uint64_t)requests, .wants_steps = true};
    struct engine_run run;
    engine_run_config(scenario_config(scenario), &wanted, &run);
    if (run.steps.count > 0) {
        const struct record_step *first = &run.steps.at[0].row;
        outcome.admitted = (int64_t)first->admitted_count;
        memcpy(outcome.ledger_bytes, first->ledger_bytes, sizeof outcome.ledger_bytes);
    }
    outcome.aborted = (int64_t)run.result.outcomes[RECORD_OUTCOME_ABORTED];
    engine_run_release(&run);
    scenario_free(scenario);
    return outcome;
}

// All prompts are in the cache, and what is set aside is for whole sequences; a tensor is as long as it has to be now.
static void check_ledger(const struct serve_config *config, const struct way *way,
                         const struct lengths *lengths, const struct outcome *outcome)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    struct kv_hold_share share;
    struct kv_ledger closed = {0};
    bool doubles = is(way->policy, "concat_doubling");
    study_fit_share(config, doubles ? lengths->prompt : lengths->tokens, &share);
    if (!is(way->policy, "no_cache"))
        kv_hold_share_ledger(&waterfall->layout, &waterfall->pages, &share, lengths->prompt,
                             outcome->admitted, &closed);
    for (size_t line = 0; line < KV_LEDGER_SHARED; line++)
        ck_assert_msg(kv_ledger_line_bytes(&closed, line) == outcome->ledger_bytes[line],
                      "%s, %s: %s of %lld tokens", way->profile, way->policy,
                      kv_ledger_line_name(line), (long long)lengths->tokens);
}

static bool has_windows(const struct serve_config *config)
{
    for (size_t i = 0; i < config->layout.group_count; i++) {
        if (config->layout.groups[i].window_tokens > 0)
            return true;
    }
    return false;
}

// Nobody who shares cells waits for them: with one too many all are lost.
static void check_shared_cells(const struct asked *asked, const struct lengths *lengths,
                               const struct study_fit *fit)
{
    bool ends = is(fit->limit, "kv_pool");
    ck_assert_int_eq(run_all(asked, lengths, fit->sequences).aborted, 0);
    ck_assert_int_eq(run_all(asked, lengths, fit->sequences + 1).aborted > 0, ends);
}

static void check_length(const struct asked *asked, const struct serve_config *config,
                         const struct way *way, int64_t tokens)
{
    struct lengths lengths = divide(way, tokens);
    struct study_fit fit;
    study_fit_of_length(config, lengths.tokens, &fit);
    if (is(way->policy, "cells")) {
        check_shared_cells(asked, &lengths, &fit);
        return;
    }
    struct outcome outcome = run_all(asked, &lengths, fit.sequences + 3);
    ck_assert_msg(outcome.admitted == fit.sequences,
                  "%s, %s, %s: %lld tokens: %lld admitted, not %lld", way->profile, way->policy,
                  asked->at[0].value, (long long)tokens, (long long)outcome.admitted,
                  (long long)fit.sequences);
    if (!is(way->policy, "slots") && !has_windows(config) && config->tables.state_blocks == 0)
        check_ledger(config, way, &lengths, &outcome);
}

// `kvsim size` is asked without a run, and says the same.
static void check_size(const struct asked *asked, const struct serve_config *of_run)
{
    struct scenario *scenario = load(asked, SCENARIO_FOR_SIZE);
    struct study_fit size, run;
    for (int64_t tokens = 1; tokens <= LONGEST; tokens += 73) {
        study_fit_of_length(scenario_config(scenario), tokens, &size);
        study_fit_of_length(of_run, tokens, &run);
        ck_assert_int_eq(size.sequences, run.sequences);
        ck_assert_str_eq(size.limit, run.limit);
    }
    scenario_free(scenario);
}

static void check_way(const struct way *way, const struct pool *pool)
{
    static const int64_t lengths[] = {LONGEST, LONGEST / 4 + 7, 33};
    struct asked asked;
    ask(&asked, way, pool);
    struct asked with_load;
    copy(&asked, &with_load);
    set(&with_load, "workload.prompt_tokens", "8");
    set(&with_load, "workload.output_tokens", "8");
    set(&with_load, "run.requests", "1");
    struct scenario *scenario = load(&with_load, SCENARIO_FOR_RUN);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        check_length(&asked, scenario_config(scenario), way, lengths[i]);
    check_size(&with_load, scenario_config(scenario));
    scenario_free(scenario);
}

/* ---- windows: those that run beside each other ---- */

struct loop {
    const char *profile, *model;
    int64_t longest, prompt, budget, blocks;
    bool is_async;
};

static void ask_loop(const struct loop *loop, int64_t clients, struct asked *asked)
{
    *asked = (struct asked){.count = 0};
    set(asked, "model", loop->model);
    set(asked, "engine.profile", loop->profile);
    set_number(asked, "engine.max_model_len", loop->longest);
    set(asked, "engine.max_num_seqs", "1000");
    set_number(asked, "engine.max_num_batched_tokens", loop->budget);
    set_number(asked, "engine.num_gpu_blocks_override", loop->blocks);
    set(asked, "engine.enable_prefix_caching", "false");
    set(asked, "engine.async_scheduling", loop->is_async ? "true" : "false");
    set(asked, "cost.level", "fixed");
    set(asked, "cost.step", "1 ms");
    set(asked, "workload.arrival.process", "closed_loop");
    set_number(asked, "workload.arrival.concurrency", clients);
    set_number(asked, "workload.prompt_tokens", loop->prompt);
    set_number(asked, "workload.output_tokens", loop->longest - loop->prompt);
    set_number(asked, "run.requests", 2 * clients);
    set(asked, "run.replications", "1");
    set(asked, "run.warmup", "{requests: 0}");
}

struct beside {
    int64_t running_peak, preempted;
};

static struct beside run_loop(const struct loop *loop, int64_t clients)
{
    struct asked asked;
    struct beside out = {0};
    ask_loop(loop, clients, &asked);
    struct scenario *scenario = load(&asked, SCENARIO_FOR_RUN);
    struct engine_options wanted = {.mode = SERVE_STEP, .wants_steps = true};
    struct engine_run run;
    engine_run_config(scenario_config(scenario), &wanted, &run);
    for (size_t i = 0; i < run.steps.count; i++) {
        const struct record_step *row = &run.steps.at[i].row;
        out.running_peak = row->running > out.running_peak ? row->running : out.running_peak;
        out.preempted += (int64_t)row->preempted_count;
    }
    engine_run_release(&run);
    scenario_free(scenario);
    return out;
}

// Where each of those that run held as few blocks as a sequence behind its prompt can. Older releases ask for a first chunk
// alone, and may throw out again whom they took.
static int64_t most_beside(const struct serve_config *config, const struct loop *loop)
{
    const struct kv_pages *pages = &config->waterfall.pages;
    int64_t least = INT64_MAX;
    for (int64_t tokens = loop->prompt; tokens <= loop->longest; tokens++)
        least = base_min(least, kv_hold_blocks(pages, tokens));
    int64_t usable = config->pool_blocks - config->reserved_blocks;
    return config->sched.reserve_full_isl
               ? 1 + (usable - kv_pages_asked_blocks(pages, loop->prompt)) / least
               : INT64_MAX;
}

/* Returns whether somebody was preempted in a loop of as many as are said to run. */
static bool check_loop(const struct loop *loop)
{
    struct asked asked;
    struct study_fit fit;
    ask_loop(loop, 1, &asked);
    struct scenario *scenario = load(&asked, SCENARIO_FOR_RUN);
    study_fit_of_length(scenario_config(scenario), loop->longest, &fit);
    int64_t most = most_beside(scenario_config(scenario), loop);
    ck_assert_int_ge(fit.running, fit.sequences);
    struct beside full = run_loop(loop, fit.running), more = run_loop(loop, 2 * fit.running + 2);
    ck_assert_msg(full.running_peak == fit.running, "%s, %s: %lld of %lld ran", loop->profile,
                  loop->model, (long long)full.running_peak, (long long)fit.running);
    ck_assert_msg(more.running_peak >= fit.running && more.running_peak <= most,
                  "%s, %s: %lld ran, not %lld to %lld", loop->profile, loop->model,
                  (long long)more.running_peak, (long long)fit.running, (long long)most);
    bool asks_for_all = scenario_config(scenario)->sched.reserve_full_isl;
    scenario_free(scenario);
    return full.preempted > 0 && asks_for_all;
}

static int64_t between(uint64_t seed, uint64_t index, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_uniform(base_mix64(seed), index) * (double)(high - low + 1));
}

/* A pool for two to eight of them at admission, answers long enough for all prompts to come in, in chunks or whole. */
static struct loop draw_loop(uint64_t seed)
{
    static const char *const models[] = {"gemma-3-27b", "gpt-oss-20b", "mistral-7b", "gemma-2-2b"};
    static const char *const profiles[] = {"vllm-2026-08", "vllm-0.21", "vllm-0.13"};
    struct loop loop = {.profile = profiles[seed % 3],
                        .model = models[between(seed, 0, 0, 3)],
                        .prompt = between(seed, 1, 200, 7500),
                        .budget = between(seed, 2, 1500, 10000),
                        .is_async = between(seed, 3, 0, 1) == 1};
    loop.longest = loop.prompt + between(seed, 4, 200, 500);
    loop.blocks = 1;
    struct asked asked;
    ask_loop(&loop, 1, &asked);
    struct scenario *scenario = load(&asked, SCENARIO_FOR_SIZE);
    const struct kv_pages *pages = &scenario_config(scenario)->waterfall.pages;
    int64_t asked_blocks = kv_pages_sequence_blocks(pages, loop.longest);
    loop.blocks = 1 + asked_blocks * between(seed, 5, 1, 6) + between(seed, 6, 0, asked_blocks);
    scenario_free(scenario);
    return loop;
}

/* ---- all of it ---- */

START_TEST(grows_with_its_tokens)
{
    static const struct way ways[] = {{"vllm-0.19", "paged", NULL},
                                      {"vllm-0.6", "paged", NULL},
                                      {"vllm-0.19", "radix", NULL},
                                      {"orca-max", "paged", NULL}};
    static const struct pool pools[] = {
        {"llama-3.1-8b", 301, 100}, {"llama-3.1-8b", 160, 4}, {"deepseek-v3", 97, 30}};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (size_t p = 0; p < sizeof pools / sizeof pools[0]; p++)
            check_way(&ways[w], &pools[p]);
    }
}
END_TEST

START_TEST(in_several_tables)
{
    static const struct way way = {"vllm-2026-08", "paged", NULL};
    static const struct pool pools[] = {
        {"gemma-3-27b", 1000, 40}, {"gpt-oss-20b", 333, 40}, {"qwen3.5-27b", 40, 40}};
    for (size_t p = 0; p < sizeof pools / sizeof pools[0]; p++)
        check_way(&way, &pools[p]);
}
END_TEST

START_TEST(is_reserved_at_admission)
{
    static const char *const policies[] = {"reserved_max", "reserved_pow2", "reserved_exact"};
    static const char *const placements[] = {"blocks", "first_fit", "best_fit", "buddy"};
    static const char *const profiles[] = {"orca-max", "fastertransformer", "vllm-0.19"};
    static const struct pool pools[] = {{"llama-3.1-8b", 301, 100}, {"gemma-3-27b", 170, 6}};
    for (size_t i = 0; i < 3 * 4 * 3; i++) {
        struct way way = {profiles[i / 12], policies[i % 3], placements[i / 3 % 4]};
        check_way(&way, &pools[i % 2]);
    }
}
END_TEST

START_TEST(is_copied_or_not_kept)
{
    static const struct way ways[] = {
        {"hf-concat", "concat", NULL},   {"hf-concat", "concat_doubling", NULL},
        {"orca-max", "no_cache", NULL},  {"vllm-0.19", "no_cache", NULL},
        {"orca-max", "unlimited", NULL}, {"vllm-0.19", "unlimited", NULL}};
    static const struct pool pools[] = {{"llama-3.1-8b", 5000, 100}, {"llama-3.1-8b", 3001, 5}};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (size_t p = 0; p < 2; p++)
            check_way(&ways[w], &pools[p]);
    }
}
END_TEST

START_TEST(lies_in_slots)
{
    static const struct way ways[] = {{"vllm-0.19", "slots", NULL}, {"vllm-0.19", "cells", NULL}};
    static const struct pool pools[] = {{"llama-3.1-8b", 5000, 100}, {"llama-3.1-8b", 3001, 5}};
    for (size_t w = 0; w < 2; w++) {
        for (size_t p = 0; p < 2; p++)
            check_way(&ways[w], &pools[p]);
    }
}
END_TEST

START_TEST(runs_as_windows_pass)
{
    const char *wanted = getenv("KVSIM_SEED"), *count = getenv("KVSIM_SCENARIOS");
    uint64_t first = wanted != NULL ? strtoull(wanted, NULL, 10) : 1;
    uint64_t last = first + (count != NULL ? strtoull(count, NULL, 10) : 12);
    uint64_t preempted_loops = 0;
    for (uint64_t seed = first; seed < last; seed++) {
        struct loop loop = draw_loop(seed);
        printf("seed %llu\n", (unsigned long long)seed);
        preempted_loops += check_loop(&loop) ? 1 : 0;
    }
    // Two prompts that are computed at once may each need a block more than one of them: one loop of 600.
    ck_assert_uint_le(preempted_loops, (last - first) / 100);
}
END_TEST

CHECK_MAIN("property.fit_against_engine", grows_with_its_tokens, in_several_tables,
           is_reserved_at_admission, is_copied_or_not_kept, lies_in_slots, runs_as_windows_pass)
