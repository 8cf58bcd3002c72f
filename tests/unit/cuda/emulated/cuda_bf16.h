/*
 * The part of CUDA that the kernels of cuda/ use, on the host: a thread of the system for each thread of a block, blocks one
 * after another. Slow, and exact enough to compare results: what is rounded to bf16 on a GPU is rounded here.
 */
#ifndef KVSIM_TESTS_EMULATED_CUDA_BF16_H
#define KVSIM_TESTS_EMULATED_CUDA_BF16_H

#include "bench_host.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::min;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct uint4 {
    uint32_t x, y, z, w;
};
struct uint2 {
    uint32_t x, y;
};
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}

inline thread_local dim3 threadIdx;
inline dim3 blockIdx, blockDim, gridDim;

/* ---- a block ---- */

inline pthread_barrier_t block_barrier;
inline pthread_barrier_t warp_barriers[32];
inline float warp_values[32][32];

inline void __syncthreads()
{
    pthread_barrier_wait(&block_barrier);
}

inline float __shfl_xor_sync(unsigned, float value, int other)
{
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    warp_values[warp][lane] = value;
    pthread_barrier_wait(&warp_barriers[warp]);
    float got = warp_values[warp][lane ^ other];
    pthread_barrier_wait(&warp_barriers[warp]);
    return got;
}

/* Runs call() for every thread of the grid. */
template <typename Call> void emulated_launch(dim3 grid, unsigned threads, Call call)
{
    gridDim = grid;
    blockDim = dim3(threads);
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (unsigned warp = 0; warp < (threads + 31) / 32; warp++)
        pthread_barrier_init(&warp_barriers[warp], nullptr, std::min(32u, threads - 32 * warp));
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; t++)
        team.emplace_back([=] {
            threadIdx = dim3(t);
            for (unsigned block = 0; block < grid.x * grid.y * grid.z; block++) {
                if (t == 0)
                    blockIdx =
                        dim3(block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y);
                __syncthreads();
                call();
                __syncthreads();
            }
        });
    for (std::thread &thread : team)
        thread.join();
    pthread_barrier_destroy(&block_barrier);
    for (unsigned warp = 0; warp < (threads + 31) / 32; warp++)
        pthread_barrier_destroy(&warp_barriers[warp]);
}

/* ---- numbers ---- */

struct __nv_bfloat16 {
    uint16_t bits;
};
struct __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __float2bfloat16(float value)
{
    uint32_t bits;
    value = bench_bf16_round(value);
    memcpy(&bits, &value, sizeof bits);
    return {(uint16_t)(bits >> 16)};
}

inline float __bfloat162float(__nv_bfloat16 value)
{
    uint32_t bits = (uint32_t)value.bits << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {__float2bfloat16(__bfloat162float(a.x) * __bfloat162float(b.x)),
            __float2bfloat16(__bfloat162float(a.y) * __bfloat162float(b.y))};
}

inline float __expf(float value)
{
    return std::exp(value);
}

inline int __float2int_rn(float value)
{
    return (int)std::nearbyint(value);
}

#endif
