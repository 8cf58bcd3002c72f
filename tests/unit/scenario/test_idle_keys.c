#include "load_text.h"

#include "support/check_main.h"

/* What is read and has nothing to do is a warning; with the value beside it that gives it something to do there is none. */
enum { KEY_BYTES = 128 };

static const char head[] = "model: llama-3.1-8b\nhardware: h100-sxm\n";

static const char *warned(const char *rest, char key[KEY_BYTES])
{
    char text[1200];
    struct loaded loaded;
    snprintf(text, sizeof text, "%s%s", head, rest);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s: %s", rest, loaded.diags.at[0].message);
    ck_assert_uint_le(loaded.diags.warning_count, 1);
    key[0] = '\0';
    if (loaded.diags.warning_count == 1) {
        const struct kvsim_error *warning = &loaded.diags.warnings[0];
        ck_assert_str_eq(warning->code, "no-effect");
        ck_assert_int_gt(warning->line, 0);
        snprintf(key, KEY_BYTES, "%s", warning->key);
    }
    loaded_end(&loaded);
    return key;
}

#define ENGINE "engine: {profile: vllm-0.19}\n"
#define ENGINE_OF(keys) "engine: {profile: vllm-0.19, " keys "}\n"
#define WORKLOAD_OF(process, rest) \
    "workload: {arrival: {process: " process "}, prompt_tokens: 100, " rest "}\n"
#define POISSON "poisson, rate: 1/s"
#define WORKLOAD WORKLOAD_OF(POISSON, "output_tokens: 50")
#define SPREAD "{distribution: lognormal, mean: 90, cv: 1}"

static void expect(const char *key, const char *idle, const char *busy)
{
    char found[KEY_BYTES];
    ck_assert_str_eq(warned(idle, found), key);
    ck_assert_str_eq(warned(busy, found), "");
}

START_TEST(keys_of_the_workload)
{
    expect("workload.correlation",
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: " SPREAD ", correlation: 0.5"),
           ENGINE "workload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: " SPREAD
                  ", output_tokens: " SPREAD ", correlation: 0.5}\n");
    expect("workload.classes.1.correlation",
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: " SPREAD
                                       ", classes: [{name: a}, {name: b, correlation: 0.5}]"),
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: " SPREAD
                                       ", classes: [{name: a}, {name: b, correlation: 0.5, "
                                       "prompt_tokens: " SPREAD "}]"));
    expect("workload.ignore_eos",
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, ignore_eos: true"),
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, max_tokens: 80, ignore_eos: true"));
    expect("workload.timeout.first_token",
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, timeout: {first_token: 3s, total: 2s}"),
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, timeout: {first_token: 1s, total: 2s}"));
    expect("workload.sessions.think_time",
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, sessions: {turns: 1, think_time: 3s, "
                                       "prompt_growth: 1}"),
           ENGINE WORKLOAD_OF(POISSON, "output_tokens: 50, sessions: {turns: 2, think_time: 3s, "
                                       "prompt_growth: 1}"));
    expect("run.stop_when_overloaded",
           ENGINE WORKLOAD_OF("all_at_once",
                              "output_tokens: 50") "run: {stop_when_overloaded: true}\n",
           ENGINE WORKLOAD "run: {stop_when_overloaded: true}\n");
}
END_TEST

START_TEST(keys_of_the_service)
{
    expect("cluster.router", ENGINE WORKLOAD "cluster: {router: round_robin}\n",
           ENGINE WORKLOAD "cluster: {router: round_robin, replicas: 2}\n");
    expect("engine.scheduling_policy", ENGINE_OF("scheduling_policy: priority") WORKLOAD,
           ENGINE_OF("scheduling_policy: priority")
               WORKLOAD_OF(POISSON, "output_tokens: 50, classes: [{name: a, priority: 1}, "
                                    "{name: b}]"));
    expect("engine.quantization_group_size", ENGINE_OF("quantization_group_size: 64") WORKLOAD,
           ENGINE_OF("quantization: awq, quantization_group_size: 64") WORKLOAD);
    expect("engine.enforce_eager",
           ENGINE_OF("enforce_eager: true, kv_cache_tokens: 90000") WORKLOAD
           "cost: {level: fixed, step: 1ms}\n",
           ENGINE_OF("enforce_eager: true, kv_cache_tokens: 90000") WORKLOAD);
    expect("engine.enforce_eager",
           ENGINE_OF("enforce_eager: true, kv_cache_tokens: 90000") WORKLOAD
           "cost: {level: affine, base: 1ms}\n",
           ENGINE_OF("enforce_eager: true") WORKLOAD "cost: {level: affine, base: 1ms}\n");
    expect("engine.enable_chunked_prefill",
           ENGINE_OF("enable_chunked_prefill: false, max_model_len: 512, max_num_seqs: 4, "
                     "max_num_batched_tokens: 2048") WORKLOAD,
           ENGINE_OF("enable_chunked_prefill: false, max_model_len: 512, max_num_seqs: 4, "
                     "max_num_batched_tokens: 2047") WORKLOAD);
    expect("engine.disable_hybrid_kv_cache_manager",
           ENGINE_OF("disable_hybrid_kv_cache_manager: true") WORKLOAD,
           ENGINE_OF("disable_hybrid_kv_cache_manager: false") WORKLOAD);
}
END_TEST

/* Neither a default nor what a profile says; a point of a sweep that needs the key elsewhere still runs. */
START_TEST(only_what_is_stated_is_said)
{
    char found[KEY_BYTES];
    struct loaded loaded;
    ck_assert_str_eq(warned(ENGINE WORKLOAD, found), "");
    load_text_set(&loaded,
                  "model: llama-3.1-8b\nhardware: h100-sxm\n" ENGINE WORKLOAD
                  "cluster: {replicas: 1}\n",
                  "cluster.router", "round_robin");
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_str_eq(loaded.diags.warnings[0].file, "--set cluster.router");
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.idle_keys", keys_of_the_workload, keys_of_the_service,
           only_what_is_stated_is_said)
