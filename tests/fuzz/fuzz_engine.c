/*
 * The engine against the naive reference, step by step: the first byte picks a kind of memory, the others a mix of features and
 * the scenario, choice by choice (reference/random_scenario.h). Prefix caches of blocks and of a tree, tiers, windows and tables,
 * states, slots and cells, reservations in an address space: whatever the pool does, both do it in the same step, and the ledger
 * adds up to the pool.
 */
#include "base/error.h"
#include "reference/random_scenario.h"
#include "support/engine_run.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t maybe(struct dice *dice, uint32_t feature)
{
    return dice_one_in(dice, 2) ? feature : 0;
}

/* ---- the mixes: what may stand beside what, see test_engine_against_reference ---- */

static uint32_t draw_blocks(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_WITHOUT_CACHE | RANDOM_CACHE | RANDOM_WINDOW);
    uint32_t order = (mix & RANDOM_WINDOW) == 0 ? maybe(dice, RANDOM_EVICTION) : 0;
    return mix | order | maybe(dice, RANDOM_SEQUENCES);
}

static uint32_t draw_tables(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_WITHOUT_CACHE) | RANDOM_TABLES;
    mix |= maybe(dice, RANDOM_CACHE);
    if ((mix & RANDOM_CACHE) != 0 && (mix & RANDOM_V010) == 0) {
        mix |= maybe(dice, RANDOM_SPARSE) | maybe(dice, RANDOM_STATES);
    }
    return mix | ((mix & RANDOM_STATES) == 0 ? maybe(dice, RANDOM_LENGTHS) : 0);
}

static uint32_t draw_tree(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_WITHOUT_CACHE) | RANDOM_CACHE | RANDOM_RADIX;
    uint32_t tier = (mix & RANDOM_V010) == 0 ? maybe(dice, RANDOM_TIER) : 0;
    return mix | tier | (tier != 0 ? maybe(dice, RANDOM_DISK) : maybe(dice, RANDOM_SEQUENCES));
}

static uint32_t draw_tier(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_WITHOUT_CACHE & ~(uint32_t)RANDOM_V010);
    mix |= RANDOM_TIER | maybe(dice, RANDOM_DISK);
    if (dice_one_in(dice, 2)) {
        return mix | RANDOM_CACHE | RANDOM_TABLES | maybe(dice, RANDOM_STATES);
    }
    return mix | maybe(dice, RANDOM_SEQUENCES);
}

static uint32_t draw_reserved(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_ASYNC | RANDOM_PRIORITY | RANDOM_ABORTS |
                                                RANDOM_CLOSED_LOOP | RANDOM_CLASSES | RANDOM_EOS |
                                                RANDOM_AFFINE | RANDOM_FRACTION | RANDOM_REFUSALS);
    return mix | RANDOM_ORCA | maybe(dice, RANDOM_COMPACTION) | maybe(dice, RANDOM_SEQUENCES);
}

static uint32_t draw_slots(struct dice *dice)
{
    uint32_t mix = random_features_of(dice, RANDOM_ABORTS | RANDOM_CLOSED_LOOP | RANDOM_CLASSES |
                                                RANDOM_EOS | RANDOM_AFFINE | RANDOM_FRACTION |
                                                RANDOM_CACHE | RANDOM_REFUSALS);
    return mix | RANDOM_SLOTS | maybe(dice, RANDOM_SEQUENCES);
}

static uint32_t draw_features(struct dice *dice)
{
    static uint32_t (*const mixes[])(struct dice *) = {draw_blocks, draw_tables,   draw_tree,
                                                       draw_tier,   draw_reserved, draw_slots};
    return mixes[dice_between(dice, 0, 5)](dice);
}

/* ---- the comparison ---- */

static void expect(bool holds, uint32_t features, const char *what)
{
    if (!holds) {
        fprintf(stderr, "features %u: %s\n", (unsigned)features, what);
    }
    base_require(holds);
}

static void compare(const struct ref_input *input, uint32_t features,
                    const struct ref_output *expected)
{
    char difference[300] = "";
    struct engine_run stepped, jumped;
    engine_run_reference_input(input, SERVE_STEP, &stepped);
    engine_run_reference_input(input, SERVE_JUMP, &jumped);
    if (expected->verdict == REF_DONE) {
        engine_compare_with_reference(input, expected, &stepped, difference, sizeof difference);
        expect(difference[0] == '\0', features, difference);
        engine_compare_with_reference(input, expected, &jumped, difference, sizeof difference);
        expect(difference[0] == '\0', features, difference);
    } else {
        expect(stepped.result.status == SERVE_STUCK, features, "not seen to be stuck");
    }
    engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
    expect(difference[0] == '\0', features, difference);
    engine_run_release(&stepped);
    engine_run_release(&jumped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dice dice = dice_of_bytes(data, size);
    uint32_t features = draw_features(&dice);
    struct ref_input input;
    struct ref_output expected;
    random_scenario_of(&dice, features, &input);
    input.step_limit = 5000;
    base_require(ref_run(&input, &expected) == 0);
    // What may go on for ever is told by the engine; what else lasts so long is not compared.
    bool may_circle = (features & RANDOM_TIER) != 0 || input.engine.priority_tie == REF_TIE_FIRST;
    if (expected.verdict == REF_DONE || (expected.verdict == REF_STUCK && may_circle)) {
        compare(&input, features, &expected);
    }
    ref_output_free(&expected);
    ref_input_free(&input);
    return 0;
}
