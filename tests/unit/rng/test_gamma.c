#include "support/unit.h"

#include "rng/rng_int.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

/* From the far tail to the far tail, for shapes of every size. */
START_TEST(inverse_and_distribution_belong_together)
{
    static const double shapes[] = {1e-3, 0.02, 0.1, 0.5, 0.83, 1.0, 2.5, 10.0, 300.0, 1e4, 1e6};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double before = -1.0;

        for (double u = 1e-12; u < 1.0; u = u < 0.02 ? u * 2.3 : u + 0.037) {
            double x = rng_gamma_inverse(shapes[i], u);

            ck_assert_msg(isfinite(x) && x >= before, "shape %g, u %g: %g after %g", shapes[i], u,
                          x, before);
            before = x;
            if (x > 1e-250)
                ck_assert_msg(fabs(rng_gamma_cdf(shapes[i], x) / u - 1.0) < 1e-8,
                              "shape %g, u %g: P(%g) = %g", shapes[i], u, x,
                              rng_gamma_cdf(shapes[i], x));
        }
    }
}
END_TEST

START_TEST(inverse_agrees_with_gsl)
{
    static const double shapes[] = {0.3, 0.83, 1.0, 2.5, 40.0};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (double u = 0.001; u < 1.0; u += 0.0173)
            ck_assert_double_eq_tol(rng_gamma_inverse(shapes[i], u) /
                                        gsl_cdf_gamma_Pinv(u, shapes[i], 1.0),
                                    1.0, 1e-11);
    }
    /* shape 1 is the exponential distribution */
    ck_assert_double_eq_tol(rng_gamma_inverse(1.0, 0.3), -log1p(-0.3), 1e-14);
    ck_assert_double_eq_tol(rng_gamma_inverse(1.0, 1.0 - 1e-12), -log(1.0 - (1.0 - 1e-12)), 1e-9);
}
END_TEST

START_TEST(upper_tail_is_finite_at_the_last_uniform)
{
    ck_assert(isfinite(rng_gamma_inverse(0.5, 1.0 - 0x1.0p-53)));
    ck_assert(isfinite(rng_gamma_inverse(1e6, 1.0 - 0x1.0p-53)));
    ck_assert(rng_gamma_inverse(1e-3, 0x1.0p-54) >= 0.0);
}
END_TEST

START_TEST(fits_hit_their_targets)
{
    for (double shape = 0.05; shape < 1e5; shape *= 3.1) {
        double ratio = gsl_cdf_gamma_Pinv(0.95, shape, 1.0) / gsl_cdf_gamma_Pinv(0.5, shape, 1.0),
               found;

        ck_assert(rng_gamma_fit_ratio(ratio, &found));
        ck_assert_double_eq_tol(found / shape, 1.0, 1e-6);
    }
    for (double k = 0.2; k < 200.0; k *= 1.9) {
        double g1 = tgamma(1.0 + 1.0 / k), g2 = tgamma(1.0 + 2.0 / k), found;

        ck_assert(rng_weibull_fit_cv(sqrt(g2 / (g1 * g1) - 1.0), &found));
        ck_assert_double_eq_tol(found / k, 1.0, 1e-7);
    }
}
END_TEST

START_TEST(what_cannot_be_fitted_is_said)
{
    double shape;

    ck_assert(!rng_gamma_fit_ratio(1.0, &shape));
    ck_assert(!rng_gamma_fit_ratio(1e300, &shape));
    ck_assert(!rng_weibull_fit_cv(1e-9, &shape));
    ck_assert(!rng_weibull_fit_cv(1e60, &shape));
}
END_TEST

int main(void)
{
    return unit_run("rng.gamma", (const TTest *const[]){
                                     inverse_and_distribution_belong_together,
                                     inverse_agrees_with_gsl,
                                     upper_tail_is_finite_at_the_last_uniform,
                                     fits_hit_their_targets,
                                     what_cannot_be_fitted_is_said,
                                     NULL,
                                 });
}
