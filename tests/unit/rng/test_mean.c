#include "support/unit.h"

#include "unit/rng/dist_util.h"

static struct base_arena arena;

static void check_mean(struct rng_dist_options options, bool whole, double tolerance)
{
    struct rng_dist dist = make_dist(options, whole, &arena);
    double expected = grid_mean(&dist, 400000);

    ck_assert_msg(fabs(rng_dist_mean(&dist) / expected - 1.0) < tolerance,
                  "kind %d: %.9g, not %.9g", options.kind, rng_dist_mean(&dist), expected);
}

START_TEST(truncated_means_are_those_of_the_quantiles)
{
    check_mean(OPTIONS(RNG_UNIFORM, WITH_RANGE(2, 9)), false, 1e-9);
    check_mean(
        OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 5, .has_sd = true, .sd = 3, WITH_RANGE(1, 6)),
        false, 1e-6);
    check_mean(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(1600, 1.1), WITH_RANGE(16, 7168)), false, 1e-6);
    check_mean(OPTIONS(RNG_GAMMA, WITH_MEAN_CV(300, 0.7), WITH_RANGE(10, 900)), false, 1e-6);
    check_mean(OPTIONS(RNG_WEIBULL, WITH_MEAN_CV(300, 1.4), WITH_RANGE(10, 900)), false, 1e-6);
    check_mean(OPTIONS(RNG_EXPONENTIAL, .has_mean = true, .mean = 3, WITH_RANGE(1, 9)), false,
               1e-6);
}
END_TEST

START_TEST(whole_means_count_the_rounding)
{
    check_mean(OPTIONS(RNG_UNIFORM, WITH_RANGE(2, 9)), true, 1e-9);
    check_mean(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(4, 1.1), WITH_RANGE(1, 9)), true, 1e-5);
    check_mean(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(1600, 1.1), WITH_RANGE(16, 7168)), true, 1e-6);
    check_mean(OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 2, .has_sd = true, .sd = 5), true,
               1e-4);
    check_mean(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 40, WITH_RANGE(3, 90)), true, 1e-5);
    check_mean(OPTIONS(RNG_ZIPF, .has_s = true, .s = 1.1, WITH_RANGE(1, 500)), true, 1e-4);
}
END_TEST

/* Beyond 4096 values the sum becomes an integral; a distribution that is smooth hardly notices
 * the rounding. */
START_TEST(far_sums_become_integrals)
{
    struct rng_dist real = make_dist(
        OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(30000, 0.8), WITH_RANGE(100, 120000)), false, &arena);
    struct rng_dist whole = make_dist(
        OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(30000, 0.8), WITH_RANGE(100, 120000)), true, &arena);

    ck_assert_double_eq_tol(rng_dist_mean(&whole) / rng_dist_mean(&real), 1.0, 1e-8);
    whole = make_dist(OPTIONS(RNG_GAMMA, WITH_MEAN_CV(9000, 0.9)), true, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&whole), 9000.0, 0.01);
    /* Exponential: 1 + the sum of e^(-(k - 1/2) / m) over k > 1, a geometric series. */
    whole = make_dist(OPTIONS(RNG_EXPONENTIAL, .has_mean = true, .mean = 20000), true, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&whole), 1.0 + exp(-1.5 / 2e4) / -expm1(-1.0 / 2e4),
                            1e-7);
}
END_TEST

START_TEST(closed_forms)
{
    static const struct rng_bin bins[] = {{10, 10, 1}, {20, 24, 2}, {100, 100, 1}};
    struct rng_dist dist =
        make_dist(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 17), true, &arena);

    ck_assert_double_eq_tol(rng_dist_mean(&dist), 17.0, 1e-12);
    dist = make_dist(OPTIONS(RNG_ZIPF, .has_s = true, .s = 1.0, WITH_RANGE(1, 3)), true, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&dist), 18.0 / 11.0, 1e-12);
    dist = make_dist(OPTIONS(RNG_EMPIRICAL, .bins = bins, .bin_count = 3), true, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&dist), (10.0 + 2 * 21.5 + 100.0) / 4.0, 1e-12);
    dist = make_dist(OPTIONS(RNG_EMPIRICAL, .bins = bins, .bin_count = 3), false, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&dist), (10.0 + 2 * 22.0 + 100.0) / 4.0, 1e-12);
    dist = make_dist(OPTIONS(RNG_EXPONENTIAL, .has_mean = true, .mean = 3), false, &arena);
    ck_assert_double_eq_tol(rng_dist_mean(&dist), 3.0, 1e-12);
    dist = make_dist(OPTIONS(RNG_FIXED, .value = 128), true, &arena);
    ck_assert_double_eq(rng_dist_mean(&dist), 128.0);
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int result = unit_run("rng.mean", (const TTest *const[]){
                                          truncated_means_are_those_of_the_quantiles,
                                          whole_means_count_the_rounding,
                                          far_sums_become_integrals,
                                          closed_forms,
                                          NULL,
                                      });
    base_arena_release(&arena);
    return result;
}
