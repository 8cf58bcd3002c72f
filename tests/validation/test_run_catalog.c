/*
 * Every model of the catalog in the running simulation, whatever its layers are: full, windows, chunks, states, latents, layers
 * that share a cache, blocks of several lengths. One request holds step by step what kvsim size says; a crowded pool adds
 * up at every step, conserves its requests, and is the same jumped over or walked through.
 */
#include "kv/hold.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include "support/check_main.h"
#include "support/result_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 2048 };

/* A model under an engine, on a device that holds any of them. */
struct plan {
    const char *model, *profile, *engine; /* more keys of `engine:` */
    const char *workload;
    int requests;
};

static struct scenario *load(const struct plan *plan)
{
    char text[1024];
    snprintf(text, sizeof text,
             "model: %s\nhardware: {base: b300-sxm, memory: 4000 GiB}\n"
             "engine: {profile: %s, max_model_len: %d%s}\n"
             "workload: {%s}\nrun: {requests: %d, seed: 7}\n",
             plan->model, plan->profile, LENGTH, plan->engine, plan->workload, plan->requests);
    struct scenario_text stated = {text, strlen(text)};
    struct scenario_request request = {.path = "catalog.yaml",
                                       .text = &stated,
                                       .purpose = SCENARIO_FOR_RUN,
                                       .held_unwanted = true};
    struct kvsim_diags diags = {0};
    struct scenario *scenario = NULL;
    ck_assert_msg(scenario_load(&request, &scenario, &diags) == KVSIM_OK, "%s %s%s: %s",
                  plan->model, plan->profile, plan->engine, diags.at[0].message);
    ck_assert_msg(scenario_config(scenario)->waterfall.starts, "%s under %s does not start",
                  plan->model, plan->profile);
    return scenario;
}

/* ---- steps ---- */

struct watch {
    struct record_sink sink;
    const struct plan *plan;
    const struct serve_config *config;
    bool is_alone; /* one request, of which every decode is as kvsim size says */
    int64_t steps, checked;
};

static void check_sum(const struct watch *watch, const struct record_step *row)
{
    struct kv_paged pool;
    serve_config_pool(watch->config, &pool);
    int64_t sum = 0;
    for (size_t line = 0; line < kv_ledger_line_count(); line++) {
        ck_assert_msg(row->ledger_bytes[line] >= 0, "%s %s: %s at step %" PRIu64,
                      watch->plan->model, watch->plan->profile, kv_ledger_line_name(line),
                      row->step);
        sum += kv_ledger_line_sign(line) * row->ledger_bytes[line];
    }
    ck_assert_int_eq(sum, kv_paged_pool_bytes(&pool));
}

static void check_size(const struct watch *watch, const struct record_step *row)
{
    const struct serve_config *config = watch->config;
    struct kv_ledger closed;
    kv_hold_ledger(&config->layout, &config->waterfall.pages, row->context_tokens, 1, &closed);
    // Where the engine keeps states elsewhere they are not of the pool.
    bool has_states_here = config->waterfall.pages.is_hybrid;
    closed.lower_bound_bytes -= has_states_here ? 0 : (int64_t)config->layout.sequence_bytes;
    for (size_t line = 0; strcmp(kv_ledger_line_name(line), "cached") != 0; line++)
        ck_assert_msg(row->ledger_bytes[line] == kv_ledger_line_bytes(&closed, line),
                      "%s %s%s: %s of %" PRId64 " tokens: run %" PRId64 ", size %" PRId64,
                      watch->plan->model, watch->plan->profile, watch->plan->engine,
                      kv_ledger_line_name(line), row->context_tokens, row->ledger_bytes[line],
                      kv_ledger_line_bytes(&closed, line));
}

static void on_step(struct record_sink *sink, const struct record_step *row)
{
    struct watch *watch = (struct watch *)sink;
    watch->steps++;
    check_sum(watch, row);
    if (watch->is_alone && row->prefill_tokens == 0) {
        check_size(watch, row);
        watch->checked++;
    }
}

static const struct record_sink_ops watching = {.on_step = on_step};

/* Walked through, with every step looked at. */
static void walk(const struct plan *plan, const struct serve_config *config, bool is_alone,
                 struct serve_result *out)
{
    struct watch watch = {{.ops = &watching, .wants_steps = true}, plan, config, is_alone, 0, 0};
    struct serve_run_options options = {.replication = 1, .mode = SERVE_STEP, .sink = &watch.sink};
    struct kvsim_error err = {.status = KVSIM_OK};
    ck_assert_msg(serve_run(config, &options, out, &err) == KVSIM_OK, "%s: %s", plan->model,
                  err.message);
    ck_assert_int_gt(watch.steps, 0);
    ck_assert(!is_alone || watch.checked > 50);
}

/* ---- models ---- */

typedef void model_fn(const char *model, size_t number);

static void for_each_model(model_fn *check)
{
    struct scenario_entries models;
    scenario_list_data(SCENARIO_MODEL, NULL, &models);
    ck_assert_uint_ge(models.count, 88);
    for (size_t i = 0; i < models.count; i++)
        check(models.at[i].name, i);
    scenario_entries_free(&models);
}

#define LONE_REQUEST "arrival: {process: all_at_once}, prompt_tokens: 1500, output_tokens: 70"

static void hold_one(const char *model, size_t number)
{
    (void)number;
    static const struct {
        const char *profile, *engine;
    } engines[] = {
        {"vllm-0.19", ", enable_prefix_caching: false, async_scheduling: false"},
        {"vllm-0.19",
         ", enable_prefix_caching: false, async_scheduling: false, kv_cache_dtype: fp8"},
        {"vllm-0.6", ", enable_prefix_caching: false"},
        // States are cached: two blocks a table around a block's border, else one.
        {"vllm-2026-08", ", async_scheduling: false"},
    };
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        struct plan plan = {model, engines[i].profile, engines[i].engine, LONE_REQUEST, 1};
        struct scenario *scenario = load(&plan);
        struct serve_result result;
        walk(&plan, scenario_config(scenario), true, &result);
        serve_result_release(&result);
        scenario_free(scenario);
    }
}

START_TEST(one_request_holds_what_size_says)
{
    for_each_model(hold_one);
}
END_TEST

/* Layers that see the last tokens only, in another format than those that see all: blocks of several lengths. */
START_TEST(blocks_of_several_lengths_hold_what_size_says)
{
    static const char *const dtypes[] = {"{full: bf16, sliding: fp8}",
                                         "{full: fp8, sliding: bf16}"};
    static const char *const models[] = {"gemma-3-12b", "gemma-3-27b", "gpt-oss-20b", "gemma-2-9b"};
    for (size_t i = 0; i < 8; i++) {
        char engine[160];
        snprintf(engine, sizeof engine,
                 ", enable_prefix_caching: false, async_scheduling: false, kv_cache_dtype: %s",
                 dtypes[i % 2]);
        struct plan plan = {models[i / 2], "vllm-0.19", engine, LONE_REQUEST, 1};
        struct scenario *scenario = load(&plan);
        const struct serve_config *config = scenario_config(scenario);
        struct serve_result result;
        ck_assert_int_eq(config->tables.period_tokens, 2 * config->tables.block_tokens);
        walk(&plan, config, true, &result);
        serve_result_release(&result);
        scenario_free(scenario);
    }
}
END_TEST

static void crowd_with(const char *model, const char *profile, const char *engine)
{
    struct plan plan = {model, profile, engine,
                        "arrival: {process: poisson, rate: 40/s}, shared_prefix: {num_groups: 3, "
                        "system_prompt_len: 300, question_len: 200}, output_tokens: 60",
                        8};
    struct scenario *scenario = load(&plan);
    struct serve_config config = *scenario_config(scenario);
    // Room for one longest request and a half: most wait, some are thrown out.
    int64_t longest = kv_pages_sequence_blocks(&config.waterfall.pages, LENGTH);
    config.pool_blocks = config.reserved_blocks + longest + longest / 2;
    struct serve_result walked, jumped;
    struct serve_run_options options = {.replication = 1, .mode = SERVE_JUMP};
    struct kvsim_error err = {.status = KVSIM_OK};
    char found[256];
    walk(&plan, &config, false, &walked);
    ck_assert(serve_run(&config, &options, &jumped, &err) == KVSIM_OK);
    ck_assert_uint_eq(walked.outcomes[RECORD_OUTCOME_COMPLETED], walked.arrived);
    result_compare(&walked, &jumped, found, sizeof found);
    ck_assert_msg(found[0] == '\0', "%s %s: jumping: %s", model, plan.profile, found);
    serve_result_release(&walked);
    serve_result_release(&jumped);
    scenario_free(scenario);
}

/* Windows all kept or sparse, states cached where they are: two releases in turn. */
static void crowd(const char *model, size_t number)
{
    static const char *const profiles[] = {"vllm-0.19", "vllm-2026-08"};
    crowd_with(model, profiles[number % 2], "");
}

START_TEST(a_crowded_pool_adds_up)
{
    for_each_model(crowd);
}
END_TEST

/* Found together where blocks of all tables begin, or not. */
START_TEST(a_crowded_pool_of_blocks_of_several_lengths_adds_up)
{
    static const char *const profiles[] = {"vllm-0.19", "vllm-2026-08"};
    static const char *const models[] = {"gemma-3-12b", "gpt-oss-20b"};
    for (size_t i = 0; i < 8; i++) {
        const char *dtypes = i % 4 < 2 ? ", kv_cache_dtype: {full: bf16, sliding: fp8}"
                                       : ", kv_cache_dtype: {full: fp8, sliding: bf16}";
        crowd_with(models[i / 4], profiles[i % 2], dtypes);
    }
}
END_TEST

CHECK_MAIN("validation.run_catalog", one_request_holds_what_size_says,
           blocks_of_several_lengths_hold_what_size_says, a_crowded_pool_adds_up,
           a_crowded_pool_of_blocks_of_several_lengths_adds_up)
