#include "support/unit.h"

#include "unit/rng/dist_util.h"

#include <gsl/gsl_cdf.h>

static struct base_arena arena;

/* Each continuous kind against GSL's distribution function, cut off at both ends. */
static double gsl_p(const struct rng_dist *dist, double x)
{
    switch (dist->kind) {
    case RNG_NORMAL:
        return gsl_cdf_gaussian_P(x - dist->a, dist->b);
    case RNG_LOGNORMAL:
        return gsl_cdf_lognormal_P(x, dist->a, dist->b);
    case RNG_GAMMA:
        return gsl_cdf_gamma_P(x, dist->a, dist->b);
    case RNG_WEIBULL:
        return gsl_cdf_weibull_P(x, dist->b, dist->a);
    case RNG_EXPONENTIAL:
        return gsl_cdf_exponential_P(x, dist->a);
    default:
        ck_abort_msg("no continuous kind");
    }
}

static void check_against_gsl(struct rng_dist_options options)
{
    struct rng_dist dist = make_dist(options, false, &arena);
    double low = options.has_min ? gsl_p(&dist, options.min) : 0.0;
    double high = options.has_max ? gsl_p(&dist, options.max) : 1.0, before = -INFINITY;

    for (double u = 0.0005; u < 1.0; u += 0.0037) {
        double x = rng_dist_value(&dist, u);

        ck_assert_double_ge(x, before);
        ck_assert_double_eq_tol((gsl_p(&dist, x) - low) / (high - low), u, 1e-10);
        before = x;
    }
}

START_TEST(continuous_kinds_follow_gsl)
{
    check_against_gsl(
        OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 5.0, .has_sd = true, .sd = 3.0));
    check_against_gsl(OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 5.0, .has_sd = true, .sd = 3.0,
                              WITH_RANGE(1, 6)));
    check_against_gsl(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(1600, 1.1)));
    check_against_gsl(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(1600, 1.1), WITH_RANGE(16, 7168)));
    check_against_gsl(OPTIONS(RNG_GAMMA, WITH_MEAN_CV(300, 0.7), WITH_RANGE(10, 900)));
    check_against_gsl(OPTIONS(RNG_GAMMA, WITH_MEAN_CV(300, 2.0)));
    check_against_gsl(OPTIONS(RNG_WEIBULL, WITH_MEAN_CV(2.0, 1.5), .has_max = true, .max = 40.0));
    check_against_gsl(
        OPTIONS(RNG_EXPONENTIAL, .has_mean = true, .mean = 3.0, .has_min = true, .min = 1.0));
}
END_TEST

START_TEST(median_and_p95_are_met)
{
    static const enum rng_kind kinds[] = {RNG_LOGNORMAL, RNG_GAMMA};

    for (size_t i = 0; i < 2; i++) {
        struct rng_dist dist = make_dist(
            OPTIONS(kinds[i], .has_median = true, .median = 220, .has_p95 = true, .p95 = 900),
            false, &arena);

        ck_assert_double_eq_tol(rng_dist_value(&dist, 0.5), 220.0, 1e-7);
        ck_assert_double_eq_tol(rng_dist_value(&dist, 0.95), 900.0, 1e-6);
    }
}
END_TEST

START_TEST(mean_and_cv_are_met)
{
    static const enum rng_kind kinds[] = {RNG_LOGNORMAL, RNG_GAMMA, RNG_WEIBULL};
    enum { COUNT = 200000 };

    for (size_t i = 0; i < 3; i++) {
        struct rng_dist dist = make_dist(OPTIONS(kinds[i], WITH_MEAN_CV(50.0, 0.6)), false, &arena);
        double sum = 0.0, squares = 0.0, mean;

        for (int k = 0; k < COUNT; k++) {
            double x = rng_dist_value(&dist, ((double)k + 0.5) / COUNT);

            sum += x;
            squares += x * x;
        }
        mean = sum / COUNT;
        ck_assert_double_eq_tol(mean, 50.0, 0.01);
        ck_assert_double_eq_tol(sqrt(squares / COUNT - mean * mean) / mean, 0.6, 0.002);
    }
}
END_TEST

START_TEST(whole_values_round_to_the_nearest_and_stay_inside)
{
    struct rng_dist real = make_dist(
        OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(6, 1.1), WITH_RANGE(2.6, 40.2)), false, &arena);
    struct rng_dist whole = make_dist(
        OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(6, 1.1), WITH_RANGE(2.6, 40.2)), true, &arena);

    for (double u = 0.001; u < 1.0; u += 0.0017)
        ck_assert_double_eq(rng_dist_value(&whole, u),
                            fmin(fmax(floor(rng_dist_value(&real, u) + 0.5), 3.0), 40.0));
}
END_TEST

START_TEST(without_min_a_count_is_at_least_one)
{
    struct rng_dist dist = make_dist(
        OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 2, .has_sd = true, .sd = 5), true, &arena);

    ck_assert_double_eq(rng_dist_value(&dist, 1e-9), 1.0);
    ck_assert_double_eq(rng_dist_value(&dist, 0.5), 2.0);
}
END_TEST

START_TEST(uniform_counts_take_every_value_equally_often)
{
    struct rng_dist dist = make_dist(OPTIONS(RNG_UNIFORM, WITH_RANGE(3, 7)), true, &arena);
    unsigned counts[8] = {0};

    for (int i = 0; i < 5000; i++)
        counts[(size_t)rng_dist_value(&dist, ((double)i + 0.5) / 5000.0)]++;
    for (size_t k = 3; k <= 7; k++)
        ck_assert_uint_eq(counts[k], 1000);
    dist = make_dist(OPTIONS(RNG_UNIFORM, WITH_RANGE(3, 7)), false, &arena);
    ck_assert_double_eq_tol(rng_dist_value(&dist, 0.25), 4.0, 1e-12);
}
END_TEST

START_TEST(geometric_is_exact)
{
    struct rng_dist dist =
        make_dist(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 4), true, &arena);
    enum { COUNT = 1000000 };
    static unsigned counts[400];

    for (int i = 0; i < COUNT; i++) {
        double k = rng_dist_value(&dist, ((double)i + 0.5) / COUNT);

        counts[k >= 1.0 ? (size_t)k : 0]++;
    }
    ck_assert_uint_eq(counts[0], 0);
    for (unsigned k = 1; k < 40; k++)
        ck_assert_double_eq_tol((double)counts[k], COUNT * 0.25 * pow(0.75, (double)(k - 1)), 1.5);
    /* Cut off to 2 ... 5: the shares stay in proportion. */
    dist = make_dist(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 4, WITH_RANGE(2, 5)), true,
                     &arena);
    ck_assert_double_eq(rng_dist_value(&dist, 1e-9), 2.0);
    ck_assert_double_eq(rng_dist_value(&dist, 1.0 - 1e-9), 5.0);
    ck_assert_double_eq(rng_dist_value(&dist, 0.3656), 2.0); /* 0.25 / (1 - 0.75^4) = 0.36571 */
    ck_assert_double_eq(rng_dist_value(&dist, 0.3658), 3.0);
}
END_TEST

START_TEST(zipf_is_exact)
{
    struct rng_dist dist =
        make_dist(OPTIONS(RNG_ZIPF, .has_s = true, .s = 1.0, WITH_RANGE(1, 3)), true, &arena);

    /* Weights 1, 1/2, 1/3: shares 6/11, 3/11, 2/11. */
    ck_assert_double_eq(rng_dist_value(&dist, 6.0 / 11.0 - 1e-9), 1.0);
    ck_assert_double_eq(rng_dist_value(&dist, 6.0 / 11.0 + 1e-9), 2.0);
    ck_assert_double_eq(rng_dist_value(&dist, 9.0 / 11.0 + 1e-9), 3.0);
    dist = make_dist(OPTIONS(RNG_ZIPF, .has_s = true, .s = 300.0, WITH_RANGE(1000, 1003)), true,
                     &arena);
    ck_assert_double_eq(rng_dist_value(&dist, 0.2), 1000.0); /* 1000^-300 alone would be 0 */
}
END_TEST

START_TEST(empirical_takes_values_and_ranges)
{
    static const struct rng_bin bins[] = {{10, 10, 1}, {20, 24, 2}, {100, 100, 1}};
    struct rng_dist dist =
        make_dist(OPTIONS(RNG_EMPIRICAL, .bins = bins, .bin_count = 3), true, &arena);

    ck_assert_double_eq(rng_dist_value(&dist, 0.2), 10.0);
    for (int k = 0; k < 4; k++) /* [20, 24) holds 20, 21, 22, 23 */
        ck_assert_double_eq(rng_dist_value(&dist, 0.25 + 0.125 * k + 0.06), 20.0 + k);
    ck_assert_double_eq(rng_dist_value(&dist, 0.76), 100.0);
    dist = make_dist(OPTIONS(RNG_EMPIRICAL, .bins = bins, .bin_count = 3, WITH_RANGE(21, 22)), true,
                     &arena);
    ck_assert_double_eq(rng_dist_value(&dist, 0.49), 21.0);
    ck_assert_double_eq(rng_dist_value(&dist, 0.51), 22.0);
    dist =
        make_dist(OPTIONS(RNG_EMPIRICAL, .bins = bins, .bin_count = 3, .has_max = true, .max = 22),
                  false, &arena);
    ck_assert_double_eq_tol(rng_dist_value(&dist, 0.75), 21.0, 1e-12); /* weights 1 and 2 * 2/4 */
}
END_TEST

START_TEST(no_spread_is_one_value)
{
    struct rng_dist dist = make_dist(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(99.6, 0)), true, &arena);

    ck_assert_double_eq(rng_dist_value(&dist, 0.01), 100.0);
    dist = make_dist(OPTIONS(RNG_FIXED, .value = 7), true, &arena);
    ck_assert_double_eq(rng_dist_value(&dist, 0.99), 7.0);
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int result = unit_run("rng.value", (const TTest *const[]){
                                           continuous_kinds_follow_gsl,
                                           median_and_p95_are_met,
                                           mean_and_cv_are_met,
                                           whole_values_round_to_the_nearest_and_stay_inside,
                                           without_min_a_count_is_at_least_one,
                                           uniform_counts_take_every_value_equally_often,
                                           geometric_is_exact,
                                           zipf_is_exact,
                                           empirical_takes_values_and_ranges,
                                           no_spread_is_one_value,
                                           NULL,
                                       });
    base_arena_release(&arena);
    return result;
}
