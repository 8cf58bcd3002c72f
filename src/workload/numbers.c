/* Exact rates, gaps and the messages that go with them. */
#include "workload/workload_int.h"

#include "base/i128.h"

#include <math.h>

enum { CONVERGENTS_MAX = 64 };

#define TERM_MAX 0x1.0p53
#define GAP_MAX_NS 9e18
#define RATE_MIN 1e-9
#define RATE_MAX 1e12

enum kvsim_status workload_fail_key(struct kvsim_error *err, const char *key, const char *code,
                                    const char *message)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_SCENARIO, "%s", message);

    base_error_key(err, key);
    base_error_code(err, code);
    return status;
}

enum kvsim_status workload_check_rate(double rate_per_s, const char *key, struct kvsim_error *err)
{
    if (rate_per_s >= RATE_MIN && rate_per_s <= RATE_MAX)
        return KVSIM_OK;
    return workload_fail_key(err, key, "out-of-range", "a rate must lie between 1e-9/s and 1e12/s");
}

static struct base_rational binary_fraction(double value)
{
    int exponent;
    double mantissa = frexp(value, &exponent);
    int64_t num = (int64_t)ldexp(mantissa, 53), den = 1;

    exponent -= 53;
    while (exponent < 0 && num % 2 == 0) {
        num /= 2;
        exponent++;
    }
    for (; exponent < 0 && den < INT64_C(1) << 53; exponent++)
        den *= 2;
    for (; exponent < 0; exponent++)
        num /= 2;
    return (struct base_rational){.num = num > 0 ? num : 1, .den = den};
}

struct base_rational workload_rational(double value)
{
    double x = value, num = 1.0, den = 0.0, num_before = 0.0, den_before = 1.0;

    for (int i = 0; i < CONVERGENTS_MAX; i++) {
        double whole = floor(x), num_next = whole * num + num_before,
               den_next = whole * den + den_before;

        if (num_next > TERM_MAX || den_next > TERM_MAX)
            break;
        num_before = num;
        den_before = den;
        num = num_next;
        den = den_next;
        if (num / den == value)
            return (struct base_rational){.num = (int64_t)num, .den = (int64_t)den};
        x = 1.0 / (x - whole);
    }
    return binary_fraction(value);
}

enum kvsim_status workload_time_at_rate(uint64_t count, struct base_rational rate, int64_t *at_ns,
                                        struct kvsim_error *err)
{
    base_i128 twice = (base_i128)count * 1000000000 * rate.den * 2 + rate.num;
    base_i128 at = twice / ((base_i128)rate.num * 2);

    /* 2^40 requests x 2^30 x 2^53 stay below 2^124. */
    base_require(count < UINT64_C(1) << 40);
    if (at > INT64_MAX)
        return workload_fail_key(err, "rate", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    *at_ns = (int64_t)at;
    return KVSIM_OK;
}

enum kvsim_status workload_add_gap(int64_t *at_ns, double gap_ns, struct kvsim_error *err)
{
    int64_t gap;

    if (!(gap_ns < GAP_MAX_NS))
        return workload_fail_key(err, "rate", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    gap = (int64_t)(gap_ns + 0.5);
    if (gap > INT64_MAX - *at_ns)
        return workload_fail_key(err, "rate", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    *at_ns += gap;
    return KVSIM_OK;
}

double workload_exponential(uint64_t key, uint64_t index)
{
    return -log1p(-rng_uniform(key, index));
}
