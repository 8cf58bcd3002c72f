#include "support/unit.h"

#include "rng/rng_int.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

START_TEST(inverse_agrees_with_gsl)
{
    for (int i = 1; i < 2000; i++) {
        double u = (double)i / 2000.0;

        ck_assert_double_eq_tol(rng_normal_inverse(u), gsl_cdf_ugaussian_Pinv(u), 4e-15);
        ck_assert_double_eq_tol(rng_normal_cdf(rng_normal_inverse(u)), u, 1e-15);
    }
    for (double u = 0.05; u > 1e-17; u *= 0.6) {
        double z = rng_normal_inverse(u);

        ck_assert_double_eq_tol(z / gsl_cdf_ugaussian_Pinv(u), 1.0, 4e-15);
        ck_assert_double_eq_tol(rng_normal_cdf(z) / u, 1.0, 1e-13);
    }
    ck_assert_double_eq(rng_normal_inverse(0.5), 0.0);
    ck_assert_double_eq_tol(rng_normal_inverse(0.975), 1.959963984540054, 1e-14);
    ck_assert(isfinite(rng_normal_inverse(0x1.0p-54)) &&
              isfinite(rng_normal_inverse(1.0 - 0x1.0p-53)));
}
END_TEST

static double rank_correlation(double rho, bool *marginal_is_uniform)
{
    enum { COUNT = 100000 };
    double sum = 0.0, mean = 0.0, square = 0.0;
    bool in_range = true;

    for (uint64_t i = 0; i < COUNT; i++) {
        double v1, v2;

        rng_correlate(rho, rng_uniform(1, i), rng_uniform(2, i), &v1, &v2);
        in_range = in_range && v2 > 0.0 && v2 < 1.0 && !(v1 < rng_uniform(1, i)) &&
                   !(v1 > rng_uniform(1, i));
        sum += (v1 - 0.5) * (v2 - 0.5);
        mean += v2;
        square += v2 * v2;
    }
    ck_assert(in_range);
    *marginal_is_uniform =
        fabs(mean / COUNT - 0.5) < 0.004 && fabs(square / COUNT - 1.0 / 3.0) < 0.004;
    return sum / COUNT * 12.0; /* of uniforms, Pearson's is Spearman's */
}

START_TEST(copula_has_the_rank_correlation_asked_for)
{
    static const double rhos[] = {-1.0, -0.6, 0.0, 0.3, 0.7, 1.0};

    for (size_t i = 0; i < sizeof rhos / sizeof rhos[0]; i++) {
        bool uniform;

        ck_assert_double_eq_tol(rank_correlation(rhos[i], &uniform), rhos[i], 0.012);
        ck_assert(uniform);
    }
}
END_TEST

START_TEST(no_correlation_leaves_both_as_they_are)
{
    double v1, v2;

    rng_correlate(0.0, 0.25, 0.75, &v1, &v2);
    ck_assert_double_eq(v1, 0.25);
    ck_assert_double_eq(v2, 0.75);
}
END_TEST

int main(void)
{
    return unit_run("rng.normal", (const TTest *const[]){
                                      inverse_agrees_with_gsl,
                                      copula_has_the_rank_correlation_asked_for,
                                      no_correlation_leaves_both_as_they_are,
                                      NULL,
                                  });
}
