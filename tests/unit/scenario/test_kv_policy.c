#include "load_text.h"

#include "support/check_main.h"

#include "kv/reserve.h"
#include "sched/sched.h"

#define MODEL "model: {kv_groups: [{kind: full, layers: 1, bytes_per_token: 1}]}\n"
#define REST                                                                                   \
    "cost: {level: fixed, step: 1ms}\n"                                                        \
    "workload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: 8, output_tokens: 4}\n" \
    "run: {requests: 10}\n"

static void load_engine(struct loaded *loaded, const char *engine)
{
    char text[2048];
    snprintf(text, sizeof text,
             MODEL "engine: {num_gpu_blocks_override: 400, max_model_len: 64, %s}\n" REST, engine);
    load_text(loaded, text);
}

static void accept(struct loaded *loaded, const char *engine)
{
    load_engine(loaded, engine);
    ck_assert_msg(loaded->status == KVSIM_OK, "%s: %s", engine, loaded->diags.at[0].message);
}

static void refuse(const char *engine, const char *key, const char *code)
{
    struct loaded loaded;
    load_engine(&loaded, engine);
    ck_assert_msg(loaded.status == KVSIM_ERR_SCENARIO, "%s", engine);
    ck_assert_msg(strcmp(loaded.diags.at[0].code, code) == 0, "%s: %s [%s]", engine,
                  loaded.diags.at[0].message, loaded.diags.at[0].code);
    ck_assert_str_eq(loaded.diags.at[0].key, key);
    loaded_end(&loaded);
}

START_TEST(profiles_choose_scheduler_policy_and_place)
{
    static const struct {
        const char *engine;
        const struct sched_ops *ops;
        enum kv_policy policy;
        enum kv_placement placement;
        bool is_static;
    } rows[] = {
        {"profile: vllm-0.19", &sched_vllm_v1, KV_PAGED, KV_ANY_BLOCKS, false},
        {"profile: orca-max", &sched_orca, KV_RESERVED_MAX, KV_BUDDY, false},
        {"profile: orca-pow2", &sched_orca, KV_RESERVED_POW2, KV_BUDDY, false},
        {"profile: orca-exact, kv_placement: best_fit", &sched_orca, KV_RESERVED_EXACT, KV_BEST_FIT,
         false},
        {"profile: fastertransformer", &sched_orca, KV_RESERVED_MAX, KV_FIRST_FIT, true},
        {"profile: vllm-0.19, kv_policy: reserved_exact, kv_placement: first_fit", &sched_vllm_v1,
         KV_RESERVED_EXACT, KV_FIRST_FIT, false},
        // Paged memory has nothing to place, and needs a scheduler that throws out.
        {"profile: orca-max, kv_policy: paged", &sched_vllm_v1, KV_PAGED, KV_ANY_BLOCKS, false},
        {"profile: vllm-0.19, kv_policy: no_cache", &sched_orca, KV_NO_CACHE, KV_ANY_BLOCKS, false},
        // So does a tree, which is a prefix cache by itself.
        {"profile: vllm-0.19, kv_policy: radix", &sched_vllm_v1, KV_RADIX, KV_ANY_BLOCKS, false},
        {"profile: orca-max, kv_policy: radix", &sched_vllm_v1, KV_RADIX, KV_ANY_BLOCKS, false},
        // Slots are a scheduler of their own, whoever asks.
        {"profile: llama.cpp", &sched_llama_cpp, KV_SLOTS, KV_ANY_BLOCKS, false},
        {"profile: llama.cpp, kv_unified: true", &sched_llama_cpp, KV_CELLS, KV_ANY_BLOCKS, false},
        {"profile: llama.cpp, kv_policy: cells", &sched_llama_cpp, KV_CELLS, KV_ANY_BLOCKS, false},
        {"profile: vllm-0.19, kv_policy: slots", &sched_llama_cpp, KV_SLOTS, KV_ANY_BLOCKS, false},
        {"profile: orca-max, kv_policy: cells", &sched_llama_cpp, KV_CELLS, KV_ANY_BLOCKS, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        accept(&loaded, rows[i].engine);
        ck_assert_msg(loaded.config->scheduler == rows[i].ops, "%s", rows[i].engine);
        ck_assert_int_eq(loaded.config->kv_policy, rows[i].policy);
        ck_assert_int_eq(loaded.config->kv_placement, rows[i].placement);
        ck_assert_int_eq(loaded.config->sched.static_batch, rows[i].is_static);
        bool is_cached = loaded.config->sched.enable_prefix_caching;
        bool may_be_cached = rows[i].policy == KV_PAGED || kv_policy_has_slots(rows[i].policy);
        ck_assert(may_be_cached || is_cached == (rows[i].policy == KV_RADIX));
        loaded_end(&loaded);
    }
}
END_TEST

START_TEST(slots_are_as_many_as_fit)
{
    struct loaded loaded;
    accept(&loaded, "profile: vllm-0.19, kv_policy: slots, max_num_seqs: 1");
    ck_assert_uint_eq(loaded.config->cells.slots, 1);
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 1);
    ck_assert_int_eq(loaded.config->cells.slot_tokens, loaded.config->sched.max_model_len);
    ck_assert_int_eq(loaded.config->sched.block_size, 1);
    ck_assert(!loaded.config->sched.async_scheduling);
    loaded_end(&loaded);
    accept(&loaded, "profile: vllm-0.19, kv_policy: slots, max_num_seqs: 100000");
    int64_t usable = loaded.config->pool_blocks - loaded.config->reserved_blocks;
    ck_assert_int_eq(loaded.config->sched.max_num_seqs,
                     usable / loaded.config->sched.max_model_len);
    loaded_end(&loaded);
    accept(&loaded, "profile: vllm-0.19, kv_policy: cells, max_num_seqs: 9");
    ck_assert_uint_eq(loaded.config->cells.slots, 9);
    ck_assert_int_eq(loaded.config->cells.stream_cells,
                     loaded.config->pool_blocks - loaded.config->reserved_blocks);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_batch_is_computed_in_passes)
{
    struct loaded loaded;
    accept(&loaded, "profile: llama.cpp, batch_size: 1024, ubatch_size: 256");
    ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, 1024);
    ck_assert_int_eq(loaded.config->sched.pass_tokens, 256);
    loaded_end(&loaded);
    accept(&loaded, "profile: llama.cpp, parallel: 4, batch_size: 128");
    ck_assert_int_eq(loaded.config->sched.pass_tokens, 128);
    loaded_end(&loaded);
}
END_TEST

#define OWN(engine) \
    MODEL "engine: {num_gpu_blocks_override: 400, max_model_len: 64, " engine "}\n" REST
#define LLAMA "profile: llama.cpp, "

START_TEST(an_override_counts_in_either_name)
{
    static const struct {
        const char *text, *key, *value;
        int64_t seqs, tokens, block;
    } rows[] = {
        {OWN(LLAMA "parallel: 3"), "engine.max_num_seqs", "5", 5, 2048, 1},
        {OWN(LLAMA "max_num_seqs: 3"), "engine.parallel", "5", 5, 2048, 1},
        {OWN(LLAMA "parallel: 3"), "engine.parallel", "5", 5, 2048, 1},
        {OWN("profile: sglang-0.5, max_running_requests: 3, chunked_prefill_size: 32"),
         "engine.max_num_batched_tokens", "48", 3, 48, 1},
        {OWN("profile: sglang-0.5, max_num_seqs: 3, block_size: 4, max_num_batched_tokens: 32"),
         "engine.page_size", "2", 3, 32, 2},
        {OWN("profile: trtllm-1.0, max_batch_size: 3, tokens_per_block: 4, max_num_tokens: 32"),
         "engine.block_size", "8", 3, 32, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        struct scenario_override override = {rows[i].key, rows[i].value};
        loaded_begin(&loaded);
        write_text(loaded.path, rows[i].text);
        loaded_run(&loaded, SCENARIO_FOR_SIZE, &override, 1);
        ck_assert_msg(loaded.status == KVSIM_OK, "%zu: %s", i, loaded.diags.at[0].message);
        ck_assert_int_eq(loaded.config->sched.max_num_seqs, rows[i].seqs);
        ck_assert_int_eq(loaded.config->sched.max_num_batched_tokens, rows[i].tokens);
        ck_assert_int_eq(loaded.config->sched.block_size, rows[i].block);
        loaded_end(&loaded);
    }
}
END_TEST

START_TEST(each_half_of_a_pair_is_overridden_alone)
{
    static const struct {
        const char *engine, *key, *value, *used;
    } rows[] = {
        {"cache_type_k: q8_0, cache_type_v: q4_0", "engine.kv_cache_dtype", "f16", "f16"},
        {"cache_type_k: q8_0, cache_type_v: q4_0", "engine.cache_type_v", "q8_0", "q8_0"},
        {"kv_cache_dtype: q4_0", "engine.cache_type_v", "q8_0", "q4_0/q8_0"},
        {"kv_cache_dtype: {k: q4_0, v: q4_0}", "engine.cache_type_k", "q8_0", "q8_0/q4_0"},
        {"cache_type_k: q8_0, cache_type_v: q4_0", "engine.kv_cache_dtype", "{v: f16}", "q8_0/f16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        char text[1024];
        snprintf(text, sizeof text,
                 "model: llama-3.1-8b\nengine: {profile: llama.cpp, ctx_size: 4k, %s}\n"
                 "hardware: rtx4090\n",
                 rows[i].engine);
        struct scenario_override override = {rows[i].key, rows[i].value};
        loaded_begin(&loaded);
        write_text(loaded.path, text);
        loaded_run(&loaded, SCENARIO_FOR_SIZE, &override, 1);
        ck_assert_msg(loaded.status == KVSIM_OK, "%zu: %s", i, loaded.diags.at[0].message);
        ck_assert_str_eq(loaded.config->kv_cache_dtype, rows[i].used);
        loaded_end(&loaded);
    }
}
END_TEST

START_TEST(one_place_says_a_key_once)
{
    struct loaded loaded;
    load_text(&loaded, OWN(LLAMA "max_num_seqs: 3, parallel: 5"));
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].code, "conflict");
    ck_assert_str_eq(loaded.diags.at[0].key, "engine.parallel");
    ck_assert_int_eq(loaded.diags.at[0].line, 2);
    ck_assert_int_gt(loaded.diags.at[0].column, 0);
    loaded_end(&loaded);
    refuse(LLAMA "kv_cache_dtype: q4_0, cache_type_k: q8_0", "engine.cache_type_k", "conflict");
    refuse("profile: sglang-0.5, page_size: 4, block_size: 4", "engine.page_size", "conflict");
    struct scenario_override both[] = {{"engine.parallel", "2"}, {"engine.max_num_seqs", "2"}};
    loaded_begin(&loaded);
    write_text(loaded.path, OWN(LLAMA "batch_size: 512"));
    loaded_run(&loaded, SCENARIO_FOR_RUN, both, 2);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].code, "conflict");
    loaded_end(&loaded);
    // What states nothing does not contradict.
    accept(&loaded, LLAMA "max_num_seqs: 3, parallel: null");
    ck_assert_int_eq(loaded.config->sched.max_num_seqs, 3);
    loaded_end(&loaded);
}
END_TEST

START_TEST(slots_have_no_queue_no_blocks_and_no_order)
{
    refuse("profile: llama.cpp, kv_policy: paged", "engine.kv_policy", "conflict");
    refuse("profile: llama.cpp, kv_policy: slots, kv_unified: true", "engine.kv_unified",
           "conflict");
    refuse("profile: llama.cpp, block_size: 16", "engine.block_size", "conflict");
    refuse("profile: llama.cpp, async_scheduling: true", "engine.async_scheduling", "conflict");
    refuse("profile: llama.cpp, kv_eviction: lru", "engine.kv_eviction", "unused-key");
    refuse("profile: llama.cpp, scheduling_policy: priority", "engine.scheduling_policy",
           "unused-key");
    refuse("profile: llama.cpp, ctx_size: 4096", "engine.ctx_size",
           "conflict"); // the pool is stated
    refuse("profile: llama.cpp, parallel: 8, ubatch_size: 4", "engine.parallel", "out-of-range");
    refuse("profile: vllm-0.19, kv_policy: slots, batch_size: 512", "engine.batch_size",
           "unused-key");
    refuse("profile: vllm-0.19, kv_policy: slots, watermark: 0.01", "engine.watermark",
           "unused-key");
}
END_TEST

START_TEST(a_tensor_has_no_blocks)
{
    struct loaded loaded;
    accept(&loaded, "profile: vllm-0.19, kv_policy: concat");
    ck_assert_int_eq(loaded.config->sched.block_size, 1);
    ck_assert_uint_eq(loaded.config->layout.block_tokens, 1);
    loaded_end(&loaded);
    refuse("profile: vllm-0.19, kv_policy: concat, block_size: 16", "engine.block_size",
           "conflict");
}
END_TEST

START_TEST(an_order_of_eviction_replaces_the_order_of_the_queue)
{
    struct loaded loaded;
    accept(&loaded, "profile: vllm-0.19, kv_eviction: lfu"); // the profile's queue is old
    ck_assert_int_eq(loaded.config->kv_eviction, KV_EVICT_LFU);
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_NEW);
    loaded_end(&loaded);
    accept(&loaded, "profile: vllm-0.19, kv_eviction: lru");
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_OLD);
    loaded_end(&loaded);
    refuse("profile: vllm-0.19, kv_eviction: lfu, switch: {free_order: new}",
           "engine.switch.free_order", "unused-key");
    refuse("profile: vllm-0.19, kv_eviction: lfu, enable_prefix_caching: false",
           "engine.kv_eviction", "unused-key");
    refuse("profile: orca-max, kv_eviction: lru", "engine.kv_eviction", "unused-key");
    refuse("profile: vllm-0.19, kv_eviction: lifo", "engine.kv_eviction", "bad-choice");
}
END_TEST

START_TEST(a_tree_has_every_order_and_no_queue)
{
    struct loaded loaded;
    accept(&loaded, "profile: vllm-0.19, kv_policy: radix, kv_eviction: slru, block_size: 1");
    ck_assert_int_eq(loaded.config->kv_eviction, KV_EVICT_SLRU);
    ck_assert_int_eq(loaded.config->sched.block_size, 1);
    loaded_end(&loaded);
    accept(&loaded, "profile: vllm-0.19, kv_policy: radix"); // the profile's queue is old
    ck_assert_int_eq(loaded.config->kv_eviction, KV_EVICT_LRU);
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_NEW);
    loaded_end(&loaded);
    refuse("profile: vllm-0.19, kv_policy: radix, enable_prefix_caching: false",
           "engine.enable_prefix_caching", "conflict");
    refuse("profile: vllm-0.19, kv_policy: radix, switch: {free_order: old}",
           "engine.switch.free_order", "unused-key");
    refuse("profile: vllm-0.19, kv_policy: radix, kv_placement: buddy", "engine.kv_placement",
           "unused-key");
}
END_TEST

START_TEST(what_does_not_go_together_is_refused)
{
    refuse("profile: orca-exact, kv_compaction: true", "engine.kv_compaction", "unused-key");
    refuse("profile: vllm-0.19, kv_compaction: false", "engine.kv_compaction", "unused-key");
    refuse("profile: vllm-0.19, kv_placement: buddy", "engine.kv_placement", "unused-key");
    refuse("profile: vllm-0.19, kv_policy: reserved_max, enable_prefix_caching: true",
           "engine.enable_prefix_caching", "conflict");
    refuse("profile: vllm-0.19, kv_policy: unlimited", "engine.kv_policy",
           "conflict"); // the pool is stated
    refuse("profile: vllm-0.19, kv_policy: no_cache, async_scheduling: true",
           "engine.async_scheduling", "conflict");
    refuse("profile: fastertransformer, kv_policy: paged", "engine.kv_policy", "conflict");
    refuse("profile: orca-max, enable_chunked_prefill: true", "engine.enable_chunked_prefill",
           "unused-key");
    refuse("profile: orca-max, watermark: 0.1", "engine.watermark", "unused-key");
    refuse("profile: orca-max, switch: {free_order: old}", "engine.switch.free_order",
           "unused-key");
    refuse("profile: vllm-0.19, switch: {static_batch: true}", "engine.switch.static_batch",
           "unused-key");
    refuse("profile: orca-max, kv_policy: reserved", "engine.kv_policy", "bad-choice");
}
END_TEST

// 40 blocks of 16 hold 64 tokens ten times, but as a power of two 33 blocks need 64.
START_TEST(a_longest_sequence_without_a_buddy_cannot_start)
{
    struct loaded loaded;
    accept(&loaded, "profile: orca-max, block_size: 2, kv_placement: first_fit");
    loaded_end(&loaded);
    load_text(&loaded, MODEL "engine: {num_gpu_blocks_override: 40, max_model_len: 66, block_size: "
                             "2, profile: orca-max}\n" REST);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].code, "cannot-start");
    ck_assert_ptr_nonnull(strstr(loaded.diags.at[0].message, "64"));
    loaded_end(&loaded);
}
END_TEST

// The text that is stored can be read again, and says the same.
START_TEST(the_resolved_scenario_is_one)
{
    static const char *const engines[] = {
        "profile: orca-max",
        "profile: orca-max, kv_policy: paged",
        "profile: vllm-0.19, kv_policy: concat",
        "profile: orca-max, kv_policy: radix",
        "profile: vllm-0.19, kv_policy: radix, kv_eviction: lfu",
        "profile: vllm-0.19, kv_policy: no_cache",
        "profile: vllm-0.19, kv_policy: reserved_pow2, kv_placement: buddy",
        "profile: fastertransformer",
        "profile: llama.cpp",
        "profile: llama.cpp, kv_unified: true",
        "profile: vllm-0.19, kv_policy: slots",
        "profile: orca-max, kv_policy: cells",
    };
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        struct loaded once, twice;
        accept(&once, engines[i]);
        load_text(&twice, once.config->yaml);
        ck_assert_msg(twice.status == KVSIM_OK, "%s: %s (%s)", engines[i],
                      twice.diags.at[0].message, twice.diags.at[0].key);
        ck_assert_int_eq(twice.config->kv_policy, once.config->kv_policy);
        ck_assert(twice.config->scheduler == once.config->scheduler);
        ck_assert_int_eq(twice.config->kv_placement, once.config->kv_placement);
        ck_assert_int_eq(twice.config->sched.block_size, once.config->sched.block_size);
        loaded_end(&once);
        loaded_end(&twice);
    }
}
END_TEST

CHECK_MAIN("scenario.kv_policy", profiles_choose_scheduler_policy_and_place, a_tensor_has_no_blocks,
           slots_are_as_many_as_fit, a_batch_is_computed_in_passes,
           an_override_counts_in_either_name, each_half_of_a_pair_is_overridden_alone,
           one_place_says_a_key_once, slots_have_no_queue_no_blocks_and_no_order,
           a_tree_has_every_order_and_no_queue,
           an_order_of_eviction_replaces_the_order_of_the_queue,
           what_does_not_go_together_is_refused, a_longest_sequence_without_a_buddy_cannot_start,
           the_resolved_scenario_is_one)
