#include "support/unit.h"

#include "rng/stream.h"

#include "base/hash.h"

#include <gsl/gsl_randist.h>

#include <math.h>

/* xoshiro256** as its authors wrote it, on the state {1, 2, 3, 4}: the first values of their
 * reference code. */
START_TEST(is_xoshiro)
{
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    gsl_rng *rng = rng_gsl_new(1);
    uint64_t *state = gsl_rng_state(rng);

    ck_assert_uint_eq(gsl_rng_size(rng), 32);
    for (uint64_t i = 0; i < 4; i++)
        state[i] = i + 1;
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(gsl_rng_get(rng), expected[i]);
    gsl_rng_free(rng);
}
END_TEST

START_TEST(the_whole_seed_counts)
{
    gsl_rng *a = rng_gsl_new(1), *b = rng_gsl_new(1 + (UINT64_C(1) << 40)), *zero = rng_gsl_new(0);

    ck_assert_uint_ne(gsl_rng_get(a), gsl_rng_get(b));
    ck_assert_uint_ne(gsl_rng_get(zero), 0);
    gsl_rng_free(a);
    gsl_rng_free(b);
    gsl_rng_free(zero);
}
END_TEST

START_TEST(a_value_does_not_depend_on_what_was_drawn_before)
{
    gsl_rng *rng = rng_gsl_new(9);
    double first, again;

    rng_gsl_at(rng, 5, 100);
    first = gsl_ran_gamma(rng, 0.7, 2.0);
    gsl_rng_get(rng);
    rng_gsl_at(rng, 5, 101);
    ck_assert_double_ne(gsl_ran_gamma(rng, 0.7, 2.0), first);
    rng_gsl_at(rng, 5, 100);
    again = gsl_ran_gamma(rng, 0.7, 2.0);
    ck_assert_double_eq(first, again);
    gsl_rng_free(rng);
}
END_TEST

START_TEST(gsl_distributions_work_on_it)
{
    gsl_rng *rng = rng_gsl_new(3);
    double sum = 0.0, uniform = 0.0;

    for (int i = 0; i < 10000; i++) {
        double u = gsl_rng_uniform(rng);

        ck_assert(u >= 0.0 && u < 1.0);
        uniform += u;
        sum += gsl_ran_gaussian(rng, 2.0);
        ck_assert_uint_lt(gsl_rng_uniform_int(rng, 7), 7);
    }
    ck_assert_double_lt(fabs(uniform / 1e4 - 0.5), 0.012);
    ck_assert_double_lt(fabs(sum / 1e4), 0.08);
    gsl_rng_free(rng);
}
END_TEST

int main(void)
{
    return unit_run("rng.stream", (const TTest *const[]){
                                      is_xoshiro,
                                      the_whole_seed_counts,
                                      a_value_does_not_depend_on_what_was_drawn_before,
                                      gsl_distributions_work_on_it,
                                      NULL,
                                  });
}
