/*
 * The program held against the cases: each one as a scenario file and a trace, run as `kvsim run
 * case.yaml --steps ... --format json`; every column of a step, every field of a request and every
 * total must be the case's. Each is also run with its prefix cache switched the other way against
 * the naive reference. A case that cannot start must exit 5 and leave nothing. Where the reference
 * data is absent the own cases are checked and the test is then shown as skipped.
 */
#include "conformance/case.h"
#include "conformance/case_list.h"
#include "conformance/case_scenario.h"
#include "conformance/program_output.h"
#include "support/scratch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTSIDE KVSIM_REFERENCE_DATA "/conformance"
#define OWN KVSIM_TEST_DATA "/tests/conformance/cases"

/* ---- running ---- */

static void run_program(const char *path, const char *options, int expected)
{
    char command[2048];
    int code;
    snprintf(command, sizeof command, "'%s' run case.yaml --quiet %s 2>error.txt", KVSIM_PROGRAM,
             options);
    char *printed = scratch_run(command, &code);
    free(printed);
    char *error = scratch_read("error.txt", &(size_t){0});
    ck_assert_msg(code == expected, "%s: exit status %d, expected %d: %s", path, code, expected,
                  error != NULL ? error : "");
    free(error);
}

// The same by jumping: what a user gets who asks for no steps.
static void check_jumping(const char *path)
{
    run_program(path, "--format json --db run.db >jump.json", 0);
    int code;
    char *difference = scratch_run(
        "sqlite3 run.db \"SELECT * FROM (SELECT request_id, outcome, queue_ms, ttft_ms, tpot_ms, "
        "e2e_ms, computed_tokens FROM request_detail WHERE run_id = 1 EXCEPT SELECT request_id, "
        "outcome, queue_ms, ttft_ms, tpot_ms, e2e_ms, computed_tokens FROM request_detail WHERE "
        "run_id = 2)\"",
        &code);
    ck_assert_msg(code == 0 && difference != NULL && difference[0] == '\0',
                  "%s: stepping and jumping differ: %s", path,
                  difference != NULL ? difference : "");
    free(difference);
}

static void check_scenario(const char *path, const struct ref_input *input,
                           const struct json_value *expected)
{
    struct ref_output output;
    char where[512] = "";
    run_program(path, "--steps steps.csv --format json --db run.db >run.json", 0);
    bool good = program_output(input, &output, where, sizeof where);
    ck_assert_msg(good, "%s: %s", path, where);
    ck_assert_msg(case_agrees(expected, input, &output, where, sizeof where), "%s: %s", path,
                  where);
    ref_output_free(&output);
    check_jumping(path);
}

static void check_against_reference(const char *path, struct ref_input *input)
{
    struct ref_output output;
    struct case_text text = {0};
    ck_assert_int_eq(ref_run(input, &output), 0);
    case_write_output(input, &output, &text);
    struct json_value *expected = json_parse(path, text.text);
    check_scenario(path, input, expected);
    json_free(expected);
    free(text.text);
    ref_output_free(&output);
}

static void check_refused(const char *path)
{
    run_program(path, "--steps steps.csv --format json --db run.db >run.json", 5);
    ck_assert_int_eq(scratch_count("."), 4); // case.yaml, trace.jsonl, run.json, error.txt
}

struct counts {
    size_t stated, cached, refused, left_out;
};

static void check_case(const char *path, struct counts *counts)
{
    struct json_value *root = json_read_file(path);
    ck_assert_msg(root != NULL, "%s cannot be read", path);
    if (!case_is_vllm_v1(root) && !case_is_orca(root) && !case_is_llama_cpp(root)) {
        json_free(root);
        return;
    }
    struct ref_input input;
    char why[256] = "";
    ck_assert_msg(case_read_input(root, &input, why, sizeof why), "%s: %s", path, why);
    const struct json_value *expected = json_get(root, "expected");
    scratch_enter();
    if (!case_write_scenario(&input)) {
        counts->left_out++;
    } else if (json_get(expected, "error") != NULL) {
        check_refused(path);
        counts->refused++;
    } else {
        check_scenario(path, &input, expected);
        counts->stated++;
        counts->cached += input.engine.enable_prefix_caching ? 1 : 0;
        if (input.engine.kind == REF_VLLM_V1) {
            input.engine.enable_prefix_caching = !input.engine.enable_prefix_caching;
            ck_assert(case_write_scenario(&input));
            check_against_reference(path, &input);
        }
    }
    scratch_leave();
    ref_input_free(&input);
    json_free(root);
}

static struct counts check_folder(const char *folder)
{
    static struct case_list list;
    struct counts counts = {0};
    case_list_folder(folder, &list);
    for (size_t i = 0; i < list.count; i++) {
        check_case(list.paths[i], &counts);
    }
    return counts;
}

START_TEST(own_cases)
{
    struct counts counts = check_folder(OWN);
    ck_assert_uint_ge(counts.stated, 18);
    ck_assert_uint_ge(counts.refused, 1);
}
END_TEST

START_TEST(outside_cases)
{
    struct counts counts = check_folder(OUTSIDE);
    ck_assert_uint_ge(counts.stated, 25);
    ck_assert_uint_ge(counts.cached, 16);
    ck_assert_uint_ge(counts.refused, 1);
}
END_TEST

// A comparison that cannot fail proves nothing: an engine with one block more must be told apart.
START_TEST(another_engine_is_noticed)
{
    struct json_value *root = json_read_file(OWN "/vector-A.json");
    struct ref_input input;
    struct ref_output output;
    char where[512] = "";
    ck_assert_ptr_nonnull(root);
    ck_assert(case_read_input(root, &input, where, sizeof where));
    input.engine.num_blocks++;
    scratch_enter();
    ck_assert(case_write_scenario(&input));
    run_program("vector-A", "--steps steps.csv --format json --db run.db >run.json", 0);
    ck_assert_msg(program_output(&input, &output, where, sizeof where), "%s", where);
    ck_assert(!case_agrees(json_get(root, "expected"), &input, &output, where, sizeof where));
    scratch_leave();
    ref_output_free(&output);
    ref_input_free(&input);
    json_free(root);
}
END_TEST

int main(void)
{
    static struct case_list list;
    case_list_folder(OUTSIDE, &list);
    bool outside = list.count > 0;
    Suite *suite = suite_create("conformance of the program");
    TCase *tests = tcase_create("cases");
    tcase_set_timeout(tests, 120);
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
