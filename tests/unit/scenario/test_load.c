#include "load_text.h"

#include "support/check_main.h"

static const char chat[] =
    "model: llama-3.1-8b\nhardware: h100-sxm\n"
    "engine: {profile: vllm-0.19, max_model_len: 8192}\n"
    "workload: {arrival: {process: poisson, rate: 8/s}, prompt_tokens: 100, output_tokens: 20}\n";

START_TEST(every_value_keeps_its_origin)
{
    struct loaded loaded;
    load_text_set(&loaded, chat, "engine.block_size", "32");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_str_eq(param_of(&loaded, "engine.max_model_len")->origin, "scenario");
    ck_assert_str_eq(param_of(&loaded, "engine.block_size")->origin, "set");
    ck_assert_str_eq(param_of(&loaded, "engine.block_size")->value, "32");
    const struct serve_param *share = param_of(&loaded, "engine.gpu_memory_utilization");
    ck_assert_str_eq(share->origin, "profile");
    ck_assert_str_eq(share->value, "0.9");
    ck_assert_str_eq(share->claim, "vendor");
    ck_assert_ptr_nonnull(strstr(share->source, "2026-04-21"));
    ck_assert_str_eq(param_of(&loaded, "engine.startup_check")->origin, "default");
    ck_assert_str_eq(param_of(&loaded, "hardware.memory")->claim, "measured");
    ck_assert_str_eq(param_of(&loaded, "model.num_hidden_layers")->value, "32");
    ck_assert_int_eq(loaded.config->sched.block_size, 32);
    loaded_end(&loaded);
}
END_TEST

START_TEST(an_option_is_blamed_by_its_own_name)
{
    struct loaded loaded;
    load_text_set(&loaded, chat, "engine.block_size", "0");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].file, "--set engine.block_size");
    ck_assert_int_eq(loaded.diags.at[0].line, 0);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "engine.blok_size", "16");
    ck_assert_str_eq(loaded.diags.at[0].code, "unknown-key");
    ck_assert_str_eq(loaded.diags.at[0].file, "--set engine.blok_size");
    loaded_end(&loaded);
}
END_TEST

START_TEST(an_option_reaches_into_a_named_model_and_device)
{
    struct loaded loaded;
    load_text_set(&loaded, chat, "model.num_key_value_heads", "32");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->layout.lower_bound_bytes_per_token, 524288);
    ck_assert_str_eq(param_of(&loaded, "model.num_key_value_heads")->origin, "set");
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "hardware.memory", "40GiB");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->hardware->memory_bytes, (uint64_t)40 << 30);
    loaded_end(&loaded);
}
END_TEST

START_TEST(limits_follow_from_the_card_and_are_cut_only_where_defaulted)
{
    struct loaded loaded;
    load_text(&loaded, chat);
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 8192); // 70 GiB and more, no A100
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 1024);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "hardware", "a100-sxm-80gb");
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 2048);
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 256);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "hardware", "b200");
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 16384);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "engine.max_num_seqs", "3"); // tokens: min(8192, 3 x 8192)
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 8192);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "engine.max_num_batched_tokens",
                  "100"); // a stated budget is kept, seats are cut to it
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 100);
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 100);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_stated_budget_below_stated_seats_is_taken_and_warned_of)
{
    struct loaded loaded;
    load_text(&loaded, BARE_MODEL BARE_COST BARE_WORKLOAD
              "engine: {profile: vllm-0.19, max_model_len: 64, num_gpu_blocks_override: 20, "
              "max_num_batched_tokens: 2, "
              "max_num_seqs: 9}\n");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 2);
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 9);
    ck_assert_uint_eq(loaded.diags.warning_count, 1);
    ck_assert_str_eq(loaded.diags.warnings[0].code, "budget-below-seats");
    loaded_end(&loaded);
}
END_TEST

START_TEST(without_chunking_the_budget_holds_the_longest_prompt)
{
    struct loaded loaded;
    load_text(&loaded,
              "model: llama-3.1-8b\nhardware: a100-sxm-80gb\n"
              "engine: {profile: vllm-0.19, max_model_len: 8192, enable_chunked_prefill: false}\n"
              "workload: {arrival: {process: poisson, rate: 8/s}, prompt_tokens: 100, "
              "output_tokens: 20}\n");
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 8192);
    ck_assert(!loaded.config->sched.enable_chunked_prefill);
    loaded_end(&loaded);
}
END_TEST

START_TEST(the_longest_context_is_the_models_unless_stated)
{
    struct loaded loaded;
    load_text(&loaded, "model: opt-13b\nhardware: h100-sxm\n"
                       "workload: {arrival: {process: poisson, rate: 8/s}, prompt_tokens: 100, "
                       "output_tokens: 20}\n");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_int_eq(loaded.config->sched.max_model_len, 2048);
    ck_assert_str_eq(param_of(&loaded, "engine.max_model_len")->claim, "calculated");
    loaded_end(&loaded);
}
END_TEST

START_TEST(the_prefix_cache_is_the_profiles_unless_stated)
{
    struct loaded loaded;
    load_text(&loaded, chat);
    ck_assert(loaded.config->sched.enable_prefix_caching);
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_OLD);
    ck_assert(!loaded.config->sched.count_every_lookup);
    ck_assert_str_eq(param_of(&loaded, "engine.enable_prefix_caching")->origin, "profile");
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "engine.enable_prefix_caching", "false");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert(!loaded.config->sched.enable_prefix_caching);
    loaded_end(&loaded);
    load_text_set(&loaded, chat, "engine.switch", "{free_order: new, count_every_lookup: true}");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_NEW);
    ck_assert(loaded.config->sched.count_every_lookup);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_bare_cache_runs_without_a_device)
{
    struct loaded loaded;
    load_text(&loaded, BARE);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_ptr_null(loaded.config->hardware);
    ck_assert_int_eq(loaded.config->pool_blocks, 20);
    ck_assert_int_eq(loaded.config->reserved_blocks, 1);
    ck_assert_uint_eq(loaded.config->layout.block_bytes, 4);
    ck_assert(loaded.config->waterfall.starts);
    ck_assert_int_eq(loaded.config->cost.options->fixed_step_ns, 1000000);
    loaded_end(&loaded);
    load_text(&loaded, BARE_MODEL BARE_ENGINE BARE_WORKLOAD);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO); // the datasheet level needs a device
    loaded_end(&loaded);
    load_text(&loaded, BARE_MODEL BARE_COST BARE_WORKLOAD "engine: {max_model_len: 64}\n");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO); // no device, no pool
    loaded_end(&loaded);
}
END_TEST

START_TEST(what_does_not_fit_is_a_refusal_not_an_error)
{
    struct loaded loaded;
    load_text(
        &loaded,
        "model: llama-3.1-70b\nhardware: h100-sxm\nengine: {max_model_len: 8192, dtype: fp16}\n"
        "workload: {arrival: {process: closed_loop, concurrency: 32}, prompt_tokens: 7168, "
        "output_tokens: 1024}\n");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert(!loaded.config->waterfall.starts);
    ck_assert_uint_eq(loaded.config->waterfall.demand_lower_bound_bytes, UINT64_C(85899345920));
    loaded_end(&loaded);
}
END_TEST

static void hash_of(const char *text, const char *key, const char *value, char hash[33])
{
    struct loaded loaded;
    load_text_set(&loaded, text, key, value);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    strcpy(hash, loaded.config->hash);
    loaded_end(&loaded);
}

START_TEST(the_hash_is_of_what_decides_the_figures)
{
    char base[33], other[33];
    hash_of(chat, "run.seed", "1", base);
    hash_of(chat, "run.seed", "2", other);
    ck_assert_str_ne(base, other);
    hash_of(chat, "engine.max_model_len", "8k", other); // another spelling of the same
    ck_assert_str_eq(base, other);
    hash_of(chat, "name", "another", other);
    ck_assert_str_eq(base, other);
    hash_of(chat, "model.num_hidden_layers", "31", other);
    ck_assert_str_ne(base, other);
    hash_of(chat, "hardware.memory_bandwidth", "3000 GB/s", other);
    ck_assert_str_ne(base, other);
    hash_of(chat, "engine.switch.free_order", "new", other);
    ck_assert_str_ne(base, other);
    hash_of(chat, "workload.arrival.rate", "480/min", other);
    ck_assert_str_eq(base, other);
}
END_TEST

START_TEST(the_resolved_text_is_a_scenario_with_the_same_figures)
{
    struct loaded first, again;
    load_text(&first, chat);
    ck_assert_int_eq(first.status, KVSIM_OK);
    load_text(&again, first.config->yaml);
    for (size_t i = 0; i < again.diags.count; i++)
        fprintf(stderr, "%s [%s]\n", again.diags.at[i].message, again.diags.at[i].code);
    ck_assert_int_eq(again.status, KVSIM_OK);
    ck_assert_int_eq(again.config->pool_blocks, first.config->pool_blocks);
    ck_assert_int_eq(again.config->sched.max_num_seqs, first.config->sched.max_num_seqs);
    loaded_end(&first);
    loaded_end(&again);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    struct loaded loaded;
    struct scenario_request request = {.path = "/no/such/file.yaml", .purpose = SCENARIO_FOR_RUN};
    memset(&loaded, 0, sizeof loaded);
    ck_assert_int_eq(scenario_load(&request, &loaded.scenario, &loaded.diags), KVSIM_ERR_IO);
    memset(&loaded, 0, sizeof loaded);
    request.path = "/tmp";
    ck_assert_int_eq(scenario_load(&request, &loaded.scenario, &loaded.diags), KVSIM_ERR_IO);
    load_text(&loaded, "");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    loaded_end(&loaded);
    load_text(&loaded, "model: {hf_config: nowhere.json}\nhardware: h100-sxm\n");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_IO);
    loaded_end(&loaded);
    load_text(&loaded, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {arrival: {process: "
                       "trace, file: no.csv}}\n");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_IO);
    ck_assert_str_eq(loaded.diags.at[0].code, "cannot-open");
    loaded_end(&loaded);
}
END_TEST

START_TEST(size_and_step_ask_for_less)
{
    struct loaded loaded;
    load_text_for(&loaded, "model: gemma-2-9b\nhardware: h100-sxm\n", SCENARIO_FOR_SIZE);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert(loaded.config->waterfall.starts);
    loaded_end(&loaded);
    load_text_for(&loaded, "model: gemma-2-9b\nhardware: m2-ultra\n", SCENARIO_FOR_STEP);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    loaded_end(&loaded);
    load_text_for(&loaded, "model: deepseek-v3\nhardware: {name: card, memory: 1000GiB}\n",
                  SCENARIO_FOR_SIZE);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    loaded_end(&loaded);
    load_text_for(&loaded,
                  "model: llama-3.1-8b\nhardware: {name: card, memory_bandwidth: 1 TB/s, tflops: "
                  "{bf16: 100}}\n",
                  SCENARIO_FOR_STEP);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    loaded_end(&loaded);
}
END_TEST

// What the closed forms refuse stands where its key does, not where the engine begins.
START_TEST(a_refused_pool_is_told_at_its_own_key)
{
#define GROUPS                                                                                     \
    "model: {max_position_embeddings: 1000, kv_groups: [{kind: full, layers: 1, bytes_per_token: " \
    "2}]}\n"
#define CARD "hardware: h100-sxm\n"
    static const struct {
        const char *text, *key, *code;
        int line, column;
    } cases[] = {
        {"model: llama-3.1-8b\n" CARD "engine:\n  profile: vllm-0.23\n  tensor_parallel_size: 3\n",
         "engine.tensor_parallel_size", "heads-not-divided", 5, 25},
        {"model: llama-3.1-8b\n" CARD "engine:\n  profile: vllm-0.23\n  quantization: best\n",
         "engine.quantization", "bad-choice", 5, 17},
        {"model: llama-3.1-8b\n" CARD "engine: {profile: vllm-0.23, pipeline_parallel_size: 100}\n",
         "engine.pipeline_parallel_size", "pipeline-stages", 3, 54},
        {"model: llama-3.1-8b\n" CARD "engine: {profile: vllm-0.23, kv_cache_dtype: fp8_ds_mla}\n",
         "engine.kv_cache_dtype", "kv-dtype", 3, 46},
        // The largest of the parts that are too much together.
        {GROUPS CARD "engine:\n  tensor_parallel_size: 512\n  memory:\n    weights: 1 TB\n"
                     "    non_torch: 9000 TB\n",
         "engine.memory.non_torch", "uncountable-bytes", 7, 16},
        // Nothing was said of it: where the nearest thing was.
        {GROUPS CARD "engine: {profile: vllm-0.23}\n", "model", "no-weights", 1, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct loaded loaded;
        load_text_for(&loaded, cases[i].text, SCENARIO_FOR_SIZE);
        const struct kvsim_error *error = &loaded.diags.at[0];
        ck_assert_int_ne(loaded.status, KVSIM_OK);
        ck_assert_str_eq(error->key, cases[i].key);
        ck_assert_str_eq(error->code, cases[i].code);
        ck_assert_msg(error->line == cases[i].line && error->column == cases[i].column, "%s: %d:%d",
                      cases[i].key, error->line, error->column);
        loaded_end(&loaded);
    }
}
END_TEST

CHECK_MAIN("scenario.load", a_refused_pool_is_told_at_its_own_key, every_value_keeps_its_origin,
           an_option_is_blamed_by_its_own_name, an_option_reaches_into_a_named_model_and_device,
           limits_follow_from_the_card_and_are_cut_only_where_defaulted,
           a_stated_budget_below_stated_seats_is_taken_and_warned_of,
           without_chunking_the_budget_holds_the_longest_prompt,
           the_longest_context_is_the_models_unless_stated,
           the_prefix_cache_is_the_profiles_unless_stated, a_bare_cache_runs_without_a_device,
           what_does_not_fit_is_a_refusal_not_an_error, the_hash_is_of_what_decides_the_figures,
           the_resolved_text_is_a_scenario_with_the_same_figures, files_that_cannot_be_read,
           size_and_step_ask_for_less)
