/*
 * memory.cuh - kernels that move memory: reads, writes, copies, pages gathered in a table's order, and filling.
 */
#ifndef KVSIM_CUDA_MEMORY_CUH
#define KVSIM_CUDA_MEMORY_CUH

#include "numbers.cuh"

/* Each thread keeps the exclusive or of what it read, so that nothing is left out: out has a word for each thread. */
[[maybe_unused]] static __global__ void read_kernel(const uint4 *from, size_t count, unsigned *out)
{
    const size_t me = blockIdx.x * (size_t)blockDim.x + threadIdx.x, all = (size_t)gridDim.x * blockDim.x;
    unsigned sum = 0;
#pragma unroll 4
    for (size_t i = me; i < count; i += all) {
        uint4 value = from[i];
        sum ^= value.x ^ value.y ^ value.z ^ value.w;
    }
    out[me] = sum;
}

[[maybe_unused]] static __global__ void write_kernel(uint4 *to, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = make_uint4((unsigned)i, 2, 3, 4);
}

[[maybe_unused]] static __global__ void copy_kernel(const uint4 *from, uint4 *to, size_t count)
{
#pragma unroll 4
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* Pages of `words` 16-byte words, read in the order of a table: the access of paged attention. */
[[maybe_unused]] static __global__ void gather_kernel(const uint4 *from, const int *table, int pages, int words, unsigned *out)
{
    unsigned sum = 0;
    for (int p = blockIdx.x; p < pages; p += gridDim.x) {
        const uint4 *page = from + (size_t)table[p] * words;
#pragma unroll 4
        for (int i = threadIdx.x; i < words; i += blockDim.x) {
            uint4 value = page[i];
            sum ^= value.x ^ value.y ^ value.z ^ value.w;
        }
    }
    out[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = sum;
}

template <typename T> __global__ void fill_kernel(T *to, size_t count, uint64_t seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        random_value(random_bits(seed + i), to + i);
}

[[maybe_unused]] static __global__ void empty_kernel() {}

#endif
