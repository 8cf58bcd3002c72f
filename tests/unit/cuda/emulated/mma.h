/*
 * Warp matrix products. Every lane holds all of a fragment, so that which lane has which element, which CUDA does not tell,
 * is nothing that a kernel could lean on here.
 */
#ifndef KVSIM_TESTS_EMULATED_MMA_H
#define KVSIM_TESTS_EMULATED_MMA_H

#include "cuda_bf16.h"

namespace nvcuda
{
namespace wmma
{

struct matrix_a {
};
struct matrix_b {
};
struct accumulator {
};
struct row_major {
};
struct col_major {
};
enum layout_t { mem_row_major, mem_col_major };

template <typename USE, int M, int N, int K, typename T, typename LAYOUT = row_major>
struct fragment {
    static const int num_elements = 256;
    float x[256]; /* [row][column] */
};

template <typename FRAGMENT> void fill_fragment(FRAGMENT &f, float value)
{
    for (float &x : f.x)
        x = value;
}

inline float widened(float value)
{
    return value;
}
inline float widened(__nv_bfloat16 value)
{
    return __bfloat162float(value);
}

/* What the hardware asks of a place and of its stride. */
template <typename T> void check_place(const T *at, unsigned stride)
{
    if ((uintptr_t)at % 32 != 0 || stride * sizeof(T) % 16 != 0)
        abort();
}

template <typename USE, int M, int N, int K, typename T, typename LAYOUT>
void load_matrix_sync(fragment<USE, M, N, K, T, LAYOUT> &f, const T *from, unsigned stride)
{
    const bool is_by_rows = std::is_same<LAYOUT, row_major>::value;
    check_place(from, stride);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned column = 0; column < 16; column++)
            f.x[row * 16 + column] =
                widened(is_by_rows ? from[row * stride + column] : from[column * stride + row]);
}

template <int M, int N, int K>
void load_matrix_sync(fragment<accumulator, M, N, K, float> &f, const float *from, unsigned stride,
                      layout_t)
{
    check_place(from, stride);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned column = 0; column < 16; column++)
            f.x[row * 16 + column] = from[row * stride + column];
}

/* By the first lane: other lanes must not look before a barrier. */
template <int M, int N, int K>
void store_matrix_sync(float *to, const fragment<accumulator, M, N, K, float> &f, unsigned stride,
                       layout_t)
{
    check_place(to, stride);
    for (unsigned i = 0; i < 256 && threadIdx.x % 32 == 0; i++)
        to[i / 16 * stride + i % 16] = f.x[i];
}

template <typename SUMS, typename A, typename B>
void mma_sync(SUMS &to, const A &a, const B &b, const SUMS &c)
{
    float sums[256];
    memcpy(sums, c.x, sizeof sums);
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < 16; column++)
                sums[row * 16 + column] += a.x[row * 16 + k] * b.x[k * 16 + column];
    memcpy(to.x, sums, sizeof sums);
}

} // namespace wmma
} // namespace nvcuda

#endif
