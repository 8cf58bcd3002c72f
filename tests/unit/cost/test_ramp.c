/* The pieces of a decode stretch against the maxima evaluated step by step. */
#include "cost/ops.h"

#include <check.h>
#include <stdlib.h>

enum { CURVES_MAX = 4, STEPS_MAX = 400 };

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int64_t random_below(uint64_t *state, int64_t limit)
{
    return (int64_t)(random_next(state) % (uint64_t)limit);
}

/* Small numbers make ties frequent; sums that differ make the winners change. */
static void lines_random(uint64_t *state, struct cost_lines *lines, struct cost_curve *curves)
{
    *lines = (struct cost_lines){.ready = true, .curves = curves};
    int64_t scale = random_below(state, 2) ? 20 : 300;
    lines->overlap = random_below(state, 2) == 1;
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        lines->class_ticks[i] = random_below(state, 3) ? random_below(state, scale * 20) : 0;
    lines->launch_ticks = random_below(state, 2) ? random_below(state, scale * 80) : 0;
    lines->host_ticks = random_below(state, 2) ? random_below(state, scale * 80) : 0;
    lines->curve_count = (uint32_t)random_below(state, CURVES_MAX + 1);
    for (uint32_t i = 0; i < lines->curve_count; i++) {
        curves[i].sum = (uint32_t)random_below(state, COST_SUM_WINDOW + COST_WINDOWS_MAX);
        curves[i].line_count = 1 + (uint32_t)random_below(state, COST_LINES_PER_CURVE);
        for (uint32_t j = 0; j < curves[i].line_count; j++)
            curves[i].lines[j] =
                (struct cost_line){random_below(state, scale * 10), random_below(state, 6),
                                   (enum cost_bound)random_below(state, COST_BOUND_COUNT)};
    }
}

static void ramp_random(uint64_t *state, struct cost_ramp *ramp)
{
    *ramp = (struct cost_ramp){.seq_count = 1 + (uint32_t)random_below(state, 8)};
    ramp->context_tokens = ramp->seq_count + random_below(state, 400);
    for (size_t i = 0; i < COST_WINDOWS_MAX; i++) {
        ramp->window_tokens[i] = 1 + random_below(state, 300);
        ramp->window_gain[i] = random_below(state, (int64_t)ramp->seq_count + 1);
    }
}

static void ramp_advance(struct cost_ramp *ramp, int64_t steps)
{
    ramp->context_tokens += steps * (int64_t)ramp->seq_count;
    for (size_t i = 0; i < COST_WINDOWS_MAX; i++)
        ramp->window_tokens[i] += steps * ramp->window_gain[i];
}

/* The definition, with nothing clever about it. */
static struct cost_result step_directly(const struct cost_lines *lines,
                                        const struct cost_ramp *ramp)
{
    int64_t class_ticks[COST_BOUND_COUNT], device = 0;
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        class_ticks[i] = lines->class_ticks[i];
    for (uint32_t i = 0; i < lines->curve_count; i++) {
        const struct cost_curve *curve = &lines->curves[i];
        int64_t sum = curve->sum == 0 ? ramp->context_tokens : ramp->window_tokens[curve->sum - 1];
        int64_t best = -1;
        enum cost_bound bound = COST_COMPUTE;
        for (uint32_t j = 0; j < curve->line_count; j++) {
            int64_t ticks = curve->lines[j].alpha + curve->lines[j].beta * sum;
            if (ticks > best) {
                best = ticks;
                bound = curve->lines[j].bound;
            }
        }
        class_ticks[bound] += best;
    }
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        device += class_ticks[i];

    int64_t hiding = lines->launch_ticks;
    if (lines->overlap && lines->host_ticks > hiding)
        hiding = lines->host_ticks;
    int64_t exposed = lines->overlap ? 0 : lines->host_ticks;
    struct cost_result result = {(device > hiding ? device : hiding) + exposed, COST_HOST};
    if (result.ticks < 1)
        result.ticks = 1;
    if (device < hiding)
        return result;
    class_ticks[COST_HOST] += exposed;
    result.bound = COST_COMPUTE;
    for (int i = 1; i < COST_BOUND_COUNT; i++)
        if (class_ticks[i] > class_ticks[result.bound])
            result.bound = (enum cost_bound)i;
    return result;
}

static void stretch_directly(const struct cost_lines *lines, struct cost_ramp ramp,
                             struct cost_result *at, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        at[i] = step_directly(lines, &ramp);
        ramp_advance(&ramp, 1);
    }
}

static void piece_check(const struct cost_piece *piece, const struct cost_result *at,
                        int64_t max_steps)
{
    ck_assert_int_ge(piece->step_count, 1);
    ck_assert_int_le(piece->step_count, max_steps);
    ck_assert_int_ge(piece->delta_ticks, 0);
    int64_t i = 0; // one assertion per piece: Check reports each to its parent, at a cost
    while (i < piece->step_count && piece->first_ticks + i * piece->delta_ticks == at[i].ticks &&
           piece->bound == at[i].bound)
        i++;
    ck_assert_int_eq(i, piece->step_count);
}

START_TEST(pieces_equal_steps)
{
    uint64_t state = 1;
    for (int round = 0; round < 1500; round++) {
        struct cost_curve curves[CURVES_MAX];
        struct cost_lines lines;
        struct cost_ramp ramp;
        struct cost_result at[STEPS_MAX];
        lines_random(&state, &lines, curves);
        ramp_random(&state, &ramp);
        int64_t count = 1 + random_below(&state, STEPS_MAX);
        stretch_directly(&lines, ramp, at, count);
        for (int64_t done = 0; done < count;) {
            struct cost_piece piece;
            cost_lines_piece(&lines, &ramp, count - done, &piece);
            piece_check(&piece, at + done, count - done);
            done += piece.step_count;
            ramp_advance(&ramp, piece.step_count);
        }
    }
}
END_TEST

START_TEST(cutting_anywhere_changes_nothing)
{
    uint64_t state = 2;
    for (int round = 0; round < 1500; round++) {
        struct cost_curve curves[CURVES_MAX];
        struct cost_lines lines;
        struct cost_ramp ramp;
        struct cost_result at[STEPS_MAX];
        lines_random(&state, &lines, curves);
        ramp_random(&state, &ramp);
        stretch_directly(&lines, ramp, at, STEPS_MAX);
        for (int64_t done = 0; done < STEPS_MAX;) {
            struct cost_piece piece;
            int64_t left = STEPS_MAX - done, most = 1 + random_below(&state, left);
            cost_lines_piece(&lines, &ramp, most, &piece);
            piece_check(&piece, at + done, most);
            int64_t used = 1 + random_below(&state, piece.step_count);
            done += used;
            ramp_advance(&ramp, used);
        }
    }
}
END_TEST

/* A piece ends because the next step is off its line or has another bound, not for convenience. */
START_TEST(pieces_are_long)
{
    uint64_t state = 3;
    int64_t piece_count = 0, break_count = 0;
    for (int round = 0; round < 2000; round++) {
        struct cost_curve curves[CURVES_MAX];
        struct cost_lines lines;
        struct cost_ramp ramp;
        struct cost_result at[STEPS_MAX];
        lines_random(&state, &lines, curves);
        ramp_random(&state, &ramp);
        stretch_directly(&lines, ramp, at, STEPS_MAX);
        for (int i = 2; i < STEPS_MAX; i++)
            break_count += at[i].bound != at[i - 1].bound ||
                           at[i].ticks - at[i - 1].ticks != at[i - 1].ticks - at[i - 2].ticks;
        for (int64_t done = 0; done < STEPS_MAX; piece_count++) {
            struct cost_piece piece;
            cost_lines_piece(&lines, &ramp, STEPS_MAX - done, &piece);
            done += piece.step_count;
            ramp_advance(&ramp, piece.step_count);
        }
    }
    ck_assert_int_gt(break_count, 500);
    ck_assert_int_le(piece_count, break_count + 2 * 2000);
}
END_TEST

START_TEST(steps_never_get_shorter)
{
    uint64_t state = 4;
    for (int round = 0; round < 500; round++) {
        struct cost_curve curves[CURVES_MAX];
        struct cost_lines lines;
        struct cost_ramp ramp;
        lines_random(&state, &lines, curves);
        ramp_random(&state, &ramp);
        int64_t last = 0, shorter_count = 0;
        for (int i = 0; i < STEPS_MAX; i++) {
            struct cost_piece piece;
            cost_lines_piece(&lines, &ramp, 1, &piece);
            shorter_count += piece.first_ticks < last;
            last = piece.first_ticks;
            ramp_advance(&ramp, 1);
        }
        ck_assert_int_eq(shorter_count, 0);
    }
}
END_TEST

START_TEST(steps_until_by_brute_force)
{
    uint64_t state = 5;
    for (int round = 0; round < 10000; round++) {
        struct cost_piece piece = {.step_count = 1 + random_below(&state, 60),
                                   .first_ticks = 1 + random_below(&state, 1000),
                                   .delta_ticks =
                                       random_below(&state, 3) ? random_below(&state, 50) : 0};
        int64_t ticks = random_below(&state, 80000) - 10;
        int64_t expected = 1;
        while (expected < piece.step_count && cost_piece_sum(&piece, expected) < ticks)
            expected++;
        ck_assert_int_eq(cost_piece_steps_until(&piece, ticks), expected);
    }
}
END_TEST

START_TEST(steps_until_at_the_edges_of_large_sums)
{
    uint64_t state = 6;
    for (int round = 0; round < 10000; round++) {
        struct cost_piece piece = {
            .step_count = 1 + random_below(&state, INT64_C(1) << (1 + random_below(&state, 30))),
            .first_ticks = 1 + random_below(&state, INT64_C(1) << 50),
            .delta_ticks = random_below(&state, INT64_C(1) << (1 + random_below(&state, 30)))};
        int64_t n = random_below(&state, piece.step_count) + 1;
        base_i128 sum = cost_piece_sum(&piece, n);
        ck_assert_int_eq(cost_piece_steps_until(&piece, sum), n);
        ck_assert_int_eq(cost_piece_steps_until(&piece, cost_piece_sum(&piece, n - 1) + 1), n);
        ck_assert_int_eq(cost_piece_steps_until(&piece, sum + 1), n < piece.step_count ? n + 1 : n);
    }
    struct cost_piece flat = {
        .step_count = INT64_MAX, .first_ticks = COST_TICKS_MAX, .delta_ticks = 0};
    base_i128 all = cost_piece_sum(&flat, INT64_MAX);
    ck_assert_int_eq(cost_piece_steps_until(&flat, all), INT64_MAX);
    ck_assert_int_eq(cost_piece_steps_until(&flat, all + 1), INT64_MAX);
    ck_assert_int_eq(cost_piece_steps_until(&flat, cost_piece_sum(&flat, INT64_MAX - 1)),
                     INT64_MAX - 1);
}
END_TEST

/* What would pass int64 is held at the longest step, and stays there. */
START_TEST(huge_steps_are_held)
{
    struct cost_curve curve = {.sum = COST_SUM_CONTEXT,
                               .line_count = 1,
                               .lines = {{COST_TICKS_MAX, COST_TICKS_MAX, COST_KV_BANDWIDTH}}};
    struct cost_lines lines = {.curve_count = 1, .curves = &curve, .host_ticks = COST_TICKS_MAX};
    struct cost_ramp ramp = {.seq_count = 1000, .context_tokens = INT64_C(1) << 40};
    struct cost_piece piece;
    cost_lines_piece(&lines, &ramp, 100, &piece);
    ck_assert_int_eq(piece.first_ticks, COST_TICKS_MAX);
    ck_assert_int_eq(piece.delta_ticks, 0);
    ck_assert_int_eq(piece.step_count, 100);

    curve.lines[0] = (struct cost_line){0, COST_TICKS_MAX / 10, COST_KV_BANDWIDTH};
    lines.host_ticks = 0;
    ramp = (struct cost_ramp){.seq_count = 1, .context_tokens = 5};
    cost_lines_piece(&lines, &ramp, 100, &piece);
    ck_assert_int_eq(piece.step_count, 6); // 0.5 ... 1.0 of the longest
    ck_assert_int_eq(piece.first_ticks, COST_TICKS_MAX / 10 * 5);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("ramp");
    tcase_add_test(tests, pieces_equal_steps);
    tcase_add_test(tests, cutting_anywhere_changes_nothing);
    tcase_add_test(tests, pieces_are_long);
    tcase_add_test(tests, steps_never_get_shorter);
    tcase_add_test(tests, steps_until_by_brute_force);
    tcase_add_test(tests, steps_until_at_the_edges_of_large_sums);
    tcase_add_test(tests, huge_steps_are_held);
    Suite *suite = suite_create("cost");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
