#include "support/unit.h"

#include "rng/rng.h"

#include <math.h>

START_TEST(every_part_of_the_address_counts)
{
    uint64_t key = rng_key(1, 2, RNG_PROMPT, 3);

    ck_assert_uint_eq(key, rng_key(1, 2, RNG_PROMPT, 3));
    ck_assert_uint_ne(key, rng_key(2, 2, RNG_PROMPT, 3));
    ck_assert_uint_ne(key, rng_key(1, 3, RNG_PROMPT, 3));
    ck_assert_uint_ne(key, rng_key(1, 2, RNG_OUTPUT, 3));
    ck_assert_uint_ne(key, rng_key(1, 2, RNG_PROMPT, 4));
    /* Parts are not merely added. */
    ck_assert_uint_ne(rng_key(1, 2, RNG_PROMPT, 0), rng_key(2, 1, RNG_PROMPT, 0));
    ck_assert_uint_ne(rng_key(1, 4, RNG_PROMPT, 0), rng_key(1, 3, RNG_PROMPT, 1));
    ck_assert_double_ne(rng_uniform(key, 0), rng_uniform(key, 1));
    ck_assert_double_eq(rng_uniform(key, 7), rng_uniform(key, 7));
}
END_TEST

START_TEST(values_are_fixed_for_all_time)
{
    /* Stored results depend on them: a change here is a change of the result version. */
    ck_assert_double_eq(rng_uniform(rng_key(1, 1, RNG_ARRIVAL, 0), 0), 0x1.04b62466930ap-1);
}
END_TEST

/* Kolmogorov and Smirnov: the largest distance of 100,000 sorted values stays below 1.95 /
 * sqrt(n) (p = 0.001). */
START_TEST(uniforms_are_uniform)
{
    enum { BINS = 1000, COUNT = 100000 };
    static unsigned bins[BINS];
    uint64_t key = rng_key(42, 1, RNG_PROMPT, 0);
    double sum = 0.0, product = 0.0, before = 0.5, worst = 0.0;
    unsigned upto = 0;

    for (uint64_t i = 0; i < COUNT; i++) {
        double u = rng_uniform(key, i);

        bins[(size_t)(u * BINS)]++;
        sum += u;
        product += (u - 0.5) * (before - 0.5);
        before = u;
    }
    for (size_t i = 0; i < BINS; i++) {
        upto += bins[i];
        worst = fmax(worst, fabs((double)upto / COUNT - (double)(i + 1) / BINS));
    }
    ck_assert_double_lt(worst, 1.95 / sqrt(COUNT));
    ck_assert_double_lt(fabs(sum / COUNT - 0.5), 4.0 * sqrt(1.0 / 12.0 / COUNT));
    ck_assert_double_lt(fabs(product / COUNT * 12.0), 4.0 / sqrt(COUNT));
}
END_TEST

int main(void)
{
    return unit_run("rng.key", (const TTest *const[]){
                                   every_part_of_the_address_counts,
                                   values_are_fixed_for_all_time,
                                   uniforms_are_uniform,
                                   NULL,
                               });
}
