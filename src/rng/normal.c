#include "rng/rng_int.h"

#include <math.h>

#define SQRT_HALF 0.70710678118654752440
#define INV_SQRT_2PI 0.39894228040143267794

/*
 * M. J. Wichura, Algorithm AS 241: The percentage points of the normal distribution, Applied
 * Statistics 37 (1988) 477, PPND16: relative error about 1e-16. Three rational functions of degree
 * 7.
 */
static double ratio(const double num[8], const double den[8], double r)
{
    double n = num[7], d = den[7];

    for (int i = 6; i >= 0; i--) {
        n = n * r + num[i];
        d = d * r + den[i];
    }
    return n / d;
}

static const double central_num[8] = {
    3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
    45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727,
};
static const double central_den[8] = {
    1.0,
    42.313330701600911252,
    687.18700749205790830,
    5394.1960214247511077,
    21213.794301586595867,
    39307.895800092710610,
    28729.085735721942674,
    5226.4952788528545610,
};
static const double near_num[8] = {
    1.42343711074968357734,   4.63033784615654529590,    5.76949722146069140550,
    3.64784832476320460504,   1.27045825245236838258,    0.241780725177450611770,
    0.0227238449892691845833, 7.74545014278341407640e-4,
};
static const double near_den[8] = {
    1.0,
    2.05319162663775882187,
    1.67638483018380384940,
    0.689767334985100004550,
    0.148103976427480074590,
    0.0151986665636164571966,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
};
static const double far_num[8] = {
    6.65790464350110377720,    5.46378491116411436990,    1.78482653991729133580,
    0.296560571828504891230,   0.0265321895265761230930,  0.00124266094738807843860,
    2.71155556874348757815e-5, 2.01033439929228813265e-7,
};
static const double far_den[8] = {
    1.0,
    0.599832206555887937690,
    0.136929880922735805310,
    0.0148753612908506148525,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
};

static double tail_inverse(double p)
{
    double r = sqrt(-log(p));

    return r <= 5.0 ? ratio(near_num, near_den, r - 1.6) : ratio(far_num, far_den, r - 5.0);
}

double rng_normal_inverse(double u)
{
    double q = u - 0.5;

    if (fabs(q) <= 0.425)
        return q * ratio(central_num, central_den, 0.180625 - q * q);
    return q < 0.0 ? -tail_inverse(u) : tail_inverse(1.0 - u);
}

double rng_normal_cdf(double z)
{
    return 0.5 * erfc(-z * SQRT_HALF);
}

double rng_normal_pdf(double z)
{
    return INV_SQRT_2PI * exp(-0.5 * z * z);
}

void rng_correlate(double rho, double u1, double u2, double *v1, double *v2)
{
    const double tiny = 0x1.0p-54;
    double r, z;

    *v1 = u1;
    *v2 = u2;
    if (rho == 0.0)
        return;
    /* Pearson's correlation of the normals that gives Spearman's rho (Kruskal 1958): r = 2
     * sin(pi rho / 6). */
    r = 2.0 * sin(rho * 0.52359877559829887308);
    z = r * rng_normal_inverse(u1) + sqrt(fmax(0.0, 1.0 - r * r)) * rng_normal_inverse(u2);
    *v2 = fmin(fmax(rng_normal_cdf(z), tiny), 1.0 - tiny);
}
