/*
 * stream.h - a gsl_rng_type of our own, for distributions that have no inverse: a stream per value.
 *
 * xoshiro256** (Blackman, Vigna: Scrambled linear pseudorandom number generators, ACM TOMS 47,
 * 2021) with 256 bits of state, filled from a 64-bit key by splitmix64, as its authors advise.
 * gsl_rng_set() takes the whole 64 bits. The only header of rng that shows GSL; rooms that may not
 * see GSL do not include it.
 */
#ifndef KVSIM_RNG_STREAM_H
#define KVSIM_RNG_STREAM_H

#include <gsl/gsl_rng.h>

#include <stdint.h>

/* A generator on the stream of `key`; freed by gsl_rng_free(). */
gsl_rng *rng_gsl_new(uint64_t key);

/* Moves a generator to the stream of value `index` under `key`, whatever was drawn from it
 * before. */
void rng_gsl_at(gsl_rng *rng, uint64_t key, uint64_t index);

#endif
