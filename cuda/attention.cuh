/*
 * attention.cuh - paged attention written for measuring: one kernel for decode (GQA and absorbed MLA, keys split over
 * blocks) and causal prefill, on bf16 and fp8 caches, with tensor cores through wmma.
 *
 * A block of four warps holds ROWS query rows (the heads that share a KV head, or the tokens of one head), walks its keys
 * in tiles of BN, and keeps a running maximum and sum per row (online softmax, Milakov and Gimelshein 2018). Pages are
 * looked up in a block table, as serving engines do. MLA: values are the first DV numbers of the keys.
 */
#ifndef KVSIM_CUDA_ATTENTION_CUH
#define KVSIM_CUDA_ATTENTION_CUH

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>

struct attention_args {
    const __nv_bfloat16 *q; /* [batch][new][q_heads][D] */
    const void *k, *v;      /* [pages][block_tokens][kv_heads][D or DV] */
    const int *table;       /* [batch][table_stride] */
    float *partial;         /* [batch][new][q_heads][splits][DV + 2] */
    int batch, new_tokens, context, q_heads, kv_heads, block_tokens, table_stride, splits;
    float scale;
};

__device__ inline __nv_bfloat16 widen(__nv_bfloat16 value)
{
    return value;
}

__device__ inline __nv_bfloat16 widen(__nv_fp8_e4m3 value)
{
    return __float2bfloat16(static_cast<float>(value));
}

template <int ROWS, int BN, int D, int DV, bool LATENT> struct attention_shared {
    static const int PAD = 8;
    __nv_bfloat16 q[ROWS][D + PAD];
    __nv_bfloat16 k[BN][D + PAD];
    __nv_bfloat16 v[LATENT ? 1 : BN][DV + PAD];
    float s[ROWS][BN + PAD];
    __nv_bfloat16 p[ROWS][BN + PAD];
    float o[ROWS][DV + PAD];
    float top[ROWS], sum[ROWS], shrink[ROWS];
};

/* Which query a row is: its token and head; false beyond the last. */
template <int ROWS, bool PREFILL>
__device__ inline bool row_place(const attention_args &a, int tile, int head_block, int row, int *token, int *head)
{
    if (PREFILL) {
        *token = tile * ROWS + row;
        *head = head_block;
        return *token < a.new_tokens;
    }
    int group = a.q_heads / a.kv_heads, tiles = (group + ROWS - 1) / ROWS;
    int in_group = (head_block % tiles) * ROWS + row;
    *token = 0;
    *head = head_block / tiles * group + in_group;
    return in_group < group;
}

template <typename KV, int ROWS, int BN, int D, int DV, bool LATENT, bool PREFILL>
__global__ void attention_kernel(attention_args a)
{
    using namespace nvcuda;
    typedef attention_shared<ROWS, BN, D, DV, LATENT> shared_type;
    extern __shared__ __align__(32) unsigned char memory[];
    shared_type &sh = *reinterpret_cast<shared_type *>(memory);
    const int warp = threadIdx.x / 32, threads = blockDim.x, warps = threads / 32;
    const int batch = blockIdx.z / a.splits, split = blockIdx.z % a.splits;
    const int group = a.q_heads / a.kv_heads, tiles = (group + ROWS - 1) / ROWS;
    const int kv_head = PREFILL ? blockIdx.y / group : blockIdx.y / tiles;

    for (int i = threadIdx.x; i < ROWS * D; i += threads) {
        int token, head, row = i / D;
        bool is_there = row_place<ROWS, PREFILL>(a, blockIdx.x, blockIdx.y, row, &token, &head);
        size_t at = (((size_t)batch * a.new_tokens + token) * a.q_heads + head) * D + i % D;
        sh.q[row][i % D] = is_there ? a.q[at] : __float2bfloat16(0.0f);
    }
    for (int i = threadIdx.x; i < ROWS * DV; i += threads)
        sh.o[i / DV][i % DV] = 0;
    for (int i = threadIdx.x; i < ROWS; i += threads) {
        sh.top[i] = -1e30f;
        sh.sum[i] = 0;
    }
    const int cached = a.context - a.new_tokens;
    int seen = PREFILL ? min(a.context, cached + (int)(blockIdx.x + 1) * ROWS) : a.context;
    int per_split = ((seen + a.splits - 1) / a.splits + BN - 1) / BN * BN;
    int begin = split * per_split, end = min(seen, begin + per_split);
    __syncthreads();

    for (int first = begin; first < end; first += BN) {
        const KV *keys = static_cast<const KV *>(a.k), *values = static_cast<const KV *>(a.v);
        for (int i = threadIdx.x; i < BN * D; i += threads) {
            int t = first + i / D;
            KV value = KV(0.0f);
            if (t < end) {
                size_t page = a.table[(size_t)batch * a.table_stride + t / a.block_tokens];
                value = keys[((page * a.block_tokens + t % a.block_tokens) * a.kv_heads + kv_head) * D + i % D];
            }
            sh.k[i / D][i % D] = widen(value);
        }
        for (int i = threadIdx.x; !LATENT && i < BN * DV; i += threads) {
            int t = first + i / DV;
            KV value = KV(0.0f);
            if (t < end) {
                size_t page = a.table[(size_t)batch * a.table_stride + t / a.block_tokens];
                value = values[((page * a.block_tokens + t % a.block_tokens) * a.kv_heads + kv_head) * DV + i % DV];
            }
            sh.v[i / DV][i % DV] = widen(value);
        }
        __syncthreads();
        for (int tile = warp; tile < ROWS / 16 * (BN / 16); tile += warps) {
            int r = tile / (BN / 16) * 16, c = tile % (BN / 16) * 16;
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
            wmma::fill_fragment(fc, 0.0f);
            for (int d = 0; d < D; d += 16) {
                wmma::load_matrix_sync(fa, &sh.q[r][d], D + shared_type::PAD);
                wmma::load_matrix_sync(fb, &sh.k[c][d], D + shared_type::PAD);
                wmma::mma_sync(fc, fa, fb, fc);
            }
            wmma::store_matrix_sync(&sh.s[r][c], fc, BN + shared_type::PAD, wmma::mem_row_major);
        }
        __syncthreads();
        for (int row = threadIdx.x; row < ROWS; row += threads) {
            int last = PREFILL ? min(end, cached + (int)blockIdx.x * ROWS + row + 1) : end;
            float top = sh.top[row];
            for (int c = 0; c < BN; c++)
                if (first + c < last)
                    top = fmaxf(top, sh.s[row][c] * a.scale);
            float sum = 0;
            for (int c = 0; c < BN; c++) {
                float weight = first + c < last ? __expf(sh.s[row][c] * a.scale - top) : 0;
                sum += weight;
                sh.p[row][c] = __float2bfloat16(weight);
            }
            sh.shrink[row] = __expf(sh.top[row] - top);
            sh.sum[row] = sh.sum[row] * sh.shrink[row] + sum;
            sh.top[row] = top;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < ROWS * DV; i += threads)
            sh.o[i / DV][i % DV] *= sh.shrink[i / DV];
        __syncthreads();
        for (int tile = warp; tile < ROWS / 16 * (DV / 16); tile += warps) {
            int r = tile / (DV / 16) * 16, c = tile % (DV / 16) * 16;
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
            wmma::load_matrix_sync(fc, &sh.o[r][c], DV + shared_type::PAD, wmma::mem_row_major);
            for (int t = 0; t < BN; t += 16) {
                wmma::load_matrix_sync(fa, &sh.p[r][t], BN + shared_type::PAD);
                if (LATENT)
                    wmma::load_matrix_sync(fb, &sh.k[t][c], D + shared_type::PAD);
                else
                    wmma::load_matrix_sync(fb, &sh.v[LATENT ? 0 : t][c], DV + shared_type::PAD);
                wmma::mma_sync(fc, fa, fb, fc);
            }
            wmma::store_matrix_sync(&sh.o[r][c], fc, DV + shared_type::PAD, wmma::mem_row_major);
        }
        __syncthreads();
    }

    for (int i = threadIdx.x; i < ROWS * (DV + 2); i += threads) {
        int token, head, row = i / (DV + 2), at = i % (DV + 2);
        if (!row_place<ROWS, PREFILL>(a, blockIdx.x, blockIdx.y, row, &token, &head))
            continue;
        size_t base = ((((size_t)batch * a.new_tokens + token) * a.q_heads + head) * a.splits + split) * (DV + 2);
        a.partial[base + at] = at < DV ? sh.o[row][at] : at == DV ? sh.top[row] : sh.sum[row];
    }
}

/* Adds the splits of every row up: one block a row, one thread a number. */
template <int DV> __global__ void attention_combine(const float *partial, int splits, float *out)
{
    const float *row = partial + (size_t)blockIdx.x * splits * (DV + 2);
    float top = -1e30f, sum = 0, value = 0;
    for (int s = 0; s < splits; s++)
        top = fmaxf(top, row[s * (DV + 2) + DV]);
    for (int s = 0; s < splits; s++) {
        float weight = __expf(row[s * (DV + 2) + DV] - top);
        sum += weight * row[s * (DV + 2) + DV + 1];
        value += weight * row[s * (DV + 2) + threadIdx.x];
    }
    out[(size_t)blockIdx.x * DV + threadIdx.x] = value / sum;
}

#endif
