#include "sched/beams.h"

#include "rng/rng.h"
#include "support/check_main.h"

enum { WIDTH_MAX = 9 };

// A beam has as many continuations as were drawn for it, goes on as itself when it has one, and gives the others in order.
START_TEST(each_beam_is_followed_as_often_as_drawn)
{
    int64_t strangers = 0;
    for (uint32_t width = 1; width <= WIDTH_MAX; width++) {
        for (int64_t tokens = 2; tokens < 60; tokens++) {
            const struct sched_beam_draws draws = {
                .key = rng_key(3, 1, RNG_BEAM, width), .switches = 0.7, .width = width};
            uint32_t parents[WIDTH_MAX], scratch[WIDTH_MAX], last = 0;
            int wanted[WIDTH_MAX] = {0}, got[WIDTH_MAX] = {0};
            sched_beam_parents(&draws, tokens, parents, scratch);
            for (uint32_t i = 0; i < width; i++) {
                double u = rng_uniform(draws.key, (uint64_t)tokens * width + i);
                wanted[u < 0.7 ? (uint32_t)(u / 0.7 * width) : i]++;
                got[parents[i]]++;
            }
            for (uint32_t i = 0; i < width; i++) {
                ck_assert_int_eq(got[i], wanted[i]);
                ck_assert(got[i] == 0 || parents[i] == i);
                if (parents[i] != i) {
                    ck_assert_uint_ge(parents[i], last);
                    last = parents[i];
                    strangers++;
                }
            }
        }
    }
    ck_assert_int_gt(strangers, 500);
}
END_TEST

START_TEST(without_switches_all_go_on_as_they_are)
{
    const struct sched_beam_draws draws = {.key = 7, .switches = 0, .width = WIDTH_MAX};
    uint32_t parents[WIDTH_MAX], scratch[WIDTH_MAX];
    sched_beam_parents(&draws, 2, parents, scratch);
    for (uint32_t i = 0; i < WIDTH_MAX; i++) {
        ck_assert_uint_eq(parents[i], i);
    }
}
END_TEST

CHECK_MAIN("sched.beams", each_beam_is_followed_as_often_as_drawn,
           without_switches_all_go_on_as_they_are)
