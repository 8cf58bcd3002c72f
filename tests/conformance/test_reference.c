/*
 * The reference against what the engine's own scheduler did: the cases in the reference data,
 * where that folder is present, and against the cases of this folder, always.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/case.h"

/* Every case of vLLM V1 and of Orca in the reference data; those of other engines are not the reference's. */
static const char *const outside_cases[] = {
    "01-vector-A",
    "02-vector-A-first-chunk",
    "03-vector-B",
    "04-vector-C",
    "05-cannot-start",
    "07-v1-no-cache",
    "09-v1-first-chunk-no-cache",
    "11-v1-new-free-order-evict",
    "13-v1-watermark",
    "15-v1-threshold",
    "17-v1-unchunked-skip",
    "19-v1-budget-1",
    "21-v1-one-seat",
    "23-v1-block-16",
    "25-v1-aligned",
    "27-v1-longest",
    "29-v1-sessions",
    "31-v1-priority-ties",
    "33-v1-async",
    "35-v1-async-no-cache",
    "36-v1-async-victim-finishes",
    "37-v1-async-old",
    "39-v1-window-async",
    "40-v1-window-preempt",
    "65-orca-pow2-buddy",
    "66-orca-exact",
    "67-orca-exact-buddy",
};

static const char *const own_cases[] = {
    "aborts",
    "aborts-async",
    "affine",
    "affine-fraction",
    "async",
    "async-empty-turn",
    "async-victim-finishes",
    "cannot-start",
    "closed-loop",
    "eos",
    "eos-async",
    "limits",
    "orca-best-fit",
    "orca-buddy-head",
    "orca-double",
    "orca-first-fit",
    "orca-grow",
    "orca-max",
    "orca-no-cache",
    "orca-static",
    "llama-cells-clear",
    "llama-cells-fail",
    "llama-slots",
    "llama-slots-oldest",
    "llama-slots-window",
    "priority",
    "priority-async",
    "priority-v010",
    "threshold",
    "unchunked-skip",
    "unchunked-stop",
    "vector-A",
    "vector-A-first-chunk",
    "watermark",
};

enum { OUTSIDE_COUNT = sizeof(outside_cases) / sizeof(outside_cases[0]) };
enum { OWN_COUNT = sizeof(own_cases) / sizeof(own_cases[0]) };

static struct json_value *read_case(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.json", folder, name);
    return json_read_file(path);
}

static void check_case(const char *folder, const char *name)
{
    struct json_value *root = read_case(folder, name);
    ck_assert_msg(root != NULL, "%s/%s.json cannot be read", folder, name);
    ck_assert_msg(case_is_vllm_v1(root) || case_is_orca(root) || case_is_llama_cpp(root),
                  "%s is no case of vllm_v1, orca or llama_cpp", name);
    struct ref_input input;
    struct ref_output output;
    char where[512] = "";
    ck_assert_msg(case_read_input(root, &input, where, sizeof(where)), "%s: %s", name, where);
    ck_assert_msg(ref_run(&input, &output) == 0, "%s: the input makes no sense", name);
    ck_assert_msg(case_agrees(json_get(root, "expected"), &input, &output, where, sizeof(where)),
                  "%s: %s", name, where);
    ref_output_free(&output);
    ref_input_free(&input);
    json_free(root);
}

START_TEST(outside_case)
{
    check_case(KVSIM_REFERENCE_DATA "/conformance", outside_cases[_i]);
}
END_TEST

START_TEST(own_case)
{
    check_case(KVSIM_TEST_DATA "/tests/conformance/cases", own_cases[_i]);
}
END_TEST

/* A comparison that cannot fail proves nothing: one number changed in the trace must be found. */
START_TEST(changed_trace_is_noticed)
{
    static const char text[] =
        "{\"input\":{\"engine\":{\"kind\":\"vllm_v1\",\"block_size\":4,\"num_blocks\":7,"
        "\"max_model_len\":24,\"max_num_batched_tokens\":8,\"enable_prefix_caching\":false},"
        "\"step\":{\"kind\":\"fixed\",\"ns\":1000},"
        "\"workload\":[{\"id\":\"R1\",\"prompt_tokens\":8,\"output_tokens\":1}]},"
        "\"expected\":{\"steps\":[{\"scheduled\":{\"R1\":8},\"free_blocks\":4}],"
        "\"totals\":{\"end_ns\":1000}}}";
    static const struct {
        const char *from, *to;
        bool agrees;
    } changes[] = {{"\"end_ns\":1000", "\"end_ns\":1000", true},
                   {"\"end_ns\":1000", "\"end_ns\":1001", false},
                   {"\"free_blocks\":4", "\"free_blocks\":5", false},
                   {"\"R1\":8}", "\"R1\":7}", false},
                   {"\"R1\":8}", "\"R2\":8}", false},
                   {"\"free_blocks\"", "\"unheardof__\"", false}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char changed[sizeof(text)];
        memcpy(changed, text, sizeof(text));
        char *place = strstr(changed, changes[i].from);
        ck_assert_ptr_nonnull(place);
        memcpy(place, changes[i].to, strlen(changes[i].to));
        struct json_value *root = json_parse("case", changed);
        struct ref_input input;
        struct ref_output output;
        char where[256] = "";
        ck_assert(case_read_input(root, &input, where, sizeof(where)));
        ck_assert_int_eq(ref_run(&input, &output), 0);
        const bool agrees =
            case_agrees(json_get(root, "expected"), &input, &output, where, sizeof(where));
        ck_assert_msg(agrees == changes[i].agrees, "change %zu: %s", i, where);
        ref_output_free(&output);
        ref_input_free(&input);
        json_free(root);
    }
}
END_TEST

static int run_suite(bool outside)
{
    Suite *suite = suite_create("conformance of the reference");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, changed_trace_is_noticed);
    tcase_add_loop_test(tests, own_case, 0, OWN_COUNT);
    if (outside) {
        tcase_add_loop_test(tests, outside_case, 0, OUTSIDE_COUNT);
    }
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}

int main(void)
{
    struct json_value *first = read_case(KVSIM_REFERENCE_DATA "/conformance", outside_cases[0]);
    const bool outside = first != NULL;
    json_free(first);
    if (run_suite(outside) != 0) {
        return EXIT_FAILURE;
    }
    if (!outside) {
        printf("skipped: no cases in %s/conformance (own cases passed)\n", KVSIM_REFERENCE_DATA);
        return 77;
    }
    return EXIT_SUCCESS;
}
