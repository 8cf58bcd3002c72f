/*
 * The last client leaves while his prompt is loaded, and somebody had been thrown out since the last token: the run went in no
 * circle, it ends with the load. It was called stuck, and ended before.
 */
#include "support/check_main.h"
#include "support/engine_run.h"

#include "reference/random_scenario.h"

START_TEST(a_run_without_requests_is_not_stuck)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    char difference[300];
    random_scenario(5246,
                    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_WINDOW | RANDOM_ASYNC |
                        RANDOM_EOS | RANDOM_ABORTS,
                    &input);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    engine_run_reference_input(&input, SERVE_STEP, &run);
    ck_assert_int_eq(run.result.status, SERVE_DONE);
    engine_compare_with_reference(&input, &expected, &run, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "%s", difference);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}
END_TEST

CHECK_MAIN("last client leaves its load", a_run_without_requests_is_not_stuck)
