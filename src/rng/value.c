/* From a uniform number to a value, and the distribution functions that truncation needs. */
#include "rng/rng_int.h"

#include <math.h>

/* The first row of the table at or above u times its total. */
static size_t table_find(const struct rng_dist *dist, double target)
{
    size_t low = 0, high = dist->table_count - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dist->table[middle] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static double empirical_value(const struct rng_dist *dist, double u)
{
    double target = u * dist->table[dist->table_count - 1];
    size_t i = table_find(dist, target);
    const struct rng_bin *bin = &dist->bins[i];
    double before = i > 0 ? dist->table[i - 1] : 0.0;
    double share, value;

    if (bin->low == bin->high)
        return bin->low;
    /* The place within the bin is uniform too, given the bin. */
    share = fmin((target - before) / bin->weight, 0x1.fffffffffffffp-1);
    value = bin->low + fmax(share, 0.0) * (bin->high - bin->low);
    return dist->whole ? fmin(floor(value), bin->high - 1.0) : value;
}

/* The least k with 1 - q^k >= u; u refers to the whole distribution. */
static double geometric_value(const struct rng_dist *dist, double u)
{
    double k = ceil(log1p(-u) / dist->b);

    return fmin(fmax(k, dist->low), dist->high);
}

static double uniform_value(const struct rng_dist *dist, double u)
{
    double value = dist->a + u * dist->b;

    return dist->whole ? fmin(floor(value), dist->high) : fmin(value, dist->high);
}

static double continuous_value(const struct rng_dist *dist, double u)
{
    switch (dist->kind) {
    case RNG_NORMAL:
        return dist->a + dist->b * rng_normal_inverse(u);
    case RNG_LOGNORMAL:
        return exp(dist->a + dist->b * rng_normal_inverse(u));
    case RNG_GAMMA:
        return dist->b * rng_gamma_inverse(dist->a, u);
    case RNG_WEIBULL:
        return dist->b * pow(-log1p(-u), 1.0 / dist->a);
    case RNG_EXPONENTIAL:
        return -dist->a * log1p(-u);
    default:
        break;
    }
    base_abort(__FILE__, __LINE__, "not a continuous distribution");
}

double rng_dist_value(const struct rng_dist *dist, double u)
{
    double x;

    switch (dist->kind) {
    case RNG_FIXED:
        return dist->a;
    case RNG_UNIFORM:
        return uniform_value(dist, u);
    case RNG_ZIPF:
        return dist->low + (double)table_find(dist, u * dist->table[dist->table_count - 1]);
    case RNG_EMPIRICAL:
        return empirical_value(dist, u);
    case RNG_GEOMETRIC:
        return geometric_value(dist, dist->u_low + u * dist->u_span);
    default:
        break;
    }
    u = dist->u_low + u * dist->u_span;
    if (u >= 1.0)
        u = 0x1.fffffffffffffp-1;
    x = continuous_value(dist, u);
    if (dist->whole) {
        x = floor(x + 0.5);
        if (x < dist->low)
            return ceil(dist->low);
        return x > dist->high ? floor(dist->high) : x;
    }
    return x < dist->low ? dist->low : x > dist->high ? dist->high : x;
}

double rng_dist_cdf(const struct rng_dist *dist, double x)
{
    if (isinf(x))
        return x > 0.0 ? 1.0 : 0.0;
    if (dist->kind == RNG_NORMAL)
        return rng_normal_cdf((x - dist->a) / dist->b);
    if (x <= 0.0)
        return 0.0;
    switch (dist->kind) {
    case RNG_LOGNORMAL:
        return rng_normal_cdf((log(x) - dist->a) / dist->b);
    case RNG_GAMMA:
        return rng_gamma_cdf(dist->a, x / dist->b);
    case RNG_WEIBULL:
        return -expm1(-pow(x / dist->b, dist->a));
    case RNG_EXPONENTIAL:
        return -expm1(-x / dist->a);
    default:
        break;
    }
    base_abort(__FILE__, __LINE__, "not a continuous distribution");
}
