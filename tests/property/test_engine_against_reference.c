/*
 * The engine against the naive reference, step by step, over random small scenarios: stepping must
 * report the same rows, jumping the same requests, integrals and histograms. KVSIM_SCENARIOS sets
 * how many per feature set (default 100), KVSIM_FEATURES one feature mask, KVSIM_SEED one seed.
 */
#include "reference/random_scenario.h"
#include "support/engine_run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t feature_sets[] = {
    0,
    RANDOM_ASYNC,
    RANDOM_THRESHOLD,
    RANDOM_WATERMARK,
    RANDOM_PRIORITY,
    RANDOM_PRIORITY | RANDOM_ASYNC,
    RANDOM_FIRST_CHUNK,
    RANDOM_UNCHUNKED,
    RANDOM_V010 | RANDOM_PRIORITY,
    RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_V010 | RANDOM_PRIORITY | RANDOM_UNCHUNKED,
    RANDOM_ABORTS,
    RANDOM_ABORTS | RANDOM_ASYNC,
    RANDOM_CLOSED_LOOP,
    RANDOM_CLOSED_LOOP | RANDOM_ASYNC | RANDOM_FRACTION | RANDOM_AFFINE,
    RANDOM_CLASSES,
    RANDOM_EOS,
    RANDOM_EOS | RANDOM_ASYNC,
    RANDOM_EOS | RANDOM_ASYNC | RANDOM_ABORTS | RANDOM_FRACTION,
    RANDOM_AFFINE,
    RANDOM_AFFINE | RANDOM_FRACTION | RANDOM_THRESHOLD,
    RANDOM_REFUSALS,
    RANDOM_WINDOW,
    RANDOM_WINDOW | RANDOM_ASYNC,
    RANDOM_WINDOW | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_WINDOW | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_WINDOW | RANDOM_THRESHOLD | RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_TABLES,
    RANDOM_TABLES | RANDOM_ASYNC,
    RANDOM_TABLES | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TABLES | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_TABLES | RANDOM_PRIORITY | RANDOM_ASYNC | RANDOM_FIRST_CHUNK,
    RANDOM_TABLES | RANDOM_THRESHOLD | RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_TABLES | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_TABLES | RANDOM_LENGTHS,
    RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_ASYNC,
    RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_PRIORITY | RANDOM_WATERMARK | RANDOM_THRESHOLD,
    RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_V010 | RANDOM_UNCHUNKED | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_THRESHOLD | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_LENGTHS | RANDOM_SPARSE | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_WINDOW,
    RANDOM_CACHE | RANDOM_WINDOW | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_WINDOW | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_WINDOW | RANDOM_V010,
    RANDOM_CACHE | RANDOM_TABLES,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_ASYNC | RANDOM_EOS | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_THRESHOLD | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_FIRST_CHUNK | RANDOM_PRIORITY | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_SPARSE | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_SPARSE | RANDOM_PRIORITY,
    RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_THRESHOLD | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_WINDOW,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_WINDOW | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_PRIORITY | RANDOM_V010,
    RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_THRESHOLD | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE,
    RANDOM_CACHE | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_PRIORITY,
    RANDOM_CACHE | RANDOM_V010,
    RANDOM_CACHE | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_CACHE | RANDOM_THRESHOLD | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_EVICTION,
    RANDOM_CACHE | RANDOM_EVICTION | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_EVICTION | RANDOM_PRIORITY,
    RANDOM_CACHE | RANDOM_EVICTION | RANDOM_V010 | RANDOM_CLOSED_LOOP,
    RANDOM_CACHE | RANDOM_EVICTION | RANDOM_THRESHOLD | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_RADIX,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_ASYNC,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_PRIORITY,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_THRESHOLD | RANDOM_WATERMARK,
    RANDOM_CACHE | RANDOM_RADIX | RANDOM_FIRST_CHUNK | RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_TIER,
    RANDOM_TIER | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_PRIORITY | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_EVICTION | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_CLOSED_LOOP | RANDOM_AFFINE | RANDOM_FRACTION,
    RANDOM_TIER | RANDOM_THRESHOLD | RANDOM_WATERMARK | RANDOM_UNCHUNKED,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_WINDOW,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_WINDOW | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_THRESHOLD | RANDOM_UNCHUNKED,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_DISK,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_DISK | RANDOM_ASYNC | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_DISK | RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_ASYNC | RANDOM_EOS |
        RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_STATES | RANDOM_DISK | RANDOM_PRIORITY,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_WINDOW,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_WINDOW | RANDOM_ASYNC | RANDOM_EOS |
        RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_ASYNC | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_PRIORITY |
        RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_DISK,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_STATES | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_STATES | RANDOM_PRIORITY,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_PRIORITY | RANDOM_WATERMARK,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_CLOSED_LOOP | RANDOM_AFFINE |
        RANDOM_FRACTION,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_THRESHOLD | RANDOM_UNCHUNKED,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_DISK,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_DISK | RANDOM_ASYNC | RANDOM_EOS |
        RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_CACHE | RANDOM_RADIX | RANDOM_DISK | RANDOM_PRIORITY | RANDOM_AFFINE,
    RANDOM_TIER | RANDOM_DISK,
    RANDOM_TIER | RANDOM_DISK | RANDOM_ASYNC,
    RANDOM_TIER | RANDOM_DISK | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_DISK | RANDOM_PRIORITY | RANDOM_ABORTS,
    RANDOM_TIER | RANDOM_DISK | RANDOM_CLOSED_LOOP | RANDOM_AFFINE | RANDOM_FRACTION,
    RANDOM_TIER | RANDOM_DISK | RANDOM_THRESHOLD | RANDOM_WATERMARK | RANDOM_UNCHUNKED,
    RANDOM_SEQUENCES,
    RANDOM_SEQUENCES | RANDOM_EOS | RANDOM_ASYNC,
    RANDOM_SEQUENCES | RANDOM_EOS | RANDOM_ABORTS | RANDOM_FRACTION | RANDOM_AFFINE,
    RANDOM_SEQUENCES | RANDOM_PRIORITY | RANDOM_EOS | RANDOM_CLOSED_LOOP,
    RANDOM_SEQUENCES | RANDOM_V010 | RANDOM_PRIORITY | RANDOM_UNCHUNKED | RANDOM_REFUSALS,
    RANDOM_SEQUENCES | RANDOM_CACHE,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_PRIORITY | RANDOM_WATERMARK | RANDOM_CLASSES,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_EVICTION | RANDOM_CLOSED_LOOP | RANDOM_EOS,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_TABLES | RANDOM_ASYNC | RANDOM_EOS,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_V010 | RANDOM_UNCHUNKED,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_RADIX | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SEQUENCES | RANDOM_CACHE | RANDOM_RADIX | RANDOM_ASYNC | RANDOM_PRIORITY,
    RANDOM_SEQUENCES | RANDOM_TIER | RANDOM_ASYNC | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SEQUENCES | RANDOM_TIER | RANDOM_DISK | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SEQUENCES | RANDOM_ORCA | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SEQUENCES | RANDOM_ORCA | RANDOM_COMPACTION | RANDOM_CLOSED_LOOP | RANDOM_AFFINE,
    RANDOM_ORCA,
    RANDOM_ORCA | RANDOM_AFFINE | RANDOM_FRACTION,
    RANDOM_ORCA | RANDOM_ABORTS,
    RANDOM_ORCA | RANDOM_ASYNC | RANDOM_EOS,
    RANDOM_ORCA | RANDOM_EOS | RANDOM_CLOSED_LOOP | RANDOM_REFUSALS,
    RANDOM_ORCA | RANDOM_PRIORITY | RANDOM_CLASSES,
    RANDOM_ORCA | RANDOM_COMPACTION,
    RANDOM_ORCA | RANDOM_COMPACTION | RANDOM_ASYNC | RANDOM_EOS | RANDOM_AFFINE,
    RANDOM_ORCA | RANDOM_COMPACTION | RANDOM_ABORTS | RANDOM_CLASSES | RANDOM_FRACTION,
    RANDOM_SLOTS,
    RANDOM_SLOTS | RANDOM_AFFINE | RANDOM_FRACTION,
    RANDOM_SLOTS | RANDOM_CACHE,
    RANDOM_SLOTS | RANDOM_CACHE | RANDOM_EOS | RANDOM_ABORTS,
    RANDOM_SLOTS | RANDOM_CACHE | RANDOM_CLOSED_LOOP | RANDOM_AFFINE | RANDOM_REFUSALS,
    RANDOM_SLOTS | RANDOM_CACHE | RANDOM_SEQUENCES | RANDOM_EOS | RANDOM_ABORTS,
};

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

// Loads that take what unfinished prompts need, and prompts that throw out their equals, may go on for ever: the engine tells,
// both ways at the same instant.
static void check_stuck(uint64_t seed, uint32_t features, const struct ref_input *input)
{
    char difference[300];
    struct engine_run stepped, jumped;
    engine_run_reference_input(input, SERVE_STEP, &stepped);
    engine_run_reference_input(input, SERVE_JUMP, &jumped);
    ck_assert_msg(stepped.result.status == SERVE_STUCK && jumped.result.status == SERVE_STUCK,
                  "seed %" PRIu64 " features %" PRIu32 ": not seen to be stuck", seed, features);
    engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "seed %" PRIu64 " features %" PRIu32 " (stuck): %s", seed,
                  features, difference);
    engine_run_release(&stepped);
    engine_run_release(&jumped);
}

static void check_one(uint64_t seed, uint32_t features)
{
    struct ref_input input;
    random_scenario(seed, features, &input);
    const bool may_circle =
        (features & RANDOM_TIER) != 0 || input.engine.priority_tie == REF_TIE_FIRST;
    input.step_limit = may_circle ? 5000 : 100000;
    struct ref_output expected;
    int rc = ref_run(&input, &expected);
    ck_assert_int_eq(rc, 0);
    if (expected.verdict == REF_DONE) {
        char difference[300];
        struct engine_run stepped, jumped;
        engine_run_reference_input(&input, SERVE_STEP, &stepped);
        engine_compare_with_reference(&input, &expected, &stepped, difference, sizeof difference);
        ck_assert_msg(difference[0] == '\0', "seed %" PRIu64 " features %" PRIu32 " (stepping): %s",
                      seed, features, difference);
        engine_run_reference_input(&input, SERVE_JUMP, &jumped);
        engine_compare_with_reference(&input, &expected, &jumped, difference, sizeof difference);
        ck_assert_msg(difference[0] == '\0', "seed %" PRIu64 " features %" PRIu32 " (jumping): %s",
                      seed, features, difference);
        engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
        ck_assert_msg(difference[0] == '\0',
                      "seed %" PRIu64 " features %" PRIu32 " (step against jump): %s", seed,
                      features, difference);
        engine_run_release(&stepped);
        engine_run_release(&jumped);
    } else if (expected.verdict == REF_STUCK && may_circle) {
        check_stuck(seed, features, &input);
    }
    ref_output_free(&expected);
    ref_input_free(&input);
}

START_TEST(engine_does_what_the_reference_does)
{
    uint64_t scenarios = number_from("KVSIM_SCENARIOS", 70), first = number_from("KVSIM_SEED", 1);
    uint32_t features = (uint32_t)number_from("KVSIM_FEATURES", feature_sets[_i]);
    if (_i > 0 && getenv("KVSIM_FEATURES") != NULL) {
        return; // once is enough
    }
    for (uint64_t seed = first; seed < first + scenarios; seed++) {
        check_one(seed, features);
    }
}
END_TEST

START_TEST(engine_whose_loads_throw_prompts_out_for_ever_is_stuck)
{
    enum { SCENARIOS = 150 };
    uint32_t features = RANDOM_TIER | RANDOM_CACHE | RANDOM_TABLES | RANDOM_DISK;
    int stuck = 0;
    for (uint64_t seed = 1; seed <= SCENARIOS; seed++) {
        struct ref_input input;
        random_scenario(seed, features, &input);
        input.step_limit = 5000;
        struct ref_output expected;
        ck_assert_int_eq(ref_run(&input, &expected), 0);
        if (expected.verdict == REF_STUCK) {
            check_stuck(seed, features, &input);
            stuck++;
        }
        ref_output_free(&expected);
        ref_input_free(&input);
    }
    ck_assert_int_gt(stuck, 0);
}
END_TEST

START_TEST(engine_whose_prompts_push_out_what_they_read_is_stuck)
{
    check_one(30466, RANDOM_TIER | RANDOM_CACHE | RANDOM_SPARSE | RANDOM_TABLES | RANDOM_DISK);
}
END_TEST

START_TEST(engine_does_what_the_reference_does_with_any_mix)
{
    uint64_t scenarios = 4 * number_from("KVSIM_SCENARIOS", 100),
             first = number_from("KVSIM_SEED", 1000000);
    for (uint64_t seed = first; seed < first + scenarios; seed++) {
        uint32_t features =
            random_features(seed, RANDOM_WITHOUT_CACHE | RANDOM_CACHE | RANDOM_WINDOW);
        // Other orders of eviction are of models that see all of their context.
        bool may_rank = (features & RANDOM_WINDOW) == 0;
        check_one(seed, features | (may_rank && seed % 2 == 0 ? RANDOM_EVICTION : 0) |
                            (seed % 3 == 0 ? RANDOM_SEQUENCES : 0));
    }
}
END_TEST

START_TEST(engine_does_what_the_reference_does_with_a_tree_and_any_mix)
{
    uint64_t scenarios = 4 * number_from("KVSIM_SCENARIOS", 100),
             first = number_from("KVSIM_SEED", 3000000);
    for (uint64_t seed = first; seed < first + scenarios; seed++) {
        uint32_t mix = random_features(seed, RANDOM_WITHOUT_CACHE);
        bool has_tier = seed % 2 == 0 && (mix & RANDOM_V010) == 0;
        check_one(seed, mix | RANDOM_CACHE | RANDOM_RADIX | (has_tier ? RANDOM_TIER : 0) |
                            (has_tier && seed % 4 == 0 ? RANDOM_DISK : 0));
    }
}
END_TEST

START_TEST(engine_does_what_the_reference_does_with_a_tier_and_any_mix)
{
    uint64_t scenarios = 4 * number_from("KVSIM_SCENARIOS", 100),
             first = number_from("KVSIM_SEED", 2000000);
    for (uint64_t seed = first; seed < first + scenarios; seed++) {
        uint32_t mix = random_features(seed, RANDOM_WITHOUT_CACHE & ~(uint32_t)RANDOM_V010);
        check_one(seed, mix | RANDOM_TIER | (seed % 2 == 0 ? RANDOM_DISK : 0) |
                            (seed % 3 == 0 ? RANDOM_SEQUENCES : 0));
    }
}
END_TEST

START_TEST(engine_does_what_the_reference_does_with_slots_and_any_mix)
{
    const uint32_t allowed = RANDOM_ABORTS | RANDOM_CLOSED_LOOP | RANDOM_CLASSES | RANDOM_EOS |
                             RANDOM_AFFINE | RANDOM_FRACTION | RANDOM_CACHE | RANDOM_REFUSALS;
    uint64_t scenarios = 2 * number_from("KVSIM_SCENARIOS", 100),
             first = number_from("KVSIM_SEED", 4000000);
    for (uint64_t seed = first; seed < first + scenarios; seed++) {
        check_one(seed, random_features(seed, allowed) | RANDOM_SLOTS |
                            (seed % 3 == 0 ? RANDOM_SEQUENCES : 0));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine against reference");
    TCase *tcase = tcase_create("random scenarios");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, engine_does_what_the_reference_does, 0,
                        sizeof feature_sets / sizeof *feature_sets);
    if (getenv("KVSIM_FEATURES") == NULL) {
        tcase_add_test(tcase, engine_whose_loads_throw_prompts_out_for_ever_is_stuck);
        tcase_add_test(tcase, engine_whose_prompts_push_out_what_they_read_is_stuck);
        tcase_add_test(tcase, engine_does_what_the_reference_does_with_any_mix);
        tcase_add_test(tcase, engine_does_what_the_reference_does_with_a_tree_and_any_mix);
        tcase_add_test(tcase, engine_does_what_the_reference_does_with_a_tier_and_any_mix);
        tcase_add_test(tcase, engine_does_what_the_reference_does_with_slots_and_any_mix);
    }
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
