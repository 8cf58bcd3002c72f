/*
 * A turn that schedules nothing throws out a request whose last token is in flight; it ends, and another one gets its
 * memory, before the step comes whose row names the victim. The row named the other one.
 */
#include "support/check_main.h"
#include "support/engine_run.h"

#include "reference/random_scenario.h"

static void check_seed(uint64_t seed, uint32_t features)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    char difference[300];
    random_scenario(seed, features, &input);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    engine_run_reference_input(&input, SERVE_STEP, &run);
    engine_compare_with_reference(&input, &expected, &run, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "%s", difference);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}

START_TEST(victim_keeps_its_name)
{
    check_seed(1116, RANDOM_EOS | RANDOM_ASYNC);
    check_seed(3353, RANDOM_ABORTS | RANDOM_ASYNC);
}
END_TEST

// What a client that gives up had computed in the front until then was missing from its row.
START_TEST(who_gave_up_has_computed)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_seed(seed, RANDOM_ABORTS);
    }
}
END_TEST

CHECK_MAIN("victim ends unreported", victim_keeps_its_name, who_gave_up_has_computed)
