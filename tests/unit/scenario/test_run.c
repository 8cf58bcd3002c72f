#include "load_text.h"

#include "support/check_main.h"

static void load_rest(struct loaded *loaded, const char *rest)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s", BARE, rest);
    load_text(loaded, text);
    ck_assert_msg(loaded->status == KVSIM_OK, "%s: %s", rest, loaded->diags.at[0].message);
}

START_TEST(defaults_of_a_run)
{
    struct loaded loaded;
    load_rest(&loaded, "");
    const struct serve_config *config = loaded.config;
    ck_assert_uint_eq(config->workload.request_limit, 2000);
    ck_assert_int_eq(config->replications, 5);
    ck_assert_uint_eq(config->seed, 1);
    ck_assert_int_eq(config->warmup.kind, SERVE_WARMUP_DEFAULT);
    ck_assert(config->stop_when_overloaded);
    ck_assert_uint_eq(config->replica_count, 1);
    ck_assert_int_eq(config->router, SERVE_ROUND_ROBIN);
    ck_assert_uint_eq(config->record_requests, 20000);
    ck_assert_int_eq(config->record_sample_ns, -1);
    ck_assert_double_eq(config->usd_per_gpu_hour, 0);
    ck_assert_double_eq(config->price_utilization, 1);
    ck_assert_str_eq(config->name, "case"); // the file's
    loaded_end(&loaded);
}
END_TEST

START_TEST(every_part_is_read)
{
    struct loaded loaded;
    load_rest(&loaded, "name: mine\nrun: {duration: 2min, replications: 3, seed: 77, warmup: 25%, "
                       "stop_when_overloaded: false}\n"
                       "cluster: {replicas: 4, router: {policy: least_outstanding}}\n"
                       "record: {requests: all, timeline: 250ms}\nslo: [\"ttft p99 <= 2 s\", \"itl "
                       "mean <= 50 ms\"]\n"
                       "require: [\"preemptions == 0\", \"kv_usage_peak < 0.95\"]\n"
                       "price: {usd_per_instance_hour: 8, utilization: 50%}\n");
    const struct serve_config *config = loaded.config;
    ck_assert_str_eq(config->name, "mine");
    ck_assert_uint_eq(config->workload.request_limit, 0);
    ck_assert_int_eq(config->workload.duration_ns, 120000000000);
    ck_assert_int_eq(config->replications, 3);
    ck_assert_uint_eq(config->seed, 77);
    ck_assert_int_eq(config->warmup.kind, SERVE_WARMUP_SHARE);
    ck_assert_double_eq(config->warmup.share, 0.25);
    ck_assert(!config->stop_when_overloaded);
    ck_assert_uint_eq(config->replica_count, 4);
    ck_assert_int_eq(config->router, SERVE_LEAST_OUTSTANDING);
    ck_assert_uint_eq(config->record_requests, UINT64_MAX);
    ck_assert_int_eq(config->record_sample_ns, 250000000);
    ck_assert_uint_eq(config->slo_count, 2);
    ck_assert_int_eq(config->slos[1].statistic, SPEC_MEAN);
    ck_assert_uint_eq(config->require_count, 2);
    ck_assert_str_eq(config->requires[1].figure, "kv_usage_peak");
    ck_assert_int_eq(config->requires[0].relation, SERVE_EQ);
    ck_assert_int_eq(config->requires[1].relation, SERVE_LT);
    ck_assert_double_eq(config->requires[1].value, 0.95);
    ck_assert_double_eq(config->usd_per_gpu_hour, 8);
    ck_assert_double_eq(config->price_utilization, 0.5);
    loaded_end(&loaded);
}
END_TEST

START_TEST(warmup_takes_requests_or_time)
{
    struct loaded loaded;
    load_rest(&loaded, "run: {warmup: {requests: 50}}\n");
    ck_assert_int_eq(loaded.config->warmup.kind, SERVE_WARMUP_REQUESTS);
    ck_assert_int_eq(loaded.config->warmup.requests, 50);
    loaded_end(&loaded);
    load_rest(&loaded, "run: {warmup: {time: 3s}}\n");
    ck_assert_int_eq(loaded.config->warmup.kind, SERVE_WARMUP_TIME);
    ck_assert_int_eq(loaded.config->warmup.time_ns, 3000000000);
    loaded_end(&loaded);
    load_rest(&loaded, "record: {requests: none, timeline: none}\n");
    ck_assert_uint_eq(loaded.config->record_requests, 0);
    ck_assert_int_eq(loaded.config->record_sample_ns, 0);
    loaded_end(&loaded);
}
END_TEST

START_TEST(levels_of_cost)
{
    struct loaded loaded;
    load_text(&loaded, BARE_MODEL BARE_ENGINE BARE_WORKLOAD
              "cost: {level: affine, base: 1ms, per_prefill_token: 0.5us, per_decode_seq: 10us, "
              "per_context_token: 0.25ns,"
              " host: {per_step: 20us, overlap: false}}\n");
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    const struct cost_options *cost = loaded.config->cost.options;
    ck_assert_int_eq(cost->level, COST_AFFINE);
    ck_assert_double_eq(cost->affine.base_ns, 1e6);
    ck_assert_double_eq(cost->affine.per_prefill_token_ns, 500);
    ck_assert_double_eq(cost->affine.per_context_token_ns, 0.25);
    ck_assert(cost->has_host_per_step && cost->has_host_overlap && !cost->host_overlap);
    ck_assert_double_eq(cost->host_per_step_ns, 20000);
    loaded_end(&loaded);
    load_text(&loaded, BARE_MODEL BARE_ENGINE BARE_WORKLOAD "cost: {level: fixed}\n");
    ck_assert_str_eq(loaded.diags.at[0].code, "missing-key");
    loaded_end(&loaded);
    load_text(&loaded, BARE_MODEL BARE_ENGINE BARE_WORKLOAD "cost: {level: affine}\n");
    ck_assert_str_eq(loaded.diags.at[0].code, "missing-key");
    loaded_end(&loaded);
}
END_TEST

START_TEST(memory_may_be_said)
{
    struct loaded loaded;
    static const char chat[] = "model: llama-3.1-8b\nhardware: h100-sxm\n" BARE_WORKLOAD;
    char text[2048];
    snprintf(text, sizeof text,
             "%sengine: {max_model_len: 8192, memory: {weights: 15GiB, activation: 2GiB, "
             "non_torch: 1GiB, graphs: 0}}\n",
             chat);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_int_eq(kv_waterfall_find(&loaded.config->waterfall, KV_WF_WEIGHTS)->bytes_per_gpu,
                     (int64_t)15 << 30);
    ck_assert_int_eq(kv_waterfall_find(&loaded.config->waterfall, KV_WF_ACTIVATION)->bytes_per_gpu,
                     (int64_t)2 << 30);
    loaded_end(&loaded);
    // A table by the token budget: half way between its rows.
    snprintf(text, sizeof text,
             "%sengine: {max_model_len: 8192, max_num_batched_tokens: 5k, memory: {activation: "
             "{2k: 1GiB, 8k: 3GiB}}}\n",
             chat);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_int_eq(kv_waterfall_find(&loaded.config->waterfall, KV_WF_ACTIVATION)->bytes_per_gpu,
                     (int64_t)2 << 30);
    loaded_end(&loaded);
    snprintf(text, sizeof text,
             "%sengine: {max_model_len: 8192, max_num_batched_tokens: 9k, memory: {activation: "
             "{2k: 1GiB, 8k: 3GiB}}}\n",
             chat);
    load_text(&loaded, text);
    ck_assert_str_eq(loaded.diags.at[0].code, "out-of-range");
    loaded_end(&loaded);
    snprintf(text, sizeof text,
             "%sengine: {max_model_len: 8192, kv_cache_dtype: {k: fp8, v: bf16}}\n", chat);
    load_text(&loaded, text);
    ck_assert_str_eq(loaded.config->kv_cache_dtype, "fp8/bf16");
    ck_assert_uint_eq(loaded.config->layout.lower_bound_bytes_per_token, 131072 * 3 / 4);
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.run_part", defaults_of_a_run, every_part_is_read,
           warmup_takes_requests_or_time, levels_of_cost, memory_may_be_said)
