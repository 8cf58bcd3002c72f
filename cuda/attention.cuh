/*
 * attention.cuh - paged attention written for measuring: one kernel for decode (GQA and absorbed MLA, keys split over
 * blocks) and causal prefill, on bf16 and fp8 caches, with tensor cores through wmma.
 *
 * A block of eight warps holds ROWS query rows (the heads that share a KV head, or the tokens of one head) and walks its
 * keys in tiles of BN with a running maximum and sum per row (online softmax, Milakov and Gimelshein 2018). Tiles come from
 * pages that a block table names, as in serving engines, by asynchronous copies of 16 bytes, STAGES deep. Results stay in
 * registers. MLA: values are the first DV numbers of the keys. Decode is bound by memory; prefill runs on the tensor cores
 * of the Ampere generation's kind and is no match for kernels tuned to a card.
 */
#ifndef KVSIM_CUDA_ATTENTION_CUH
#define KVSIM_CUDA_ATTENTION_CUH

#include "numbers.cuh"

#include <cuda_pipeline.h>
#include <mma.h>

enum { ATTENTION_WARPS = 8, ATTENTION_THREADS = 32 * ATTENTION_WARPS };

struct attention_args {
    const __nv_bfloat16 *q; /* [batch][new][q_heads][D] */
    const void *k, *v;      /* [pages][block_tokens][kv_heads][D or DV] */
    const int *table;       /* [batch][table_stride] */
    float *partial;         /* [batch][new][q_heads][splits][DV], where there are several */
    float *top_and_sum;     /* [batch][new][q_heads][splits][2] */
    __nv_bfloat16 *out;     /* [batch][new][q_heads][DV] */
    int batch, new_tokens, context, q_heads, kv_heads, block_shift, table_stride, splits; /* 1 << block_shift tokens a page */
    float scale;
};

/* How one kind of attention is cut up. */
template <typename KV_, int ROWS_, int BN_, int D_, int DV_, bool LATENT_, bool PREFILL_> struct attention_shape {
    typedef KV_ KV;
    static constexpr int ROWS = ROWS_, BN = BN_, D = D_, DV = DV_, PAD = 8, S_PAD = 4;
    static constexpr bool LATENT = LATENT_, PREFILL = PREFILL_, IS_NARROW = sizeof(KV) == 1;
    static constexpr int STAGES = IS_NARROW && !LATENT && !PREFILL ? 3 : 2;
    static constexpr int S_TILES = ROWS / 16 * (BN / 16), K_SPLITS = S_TILES < ATTENTION_WARPS ? ATTENTION_WARPS / S_TILES : 1;
    static constexpr int S_STEPS = D / 16 / K_SPLITS;                             /* of one split */
    static constexpr int O_TILES = ROWS / 16 * (DV / 16) / ATTENTION_WARPS;       /* of one warp */
    static constexpr int ROW_THREADS = ATTENTION_THREADS / ROWS;                  /* that share a row's softmax */
    static constexpr int RAW_PAD = IS_NARROW ? 16 : PAD;                          /* numbers; 16 bytes */
    static constexpr int V_ROWS = LATENT ? 0 : BN;
    static_assert(D % (16 * K_SPLITS) == 0 && DV % 16 == 0 && ROWS % 16 == 0 && BN % 16 == 0, "tiles of 16");
    static_assert(O_TILES * ATTENTION_WARPS * 16 == ROWS / 16 * DV, "every warp has as many tiles");
    static_assert(ROW_THREADS <= 32 && BN % ROW_THREADS == 0, "a row lies in one warp");
    static_assert(ROWS * (DV + 4) * 4 <= STAGES * (BN + V_ROWS) * D * (int)sizeof(KV) + (IS_NARROW ? BN * D * 2 : 0),
                  "results fit where keys were");
};

/* Widened tiles of an 8-bit cache; a 16-bit cache is used where it was copied to. */
template <typename S, bool IS_NARROW> struct attention_wide {
    alignas(128) __nv_bfloat16 k[S::BN][S::D + S::PAD];
    alignas(128) __nv_bfloat16 v[S::LATENT ? 1 : S::BN][S::DV + S::PAD];
};
template <typename S> struct attention_wide<S, false> {};

template <typename S> struct attention_tiles {
    alignas(128) typename S::KV k[S::STAGES][S::BN][S::D + S::RAW_PAD];
    alignas(128) typename S::KV v[S::STAGES][S::LATENT ? 1 : S::BN][S::DV + S::RAW_PAD];
    attention_wide<S, S::IS_NARROW> wide;
};

template <typename S> struct attention_shared {
    union {
        attention_tiles<S> tiles;
        alignas(128) float o[S::ROWS][S::DV + 4]; /* at the end */
    };
    alignas(128) __nv_bfloat16 q[S::ROWS][S::D + S::PAD];
    union {
        alignas(128) float s[S::K_SPLITS][S::ROWS][S::BN + S::S_PAD];
        alignas(128) float row_numbers[16][16 + 4]; /* at the beginning: which row an element of a fragment is of */
    };
    alignas(128) __nv_bfloat16 p[S::ROWS][S::BN + S::PAD];
    float top[S::ROWS], sum[S::ROWS], shrink[S::ROWS];
};

/* Where a block's rows come from. */
struct attention_place {
    int batch, split, kv_head, first, token_tile; /* first: row 0's token (prefill) or head in its group (decode) */
    int head;                                     /* prefill: the head; decode: the first one of the group */
    int row_count;
};

template <typename S> __device__ inline attention_place attention_place_of(const attention_args &a)
{
    attention_place place;
    const int group = a.q_heads / a.kv_heads, tiles = (group + S::ROWS - 1) / S::ROWS;
    place.batch = blockIdx.z / a.splits;
    place.split = blockIdx.z % a.splits;
    if (S::PREFILL) {
        place.token_tile = gridDim.x - 1 - blockIdx.x; // the longest first
        place.head = blockIdx.y;
        place.kv_head = blockIdx.y / group;
        place.first = place.token_tile * S::ROWS;
        place.row_count = min(S::ROWS, a.new_tokens - place.first);
    } else {
        place.token_tile = 0;
        place.kv_head = blockIdx.y / tiles;
        place.head = place.kv_head * group;
        place.first = (int)blockIdx.y % tiles * S::ROWS;
        place.row_count = min(S::ROWS, group - place.first);
    }
    return place;
}

/* The number of a row among all: [batch][new][q_heads]. */
template <typename S> __device__ inline size_t attention_row(const attention_args &a, const attention_place &place, int row)
{
    int token = S::PREFILL ? place.first + row : 0, head = S::PREFILL ? place.head : place.head + place.first + row;
    return ((size_t)place.batch * a.new_tokens + token) * a.q_heads + head;
}

/* Copies of 16 bytes from a page's rows to shared memory; beyond the last key: zeros. */
template <int WIDTH, typename KV, typename ROW>
__device__ inline void attention_copy(const attention_args &a, const KV *from, const int *table, int kv_head, int first,
                                      int end, int rows, ROW *to)
{
    const int per_copy = 16 / (int)sizeof(KV), copies = WIDTH / per_copy, mask = (1 << a.block_shift) - 1;
    for (int i = threadIdx.x; i < rows * copies; i += ATTENTION_THREADS) {
        int row = i / copies, at = i % copies * per_copy, t = first + row;
        bool is_there = t < end;
        size_t page = is_there ? table[t >> a.block_shift] : 0;
        size_t token = (page << a.block_shift) + (is_there ? t & mask : 0);
        __pipeline_memcpy_async(&to[row][at], from + (token * a.kv_heads + kv_head) * WIDTH + at, 16, is_there ? 0 : 16);
    }
}

template <typename S>
__device__ inline void attention_load(const attention_args &a, const attention_place &place, attention_shared<S> &sh,
                                      int stage, int first, int end)
{
    typedef typename S::KV KV;
    const int *table = a.table + (size_t)place.batch * a.table_stride;
    attention_copy<S::D>(a, static_cast<const KV *>(a.k), table, place.kv_head, first, end, S::BN, sh.tiles.k[stage]);
    if (!S::LATENT)
        attention_copy<S::DV>(a, static_cast<const KV *>(a.v), table, place.kv_head, first, end, S::BN, sh.tiles.v[stage]);
}

template <int WIDTH, typename FROM, typename TO> __device__ inline void attention_widen(const FROM *from, TO *to, int rows)
{
    for (int i = threadIdx.x; i < rows * (WIDTH / 16); i += ATTENTION_THREADS)
        widen_16(&from[i / (WIDTH / 16)][i % (WIDTH / 16) * 16], &to[i / (WIDTH / 16)][i % (WIDTH / 16) * 16]);
}

/* Keys and values of the tile as 16-bit numbers. */
template <typename S, bool IS_NARROW> struct attention_operands {
    __device__ static void prepare(attention_shared<S> &sh, int stage)
    {
        attention_widen<S::D>(sh.tiles.k[stage], sh.tiles.wide.k, S::BN);
        if (!S::LATENT)
            attention_widen<S::DV>(sh.tiles.v[stage], sh.tiles.wide.v, S::BN);
        __syncthreads();
    }
    __device__ static const __nv_bfloat16 *key(const attention_shared<S> &sh, int, int row, int at)
    {
        return &sh.tiles.wide.k[row][at];
    }
    __device__ static const __nv_bfloat16 *value(const attention_shared<S> &sh, int, int row, int at)
    {
        return S::LATENT ? &sh.tiles.wide.k[row][at] : &sh.tiles.wide.v[S::LATENT ? 0 : row][at];
    }
};

template <typename S> struct attention_operands<S, false> {
    __device__ static void prepare(attention_shared<S> &, int) {}
    __device__ static const __nv_bfloat16 *key(const attention_shared<S> &sh, int stage, int row, int at)
    {
        return &sh.tiles.k[stage][row][at];
    }
    __device__ static const __nv_bfloat16 *value(const attention_shared<S> &sh, int stage, int row, int at)
    {
        return S::LATENT ? &sh.tiles.k[stage][row][at] : &sh.tiles.v[stage][S::LATENT ? 0 : row][at];
    }
};

typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> attention_sums;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __nv_bfloat16, nvcuda::wmma::row_major> attention_left;

/* s = q k^T; a tile's D is split over warps where there are fewer tiles than warps. */
template <typename S> __device__ inline void attention_scores(attention_shared<S> &sh, int stage)
{
    namespace wmma = nvcuda::wmma;
    typedef attention_operands<S, S::IS_NARROW> operands;
    const int warp = threadIdx.x / 32;
    for (int unit = warp; unit < S::S_TILES * S::K_SPLITS; unit += ATTENTION_WARPS) {
        int tile = unit / S::K_SPLITS, part = unit % S::K_SPLITS;
        int r = tile / (S::BN / 16) * 16, c = tile % (S::BN / 16) * 16;
        attention_left q;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> k;
        attention_sums sums;
        wmma::fill_fragment(sums, 0.0f);
#pragma unroll
        for (int step = 0; step < S::S_STEPS; step++) {
            int d = (part * S::S_STEPS + step) * 16;
            wmma::load_matrix_sync(q, &sh.q[r][d], S::D + S::PAD);
            wmma::load_matrix_sync(k, operands::key(sh, stage, c, d), S::D + S::PAD);
            wmma::mma_sync(sums, q, k, sums);
        }
        wmma::store_matrix_sync(&sh.s[part][r][c], sums, S::BN + S::S_PAD, wmma::mem_row_major);
    }
}

/* Weights of the tile's keys, and by how much what was summed up before shrinks. */
template <typename S>
__device__ inline void attention_softmax(const attention_args &a, const attention_place &place, attention_shared<S> &sh, int first,
                                         int end)
{
    enum { EACH = S::BN / S::ROW_THREADS };
    const int row = threadIdx.x / S::ROW_THREADS, lane = threadIdx.x % S::ROW_THREADS;
    const int last = S::PREFILL ? min(end, a.context - a.new_tokens + place.first + row + 1) : end;
    float scores[EACH], top = sh.top[row], sum = 0;
    for (int i = 0; i < EACH; i++) {
        int c = lane + i * S::ROW_THREADS;
        float score = 0;
        for (int part = 0; part < S::K_SPLITS; part++)
            score += sh.s[part][row][c];
        scores[i] = first + c < last ? score * a.scale : -INFINITY;
        top = fmaxf(top, scores[i]);
    }
    for (int other = S::ROW_THREADS / 2; other > 0; other /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, other));
    for (int i = 0; i < EACH; i++) {
        __nv_bfloat16 weight = __float2bfloat16(__expf(scores[i] - top));
        sum += __bfloat162float(weight);
        sh.p[row][lane + i * S::ROW_THREADS] = weight;
    }
    for (int other = S::ROW_THREADS / 2; other > 0; other /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (lane != 0)
        return;
    sh.shrink[row] = __expf(sh.top[row] - top);
    sh.sum[row] = sh.sum[row] * sh.shrink[row] + sum;
    sh.top[row] = top;
}

/* o = o shrink + p v; `rows` holds the row of each element, which wmma does not tell. */
template <typename S>
__device__ inline void attention_add(const attention_shared<S> &sh, int stage, const attention_sums &rows,
                                     attention_sums (&o)[S::O_TILES])
{
    namespace wmma = nvcuda::wmma;
    typedef attention_operands<S, S::IS_NARROW> operands;
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < S::O_TILES; i++) {
        int tile = warp * S::O_TILES + i, r = tile / (S::DV / 16) * 16, c = tile % (S::DV / 16) * 16;
        attention_left p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> v;
#pragma unroll
        for (int x = 0; x < o[i].num_elements; x++)
            o[i].x[x] *= sh.shrink[r + (int)rows.x[x]];
#pragma unroll
        for (int t = 0; t < S::BN; t += 16) {
            wmma::load_matrix_sync(p, &sh.p[r][t], S::BN + S::PAD);
            wmma::load_matrix_sync(v, operands::value(sh, stage, t, c), S::LATENT ? S::D + S::PAD : S::DV + S::PAD);
            wmma::mma_sync(o[i], p, v, o[i]);
        }
    }
}

template <typename S> __device__ inline void attention_begin(const attention_args &a, const attention_place &place, attention_shared<S> &sh)
{
    for (int i = threadIdx.x; i < S::ROWS * S::D; i += ATTENTION_THREADS) {
        int row = i / S::D;
        bool is_there = row < place.row_count;
        sh.q[row][i % S::D] = is_there ? a.q[attention_row<S>(a, place, row) * S::D + i % S::D] : __float2bfloat16(0.0f);
    }
    for (int i = threadIdx.x; i < 256; i += ATTENTION_THREADS)
        sh.row_numbers[i / 16][i % 16] = (float)(i / 16);
    for (int i = threadIdx.x; i < S::ROWS; i += ATTENTION_THREADS) {
        sh.top[i] = -1e30f;
        sh.sum[i] = 0;
    }
}

template <typename S>
__device__ inline void attention_end(const attention_args &a, const attention_place &place, attention_shared<S> &sh,
                                     attention_sums (&o)[S::O_TILES])
{
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < S::O_TILES; i++) {
        int tile = warp * S::O_TILES + i, r = tile / (S::DV / 16) * 16, c = tile % (S::DV / 16) * 16;
        nvcuda::wmma::store_matrix_sync(&sh.o[r][c], o[i], S::DV + 4, nvcuda::wmma::mem_row_major);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < place.row_count * S::DV; i += ATTENTION_THREADS) {
        int row = i / S::DV, at = i % S::DV;
        size_t number = attention_row<S>(a, place, row);
        if (a.splits == 1)
            a.out[number * S::DV + at] = __float2bfloat16(sh.o[row][at] / sh.sum[row]);
        else
            a.partial[(number * a.splits + place.split) * S::DV + at] = sh.o[row][at];
    }
    for (int row = threadIdx.x; row < place.row_count && a.splits > 1; row += ATTENTION_THREADS) {
        float *to = a.top_and_sum + (attention_row<S>(a, place, row) * a.splits + place.split) * 2;
        to[0] = sh.top[row];
        to[1] = sh.sum[row];
    }
}

template <typename S> __global__ void __launch_bounds__(ATTENTION_THREADS) attention_kernel(attention_args a)
{
    extern __shared__ __align__(128) unsigned char attention_memory[];
    attention_shared<S> &sh = *reinterpret_cast<attention_shared<S> *>(attention_memory);
    const attention_place place = attention_place_of<S>(a);
    const int seen = S::PREFILL ? min(a.context, a.context - a.new_tokens + place.first + S::ROWS) : a.context;
    const int tiles = (seen + S::BN - 1) / S::BN, each = (tiles + a.splits - 1) / a.splits;
    const int begin = place.split * each * S::BN, end = min(seen, begin + each * S::BN);
    const int count = end > begin ? (end - begin + S::BN - 1) / S::BN : 0;
    attention_sums rows, o[S::O_TILES];

    attention_begin<S>(a, place, sh);
#pragma unroll
    for (int i = 0; i < S::O_TILES; i++)
        nvcuda::wmma::fill_fragment(o[i], 0.0f);
    for (int i = 0; i < S::STAGES - 1; i++) {
        if (i < count)
            attention_load<S>(a, place, sh, i, begin + i * S::BN, end);
        __pipeline_commit();
    }
    __syncthreads();
    nvcuda::wmma::load_matrix_sync(rows, &sh.row_numbers[0][0], 16 + 4, nvcuda::wmma::mem_row_major);
    for (int i = 0; i < count; i++) {
        int stage = i % S::STAGES, ahead = i + S::STAGES - 1, first = begin + i * S::BN;
        if (ahead < count)
            attention_load<S>(a, place, sh, ahead % S::STAGES, begin + ahead * S::BN, end);
        __pipeline_commit();
        __pipeline_wait_prior(S::STAGES - 1);
        __syncthreads();
        attention_operands<S, S::IS_NARROW>::prepare(sh, stage);
        attention_scores<S>(sh, stage);
        __syncthreads();
        attention_softmax<S>(a, place, sh, first, end);
        __syncthreads();
        attention_add<S>(sh, stage, rows, o);
        __syncthreads(); // the stage is free again
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    attention_end<S>(a, place, sh, o);
}

/* Adds the splits of every row up: one block a row, one thread a number. */
template <int DV> __global__ void attention_combine(attention_args a)
{
    const float *of = a.top_and_sum + (size_t)blockIdx.x * a.splits * 2;
    const float *values = a.partial + (size_t)blockIdx.x * a.splits * DV + threadIdx.x;
    float top = -1e30f, sum = 0, value = 0;
    for (int s = 0; s < a.splits; s++)
        top = fmaxf(top, of[2 * s]);
    for (int s = 0; s < a.splits; s++) {
        float weight = __expf(of[2 * s] - top);
        sum += weight * of[2 * s + 1];
        value += weight * values[s * DV];
    }
    a.out[(size_t)blockIdx.x * DV + threadIdx.x] = __float2bfloat16(value / sum);
}

#endif
