#include "stats/interval.h"

#include "base/error.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

/* Observations beyond a quantile that its interval asks for. */
#define BEYOND_MIN 10.0

/* A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, ZAMM 54
 * (1974) 39. */
double stats_sum(const double *values, size_t count)
{
    double sum = 0.0, lost = 0.0;

    for (size_t i = 0; i < count; i++) {
        double next = sum + values[i];

        lost += fabs(sum) >= fabs(values[i]) ? (sum - next) + values[i] : (values[i] - next) + sum;
        sum = next;
    }
    /* An infinity makes the correction NaN; the plain sum is then the answer. */
    return isfinite(lost) ? sum + lost : sum;
}

static double mean_of_defined(const double *values, size_t count, size_t *defined)
{
    double sum = 0.0;

    *defined = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            continue;
        sum += values[i];
        (*defined)++;
    }
    if (*defined == count && count > 0)
        return stats_sum(values, count) / (double)count;
    return *defined > 0 ? sum / (double)*defined : (double)NAN;
}

static double standard_error(const double *values, size_t count, double mean)
{
    double squares = 0.0;

    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(count - 1) / (double)count);
}

struct stats_interval stats_interval_t(const double *values, size_t count, double confidence,
                                       double resolution)
{
    struct stats_interval interval = {
        .low = (double)NAN, .high = (double)NAN, .is_withheld = true, .method = "none"};
    size_t defined;
    double half;

    base_require(confidence > 0.0 && confidence < 1.0);
    interval.value = mean_of_defined(values, count, &defined);
    if (count < 2 || defined < count || !isfinite(interval.value))
        return interval;
    half = gsl_cdf_tdist_Pinv(0.5 + 0.5 * confidence, (double)(count - 1)) *
           standard_error(values, count, interval.value);
    half = fmax(half, resolution * fabs(interval.value));
    interval.low = interval.value - half;
    interval.high = interval.value + half;
    interval.is_withheld = false;
    interval.method = "student_t";
    return interval;
}

bool stats_quantile_is_supported(size_t count, double q, size_t *needed)
{
    double beyond = fmin(q, 1.0 - q);

    base_require(q > 0.0 && q < 1.0);
    /* 10 / (1 - 0.99) is 1000 and a rounding error. */
    *needed = (size_t)ceil(BEYOND_MIN / beyond * (1.0 - 1e-12));
    return count >= *needed;
}

struct line {
    double slope, at_zero, spread; /* spread = sum of (t - mean t)^2 */
};

static struct line fit_line(const double *values, size_t count)
{
    double n = (double)count, mean_t = 0.5 * (n - 1.0), mean = stats_sum(values, count) / n,
           cross = 0.0;
    struct line line;

    for (size_t i = 0; i < count; i++)
        cross += ((double)i - mean_t) * (values[i] - mean);
    line.spread = n * (n * n - 1.0) / 12.0;
    line.slope = cross / line.spread;
    line.at_zero = mean - line.slope * mean_t;
    return line;
}

/*
 * Ordinary least squares; the residuals' lag-one autocorrelation r reduces the count of independent
 * values to n (1 - r) / (1 + r) (Santer et al., J. Geophys. Res. 105 (2000) 7337); one-sided
 * Student t with two degrees less.
 */
void stats_trend(const double *values, size_t count, double *slope, double *p_value)
{
    struct line line;
    double squares = 0.0, lagged = 0.0, previous = 0.0, r, effective, t;

    *slope = 0.0;
    *p_value = 1.0;
    if (count < 4)
        return;
    line = fit_line(values, count);
    for (size_t i = 0; i < count; i++) {
        double residual = values[i] - (line.at_zero + line.slope * (double)i);

        squares += residual * residual;
        lagged += residual * previous;
        previous = residual;
    }
    *slope = line.slope;
    if (squares <= 0.0) {
        *p_value = line.slope > 0.0 ? 0.0 : 1.0;
        return;
    }
    r = fmin(fmax(lagged / squares, 0.0), 0.99);
    effective = (double)count * (1.0 - r) / (1.0 + r);
    if (effective <= 2.5)
        return;
    t = line.slope / sqrt(squares / (effective - 2.0) / line.spread);
    *p_value = gsl_cdf_tdist_Q(t, effective - 2.0);
}
