/*
 * The engine held against the cases step by step, those of this folder and those of the reference
 * data; each case is also run with its prefix cache switched the other way, stepping and jumping,
 * against the naive reference. Where the reference data is absent the own cases are checked and the
 * test is then shown as skipped.
 */
#include "conformance/case.h"
#include "conformance/case_list.h"
#include "conformance/engine_output.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTSIDE KVSIM_REFERENCE_DATA "/conformance"
#define OWN KVSIM_TEST_DATA "/tests/conformance/cases"

/* ---- one case ---- */

enum kind { OF_ANOTHER_ENGINE, CANNOT_START, CACHED, PLAIN };

static enum kind kind_of(const struct json_value *root, const struct ref_input *input)
{
    if (json_get(json_get(root, "expected"), "error") != NULL) {
        return CANNOT_START; // checked before a run: a case for the command line
    }
    return input->engine.enable_prefix_caching ? CACHED : PLAIN;
}

static void check_expected(const char *path, const struct json_value *root,
                           const struct ref_input *input)
{
    struct engine_run run;
    struct ref_output output;
    char where[512] = "";
    engine_run_reference_input(input, SERVE_STEP, &run);
    engine_output(input, &run, &output);
    ck_assert_msg(case_agrees(json_get(root, "expected"), input, &output, where, sizeof where),
                  "%s: %s", path, where);
    ref_output_free(&output);
    engine_run_release(&run);
}

static void check_against_reference(const char *path, const struct ref_input *input)
{
    struct ref_output expected;
    ck_assert_int_eq(ref_run(input, &expected), 0);
    static const enum serve_mode modes[] = {SERVE_STEP, SERVE_JUMP};
    for (size_t i = 0; i < 2; i++) {
        struct engine_run run;
        char difference[300];
        engine_run_reference_input(input, modes[i], &run);
        engine_compare_with_reference(input, &expected, &run, difference, sizeof difference);
        ck_assert_msg(difference[0] == '\0', "%s: %s", path, difference);
        engine_run_release(&run);
    }
    ref_output_free(&expected);
}

static enum kind check_case(const char *path)
{
    struct json_value *root = json_read_file(path);
    ck_assert_msg(root != NULL, "%s cannot be read", path);
    enum kind kind = OF_ANOTHER_ENGINE;
    if (case_is_vllm_v1(root) || case_is_orca(root) || case_is_llama_cpp(root)) {
        struct ref_input input;
        char why[256] = "";
        ck_assert_msg(case_read_input(root, &input, why, sizeof why), "%s: %s", path, why);
        kind = kind_of(root, &input);
        if (kind == PLAIN || kind == CACHED) {
            check_expected(path, root, &input);
            check_against_reference(path, &input);
        }
        if (case_is_vllm_v1(root) && (kind == PLAIN || kind == CACHED)) {
            input.engine.enable_prefix_caching = !input.engine.enable_prefix_caching;
            check_against_reference(path, &input);
        }
        ref_input_free(&input);
    }
    json_free(root);
    return kind;
}

static void check_folder(const char *folder, size_t *plain, size_t *cached)
{
    static struct case_list list;
    case_list_folder(folder, &list);
    *plain = *cached = 0;
    for (size_t i = 0; i < list.count; i++) {
        enum kind kind = check_case(list.paths[i]);
        *plain += kind == PLAIN ? 1 : 0;
        *cached += kind == CACHED ? 1 : 0;
    }
}

START_TEST(own_cases)
{
    size_t plain, cached;
    check_folder(OWN, &plain, &cached);
    ck_assert_uint_ge(plain, 20);
}
END_TEST

START_TEST(outside_cases)
{
    size_t plain, cached;
    check_folder(OUTSIDE, &plain, &cached);
    ck_assert_uint_ge(plain, 9);
    ck_assert_uint_ge(cached, 16); // two of them with windows
}
END_TEST

// A comparison that cannot fail proves nothing: the engine with one block less must be told apart.
START_TEST(another_engine_is_noticed)
{
    struct json_value *root = json_read_file(OWN "/vector-A.json");
    struct ref_input input;
    char where[512] = "";
    ck_assert_ptr_nonnull(root);
    ck_assert(case_read_input(root, &input, where, sizeof where));
    for (int64_t less = 0; less < 2; less++) {
        struct engine_run run;
        struct ref_output output;
        input.engine.num_blocks -= less;
        engine_run_reference_input(&input, SERVE_STEP, &run);
        engine_output(&input, &run, &output);
        bool agrees = case_agrees(json_get(root, "expected"), &input, &output, where, sizeof where);
        ck_assert_int_eq(agrees, less == 0);
        ref_output_free(&output);
        engine_run_release(&run);
    }
    ref_input_free(&input);
    json_free(root);
}
END_TEST

int main(void)
{
    static struct case_list list;
    case_list_folder(OUTSIDE, &list);
    bool outside = list.count > 0;
    Suite *suite = suite_create("conformance of the engine");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, another_engine_is_noticed);
    tcase_add_test(tests, own_cases);
    if (outside) {
        tcase_add_test(tests, outside_cases);
    }
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (failed == 0 && !outside) {
        printf("skipped: no cases in %s (own cases passed)\n", OUTSIDE);
        return 77;
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
