/*
 * Two clients give up at one instant, and each is followed by another request: who came first goes first, whenever his
 * limit was found out. The followers came in the order in which the limits had been put in.
 */
#include "support/check_main.h"
#include "support/engine_run.h"

#include "reference/random_scenario.h"

START_TEST(who_came_first_goes_first)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    char difference[300];
    random_scenario(11596,
                    RANDOM_TIER | RANDOM_REFUSALS | RANDOM_FRACTION | RANDOM_EOS |
                        RANDOM_CLOSED_LOOP | RANDOM_ABORTS,
                    &input);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    ck_assert_int_eq(expected.requests[2].finish_ns, expected.requests[4].finish_ns);
    engine_run_reference_input(&input, SERVE_STEP, &run);
    engine_compare_with_reference(&input, &expected, &run, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "%s", difference);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}
END_TEST

CHECK_MAIN("limits at one instant", who_came_first_goes_first)
