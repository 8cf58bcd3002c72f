#include "load_text.h"

#include "support/check_main.h"

#include "rng/rng.h"

#define POISSON "arrival: {process: poisson, rate: 1/s}, "
#define OUT "output_tokens: 4, "
#define TRACE KVSIM_TEST_DATA "/tests/unit/workload/data/mooncake.jsonl"

static void load_workload(struct loaded *loaded, const char *workload)
{
    char text[4096];
    snprintf(text, sizeof text, "%sworkload: {%s}\n", BARE_MODEL BARE_ENGINE BARE_COST, workload);
    load_text(loaded, text);
}

static const struct workload_class *accept(struct loaded *loaded, const char *workload)
{
    load_workload(loaded, workload);
    ck_assert_msg(loaded->status == KVSIM_OK, "%s: %s", workload, loaded->diags.at[0].message);
    return &loaded->config->workload.classes[0];
}

static void refuse(const char *workload, const char *code)
{
    struct loaded loaded;
    load_workload(&loaded, workload);
    ck_assert_msg(loaded.status == KVSIM_ERR_SCENARIO, "%s", workload);
    ck_assert_msg(strcmp(loaded.diags.at[0].code, code) == 0, "%s: %s [%s]", workload,
                  loaded.diags.at[0].message, loaded.diags.at[0].code);
    ck_assert_int_gt(loaded.diags.at[0].line, 0);
    loaded_end(&loaded);
}

START_TEST(shared_texts_are_read_with_their_popularity)
{
    struct loaded loaded;
    const struct workload_shared *shared =
        accept(&loaded, POISSON OUT
               "shared_prefix: {num_groups: 10, system_prompt_len: 8, question_len: 4, "
               "num_prompts_per_group: 3, few_shot_groups: 2, few_shot_len: 5, popularity: "
               "{distribution: zipf, s: 1.2}}")
            ->shared;
    ck_assert_ptr_nonnull(shared);
    ck_assert_uint_eq(shared->group_count, 10);
    ck_assert_uint_eq(shared->prompts_per_group, 3);
    ck_assert_uint_eq(shared->few_shot_count, 2);
    ck_assert(shared->has_question);
    ck_assert_double_eq(rng_dist_value(&shared->popularity, 1e-6), 1);
    ck_assert_double_eq(rng_dist_value(&shared->popularity, 1 - 1e-6), 10);
    ck_assert_double_eq(loaded.config->prompt_mean, 17);
    ck_assert_ptr_nonnull(param_of(&loaded, "workload.shared_prefix.system_prompt_len"));
    ck_assert_ptr_nonnull(param_of(&loaded, "workload.shared_prefix.popularity.s"));
    loaded_end(&loaded);
    shared = accept(&loaded, POISSON OUT "prompt_tokens: 20, shared_prefix: {num_groups: 4, "
                                         "system_prompt_len: 8, order: cyclic}")
                 ->shared;
    ck_assert(!shared->has_question);
    ck_assert_int_eq(shared->order, WORKLOAD_CYCLIC);
    ck_assert_double_eq(loaded.config->prompt_mean, 20);
    loaded_end(&loaded);
}
END_TEST

START_TEST(classes_share_the_workloads_texts_unless_they_have_their_own)
{
    struct loaded loaded;
    const struct workload_class *classes = accept(
        &loaded, POISSON OUT
        "prompt_tokens: 20, shared_prefix: {num_groups: 4, system_prompt_len: 8}, classes: [{name: "
        "a}, "
        "{name: b}, {name: c, shared_prefix: {num_groups: 1, system_prompt_len: 3}, sessions: "
        "{turns: 2, prompt_growth: 1}}]");
    ck_assert_ptr_eq(classes[0].shared, classes[1].shared);
    ck_assert_ptr_ne(classes[0].shared, classes[2].shared);
    ck_assert_uint_eq(classes[2].shared->first_text, 4);
    ck_assert_uint_ne(classes[2].shared->number, classes[0].shared->number);
    ck_assert_ptr_null(classes[0].sessions);
    ck_assert_ptr_nonnull(classes[2].sessions);
    loaded_end(&loaded);
}
END_TEST

START_TEST(sessions_are_read_and_know_where_they_end)
{
    struct loaded loaded;
    const struct workload_sessions *sessions =
        accept(&loaded,
               POISSON OUT "prompt_tokens: 20, sessions: {turns: {distribution: geometric, "
                           "mean: 3}, prompt_growth: 5, think_time: 20s, tool_time: 250ms, "
                           "tool_share: 0.3, end: send}")
            ->sessions;
    ck_assert(sessions->has_think && sessions->has_tool);
    ck_assert_double_eq(rng_dist_mean(&sessions->think), 20);
    ck_assert_double_eq(rng_dist_mean(&sessions->tool), 0.25);
    ck_assert_double_eq(sessions->tool_share, 0.3);
    ck_assert_int_eq(sessions->end, WORKLOAD_END_SEND);
    ck_assert_int_eq(loaded.config->workload.max_context_tokens,
                     loaded.config->sched.max_model_len);
    loaded_end(&loaded);
}
END_TEST

START_TEST(contradictions_are_refused)
{
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "question_len: 4}",
           "conflict");
    refuse(POISSON OUT "shared_prefix: {num_groups: 2, system_prompt_len: 8}", "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2}", "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "num_prompts_per_group: 3}",
           "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "few_shot_groups: 3}",
           "missing-key");
    refuse(POISSON OUT
           "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, order: "
           "cyclic, popularity: uniform}",
           "unused-key");
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "popularity: zipf}",
           "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "popularity: {distribution: uniform, s: 1}}",
           "unused-key");
    refuse(POISSON OUT
           "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 8, sise: 1}",
           "unknown-key");
    refuse(POISSON OUT "correlation: 0.5, shared_prefix: {num_groups: 2, system_prompt_len: 8, "
                       "question_len: 4}",
           "unused-key");
    refuse(POISSON OUT "prompt_tokens: 9, sessions: {turns: 3}", "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, sessions: {turns: 3, prompt_growth: 0}", "out-of-range");
    refuse(POISSON OUT "prompt_tokens: 9, sessions: {turns: 3, prompt_growth: 2, think_time: 1s, "
                       "tool_time: 1s}",
           "missing-key");
    refuse(POISSON OUT "prompt_tokens: 9, sessions: {turns: 3, prompt_growth: 2, think_time: 1s, "
                       "tool_share: 0.5}",
           "unused-key");
    refuse("arrival: {process: trace, file: " TRACE "}, sessions: {turns: 3, prompt_growth: 2}",
           "unused-key");
    refuse("arrival: {process: trace, file: " TRACE "}, shared_prefix: {num_groups: 2, "
           "system_prompt_len: 8}",
           "unused-key");
}
END_TEST

START_TEST(a_trace_may_ask_for_several_answers)
{
    struct loaded loaded;
    load_text(&loaded, BARE_MODEL BARE_COST
              "engine: {profile: vllm-0.19, max_model_len: 512, num_gpu_blocks_override: 200,"
              " block_size: 4, enable_prefix_caching: false}\n"
              "workload: {arrival: {process: trace, file: " KVSIM_TEST_DATA
              "/tests/unit/workload/data/plain.csv}}\n");
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_ptr_nonnull(caveat_of(&loaded, "sequences_without_cache"));
    loaded_end(&loaded);
}
END_TEST

START_TEST(what_a_cache_cannot_do_is_told)
{
    struct loaded loaded;
    accept(&loaded,
           POISSON OUT "prompt_tokens: 9, shared_prefix: {num_groups: 2, system_prompt_len: 3}");
    ck_assert_int_gt(loaded.config->sched.block_size, 3);
    ck_assert_ptr_nonnull(caveat_of(&loaded, "prefix_shorter_than_block"));
    ck_assert_ptr_null(caveat_of(&loaded, "tier_smaller_than_cyclic_set"));
    loaded_end(&loaded);
    accept(&loaded,
           POISSON OUT "prompt_tokens: 40, shared_prefix: {num_groups: 1000000, system_prompt_len: "
                       "32, order: cyclic}");
    ck_assert_ptr_null(caveat_of(&loaded, "prefix_shorter_than_block"));
    ck_assert_ptr_nonnull(caveat_of(&loaded, "tier_smaller_than_cyclic_set"));
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.content_part", shared_texts_are_read_with_their_popularity,
           classes_share_the_workloads_texts_unless_they_have_their_own,
           sessions_are_read_and_know_where_they_end, contradictions_are_refused,
           a_trace_may_ask_for_several_answers, what_a_cache_cannot_do_is_told)
