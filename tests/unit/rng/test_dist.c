#include "support/unit.h"

#include "unit/rng/dist_util.h"

#include <string.h>

static struct base_arena arena;

static void check_refused(struct rng_dist_options options, bool whole, const char *key)
{
    struct rng_dist dist;
    struct kvsim_error err = {0};

    ck_assert_int_eq(rng_dist_init(&dist, &options, whole, &arena, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strcmp(err.key, key) == 0, "'%s' is blamed, not '%s': %s", err.key, key,
                  err.message);
    ck_assert(err.message[0] != '\0' && err.code[0] != '\0');
}

START_TEST(keys_that_are_missing_foreign_or_at_odds)
{
    check_refused(OPTIONS(RNG_LOGNORMAL, .has_mean = true, .mean = 5), true, "cv");
    check_refused(OPTIONS(RNG_LOGNORMAL, .has_cv = true, .cv = 1), true, "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, .has_median = true, .median = 5), true, "p95");
    check_refused(OPTIONS(RNG_LOGNORMAL, .has_median = true, .median = 5, WITH_MEAN_CV(1, 1)), true,
                  "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(1, 1), .has_sd = true, .sd = 1), true, "sd");
    check_refused(OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 1), true, "sd");
    check_refused(OPTIONS(RNG_UNIFORM, .has_min = true, .min = 1), true, "max");
    check_refused(OPTIONS(RNG_ZIPF, WITH_RANGE(1, 10)), true, "s");
    check_refused(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 3, .has_cv = true, .cv = 1),
                  true, "cv");
    check_refused(OPTIONS(RNG_FIXED, .value = 3, .has_min = true, .min = 1), true, "min");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bin_count = 0), true, "bins");
}
END_TEST

START_TEST(values_out_of_range)
{
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(0, 1)), true, "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(-4, 1)), true, "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV((double)NAN, 1)), true, "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV((double)INFINITY, 1)), true, "mean");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(4, -1)), true, "cv");
    check_refused(
        OPTIONS(RNG_NORMAL, .has_mean = true, .mean = 4, .has_sd = true, .sd = (double)NAN), true,
        "sd");
    check_refused(OPTIONS(RNG_GAMMA, .has_median = true, .median = 5, .has_p95 = true, .p95 = 4),
                  true, "p95");
    check_refused(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 0.5), true, "mean");
    check_refused(OPTIONS(RNG_ZIPF, .has_s = true, .s = -1, WITH_RANGE(1, 3)), true, "s");
    check_refused(OPTIONS(RNG_ZIPF, .has_s = true, .s = 1, WITH_RANGE(1, 1e9)), true, "max");
    check_refused(OPTIONS(RNG_WEIBULL, WITH_MEAN_CV(4, 1e40)), false, "cv");
    check_refused(OPTIONS(RNG_FIXED, .value = 0), true, "value");
    check_refused(OPTIONS(RNG_FIXED, .value = 2.5), true, "value");
    check_refused(OPTIONS(RNG_FIXED, .value = (double)INFINITY), false, "value");
}
END_TEST

START_TEST(ranges_that_hold_nothing)
{
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(100, 1), WITH_RANGE(9, 8)), true, "min");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(100, 1), WITH_RANGE(8.2, 8.8)), true, "min");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(100, 0.1), WITH_RANGE(1000, 2000)), true,
                  "min");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(100, 0.1), WITH_RANGE(1, 2)), true, "max");
    check_refused(OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(100, 0), WITH_RANGE(1, 2)), true, "max");
    check_refused(OPTIONS(RNG_GEOMETRIC, .has_mean = true, .mean = 2, WITH_RANGE(500, 600)), true,
                  "min");
    check_refused(OPTIONS(RNG_UNIFORM, WITH_RANGE(0, 5)), true, "min");
    check_refused(OPTIONS(RNG_UNIFORM, .has_min = true, .min = 1, .has_max = true, .max = 1e300),
                  true, "max");
}
END_TEST

START_TEST(bins_are_checked)
{
    static const struct rng_bin upside_down[] = {{9, 3, 1}}, negative[] = {{1, 3, -1}},
                                zero_tokens[] = {{0, 3, 1}};
    static const struct rng_bin no_weight[] = {{1, 3, 0}}, broken[] = {{1.5, 1.5, 1}},
                                good[] = {{5, 6, 1}};

    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = upside_down, .bin_count = 1), true, "bins");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = negative, .bin_count = 1), true, "bins");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = zero_tokens, .bin_count = 1), true, "bins");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = no_weight, .bin_count = 1), true, "bins");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = broken, .bin_count = 1), true, "bins");
    check_refused(OPTIONS(RNG_EMPIRICAL, .bins = good, .bin_count = 1, WITH_RANGE(7, 9)), true,
                  "bins");
}
END_TEST

START_TEST(errors_may_go_nowhere)
{
    struct rng_dist dist;
    struct rng_dist_options options = OPTIONS(RNG_LOGNORMAL, WITH_MEAN_CV(0, 1));

    ck_assert_int_eq(rng_dist_init(&dist, &options, true, &arena, NULL), KVSIM_ERR_SCENARIO);
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int result = unit_run("rng.dist", (const TTest *const[]){
                                          keys_that_are_missing_foreign_or_at_odds,
                                          values_out_of_range,
                                          ranges_that_hold_nothing,
                                          bins_are_checked,
                                          errors_may_go_nowhere,
                                          NULL,
                                      });
    base_arena_release(&arena);
    return result;
}
