#include "stats/interval.h"

#include "base/error.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

/* Observations beyond a quantile that its interval asks for. */
#define BEYOND_MIN 10.0
/* Independent ones beyond it that a part must be worth for its own percentile to speak for itself. */
#define INDEPENDENT_MIN 1.0

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

/* Beyond this the right end would be without bound: it stays at 4.5 times the value. */
#define SKEWED_MOST 0.95

/* value (1 - 2 h)^(-1/2). */
static double skewed_right(double value, double relative_half)
{
    return value / sqrt(1.0 - fmin(2.0 * relative_half, SKEWED_MOST));
}

double stats_skewed_end(double value, double half)
{
    return fmax(value + half, skewed_right(value, half / value));
}

struct stats_interval stats_interval_skewed(const double *values, size_t count, double confidence)
{
    struct stats_interval interval = stats_interval_t(values, count, confidence, 0.0);

    if (interval.is_withheld || !(interval.value > 0.0))
        return interval;
    interval.high = stats_skewed_end(interval.value, interval.high - interval.value);
    interval.method = "student_t_skewed";
    return interval;
}

struct stats_interval stats_interval_ratio(const double *tops, const double *bottoms, size_t count,
                                           double confidence)
{
    struct stats_interval interval = {
        .low = (double)NAN, .high = (double)NAN, .is_withheld = true, .method = "none"};
    double bottom = stats_sum(bottoms, count), squares = 0.0;

    base_require(confidence > 0.0 && confidence < 1.0);
    interval.value = stats_sum(tops, count) / bottom;
    if (count < 2 || !isfinite(interval.value))
        return interval;
    for (size_t i = 0; i < count; i++) {
        double off = tops[i] - interval.value * bottoms[i];

        squares += off * off;
    }
    double n = (double)count;
    double half = gsl_cdf_tdist_Pinv(0.5 + 0.5 * confidence, n - 1.0) *
                  sqrt(squares / (n - 1.0) * n) / fabs(bottom);

    interval.low = interval.value - half;
    interval.high = interval.value + half;
    interval.is_withheld = false;
    interval.method = "student_t";
    return interval;
}

/* The parts' own percentiles with their bias taken out. The mean of percentiles of short parts lies lower than that of all
 * observations together, and this again lower than the truth: once for the pooled percentile, once more for the noise of
 * the estimate. */
static double without_bias(const struct stats_percentile *of, double own_mean)
{
    double bias = (of->pooled - own_mean) / (double)(of->count - 1);
    double centre = of->pooled + fmax(bias, 0.0);

    return centre + fmax(centre - own_mean, 0.0);
}

/*
 * How far right the end lies at least: a percentile of a tail that falls off exponentially by the scale s has the standard
 * error s sqrt(q / (n (1 - q))) after n independent observations; the one-sided bound, on a logarithmic scale. Parts in
 * which no long busy period fell agree with each other, and would else look as if they knew.
 */
static double least_right(const struct stats_percentile *of, double confidence)
{
    double tail = 1.0 - of->q, further = fmin(10.0 * tail, 0.5);

    if (of->effective * tail >= INDEPENDENT_MIN || !(tail < further) || !(of->pooled > 0.0))
        return of->value;
    double scale = (of->pooled - of->at(of->context, further)) / log(further / tail);
    double error = scale * sqrt(of->q / (of->effective * (double)of->count * tail));
    double t = gsl_cdf_tdist_Pinv(confidence, (double)(of->count - 1));

    return of->value * exp(t * error / of->pooled);
}

struct stats_interval stats_interval_percentile(const struct stats_percentile *of,
                                                double confidence)
{
    struct stats_interval own = stats_interval_t(of->own, of->count, confidence, 0.0);
    struct stats_interval shares = stats_interval_t(of->beyond, of->count, confidence, 0.0);
    struct stats_interval interval = {.value = of->value,
                                      .low = (double)NAN,
                                      .high = (double)NAN,
                                      .is_withheld = true,
                                      .method = "none"};

    base_require(of->q > 0.0 && of->q < 1.0);
    if (own.is_withheld || shares.is_withheld || !isfinite(of->value))
        return interval;
    double tail = 1.0 - of->q, h = (shares.high - shares.value) / tail;
    double low = of->at(of->context, fmin(1.0, tail * exp(h)));
    double high = of->at(of->context, tail * exp(-h * (1.0 + 0.5 * h)));
    double right = own.value > 0.0
                       ? skewed_right(without_bias(of, own.value), own.high / own.value - 1.0)
                       : own.high;

    interval.low = fmin(of->value, low);
    interval.high = fmax(least_right(of, confidence), fmax(high, right));
    interval.is_withheld = false;
    interval.method = "order_statistics";
    return interval;
}

void stats_share_interval(size_t hits, size_t count, double confidence, double *low, double *high)
{
    double k = (double)hits, n = (double)count, tail = (1 - confidence) / 2;
    *low = hits == 0 ? 0 : gsl_cdf_beta_Pinv(tail, k, n - k + 1);
    *high = hits >= count ? 1 : gsl_cdf_beta_Qinv(tail, k + 1, n - k);
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
