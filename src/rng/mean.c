/* Means after truncation and rounding. */
#include "rng/rng_int.h"

#include <math.h>

/* So many whole values are summed one by one; beyond, the sum is an integral with its first
 * correction. */
#define DIRECT_VALUES 4096.0

static double partial_mean(const struct rng_dist *dist, double x)
{
    double a = dist->a, b = dist->b, z;

    if (isinf(x) && x < 0.0)
        return 0.0;
    switch (dist->kind) {
    case RNG_NORMAL:
        z = (x - a) / b;
        return a * rng_normal_cdf(z) - b * rng_normal_pdf(z);
    case RNG_LOGNORMAL:
        return x <= 0.0 ? 0.0 : exp(a + 0.5 * b * b) * rng_normal_cdf((log(x) - a) / b - b);
    case RNG_GAMMA:
        return a * b * rng_gamma_cdf(a + 1.0, x / b);
    case RNG_WEIBULL:
        return x <= 0.0 ? 0.0
                        : b * tgamma(1.0 + 1.0 / a) * rng_gamma_cdf(1.0 + 1.0 / a, pow(x / b, a));
    case RNG_EXPONENTIAL:
        return a * rng_gamma_cdf(2.0, x / a);
    default:
        break;
    }
    base_abort(__FILE__, __LINE__, "not a continuous distribution");
}

/* P(X > x) of the truncated distribution. */
static double survival(const struct rng_dist *dist, double x)
{
    double upto = (rng_dist_cdf(dist, x) - dist->u_low) / dist->u_span;

    return fmin(fmax(1.0 - upto, 0.0), 1.0);
}

static double density(const struct rng_dist *dist, double x)
{
    return isinf(x) ? 0.0 : survival(dist, x - 0.5) - survival(dist, x + 0.5);
}

/*
 * E[R] = low + sum over k > low of P(R >= k), and P(R >= k) = P(X > k - 1/2). The far part of the
 * sum is the midpoint rule for the integral of P(X > x): sum = integral - (f(from) - f(to)) / 24
 * (Euler and Maclaurin).
 */
static double rounded_mean(const struct rng_dist *dist)
{
    double low = ceil(dist->low), high = floor(dist->high);
    double from = fmin(high, low + DIRECT_VALUES), mean = low, integral;

    for (double k = from; k > low; k -= 1.0)
        mean += survival(dist, k - 0.5);
    if (from == high)
        return mean;
    integral = (partial_mean(dist, high) - partial_mean(dist, from)) / dist->u_span;
    integral -= from * survival(dist, from);
    if (!isinf(high))
        integral += high * survival(dist, high);
    return mean + integral -
           (density(dist, from) - (isinf(high) ? 0.0 : density(dist, high - 0.5))) / 24.0;
}

/* Sum of k p q^(k-1) for k = 1..n. */
static double geometric_sum(double q, double log_q, double n)
{
    double q_n;

    if (isinf(n))
        return 1.0 / (1.0 - q);
    q_n = exp(log_q * n);
    return (1.0 - q_n) / (1.0 - q) - n * q_n;
}

static double table_mean(const struct rng_dist *dist)
{
    double sum = 0.0, before = 0.0;

    for (size_t i = 0; i < dist->table_count; i++) {
        double value = dist->low + (double)i;

        if (dist->kind == RNG_EMPIRICAL) {
            const struct rng_bin *bin = &dist->bins[i];
            bool is_range = bin->low != bin->high;

            value = 0.5 * (bin->low + bin->high - (is_range && dist->whole ? 1.0 : 0.0));
        }
        sum += value * (dist->table[i] - before);
        before = dist->table[i];
    }
    return sum / before;
}

double rng_dist_mean(const struct rng_dist *dist)
{
    switch (dist->kind) {
    case RNG_FIXED:
        return dist->a;
    case RNG_UNIFORM:
        return 0.5 * (dist->low + dist->high);
    case RNG_ZIPF:
    case RNG_EMPIRICAL:
        return table_mean(dist);
    case RNG_GEOMETRIC:
        return (geometric_sum(dist->a, dist->b, dist->high) -
                geometric_sum(dist->a, dist->b, dist->low - 1.0)) /
               dist->u_span;
    default:
        break;
    }
    if (dist->whole)
        return rounded_mean(dist);
    return (partial_mean(dist, dist->high) - partial_mean(dist, dist->low)) / dist->u_span;
}
