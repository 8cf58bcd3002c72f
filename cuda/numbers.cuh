/*
 * numbers.cuh - the 8-bit numbers of a cache on the device, and random numbers to measure with.
 */
#ifndef KVSIM_CUDA_NUMBERS_CUH
#define KVSIM_CUDA_NUMBERS_CUH

#include <cuda_bf16.h>
#include <stdint.h>
#include <string.h>

/* E4M3. */
struct fp8 {
    uint8_t bits;
};

/*
 * Two 8-bit numbers, in the low bytes of the halves of `pair`, as bf16: the bits of exponent and mantissa in place make a
 * number 2^120 times too small (the exponents' biases are 7 and 127), also below the smallest normal one; the product
 * with 2^120 is exact. NaN (0x7f) would become 480: caches to measure have none.
 */
__device__ inline uint32_t widen_pair(uint32_t pair)
{
    uint32_t bits = (pair & 0x00800080u) << 8 | (pair & 0x007f007fu) << 4, factor_bits = 0x7b807b80u, result;
    __nv_bfloat162 value, factor;
    memcpy(&value, &bits, sizeof value);
    memcpy(&factor, &factor_bits, sizeof factor);
    value = __hmul2(value, factor);
    memcpy(&result, &value, sizeof result);
    return result;
}

/* 16 numbers; both places are on 16 bytes. */
__device__ inline void widen_16(const fp8 *from, __nv_bfloat16 *to)
{
    uint4 in = *reinterpret_cast<const uint4 *>(from), out[2];
    const uint32_t words[4] = {in.x, in.y, in.z, in.w};
    uint32_t wide[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        wide[2 * i] = widen_pair((words[i] & 0xffu) | (words[i] & 0xff00u) << 8);
        wide[2 * i + 1] = widen_pair((words[i] >> 16 & 0xffu) | (words[i] >> 16 & 0xff00u) << 8);
    }
    out[0] = make_uint4(wide[0], wide[1], wide[2], wide[3]);
    out[1] = make_uint4(wide[4], wide[5], wide[6], wide[7]);
    reinterpret_cast<uint4 *>(to)[0] = out[0];
    reinterpret_cast<uint4 *>(to)[1] = out[1];
}

__device__ inline uint32_t random_bits(uint64_t at)
{
    uint64_t x = at * 0x9e3779b97f4a7c15ull; // SplitMix64, Steele et al. 2014
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (uint32_t)(x >> 32);
}

/* From -1 to 1. */
__device__ inline void random_value(uint32_t bits, __nv_bfloat16 *to)
{
    *to = __float2bfloat16((float)(bits >> 8) / 8388608.0f - 1.0f);
}

__device__ inline void random_value(uint32_t bits, fp8 *to)
{
    to->bits = (uint8_t)((bits & 0x87u) | (bits >> 8) % 7u << 3); // exponent fields 0 ... 6: below 1
}

__device__ inline void random_value(uint32_t bits, uint8_t *to)
{
    *to = (uint8_t)bits;
}

__device__ inline void random_value(uint32_t bits, uint32_t *to)
{
    *to = bits;
}

#endif
