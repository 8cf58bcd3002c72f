#include "rng/rng_int.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_gamma.h>

#include <math.h>

enum { INVERSE_STEPS_MAX = 100, ROOT_STEPS_MAX = 200 };

#define LOG_SHAPE_MAX 18.420680743952367  /* ln 1e8 */

double rng_gamma_cdf(double shape, double x)
{
    if (x <= 0.0)
        return 0.0;
    return isinf(x) ? 1.0 : gsl_cdf_gamma_P(x, shape, 1.0);
}

/* Wilson and Hilferty (1931): the cube root of a gamma value is nearly normal. Below that, the first term of the series:
 * P(a, x) = x^a / Gamma(a + 1) (1 - a x / (a + 1) + ...). */
static double inverse_guess(double shape, double u)
{
    double c = 1.0 / (9.0 * shape);
    double t = 1.0 - c + rng_normal_inverse(u) * sqrt(c);
    double small = exp((log(u) + gsl_sf_lngamma(shape + 1.0)) / shape);

    if (shape < 0.5 || t <= 0.1 || small < 0.01)
        return small;
    return shape * t * t * t;
}

/*
 * Newton's steps with Halley's correction, held inside a bracket; the upper half works on the survival function, so that
 * its tail keeps its digits. (GSL's inverse raises an error through the global handler where it does not converge.)
 */
double rng_gamma_inverse(double shape, double u)
{
    double x = inverse_guess(shape, u), low = 0.0, high = INFINITY;
    double log_gamma = gsl_sf_lngamma(shape);

    if (x < 1e-14)
        return x;
    for (int i = 0; i < INVERSE_STEPS_MAX; i++) {
        double off = u <= 0.5 ? gsl_cdf_gamma_P(x, shape, 1.0) - u : (1.0 - u) - gsl_cdf_gamma_Q(x, shape, 1.0);
        double slope = exp((shape - 1.0) * log(x) - x - log_gamma);
        double step, next;

        if (off > 0.0)
            high = x;
        else
            low = x;
        step = off / slope;
        step /= 1.0 - 0.5 * fmax(-1.0, fmin(1.0, step * ((shape - 1.0) / x - 1.0)));
        next = x - step;
        /* The method is of third order: after a step of 1e-5 the error is below 1e-14. */
        if (fabs(step) <= 1e-5 * x)
            return fmax(next, 0.0);
        if (!(next > low && next < high))
            next = isinf(high) ? 2.0 * x : 0.5 * (low + high);
        x = next;
    }
    return x;
}

struct fit {
    double target;
};

static double gamma_ratio_error(double log_shape, void *params)
{
    const struct fit *fit = params;
    double shape = exp(log_shape);

    return log(rng_gamma_inverse(shape, 0.95) / rng_gamma_inverse(shape, 0.5)) - fit->target;
}

static double weibull_cv_error(double log_shape, void *params)
{
    const struct fit *fit = params;
    double k = exp(log_shape);

    return gsl_sf_lngamma(1.0 + 2.0 / k) - 2.0 * gsl_sf_lngamma(1.0 + 1.0 / k) - fit->target;
}

/* Brent's method on ln(shape); false when the ends do not straddle the root. */
static bool solve_log_shape(double (*error)(double, void *), double target, double low, double high, double *shape)
{
    struct fit fit = {.target = target};
    gsl_function f = {.function = error, .params = &fit};
    gsl_root_fsolver *solver;
    double at_low = error(low, &fit), at_high = error(high, &fit);
    int status = GSL_CONTINUE;

    if (!(at_low > 0.0 && at_high < 0.0))
        return false;
    solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    base_require(solver != NULL);
    status = gsl_root_fsolver_set(solver, &f, low, high);
    for (int i = 0; status == GSL_SUCCESS && i < ROOT_STEPS_MAX; i++) {
        status = gsl_root_fsolver_iterate(solver);
        if (gsl_root_fsolver_x_upper(solver) - gsl_root_fsolver_x_lower(solver) < 1e-13)
            break;
    }
    *shape = exp(gsl_root_fsolver_root(solver));
    gsl_root_fsolver_free(solver);
    return status == GSL_SUCCESS;
}

bool rng_gamma_fit_ratio(double p95_over_median, double *shape)
{
    /* Below shape 0.02 the median is no longer a normal double's size. */
    return solve_log_shape(gamma_ratio_error, log(p95_over_median), log(0.02), LOG_SHAPE_MAX, shape);
}

bool rng_weibull_fit_cv(double cv, double *shape)
{
    /* cv^2 + 1 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 falls with k. */
    return solve_log_shape(weibull_cv_error, log1p(cv * cv), log(0.02), 13.8, shape);
}
