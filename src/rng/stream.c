#include "rng/stream.h"

#include "base/error.h"
#include "base/hash.h"

struct xoshiro {
    uint64_t s[4];
};

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t),
               "gsl_rng seeds and values must hold 64 bits");

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t xoshiro_next(struct xoshiro *x)
{
    uint64_t result = rotate(x->s[1] * 5, 7) * 9;
    uint64_t t = x->s[1] << 17;

    x->s[2] ^= x->s[0];
    x->s[3] ^= x->s[1];
    x->s[1] ^= x->s[2];
    x->s[0] ^= x->s[3];
    x->s[2] ^= t;
    x->s[3] = rotate(x->s[3], 45);
    return result;
}

static void xoshiro_set(void *state, unsigned long seed)
{
    struct xoshiro *x = state;

    /* Four consecutive values of splitmix64: never all zero. */
    for (unsigned i = 0; i < 4; i++)
        x->s[i] = base_mix64(seed + i * UINT64_C(0x9e3779b97f4a7c15));
}

static unsigned long xoshiro_get(void *state)
{
    return xoshiro_next(state);
}

static double xoshiro_get_double(void *state)
{
    return (double)(xoshiro_next(state) >> 11) * 0x1.0p-53;
}

static const gsl_rng_type xoshiro_type = {
    .name = "xoshiro256**",
    .max = UINT64_MAX,
    .min = 0,
    .size = sizeof(struct xoshiro),
    .set = xoshiro_set,
    .get = xoshiro_get,
    .get_double = xoshiro_get_double,
};

gsl_rng *rng_gsl_new(uint64_t key)
{
    gsl_rng *rng = gsl_rng_alloc(&xoshiro_type);

    base_require(rng != NULL);
    gsl_rng_set(rng, key);
    return rng;
}

void rng_gsl_at(gsl_rng *rng, uint64_t key, uint64_t index)
{
    gsl_rng_set(rng, base_mix2(key, index));
}
