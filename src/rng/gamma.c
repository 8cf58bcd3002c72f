#include "rng/rng_int.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_log.h>

#include <math.h>

enum { INVERSE_STEPS_MAX = 100, ROOT_STEPS_MAX = 200 };

#define LOG_SHAPE_MAX 13.815510557964274 /* ln 1e6 */
#define SQRT_2PI 2.50662827463100050242
#define PRECISION 1e-16

/* x^a e^-x / Gamma(a + 1); `log_gamma` = ln Gamma(a + 1). For large a by Stirling's series,
 * since the powers cancel. */
static double leading_term(double a, double x, double log_gamma)
{
    double stirling;

    if (a < 10.0)
        return exp(a * log(x) - x - log_gamma);
    stirling =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / (a * a)) / (a * a)) / (a * a)) /
        a;
    if (x < 0.1 * a)
        return exp(a * log(x / a) + (a - x) - stirling) / (SQRT_2PI * sqrt(a));
    return exp(a * gsl_sf_log_1plusx_mx((x - a) / a) - stirling) / (SQRT_2PI * sqrt(a));
}

/* P = lead (1 + x / (a + 1) + x^2 / ((a + 1)(a + 2)) + ...); Abramowitz and Stegun 6.5.29. */
static double lower_series(double a, double x, double lead)
{
    double term = 1.0, sum = 1.0;

    for (double n = a + 1.0; term > PRECISION * sum; n += 1.0) {
        term *= x / n;
        sum += term;
    }
    return lead * sum;
}

/* Q = lead a / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))); A. and S.
 * 6.5.31, by Lentz. */
static double upper_fraction(double a, double x, double lead)
{
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, value = d, factor = 0.0;

    for (double n = 1.0; fabs(factor - 1.0) > PRECISION * 4.0; n += 1.0) {
        double step = -n * (n - a);

        b += 2.0;
        d = 1.0 / (step * d + b);
        c = b + step / c;
        factor = c * d;
        value *= factor;
    }
    return lead * a * value;
}

struct point {
    double p, q, density;
};

/*
 * Both tails and the density at x > 0. Of our own, since GSL's raise errors through the global
 * handler for large shapes; series and fraction take a few times sqrt(a) terms, which bounds the
 * shapes in use at 1e6.
 */
static struct point gamma_at(double a, double x, double log_gamma)
{
    double lead = leading_term(a, x, log_gamma);
    struct point point = {.density = lead * a / x};

    if (x < a + 1.0) {
        point.p = fmin(lower_series(a, x, lead), 1.0);
        point.q = 1.0 - point.p;
    } else {
        point.q = fmin(upper_fraction(a, x, lead), 1.0);
        point.p = 1.0 - point.q;
    }
    return point;
}

double rng_gamma_cdf(double shape, double x)
{
    if (x <= 0.0)
        return 0.0;
    return isinf(x) ? 1.0 : gamma_at(shape, x, gsl_sf_lngamma(shape + 1.0)).p;
}

/* Wilson and Hilferty (1931): the cube root of a gamma value is nearly normal. Below that, the
 * first term of the series: P(a, x) = x^a / Gamma(a + 1) (1 - a x / (a + 1) + ...). */
static double inverse_guess(double shape, double u, double log_gamma)
{
    double c = 1.0 / (9.0 * shape);
    double t = 1.0 - c + rng_normal_inverse(u) * sqrt(c);
    double small = exp((log(u) + log_gamma) / shape);

    if (shape < 0.5 || t <= 0.1 || small < 0.01)
        return small;
    return shape * t * t * t;
}

/* Newton's steps with Halley's correction, held inside a bracket; the upper half works on Q, so
 * that it keeps its digits. */
double rng_gamma_inverse(double shape, double u)
{
    double log_gamma = gsl_sf_lngamma(shape + 1.0);
    double x = inverse_guess(shape, u, log_gamma), low = 0.0, high = INFINITY;

    if (x < 1e-14)
        return x;
    for (int i = 0; i < INVERSE_STEPS_MAX; i++) {
        struct point at = gamma_at(shape, x, log_gamma);
        double off = u <= 0.5 ? at.p - u : (1.0 - u) - at.q, step = off / at.density, next;

        if (off > 0.0)
            high = x;
        else
            low = x;
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
static bool solve_log_shape(double (*error)(double, void *), double target, double low, double high,
                            double *shape)
{
    struct fit fit = {.target = target};
    gsl_function f = {.function = error, .params = &fit};
    gsl_root_fsolver *solver;
    double at_low = error(low, &fit), at_high = error(high, &fit);
    int status;

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
    return solve_log_shape(gamma_ratio_error, log(p95_over_median), log(0.02), LOG_SHAPE_MAX,
                           shape);
}

bool rng_weibull_fit_cv(double cv, double *shape)
{
    /* cv^2 + 1 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 falls with k. */
    return solve_log_shape(weibull_cv_error, log1p(cv * cv), log(0.02), LOG_SHAPE_MAX, shape);
}
