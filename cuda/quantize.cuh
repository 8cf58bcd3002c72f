/*
 * quantize.cuh - activations in 16 bits to 8 bits with a scale for each row, as engines do before a product in 8 bits.
 */
#ifndef KVSIM_CUDA_QUANTIZE_CUH
#define KVSIM_CUDA_QUANTIZE_CUH

#include "numbers.cuh"

#include <cuda_fp8.h>

enum { QUANTIZE_THREADS = 256 };

__device__ inline float narrow_limit(const fp8 *)
{
    return 448.0f;
}

__device__ inline float narrow_limit(const int8_t *)
{
    return 127.0f;
}

__device__ inline void narrow(float value, fp8 *to)
{
    to->bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}

__device__ inline void narrow(float value, int8_t *to)
{
    *to = (int8_t)__float2int_rn(value);
}

/* The largest of a block's values, for all of its threads; `tops` has a place for each warp. */
__device__ inline float largest_of_block(float value, float *tops)
{
    for (int other = 16; other > 0; other /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, other));
    if (threadIdx.x % 32 == 0)
        tops[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 0; warp < QUANTIZE_THREADS / 32; warp++)
        value = fmaxf(value, tops[warp]);
    return value;
}

/* A block for each row of k numbers, k a multiple of 8; 4 bytes of shared memory for each warp. */
template <typename T> __global__ void quantize_kernel(const __nv_bfloat16 *from, T *to, float *scales, int k)
{
    extern __shared__ float quantize_tops[];
    const __nv_bfloat16 *row = from + (size_t)blockIdx.x * k;
    float top = 0;
    for (int i = 8 * threadIdx.x; i < k; i += 8 * QUANTIZE_THREADS) {
        alignas(16) __nv_bfloat16 some[8];
        *reinterpret_cast<uint4 *>(some) = *reinterpret_cast<const uint4 *>(row + i);
        for (int j = 0; j < 8; j++)
            top = fmaxf(top, fabsf(__bfloat162float(some[j])));
    }
    top = largest_of_block(top, quantize_tops);
    const float scale = top > 0 ? narrow_limit((const T *)nullptr) / top : 1;
    for (int i = 8 * threadIdx.x; i < k; i += 8 * QUANTIZE_THREADS) {
        alignas(16) __nv_bfloat16 some[8];
        alignas(8) T out[8];
        *reinterpret_cast<uint4 *>(some) = *reinterpret_cast<const uint4 *>(row + i);
        for (int j = 0; j < 8; j++)
            narrow(__bfloat162float(some[j]) * scale, &out[j]);
        *reinterpret_cast<uint2 *>(to + (size_t)blockIdx.x * k + i) = *reinterpret_cast<const uint2 *>(out);
    }
    if (threadIdx.x == 0)
        scales[blockIdx.x] = 1 / scale;
}

#endif
