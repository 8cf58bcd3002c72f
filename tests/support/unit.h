/*
 * unit.h - the main function of a Check test, in one line.
 *
 *     int main(void) { return unit_run("base.pool", (const TTest *const[]){a, b, NULL}); }
 */
#ifndef KVSIM_TESTS_SUPPORT_UNIT_H
#define KVSIM_TESTS_SUPPORT_UNIT_H

#include <check.h>
#include <stdlib.h>

static inline int unit_run(const char *name, const TTest *const tests[])
{
    TCase *tcase = tcase_create(name);
    for (; *tests != NULL; tests++)
        tcase_add_test(tcase, *tests);
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
