#include "load_text.h"

#include "support/check_main.h"

static enum kvsim_status check_text(const char *text, struct kvsim_diags *diags)
{
    struct loaded loaded;
    loaded_begin(&loaded);
    write_text(loaded.path, text);
    memset(diags, 0, sizeof *diags);
    enum kvsim_status status = scenario_check_file(loaded.path, diags);
    loaded_end(&loaded);
    return status;
}

static void check_shipped(const char *folder, const char *name)
{
    char path[512];
    struct kvsim_diags diags = {0};
    snprintf(path, sizeof path, "%s/%s/%s.yaml", KVSIM_TEST_DATA, folder, name);
    enum kvsim_status status = scenario_check_file(path, &diags);
    ck_assert_msg(status == KVSIM_OK, "%s:%d: %s", path, diags.at[0].line, diags.at[0].message);
}

START_TEST(every_shipped_file_is_valid)
{
    static const enum scenario_data kinds[] = {SCENARIO_MODEL, SCENARIO_HARDWARE, SCENARIO_ENGINE};
    for (size_t k = 0; k < 3; k++) {
        struct scenario_entries entries;
        scenario_list_data(kinds[k], NULL, &entries);
        for (size_t i = 0; i < entries.count; i++)
            check_shipped(scenario_data_name(kinds[k]), entries.at[i].name);
        scenario_entries_free(&entries);
    }
    check_shipped("hardware", "defaults");
}
END_TEST

START_TEST(every_shipped_scenario_is_valid_but_for_traces_that_are_not_shipped)
{
    static const char *const names[] = {"chat-8k",    "chat-8k-70b-tp4", "rag-32k",
                                        "long-128k",  "code-completion", "closed-loop-64",
                                        "overload",   "memory-wall",     "mla-deepseek-v3-8xh200",
                                        "moe-mixtral"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_shipped("scenarios", names[i]);
    static const char *const traces[] = {"azure-conv", "azure-code"};
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        struct kvsim_diags diags = {0};
        snprintf(path, sizeof path, "%s/scenarios/%s.yaml", KVSIM_TEST_DATA, traces[i]);
        ck_assert_int_eq(scenario_check_file(path, &diags), KVSIM_ERR_IO);
        ck_assert_uint_eq(diags.total, 1);
        ck_assert_str_eq(diags.at[0].key, "workload.arrival.file");
    }
}
END_TEST

START_TEST(a_file_is_known_by_its_keys)
{
    struct kvsim_diags diags;
    ck_assert_int_eq(check_text(BARE, &diags), KVSIM_OK);
    ck_assert_int_eq(check_text("name: x\nmemory: 4GiB\nmemory_bandwidth: 1 TB/s\n", &diags),
                     KVSIM_OK);
    ck_assert_int_eq(check_text("name: x\nmemory: 4GiB\nmemory_bandwith: 1 TB/s\n", &diags),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(diags.at[0].hint, "did you mean 'memory_bandwidth'?");
    ck_assert_int_eq(check_text("num_hidden_layers: 4\n", &diags), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(check_text("color: blue\n", &diags), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(diags.at[0].code, "unknown-file");
    ck_assert_int_eq(
        check_text(
            "name: e\nfamily: e\nrelease: \"1\"\nscheduler: vllm_v1\ndefaults: {blok_size: 4}\n",
            &diags),
        KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(diags.at[0].hint, "did you mean 'block_size'?");
    ck_assert_int_eq(check_text("name: e\nfamily: e\nrelease: \"1\"\nscheduler: vllm_v1\ndefaults: "
                                "{block_size: none}\n",
                                &diags),
                     KVSIM_ERR_SCENARIO);
}
END_TEST

static enum kvsim_status check_with(const char *text, const char *key, const char *value,
                                    struct kvsim_diags *diags)
{
    struct scenario_override override = {key, value};
    struct scenario_text read = {text, strlen(text)};
    struct scenario_request request = {
        .path = "text.yaml", .text = &read, .overrides = &override, .override_count = 1};
    memset(diags, 0, sizeof *diags);
    return scenario_check(&request, diags);
}

START_TEST(what_is_set_is_checked_too)
{
    static const char chat[] =
        "model: llama-3.1-8b\nhardware: h100-sxm\nengine: {profile: vllm-0.19}\n"
        "workload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: 9, output_tokens: 9}\n";
    struct kvsim_diags diags;
    ck_assert_int_eq(check_with(chat, "engine.block_size", "32", &diags), KVSIM_OK);
    ck_assert_int_eq(check_with(chat, "engine.block_sise", "32", &diags), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(diags.at[0].hint, "block_size"));
    ck_assert_int_eq(check_with("{base: h100-sxm, memory: 90 GiB}", "memory", "80 GiB", &diags),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(diags.at[0].code, "not-a-scenario");
}
END_TEST

START_TEST(files_of_bytes_and_folders)
{
    struct kvsim_diags diags = {0};
    ck_assert_int_eq(scenario_check_file("/tmp", &diags), KVSIM_ERR_IO);
    memset(&diags, 0, sizeof diags);
    ck_assert_int_eq(scenario_check_file("/no/such/file.yaml", &diags), KVSIM_ERR_IO);
    ck_assert_int_eq(check_text("\x01\x02\x03", &diags), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(check_text("a: &a [*a]\n", &diags), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(check_text("workload: {arrival: {process: poisson\n", &diags),
                     KVSIM_ERR_SCENARIO);
    ck_assert_int_gt(diags.at[0].line, 0);
}
END_TEST

CHECK_MAIN("scenario.check", every_shipped_file_is_valid,
           every_shipped_scenario_is_valid_but_for_traces_that_are_not_shipped,
           a_file_is_known_by_its_keys, what_is_set_is_checked_too, files_of_bytes_and_folders)
