/*
 * What a request holds on average, as the expected number of requests counts it, against a run of such requests: they come one
 * after another, so that the blocks held in a step are those of one request, its several answers included. For answers as
 * vLLM V1 has them, with and without a cache in which they find their prompt, and as V0 has them, whose tables are forked;
 * for one block table and for several, some with windows. Beams share more than their prompt: at most so much.
 */
#include "base/hash.h"
#include "rng/rng.h"
#include "scenario/scenario.h"

#include "support/check_main.h"
#include "support/engine_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 24, TEXT = 64 };

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

struct way {
    const char *profile, *model, *policy, *caching;
    const char *answers; /* key that says how many are generated */
    const char *output;  /* NULL: a fixed number */
    double share;        /* most that the two differ by */
};

/* Forked tables have one answer in their first step; a prompt that windows have not passed yet is held in its step. */
#define NEAR 0.01
#define WINDOWED 0.08

static int64_t between(uint64_t seed, uint64_t index, int64_t low, int64_t high)
{
    return low + (int64_t)(rng_uniform(base_mix64(seed), index) * (double)(high - low + 1));
}

static void ask(const struct way *way, uint64_t seed, struct asked *asked)
{
    int64_t output = between(seed, 1, 2, 120);
    *asked = (struct asked){.count = 0};
    set(asked, "model", way->model);
    set(asked, "engine.profile", way->profile);
    set(asked, "engine.kv_policy", way->policy);
    set(asked, "engine.max_model_len", "8192");
    set(asked, "engine.max_num_seqs", "64");
    set(asked, "engine.max_num_batched_tokens", "20000");
    set(asked, "engine.num_gpu_blocks_override", "60000");
    set(asked, "engine.enable_prefix_caching", way->caching);
    set(asked, "engine.async_scheduling", "false");
    set(asked, "cost.level", "fixed");
    set(asked, "cost.step", "1 ms");
    set(asked, "workload.arrival.process", "deterministic");
    set(asked, "workload.arrival.rate", "0.1/s");
    set_number(asked, "workload.prompt_tokens", between(seed, 0, 1, 2500));
    if (way->output == NULL)
        set_number(asked, "workload.output_tokens", output);
    else
        set(asked, "workload.output_tokens", way->output);
    set_number(asked, way->answers, between(seed, 2, 2, 6));
    set(asked, "run.requests", way->output == NULL ? "3" : "400");
    set(asked, "run.replications", "1");
    set(asked, "run.warmup", "{requests: 0}");
}

static struct scenario *load(const struct asked *asked)
{
    struct kvsim_diags diags = {0};
    struct scenario *scenario;
    struct scenario_request request = {
        .overrides = asked->at, .override_count = asked->count, .purpose = SCENARIO_FOR_RUN};
    enum kvsim_status status = scenario_load(&request, &scenario, &diags);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", asked->at[1].value, diags.at[0].message);
    return scenario;
}

// Over all steps: of one millisecond each, and in each one request is there.
static double blocks_of_run(const struct serve_config *config)
{
    struct engine_options wanted = {.mode = SERVE_STEP, .wants_steps = true};
    struct engine_run run;
    double sum = 0;
    engine_run_config(config, &wanted, &run);
    for (size_t i = 0; i < run.steps.count; i++) {
        const struct record_step *row = &run.steps.at[i].row;
        sum += (double)row->used_blocks;
    }
    double steps = (double)run.steps.count;
    engine_run_release(&run);
    return sum / steps;
}

static void check(const struct way *way, uint64_t seed, bool is_most)
{
    struct asked asked;
    ask(way, seed, &asked);
    struct scenario *scenario = load(&asked);
    const struct serve_config *config = scenario_config(scenario);
    double blocks = blocks_of_run(config);
    double error = config->held.blocks / blocks - 1;
    ck_assert_msg(fabs(error) < way->share || (is_most && error > 0),
                  "%s, %s, %s, seed %llu: %.2f blocks, not %.2f", way->profile, way->model,
                  way->answers, (unsigned long long)seed, config->held.blocks, blocks);
    scenario_free(scenario);
}

START_TEST(answers_hold_their_prompt_together)
{
    static const struct way ways[] = {
        {"vllm-0.19", "llama-3.1-8b", "paged", "true", "workload.n", NULL, NEAR},
        {"vllm-0.19", "llama-3.1-8b", "paged", "false", "workload.n", NULL, NEAR},
        {"vllm-0.19", "llama-3.1-8b", "radix", "true", "workload.n", NULL, NEAR},
        {"vllm-2026-08", "gemma-3-27b", "paged", "true", "workload.n", NULL, WINDOWED},
        {"vllm-2026-08", "gpt-oss-20b", "paged", "true", "workload.n", NULL, WINDOWED},
        {"vllm-0.6", "llama-3.1-8b", "paged", "false", "workload.n", NULL, NEAR},
        {"vllm-0.6", "llama-3.1-8b", "paged", "false", "workload.best_of", NULL, NEAR},
    };
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (uint64_t seed = 1; seed <= 4; seed++)
            check(&ways[w], seed, false);
    }
}
END_TEST

// They end one by one; the mean is over other draws than the run's.
START_TEST(answers_have_lengths_of_their_own)
{
    static const char lengths[] = "{distribution: lognormal, mean: 60, cv: 0.7, min: 1, max: 300}";
    static const struct way ways[] = {
        {"vllm-0.19", "llama-3.1-8b", "paged", "true", "workload.n", lengths, 0.04},
        {"vllm-0.6", "llama-3.1-8b", "paged", "false", "workload.n", lengths, 0.04},
    };
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (uint64_t seed = 20; seed < 22; seed++)
            check(&ways[w], seed, false);
    }
}
END_TEST

START_TEST(beams_hold_no_more)
{
    static const struct way way = {
        "vllm-0.2", "llama-3.1-8b", "paged", "false", "workload.beam_width", NULL, NEAR};
    for (uint64_t seed = 1; seed <= 4; seed++)
        check(&way, seed, true);
}
END_TEST

CHECK_MAIN("property.held_against_run", answers_hold_their_prompt_together,
           answers_have_lengths_of_their_own, beams_hold_no_more)
