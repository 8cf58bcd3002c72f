#include "stats/paired.h"

#include "base/error.h"
#include "stats/interval.h"

#include <gsl/gsl_cdf.h>

#include <math.h>

/* Beyond this nobody would wait for the answer. */
enum { REPLICATIONS_MAX = 100000 };

static double mean_of(const double *values, size_t count)
{
    return count > 0 ? stats_sum(values, count) / (double)count : (double)NAN;
}

static double variance_of(const double *values, size_t count, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return squares / (double)(count - 1);
}

double stats_t_quantile(double probability, double degrees)
{
    base_require(probability > 0 && probability < 1 && degrees > 0);
    return gsl_cdf_tdist_Pinv(probability, degrees);
}

/* Half of a two-sided interval. */
static double t_quantile(double confidence, double degrees)
{
    return stats_t_quantile(0.5 + 0.5 * confidence, degrees);
}

static struct stats_difference start(const double *a, size_t a_count, const double *b,
                                     size_t b_count)
{
    struct stats_difference out = {.a = mean_of(a, a_count),
                                   .b = mean_of(b, b_count),
                                   .low = (double)NAN,
                                   .high = (double)NAN,
                                   .ratio_low = (double)NAN,
                                   .ratio_high = (double)NAN,
                                   .is_withheld = true,
                                   .method = "none"};
    out.difference = out.b - out.a;
    out.ratio = fabs(out.a) > 0 ? out.b / out.a : (double)NAN;
    return out;
}

/* The least count m with t(f (m - 1)) sd / sqrt(m) below the difference that was seen, less the count there is; f = 1 for
 * pairs, 2 for two sets of m. */
static size_t more_needed(double difference, double deviation, size_t count, double sets,
                          double confidence)
{
    double size = fabs(difference);
    if (!(size > 0) || !(deviation > 0))
        return 0;
    for (size_t m = count; m <= REPLICATIONS_MAX; m += 1 + m / 200) {
        if (t_quantile(confidence, sets * (double)(m - 1)) * deviation / sqrt((double)m) < size)
            return m - count;
    }
    return 0;
}

struct stats_difference stats_difference_paired(const double *a, const double *b, size_t count,
                                                double confidence)
{
    struct stats_difference out = start(a, count, b, count);
    base_require(confidence > 0 && confidence < 1);
    if (count < 2 || !isfinite(out.difference))
        return out;
    double n = (double)count, t = t_quantile(confidence, n - 1);
    double squares = 0, ratio_squares = 0;
    for (size_t i = 0; i < count; i++) {
        double off = (b[i] - a[i]) - out.difference, ratio_off = b[i] - out.ratio * a[i];
        squares += off * off;
        ratio_squares += ratio_off * ratio_off;
    }
    double deviation = sqrt(squares / (n - 1));
    double half = t * deviation / sqrt(n);
    // The ratio of means, linearized: Cochran, Sampling Techniques (1977), 6.4.
    double ratio_half = t * sqrt(ratio_squares / (n - 1) / n) / fabs(out.a);
    out.low = out.difference - half;
    out.high = out.difference + half;
    out.ratio_low = out.ratio - ratio_half;
    out.ratio_high = out.ratio + ratio_half;
    out.is_withheld = false;
    out.method = "paired_t";
    if (out.low <= 0 && out.high >= 0)
        out.more_replications = more_needed(out.difference, deviation, count, 1, confidence);
    return out;
}

/* Moves the end of value +- half that lies further from `origin`. */
static void skew_far_end(double value, double origin, double *low, double *high)
{
    double away = value - origin, half = *high - value;
    if (away > 0)
        *high = origin + stats_skewed_end(away, half);
    else if (away < 0)
        *low = origin - stats_skewed_end(-away, half);
}

struct stats_difference stats_difference_skewed(const double *a, const double *b, size_t count,
                                                double confidence)
{
    struct stats_difference out = stats_difference_paired(a, b, count, confidence);
    if (out.is_withheld)
        return out;
    skew_far_end(out.difference, 0, &out.low, &out.high);
    skew_far_end(out.ratio, 1, &out.ratio_low, &out.ratio_high);
    out.ratio_low = fmax(out.ratio_low, 0);
    out.method = "paired_t_skewed";
    return out;
}

/* B. L. Welch, Biometrika 34 (1947) 28; degrees of freedom by Satterthwaite. */
struct stats_difference stats_difference_welch(const double *a, size_t a_count, const double *b,
                                               size_t b_count, double confidence)
{
    struct stats_difference out = start(a, a_count, b, b_count);
    base_require(confidence > 0 && confidence < 1);
    if (a_count < 2 || b_count < 2 || !isfinite(out.difference))
        return out;
    double va = variance_of(a, a_count, out.a) / (double)a_count;
    double vb = variance_of(b, b_count, out.b) / (double)b_count;
    double spread = va * va / (double)(a_count - 1) + vb * vb / (double)(b_count - 1);
    double degrees = spread > 0 ? (va + vb) * (va + vb) / spread : (double)(a_count + b_count - 2);
    double t = t_quantile(confidence, degrees);
    double half = t * sqrt(va + vb);
    double ratio_half = t * sqrt(vb + out.ratio * out.ratio * va) / fabs(out.a);
    out.low = out.difference - half;
    out.high = out.difference + half;
    out.ratio_low = out.ratio - ratio_half;
    out.ratio_high = out.ratio + ratio_half;
    out.is_withheld = false;
    out.method = "welch_t";
    size_t count = a_count < b_count ? a_count : b_count;
    double deviation = sqrt(va * (double)a_count + vb * (double)b_count);
    if (out.low <= 0 && out.high >= 0)
        out.more_replications = more_needed(out.difference, deviation, count, 2, confidence);
    return out;
}
