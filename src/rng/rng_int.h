/*
 * rng_int.h - what the sources of rng share: the normal and gamma functions and the parts of a
 * distribution.
 */
#ifndef KVSIM_RNG_RNG_INT_H
#define KVSIM_RNG_RNG_INT_H

#include "rng/rng.h"

/* Standard normal: inverse (u in (0, 1)), distribution and density. */
double rng_normal_inverse(double u);
double rng_normal_cdf(double z);
double rng_normal_pdf(double z);

/* Gamma with scale 1: distribution function at x >= 0 and its inverse, for shapes from 1e-4 to 1e6;
 * relative error below 1e-11 (1e-9 of P for the largest shapes). */
double rng_gamma_cdf(double shape, double x);
double rng_gamma_inverse(double shape, double u);

/* Shapes that fit what a scenario states; false when no shape from 0.02 to 1e6 does. */
bool rng_gamma_fit_ratio(double p95_over_median, double *shape);
bool rng_weibull_fit_cv(double cv, double *shape);

/* Of the continuous kinds, before truncation: P(X <= x), and the integral of t f(t) up to x. x
 * may be infinite. */
double rng_dist_cdf(const struct rng_dist *dist, double x);

#endif
