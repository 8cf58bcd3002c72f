#include "load_text.h"

#include "support/check_main.h"

/* One bad input: what is said, and where. */
struct bad {
    const char *text, *code;
    int line, column;
    const char *part; /* of message or hint */
};

#define CHAT(engine, workload, rest)                                                          \
    "model: llama-3.1-8b\nhardware: h100-sxm\nengine: {" engine "}\nworkload: {" workload "}" \
    "\n" rest
#define V0(engine, workload) \
    CHAT("profile: vllm-0.6, max_model_len: 8192, " engine, ARRIVAL LENGTHS workload, "")
#define ARRIVAL "arrival: {process: poisson, rate: 8/s}, "
#define LENGTHS "prompt_tokens: 100, output_tokens: 20"

static const struct bad cases[] = {
    // keys
    {CHAT("", ARRIVAL LENGTHS, "runn: {seed: 1}\n"), "unknown-key", 5, 1, "did you mean 'run'"},
    {CHAT("block_sise: 16", ARRIVAL LENGTHS, ""), "unknown-key", 3, 10,
     "did you mean 'block_size'"},
    {CHAT("", ARRIVAL "promt_tokens: 1, " LENGTHS, ""), "unknown-key", 4, 52,
     "did you mean 'prompt_tokens'"},
    {CHAT("", "arrival: {process: poisson, rate: 8/s, burstines: 1}, " LENGTHS, ""), "unknown-key",
     4, 51, "unknown key"},
    {CHAT("block_size: 16, block-size: 32", ARRIVAL LENGTHS, ""), "duplicate-key", 3, 26,
     "block_size"},
    {CHAT("", ARRIVAL LENGTHS, "run: {seed: 1}\nrun: {seed: 2}\n"), "duplicate-key", 6, 1, "run"},
    {CHAT("", ARRIVAL "output_tokens: 20", ""), "missing-key", 4, 11, "prompt_tokens"},
    {CHAT("", LENGTHS, ""), "missing-key", 4, 11, "workload.arrival"},
    {"model: llama-3.1-8b\nhardware: h100-sxm\n", "missing-key", 1, 1, "workload"},
    // types
    {"[1, 2]\n", "wrong-type", 1, 1, "mapping"},
    {CHAT("max_num_seqs: [1]", ARRIVAL LENGTHS, ""), "wrong-type", 3, 24,
     "a single value, not a list"},
    {CHAT("enable_chunked_prefill: maybe", ARRIVAL LENGTHS, ""), "wrong-type", 3, 34,
     "true or false"},
    {CHAT("enable_chunked_prefill: \"true\"", ARRIVAL LENGTHS, ""), "wrong-type", 3, 34,
     "true or false"},
    {CHAT("memory: 3", ARRIVAL LENGTHS, ""), "wrong-type", 3, 18, "mapping"},
    {CHAT("", ARRIVAL LENGTHS, "run: 4\n"), "wrong-type", 5, 6, "mapping"},
    // values
    {CHAT("max_num_seqs: 0", ARRIVAL LENGTHS, ""), "out-of-range", 3, 24, "at least 1"},
    {CHAT("max_num_seqs: -4", ARRIVAL LENGTHS, ""), "out-of-range", 3, 24, "-4"},
    {CHAT("max_num_seqs: 1e40", ARRIVAL LENGTHS, ""), "out-of-range", 3, 24, NULL},
    {CHAT("max_num_seqs: 2.5", ARRIVAL LENGTHS, ""), "not-whole", 3, 24, NULL},
    {CHAT("max_num_seqs: NaN", ARRIVAL LENGTHS, ""), "bad-number", 3, 24, NULL},
    {CHAT("max_model_len: 8 parsecs", ARRIVAL LENGTHS, ""), "unknown-unit", 3, 25, NULL},
    {CHAT("gpu_memory_utilization: 1.5", ARRIVAL LENGTHS, ""), "out-of-range", 3, 34, "at most 1"},
    {CHAT("gpu_memory_utilization: 0", ARRIVAL LENGTHS, ""), "out-of-range", 3, 34, "above 0"},
    {CHAT("scheduling_policy: priorty", ARRIVAL LENGTHS, ""), "bad-choice", 3, 29,
     "did you mean 'priority'"},
    {CHAT("", "arrival: {process: poison, rate: 8/s}, " LENGTHS, ""), "bad-choice", 4, 31,
     "did you mean 'poisson'"},
    {CHAT("", "arrival: {process: poisson, rate: 0/s}, " LENGTHS, ""), "out-of-range", 4, 46,
     "above 0"},
    {CHAT("", "arrival: {process: poisson, rate: -1/s}, " LENGTHS, ""), "out-of-range", 4, 46,
     NULL},
    {CHAT("", ARRIVAL "prompt_tokens: 0, output_tokens: 20", ""), NULL, 4, 0, NULL},
    {CHAT("", ARRIVAL "prompt_tokens: {distribution: uniform, min: 9, max: 4}, output_tokens: 20",
          ""),
     NULL, 4, 0, NULL},
    {CHAT("", ARRIVAL "prompt_tokens: {distribution: lognormal, mean: 9}, output_tokens: 20", ""),
     NULL, 4, 0, NULL},
    // what nothing would use
    {CHAT("", "arrival: {process: closed_loop, concurrency: 4, rate: 8/s}, " LENGTHS, ""),
     "unused-key", 4, 60, "closed_loop"},
    {CHAT("",
          ARRIVAL "prompt_tokens: {distribution: uniform, min: 1, max: 9, cv: 1}, output_tokens: 2",
          ""),
     "unused-key", 4, 107, "uniform"},
    {CHAT("", ARRIVAL LENGTHS, "cost: {step: 1ms}\n"), "unused-key", 5, 8, "datasheet"},
    {CHAT("", ARRIVAL LENGTHS, "cost: {level: fixed, step: 1ms, base: 1ms}\n"), "unused-key", 5, 33,
     "fixed"},
    // what this version does not simulate
    {CHAT("swap_space: 4", ARRIVAL LENGTHS, ""), "unused-key", 3, 22, "never swaps"},
    {CHAT("preemption: swap", ARRIVAL LENGTHS, ""), "conflict", 3, 22, "no other way"},
    {CHAT("max_model_len: 8192, max_num_batched_tokens: 2048, enable_chunked_prefill: false",
          ARRIVAL LENGTHS, ""),
     "conflict", 3, 55, "below max_model_len"},
    {CHAT("profile: vllm-0.2, max_model_len: 8192, scheduling_policy: priority", ARRIVAL LENGTHS,
          ""),
     "conflict", 3, 0, "in order of arrival alone"},
    {CHAT("profile: hf-concat, scheduling_policy: priority", ARRIVAL LENGTHS, ""), "conflict", 3, 0,
     "in order of arrival alone"},
    {CHAT("", ARRIVAL LENGTHS, "cost: {swap_per_block: 1ms}\n"), "unused-key", 5, 24,
     "never swaps"},
    {CHAT("", ARRIVAL LENGTHS ", best_of: 4", ""), "unsupported-key", 4, 91, "'n: 4'"},
    {CHAT("profile: orca-max", ARRIVAL LENGTHS ", beam_width: 4", ""), "unsupported-key", 4, 91,
     "'n: 4'"},
    {V0("switch: {beam_search: none}", ", beam_width: 4"), "unsupported-key", 4, 0,
     "does not search with beams"},
    {V0("switch: {beam_search: true}", ", beam_width: 4"), "bad-choice", 3, 0, "core"},
    {CHAT("switch: {beam_search: core}", ARRIVAL LENGTHS ", beam_width: 4", ""), "unsupported-key",
     4, 91, "beam_search: loop"},
    {CHAT("scheduling_policy: priority",
          ARRIVAL LENGTHS ", beam_width: 4, classes: [{name: a}, {name: b, priority: 1}]", ""),
     "conflict", 4, 91, "priority"},
    {CHAT("max_model_len: 100k", ARRIVAL LENGTHS ", beam_width: 32768", ""), "out-of-range", 4, 0,
     NULL},
    {V0("", ", best_of: 4, beam_width: 4"), "conflict", 4, 0, "leave best_of out"},
    {V0("", ", best_of: 4, beam_switch: 0.5"), "unused-key", 4, 0, "beam_width"},
    {V0("max_num_seqs: 3", ", best_of: 4"), "conflict", 4, 0, "max_num_seqs"},
    {V0("", ", best_of: 2, n: 3"), "out-of-range", 4, 0, NULL},
    {V0("", ", best_of: 1, n: 2"), "out-of-range", 4, 0, NULL},
    {V0("switch: {beam_search: none}", ", best_of: 4, classes: [{name: a, beam_width: 2}]"),
     "unsupported-key", 4, 0, NULL},
    {V0("preemption: recompute", ", n: 2"), "conflict", 3, 0, "only swap"},
    {V0("scheduling_policy: priority, enable_chunked_prefill: true", ""), "conflict", 3, 0,
     "no effect in vLLM V0"},
    {V0("scheduling_policy: priority", ", n: 2"), "conflict", 3, 0, "priority stops vLLM V0"},
    {V0("scheduling_policy: priority, preemption: swap", ""), "conflict", 3, 0,
     "priority stops vLLM V0"},
    {V0("kv_policy: reserved_max", ""), "conflict", 3, 0, "paged"},
    {V0("kv_policy: radix", ""), "conflict", 3, 0, "paged"},
    {V0("max_num_batched_tokens: 8191", ""), "conflict", 3, 74, "below max_model_len 8192"},
    {V0("max_num_batched_tokens: 100, enable_chunked_prefill: true, max_num_seqs: 101", ""),
     "conflict", 3, 74, "below max_num_seqs 101"},
    {V0("max_num_seqs: 8193", ""), "conflict", 3, 64, "below max_num_seqs 8193"},
    {V0("max_num_seqs: 3", ", n: 4"), "conflict", 4, 0, "'workload.n' reaches 4"},
    {V0("max_num_seqs: 3",
        ", classes: [{name: a}, {name: b, n: {distribution: uniform, min: 1, max: 4}}]"),
     "conflict", 4, 0, "'workload.classes.1.n' reaches 4"},
    {CHAT("", ARRIVAL LENGTHS ", n: 1025", ""), "out-of-range", 4, 0, "at most 1024"},
    {CHAT("", ARRIVAL LENGTHS ", n: {distribution: uniform, min: 1, max: 1e17}", ""),
     "out-of-range", 4, 0, "'max' is 1e17, must be at least 0 and at most 1024"},
    {CHAT("profile: llama.cpp, parallel: 0", ARRIVAL LENGTHS, ""), "out-of-range", 3, 40,
     "'parallel' is 0"},
    {CHAT("profile: sglang, page_size: x", ARRIVAL LENGTHS, ""), "bad-number", 3, 0,
     "'page_size': 'x'"},
    {V0("long_prefill_token_threshold: 8", ""), "unused-key", 3, 0, "vllm_v0"},
    {CHAT("profile: vllm-0.2, max_model_len: 8192, enable_prefix_caching: true", ARRIVAL LENGTHS,
          ""),
     "unsupported-key", 3, 0, "no prefix cache before 0.4"},
    {V0("enable_prefix_caching: true", ", n: 2"), "unsupported-key", 3, 0, "several sequences"},
    {V0("enable_prefix_caching: true, kv_eviction: lfu", ""), "unsupported-key", 3, 0, "lru"},
    {V0("enable_prefix_caching: true, enable_chunked_prefill: true, max_num_batched_tokens: 1000",
        ""),
     "conflict", 3, 0, "multiple of block_size"},
    {V0("enable_prefix_caching: true, preemption: swap", ", timeout: {total: 9s}"), "conflict", 3,
     0, "gives up"},
    {"model: gemma-2-9b\nhardware: h100-sxm\nengine: {profile: vllm-0.6, max_model_len: 8192, "
     "enable_prefix_caching: true}\nworkload: {" ARRIVAL LENGTHS "}\n",
     "conflict", 3, 0, "windowed layers"},
    {CHAT("pipeline_parallel_size: 2", ARRIVAL LENGTHS, ""), "unsupported-key", 3, 34, "pipeline"},
    {CHAT("data_parallel_size: 2", ARRIVAL LENGTHS, ""), "unsupported-key", 3, 30,
     "data parallelism"},
    {CHAT("switch: {window_retention: sparse}", ARRIVAL LENGTHS, ""), "unsupported-key", 3, 37,
     "no effect"},
    {CHAT("", ARRIVAL LENGTHS, "cluster: {router: cache_aware}\n"), "unsupported-key", 5, 19,
     "cache_aware"},
    {CHAT("", ARRIVAL LENGTHS, "cost: {level: table}\n"), "missing-key", 5, 7, "cost.file"},
    {"model: qwen3.5-27b\nhardware: h200-sxm\nengine: {profile: vllm-0.10, enable_prefix_caching: "
     "true}\nworkload: {" ARRIVAL LENGTHS "}\n",
     "unsupported-key", 3, 53, "recurrent states"},
    {"model: qwen3.5-27b\nhardware: h200-sxm\nengine: {profile: vllm-2026-08, "
     "enable_chunked_prefill: false}\nworkload: {" ARRIVAL LENGTHS "}\n",
     "conflict", 3, 57, "chunked"},
    {CHAT("switch: {state_caching: asked}", ARRIVAL LENGTHS, ""), "unsupported-key", 3, 34,
     "no effect"},
    {"model: gemma-2-9b\nhardware: h100-sxm\nengine: {kv_eviction: fifo}\nworkload: {" ARRIVAL
         LENGTHS "}\n",
     "conflict", 3, 23, "whole context"},
    {"model: gemma-2-9b\nhardware: h100-sxm\nengine: {enable_prefix_caching: false, switch: "
     "{window_retention: sparse}}\nworkload: {" ARRIVAL LENGTHS "}\n",
     "unsupported-key", 3, 67, "no effect"},
    // rules between keys
    {CHAT("max_model_len: 1M", ARRIVAL LENGTHS, ""), "beyond-model", 3, 25, "131072"},
    {CHAT("tensor_parallel_size: 3", ARRIVAL LENGTHS, ""), "heads-not-divided", 3, 32,
     "32 query heads"},
    {CHAT("kv_cache_tokens: 1000, num_gpu_blocks_override: 9", ARRIVAL LENGTHS, ""), "conflict", 3,
     27, "pool"},
    {CHAT("kv_cache_tokens: 1000, gpu_memory_utilization: 0.8", ARRIVAL LENGTHS, ""), "unused-key",
     3, 57, "pool is stated"},
    {CHAT("kv_cache_dtype: fp9", ARRIVAL LENGTHS, ""), "bad-choice", 3, 26, "fp9"},
    {CHAT("quantization: q17", ARRIVAL LENGTHS, ""), "bad-choice", 3, 24, "q17"},
    {CHAT("", ARRIVAL LENGTHS, "cost: {level: calibrated}\n"), "no-calibration", 5, 15,
     "no calibration"},
    {CHAT("", ARRIVAL LENGTHS, "run: {requests: 5, duration: 1min}\n"), "conflict", 5, 30, "both"},
    {CHAT("", ARRIVAL LENGTHS, "slo: [\"ttft p99 <= 2 s for bob\"]\n"), "unknown-class", 5, 6,
     "bob"},
    {CHAT("", ARRIVAL LENGTHS, "slo: [\"ttft p98 <= 2 s\"]\n"), NULL, 5, 7, NULL},
    {CHAT("", ARRIVAL LENGTHS, "require: [\"preemtions == 0\"]\n"), "unknown-figure", 5, 11,
     "did you mean 'preemptions'"},
    {CHAT("", ARRIVAL LENGTHS, "require: [\"preemptions = 0\"]\n"), "bad-require", 5, 11, NULL},
    {CHAT("", ARRIVAL LENGTHS, "run: {warmup: {requests: 5, time: 1s}}\n"), "conflict", 5, 15,
     NULL},
    {CHAT("", ARRIVAL LENGTHS, "price: {usd_per_gpu_hour: 1, usd_per_instance_hour: 4}\n"),
     "conflict", 5, 53, NULL},
    // data by name
    {"model: llama-3.1-9b\nhardware: h100-sxm\n", "unknown-name", 1, 8, "did you mean"},
    {"model: llama-3.1-8b\nhardware: a100-80gb\n", "ambiguous-name", 2, 11,
     "a100-pcie-80gb, a100-sxm4-80gb"},
    {"model: llama-3.1-8b\nhardware: h100-sxm\nengine: {profile: vlm-0.19}\n", "unknown-name", 3,
     19, "vllm-0.19"},
    {"model: llama-3.1-8b\nhardware: h100-sxm\nengine: {profile: vllm-0.0.1}\n", "unknown-name", 3,
     19, "older"},
    {"model: llama-3.1-8b\nhardware: m2-ultra\n", "missing-key", 2, 11, "memory"},
};

static bool mentions(const struct kvsim_error *err, const char *part)
{
    return part == NULL || strstr(err->message, part) != NULL || strstr(err->hint, part) != NULL;
}

static bool is_named(const struct loaded *loaded, const struct bad *bad)
{
    for (size_t i = 0; i < loaded->diags.count; i++) {
        const struct kvsim_error *at = &loaded->diags.at[i];
        if ((bad->code == NULL || strcmp(at->code, bad->code) == 0) && mentions(at, bad->part) &&
            at->line == bad->line && (bad->column == 0 || at->column == bad->column) &&
            strcmp(at->file, loaded->path) == 0)
            return true;
    }
    return false;
}

static void print_diags(const struct loaded *loaded, const struct bad *bad)
{
    fprintf(stderr, "expected %d:%d [%s] in\n%s", bad->line, bad->column,
            bad->code == NULL ? "" : bad->code, bad->text);
    for (size_t i = 0; i < loaded->diags.count; i++)
        fprintf(stderr, "  %d:%d %s [%s] (%s)\n", loaded->diags.at[i].line,
                loaded->diags.at[i].column, loaded->diags.at[i].message, loaded->diags.at[i].code,
                loaded->diags.at[i].hint);
}

START_TEST(bad_input_is_named_with_its_place)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct loaded loaded;
        load_text(&loaded, cases[i].text);
        if (loaded.status != KVSIM_ERR_SCENARIO || loaded.scenario != NULL ||
            !is_named(&loaded, &cases[i])) {
            print_diags(&loaded, &cases[i]);
            failed++;
        }
        loaded_end(&loaded);
    }
    ck_assert_int_eq(failed, 0);
}
END_TEST

START_TEST(many_diagnostics_at_once_and_no_more_than_twenty)
{
    struct loaded loaded;
    load_text(
        &loaded,
        "model: nobody\nhardware: nothing\nengine: {max_num_seqs: x, block_size: y, foo: 1}\n"
        "workload: {arrival: {process: poisson, rate: 8}, prompt_tokens: {distribution: fixed}}\n"
        "run: {seed: -1, requests: 0}\nslo: [\"nonsense\"]\nprice: {usd_per_gpu_hour: cheap}\n");
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_uint_ge(loaded.diags.total, 10);
    loaded_end(&loaded);

    char text[8192] = BARE_MODEL BARE_COST BARE_WORKLOAD "engine:\n";
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  bad_key_%d: 1\n", i);
    load_text(&loaded, text);
    ck_assert_uint_eq(loaded.diags.count, KVSIM_DIAGS_MAX);
    ck_assert_uint_ge(loaded.diags.total, 40);
    loaded_end(&loaded);
}
END_TEST

START_TEST(defaults_are_put_and_recorded)
{
    struct loaded loaded;
    load_text(&loaded, BARE);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    const struct serve_param *seed = param_of(&loaded, "run.seed");
    ck_assert_ptr_nonnull(seed);
    ck_assert_str_eq(seed->value, "1");
    ck_assert_str_eq(seed->origin, "default");
    ck_assert_ptr_nonnull(strstr(loaded.config->yaml, "seed: 1"));
    loaded_end(&loaded);
}
END_TEST

START_TEST(units_and_hyphens_are_read)
{
    struct loaded loaded;
    load_text(&loaded,
              BARE_MODEL BARE_COST BARE_WORKLOAD "engine: {profile: vllm-0.19, max-model-len: 8k, "
                                                 "num-gpu-blocks-override: 2k, watermark: 1%}\n");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_int_eq(loaded.config->sched.max_model_len, 8192); // tokens: 1024
    ck_assert_int_eq(loaded.config->pool_blocks, 2000);         // a count: 1000
    ck_assert_int_eq(loaded.config->sched.watermark.num, 1);
    ck_assert_int_eq(loaded.config->sched.watermark.den, 100);
    ck_assert_str_eq(param_of(&loaded, "engine.max_model_len")->value, "8192");
    ck_assert_str_eq(param_of(&loaded, "engine.max_model_len")->unit, "tokens");
    loaded_end(&loaded);
}
END_TEST

START_TEST(null_is_absence)
{
    struct loaded loaded;
    load_text(&loaded, BARE_MODEL BARE_COST BARE_WORKLOAD
              "engine: {profile: vllm-0.19, max_model_len: 64, num_gpu_blocks_override: 20, "
              "watermark: null}\nrun:\n");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_int_eq(loaded.config->sched.watermark.num, 0);
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.read", bad_input_is_named_with_its_place,
           many_diagnostics_at_once_and_no_more_than_twenty, defaults_are_put_and_recorded,
           units_and_hyphens_are_read, null_is_absence)
