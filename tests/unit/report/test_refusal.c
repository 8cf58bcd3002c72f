#include "support/printed.h"
#include "support/unit.h"

#include "report/refusal.h"

#include <string.h>

static const struct report_refusal_row rows[] = {
    {"driver shows", "driver", INT64_C(85019361280), "measured", "nvidia-smi"},
    {"weights", "weights", INT64_C(141107412992), "calculated", ""},
    {"for people only", NULL, -5, "", ""}};
static const struct report_refusal_change changes[] = {
    {"engine.tensor_parallel_size", "4", "a pool of 1,000 tokens"},
    {"engine.kv_cache_dtype", "fp8", ""}};
static const char *const explanations[] = {
    "80 GiB of KV exceed the 79.18 GiB that the driver shows"};

static const struct report_refusal refusal = {.title = "memory-wall: cannot start",
                                              .stage = "weights",
                                              .limit = "memory of one GPU",
                                              .needed_bytes = INT64_C(141107412992),
                                              .available_bytes = INT64_C(76517425152),
                                              .estimated_max_model_len = -1,
                                              .rows = rows,
                                              .row_count = 3,
                                              .explanations = explanations,
                                              .explanation_count = 1,
                                              .changes = changes,
                                              .change_count = 2};

START_TEST(the_text_says_what_does_not_fit_and_what_would)
{
    struct printed printed;
    report_refusal_text(printed_begin(&printed), &refusal);
    const char *text = printed_end(&printed);
    ck_assert_ptr_nonnull(strstr(text, "memory of one GPU needs 131.42 GiB (141107412992 bytes)"));
    ck_assert_ptr_nonnull(strstr(text, "80 GiB of KV exceed the 79.18 GiB"));
    ck_assert_ptr_nonnull(strstr(text, "driver shows      79.18   85,019,361,280"));
    ck_assert_ptr_nonnull(strstr(text, "--set engine.tensor_parallel_size=4"));
    ck_assert_ptr_nonnull(strstr(text, "--set engine.kv_cache_dtype=fp8\n"));
    ck_assert_ptr_null(strstr(text, "max_model_len"));
    printed_free(&printed);
}
END_TEST

START_TEST(the_longest_context_is_said_where_there_is_one)
{
    struct report_refusal other = refusal;
    other.estimated_max_model_len = 4096;
    other.change_count = 0;
    other.row_count = 0;
    struct printed printed;
    report_refusal_text(printed_begin(&printed), &other);
    const char *text = printed_end(&printed);
    ck_assert_ptr_nonnull(strstr(text, "would fit is 4096 tokens"));
    ck_assert_ptr_null(strstr(text, "CHANGES"));
    printed_free(&printed);
}
END_TEST

START_TEST(json_has_the_names_that_scripts_rely_on)
{
    struct printed printed;
    report_refusal_json(printed_begin(&printed), &refusal);
    ck_assert_str_eq(
        printed_end(&printed),
        "{\n"
        "  \"starts\": false,\n"
        "  \"refusal\": {\n"
        "    \"stage\": \"weights\",\n"
        "    \"limit\": \"memory of one GPU\",\n"
        "    \"needed_bytes\": 141107412992,\n"
        "    \"available_bytes\": 76517425152,\n"
        "    \"estimated_max_model_len\": null,\n"
        "    \"changes\": [{\"key\": \"engine.tensor_parallel_size\", \"value\": 4, \"effect\": "
        "\"a "
        "pool of 1,000 tokens\"}, {\"key\": \"engine.kv_cache_dtype\", \"value\": \"fp8\", "
        "\"effect\": \"\"}],\n"
        "    \"explanations\": [\"80 GiB of KV exceed the 79.18 GiB that the driver shows\"]\n"
        "  },\n"
        "  \"waterfall\": [\n"
        "    {\"line\": \"driver\", \"bytes_per_gpu\": 85019361280, \"claim\": \"measured\", "
        "\"source\": \"nvidia-smi\"},\n"
        "    {\"line\": \"weights\", \"bytes_per_gpu\": 141107412992, \"claim\": \"calculated\", "
        "\"source\": \"\"}\n"
        "  ]\n"
        "}\n");
    printed_free(&printed);
}
END_TEST

int main(void)
{
    return unit_run("report.refusal",
                    (const TTest *const[]){the_text_says_what_does_not_fit_and_what_would,
                                           the_longest_context_is_said_where_there_is_one,
                                           json_has_the_names_that_scripts_rely_on, NULL});
}
