#include "calib/errors.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t low = (size_t)at;
    double rest = at - (double)low;
    return low + 1 < count ? sorted[low] + rest * (sorted[low + 1] - sorted[low]) : sorted[low];
}

void calib_errors_of(const double *relative, size_t count, struct calib_errors *out)
{
    *out = (struct calib_errors){.count = count};
    if (count == 0)
        return;
    double *absolute = base_alloc(base_mul_size(count, sizeof *absolute));
    for (size_t i = 0; i < count; i++) {
        // What could not be predicted is as far off as can be, so that no bound holds.
        absolute[i] = isnan(relative[i]) ? (double)INFINITY : fabs(relative[i]);
        out->mean += absolute[i] / (double)count;
        out->bias += relative[i] / (double)count;
        if (i == 0 || absolute[i] > fabs(out->worst)) {
            out->worst = relative[i];
            out->worst_index = i;
        }
    }
    qsort(absolute, count, sizeof *absolute, compare);
    out->median = quantile(absolute, count, 0.5);
    out->p90 = quantile(absolute, count, 0.9);
    base_free(absolute);
}

static int sign(double value)
{
    return (value > 0) - (value < 0);
}

double calib_kendall_tau(const double *a, const double *b, size_t count)
{
    double agree = 0, pairs_a = 0, pairs_b = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            int x = sign(a[i] - a[j]), y = sign(b[i] - b[j]);
            agree += x * y;
            pairs_a += x != 0;
            pairs_b += y != 0;
        }
    }
    return agree / sqrt(pairs_a * pairs_b);
}
