/*
 * errors.h - predicted against measured, as a few figures: relative errors predicted / measured - 1.
 */
#ifndef KVSIM_CALIB_ERRORS_H
#define KVSIM_CALIB_ERRORS_H

#include <stddef.h>

struct calib_error_list {
    double *at;
    size_t count, capacity;
};

/* All but `worst_index` are shares; everything is 0 without rows. */
struct calib_errors {
    size_t count;
    double median, mean; /* of the absolute errors */
    double p90;          /* of the absolute errors, numpy's linear rule */
    double bias;         /* mean of the signed errors */
    double worst;        /* signed; of the row with the largest absolute error */
    size_t worst_index;
};

void calib_errors_of(const double *relative, size_t count, struct calib_errors *out);

/* Kendall's tau-b of two series; NaN where one of them is constant. O(n^2). */
double calib_kendall_tau(const double *a, const double *b, size_t count);

#endif
