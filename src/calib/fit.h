/*
 * fit.h - coefficients from measurements: bounded, robust least squares on logarithms of times, with GSL.
 *
 * Minimizes the sum over rows of w (ln predicted - ln measured)^2 / noise^2 plus, for each coefficient, a weak pull
 * towards its value before the measurements, (ln value - ln initial)^2 / prior^2. Coefficients stay within their range by
 * a logistic map. Rows far off pull in proportion to their distance rather than to its square (Huber 1964, with a smooth
 * bend at three spreads of the noise), and no less: what happens to one time in twenty, such as an engine's poor choice of a
 * kernel, belongs to the time that is to be expected, which weights that fall to nothing (Cauchy's) would leave out. The pull
 * towards the value before makes every coefficient defined; one whose posterior spread is about the prior's was not determined
 * by the rows, and the caller is told so. A row that is a bound counts only where it is predicted to take longer than was measured.
 */
#ifndef KVSIM_CALIB_FIT_H
#define KVSIM_CALIB_FIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct calib_parameter {
    const char *name;
    double initial, min, max; /* positive; min < initial < max */
    double prior;             /* spread of ln(value) before the rows */
    /* the fit's */
    double value;
    double spread;      /* of ln(value) after the rows */
    bool is_determined; /* spread well below prior */
};

struct calib_problem {
    struct calib_parameter *parameters;
    size_t parameter_count;
    size_t row_count;
    const double *measured;  /* positive */
    const bool *is_left_out; /* rows that are not fitted; NULL: none */
    const bool *is_bound;    /* rows whose time is the most that can be; NULL: none */
    /* Fills predicted[row_count] for these values. */
    void (*predict)(void *context, const double *values, double *predicted);
    void *context;
    /* small changes of a coefficient can turn a row's time either way (simulated runs): no derivatives */
    bool is_rough;
};

struct calib_fit {
    size_t used_count, outlier_count; /* outliers: beyond seven spreads of the noise */
    double noise;                     /* robust spread of the logarithms */
};

/* KVSIM_ERR_SCENARIO when there are no rows to fit or the search fails. */
enum kvsim_status calib_fit_run(struct calib_problem *problem, struct calib_fit *out,
                                struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
