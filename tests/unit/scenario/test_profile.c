#include "load_text.h"

#include "support/check_main.h"

#include "scenario/scenario_int.h"

START_TEST(releases_are_compared_by_their_numbers)
{
    ck_assert_int_lt(scenario_release_compare("0.9", "0.10"), 0);
    ck_assert_int_eq(scenario_release_compare("0.19", "0.19.0"), 0);
    ck_assert_int_lt(scenario_release_compare("0.19", "0.19.1"), 0);
    ck_assert_int_lt(scenario_release_compare("99.9", "2026-08"),
                     0); // a date sorts after every version
    ck_assert_int_lt(scenario_release_compare("2026-07", "2026-08"), 0);
}
END_TEST

static void resolves(const char *profile, const char *name)
{
    struct loaded loaded;
    char text[1024];
    snprintf(text, sizeof text,
             "%s%s%sengine: {profile: %s, max_model_len: 64, num_gpu_blocks_override: 20}\n",
             BARE_MODEL, BARE_COST, BARE_WORKLOAD, profile);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s: %s", profile, loaded.diags.at[0].message);
    ck_assert_str_eq(loaded.config->engine_name, name);
    ck_assert_str_eq(param_of(&loaded, "engine.profile.resolved")->value, name);
    loaded_end(&loaded);
}

START_TEST(a_name_means_the_newest_release_that_is_not_newer)
{
    resolves("vllm-0.19", "vllm-0.19");
    resolves("vllm-0.19.1", "vllm-0.19");
    resolves("vllm-v0.19", "vllm-0.19");
    resolves("vllm-0.10.2", "vllm-0.10");
    resolves("vllm-2026-08", "vllm-2026-08");
    resolves("vllm-2027-01", "vllm-2026-08");
    resolves("vllm", "vllm-2026-08");
}
END_TEST

START_TEST(switches_follow_the_release_and_can_be_overridden)
{
    struct loaded loaded;
    load_text(&loaded, BARE_MODEL BARE_COST BARE_WORKLOAD
              "engine: {profile: vllm-0.10, max_model_len: 64, num_gpu_blocks_override: 20}\n");
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_OLD);
    ck_assert_int_eq(loaded.config->sched.unchunked_misfit, SCHED_MISFIT_SKIP);
    ck_assert(!loaded.config->sched.reserve_full_isl);
    ck_assert(!loaded.config->sched.async_scheduling);
    loaded_end(&loaded);
    load_text(&loaded, BARE_MODEL BARE_COST BARE_WORKLOAD
              "engine: {profile: vllm-2026-08, max_model_len: 64, num_gpu_blocks_override: 20, "
              "async_scheduling: false,"
              " switch: {scheduler_reserve_full_isl: false}}\n");
    ck_assert_int_eq(loaded.config->sched.free_order, SCHED_FREE_NEW);
    ck_assert(!loaded.config->sched.reserve_full_isl);
    ck_assert(!loaded.config->sched.async_scheduling);
    ck_assert_str_eq(param_of(&loaded, "engine.switch.scheduler_reserve_full_isl")->origin,
                     "scenario");
    ck_assert_str_eq(param_of(&loaded, "engine.switch.free_order")->origin, "profile");
    loaded_end(&loaded);
}
END_TEST

START_TEST(every_shipped_profile_is_valid)
{
    struct scenario_entries entries;
    scenario_list_data(SCENARIO_ENGINE, NULL, &entries);
    ck_assert_uint_ge(entries.count, 3);
    for (size_t i = 0; i < entries.count; i++) {
        char path[512];
        struct kvsim_diags diags = {0};
        snprintf(path, sizeof path, "%s/engines/%s.yaml", KVSIM_TEST_DATA, entries.at[i].name);
        enum kvsim_status status = scenario_check_file(path, &diags);
        ck_assert_msg(status == KVSIM_OK, "%s: %s", path, diags.at[0].message);
    }
    scenario_entries_free(&entries);
}
END_TEST

CHECK_MAIN("scenario.profile", releases_are_compared_by_their_numbers,
           a_name_means_the_newest_release_that_is_not_newer,
           switches_follow_the_release_and_can_be_overridden, every_shipped_profile_is_valid)
