/*
 * check_main.h - the main() of a test file with one case: CHECK_MAIN("room.file", test_a, test_b, ...).
 */
#ifndef KVSIM_TESTS_CHECK_MAIN_H
#define KVSIM_TESTS_CHECK_MAIN_H

#include <check.h>

#include <stddef.h>
#include <stdlib.h>

static int check_run(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define CHECK_MAIN(name, ...)                                          \
    int main(void)                                                     \
    {                                                                  \
        const TTest *const tests[] = {__VA_ARGS__};                    \
        return check_run(name, tests, sizeof tests / sizeof tests[0]); \
    }

#endif
